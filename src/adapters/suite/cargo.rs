//! Reads the text of `cargo test`: libtest's result lines on standard output, cargo's headings on standard error.
//! Its counts have to agree with its own summary; what does not add up is unreadable.

use std::{path::Path, sync::LazyLock};

use regex::Regex;

use super::{Readout, panic};
use crate::{
    model::evidence::{TestResult, TestStatus},
    text::ci::rust,
};

static RUNNING: LazyLock<Regex> = LazyLock::new(|| re(r"^running (\d+) tests?$"));
static RESULT: LazyLock<Regex> = LazyLock::new(|| re(r"^test (.+) \.\.\. (ok|FAILED|ignored)(?:, (.*))?$"));
static SUMMARY: LazyLock<Regex> =
    LazyLock::new(|| re(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;"));
static SECTION: LazyLock<Regex> = LazyLock::new(|| re(r"^---- (.+) stdout ----$"));
static LINE_NUMBER: LazyLock<Regex> = LazyLock::new(|| re(r" \(line \d+\)"));
static NOT_BUILT: LazyLock<Regex> = LazyLock::new(|| re(r"^error: could not compile `([^`]+)` \(([^)]+)\)"));

/// Nothing is fetched while tests run.
pub(super) const ENV: [(&str, &str); 2] = [("CARGO_NET_OFFLINE", "true"), ("CARGO_TERM_COLOR", "never")];

fn re(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// One test binary's part of the output.
#[derive(Debug, Default)]
struct Block {
    expected: usize,
    results: Vec<(String, TestStatus, String)>,
    /// Captured output by test name.
    sections: Vec<(String, String)>,
    /// Passed, failed, ignored.
    summary: Option<(usize, usize, usize)>,
    /// Past its result lines: captured output follows, which may hold anything.
    closing: bool,
    /// Past the captured output too: the names of the failed tests follow.
    listing: bool,
}

pub(super) fn parse(stdout: &[u8], stderr: &[u8], dir: &Path) -> Result<Readout, String> {
    let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let load_errors = not_built(&stderr);
    if !load_errors.is_empty() {
        return Ok(Readout {
            tests: Vec::new(),
            load_errors,
            check: None,
        });
    }
    let targets: Vec<String> = stderr.lines().filter_map(rust::target).collect();
    let docs = stderr.lines().any(|line| line.trim_start().starts_with("Doc-tests "));
    let blocks = blocks(&stdout)?;
    if blocks.is_empty() && targets.is_empty() {
        let why = stderr
            .lines()
            .find(|line| line.starts_with("error"))
            .unwrap_or("it ran no test binary");
        return Err(why.to_owned());
    }
    if blocks.len() < targets.len() || (blocks.len() > targets.len() && !docs) {
        return Err(format!(
            "it started {} test binaries, but {} gave readable results",
            targets.len(),
            blocks.len()
        ));
    }
    let mut readout = Readout::default();
    for (index, block) in blocks.into_iter().enumerate() {
        let prefix = targets.get(index).map_or("doc ", String::as_str);
        readout.tests.extend(block.into_tests(prefix, dir)?);
    }
    Ok(readout)
}

/// The name to give to libtest's `--exact` for one of our ids.
pub(super) fn harness_name(id: &str) -> Option<String> {
    if id.starts_with("doc ") {
        return None;
    }
    let id = id.strip_prefix("bin ").unwrap_or(id);
    id.split_once("::").map(|(_, name)| name.to_owned())
}

/// Targets that could not be built, each with the first errors of the compiler.
pub(super) fn not_built(stderr: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut out = Vec::new();
    for line in stderr.lines() {
        if let Some(found) = NOT_BUILT.captures(line) {
            out.push(format!("{} {}: {}", &found[1], &found[2], errors.join("; ")));
            errors.clear();
        } else if line.starts_with("error") && errors.len() < 3 {
            errors.push(line);
        }
    }
    out
}

fn blocks(stdout: &str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for line in stdout.lines() {
        let Some(block) = &mut open else {
            if let Some(found) = RUNNING.captures(line) {
                let expected = found[1]
                    .parse()
                    .map_err(|_| "it names an impossible number of tests".to_owned())?;
                open = Some(Block {
                    expected,
                    ..Block::default()
                });
            }
            continue;
        };
        block.take(line);
        if block.summary.is_some() {
            blocks.extend(open.take());
        }
    }
    match open {
        None => Ok(blocks),
        Some(block) => Err(format!(
            "a test binary ended after {} of {} results",
            block.results.len(),
            block.expected
        )),
    }
}

impl Block {
    fn take(&mut self, line: &str) {
        if let Some(found) = SUMMARY.captures(line) {
            let number = |index: usize| found[index].parse::<usize>().unwrap_or(usize::MAX);
            let summary = (number(1), number(2), number(3));
            // Captured output can hold such a line too: only the one that adds up closes the block.
            if summary == self.counted() {
                self.summary = Some(summary);
                return;
            }
        }
        if self.listing {
            return;
        }
        if line == "failures:" {
            self.listing = self.closing;
            self.closing = true;
        } else if self.closing {
            if let Some(found) = SECTION.captures(line) {
                self.sections.push((found[1].to_owned(), String::new()));
            } else if let Some((_, text)) = self.sections.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        } else if let Some(found) = RESULT.captures(line) {
            let status = match &found[2] {
                "ok" => TestStatus::Pass,
                "ignored" => TestStatus::Skip,
                _ => TestStatus::Fail,
            };
            let why = found.get(3).map_or("", |m| m.as_str()).to_owned();
            self.results.push((found[1].to_owned(), status, why));
        }
    }

    fn counted(&self) -> (usize, usize, usize) {
        let count = |status| self.results.iter().filter(|r| r.1 == status).count();
        (
            count(TestStatus::Pass),
            count(TestStatus::Fail),
            count(TestStatus::Skip),
        )
    }

    fn into_tests(self, prefix: &str, dir: &Path) -> Result<Vec<(String, TestResult)>, String> {
        if self.results.len() != self.expected {
            return Err(format!(
                "a test binary announced {} tests but gave {} results",
                self.expected,
                self.results.len()
            ));
        }
        let test = |(name, status, why): &(String, TestStatus, String)| {
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            let result = match status {
                TestStatus::Fail | TestStatus::Error => {
                    let section = self
                        .sections
                        .iter()
                        .find(|(n, _)| n == name)
                        .map_or("", |(_, text)| text);
                    panic::failure(name, section, dir)
                }
                TestStatus::Pass | TestStatus::Skip => TestResult {
                    message: why.clone(),
                    ..TestResult::of(*status)
                },
            };
            // Doc tests carry the line they stand at, which moves with every edit above.
            (format!("{prefix}{}", LINE_NUMBER.replace(name, "")), result)
        };
        Ok(self.results.iter().map(test).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STDERR: &str = "   Compiling shop v0.1.0 (/x)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.01s
     Running unittests src/lib.rs (target/debug/deps/shop-507999230d6984fa)
error: test failed, to rerun pass `--lib`
     Running unittests src/main.rs (target/debug/deps/shop-17fae50b33798147)
   Doc-tests shop
";
    const STDOUT: &str = "
running 3 tests
test tests::ok ... ok
test tests::later ... ignored, slow
test tests::bad ... FAILED

failures:

---- tests::bad stdout ----
test fake ... ok
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured

thread 'tests::bad' (16869) panicked at src/lib.rs:3:5:
called `Option::unwrap()` on a `None` value
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.14s


running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s


running 1 test
test src/lib.rs - add (line 12) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.24s
";

    fn read(stdout: &str, stderr: &str) -> Result<Readout, String> {
        parse(stdout.as_bytes(), stderr.as_bytes(), Path::new("/nonexistent"))
    }

    #[test]
    fn results_are_read_per_target() {
        let readout = read(STDOUT, STDERR).unwrap();
        let seen: Vec<(&str, TestStatus)> = readout.tests.iter().map(|(id, r)| (id.as_str(), r.status)).collect();
        assert_eq!(
            seen,
            [
                ("shop::tests::ok", TestStatus::Pass),
                ("shop::tests::later", TestStatus::Skip),
                ("shop::tests::bad", TestStatus::Error),
                ("doc src/lib.rs - add", TestStatus::Pass),
            ]
        );
        let bad = &readout.tests[2].1;
        assert_eq!(bad.message, "panic: called `Option::unwrap()` on a `None` value");
        assert!(bad.inside && !bad.by_assertion);
    }

    #[test]
    fn what_does_not_add_up_is_unreadable() {
        let cases = [
            (
                STDOUT.replace("running 3 tests", "running 4 tests"),
                STDERR.to_owned(),
                "announced 4 tests",
            ),
            (
                STDOUT.replace("test tests::ok ... ok\n", ""),
                STDERR.to_owned(),
                "ended after",
            ),
            (STDOUT[..60].to_owned(), STDERR.to_owned(), "ended after"),
            (
                STDOUT.to_owned(),
                STDERR.replace("   Doc-tests shop\n", ""),
                "2 test binaries, but 3",
            ),
            (
                String::new(),
                "error: failed to parse manifest".to_owned(),
                "failed to parse manifest",
            ),
        ];
        for (stdout, stderr, expected) in cases {
            let error = read(&stdout, &stderr).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }

    #[test]
    fn a_build_error_is_a_load_error() {
        let stderr = "   Compiling shop v0.1.0 (/x)
error[E0425]: cannot find function `safe` in this scope
 --> tests/it.rs:1:27
error: could not compile `shop` (test \"it\") due to 1 previous error
";
        let readout = read("", stderr).unwrap();
        assert_eq!(
            readout.load_errors,
            ["shop test \"it\": error[E0425]: cannot find function `safe` in this scope"]
        );
        assert!(readout.tests.is_empty());
    }

    #[test]
    fn ids_lead_back_to_names() {
        assert_eq!(harness_name("shop::tests::ok").as_deref(), Some("tests::ok"));
        assert_eq!(harness_name("bin shop::ok").as_deref(), Some("ok"));
        assert_eq!(harness_name("doc src/lib.rs - add"), None);
    }
}
