//! Tells which files of a tree were written, replaced or removed between two looks. The time of a file's last change of any kind
//! is kept by the kernel, and no program can set it back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::symlink_metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// What stands below a tree, by path.
pub(super) struct Stamps(BTreeMap<PathBuf, Option<Stamp>>);

impl Stamps {
    pub(super) fn of(tree: &Path, files: &[PathBuf]) -> Self {
        let of = |file: &PathBuf| (file.clone(), stamp(&tree.join(file)));
        Self(files.iter().map(of).collect())
    }

    /// The files that are not as they were.
    pub(super) fn changed(&self, tree: &Path) -> BTreeSet<String> {
        let all = self.0.iter();
        all.filter(|(file, was)| stamp(&tree.join(file)) != **was)
            .map(|(file, _)| file.display().to_string())
            .collect()
    }
}

/// None where there is no file, or none that can be asked about.
fn stamp(file: &Path) -> Option<Stamp> {
    let meta = symlink_metadata(file).ok()?;
    Some(Stamp {
        inode: meta.ino(),
        size: meta.size(),
        changed: (meta.ctime(), meta.ctime_nsec()),
    })
}
