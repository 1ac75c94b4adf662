//! cargo test, nextest, and what the compiler says before them.

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;

use super::{Class, Failure, blocks, re, said};

static PANIC: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*thread '(.+?)'(?: \(\d+\))? panicked at (.+):(\d+):(\d+):$"));
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^\s+Running (?:(?:unittests|tests|benches|examples) )?(\S+) \((?:.*[/\\])?(\S+?)-[0-9a-f]{16}(?:\.exe)?\)$")
});
static SECTION: LazyLock<Regex> = LazyLock::new(|| re(r"^---- (.+?) (?:stdout|stderr) ----$"));
static LINE_NUMBER: LazyLock<Regex> = LazyLock::new(|| re(r" \(line \d+\)"));
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^\s+(?:TRY \d+ )?(FAIL|SIG[A-Z]+|ABORT|TIMEOUT|LEAK-FAIL|FLAKY \d+/\d+|[A-Z]+(?: [A-Z]+)*) \[[^\]]*s\] (?:\( *\d+/\d+\) )?(\S+) (\S.*)$",
    )
});
static ERROR: LazyLock<Regex> = LazyLock::new(|| re(r"^error(?:\[(\w+)\])?: (.+)$"));
static ARROW: LazyLock<Regex> = LazyLock::new(|| re(r"^\s+--> (\S+?):(\d+):\d+$"));

/// A panic as it was printed.
pub struct Panic<'a> {
    pub thread: &'a str,
    pub file: &'a str,
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// The panics that a text tells of.
pub fn panics<'a>(lines: &[&'a str]) -> Vec<Panic<'a>> {
    let starts = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, PANIC.captures(line)?)));
    starts
        .filter_map(|(at, found)| {
            let ends = |line: &&&str| {
                let line = line.trim_start();
                line.starts_with("note: ") || line == "stack backtrace:" || line.starts_with("thread '")
            };
            let message: Vec<&str> = lines[at + 1..].iter().take_while(|line| !ends(line)).copied().collect();
            Some(Panic {
                thread: found.get(1)?.as_str(),
                file: found.get(2)?.as_str(),
                line: found[3].parse().ok()?,
                column: found[4].parse().ok()?,
                message: message.join("\n").trim().to_owned(),
            })
        })
        .collect()
}

/// What cargo's heading of a test binary makes of its tests' ids: the name of the crate, as in a Rust path.
pub fn target(line: &str) -> Option<String> {
    let found = HEADING.captures(line)?;
    let (path, name) = (&found[1], &found[2]);
    let binary = path.ends_with("main.rs") || path.contains("src/bin/");
    Some(if binary {
        format!("bin {name}::")
    } else {
        format!("{name}::")
    })
}

pub(super) fn cargo(lines: &[&str]) -> Vec<Failure> {
    let mut failures = not_built(lines);
    let mut prefix = String::new();
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut open = false;
    for line in lines {
        if let Some(target) = target(line) {
            (prefix, open) = (target, false);
        } else if line.trim_start().starts_with("Doc-tests ") {
            (prefix, open) = ("doc ".to_owned(), false);
        } else if let Some(section) = SECTION.captures(line) {
            found.push((format!("{prefix}{}", LINE_NUMBER.replace(&section[1], "")), Vec::new()));
            open = true;
        } else if *line == "failures:" || line.starts_with("test result: ") {
            open = false;
        } else if let Some((_, block)) = found.last_mut().filter(|_| open) {
            block.push(line);
        }
    }
    failures.extend(
        found
            .into_iter()
            .map(|(test, block)| of_block("cargo test", test, &block)),
    );
    failures
}

pub(super) fn nextest(lines: &[&str]) -> Vec<Failure> {
    if !lines
        .iter()
        .any(|line| line.trim_start().starts_with("Nextest run ID "))
    {
        return Vec::new();
    }
    let mut passed_later = HashSet::new();
    for found in lines.iter().filter_map(|line| STATUS.captures(line)) {
        if found[1].starts_with("FLAKY") || &found[1] == "PASS" {
            passed_later.insert(nextest_id(&found[2], &found[3]));
        }
    }
    let start = |line| {
        let found = STATUS.captures(line)?;
        let bad = ["FAIL", "SIG", "ABORT", "TIMEOUT", "LEAK-FAIL"];
        let is_bad = bad.iter().any(|word| found[1].starts_with(word));
        is_bad.then(|| nextest_id(&found[2], &found[3]))
    };
    let ends =
        |line: &str| line.trim_start().starts_with("Summary [") || STATUS.is_match(line) || line.starts_with("────");
    blocks(lines, start, ends)
        .into_iter()
        .filter(|(test, block)| !block.is_empty() && !passed_later.contains(test))
        .map(|(test, block)| of_block("nextest", test, &block))
        .collect()
}

/// `shop-api::bin/serve` and `tests::adds`: the id that cargo's own runner would give.
fn nextest_id(binary: &str, name: &str) -> String {
    let target = binary.split_once("::").map_or(binary, |(_, target)| target);
    match target.strip_prefix("bin/") {
        Some(program) => format!("bin {program}::{name}"),
        None => format!("{}::{name}", target.replace('-', "_")),
    }
}

fn of_block(runner: &'static str, test: String, block: &[&str]) -> Failure {
    let panics = panics(block);
    let name = test.split_once("::").map_or(test.as_str(), |(_, name)| name);
    let own = panics.iter().rev().find(|panic| panic.thread == name);
    let Some(panic) = own.or_else(|| panics.last()) else {
        // What nextest frames is libtest's own word that it failed.
        let framing = |line: &&str| {
            let line = line.trim();
            line.starts_with("running ")
                || line.starts_with("test ")
                || line.starts_with("failures:")
                || line.starts_with("----")
                || line.ends_with("───")
                || name.ends_with(line)
        };
        let message = said(block.iter().copied().filter(|line| !framing(line)));
        return Failure::new(runner, Class::Unit, test, message, block);
    };
    let mut frames = vec![format!("    at {}:{}:{}", panic.file, panic.line, panic.column)];
    frames.extend(
        block
            .iter()
            .filter(|line| super::is_frame(line))
            .take(super::MOST_FRAMES)
            .map(|line| (*line).to_owned()),
    );
    let message = format!("panic: {}", said(panic.message.lines()));
    Failure::framed(runner, Class::Unit, test, message, frames, block)
}

pub(super) fn not_built(lines: &[&str]) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = ERROR.captures(line) else {
            continue;
        };
        let Some(place) = lines.get(at + 1).and_then(|next| ARROW.captures(next)) else {
            continue;
        };
        let rest = &lines[at..];
        let block = &rest[..rest.iter().position(|line| line.is_empty()).unwrap_or(rest.len())];
        let code = found.get(1).map_or("error", |code| code.as_str());
        let test = format!("{} {code}", &place[1]);
        let frames = vec![format!("    at {}:{}:1", &place[1], &place[2])];
        failures.push(Failure::framed(
            "rustc",
            Class::Build,
            test,
            said([*line]),
            frames,
            block,
        ));
    }
    failures
}
