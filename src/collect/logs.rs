//! Log files on this machine: read from where the last look ended, through rotation and truncation, a bounded part of
//! them in one look, in constant memory. Files are only read.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    context::{Blind, Piece, Place, Session},
    log_rotation::{self, Sibling},
    log_scan::LogScan,
    probe,
};
use crate::{
    model::signal::{OutcomeKind, Signal},
    text::{hex, logs::open_tail},
};

/// Of a file that is seen for the first time only its end is read; more with `--deep`.
const FIRST_LOOK: u64 = 4 << 20;
const FIRST_LOOK_DEEP: u64 = 64 << 20;
/// One look reads at most so much of a file, the latest part.
const MOST: u64 = 512 << 20;
/// Read between two chances for the other collectors.
const CHUNK: usize = 256 * 1024;
/// Searched for the last whole line and the event that it belongs to.
const TAIL: u64 = 64 * 1024;
/// Bytes before the place of reading that are remembered by their hash.
const MARK: u64 = 256;
/// A file that was written to just now may hold half an event.
const SETTLED: TimeDelta = TimeDelta::seconds(5);
/// Rotated files that one look reads, the latest.
const MOST_ROTATED: usize = 100;

/// Where the last look at each file ended.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Places {
    #[serde(default)]
    files: BTreeMap<PathBuf, Spot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Spot {
    dev: u64,
    ino: u64,
    offset: u64,
    /// Hash of the bytes right before the offset: a file that was written anew shows by it.
    mark: String,
    /// When the file was last written to: what was rotated later was written to later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<DateTime<Utc>>,
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let mut places: Places = session
        .ctx
        .sources
        .get(&place.key())
        .and_then(|facts| serde_json::from_str(facts.cursor.as_deref()?).ok())
        .unwrap_or_default();
    // A file that is no longer followed is forgotten.
    places.files.retain(|path, _| place.target.logs.contains(path));
    let mut piece = place.piece(OutcomeKind::Ok);
    let mut blind = Vec::new();
    let mut read = 0;
    for path in &place.target.logs {
        let mut look = Look {
            session,
            place,
            path,
            blind: Vec::new(),
        };
        let part = probe::part(session, &path.to_string_lossy());
        match look.follow(places.files.get(path)).await {
            Ok((spot, mut scanned)) => {
                read += 1;
                for signal in &mut scanned {
                    signal.evidence[Signal::PART] = part.clone().into();
                }
                piece.signals.extend(scanned);
                places.files.insert(path.clone(), spot);
            }
            Err(error) => look.blind(&error),
        }
        blind.extend(look.blind.into_iter().map(|why| why.of(part.clone())));
    }
    piece.cursor = serde_json::to_string(&places).ok();
    piece.settle(read, &blind);
    piece
}

/// One look at one file.
struct Look<'a> {
    session: &'a Session<'a>,
    place: Place<'a>,
    path: &'a Path,
    blind: Vec<Blind>,
}

/// A part of a file that is read.
struct Part {
    file: File,
    from: u64,
    to: u64,
}

impl<'a> Look<'a> {
    fn blind(&mut self, error: &io::Error) {
        let (cause, mend) = match error.kind() {
            io::ErrorKind::NotFound => ("not-found", "check the path in the config, or whether the program runs"),
            io::ErrorKind::PermissionDenied => ("permission", "the user that runs tick must be able to read it"),
            io::ErrorKind::InvalidInput => (
                "not-a-file",
                "name a file in the config; what goes to a pipe or a device can be written to one",
            ),
            _ => ("io", "it is tried again at the next look"),
        };
        let what = format!("read the log {}: {error}; {mend}", self.path.display());
        self.blind.push(Blind::new(cause, self.session.line(&what, 400)));
    }

    async fn follow(&mut self, before: Option<&Spot>) -> io::Result<(Spot, Vec<Signal>)> {
        let (mut parts, mut scan) = self.parts(before)?;
        self.cap(&mut parts)?;
        for part in &mut parts {
            stream(part, &mut scan).await?;
        }
        let scanned = scan.finish();
        self.blind.extend(scanned.blind);
        let Some(last) = parts.last_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let meta = last.file.metadata()?;
        let spot = Spot {
            dev: meta.dev(),
            ino: meta.ino(),
            offset: last.to,
            mark: mark(&mut last.file, last.to)?.unwrap_or_default(),
            written: Some((meta.mtime(), meta.mtime_nsec())),
            started_at: scanned.started_at,
        };
        Ok((spot, scanned.signals))
    }

    /// What is read now, oldest first; the last part is of the file that the next look begins with.
    fn parts(&mut self, before: Option<&Spot>) -> io::Result<(Vec<Part>, LogScan<'a>)> {
        let mut parts = Vec::new();
        let mut moved = false;
        let mut last = match (open(self.path), before) {
            (Ok(file), _) => Part { file, from: 0, to: 0 },
            // Rotated away, and nobody has written since.
            (Err(error), Some(spot)) if error.kind() == io::ErrorKind::NotFound => {
                moved = true;
                parts = self.since(spot, (0, 0))?;
                let Some(last) = parts.pop() else {
                    self.blind.clear();
                    return Err(error);
                };
                last
            }
            (Err(error), _) => return Err(error),
        };
        let meta = last.file.metadata()?;
        last.to = self.end(&mut last.file, &meta)?;
        let here = (meta.dev(), meta.ino());
        let again = before.filter(|spot| here == (spot.dev, spot.ino));
        let mut scan = LogScan::new(self.session, self.place);
        match (before, again) {
            (None, _) => {
                let most = if self.session.ctx.deep {
                    FIRST_LOOK_DEEP
                } else {
                    FIRST_LOOK
                };
                last.from = next_line(&mut last.file, last.to.saturating_sub(most))?;
            }
            (_, Some(spot)) if mark(&mut last.file, spot.offset)?.as_ref() == Some(&spot.mark) => {
                last.from = spot.offset;
            }
            (Some(_), _) if moved => {}
            // Another file, or other text under the same number: copied away and cut off, or the number was given anew.
            (Some(spot), _) => parts = self.since(spot, here)?,
        }
        scan = match before {
            Some(spot) if last.from > 0 => scan.started(spot.started_at),
            _ if last.from == 0 && parts.is_empty() => scan.whole(),
            _ => scan,
        };
        last.from = last.from.min(last.to);
        parts.push(last);
        Ok((parts, scan))
    }

    /// Up to where a file is read now: whole lines, and no event that somebody may still be writing.
    fn end(&self, file: &mut File, meta: &fs::Metadata) -> io::Result<u64> {
        let length = meta.len();
        let from = length.saturating_sub(TAIL);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(length - from).read_to_end(&mut tail)?;
        let now = self.session.ctx.now;
        let written = DateTime::from_timestamp(meta.mtime(), 0).unwrap_or_default();
        let fresh = now - written < SETTLED && written - now < SETTLED;
        if !fresh {
            return Ok(length);
        }
        let Some(newline) = tail.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(if from == 0 { 0 } else { length });
        };
        tail.truncate(newline + 1);
        let whole = from + tail.len() as u64;
        // Counted in bytes of the text that it was read as: the same, but for bytes that are no text.
        let open = open_tail(&String::from_utf8_lossy(&tail), now).min(tail.len());
        Ok(whole - open as u64)
    }

    /// What was written since the last look into files that were rotated away; what cannot be read of it is a gap.
    fn since(&mut self, spot: &Spot, here: (u64, u64)) -> io::Result<Vec<Part>> {
        let mut siblings = log_rotation::siblings(self.path);
        siblings.retain(|file| file.id != here);
        let mut parts = Vec::new();
        let later = if let Some((sibling, file)) = self.rotated(spot, here, &siblings) {
            let to = file.metadata()?.len();
            parts.push(Part {
                file,
                from: spot.offset,
                to,
            });
            log_rotation::after(&sibling, siblings)
        } else {
            self.gap(
                "it was rotated or cut off, and the text of before is not beside it any more; lines may be missing",
            );
            let written = spot.written.unwrap_or((i64::MAX, 0));
            let packed_too = log_rotation::since(written, siblings);
            packed_too.into_iter().filter(|file| !file.is_packed()).collect()
        };
        let beyond = later.len().saturating_sub(MOST_ROTATED);
        if beyond > 0 {
            self.gap(&format!(
                "it was rotated {} times since the last look, more than one look reads; {beyond} files were passed over",
                later.len() + 1
            ));
        }
        let mut unread = Vec::new();
        for file in later.into_iter().skip(beyond) {
            match open(&file.path) {
                Ok(opened) if !file.is_packed() => parts.push(Part {
                    file: opened,
                    from: 0,
                    to: file.length,
                }),
                _ => unread.push(file.path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            }
        }
        if !unread.is_empty() {
            self.gap(&format!(
                "it was rotated more than once, and of the files between {} cannot be read (packed, or not allowed); \
                 lines may be missing",
                unread.join(", ")
            ));
        }
        Ok(parts)
    }

    /// The text that the last look read, under another name in the same directory: the same file, or a copy of it.
    fn rotated(&self, spot: &Spot, here: (u64, u64), siblings: &[Sibling]) -> Option<(Sibling, File)> {
        let moved = log_rotation::numbered(self.path, (spot.dev, spot.ino));
        // Nothing tells the copy of an empty file from any other.
        let copies = siblings.iter().filter(|_| spot.offset > 0).cloned();
        moved.into_iter().chain(copies).find_map(|sibling| {
            if sibling.length < spot.offset || sibling.id == here {
                return None;
            }
            let mut file = open(&sibling.path).ok()?;
            (mark(&mut file, spot.offset).ok()?? == spot.mark).then_some((sibling, file))
        })
    }

    fn gap(&mut self, why: &str) {
        let what = format!("the log {}: {why}", self.path.display());
        self.blind.push(Blind::new("gap", self.session.line(&what, 400)));
    }

    /// Of very much that was written since the last look only the latest part is read, and it is said.
    fn cap(&mut self, parts: &mut [Part]) -> io::Result<()> {
        let mut left = MOST;
        let mut skipped = 0;
        for part in parts.iter_mut().rev() {
            let length = part.to - part.from;
            if length > left {
                let from = next_line(&mut part.file, part.to - left)?.min(part.to);
                skipped += from - part.from;
                part.from = from;
            }
            left = left.saturating_sub(length);
        }
        if skipped > 0 {
            self.gap(&format!(
                "{} MiB were written since the last look, more than one look reads; {} MiB were passed over",
                (MOST + skipped) >> 20,
                skipped >> 20
            ));
        }
        Ok(())
    }
}

/// Opens a file for reading; what is no file is refused without waiting for it.
fn open(path: &Path) -> io::Result<File> {
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// The start of the first line that begins at or after a place.
fn next_line(file: &mut File, from: u64) -> io::Result<u64> {
    if from == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(from - 1))?;
    let mut head = Vec::new();
    file.take(TAIL).read_to_end(&mut head)?;
    let newline = head.iter().position(|byte| *byte == b'\n');
    Ok(newline.map_or(from, |newline| from + newline as u64))
}

/// Hash of the bytes right before an offset; None where the file does not reach it.
fn mark(file: &mut File, offset: u64) -> io::Result<Option<String>> {
    let from = offset.saturating_sub(MARK);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(offset - from).read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 == offset - from;
    Ok(whole.then(|| hex(&Sha256::digest(&bytes)[..8])))
}

async fn stream(part: &mut Part, scan: &mut LogScan<'_>) -> io::Result<()> {
    part.file.seek(SeekFrom::Start(part.from))?;
    let mut left = part.to - part.from;
    let mut chunk = vec![0; CHUNK];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let read = part.file.read(&mut chunk[..most])?;
        if read == 0 {
            break;
        }
        scan.push(&chunk[..read]);
        left -= read as u64;
        tokio::task::yield_now().await;
    }
    Ok(())
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
