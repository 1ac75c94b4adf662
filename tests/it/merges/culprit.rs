//! The one commit that CI became red with: where the tests show it to be the cause its revert is proposed, without an agent.

use serde_json::json;
use tick::demo::forge::{Author, CiRun, JobRun};

use super::prepared::{Prepared, Run, Wants};

const ROUNDS_UP: &str = "\"\"\"What an order costs once its discounts are taken off.\"\"\"


def price(item):
    return -(-item[\"price\"] * (100 - item[\"discount\"]) // 100)


def total(order):
    return sum(price(item) for item in order[\"items\"])


def saved(order):
    return sum(item[\"price\"] for item in order[\"items\"]) - total(order)
";
/// As CI printed it at that commit.
const LOG: &str = "..F........
======================================================================
FAIL: test_rounds_down (tests.test_discount.Price.test_rounds_down)
----------------------------------------------------------------------
Traceback (most recent call last):
  File \"/home/runner/work/shop/shop/tests/test_discount.py\", line 15, in test_rounds_down
    self.assertEqual(discount.price(item(\"pin\", 99, 50)), 49)
    ~~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
AssertionError: 50 != 49

----------------------------------------------------------------------
Ran 11 tests in 0.003s

FAILED (failures=1)
";
const NEW_TEST: &str = "import unittest

from shop import discount


class Free(unittest.TestCase):
    def test_nothing_is_free(self):
        self.assertEqual(discount.price({\"price\": 0, \"discount\": 0}), 0)
";

fn calm() -> Prepared {
    Prepared::calm(&Wants {
        script: |script| {
            let triage = &mut script.roles.get_mut("triage").unwrap()[0].reply["incidents"][0];
            triage["failure_type"] = json!("unit");
        },
        ..Wants::default()
    })
}

fn commits(prepared: &Prepared, message: &str, files: &[(&str, &str)]) -> String {
    let author = Author {
        name: "eve",
        at: prepared.world().now(),
    };
    let files: Vec<(String, Option<Vec<u8>>)> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec())))
        .collect();
    prepared
        .world()
        .repo()
        .commit("main", None, author, message, &files)
        .unwrap()
}

fn red_at(prepared: &Prepared, sha: &str) {
    let run = CiRun {
        workflow: "CI".to_owned(),
        sha: sha.to_owned(),
        attempts: vec![vec![JobRun::new("test", "python3 -m unittest", false, LOG)]],
    };
    prepared.world().ci_ran(&run).unwrap();
}

fn culprit(prepared: &Prepared) -> String {
    let found = prepared.ask(
        "SELECT verdict || ' ' || detail FROM evidence WHERE kind = ?1",
        "culprit",
    );
    found.join("\n")
}

fn fixers(prepared: &Prepared) -> usize {
    let calls = prepared.world().town().records.all();
    calls.iter().filter(|call| call["role"] == "fix").count()
}

fn tick(prepared: &Prepared) -> Run {
    let run = prepared.tick();
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.text);
    run
}

#[test]
fn a_persons_commit_that_broke_a_test_is_taken_back_by_a_draft() {
    let prepared = calm();
    let sha = commits(
        &prepared,
        "Round prices up",
        &[("shop/discount.py", ROUNDS_UP), ("tests/test_free.py", NEW_TEST)],
    );
    red_at(&prepared, &sha);
    let run = tick(&prepared);
    assert!(
        culprit(&prepared).starts_with("shown"),
        "{}\n{}",
        culprit(&prepared),
        run.text
    );
    assert_eq!(fixers(&prepared), 0, "no agent wrote it\n{}", run.text);
    let pull = prepared.pull();
    let short = &sha[..7];
    assert!(
        pull.draft && pull.title.starts_with(&format!("revert {short}: ")),
        "{pull:#?}"
    );
    for part in [
        format!("It takes `{short}` back"),
        "Made without an agent".to_owned(),
        "it takes back a commit of a person's".to_owned(),
        "Tests that came with the commit go with it, 1 in all".to_owned(),
    ] {
        assert!(pull.body.contains(&part), "{part}\n{}", pull.body);
    }
    for _ in 0..2 {
        prepared.stage.step(15);
        tick(&prepared);
    }
    assert!(prepared.merged_by_us().is_none() && prepared.pulls_of_ours() == 1);
    prepared.finish();
}

#[test]
fn a_commit_whose_parent_is_red_too_is_not_the_cause() {
    let prepared = calm();
    commits(&prepared, "Round prices up", &[("shop/discount.py", ROUNDS_UP)]);
    let later = commits(&prepared, "Say hello", &[("HELLO", "hello\n")]);
    red_at(&prepared, &later);
    let run = tick(&prepared);
    let said = culprit(&prepared);
    assert!(
        said.starts_with("not shown") && said.contains("fails at its parent, too"),
        "{said}\n{}",
        run.text
    );
    assert!(fixers(&prepared) > 0, "an agent is asked\n{}", run.text);
    prepared.finish();
}

#[test]
fn a_revert_that_is_not_green_is_shown_to_nobody() {
    let prepared = calm();
    let sha = commits(&prepared, "Round prices up", &[("shop/discount.py", ROUNDS_UP)]);
    red_at(&prepared, &sha);
    let run = prepared.run(&["--observe", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.text);
    let up = NEW_TEST.replace(
        "{\"price\": 0, \"discount\": 0}), 0)",
        "{\"price\": 99, \"discount\": 50}), 50)",
    );
    let later = commits(&prepared, "Test that prices round up", &[("tests/test_up.py", &up)]);
    red_at(&prepared, &later);
    let run = prepared.repair();
    assert!(
        culprit(&prepared).starts_with("shown"),
        "{}\n{}",
        culprit(&prepared),
        run.text
    );
    let proofs = prepared.ask("SELECT verdict FROM evidence WHERE kind = ?1", "proof");
    assert_eq!(proofs[0], "not-green", "{}", run.text);
    assert!(fixers(&prepared) > 0, "an agent is asked\n{}", run.text);
    let model = prepared.world().forge();
    assert!(
        model.pulls.iter().all(|pull| !pull.title.starts_with("revert")),
        "{:#?}",
        model.pulls
    );
    drop(model);
    prepared.finish();
}
