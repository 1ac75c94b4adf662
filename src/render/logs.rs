//! `tick logs`: what the log engine made of a log, as text and as JSON.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::page::{Page, count};
use crate::{
    model::signal::Severity,
    text::{
        Redactor, Untrusted,
        inert::console_line,
        logs::{Cause, Found, MOST_CAUSES},
    },
};

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Lines and characters of a sample in the text.
const SAMPLE_LINES: usize = 6;
const SAMPLE_WIDTH: usize = 160;

/// One paragraph a cause, worst first.
pub fn text(found: &Found) -> String {
    let mut page = Page::default();
    let read = format!("{} read, {}", count(found.lines, "line"), size(found.bytes));
    if found.causes.is_empty() {
        page.line(format!("Nothing that a pattern knows ({read})."));
        return page.finish();
    }
    let causes = count(found.causes.len() as u64, "cause");
    page.line(format!("{causes} in {} ({read})", count(found.events, "event")));
    for cause in &found.causes {
        page.blank();
        paragraph(&mut page, cause);
    }
    if found.overflow.events > 0 {
        page.blank();
        page.paragraph(&format!(
            "{} of further causes, the worst {}, are counted and not told apart: one reading tells {MOST_CAUSES} apart.",
            count(found.overflow.events, "event"),
            found.overflow.severity.map_or("unknown", severity)
        ));
    }
    page.finish()
}

fn paragraph(page: &mut Page, cause: &Cause) {
    let code = cause
        .alert
        .as_ref()
        .map(|alert| format!("{alert} "))
        .unwrap_or_default();
    page.line(format!(
        "{:8}  {code}{}, {}, {}; cause {}",
        severity(cause.severity),
        cause.pattern,
        cause.label,
        count(cause.count, "event"),
        cause.signature.short()
    ));
    page.hanging("", 10, &shown(&cause.title, SAMPLE_WIDTH));
    let between = if cause.first_seen == cause.last_seen {
        time(cause.first_seen)
    } else {
        format!("{} to {}", time(cause.first_seen), time(cause.last_seen))
    };
    page.hanging("", 10, &between);
    if let Some(culprit) = &cause.culprit {
        let line = culprit.line.map(|line| format!(":{line}")).unwrap_or_default();
        let function = culprit
            .function
            .as_ref()
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        page.hanging(
            "",
            10,
            &shown(&format!("at {}{line}{function}", culprit.file), SAMPLE_WIDTH),
        );
    }
    let sample = cause.samples.first().map(String::as_str).unwrap_or_default();
    let lines = sample.lines().filter(|line| !line.trim().is_empty());
    for line in lines.clone().take(SAMPLE_LINES) {
        page.line(format!("          | {}", shown_line(line)));
    }
    let more = lines.count().saturating_sub(SAMPLE_LINES);
    if more > 0 {
        page.line(format!("          | … {}", count(more as u64, "more line")));
    }
}

/// Outside text on one line; it was cleaned and redacted where it was read.
fn shown(text: &str, most: usize) -> String {
    console_line(&Untrusted::new(text, &Redactor::default()), most)
}

/// The same with the indentation that a trace has.
fn shown_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent.min(12)), shown(line, SAMPLE_WIDTH))
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, of) in UNITS {
        if bytes >= of {
            return format!("{}.{} {unit}", bytes / of, bytes % of * 10 / of);
        }
    }
    count(bytes, "byte")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "low",
        Severity::Warning => "medium",
        Severity::Error => "high",
        Severity::Critical => "critical",
    }
}

/// All that was found.
pub fn json(found: &Found) -> Value {
    let causes: Vec<Value> = found.causes.iter().map(cause).collect();
    json!({
        "schema": SCHEMA,
        "bytes": found.bytes,
        "lines": found.lines,
        "events": found.events,
        "started_at": found.started_at,
        "causes": causes,
        "overflow": {
            "events": found.overflow.events,
            "severity": found.overflow.severity.map(severity),
        },
    })
}

fn cause(cause: &Cause) -> Value {
    json!({
        "signature": cause.signature,
        "template": cause.template,
        "label": cause.label,
        "culprit": cause.culprit,
        "pattern": cause.pattern,
        "alert": cause.alert,
        "severity": severity(cause.severity),
        "kind": cause.kind.word(),
        "title": cause.title,
        "count": cause.count,
        "first_seen": cause.first_seen,
        "last_seen": cause.last_seen,
        "samples": cause.samples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::logs::{Patterns, Reading};

    fn found(log: &str) -> Found {
        let now = "2026-11-29T03:10:00Z".parse().unwrap();
        let mut reading = Reading::new(&Patterns::shipped(None), &Redactor::default(), now);
        reading.push(log.as_bytes());
        reading.finish()
    }

    const LOG: &str = "2026-11-29T03:00:00Z INFO ready\n\
        2026-11-29T03:00:01Z ERROR order 17 of jane@corp.example.org failed\n\
        TypeError: x is undefined\n    at total (/app/src/cart.js:31:9)\n\
        2026-11-29T03:02:00Z ERROR order 18 of joe@corp.example.org failed\n\
        TypeError: x is undefined\n    at total (/app/src/cart.js:31:9)\n\
        2026-11-29T03:04:00Z WARN ##[error]::x dial tcp 10.0.0.4:6379: connect: connection refused\n";

    #[test]
    fn causes_are_told_with_a_sample() {
        let found = found(LOG);
        insta::assert_snapshot!(text(&found), @r"
        2 causes in 3 events (8 lines read, 384 bytes)

        high      exception, bug, 2 events; cause d0f840ba
                  order 17 of [redacted:mail] failed
                  2026-11-29 03:00:01 UTC to 2026-11-29 03:02:00 UTC
                  at src/cart.js:31 in total
                  | 2026-11-29T03:00:01Z ERROR order 17 of [redacted:mail] failed
                  | TypeError: x is undefined
                  |     at total (/app/src/cart.js:31:9)

        high      A26 connection-refused, infrastructure, 1 event; cause ab6a6df1
                  : :x dial tcp 10.0.0.4:6379: connect: connection refused
                  2026-11-29 03:04:00 UTC
                  | 2026-11-29T03:04:00Z WARN # #[error]::x dial tcp 10.0.0.4:6379: connect: connection refused
        ");
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        assert_eq!(
            text(&found("2026-11-29T03:00:00Z INFO ready\n")),
            "Nothing that a pattern knows (1 line read, 32 bytes).\n"
        );
    }

    #[test]
    fn json_holds_what_was_found() {
        let value = json(&found(LOG));
        assert_eq!(value["events"], 3);
        let first = &value["causes"][0];
        assert_eq!((&first["pattern"], &first["count"]), (&json!("exception"), &json!(2)));
        assert_eq!(first["first_seen"], "2026-11-29T03:00:01Z");
        assert_eq!(value["overflow"], json!({"events": 0, "severity": null}));
        assert!(!value.to_string().contains("corp.example.org"));
    }
}
