//! The pull request: title, body, hidden marker, and the words of the squash commit. Figures come from the harness;
//! what an agent said is named as such and stands in a code block. In a repository that strangers can read nothing
//! from production appears, and nothing that an agent wrote after having seen it.

use std::{fmt::Write as _, time::Duration};

use chrono::{DateTime, Utc};

use super::inert::{block, span, words};
use crate::{
    model::{
        IncidentId, PullNumber, Sha,
        evidence::{Audit, AuditVerdict, Counts, Finding, GuardReport, GuardVerdict, Proof, ProofGrade, UndoOutcome},
        signal::Culprit,
    },
    text::Untrusted,
};

mod marker;
mod proof;
mod revert;
mod sheet;
#[cfg(test)]
pub(crate) mod tests;
mod title;

pub use marker::Marker;
pub use revert::{RevertWords, revert_body, revert_title};
pub use title::{pr_title, squash_message, squash_title};

use sheet::Page;

const LISTED: usize = 20;

/// Who can read the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Team,
    /// Everybody: nothing that came from production appears.
    Strangers,
}

/// What becomes of the pull request.
#[derive(Debug, Clone, Copy)]
pub enum Next<'a> {
    /// `active`: merged on green, then watched for this long.
    Merges { watch: Duration },
    /// `monitor-only`: a draft.
    Draft,
    /// A draft that waits for a decision: why, and the question, in this program's words.
    NeedsPerson { why: &'a str, question: &'a str },
}

/// What was measured about the failure.
#[derive(Debug, Clone, Copy)]
pub struct Broke<'a> {
    /// Class or code of the error, such as `ZeroDivisionError`.
    pub error: Option<&'a str>,
    pub culprit: Option<&'a Culprit>,
    /// Where the repository has no such file, or several.
    pub not_there: Option<&'a str>,
    /// Where users met it, such as `POST /orders`.
    pub place: Option<&'a str>,
    pub count: u64,
    pub requests: Option<u64>,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub release: Option<&'a Sha>,
    pub samples: &'a [Untrusted],
}

/// An earlier attempt of the same incident.
#[derive(Debug, Clone, Copy)]
pub struct Tried<'a> {
    pub n: u32,
    /// What became of it, in this program's words.
    pub why: &'a str,
    pub finding: Option<&'a Finding>,
}

#[derive(Debug, Clone, Copy)]
pub struct PrWords<'a> {
    pub readers: Readers,
    pub next: Next<'a>,
    pub incident: &'a IncidentId,
    pub head: &'a Sha,
    pub base: &'a Sha,
    pub broke: Broke<'a>,
    pub change: &'a GuardReport,
    /// Without one the attempts are told instead.
    pub proof: Option<&'a Proof>,
    pub audit: Option<&'a Audit>,
    /// The commit that it takes back, where no agent wrote it.
    pub takes_back: Option<&'a Sha>,
    /// Agent that wrote the patch.
    pub author: &'a str,
    /// What held that agent: `sandboxed`, or `not sandboxed: …`.
    pub held: &'a str,
    /// What that agent said about it.
    pub said: Option<&'a Untrusted>,
    pub tried: &'a [Tried<'a>],
    /// Which attempt it is, such as `attempt 2 of 2`.
    pub nth: &'a str,
    pub usd: Option<f64>,
    /// What the repository's own rules ask for before a merge, in this program's words.
    pub asks: &'a [String],
    /// Checks that never block.
    pub ignored_checks: &'a [String],
}

pub fn pr_body(words: &PrWords<'_>) -> String {
    let mut page = Page::new(&Marker::fix(words.incident, words.head));
    if let Next::NeedsPerson { why, question: _ } = words.next {
        page.add(format!("**Needs you: {}.**", super::inert::words(why)));
    }
    page.add(broke(words));
    page.add(change(words));
    match words.proof {
        Some(proof) => proof::add(&mut page, words, proof),
        None => page.add(attempts_table(words)),
    }
    if let Next::NeedsPerson { why: _, question } = words.next {
        page.add(format!(
            "**The decision that is yours.** {}",
            super::inert::words(question)
        ));
    }
    if words.proof.is_some() {
        page.add(tried_before(words));
    }
    folded(&mut page, words);
    page.add(next(words));
    page.add(footer(words));
    page.finish()
}

fn broke(words: &PrWords<'_>) -> String {
    let broke = &words.broke;
    let mut line = String::from("**What broke.** ");
    match words.readers {
        Readers::Strangers => line.push_str("A failure in production"),
        Readers::Team => {
            line.push_str(&broke.error.map_or_else(|| "An error".to_owned(), span));
            if let Some(culprit) = broke.culprit {
                let at = culprit.line.map(|l| format!(":{l}")).unwrap_or_default();
                let _ = write!(line, " in {}", span(&format!("{}{at}", culprit.file)));
                if let Some(note) = broke.not_there {
                    let _ = write!(line, " ({note})");
                }
            }
            if let Some(place) = broke.place {
                let _ = write!(line, ", met at {}", span(place));
            }
        }
    }
    let times = if broke.count == 1 {
        "once".to_owned()
    } else {
        format!("{} times", number(broke.count))
    };
    let _ = write!(line, ": {times}");
    if let Some(requests) = broke.requests {
        let _ = write!(line, " in {} requests", number(requests));
    }
    let _ = write!(
        line,
        ", first {} and last {}.",
        minute(broke.since),
        minute(broke.until)
    );
    if let Some(release) = broke.release {
        let _ = write!(line, " Release {} was live.", span(release.short()));
    }
    line
}

fn change(words: &PrWords<'_>) -> String {
    let verb = match words.next {
        Next::Merges { watch: _ } => "changes",
        Next::Draft | Next::NeedsPerson { .. } => "proposes",
    };
    let report = words.change;
    let files = if report.paths.len() == 1 {
        "1 file".to_owned()
    } else {
        format!("{} files", report.paths.len())
    };
    let what = words.takes_back.map_or_else(String::new, |commit| {
        let commit = span(commit.short());
        format!("It takes {commit} back: the tests are green at its parent and red at it. ")
    });
    format!(
        "**What this {verb}.** {what}{files}, +{} −{}: {}.",
        report.added,
        report.removed,
        some_spans(report.paths.iter())
    )
}

/// The first names as spans, and how many more there are.
fn some_spans<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut shown = names.take(LISTED).map(|n| span(n)).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(shown, " and {more} more");
    }
    shown
}

fn attempts_table(words: &PrWords<'_>) -> String {
    let mut table = String::from("| attempt | what became of it | where |\n|---|---|---|\n");
    for tried in words.tried.iter().take(LISTED) {
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            tried.n,
            super::inert::words(tried.why),
            place(tried.finding)
        );
    }
    table
}

fn tried_before(words: &PrWords<'_>) -> String {
    if words.tried.is_empty() {
        return String::new();
    }
    let mut text = String::from("**Tried before.**\n");
    for tried in words.tried.iter().take(LISTED) {
        let _ = write!(text, "\n- attempt {}: {}", tried.n, super::inert::words(tried.why));
        if tried.finding.is_some() {
            let _ = write!(text, ", {}", place(tried.finding));
        }
    }
    text
}

fn place(finding: Option<&Finding>) -> String {
    match finding {
        None => "–".to_owned(),
        Some(f) => format!("{} {}", span(&f.rule), span(&f.place())),
    }
}

/// Details that fold away. For strangers only a sentence says where they are.
fn folded(page: &mut Page, words: &PrWords<'_>) {
    if words.readers == Readers::Strangers {
        page.add(format!(
            "Messages and traces from production are not shown here, since everybody can read this page. \
             The owner sees them with {}.",
            span(&format!("tick show {}", words.incident))
        ));
        return;
    }
    let samples: Vec<String> = words.broke.samples.iter().take(2).map(|s| block(s, 3_000)).collect();
    page.fold("Error, redacted", &samples);
    page.fold("What was refused", &refused(words.tried));
    // One line stands in the table.
    if let Some(proof) = words.proof.filter(|p| p.red.trim().contains('\n')) {
        page.fold("Message of the red run", &[block(&untrusted(&proof.red), 2_000)]);
    }
    if let Some(audit) = words.audit.filter(|a| !a.reasons.is_empty()) {
        page.fold(
            "What the auditor said (not evidence)",
            &[block(&untrusted(&audit.reasons.join("\n")), 3_000)],
        );
    }
    if let Some(said) = words.said {
        page.fold("What the agent said (not evidence)", &[block(said, 4_000)]);
    }
}

/// What stood there and what would have stood there, for each refusal that has lines to show.
fn refused(tried: &[Tried<'_>]) -> Vec<String> {
    let shown = tried
        .iter()
        .filter_map(|t| t.finding)
        .filter(|f| !(f.was.is_empty() && f.is.is_empty()));
    let lines = shown
        .take(LISTED)
        .map(|f| format!("{}\n  was  {}\n  is   {}", f.place(), f.was, f.is));
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        Vec::new()
    } else {
        vec![block(&untrusted(&text), 3_000)]
    }
}

/// Stored texts are redacted already; this only types them as hostile.
fn untrusted(text: &str) -> Untrusted {
    Untrusted::new(text, &crate::text::Redactor::default())
}

fn next(words: &PrWords<'_>) -> String {
    let id = words.incident;
    match words.next {
        Next::Merges { watch } => {
            let mut text = String::from("**What happens next.** ");
            if !words.asks.is_empty() {
                let asks: Vec<String> = words.asks.iter().map(|a| super::inert::words(a)).collect();
                let _ = write!(text, "The repository asks for {}: that comes first. ", asks.join(", "));
            }
            let _ = write!(
                text,
                "When the checks are green, tick squash-merges exactly {}, watches the release for at least {}, and takes \
                 it back if errors rise.\nTo stop it, close this pull request, push to the branch, or add the label \
                 `tick:stop`. Closing is a no: this cause gets no second pull request until `tick retry {id}`.",
                span(words.head.short()),
                span_of(watch)
            );
            text
        }
        Next::Draft => {
            "**What happens next.** Nothing, until you merge or close it. tick watches the release after your \
             merge as after its own. In `active` mode it would merge by itself when the checks are green."
                .to_owned()
        }
        Next::NeedsPerson { .. } => format!(
            "**You can** merge it as it is · push your own change (the branch is yours from then on) · say \
             `tick approve {id}` (tick merges when the checks are green) · close it (no second pull request)."
        ),
    }
}

/// Who ran under which confinement; those that were held alike stand together.
fn held<'a>(words: &PrWords<'a>) -> Vec<(Vec<&'static str>, &'a str)> {
    let runs = [
        ("the tests", words.proof.map_or("", |p| p.sandbox.as_str())),
        ("the agent that wrote it", words.held),
        ("the auditor", words.audit.map_or("", |a| a.sandbox.as_str())),
    ];
    let mut all: Vec<(Vec<&str>, &str)> = Vec::new();
    for (who, how) in runs.into_iter().filter(|(_, how)| !how.is_empty()) {
        match all.iter_mut().find(|(_, same)| *same == how) {
            Some((others, _)) => others.push(who),
            None => all.push((vec![who], how)),
        }
    }
    all
}

fn footer(words: &PrWords<'_>) -> String {
    let mut text = String::new();
    for (who, held) in held(words) {
        let who = upper(&who.join(" and "));
        let _ = writeln!(text, "{who} ran {}.", super::inert::words(held));
    }
    if !words.ignored_checks.is_empty() {
        let _ = writeln!(
            text,
            "Not judged, since the config says so: {}.",
            some_spans(words.ignored_checks.iter())
        );
    }
    let by = match words.takes_back {
        Some(_) => "Made without an agent, checked".to_owned(),
        None => format!("Patch by a coding agent ({}), checked", span(words.author)),
    };
    let _ = write!(
        text,
        "{by} and opened by tick, an unattended maintainer · incident {} · {}",
        span(words.incident.as_str()),
        words.nth
    );
    if let Some(usd) = words.usd {
        let _ = write!(text, " · ${usd:.2}");
    }
    text
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `1,104`.
fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn minute(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

fn span_of(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, m) => format!("{m} minutes"),
        (1, 0) => "an hour".to_owned(),
        (h, 0) => format!("{h} hours"),
        (h, m) => format!("{h} h {m} min"),
    }
}
