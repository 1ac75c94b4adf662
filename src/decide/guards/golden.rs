//! Rule `snapshot-rewritten`: files that tests compare with. Entries may be added; an existing one changes only with
//! what makes it.

use std::collections::BTreeSet;

use super::{Hit, Kind, answer::Answers, content::is_binary, data, inventory::Answer, view::File};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "snapshot-rewritten";

/// Findings, each with the index of its file.
pub(super) fn check(files: &[File<'_>], answers: &Answers) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if !matches!(file.kind, Kind::Snapshot | Kind::Fixture) || file.change.old.is_none() {
            continue;
        }
        let answer = answers.to_data(&file.normal);
        let found = changes(file, files).into_iter().filter_map(|hit| weigh(hit, answer));
        out.extend(found.map(|hit| (at, hit)));
    }
    out
}

fn weigh(hit: Hit, answer: Answer) -> Option<Hit> {
    let (verdict, tail) = match answer {
        Answer::None => (GuardVerdict::Reject, "and nothing that makes it changes"),
        Answer::Changed => (GuardVerdict::NeedsHuman, "together with the source"),
        Answer::Declared => return None,
    };
    Some(Hit {
        rule: RULE,
        verdict,
        why: format!("{}, {tail}", hit.why),
        ..hit
    })
}

fn changes(file: &File<'_>, files: &[File<'_>]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let hit = |why: &str| Hit::new(RULE, GuardVerdict::Reject, why.to_owned());
    let (Some(old), new) = (&file.change.old, &file.change.new) else {
        return hits;
    };
    let Some(new) = new else {
        // It may stand under another name.
        let moved = files.iter().any(|f| {
            f.change.old.is_none()
                && f.change
                    .new
                    .as_ref()
                    .is_some_and(|n| body_of(&n.bytes) == body_of(&old.bytes))
        });
        let inline = file.kind == Kind::Snapshot && stands_inline(file.old.unwrap_or_default(), files);
        if !moved && !inline {
            hits.push(hit("what a test compares with is deleted").change(file.name(), ""));
        }
        return hits;
    };
    if old.bytes == new.bytes {
        return hits;
    }
    if is_binary(old) || is_binary(new) {
        hits.push(hit("what a test compares with is another one"));
        return hits;
    }
    let (a, b) = (file.old.unwrap_or_default(), file.new.unwrap_or_default());
    match file.kind {
        Kind::Snapshot => {
            data::snapshot(a, b, file.name(), &mut hits);
            // An entry may have got the new name of its test.
            hits.retain(|h| !stands_elsewhere(a, b, &h.was));
        }
        Kind::Fixture => data::fixture(a, b, file.name(), &mut hits),
        Kind::Test(_) | Kind::Runner | Kind::Ci | Kind::Manifest | Kind::Lock | Kind::Source(_) => {}
    }
    hits
}

/// Every line of the entries stands in a test of the head, where the snapshots are written inline now.
fn stands_inline(old: &str, files: &[File<'_>]) -> bool {
    let bare = |line: &str| line.trim().trim_matches(['`', ';']).trim().to_owned();
    let entry = |line: &&str| !line.starts_with("exports[") && !line.starts_with("//");
    let lines: Vec<String> = old.lines().filter(entry).map(bare).filter(|l| !l.is_empty()).collect();
    let tests = files.iter().filter(|f| matches!(f.kind, Kind::Test(_)));
    let inline: BTreeSet<String> = tests
        .filter_map(|f| f.new.filter(|text| text.contains("InlineSnapshot")))
        .flat_map(|text| text.lines().map(bare))
        .collect();
    !lines.is_empty() && lines.iter().all(|line| inline.contains(line))
}

/// What a snapshot holds, without the lines that say where it comes from.
fn body_of(bytes: &[u8]) -> &[u8] {
    let text = bytes.strip_prefix(b"---\n".as_slice());
    let end = text.and_then(|t| t.windows(5).position(|w| w == b"\n---\n".as_slice()));
    match (text, end) {
        (Some(text), Some(end)) => &text[end..],
        _ => bytes,
    }
}

/// The content of an entry stands below another head.
fn stands_elsewhere(old: &str, new: &str, head: &str) -> bool {
    let body = |text: &str| {
        let rest = text.split_once('=').map_or("", |(_, r)| r);
        rest.trim().to_owned()
    };
    let wanted = old
        .lines()
        .find(|l| super::content::visible(l) == head)
        .map(body)
        .unwrap_or_default();
    wanted.len() > 2 && new.lines().any(|l| body(l) == wanted)
}
