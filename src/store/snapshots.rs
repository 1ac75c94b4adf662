//! Snapshots on disk: `signals/latest.json`, replaced whole, and `signals/<tick>.json.zst` for the ticks that woke
//! somebody. They are prints: nothing decides by them, but `tick gate` reads them.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::Path,
};

use rustix::fs::{AtFlags, Mode, OFlags};
use sha2::{Digest, Sha256};

use crate::model::{
    TickId,
    signal::{SNAPSHOT_SCHEMA, Snapshot},
};

pub const LATEST: &str = "latest.json";
const ARCHIVED: &str = ".json.zst";
/// Largest snapshot that is read back.
const CAP: u64 = 256 << 20;

/// A snapshot as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub json: Vec<u8>,
    /// SHA-256 of the JSON, in hex.
    pub digest: String,
}

pub fn encode(snapshot: &Snapshot) -> serde_json::Result<Encoded> {
    let json = serde_json::to_vec(snapshot)?;
    let digest = crate::text::hex(&Sha256::digest(&json));
    Ok(Encoded { json, digest })
}

/// Replaces `latest.json`. On return it is durable; on an error the old one stands.
pub fn write_latest(dir: &Path, snapshot: &Encoded) -> io::Result<()> {
    replace(dir, LATEST, &snapshot.json)
}

/// Writes `<tick>.json.zst`.
pub fn archive(dir: &Path, tick: &TickId, snapshot: &Encoded) -> io::Result<()> {
    let packed = zstd::encode_all(snapshot.json.as_slice(), 3)?;
    replace(dir, &format!("{tick}{ARCHIVED}"), &packed)
}

/// Why a snapshot could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("there is no snapshot at {0}")]
    Missing(String),
    #[error("the snapshot has schema {found}, this tick knows up to {SNAPSHOT_SCHEMA}")]
    Newer { found: u64 },
    #[error("the snapshot cannot be read: {0}")]
    Unreadable(String),
}

/// Reads a snapshot from a file, packed or not.
pub fn read(path: &Path) -> Result<Snapshot, ReadError> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing(path.display().to_string()),
        _ => ReadError::Unreadable(error.to_string()),
    };
    let file = File::open(path).map_err(unreadable)?;
    let packed = path.extension().is_some_and(|end| end == "zst");
    let mut json = Vec::new();
    if packed {
        zstd::Decoder::new(file).and_then(|decoder| decoder.take(CAP + 1).read_to_end(&mut json))
    } else {
        file.take(CAP + 1).read_to_end(&mut json)
    }
    .map_err(unreadable)?;
    if u64::try_from(json.len()).is_ok_and(|length| length > CAP) {
        return Err(ReadError::Unreadable("it is larger than 256 MiB".to_owned()));
    }
    parse(&json)
}

/// A newer schema is refused before anything else of it is read.
pub fn parse(json: &[u8]) -> Result<Snapshot, ReadError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: u64,
    }
    let broken = |error: serde_json::Error| ReadError::Unreadable(error.to_string());
    crate::text::json::check(json).map_err(|fault| ReadError::Unreadable(fault.to_string()))?;
    let head: Head = serde_json::from_slice(json).map_err(broken)?;
    if head.schema > u64::from(SNAPSHOT_SCHEMA) {
        return Err(ReadError::Newer { found: head.schema });
    }
    serde_json::from_slice(json).map_err(broken)
}

/// Writes beside the target, syncs, renames, syncs the directory. Links are followed nowhere, and the directory
/// stays the same one from the first step to the last.
fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = rustix::fs::open(
        dir,
        OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let fresh = format!(".{name}.new");
    let done = fill(&folder, &fresh, bytes).and_then(|()| {
        rustix::fs::renameat(&folder, &fresh, &folder, name)?;
        Ok(())
    });
    if done.is_err() {
        // The old file stands; a half-written new one helps nobody.
        let _ignored = rustix::fs::unlinkat(&folder, &fresh, AtFlags::empty());
        return done;
    }
    rustix::fs::fsync(&folder)?;
    Ok(())
}

fn fill(folder: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let create = || {
        rustix::fs::openat(
            folder,
            name,
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )
    };
    let opened = match create() {
        // Left by a tick that was killed; the tick lock says that no other one is at it now.
        Err(rustix::io::Errno::EXIST) => {
            rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
            create()?
        }
        other => other?,
    };
    let mut file = File::from(opened);
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    };

    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            schema: SNAPSHOT_SCHEMA,
            tick: TickId::new("20261129T030000Z", 17),
            started_at: "2026-11-29T03:00:00Z".parse().unwrap(),
            deep: false,
            signals: Vec::new(),
            collectors: Vec::new(),
            open_pulls: Vec::new(),
            changes: Vec::new(),
            signed_by: 1,
            stood: Vec::new(),
        }
    }

    #[test]
    fn a_snapshot_is_replaced_whole_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let encoded = encode(&snapshot()).unwrap();
        write_latest(dir.path(), &encoded).unwrap();
        let first = fs::metadata(dir.path().join(LATEST)).unwrap();
        assert_eq!(first.permissions().mode() & 0o777, 0o600);
        write_latest(dir.path(), &encoded).unwrap();
        let second = fs::metadata(dir.path().join(LATEST)).unwrap();
        assert_ne!(first.ino(), second.ino(), "never edited in place");
        assert_eq!(read(&dir.path().join(LATEST)).unwrap(), snapshot());
        archive(dir.path(), &snapshot().tick, &encoded).unwrap();
        assert_eq!(
            read(&dir.path().join("20261129T030000Z-17.json.zst")).unwrap(),
            snapshot()
        );
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn a_left_over_or_planted_name_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, dir.path().join(".latest.json.new")).unwrap();
        symlink(&victim, dir.path().join(LATEST)).unwrap();
        write_latest(dir.path(), &encode(&snapshot()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!fs::symlink_metadata(dir.path().join(LATEST)).unwrap().is_symlink());
        // A directory that is a link is not written into.
        let link = dir.path().join("link");
        symlink(dir.path(), &link).unwrap();
        assert!(write_latest(&link, &encode(&snapshot()).unwrap()).is_err());
    }

    #[test]
    fn what_cannot_be_replaced_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(LATEST)).unwrap();
        assert!(write_latest(dir.path(), &encode(&snapshot()).unwrap()).is_err());
        assert!(dir.path().join(LATEST).is_dir());
        assert!(!dir.path().join(".latest.json.new").exists());
    }

    #[test]
    fn newer_and_broken_snapshots_are_refused() {
        let json = String::from_utf8(encode(&snapshot()).unwrap().json).unwrap();
        let newer = json
            .replace("\"schema\":1", "\"schema\":2")
            .replace("\"deep\"", "\"deeper\"");
        assert!(matches!(parse(newer.as_bytes()), Err(ReadError::Newer { found: 2 })));
        assert!(matches!(parse(&json.as_bytes()[..40]), Err(ReadError::Unreadable(_))));
        let twice = json.replace("\"signals\":[]", "\"signals\":[],\"signals\":[]");
        assert!(matches!(parse(twice.as_bytes()), Err(ReadError::Unreadable(_))));
        assert!(matches!(
            read(Path::new("/nonexistent/x.json")),
            Err(ReadError::Missing(_))
        ));
    }
}
