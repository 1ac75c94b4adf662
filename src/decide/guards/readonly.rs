//! Rule `fixer-touched-tests`: what checks the product is read-only for a fixer. Test files, fixtures and snapshots
//! may only grow; runner and CI configuration stays as it is.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;

use super::{
    FileChange, Hit, Side,
    content::{is_binary, visible},
    grow::{Break, Growth},
    intro::{is_rust_test, switched_off},
    items::{Item, Source},
    kind::{Kind, Language},
    lex::{Syntax, lex},
    lines::{diff, number, split},
};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "fixer-touched-tests";
/// Findings of one file; more of the same help nobody.
const MOST: usize = 8;

fn hit(why: impl Into<String>) -> Hit {
    Hit::new(RULE, GuardVerdict::Reject, why.into())
}

pub(super) fn check(change: &FileChange, kind: Kind, normal: &str, hits: &mut Vec<Hit>) {
    let name = normal.rsplit('/').next().unwrap_or_default();
    match (&change.old, &change.new) {
        (Some(old), Some(new)) if old.bytes == new.bytes && old.mode == new.mode => {}
        (Some(old), Some(new)) => changed(old, new, kind, name, hits),
        (Some(_), None) => {
            if kind.is_test_side() || matches!(kind, Kind::Runner | Kind::Ci) {
                hits.push(hit(
                    "the file is deleted or renamed; what checks the product stays where it is",
                ));
            }
        }
        (None, Some(new)) => added(new, kind, name, hits),
        (None, None) => {}
    }
}

fn added(new: &Side, kind: Kind, name: &str, hits: &mut Vec<Hit>) {
    match kind {
        Kind::Runner => hits.push(hit("a new file decides which tests run and how")),
        Kind::Test(Some(language)) => {
            let text = String::from_utf8_lossy(&new.bytes);
            if name == "conftest.py" {
                // It acts on the tests that are there already.
                breaks("", &text, language, hits);
            } else if let Some(word) = switched_off(&Source::new(&text, language).tokens) {
                let line = text.lines().position(|l| l.contains(word)).map_or(1, number);
                hits.push(hit(format!("new test code must run and must not choose what runs ({word})")).at(line));
            }
        }
        Kind::Test(None)
        | Kind::Snapshot
        | Kind::Fixture
        | Kind::Ci
        | Kind::Manifest
        | Kind::Lock
        | Kind::Source(_) => {}
    }
}

fn changed(old: &Side, new: &Side, kind: Kind, name: &str, hits: &mut Vec<Hit>) {
    let test_side = kind.is_test_side() || matches!(kind, Kind::Runner | Kind::Ci);
    if test_side && old.mode & 0o170_000 != new.mode & 0o170_000 {
        hits.push(
            hit("the file becomes another kind of file")
                .change(&format!("mode {:o}", old.mode), &format!("mode {:o}", new.mode)),
        );
        return;
    }
    if old.bytes == new.bytes {
        return;
    }
    if is_binary(old) || is_binary(new) {
        if test_side {
            hits.push(hit("the content is not text and differs"));
        }
        return;
    }
    let (a, b) = (text(old), text(new));
    match kind {
        Kind::Test(Some(language)) => breaks(a, b, language, hits),
        Kind::Test(None) => plain(a, b, |_, _| false, hits),
        Kind::Snapshot => snapshot(a, b, name, hits),
        Kind::Fixture => fixture(a, b, name, hits),
        Kind::Runner | Kind::Ci => configuration(a, b, name, hits),
        Kind::Manifest => manifest(a, b, name, hits),
        Kind::Source(Some(language @ (Language::Rust | Language::Python))) => inline(a, b, language, hits),
        Kind::Source(_) | Kind::Lock => {}
    }
}

fn text(side: &Side) -> &str {
    std::str::from_utf8(&side.bytes).unwrap_or_default()
}

fn breaks(old: &str, new: &str, language: Language, hits: &mut Vec<Hit>) {
    let (a, b) = (Source::new(old, language), Source::new(new, language));
    let found = Growth::new(&a, &b).files();
    report(&found, (old, &a), (new, &b), hits);
}

/// Tests inside a source file.
fn inline(old: &str, new: &str, language: Language, hits: &mut Vec<Hit>) {
    let (a, b) = (Source::new(old, language), Source::new(new, language));
    let (tests, new_tests) = (inline_tests(&a), inline_tests(&b));
    if tests.is_empty() {
        return;
    }
    let mut growth = Growth::new(&a, &b);
    growth.lists(&tests, &new_tests, false);
    let found = growth.breaks;
    report(&found, (old, &a), (new, &b), hits);
}

/// Items under `#[test]` or `#[cfg(test)]`, also within modules of the source; in Python, classes of `unittest`.
pub(super) fn inline_tests(source: &Source<'_>) -> Vec<Item> {
    if source.language == Language::Python {
        let is_case = |item: &Item| {
            let head = item.all.start..item.body.as_ref().map_or(item.all.start, |b| b.start);
            source.tokens[head].iter().any(|t| t.is("TestCase"))
        };
        return source.top().into_iter().filter(is_case).collect();
    }
    let mut out = Vec::new();
    let mut open = source.top();
    open.reverse();
    while let Some(item) = open.pop() {
        let head = item.all.start..source.after_attributes(&item.all);
        if is_rust_test(&source.tokens[head]) {
            out.push(item);
        } else if let Some(body) = item.body {
            let mut inner = source.items(body);
            inner.reverse();
            open.extend(inner);
        }
    }
    out
}

fn report(found: &[Break], old: (&str, &Source<'_>), new: (&str, &Source<'_>), hits: &mut Vec<Hit>) {
    for one in found.iter().take(MOST) {
        let mut a = one.old.clone().map(|r| lines_of(old.1, &r)).unwrap_or_default();
        let b = one.new.clone().map(|r| lines_of(new.1, &r)).unwrap_or_default();
        if b.is_empty() {
            // What is gone is named by its own line, not by what stands above it.
            let marks = a.iter().take_while(|(_, text)| text.starts_with(['#', '@'])).count();
            a.drain(..marks.min(a.len().saturating_sub(1)));
        }
        let (line, was, is) = first_difference(&a, &b);
        let grew = was.is_none() && !a.is_empty();
        let why = if grew {
            "a line is put into an existing test; write a new test instead"
        } else {
            one.why.as_str()
        };
        let raw = |text: &str, line: Option<u32>| {
            let index = line.and_then(|l| usize::try_from(l).ok());
            index
                .and_then(|l| text.lines().nth(l.saturating_sub(1)))
                .map(visible)
                .unwrap_or_default()
        };
        hits.push(hit(why).at(line).change(&raw(old.0, was), &raw(new.0, is)));
    }
}

type Line = (u32, String);

/// Lines of a range as their tokens.
fn lines_of(source: &Source<'_>, range: &Range<usize>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for token in &source.tokens[range.clone()] {
        match out.last_mut() {
            Some((line, text)) if *line == token.line => {
                text.push(' ');
                text.push_str(token.text);
            }
            _ => out.push((token.line, token.text.to_owned())),
        }
    }
    // A comma behind the last row of a table comes and goes with the next row.
    for (_, text) in &mut out {
        let end = text.trim_end_matches([',', ' ']).len();
        text.truncate(end);
    }
    out
}

/// Line to point at, and the lines of the old and the new file to show.
fn first_difference(old: &[Line], new: &[Line]) -> (u32, Option<u32>, Option<u32>) {
    let keys = |lines: &[Line]| -> Vec<String> { lines.iter().map(|(_, text)| text.clone()).collect() };
    for op in diff(&keys(old), &keys(new)) {
        let (tag, o, n) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            continue;
        }
        let was = old.get(o.clone()).and_then(|l| l.first()).map(|(line, _)| *line);
        let is = new.get(n.clone()).and_then(|l| l.first()).map(|(line, _)| *line);
        return (was.or(is).unwrap_or(1), was, is);
    }
    // Same lines, so the shape differs.
    let line = |lines: &[Line]| lines.first().map(|(line, _)| *line);
    (line(old).or(line(new)).unwrap_or(1), line(old), line(new))
}

/// Every old line in order, white space aside; `may` judges each inserted line.
fn plain(old: &str, new: &str, may: impl Fn(&[&str], usize) -> bool, hits: &mut Vec<Hit>) {
    let (a, b) = (split(old.as_bytes()), split(new.as_bytes()));
    let squeeze = |lines: &[&str]| -> Vec<String> { lines.iter().map(|l| l.trim_end().to_owned()).collect() };
    let (x, y) = (squeeze(&a), squeeze(&b));
    for op in diff(&x, &y) {
        let (tag, o, n) = op.as_tag_tuple();
        let blank = |lines: &[String]| lines.iter().all(|l| l.trim().is_empty());
        match tag {
            similar::DiffTag::Equal => {}
            similar::DiffTag::Insert if blank(&y[n.clone()]) || n.clone().all(|i| may(&b, i)) => {}
            similar::DiffTag::Delete if blank(&x[o.clone()]) => {}
            similar::DiffTag::Insert | similar::DiffTag::Delete | similar::DiffTag::Replace => {
                let line = if o.is_empty() { n.start } else { o.start };
                let was = a.get(o).and_then(|l| l.first()).copied().unwrap_or_default();
                let is = b.get(n).and_then(|l| l.first()).copied().unwrap_or_default();
                hits.push(
                    hit("an existing line is changed")
                        .at(number(line))
                        .change(&visible(was), &visible(is)),
                );
                if hits.len() >= MOST {
                    return;
                }
            }
        }
    }
}

/// Entries of a snapshot file, by their heads. A file of one snapshot is one entry.
fn snapshot(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    let head = |line: &str| {
        if name.ends_with(".ambr") {
            line.starts_with("# name:")
        } else {
            line.starts_with("exports[")
        }
    };
    let entries = |text: &str| {
        let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut key = String::new();
        for line in text.lines() {
            if head(line) {
                line.clone_into(&mut key);
            }
            out.entry(key.clone()).or_default().push(line.trim_end().to_owned());
        }
        for lines in out.values_mut() {
            while lines.last().is_some_and(|l| l.is_empty() || l == "# ---") {
                lines.pop();
            }
        }
        out
    };
    let (a, b) = (entries(old), entries(new));
    for (key, lines) in &a {
        if b.get(key) != Some(lines) {
            let line = old.lines().position(|l| l == key).map_or(1, number);
            let is = if b.contains_key(key) { "another content" } else { "" };
            hits.push(
                hit("an existing snapshot is changed or gone")
                    .at(line)
                    .change(&visible(key), is),
            );
        }
    }
}

fn fixture(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    if name.ends_with(".json")
        && let (Ok(a), Ok(b)) = (serde_json::from_str::<Value>(old), serde_json::from_str::<Value>(new))
    {
        if let Some(place) = lost(&a, &b, "$") {
            hits.push(
                hit(format!(
                    "an existing value of the fixture is changed or gone, at {}",
                    visible(&place)
                ))
                .at(1),
            );
        }
        return;
    }
    if name.ends_with(".yml") || name.ends_with(".yaml") || name.ends_with(".toml") {
        let known: Vec<String> = old.lines().filter_map(key_of).collect();
        plain(
            old,
            new,
            |lines, i| key_of(lines[i]).is_none_or(|k| !known.contains(&k)),
            hits,
        );
        return;
    }
    plain(old, new, |_, _| true, hits);
}

/// Indented key of a line of a keyed file: a second one would take the place of the first.
fn key_of(line: &str) -> Option<String> {
    let (key, _) = line.split_once([':', '='])?;
    (!key.trim_start().starts_with(['-', '#'])).then(|| key.trim_end().to_owned())
}

/// Where the new value does not hold all of the old one: objects by key, arrays as a subsequence.
fn lost(old: &Value, new: &Value, place: &str) -> Option<String> {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => a.iter().find_map(|(key, value)| {
            let place = format!("{place}.{key}");
            b.get(key)
                .map_or(Some(place.clone()), |other| lost(value, other, &place))
        }),
        (Value::Array(a), Value::Array(b)) => {
            let mut rest = b.iter();
            a.iter().enumerate().find_map(|(i, value)| {
                let found = rest.any(|other| other == value);
                (!found).then(|| format!("{place}[{i}]"))
            })
        }
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) | Value::Array(_),
            _,
        ) => (old != new).then(|| place.to_owned()),
    }
}

fn configuration(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    let syntax = match name.rsplit_once('.').map_or("", |(_, ext)| ext) {
        "js" | "cjs" | "mjs" | "ts" | "mts" | "cts" => Syntax::Code(Language::Script),
        "py" => Syntax::Code(Language::Python),
        "json" => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            if parse(old).is_some() && parse(old) == parse(new) {
                return;
            }
            Syntax::Code(Language::Script)
        }
        _ => Syntax::Hash,
    };
    let indented = syntax == Syntax::Hash || syntax == Syntax::Code(Language::Python);
    let keys = |text: &str| -> Vec<Line> {
        let mut out: Vec<Line> = Vec::new();
        for token in lex(text, syntax) {
            let indent = if indented && token.first { token.indent } else { 0 };
            match out.last_mut() {
                Some((line, key)) if *line == token.line => *key = format!("{key} {}", token.text),
                _ => out.push((token.line, format!("{}{}", " ".repeat(indent), token.text))),
            }
        }
        out
    };
    let (a, b) = (keys(old), keys(new));
    if a.iter().map(|(_, k)| k).eq(b.iter().map(|(_, k)| k)) {
        return;
    }
    let (line, was, is) = first_difference(&a, &b);
    let raw = |text: &str, line: Option<u32>| {
        let index = line.and_then(|l| usize::try_from(l).ok());
        index
            .and_then(|l| text.lines().nth(l.saturating_sub(1)))
            .map(visible)
            .unwrap_or_default()
    };
    hits.push(
        hit("runner and CI configuration is read-only for a fixer")
            .at(line)
            .change(&raw(old, was), &raw(new, is)),
    );
}

/// Parts of a manifest that say how tests run. Dependencies are another rule's.
fn manifest(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    const KEYS: &[&str] = &["scripts", "jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "type"];
    if name == "package.json"
        && let (Ok(a), Ok(b)) = (serde_json::from_str::<Value>(old), serde_json::from_str::<Value>(new))
    {
        for key in KEYS {
            if a.get(key) != b.get(key) {
                let show = |v: Option<&Value>| v.map(ToString::to_string).map(|t| visible(&t)).unwrap_or_default();
                let why = format!("\"{key}\" says how tests run and is read-only for a fixer");
                hits.push(hit(why).at(1).change(&show(a.get(key)), &show(b.get(key))));
            }
        }
        return;
    }
    let (a, b) = (runner_sections(old), runner_sections(new));
    if let Some((section, line, _)) = a
        .iter()
        .find(|(s, _, body)| !b.iter().any(|(t, _, other)| s == t && body == other))
    {
        let why = format!(
            "the section [{}] says how tests run and is read-only for a fixer",
            visible(section)
        );
        hits.push(hit(why).at(*line));
    } else if let Some((section, line, _)) = b.iter().find(|(s, _, _)| !a.iter().any(|(t, _, _)| s == t)) {
        let why = format!("the new section [{}] says how tests run", visible(section));
        hits.push(hit(why).at(*line));
    }
}

/// Sections of TOML or INI files that configure tests, checks or coverage: name, line, content without comments.
fn runner_sections(text: &str) -> Vec<(String, u32, Vec<String>)> {
    const RUNNERS: &[&str] = &[
        "tool.pytest",
        "tool.coverage",
        "tool.tox",
        "tool.nox",
        "tool.hatch.envs",
        "tool:pytest",
        "coverage",
        "testenv",
        "tox",
        "test",
        "bench",
        "lib",
        "lints",
        "profile.test",
        "mypy",
        "tool.mypy",
        "tool.ruff",
        "flake8",
    ];
    let mut out: Vec<(String, u32, Vec<String>)> = Vec::new();
    let mut inside = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
            continue;
        }
        if let Some(head) = line.strip_prefix('[').filter(|_| line.ends_with(']')) {
            let section = head.trim_matches(['[', ']', ' ']).to_ascii_lowercase();
            inside = RUNNERS.iter().any(|r| {
                section
                    .strip_prefix(r)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':', '-']))
            });
            if inside {
                out.push((section, number(i), Vec::new()));
            }
        } else if inside && let Some((_, _, body)) = out.last_mut() {
            body.push(line.split_whitespace().collect());
        } else if line.starts_with("autotests")
            || line.starts_with("test ")
            || line.starts_with("test=")
            || line.starts_with("harness")
        {
            out.push((line.to_owned(), number(i), Vec::new()));
        }
    }
    out
}
