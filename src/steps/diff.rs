//! Both sides of a diff between two commits, and what stands around it, read from objects of our own mirror.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::{
    adapters::git::{Change, Mirror},
    decide::guards::{Diff, FileChange, ROUNDS, Side, wanted},
    model::Sha,
};

const TREE: u32 = 0o040_000;
const SUBMODULE: u32 = 0o160_000;

/// A diff with what the rules read of its base beside the changed files.
pub(super) async fn with_surroundings(mirror: &Mirror, base: &Sha, mut diff: Diff) -> Result<Diff> {
    let entries = mirror.list(base).await?;
    let files: BTreeMap<&[u8], &Sha> = entries
        .iter()
        .filter(|e| e.mode & 0o170_000 == 0o100_000)
        .map(|e| (e.path.as_slice(), &e.id))
        .collect();
    diff.around.paths = entries.iter().map(|e| e.path.clone()).collect();
    for _ in 0..ROUNDS {
        let more = wanted(&diff);
        if more.is_empty() {
            break;
        }
        let ids: Vec<&Sha> = more.iter().filter_map(|p| files.get(p.as_slice()).copied()).collect();
        let mut contents = mirror.blobs(&ids).await?.into_iter();
        for path in more {
            let known = files.contains_key(path.as_slice());
            let bytes = known.then(|| contents.next()).flatten();
            diff.around.files.insert(path, bytes.unwrap_or_default());
        }
    }
    Ok(diff)
}

/// Both sides of every changed path, read from objects.
pub(super) async fn file_changes(mirror: &Mirror, base: &Sha, head: &Sha) -> Result<Vec<FileChange>> {
    let changes = mirror.changes(base, head).await?;
    let mut out = Vec::with_capacity(changes.len());
    for change in changes {
        let Change {
            path,
            old_mode,
            new_mode,
            old_blob,
            new_blob,
        } = change;
        out.push(FileChange {
            path,
            old: side(mirror, old_mode, old_blob.as_ref()).await?,
            new: side(mirror, new_mode, new_blob.as_ref()).await?,
        });
    }
    Ok(out)
}

async fn side(mirror: &Mirror, mode: u32, blob: Option<&Sha>) -> Result<Option<Side>> {
    if mode == 0 || mode == TREE {
        return Ok(None);
    }
    let bytes = match blob {
        Some(blob) if mode != SUBMODULE => mirror.blob(blob).await?,
        Some(_) | None => Vec::new(),
    };
    Ok(Some(Side { mode, bytes }))
}
