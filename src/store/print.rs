//! The print of the audit log: `state/incidents.jsonl`, appended to after each commit, and what was rotated away before
//! it as `incidents.<last seq>.jsonl`. The chain goes on over all of them. No code but `ledger restore` reads it back.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::{AuditRow, Result, Store, StoreError, Verified};

const NAME: &str = "incidents.jsonl";

/// All files of the log, oldest first; the one that is written to is last.
pub(super) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = rotated(dir)?.into_iter().map(|(_, path)| path).collect();
    let current = dir.join(NAME);
    if current.exists() {
        files.push(current);
    }
    Ok(files)
}

/// What was rotated away, with the number of the last record in each.
fn rotated(dir: &Path) -> io::Result<Vec<(i64, PathBuf)>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        out.extend(name.to_str().and_then(last_of).map(|last| (last, dir.join(&name))));
    }
    out.sort();
    Ok(out)
}

fn last_of(name: &str) -> Option<i64> {
    let digits = name.strip_prefix("incidents.")?.strip_suffix(".jsonl")?;
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// Whether anything was ever recorded here. The file that is written to first: nearly always that is the answer.
pub(super) fn has_records(dir: &Path) -> bool {
    let holds = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
    holds(&dir.join(NAME)) || rotated(dir).is_ok_and(|old| old.iter().any(|(_, path)| holds(path)))
}

/// The whole log as text, oldest record first. A file that cannot be read is named.
pub(super) fn read(dir: &Path) -> Result<String> {
    let mut text = String::new();
    for path in files(dir).map_err(|error| super::unusable(dir, &error.to_string()))? {
        let part = fs::read_to_string(&path).map_err(|error| super::unusable(&path, &error.to_string()))?;
        text.push_str(&part);
    }
    Ok(text)
}

impl Store {
    fn print_path(&self) -> PathBuf {
        self.dir.join(NAME)
    }

    /// The file at the path, locked. Another process may rotate it away while we wait for its lock.
    fn open_print(&self) -> io::Result<File> {
        let path = self.print_path();
        loop {
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            // Two processes that print the same rows would print them twice. Held for one append.
            fs2::FileExt::lock_exclusive(&file)?;
            let ours = file.metadata()?;
            let there = fs::symlink_metadata(&path);
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                return Ok(file);
            }
        }
    }

    /// Prints the rows that the files do not hold yet. A torn tail is cut and printed again.
    pub fn print_audit(&self) -> Result<()> {
        let path = self.print_path();
        let fail = |error: io::Error| super::unusable(&path, &error.to_string());
        let mut file = self.open_print().map_err(fail)?;
        let last = self.cut_torn_tail(&mut file).map_err(fail)?;
        let rows = self.audit_rows(last)?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for row in &rows {
            let line = serde_json::to_string(row).map_err(|error| StoreError::Row {
                what: "audit".to_owned(),
                why: error.to_string(),
            })?;
            text.push_str(&line);
            text.push('\n');
        }
        file.write_all(text.as_bytes()).map_err(fail)?;
        file.sync_data().map_err(fail)
    }

    /// Gives back the number of the last record that is printed, in this file or before it.
    fn cut_torn_tail(&self, file: &mut File) -> io::Result<i64> {
        let (whole, last) = whole_lines(file)?;
        if file.metadata()?.len() > whole {
            file.set_len(whole)?;
        }
        match last {
            0 => Ok(rotated(&self.dir)?.last().map_or(0, |(last, _)| *last)),
            last => Ok(last),
        }
    }

    /// Puts a log of that many bytes aside under the number of its last record, in one step: whoever dies before it or
    /// after it leaves a whole log. True when it did.
    pub fn rotate_audit(&self, bytes: u64) -> Result<bool> {
        let path = self.print_path();
        let fail = |error: io::Error| super::unusable(&path, &error.to_string());
        if fs::metadata(&path).map_or(0, |meta| meta.len()) < bytes {
            return Ok(false);
        }
        let mut file = self.open_print().map_err(fail)?;
        let last = self.cut_torn_tail(&mut file).map_err(fail)?;
        if file.metadata().map_err(fail)?.len() < bytes {
            return Ok(false);
        }
        file.sync_all().map_err(fail)?;
        let aside = self.dir.join(format!("incidents.{last:012}.jsonl"));
        fs::rename(&path, &aside).map_err(fail)?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(fail)?;
        Ok(true)
    }

    /// Where the print says something else than the store.
    pub(super) fn verify_print(&self, rows: &[AuditRow]) -> Option<Verified> {
        let path = self.print_path();
        let text = match read(&self.dir) {
            Ok(text) => text,
            Err(_) if rows.is_empty() => return None,
            Err(error) => {
                let why = error.to_string();
                return Some(Verified::Broken { seq: 1, why });
            }
        };
        let mut lines = text.lines();
        for row in rows {
            let same = lines
                .next()
                .is_some_and(|line| serde_json::from_str::<AuditRow>(line).is_ok_and(|printed| printed == *row));
            if !same {
                return Some(Verified::Broken {
                    seq: row.seq,
                    why: format!("{} says something else than the store", path.display()),
                });
            }
        }
        lines.next().map(|_| Verified::Broken {
            seq: i64::try_from(rows.len()).unwrap_or(i64::MAX) + 1,
            why: format!("{} holds a line that the store does not", path.display()),
        })
    }
}

/// Length of the file's whole lines that parse, and the sequence number of the last of them.
fn whole_lines(file: &mut File) -> io::Result<(u64, i64)> {
    // The tail is enough: a line is at most a few hundred kilobytes, and only the last can be torn.
    let len = file.metadata()?.len();
    let start = len.saturating_sub(4 << 20);
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::new(&mut *file);
    let mut at = start;
    let mut whole = if start == 0 { 0 } else { len };
    let mut last = 0;
    let mut line = Vec::new();
    let mut first = start != 0;
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        at += u64::try_from(read).unwrap_or(0);
        if std::mem::take(&mut first) {
            whole = at;
            continue;
        }
        match serde_json::from_slice::<AuditRow>(&line) {
            Ok(row) if line.ends_with(b"\n") => {
                whole = at;
                last = row.seq;
            }
            _ => break,
        }
    }
    Ok((whole, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{at, store};

    fn note(store: &mut Store, n: i64) {
        store
            .set_flag("pause", Some(&format!("reason {n}")), "me", at(n))
            .unwrap();
        store.print_audit().unwrap();
    }

    fn rows(store: &Store) -> Verified {
        store.verify_audit().unwrap()
    }

    #[test]
    fn the_chain_goes_on_over_rotated_files() {
        let (dir, mut store) = store();
        for n in 1..=7 {
            note(&mut store, n);
            assert_eq!(
                store.rotate_audit(400).unwrap(),
                n % 2 == 0,
                "two lines are more than 400 bytes"
            );
        }
        let names: Vec<String> = files(dir.path())
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let expected = ["000000000002", "000000000004", "000000000006"].map(|n| format!("incidents.{n}.jsonl"));
        assert_eq!(names[..3], expected);
        assert_eq!(names[3], NAME);
        assert_eq!(rows(&store), Verified::Intact { rows: 7 });

        // A record that somebody changed is found in whichever file it stands.
        let old = dir.path().join(&names[1]);
        let text = fs::read_to_string(&old).unwrap();
        fs::write(&old, text.replace("reason 4", "reason 5")).unwrap();
        assert!(
            matches!(rows(&store), Verified::Broken { seq: 4, .. }),
            "{:?}",
            rows(&store)
        );
        fs::remove_file(&old).unwrap();
        assert!(
            matches!(rows(&store), Verified::Broken { seq: 3, .. }),
            "{:?}",
            rows(&store)
        );
    }

    #[test]
    fn a_process_that_dies_around_a_rotation_leaves_a_whole_log() {
        let (dir, mut store) = store();
        note(&mut store, 1);
        note(&mut store, 2);
        // Died right after the rename: there is no file to write to, and nothing is printed twice.
        assert!(store.rotate_audit(1).unwrap());
        assert!(!dir.path().join(NAME).exists());
        assert_eq!(rows(&store), Verified::Intact { rows: 2 });
        assert!(has_records(dir.path()), "a lost ledger is still noticed");
        store.print_audit().unwrap();
        assert_eq!(fs::metadata(dir.path().join(NAME)).unwrap().len(), 0);
        note(&mut store, 3);
        assert_eq!(rows(&store), Verified::Intact { rows: 3 });
        // Died in mid-append before it: the torn tail is cut, and printed again into the next file.
        let current = dir.path().join(NAME);
        let torn = fs::read_to_string(&current).unwrap() + "{\"seq\":4,\"at\":";
        fs::write(&current, torn).unwrap();
        store.set_flag("pause", Some("reason 4"), "me", at(4)).unwrap();
        assert!(store.rotate_audit(1).unwrap());
        store.print_audit().unwrap();
        assert_eq!(rows(&store), Verified::Intact { rows: 4 });
        assert!(!store.rotate_audit(1 << 20).unwrap(), "small enough");
    }

    #[test]
    fn a_lost_ledger_is_rebuilt_over_rotated_files() {
        let (dir, mut store) = store();
        for n in 1..=5 {
            note(&mut store, n);
            store.rotate_audit(400).unwrap();
        }
        drop(store);
        for file in ["tick.db", "tick.db-wal", "tick.db-shm"] {
            let _there = fs::remove_file(dir.path().join(file));
        }
        assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })));
        Store::restore(dir.path()).unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        assert_eq!(store.flag("pause").unwrap().as_deref(), Some("reason 5"));
        note(&mut store, 6);
        assert_eq!(rows(&store), Verified::Intact { rows: 6 });
    }
}
