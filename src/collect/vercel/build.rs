//! The lines of a build that say why it failed, without what Vercel and the package managers put around them. Pure.

use serde::Deserialize;

use super::super::context::Blind;
use super::api::parse;

/// Lines that are kept; the reason stands near the end of what failed.
const MOST_LINES: usize = 60;
const LONGEST: usize = 2000;

/// One event, flat or wrapped: Vercel sends both shapes.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    created: Option<serde_json::Number>,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    serial: Option<String>,
    #[serde(default)]
    payload: Option<Payload>,
}

#[derive(Debug, Deserialize)]
struct Payload {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    serial: Option<String>,
    #[serde(default)]
    level: Option<String>,
}

impl Event {
    fn text(&self) -> &str {
        let wrapped = self.payload.as_ref().and_then(|payload| payload.text.as_deref());
        self.text.as_deref().or(wrapped).unwrap_or_default()
    }

    fn level(&self) -> &str {
        let wrapped = self.payload.as_ref().and_then(|payload| payload.level.as_deref());
        self.level.as_deref().or(wrapped).unwrap_or_default()
    }

    /// Events of one millisecond are in the order of their serial.
    fn place(&self) -> (u64, String) {
        let wrapped = self.payload.as_ref().and_then(|payload| payload.serial.clone());
        let at = self.created.as_ref().and_then(serde_json::Number::as_u64).unwrap_or(0);
        (at, self.serial.clone().or(wrapped).unwrap_or_default())
    }
}

/// What the build said about its failure: the lines that are marked as errors, else what went to standard error, else
/// its last lines. Empty where nothing is left without the framing.
pub(super) fn failing_lines(body: &[u8]) -> Result<String, Blind> {
    // Null stands for nothing, as a whole and in its place.
    let events: Option<Vec<Option<Event>>> = parse(body, "build log")?;
    let mut events: Vec<Event> = events.unwrap_or_default().into_iter().flatten().collect();
    events.sort_by_key(Event::place);
    let of = |counts: fn(&Event) -> bool| {
        let lines: Vec<&str> = events
            .iter()
            .filter(|event| counts(event))
            .flat_map(|event| event.text().lines())
            .filter(|line| !is_framing(line))
            .collect();
        let from = lines.len().saturating_sub(MOST_LINES);
        let kept = lines[from..].iter().map(|line| shortened(line));
        kept.collect::<Vec<_>>().join("\n")
    };
    let marked = of(|event| event.kind == "fatal" || (event.kind != "exit" && event.level() == "error"));
    let ways = [
        marked,
        of(|event| event.kind == "stderr" && event.level() != "warning"),
        of(|event| event.kind == "stdout" || event.kind == "stderr"),
    ];
    Ok(ways
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default())
}

fn shortened(line: &str) -> &str {
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => &line[..at],
        None => line,
    }
}

/// Says that something failed, and nothing about what.
fn is_framing(line: &str) -> bool {
    const STARTS: [&str; 16] = [
        "npm ERR!",
        "npm error",
        "npm warn",
        "npm notice",
        "error Command failed",
        "info Visit https://yarnpkg.com",
        "ELIFECYCLE",
        "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL",
        "Running \"",
        "Exiting build container",
        "Build Failed",
        "Vercel CLI ",
        "Cloning ",
        "Restored build cache",
        "> Build ",
        "Build machine configuration",
    ];
    let line = line.trim();
    let line = line.strip_prefix("Error: ").unwrap_or(line);
    let command = line.starts_with("Command \"") && line.contains("\" exited with ");
    line.is_empty()
        || command
        || STARTS
            .iter()
            .any(|start| line.trim_start_matches([' ', '\u{2009}']).starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn flat(at: u64, kind: &str, level: Option<&str>, text: &str) -> Value {
        json!({ "created": at, "date": at, "deploymentId": "dpl_b", "id": at.to_string(), "serial": at.to_string(),
                "type": kind, "level": level, "text": text, "info": { "type": "build", "name": "bld_1" } })
    }

    fn check(events: &[Value], expected: &str) {
        assert_eq!(
            failing_lines(json!(events).to_string().as_bytes()).unwrap(),
            expected,
            "{events:?}"
        );
    }

    const TYPES: &str = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.";
    const EXIT: &str = "Command \"npm run build\" exited with 1";

    #[test]
    fn lines_marked_as_errors_are_the_reason() {
        let start = flat(1, "stdout", None, "Running \"npm run build\"");
        let end = flat(9, "exit", Some("error"), EXIT);
        let marked = flat(3, "stderr", Some("error"), TYPES);
        let warning = flat(2, "stderr", Some("warning"), "a module is old");
        check(&[start.clone(), marked.clone(), warning.clone(), end.clone()], TYPES);
        // Whatever the order in which they come.
        check(&[end.clone(), marked, start.clone()], TYPES);
        // Without marks it is what went to standard error, else the end of what was said.
        check(
            &[start.clone(), flat(3, "stderr", None, TYPES), warning, end.clone()],
            TYPES,
        );
        check(&[start.clone(), flat(3, "stdout", None, TYPES), end.clone()], TYPES);
        check(
            &[start, flat(4, "stderr", Some("error"), &format!("Error: {EXIT}")), end],
            "",
        );
    }

    #[test]
    fn both_shapes_are_read() {
        let wrapped = json!({ "created": 3, "type": "stderr", "payload": { "date": 3, "deploymentId": "dpl_b", "id": "3",
            "serial": "3", "text": "Module not found: Can't resolve './cart'\nnpm ERR! code 1\n" } });
        check(
            &[Value::Null, flat(1, "command", None, "npm ci"), wrapped],
            "Module not found: Can't resolve './cart'",
        );
        check(&[], "");
        assert_eq!(failing_lines(b"null").unwrap(), "");
        assert!(failing_lines(b"{\"events\": []}").is_err());
    }

    #[test]
    fn a_build_that_says_much_is_cut() {
        let events: Vec<Value> = (0..200)
            .map(|n| flat(n, "stderr", Some("error"), &format!("line {n}")))
            .collect();
        let text = failing_lines(json!(events).to_string().as_bytes()).unwrap();
        assert_eq!(text.lines().count(), MOST_LINES);
        assert!(text.ends_with("line 199"));
    }
}
