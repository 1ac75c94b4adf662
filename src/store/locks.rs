//! Exclusion by kernel locks: tried, never waited for, never deleted, gone with the process that held them. The
//! lock says who may act; the claim row in the store says who did, and its fence makes late writers fail.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::model::{IncidentId, Slot};

/// Allows collecting, the gate and the opening of incidents.
#[derive(Debug)]
pub struct TickLock {
    _file: File,
}

/// Allows one triage call at a time.
#[derive(Debug)]
pub struct TriageLock {
    _file: File,
}

/// Allows running tests of one repo where its setup ran.
#[derive(Debug)]
pub struct SetupLock {
    _file: File,
}

/// Allows writes to one incident, under a fence that only rises.
#[derive(Debug)]
pub struct Claim {
    pub incident: IncidentId,
    pub fence: i64,
    _file: File,
}

impl Claim {
    pub(super) fn new(incident: IncidentId, fence: i64, file: File) -> Self {
        Self {
            incident,
            fence,
            _file: file,
        }
    }
}

/// What trying a lock gave.
#[derive(Debug)]
pub enum Tried<L> {
    Held(L),
    /// Another process has it; what it wrote about itself, for people.
    Busy(String),
}

impl TickLock {
    pub fn try_take(state: &Path, note: &str) -> io::Result<Tried<Self>> {
        try_lock(&lock_path(state, "tick"), note).map(|tried| map(tried, |file| Self { _file: file }))
    }
}

impl TriageLock {
    pub fn try_take(state: &Path, note: &str) -> io::Result<Tried<Self>> {
        try_lock(&lock_path(state, "triage"), note).map(|tried| map(tried, |file| Self { _file: file }))
    }
}

impl SetupLock {
    pub fn try_take(state: &Path, slot: &Slot, note: &str) -> io::Result<Tried<Self>> {
        try_lock(&lock_path(state, &format!("setup-{slot}")), note).map(|tried| map(tried, |file| Self { _file: file }))
    }
}

pub(super) fn try_incident(state: &Path, incident: &IncidentId, note: &str) -> io::Result<Tried<File>> {
    try_lock(&lock_path(state, &format!("incident-{incident}")), note)
}

fn map<A, B>(tried: Tried<A>, f: impl FnOnce(A) -> B) -> Tried<B> {
    match tried {
        Tried::Held(a) => Tried::Held(f(a)),
        Tried::Busy(by) => Tried::Busy(by),
    }
}

fn lock_path(state: &Path, name: &str) -> PathBuf {
    state.join("locks").join(name)
}

fn try_lock(path: &Path, note: &str) -> io::Result<Tried<File>> {
    if let Some(dir) = path.parent() {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    // By full path: std has an inherent method of the same name with another error type.
    match fs2::FileExt::try_lock_exclusive(&file) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {
            let mut holder = String::new();
            file.take(200).read_to_string(&mut holder).unwrap_or_default();
            return Ok(Tried::Busy(holder.trim().to_owned()));
        }
        Err(error) => return Err(error),
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(note.as_bytes())?;
    Ok(Tried::Held(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_learns_who_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let first = TickLock::try_take(dir.path(), "pid 1, since 03:00:02").unwrap();
        assert!(matches!(first, Tried::Held(_)));
        match TickLock::try_take(dir.path(), "pid 2").unwrap() {
            Tried::Busy(by) => assert_eq!(by, "pid 1, since 03:00:02"),
            Tried::Held(_) => panic!("two holders"),
        }
        drop(first);
        // A child that another test starts has a copy of the lock for a moment, until it is its own program.
        let third = || TickLock::try_take(dir.path(), "pid 3").unwrap();
        assert!((0..100_000).any(|_| matches!(third(), Tried::Held(_))));
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("locks")).unwrap();
        let outside = dir.path().join("outside");
        std::os::unix::fs::symlink(&outside, dir.path().join("locks/tick")).unwrap();
        assert!(TickLock::try_take(dir.path(), "pid 1").is_err());
        assert!(!outside.exists());
    }
}
