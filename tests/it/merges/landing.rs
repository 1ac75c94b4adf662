//! What a host may do with a merge call: another tree, another parent, a merge without a commit, an answer that is lost;
//! a base that moves; rules that ask for a person; and a merge that makes things worse.

use serde_json::json;
use tick::demo::{Act, Fault, Which, World};

use super::prepared::{Prepared, Wants};

fn merge_call() -> Which {
    Which::first("PUT", "*/merge")
}

#[test]
fn another_tree_than_the_tested_one_freezes_every_merge() {
    let prepared = Prepared::before_merge(&Wants::default());
    prepared.world().fault(merge_call(), Fault::WrongTree);
    let run = prepared.repair();
    assert_eq!(run.code, Some(1), "{}", run.text);
    let subjects = prepared.subjects();
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    let frozen = prepared.ask("SELECT value FROM flag WHERE name = ?1", "freeze");
    assert!(
        frozen.first().is_some_and(|why| why.contains("landed tree")),
        "{frozen:?}"
    );

    // A lost answer beside it: the merge is found again, sent once, and is ours.
    prepared.restore();
    prepared.world().fault(merge_call(), Fault::LostAnswer);
    let run = prepared.repair();
    assert_eq!(run.code, Some(0), "{}", run.text);
    assert_eq!(run.requests.iter().filter(|r| r.starts_with("PUT ")).count(), 1);
    let landed = prepared.merged_by_us().expect("merged");
    assert_eq!(
        prepared.ask(
            "SELECT verdict FROM evidence WHERE kind = 'landed' AND head = ?1",
            &landed
        ),
        ["the landed tree is the tested tree"]
    );
    assert!(
        prepared
            .ask("SELECT verdict FROM evidence WHERE kind = ?1", "adopted")
            .is_empty()
    );

    // "merged", and no commit: waited for, and then the same as another tree.
    prepared.restore();
    prepared.world().fault(merge_call(), Fault::MergedWithoutCommit);
    let run = prepared.repair();
    assert_eq!(run.code, Some(0), "{}", run.text);
    run.waits_for("cannot be seen yet");
    prepared.stage.step(15);
    let run = prepared.repair();
    assert_eq!(run.code, Some(1), "{}", run.text);
    assert!(run.text.contains("1 sent"), "{}", run.text);
    assert!(
        !prepared
            .ask("SELECT value FROM flag WHERE name = ?1", "freeze")
            .is_empty()
    );

    // Somebody's commit lands first, and the two together are good: it goes on.
    prepared.restore();
    prepared.world().fault(merge_call(), Fault::WrongParent);
    let run = prepared.repair();
    assert_eq!(run.code, Some(0), "{}", run.text);
    let landed = prepared.merged_by_us().expect("merged");
    for (kind, verdict) in [
        ("landed", "something else landed first; the tree is as expected for it"),
        ("landed-tests", "0 fail"),
    ] {
        let sql = format!("SELECT verdict FROM evidence WHERE kind = '{kind}' AND head = ?1");
        let found = prepared.ask(&sql, &landed);
        assert!(found.len() == 1 && found[0].contains(verdict), "{kind}: {found:?}");
    }
    assert!(prepared.subjects().is_empty());
    prepared.finish();
}

/// A test that fails as soon as somebody leaves a note, which is what the world's people do.
const NO_NOTES: &str = "import pathlib\nimport unittest\n\n\nclass Notes(unittest.TestCase):\n    def test_no_notes(self):\n        \
                        self.assertEqual(list(pathlib.Path('.').glob('notes/*')), [])\n";

/// A person adds one test file to the default branch.
fn plant(world: &World, path: &str, text: &str) {
    let author = tick::demo::forge::Author {
        name: "ada",
        at: world.now(),
    };
    let files = [(path.to_owned(), Some(text.as_bytes().to_vec()))];
    world.repo().commit("main", None, author, "a test", &files).unwrap();
}

#[test]
fn a_race_that_breaks_the_tests_is_reverted_at_once() {
    let prepared = Prepared::before_merge(&Wants {
        world: |world| plant(world, "tests/test_notes.py", NO_NOTES),
        ..Wants::default()
    });
    prepared.world().fault(merge_call(), Fault::WrongParent);
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    taken_back(&prepared);
    prepared.finish();
}

#[test]
fn a_race_is_not_blamed_for_what_could_not_be_loaded_before() {
    let prepared = Prepared::before_merge(&Wants {
        world: |world| plant(world, "tests/test_lost.py", "import shop.lost\n"),
        ..Wants::default()
    });
    prepared.world().fault(merge_call(), Fault::WrongParent);
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    let landed = prepared.merged_by_us().expect("merged");
    let sql = "SELECT verdict FROM evidence WHERE kind = 'landed-tests' AND head = ?1";
    let verdict = prepared.ask(sql, &landed);
    assert!(
        verdict.len() == 1 && verdict[0].contains("1 could not be loaded before either"),
        "{verdict:?}"
    );
    assert_eq!(prepared.pulls_of_ours(), 1, "nothing is taken back");
    prepared.finish();
}

#[test]
fn a_merge_that_makes_things_worse_is_taken_back_once() {
    let prepared = Prepared::before_merge(&Wants::default());
    let run = prepared.tick();
    let merged = prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.world().wait_deployed().unwrap();
    prepared.stage.step(15);
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared.events(900, 14);
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "one look may be a burst: {}", run.text);
    prepared.stage.step(15);
    prepared.events(900, 14);
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    taken_back(&prepared);
    assert_ne!(prepared.world().main_head().unwrap(), merged);
    // Whatever still comes in: no second revert, no other fix.
    for _ in 0..3 {
        prepared.stage.step(15);
        prepared.events(30, 5);
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
    }
    assert_eq!(prepared.pulls_of_ours(), 2, "the fix and its revert");
    assert!(prepared.subjects().is_empty());
    let status = prepared.run(&["status"]);
    assert!(!status.text.contains("tick approve"), "{}", status.text);
    // The old error ends, and that is told.
    for _ in 0..3 {
        prepared.stage.step(15);
        prepared.tick();
    }
    let subjects = prepared.subjects();
    assert!(subjects.len() == 1 && subjects[0].contains("over"), "{subjects:?}");
    assert!(outcomes(&prepared).iter().all(|o| o.contains("taken-back")));
    prepared.finish();
}

/// The base moves while the checks of the revert run: it follows, three times, and is never forced.
#[test]
fn a_revert_follows_a_base_that_moves() {
    let prepared = Prepared::before_merge(&Wants::default());
    let run = prepared.tick();
    let merged = prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.world().wait_deployed().unwrap();
    prepared.stage.step(15);
    prepared.tick();
    // Worse in two looks.
    prepared.events(900, 14);
    prepared.tick();
    prepared.stage.step(15);
    prepared.events(900, 14);
    let opens = Which::first("POST", "*/pulls");
    prepared.world().after(opens.clone(), Act::MoveBase);
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    taken_back(&prepared);
    let reverts = prepared.ask("SELECT verdict FROM evidence WHERE kind = ?1", "revert");
    assert_eq!(
        reverts,
        [
            "the tree is the one before the merge",
            "later commits stand, and the tests pass"
        ]
    );
    let body = prepared.pull().body;
    assert!(
        body.contains("Later commits stay"),
        "the body is about the newest head\n{body}"
    );
    assert_ne!(prepared.world().main_head().unwrap(), merged);
    prepared.finish();
}

#[test]
fn a_base_that_moves_faster_than_the_revert_makes_it_a_persons() {
    let prepared = Prepared::before_merge(&Wants::default());
    prepared.tick();
    prepared.world().wait_deployed().unwrap();
    prepared.stage.step(15);
    prepared.tick();
    // Worse in two looks.
    prepared.events(900, 14);
    prepared.tick();
    prepared.stage.step(15);
    prepared.events(900, 14);
    let pushes = Which::first("POST", "*/git-receive-pack").always();
    prepared.world().after(pushes, Act::MoveBase);
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    let reverts = prepared.ask("SELECT verdict FROM evidence WHERE kind = ?1", "revert");
    assert_eq!(reverts.len(), 4, "{reverts:?}");
    let mails = prepared.world().mail().take().unwrap();
    assert!(mails.len() == 1 && mails[0].body.contains("moves faster"), "{mails:?}");
    assert_eq!(prepared.pull().merge_sha, None);
    prepared.finish();
}

fn taken_back(prepared: &Prepared) {
    let revert = prepared.pull();
    assert!(
        revert.merge_sha.is_some(),
        "the newest pull is the merged revert: {revert:?}"
    );
    let repo = prepared.world().repo();
    let fixed = repo.git(&["show", "main:shop/discount.py"], b"").unwrap();
    assert!(!fixed.contains("if not percents"), "the change is gone");
    let mails = prepared.world().mail().take().unwrap();
    assert_eq!(mails.len(), 1, "{mails:?}");
    let named = format!("through PR #{}", revert.number);
    assert!(mails[0].body.contains(&named), "{named}: {}", mails[0].body);
    let notes = prepared.stage.home.join("state/incidents");
    assert_eq!(notes.read_dir().unwrap().count(), 1, "one note");
    let autonomy = prepared.ask("SELECT value FROM flag WHERE name = ?1", "autonomy:shop");
    assert_eq!(autonomy.len(), 1, "the repo is back on drafts");
    assert_eq!(outcomes(prepared), ["open"], "until the old error is over, too");
}

fn outcomes(prepared: &Prepared) -> Vec<String> {
    prepared.ask("SELECT coalesce(outcome, 'open') FROM incident WHERE repo = ?1", "shop")
}

#[test]
fn a_base_that_moves_is_followed_three_times_and_keeps_the_audit() {
    let prepared = Prepared::before_merge(&Wants::default());
    let audits = |prepared: &Prepared| {
        let calls = prepared.world().town().records.all();
        calls.iter().filter(|c| c["role"] == "audit").count()
    };
    prepared.world().act(Act::MoveBase);
    let run = prepared.repair();
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.assert_evidence(&prepared.pull().head_sha, &run.text);
    assert_eq!(audits(&prepared), 1, "the same patch is not audited again");

    prepared.restore();
    prepared.world().act(Act::MoveBase);
    let pushes = Which::first("POST", "*/git-receive-pack").always();
    prepared.world().after(pushes, Act::MoveBase);
    let run = prepared.repair();
    assert_eq!(run.code, Some(1), "{}", run.text);
    run.waits_for("the base moves faster than the tests");
    assert_eq!(prepared.merged_by_us(), None);
    assert_eq!(audits(&prepared), 1);
    assert_eq!(prepared.subjects().len(), 1);

    // Somebody lands the same repair: the patch is another one now, and is never merged.
    prepared.restore();
    prepared.world().act(Act::FixOnMain);
    let run = prepared.repair();
    assert_ne!(run.code, Some(70), "{}", run.text);
    assert_eq!(prepared.merged_by_us(), None, "{}", run.text);
    prepared.finish();
}

#[test]
fn required_reviews_are_waited_for_and_count_only_from_writers() {
    let prepared = Prepared::before_merge(&Wants::default());
    let review = |login: &str| Act::Review {
        login: login.to_owned(),
        state: "APPROVED".to_owned(),
        body: String::new(),
    };
    prepared.world().act(Act::RequireApprovals { count: 1 });
    for act in [None, Some(review("eve"))] {
        if let Some(act) = act {
            prepared.world().act(act);
        }
        let run = prepared.repair();
        assert_eq!(run.code, Some(0), "{}", run.text);
        run.waits_for("review");
        assert_eq!(prepared.merged_by_us(), None);
        prepared.stage.step(15);
    }
    assert!(!prepared.pull().draft);
    assert_eq!(prepared.world().forge().comments.len(), 1, "asked for once");
    assert!(prepared.subjects().is_empty(), "a normal state");
    prepared.world().act(review("bob"));
    let run = prepared.repair();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.finish();
}

#[test]
fn a_sensitive_change_is_merged_only_after_a_writers_approval() {
    let prepared = Prepared::start(&Wants {
        config: json!({ "sensitivePaths": ["shop/**"] }),
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    let pull = prepared.pull();
    assert!(pull.draft && pull.labels == ["needs-human"], "{pull:?}");
    assert_eq!(prepared.subjects().len(), 1);
    let unlabel = Act::Unlabel {
        name: "needs-human".to_owned(),
    };
    let review = |login: &str| Act::Review {
        login: login.to_owned(),
        state: "APPROVED".to_owned(),
        body: String::new(),
    };
    for act in [unlabel, review("eve")] {
        prepared.stage.step(15);
        prepared.world().act(act);
        let run = prepared.repair();
        assert_eq!(run.code, Some(0), "{}", run.text);
        assert_eq!(prepared.merged_by_us(), None);
    }
    prepared.stage.step(15);
    prepared.world().act(review("bob"));
    let run = prepared.repair();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.finish();
}
