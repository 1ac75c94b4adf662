//! Every changed file has to be needed by a test: a change that rides along unseen, and a test that checks nothing, are
//! for a person.

use std::collections::BTreeMap;

use serde_json::json;
use tick::demo::agent::Step;

use crate::merges::prepared::{Prepared, Wants};

const HONEST: &str = include_str!("../../src/demo/shop/honest/shop/discount.py");
const REPORT: &str = include_str!("../../src/demo/shop/base/shop/report.py");
const WITNESS: &str = include_str!("../../src/demo/shop/honest/tests/test_order_without_items.py");

/// The world after one tick, in which this patch was the first.
fn tried(write: &[(&str, &str)]) -> Prepared {
    let write: BTreeMap<String, String> = write
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let prepared = Prepared::start(&Wants {
        fixes: vec![Step {
            write,
            reply: json!({
                "status": "fixed", "root_cause": "an order may have no items", "summary": "handles it", "tests": [],
            }),
            ..Step::default()
        }],
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(prepared.pulls_of_ours(), 1, "{}", run.text);
    prepared
}

#[test]
fn a_change_that_no_test_sees_is_for_a_person() {
    let more = format!("{REPORT}\n\ndef rounded(value):\n    return round(value, 2)\n");
    let write = [
        ("shop/discount.py", HONEST),
        ("shop/report.py", more.as_str()),
        ("tests/test_order_without_items.py", WITNESS),
    ];
    let prepared = tried(&write);
    let pull = prepared.pull();
    assert!(pull.draft && prepared.merged_by_us().is_none(), "{}", pull.body);
    let line = "| each changed file undone alone | – | fails again, 1 of 2; no test sees `shop/report.py` |";
    assert!(pull.body.contains(line), "{}", pull.body);
    assert!(
        pull.body
            .contains("o test fails when the change of shop/report.py alone is undone"),
        "{}",
        pull.body
    );
    prepared.finish();
}

#[test]
fn words_that_ride_along_do_not_count() {
    let more = format!("{REPORT}\n\n# Rounded for people.\n");
    let write = [
        ("shop/discount.py", HONEST),
        ("shop/report.py", more.as_str()),
        ("tests/test_order_without_items.py", WITNESS),
    ];
    let prepared = tried(&write);
    assert!(prepared.merged_by_us().is_some(), "{}", prepared.pull().body);
    let line = "| each changed file undone alone | – | fails again, 1 of 1 |";
    assert!(prepared.pull().body.contains(line), "{}", prepared.pull().body);
    prepared.finish();
}

#[test]
fn a_test_that_only_calls_is_for_a_person() {
    let calls = "import unittest\n\nfrom shop import discount\n\n\nclass NoItems(unittest.TestCase):\n    \
                 def test_no_items(self):\n        discount.average_discount({'items': []})\n";
    let prepared = tried(&[("shop/discount.py", HONEST), ("tests/test_no_items.py", calls)]);
    let pull = prepared.pull();
    assert!(pull.draft && prepared.merged_by_us().is_none(), "{}", pull.body);
    assert!(pull.body.contains("he new tests check nothing"), "{}", pull.body);
    prepared.finish();
}
