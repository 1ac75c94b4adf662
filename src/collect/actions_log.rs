//! Reads a job's log as a stream in constant memory and keeps what tells about the failure: the lines of the step up
//! to its first error, or else the end. Pure.

use std::collections::VecDeque;

/// Lines that are kept before and after an error, and of the end.
const BEFORE: usize = 120;
const AFTER: usize = 10;
/// Longest line that is kept.
const LONGEST: usize = 2000;

#[derive(Debug, Default)]
pub(super) struct Tail {
    /// A line that is not complete yet.
    partial: Vec<u8>,
    last: VecDeque<String>,
    /// The step so far up to and with its first error, once there was one.
    failure: Option<Vec<String>>,
    after: usize,
}

impl Tail {
    pub(super) fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.line(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn line(&mut self, raw: &str) {
        let line = strip(raw);
        if let Some(failure) = &mut self.failure {
            // The lines right after an error often name it; the next step is another story.
            if self.after > 0 && !starts_step(line) {
                self.after -= 1;
                failure.extend(readable(line));
            } else {
                self.after = 0;
            }
            return;
        }
        if starts_step(line) {
            self.last.clear();
        }
        if self.last.len() == BEFORE {
            self.last.pop_front();
        }
        if line.starts_with("##[error]") {
            let mut lines: Vec<String> = self.last.drain(..).collect();
            lines.extend(readable(line));
            self.failure = Some(lines);
            self.after = AFTER;
        } else {
            self.last.extend(readable(line));
        }
    }

    /// The text of the failure; the end of the log when nothing in it is marked as an error.
    pub(super) fn failure(mut self) -> String {
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.line(&String::from_utf8_lossy(&rest));
        }
        let lines = self.failure.unwrap_or_else(|| self.last.into());
        lines.join("\n")
    }
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
        && text[..4].bytes().all(|byte| byte.is_ascii_digit())
}

fn starts_step(line: &str) -> bool {
    line.starts_with("##[group]Run ") || line.starts_with("Post job cleanup")
}

/// The line as people read it; markers of the log itself say nothing.
fn readable(line: &str) -> Option<String> {
    let ends = line.starts_with("##[endgroup]") || line.starts_with("##[group]");
    let noise = line.starts_with("##[error]Process completed with exit code");
    if ends || noise {
        return None;
    }
    Some(line.strip_prefix("##[error]").unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\u{feff}2026-11-29T15:17:30.1234567Z ##[group]Run actions/checkout@v4\r
2026-11-29T15:17:30.2234567Z ##[endgroup]\r
2026-11-29T15:17:30.3234567Z fetching\r
2026-11-29T15:17:31.1234567Z ##[group]Run python3 -m unittest\r
2026-11-29T15:17:31.2234567Z ##[endgroup]\r
2026-11-29T15:17:32.1234567Z FAIL: test_total (tests.test_cart.Cart)\r
2026-11-29T15:17:32.2234567Z AssertionError: 3 != 4\r
2026-11-29T15:17:32.3234567Z ##[error]Process completed with exit code 1.\r
2026-11-29T15:17:33.1234567Z ##[group]Run actions/upload@v4\r
2026-11-29T15:17:33.2234567Z uploaded\r
";

    fn read(log: &str, piece: usize) -> String {
        let mut tail = Tail::default();
        for piece in log.as_bytes().chunks(piece) {
            tail.push(piece);
        }
        tail.failure()
    }

    #[test]
    fn the_failing_step_is_kept_however_the_stream_is_cut() {
        let expected = "FAIL: test_total (tests.test_cart.Cart)\nAssertionError: 3 != 4";
        for piece in [1, 7, 64, 100_000] {
            assert_eq!(read(LOG, piece), expected, "{piece}");
        }
    }

    #[test]
    fn without_a_mark_the_end_of_the_log_is_kept() {
        let log = (0..10_000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let text = read(&log, 4096);
        assert_eq!(text.lines().count(), BEFORE);
        assert!(text.ends_with("line 9999"));
        assert_eq!(read("no newline", 3), "no newline");
        assert_eq!(read("", 3), "");
    }

    #[test]
    fn a_line_without_end_stays_short() {
        let mut tail = Tail::default();
        for _ in 0..1000 {
            tail.push(&[b'x'; 4096]);
        }
        assert!(tail.partial.len() <= LONGEST);
        assert_eq!(tail.failure().len(), LONGEST);
    }
}
