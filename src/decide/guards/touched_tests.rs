//! `fixer-touched-tests` by cases: each refusal beside the look-alike that passes.

use super::{Diff, FileChange, GuardPolicy, Side, judge};
use crate::{
    model::evidence::{Finding, GuardVerdict},
    text::Redactor,
};

pub(super) fn findings(path: &str, old: Option<&str>, new: Option<&str>) -> Vec<Finding> {
    static POLICY: std::sync::OnceLock<GuardPolicy> = std::sync::OnceLock::new();
    let side = |text: &str| Side {
        mode: 0o100_644,
        bytes: text.as_bytes().to_vec(),
    };
    let change = FileChange {
        path: path.as_bytes().to_vec(),
        old: old.map(side),
        new: new.map(side),
    };
    let policy = POLICY.get_or_init(|| GuardPolicy::new([], 400, 120).unwrap());
    let report = judge(&Diff::of([change]), policy, &Redactor::default());
    report
        .findings
        .into_iter()
        .filter(|f| f.rule == "fixer-touched-tests")
        .collect()
}

/// Refused, and the finding shows these two lines.
pub(super) fn refused(path: &str, old: &str, new: &str, was: &str, is: &str) {
    let found = findings(path, Some(old), Some(new));
    let first = found
        .first()
        .unwrap_or_else(|| panic!("{path} should be refused:\n{new}"));
    assert_eq!(first.verdict, GuardVerdict::Reject);
    assert_eq!((first.was.as_str(), first.is.as_str()), (was, is), "{}", first.why);
}

pub(super) fn passes(path: &str, old: &str, new: &str) {
    assert_eq!(findings(path, Some(old), Some(new)), [], "{path}:\n{new}");
}

const PY: &str = "\
import unittest
from shop import total

ROWS = [(\"a\", 1), (\"b\", 2)]

class TestTotal(unittest.TestCase):
    def setUp(self):
        self.order = []

    # An empty order.
    def test_empty(self):
        order = []
        assert total(order) == 0

    def test_one(self):
        with self.assertRaises(ValueError):
            total([None])
        self.assertEqual(total([1]), 1)


def test_rows():
    for name, value in [(\"x\", 1), (\"y\", 2)]:
        assert total([value]) == value


if __name__ == \"__main__\":
    unittest.main()
";

const PY_PATH: &str = "tests/test_total.py";

fn py(from: &str, to: &str) -> String {
    assert!(PY.contains(from), "{from}");
    PY.replacen(from, to, 1)
}

#[test]
fn python_lines_that_change() {
    let bad = |from: &str, to: &str, was: &str, is: &str| refused(PY_PATH, PY, &py(from, to), was, is);
    bad(
        "total(order) == 0",
        "total(order) is not None",
        "assert total(order) == 0",
        "assert total(order) is not None",
    );
    bad(
        "        assert total(order) == 0\n",
        "        pass\n",
        "assert total(order) == 0",
        "pass",
    );
    bad(
        "        assert total(order) == 0\n",
        "        # assert total(order) == 0\n",
        "assert total(order) == 0",
        "",
    );
    bad(
        "        order = []\n",
        "        order = []\n        return\n",
        "",
        "return",
    );
    bad(
        "        order = []\n",
        "        order = []\n        self.skipTest(\"later\")\n",
        "",
        "self.skipTest(\"later\")",
    );
    bad(
        "    def test_empty",
        "    @unittest.skip(\"flaky\")\n    def test_empty",
        "",
        "@unittest.skip(\"flaky\")",
    );
    bad("def test_empty", "def empty", "def test_empty(self):", "");
    bad(
        "(\"x\", 1), (\"y\", 2)",
        "(\"x\", 1)",
        "for name, value in [(\"x\", 1), (\"y\", 2)]:",
        "for name, value in [(\"x\", 1)]:",
    );
    bad(
        "        self.assertEqual(total([1]), 1)\n",
        "            self.assertEqual(total([1]), 1)\n",
        "def test_one(self):",
        "def test_one(self):",
    );
    bad(
        "class TestTotal(unittest.TestCase):",
        "class TestTotal:",
        "class TestTotal(unittest.TestCase):",
        "class TestTotal:",
    );
    bad(
        "from shop import total",
        "from fakes import total",
        "from shop import total",
        "from fakes import total",
    );
}

#[test]
fn python_insertions_that_act_on_old_tests() {
    let bad = |from: &str, to: &str| assert_ne!(findings(PY_PATH, Some(PY), Some(&py(from, to))), [], "{to}");
    let end = "\n\nif __name__";
    bad(
        "import unittest\n",
        "import unittest\npytestmark = unittest.skip(\"x\")\n",
    );
    bad("import unittest\n", "import unittest\nraise unittest.SkipTest\n");
    bad(
        "import unittest\n",
        "import unittest\nimport shop\nshop.total = lambda o: 0\n",
    );
    bad(end, "\n\ndef total(order):\n    return 0\n\n\nif __name__");
    bad(end, "\n\nfrom fakes import total\n\n\nif __name__");
    bad(end, "\n\nfrom fakes import *\n\n\nif __name__");
    bad(end, "\n\ndef test_rows():\n    pass\n\n\nif __name__");
    bad(end, "\n\ndel TestTotal\n\n\nif __name__");
    bad(end, "\n\nTestTotal = None\n\n\nif __name__");
    bad(end, "\n\ndef load_tests(a, b, c):\n    return a\n\n\nif __name__");
    bad(
        end,
        "\n\n@pytest.fixture(autouse=True)\ndef quiet():\n    yield\n\n\nif __name__",
    );
    bad(
        end,
        "\n\n@pytest.mark.skip\ndef test_new():\n    assert True\n\n\nif __name__",
    );
    bad(
        "    def test_one",
        "    def tearDown(self):\n        self._outcome = None\n\n    def test_one",
    );
    bad(
        "    def test_one",
        "    def assertEqual(self, a, b):\n        pass\n\n    def test_one",
    );
    bad("    def test_one", "    __test__ = False\n\n    def test_one");
    bad("from shop import total", "from shop import zero as total, total as old");
}

#[test]
fn python_growth_passes() {
    let good = |from: &str, to: &str| passes(PY_PATH, PY, &py(from, to));
    let end = "\n\nif __name__";
    good(
        end,
        "\n\ndef test_none():\n    skip = 3\n    assert total([]) == 0\n    return\n\n\nif __name__",
    );
    good(
        "    def test_one",
        "    def test_two(self):\n        assert total([1, 1]) == 2\n\n    def test_one",
    );
    good("import unittest\n", "import unittest\nfrom decimal import Decimal\n");
    good("from shop import total", "from shop import total, average");
    good(
        "from shop import total",
        "from shop import (\n    average,\n    total,\n)",
    );
    good("(\"x\", 1), (\"y\", 2)]", "(\"x\", 1), (\"y\", 2), (\"z\", 30)]");
    good(
        "(\"a\", 1), (\"b\", 2)]",
        "\n    (\"a\", 1),\n    (\"new\", 7),\n    (\"b\", 2),\n]",
    );
    good(
        "    # An empty order.\n",
        "    # An order without items; skip nothing.\n\n",
    );
    good(
        "self.assertEqual(total([1]), 1)",
        "self.assertEqual(\n            total([1]),\n            1,\n        )",
    );
    good(
        end,
        "\n\nclass TestMore(unittest.TestCase):\n    def setUp(self):\n        self.n = 1\n\n    def test_n(self):\n        self.assertEqual(self.n, 1)\n\n\nif __name__",
    );
    good(
        end,
        "\n\n@pytest.fixture\ndef basket():\n    return [1]\n\n\ndef test_basket(basket):\n    assert total(basket) == 1\n\n\nif __name__",
    );
    passes(PY_PATH, PY, PY);
}

const TS: &str = "\
import { describe, expect, it } from 'vitest';
import { total } from '../src/cart';

describe('total', () => {
  it('is zero for nothing', () => {
    expect(total([])).toBe(0);
  });

  it.each([
    ['one', 1],
    ['two', 2],
  ])('adds %s', (_, n) => {
    expect(total([n])).toBe(n);
  });
});
";

fn ts(from: &str, to: &str) -> String {
    assert!(TS.contains(from), "{from}");
    TS.replacen(from, to, 1)
}

#[test]
fn script_tests() {
    let path = "web/test/cart.test.ts";
    let bad = |from: &str, to: &str, was: &str, is: &str| refused(path, TS, &ts(from, to), was, is);
    bad(
        "toBe(0)",
        "toBeDefined()",
        "expect(total([])).toBe(0);",
        "expect(total([])).toBeDefined();",
    );
    bad(
        "it('is",
        "it.skip('is",
        "it('is zero for nothing', () => {",
        "it.skip('is zero for nothing', () => {",
    );
    bad(
        "it('is",
        "it.only('is",
        "it('is zero for nothing', () => {",
        "it.only('is zero for nothing', () => {",
    );
    bad(
        "    expect(total([])).toBe(0);\n",
        "    return;\n    expect(total([])).toBe(0);\n",
        "",
        "return;",
    );
    bad("    ['two', 2],\n", "", "['two', 2],", "");
    bad(
        "describe('total'",
        "describe.skip('total'",
        "describe('total', () => {",
        "describe.skip('total', () => {",
    );
    bad(
        "toBe(0);\n",
        "toBe(0); // eslint-disable-line\n",
        "expect(total([])).toBe(0);",
        "expect(total([])).toBe(0); // eslint-disable-line",
    );
    bad(
        "import { total } from '../src/cart'",
        "import { total } from './fake'",
        "import { total } from '../src/cart';",
        "import { total } from './fake';",
    );
    let refuses = |from: &str, to: &str| assert_ne!(findings(path, Some(TS), Some(&ts(from, to))), [], "{to}");
    refuses("\ndescribe", "\nvi.mock('../src/cart');\n\ndescribe");
    refuses("\ndescribe", "\nbeforeEach(() => { vi.useFakeTimers(); });\n\ndescribe");
    refuses(
        "\ndescribe",
        "\nfunction expect() { return { toBe() {} }; }\n\ndescribe",
    );
    refuses(
        "\ndescribe",
        "\ndescribe('new', () => { it.only('x', () => {}); });\n\ndescribe",
    );
    refuses("\ndescribe", "\nfit('x', () => {});\n\ndescribe");
    refuses("  it('is", "  afterEach(() => {});\n\n  it('is");

    let good = |from: &str, to: &str| passes(path, TS, &ts(from, to));
    good(
        "  it('is",
        "  it('keeps only what is there, skip the rest', () => {\n    const skip = 1;\n    expect(total([skip])).toBe(1);\n  });\n\n  it('is",
    );
    good(
        "\ndescribe",
        "\ntest('new', async () => {\n  expect(total([2])).toBe(2);\n});\n\ndescribe",
    );
    good("    ['two', 2],\n", "    ['two', 2],\n    ['three', 3],\n");
    good("{ describe, expect, it }", "{ describe, expect, it, vi }");
    good(
        "expect(total([])).toBe(0);",
        "expect(\n      total([]),\n    ).toBe(0);",
    );
    good("'is zero for nothing'", "\"is zero for nothing\"");
    good("\ndescribe", "\nconst basket = [1, 2];\n\ndescribe");
    good(
        "    expect(total([])).toBe(0);",
        "    // neither .only nor .skip\n    expect(total([])).toBe(0);",
    );
}

const RS: &str = "\
pub fn total(items: &[u32]) -> u32 {
    items.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty() {
        assert_eq!(total(&[]), 0);
    }
}
";

fn rs(from: &str, to: &str) -> String {
    assert!(RS.contains(from), "{from}");
    RS.replacen(from, to, 1)
}

#[test]
fn rust_tests_inside_and_outside_of_the_source() {
    let path = "core/src/total.rs";
    let bad = |from: &str, to: &str, was: &str, is: &str| refused(path, RS, &rs(from, to), was, is);
    bad(
        "assert_eq!(total(&[]), 0)",
        "assert!(total(&[]) < 9)",
        "assert_eq!(total(&[]), 0);",
        "assert!(total(&[]) < 9);",
    );
    bad("    #[test]\n", "    #[test]\n    #[ignore]\n", "", "#[ignore]");
    bad("    #[test]\n", "", "fn empty() {", "");
    bad(
        "#[cfg(test)]\n",
        "#[cfg(all(test, feature = \"slow\"))]\n",
        "mod tests {",
        "",
    );
    bad(
        "        assert_eq!",
        "        return;\n        assert_eq!",
        "",
        "return;",
    );
    let refuses = |from: &str, to: &str| assert_ne!(findings(path, Some(RS), Some(&rs(from, to))), [], "{to}");
    refuses(
        "    use super::*;\n",
        "    use super::*;\n    fn total(_: &[u32]) -> u32 { 0 }\n",
    );
    refuses(
        "    use super::*;\n",
        "    use super::*;\n    macro_rules! assert_eq { ($($t:tt)*) => {}; }\n",
    );
    refuses(
        "    use super::*;\n",
        "    use super::*;\n    use crate::fake::total;\n",
    );

    let good = |from: &str, to: &str| passes(path, RS, &rs(from, to));
    good(
        "items.iter().sum()",
        "items.iter().copied().fold(0, u32::saturating_add)",
    );
    good(
        "    #[test]\n",
        "    #[test]\n    fn two() {\n        assert_eq!(total(&[1, 1]), 2);\n    }\n\n    #[test]\n",
    );
    good("items.iter().sum()", "items.iter().skip(0).sum()");
    good(
        "        assert_eq!(total(&[]), 0);",
        "        assert_eq!(\n            total(&[]),\n            0,\n        );",
    );
    passes(
        "core/src/plain.rs",
        "fn a() {}\n",
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n",
    );

    let file = "#[test]\nfn a() {\n    assert!(true);\n}\n";
    passes("core/tests/a.rs", file, &format!("{file}\n#[test]\nfn b() {{}}\n"));
    refused(
        "core/tests/a.rs",
        file,
        &format!("#![cfg(unix)]\n{file}"),
        "",
        "#![cfg(unix)]",
    );
}

const GO: &str = "\
package relay

import (
\t\"testing\"
)

func TestQueue(t *testing.T) {
\tcases := []struct {
\t\tname string
\t\twant int
\t}{
\t\t{\"empty\", 0},
\t\t{\"one\", 1},
\t}
\tfor _, c := range cases {
\t\tif got := size(c.name); got != c.want {
\t\t\tt.Fatalf(\"got %d\", got)
\t\t}
\t}
}
";

fn go(from: &str, to: &str) -> String {
    assert!(GO.contains(from), "{from}");
    GO.replacen(from, to, 1)
}

#[test]
fn go_tests() {
    let path = "relay/queue_test.go";
    let bad = |from: &str, to: &str, was: &str, is: &str| refused(path, GO, &go(from, to), was, is);
    bad(
        "t.Fatalf",
        "t.Logf",
        "t.Fatalf(\"got %d\", got)",
        "t.Logf(\"got %d\", got)",
    );
    bad("\t\t{\"one\", 1},\n", "", "{\"one\", 1},", "");
    bad("\tcases :=", "\tt.Skip(\"later\")\n\tcases :=", "", "t.Skip(\"later\")");
    bad(
        "package relay",
        "//go:build slow\n\npackage relay",
        "",
        "//go:build slow",
    );
    bad("func TestQueue", "func testQueue", "func TestQueue(t *testing.T) {", "");
    let refuses = |from: &str, to: &str| assert_ne!(findings(path, Some(GO), Some(&go(from, to))), [], "{to}");
    refuses(
        "\nfunc TestQueue",
        "\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n\nfunc TestQueue",
    );
    refuses("\nfunc TestQueue", "\nfunc init() {\n\tsize = nil\n}\n\nfunc TestQueue");

    let good = |from: &str, to: &str| passes(path, GO, &go(from, to));
    good("\t\t{\"one\", 1},\n", "\t\t{\"one\", 1},\n\t\t{\"two\", 2},\n");
    good("\t\"testing\"\n", "\t\"strings\"\n\t\"testing\"\n");
    good(
        "\nfunc TestQueue",
        "\nfunc TestMore(t *testing.T) {\n\tif size(\"a\") != 1 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n\nfunc TestQueue",
    );
}

#[test]
fn tests_of_unittest_inside_a_source_file() {
    let file = "def total(o):\n    return 0\n\n\nclass Check(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(total([]), 0)\n";
    passes("app/total.py", file, &file.replace("return 0", "return sum(o)"));
    refused(
        "app/total.py",
        file,
        &file.replace("total([]), 0", "0, 0"),
        "self.assertEqual(total([]), 0)",
        "self.assertEqual(0, 0)",
    );
    // A function of the product may be named like a test.
    passes(
        "app/net.py",
        "def test_link():\n    return 1\n",
        "def test_link():\n    return 2\n",
    );
}

#[test]
fn nesting_has_an_end() {
    let deep = |n: usize| format!("describe('a', () => {{\n{}{}}});\n", "[".repeat(n), "]".repeat(n));
    assert_ne!(findings("a.test.js", Some(&deep(3)), Some(&deep(60_000))), []);
    assert_ne!(findings("a.test.js", Some(&deep(60_000)), Some(&deep(60_001))), []);
    let classes = |n: usize| {
        let lines: Vec<String> = (0..n).map(|i| format!("{}class A:\n", " ".repeat(i))).collect();
        lines.concat()
    };
    assert_ne!(
        findings("tests/test_a.py", Some(&classes(300)), Some(&classes(301))),
        []
    );
    let blocks = |n: usize, end: &str| format!("{}{end}{}", "describe('a', () => {\n".repeat(n), "});\n".repeat(n));
    assert_ne!(
        findings(
            "a.test.js",
            Some(&blocks(25, "it('x', f);\n")),
            Some(&blocks(25, "it('x', g);\n"))
        ),
        []
    );
    passes(
        "a.test.js",
        &blocks(25, "it('x', f);\n"),
        &blocks(25, "it('x', f);\nit('y', g);\n"),
    );
}
