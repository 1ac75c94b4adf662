//! What a program of the owner's may report, be it the jq program of a declared collector or an executable: a list of
//! signals, or an object that holds one. Checked field by field; what does not fit the shape is a failure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::context::{Blind, Piece, Place, Session};
use crate::{
    model::{
        Sha,
        signal::{Change, ChangeKind, OutcomeKind, Severity, Signal, SignalKind},
    },
    text::{
        clean,
        signature::{self, sign},
    },
};

/// Signals of one look that are kept; a source with more has one message to send, not thousands.
pub(super) const MOST_SIGNALS: usize = 2000;
const MOST_CHANGES: usize = 500;
const LONGEST_TEXT: usize = 16 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    /// The release that serves.
    #[serde(default)]
    release_sha: Option<String>,
    /// Requests that were served since the last look.
    #[serde(default)]
    requests: Option<u64>,
    signals: Vec<Item>,
    #[serde(default)]
    changes: Vec<Changed>,
}

/// A signal without what tick computes itself: source, repo, target, signature, culprit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    title: String,
    message: String,
    #[serde(default)]
    kind: Option<SignalKind>,
    #[serde(default)]
    severity: Option<Severity>,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    first_seen: Option<DateTime<Utc>>,
    #[serde(default)]
    last_seen: Option<DateTime<Utc>>,
    #[serde(default)]
    release_sha: Option<String>,
    #[serde(default)]
    url: Option<String>,
    /// What tells causes apart, where that is not the message.
    #[serde(default)]
    signature_text: Option<String>,
    /// A name by which it is known and of which nothing is masked.
    #[serde(default)]
    identity: Option<String>,
    /// What it has in common with others that are one message when they are there at once, such as one alert on several hosts.
    #[serde(default)]
    family: Option<String>,
    /// Short facts for people.
    #[serde(default)]
    evidence: BTreeMap<String, Value>,
}

/// Something that changed, without what tick knows itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    at: DateTime<Utc>,
    kind: ChangeKind,
    key: String,
    what: String,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

impl Report {
    pub(super) fn read(result: Value) -> Result<Self, String> {
        let report = match result {
            Value::Array(_) => serde_json::from_value(result).map(|signals| Self {
                release_sha: None,
                requests: None,
                signals,
                changes: Vec::new(),
            }),
            other => serde_json::from_value(other),
        };
        report.map_err(|error| error.to_string())
    }

    /// Says of every signal who reported it.
    pub(super) fn mark(&mut self, key: &str, value: &str) {
        for item in &mut self.signals {
            item.evidence.insert(key.to_owned(), value.into());
        }
    }
}

/// Where and how reports are read.
pub(super) struct Reading<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) place: &'a Place<'a>,
    /// Of signals that do not say their own.
    pub(super) kind: SignalKind,
    pub(super) severity: Severity,
    /// First and last sight are cut to it.
    pub(super) window: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

impl Reading<'_> {
    /// Everything of the reports, and what could not be read; `read` is how many sources could be, which counts where there are fewer signals.
    pub(super) fn fill(&self, piece: &mut Piece, reports: Vec<Report>, missed: &[Blind], read: usize) {
        let (mut items, mut changes) = (Vec::new(), Vec::new());
        for report in reports {
            let release = sha(report.release_sha.as_deref());
            piece.outcome.release_sha = release.or(piece.outcome.release_sha.take());
            piece.outcome.requests = report.requests.or(piece.outcome.requests);
            items.extend(report.signals);
            changes.extend(report.changes);
        }
        piece.settle(items.len().max(read), missed);
        piece.outcome.detail = self.session.line(&piece.outcome.detail, 400);
        if items.len() > MOST_SIGNALS {
            piece.outcome.outcome = OutcomeKind::Degraded;
            "too-many".clone_into(&mut piece.outcome.cause);
            piece.outcome.blind_parts.clear();
            piece.outcome.detail = format!("{} signals, of which {MOST_SIGNALS} are kept", items.len());
        }
        let release = piece.outcome.release_sha.clone();
        let kept = items.into_iter().take(MOST_SIGNALS);
        piece.signals = kept.map(|item| self.signal(item, release.as_ref())).collect();
        let kept = changes.into_iter().take(MOST_CHANGES);
        piece.changes = kept.map(|change| self.change(change)).collect();
    }

    fn signal(&self, item: Item, release: Option<&Sha>) -> Signal {
        let (session, place) = (self.session, self.place);
        let text = item.signature_text.as_deref().unwrap_or(if item.message.is_empty() {
            &item.title
        } else {
            &item.message
        });
        let name = |text: &str| session.text(text, LONGEST_TEXT);
        let family = item.family.as_deref().map(name);
        // One of a family without a name of its own is known by its title.
        let own = item.identity.as_ref().or(family.as_ref().map(|_| &item.title));
        let exact = own.map(|own| signature::exact(family.as_deref(), &name(own)));
        let signed = match &exact {
            Some(exact) => sign(exact),
            None => signature::signature(&clean(&text.chars().take(LONGEST_TEXT).collect::<String>())),
        };
        let last_seen = item.last_seen.unwrap_or(session.ctx.now);
        let first_seen = item.first_seen.unwrap_or(last_seen);
        let within = |time: DateTime<Utc>| self.window.map_or(time, |(from, to)| time.clamp(from, to));
        let mut evidence = self.evidence(item.evidence);
        if let Some(exact) = exact {
            evidence.insert(Signal::SIGNED.to_owned(), exact.into());
        } else if text != item.message {
            evidence.insert(Signal::SIGNED.to_owned(), session.text(text, LONGEST_TEXT).into());
        }
        Signal {
            source: place.collector.to_owned(),
            repo: place.repo.slot.clone(),
            target: place.name.to_owned(),
            kind: item.kind.unwrap_or(self.kind),
            severity: item.severity.unwrap_or(self.severity),
            title: session.line(&item.title, 200),
            message: session.text(&item.message, LONGEST_TEXT),
            signature: signed.signature,
            count: item.count.unwrap_or(1),
            first_seen: within(first_seen),
            last_seen: within(last_seen),
            release_sha: sha(item.release_sha.as_deref()).or_else(|| release.cloned()),
            url: item.url.map(|url| session.line(&url, 300)),
            culprit: signed.culprit,
            evidence: evidence.into(),
        }
    }

    fn evidence(&self, given: BTreeMap<String, Value>) -> serde_json::Map<String, Value> {
        let session = self.session;
        let evidence = given.into_iter().map(|(key, value)| {
            let field = |text: &str| Value::String(session.field(&key, text, 300));
            let value = match value {
                Value::String(text) => field(&text),
                Value::Null | Value::Bool(_) => value,
                // A number may be somebody's, or open a door.
                Value::Number(number) => match field(&number.to_string()) {
                    Value::String(text) if text == number.to_string() => Value::Number(number),
                    redacted => redacted,
                },
                Value::Array(_) | Value::Object(_) => field(&value.to_string()),
            };
            (session.line(&key, 60), value)
        });
        let mut evidence: serde_json::Map<String, Value> = evidence.collect();
        // What a program says under this name is no word on what was signed.
        evidence.remove(Signal::SIGNED);
        evidence
    }

    fn change(&self, changed: Changed) -> Change {
        let (session, place) = (self.session, self.place);
        Change {
            at: changed.at,
            repo: place.repo.slot.clone(),
            target: place.name.to_owned(),
            source: place.collector.to_owned(),
            kind: changed.kind,
            key: session.line(&changed.key, 200),
            what: session.line(&changed.what, 300),
            sha: sha(changed.sha.as_deref()),
            url: changed.url.map(|url| session.line(&url, 300)),
        }
    }
}

fn sha(text: Option<&str>) -> Option<Sha> {
    text.and_then(|text| Sha::parse(text).ok())
}
