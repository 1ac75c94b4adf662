//! go test, and what the compiler says before it.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, blocks, re, said};

static FAILED: LazyLock<Regex> = LazyLock::new(|| re(r"^(\s*)--- FAIL: (\S+) \([\d.]+s\)$"));
static OTHER: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:PASS|SKIP|BENCH):)"));
static PACKAGE: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:FAIL|ok|\?|---)\s+(\S+)\s+(?:\(cached\)|[\d.]+s|\[.*\])"));
static BUILD: LazyLock<Regex> = LazyLock::new(|| re(r"^# (\S+)(?: \[\S+\])?$"));
static SAID: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*(?:vet: )?([\w./-]+\.go):(\d+)(?::\d+)?: (.+)$"));

/// One line of a result, and where it stands.
struct Head<'a> {
    at: usize,
    indent: usize,
    name: &'a str,
}

pub(super) fn test(lines: &[&str]) -> Vec<Failure> {
    let mut failures = not_built(lines);
    let heads: Vec<Head<'_>> = (0..lines.len()).filter_map(|at| head(lines, at)).collect();
    for (index, head) in heads.iter().enumerate() {
        let end = heads.get(index + 1).map_or(lines.len(), |next| next.at);
        let ends = |line: &&&str| line.starts_with("FAIL") || line.starts_with("ok ") || OTHER.is_match(line);
        let rest = &lines[head.at + 1..end];
        let block = &rest[..rest.iter().position(|line| ends(&line)).unwrap_or(rest.len())];
        let parent = heads.get(index + 1).is_some_and(|next| next.indent > head.indent);
        // With -v the output stands before the result.
        let before = spoken_before(lines, head);
        let message = message(block.iter().chain(&before));
        if message.is_empty() && parent {
            continue;
        }
        let frames = frames(block.iter().chain(&before));
        let mut shown = vec![lines[head.at]];
        shown.extend(&before);
        shown.extend(block);
        let test = match package(lines, head.at) {
            Some(package) => format!("{package}.{}", head.name),
            None => head.name.to_owned(),
        };
        failures.push(Failure::framed("go test", Class::Unit, test, message, frames, &shown));
    }
    failures
}

fn head<'a>(lines: &[&'a str], at: usize) -> Option<Head<'a>> {
    let found = FAILED.captures(lines[at])?;
    Some(Head {
        at,
        indent: found[1].len(),
        name: found.get(2)?.as_str(),
    })
}

/// What the test said after its `=== RUN` (or `=== NAME`) line.
fn spoken_before<'a>(lines: &[&'a str], head: &Head<'_>) -> Vec<&'a str> {
    let starts = |line: &&str| {
        let mut words = line
            .trim_start()
            .strip_prefix("=== ")
            .unwrap_or_default()
            .split_whitespace();
        words.next().is_some() && words.next() == Some(head.name)
    };
    let from = head.at.saturating_sub(500);
    let Some(start) = lines[from..head.at].iter().rposition(starts) else {
        return Vec::new();
    };
    let rest = &lines[from + start + 1..head.at];
    let end = rest
        .iter()
        .position(|line| OTHER.is_match(line) || FAILED.is_match(line));
    rest[..end.unwrap_or(rest.len())].to_vec()
}

fn message<'l, 'a: 'l>(lines: impl Iterator<Item = &'l &'a str>) -> String {
    let ends = |line: &&str| line.starts_with("goroutine ") || line.starts_with("exit status");
    said(lines.map(|line| words(line)).take_while(|line| !ends(line)))
}

/// Without the place in front.
fn words(line: &str) -> &str {
    SAID.captures(line)
        .and_then(|c| c.get(3))
        .map_or(line, |said| said.as_str())
}

/// `cart_test.go:12: got 3` names the place of what was said; a panic has a trace.
fn frames<'l, 'a: 'l>(lines: impl Iterator<Item = &'l &'a str>) -> Vec<String> {
    lines
        .filter_map(|line| match SAID.captures(line) {
            Some(found) => Some(format!("    at f ({}:{}:1)", &found[1], &found[2])),
            None => line.starts_with('\t').then(|| (*line).to_owned()),
        })
        .take(super::MOST_FRAMES)
        .collect()
}

/// The package is named when all its tests are done.
fn package<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let found = lines[at..]
        .iter()
        .find_map(|line| PACKAGE.captures(line).filter(|_| !line.starts_with("---")))?;
    found.get(1).map(|name| name.as_str())
}

pub(super) fn not_built(lines: &[&str]) -> Vec<Failure> {
    let start = |line| BUILD.captures(line).and_then(|c| c.get(1)).map(|name| name.as_str());
    let found = blocks(lines, start, |line| !SAID.is_match(line) && !line.starts_with('\t'));
    let broken = found.into_iter().filter(|(_, block)| !block.is_empty());
    broken
        .map(|(package, block)| {
            let frames = frames(block.iter());
            let message = said(block.iter().take(3).map(|line| words(line)));
            Failure::framed("go build", Class::Build, package, message, frames, &block)
        })
        .collect()
}
