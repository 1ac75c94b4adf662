//! What a line looks like, and what may follow it within one event: the shapes of traces in many languages.

use super::{Level, framed::Framed};

/// How a line looks, by its content alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
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
pub(super) enum State {
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

/// What is to be known of a line for telling which event it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) level: Option<Level>,
    pub(super) shape: Shape,
    /// What it makes likely for the next line.
    lead: Option<State>,
    traits: u16,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Trait {
    /// A logger of the program's own began this line.
    Begins,
    /// The line is a record of the program's own.
    Record,
    /// The line as the program wrote it stands within a container's record.
    Wrapped,
    /// A record with a trace of its own.
    Traced,
    Exception,
    Closer,
    Go,
    Source,
    RustHead,
}

impl Marks {
    pub(super) fn of(line: &Framed<'_>) -> Self {
        let text = &*line.text;
        let shape = shape(text);
        let rust_head = is_rust_head(text);
        let source = is_source(text);
        let traits = [
            (Trait::Begins, line.begins),
            (Trait::Record, line.record),
            (Trait::Wrapped, line.wrapped),
            (Trait::Traced, line.stack.is_some()),
            (Trait::Exception, is_exception(text)),
            (Trait::Closer, is_closer(text)),
            (Trait::Go, is_go(text)),
            (Trait::Source, source),
            (Trait::RustHead, rust_head),
        ];
        let bit = |(of, holds): (Trait, bool)| u16::from(holds) << of as u16;
        Self {
            level: line.level,
            shape,
            lead: lead(text, shape, rust_head, source),
            traits: traits.into_iter().map(bit).sum(),
        }
    }

    pub(super) fn is(self, wanted: Trait) -> bool {
        self.traits & (1 << wanted as u16) != 0
    }
}

/// The state after a line that belongs to the event; None for one that does not.
pub(super) fn follow(state: State, line: Marks, below_header: bool, after_blank: bool) -> Option<State> {
    let shape = line.shape;
    let part = shape == Shape::Part || shape == Shape::Traceback;
    if line.is(Trait::Begins) && !part {
        return None;
    }
    // A platform may have made a record of each line of a trace.
    let own = line.is(Trait::Record) && !part && shape != Shape::Indented;
    if own && state == State::Open && !line.is(Trait::Closer) {
        return None;
    }
    match (state, shape) {
        (_, Shape::Traceback) if below_header || state == State::Chained => Some(State::Traceback),
        (_, Shape::Part) => Some(state_of(line, state)),
        (_, Shape::Indented) if !after_blank || state == State::Go || state == State::Traceback => Some(state),
        // The last line of a traceback; what is chained to it says so.
        (State::Traceback, Shape::Plain) if !after_blank => Some(State::Open),
        (State::Due, Shape::Plain) => Some(State::Open),
        (State::Source, Shape::Plain) if line.is(Trait::Exception) => Some(State::Open),
        (State::Go, Shape::Plain) if line.is(Trait::Go) => Some(State::Go),
        (State::Open, Shape::Plain) if below_header && !after_blank && line.is(Trait::Exception) => Some(State::Open),
        (State::Open, Shape::Plain) if !after_blank && line.is(Trait::Closer) => Some(State::Open),
        _ => None,
    }
}

pub(super) fn state_of(line: Marks, before: State) -> State {
    line.lead.unwrap_or(before)
}

fn lead(text: &str, shape: Shape, rust_head: bool, source: bool) -> Option<State> {
    if shape == Shape::Traceback {
        Some(State::Traceback)
    } else if text.starts_with("panic: ") || text.starts_with("fatal error: ") || text.starts_with("goroutine ") {
        Some(State::Go)
    } else if text.starts_with("During handling of") || text.starts_with("The above exception") {
        Some(State::Chained)
    } else if rust_head {
        Some(State::Due)
    } else if source {
        Some(State::Source)
    } else {
        None
    }
}

pub(super) fn continues(line: Marks) -> bool {
    match line.shape {
        Shape::Part => true,
        Shape::Indented | Shape::Blank => !line.is(Trait::Begins),
        Shape::Traceback | Shape::Plain => false,
    }
}

fn shape(text: &str) -> Shape {
    let first = match memchr::memchr(b'\n', text.as_bytes()) {
        Some(end) => text[..end].strip_suffix('\r').unwrap_or(&text[..end]),
        None => text,
    };
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
        first => {
            let begins = |part: &&str| part.as_bytes()[0] == first && content.starts_with(part);
            PARTS.iter().any(begins) || (content.ends_with('\'') && is_ruby(content))
        }
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
    text.ends_with(':') && text.contains("panicked at ")
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
pub(super) fn is_header(line: Marks) -> bool {
    !line.is(Trait::Record)
        && line.level.is_some_and(|level| level >= Level::Error)
        && line.shape == Shape::Plain
        && !line.is(Trait::Exception)
}
