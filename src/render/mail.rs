//! Every mail: one function a status. First what is broken for whom, then what was measured, what is a guess, what
//! tick did, what the owner can do, what happens next; ids last. Text from outside stands only in an indented fence.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::page::{Page, count};
use crate::{
    decide::facts::Status,
    model::{IncidentId, PullNumber, Sha},
    text::{Untrusted, fence::code_block},
};

/// Column of the texts behind `tick did`, `You can` and `Next`.
const COLUMN: usize = 12;
/// Letters of one line of a sample.
const LINE_CHARS: usize = 400;
/// Lines of a sample from outside; the rest is behind `tick show`.
const SAMPLE_LINES: usize = 12;

/// Everything a mail can say. What does not apply stays empty and is not mentioned.
#[derive(Debug, Clone)]
pub struct MailWords {
    pub status: Status,
    /// Word of the owner's before the slot, such as `acme`; may be empty.
    pub name: String,
    /// The repo, or the source for `blind`, `seeing-again` and `gate-fault`.
    pub slot: String,
    /// The cause in one line, from our own template.
    pub title: String,
    pub incident: Option<IncidentId>,
    pub now: DateTime<Utc>,
    pub since: Option<DateTime<Utc>>,
    /// Events so far.
    pub count: u64,
    /// The decision's own sentence: why this message is sent.
    pub why: String,
    /// File, line and function that the cause points at.
    pub culprit: Option<String>,
    /// What changed before it, one sentence each; empty means that nothing was looked up.
    pub before: Vec<String>,
    /// Further measured facts: a word and a sentence.
    pub measured: Vec<(String, String)>,
    pub sample: Option<Untrusted>,
    pub guess: Option<Guess>,
    pub pull: Option<PullLine>,
    pub merge: Option<Sha>,
    pub release: Option<Sha>,
    /// Events after the merge, and how many were to be expected at the rate before it.
    pub seen: u64,
    pub expected: Option<f64>,
    /// Requests that the release served since, where the source tells it.
    pub requests: Option<u64>,
    /// What tick did, one sentence each, beside what the status says already.
    pub did: Vec<String>,
    /// When tick looks next, where that is known.
    pub next_look: Option<DateTime<Utc>>,
    /// What an inventory lists.
    pub entries: Vec<Entry>,
}

/// What an agent said about the cause. Never evidence.
#[derive(Debug, Clone)]
pub struct Guess {
    pub by: String,
    pub text: Untrusted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullLine {
    pub number: PullNumber,
    pub url: String,
}

/// One cause of an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The first eight digits of its signature.
    pub short: String,
    pub title: String,
    pub count: u64,
}

impl MailWords {
    pub fn new(status: Status, slot: &str, title: &str, now: DateTime<Utc>) -> Self {
        Self {
            status,
            name: String::new(),
            slot: slot.to_owned(),
            title: title.to_owned(),
            incident: None,
            now,
            since: None,
            count: 0,
            why: String::new(),
            culprit: None,
            before: Vec::new(),
            measured: Vec::new(),
            sample: None,
            guess: None,
            pull: None,
            merge: None,
            release: None,
            seen: 0,
            expected: None,
            requests: None,
            did: Vec::new(),
            next_look: None,
            entries: Vec::new(),
        }
    }

    fn short(&self) -> Option<String> {
        self.incident.as_ref().map(|id| id.signature().short().to_owned())
    }

    fn pull_words(&self) -> String {
        self.pull
            .as_ref()
            .map_or_else(|| "the pull request".to_owned(), |pull| format!("PR {}", pull.number))
    }

    fn merge_words(&self) -> String {
        self.merge
            .as_ref()
            .map_or_else(|| "the merge".to_owned(), |sha| format!("merge {}", sha.short()))
    }

    fn look_words(&self) -> String {
        self.next_look.map_or_else(
            || "at the next tick".to_owned(),
            |at| format!("at {}", clock(at, self.now)),
        )
    }

    /// `0 seen in 240 requests, 19 were to be expected at the old rate`.
    fn outcome_words(&self) -> String {
        let requests = self
            .requests
            .map(|n| format!(" in {}", count(n, "request")))
            .unwrap_or_default();
        let expected = self
            .expected
            .map(|n| format!(", {n:.0} were to be expected at the old rate"))
            .unwrap_or_default();
        format!("{} seen{requests}{expected}", self.seen)
    }
}

/// What each status says in its own words.
struct Shape {
    tag: &'static str,
    lead: String,
    did: String,
    can: String,
    next: String,
}

/// Subject and body.
pub fn mail(words: &MailWords) -> (String, String) {
    let shape = match words.status {
        Status::Inventory => inventory(words),
        Status::NeedsYou => needs_you(words),
        Status::DraftReady => draft_ready(words),
        Status::Merged => merged(words),
        Status::Resolved => resolved(words),
        Status::Unconfirmed => unconfirmed(words),
        Status::TakenBack => taken_back(words),
        Status::Declined => declined(words),
        Status::Budget => budget(words),
        Status::Blind => blind(words),
        Status::SeeingAgain => seeing_again(words),
        Status::GateFault => gate_fault(words),
        Status::Frozen => frozen(words),
    };
    (subject(words, shape.tag), body(words, &shape))
}

fn subject(words: &MailWords, tag: &str) -> String {
    let place = if words.name.is_empty() {
        words.slot.clone()
    } else {
        format!("{}/{}", words.name, words.slot)
    };
    format!("[{place}] {tag}: {}", words.title)
}

fn body(words: &MailWords, shape: &Shape) -> String {
    let mut page = Page::default();
    page.paragraph(&shape.lead);
    if let Some(pull) = &words.pull {
        page.line(pull.url.clone());
    }
    page.blank();
    measured(&mut page, words);
    for entry in &words.entries {
        page.hanging(
            &format!("  {}", entry.short),
            COLUMN,
            &format!("{} ({})", entry.title, count(entry.count, "event")),
        );
    }
    page.blank();
    if let Some(sample) = &words.sample {
        page.line("From outside, redacted");
        fenced(&mut page, sample);
        page.blank();
    }
    if let Some(guess) = &words.guess {
        page.line(format!("Guess (by the agent {}, not checked)", guess.by));
        fenced(&mut page, &guess.text);
        page.blank();
    }
    let did: Vec<&str> = words
        .did
        .iter()
        .map(String::as_str)
        .chain([shape.did.as_str()])
        .filter(|s| !s.is_empty())
        .collect();
    for (label, text) in [
        ("tick did", did.join(" ")),
        ("You can", shape.can.clone()),
        ("Next", shape.next.clone()),
    ] {
        if !text.is_empty() {
            page.hanging(label, COLUMN, &text);
        }
    }
    if let Some(short) = words.short() {
        page.blank();
        page.hanging("details", COLUMN, &format!("tick show {short}"));
        if words.status == Status::NeedsYou {
            page.hanging(
                "snooze",
                COLUMN,
                &format!("tick ignore {short} --for 2h --why \"known, fixing\""),
            );
        }
    }
    page.finish()
}

fn measured(page: &mut Page, words: &MailWords) {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if words.count > 0 {
        let place = words.culprit.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let since = words
            .since
            .map(|at| format!(" since {}", clock(at, words.now)))
            .unwrap_or_default();
        rows.push((
            "error",
            format!("{}{place}: {}{since}", words.title, count(words.count, "time")),
        ));
    }
    if let Some(release) = &words.release {
        rows.push(("release", format!("{} was serving", release.short())));
    }
    rows.extend(
        words
            .measured
            .iter()
            .map(|(label, text)| (label.as_str(), text.clone())),
    );
    rows.extend(
        words
            .before
            .iter()
            .enumerate()
            .map(|(n, text)| (if n == 0 { "before" } else { "" }, text.clone())),
    );
    if rows.is_empty() {
        return;
    }
    page.line("Measured");
    for (label, text) in rows {
        page.hanging(&format!("  {label}"), COLUMN, &text);
    }
    page.blank();
}

/// The only place of a mail where text from outside stands.
/// A line as long as fits several rows of a screen.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        None => line.to_owned(),
        Some((at, _)) => format!("{}…", &line[..at]),
    }
}

fn fenced(page: &mut Page, text: &Untrusted) {
    let block = code_block(text);
    let lines: Vec<&str> = block.lines().collect();
    let (first, rest) = lines.split_first().unwrap_or((&"```", &[]));
    let (last, inner) = rest.split_last().unwrap_or((&"```", &[]));
    page.line(format!("  {first}"));
    for line in inner.iter().take(SAMPLE_LINES) {
        page.line(format!("  {}", cut(line)));
    }
    if inner.len() > SAMPLE_LINES {
        page.line(format!(
            "  … {}",
            count((inner.len() - SAMPLE_LINES) as u64, "more line")
        ));
    }
    page.line(format!("  {last}"));
}

/// `05:10 UTC`, with the date on another day than today.
fn clock(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at.date_naive() == now.date_naive() {
        at.format("%H:%M UTC").to_string()
    } else {
        at.to_rfc3339_opts(SecondsFormat::Secs, true)
            .replace('T', " ")
            .replace('Z', " UTC")
    }
}

/// `21 minutes`, `3 hours`, `2 days`.
pub(super) fn duration(span: TimeDelta) -> String {
    let minutes = u64::try_from(span.num_minutes()).unwrap_or(0);
    match minutes {
        0..120 => count(minutes, "minute"),
        120..2880 => count(minutes / 60, "hour"),
        _ => count(minutes / 1440, "day"),
    }
}

fn since_words(words: &MailWords) -> String {
    words
        .since
        .map(|at| format!(" since {}", clock(at, words.now)))
        .unwrap_or_default()
}

fn inventory(words: &MailWords) -> Shape {
    Shape {
        tag: "first look",
        lead: if words.entries.is_empty() {
            format!("{} is looked at from now on. Nothing is wrong there.", words.slot)
        } else {
            format!(
                "{} is looked at from now on. {} there already and {} stored as known.",
                words.slot,
                match words.entries.len() {
                    1 => "1 cause stands".to_owned(),
                    n => format!("{n} causes stand"),
                },
                if words.entries.len() == 1 { "is" } else { "are" }
            )
        },
        did: "wrote this list. No model was called and no pull request is opened for what stood before.".to_owned(),
        can: if words.entries.is_empty() {
            String::new()
        } else {
            "hand one of them to repair: tick retry ID".to_owned()
        },
        next: "a message when something new breaks, or when one of these gets worse.".to_owned(),
    }
}

fn needs_you(words: &MailWords) -> Shape {
    let pull = words.pull.is_some();
    Shape {
        tag: "needs you",
        lead: format!("{} needs you{}: {}.", words.slot, since_words(words), words.why),
        did: if pull {
            format!(
                "opened {} with what it has; it will not merge it by itself.",
                words.pull_words()
            )
        } else {
            "nothing to the code.".to_owned()
        },
        can: match (pull, words.short()) {
            (true, Some(short)) => format!(
                "merge or close {}, push to its branch (it is then yours), or let tick merge it once CI is green: tick approve {short}",
                words.pull_words()
            ),
            (false, Some(short)) => format!("mend it yourself, or let tick try again: tick retry {short}"),
            (_, None) => "look at it; tick status says where it stands.".to_owned(),
        },
        next: format!(
            "you move. tick looks again {} and says so when it is over.",
            words.look_words()
        ),
    }
}

fn draft_ready(words: &MailWords) -> Shape {
    Shape {
        tag: "draft ready",
        lead: format!(
            "A fix for {} waits for you: {} ({}).",
            words.slot,
            words.pull_words(),
            words.why
        ),
        did: "wrote, proved and audited it; it does not merge it by itself.".to_owned(),
        can: format!(
            "merge or close {}; closing means that there is no second one for this cause.",
            words.pull_words()
        ),
        next: "nothing, until you merge or close it.".to_owned(),
    }
}

fn merged(words: &MailWords) -> Shape {
    Shape {
        tag: "merged",
        lead: format!(
            "A fix for {} is merged ({}, {}): {}.",
            words.slot,
            words.pull_words(),
            words.merge_words(),
            words.why
        ),
        did: "merged exactly the commit that was proven and audited.".to_owned(),
        can: "see that the release goes out, or revert the merge; that counts as your no.".to_owned(),
        next: format!(
            "the watch begins when it serves traffic; tick looks again {}.",
            words.look_words()
        ),
    }
}

fn resolved(words: &MailWords) -> Shape {
    let by_us = words.merge.is_some();
    let lasted = words
        .since
        .map(|at| format!(", after {}", duration(words.now - at)))
        .unwrap_or_default();
    Shape {
        tag: if by_us { "fixed" } else { "over" },
        lead: format!("{} is well again{lasted}: {}.", words.slot, words.outcome_words()),
        did: if by_us {
            format!(
                "merged {} as {} and watched the release.",
                words.pull_words(),
                words.merge_words()
            )
        } else {
            format!("nothing to the code: {}.", words.why)
        },
        can: String::new(),
        next: "nothing is left to do.".to_owned(),
    }
}

fn unconfirmed(words: &MailWords) -> Shape {
    Shape {
        tag: "unconfirmed",
        lead: format!(
            "The fix in {} stands, but nothing shows that it works: {}.",
            words.slot,
            words.outcome_words()
        ),
        did: format!(
            "merged {} as {}. {}",
            words.pull_words(),
            words.merge_words(),
            sentence(&words.why)
        ),
        can: "try the case that failed by hand.".to_owned(),
        next: "this is not counted as a success; if the error comes back it is a new incident.".to_owned(),
    }
}

fn taken_back(words: &MailWords) -> Shape {
    Shape {
        tag: "taken back",
        lead: format!("tick took its own change of {} back: {}.", words.slot, words.why),
        did: format!(
            "reverted {} through {}. The repo falls back to drafts.",
            words.merge_words(),
            words.pull_words()
        ),
        can: match words.short() {
            Some(short) => {
                format!("look at both proofs: tick show {short}. There is no second automatic merge for this cause.")
            }
            None => "look at both proofs.".to_owned(),
        },
        next: "you move; the first error stands again and needs a person.".to_owned(),
    }
}

fn declined(words: &MailWords) -> Shape {
    Shape {
        tag: "declined",
        lead: format!("Your no is noted for {}: {}.", words.slot, words.why),
        did: "closed this incident. There is no second pull request for this cause.".to_owned(),
        can: words
            .short()
            .map_or_else(String::new, |short| format!("change your mind: tick retry {short}")),
        next: "a message only if it gets significantly worse.".to_owned(),
    }
}

fn budget(words: &MailWords) -> Shape {
    Shape {
        tag: "budget",
        lead: format!("Work on {} stopped: {}.", words.slot, words.why),
        did: "spent nothing beyond the limit; what was reached is kept.".to_owned(),
        can: "raise the limit in config.json (tick config explain limits), or mend it yourself.".to_owned(),
        next: format!("tick goes on {}, when the limit allows it.", words.look_words()),
    }
}

fn blind(words: &MailWords) -> Shape {
    Shape {
        tag: "blind",
        lead: format!(
            "{} cannot be read{}: {}. That is not counted as healthy.",
            words.slot,
            since_words(words),
            words.why
        ),
        did: "called no model: nothing is known to be broken.".to_owned(),
        can: "mend the access, then: tick collect".to_owned(),
        next: "every tick tries again; one message when it is seen again.".to_owned(),
    }
}

fn seeing_again(words: &MailWords) -> Shape {
    let lasted = words
        .since
        .map(|at| format!(" after {}", duration(words.now - at)))
        .unwrap_or_default();
    Shape {
        tag: "seen again",
        lead: format!("{} is read again{lasted}.", words.slot),
        did: String::new(),
        can: String::new(),
        next: "what happened in between is looked at as far back as the source keeps it.".to_owned(),
    }
}

fn gate_fault(words: &MailWords) -> Shape {
    Shape {
        tag: "gate fault",
        lead: format!(
            "The gate could not decide: {}. Until it can, no tick counts as healthy.",
            words.why
        ),
        did: "kept the snapshot; nothing new is triaged, what is open goes on.".to_owned(),
        can: "mend collectors/gate.jq, or remove it to use the one in the program; then: tick gate".to_owned(),
        next: "every tick tries again.".to_owned(),
    }
}

fn frozen(words: &MailWords) -> Shape {
    Shape {
        tag: "merges frozen",
        lead: format!("What landed in {} is not what was tested: {}.", words.slot, words.why),
        did: "froze all merges. It reverts nothing until you have looked.".to_owned(),
        can: "compare the landed commit with the tested one, then: tick resume".to_owned(),
        next: "you move; tick keeps watching and merges nothing.".to_owned(),
    }
}

fn sentence(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{}.", text.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests;
