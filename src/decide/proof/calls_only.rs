//! New tests of JavaScript and TypeScript that only call: no line of their file is a check that can fail. Read by lines and in
//! doubt a check, so that a look-alike passes.

use std::sync::LazyLock;

use regex::Regex;

static CALLS: LazyLock<Regex> =
    LazyLock::new(|| re(r"(?i)\b\w*(?:assert|expect|should|check|verify|must|ensure|fail|throws|rejects)\w*\b"));
/// `t.is(…)` of a test's own context; what is no check there.
static CONTEXT: LazyLock<Regex> = LazyLock::new(|| re(r"\bt\.(\w+)\("));
const NO_CHECK: [&str; 9] = [
    "after",
    "afterEach",
    "before",
    "beforeEach",
    "diagnostic",
    "plan",
    "skip",
    "test",
    "todo",
];
/// Names that a line brings in from a library of checks.
static BROUGHT: LazyLock<Regex> = LazyLock::new(|| re(r#"\{([^}]*)\}.*['"](?:node:)?(?:assert|chai|power-assert)\b"#));
/// A check of nothing but what is written in it.
static CANNOT_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    const VALUE: &str = r#"(?:true|false|null|undefined|-?\d[\d.]*|'[^']*'|"[^"]*")"#;
    re(&format!(
        r"(?:expect\({VALUE}\)(?:\.\w+)*\.\w+\({VALUE}?\)|\bassert(?:\.\w+)?\({VALUE}(?:, ?{VALUE})*\))"
    ))
});

fn re(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Whether each of these tests stands in one of the files, given by path and text, and none of those files checks anything.
pub fn calls_only(files: &[(String, String)], ids: &[String]) -> bool {
    let only_calls = |id: &String| {
        let file = id.split(" > ").next().unwrap_or(id);
        let of_language = file
            .rsplit('.')
            .next()
            .is_some_and(|end| matches!(end, "js" | "jsx" | "cjs" | "mjs" | "ts" | "tsx" | "cts" | "mts"));
        let text = files.iter().find(|(path, _)| path == file);
        of_language && text.is_some_and(|(_, text)| !checks(text))
    };
    !ids.is_empty() && ids.iter().all(only_calls)
}

fn checks(text: &str) -> bool {
    let brought: Vec<&str> = BROUGHT
        .captures_iter(text)
        .filter_map(|found| found.get(1))
        .flat_map(|names| names.as_str().split(','))
        .map(|name| name.trim().rsplit([' ', ':']).next().unwrap_or(name))
        .filter(|name| !name.is_empty())
        .collect();
    let is_check = |line: &str| {
        let rest = CANNOT_FAIL.replace_all(line, "");
        let mut context = CONTEXT.captures_iter(&rest);
        CALLS.is_match(&rest)
            || rest.contains("throw ")
            || context.any(|found| !NO_CHECK.contains(&&found[1]))
            || brought.iter().any(|name| rest.contains(&format!("{name}(")))
    };
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("import ") && !line.contains("require(") && !line.starts_with("//"))
        .map(without_title)
        .any(|line| is_check(&line))
}

/// A line without the words of a title: `it('should be empty', …`.
fn without_title(line: &str) -> String {
    static TITLE: LazyLock<Regex> = LazyLock::new(|| {
        re(r#"\b(?:it|test|describe|suite|context|specify)(?:\.\w+)*\((?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)"#)
    });
    TITLE.replace_all(line, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, nothing: bool) {
        let files = [("test/new.test.ts".to_owned(), body.to_owned())];
        let got = calls_only(&files, &["test/new.test.ts > group > it".to_owned()]);
        assert_eq!(got, nothing, "{body}");
    }

    #[test]
    fn a_test_that_only_calls_checks_nothing() {
        for body in [
            "import { expect, it } from 'vitest';\nit('should not fail', () => { first([]); });\n",
            "const assert = require('node:assert');\ntest(\"checks it\", async () => {\n  await first([]);\n});\n",
            "it('is empty', () => {\n  first([]);\n  expect(true).toBe(true);\n  assert.ok(1);\n});\n",
            "test('a', async (t) => { await t.test('b', () => { first([]); }); });\n",
            "// expect(first([])).toBe(1)\nit('a', () => first([]));\n",
        ] {
            check(body, true);
        }
    }

    #[test]
    fn whatever_may_be_a_check_is_one() {
        for body in [
            "it('a', () => { expect(first([])).toBe(''); });\n",
            "it('a', () => first([]).should.equal(''));\n",
            "test('a', (t) => { t.is(first([]), ''); });\n",
            "it('a', () => { if (first([]) !== '') throw new Error('no'); });\n",
            "it('a', () => { verifyFirst(first([])); });\n",
            "import { equal as same, ok } from 'node:assert';\nit('a', () => { same(first([]), ''); });\n",
            "const { strictEqual } = require('assert');\nit('a', () => { strictEqual(first([]), ''); });\n",
            "it('a', () => { assert.ok(true, first([])); });\n",
            "it('a', () => { sinon.assert.calledOnce(spy); });\n",
        ] {
            check(body, false);
        }
        let files = [("test_new.py".to_owned(), "def test_a(): first([])\n".to_owned())];
        assert!(
            !calls_only(&files, &["test_new.py::test_a".to_owned()]),
            "another language"
        );
        assert!(!calls_only(&files, &[]));
    }
}
