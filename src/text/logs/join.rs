//! Joins the lines of one event: a message and its trace, whatever the language. Looks only at the lines around a
//! candidate; a log of one-line events costs nothing here.

use chrono::{DateTime, Utc};

use super::{
    Level,
    framed::{self, Framed},
};

/// Lines and bytes of one event; what comes behind is repetition.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 32 * 1024;
/// Lines that are looked back over for the beginning of an event.
pub(super) const LOOK_BACK: usize = 120;
/// Empty lines within one event in a row.
const MOST_BLANK: usize = 2;

/// One event: where it stands, and its lines.
pub(super) struct Event<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lines: Vec<Framed<'a>>,
}

/// A log of which whole lines are there; the last one ends with a newline unless the log is over.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a str,
    /// Nothing comes behind it.
    pub(super) last: bool,
    pub(super) now: DateTime<Utc>,
}

/// How a line looks, by its content alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Blank,
    /// White space first: it belongs to what stands above.
    Indented,
    /// A frame or another part of a trace that says so itself.
    Part,
    /// `Traceback (most recent call last):`
    Traceback,
    Plain,
}

/// What the lines so far make likely for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Within a Python traceback: a plain line is its last.
    Traceback,
    /// A Go panic: functions stand unindented.
    Go,
    /// The next line is what a Rust panic says.
    Due,
    /// The place in the source that some runtimes show before an error.
    Source,
    /// Another traceback is announced.
    Chained,
}

impl<'a> Window<'a> {
    /// The event around the line that starts at `at`; nothing before `floor` belongs to it. None when more of the log
    /// is needed to tell.
    pub(super) fn event(&self, at: usize, floor: usize) -> Option<Event<'a>> {
        let start = self.begin(at, floor);
        let event = self.forward(start)?;
        if event.end > at || start == at {
            return Some(event);
        }
        self.forward(at)
    }

    /// The line that starts at a place, and where the next one starts; None where none is complete.
    fn line(&self, at: usize) -> Option<(&'a str, usize)> {
        let rest = &self.text[at..];
        match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(end) => Some((&rest[..end], at + end + 1)),
            None if self.last && !rest.is_empty() => Some((rest, self.text.len())),
            None => None,
        }
    }

    fn before(&self, at: usize, floor: usize) -> Option<(Framed<'a>, usize)> {
        let above = self.text[floor..at].strip_suffix('\n')?;
        let start = floor + memchr::memrchr(b'\n', above.as_bytes()).map_or(0, |newline| newline + 1);
        Some((framed::read(&self.text[start..at - 1], self.now), start))
    }

    /// Where the event begins to which a line belongs.
    pub(super) fn begin(&self, at: usize, floor: usize) -> usize {
        if at == floor {
            return at;
        }
        let Some((line, _)) = self.line(at) else { return at };
        let line = framed::read(line, self.now);
        let mut head = at;
        let mut left = LOOK_BACK;
        if continues(&line) {
            head = self.above(at, floor, &mut left);
        }
        head = self.head_of_trace(head, floor, &mut left);
        match (self.line(head), self.before(head, floor)) {
            // A logger's line, and below it the exception that it logged.
            (Some((line, _)), Some((header, start))) if is_header(&header) => {
                let line = framed::read(line, self.now);
                let traced = shape(&line.text) == Shape::Traceback || (!line.begins && is_exception(&line.text));
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
            if !continues(&line) {
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
            match shape(&line.text) {
                Shape::Traceback => return self.head_of_trace_chain(place, floor, left),
                Shape::Indented | Shape::Blank | Shape::Part if !line.begins => {}
                Shape::Plain if first && is_rust_head(&line.text) => return place,
                Shape::Plain if !first && is_source(&line.text) => return place,
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
        if shape(&line.text) != Shape::Blank {
            return at;
        }
        let Some((line, start)) = self.before(start, floor) else {
            return at;
        };
        if shape(&line.text) != Shape::Part || *left == 0 {
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
        let first = framed::read(first, self.now);
        let mut state = state_of(&first.text, State::Open);
        let header = is_header(&first);
        let mut lines = vec![first];
        let mut end = next;
        let mut blank = 0;
        loop {
            let Some((line, behind)) = self.line(next) else {
                // Without a next line nobody knows whether it would belong here.
                return (self.last || next - start > MOST_BYTES).then_some(Event { start, end, lines });
            };
            let line = framed::read(line, self.now);
            if shape(&line.text) == Shape::Blank && !line.begins {
                blank += 1;
                if blank > MOST_BLANK {
                    break;
                }
                next = behind;
                continue;
            }
            let Some(state_then) = follow(state, &line, header && lines.len() == 1, blank > 0) else {
                break;
            };
            state = state_then;
            blank = 0;
            next = behind;
            end = behind;
            if lines.len() < MOST_LINES {
                lines.push(line);
            }
            if end - start > MOST_BYTES {
                break;
            }
        }
        Some(Event { start, end, lines })
    }
}

/// The state after a line that belongs to the event; None for one that does not.
fn follow(state: State, line: &Framed<'_>, below_header: bool, after_blank: bool) -> Option<State> {
    let shape = shape(&line.text);
    let part = shape == Shape::Part || shape == Shape::Traceback;
    if line.begins && !part {
        return None;
    }
    // A platform may have made a record of each line of a trace.
    if line.record && !part && shape != Shape::Indented && state == State::Open && !is_closer(&line.text) {
        return None;
    }
    match (state, shape) {
        (_, Shape::Traceback) if below_header || state == State::Chained => Some(State::Traceback),
        (_, Shape::Part) => Some(state_of(&line.text, state)),
        (_, Shape::Indented) if !after_blank || state == State::Go || state == State::Traceback => Some(state),
        // The last line of a traceback; what is chained to it says so.
        (State::Traceback, Shape::Plain) if !after_blank => Some(State::Open),
        (State::Due, Shape::Plain) => Some(State::Open),
        (State::Source, Shape::Plain) if is_exception(&line.text) => Some(State::Open),
        (State::Go, Shape::Plain) if is_go(&line.text) => Some(State::Go),
        (State::Open, Shape::Plain) if below_header && !after_blank && is_exception(&line.text) => Some(State::Open),
        (State::Open, Shape::Plain) if !after_blank && is_closer(&line.text) => Some(State::Open),
        _ => None,
    }
}

fn state_of(text: &str, before: State) -> State {
    if shape(text) == Shape::Traceback {
        State::Traceback
    } else if text.starts_with("panic: ") || text.starts_with("fatal error: ") || text.starts_with("goroutine ") {
        State::Go
    } else if text.starts_with("During handling of") || text.starts_with("The above exception") {
        State::Chained
    } else if is_rust_head(text) {
        State::Due
    } else if is_source(text) {
        State::Source
    } else {
        before
    }
}

fn continues(line: &Framed<'_>) -> bool {
    match shape(&line.text) {
        Shape::Part => true,
        Shape::Indented | Shape::Blank => !line.begins,
        Shape::Traceback | Shape::Plain => false,
    }
}

fn shape(text: &str) -> Shape {
    let first = text.lines().next().unwrap_or_default();
    let content = first.trim_start();
    if content.trim_end().is_empty() {
        return Shape::Blank;
    }
    if content.starts_with("Traceback (most recent call last)") {
        return Shape::Traceback;
    }
    if is_part(content) {
        return Shape::Part;
    }
    if content.len() < first.len() {
        return Shape::Indented;
    }
    Shape::Plain
}

/// Openings of lines that belong to a trace wherever they stand.
const PARTS: [&str; 26] = [
    "File \"",
    "Caused by: ",
    "Suppressed: ",
    "--- End of ",
    "---> ",
    "Stack trace:",
    "stack backtrace:",
    "note: run with `RUST_BACKTRACE",
    "note: Some details are omitted",
    "goroutine ",
    "created by ",
    "[signal SIG",
    "exit status ",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "[cause]: ",
    "DETAIL: ",
    "HINT: ",
    "CONTEXT: ",
    "STATEMENT: ",
    "QUERY: ",
    "[SQL: ",
    "[parameters: ",
    "(Background on this error at",
    "thrown in ",
    "(Use `node --trace",
];

fn is_part(content: &str) -> bool {
    let numbered = || {
        let digits = content.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && content[digits..].starts_with(": ") && (content.contains("::") || content.contains(" 0x"))
    };
    match content.as_bytes()[0] {
        b'a' if content.starts_with("at ") => content.contains(['(', ':', '.']) || content.starts_with("at async "),
        b'f' if content.starts_with("from ") => content.contains(".rb:") || content.contains(":in "),
        b'.' => content.starts_with("... ") && content.ends_with(" more"),
        b'#' => content[1..].starts_with(|c: char| c.is_ascii_digit()) && content.contains(' '),
        b'0'..=b'9' => numbered(),
        _ if content.contains(".rb:") && is_ruby(content) => true,
        _ => PARTS.iter().any(|part| content.starts_with(part)),
    }
}

/// `app/models/cart.rb:12:in 'total'` with nothing behind it.
fn is_ruby(content: &str) -> bool {
    let Some((path, rest)) = content.split_once(".rb:") else {
        return false;
    };
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    !path.contains(' ') && behind.starts_with(":in ") && behind.ends_with('\'')
}

/// A function with its arguments, as Go prints frames: `main.run(0x1, 0x2)`.
fn is_go(text: &str) -> bool {
    let call = text
        .split_once('(')
        .is_some_and(|(name, _)| !name.is_empty() && !name.contains(' '));
    call && text.ends_with(')')
}

fn is_rust_head(text: &str) -> bool {
    text.contains("panicked at ") && text.ends_with(':')
}

/// `/app/src/cart.js:12`: the place that Node shows before an uncaught error.
fn is_source(text: &str) -> bool {
    let Some((path, line)) = text.rsplit_once(':') else {
        return false;
    };
    let file = path.starts_with(['/', '.']) || path.starts_with("file://") || path.starts_with("node:");
    file && !path.contains(' ') && !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit())
}

/// `java.lang.IllegalStateException: …`, `TypeError: …`: a type that says it is an error.
fn is_exception(text: &str) -> bool {
    let text = text.strip_prefix("Uncaught ").unwrap_or(text);
    let name = text.split([':', ' ', '(']).next().unwrap_or_default();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._$".contains(&b));
    let telling = ["Error", "Exception", "Throwable", "Fault", "Interrupt", "Warning"];
    plain && telling.iter().any(|end| name.ends_with(end))
}

/// What closes a value that was printed over several lines.
fn is_closer(text: &str) -> bool {
    text.len() <= 4 && text.bytes().all(|b| b"}]);,".contains(&b))
}

/// A logger's line that says something failed; the exception may stand below it.
fn is_header(line: &Framed<'_>) -> bool {
    !line.record
        && line.level.is_some_and(|level| level >= Level::Error)
        && shape(&line.text) == Shape::Plain
        && !is_exception(&line.text)
}
