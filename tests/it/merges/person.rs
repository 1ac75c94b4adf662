//! What a person does outranks what tick wanted: close, merge, push, pause, retry.

use std::time::Duration;

use serde_json::json;
use tick::{adapters::clock::instant, demo::Act};

use super::prepared::{Prepared, Wants};

fn incident(prepared: &Prepared) -> String {
    let ids = prepared.ask("SELECT id FROM incident WHERE repo = ?1", "shop");
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids[0].clone()
}

#[test]
fn a_closed_pull_is_a_no_until_retry() {
    let prepared = Prepared::before_merge(&Wants::default());
    prepared.world().act(Act::ClosePull {
        login: "ada".to_owned(),
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    let subjects = prepared.subjects();
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    for _ in 0..3 {
        prepared.stage.step(15);
        prepared.events(60, 5);
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
        assert_eq!(run.report["models_called"], 0);
    }
    assert_eq!(prepared.pulls_of_ours(), 1);
    assert!(prepared.subjects().is_empty());
    let id = incident(&prepared);
    let said = prepared.run(&["retry", &id]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    let run = prepared.repair();
    assert_eq!(run.code, Some(0), "{}", run.text);
    assert_eq!(prepared.pulls_of_ours(), 2, "{}", run.text);
    assert!(prepared.merged_by_us().is_some(), "{}", run.text);
    prepared.finish();
}

#[test]
fn a_persons_merge_of_a_draft_is_adopted_and_observed() {
    let prepared = Prepared::start(&Wants {
        mode: "monitor-only",
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    assert_eq!(prepared.pulls_of_ours(), 1, "{}", run.text);
    assert!(prepared.pull().draft);
    assert_eq!(prepared.subjects().len(), 1, "the draft is ready");
    prepared.world().act(Act::MergePull {
        login: "ada".to_owned(),
    });
    prepared.world().wait_deployed().unwrap();
    for _ in 0..6 {
        prepared.stage.step(15);
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
    }
    assert_eq!(
        prepared
            .ask("SELECT verdict FROM evidence WHERE kind = ?1", "adopted")
            .len(),
        1
    );
    let outcome = prepared.ask("SELECT outcome FROM incident WHERE repo = ?1", "shop");
    assert!(outcome[0].contains("resolved"), "{outcome:?}");
    let subjects = prepared.subjects();
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert_eq!(prepared.pulls_of_ours(), 1);
    prepared.finish();
}

#[test]
fn a_persons_push_makes_the_branch_theirs_until_keep_branch() {
    let prepared = Prepared::before_merge(&Wants::default());
    prepared.world().act(Act::MoveHead);
    let theirs = prepared.pull().head_sha;
    for code in [1, 0] {
        let run = prepared.repair();
        assert_eq!(run.code, Some(code), "{}", run.text);
        run.waits_for("the branch is theirs");
        prepared.stage.step(20);
    }
    assert_eq!(prepared.subjects().len(), 1);
    assert_eq!(prepared.pull().head_sha, theirs, "never pushed to again");
    let said = prepared.run(&["retry", &incident(&prepared), "--keep-branch"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    let run = prepared.repair();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    assert_eq!(prepared.pull().head_sha, theirs);
    prepared.assert_evidence(&theirs, &run.text);
    prepared.finish();
}

/// A process died over an edit of the pull request, and then a person took it into their own hands: nothing is left that
/// tick still wants to know.
#[test]
fn what_was_begun_before_a_person_took_over_is_left() {
    let acts = [
        Act::MoveHead,
        Act::ClosePull {
            login: "ada".to_owned(),
        },
        Act::MergePull {
            login: "ada".to_owned(),
        },
    ];
    let mut prepared = Prepared::start(&Wants {
        config: json!({ "sensitivePaths": ["shop/discount.py"] }),
        ..Wants::default()
    });
    let died = prepared.run(&["--json", "--crash-at", "body::after-intent"]);
    assert_eq!(died.code, None, "{}", died.text);
    prepared.save();
    for act in acts {
        prepared.restore();
        prepared.world().act(act.clone());
        prepared.stage.step(15);
        prepared.tick();
        let status = prepared.run(&["status"]);
        assert!(!status.text.contains("is not known"), "{act:?}\n{}", status.text);
        let left = "SELECT outcome FROM effect WHERE kind = ?1";
        let left = prepared.ask(left, "body");
        assert!(
            left.iter().all(|o| o.contains("not wanted any more")),
            "{act:?} {left:?}"
        );
    }
    prepared.finish();
}

#[test]
fn a_pause_ends_the_running_agent_and_costs_no_attempt() {
    let prepared = Prepared::start(&Wants {
        script: |script| {
            let steps = script.roles.get_mut("fix").unwrap();
            let hangs = tick::demo::agent::Step {
                hang: true,
                ..tick::demo::agent::Step::default()
            };
            steps.insert(0, hangs);
        },
        config: json!({ "repos": { "elsewhere": {} } }),
        ..Wants::default()
    });
    let fixing = || {
        let calls = prepared.world().town().records.all();
        calls.iter().any(|c| c["role"] == "fix")
    };
    // Another repo's pause is nothing to this one.
    let file = prepared.stage.home.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["repos"]["elsewhere"] = json!({});
    std::fs::write(&file, config.to_string()).unwrap();
    let said = prepared.run(&["pause", "elsewhere", "--why", "not this one"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    std::thread::scope(|scope| {
        let tick = scope.spawn(|| prepared.tick());
        let started = instant();
        while !fixing() {
            assert!(!tick.is_finished(), "it ended before the agent ran");
            assert!(started.elapsed() < Duration::from_mins(2), "no agent after two minutes");
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = prepared.run(&["pause", "--why", "lunch"]);
        assert_eq!(said.code, Some(0), "{}", said.text);
        let paused = instant();
        let run = tick.join().unwrap();
        assert!(paused.elapsed() < Duration::from_secs(20), "{:?}", paused.elapsed());
        assert_eq!(run.code, Some(0), "{}", run.text);
        run.waits_for("tick pause");
    });
    let attempts = prepared.ask("SELECT outcome || charged FROM attempt WHERE incident LIKE ?1", "%");
    assert_eq!(attempts.len(), 1);
    assert!(
        attempts[0].contains("interrupted") && attempts[0].ends_with('0'),
        "{attempts:?}"
    );
    prepared.stage.step(15);
    assert_eq!(prepared.pulls_of_ours(), 0);
    let said = prepared.run(&["resume"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    assert!(prepared.merged_by_us().is_some(), "{}", run.text);
    prepared.finish();
}

/// A person may change what a fixer may not: it costs no attempt and is not refused, but it is theirs to decide.
#[test]
fn a_person_who_changes_what_runs_by_itself_decides_about_it() {
    let prepared = Prepared::before_merge(&Wants::default());
    let world = prepared.world();
    let author = tick::demo::forge::Author {
        name: "ada",
        at: world.now(),
    };
    let workflow = (".github/workflows/theirs.yml".to_owned(), Some(b"on: push\n".to_vec()));
    let branch = prepared.pull().head;
    world
        .repo()
        .commit(&branch, None, author, "a workflow", &[workflow])
        .unwrap();
    world.act(Act::MoveHead);
    let theirs = prepared.pull().head_sha;
    prepared.repair();
    let said = prepared.run(&["retry", &incident(&prepared), "--keep-branch"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    for _ in 0..2 {
        let run = prepared.repair();
        assert!(prepared.merged_by_us().is_none(), "{}", run.text);
        prepared.stage.step(20);
    }
    let attempts = "SELECT CAST(n AS TEXT) FROM attempt WHERE incident = ?1";
    assert_eq!(prepared.ask(attempts, &incident(&prepared)).len(), 2, "ours and theirs");
    let pull = prepared.pull();
    assert!(pull.open && pull.head_sha == theirs, "never pushed to again");
    let shown = prepared.run(&["show", &incident(&prepared)]).text;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("a person's commit adds a file that runs by itself once it is pushed"),
        "{shown}"
    );
    prepared.finish();
}
