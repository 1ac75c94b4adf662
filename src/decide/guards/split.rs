//! A diff in two steps: base, then base and test part, then head. The test part alone has to be red; undoing a file
//! of the source part has to make a test fail.

use super::{
    FileChange, Side,
    grow::Growth,
    items::Source,
    kind::{Kind, Kinds, Language},
    path::normal,
    readonly::inline_tests,
};

/// Applied to the base, `test_part` gives the middle; applied to the middle, `source_part` gives the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub test_part: Vec<FileChange>,
    pub source_part: Vec<FileChange>,
}

pub fn split(changes: &[FileChange], kinds: &Kinds) -> Parts {
    let mut parts = Parts::default();
    for change in changes {
        match kinds.of(&normal(&change.path)) {
            Kind::Test(_) | Kind::Snapshot | Kind::Fixture => parts.test_part.push(change.clone()),
            Kind::Source(Some(Language::Rust)) => rust(change, &mut parts),
            Kind::Source(_) | Kind::Runner | Kind::Ci | Kind::Manifest | Kind::Lock => {
                parts.source_part.push(change.clone());
            }
        }
    }
    parts
}

/// A Rust file may hold both.
fn rust(change: &FileChange, parts: &mut Parts) {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        parts.source_part.push(change.clone());
        return;
    };
    let (Ok(a), Ok(b)) = (std::str::from_utf8(&old.bytes), std::str::from_utf8(&new.bytes)) else {
        parts.source_part.push(change.clone());
        return;
    };
    match middle(a, b) {
        None => parts.source_part.push(change.clone()),
        Some(Middle::Whole) => parts.test_part.push(change.clone()),
        Some(Middle::Text(text)) => {
            let side = Side {
                mode: old.mode,
                bytes: text.into_bytes(),
            };
            parts.test_part.push(FileChange {
                new: Some(side.clone()),
                ..change.clone()
            });
            parts.source_part.push(FileChange {
                old: Some(side),
                ..change.clone()
            });
        }
    }
}

enum Middle {
    /// Only tests changed.
    Whole,
    Text(String),
}

/// The old file with the new file's tests; none when no test was added.
fn middle(old: &str, new: &str) -> Option<Middle> {
    let (a, b) = (Source::new(old, Language::Rust), Source::new(new, Language::Rust));
    let (tests, new_tests) = (inline_tests(&a), inline_tests(&b));
    let pairs = Growth::new(&a, &b).lists(&tests, &new_tests, false);
    let grown: Vec<_> = pairs
        .iter()
        .filter(|p| p.old.as_ref().is_none_or(|o| !a.same(o, &b, &p.new)))
        .collect();
    if grown.is_empty() {
        return None;
    }
    if rest(&a, &tests) == rest(&b, &new_tests) {
        return Some(Middle::Whole);
    }
    let span = |source: &Source<'_>, range: &std::ops::Range<usize>| {
        source.tokens[range.start].at..source.tokens[range.end - 1].end()
    };
    let mut text = old.to_owned();
    // From the end, so that earlier places stay where they are.
    for pair in grown.iter().rev() {
        let fresh = &new[span(&b, &pair.new)];
        if let Some(o) = &pair.old {
            text.replace_range(span(&a, o), fresh);
        }
    }
    for pair in grown.iter().filter(|p| p.old.is_none()) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&new[span(&b, &pair.new)]);
        text.push('\n');
    }
    Some(Middle::Text(text))
}

/// What stands outside the tests.
fn rest<'a>(source: &Source<'a>, tests: &[super::items::Item]) -> Vec<&'a str> {
    source
        .tokens
        .iter()
        .enumerate()
        .filter(|(i, _)| !tests.iter().any(|t| t.all.contains(i)))
        .map(|(_, t)| t.text)
        .collect()
}
