//! Reads `go test -json`: one event a line, as `go doc test2json` describes them, written by the go command.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;

use super::Readout;
use crate::model::evidence::{TestResult, TestStatus};

/// Nothing is fetched while tests run.
pub(super) const ENV: [(&str, &str); 1] = [("GOPROXY", "off")];

/// With these it runs no tests, or not as it would.
const MUDDLED: [&str; 8] = ["-c", "-i", "-n", "-x", "-list", "-exec", "-o", "-fuzz"];

/// Where a test says what went wrong: `    cart_test.go:12: got 1`.
static SAID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s+(\S+\.go):\d+: ?(.*)$").expect("a constant pattern"));
static PANIC: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(?:panic|fatal error): ").expect("a constant pattern"));

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    import_path: String,
}

/// The arguments of a run that says its events, or why it cannot be read.
pub(super) fn args(rest: &[String]) -> Result<Vec<String>, String> {
    let Some(("test", rest)) = rest.split_first().map(|(verb, rest)| (verb.as_str(), rest)) else {
        return Err("of go's commands only `go test` can be read".to_owned());
    };
    let name = |word: &str| {
        let word = word
            .strip_prefix('-')
            .filter(|word| word.starts_with('-'))
            .unwrap_or(word);
        word.split_once('=').map_or(word, |(name, _)| name).to_owned()
    };
    if let Some(word) = rest.iter().find(|word| MUDDLED.contains(&name(word).as_str())) {
        return Err(format!("`go test` cannot be read with {word}"));
    }
    let kept = rest
        .iter()
        .filter(|word| !matches!(name(word).as_str(), "-json" | "-failfast"));
    Ok(["test", "-json"]
        .map(str::to_owned)
        .into_iter()
        .chain(kept.cloned())
        .collect())
}

/// What makes a run one of these tests alone; nothing where the owner selects already.
pub(super) fn only(args: &[String], ids: &[String]) -> Vec<String> {
    let selects = |word: &String| {
        let word = word.trim_start_matches('-');
        ["run", "skip", "args"]
            .iter()
            .any(|flag| word == *flag || word.starts_with(&format!("{flag}=")))
    };
    if ids.is_empty() || args.iter().any(selects) {
        return Vec::new();
    }
    let top = |id: &String| Some(regex::escape(id.split_once(" > ")?.1.split('/').next()?));
    let mut names: Vec<String> = ids.iter().filter_map(top).collect();
    names.sort();
    names.dedup();
    vec![format!("-run=^({})$", names.join("|"))]
}

pub(super) fn parse(stdout: &[u8]) -> Result<Readout, String> {
    let text = String::from_utf8_lossy(stdout);
    let mut readout = Readout::default();
    let mut open: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut building: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let event: Event = serde_json::from_str(line).map_err(|_| "it writes a line that is no event".to_owned())?;
        let key = (event.package.clone(), event.test.clone());
        match event.action.as_str() {
            "build-output" => building.entry(event.import_path).or_default().push_str(&event.output),
            "build-fail" => {
                let said = building.remove(&event.import_path).unwrap_or_default();
                let errors: Vec<&str> = said.lines().filter(|line| !line.starts_with('#')).take(3).collect();
                readout
                    .load_errors
                    .push(format!("{}: {}", event.import_path, errors.join("; ")));
            }
            "run" => drop(open.insert(key, String::new())),
            "output" => match open.get_mut(&key) {
                Some(said) => said.push_str(&event.output),
                // Of the package as a whole.
                None if PANIC.is_match(&event.output) => return Err(ended_early(&event.package)),
                None => {}
            },
            "pass" | "fail" | "skip" if !event.test.is_empty() => {
                let said = open.remove(&key).ok_or("a test ends that never began")?;
                // One panic ends the tests of its package: what would have followed is not known.
                if event.action == "fail" && said.lines().any(|line| PANIC.is_match(line)) {
                    return Err(ended_early(&event.package));
                }
                let id = format!("{} > {}", event.package, event.test);
                readout.tests.push((id, result(&event.action, &said)));
            }
            _ => {}
        }
    }
    if let Some(((package, _), _)) = open.first_key_value() {
        return Err(ended_early(package));
    }
    groups(&mut readout);
    Ok(readout)
}

fn ended_early(package: &str) -> String {
    format!("the tests of {package} ended before all of them had run; a panic of one ends the others too")
}

fn result(action: &str, said: &str) -> TestResult {
    let lines: Vec<(String, String)> = said
        .lines()
        .filter_map(|line| SAID.captures(line))
        .map(|found| (found[1].to_owned(), found[2].to_owned()))
        .collect();
    let message = lines.last().map(|(_, said)| said.clone()).unwrap_or_default();
    match action {
        "pass" => TestResult::of(TestStatus::Pass),
        "skip" => TestResult {
            message,
            ..TestResult::of(TestStatus::Skip)
        },
        _ => {
            // Go has no exceptions: what a test says has failed is its assertion, if a test says it.
            let by_assertion = lines.last().is_some_and(|(file, _)| file.ends_with("_test.go"));
            TestResult {
                status: if by_assertion {
                    TestStatus::Fail
                } else {
                    TestStatus::Error
                },
                by_assertion,
                inside: true,
                message,
                trace: said.to_owned(),
                ..TestResult::of(TestStatus::Fail)
            }
        }
    }
}

/// A test around subtests fails with them; they say why, and it did what it should.
fn groups(readout: &mut Readout) {
    let failed: Vec<String> = readout
        .tests
        .iter()
        .filter(|(_, result)| matches!(result.status, TestStatus::Fail | TestStatus::Error))
        .map(|(id, _)| id.clone())
        .collect();
    for (id, result) in &mut readout.tests {
        let around = format!("{id}/");
        if result.message.is_empty() && failed.contains(id) && failed.iter().any(|other| other.starts_with(&around)) {
            *result = TestResult::of(TestStatus::Pass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Result<Vec<String>, String> {
        let readout = parse(lines.join("\n").as_bytes())?;
        let tests = readout.tests.iter().map(|(id, r)| {
            let mark = if r.by_assertion { "!" } else { "" };
            format!("{id} {:?}{mark} {}", r.status, r.message).trim_end().to_owned()
        });
        let loads = readout.load_errors.iter().map(|error| format!("load {error}"));
        Ok(tests.chain(loads).collect())
    }

    #[test]
    fn events_become_results() {
        let lines = [
            r#"{"Time":"2026-11-01T10:00:00Z","Action":"start","Package":"acme/shop"}"#,
            r#"{"Action":"run","Package":"acme/shop","Test":"TestOk"}"#,
            r#"{"Action":"output","Package":"acme/shop","Test":"TestOk","Output":"=== RUN   TestOk\n"}"#,
            r#"{"Action":"pass","Package":"acme/shop","Test":"TestOk","Elapsed":0}"#,
            r#"{"Action":"run","Package":"acme/shop","Test":"TestHalf"}"#,
            r#"{"Action":"run","Package":"acme/shop","Test":"TestHalf/odd"}"#,
            r#"{"Action":"output","Package":"acme/shop","Test":"TestHalf/odd","Output":"    cart_test.go:12: got 1, want 2\n"}"#,
            r#"{"Action":"output","Package":"acme/shop","Test":"TestHalf/odd","Output":"--- FAIL: TestHalf/odd (0.00s)\n"}"#,
            r#"{"Action":"fail","Package":"acme/shop","Test":"TestHalf/odd","Elapsed":0}"#,
            r#"{"Action":"fail","Package":"acme/shop","Test":"TestHalf","Elapsed":0}"#,
            r#"{"Action":"run","Package":"acme/shop","Test":"TestHelper"}"#,
            r#"{"Action":"output","Package":"acme/shop","Test":"TestHelper","Output":"    helper.go:3: no\n"}"#,
            r#"{"Action":"fail","Package":"acme/shop","Test":"TestHelper","Elapsed":0}"#,
            r#"{"Action":"run","Package":"acme/shop","Test":"TestLater"}"#,
            r#"{"Action":"output","Package":"acme/shop","Test":"TestLater","Output":"    cart_test.go:20: later\n"}"#,
            r#"{"Action":"skip","Package":"acme/shop","Test":"TestLater","Elapsed":0}"#,
            r#"{"Action":"fail","Package":"acme/shop","Elapsed":0.1}"#,
            r##"{"ImportPath":"acme/new [acme/new.test]","Action":"build-output","Output":"# acme/new [acme/new.test]\n"}"##,
            r#"{"ImportPath":"acme/new [acme/new.test]","Action":"build-output","Output":"new/a_test.go:3:2: undefined: x\n"}"#,
            r#"{"ImportPath":"acme/new [acme/new.test]","Action":"build-fail"}"#,
            r#"{"Action":"fail","Package":"acme/new","Elapsed":0,"FailedBuild":"acme/new [acme/new.test]"}"#,
        ];
        assert_eq!(
            told(&lines).unwrap(),
            [
                "acme/shop > TestOk Pass",
                "acme/shop > TestHalf/odd Fail! got 1, want 2",
                "acme/shop > TestHalf Pass",
                "acme/shop > TestHelper Error no",
                "acme/shop > TestLater Skip later",
                "load acme/new [acme/new.test]: new/a_test.go:3:2: undefined: x",
            ]
        );
    }

    #[test]
    fn a_panic_makes_the_run_unreadable() {
        let run = r#"{"Action":"run","Package":"acme/shop","Test":"TestCrash"}"#;
        let panic = r#"{"Action":"output","Package":"acme/shop","Test":"TestCrash","Output":"panic: runtime error: x [recovered]\n"}"#;
        let fail = r#"{"Action":"fail","Package":"acme/shop","Test":"TestCrash","Elapsed":0}"#;
        for lines in [&[run, panic, fail][..], &[run, panic], &[run]] {
            assert!(told(lines).unwrap_err().contains("ended before all of them had run"));
        }
        assert!(told(&["ok acme/shop"]).unwrap_err().contains("no event"));
    }

    #[test]
    fn a_command_says_its_events_and_goes_on() {
        let line = |text: &str| shell_words::split(text).unwrap();
        let args_of = |text: &str| args(&line(text));
        assert_eq!(
            args_of("test -race -failfast ./...").unwrap(),
            line("test -json -race ./...")
        );
        for text in ["build", "test -c", "test --exec=sudo ./...", "vet"] {
            assert!(args_of(text).is_err(), "{text}");
        }
    }
}
