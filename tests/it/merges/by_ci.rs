//! A repository whose tests run in CI alone: the witness is red there, then the fix is green, and nothing is proven where
//! CI does not answer.

use serde_json::json;
use tick::demo::{agent::Step, forge::Author, shop};

use super::prepared::{Prepared, Run, Wants};

fn wants() -> Wants {
    Wants {
        config: json!({ "repos": { "shop": { "proof": "ci", "test": [] } } }),
        world: |world| shop::report_in_ci(world).unwrap(),
        ci: Some(shop::reporting_job()),
        ..Wants::default()
    }
}

fn start(wants: &Wants) -> Prepared {
    let prepared = Prepared::start(wants);
    let base = prepared.world().main_head().unwrap();
    prepared.world().wait_for_ci(&base).unwrap();
    prepared
}

/// Branches of the cause, by what they end with.
fn branch(prepared: &Prepared, witness: bool) -> Option<(String, String)> {
    let heads = prepared.world().repo().heads().unwrap();
    let mut ours = heads.into_iter().filter(|(name, _)| name.starts_with("fix/auto-"));
    ours.find(|(name, _)| name.ends_with("-witness") == witness)
}

fn waits_for_ci(prepared: &Prepared, run: &Run, witness: bool, what: &str) {
    run.waits_for(what);
    let (_, head) = branch(prepared, witness).unwrap_or_else(|| panic!("{}", run.text));
    prepared.world().wait_for_ci(&head).unwrap();
    prepared.stage.step(5);
}

fn proof(prepared: &Prepared) -> String {
    let found = prepared.ask("SELECT verdict || ' ' || detail FROM evidence WHERE kind = ?1", "proof");
    found.first().cloned().unwrap_or_default()
}

#[test]
fn the_witness_is_red_in_ci_and_then_the_fix_is_green() {
    let prepared = start(&wants());
    // Dies between the push and its record: the next run finds the branch and pushes nothing twice.
    let died = prepared.run(&["--json", "--crash-at", "push_witness::after-effect"]);
    assert_eq!(died.code, None, "{}", died.text);
    assert!(branch(&prepared, false).is_none(), "the fix is not shown yet");
    let run = prepared.tick();
    waits_for_ci(&prepared, &run, true, "it proves the witness");
    let run = prepared.tick();
    waits_for_ci(&prepared, &run, false, "it proves the fix");
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared
        .merged_by_us()
        .unwrap_or_else(|| panic!("{}\n{}", run.text, proof(&prepared)));
    let pull = prepared.pull();
    prepared.assert_evidence(&pull.head_sha, &run.text);
    assert!(branch(&prepared, true).is_none(), "the witness's branch is gone");
    let once = "CI ran each of the three commits once";
    assert!(
        pull.body.contains(once) && pull.body.contains("The tests ran in CI."),
        "{}",
        pull.body
    );
    let pushes = prepared.ask("SELECT key FROM effect WHERE kind = ?1", "push_witness");
    assert_eq!(pushes.len(), 1, "{pushes:?}");
    prepared.finish();
}

#[test]
fn ci_that_does_not_begin_proves_nothing() {
    let prepared = start(&wants());
    prepared.world().forge().settings.ci_starts = false;
    prepared.tick().waits_for("it proves the witness");
    prepared.stage.step(31);
    let run = prepared.tick();
    assert!(
        proof(&prepared).contains("CI did not begin with the witness"),
        "{}",
        run.text
    );
    assert!(
        branch(&prepared, true).is_none(),
        "the witness's branch is gone\n{}",
        run.text
    );
    let pull = prepared.pull();
    assert!(
        pull.draft && pull.merge_sha.is_none() && pull.body.contains("**Needs you: not proven"),
        "{}",
        pull.body
    );
    prepared.finish();
}

#[test]
fn runs_that_keep_no_report_prove_nothing() {
    let prepared = start(&wants());
    prepared.world().forge().settings.keeps_reports = false;
    let run = prepared.tick();
    waits_for_ci(&prepared, &run, true, "it proves the witness");
    let run = prepared.tick();
    let said = proof(&prepared);
    assert!(
        said.starts_with("unproven") && said.contains("kept no JUnit report"),
        "{said}\n{}",
        run.text
    );
    assert!(prepared.merged_by_us().is_none() && branch(&prepared, true).is_none());
    prepared.finish();
}

#[test]
fn a_branch_of_somebody_else_is_left_alone() {
    let prepared = start(&wants());
    let run = prepared.run(&["--observe", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.text);
    let id = prepared
        .ask("SELECT id FROM incident WHERE repo = ?1", "shop")
        .remove(0);
    let theirs = format!("fix/auto-{}-witness", &id[..8]);
    let author = Author {
        name: "eve",
        at: prepared.world().now(),
    };
    let file = ("notes.txt".to_owned(), Some(b"mine".to_vec()));
    let head = prepared
        .world()
        .repo()
        .commit(&theirs, Some("main"), author, "mine", &[file])
        .unwrap();
    let run = prepared.repair();
    let said = proof(&prepared);
    assert!(
        said.starts_with("unproven") && said.contains("delete it, then tick retry"),
        "{said}\n{}",
        run.text
    );
    assert_eq!(
        branch(&prepared, true),
        Some((theirs, head)),
        "nothing is forced or deleted"
    );
    assert!(prepared.merged_by_us().is_none());
    prepared.finish();
}

#[test]
fn red_for_another_reason_keeps_the_fix_back() {
    let broken = Step {
        write: [
            ("shop/discount.py".to_owned(), "def average_discount(order):\n    return 0\n".to_owned()),
            (
                "tests/test_no_items.py".to_owned(),
                "import unittest\nfrom shop import nothing_of_this_name\n\n\nclass New(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(nothing_of_this_name)\n".to_owned(),
            ),
        ]
        .into_iter()
        .collect(),
        reply: json!({ "status": "fixed", "root_cause": "no items", "summary": "no items", "tests": [] }),
        ..Step::default()
    };
    let prepared = start(&Wants {
        fixes: vec![broken],
        ..wants()
    });
    let run = prepared.tick();
    waits_for_ci(&prepared, &run, true, "it proves the witness");
    let run = prepared.tick();
    assert!(
        proof(&prepared).starts_with("not-red"),
        "{}\n{}",
        proof(&prepared),
        run.text
    );
    assert!(
        branch(&prepared, false).is_none(),
        "nobody has seen that fix\n{}",
        run.text
    );
    prepared.finish();
}
