//! The log engine: bytes of a log in, causes out. One pass in constant memory: framing, patterns, redaction,
//! signature, counts. It knows no file, clock or network; whoever reads a log feeds it.
//!
//! ```text
//! let mut reading = Reading::new(&config.patterns, &redactor, now);
//! while let Some(bytes) = source.next() {
//!     reading.push(&bytes);           // any size, cut anywhere
//! }
//! let found = reading.finish();       // causes, worst first; what found no place; how much was read
//! ```
//!
//! A source whose entries carry their own time or level pushes each as a line of its own with both in front
//! (`2026-11-29T03:00:00Z ERROR message`), or as the JSON object that it got. Lines of a trace that came as entries of
//! their own are joined again. A collector does not use this directly, but `collect::log_scan`, which makes signals of
//! the causes.

mod causes;
mod compiled;
mod expression;
mod framed;
mod input;
mod join;
mod line;
mod literals;
mod memo;
mod patterns;
mod prefix;
mod shape;
mod structured;
#[cfg(test)]
mod tests;
mod time;

use std::{
    borrow::Cow,
    cell::{LazyCell, RefCell},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use super::{
    Redactor,
    signature::{signature, template, usual, visible},
};
use causes::{Causes, Seen};
use compiled::Ahead;
use expression::Expression;
use input::Input;
use join::{Event, Window};
use line::{Line, is_end_of};
use memo::{Memo, Named, Place};
use shape::Trait;

pub use causes::{Cause, MOST_CAUSES, Overflow};
pub use patterns::{Pattern, PatternFault, PatternKind, Patterns, pattern_fault, regex_fault};

/// How bad a line says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl Level {
    /// What a line of level error or worse holds, in any way of writing it.
    const WORDS_FROM_ERROR: [&'static str; 13] = [
        "error",
        "fatal",
        "crit",
        "emerg",
        "severe",
        "fail: ",
        " err ",
        " err]",
        "=err ",
        "level\":50",
        "level\":60",
        "level\": 50",
        "level\": 60",
    ];

    fn parse(word: &str) -> Option<Self> {
        // Longest known word.
        if !(3..=11).contains(&word.len()) {
            return None;
        }
        Some(match word.to_ascii_lowercase().as_str() {
            "trace" | "trce" | "verbose" | "finest" => Self::Trace,
            "debug" | "dbg" | "dbug" | "fine" => Self::Debug,
            "info" | "inf" | "information" | "notice" => Self::Info,
            "warn" | "warning" | "wrn" => Self::Warn,
            "error" | "err" | "severe" | "fail" => Self::Error,
            "fatal" | "critical" | "crit" | "ftl" | "alert" | "emerg" | "emergency" => Self::Fatal,
            _ => return None,
        })
    }

    /// As loggers for Node count.
    fn of_number(number: f64) -> Option<Self> {
        Some(match number {
            n if n < 10.0 => return None,
            n if n < 20.0 => Self::Trace,
            n if n < 30.0 => Self::Debug,
            n if n < 40.0 => Self::Info,
            n if n < 50.0 => Self::Warn,
            n if n < 60.0 => Self::Error,
            n if n < 100.0 => Self::Fatal,
            _ => return None,
        })
    }
}

/// What a log held.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Worst first.
    pub causes: Vec<Cause>,
    pub overflow: Overflow,
    pub bytes: u64,
    pub lines: u64,
    /// Events that a pattern matched.
    pub events: u64,
    /// The last start that was seen: the next reading of the same log begins with it.
    pub started_at: Option<DateTime<Utc>>,
}

/// Bytes at the end of a log whose event may still grow: the last one, with the lines that belong to it. The log ends
/// with a whole line.
pub fn open_tail(text: &str, now: DateTime<Utc>) -> usize {
    let last = text.strip_suffix('\n').unwrap_or(text);
    let line = last.rfind('\n').map_or(0, |newline| newline + 1);
    let (memo, ahead) = (RefCell::default(), Ahead::default());
    let window = Window::new(text, true, now, &memo, &ahead);
    text.len() - window.begin(line, 0)
}

/// One reading of a log.
#[derive(Debug)]
pub struct Reading {
    input: Input,
    /// Start of the next line that nobody looked at.
    at: usize,
    /// Nothing before it belongs to a later event.
    floor: usize,
    /// End of the whole lines that were there at the last scan.
    scanned: usize,
    /// The next line is the first of its process.
    first: bool,
    memo: RefCell<Memo>,
    matcher: Matcher,
}

#[derive(Debug)]
struct Matcher {
    patterns: Patterns,
    redactor: Redactor,
    now: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    /// The reading may be within the window of some pattern.
    near_start: bool,
    causes: Causes,
    events: u64,
}

/// Text before the place of reading that is kept for an event that began there.
const KEPT: usize = 32 * 1024;

impl Reading {
    /// `now` completes times without a date, and stands for those that lines do not tell.
    pub fn new(patterns: &Patterns, redactor: &Redactor, now: DateTime<Utc>) -> Self {
        Self {
            input: Input::default(),
            at: 0,
            floor: 0,
            scanned: 0,
            first: false,
            memo: RefCell::default(),
            matcher: Matcher {
                patterns: patterns.clone(),
                redactor: redactor.clone(),
                now,
                started_at: None,
                near_start: false,
                causes: Causes::default(),
                events: 0,
            },
        }
    }

    /// When the process started that writes this log, where the source tells it.
    #[must_use]
    pub fn started(mut self, at: Option<DateTime<Utc>>) -> Self {
        self.matcher.started_at = at;
        self.matcher.near_start = at.is_some();
        self
    }

    /// The first line is the one with which its process started.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.first = true;
        self
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = self.input.take(rest);
            self.scan(false);
        }
    }

    /// The log is over, and what comes next is another one.
    pub fn end_of_log(&mut self) {
        self.input.close();
        self.scan(true);
        self.input.forget_all();
        (self.at, self.floor, self.scanned) = (0, 0, 0);
    }

    pub fn finish(mut self) -> Found {
        self.end_of_log();
        let (causes, overflow) = self.matcher.causes.finish(&self.matcher.redactor);
        Found {
            causes,
            overflow,
            bytes: self.input.bytes,
            lines: self.input.lines,
            events: self.matcher.events,
            started_at: self.matcher.started_at,
        }
    }

    fn scan(&mut self, last: bool) {
        let text = self.input.text();
        let end = if last { text.len() } else { self.input.complete() };
        if !last && end == self.scanned {
            return;
        }
        self.scanned = end;
        let ahead = Ahead::default();
        let window = Window::new(&text[..end], last, self.matcher.now, &self.memo, &ahead);
        if self.first && end > 0 {
            self.first = false;
            let line = window.text.lines().next().unwrap_or_default();
            let time = Line::read(line, self.matcher.now).0.time;
            self.matcher.started_at = time.or(Some(self.matcher.now));
            self.matcher.near_start = true;
        }
        let patterns = self.matcher.patterns.clone();
        let compiled = patterns.compiled();
        while self.at < end {
            let Some(hit) = ahead.next(compiled, self.matcher.near_start, window.text, self.at) else {
                self.at = end;
                break;
            };
            let line = memchr::memrchr(b'\n', &text.as_bytes()[self.at..hit]).map_or(self.at, |n| self.at + n + 1);
            self.at = line;
            let Some(event) = window.event(line, self.floor) else {
                break;
            };
            let next = event.end;
            self.matcher.event(&event, &self.memo);
            for line in &event.foreign {
                self.matcher.event(&Event::of_line(line, self.matcher.now), &self.memo);
            }
            self.at = next;
            self.floor = next;
        }
        self.forget();
    }

    /// Keeps what an event may begin with that ends further on, and no more.
    fn forget(&mut self) {
        let mut from = self.floor;
        if self.at - from > KEPT {
            let far = self.at - KEPT;
            let rest = &self.input.text().as_bytes()[far..self.at];
            from = memchr::memchr(b'\n', rest).map_or(self.at, |newline| far + newline + 1);
        }
        self.input.forget(from);
        self.at -= from;
        self.scanned -= from;
        self.floor = 0;
    }
}

impl Matcher {
    fn event(&mut self, event: &Event<'_>, memo: &RefCell<Memo>) {
        let raw = event.raw.trim_end_matches('\n');
        let first = &event.lines[0];
        let level = first
            .marks
            .level
            .or_else(|| event.lines.iter().filter_map(|line| line.marks.level).max());
        let at = event.lines.iter().find_map(|line| line.time).unwrap_or(self.now);
        // What is remembered is of the text as it stands here.
        let wrapped = event.lines.iter().any(|line| line.marks.is(Trait::Wrapped));
        let secret = matches!(self.redactor.without_known(raw), Cow::Owned(_));
        let memo = &mut *memo.borrow_mut();
        let place = match event.lines.as_slice() {
            _ if wrapped || secret => None,
            [line] if line.place.is_some() && line.raw.len() == raw.len() => line.place,
            _ => memo.recall(raw),
        };
        let Some(best) = self.named(event, raw, level, at, place.map(|place| (place, &mut *memo))) else {
            return;
        };
        self.events += 1;
        let text = event.as_written(raw);
        let pattern = &self.patterns.list()[best];
        let seen = Seen {
            pattern,
            raw: &text,
            at,
        };
        if let Some((template, cause)) = place.and_then(|place| memo.cause(place))
            && self.causes.again_at(cause, template, &seen, &self.redactor)
        {
            return;
        }
        let template = match place {
            Some(place) => memo.template(place, &text),
            None => template(&self.redactor.without_known(&text)).into(),
        };
        if let Some(cause) = self.causes.again(&template, &seen, &self.redactor) {
            if let Some(place) = place {
                memo.found(place, cause);
            }
        } else if self.causes.has_room(pattern.severity) {
            let signed = signature(&self.redactor.without_known(&text));
            self.causes.add(template, signed, event.title(), &seen, &self.redactor);
        }
    }

    /// The pattern that names the event, remembered or found.
    fn named(
        &mut self,
        event: &Event<'_>,
        raw: &str,
        level: Option<Level>,
        at: DateTime<Utc>,
        known: Option<(Place, &mut Memo)>,
    ) -> Option<usize> {
        let Some((place, memo)) = known.filter(|(place, _)| place.whole && !self.near_start) else {
            return self.best(event, raw, level, at);
        };
        let mut named = memo.named(place);
        // Most traces come once.
        if matches!(named, Named::Unasked) && (event.lines.len() == 1 || memo.is_signed(place)) {
            named = self.settled(event, raw, level);
            memo.name(place, named);
        }
        if let Named::Same(of, best) = named
            && of == level
        {
            self.near_start = self.is_near_start(at);
            return best;
        }
        self.best(event, raw, level, at)
    }

    /// Lines of several processes may come a little out of order.
    fn is_near_start(&self, at: DateTime<Utc>) -> bool {
        let window = TimeDelta::seconds(self.patterns.compiled().longest_window.into()) * 2;
        self.started_at.is_some_and(|started| at - started <= window)
    }

    /// The pattern that names each event of this spelling and level, away from a start.
    fn settled(&self, event: &Event<'_>, raw: &str, level: Option<Level>) -> Named {
        let says = event.says();
        let within = is_end_of(&says, raw);
        let usual = Some(usual::spelled(&visible(raw))).filter(|usual| usual.len() == raw.len());
        let settled = |expression: &Expression| {
            let in_raw = expression.settled(raw, usual.as_deref());
            if in_raw == Some(true) || *says == *raw || (within && !expression.begins_a_line()) {
                return in_raw;
            }
            match (in_raw, expression.settled(&says, None)) {
                (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }
        };
        let list = self.patterns.list();
        for n in self.patterns.compiled().of_spelling(raw) {
            let pattern = &list[n];
            if !in_level(pattern, level) {
                continue;
            }
            let matched = match &pattern.regex {
                Some(regex) => settled(regex),
                None => Some(Level::WORDS_FROM_ERROR.iter().any(|word| contains_word(raw, word))),
            };
            let excepted = match (&pattern.except, matched) {
                (Some(except), Some(true)) => settled(except),
                (_, _) => Some(false),
            };
            match (matched, excepted) {
                (Some(false), _) | (_, Some(true)) => {}
                (Some(true), Some(false)) if pattern.kind != PatternKind::Start => return Named::Same(level, Some(n)),
                _ => return Named::Each,
            }
        }
        Named::Same(level, None)
    }

    /// The pattern that names the event; marks of a start are noted on the way.
    fn best(&mut self, event: &Event<'_>, raw: &str, level: Option<Level>, at: DateTime<Utc>) -> Option<usize> {
        let compiled = self.patterns.compiled();
        let candidates = compiled.search(self.near_start).candidates(raw);
        let plain = event.lines.iter().all(|line| {
            ![Trait::Record, Trait::Wrapped, Trait::Traced]
                .iter()
                .any(|of| line.marks.is(*of))
        });
        let says = LazyCell::new(|| {
            let wanted = !plain || compiled.anchored || event.lines.len() > 1;
            wanted.then(|| event.says()).filter(|says| says != raw)
        });
        // What stands at the end of a line is found there, unless it has to begin it.
        let within = LazyCell::new(|| says.as_deref().is_some_and(|says| is_end_of(says, raw)));
        // And so is what stands at the end of each of several lines, unless it goes on in the next one.
        let each = LazyCell::new(|| event.lines.iter().all(|line| line.is_end_of_raw()));
        let matches = |expression: &Expression| {
            expression.is_match(raw)
                || ((expression.begins_a_line() || !*within)
                    && !(expression.is_within_a_line() && *each)
                    && says.as_deref().is_some_and(|says| expression.is_match(says)))
        };
        let list = self.patterns.list();
        self.near_start = self.is_near_start(at);
        let (before, mut start, mut best) = (self.started_at, None, None);
        for n in compiled.by_priority(&candidates) {
            let pattern = &list[n];
            // A start counts for the patterns behind it.
            let started_at = if start.is_some_and(|start| start < n) {
                Some(at)
            } else {
                before
            };
            if !in_level(pattern, level)
                || !in_window(pattern, started_at, at)
                || !pattern.regex.as_ref().is_none_or(matches)
                || pattern.except.as_ref().is_some_and(matches)
            {
                continue;
            }
            if pattern.kind == PatternKind::Start {
                start.get_or_insert(n);
            } else {
                best = Some(n);
                break;
            }
        }
        if start.is_some() {
            self.started_at = Some(at);
            self.near_start = true;
        }
        best
    }
}

/// Whether the level is one on which the pattern counts.
fn in_level(pattern: &Pattern, level: Option<Level>) -> bool {
    match (pattern.level, level) {
        (Some(least), Some(level)) => level >= least,
        // Unknown is not harmless; but what is found by its level alone needs one.
        (Some(_), None) => pattern.regex.is_some(),
        (None, _) => true,
    }
}

fn contains_word(text: &str, word: &str) -> bool {
    let mut windows = text.as_bytes().windows(word.len());
    windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether an event is near enough to a start for a pattern that asks for it.
fn in_window(pattern: &Pattern, started_at: Option<DateTime<Utc>>, at: DateTime<Utc>) -> bool {
    let Some(within) = pattern.within_seconds else {
        return true;
    };
    started_at.is_some_and(|started| {
        let since = at - started;
        since >= TimeDelta::zero() && since <= TimeDelta::seconds(within.into())
    })
}
