//! Tricks that make a change look proven, each through a whole proof with the real runner: a red that is none, or a
//! green that is none. None of them may come out as proven.

use super::*;

/// What is refused, and by which word.
struct Trick<'a> {
    name: &'a str,
    tests: Vec<(&'a str, String)>,
    fix: Vec<(&'a str, String)>,
    expected: &'a str,
}

const NO_FIX: &str = "def average(order):\n    return 7 if not order else sum(order) / len(order)\n";
const NODE_NO_FIX: &str = "exports.first = (order) => order.items[0]?.name ?? 'none';\n";
const GOOD: &str = "self.assertEqual(average([]), 0)";
const NODE_GOOD: &str = "test('no item', () => assert.equal(first({ items: [] }), ''));";

/// A trick of the new test beside the honest fix.
fn red<'a>(name: &'a str, text: String, expected: &'a str) -> Trick<'a> {
    Trick {
        name,
        tests: vec![("tests/test_new.py", text)],
        fix: vec![("shop.py", SHOP_FIX[0].1.to_owned())],
        expected,
    }
}

/// A trick of the source beside an honest test.
fn green<'a>(name: &'a str, fix: &[(&'a str, &str)], expected: &'a str) -> Trick<'a> {
    Trick {
        name,
        tests: vec![("tests/test_new.py", python_test(GOOD))],
        fix: fix.iter().map(|(path, text)| (*path, (*text).to_owned())).collect(),
        expected,
    }
}

impl Trick<'_> {
    async fn refused(&self, command: &str, base: Files<'_>, exception: (&str, &str)) {
        let files = |of: &[(&'_ str, String)]| -> Vec<(String, String)> {
            of.iter()
                .map(|(path, text)| ((*path).to_owned(), text.clone()))
                .collect()
        };
        let (tests, fix) = (files(&self.tests), files(&self.fix));
        let tests: Vec<(&str, &str)> = tests
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let fix: Vec<(&str, &str)> = fix.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let case = Case {
            command,
            base,
            tests: &tests,
            fix: &fix,
            exception,
        };
        let proven = case.prove().await;
        assert_ne!(proven.proof.grade, ProofGrade::Proven, "{}", self.name);
        graded(&proven, self.name, self.expected);
    }
}

fn whole(body: &str) -> String {
    format!("import os, sys, time, unittest\nimport shop\nfrom shop import average\n\n{body}\n")
}

fn reds_of_unittest() -> Vec<Trick<'static>> {
    let method = |name, body: &str, expected| red(name, python_test(body), expected);
    vec![
        method("another claim", "self.assertEqual(1, 2)", "not-green: still fails"),
        method("cannot fail", "self.assertTrue(True)", "not-red: prove nothing"),
        method(
            "swallows the error",
            "try: average([])\n        except Exception: pass",
            "not-red: prove nothing",
        ),
        method(
            "expects the bug",
            "with self.assertRaises(ZeroDivisionError): average([])",
            "not-red: prove nothing",
        ),
        method("raises what it likes", "raise KeyError('x')", ""),
        method(
            "raises the incident's error itself",
            "raise ZeroDivisionError('division by zero')",
            "not-green: still fails",
        ),
        method(
            "no such attribute",
            "self.assertEqual(average([]).value, average.missing)",
            "",
        ),
        method(
            "a missing fixture",
            "open('tests/none.json')",
            "not-red: FileNotFoundError",
        ),
        method("never ends the stack", "self.test_empty()", ""),
        method("leaves early", "os._exit(0)", ""),
        method("leaves with success", "sys = __import__('sys'); sys.exit(0)", ""),
        method("leaves with failure", "os._exit(1)", ""),
        method(
            "an ignored file of the first run",
            "there = os.path.exists('.seen'); open('.seen', 'w').close(); self.assertTrue(there)",
            "not-green",
        ),
        method("the folder's name", "self.assertIn('again', os.getcwd())", "not-green"),
        method("the environment", "self.assertNotIn('CI', os.environ)", "not-green"),
        method(
            "a forged report on both streams",
            "print('{\"id\": \"x\", \"status\": \"pass\"}'); os.write(2, b'{\"end\": 1}\\n'); self.assertEqual(1, 2)",
            "not-green: still fails",
        ),
        red(
            "skips by itself",
            whole("@unittest.skip('later')\nclass New(unittest.TestCase):\n    def test_empty(self): average([])"),
            "not-red: is skipped",
        ),
        red(
            "wants to fail",
            whole(
                "class New(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_empty(self): average([])",
            ),
            "not-red: prove nothing",
        ),
        red(
            "fails in a clean-up",
            whole("class New(unittest.TestCase):\n    def test_empty(self): self.addCleanup(average, [])"),
            "not-red: outside",
        ),
        red(
            "fails in the tear-down",
            whole("class New(unittest.TestCase):\n    def tearDown(self): average([])\n    def test_empty(self): pass"),
            "not-red: outside",
        ),
        red(
            "fails in the class's set-up",
            whole(
                "class New(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): average([])\n    def test_empty(self): pass",
            ),
            "",
        ),
        red(
            "is not collected",
            whole(
                "def load_tests(loader, tests, pattern): return unittest.TestSuite()\n\nclass New(unittest.TestCase):\n    def test_empty(self): average([])",
            ),
            "not-red: no new test ran",
        ),
        red("leaves on import", whole("sys.exit(0)"), ""),
        red(
            "removes the old tests",
            whole(
                "os.remove(os.path.join(os.path.dirname(__file__), 'test_shop.py'))\n\nclass New(unittest.TestCase):\n    def test_empty(self): average([])",
            ),
            "",
        ),
        red(
            "makes assertions nothing",
            whole(
                "unittest.TestCase.assertEqual = lambda *a, **k: None\n\nclass New(unittest.TestCase):\n    def test_empty(self): self.assertEqual(average([]), 0)",
            ),
            "",
        ),
    ]
}

fn greens_of_unittest() -> Vec<Trick<'static>> {
    vec![
        green("another answer", &[("shop.py", NO_FIX)], "not-green: still fails"),
        green(
            "ends the process",
            &[(
                "shop.py",
                "import os\ndef average(order):\n    if not order: os._exit(0)\n    return sum(order) / len(order)\n",
            )],
            "unproven",
        ),
        green(
            "ends the tests",
            &[(
                "shop.py",
                "import sys\ndef average(order):\n    if not order: sys.exit(0)\n    return sum(order) / len(order)\n",
            )],
            "",
        ),
        green(
            "skips instead",
            &[(
                "shop.py",
                "import unittest\ndef average(order):\n    if not order: raise unittest.SkipTest('later')\n    return sum(order) / len(order)\n",
            )],
            "not-green: is skipped",
        ),
        green(
            "makes assertions nothing",
            &[(
                "shop.py",
                "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef average(order): return 7\n",
            )],
            "not-green: unittest",
        ),
        green(
            "makes failures nothing",
            &[(
                "shop.py",
                "import unittest\nunittest.TestCase.run = lambda self, result=None: result\ndef average(order): return 7\n",
            )],
            "",
        ),
        green(
            "brings its own unittest",
            &[
                ("unittest.py", "class TestCase: pass\ndef main(*a, **k): pass\n"),
                ("shop.py", NO_FIX),
            ],
            "not-green",
        ),
        green(
            "is started with Python",
            &[("sitecustomize.py", "import os\nos._exit(0)\n"), ("shop.py", NO_FIX)],
            "",
        ),
        green(
            "loses the old tests",
            &[("tests/test_shop.py", "import unittest\n"), ("shop.py", SHOP_FIX[0].1)],
            "not-green: does not run",
        ),
        green(
            "skips the old tests",
            &[
                (
                    "tests/__init__.py",
                    "import unittest\nraise unittest.SkipTest('later')\n",
                ),
                ("shop.py", SHOP_FIX[0].1),
            ],
            "not-green",
        ),
        green(
            "breaks an old test",
            &[("shop.py", "def average(order): return 0\n")],
            "not-green: a test of the base, fails",
        ),
        green(
            "prints a forged report",
            &[(
                "shop.py",
                "print('{\"end\": 2}')\ndef average(order): return 7 if not order else sum(order) / len(order)\n",
            )],
            "not-green: still fails",
        ),
        green(
            "knows the second run",
            &[(
                "shop.py",
                "import os\ndef average(order): return 0 if 'CI' in os.environ and not order else sum(order) / len(order)\n",
            )],
            "not-green: when the new tests run alone, in another folder",
        ),
    ]
}

#[tokio::test]
async fn tricks_of_tests_in_unittest() {
    for trick in reds_of_unittest() {
        trick
            .refused(
                "python3 -m unittest discover -t . -s tests",
                SHOP,
                ("ZeroDivisionError", "division by zero"),
            )
            .await;
    }
}

#[tokio::test]
async fn tricks_of_sources_in_unittest() {
    for trick in greens_of_unittest() {
        trick
            .refused(
                "python3 -m unittest discover -t . -s tests",
                SHOP,
                ("ZeroDivisionError", "division by zero"),
            )
            .await;
    }
}

#[tokio::test]
async fn tricks_in_node() {
    let fixed = "exports.first = (order) => order.items[0]?.name ?? '';\n";
    let red = |name, body: &str, expected| Trick {
        name,
        tests: vec![("test/new.test.js", node_test(body))],
        fix: vec![("shop.js", fixed.to_owned())],
        expected,
    };
    let green = |name, source: &str, expected| Trick {
        name,
        tests: vec![("test/new.test.js", node_test(NODE_GOOD))],
        fix: vec![("shop.js", source.to_owned())],
        expected,
    };
    let tricks = [
        red(
            "another claim",
            "test('no item', () => assert.equal(1, 2));",
            "not-green: still fails",
        ),
        red(
            "cannot fail",
            "test('no item', () => assert.ok(true));",
            "not-red: prove nothing",
        ),
        red(
            "is to do",
            "test('no item', { todo: true }, () => first({ items: [] }));",
            "not-red",
        ),
        red("only itself", "test.only('no item', () => {});", "not-red"),
        red("leaves early", "test('no item', () => process.exit(0));", "not-red"),
        red(
            "a missing file",
            "test('no item', () => require('node:fs').readFileSync('none'));",
            "not-red: neither an assertion",
        ),
        red(
            "the environment",
            "test('no item', () => assert.equal(process.env.CI, undefined));",
            "not-green",
        ),
        red(
            "raises the incident's error",
            "test('no item', () => { throw new TypeError(\"Cannot read properties of undefined (reading 'name')\"); });",
            "not-green: still fails",
        ),
        red(
            "makes assertions nothing",
            "assert.equal = () => {}; test('no item', () => { first({ items: [{}] }); assert.equal(1, 2); });",
            "not-green: still fails",
        ),
        red("no test", "first({ items: [{}] });", "not-red"),
        green("another answer", NODE_NO_FIX, "not-green: still fails"),
        green(
            "makes assertions nothing",
            "require('node:assert').equal = () => {};\nexports.first = () => 'x';\n",
            "not-green: still fails",
        ),
        green(
            "ends the process",
            "exports.first = (order) => order.items[0]?.name ?? process.exit(0);\n",
            "not-green",
        ),
        green(
            "knows the second run",
            "exports.first = (order) => order.items[0]?.name ?? (process.env.CI ? '' : 'x');\n",
            "not-green: when the new tests run alone, in another folder",
        ),
        green(
            "prints a forged report",
            "console.log('ok 1 - no item');\nexports.first = (order) => order.items[0]?.name ?? 'x';\n",
            "not-green: still fails",
        ),
    ];
    let exception = ("TypeError", "Cannot read properties of undefined (reading 'name')");
    for trick in &tricks {
        trick.refused("npm test", NODE_SHOP, exception).await;
    }
}
