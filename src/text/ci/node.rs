//! node's own test runner: TAP, and the list at the end of its other format.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, blocks, own_file, re, said};

static NOT_OK: LazyLock<Regex> = LazyLock::new(|| re(r"^(\s*)not ok \d+(?: -)? (.+)$"));
static SUBTEST: LazyLock<Regex> = LazyLock::new(|| re(r"^(\s*)# Subtest: (.+)$"));
static FIELD: LazyLock<Regex> = LazyLock::new(|| re(r"^\s*(\w+): ?(.*)$"));
static AT: LazyLock<Regex> = LazyLock::new(|| re(r"^test at (\S+?):\d+:\d+$"));
static SPEC: LazyLock<Regex> = LazyLock::new(|| re(r"^✖ (.+?)(?: \([\d.]+m?s\))?$"));

pub(super) fn tap(lines: &[&str]) -> Vec<Failure> {
    if !lines.iter().any(|line| line.trim_start().starts_with("TAP version ")) {
        return Vec::new();
    }
    let mut parents: Vec<(usize, &str)> = Vec::new();
    let mut failures = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = SUBTEST.captures(line) {
            let depth = found[1].len();
            parents.retain(|(other, _)| *other < depth);
            parents.extend(found.get(2).map(|name| (depth, name.as_str())));
        } else if let Some(found) = NOT_OK.captures(line) {
            let depth = found[1].len();
            let above = parents
                .iter()
                .filter(|(other, _)| *other < depth)
                .map(|(_, name)| *name);
            failures.extend(not_ok(above, &found[2], &lines[at + 1..]));
        }
    }
    failures
}

fn not_ok<'a>(above: impl Iterator<Item = &'a str>, name: &str, rest: &[&str]) -> Option<Failure> {
    if name.contains(" # TODO") || name.contains(" # SKIP") {
        return None;
    }
    let marked = rest.first().is_some_and(|line| line.trim() == "---");
    let end = rest
        .iter()
        .position(|line| line.trim() == "...")
        .filter(|_| marked)
        .unwrap_or(0);
    let details = &rest[..end];
    // A suite whose tests failed says nothing of its own.
    if field(details, "failureType").is_some_and(|kind| kind.contains("subtestsFailed")) {
        return None;
    }
    let place = field(details, "location").or_else(|| field(details, "at"));
    let file = place.as_deref().and_then(|place| {
        place
            .trim_matches(['\'', '"', ' '])
            .rsplitn(3, ':')
            .nth(2)
            .map(own_file)
    });
    // A file is a subtest of its own in some versions.
    let above = above.filter(|name| !name.starts_with('/')).map(str::to_owned);
    let names: Vec<String> = file.into_iter().chain(above).chain([name.to_owned()]).collect();
    let kind = field(details, "name").map(|kind| kind.trim_matches('\'').to_owned());
    let text = field(details, "error").unwrap_or_default();
    let text = said(text.trim_matches(['\'', '"']).lines());
    let message = match kind {
        Some(kind) if !kind.is_empty() => format!("{kind}: {text}"),
        _ => text,
    };
    let stack = field(details, "stack").unwrap_or_default();
    let frames = stack
        .lines()
        .take(super::MOST_FRAMES)
        .map(|line| format!("    at {}", line.trim()))
        .collect();
    Some(Failure::framed(
        "node:test",
        Class::Unit,
        names.join(" > "),
        message,
        frames,
        details,
    ))
}

/// A field of the block below a result: on its line, or indented below it.
fn field(details: &[&str], name: &str) -> Option<String> {
    let at = details
        .iter()
        .position(|line| FIELD.captures(line).is_some_and(|f| &f[1] == name))?;
    let line = details[at];
    let indent = line.len() - line.trim_start().len();
    let value = FIELD.captures(line)?.get(2)?.as_str();
    if !matches!(value, "|-" | "|" | ">-") {
        return Some(value.to_owned());
    }
    let below = details[at + 1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || line.len() - line.trim_start().len() > indent);
    Some(below.map(|line| line.trim()).collect::<Vec<_>>().join("\n"))
}

pub(super) fn spec(lines: &[&str]) -> Vec<Failure> {
    let Some(start) = lines.iter().position(|line| *line == "✖ failing tests:") else {
        return Vec::new();
    };
    let place = |line| AT.captures(line).and_then(|c| c.get(1)).map(|file| file.as_str());
    blocks(&lines[start..], place, |_| false)
        .into_iter()
        .filter_map(|(file, block)| {
            let found = SPEC.captures(block.first()?)?;
            let body = &block[1..];
            let test = format!("{} > {}", own_file(file), &found[1]);
            let ends = |line: &&str| line.trim_start() != "generatedMessage: true,";
            let message = said(body.iter().copied().take_while(ends));
            Some(Failure::new("node:test", Class::Unit, test, message, body))
        })
        .collect()
}
