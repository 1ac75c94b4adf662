//! Files that a log was rotated to: which of them came after the one that the last look read, in their order.

use std::{
    cmp::Reverse,
    ffi::OsStr,
    fs, io,
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Entries of a directory among which a rotated file is looked for.
const MOST_ENTRIES: usize = 100_000;
/// Rotated files that are looked at.
const MOST_SIBLINGS: usize = 2000;
/// Counters of rotation are shorter; longer numbers are dates.
const MOST_DIGITS: usize = 5;
/// Endings of files that log rotation packed.
const PACKED: [&str; 6] = ["gz", "bz2", "xz", "zst", "lz4", "Z"];

/// A file beside a log that bears its name and more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sibling {
    pub(super) path: PathBuf,
    /// What stands behind the name of the log.
    rest: String,
    pub(super) id: (u64, u64),
    pub(super) length: u64,
    /// When it was last written to.
    pub(super) written: (i64, i64),
}

impl Sibling {
    pub(super) fn is_packed(&self) -> bool {
        self.stem().len() < self.rest.len()
    }

    fn stem(&self) -> &str {
        match self.rest.rsplit_once('.') {
            Some((stem, ending)) if PACKED.contains(&ending) => stem,
            _ => &self.rest,
        }
    }

    /// How often it was rotated, where the name counts that: `app.log.2` is older than `app.log.1`.
    fn turn(&self) -> Option<u64> {
        let (_, number) = self.stem().rsplit_once('.')?;
        if number.len() > MOST_DIGITS {
            return None;
        }
        number.parse().ok()
    }

    /// Rotated later than another, by the count in the names, or else by the times: a program may write for a while
    /// into a file that was rotated already, and a file system may know no finer time than that of two rotations.
    fn is_after(&self, other: &Self) -> bool {
        match (self.turn(), other.turn()) {
            (Some(mine), Some(theirs)) => mine < theirs,
            (None, None) => (self.written, self.stem()) > (other.written, other.stem()),
            _ => self.written > other.written,
        }
    }
}

/// What a log was rotated to.
pub(super) fn siblings(log: &Path) -> Vec<Sibling> {
    let name = log.file_name().unwrap_or_default().as_encoded_bytes();
    let rest = |other: &OsStr| {
        let rest = other.as_encoded_bytes().strip_prefix(name)?;
        (!rest.is_empty()).then(|| String::from_utf8_lossy(rest).into_owned())
    };
    entries(log)
        .filter_map(|entry| Some((rest(&entry.file_name())?, entry)))
        .filter_map(|(rest, entry)| sibling(rest, entry.path()).ok()?)
        .take(MOST_SIBLINGS)
        .collect()
}

/// The file of a number, whatever its name is.
pub(super) fn numbered(log: &Path, id: (u64, u64)) -> Option<Sibling> {
    let moved = entries(log).filter(|entry| entry.ino() == id.1);
    moved
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let rest = name.strip_prefix(&*log.file_name()?.to_string_lossy()).unwrap_or("");
            sibling(rest.to_owned(), entry.path()).ok()?
        })
        .find(|file| file.id == id)
}

fn entries(log: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let entries = log.parent().and_then(|dir| fs::read_dir(dir).ok());
    entries.into_iter().flatten().take(MOST_ENTRIES).flatten()
}

fn sibling(rest: String, path: PathBuf) -> io::Result<Option<Sibling>> {
    let meta = fs::symlink_metadata(&path)?;
    Ok(meta.is_file().then(|| Sibling {
        path,
        rest,
        id: (meta.dev(), meta.ino()),
        length: meta.len(),
        written: (meta.mtime(), meta.mtime_nsec()),
    }))
}

/// What was rotated after a file, oldest first.
pub(super) fn after(old: &Sibling, all: Vec<Sibling>) -> Vec<Sibling> {
    in_order(all, |file| file.id != old.id && file.is_after(old))
}

/// What was written to after a time, oldest first.
pub(super) fn since(written: (i64, i64), all: Vec<Sibling>) -> Vec<Sibling> {
    in_order(all, |file| file.written > written)
}

fn in_order(all: Vec<Sibling>, wanted: impl Fn(&Sibling) -> bool) -> Vec<Sibling> {
    let plain: Vec<String> = all.iter().filter(|f| !f.is_packed()).map(|f| f.rest.clone()).collect();
    let mut later: Vec<Sibling> = all
        .into_iter()
        // One that is being packed at this moment is there twice.
        .filter(|file| wanted(file) && !(file.is_packed() && plain.iter().any(|rest| rest == file.stem())))
        .collect();
    if later.iter().all(|file| file.turn().is_some()) {
        later.sort_by_key(|file| Reverse(file.turn()));
    } else {
        later.sort_by(|one, other| (one.written, one.stem()).cmp(&(other.written, other.stem())));
    }
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rest: &str, written: i64) -> Sibling {
        Sibling {
            path: PathBuf::from(format!("app.log{rest}")),
            rest: rest.to_owned(),
            id: (1, rest.bytes().map(u64::from).sum()),
            length: 1,
            written: (written, 0),
        }
    }

    #[track_caller]
    fn check(old: &Sibling, all: &[Sibling], expected: &[&str]) {
        let later = after(old, all.to_vec());
        let names: Vec<&str> = later.iter().map(|file| file.rest.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_count_in_the_name_says_the_order() {
        let all = [file(".1", 5), file(".2", 5), file(".3", 5), file(".10", 5)];
        check(&all[2], &all, &[".2", ".1"]);
        check(&all[3], &all, &[".3", ".2", ".1"]);
        check(&all[0], &all, &[]);
        // Its program wrote into it after it was rotated.
        check(&file(".3", 9), &all, &[".2", ".1"]);
    }

    #[test]
    fn a_date_in_the_name_is_no_count() {
        let all = [file("-20261129", 5), file("-20261130", 5), file("-20261201", 6)];
        check(&all[0], &all, &["-20261130", "-20261201"]);
        let all = [file(".20261129", 5), file(".20261130", 6)];
        check(&all[0], &all, &[".20261130"]);
        check(&all[1], &all, &[]);
    }

    #[test]
    fn a_packed_file_keeps_its_place_and_counts_once() {
        let all = [file(".1", 7), file(".2.gz", 6), file(".3", 5), file(".4.gz", 4)];
        check(&all[2], &all, &[".2.gz", ".1"]);
        let all = [file(".1", 7), file(".1.gz", 7), file(".2", 5)];
        check(&all[2], &all, &[".1"]);
    }

    #[test]
    fn without_the_file_itself_the_time_says_what_is_new() {
        let all = vec![file(".1", 7), file(".2.gz", 6), file(".3.gz", 3)];
        let names: Vec<String> = since((5, 0), all).into_iter().map(|file| file.rest).collect();
        assert_eq!(names, [".2.gz", ".1"]);
    }
}
