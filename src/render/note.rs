//! The incident note: what broke, what was merged, why it is taken back. Written before anything is taken back.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

use crate::decide::facts::Facts;

/// The note as Markdown. Titles and texts in `facts` are redacted already; nothing from outside is quoted.
pub fn note(facts: &Facts, why: &str, now: DateTime<Utc>) -> String {
    let cause = &facts.cause;
    let mut text = format!(
        "# Incident {}\n\n- cause {} in {}, first seen {}, {} events\n- written {} before the change is taken back\n",
        facts.id(),
        cause.signature.short(),
        facts.incident.repo,
        cause.first_seen.format("%Y-%m-%d %H:%M UTC"),
        cause.count,
        now.format("%Y-%m-%d %H:%M UTC"),
    );
    if let Some(merge) = &facts.merge {
        let by = merge.by.as_deref().unwrap_or("tick");
        let _ = writeln!(
            text,
            "- {} was merged by {by} at {}; the head was {}",
            merge.sha,
            merge.at.format("%Y-%m-%d %H:%M UTC"),
            merge.head
        );
    }
    let _ = write!(text, "\n## Why it is taken back\n\n{why}\n\n## Attempts\n\n");
    for attempt in &facts.attempts {
        let ended = attempt.failure().map_or_else(
            || "merged".to_owned(),
            |failure| failure.sentence().lines().next().unwrap_or_default().to_owned(),
        );
        let _ = writeln!(text, "{}. by {}: {ended}", attempt.attempt.n, attempt.attempt.agent);
    }
    text
}
