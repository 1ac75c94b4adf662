//! Splits a text into what it says: strips the framing that platforms put before lines, drops chatter, keeps
//! messages and frames apart.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::{
    frames::{self, Frame},
    framing,
};

/// So many lines of a text are looked at; the rest is repetition.
const MOST_LINES: usize = 2000;
/// And so many bytes of a line, or of a structured one before it is unpacked.
const LONGEST_LINE: usize = 2000;
const LONGEST_RECORD: usize = 64 * 1024;

/// One line of a text, understood.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Message(Cow<'a, str>),
    Frame(Frame, Order),
}

/// How the trace is printed that a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    InnermostFirst,
    InnermostLast,
}

/// Lines that say nothing about a cause.
static CHATTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^(?:",
        r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+ \d{3} in |",
        r"\[?(?:info|debug|trace)\]?[: ]|cache (?:hit|miss|restored)|progress: |a complete log of this run|",
        r"note: (?:run with|some details)|process completed with exit code 1\b|(?:cleaning up|terminate) orphan process|",
        r"region: |[\w ]{3,30} loaded from |failed to build in |build failed in |stack backtrace:|goroutine \d+ |exit status 2$|created by |traceback \(most recent|\.\.\. \d+ more|",
        r"during handling of the above|the above exception was|\(use `?node --|\(background on this error|",
        r"[\d. ]+ms$|\d+ (?:passed|failed|skipped)\b|tests?:? +\d|test (?:suites|files)|snapshots:|time:|ran all test|duration|start at|",
        r"test result: |host: |node\.js v\d|node:[a-z_/]+:\d+$|throw |triggeruncaught|(?:request|trace|span|event)_?id: \S+$|digest: |\[?parameters: |params: \[|bindings: \[|(?:async )?def \w+\(.*:$|length: |position: |line: '?\d|args: |file: |routine: |errno: |\d+: (?:0x|<|rust_|_|\S+::\S|main$)|",
        r"(?:fail|crit|warn): [\w.]+\[\d+\]$|(?:unhandled )?exception[.:]?$|<asynchronous suspension>|fatal exception: |process: \S+, pid: \d|[╷╵│]|\d+ │|",
        r">? *\d+ \||[\x22|^~\s\-=_⎯─}{\])(\[]*$)"
    ))
    .ok()
});

/// The lines of a text without framing, chatter and repetition.
pub(super) fn read(text: &str) -> Vec<Line<'_>> {
    let mut stripped = Vec::new();
    for line in text.lines().take(MOST_LINES) {
        unpack(bare(line), &mut stripped);
    }
    told_by(&stripped)
}

/// The only line of a text, without framing.
pub(super) fn only(text: &str) -> Option<&str> {
    (!text.as_bytes().contains(&b'\n')).then(|| bare(text))
}

/// What [`read`] gives for a text with this only line.
pub(super) fn of_only(line: &str) -> Vec<Line<'_>> {
    let mut stripped = Vec::new();
    unpack(line, &mut stripped);
    told_by(&stripped)
}

fn bare(line: &str) -> &str {
    framing::strip(&line[..line.floor_char_boundary(LONGEST_RECORD)])
}

fn told_by<'a>(stripped: &[Cow<'a, str>]) -> Vec<Line<'a>> {
    let understood = understand(stripped);
    if !understood
        .iter()
        .all(|line| matches!(line, Line::Frame(Frame::Foreign, _)))
    {
        return understood;
    }
    // Nothing but chatter and foreign frames: then these are what it says.
    let trimmed = |line: &Cow<'a, str>| match line {
        Cow::Borrowed(line) => Cow::Borrowed(line.trim()),
        Cow::Owned(line) => Cow::Owned(line.trim().to_owned()),
    };
    stripped
        .iter()
        .map(trimmed)
        .filter(|line| !line.is_empty())
        .map(Line::Message)
        .collect()
}

fn understand<'a>(lines: &[Cow<'a, str>]) -> Vec<Line<'a>> {
    let mut out: Vec<Line<'a>> = Vec::with_capacity(lines.len());
    let mut echo = false;
    let mut thrown = None;
    for line in lines {
        let content = framing::without_level(line.trim());
        if content.is_empty() {
            continue;
        }
        if let Some(found) = frames::frame(line) {
            let last = frames::is_innermost_last(content);
            echo = last;
            out.push(Line::Frame(
                found.frame,
                if last {
                    Order::InnermostLast
                } else {
                    Order::InnermostFirst
                },
            ));
            if let Some(message) = found.message {
                out.push(Line::Message(Cow::Owned(message.to_owned())));
            }
            continue;
        }
        // Python shows the source of each frame under it.
        let indented = line.starts_with("    ");
        if thrown.is_none() && content.starts_with("Traceback (most recent") {
            thrown = Some(out.len());
        }
        if (echo && indented) || is_chatter(content) {
            continue;
        }
        echo = false;
        out.push(Line::Message(match line {
            Cow::Borrowed(line) => Cow::Borrowed(framing::without_level(line.trim())),
            Cow::Owned(_) => Cow::Owned(content.to_owned()),
        }));
    }
    without_preface(out, thrown)
}

/// Without what a logger says before the exception that it prints with its trace: the same exception is logged in many
/// words, and printed without any.
fn without_preface(mut lines: Vec<Line<'_>>, traceback: Option<usize>) -> Vec<Line<'_>> {
    let raised = |pair: &[Line<'_>]| match pair {
        [Line::Message(message), Line::Frame(..)] => is_raised(message),
        _ => false,
    };
    let in_trace = |from: &usize| matches!(lines.get(*from), Some(Line::Frame(..)));
    let from = traceback.filter(in_trace).or_else(|| lines.windows(2).position(raised));
    if let Some(from) = from {
        let mut at = 0;
        lines.retain(|line| {
            at += 1;
            at > from || matches!(line, Line::Frame(..))
        });
    }
    lines
}

/// `com.acme.CartException: empty`: the full name of an exception begins the line.
fn is_raised(message: &str) -> bool {
    let name = message.split(':').next().unwrap_or_default();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'\\');
    name.contains(['.', '\\']) && name.bytes().all(plain) && framing::is_error(name)
}

fn is_chatter(content: &str) -> bool {
    CHATTER.as_ref().is_some_and(|chatter| chatter.is_match(content)) || is_go_call(content)
}

/// `github.com/acme/shop/cart.(*Handler).Merge(0xc000b55596, …)`: a name with its arguments, nothing else.
fn is_go_call(content: &str) -> bool {
    if !content.ends_with(')') {
        return false;
    }
    let Some((name, arguments)) = content.split_once("(0x").or_else(|| content.split_once("({0x")) else {
        return false;
    };
    !name.contains(' ') && name.contains('.') && !arguments.is_empty()
}

/// Fields of a structured log line that say something about a cause.
const TELLING: [&str; 12] = [
    "message",
    "msg",
    "error",
    "err",
    "exception",
    "fields",
    "target",
    "logger",
    "code",
    "stack",
    "type",
    "cause",
];

/// A structured log line says what its message, error and origin fields say.
fn unpack<'a>(line: &'a str, out: &mut Vec<Cow<'a, str>>) {
    if line.starts_with('{')
        && line.ends_with('}')
        && let Ok(serde_json::Value::Object(object)) = serde_json::from_str(line)
    {
        let from = out.len();
        fields(&object, out);
        if out.len() > from {
            return;
        }
    }
    if let Some((message, context)) = with_context(line) {
        out.push(Cow::Borrowed(message));
        fields(&context, out);
        return;
    }
    out.push(Cow::Borrowed(&line[..line.floor_char_boundary(LONGEST_LINE)]));
}

/// A message and, behind a tab, what the logger knew about it.
fn with_context(line: &str) -> Option<(&str, serde_json::Map<String, serde_json::Value>)> {
    if !line.ends_with('}') {
        return None;
    }
    let at = line.find("\t{\"")?;
    let context = serde_json::from_str(&line[at + 1..]).ok()?;
    (at > 0 && at < LONGEST_LINE).then_some((&line[..at], context))
}

fn fields(object: &serde_json::Map<String, serde_json::Value>, out: &mut Vec<Cow<'_, str>>) {
    for key in TELLING {
        match object.get(key) {
            Some(serde_json::Value::String(text)) => out.extend(
                text.lines()
                    .map(|line| Cow::Owned(line[..line.floor_char_boundary(LONGEST_LINE)].to_owned())),
            ),
            Some(serde_json::Value::Object(inner)) => fields(inner, out),
            _ => {}
        }
    }
    // Loggers name the place that wrote the line.
    let written = ["caller", "source"].into_iter().find_map(|key| match object.get(key)? {
        serde_json::Value::String(place) if place.contains(':') => Some(place.clone()),
        serde_json::Value::Object(place) => Some(format!(
            "{}:{}",
            place.get("file")?.as_str()?,
            place.get("line")?.as_u64()?
        )),
        _ => None,
    });
    if let Some(place) = written {
        out.push(Cow::Owned(["at ", &place].concat()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chatter_goes_unless_it_is_all() {
        let lines = read("GET /api/cart 201 in 297ms\nError: x\n  }\n");
        assert_eq!(lines, vec![Line::Message("Error: x".into())]);
        assert_eq!(read("[info] job done").len(), 1);
    }

    #[test]
    fn structured_lines_say_their_fields() {
        let line = "pull failed\t{\"pair\": \"ann\", \"error\": \"dns\"}";
        assert_eq!(read(line), ["pull failed", "dns"].map(|m| Line::Message(m.into())));
        let line = r#"{"level":"ERROR","fields":{"message":"refresh failed","error":"dns"},"target":"api::feeds"}"#;
        let want = ["refresh failed", "dns", "api::feeds"].map(|m| Line::Message(m.into()));
        assert_eq!(read(line), want);
        for place in [
            r#""caller":"store/cart.go:31""#,
            r#""source":{"function":"main.save","file":"/src/store/cart.go","line":31}"#,
        ] {
            let line = format!(r#"{{"level":"error",{place},"msg":"save failed"}}"#);
            assert!(
                matches!(&read(&line)[..], [Line::Message(_), Line::Frame(Frame::Own(place), _)] if place.file == "store/cart.go")
            );
        }
    }
}
