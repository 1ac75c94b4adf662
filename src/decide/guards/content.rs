//! Rules about what is added, whatever the file: secrets, hidden characters, binaries, modes, links, names.

use super::{FileChange, Hit, Side, lines::Lines, secrets};
use crate::{
    model::evidence::GuardVerdict,
    text::{Redactor, clean::is_invisible},
};

pub(super) const LINK: u32 = 0o120_000;
pub(super) const SUBMODULE: u32 = 0o160_000;
const EXECUTABLE: u32 = 0o100_755;

/// The first character that a reader does not see, or that changes the order of what is seen. A joiner between
/// letters or emoji, and the selector that makes an emoji of a sign, are part of writing.
fn hides(text: &str) -> Option<char> {
    let chars: Vec<char> = text.chars().collect();
    let shown = |c: &char| !is_invisible(*c) && !c.is_control();
    chars.iter().enumerate().find_map(|(at, c)| {
        let before = at.checked_sub(1).and_then(|i| chars.get(i)).filter(|c| shown(c));
        let after = chars.get(at + 1).filter(|c| !c.is_ascii() && shown(c));
        let written = match c {
            '\u{200c}' | '\u{200d}' => after.is_some() && at > 0 && !chars[at - 1].is_ascii(),
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|c| !c.is_ascii() || "0123456789#*".contains(*c)),
            _ => matches!(c, '\t' | '\r' | '\u{c}'),
        };
        ((is_invisible(*c) || c.is_control()) && !written).then_some(*c)
    })
}

/// All rules of this file for one change.
pub(super) fn check(change: &FileChange, lines: &Lines<'_>, redactor: &Redactor, hits: &mut Vec<Hit>) {
    name(change, redactor, hits);
    modes(change, hits);
    let Some(new) = &change.new else {
        return;
    };
    if is_binary(new) && change.old.as_ref().is_none_or(|old| old.bytes != new.bytes) {
        binary(change, new, hits);
        return;
    }
    for (line, text) in lines.added() {
        if let Some(c) = hides(text) {
            let why = format!("the line holds the hidden character U+{:04X}", u32::from(c));
            hits.push(
                Hit::new("hidden-character", GuardVerdict::Reject, why)
                    .at(line)
                    .is(&visible(text)),
            );
        }
    }
    secrets::check(lines, redactor, hits);
}

fn name(change: &FileChange, redactor: &Redactor, hits: &mut Vec<Hit>) {
    if change.new.is_none() {
        return;
    }
    let Ok(path) = std::str::from_utf8(&change.path) else {
        let why = "the name is not UTF-8".to_owned();
        hits.push(Hit::new("path-name", GuardVerdict::NeedsHuman, why));
        return;
    };
    if let Some(c) = hides(path).or_else(|| path.chars().find(|c| c.is_control())) {
        let why = format!("the name holds the hidden character U+{:04X}", u32::from(c));
        hits.push(Hit::new("path-name", GuardVerdict::Reject, why));
    } else if path.split('/').any(|p| p.ends_with(['.', ' ']) || p.starts_with(' ')) || path.contains('\\') {
        let why = "the name reads as another one on other file systems".to_owned();
        hits.push(Hit::new("path-name", GuardVerdict::NeedsHuman, why));
    }
    if secrets::weigh(path, &redactor.redact(path)) == GuardVerdict::Reject {
        hits.push(Hit::new(
            "secret",
            GuardVerdict::Reject,
            "the name holds a secret".to_owned(),
        ));
    }
}

fn modes(change: &FileChange, hits: &mut Vec<Hit>) {
    let mode = |side: &Option<Side>| side.as_ref().map_or(0, |s| s.mode);
    let (old, new) = (mode(&change.old), mode(&change.new));
    if old == SUBMODULE || new == SUBMODULE {
        hits.push(Hit::new(
            "submodule",
            GuardVerdict::NeedsHuman,
            "a submodule changes".to_owned(),
        ));
    }
    if old == LINK || new == LINK {
        let target = change
            .new
            .as_ref()
            .filter(|s| s.mode == LINK)
            .map(|s| s.bytes.as_slice());
        if target.is_some_and(|t| leads_out(&change.path, t)) {
            let why = "a link that leads out of the repository".to_owned();
            let is = String::from_utf8_lossy(target.unwrap_or_default()).into_owned();
            hits.push(Hit::new("link", GuardVerdict::Reject, why).is(&visible(&is)));
        } else {
            hits.push(Hit::new(
                "link",
                GuardVerdict::NeedsHuman,
                "a symbolic link changes".to_owned(),
            ));
        }
    }
    if old == EXECUTABLE && new != 0 && new != EXECUTABLE {
        let why = "the file loses its executable bit, so that nothing runs it any more".to_owned();
        hits.push(Hit::new("exec-bit", GuardVerdict::Reject, why).change("mode 100755", &format!("mode {new:o}")));
    }
}

fn leads_out(path: &[u8], target: &[u8]) -> bool {
    if target.first() == Some(&b'/') || target.is_empty() {
        return true;
    }
    let mut depth = path.split(|b| *b == b'/').count() - 1;
    for part in target.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Not text: other encodings than UTF-8 count, since no rule here can read them.
pub(super) fn is_binary(side: &Side) -> bool {
    let file = side.mode != LINK && side.mode != SUBMODULE;
    file && (side.bytes.contains(&0) || std::str::from_utf8(&side.bytes).is_err())
}

fn binary(change: &FileChange, new: &Side, hits: &mut Vec<Hit>) {
    const PROGRAMS: &[&[u8]] = &[b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm"];
    let program = PROGRAMS.iter().any(|magic| new.bytes.starts_with(magic));
    if program || new.mode == EXECUTABLE {
        hits.push(Hit::new(
            "binary",
            GuardVerdict::Reject,
            "a program in binary form".to_owned(),
        ));
    } else {
        let what = if change.old.is_some() { "changes" } else { "is added" };
        let why = format!("a binary file {what}; it cannot be reviewed as text");
        hits.push(Hit::new("binary", GuardVerdict::NeedsHuman, why));
    }
}

/// One line for people, without what a terminal or a reader could be fooled by.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars().take(200) {
        if is_invisible(c) || c.is_control() {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
