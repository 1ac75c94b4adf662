//! Which changed line does what a finding about a test says: a mark, an option or a call often stands beside the line that
//! names the test, and that line alone shows nothing.

use std::collections::BTreeMap;

use super::{Hit, content::visible, lines, view::File};

/// Words of what keeps a test from running, where the finding names none that stands in a changed line.
const WORDS: &str = "\
    skip ignore disable todo fixme pending quarantine explicit omit xfail expectedfailure failing only focus assume abort \
    inconclusive incomplete return retry retries flaky timeout";

/// Changed lines that are read on each side of the test.
const NEAR: usize = 100;

/// The lines of a change that only one side has, by number.
#[derive(Default)]
pub(super) struct Changed<'a> {
    old: Vec<(u32, &'a str)>,
    new: Vec<(u32, &'a str)>,
}

impl<'a> Changed<'a> {
    fn of(file: &File<'a>) -> Self {
        let side = |text: Option<&'a str>| text.map(|text| lines::split(text.as_bytes())).unwrap_or_default();
        let (old, new) = (side(file.old), side(file.new));
        let mut changed = Self::default();
        for op in lines::diff(&old, &new) {
            if !matches!(op, similar::DiffOp::Equal { .. }) {
                changed
                    .old
                    .extend(op.old_range().map(|at| (lines::number(at), old[at])));
                changed
                    .new
                    .extend(op.new_range().map(|at| (lines::number(at), new[at])));
            }
        }
        changed
    }
}

/// Gives findings whose `was` and `is` are one line that which makes the difference.
pub(super) fn show(files: &[File<'_>], hits: &mut [(usize, Hit)]) {
    let mut known: BTreeMap<usize, Changed<'_>> = BTreeMap::new();
    for (at, hit) in hits.iter_mut() {
        if let Some(file) = files.get(*at).filter(|_| !hit.by[1].is_empty()) {
            place(hit, known.entry(*at).or_insert_with(|| Changed::of(file)));
        }
    }
}

fn place(hit: &mut Hit, changed: &Changed<'_>) {
    let Some(named) = hit.line else { return };
    let Some((line, text)) = best(&changed.new, &hit.by[1], named) else {
        return;
    };
    if line == named {
        return;
    }
    let name = std::mem::take(&mut hit.is);
    hit.is = joined(&name, text, i64::from(line) - i64::from(named));
    // A mark that was there before, and said something else.
    if !hit.by[0].is_empty()
        && let Some((_, text)) = best(&changed.old, &hit.by[0], named)
    {
        hit.was = joined(&name, text, i64::from(line) - i64::from(named));
    }
    hit.line = Some(line);
}

/// The line beside the test's name, in the order of the file.
fn joined(name: &str, line: &str, below: i64) -> String {
    let line = visible(line.trim());
    match below {
        _ if name.is_empty() => line,
        -1 => format!("{line} {name}"),
        ..=0 => format!("{line} … {name}"),
        _ => format!("{name} … {line}"),
    }
}

/// Of the changed lines the one that says most of it, and of several such the nearest to the test.
fn best<'a>(changed: &[(u32, &'a str)], by: &str, named: u32) -> Option<(u32, &'a str)> {
    let middle = changed.partition_point(|(line, _)| *line < named);
    let near = &changed[middle.saturating_sub(NEAR)..changed.len().min(middle + NEAR)];
    let by = by.to_lowercase();
    let said: Vec<&str> = by
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1)
        .collect();
    most(near, &said, named).or_else(|| most(near, &WORDS.split_whitespace().collect::<Vec<_>>(), named))
}

fn most<'a>(near: &[(u32, &'a str)], words: &[&str], named: u32) -> Option<(u32, &'a str)> {
    let score = |text: &str| {
        let text = text.to_lowercase();
        words.iter().filter(|word| text.contains(**word)).count()
    };
    let scored = near.iter().map(|(line, text)| (score(text), *line, *text));
    scored
        .filter(|(score, ..)| *score > 0)
        // Above the test before below it, as far as it goes.
        .max_by_key(|(score, line, _)| (*score, std::cmp::Reverse((line.abs_diff(named), *line > named))))
        .map(|(_, line, text)| (line, text))
}
