//! Real runs of the three runners on small trees. What the readers make of odd text is tested beside them.

use std::{cell::RefCell, fs, time::Duration};

use super::{
    testing::{command, options, plain, plant},
    *,
};
use crate::model::evidence::TestStatus;

mod runners;

/// A tree and a place outside it.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        plant(&dir.path().join("tree"), files);
        Self { dir }
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn options(&self) -> SuiteOptions {
        options(&self.dir.path().join("scratch"))
    }

    async fn run(&self, text: &str) -> Suite {
        self.run_with(text, &self.options()).await
    }

    async fn run_with(&self, text: &str, options: &SuiteOptions) -> Suite {
        run_suite(&plain, &self.tree(), &[command(text)], options)
            .await
            .unwrap()
    }
}

/// `id status[!]` a line, `!` = by assertion, sorted by id.
fn summary(suite: &Suite) -> Vec<String> {
    let line = |id: &String, result: &TestResult| {
        let status = match result.status {
            TestStatus::Pass => "pass",
            TestStatus::Fail => "fail",
            TestStatus::Error => "error",
            TestStatus::Skip => "skip",
        };
        let bad = matches!(result.status, TestStatus::Fail | TestStatus::Error);
        let mark = match (result.by_assertion, result.inside) {
            (true, _) => "!",
            (false, false) if bad => " outside",
            (false, true | false) => "",
        };
        format!("{id} {status}{mark}")
    };
    suite
        .tests
        .iter()
        .flat_map(|(id, results)| results.iter().map(move |r| line(id, r)))
        .collect()
}

#[track_caller]
fn readable(suite: &Suite) {
    assert_eq!(suite.unreadable, None);
    assert!(!suite.timed_out);
}

const PYTHON: &str = r#"
import unittest
from shop import checked, half

class Plain(unittest.TestCase):
    def test_ok(self): pass
    def test_assert(self): self.assertEqual(half(4), 3, "half of four")
    def test_error(self): half(None)
    def test_product_assert(self): checked(0)
    @unittest.skip("later")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_rows(self):
        for row in (1, 2):
            with self.subTest(row=row): self.assertEqual(row, 1)

class SetUp(unittest.TestCase):
    def setUp(self): self.assertTrue(False)
    def test_never(self): pass

class TearDown(unittest.TestCase):
    def tearDown(self): raise ValueError("late")
    def test_before(self): pass

class ClassSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no database")
    def test_never(self): pass

class Async(unittest.IsolatedAsyncioTestCase):
    async def test_assert(self): self.assertTrue(False)
    async def test_error(self): half(None)
"#;

#[tokio::test]
async fn unittest_results_are_told_apart() {
    let shop = "def half(n): return n / 2\n\ndef checked(n):\n    assert n > 0, 'positive'\n";
    let bench = Bench::new(&[
        ("shop.py", shop),
        ("tests/__init__.py", ""),
        ("tests/test_all.py", PYTHON),
        ("tests/test_broken.py", "import nothing_of_this_name\n"),
    ]);
    for text in [
        "python3 -m unittest",
        "python3 -m unittest discover -f -b -t . -s tests",
    ] {
        let suite = bench.run(text).await;
        readable(&suite);
        let expected = [
            "tests.test_all.Async.test_assert fail!",
            "tests.test_all.Async.test_error error",
            "tests.test_all.Plain.test_assert fail!",
            "tests.test_all.Plain.test_error error",
            "tests.test_all.Plain.test_expected pass",
            "tests.test_all.Plain.test_ok pass",
            "tests.test_all.Plain.test_product_assert fail",
            "tests.test_all.Plain.test_rows pass",
            "tests.test_all.Plain.test_rows (row=1) pass",
            "tests.test_all.Plain.test_rows (row=2) fail!",
            "tests.test_all.Plain.test_skip skip",
            "tests.test_all.Plain.test_unexpected fail outside",
            "tests.test_all.SetUp.test_never error outside",
            "tests.test_all.TearDown.test_before error outside",
        ];
        assert_eq!(summary(&suite), expected);
        let error = &suite.tests["tests.test_all.Plain.test_error"][0];
        assert_eq!(error.kind, "TypeError");
        assert!(
            error.message.starts_with("TypeError: unsupported operand"),
            "{}",
            error.message
        );
        assert!(error.trace.contains("shop.py"), "{}", error.trace);
        assert_eq!(suite.load_errors.len(), 2, "{:?}", suite.load_errors);
        assert!(
            suite.load_errors[1].starts_with("tests.test_broken: ModuleNotFoundError"),
            "{:?}",
            suite.load_errors
        );
        assert!(
            suite.load_errors[0].starts_with("setUpClass (tests.test_all.ClassSetUp): OSError"),
            "{:?}",
            suite.load_errors
        );
    }
}

#[tokio::test]
async fn unittest_can_run_new_files_alone() {
    let case = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n";
    let bench = Bench::new(&[("tests/test_old.py", case), ("tests/test_new.py", case)]);
    let mut options = bench.options();
    options.only = Some(Only {
        files: vec!["tests/test_new.py".to_owned()],
        ids: Vec::new(),
    });
    for text in [
        "python3 -m unittest discover -s tests",
        "python3 -m unittest tests.test_old tests.test_new",
    ] {
        let suite = bench.run_with(text, &options).await;
        readable(&suite);
        assert_eq!(suite.total(), 1, "{:?}", suite.tests);
        assert!(suite.tests.keys().all(|id| id.ends_with("test_new.T.test_x")));
    }
}

#[tokio::test]
async fn no_test_at_all_is_a_readable_result() {
    let bench = Bench::new(&[("test_empty.py", "")]);
    let suite = bench.run("python3 -m unittest").await;
    readable(&suite);
    assert_eq!(suite.total(), 0);
}

#[tokio::test]
async fn a_run_that_hides_its_end_is_unreadable() {
    let head = "import os, unittest, atexit\nclass T(unittest.TestCase):\n    def test_x(self): ";
    let cases = [
        ("os._exit(0)", "in or after test_t.T.test_x (exit 0"),
        ("os.abort()", "did not end by itself"),
        (
            "atexit.register(os._exit, 0); self.fail()",
            "names failures, but it exited with 0",
        ),
        ("atexit.register(os._exit, 3)", "names no failure, but it exited with 3"),
    ];
    for (line, expected) in cases {
        let bench = Bench::new(&[("test_t.py", &format!("{head}{line}\n"))]);
        let suite = bench.run("python3 -m unittest").await;
        let why = suite.unreadable.unwrap_or_default();
        assert!(why.contains(expected), "{line}: {why:?}");
    }
}

#[tokio::test]
async fn a_deadline_is_no_result() {
    let hang = "import time, unittest\nclass T(unittest.TestCase):\n    def test_x(self): time.sleep(600)\n";
    let bench = Bench::new(&[("test_t.py", hang)]);
    let mut options = bench.options();
    options.timeout = Duration::from_millis(300);
    let suite = bench.run_with("python3 -m unittest", &options).await;
    assert!(suite.timed_out && suite.tests.is_empty());
}

#[tokio::test]
async fn the_environment_is_an_allow_list_and_the_second_run_has_no_ci() {
    let bench = Bench::new(&[]);
    let seen = RefCell::new(Vec::new());
    let spy = async |child: SuiteChild| {
        seen.borrow_mut().push(child);
        SuiteOutput::default()
    };
    for second_run in [false, true] {
        let options = SuiteOptions {
            second_run,
            ..bench.options()
        };
        run_suite(&spy, &bench.tree(), &[command("python3 -m unittest")], &options)
            .await
            .unwrap();
    }
    let seen = seen.into_inner();
    let names = |child: &SuiteChild| child.env.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let always = [
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TZ",
        "TERM",
        "PYTHONDONTWRITEBYTECODE",
    ];
    assert_eq!(names(&seen[0]), [&always[..], &["CI"]].concat());
    assert_eq!(names(&seen[1]), always);
    assert!(seen[0].program.is_absolute());
    let order: serde_json::Value = serde_json::from_slice(&seen[0].stdin).unwrap();
    let nonce = order["nonce"].as_str().unwrap();
    assert!(
        seen[0].args.iter().all(|arg| !arg.contains(nonce)),
        "every process can read arguments"
    );
}

#[tokio::test]
async fn unknown_runners_are_unreadable_and_never_started() {
    let bench = Bench::new(&[]);
    let none = async |child: SuiteChild| -> SuiteOutput { panic!("started {}", child.program.display()) };
    let suite = run_suite(&none, &bench.tree(), &[command("make test")], &bench.options())
        .await
        .unwrap();
    assert!(suite.unreadable.unwrap().starts_with("`make test`: not a runner"));
    let suite = run_suite(&none, &bench.tree(), &[], &bench.options()).await.unwrap();
    assert!(suite.unreadable.is_some());
}

#[tokio::test]
async fn a_stopped_run_is_no_result_at_all() {
    let bench = Bench::new(&[]);
    let stopped = async |_: SuiteChild| SuiteOutput {
        not_run: true,
        note: "it was stopped".to_owned(),
        ..SuiteOutput::default()
    };
    let outcome = run_suite(&stopped, &bench.tree(), &[command("cargo test")], &bench.options()).await;
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "the test command `cargo test` did not run: it was stopped"
    );
}

const NODE: &str = r"
const { test, describe, it, before, beforeEach } = require('node:test');
const assert = require('node:assert');
const { half, checked } = require('../shop.js');
test('ok', () => {});
test('assert', () => { assert.equal(half(4), 3); });
test('error', () => { half(null).x.y; });
test('product assert', () => { checked(0); });
test('parent', async (t) => { await t.test('kid', () => { assert.ok(false); }); await t.test('other', () => {}); });
describe('group', () => { beforeEach(() => { assert.ok(false, 'set-up'); }); it('never', () => {}); });
describe('broken', () => { before(() => { throw new Error('no database'); }); it('never', () => {}); });
test('skip', { skip: 'later' }, () => {});
test('todo', { todo: true }, () => { assert.ok(false); });
test('slow', { timeout: 20 }, () => new Promise((r) => setTimeout(r, 5000)));
";

#[tokio::test]
async fn node_results_are_told_apart() {
    let shop = "exports.half = (n) => n / 2;\nexports.checked = (n) => require('node:assert').ok(n > 0);\n";
    let bench = Bench::new(&[
        ("shop.js", shop),
        ("test/all.test.js", NODE),
        ("test/broken.test.js", "require('./nothing');\n"),
        ("test/script.test.js", "if (1 + 1 !== 2) process.exit(1);\n"),
    ]);
    let suite = bench.run("node --test --test-reporter spec").await;
    readable(&suite);
    let expected = [
        "test/all.test.js > assert fail!",
        "test/all.test.js > broken > never error outside",
        "test/all.test.js > error error",
        "test/all.test.js > group > never error outside",
        "test/all.test.js > ok pass",
        "test/all.test.js > parent pass",
        "test/all.test.js > parent > kid fail!",
        "test/all.test.js > parent > other pass",
        "test/all.test.js > product assert error",
        "test/all.test.js > skip skip",
        "test/all.test.js > slow error outside",
        "test/all.test.js > todo skip",
        "test/script.test.js pass",
    ];
    assert_eq!(summary(&suite), expected);
    assert_eq!(suite.tests["test/all.test.js > error"][0].kind, "TypeError");
    assert_eq!(suite.load_errors.len(), 2, "{:?}", suite.load_errors);
    assert_eq!(
        suite.load_errors[0],
        "test/all.test.js > broken: hookFailed: no database"
    );
    assert!(
        suite.load_errors[1].starts_with("test/broken.test.js: Error: Cannot find module './nothing'"),
        "{:?}",
        suite.load_errors
    );

    let mut options = bench.options();
    options.only = Some(Only {
        files: vec!["test/script.test.js".to_owned()],
        ids: Vec::new(),
    });
    let alone = bench.run_with("node --test test/all.test.js", &options).await;
    readable(&alone);
    assert_eq!(summary(&alone), ["test/script.test.js pass"]);
}

const CARGO: &str = r#"
pub fn half(n: i32) -> i32 { n.checked_div(2).unwrap() }

/// ```
/// assert_eq!(shop::third(9), 3);
/// ```
pub fn third(n: i32) -> i32 { assert!(n > 0, "positive"); n / 3 }

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn ok() { assert_eq!(half(4), 2); }
    #[test]
    fn wrong() {
        assert!(
            half(4) == 3,
            "half of four"
        );
    }
    #[test]
    fn product_assert() { third(0); }
    #[test]
    fn result() -> Result<(), String> { Err("no".to_owned()) }
    #[test]
    #[ignore = "later"]
    fn later() {}
    #[test]
    #[should_panic]
    fn calm() {}
}
"#;

#[tokio::test]
async fn cargo_results_are_told_apart() {
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let it = "#[test]\nfn outer() { println!(\"test fake ... ok\"); assert_eq!(shop::half(4), 3); }\n";
    let bench = Bench::new(&[("Cargo.toml", manifest), ("src/lib.rs", CARGO), ("tests/it.rs", it)]);
    let suite = bench.run("cargo test").await;
    readable(&suite);
    let expected = [
        "doc src/lib.rs - third pass",
        "it::outer fail!",
        "shop::tests::calm fail!",
        "shop::tests::later skip",
        "shop::tests::ok pass",
        "shop::tests::product_assert error",
        "shop::tests::result error",
        "shop::tests::wrong fail!",
    ];
    assert_eq!(summary(&suite), expected);
    assert_eq!(suite.tests["shop::tests::wrong"][0].message, "panic: half of four");

    let mut options = bench.options();
    options.only = Some(Only {
        files: Vec::new(),
        ids: vec!["shop::tests::ok".to_owned()],
    });
    let alone = bench.run_with("cargo test", &options).await;
    readable(&alone);
    assert_eq!(summary(&alone), ["shop::tests::ok pass"]);

    fs::write(
        bench.tree().join("tests/it.rs"),
        "#[test]\nfn outer() { shop::missing(); }\n",
    )
    .unwrap();
    let broken = bench.run("cargo test").await;
    readable(&broken);
    assert!(
        broken.load_errors[0].starts_with("shop test \"it\": error[E0425]"),
        "{:?}",
        broken.load_errors
    );
}

#[test]
fn ids_are_cleaned_and_bounded() {
    let redactor = Redactor::default();
    assert_eq!(
        name_of("t (o=<object at 0x7f00aa11bb>)", &redactor),
        "t (o=<object at 0x…>)"
    );
    assert_eq!(name_of("t (n=0x1f)", &redactor), "t (n=0x1f)");
    assert!(!name_of("a\u{1b}[31mb", &redactor).contains('\u{1b}'));
    let long = |end: &str| name_of(&format!("{}{end}", "x".repeat(500)), &redactor);
    assert!(long("a").chars().count() < 400);
    assert_ne!(long("a"), long("b"));
}
