//! One line of a log, taken apart: what it says, how bad it says it is, when, and whether a logger began it.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

use super::{
    Level,
    prefix::{self, Stripped},
    structured,
    time::Times,
};

/// Wrappings of a line in records of platforms that are undone.
const DEEPEST: usize = 3;
/// So much of a line is looked at.
pub(super) const LONGEST_LINE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Framed<'a> {
    /// What the line says, without framing; for a record its message, then its error.
    pub(super) text: Cow<'a, str>,
    /// The trace that a record carries.
    pub(super) stack: Option<Cow<'a, str>>,
    pub(super) level: Option<Level>,
    pub(super) time: Option<DateTime<Utc>>,
    /// A logger of the program's own began this line.
    pub(super) begins: bool,
    /// The line is a record of the program's own.
    pub(super) record: bool,
    /// The line as the program wrote it stands within a container's record.
    pub(super) wrapped: bool,
}

pub(super) fn read<'a>(line: &'a str, times: &Times<'_>) -> Framed<'a> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    layer(&line[..line.floor_char_boundary(LONGEST_LINE)], times, DEEPEST)
}

fn layer<'a>(line: &'a str, times: &Times<'_>, depth: usize) -> Framed<'a> {
    let Stripped {
        content,
        time,
        level,
        begins,
    } = prefix::strip(line, times);
    let mut framed = Framed {
        text: Cow::Borrowed(content),
        stack: None,
        level,
        time,
        begins,
        record: false,
        wrapped: false,
    };
    let Some(record) = structured::read(content, times) else {
        return framed;
    };
    framed.level = record.level.or(level);
    framed.time = time.or(record.time);
    framed.stack = record.stack;
    let Some(message) = record.message else {
        framed.record = true;
        if let Some(error) = record.error {
            framed.text = error;
        }
        return framed;
    };
    let own_words = record.error.is_some() || framed.stack.is_some();
    framed.record = own_words || !record.wrapped;
    framed.wrapped = record.wrapped;
    framed.text = message;
    if depth > 0 && !own_words {
        within(&mut framed, times, depth);
    }
    if let Some(error) = record.error.filter(|error| !framed.text.contains(&**error)) {
        let both = [&*framed.text, &*error].join("\n");
        framed.text = Cow::Owned(both);
    }
    framed
}

/// The message of a record may be a line with framing of its own.
fn within<'a>(outer: &mut Framed<'a>, times: &Times<'_>, depth: usize) {
    let (inner, text, stack): (Framed<'a>, Cow<'a, str>, Option<Cow<'a, str>>) = match &outer.text {
        Cow::Borrowed(text) => {
            let mut inner = layer(text.trim_end_matches('\n'), times, depth - 1);
            let (text, stack) = (std::mem::take(&mut inner.text), inner.stack.take());
            (inner, text, stack)
        }
        Cow::Owned(text) => {
            let mut inner = layer(text.trim_end_matches('\n'), times, depth - 1);
            let text = Cow::Owned(std::mem::take(&mut inner.text).into_owned());
            let stack = inner.stack.take().map(|stack| Cow::Owned(stack.into_owned()));
            let flags = Framed {
                text: Cow::Borrowed(""),
                stack: None,
                ..inner
            };
            (flags, text, stack)
        }
    };
    outer.level = inner.level.or(outer.level);
    outer.time = outer.time.or(inner.time);
    outer.begins = inner.begins;
    outer.record |= inner.record;
    outer.wrapped |= inner.record;
    outer.text = text;
    outer.stack = stack;
}

impl Framed<'_> {
    /// All that the line says.
    pub(super) fn says(&self) -> Cow<'_, str> {
        match &self.stack {
            None => Cow::Borrowed(&self.text),
            Some(stack) => Cow::Owned([&*self.text, &**stack].join("\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, says: &str, level: Option<Level>) {
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        let framed = read(line, &Times::new(line, now));
        assert_eq!((&*framed.says(), framed.level), (says, level), "{line}");
    }

    #[test]
    fn layers_are_undone() {
        let error = Some(Level::Error);
        check("2026-11-29T03:00:00Z ERROR boom\r", "boom", error);
        check(
            r#"api-1  | {"level":50,"msg":"order failed","err":{"type":"E","message":"no","stack":"E: no\n    at f (a.js:1:2)"}}"#,
            "order failed\nE: no\nE: no\n    at f (a.js:1:2)",
            error,
        );
        check(
            r#"{"log":"2026-11-29T03:00:00Z ERROR boom\n","stream":"stderr","time":"2026-11-29T03:00:00Z"}"#,
            "boom",
            error,
        );
        check(
            r#"{"message":"{\"level\":\"warn\",\"msg\":\"slow\"}","severity":"info"}"#,
            "slow",
            Some(Level::Warn),
        );
        check(
            r#"{"message":"    at f (a.js:1:2)","severity":"error"}"#,
            "    at f (a.js:1:2)",
            error,
        );
        check(r#"{"level":"error","error":"no such host"}"#, "no such host", error);
        check(
            r#"level=error msg="dial failed" err="no such host""#,
            "dial failed\nno such host",
            error,
        );
        check(r#"{"n":1}"#, r#"{"n":1}"#, None);
    }
}
