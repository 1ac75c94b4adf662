//! Reads a job's log as a stream in bounded memory and keeps the steps that failed, without the framing of the host.
//! A log that comes as an archive is read the same way, out of memory. Pure.

use std::{borrow::Cow, collections::VecDeque, io::Read as _};

/// Lines that are shown before and after an error that no reader of tests knows.
const BEFORE: usize = 120;
const AFTER: usize = 10;
/// Longest line that is kept, and most bytes and lines of one step: runners say at the end what failed.
const LONGEST: usize = 2000;
const STEP_BYTES: usize = 2 << 20;
const STEP_LINES: usize = 20_000;
/// Lines of one log that are read at all: an archive of some kilobytes can hold millions of empty ones.
const MOST_LINES: usize = 3_000_000;
/// Steps that failed and are kept; more than one can, where a failure does not end the job.
const MOST_STEPS: usize = 3;

/// An archive is kept whole while it comes in; what is in it is read as a stream.
const ARCHIVE_BYTES: usize = 16 << 20;
const ARCHIVE_ENTRIES: usize = 2000;
const UNPACKED_BYTES: u64 = 64 << 20;
const ARCHIVE_MARK: &[u8] = b"PK\x03\x04";

/// What is kept of a step.
#[derive(Debug, Default)]
struct Step {
    /// As its group is called, such as `Run npm test`.
    name: String,
    lines: VecDeque<String>,
    bytes: usize,
    /// Lines that made room for later ones.
    dropped: usize,
    /// Number of the line behind the first error.
    error: Option<usize>,
    /// The step's command ended with an error.
    ended: bool,
    /// Only its script, shell and environment were seen, which the runner shows before it begins.
    begins: bool,
}

impl Step {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > STEP_BYTES || self.lines.len() > STEP_LINES {
            let Some(gone) = self.lines.pop_front() else { break };
            self.bytes -= gone.len();
            self.dropped += 1;
        }
    }

    /// What was shown so far is no output.
    fn forget(&mut self) {
        self.lines.clear();
        (self.bytes, self.dropped, self.error) = (0, 0, None);
    }

    /// The lines around the first error, or else the end.
    fn excerpt(&self) -> String {
        let len = self.lines.len();
        let (from, to) = match self.error {
            Some(error) => {
                let at = error.saturating_sub(self.dropped).min(len);
                (at.saturating_sub(BEFORE), (at + AFTER).min(len))
            }
            None => (len.saturating_sub(BEFORE), len),
        };
        let shown: Vec<&str> = self.lines.range(from..to).map(String::as_str).collect();
        shown.join("\n")
    }

    fn text(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// The failed step of a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Failed {
    /// All that was kept of it.
    pub(super) text: String,
    /// The part around its first error.
    pub(super) excerpt: String,
}

/// The steps of one log.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// A line that is not complete yet.
    partial: Vec<u8>,
    lines: usize,
    current: Step,
    failed: Vec<Step>,
}

impl Steps {
    pub(super) fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.lines == MOST_LINES {
                return;
            }
            let room = LONGEST.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.lines += 1;
                let line = std::mem::take(&mut self.partial);
                self.line(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn line(&mut self, raw: &str) {
        let line = strip(raw);
        if let Some(name) = started(line) {
            self.end_step();
            name.clone_into(&mut self.current.name);
            self.current.begins = true;
            return;
        }
        if line.starts_with("##[endgroup]") && std::mem::take(&mut self.current.begins) {
            self.current.forget();
        } else if line.starts_with("##[group]") {
            self.current.begins = false;
        }
        if let Some(line) = readable(line) {
            self.current.push(line.to_owned());
        }
        if line.starts_with("##[error]") {
            let here = self.current.dropped + self.current.lines.len();
            self.current.error.get_or_insert(here);
            self.current.ended |= line.starts_with("##[error]Process completed with exit code");
        }
    }

    fn end_step(&mut self) {
        let step = std::mem::take(&mut self.current);
        if step.error.is_none() {
            return;
        }
        // A command that ended with an error counts for more than a mark in a step that went on.
        if step.ended && self.failed.iter().all(|known| !known.ended) {
            self.failed.clear();
        }
        if self.failed.len() < MOST_STEPS && (step.ended || self.failed.iter().all(|known| !known.ended)) {
            self.failed.push(step);
        }
    }

    /// The step that failed: of several the one that the job names, else the first. The end of the log when nothing
    /// in it is marked as an error.
    pub(super) fn failed(mut self, named: Option<&str>) -> Failed {
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.line(&String::from_utf8_lossy(&rest));
        }
        if self.failed.is_empty() && self.current.error.is_none() {
            let excerpt = self.current.excerpt();
            return Failed {
                text: self.current.text(),
                excerpt,
            };
        }
        self.end_step();
        let is_named = |step: &&Step| named.is_some_and(|name| name == step.name);
        let step = self.failed.iter().find(is_named).or_else(|| self.failed.first());
        step.map_or_else(Failed::default, |step| Failed {
            text: step.text(),
            excerpt: step.excerpt(),
        })
    }
}

/// Takes a log in whichever form it comes.
#[derive(Debug, Default)]
pub(super) struct Intake {
    start: Vec<u8>,
    form: Form,
}

#[derive(Debug, Default)]
enum Form {
    /// Not enough was seen to tell.
    #[default]
    Unknown,
    Plain(Box<Steps>),
    Archive(Vec<u8>),
    TooLarge,
}

impl Intake {
    pub(super) fn push(&mut self, piece: &[u8]) {
        match &mut self.form {
            Form::Unknown => {
                self.start.extend_from_slice(piece);
                if self.start.len() >= ARCHIVE_MARK.len() {
                    self.begin();
                }
            }
            Form::Plain(steps) => steps.push(piece),
            Form::Archive(bytes) if bytes.len() + piece.len() > ARCHIVE_BYTES => self.form = Form::TooLarge,
            Form::Archive(bytes) => bytes.extend_from_slice(piece),
            Form::TooLarge => {}
        }
    }

    fn begin(&mut self) {
        let start = std::mem::take(&mut self.start);
        if start.starts_with(ARCHIVE_MARK) {
            self.form = Form::Archive(start);
        } else {
            let mut steps = Steps::default();
            steps.push(&start);
            self.form = Form::Plain(Box::new(steps));
        }
    }

    /// The failed step of this job; the reason where an archive cannot be read.
    pub(super) fn failed(mut self, job: &str, step: Option<&str>) -> Result<Failed, String> {
        if matches!(self.form, Form::Unknown) {
            self.begin();
        }
        match self.form {
            Form::Unknown => Ok(Failed::default()),
            Form::Plain(steps) => Ok(steps.failed(step)),
            Form::Archive(bytes) => unpack(&bytes, job).map(|steps| steps.failed(step)),
            Form::TooLarge => Err(format!("the archive is larger than {} MiB", ARCHIVE_BYTES >> 20)),
        }
    }
}

/// The log of one job out of an archive of all: `3_test (20).txt` beside a directory of single steps. Entries are read
/// as a stream under a cap of their own; their names are compared and never become paths.
fn unpack(bytes: &[u8], job: &str) -> Result<Steps, String> {
    let marks = bytes
        .windows(4)
        .filter(|four| *four == b"PK\x01\x02")
        .take(ARCHIVE_ENTRIES + 1);
    if marks.count() > ARCHIVE_ENTRIES {
        return Err(format!("the archive holds more than {ARCHIVE_ENTRIES} entries"));
    }
    let broken = |error: zip::result::ZipError| format!("the archive cannot be read: {error}");
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).map_err(broken)?;
    let names: Vec<String> = archive.file_names().flatten().map(Cow::into_owned).collect();
    let logs: Vec<&String> = names
        .iter()
        .filter(|name| !name.contains('/') && name.strip_suffix(".txt").is_some())
        .collect();
    let wanted = plain(job);
    let found = logs.iter().find(|name| plain(entry_job(name)) == wanted);
    let name = match (found, logs.as_slice()) {
        (Some(name), _) => name.as_str(),
        (None, [only]) => only.as_str(),
        (None, _) => return Err("the archive holds no log of this job".to_owned()),
    };
    let mut entry = archive.by_name(name).map_err(broken)?.take(UNPACKED_BYTES);
    let mut steps = Steps::default();
    let mut piece = [0_u8; 16 * 1024];
    loop {
        match entry.read(&mut piece) {
            Ok(0) => return Ok(steps),
            Ok(read) => steps.push(&piece[..read]),
            Err(error) => return Err(format!("the archive cannot be read: {error}")),
        }
    }
}

fn entry_job(name: &str) -> &str {
    let name = name.strip_suffix(".txt").unwrap_or(name);
    match name.split_once('_') {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => name,
    }
}

/// Names of files lose what a file system does not like.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .take(80)
        .collect::<String>()
        .to_lowercase()
}

/// Without the time in front, the line's end, or a byte order mark.
fn strip(raw: &str) -> &str {
    let line = raw.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
    match line.split_once(' ') {
        Some((time, rest)) if is_time(time) => rest,
        None if is_time(line) => "",
        _ => line,
    }
}

fn is_time(text: &str) -> bool {
    text.len() >= 20
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
        && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
}

/// The name of the step that begins here.
fn started(line: &str) -> Option<&str> {
    if line.starts_with("Post job cleanup") {
        return Some(line);
    }
    line.strip_prefix("##[group]").filter(|name| name.starts_with("Run "))
}

/// The line as people read it; marks of the log itself say nothing.
fn readable(line: &str) -> Option<&str> {
    const SILENT: [&str; 4] = [
        "##[group]",
        "##[endgroup]",
        "##[debug]",
        "##[error]Process completed with exit code",
    ];
    const MARKS: [&str; 6] = [
        "##[error]",
        "##[warning]",
        "##[notice]",
        "##[command]",
        "##[section]",
        "[command]",
    ];
    if SILENT.iter().any(|mark| line.starts_with(mark)) {
        return None;
    }
    Some(MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line))
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
