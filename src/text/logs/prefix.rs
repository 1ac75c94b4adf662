//! What platforms and loggers put before a line: times, levels, names of processes. Takes it off as far as it is
//! known; indentation behind it stays, since traces are told by it.

use chrono::{DateTime, Utc};

use super::{Level, time::Times};

/// A line without what stood before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stripped<'a> {
    pub(super) content: &'a str,
    pub(super) time: Option<DateTime<Utc>>,
    pub(super) level: Option<Level>,
    /// A logger of the program's own began this line: it is not the next line of a trace.
    pub(super) begins: bool,
}

/// Pieces of framing that are taken off one line.
const MOST_PIECES: usize = 8;
/// Longest name of a process or group in brackets.
const LONGEST_NAME: usize = 80;
/// Of a request, with its dashes.
const LENGTH_OF_ID: usize = 36;

pub(super) fn strip<'a>(line: &'a str, times: &Times<'_>) -> Stripped<'a> {
    let mut stripped = Stripped {
        content: line.trim_start_matches('\u{feff}'),
        time: None,
        level: None,
        begins: false,
    };
    for _ in 0..MOST_PIECES {
        if !stripped.piece(times) {
            break;
        }
    }
    stripped
}

impl<'a> Stripped<'a> {
    /// Takes one piece off; false when there is none.
    fn piece(&mut self, times: &Times<'_>) -> bool {
        let rest = self.content;
        let Some(first) = rest.as_bytes().first() else {
            return false;
        };
        match first {
            b'[' => self.bracket(times),
            b'<' => self.priority(times),
            b'0'..=b'9' => self.timed(times) || self.connection(),
            b'#' => self.command(),
            b'A'..=b'Z' | b'a'..=b'z' => {
                (first.is_ascii_uppercase() && (self.timed(times) || self.klog(times)))
                    || self.word()
                    || self.process()
                    || self.stream()
                    || self.step(times)
            }
            _ => false,
        }
    }

    fn to(&mut self, content: &'a str) -> bool {
        self.content = content;
        true
    }

    fn timed(&mut self, times: &Times<'_>) -> bool {
        let rest = self.content;
        let Some(found) = times.at_start(rest.as_bytes()) else {
            return false;
        };
        self.time = self.time.or(found.at);
        let by_syslog = rest.starts_with(|c: char| c.is_ascii_alphabetic());
        self.to(separated(&rest[found.len..]));
        if by_syslog {
            self.host_and_tag();
        } else if memchr::memchr(
            b'\t',
            &self.content.as_bytes()[..self.content.len().min(LENGTH_OF_ID + 1)],
        ) == Some(LENGTH_OF_ID)
        {
            self.to(&self.content[LENGTH_OF_ID + 1..]);
        }
        if self.level.is_none() {
            self.level = level_near(self.content);
            self.begins |= self.level.is_some();
        }
        true
    }

    /// `host program[17]: `.
    fn host_and_tag(&mut self) {
        let rest = self.content;
        let Some((host, behind)) = rest.split_once(' ') else {
            return;
        };
        let near = &behind[..behind.floor_char_boundary(LONGEST_NAME)];
        let Some(colon) = near.find(": ") else { return };
        let tag = &near[..colon];
        if !host.is_empty() && !tag.is_empty() && !tag.contains(' ') {
            self.begins = true;
            self.to(&behind[colon + 2..]);
        }
    }

    /// `[…]`: a time, a level, a stream, a number; another group only where a level stands behind it.
    fn bracket(&mut self, times: &Times<'_>) -> bool {
        let rest = &self.content[1..];
        let near = &rest[..rest.floor_char_boundary(LONGEST_NAME)];
        let Some(end) = near.find(']') else {
            return false;
        };
        let (inner, behind) = (near[..end].trim(), separated(&rest[end + 1..]));
        if let Some(found) = times.at_start(inner.as_bytes()) {
            self.time = self.time.or(found.at);
            if let Some(level) = words_of(&inner[found.len..]).find_map(Level::parse) {
                self.own(level);
            }
            return self.to(behind);
        }
        if matches!(inner, "err" | "out" | "inf" | "stderr" | "stdout") {
            return self.to(behind);
        }
        if let Some(level) = Level::parse(inner).or_else(|| Level::parse(inner.rsplit(':').next()?)) {
            self.own(level);
            return self.to(behind.trim_start_matches(' '));
        }
        let number = inner.bytes().all(|b| b.is_ascii_digit() || b". ".contains(&b));
        let process = inner.starts_with("pid ") || inner.starts_with("pod/");
        if (number && !inner.is_empty()) || process {
            return self.to(behind);
        }
        // `[main] ERROR …`, `[api] [warn] …`
        let mut ahead = Stripped {
            content: behind,
            ..*self
        };
        let level = ahead.word()
            || (behind.starts_with('[')
                && behind[1..]
                    .find(']')
                    .is_some_and(|end| Level::parse(&behind[1..=end]).is_some()));
        if level && self.level.is_none() {
            self.to(behind)
        } else {
            false
        }
    }

    /// `<34>`, and what stands behind it in the newer form: version, time, host, program, process, message, data.
    fn priority(&mut self, times: &Times<'_>) -> bool {
        let Some((number, rest)) = self.content[1..].split_once('>') else {
            return false;
        };
        let Some(number) = number.parse::<u8>().ok().filter(|n| *n < 192) else {
            return false;
        };
        self.own(match number % 8 {
            0..=2 => Level::Fatal,
            3 => Level::Error,
            4 => Level::Warn,
            5 | 6 => Level::Info,
            _ => Level::Debug,
        });
        self.to(rest);
        if let Some(newer) = rest.strip_prefix("1 ")
            && let Some(found) = times.at_start(newer.as_bytes())
        {
            self.time = self.time.or(found.at);
            let fields = newer[found.len..].trim_start().splitn(5, ' ');
            let message = fields.last().unwrap_or_default();
            let data_end = if message.starts_with('[') {
                message.find("] ").map(|at| at + 2)
            } else {
                Some(2)
            };
            self.to(data_end.and_then(|end| message.get(end..)).unwrap_or(message));
        }
        true
    }

    /// `17#17: *4 `.
    fn connection(&mut self) -> bool {
        let Some((numbers, rest)) = self.content.split_once(": ") else {
            return false;
        };
        let mut parts = numbers.split('#');
        let all = parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if !all || !numbers.contains('#') || numbers.len() > 24 {
            return false;
        }
        let starred = rest.strip_prefix('*').and_then(|rest| rest.split_once(' '));
        self.to(starred.map_or(rest, |(_, rest)| rest))
    }

    /// `##[error]` of a CI host.
    fn command(&mut self) -> bool {
        for (mark, level) in [("##[error]", Level::Error), ("##[warning]", Level::Warn)] {
            if let Some(rest) = self.content.strip_prefix(mark) {
                self.own(level);
                return self.to(rest);
            }
        }
        false
    }

    /// `E1129 03:00:00.123456   17 file.go:12] `.
    fn klog(&mut self, times: &Times<'_>) -> bool {
        let rest = self.content;
        let (letter, behind) = rest.split_at(1);
        let level = match letter {
            "I" => Level::Info,
            "W" => Level::Warn,
            "E" => Level::Error,
            "F" => Level::Fatal,
            _ => return false,
        };
        let dated =
            behind.len() > 5 && behind.as_bytes()[..4].iter().all(u8::is_ascii_digit) && behind.as_bytes()[4] == b' ';
        if !dated {
            return false;
        }
        let near = &behind[..behind.floor_char_boundary(160)];
        let Some(end) = near.find("] ") else { return false };
        let Some(found) = times.at_start(&behind.as_bytes()[5..]) else {
            return false;
        };
        self.time = self.time.or(found.at);
        self.own(level);
        self.to(&behind[end + 2..])
    }

    /// A level as the first word.
    fn word(&mut self) -> bool {
        let rest = self.content;
        let end = rest.bytes().take(12).take_while(u8::is_ascii_alphabetic).count();
        let (word, behind) = rest.split_at(end);
        let next = behind.bytes().next();
        if word.len() < 3 || !next.is_none_or(|next| b" :\t]|-)".contains(&next)) {
            return false;
        }
        let Some(level) = Level::parse(word) else {
            return false;
        };
        let upper = word.bytes().all(|b| b.is_ascii_uppercase());
        let lower = word.bytes().all(|b| b.is_ascii_lowercase());
        if upper || (lower && next == Some(b':')) {
            self.own(level);
            return self.to(behind.trim_start_matches([':', ' ', '\t', ']', '|', '-']));
        }
        // `Error: …` is what is said, and a level.
        if next == Some(b':') {
            self.level = self.level.or(Some(level));
        }
        false
    }

    /// `api-1   | ` of a compose file.
    fn process(&mut self) -> bool {
        let rest = self.content;
        let near = &rest.as_bytes()[..rest.len().min(LONGEST_NAME)];
        let name = near
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || b"-_./:".contains(b))
            .count();
        let bar = name + near[name..].iter().take_while(|b| **b == b' ').count();
        if bar == name || near.get(bar) != Some(&b'|') {
            return false;
        }
        let behind = &rest[bar + 1..];
        self.to(behind.strip_prefix(' ').unwrap_or(behind))
    }

    /// `stderr F ` of a container runtime.
    fn stream(&mut self) -> bool {
        let rest = self.content.strip_prefix("std").and_then(|rest| {
            let rest = rest.strip_prefix("out ").or_else(|| rest.strip_prefix("err "))?;
            rest.strip_prefix("F ").or_else(|| rest.strip_prefix("P "))
        });
        rest.is_some_and(|rest| self.to(rest))
    }

    /// `job⇥step⇥time `.
    fn step(&mut self, times: &Times<'_>) -> bool {
        let near = &self.content.as_bytes()[..self.content.len().min(LONGEST_NAME + 1)];
        if memchr::memchr(b'\t', near).is_none() {
            return false;
        }
        let mut columns = self.content.splitn(3, '\t');
        let (Some(job), Some(step), Some(rest)) = (columns.next(), columns.next(), columns.next()) else {
            return false;
        };
        if job.len() > LONGEST_NAME || step.len() > LONGEST_NAME || !times.is_at_start(rest.as_bytes()) {
            return false;
        }
        self.to(rest)
    }

    fn own(&mut self, level: Level) {
        self.level = Some(level);
        self.begins = true;
    }
}

/// Behind a piece: at most one space, so that indentation stays.
fn separated(rest: &str) -> &str {
    for mark in [" | ", " - ", ": ", "\t", " ", ":", "|"] {
        if let Some(rest) = rest.strip_prefix(mark) {
            return rest;
        }
    }
    rest
}

/// `app - ERROR - …`, `7 --- [main] WARN …`: a level in capitals among the first words.
fn level_near(rest: &str) -> Option<Level> {
    let near = &rest[..rest.floor_char_boundary(64)];
    words_of(near)
        .take(5)
        .filter(|word| word.len() >= 4 && word.bytes().all(|b| b.is_ascii_uppercase()))
        .find_map(Level::parse)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, content: &str, level: Option<Level>) {
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        let stripped = strip(line, &Times::new(line, now));
        assert_eq!((stripped.content, stripped.level), (content, level), "{line}");
    }

    #[test]
    fn framing_goes_and_the_level_is_read() {
        let error = Some(Level::Error);
        for (line, level) in [
            ("boom", None),
            ("2026-11-29T03:00:00.123Z boom", None),
            ("2026-11-29T03:00:00.123Z ERROR boom", error),
            ("[2026-11-29T03:00:00Z] [error] boom", error),
            ("2026/11/29 03:00:00 [error] 12#12: *3 boom", error),
            ("[Sun Nov 29 03:00:00.123456 2026] [core:error] [pid 7] boom", error),
            ("ERROR: boom", error),
            ("error: boom", error),
            ("ERROR    boom", error),
            ("api-1     | boom", None),
            ("03:00:00 web.1   | ERROR boom", error),
            ("Nov 29 03:00:00 host app[17]: boom", None),
            ("<27>Nov 29 03:00:00 host app[17]: boom", error),
            ("<27>1 2026-11-29T03:00:00Z host app 17 ID47 - boom", error),
            ("E1129 03:00:00.123456       1 reflector.go:138] boom", error),
            ("2026-11-29T03:00:00.5Z stderr F boom", None),
            ("test (20)\tRun tests\t2026-11-29T03:00:00.5Z ##[error]boom", error),
            (
                "2026-11-29T03:00:00.5Z\t9cf83894-6d6f-4b52-a197-96b17557b940\tERROR\tboom",
                error,
            ),
            ("2026-11-29T03:00:00.5Z [err] boom", None),
            ("[12345.678901] boom", None),
            ("[pod/api-7f9c/app] 2026-11-29T03:00:00Z FATAL boom", Some(Level::Fatal)),
            ("[main] ERROR boom", error),
            ("[api] [warn] boom", Some(Level::Warn)),
            ("[2026-11-29 03:00:00,123: ERROR/MainProcess] boom", error),
        ] {
            check(line, "boom", level);
        }
    }

    #[test]
    fn what_is_said_stays() {
        check("Error: boom", "Error: boom", Some(Level::Error));
        check("TypeError: x", "TypeError: x", None);
        check("2026-11-29T03:00:00Z     at f (a.js:1:2)", "    at f (a.js:1:2)", None);
        check("api-1  |   File \"a.py\", line 3", "  File \"a.py\", line 3", None);
        check(
            "2026-11-29 03:00:00,123 - app - ERROR - boom",
            "app - ERROR - boom",
            Some(Level::Error),
        );
        check(
            "2026-11-29T03:00:00.1Z ERROR 1 --- [nio-1] a.B : boom",
            "1 --- [nio-1] a.B : boom",
            Some(Level::Error),
        );
        check("[cause]: Error: y", "[cause]: Error: y", None);
        check("[unknown] boom", "[unknown] boom", None);
        check("404 not found", "404 not found", None);
        check("errors: 3", "errors: 3", None);
        check("information is short", "information is short", None);
        check("[", "[", None);
        check("", "", None);
        check("<html>", "<html>", None);
        check("é[", "é[", None);
    }
}
