//! Both sides of a diff between two commits, and what stands around it, read from objects of our own mirror.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::{
    adapters::git::{Change, Mirror, TreeEntry},
    decide::guards::{Diff, FileChange, ROUNDS, Room, Side, wanted},
    model::Sha,
};

const TREE: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;

/// A diff with what the rules read of its base beside the changed files.
pub(super) async fn with_surroundings(mirror: &Mirror, base: &Sha, mut diff: Diff) -> Result<Diff> {
    let entries = mirror.list(base).await?;
    let files: BTreeMap<&[u8], &TreeEntry> = entries
        .iter()
        .filter(|e| e.mode & 0o170_000 == 0o100_000)
        .map(|e| (e.path.as_slice(), e))
        .collect();
    diff.around.paths = entries.iter().map(|e| e.path.clone()).collect();
    for _ in 0..ROUNDS {
        let more = wanted(&diff);
        if more.is_empty() {
            break;
        }
        let mut room = Room::beside(&diff.around);
        let entry = |path: &Vec<u8>| files.get(path.as_slice()).copied();
        let read: Vec<&TreeEntry> = more
            .iter()
            .filter_map(entry)
            .filter(|e| e.size.is_some_and(|size| room.takes(size)))
            .collect();
        let ids: Vec<&Sha> = read.iter().map(|e| &e.id).collect();
        let contents = mirror.blobs(&ids).await?;
        diff.around
            .files
            .extend(more.into_iter().map(|path| (path, Vec::new())));
        let found = read.iter().map(|e| e.path.clone()).zip(contents);
        diff.around.files.extend(found);
    }
    Ok(diff)
}

/// Both sides of every changed path, read from objects.
pub(super) async fn file_changes(mirror: &Mirror, base: &Sha, head: &Sha) -> Result<Vec<FileChange>> {
    let changes = mirror.changes(base, head).await?;
    let ids: Vec<&Sha> = changes
        .iter()
        .flat_map(|c| {
            [
                blob(c.old_mode, c.old_blob.as_ref()),
                blob(c.new_mode, c.new_blob.as_ref()),
            ]
        })
        .flatten()
        .collect();
    let mut contents = mirror.blobs(&ids).await?.into_iter();
    let mut side = |mode: u32, id: Option<&Sha>| {
        let bytes = blob(mode, id).and_then(|_| contents.next()).unwrap_or_default();
        (mode != 0 && mode != TREE).then_some(Side { mode, bytes })
    };
    let change = |change: Change| FileChange {
        old: side(change.old_mode, change.old_blob.as_ref()),
        new: side(change.new_mode, change.new_blob.as_ref()),
        path: change.path,
    };
    Ok(changes.into_iter().map(change).collect())
}

/// The object with a side's content. A submodule has none here.
fn blob(mode: u32, id: Option<&Sha>) -> Option<&Sha> {
    id.filter(|_| mode != 0 && mode != TREE && mode != SUBMODULE)
}
