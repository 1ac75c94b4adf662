//! The read-only rule for what is not code: plain lines, snapshots, fixtures, runner and CI configuration, manifests.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Hit,
    content::visible,
    kind::{Language, extension},
    lex::{Syntax, lex},
    lines::{diff, number},
    readonly::{Line, MOST, first_difference, hit, nth_line},
};

/// Every old line in order, white space aside; `may` judges each inserted line.
pub(super) fn plain(old: &str, new: &str, may: impl Fn(&str) -> bool, hits: &mut Vec<Hit>) {
    let lines = |text: &'_ str| -> Vec<String> { text.lines().map(|l| l.trim_end().to_owned()).collect() };
    let (old, new) = (lines(old), lines(new));
    let blank = |lines: &[String]| lines.iter().all(|l| l.trim().is_empty());
    for op in diff(&old, &new) {
        let (was, is) = (&old[op.old_range()], &new[op.new_range()]);
        let fine = match op.tag() {
            similar::DiffTag::Equal => true,
            similar::DiffTag::Insert => blank(is) || is.iter().all(|line| may(line)),
            similar::DiffTag::Delete => blank(was),
            similar::DiffTag::Replace => false,
        };
        if fine {
            continue;
        }
        let at = if was.is_empty() {
            op.new_range().start
        } else {
            op.old_range().start
        };
        let first = |lines: &[String]| lines.first().map(|l| visible(l)).unwrap_or_default();
        hits.push(
            hit("an existing line is changed")
                .at(number(at))
                .change(&first(was), &first(is)),
        );
        if hits.len() >= MOST {
            return;
        }
    }
}

/// Entries of a snapshot file, by their heads. A file of one snapshot is one entry.
pub(super) fn snapshot(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    let head = |line: &str| {
        if extension(name) == "ambr" {
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

pub(super) fn fixture(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    if extension(name) == "json"
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
    let settings = |text| super::settings::read_settings(text, name);
    if matches!(extension(name), "yml" | "yaml" | "toml")
        && let (Some(was), Some(is)) = (settings(old), settings(new))
        && !was.is_empty()
    {
        let kept = |s: &super::settings::Setting| is.iter().any(|n| n.path == s.path && n.value == s.value);
        if let Some(gone) = was.iter().find(|s| !kept(s)) {
            let found = hit("an existing value of the fixture is changed or gone");
            hits.push(found.at(gone.line).change(&visible(&gone.shown()), ""));
        }
        return;
    }
    if matches!(extension(name), "yml" | "yaml" | "toml") {
        let known: Vec<String> = old.lines().filter_map(key_of).collect();
        plain(old, new, |line| key_of(line).is_none_or(|k| !known.contains(&k)), hits);
        return;
    }
    plain(old, new, |_| true, hits);
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

pub(super) fn configuration(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
    let syntax = match extension(name) {
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
    hits.push(
        hit("runner and CI configuration is read-only for a fixer")
            .at(line)
            .change(&nth_line(old, was), &nth_line(new, is)),
    );
}

/// Parts of a manifest that say how tests run. Dependencies are another rule's.
pub(super) fn manifest(old: &str, new: &str, name: &str, hits: &mut Vec<Hit>) {
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
