//! What a failed Rust test's captured output says: an assertion of the test, or a panic of the code it calls. Reads
//! the tree only to see which macro a panic came from.

use std::{fs, path::Path, sync::LazyLock};

use regex::Regex;

use crate::{
    model::evidence::{TestResult, TestStatus},
    text::ci::rust::{Panic, panics},
};

static ASSERT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\w+::)*(?:assert\w*|debug_assert\w*|prop_assert\w*|proptest|panic)!").expect("a constant pattern")
});

/// What a failed test's captured output says about its failure.
pub(super) fn failure(name: &str, section: &str, dir: &Path) -> TestResult {
    let lines: Vec<&str> = section.lines().collect();
    let panics = panics(&lines);
    let own = panics.iter().rev().find(|p| p.thread == name);
    if let Some(panic) = own.or_else(|| panics.last()) {
        let by_assertion = panic.message.starts_with("assertion ") && panic.thread == "main" || asserted(panic, dir);
        return TestResult {
            status: if by_assertion {
                TestStatus::Fail
            } else {
                TestStatus::Error
            },
            by_assertion,
            inside: true,
            kind: "panic".to_owned(),
            message: format!("panic: {}", panic.message),
            trace: format!(
                "panicked at {}:{}:{}:\n{}",
                panic.file, panic.line, panic.column, panic.message
            ),
        };
    }
    let text = section.trim();
    let expected_panic =
        text.contains("test did not panic as expected") || text.contains("panic did not contain expected string");
    TestResult {
        status: if expected_panic {
            TestStatus::Fail
        } else {
            TestStatus::Error
        },
        by_assertion: expected_panic,
        inside: expected_panic || text.starts_with("Error: "),
        kind: if text.starts_with("Error: ") { "Error" } else { "" }.to_owned(),
        message: text.lines().next().unwrap_or("failed without output").to_owned(),
        trace: text.to_owned(),
    }
}

/// Whether the panic came out of an assertion that stands in test code. The text alone cannot tell: `assert!(x, "m")`
/// says "m", and a product's own `assert!` reads like a test's.
fn asserted(panic: &Panic<'_>, dir: &Path) -> bool {
    let path = Path::new(panic.file);
    let outside = path.is_absolute() || path.components().any(|part| part.as_os_str() == "..");
    if outside {
        return false;
    }
    let in_tests_dir = path.components().any(|part| part.as_os_str() == "tests");
    let Ok(source) = fs::read_to_string(dir.join(path)) else {
        // A manifest below the tree names its sources from its own directory.
        return in_tests_dir && panic.message.starts_with("assertion ");
    };
    let in_tests = in_tests_dir
        || path.file_stem().is_some_and(|stem| stem == "tests" || stem == "test")
        || source
            .lines()
            .take(panic.line)
            .any(|line| line.trim_start().starts_with("#[cfg(test)]"));
    let line = source.lines().nth(panic.line.saturating_sub(1)).unwrap_or("");
    let rest: String = line.chars().skip(panic.column.saturating_sub(1)).collect();
    in_tests && ASSERT.is_match(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assertion_is_told_from_a_panic_by_its_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        let source = "pub fn f() { assert!(false, \"m\"); panic!(\"m\") }\n#[cfg(test)]\nmod tests {\n    fn t() { assert!(false, \"m\"); x.unwrap(); }\n}\n";
        fs::write(dir.path().join("src/lib.rs"), source).unwrap();
        let at = |line: usize, column: usize| {
            let section = format!("\nthread 't' panicked at src/lib.rs:{line}:{column}:\nm\nnote: x\n");
            failure("t", &section, dir.path()).by_assertion
        };
        assert!(at(4, 14), "an assertion of the test, with a message of its own");
        assert!(!at(4, 35), "an unwrap in the test");
        assert!(!at(1, 14), "an assertion of the product");
        assert!(!at(1, 34), "a panic of the product");
    }
}
