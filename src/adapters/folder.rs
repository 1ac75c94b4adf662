//! A folder with a checked-out tree: its paths and files as git would hold them. Links are read and never followed, and
//! nothing is started.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

/// Folders that are not part of a tree: git's own, and what was installed or built there.
const APART: &[&[u8]] = &[b".git", b"node_modules", b"target", b".venv", b"__pycache__"];
/// Paths that are listed at most.
const MOST: usize = 300_000;
/// Nested deeper a folder is not entered.
const DEEPEST: usize = 80;

#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if root.is_dir() {
            Ok(Self { root })
        } else {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"))
        }
    }

    /// Mode and content of a path; the content of a link is its target. None where no file of the tree stands.
    pub fn read(&self, path: &[u8]) -> io::Result<Option<(u32, Vec<u8>)>> {
        let Some(full) = self.place(path)? else {
            return Ok(None);
        };
        let Some(meta) = present(fs::symlink_metadata(&full))? else {
            return Ok(None);
        };
        let kind = meta.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(&full)?;
            return Ok(Some((0o120_000, target.into_os_string().into_vec())));
        }
        if kind.is_dir() && full.join(".git").symlink_metadata().is_ok() {
            return Ok(Some((0o160_000, Vec::new())));
        }
        if !kind.is_file() {
            return Ok(None);
        }
        Ok(Some((mode(&meta), fs::read(&full)?)))
    }

    /// Like [`Folder::read`], of a plain file whose size is right; else none.
    pub fn read_if(&self, path: &[u8], wanted: impl FnOnce(u64) -> bool) -> io::Result<Option<(u32, Vec<u8>)>> {
        let Some(full) = self.place(path)? else {
            return Ok(None);
        };
        let meta = present(fs::symlink_metadata(&full))?;
        match meta.filter(|m| m.is_file() && wanted(m.len())) {
            Some(meta) => Ok(Some((mode(&meta), fs::read(&full)?))),
            None => Ok(None),
        }
    }

    /// Every path of the tree.
    pub fn paths(&self) -> io::Result<BTreeSet<Vec<u8>>> {
        let mut out = Vec::new();
        // What is still to be listed, last first: a folder with a slash behind its name, and how deep it is.
        let mut open = vec![(Vec::new(), Some(0))];
        while let Some((path, folder)) = open.pop() {
            let Some(depth) = folder else {
                if out.len() < MOST {
                    out.push(path);
                }
                continue;
            };
            let from = open.len();
            for entry in fs::read_dir(self.root.join(OsStr::from_bytes(&path)))? {
                let entry = entry?;
                let name = entry.file_name();
                if APART.contains(&name.as_bytes()) {
                    continue;
                }
                let mut path = [path.as_slice(), name.as_bytes()].concat();
                if !entry.file_type()?.is_dir() {
                    open.push((path, None));
                } else if depth < DEEPEST {
                    path.push(b'/');
                    open.push((path, Some(depth + 1)));
                }
            }
            open[from..].sort_unstable_by(|a, b| b.0.cmp(&a.0));
        }
        // In order already, so that the set is built at once.
        Ok(out.into_iter().collect())
    }

    /// Where a path stands; none when a part of it leaves the tree or is a link.
    fn place(&self, path: &[u8]) -> io::Result<Option<PathBuf>> {
        let mut full = self.root.clone();
        let parts: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        let (last, dirs) = parts.split_last().unwrap_or((&path, &[]));
        for part in dirs {
            if matches!(*part, b"" | b"." | b"..") {
                return Ok(None);
            }
            full.push(OsStr::from_bytes(part));
            match present(fs::symlink_metadata(&full))? {
                Some(meta) if meta.is_dir() => {}
                _ => return Ok(None),
            }
        }
        if matches!(*last, b"" | b"." | b"..") || last.contains(&0) {
            return Ok(None);
        }
        full.push(OsStr::from_bytes(last));
        Ok(Some(full))
    }
}

fn mode(meta: &fs::Metadata) -> u32 {
    let program = meta.permissions().mode() & 0o100 != 0;
    if program { 0o100_755 } else { 0o100_644 }
}

/// What is not there is no error.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_links_and_what_is_apart() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("node_modules/x")).unwrap();
        fs::write(root.join("a/b/c.txt"), "c\n").unwrap();
        fs::write(root.join("node_modules/x/y.js"), "y\n").unwrap();
        std::os::unix::fs::symlink("../../etc", root.join("a/out")).unwrap();
        let folder = Folder::open(root).unwrap();
        assert_eq!(folder.read(b"a/b/c.txt").unwrap(), Some((0o100_644, b"c\n".to_vec())));
        assert_eq!(folder.read(b"a/out").unwrap(), Some((0o120_000, b"../../etc".to_vec())));
        for none in [
            &b"a/out/passwd"[..],
            b"a/../a/b/c.txt",
            b"a/b",
            b"",
            b"x",
            b"a/b/c.txt/d",
        ] {
            assert_eq!(folder.read(none).unwrap(), None, "{none:?}");
        }
        fs::write(root.join("a.txt"), "a\n").unwrap();
        fs::write(root.join("a/b.txt"), "b\n").unwrap();
        let paths: Vec<_> = folder.paths().unwrap().into_iter().collect();
        let wanted = ["a.txt", "a/b.txt", "a/b/c.txt", "a/out"];
        assert_eq!(paths, wanted.map(|path| path.as_bytes().to_vec()));
        assert!(Folder::open(&root.join("a/b/c.txt")).is_err());
    }
}
