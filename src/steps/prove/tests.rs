//! Whole proofs with real runners on small trees: the honest one, and the reds that are none.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use super::*;
use crate::{
    adapters::suite::testing::{command, options, plain, plant},
    decide::proof::{IncidentFacts, RedAgain},
    model::{
        Sha, Signature,
        evidence::{ProofGrade, Witness},
    },
};

mod again;
mod cargo;
mod flakes;
mod tricks;
mod written;

type Files<'a> = &'a [(&'a str, &'a str)];

/// A repository before and after a fix, as the harness splits it.
#[derive(Clone, Copy)]
struct Case<'a> {
    command: &'a str,
    base: Files<'a>,
    /// Test part of the diff.
    tests: Files<'a>,
    /// Source part of the diff.
    fix: Files<'a>,
    exception: (&'a str, &'a str),
}

/// Nothing is shared beside the trees.
#[expect(clippy::unnecessary_wraps, reason = "the form that the proof wants")]
fn kept() -> Result<()> {
    Ok(())
}

struct Bench {
    dir: tempfile::TempDir,
    trees: ProofTrees,
    request: ProveRequest,
}

impl Case<'_> {
    fn lay(&self) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let trees = ProofTrees {
            base: at("base"),
            red: at("red"),
            head: at("head"),
            head_again: at("again"),
            red_fresh: at("fresh"),
            own: at("own"),
        };
        for tree in trees.all() {
            plant(tree, self.base);
        }
        for tree in [&trees.red, &trees.head, &trees.head_again, &trees.red_fresh] {
            plant(tree, self.tests);
        }
        for tree in [&trees.head, &trees.head_again, &trees.own] {
            plant(tree, self.fix);
        }
        let facts = Facts {
            base: Sha::parse(&"a".repeat(40)).unwrap(),
            head: Sha::parse(&"b".repeat(40)).unwrap(),
            incident: IncidentFacts {
                signature: Signature::parse("7f3a91c07f3a91c0").unwrap(),
                exception: Some((self.exception.0.to_owned(), self.exception.1.to_owned())),
                title: String::new(),
            },
            has_test_part: !self.tests.is_empty(),
            selects: true,
            flakes: BTreeSet::new(),
            commands: vec![self.command.to_owned()],
            source: self.fix.iter().map(|(path, _)| (*path).to_owned()).collect(),
            alone_runs: 1,
            red_again: RedAgain::AtTheEnd,
        };
        let request = ProveRequest {
            facts,
            commands: vec![command(self.command)],
            test_files: self.tests.iter().map(|(path, _)| (*path).to_owned()).collect(),
            options: options(&at("scratch")),
            work: Some(at("work")),
            moves: true,
            files: [self.base, self.tests, self.fix]
                .concat()
                .iter()
                .map(|(path, _)| path.into())
                .collect(),
            base: None,
        };
        Bench { dir, trees, request }
    }

    async fn prove(&self) -> Proven {
        let Bench { dir, trees, request } = self.lay();
        let proven = prove(&plain, &kept, &trees, request).await.unwrap();
        assert!(!dir.path().join("work").exists(), "every tree is back");
        proven
    }
}

fn said(grade: &ProofGrade) -> String {
    match grade {
        ProofGrade::Proven => "proven".to_owned(),
        ProofGrade::Unproven(why) => format!("unproven: {why}"),
        ProofGrade::NotRed(why) => format!("not-red: {why}"),
        ProofGrade::NotGreen(why) => format!("not-green: {why}"),
    }
}

/// Whether a grade begins with what stands before the `: ` and contains what stands after it.
fn is_as(grade: &str, expected: &str) -> bool {
    let (start, why) = expected.split_once(": ").unwrap_or((expected, ""));
    grade.starts_with(start) && grade.contains(why)
}

#[track_caller]
fn graded(proven: &Proven, name: &str, expected: &str) {
    let grade = said(&proven.proof.grade);
    assert!(is_as(&grade, expected), "{name}\n{grade}\nexpected {expected}");
}

const SHOP: Files<'_> = &[
    ("shop.py", "def average(order):\n    return sum(order) / len(order)\n"),
    ("tests/__init__.py", ""),
    (
        "tests/test_shop.py",
        "import unittest\nfrom shop import average\n\nclass Old(unittest.TestCase):\n    def test_two(self): self.assertEqual(average([2, 4]), 3)\n",
    ),
];
const SHOP_FIX: Files<'_> = &[(
    "shop.py",
    "def average(order):\n    return sum(order) / len(order) if order else 0\n",
)];

/// A new test file around one method body.
fn python_test(body: &str) -> String {
    format!(
        "import os, unittest\nfrom shop import average\n\nclass New(unittest.TestCase):\n    def test_empty(self):\n        {body}\n"
    )
}

fn shop(tests: Files<'_>) -> Case<'_> {
    Case {
        command: "python3 -m unittest discover -t . -s tests",
        base: SHOP,
        tests,
        fix: SHOP_FIX,
        exception: ("ZeroDivisionError", "division by zero"),
    }
}

#[tokio::test]
async fn an_honest_unittest_fix_is_proven() {
    let asserted = python_test(
        "try: got = average([])\n        except ZeroDivisionError: got = 'error'\n        self.assertEqual(got, 0)",
    );
    let proven = shop(&[("tests/test_new.py", &asserted)]).prove().await;
    graded(&proven, "by assertion", "proven");
    let proof = &proven.proof;
    assert_eq!((proof.witness, proof.green_runs), (Witness::B, 2));
    assert_eq!(proof.witness_ids, ["tests.test_new.New.test_empty"]);
    assert_eq!(proof.red, "assertion: 'error' != 0");
    assert_eq!((proof.base_counts.pass, proof.head_counts.pass), (1, 2));
    assert_eq!(proven.runs.alone[0].total(), 1, "the new file alone");

    let crash = python_test("self.assertEqual(average([]), 0)");
    let proven = shop(&[("tests/test_new.py", &crash)]).prove().await;
    graded(&proven, "by the incident's own error", "proven");
    assert_eq!(proven.proof.red, "ZeroDivisionError: division by zero");
}

#[tokio::test]
async fn ten_fake_reds_of_unittest() {
    let good = "self.assertEqual(average([]), 0)";
    let set_up = python_test(good).replace(
        "    def test_empty",
        "    def setUp(self): average([])\n    def test_empty",
    );
    let cases = [
        (
            "import error",
            python_test(good).replace("import average", "import average, safe"),
            "not-red: cannot even be loaded: tests.test_new",
        ),
        (
            "zero tests",
            python_test(good).replace("test_empty", "check_empty"),
            "not-red: no new test ran",
        ),
        (
            "another test's failure",
            format!("import shop\nshop.average = lambda order: 7\n{}", python_test(good)),
            "not-red: tests.test_shop.Old.test_two",
        ),
        ("skip", python_test("self.skipTest('later')"), "not-red: is skipped"),
        ("empty file", String::new(), "not-red: no new test ran"),
        ("wrong exception", python_test("average(None)"), "not-red: TypeError"),
        ("failed setup", set_up, "not-red: outside its own body"),
        (
            "flaky",
            python_test(&format!("{good}; self.assertIn('CI', os.environ)")),
            "not-green: when the new tests run alone, in another folder",
        ),
    ];
    for (name, text, expected) in &cases {
        // `test_a` sorts before the old tests, so what it does on import reaches them.
        let path = if *name == "another test's failure" {
            "tests/test_a.py"
        } else {
            "tests/test_new.py"
        };
        graded(&shop(&[(path, text)]).prove().await, name, expected);
    }
}

#[tokio::test]
async fn a_hanging_test_is_no_red() {
    let hang = python_test("import time\n        try: average([])\n        except ZeroDivisionError: time.sleep(600)");
    let tests = [("tests/test_new.py", hang.as_str())];
    let case = shop(&tests);
    let base = shop(&[]).prove().await.runs.base;
    let Bench {
        dir: _dir,
        trees,
        mut request,
    } = case.lay();
    request.base = base;
    request.options.timeout = Duration::from_millis(400);
    let proven = prove(&plain, &kept, &trees, request).await.unwrap();
    graded(&proven, "timeout", "not-red: did not end in time");
}

#[tokio::test]
async fn a_test_already_red_at_the_base_counts_only_with_the_incidents_error() {
    let red = |body: &str| python_test(body).replace("New", "Known");
    let (other, same) = (
        red("self.assertEqual(1, 1 if average([1]) > 1 else 2)"),
        red("average([])"),
    );
    for (text, fix, expected) in [
        (&other, "def average(order): return 9\n", "not-red: adds no test"),
        (&same, SHOP_FIX[0].1, "proven"),
    ] {
        let base = [SHOP, &[("tests/test_known.py", text.as_str())]].concat();
        let case = Case {
            base: &base,
            tests: &[],
            fix: &[("shop.py", fix)],
            ..shop(&[])
        };
        let proven = case.prove().await;
        graded(&proven, "already red", expected);
        assert_eq!(proven.proof.witness == Witness::A, expected == "proven");
    }
}

#[tokio::test]
async fn a_fix_that_breaks_or_loses_an_old_test_is_not_green() {
    let test = python_test("self.assertEqual(average([]), 0)");
    let tests = [("tests/test_new.py", test.as_str())];
    let breaks = Case {
        fix: &[("shop.py", "def average(order): return 0\n")],
        ..shop(&tests)
    };
    graded(
        &breaks.prove().await,
        "breaks",
        "not-green: test_two, a test of the base, fails with the fix: AssertionError: 0 != 3",
    );
    let still = Case {
        fix: &[],
        ..shop(&tests)
    };
    graded(
        &still.prove().await,
        "no fix",
        "not-green: still fails with the fix: ZeroDivisionError",
    );
    let gone = Case {
        fix: &[SHOP_FIX[0], ("tests/test_shop.py", "")],
        ..shop(&tests)
    };
    graded(&gone.prove().await, "gone", "not-green: does not run with the fix");
}

#[tokio::test]
async fn an_unknown_runner_is_unproven() {
    let case = Case {
        command: "make test",
        ..shop(&[("tests/test_new.py", "")])
    };
    graded(&case.prove().await, "make", "unproven: `make test`: not a runner");
}

#[tokio::test]
async fn a_program_within_the_tree_may_not_come_with_the_fix() {
    let test = python_test("self.assertEqual(average([]), 0)");
    let tests = [("tests/test_new.py", test.as_str())];
    let case = Case {
        command: "env/bin/python3 -m unittest discover -t . -s tests",
        ..shop(&tests)
    };
    for (changed, expected) in [
        (false, "proven"),
        (true, "unproven: is not the program that the base has there"),
    ] {
        let Bench {
            dir: _dir,
            trees,
            request,
        } = case.lay();
        let mut on_path = request.options.path.iter().map(|place| place.join("python3"));
        let python = on_path.find(|file| file.exists()).unwrap();
        for tree in [
            &trees.base,
            &trees.red,
            &trees.head,
            &trees.head_again,
            &trees.red_fresh,
            &trees.own,
        ] {
            plant(tree, &[("env/bin/note", "")]);
            let target = if changed && *tree == *trees.head {
                Path::new("/bin/true")
            } else {
                &python
            };
            std::os::unix::fs::symlink(target, tree.join("env/bin/python3")).unwrap();
        }
        graded(&prove(&plain, &kept, &trees, request).await.unwrap(), "venv", expected);
    }
}

#[tokio::test]
async fn every_tree_but_those_of_second_runs_is_seen_at_one_path() {
    let test = python_test("self.assertEqual(average([]), 0)");
    let tests = [("tests/test_new.py", test.as_str())];
    let Bench { dir, trees, request } = shop(&tests).lay();
    let places = RefCell::new(Vec::new());
    let spy = async |child: SuiteChild| {
        let ci = child.env.iter().any(|(name, _)| name == "CI");
        places
            .borrow_mut()
            .push((child.cwd.strip_prefix(dir.path()).unwrap().to_owned(), ci));
        plain(child).await
    };
    graded(&prove(&spy, &kept, &trees, request).await.unwrap(), "places", "proven");
    let seen = places.into_inner();
    let seen: Vec<(&str, bool)> = seen.iter().map(|(path, ci)| (path.to_str().unwrap(), *ci)).collect();
    assert_eq!(
        seen,
        [
            ("work", true),
            ("work", true),
            ("work", true),
            ("own", false),
            ("again", false),
            ("work", true)
        ]
    );
}

#[tokio::test]
async fn a_stop_gives_no_grade() {
    let tests = [("tests/test_new.py", "")];
    let Bench { dir, trees, request } = shop(&tests).lay();
    let runs = RefCell::new(0);
    let stopped_at_red = async |child: SuiteChild| {
        *runs.borrow_mut() += 1;
        let second = *runs.borrow() == 2;
        SuiteOutput {
            not_run: second,
            ..plain(child).await
        }
    };
    let error = prove(&stopped_at_red, &kept, &trees, request).await.err().unwrap();
    assert!(error.is::<suite::NotRun>(), "{error}");
    assert!(trees.red.exists() && !dir.path().join("work").exists());
}

#[tokio::test]
async fn a_tree_returns_also_from_an_ended_run() {
    let dir = tempfile::tempdir().unwrap();
    let (work, tree) = (dir.path().join("work"), dir.path().join("tree"));
    plant(&tree, &[("a", "x")]);
    let endless = with_tree_at(&work, &tree, async |at: &Path| {
        assert!(at.join("a").exists());
        std::future::pending::<()>().await;
    });
    assert!(tokio::time::timeout(Duration::from_millis(1), endless).await.is_err());
    assert!(tree.join("a").exists() && !work.exists());

    fs::create_dir(&work).unwrap();
    let taken = with_tree_at(&work, &tree, async |_: &Path| ()).await;
    assert!(taken.unwrap_err().to_string().contains("is taken"));
}

const NODE_SHOP: Files<'_> = &[
    ("package.json", r#"{"scripts": {"test": "node --test"}}"#),
    ("shop.js", "exports.first = (order) => order.items[0].name;\n"),
    (
        "test/old.test.js",
        "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { first } = require('../shop.js');\ntest('one item', () => assert.equal(first({ items: [{ name: 'a' }] }), 'a'));\n",
    ),
];

fn node_test(body: &str) -> String {
    format!(
        "const {{ test, beforeEach }} = require('node:test');\nconst assert = require('node:assert');\nconst {{ first }} = require('../shop.js');\n{body}\n"
    )
}

#[tokio::test]
async fn node_proofs() {
    let fix = [("shop.js", "exports.first = (order) => order.items[0]?.name ?? '';\n")];
    let good = "test('no item', () => assert.equal(first({ items: [] }), ''));";
    let asserted = "test('no item', () => { let got; try { got = first({ items: [] }); } catch { got = 'error'; } assert.equal(got, ''); });";
    let cases = [
        ("assertion", node_test(asserted), "proven"),
        ("the incident's error", node_test(good), "proven"),
        (
            "import error",
            node_test(&format!("require('./missing.js');\n{good}")),
            "not-red: cannot even be loaded: test/new.test.js",
        ),
        ("empty file", String::new(), "not-red: prove nothing: test/new.test.js"),
        (
            "skip",
            node_test("test('no item', { skip: true }, () => {});"),
            "not-red: is skipped",
        ),
        (
            "wrong exception",
            node_test("test('no item', () => first());"),
            "not-red: neither an assertion",
        ),
        (
            "failed setup",
            node_test(&format!("beforeEach(() => assert.ok(false));\n{good}")),
            "not-red: outside its own body",
        ),
        (
            "own deadline",
            node_test("test('no item', { timeout: 5 }, () => new Promise((r) => setTimeout(r, 900)));"),
            "not-red: outside its own body",
        ),
    ];
    for (name, text, expected) in &cases {
        let case = Case {
            command: "npm test",
            base: NODE_SHOP,
            tests: &[("test/new.test.js", text)],
            fix: &fix,
            exception: ("TypeError", "Cannot read properties of undefined (reading 'name')"),
        };
        let proven = case.prove().await;
        graded(&proven, name, expected);
        if *expected == "proven" {
            assert_eq!(proven.proof.witness_ids, ["test/new.test.js > no item"], "{name}");
            assert_eq!(proven.proof.green_runs, 2, "{name}");
        }
    }
}
