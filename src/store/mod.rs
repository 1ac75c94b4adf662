//! Our own files: the SQLite ledger, locks, the audit log, snapshots. All SQL of the program is in this folder.
//! Writes are durable when a function returns, and each names the lock or claim that allows it.

mod audit;
mod causes;
mod changes;
mod effects;
mod evidence;
pub mod files;
mod hourly;
mod incidents;
mod ledger;
pub mod locks;
mod print;
mod record;
mod renewal;
mod restore;
mod schema;
pub mod snapshots;
mod spend;

use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::{Connection, OpenFlags, Transaction};

pub use audit::{AuditRow, Verified};
pub use causes::{Sighting, SignatureRow};
pub use effects::{EffectRow, Intent};
pub use evidence::{DecisionRow, EvidenceRow};
pub use hourly::{HourRow, MeasureKey};
pub use incidents::NewIncident;
pub use ledger::{CachedReply, SourceRow, TickEnd, TickRow};
pub use locks::{Claim, SetupLock, TickLock, TriageLock, Tried};
pub use record::Ended;
pub use renewal::Renewed;
pub use restore::{Restored, fuzz_records};
pub use spend::Spent;

use crate::exit::{Exit, Fault};

/// Why a write or read of the store failed, in the words of the process table.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is damaged. It is left where it is, untouched.
    #[error("state {} is damaged: {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    /// The file was written by a newer tick.
    #[error("state {} has schema {found}, this tick knows up to {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The disk is full, read-only, or refuses the file.
    #[error("cannot use state {}: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
    /// Another process raised the fence: this claim is no longer ours.
    #[error("incident {incident}: claim {fence} was taken over")]
    Fenced { incident: String, fence: i64 },
    /// A row that this program wrote does not read back: a bug.
    #[error("state row {what} does not read back: {why}")]
    Row { what: String, why: String },
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&StoreError> for Fault {
    fn from(error: &StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Damaged { path, .. } if path.ends_with("incidents.jsonl") => Self::new(Exit::CouldNot, message)
                .advise("nothing was changed; a ledger is rebuilt only from a log whose chain is whole")
                .advise("put a copy of the log from before the damage there, then: tick ledger restore"),
            StoreError::Damaged { path, .. } => Self::new(Exit::CouldNot, message)
                .advise(format!(
                    "nothing was changed; keep {} aside before anything else",
                    path.display()
                ))
                .advise("then rebuild the ledger from the audit log: tick ledger restore"),
            StoreError::Newer { .. } => {
                Self::new(Exit::Config, message).advise("run the tick that wrote it, or a newer one")
            }
            StoreError::Unusable { .. } => Self::new(Exit::CouldNot, message)
                .advise("check free space, mount options and the owner of the directory"),
            StoreError::Fenced { .. } => Self::new(Exit::CouldNot, message),
            StoreError::Row { .. } => Self::new(Exit::Bug, message),
        }
    }
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Processes that may make one home at once before one of them gives up.
const OPENERS: u32 = 32;

/// The ledger. One connection a process.
#[derive(Debug)]
pub struct Store {
    conn: Connection,
    path: PathBuf,
    /// `state/`, which also holds the locks and the printed audit log.
    dir: PathBuf,
}

impl Store {
    /// Opens the ledger of a state directory, or makes it when nothing was ever written there.
    ///
    /// A missing database beside a printed audit log is a loss, not a fresh start: budgets and dedup would
    /// restart from nothing, so it is refused.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("tick.db");
        // The log first: another process makes the database before it prints a log.
        let printed = print::has_records(dir);
        let exists = path.try_exists().map_err(|error| unusable(&path, &error.to_string()))?;
        if !exists && printed {
            return Err(StoreError::Damaged {
                path,
                why: format!("it is missing although {} holds records", log_of(dir).display()),
            });
        }
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if !exists {
            create_private(&path)?;
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let conn = Connection::open_with_flags(&path, flags).map_err(|error| classify(&path, &error))?;
        let store = Self {
            conn,
            path,
            dir: dir.to_owned(),
        };
        store.prepare()?;
        Ok(store)
    }

    /// Opens the ledger where nothing can be written: on a full disk, or one that is mounted for reading. What a process that
    /// was killed left beside it (`tick.db-wal`) is not read there; false where there is such a thing.
    pub fn open_to_read(dir: &Path) -> Result<(Self, bool)> {
        let path = dir.join("tick.db");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let store = |address: &str| {
            let version = |conn: &Connection| conn.query_row("PRAGMA user_version", [], |row| row.get(0));
            let conn = Connection::open_with_flags(address, flags)?;
            let found: i64 = version(&conn)?;
            rusqlite::Result::Ok((conn, found))
        };
        let name = address(&path);
        let left = std::fs::metadata(dir.join("tick.db-wal")).is_ok_and(|meta| meta.len() > 0);
        // Without a place for its own notes SQLite reads only what is promised not to change.
        let (opened, whole) = if let Ok(opened) = store(&name) {
            (opened, true)
        } else {
            let opened = store(&format!("{name}?immutable=1")).map_err(|error| classify(&path, &error))?;
            (opened, !left)
        };
        let (conn, found) = opened;
        if found > schema::VERSION {
            return Err(StoreError::Newer {
                path,
                found,
                known: schema::VERSION,
            });
        }
        if found < schema::VERSION {
            return Err(unusable(
                &path,
                "an older version wrote it, and it cannot be brought to this one where nothing can be written",
            ));
        }
        let store = Self {
            conn,
            path,
            dir: dir.to_owned(),
        };
        Ok((store, whole))
    }

    fn prepare(&self) -> Result<()> {
        let version = || -> rusqlite::Result<i64> {
            self.conn.busy_timeout(std::time::Duration::from_secs(10))?;
            self.conn.query_row("PRAGMA user_version", [], |row| row.get(0))
        };
        // Before anything is set, since setting writes.
        let found = version().map_err(|error| self.fail(&error))?;
        if found > schema::VERSION {
            return Err(StoreError::Newer {
                path: self.path.clone(),
                found,
                known: schema::VERSION,
            });
        }
        if found == 0 && print::has_records(&self.dir) {
            return Err(StoreError::Damaged {
                path: self.path.clone(),
                why: format!("it is empty although {} holds records", log_of(&self.dir).display()),
            });
        }
        let setup = || -> rusqlite::Result<()> {
            self.journal()?;
            self.conn.pragma_update(None, "synchronous", "FULL")?;
            self.conn.pragma_update(None, "foreign_keys", "ON")
        };
        setup().map_err(|error| self.fail(&error))?;
        if found < schema::VERSION {
            schema::migrate(&self.conn).map_err(|error| self.fail(&error))?;
        }
        Ok(())
    }

    /// Of several processes that make one home at once SQLite tells all but one here, without waiting, that it is locked. A
    /// transaction does wait; after it the journal is made, and setting it again does nothing.
    fn journal(&self) -> rusqlite::Result<()> {
        let set = || self.conn.pragma_update(None, "journal_mode", "WAL");
        let is_busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy);
        for _ in 0..OPENERS {
            match set() {
                Err(error) if is_busy(&error) => self.conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?,
                done => return done,
            }
        }
        set()
    }

    /// The state directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        classify(&self.path, error)
    }

    /// One transaction: all of it or nothing, on disk when this returns.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, TxError>) -> Result<T> {
        let path = self.path.clone();
        let tx = self
            .conn
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(|error| classify(&path, &error))?;
        match work(&tx) {
            Ok(value) => {
                tx.commit().map_err(|error| classify(&path, &error))?;
                Ok(value)
            }
            Err(TxError::Sql(error)) => Err(classify(&path, &error)),
            Err(TxError::Store(error)) => Err(error),
        }
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, TxError>) -> Result<T> {
        work(&self.conn).map_err(|error| match error {
            TxError::Sql(error) => self.fail(&error),
            TxError::Store(error) => error,
        })
    }
}

/// What can go wrong inside a transaction, so that `?` works on both.
#[derive(Debug)]
enum TxError {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for TxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for TxError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A path as an address, in which some characters mean something.
fn address(path: &Path) -> String {
    use std::{fmt::Write as _, os::unix::ffi::OsStrExt};
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            address.push(char::from(*byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

fn log_of(dir: &Path) -> PathBuf {
    dir.join("incidents.jsonl")
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::Unusable {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// The database holds redacted production text: readable by its owner only, from the first byte on.
fn create_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map(drop)
        .map_err(|error| unusable(path, &error.to_string()))
}

fn classify(path: &Path, error: &rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let damaged = || StoreError::Damaged {
        path: path.to_owned(),
        why: error.to_string(),
    };
    match error.sqlite_error_code() {
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => damaged(),
        Some(Code::DiskFull) => unusable(path, "the disk is full"),
        Some(Code::ReadOnly) => unusable(path, "it is read-only"),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => unusable(path, "another process keeps it locked"),
        Some(Code::CannotOpen | Code::SystemIoFailure | Code::PermissionDenied) => {
            unusable(path, disk(path).unwrap_or(&error.to_string()))
        }
        _ => StoreError::Row {
            what: path.display().to_string(),
            why: error.to_string(),
        },
    }
}

/// SQLite's own words for these are "disk I/O error" and "unable to open".
fn disk(path: &Path) -> Option<&'static str> {
    let of = rustix::fs::statvfs(path.parent()?).ok()?;
    if of.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        Some("the disk is read-only")
    } else if of.f_bavail == 0 {
        Some("the disk is full")
    } else {
        None
    }
}

/// Times are stored as RFC 3339 in UTC with milliseconds, so that text order is time order.
fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn parse_time(text: &str) -> Result<DateTime<Utc>, TxError> {
    DateTime::parse_from_rfc3339(text)
        .map(|at| at.with_timezone(&Utc))
        .map_err(|error| row_error("time", &error.to_string()))
}

fn parse_opt_time(text: Option<String>) -> Result<Option<DateTime<Utc>>, TxError> {
    text.map(|text| parse_time(&text)).transpose()
}

fn row_error(what: &str, why: &str) -> TxError {
    TxError::Store(StoreError::Row {
        what: what.to_owned(),
        why: why.to_owned(),
    })
}

fn to_json<T: serde::Serialize>(what: &str, value: &T) -> Result<String, TxError> {
    serde_json::to_string(value).map_err(|error| row_error(what, &error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, TxError> {
    serde_json::from_str(text).map_err(|error| row_error(what, &error.to_string()))
}

fn parse_id<T: std::str::FromStr<Err = crate::model::ids::InvalidId>>(text: &str) -> Result<T, TxError> {
    text.parse()
        .map_err(|error: crate::model::ids::InvalidId| row_error("id", &error.to_string()))
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
