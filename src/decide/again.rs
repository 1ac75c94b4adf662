//! A signal that was recorded, judged once more by what the owner has set today. What was not recorded (an answer that was well, a
//! line that no pattern found) cannot be judged.

use super::hold::is_probe;
use crate::model::signal::{Severity, Signal};

/// What of today's settings is about one signal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Today {
    /// Why nobody looks at it any more.
    pub unwatched: Option<String>,
    /// Of the page that it is about.
    pub page: Option<Page>,
    /// What the patterns say of the line that it is about.
    pub line: Option<Line>,
}

/// What is fine with a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: Vec<u16>,
    pub longest_ms: Option<u64>,
}

/// What today's patterns find in a line in which the pattern `then` was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub then: String,
    /// Such a pattern is still there.
    pub is_there: bool,
    pub found: Option<(String, Severity)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Again {
    Same,
    /// It weighs otherwise.
    Severity(Severity, String),
    /// Nobody would tell of it.
    Gone(String),
}

pub fn again(signal: &Signal, today: &Today) -> Again {
    if let Some(why) = &today.unwatched {
        return Again::Gone(why.clone());
    }
    if let Some(why) = today.page.as_ref().and_then(|page| is_fine(signal, page)) {
        return Again::Gone(why);
    }
    let Some(line) = &today.line else {
        return Again::Same;
    };
    let then = &line.then;
    match &line.found {
        None if line.is_there => Again::Gone(format!("pattern {then} does not match the recorded text")),
        None => Again::Gone(format!("there is no pattern {then}")),
        Some((found, severity)) if *severity != signal.severity => {
            Again::Severity(*severity, format!("pattern {found} says {}", word_of(*severity)))
        }
        Some(_) => Again::Same,
    }
}

pub const fn word_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Critical => "critical",
    }
}

/// Why a page that was not well is, by what is set now.
fn is_fine(signal: &Signal, page: &Page) -> Option<String> {
    if !is_probe(signal.kind) {
        return None;
    }
    let fact = |name: &str| signal.evidence.get(name);
    let class = fact("class")?.as_str()?;
    if class == "latency" {
        let ms = fact("ms")?.as_u64()?;
        return match page.longest_ms {
            None => Some("no max_latency_ms is set for it".to_owned()),
            Some(longest) => (ms <= longest).then(|| format!("{ms} ms are within its max_latency_ms of {longest}")),
        };
    }
    let status: u16 = class.strip_prefix("status:")?.parse().ok()?;
    let fine = page.status.contains(&status);
    fine.then(|| format!("HTTP {status} is among the statuses that are expected of it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::signal::SignalKind;

    fn signal() -> Signal {
        let at = "2026-11-29T03:00:00Z";
        let signal = serde_json::json!({ "source": "x", "repo": "shop", "target": "shop", "kind": "log", "severity": "critical",
            "title": "x", "message": "x", "signature": "7f3a91c07f3a91c0", "count": 1, "first_seen": at, "last_seen": at });
        serde_json::from_value(signal).unwrap()
    }

    fn page(class: &str, ms: u64) -> Signal {
        Signal {
            kind: SignalKind::Health,
            evidence: serde_json::json!({ "class": class, "ms": ms }),
            ..signal()
        }
    }

    fn word(again: &Again) -> String {
        match again {
            Again::Same => "same".to_owned(),
            Again::Severity(severity, why) => format!("{}: {why}", word_of(*severity)),
            Again::Gone(why) => format!("gone: {why}"),
        }
    }

    #[test]
    fn a_page_by_what_is_expected_of_it_today() {
        let check = |class: &str, ms, status: &[u16], longest_ms, expected: &str| {
            let today = Today {
                page: Some(Page {
                    status: status.to_vec(),
                    longest_ms,
                }),
                ..Today::default()
            };
            assert_eq!(word(&again(&page(class, ms), &today)), expected, "{class}");
        };
        check("status:503", 5, &[200], None, "same");
        check(
            "status:503",
            5,
            &[200, 503],
            None,
            "gone: HTTP 503 is among the statuses that are expected of it",
        );
        check("latency", 900, &[200], Some(500), "same");
        check(
            "latency",
            900,
            &[200],
            Some(900),
            "gone: 900 ms are within its max_latency_ms of 900",
        );
        check("latency", 900, &[200], None, "gone: no max_latency_ms is set for it");
        check("body", 900, &[200, 503], None, "same");
        check("connect_refused", 0, &[200], None, "same");
    }

    #[test]
    fn a_line_by_the_patterns_of_today() {
        let check = |is_there, found: Option<(&str, Severity)>, expected: &str| {
            let today = Today {
                line: Some(Line {
                    then: "panic".to_owned(),
                    is_there,
                    found: found.map(|(id, severity)| (id.to_owned(), severity)),
                }),
                ..Today::default()
            };
            assert_eq!(word(&again(&signal(), &today)), expected);
        };
        check(true, Some(("panic", Severity::Critical)), "same");
        check(
            true,
            Some(("panic", Severity::Warning)),
            "warning: pattern panic says warning",
        );
        check(
            false,
            Some(("crash", Severity::Error)),
            "error: pattern crash says error",
        );
        check(true, None, "gone: pattern panic does not match the recorded text");
        check(false, None, "gone: there is no pattern panic");
    }
}
