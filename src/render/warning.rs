//! Words about what will break soon, or is not as usual. One clause each, without the repo in front.

use chrono::{DateTime, Utc};

use super::page::count;
use crate::decide::trend::Trend;

/// `name` is what was measured: a source, a probe, a disk.
pub fn trend(name: &str, trend: &Trend) -> String {
    match trend {
        Trend::Rate { seen, expected } => {
            let (seen, usual) = (format!("{seen:.0}"), format!("{expected:.0}"));
            let errors = if seen == "1" { "error" } else { "errors" };
            let be = if usual == "1" { "is" } else { "are" };
            format!("{name} tells of {seen} {errors} in two hours, {usual} {be} usual at this hour")
        }
        Trend::Slow { now_ms, usual_ms } => {
            format!("{name} answers in {now_ms:.0} ms, {usual_ms:.0} ms are usual at this hour")
        }
        Trend::Fills { at, level, full } => format!(
            "{name} is at {level:.0} of {full:.0} and full on {} at this pace",
            at.format("%Y-%m-%d %H:%M UTC")
        ),
    }
}

/// A source that always had something to tell.
pub fn silent(collector: &str, last: DateTime<Utc>, every_minutes: i64) -> String {
    format!(
        "{collector} told nothing since {}, something is expected every {}",
        last.format("%Y-%m-%d %H:%M UTC"),
        minutes(every_minutes)
    )
}

/// A line that a log said again and again.
pub fn unsaid(what: &str, last: DateTime<Utc>, every_minutes: i64) -> String {
    format!(
        "{what} was last seen {}, it is expected every {}",
        last.format("%Y-%m-%d %H:%M UTC"),
        minutes(every_minutes)
    )
}

/// `minute`, `30 minutes`, behind "every".
fn minutes(n: i64) -> String {
    match u64::try_from(n).unwrap_or(0) {
        1 => "minute".to_owned(),
        n => count(n, "minute"),
    }
}

/// A line of `tick status`.
pub fn line(title: &str, since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    format!("warning since {}: {title}", super::status::time(since, now))
}

/// The same, of one that only the last look saw.
pub fn fresh(title: &str) -> String {
    format!("warning at the last look: {title}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_has_its_numbers() {
        let at: DateTime<Utc> = "2026-12-01T06:40:00Z".parse().unwrap();
        let fills = Trend::Fills {
            at,
            level: 80.2,
            full: 100.0,
        };
        assert_eq!(
            trend("disk", &fills),
            "disk is at 80 of 100 and full on 2026-12-01 06:40 UTC at this pace"
        );
        assert_eq!(
            silent("backups", at, 60),
            "backups told nothing since 2026-12-01 06:40 UTC, something is expected every 60 minutes"
        );
    }
}
