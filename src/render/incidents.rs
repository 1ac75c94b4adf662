//! `tick incidents` (a list) and `tick show ID` (one incident's story, ending with why it is not merged or repaired).

use chrono::{DateTime, Utc};

use super::page::{Page, count, widest};
use crate::text::{Untrusted, fence::code_block};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentLine {
    /// The first eight digits of the signature, with `-2` from the second generation on.
    pub short: String,
    pub slot: String,
    pub title: String,
    pub opened: DateTime<Utc>,
    /// Where it stands, or how it ended.
    pub stands: String,
    pub open: bool,
}

/// Open ones first, then those that ended, each in the order given.
pub fn incidents(lines: &[IncidentLine]) -> String {
    let mut page = Page::default();
    if lines.is_empty() {
        page.line("No incidents.");
    }
    let shorts = widest(lines.iter().map(|line| line.short.as_str()));
    let slots = widest(lines.iter().map(|line| line.slot.as_str()));
    for (heading, open) in [("Open", true), ("Ended", false)] {
        let group: Vec<&IncidentLine> = lines.iter().filter(|line| line.open == open).collect();
        if group.is_empty() {
            continue;
        }
        page.blank();
        page.line(heading);
        for line in group {
            let label = format!(
                "  {:shorts$}  {}  {:slots$}",
                line.short,
                line.opened.format("%Y-%m-%d %H:%M"),
                line.slot
            );
            let column = label.chars().count() + 2;
            page.hanging(&label, column, &line.title);
            page.hanging("", column, &line.stands);
        }
    }
    page.finish()
}

/// A cause that stood there at first sight and that nothing is done about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownLine {
    pub short: String,
    pub slot: String,
    pub title: String,
    pub count: u64,
    pub last_seen: DateTime<Utc>,
}

/// The inventory, in the order given, and what can be done with it.
pub fn known(lines: &[KnownLine], now: DateTime<Utc>) -> String {
    let mut page = Page::default();
    let Some(first) = lines.first() else {
        page.line("No known causes: all that was seen has an incident, or nothing stood there at first sight.");
        return page.finish();
    };
    page.line("Stood there at first sight; nothing is done about it");
    let slots = widest(lines.iter().map(|line| line.slot.as_str()));
    for line in lines {
        let label = format!("  {:8}  {:slots$}", line.short, line.slot);
        let column = label.chars().count() + 2;
        let seen = format!(
            "{}, {}, last seen {}",
            line.title,
            count(line.count, "event"),
            super::status::time(line.last_seen, now)
        );
        page.hanging(&label, column, &seen);
    }
    page.blank();
    page.paragraph(&format!(
        "To hand one to repair: tick adopt {}, or tick adopt --top 3 for the first of the list.",
        first.short
    ));
    page.finish()
}

/// Everything about one incident.
#[derive(Debug, Clone)]
pub struct ShowView {
    pub id: String,
    pub short: String,
    pub slot: String,
    pub title: String,
    /// Readable form of the signature, volatile parts masked.
    pub template: String,
    /// Why these events are one cause: what the signature was computed from, and what joined it.
    pub why_signature: Vec<String>,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub count: u64,
    pub culprit: Option<String>,
    pub release: Option<String>,
    pub before: Vec<String>,
    pub timeline: Vec<(DateTime<Utc>, String)>,
    pub sample: Option<Untrusted>,
    /// What agents said, by name; never evidence.
    pub said: Vec<(String, Untrusted)>,
    /// Heading of the last part: `Why not merged` or `Why not repaired`; empty when nothing is missing.
    pub unmet_heading: String,
    pub unmet: Vec<Unmet>,
}

/// A message that was written about an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterView {
    pub at: DateTime<Utc>,
    /// `done`, `not sent: …` or `given up: …`.
    pub stands: String,
    pub subject: String,
    pub body: String,
}

/// Each message as it was sent, or as it waits.
pub fn letters(letters: &[LetterView]) -> String {
    let mut page = Page::default();
    if letters.is_empty() {
        page.line("No message was written about it.");
    }
    for letter in letters {
        let stands = if letter.stands == "done" {
            "sent"
        } else {
            &letter.stands
        };
        page.line(format!("{}  {stands}", moment(letter.at)));
        page.line(format!("Subject: {}", letter.subject));
        page.blank();
        for line in letter.body.lines() {
            page.line(line);
        }
        page.blank();
    }
    page.finish()
}

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// Said as what is: it stands below a "why not".
    pub condition: String,
    /// More about it; may be empty.
    pub value: String,
    /// Who can change it.
    pub who: String,
    /// When it is looked at next.
    pub when: String,
}

pub fn show(view: &ShowView) -> String {
    let mut page = Page::default();
    page.paragraph(&format!("{}  {}: {}", view.short, view.slot, view.title));
    page.blank();
    page.line("Measured");
    let mut row = |label: &str, text: &str| page.hanging(&format!("  {label}"), 13, text);
    row(
        "seen",
        &format!(
            "{}, first {}, last {}",
            count(view.count, "time"),
            moment(view.first_seen),
            moment(view.last_seen)
        ),
    );
    if let Some(culprit) = &view.culprit {
        row("at", culprit);
    }
    if let Some(release) = &view.release {
        row("release", release);
    }
    for (n, text) in view.before.iter().enumerate() {
        row(if n == 0 { "before" } else { "" }, text);
    }
    row("template", &view.template);
    if !view.timeline.is_empty() {
        page.blank();
        page.line("Timeline (UTC)");
        let mut day = None;
        for (at, text) in &view.timeline {
            if day.replace(at.date_naive()) != Some(at.date_naive()) {
                page.line(format!("  {}", at.format("%Y-%m-%d")));
            }
            page.hanging(&format!("  {}", at.format("%H:%M:%S")), 13, text);
        }
    }
    if let Some(sample) = &view.sample {
        page.blank();
        page.line("From outside, redacted");
        fenced(&mut page, sample);
    }
    for (agent, text) in &view.said {
        page.blank();
        page.line(format!("Said by {agent} (not evidence)"));
        fenced(&mut page, text);
    }
    if !view.why_signature.is_empty() {
        page.blank();
        page.line("Why this signature");
        for text in &view.why_signature {
            page.hanging("  -", 4, text);
        }
    }
    if !view.unmet.is_empty() {
        page.blank();
        page.line(view.unmet_heading.clone());
        for unmet in &view.unmet {
            let what = match unmet.value.as_str() {
                "" => unmet.condition.clone(),
                value => format!("{}: {value}", unmet.condition),
            };
            page.hanging("  -", 4, &what);
            page.hanging("", 4, &format!("{} can change it; {}", unmet.who, unmet.when));
        }
    }
    page.blank();
    page.line(format!("incident {}", view.id));
    page.finish()
}

fn fenced(page: &mut Page, text: &Untrusted) {
    for line in code_block(text).lines() {
        page.line(format!("  {line}"));
    }
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Redactor;

    fn at(time: &str) -> DateTime<Utc> {
        format!("2026-11-29T{time}Z").parse().unwrap()
    }

    #[test]
    fn open_ones_come_first() {
        let line = |short: &str, open: bool| IncidentLine {
            short: short.into(),
            slot: "shop".into(),
            title: "ZeroDivisionError in discount.py:14".into(),
            opened: at("03:00:00"),
            stands: if open { "waiting for CI" } else { "resolved" }.into(),
            open,
        };
        insta::assert_snapshot!(incidents(&[line("c4d81e6f", false), line("7f3a91c0-2", true)]), @r"
        Open
          7f3a91c0-2  2026-11-29 03:00  shop  ZeroDivisionError in discount.py:14
                                              waiting for CI

        Ended
          c4d81e6f    2026-11-29 03:00  shop  ZeroDivisionError in discount.py:14
                                              resolved
        ");
        assert_eq!(incidents(&[]), "No incidents.\n");
    }

    #[test]
    fn a_story_ends_with_why_it_is_not_merged() {
        let view = ShowView {
            id: "c4d81e6fc4d81e6f-1".into(),
            short: "c4d81e6f".into(),
            slot: "shop".into(),
            title: "ZeroDivisionError in discount.py:14".into(),
            template: "ZeroDivisionError: division by zero".into(),
            why_signature: vec!["exception type, message and top frame discount.py average_discount".into()],
            first_seen: at("03:00:00"),
            last_seen: at("03:14:00"),
            count: 14,
            culprit: Some("discount.py:14, average_discount".into()),
            release: Some("9c1f2ab".into()),
            before: vec!["02:58 UTC release 9c1f2ab went live".into()],
            timeline: vec![
                (at("03:00:20"), "triage: bug".into()),
                (at("03:02:00"), "attempt 1 refused: test weakened".into()),
            ],
            sample: Some(Untrusted::new("division by zero", &Redactor::default())),
            said: vec![(
                "claude".into(),
                Untrusted::new("an order without items", &Redactor::default()),
            )],
            unmet_heading: "Why not merged".into(),
            unmet: vec![Unmet {
                condition: "CI is not known to be green".into(),
                value: "pending: test".into(),
                who: "CI".into(),
                when: "looked at next 03:15 UTC".into(),
            }],
        };
        insta::assert_snapshot!(show(&view), @r"
        c4d81e6f  shop: ZeroDivisionError in discount.py:14

        Measured
          seen       14 times, first 2026-11-29 03:00 UTC, last 2026-11-29 03:14 UTC
          at         discount.py:14, average_discount
          release    9c1f2ab
          before     02:58 UTC release 9c1f2ab went live
          template   ZeroDivisionError: division by zero

        Timeline (UTC)
          2026-11-29
          03:00:20   triage: bug
          03:02:00   attempt 1 refused: test weakened

        From outside, redacted
          ```text
          division by zero
          ```

        Said by claude (not evidence)
          ```text
          an order without items
          ```

        Why this signature
          - exception type, message and top frame discount.py average_discount

        Why not merged
          - CI is not known to be green: pending: test
            CI can change it; looked at next 03:15 UTC

        incident c4d81e6fc4d81e6f-1
        ");
    }
}
