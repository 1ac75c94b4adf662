//! Splits a text into what it says: strips the framing that platforms put before lines, drops chatter, keeps
//! messages and frames apart.

use std::sync::LazyLock;

use regex::Regex;

use super::frames::{self, Frame};

/// So many lines of a text are looked at; the rest is repetition.
const MOST_LINES: usize = 2000;
/// And so many bytes of a line, or of a structured one before it is unpacked.
const LONGEST_LINE: usize = 2000;
const LONGEST_RECORD: usize = 64 * 1024;

/// One line of a text, understood.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Message(String),
    Frame(Frame, Language),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// The innermost call stands last.
    Python,
    Other,
}

/// Framing of platforms, tried again until none fits.
static PREFIXES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const TIME: &str = r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?Z| ?UTC| ?[+-]\d\d:?\d\d)?";
    [
        format!(r"^[^\t]{{1,80}}\t[^\t]{{1,80}}\t{TIME} ?"),
        format!(r"^{TIME}\t[0-9a-f-]{{36}}\t(?:[A-Z]+\t)?"),
        format!(r"^{TIME}: [A-Z]+/[A-Za-z]+-\d+\] "),
        format!(r"^{TIME}\]?:?[ \t]*"),
        r"^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?(?: \|)? ?".to_owned(),
        r"^[A-Za-z][\w.-]{0,40}[-_]\d+ +\| ?".to_owned(),
        r"^[A-Z][a-z][a-z] +\d{1,2} \d\d:\d\d:\d\d [\w.-]+ ".to_owned(),
        r"^\[(?:err|out|stderr|stdout|\d+)\] ?".to_owned(),
        r"^\[?(?:ERROR|WARN|WARNING|CRITICAL|error|warn)\]?[: \t]\s*".to_owned(),
        r"^ *(?:⨯|✖|×|●) +".to_owned(),
        r"^(?:Uncaught|Unhandled) (?:\(in promise\) )?".to_owned(),
        r"^##\[error\]".to_owned(),
        r"^E {2,}".to_owned(),
    ]
    .iter()
    .filter_map(|pattern| Regex::new(&pattern.replace(r"\d", "[0-9]")).ok())
    .collect()
});

/// Lines that say nothing about a cause.
static CHATTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^(?:",
        r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+ \d{3} in |",
        r"\[?(?:info|debug|trace)\]?[: ]|cache (?:hit|miss|restored)|progress: |a complete log of this run|",
        r"note: (?:run with|some details)|process completed with exit code 1\b|(?:cleaning up|terminate) orphan process|",
        r"region: |failed to build in |build failed in |stack backtrace:|goroutine \d+ |created by |traceback \(most recent|\.\.\. \d+ more|",
        r"during handling of the above|the above exception was|\(use `?node --|\(background on this error|",
        r"[\d. ]+ms$|\d+ (?:passed|failed|skipped)\b|tests?:? +\d|test (?:suites|files)|snapshots:|time:|ran all test|duration|start at|",
        r"test result: |host: |node\.js v\d|node:[a-z_/]+:\d+$|throw |triggeruncaught|(?:request|trace|span|event)_?id: |digest: |length: |position: |line: '?\d|args: |file: |routine: |errno: |\d+: (?:0x|[a-z_<])|",
        r">? *\d+ \||[|^~\s\-=_⎯─}{\])(\[]*$)"
    ))
    .ok()
});

/// The lines of a text without framing, chatter and repetition.
pub(super) fn read(text: &str) -> Vec<Line> {
    let stripped: Vec<String> = text
        .lines()
        .take(MOST_LINES)
        .flat_map(|line| unpack(strip(&line[..line.floor_char_boundary(LONGEST_RECORD)])))
        .map(|mut line| {
            line.truncate(line.floor_char_boundary(LONGEST_LINE));
            line
        })
        .collect();
    let understood = understand(&stripped, true);
    if understood.is_empty() {
        understand(&stripped, false)
    } else {
        understood
    }
}

fn understand(lines: &[String], drop_chatter: bool) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut echo = false;
    for line in lines {
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        if let Some(frame) = frames::frame(line) {
            let python = content.starts_with("File \"");
            echo = python;
            out.push(Line::Frame(
                frame,
                if python { Language::Python } else { Language::Other },
            ));
            continue;
        }
        // Python shows the source of each frame under it.
        let indented = line.starts_with("    ");
        if (echo && indented) || (drop_chatter && is_chatter(content)) {
            continue;
        }
        echo = false;
        out.push(Line::Message(content.to_owned()));
    }
    out
}

fn is_chatter(content: &str) -> bool {
    CHATTER.as_ref().is_some_and(|chatter| chatter.is_match(content)) || is_go_call(content)
}

/// `github.com/acme/shop/cart.(*Handler).Merge(0xc000b55596, …)`: a name with its arguments, nothing else.
fn is_go_call(content: &str) -> bool {
    let Some((name, arguments)) = content.split_once("(0x").or_else(|| content.split_once("({0x")) else {
        return false;
    };
    !name.contains(' ') && name.contains('.') && arguments.ends_with(')')
}

fn strip(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..6 {
        let Some(end) = PREFIXES
            .iter()
            .find_map(|prefix| prefix.find(rest).map(|m| m.end()).filter(|end| *end > 0))
        else {
            break;
        };
        rest = &rest[end..];
    }
    rest
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
fn unpack(line: &str) -> Vec<String> {
    if !line.starts_with('{') || !line.ends_with('}') {
        return vec![line.to_owned()];
    }
    let Ok(serde_json::Value::Object(object)) = serde_json::from_str(line) else {
        return vec![line.to_owned()];
    };
    let mut out = Vec::new();
    for key in TELLING {
        match object.get(key) {
            Some(serde_json::Value::String(text)) => out.extend(text.lines().map(str::to_owned)),
            Some(inner @ serde_json::Value::Object(_)) => out.extend(unpack(&inner.to_string())),
            _ => {}
        }
    }
    if out.is_empty() { vec![line.to_owned()] } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_goes() {
        for line in [
            "boom",
            "2026-02-24T09:19:53.843Z boom",
            "[02:14:49.355] boom",
            "api-1     | boom",
            "17:21:35.873 | boom",
            "test (20.x)\tRun pnpm test\t2025-10-09T09:16:54.3312120Z boom",
            "2025-07-06T19:20:51.894723Z [err] 2025-07-06T19:20:51.886708Z  WARN boom",
            "2026-07-21T23:38:54.651Z\t9cf83894-6d6f-4b52-a197-96b17557b940\tERROR\tboom",
            " ⨯ boom",
            "worker-1  | [2025-02-05 18:07:55.346 UTC] [3171] [ERROR] boom",
        ] {
            assert_eq!(strip(line), "boom", "{line}");
        }
    }

    #[test]
    fn chatter_goes_unless_it_is_all() {
        let lines = read("GET /api/cart 201 in 297ms\nError: x\n  }\n");
        assert_eq!(lines, vec![Line::Message("Error: x".into())]);
        assert_eq!(read("[info] job done").len(), 1);
    }

    #[test]
    fn structured_lines_say_their_fields() {
        let line = r#"{"level":"ERROR","fields":{"message":"refresh failed","error":"dns"},"target":"api::feeds"}"#;
        let want = ["refresh failed", "dns", "api::feeds"].map(|m| Line::Message(m.into()));
        assert_eq!(read(line), want);
    }
}
