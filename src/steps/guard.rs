//! Both sides of a diff that stands in folders and files, for a judgement outside of any repair.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    adapters::folder::Folder,
    decide::guards::{Around, Diff, FileChange, ROUNDS, Room, Side, Ticket, patch, wanted},
    exit::{Exit, Fault},
};

/// Where the head comes from.
#[derive(Debug, Clone)]
pub enum Head {
    Patch(PathBuf),
    Folder(PathBuf),
}

/// Reads what the rules need to know. What is wrong with the patch itself is an outcome of [`patch`], not of reading.
pub fn read(base: &Path, head: &Head, ticket: Ticket) -> Result<Result<Diff, patch::PatchError>> {
    let folder = open(base)?;
    let paths = folder
        .paths()
        .with_context(|| format!("list the files of {}", base.display()))?;
    let applied = match head {
        Head::Patch(file) => {
            let text = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
            if text.iter().all(u8::is_ascii_whitespace) {
                return Err(nothing_to_judge(file).into());
            }
            match patched(&folder, &text)? {
                Ok(applied) => applied,
                Err(error) => return Ok(Err(error)),
            }
        }
        Head::Folder(dir) => patch::Applied {
            changes: compared(&folder, &paths, &open(dir)?)?,
            unread: Vec::new(),
        },
    };
    let mut diff = Diff {
        changes: applied.changes,
        unread: applied.unread,
        around: Around {
            paths,
            files: BTreeMap::new(),
        },
        ticket,
    };
    for _ in 0..ROUNDS {
        let more = wanted(&diff);
        if more.is_empty() {
            break;
        }
        let mut room = Room::beside(&diff.around);
        for path in more {
            let read = folder.read_if(&path, |size| room.takes(size));
            let bytes = unread(read, &path)?.map(|(_, bytes)| bytes);
            diff.around.files.insert(path, bytes.unwrap_or_default());
        }
    }
    Ok(Ok(diff))
}

fn open(dir: &Path) -> Result<Folder> {
    Folder::open(dir).map_err(|error| unreadable(dir, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let fault = Fault::new(Exit::Usage, format!("read {}: {error}", path.display()));
    fault
        .advise("--base and --head name folders with a tree, --diff names a file; see that the path is right")
        .into()
}

/// Judged, it would be a yes to a change that nobody read.
fn nothing_to_judge(file: &Path) -> Fault {
    let fault = Fault::new(
        Exit::Usage,
        format!("{} is empty: there is no change to judge", file.display()),
    );
    fault
        .advise("most likely the git command that wrote it failed: see what it said, and that it names your own branch")
        .advise("where a change may be empty, ask first: test -s FILE")
}

fn patched(folder: &Folder, text: &[u8]) -> Result<Result<patch::Applied, patch::PatchError>> {
    let patches = match patch::parse(text) {
        Ok(patches) => patches,
        Err(error) => return Ok(Err(error)),
    };
    let mut sides = BTreeMap::new();
    for path in patch::base_paths(&patches) {
        if let Some(side) = side(folder, &path)? {
            sides.insert(path, side);
        }
    }
    Ok(Ok(patch::apply(&patches, &sides)))
}

/// Every path that differs between two folders.
fn compared(base: &Folder, paths: &std::collections::BTreeSet<Vec<u8>>, head: &Folder) -> Result<Vec<FileChange>> {
    let others = head.paths().context("list the files of the head")?;
    let mut changes = Vec::new();
    for path in paths.union(&others) {
        let (old, new) = (side(base, path)?, side(head, path)?);
        if old != new {
            changes.push(FileChange {
                path: path.clone(),
                old,
                new,
            });
        }
    }
    Ok(changes)
}

fn side(folder: &Folder, path: &[u8]) -> Result<Option<Side>> {
    let read = unread(folder.read(path), path)?;
    Ok(read.map(|(mode, bytes)| Side { mode, bytes }))
}

fn unread<T>(read: std::io::Result<T>, path: &[u8]) -> Result<T> {
    read.with_context(|| format!("read {}", String::from_utf8_lossy(path)))
}
