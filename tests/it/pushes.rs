//! What may reach the forge at all: a branch there runs at once what its own files ask for.

use serde_json::json;
use tick::demo::agent::Step;

use crate::merges::prepared::{Prepared, Wants};

const EVIL: &str = "on: push\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n      - run: env\n";

/// The honest fix, and one file more.
fn fix_and(path: &str, text: &str) -> Step {
    let honest = include_str!("../../src/demo/shop/honest/shop/discount.py");
    let test = include_str!("../../src/demo/shop/honest/tests/test_order_without_items.py");
    Step {
        write: [
            ("shop/discount.py", honest),
            ("tests/test_order_without_items.py", test),
            (path, text),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into(),
        reply: json!({
            "status": "fixed", "root_cause": "an order may have no items", "summary": "handles it", "tests": [],
        }),
        ..Step::default()
    }
}

#[test]
fn a_workflow_of_a_fixers_never_leaves_this_machine() {
    let said = never_pushed([
        fix_and(".github/workflows/evil.yml", EVIL),
        fix_and(".husky/pre-push", "#!/bin/sh\nenv\n"),
    ]);
    assert!(
        said.contains(".husky/pre-push") || said.contains(".github/workflows/evil.yml"),
        "{said}"
    );
}

/// Opens nothing; it only has the form of a token.
const CANARY: &str = "ghp_fakeFakeFakeFakeFakeFakeFakeFakeFake";

#[test]
fn a_secret_in_a_line_or_a_name_never_leaves_this_machine() {
    let source = format!("KEY = '{CANARY}'\n");
    let fixture = format!("{{\"key\": \"{CANARY}\"}}\n");
    let page = format!("# Notes\n\nThe key is {CANARY}.\n");
    let named = format!("shop/{CANARY}.py");
    for fixes in [
        [
            fix_and("shop/keys.py", &source),
            fix_and("tests/fixtures/order.json", &fixture),
        ],
        [fix_and("docs/notes.md", &page), fix_and(&named, "A = 1\n")],
    ] {
        let said = never_pushed(fixes);
        assert!(!said.contains(CANARY), "{said}");
    }
}

#[test]
fn what_an_agent_says_is_in_no_name_and_no_message() {
    let mut fix = fix_and("shop/notes.md", "# Notes\n");
    fix.write.remove("shop/notes.md");
    for key in ["root_cause", "summary"] {
        fix.reply[key] = json!(format!("the key is {CANARY}"));
    }
    fix.reply["tests"] = json!([CANARY]);
    let prepared = Prepared::start(&Wants {
        fixes: vec![fix],
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(prepared.pulls_of_ours(), 1, "{}", run.text);
    let pull = prepared.pull();
    let log = prepared
        .world()
        .repo()
        .git(&["log", "--all", "--format=%B%d"], b"")
        .unwrap();
    let outside = format!("{} {} {} {log:?}", pull.title, pull.head, pull.body);
    assert!(!outside.contains(CANARY), "{outside}");
    assert!(
        outside.contains("the key is"),
        "the rest of what it said is shown\n{outside}"
    );
    prepared.finish();
}

/// Both attempts bring something that may not be pushed: the forge hears of neither, and one mail says why.
fn never_pushed(fixes: [Step; 2]) -> String {
    let prepared = Prepared::start(&Wants {
        fixes: fixes.into(),
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    let verdicts = prepared.ask("SELECT verdict FROM evidence WHERE kind = ?1", "guards");
    assert_eq!(verdicts, ["reject", "reject"], "{}", run.text);
    for head in prepared.ask("SELECT head FROM attempt WHERE incident LIKE ?1", "%") {
        let known = prepared.world().repo().git(&["cat-file", "-e", &head], b"");
        assert!(known.is_err(), "the forge has heard of {head}");
    }
    let heads = prepared.world().repo().heads().unwrap();
    assert!(heads.keys().all(|branch| !branch.starts_with("fix/")), "{heads:?}");
    assert_eq!(prepared.pulls_of_ours(), 0, "{}", run.text);
    let mails = prepared.world().mail().take().unwrap();
    assert_eq!(mails.len(), 1, "{mails:?}");
    prepared.finish();
    format!("{mails:?} {}", run.text)
}
