//! Real runs of the runners that `scripts/test` installs: pytest, jest, vitest, mocha, go.

use super::{testing::installed, *};

/// A tree with what was installed, or nothing where it was not.
fn bench_with(part: &str, files: &[(&str, &str)]) -> Option<(Bench, PathBuf)> {
    Some((Bench::new(files), installed(part)?))
}

const SHOP: &str = "def half(n):\n    return n / 2\n\ndef checked(n):\n    assert n, 'product'\n    return n\n";
const PYTEST: &str = r#"
import unittest
import pytest
from shop import checked, half

def test_ok(): assert half(4) == 2
def test_assert(): assert half(4) == 3
def test_error(): half(None)
def test_product_assert(): checked(0)
def test_raises():
    with pytest.raises(KeyError): pass
@pytest.mark.skip(reason="later")
def test_skip(): pass
@pytest.mark.xfail
def test_expected(): assert False
@pytest.mark.xfail(strict=True)
def test_unexpected(): pass
@pytest.mark.parametrize("row", [1, 2])
def test_rows(row): assert row == 1
@pytest.fixture
def broken(): half(None)
def test_never(broken): pass
@pytest.fixture
def late():
    yield
    raise ValueError("late")
def test_before(late): pass
class SetUp(unittest.TestCase):
    def setUp(self): half(None)
    def test_never(self): pass
class Old(unittest.TestCase):
    def test_equal(self): self.assertEqual(half(4), 3)
"#;

const OF_PYTEST: [&str; 15] = [
    "tests/test_a.py::Old::test_equal fail!",
    "tests/test_a.py::SetUp::test_never error outside",
    "tests/test_a.py::test_assert fail!",
    "tests/test_a.py::test_before error outside",
    "tests/test_a.py::test_error error",
    "tests/test_a.py::test_expected pass",
    "tests/test_a.py::test_never error outside",
    "tests/test_a.py::test_ok pass",
    "tests/test_a.py::test_product_assert error",
    "tests/test_a.py::test_raises fail!",
    "tests/test_a.py::test_rows[1] pass",
    "tests/test_a.py::test_rows[2] fail!",
    "tests/test_a.py::test_skip skip",
    "tests/test_a.py::test_unexpected error outside",
    "tests/test_b.py::test_b pass",
];

fn of_python(bench: &Bench, deps: &Path) -> SuiteOptions {
    SuiteOptions {
        toolchain_env: vec![("PYTHONPATH".to_owned(), deps.to_string_lossy().into_owned())],
        ..bench.options()
    }
}

#[tokio::test]
async fn pytest_results_are_told_apart() {
    let files = [
        ("shop.py", SHOP),
        ("tests/test_a.py", PYTEST),
        ("tests/test_b.py", "def test_b(): pass\n"),
        ("tests/test_load.py", "import nothing_there\n"),
        ("pytest.ini", "[pytest]\naddopts = -x\npythonpath = .\n"),
    ];
    let Some((bench, deps)) = bench_with("pytest", &files) else {
        return;
    };
    let mut options = of_python(&bench, &deps);
    for text in ["python3 -m pytest -q tests", "python3 -m pytest -n 2 tests"] {
        let suite = bench.run_with(text, &options).await;
        readable(&suite);
        assert_eq!(summary(&suite), OF_PYTEST, "{text}");
        assert_eq!(suite.load_errors.len(), 1, "{:?}", suite.load_errors);
        assert!(
            suite.load_errors[0].starts_with("tests/test_load.py: ModuleNotFoundError"),
            "{:?}",
            suite.load_errors
        );
        let raised = &suite.tests["tests/test_a.py::test_raises"][0];
        assert_eq!(raised.message, "Failed: DID NOT RAISE <class 'KeyError'>");
    }
    for (files, ids) in [
        (vec!["tests/test_b.py".to_owned()], Vec::new()),
        (Vec::new(), vec!["tests/test_b.py::test_b".to_owned()]),
    ] {
        options.only = Some(Only { files, ids });
        let suite = bench
            .run_with("python3 -m pytest tests --ignore=tests/test_load.py", &options)
            .await;
        readable(&suite);
        assert_eq!(summary(&suite), ["tests/test_b.py::test_b pass"]);
    }
}

#[tokio::test]
async fn a_pytest_run_that_ends_early_or_forges_its_report_is_unreadable() {
    for text in [
        "import os\ndef test_a(): os._exit(0)\n",
        "def test_a(): raise KeyboardInterrupt\n",
        "import os\ndef test_a():\n    open(os.environ['TMPDIR'] + '/../report', 'w').close()\n",
    ] {
        let Some((bench, deps)) = bench_with("pytest", &[("tests/test_a.py", text)]) else {
            return;
        };
        let options = of_python(&bench, &deps);
        let suite = bench.run_with("python3 -m pytest tests", &options).await;
        assert!(suite.unreadable.is_some(), "{text}\n{suite:?}");
    }
}

const LIBRARY: &str = "exports.half = (n) => n / 2;\nexports.boom = () => { throw new TypeError('no'); };\n\
                       exports.checked = (n) => { require('node:assert').ok(n, 'product'); };\n";

/// The same cases for all three, in words that each of them has.
const CASES: &str = "
describe('group', () => {
  it('ok', () => { assert.strictEqual(half(4), 2); });
  it('assert', () => { assert.strictEqual(half(4), 3); });
  it('error', () => { boom(); });
  it('product assert', () => { checked(0); });
  it.skip('skip', () => {});
  it('text', () => { throw 'just text'; });
});
describe('hooks', () => { beforeEach(() => { boom(); }); it('never', () => {}); });
";

const TOLD: [&str; 6] = [
    "group > assert fail!",
    "group > error error",
    "group > ok pass",
    "group > product assert error",
    "group > skip skip",
    "group > text error",
];

async fn of_javascript(name: &str, file: &str, head: &str, more: &str, never: &[&str], command: &str) {
    let text = format!("{head}{CASES}{more}");
    let files = [("lib.cjs", LIBRARY), (file, text.as_str()), ("package.json", "{}")];
    let Some((bench, deps)) = bench_with(&format!("node_modules/{name}"), &files) else {
        return;
    };
    std::os::unix::fs::symlink(deps.join("node_modules"), bench.tree().join("node_modules")).unwrap();
    let base = bench.tree();
    let options = SuiteOptions {
        reference: Some(base),
        ..bench.options()
    };
    let suite = bench.run_with(command, &options).await;
    readable(&suite);
    let mut expected: Vec<String> = TOLD
        .iter()
        .chain(never)
        .map(|line| format!("{file} > {line}"))
        .collect();
    expected.sort();
    assert_eq!(summary(&suite), expected, "{name}");
    let asserted = &suite.tests[&format!("{file} > group > assert")][0];
    assert_eq!(asserted.kind, "AssertionError");
    let crash = &suite.tests[&format!("{file} > group > error")][0];
    assert_eq!(crash.message, "TypeError: no");
}

#[tokio::test]
async fn jest_results_are_told_apart() {
    of_javascript(
        "jest",
        "test/a.test.js",
        "const assert = require('node:assert');\nconst { half, boom, checked } = require('../lib.cjs');\n",
        "test('expect', () => { expect(half(4)).toBe(3); });\n\
         test('waits', async () => { await expect(Promise.resolve(1)).resolves.toBe(2); });\n\
         test('slow', async () => { await new Promise(() => {}); }, 50);\n",
        &[
            "hooks > never error outside",
            "expect fail!",
            "waits fail!",
            "slow error outside",
        ],
        "npx jest --rootDir .",
    )
    .await;
}

#[tokio::test]
async fn vitest_results_are_told_apart() {
    of_javascript(
        "vitest",
        "test/a.test.mjs",
        "import assert from 'node:assert';\nimport { beforeEach, describe, expect, it, test } from 'vitest';\n\
         import lib from '../lib.cjs';\nconst { half, boom, checked } = lib;\n",
        "test('expect', () => { expect(half(4)).toBe(3); });\n\
         test('waits', async () => { await expect(Promise.resolve(1)).resolves.toBe(2); });\n\
         test('slow', async () => { await new Promise(() => {}); }, 50);\n",
        &[
            "hooks > never error outside",
            "expect fail!",
            "waits fail!",
            "slow error outside",
        ],
        "npx vitest",
    )
    .await;
}

#[tokio::test]
async fn mocha_results_are_told_apart() {
    of_javascript(
        "mocha",
        "test/a.js",
        "const assert = require('node:assert');\nconst { half, boom, checked } = require('../lib.cjs');\n",
        "it('slow', async function () { this.timeout(50); await new Promise(() => {}); });\n",
        &[
            "hooks > \"before each\" hook for \"never\" error outside",
            "slow error outside",
        ],
        "npx mocha --bail",
    )
    .await;
}

#[tokio::test]
async fn a_file_of_javascript_that_does_not_load_is_no_red() {
    let files = [
        ("test/a.test.js", "require('../nothing');\ntest('a', () => {});\n"),
        ("package.json", "{}"),
    ];
    let Some((bench, deps)) = bench_with("node_modules/jest", &files) else {
        return;
    };
    std::os::unix::fs::symlink(deps.join("node_modules"), bench.tree().join("node_modules")).unwrap();
    let options = SuiteOptions {
        reference: Some(bench.tree()),
        ..bench.options()
    };
    let suite = bench.run_with("npx jest", &options).await;
    readable(&suite);
    assert_eq!(
        suite.load_errors,
        ["test/a.test.js: Cannot find module '../nothing' from 'test/a.test.js'"]
    );
}

#[tokio::test]
async fn another_runner_is_read_by_its_reports() {
    let writes = "import os, sys\nif len(sys.argv) > 1:\n    os.makedirs('out', exist_ok=True)\n    open('out/new.xml', 'w').write(sys.argv[1])\nsys.exit(1)\n";
    let old = "<testsuite><testcase name='old'/></testsuite>";
    let bench = Bench::new(&[("run.py", writes), ("out/old.xml", old)]);
    let options = SuiteOptions {
        junit: Some("out/*.xml".to_owned()),
        ..bench.options()
    };
    let failing = "<testsuite><testcase classname='shop.Test' name='a'><failure type='AssertionError' message='1 != 2'/></testcase></testsuite>";
    let suite = bench.run_with(&format!("python3 run.py \"{failing}\""), &options).await;
    readable(&suite);
    assert_eq!(summary(&suite), ["shop.Test > a fail!"]);
    let suite = bench.run_with("python3 run.py", &options).await;
    assert!(
        suite.unreadable.unwrap().contains("it wrote no report"),
        "a report of an earlier run is none"
    );
    let suite = bench.run_with(&format!("python3 run.py \"{old}\""), &options).await;
    assert!(
        suite
            .unreadable
            .unwrap()
            .contains("names no failure, but it exited with 1")
    );
    let suite = bench.run("python3 run.py").await;
    assert!(suite.unreadable.unwrap().contains("`-m pytest` can be read"));
}

const GO_SHOP: &str = "package shop\n\nfunc First(items []string) string { return items[0] }\n";
const GO_TESTS: &str = r#"package shop

import "testing"

func TestOk(t *testing.T) { t.Log("fine") }
func TestCrash(t *testing.T) { First(nil) }
func TestGroup(t *testing.T) {
	t.Run("ok", func(t *testing.T) {})
	t.Run("no", func(t *testing.T) { t.Errorf("got %d", 1) })
}
func TestSkip(t *testing.T) { t.Skip("later") }
func TestDeep(t *testing.T) {
	t.Run("crash", func(t *testing.T) { First(nil) })
}
func TestSlow(t *testing.T) {
	t.Parallel()
	t.Log("beside the others")
}
func TestTable(t *testing.T) {
	for _, row := range []struct{ name, item string }{{"one", "a"}, {"none", ""}, {"wrong", "b"}, {"no/ne", ""}, {"no/t", "a"}, {"last", "a"}} {
		t.Run(row.name, func(t *testing.T) {
			var items []string
			if row.item != "" {
				items = []string{row.item}
			}
			if got := First(items); got != "a" {
				t.Errorf("got %q", got)
			}
		})
	}
}
func TestLast(t *testing.T) { helper(t) }
"#;
const GO_HELPER: &str =
    "package shop\n\nimport \"testing\"\n\nfunc helper(t *testing.T) {\n\tt.Helper()\n\tt.Fatal(\"no\")\n}\n";

/// Go's build cache is kept from run to run, as a home is that a setup made.
fn of_go(bench: &Bench) -> SuiteOptions {
    let cache = bench.tree().with_file_name("go-build").to_string_lossy().into_owned();
    SuiteOptions {
        toolchain_env: vec![("GOCACHE".to_owned(), cache)],
        ..bench.options()
    }
}

#[tokio::test]
async fn a_crash_of_go_leaves_the_other_results() {
    let files = [
        ("go.mod", "module acme.example/shop\n\ngo 1.19\n"),
        ("shop.go", GO_SHOP),
        ("shop_test.go", GO_TESTS),
        ("helper_test.go", GO_HELPER),
        ("plain/plain.go", "package plain\n"),
        (
            "broken/broken_test.go",
            "package broken\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { none() }\n",
        ),
    ];
    let Some((bench, _)) = bench_with("go", &files) else {
        return;
    };
    let suite = bench.run_with("go test ./...", &of_go(&bench)).await;
    readable(&suite);
    let shop = |line: &str| format!("acme.example/shop > {line}");
    assert_eq!(
        summary(&suite),
        [
            "TestCrash error",
            "TestDeep pass",
            "TestDeep/crash error",
            "TestGroup pass",
            "TestGroup/no fail!",
            "TestGroup/ok pass",
            "TestLast fail!",
            "TestOk pass",
            "TestSkip skip",
            "TestSlow pass",
            "TestTable pass",
            "TestTable/last pass",
            "TestTable/no/ne error",
            "TestTable/no/t pass",
            "TestTable/none error",
            "TestTable/one pass",
            "TestTable/wrong fail!",
        ]
        .map(shop)
    );
    let crash = &suite.tests[&shop("TestCrash")][0];
    assert_eq!(
        crash.message,
        "panic: runtime error: index out of range [0] with length 0"
    );
    assert!(crash.trace.contains("shop.First"), "{}", crash.trace);
    assert_eq!(
        suite.load_errors,
        ["acme.example/shop/broken: broken/broken_test.go:5:28: undefined: none"]
    );

    let options = SuiteOptions {
        only: Some(Only {
            files: Vec::new(),
            ids: vec![shop("TestGroup/no"), shop("TestOk")],
        }),
        ..of_go(&bench)
    };
    let suite = bench.run_with("go test ./...", &options).await;
    readable(&suite);
    let alone = [
        "TestGroup pass",
        "TestGroup/no fail!",
        "TestGroup/ok pass",
        "TestOk pass",
    ];
    assert_eq!(summary(&suite), alone.map(shop));
}

#[tokio::test]
async fn go_runs_where_a_path_has_an_apostrophe() {
    let files = [
        ("go.mod", "module acme.example/shop\n\ngo 1.19\n"),
        (
            "shop_test.go",
            "package shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
        ),
    ];
    let Some((bench, _)) = bench_with("go", &files) else {
        return;
    };
    let options = SuiteOptions {
        scratch: bench.tree().with_file_name("o'brien's scratch"),
        ..of_go(&bench)
    };
    let suite = bench.run_with("go test ./...", &options).await;
    readable(&suite);
    assert_eq!(summary(&suite), ["acme.example/shop > TestA pass"]);
}

#[tokio::test]
async fn a_go_program_that_leaves_early_is_unreadable() {
    let leaves = "package shop\n\nimport (\n\t\"fmt\"\n\t\"syscall\"\n\t\"testing\"\n)\n\n\
                  func TestA(t *testing.T) {\n\tfmt.Print(\"--- PASS: TestA (0.00s)\\nPASS\\n\")\n\tsyscall.Exit(0)\n}\n";
    let files = [
        ("go.mod", "module acme.example/shop\n\ngo 1.19\n"),
        ("shop_test.go", leaves),
    ];
    let Some((bench, _)) = bench_with("go", &files) else {
        return;
    };
    let suite = bench.run_with("go test ./...", &of_go(&bench)).await;
    assert!(suite.unreadable.is_some(), "{suite:?}");
}

#[test]
fn what_node_loads_first_stands_after_the_owners_options() {
    let owner = [("NODE_OPTIONS".to_owned(), "--no-warnings".to_owned())];
    let line = |owner: &[(String, String)]| javascript::preloaded("/a b/intact.cjs", owner).1;
    assert_eq!(line(&[]), "--require \"/a b/intact.cjs\"");
    assert_eq!(line(&owner), "--no-warnings --require \"/a b/intact.cjs\"");
}
