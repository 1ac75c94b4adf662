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

/// The state after a line that belongs to the event; None for one that does not.
pub(super) fn follow(state: State, line: &Framed<'_>, below_header: bool, after_blank: bool) -> Option<State> {
    let shape = line.shape;
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
        (_, Shape::Part) => Some(state_of(line, state)),
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

pub(super) fn state_of(line: &Framed<'_>, before: State) -> State {
    let text = &*line.text;
    if line.shape == Shape::Traceback {
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

pub(super) fn continues(line: &Framed<'_>) -> bool {
    match line.shape {
        Shape::Part => true,
        Shape::Indented | Shape::Blank => !line.begins,
        Shape::Traceback | Shape::Plain => false,
    }
}

pub(super) fn shape(text: &str) -> Shape {
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

pub(super) fn is_rust_head(text: &str) -> bool {
    text.contains("panicked at ") && text.ends_with(':')
}

/// `/app/src/cart.js:12`: the place that Node shows before an uncaught error.
pub(super) fn is_source(text: &str) -> bool {
    let Some((path, line)) = text.rsplit_once(':') else {
        return false;
    };
    let file = path.starts_with(['/', '.']) || path.starts_with("file://") || path.starts_with("node:");
    file && !path.contains(' ') && !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit())
}

/// `java.lang.IllegalStateException: …`, `TypeError: …`: a type that says it is an error.
pub(super) fn is_exception(text: &str) -> bool {
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
pub(super) fn is_header(line: &Framed<'_>) -> bool {
    !line.record
        && line.level.is_some_and(|level| level >= Level::Error)
        && line.shape == Shape::Plain
        && !is_exception(&line.text)
}
