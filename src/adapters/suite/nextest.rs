//! Reads what `cargo nextest run` says in the words of libtest's JSON: one event a line, written by nextest itself and never
//! by a test.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{Readout, cargo, panic};
use crate::model::evidence::{TestResult, TestStatus};

/// The format is an experiment of nextest's, and has to be asked for by name.
pub(super) const ENV: [(&str, &str); 4] = [
    ("NEXTEST_EXPERIMENTAL_LIBTEST_JSON", "1"),
    ("NEXTEST_RETRIES", "0"),
    ("CARGO_NET_OFFLINE", "true"),
    ("CARGO_TERM_COLOR", "never"),
];
pub(super) const FORMAT: [&str; 2] = ["--message-format", "libtest-json-plus"];

/// With these its events are not all there, or are not one run's.
const MUDDLED: [&str; 9] = [
    "--no-run",
    "--no-capture",
    "--nocapture",
    "--message-format",
    "--retries",
    "--list",
    "--rerun",
    "--stress-count",
    "--stress-duration",
];

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    what: String,
    #[serde(rename = "event")]
    how: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    stdout: String,
    nextest: Option<Binary>,
}

#[derive(Deserialize)]
struct Binary {
    #[serde(rename = "crate")]
    package: String,
    #[serde(rename = "test_binary")]
    target: String,
    kind: String,
}

/// The arguments of a run that goes on after a failure, or why it cannot be read.
pub(super) fn args(before: &[String], rest: &[String]) -> Result<Vec<String>, String> {
    let is_muddled = |word: &&String| {
        MUDDLED
            .iter()
            .any(|flag| *word == flag || word.starts_with(&format!("{flag}=")))
    };
    if let Some(word) = rest.iter().find(is_muddled) {
        return Err(format!("`cargo nextest` cannot be read with {word}"));
    }
    let kept = rest.iter().filter(|word| {
        !matches!(word.as_str(), "--no-fail-fast" | "--ff" | "--nff" | "--fail-fast")
            && !word.starts_with("--max-fail=")
    });
    let own = ["nextest", "run", "--no-fail-fast"].map(str::to_owned);
    Ok(before.iter().cloned().chain(own).chain(kept.cloned()).collect())
}

/// Selects single tests, where the own arguments select none.
pub(super) fn only(args: &[String], ids: &[String]) -> Vec<String> {
    let selects = |word: &String| {
        ["-E", "--filter-expr", "--filterset", "--"]
            .iter()
            .any(|flag| word == flag || word.starts_with(&format!("{flag}=")))
    };
    let names: Vec<String> = ids.iter().filter_map(|id| cargo::harness_name(id)).collect();
    if names.is_empty() || args.iter().any(selects) {
        return Vec::new();
    }
    let wanted: Vec<String> = names.iter().map(|name| format!("test(={name})")).collect();
    vec!["-E".to_owned(), wanted.join(" or ")]
}

pub(super) fn parse(stdout: &[u8], stderr: &[u8], dir: &Path) -> Result<Readout, String> {
    let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let load_errors = cargo::not_built(&stderr);
    if !load_errors.is_empty() {
        return Ok(Readout {
            tests: Vec::new(),
            load_errors,
            check: None,
        });
    }
    let mut binaries: BTreeMap<String, bool> = BTreeMap::new();
    let mut readout = Readout::default();
    let mut running = 0_usize;
    for line in stdout.lines().filter(|line| !line.trim().is_empty()) {
        let event: Event = serde_json::from_str(line).map_err(|_| "it writes a line that is no event".to_owned())?;
        match (event.what.as_str(), event.how.as_str()) {
            ("suite", "started") => {
                let binary = event.nextest.ok_or("a suite has no name")?;
                binaries.insert(format!("{}::{}", binary.package, binary.target), binary.kind == "bin");
            }
            ("suite", _) => {}
            ("test", "started") => running += 1,
            ("test", how) => {
                running = running.checked_sub(1).ok_or("a test ends that never began")?;
                readout.tests.push(test(how, &event, &binaries, dir)?);
            }
            (what, _) => return Err(format!("it writes an event of an unknown kind, {what}")),
        }
    }
    if running > 0 {
        return Err(format!("it ended before {running} tests had a result"));
    }
    if binaries.is_empty() && !stderr.contains("no tests to run") {
        let why = stderr.lines().find(|line| line.starts_with("error"));
        return Err(why.unwrap_or("it ran no test binary").to_owned());
    }
    Ok(readout)
}

fn test(
    how: &str,
    event: &Event,
    binaries: &BTreeMap<String, bool>,
    dir: &Path,
) -> Result<(String, TestResult), String> {
    let (binary, name) = event.name.split_once('$').ok_or("a test has no binary")?;
    let is_program = binaries.get(binary).ok_or("a test belongs to no suite")?;
    let target = binary.split_once("::").map_or(binary, |(_, target)| target);
    let id = format!("{}{target}::{name}", if *is_program { "bin " } else { "" });
    let result = match how {
        "ok" => TestResult::of(TestStatus::Pass),
        "ignored" => TestResult::of(TestStatus::Skip),
        "failed" => panic::failure(name, &event.stdout, dir),
        other => return Err(format!("a test ends in an unknown way, {other}")),
    };
    Ok((id, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As nextest 0.9.143 writes it; suites come again when their tests end in another order.
    const OUT: &str = r#"{"type":"suite","event":"started","test_count":4,"nextest":{"crate":"shop-api","test_binary":"shop_api","kind":"lib"}}
{"type":"test","event":"started","name":"shop-api::shop_api$tests::crash"}
{"type":"test","event":"started","name":"shop-api::shop_api$tests::later"}
{"type":"test","event":"ignored","name":"shop-api::shop_api$tests::later"}
{"type":"test","event":"failed","name":"shop-api::shop_api$tests::crash","exec_time":0.42,"stdout":"\nthread 'tests::crash' (15911) panicked at src/lib.rs:1:40:\ncalled `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`\n"}
{"type":"suite","event":"failed","passed":0,"failed":1,"ignored":1,"measured":0,"filtered_out":0,"exec_time":0.88,"nextest":{"crate":"shop-api","test_binary":"shop_api","kind":"lib"}}
{"type":"suite","event":"started","test_count":1,"nextest":{"crate":"shop-api","test_binary":"shop-api","kind":"bin"}}
{"type":"test","event":"started","name":"shop-api::shop-api$in_main"}
{"type":"test","event":"ok","name":"shop-api::shop-api$in_main","exec_time":0.01}
{"type":"suite","event":"ok","passed":1,"failed":0,"ignored":0,"measured":0,"filtered_out":0,"exec_time":0.01,"nextest":{"crate":"shop-api","test_binary":"shop-api","kind":"bin"}}
{"type":"suite","event":"started","test_count":4,"nextest":{"crate":"shop-api","test_binary":"shop_api","kind":"lib"}}
{"type":"test","event":"started","name":"shop-api::shop_api$tests::wrong"}
{"type":"test","event":"failed","name":"shop-api::shop_api$tests::wrong","exec_time":0.3,"stdout":"noise\n\nthread 'tests::wrong' (15923) panicked at src/lib.rs:6:45:\nassertion `left == right` failed\n  left: 2\n right: 3\n"}
{"type":"test","event":"started","name":"shop-api::shop_api$tests::aborts"}
{"type":"test","event":"failed","name":"shop-api::shop_api$tests::aborts","exec_time":0.008,"stdout":""}
{"type":"suite","event":"failed","passed":0,"failed":2,"ignored":1,"measured":0,"filtered_out":2,"exec_time":0.3,"nextest":{"crate":"shop-api","test_binary":"shop_api","kind":"lib"}}
"#;

    #[test]
    fn events_become_results() {
        let readout = parse(OUT.as_bytes(), b"", Path::new("/nowhere")).unwrap();
        let told: Vec<String> = readout
            .tests
            .iter()
            .map(|(id, result)| format!("{id} {:?} {}", result.status, result.inside))
            .collect();
        assert_eq!(
            told,
            [
                "shop_api::tests::later Skip false",
                "shop_api::tests::crash Error true",
                "bin shop-api::in_main Pass false",
                "shop_api::tests::wrong Error true",
                "shop_api::tests::aborts Error false",
            ]
        );
        assert_eq!(
            readout.tests[1].1.message,
            "panic: called `Option::unwrap()` on a `None` value"
        );
    }

    #[test]
    fn what_does_not_add_up_is_unreadable() {
        let error = |out: &str, err: &str| parse(out.as_bytes(), err.as_bytes(), Path::new("/nowhere")).unwrap_err();
        assert!(
            error(
                &OUT.replace("\"event\":\"ok\",\"name\"", "\"event\":\"hm\",\"name\""),
                ""
            )
            .contains("unknown way")
        );
        assert!(error(&format!("{OUT}noise\n"), "").contains("no event"));
        let cut: String = OUT.lines().take(3).collect::<Vec<_>>().join("\n");
        assert!(error(&cut, "").contains("before 2 tests had a result"));
        assert_eq!(
            error("", "error: no such command: `nextest`\n"),
            "error: no such command: `nextest`"
        );
    }

    #[test]
    fn single_tests_are_selected_by_name() {
        let line = |text: &str| shell_words::split(text).unwrap();
        let args = args(&[], &line("--workspace --fail-fast")).unwrap();
        assert_eq!(args, line("nextest run --no-fail-fast --workspace"));
        let ids = ["shop_api::tests::wrong".to_owned(), "bin shop-api::in_main".to_owned()];
        assert_eq!(only(&args, &ids), ["-E", "test(=tests::wrong) or test(=in_main)"]);
        assert!(only(&line("-E all()"), &ids).is_empty());
        assert!(super::args(&[], &line("--retries=2")).is_err());
    }
}
