//! Joins the lines of one event: a message and its trace, whatever the language. Looks only at the lines around a
//! candidate; a log of one-line events costs nothing here.

use std::{borrow::Cow, cell::RefCell, ops::Range, rc::Rc};

use chrono::{DateTime, Utc};

use super::{
    Level,
    compiled::Ahead,
    line::Line,
    memo::Memo,
    shape::{Shape, State, Trait, continues, follow, is_header, state_of},
};

/// Lines and bytes of one event; what comes behind is repetition.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 32 * 1024;
/// Lines that are looked back over for the beginning of an event.
pub(super) const LOOK_BACK: usize = 120;
/// Lines that are remembered taken apart.
const RECENT: usize = 4;
/// Empty lines within one event in a row.
const MOST_BLANK: usize = 2;
/// Lines of others that may stand within a trace in a row.
const MOST_FOREIGN: usize = 3;

/// One event: where it stands, and its lines.
pub(super) struct Event<'a> {
    pub(super) end: usize,
    /// As it stands in the log, without the lines of others.
    pub(super) raw: Cow<'a, str>,
    pub(super) lines: Vec<Rc<Line<'a>>>,
    /// Lines that another process wrote in between.
    pub(super) foreign: Vec<&'a str>,
}

impl<'a> Event<'a> {
    /// One line, whatever stands around it.
    pub(super) fn of_line(line: &'a str, now: DateTime<Utc>) -> Self {
        Self {
            end: 0,
            raw: Cow::Borrowed(line),
            lines: vec![Rc::new(Line::read(line.trim_end_matches('\n'), now).0)],
            foreign: Vec::new(),
        }
    }

    /// All that its lines say.
    pub(super) fn says(&self) -> Cow<'_, str> {
        if let [line] = self.lines.as_slice() {
            return line.says();
        }
        let lines: Vec<Cow<'_, str>> = self.lines.iter().map(|line| line.says()).collect();
        Cow::Owned(lines.join("\n"))
    }

    /// As the program wrote it: without the records that containers put around lines.
    pub(super) fn as_written<'r>(&self, raw: &'r str) -> Cow<'r, str> {
        if !self.lines.iter().any(|line| line.marks.is(Trait::Wrapped)) {
            return Cow::Borrowed(raw);
        }
        Cow::Owned(self.says().into_owned())
    }

    /// The line that says what happened: of a trace whose exception comes last that one, not the line that announces it.
    pub(super) fn title(&self) -> &str {
        let announces = |line: &str| line.trim_start().starts_with("Traceback (most recent call last)");
        let mut lines = self.lines.iter().flat_map(|line| line.text().lines());
        let first = lines.next().unwrap_or_default().trim();
        if !announces(first) {
            return first;
        }
        let (mut raised, mut last, mut within) = (None, first, true);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            last = line.trim();
            if announces(line) {
                within = true;
            } else if within && !line.starts_with([' ', '\t']) {
                (raised, within) = (Some(last), false);
            }
        }
        raised.unwrap_or(last)
    }
}

/// Where a line starts, and what it says.
type Read<'a> = (usize, Rc<Line<'a>>);

/// A log of which whole lines are there; the last one ends with a newline unless the log is over.
pub(super) struct Window<'a, 'm> {
    pub(super) text: &'a str,
    /// Nothing comes behind it.
    last: bool,
    now: DateTime<Utc>,
    memo: &'m RefCell<Memo>,
    ahead: &'m Ahead,
    /// Lines that were taken apart last, by where they start: one event's neighbours are the next one's lines.
    recent: RefCell<[Option<Read<'a>>; RECENT]>,
}

impl<'a, 'm> Window<'a, 'm> {
    pub(super) fn new(
        text: &'a str,
        last: bool,
        now: DateTime<Utc>,
        memo: &'m RefCell<Memo>,
        ahead: &'m Ahead,
    ) -> Self {
        Self {
            text,
            last,
            now,
            memo,
            ahead,
            recent: RefCell::default(),
        }
    }

    /// The line between two places, taken apart.
    fn read(&self, start: usize, end: usize) -> Rc<Line<'a>> {
        let mut recent = self.recent.borrow_mut();
        if let Some((_, line)) = recent.iter().flatten().find(|(known, _)| *known == start) {
            return line.clone();
        }
        let raw = &self.text[start..end];
        // Healthy lines are of many kinds: remembered as well, they would take the place of what fails.
        let line = Rc::new(if self.ahead.holds(start, end) {
            self.memo.borrow_mut().line(raw, self.now)
        } else {
            Line::read(raw, self.now).0
        });
        recent.rotate_right(1);
        recent[0] = Some((start, line.clone()));
        line
    }

    /// The event around the line that starts at `at`; nothing before `floor` belongs to it. None when more of the log
    /// is needed to tell.
    pub(super) fn event(&self, at: usize, floor: usize) -> Option<Event<'a>> {
        let start = self.begin(at, floor);
        let event = self.forward(start)?;
        if start == at || event.end > at {
            return Some(event);
        }
        self.forward(at)
    }

    /// The line that starts at a place, and where the next one starts; None where none is complete.
    fn line(&self, at: usize) -> Option<(Rc<Line<'a>>, usize)> {
        let rest = &self.text[at..];
        match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => Some((self.read(at, at + end), at + end + 1)),
            None if self.last && !rest.is_empty() => Some((self.read(at, self.text.len()), self.text.len())),
            None => None,
        }
    }

    fn before(&self, at: usize, floor: usize) -> Option<(Rc<Line<'a>>, usize)> {
        let above = self.text[floor..at].strip_suffix('\n')?;
        let start = floor + memchr::memrchr(b'\n', above.as_bytes()).map_or(0, |newline| newline + 1);
        Some((self.read(start, at - 1), start))
    }

    /// Where the event begins to which a line belongs.
    pub(super) fn begin(&self, at: usize, floor: usize) -> usize {
        if at == floor {
            return at;
        }
        let Some((line, _)) = self.line(at) else { return at };
        let mut head = at;
        let mut left = LOOK_BACK;
        if continues(line.marks) {
            head = self.above(at, floor, &mut left);
        }
        head = self.head_of_trace(head, floor, &mut left);
        match (self.line(head), self.before(head, floor)) {
            // A logger's line, and below it the exception that it logged.
            (Some((line, _)), Some((header, start))) if is_header(header.marks) => {
                let traced = line.marks.shape == Shape::Traceback
                    || (!line.marks.is(Trait::Begins) && line.marks.is(Trait::Exception));
                if traced { start } else { head }
            }
            _ => head,
        }
    }

    /// The first line above that is no continuation.
    fn above(&self, at: usize, floor: usize, left: &mut usize) -> usize {
        let mut place = at;
        while *left > 0
            && let Some((line, start)) = self.before(place, floor)
        {
            *left -= 1;
            place = start;
            if !continues(line.marks) {
                return place;
            }
        }
        at
    }

    /// A plain line may be the last of a traceback, or what a panic says: then its beginning is further up.
    fn head_of_trace(&self, at: usize, floor: usize, left: &mut usize) -> usize {
        let mut place = at;
        while *left > 0
            && let Some((line, start)) = self.before(place, floor)
        {
            *left -= 1;
            let first = place == at;
            place = start;
            match line.marks.shape {
                Shape::Traceback => return self.head_of_trace_chain(place, floor, left),
                Shape::Indented | Shape::Blank | Shape::Part if !line.marks.is(Trait::Begins) => {}
                Shape::Plain if first && line.marks.is(Trait::RustHead) => return place,
                Shape::Plain if !first && line.marks.is(Trait::Source) => return place,
                _ => break,
            }
        }
        at
    }

    /// Tracebacks that follow from one another are one event.
    fn head_of_trace_chain(&self, at: usize, floor: usize, left: &mut usize) -> usize {
        let Some((line, start)) = self.before(at, floor) else {
            return at;
        };
        if line.marks.shape != Shape::Blank {
            return at;
        }
        let Some((line, start)) = self.before(start, floor) else {
            return at;
        };
        if line.marks.shape != Shape::Part || *left == 0 {
            return at;
        }
        let above = self.above(start, floor, left);
        if above == start {
            at
        } else {
            self.head_of_trace(above, floor, left)
        }
    }

    fn forward(&self, start: usize) -> Option<Event<'a>> {
        let (first, mut next) = self.line(start)?;
        let mut state = state_of(first.marks, State::Open);
        let header = is_header(first.marks);
        let mut lines = vec![first];
        let mut foreign: Vec<Range<usize>> = Vec::new();
        let mut end = next;
        let mut blank = 0;
        while let Some((line, behind)) = self.line(next) {
            if line.marks.shape == Shape::Blank && !line.marks.is(Trait::Begins) {
                blank += 1;
                if blank > MOST_BLANK {
                    return Some(self.cut(start, end, lines, foreign));
                }
                next = behind;
                continue;
            }
            let Some(then) = follow(state, line.marks, header && lines.len() == 1, blank > 0) else {
                let traced = lines.len() > 1 || state == State::Traceback;
                if traced && is_calm(&line) && self.goes_on(state, behind)? {
                    foreign.push(next..behind);
                    next = behind;
                    continue;
                }
                return Some(self.cut(start, end, lines, foreign));
            };
            state = then;
            blank = 0;
            next = behind;
            end = behind;
            if lines.len() < MOST_LINES {
                lines.push(line);
            }
            if end - start > MOST_BYTES {
                return Some(self.cut(start, end, lines, foreign));
            }
        }
        // Without a next line nobody knows whether it would belong here.
        (self.last || next - start > MOST_BYTES).then(|| self.cut(start, end, lines, foreign))
    }

    /// Whether a trace goes on behind a few lines of others. None when more of the log is needed to tell.
    fn goes_on(&self, state: State, from: usize) -> Option<bool> {
        let mut next = from;
        for _ in 0..MOST_FOREIGN {
            let Some((line, behind)) = self.line(next) else {
                return self.last.then_some(false);
            };
            let inner = state == State::Traceback
                && !line.marks.is(Trait::Begins)
                && (line.marks.shape == Shape::Indented || line.marks.is(Trait::Exception));
            if inner || line.marks.shape == Shape::Part {
                return Some(true);
            }
            if !is_calm(&line) {
                break;
            }
            next = behind;
        }
        Some(false)
    }

    fn cut(&self, start: usize, end: usize, lines: Vec<Rc<Line<'a>>>, foreign: Vec<Range<usize>>) -> Event<'a> {
        let mut raw = Cow::Borrowed(&self.text[start..end]);
        let mut from = start;
        let within: Vec<Range<usize>> = foreign.into_iter().filter(|range| range.end <= end).collect();
        if !within.is_empty() {
            let mut own = String::new();
            for range in &within {
                own.push_str(&self.text[from..range.start]);
                from = range.end;
            }
            own.push_str(&self.text[from..end]);
            raw = Cow::Owned(own);
        }
        Event {
            end,
            raw,
            lines,
            foreign: within.into_iter().map(|range| &self.text[range]).collect(),
        }
    }
}

/// A line of its own that says all is well.
fn is_calm(line: &Line<'_>) -> bool {
    let marks = line.marks;
    let begins = marks.is(Trait::Begins) || marks.is(Trait::Record) || line.time.is_some();
    begins && marks.level.is_some_and(|level| level <= Level::Info)
}
