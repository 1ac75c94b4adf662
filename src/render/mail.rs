//! Every mail: one function a status. First what is broken for whom, then what was measured, what is a guess, what
//! tick did, what the owner can do, what happens next; ids last. Text from outside stands only in an indented fence.

mod shapes;

pub use shapes::{attempts, waiting};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::page::{Page, count};
use crate::{
    decide::facts::Status,
    model::{
        IncidentId, PullNumber, Sha,
        signal::{Severity, SignalKind},
    },
    text::{Untrusted, fence::code_block, short, times, were},
};

/// Characters of a subject, before it is encoded.
const LONGEST_SUBJECT: usize = 200;

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
    /// What is broken for whom, in front of "since …": `api is down`.
    pub broken: String,
    /// What shows it: the title, or what users feel of it and then the title.
    pub shown: String,
    pub incident: Option<IncidentId>,
    pub now: DateTime<Utc>,
    pub since: Option<DateTime<Utc>>,
    /// The last event.
    pub last: Option<DateTime<Utc>>,
    /// What was measured of each thing that belongs to it, what is felt first.
    pub lines: Vec<Line>,
    /// Things of which no line stands there.
    pub more: usize,
    /// Causes that wait, listed or not.
    pub count: u64,
    /// The decision's own sentence: why this message is sent.
    pub why: String,
    /// What changed before it, one sentence each; empty means that nothing was looked up.
    pub before: Vec<String>,
    /// What changed since it was last seen, one sentence each.
    pub then: Vec<String>,
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
    /// What an inventory lists, or a storm.
    pub entries: Vec<Entry>,
    /// It is the incident of this provider.
    pub provider: Option<String>,
    /// It was over and back so often within a day that this is the last message about it for a while.
    pub flaps: Option<u32>,
    /// The config lets tick ask a model about it, so that a retry can change something.
    pub asks: bool,
    /// Why no model is asked although the mode would.
    pub lacks: Option<String>,
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

/// What was measured of one thing that belongs to an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub title: String,
    pub times: Times,
    pub since: DateTime<Utc>,
    pub how: How,
}

/// How it stands beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Stands,
    /// It was seen then for the last time, and others after it.
    Well(DateTime<Utc>),
    /// It is not looked at any more.
    Unwatched,
}

/// Events of what happens, looks that saw what stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    Events(u64),
    Looks(u64),
}

impl Line {
    /// `home: HTTP 500: in 2 looks since 08:30 UTC`.
    fn words(&self, now: DateTime<Utc>) -> String {
        let times = match self.times {
            Times::Events(n) => times(n),
            Times::Looks(1) => "seen by one look,".to_owned(),
            Times::Looks(n) => format!("in {}", count(n, "look")),
        };
        let how = match self.how {
            How::Stands => String::new(),
            How::Well(last) => format!(", well again after {}", clock(last, now)),
            How::Unwatched => ", no longer watched".to_owned(),
        };
        format!("{}: {times} since {}{how}", self.title, clock(self.since, now))
    }
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
            broken: format!("{slot} fails"),
            shown: title.to_owned(),
            incident: None,
            now,
            since: None,
            last: None,
            lines: Vec::new(),
            more: 0,
            count: 0,
            why: String::new(),
            before: Vec::new(),
            then: Vec::new(),
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
            provider: None,
            flaps: None,
            asks: true,
            lacks: None,
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

    /// `PR #1 (98c4ebf)`.
    fn landed_words(&self) -> String {
        let merge = self.merge.as_ref().map(|sha| format!(" ({})", sha.short()));
        format!("{}{}", self.pull_words(), merge.unwrap_or_default())
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
            .map(|n| format!(", {} to be expected at the old rate", were(n)))
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
        Status::Inventory => shapes::inventory(words),
        Status::NeedsYou => shapes::needs_you(words),
        Status::DraftReady => shapes::draft_ready(words),
        Status::Merged => shapes::merged(words),
        Status::Resolved => shapes::resolved(words),
        Status::Unconfirmed => shapes::unconfirmed(words),
        Status::TakenBack => shapes::taken_back(words),
        Status::Declined => shapes::declined(words),
        Status::Unwatched => shapes::unwatched(words),
        Status::Budget => shapes::budget(words),
        Status::Blind => shapes::blind(words),
        Status::SeeingAgain => shapes::seeing_again(words),
        Status::GateFault => shapes::gate_fault(),
        Status::Frozen => shapes::frozen(words),
        Status::Overflow => shapes::overflow(words),
        Status::Warning => shapes::warning(words),
    };
    (subject(words, shape.tag), body(words, &shape))
}

fn subject(words: &MailWords, tag: &str) -> String {
    let place = if words.name.is_empty() {
        words.slot.clone()
    } else {
        format!("{}/{}", words.name, words.slot)
    };
    // What users feel stands before the title.
    let open = matches!(words.status, Status::NeedsYou | Status::DraftReady | Status::Budget);
    let felt = open && words.shown.contains(&words.title);
    let what = if felt { &words.shown } else { &words.title };
    // One line, whatever the title holds.
    let what: Vec<&str> = what.split_whitespace().collect();
    let subject = format!("[{place}] {tag}: {}", what.join(" "));
    subject.chars().take(LONGEST_SUBJECT).collect()
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
        page.line(heading(words.status));
        fenced(&mut page, sample);
        page.blank();
    }
    if let Some(guess) = &words.guess {
        page.line(format!("Guess (by the agent {}, not checked)", guess.by));
        fenced(&mut page, &guess.text);
        page.blank();
    }
    let did = words.did.iter().map(|text| sentence(text)).chain([shape.did.clone()]);
    let did = did.filter(|s| !s.is_empty()).enumerate();
    // The first one goes on after "tick did".
    let did: Vec<String> = did
        .map(|(n, text)| if n == 0 { text } else { capital(&text) })
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
    let lines = words.lines.iter().enumerate();
    rows.extend(lines.map(|(n, line)| (if n == 0 { "error" } else { "also" }, line.words(words.now))));
    if words.more > 0 {
        rows.push(("", format!("and {} more", words.more)));
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
    for (label, sentences) in [("before", &words.before), ("since", &words.then)] {
        let sentences = sentences.iter().enumerate();
        rows.extend(sentences.map(|(n, text)| (if n == 0 { label } else { "" }, text.clone())));
    }
    if rows.is_empty() {
        return;
    }
    page.line("Measured");
    for (label, text) in rows {
        page.hanging(&format!("  {label}"), COLUMN, &text);
    }
    page.blank();
}

/// A line as long as fits several rows of a screen.
fn cut(line: &str) -> String {
    short(line, LINE_CHARS)
}

/// What a source or the gate says of itself is partly our own.
const fn heading(status: Status) -> &'static str {
    match status {
        Status::Blind | Status::GateFault => "In detail, with words from outside, redacted",
        Status::Inventory
        | Status::NeedsYou
        | Status::DraftReady
        | Status::Merged
        | Status::Resolved
        | Status::Unconfirmed
        | Status::TakenBack
        | Status::Declined
        | Status::Unwatched
        | Status::Budget
        | Status::SeeingAgain
        | Status::Frozen
        | Status::Overflow
        | Status::Warning => "From outside, redacted",
    }
}

/// The only place of a mail where text from outside stands.
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

/// What is broken for whom, without since when.
pub fn broken(slot: &str, kind: SignalKind, severity: Severity) -> String {
    match kind {
        SignalKind::Health | SignalKind::Probe if severity >= Severity::Critical => format!("{slot} is down"),
        SignalKind::Health | SignalKind::Probe => format!("{slot} is not well"),
        SignalKind::Deploy if severity >= Severity::Critical => format!("nothing serves {slot}"),
        SignalKind::Deploy => format!("{slot} cannot be deployed"),
        SignalKind::Ci => format!("the default branch of {slot} is red"),
        SignalKind::Exception | SignalKind::Log => format!("{slot} fails"),
        SignalKind::Session | SignalKind::Task | SignalKind::Alert => format!("{slot} raises an alert"),
    }
}

fn sentence(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{}.", text.trim_end_matches('.'))
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + chars.as_str()
    })
}

#[cfg(test)]
pub(crate) mod tests;
