//! Each way to switch a test off is shown by the line that does it, in every language whose tests are read.

use super::{Diff, FileChange, GuardPolicy, Side, judge};
use crate::{model::evidence::Finding, text::Redactor};

fn found(path: &str, old: &str, new: &str) -> Finding {
    let side = |text: &str| {
        Some(Side {
            mode: 0o100_644,
            bytes: text.as_bytes().to_vec(),
        })
    };
    let change = FileChange {
        path: path.as_bytes().to_vec(),
        old: side(old),
        new: side(new),
    };
    let policy = GuardPolicy::anybody([]).unwrap();
    let report = judge(&Diff::of([change]), &policy, &Redactor::default());
    let skip = report.findings.iter().find(|f| f.rule == "skip-added");
    skip.unwrap_or_else(|| panic!("{path}: {:?}", report.findings)).clone()
}

/// Puts `mark` where the file says `@@`, and expects the finding there.
fn check(path: &str, text: &str, mark: &str, is: &str) {
    let (old, new) = (text.replace("@@", ""), text.replace("@@", mark));
    let finding = found(path, &old, &new);
    assert_eq!(finding.is, is, "{path}");
    assert_ne!(finding.was, finding.is, "{path}");
    let shown = new.lines().nth(finding.line.unwrap() as usize - 1).unwrap();
    assert!(!old.lines().any(|line| line == shown), "{path}: {shown} was there");
}

#[test]
fn a_mark_above_the_test_is_shown() {
    check(
        "tests/test_a.py",
        "import pytest\n\n\n@@def test_div():\n    assert div(4, 2) == 2\n",
        "@pytest.mark.skip(reason=\"later\")\n",
        "@pytest.mark.skip(reason=\"later\") def test_div():",
    );
    check(
        "tests/it.rs",
        "#[test]\n@@fn div() {\n    assert_eq!(a::div(4, 2), 2);\n}\n",
        "#[ignore = \"later\"]\n",
        "#[ignore = \"later\"] fn div() {",
    );
    check(
        "src/test/java/ATest.java",
        "import org.junit.jupiter.api.*;\n\nclass ATest {\n    @@@Test\n    void div() {\n        Assertions.assertEquals(2, A.div(4, 2));\n    }\n}\n",
        "@Disabled(\"later\")\n    ",
        "@Disabled(\"later\")",
    );
    check(
        "src/test/kotlin/ATest.kt",
        "import org.junit.jupiter.api.*\n\nclass ATest {\n    @@@Test\n    fun div() {\n        Assertions.assertEquals(2, div(4, 2))\n    }\n}\n",
        "@Disabled\n    ",
        "@Disabled",
    );
    check(
        "tests/ATest.php",
        "<?php\nclass ATest extends TestCase {\n    public function testDiv() {\n        @@$this->assertSame(2, div(4, 2));\n    }\n}\n",
        "$this->markTestSkipped('later');\n        ",
        "public function testDiv() { … $this->markTestSkipped('later');",
    );
}

#[test]
fn a_call_within_the_test_is_shown() {
    check(
        "a/a_test.go",
        "package a\n\nimport \"testing\"\n\nfunc TestDiv(t *testing.T) {\n@@\tif div(4, 2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
        "\tt.Skip(\"later\")\n",
        "func TestDiv(t *testing.T) { … t.Skip(\"later\")",
    );
    check(
        "tests/test_a.py",
        "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_div(self):\n@@        self.assertEqual(div(4, 2), 2)\n",
        "        self.skipTest(\"later\")\n",
        "def test_div(self): … self.skipTest(\"later\")",
    );
    check(
        "spec/a_spec.rb",
        "RSpec.describe A do\n  it \"divides\" do\n@@    expect(div(4, 2)).to eq(2)\n  end\nend\n",
        "    skip \"later\"\n",
        "it \"divides\" do … skip \"later\"",
    );
    check(
        "test/a.test.js",
        "import test from \"node:test\";\nimport assert from \"node:assert\";\n\ntest(\"divides\", (t) => {\n@@  assert.equal(div(4, 2), 2);\n});\n",
        "  t.skip(\"later\");\n",
        "test(\"divides\", (t) => { … t.skip(\"later\");",
    );
}

#[test]
fn an_option_in_another_line_is_shown() {
    check(
        "test/ATests.cs",
        "using Xunit;\n\npublic class ATests\n{\n    [Fact@@]\n    public void Div()\n    {\n        Assert.Equal(2, A.Div(4, 2));\n    }\n}\n",
        "(Skip = \"later\")",
        "[Fact(Skip = \"later\")]",
    );
    check(
        "src/a.test.ts",
        "describe(\"a\", () => {\n  it@@(\"divides\", () => {\n    expect(div(4, 2)).toBe(2);\n  });\n});\n",
        ".skip",
        "it.skip(\"divides\", () => {",
    );
    check(
        "tests/test_a.py",
        "import unittest\n\n\n@@class A(unittest.TestCase):\n    def test_div(self):\n        self.assertEqual(div(4, 2), 2)\n",
        "@unittest.skip(\"later\")\n",
        "@unittest.skip(\"later\") … def test_div(self):",
    );
}

#[test]
fn of_another_condition_both_are_shown() {
    let test = |when: &str| {
        format!(
            "import sys\nimport pytest\n\n\n@pytest.mark.skipif({when}, reason=\"x\")\ndef test_div():\n    assert div(4, 2) == 2\n"
        )
    };
    let found = found(
        "tests/test_a.py",
        &test("sys.platform == \"win32\""),
        &test("sys.maxsize > 3"),
    );
    assert_eq!(found.line, Some(5));
    assert_eq!(
        (found.was.as_str(), found.is.as_str()),
        (
            "@pytest.mark.skipif(sys.platform == \"win32\", reason=\"x\") def test_div():",
            "@pytest.mark.skipif(sys.maxsize > 3, reason=\"x\") def test_div():"
        )
    );
}

#[test]
fn a_finding_that_shows_it_already_stays() {
    let found = found(
        "src/a.test.ts",
        "it(\"skips nothing\", () => {\n  expect(skip(4)).toBe(2);\n});\n",
        "// skip\nit.skip(\"skips nothing\", () => {\n  expect(skip(4)).toBe(2);\n});\n",
    );
    assert_eq!(found.line, Some(2));
    assert_eq!(
        (found.was.as_str(), found.is.as_str()),
        ("it(\"skips nothing\", () => {", "it.skip(\"skips nothing\", () => {")
    );
}
