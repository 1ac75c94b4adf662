//! Our own walk of a tree that a child wrote. Files are opened relative to open directories, without following any
//! link and without blocking; git never sees this tree.

use std::{
    collections::BTreeMap,
    ffi::CString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat},
    io::Errno,
};
use sha1::{Digest as _, Sha1};

use super::{FileEdit, shown_path};
use crate::adapters::clock;

/// What a child's tree may come to. Beyond it the attempt is refused, not cut.
#[derive(Debug, Clone, Copy)]
pub struct WalkLimits {
    /// Entries that are not ignored.
    pub entries: usize,
    /// Names on disk, ignored ones too.
    pub names: usize,
    pub depth: usize,
    /// Files that differ from the base, removed ones too.
    pub changed: usize,
    /// Bytes of one changed file.
    pub file: u64,
    /// Bytes of all changed files.
    pub total: u64,
    /// How long it may all take.
    pub time: Duration,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            entries: 300_000,
            names: 1_000_000,
            depth: 80,
            changed: 2_000,
            file: 8 << 20,
            total: 32 << 20,
            time: Duration::from_mins(10),
        }
    }
}

/// What each path of the base holds.
pub(super) type Base = BTreeMap<Vec<u8>, Held>;

pub(super) struct Held {
    pub(super) mode: u32,
    pub(super) id: String,
    /// None of a submodule.
    pub(super) size: Option<u64>,
}

pub(super) const SUBMODULE: u32 = 0o160_000;
pub(super) const LINK: u32 = 0o120_000;

/// The walk stopped: a sentence for the fixer and for people, or an error of this machine.
#[derive(Debug)]
pub(super) enum Stop {
    Refused(String),
    Io { path: String, error: Errno },
}

/// One level of the walk, as found on disk.
pub(super) struct Level {
    pub(super) dirs: Vec<Vec<u8>>,
    others: Vec<(Vec<u8>, FileType)>,
}

impl Level {
    /// Paths that the ignore rules have to judge: unknown to the base, directories with a slash at the end.
    pub(super) fn unknown(&self, base: &Base) -> Vec<Vec<u8>> {
        let dirs = self
            .dirs
            .iter()
            .filter(|d| !holds(base, d))
            .map(|d| [d, b"/".as_slice()].concat());
        let files = self.others.iter().map(|(path, _)| path);
        dirs.chain(files.filter(|f| !base.contains_key(*f)).cloned()).collect()
    }
}

/// The base has something below this directory.
fn holds(base: &Base, dir: &[u8]) -> bool {
    let prefix = [dir, b"/"].concat();
    base.range(prefix.clone()..)
        .next()
        .is_some_and(|(path, _)| path.starts_with(&prefix))
}

pub(super) struct Walk<'a> {
    root: OwnedFd,
    base: &'a Base,
    limits: WalkLimits,
    until: Option<Instant>,
    names: usize,
    entries: usize,
    total: u64,
    seen: std::collections::BTreeSet<Vec<u8>>,
    edits: Vec<FileEdit>,
}

impl<'a> Walk<'a> {
    pub(super) fn open(tree: &Path, base: &'a Base, limits: WalkLimits) -> Result<Self, Stop> {
        let root = open_dir(CWD, tree).map_err(|error| Stop::Io {
            path: tree.display().to_string(),
            error,
        })?;
        Ok(Self {
            root,
            base,
            limits,
            until: clock::instant().checked_add(limits.time),
            names: 0,
            entries: 0,
            total: 0,
            seen: std::collections::BTreeSet::new(),
            edits: Vec::new(),
        })
    }

    /// What stands in these directories (`""` is the root). Names that git keeps for itself stop the walk.
    pub(super) fn level(&mut self, dirs: &[Vec<u8>]) -> Result<Level, Stop> {
        let mut level = Level {
            dirs: Vec::new(),
            others: Vec::new(),
        };
        for dir in dirs {
            self.in_time()?;
            let fd = self.descend(dir)?;
            let room = self.limits.names - self.names;
            let Some(found) = names(fd.as_fd(), room).map_err(|e| io(dir, e))? else {
                let said = format!("more than {} files and directories in the tree", self.limits.names);
                return Err(Stop::Refused(said));
            };
            self.names += found.len();
            for name in found {
                if dir.is_empty() && name.as_bytes() == b".git" {
                    continue;
                }
                let path = join(dir, name.as_bytes());
                if like_dot_git(name.as_bytes()) {
                    let said = format!("{} has a name that git keeps for itself; remove it", shown_path(&path));
                    return Err(Stop::Refused(said));
                }
                let stat = statat(&fd, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(|e| io(&path, e))?;
                let kind = FileType::from_raw_mode(stat.st_mode);
                if self.base.get(&path).is_some_and(|held| held.mode == SUBMODULE) {
                    if kind != FileType::Directory {
                        return Err(Stop::Refused(format!(
                            "the submodule {} was replaced",
                            shown_path(&path)
                        )));
                    }
                } else if kind == FileType::Directory {
                    level.dirs.push(path);
                } else {
                    level.others.push((path, kind));
                }
            }
        }
        Ok(level)
    }

    /// Reads the files of a level that are not ignored.
    pub(super) fn read(&mut self, level: &Level, ignored: &std::collections::BTreeSet<Vec<u8>>) -> Result<(), Stop> {
        let mut open: Option<(Vec<u8>, OwnedFd)> = None;
        for (path, kind) in level.others.iter().filter(|(path, _)| !ignored.contains(path)) {
            self.in_time()?;
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(Stop::Refused(format!(
                    "more than {} files in the tree",
                    self.limits.entries
                )));
            }
            let (dir, name) = split(path);
            let fd = match open.take() {
                Some((at, fd)) if at == dir => fd,
                _ => self.descend(dir)?,
            };
            let found = self.content(fd.as_fd(), path, name, *kind)?;
            open = Some((dir.to_vec(), fd));
            self.note(path, found)?;
        }
        Ok(())
    }

    fn in_time(&self) -> Result<(), Stop> {
        if self.until.is_some_and(|until| clock::instant() >= until) {
            let minutes = self.limits.time.as_secs().div_ceil(60);
            let said =
                format!("its files cannot be read in the {minutes} minutes that were left of limits.attempt_minutes");
            return Err(Stop::Refused(said));
        }
        Ok(())
    }

    /// Told by its size alone: what may not change is not read either.
    fn too_large(&self, path: &[u8], size: u64) -> bool {
        let as_before = self.base.get(path).is_some_and(|held| held.size == Some(size));
        size > self.limits.file && !as_before
    }

    /// Mode, blob id, and content unless the file is larger than what may change.
    fn content(
        &self,
        dir: BorrowedFd<'_>,
        path: &[u8],
        name: &[u8],
        kind: FileType,
    ) -> Result<(u32, String, Option<Vec<u8>>), Stop> {
        let refuse = |what: &str| Stop::Refused(format!("{} is {what}", shown_path(path)));
        let name = CString::new(name).map_err(|_| refuse("not a name"))?;
        match kind {
            FileType::Symlink => {
                let target = readlinkat(dir, &name, Vec::new())
                    .map_err(|e| io(path, e))?
                    .into_bytes();
                Ok((LINK, blob_id(&target), Some(target)))
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = openat(dir, &name, flags, Mode::empty()).map_err(|e| match e {
                    Errno::ACCESS => refuse("not readable; give it mode 0644"),
                    other => io(path, other),
                })?;
                let stat = fstat(&file).map_err(|e| io(path, e))?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Err(refuse("not a plain file any more"));
                }
                let mode = if stat.st_mode & 0o100 == 0 {
                    0o100_644
                } else {
                    0o100_755
                };
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                if self.too_large(path, size) {
                    return Err(self.larger(path));
                }
                let (id, bytes) = read_file(&file, size, self.limits.file).map_err(|e| io(path, e))?;
                let Some(id) = id else {
                    return Err(refuse("changing while it is read"));
                };
                Ok((mode, id, bytes))
            }
            FileType::Fifo => Err(refuse("a named pipe; remove it")),
            FileType::Socket => Err(refuse("a socket; remove it")),
            _ => Err(refuse("not a file, directory or link; remove it")),
        }
    }

    fn note(&mut self, path: &[u8], (mode, id, bytes): (u32, String, Option<Vec<u8>>)) -> Result<(), Stop> {
        self.seen.insert(path.to_vec());
        if self
            .base
            .get(path)
            .is_some_and(|held| held.mode == mode && held.id == id)
        {
            return Ok(());
        }
        let Some(bytes) = bytes else {
            return Err(self.larger(path));
        };
        self.total += bytes.len() as u64;
        if self.total > self.limits.total {
            return Err(Stop::Refused(format!(
                "the changed files come to more than {} bytes",
                self.limits.total
            )));
        }
        self.edits.push(FileEdit {
            path: path.to_vec(),
            new: Some((mode, bytes)),
        });
        self.few(self.edits.len())
    }

    fn larger(&self, path: &[u8]) -> Stop {
        Stop::Refused(format!(
            "{} is larger than {} bytes",
            shown_path(path),
            self.limits.file
        ))
    }

    fn few(&self, changed: usize) -> Result<(), Stop> {
        if changed > self.limits.changed {
            let said = format!("more than {} files are changed", self.limits.changed);
            return Err(Stop::Refused(said));
        }
        Ok(())
    }

    /// All edits against the base: removals first, so that a file can take the place of a directory.
    pub(super) fn finish(mut self) -> Result<Vec<FileEdit>, Stop> {
        let gone = self
            .base
            .iter()
            .filter(|(path, held)| held.mode != SUBMODULE && !self.seen.contains(*path))
            .map(|(path, _)| FileEdit {
                path: path.clone(),
                new: None,
            });
        let mut edits: Vec<FileEdit> = gone.collect();
        edits.append(&mut self.edits);
        self.few(edits.len())?;
        Ok(edits)
    }

    pub(super) fn too_deep(&self, depth: usize) -> Result<(), Stop> {
        if depth > self.limits.depth {
            return Err(Stop::Refused(format!(
                "directories are nested deeper than {}",
                self.limits.depth
            )));
        }
        Ok(())
    }

    /// Opens a directory from the root, one component at a time.
    fn descend(&self, dir: &[u8]) -> Result<OwnedFd, Stop> {
        let mut fd = open_dir(self.root.as_fd(), ".").map_err(|e| io(dir, e))?;
        for part in dir.split(|b| *b == b'/').filter(|p| !p.is_empty()) {
            let name = CString::new(part).map_err(|_| io(dir, Errno::INVAL))?;
            fd = open_dir(fd.as_fd(), &name).map_err(|e| match e {
                Errno::ACCESS => Stop::Refused(format!("{} is not readable; give it mode 0755", shown_path(dir))),
                other => io(dir, other),
            })?;
        }
        Ok(fd)
    }
}

fn io(path: &[u8], error: Errno) -> Stop {
    Stop::Io {
        path: shown_path(path),
        error,
    }
}

fn open_dir(at: BorrowedFd<'_>, path: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

/// In order; none when there are more than `room`.
fn names(dir: BorrowedFd<'_>, room: usize) -> Result<Option<Vec<CString>>, Errno> {
    let mut out = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            if out.len() == room {
                return Ok(None);
            }
            out.push(name);
        }
    }
    out.sort();
    Ok(Some(out))
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        name.to_vec()
    } else {
        [dir, b"/", name].concat()
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter()
        .rposition(|b| *b == b'/')
        .map_or((b"".as_slice(), path), |at| (&path[..at], &path[at + 1..]))
}

/// `.git` in any spelling that a file system of another machine takes for it.
pub(super) fn like_dot_git(name: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(name)
        .chars()
        .filter(
            |c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'),
        )
        .flat_map(char::to_lowercase)
        .collect();
    let plain = text.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    matches!(plain, ".git" | "git~1")
}

fn blob_id(bytes: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pairs = bytes.iter().flat_map(|b| [b >> 4, b & 15]);
    pairs.map(|n| char::from(DIGITS[usize::from(n)])).collect()
}

/// Blob id (none when the size was another one) and the content up to `keep` bytes.
fn read_file(file: &OwnedFd, size: u64, keep: u64) -> Result<(Option<String>, Option<Vec<u8>>), Errno> {
    let mut hash = Sha1::new();
    hash.update(format!("blob {size}\0"));
    let mut kept = Vec::new();
    let mut read = 0;
    let mut chunk = vec![0; 64 << 10];
    loop {
        let n = match rustix::io::read(file, &mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e),
        };
        read += n as u64;
        if read > size {
            return Ok((None, None));
        }
        hash.update(&chunk[..n]);
        if size <= keep {
            kept.extend_from_slice(&chunk[..n]);
        }
    }
    let id = (read == size).then(|| hex(&hash.finalize()));
    Ok((id, (size <= keep).then_some(kept)))
}

#[cfg(test)]
mod tests {
    use super::{blob_id, like_dot_git};

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(blob_id(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(blob_id(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn spellings_of_dot_git() {
        for bad in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
        ] {
            assert!(like_dot_git(bad.as_bytes()), "{bad:?}");
        }
        for good in [".gitignore", ".github", "git", "agit", ".gitx", "git~10", "x.git"] {
            assert!(!like_dot_git(good.as_bytes()), "{good:?}");
        }
    }
}
