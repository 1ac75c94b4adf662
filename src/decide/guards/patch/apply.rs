//! Puts patches onto the contents of a base.

use std::{borrow::Cow, collections::BTreeMap};

use super::{Body, FilePatch, Hunk, PatchError, binary};
use crate::decide::guards::{FileChange, Side, content};

const PLAIN: u32 = 0o100_644;

/// What came of the patches of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Both sides of every path that changes, sorted by path.
    pub changes: Vec<FileChange>,
    /// Paths whose patch does not fit, so that nothing is known of their new side.
    pub unread: Vec<Unread>,
}

/// One file of a diff that cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub path: Vec<u8>,
    pub error: PatchError,
}

/// Puts each patch onto its file; one that does not fit leaves the others as they are. `base` gives a path's side.
pub fn apply(patches: &[FilePatch], base: &BTreeMap<Vec<u8>, Side>) -> Applied {
    let mut out: BTreeMap<Vec<u8>, FileChange> = BTreeMap::new();
    let mut unread = Vec::new();
    for patch in patches {
        if let Err(error) = put_on(patch, base, &mut out) {
            let path = patch.new_path.as_ref().or(patch.old_path.as_ref());
            unread.push(Unread {
                path: path.cloned().unwrap_or_default(),
                error,
            });
        }
    }
    let mut changes: Vec<FileChange> = out.into_values().collect();
    changes.retain(|c| c.old != c.new || c.old.as_ref().is_some_and(|s| s.mode == content::SUBMODULE));
    Applied { changes, unread }
}

fn put_on(
    patch: &FilePatch,
    base: &BTreeMap<Vec<u8>, Side>,
    out: &mut BTreeMap<Vec<u8>, FileChange>,
) -> Result<(), PatchError> {
    let old = old_side(patch, base)?;
    if let Some(path) = patch.new_path.as_ref().filter(|_| patch.old_path.is_none())
        && entry(out, path, base).new.is_some()
    {
        let name = String::from_utf8_lossy(path);
        return Err(PatchError::new(
            patch.line,
            format!("{name:?} is made, but it is in the base"),
        ));
    }
    let new = new_side(patch, old)?;
    let kept = patch.copy || patch.old_path == patch.new_path;
    if let Some(path) = patch.old_path.as_ref().filter(|_| !kept) {
        entry(out, path, base).new = None;
    }
    if let (Some(path), Some(new)) = (&patch.new_path, new) {
        entry(out, path, base).new = Some(new);
    }
    Ok(())
}

/// The change of a path as it stands after the patches before this one.
fn entry<'a>(
    out: &'a mut BTreeMap<Vec<u8>, FileChange>,
    path: &[u8],
    base: &BTreeMap<Vec<u8>, Side>,
) -> &'a mut FileChange {
    out.entry(path.to_vec()).or_insert_with(|| {
        let side = base.get(path).cloned();
        FileChange {
            path: path.to_vec(),
            old: side.clone(),
            new: side,
        }
    })
}

fn old_side<'a>(patch: &FilePatch, base: &'a BTreeMap<Vec<u8>, Side>) -> Result<Option<&'a Side>, PatchError> {
    let Some(path) = &patch.old_path else {
        return Ok(None);
    };
    let side = base.get(path).ok_or_else(|| {
        let name = String::from_utf8_lossy(path);
        PatchError::new(patch.line, format!("{name:?} is not in the base"))
    })?;
    Ok(Some(side))
}

fn new_side(patch: &FilePatch, old: Option<&Side>) -> Result<Option<Side>, PatchError> {
    if patch.new_path.is_none() {
        return Ok(None);
    }
    let mode = patch
        .new_mode
        .filter(|mode| *mode != 0o100_664)
        .or_else(|| old.map(|s| s.mode))
        .unwrap_or(PLAIN);
    // A submodule has no content here, only its place.
    if mode == content::SUBMODULE {
        return Ok(Some(Side {
            mode,
            bytes: Vec::new(),
        }));
    }
    let before = old.map_or(&[][..], |s| s.bytes.as_slice());
    let bytes = match &patch.body {
        Body::Same => before.to_vec(),
        Body::Literal(bytes) => bytes.clone(),
        Body::Delta(delta) => binary::undelta(delta, before)
            .ok_or_else(|| PatchError::new(patch.line, "a binary delta does not fit its base"))?,
        // Not text, and no two of them are the same.
        Body::Unknown => [b"\0".as_slice(), before].concat(),
        Body::Hunks(hunks) => put(hunks, before)?,
    };
    Ok(Some(Side { mode, bytes }))
}

fn put(hunks: &[Hunk], old: &[u8]) -> Result<Vec<u8>, PatchError> {
    let lines: Vec<&[u8]> = old.split_inclusive(|b| *b == b'\n').collect();
    let mut out = Vec::with_capacity(old.len());
    let mut at = 0;
    let ends: &[u8] = if old.windows(2).any(|two| two == b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    for hunk in hunks {
        // A checkout may have other line ends than what is committed, and a diff is of what is committed.
        let (place, hunk) = place(hunk, &lines, at)
            .map(|at| (at, Cow::Borrowed(hunk)))
            .or_else(|| {
                let hunk = with_ends(hunk, ends);
                Some((place(&hunk, &lines, at)?, Cow::Owned(hunk)))
            })
            .ok_or_else(|| {
                let why = "this hunk does not fit the file of the base: the diff is of another base, or a filter \
                           (LFS, ident, an encoding) changed the file when it was checked out";
                PatchError::new(hunk.line, why)
            })?;
        out.extend(lines[at..place].iter().copied().flatten());
        out.extend(hunk.new.iter().flatten());
        at = place + hunk.old.len();
    }
    out.extend(lines[at..].iter().copied().flatten());
    Ok(out)
}

fn with_ends(hunk: &Hunk, ends: &[u8]) -> Hunk {
    let with = |lines: &[Vec<u8>]| lines.iter().map(|line| with_end(line, ends)).collect();
    Hunk {
        old: with(&hunk.old),
        new: with(&hunk.new),
        ..*hunk
    }
}

fn with_end(line: &[u8], end: &[u8]) -> Vec<u8> {
    match line.strip_suffix(b"\n") {
        Some(line) => [line.strip_suffix(b"\r").unwrap_or(line), end].concat(),
        None => line.to_vec(),
    }
}

/// Where the old lines of a hunk stand: where it says, else the nearest place behind the hunk before it.
fn place(hunk: &Hunk, lines: &[&[u8]], from: usize) -> Option<usize> {
    // A hunk that only adds names the line after which it adds.
    let said = if hunk.old.is_empty() {
        hunk.start
    } else {
        hunk.start.saturating_sub(1)
    };
    let fits = |at: usize| {
        let old = lines.get(at..at + hunk.old.len());
        at >= from && old.is_some_and(|old| old.iter().zip(&hunk.old).all(|(a, b)| *a == b.as_slice()))
    };
    if hunk.old.is_empty() {
        return (said >= from && said <= lines.len()).then_some(said);
    }
    (0..=lines.len()).find_map(|away| {
        let after = Some(said + away).filter(|at| fits(*at));
        after.or_else(|| said.checked_sub(away).filter(|at| fits(*at)))
    })
}
