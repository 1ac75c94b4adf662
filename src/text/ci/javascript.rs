//! jest, vitest and mocha.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, blocks, re, said};

static JEST_FILE: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(FAIL|PASS|RUNS)\s+(?:\S+ )?\s*(\S+\.[cm]?[jt]sx?)(?: \([^)]*\))*$"));
static VITEST: LazyLock<Regex> =
    LazyLock::new(|| re(r"^\s?FAIL  ?(?:\|[^|]+\| )?(\S+\.[cm]?[jt]sx?)(?: > (.+?)| \[ .+ \])(?: \d+m?s)?$"));
static FAILING: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*\d+ failing$"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| re(r"^  (?: ?\d)?\d\) (\S.*)$"));

pub(super) fn jest(lines: &[&str]) -> Vec<Failure> {
    let mut file = None;
    let mut out: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut open = false;
    for line in lines {
        if let Some(found) = JEST_FILE.captures(line) {
            file = found.get(2).map(|path| path.as_str()).filter(|_| &found[1] == "FAIL");
            open = false;
        } else if let (Some(file), Some(title)) = (file, line.strip_prefix("  ● ")) {
            // What was printed is shown in the same way.
            open = title != "Console";
            if open {
                out.push((file, title, Vec::new()));
            }
        } else if line.starts_with("Test Suites: ") || line.starts_with("Summary of all failing tests") {
            open = false;
        } else if let Some((_, _, block)) = out.last_mut().filter(|_| open) {
            block.push(line);
        }
    }
    out.into_iter()
        .map(|(file, title, block)| {
            let test = match title {
                "Test suite failed to run" => file.to_owned(),
                _ => format!("{file} › {title}"),
            };
            let message = said(block.iter().copied());
            let mut shown = vec![title];
            shown.extend(&block);
            Failure::new("jest", Class::Unit, test, message, &shown)
        })
        .collect()
}

pub(super) fn vitest(lines: &[&str]) -> Vec<Failure> {
    let start = |line| {
        let found = VITEST.captures(line)?;
        let file = found[1].to_owned();
        Some(match found.get(2) {
            Some(title) => format!("{file} > {}", title.as_str()),
            None => file,
        })
    };
    let mut found = blocks(lines, start, |line| line.contains("⎯⎯⎯⎯⎯"));
    // Tests that failed alike are listed one below the other, with the error once.
    for at in (0..found.len().saturating_sub(1)).rev() {
        if found[at].1.is_empty() {
            let shared = found[at + 1].1.clone();
            found[at].1 = shared;
        }
    }
    found
        .into_iter()
        .map(|(test, block)| {
            let diff = |line: &&str| !(line.starts_with("- Expected") || line.starts_with("+ Received"));
            let message = said(block.iter().copied().take_while(diff));
            let message = message
                .split("\nSerialized Error:")
                .next()
                .unwrap_or_default()
                .to_owned();
            Failure::new("vitest", Class::Unit, test, message, &block)
        })
        .collect()
}

pub(super) fn mocha(lines: &[&str]) -> Vec<Failure> {
    let Some(start) = lines.iter().position(|line| FAILING.is_match(line)) else {
        return Vec::new();
    };
    let head = |line| {
        NUMBERED
            .captures(line)
            .and_then(|c| c.get(1))
            .map(|title| title.as_str())
    };
    let found = blocks(&lines[start..], head, |_| false);
    found
        .into_iter()
        .filter_map(|(first, block)| {
            let (names, body) = titles(first, &block)?;
            let body = &block[body..];
            let message = said(body.iter().copied());
            Some(Failure::new("mocha", Class::Unit, names, message, body))
        })
        .collect()
}

/// Suites and the test stand one below the other; the last one ends with a colon.
fn titles(first: &str, block: &[&str]) -> Option<(String, usize)> {
    const DEEPEST: usize = 20;
    let mut names = Vec::new();
    for (index, line) in std::iter::once(&first).chain(block).take(DEEPEST).enumerate() {
        let name = line.trim();
        if name.is_empty() {
            return None;
        }
        names.push(name.trim_end_matches(':'));
        if name.ends_with(':') {
            return Some((names.join(" > "), index));
        }
    }
    None
}
