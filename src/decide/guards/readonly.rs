//! Rule `fixer-touched-tests`: what checks the product is read-only for a fixer. Test files, fixtures and snapshots
//! may only grow; runner and CI configuration stays as it is.

use std::ops::Range;

use super::{
    FileChange, Hit, Side,
    content::{is_binary, visible},
    data::{configuration, fixture, manifest, plain, snapshot},
    grow::{Break, Growth},
    intro::{is_rust_test, switched_off},
    items::{Item, Source},
    kind::{Kind, Language},
    lines::{diff, number},
};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "fixer-touched-tests";
/// Findings of one file; more of the same help nobody.
pub(super) const MOST: usize = 8;

pub(super) fn hit(why: impl Into<String>) -> Hit {
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
        Kind::Test(None) => plain(a, b, |_| false, hits),
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
        hits.push(hit(why).at(line).change(&nth_line(old.0, was), &nth_line(new.0, is)));
    }
}

/// Number and content of a line.
pub(super) type Line = (u32, String);

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
pub(super) fn first_difference(old: &[Line], new: &[Line]) -> (u32, Option<u32>, Option<u32>) {
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

/// For people; empty without a line.
pub(super) fn nth_line(text: &str, line: Option<u32>) -> String {
    let index = line.and_then(|l| usize::try_from(l).ok()).map(|l| l.saturating_sub(1));
    index.and_then(|i| text.lines().nth(i)).map(visible).unwrap_or_default()
}
