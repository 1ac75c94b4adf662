//! Names and files that make a reader see something else: letters that only look alike, two names that are one on other
//! machines, attributes that keep a file out of a review.

use std::collections::BTreeMap;

use super::{Diff, Hit, content::visible, lines::number, path::normal, view::File};
use crate::model::evidence::GuardVerdict;

/// Findings, each with the index of its file.
pub(super) fn check(diff: &Diff, files: &[File<'_>]) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    let fresh = files.iter().filter(|file| file.change.old.is_none());
    let mut twins: BTreeMap<&str, Option<&[u8]>> = fresh.map(|file| (file.normal.as_str(), None)).collect();
    if !twins.is_empty() {
        for path in &diff.around.paths {
            if let Some(twin) = twins.get_mut(normal(path).as_str()) {
                *twin = Some(path);
            }
        }
    }
    for (at, file) in files.iter().enumerate() {
        let path = String::from_utf8_lossy(&file.change.path).into_owned();
        let fresh = file.change.old.is_none();
        if fresh && path.split('/').any(mixes) {
            let why = "letters of another alphabet look like those of the name";
            out.push((at, Hit::new("path-trick", GuardVerdict::Reject, why.to_owned())));
        }
        let twin = twins.get(file.normal.as_str()).copied().flatten();
        let twin = twin.filter(|other| fresh && *other != file.change.path.as_slice());
        if let Some(twin) = twin {
            let gone = files.iter().any(|f| f.change.path == *twin && f.change.new.is_none());
            if !gone {
                let why = "on other machines this is the name of another file";
                let twin = visible(&String::from_utf8_lossy(twin));
                out.push((
                    at,
                    Hit::new("path-trick", GuardVerdict::Reject, why.to_owned()).change(&twin, ""),
                ));
            }
        }
        out.extend(attributes(file).map(|hit| (at, hit)));
        out.extend(identifiers(file).map(|hit| (at, hit)));
    }
    out
}

/// Letters of Latin beside letters of an alphabet that has the same shapes.
fn mixes(word: &str) -> bool {
    let latin = word.chars().any(|c| c.is_ascii_alphabetic());
    latin && word.chars().any(is_look_alike)
}

fn is_look_alike(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}' | '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}')
        && c.is_alphabetic()
        && !matches!(
            c,
            '\u{3bb}' | '\u{3bc}' | '\u{3c0}' | '\u{3c3}' | '\u{394}' | '\u{3a3}' | '\u{3a9}' | '\u{2126}'
        )
}

/// What a review does not show, or shows as something else.
fn attributes(file: &File<'_>) -> Option<Hit> {
    if file.name() != ".gitattributes" {
        return None;
    }
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let words = [
        "-diff",
        "linguist-generated",
        "linguist-vendored",
        "filter=",
        "binary",
        "working-tree-encoding",
        "merge=ours",
        "export-ignore",
        "diff=",
    ];
    let line = new.lines().enumerate().find(|(_, l)| {
        !old.lines().any(|o| o == *l)
            && !l.starts_with('#')
            && words
                .iter()
                .any(|w| l.split_whitespace().skip(1).any(|p| p.starts_with(w)))
    });
    line.map(|(at, line)| {
        let why = "files are kept out of what a reviewer sees";
        Hit::new("path-trick", GuardVerdict::Reject, why.to_owned())
            .at(number(at))
            .is(line)
    })
}

/// A name in the code that mixes alphabets.
fn identifiers(file: &File<'_>) -> Option<Hit> {
    file.grammar?;
    let (old, new) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    let found = new.lines().enumerate().find(|(_, line)| {
        let word = line
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .find(|w| mixes(w));
        word.is_some_and(|w| !old.contains(w))
    });
    found.map(|(at, line)| {
        let why = "a word mixes letters that only look alike";
        Hit::new("hidden-character", GuardVerdict::Reject, why.to_owned())
            .at(number(at))
            .is(&visible(line))
    })
}
