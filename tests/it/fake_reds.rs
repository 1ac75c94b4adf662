//! Reds that are none: the fixer's first patch comes with a test that fails for another reason than the bug. Each goes
//! through the built program, is refused with its reason, and reaches nobody; the honest patch after it is merged on its
//! own evidence.

use serde_json::{Value, json};
use tick::demo::{World, agent::Step};

use crate::merges::prepared::{Prepared, Wants};

/// A patch that says it is a fix, and what has to become of it.
struct Fake<'a> {
    /// The new test file; none: the patch brings no test.
    test: Option<(&'a str, &'a str)>,
    /// Put after the mended source.
    source: &'a str,
    /// Who refuses it, as the evidence has it.
    by: &'a str,
    /// What `tick show` says of it.
    why: &'a str,
    config: Value,
    world: fn(&World),
}

impl Fake<'_> {
    fn step(&self) -> Step {
        let honest = include_str!("../../src/demo/shop/honest/shop/discount.py");
        let source = ("shop/discount.py".to_owned(), format!("{honest}{}", self.source));
        let test = self.test.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Step {
            write: test.into_iter().chain([source]).collect(),
            reply: json!({
                "status": "fixed", "root_cause": "an order may have no items", "summary": "handles it", "tests": [],
            }),
            ..Step::default()
        }
    }

    /// The world after one tick, in which the patch had its chance.
    fn tried(&self) -> (Prepared, String, String) {
        let prepared = Prepared::start(&Wants {
            fixes: vec![self.step()],
            config: self.config.clone(),
            world: self.world,
            ..Wants::default()
        });
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
        let id = prepared
            .ask("SELECT id FROM incident WHERE repo = ?1", "shop")
            .remove(0);
        let shown = prepared.run(&["show", &id]);
        assert_eq!(shown.code, Some(0), "{}", shown.text);
        // Lines are broken where the screen ends.
        let shown = shown.text.split_whitespace().collect::<Vec<_>>().join(" ");
        (prepared, run.text, shown)
    }

    fn refused(&self) {
        let (prepared, run, shown) = self.tried();
        let fake = prepared.ask("SELECT head FROM attempt WHERE n = ?1", "1").remove(0);
        let verdict = "SELECT kind || ' ' || verdict FROM evidence WHERE (verdict LIKE 'not-%' OR verdict = 'reject') AND head = ?1";
        assert_eq!(prepared.ask(verdict, &fake), [self.by], "{run}");
        assert!(
            shown.contains("attempt 1 is over") && shown.contains(self.why),
            "not said: {}\n{shown}",
            self.why
        );
        let effects = prepared.ask("SELECT key FROM effect WHERE key LIKE '%' || ?1 || '%'", &fake[..7]);
        assert!(effects.is_empty(), "{effects:?}");
        let known = prepared.world().repo().git(&["cat-file", "-e", &fake], b"");
        assert!(known.is_err(), "the forge has never heard of it");
        prepared.merged_by_us().unwrap_or_else(|| panic!("{run}"));
        prepared.assert_evidence(&prepared.pull().head_sha, &run);
        prepared.finish();
    }
}

impl Default for Fake<'_> {
    fn default() -> Self {
        Self {
            test: None,
            source: "",
            by: "proof not-red",
            why: "",
            config: Value::Null,
            world: |_| {},
        }
    }
}

/// A test file with one test around one method body.
fn test(body: &str) -> String {
    format!(
        "import os\nimport time\nimport unittest\n\nfrom shop import discount\n\n\nclass NoItems(unittest.TestCase):\n    \
         def test_no_items(self):\n        {body}\n"
    )
}

const GOOD: &str = "self.assertEqual(discount.average_discount({'items': []}), 0)";

macro_rules! fakes {
    ($($name:ident: $path:literal, $text:expr => $by:literal, $why:literal;)+) => {$(
        #[test]
        fn $name() {
            let text: String = $text;
            Fake { test: Some(($path, &text)), by: $by, why: $why, ..Fake::default() }.refused();
        }
    )+};
}

fakes! {
    an_import_error: "tests/test_no_items.py", test(GOOD).replace("import discount", "import discount, empty")
        => "proof not-red", "cannot even be loaded: test_no_items";
    zero_tests: "tests/test_no_items.py", test(GOOD).replace("def test_", "def check_")
        => "proof not-red", "no new test ran";
    another_tests_failure: "tests/test_a.py", format!("from shop import money\n\nmoney.show = str\n{}", test(GOOD))
        => "proof not-red", "a test of the base, gives another result when only the new tests are added";
    a_skip: "tests/test_no_items.py", test("self.skipTest('later')")
        => "guards reject", "new test code must run and must not choose what runs (skipTest)";
    an_empty_file: "tests/test_no_items.py", String::new()
        => "proof not-red", "no new test ran";
    a_wrong_exception: "tests/test_no_items.py", test("discount.average_discount(None)")
        => "proof not-red", "fails by TypeError";
    a_failed_set_up: "tests/test_no_items.py",
        test(GOOD).replace("    def test", "    def setUp(self):\n        discount.average_discount({'items': []})\n\n    def test")
        => "proof not-red", "outside its own body, by ZeroDivisionError";
    a_trace_of_an_earlier_run: "tests/test_no_items.py", test(
        "there = os.path.exists('/dev/shm/tick-was-here')\n        open('/dev/shm/tick-was-here', 'w').close()\n        \
         self.assertTrue(there)",
    ) => "proof not-red", "fails by PermissionError";
    a_flaky_test: "tests/test_no_items.py", test(&format!("{GOOD}\n        self.assertIn('CI', os.environ)"))
        => "proof not-green", "when the new tests run alone, in another folder";
}

/// Passes where it finds what an earlier run left, in any place that it can write or listen on.
const TRACES: &str = "
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

PORT = 47821
PLACES = [os.environ['HOME'], os.environ['TMPDIR'], tempfile.gettempdir(), '/tmp', '/var/tmp', '/dev/shm', '/run']
PLACES += [str(parent) for parent in pathlib.Path.cwd().parents]


def found(act):
    try:
        return bool(act())
    except OSError:
        return False


def serve():
    server = f'import socket\\nserver = socket.create_server((\"127.0.0.1\", {PORT}))\\nwhile True: server.accept()'
    subprocess.Popen([sys.executable, '-c', server], start_new_session=True)


class NoItems(unittest.TestCase):
    def test_no_items(self):
        marks = [os.path.join(place, 'was-here') for place in PLACES]
        seen = [mark for mark in marks if found(lambda: os.path.exists(mark))]
        if found(lambda: socket.create_connection(('127.0.0.1', PORT), 2)):
            seen.append('a service')
        for mark in marks:
            found(lambda: open(mark, 'w').close())
        found(serve)
        self.assertTrue(seen)
";

/// Nothing that a run without the fix leaves behind reaches the run with it.
#[test]
fn traces_of_an_earlier_run_everywhere() {
    Fake {
        test: Some(("tests/test_no_items.py", TRACES)),
        by: "proof not-green",
        why: "test_no_items still fails with the fix: AssertionError: [] is not true",
        ..Fake::default()
    }
    .refused();
}

#[test]
fn a_timeout() {
    let hangs = "try:\n            discount.average_discount({'items': []})\n        except ZeroDivisionError:\n            time.sleep(600)";
    Fake {
        test: Some(("tests/test_no_items.py", &test(hangs))),
        why: "did not end in time; a deadline is no failing test",
        config: json!({ "repos": { "shop": { "test_timeout_seconds": 10 } } }),
        ..Fake::default()
    }
    .refused();
}

/// A test of the base that is red, and not for the incident's reason.
const KNOWN: &str = "import unittest\n\nfrom shop import discount\n\n\nclass Known(unittest.TestCase):\n    def test_currency(self):\n        \
                     self.assertTrue(hasattr(discount, 'CURRENCY'))\n";

/// One that is red because of the bug.
const SAME: &str = "import unittest\n\nfrom shop import discount\n\n\nclass Known(unittest.TestCase):\n    def test_no_items(self):\n        \
                    self.assertEqual(discount.average_discount({'items': []}), 0)\n";

fn plant(world: &World, text: &str) {
    let author = tick::demo::forge::Author {
        name: "ada",
        at: world.now(),
    };
    let files = [("tests/test_known.py".to_owned(), Some(text.as_bytes().to_vec()))];
    world
        .repo()
        .commit("main", None, author, "a known failure", &files)
        .unwrap();
}

#[test]
fn a_test_that_was_red_at_the_base_already() {
    Fake {
        source: "\n\nCURRENCY = \"EUR\"\n",
        why: "adds no test, and no test of the base fails with this incident's error",
        world: |world| plant(world, KNOWN),
        ..Fake::default()
    }
    .refused();
}

/// The other side of the same coin: red at the base with the incident's own error needs no new test.
#[test]
fn a_test_that_was_red_at_the_base_with_the_incidents_error_is_a_witness() {
    let fake = Fake {
        world: |world| plant(world, SAME),
        ..Fake::default()
    };
    let (prepared, run, shown) = fake.tried();
    let head = prepared.pull().head_sha;
    assert_eq!(
        prepared.ask("SELECT head FROM attempt WHERE n = ?1", "1"),
        std::slice::from_ref(&head)
    );
    prepared.merged_by_us().unwrap_or_else(|| panic!("{run}"));
    prepared.assert_evidence(&head, &run);
    assert!(!shown.contains("is over"), "{shown}");
    prepared.finish();
}
