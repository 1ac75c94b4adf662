//! The log engine as collectors use it: bytes of a log in, signals out, in constant memory.
//!
//! ```text
//! let mut scan = LogScan::new(session, place).released(sha).url(url);
//! scan.push(&chunk);                  // bytes of any size, cut anywhere; as often as there are some
//! let scanned = scan.finish();
//! piece.signals.extend(scanned.signals);
//! blind.extend(scanned.blind);        // more causes than are told apart
//! ```
//!
//! Entries of an API that carry their own time and level go in by [`LogScan::entry`]. What is pushed needs no cleaning
//! or redaction before.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::context::{Blind, Place, Session};
use crate::{
    model::{
        Sha,
        signal::{Signal, SignalKind},
    },
    text::logs::{Cause, Found, MOST_CAUSES, Reading},
};

/// Of the second and third sample so much goes into the snapshot.
const SHORT_SAMPLE: usize = 1000;

/// One reading of one log.
pub(super) struct LogScan<'a> {
    session: &'a Session<'a>,
    place: Place<'a>,
    reading: Reading,
    kind: SignalKind,
    release_sha: Option<Sha>,
    url: Option<String>,
}

/// What a reading gave.
pub(super) struct Scanned {
    /// One a cause, worst first; cleaned and redacted.
    pub(super) signals: Vec<Signal>,
    /// Said when there were more causes than are told apart.
    pub(super) blind: Option<Blind>,
    /// The last start that was seen; the next reading of this log is given it.
    pub(super) started_at: Option<DateTime<Utc>>,
}

impl<'a> LogScan<'a> {
    pub(super) fn new(session: &'a Session<'a>, place: Place<'a>) -> Self {
        let ctx = session.ctx;
        Self {
            session,
            place,
            reading: Reading::new(&ctx.config.patterns, ctx.redactor, ctx.now),
            kind: SignalKind::Log,
            release_sha: None,
            url: None,
        }
    }

    /// Another kind than a log line's, for logs of CI, deployments and sessions.
    #[must_use]
    pub(super) fn kind(mut self, kind: SignalKind) -> Self {
        self.kind = kind;
        self
    }

    /// When the process started that writes this log: patterns that count only right after a start need it.
    #[must_use]
    pub(super) fn started(mut self, at: Option<DateTime<Utc>>) -> Self {
        self.reading = self.reading.started(at);
        self
    }

    /// The log is read from its first line, which its process wrote when it started.
    #[must_use]
    pub(super) fn whole(mut self) -> Self {
        self.reading = self.reading.whole();
        self
    }

    /// The release that wrote this log.
    #[must_use]
    pub(super) fn released(mut self, sha: Option<Sha>) -> Self {
        self.release_sha = sha;
        self
    }

    /// Where a person reads this log.
    #[must_use]
    pub(super) fn url(mut self, url: Option<&str>) -> Self {
        self.url = url.map(|url| self.session.line(url, 300));
        self
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.reading.push(bytes);
    }

    /// One entry of an API, with the time and level that it carries beside its text (empty: none).
    pub(super) fn entry(&mut self, at: Option<DateTime<Utc>>, level: &str, message: &str) {
        let time = at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
        let line = json!({ "time": time, "level": level, "log": message });
        self.reading.push(format!("{line}\n").as_bytes());
    }

    pub(super) fn finish(self) -> Scanned {
        let Self {
            session,
            place,
            reading,
            kind,
            release_sha,
            url,
        } = self;
        let Found {
            causes,
            overflow,
            started_at,
            lines: _,
            events: _,
            bytes: _,
        } = reading.finish();
        let blind = (overflow.events > 0).then(|| {
            let what = format!(
                "{} events of more than {MOST_CAUSES} causes are counted and not told apart",
                overflow.events
            );
            Blind::new("too-many", what)
        });
        let signal = |cause: Cause| Signal {
            source: place.collector.to_owned(),
            repo: place.repo.slot.clone(),
            target: place.name.to_owned(),
            kind,
            severity: cause.severity,
            title: cause.title.clone(),
            message: cause.samples.first().unwrap_or(&cause.title).clone(),
            count: cause.count,
            first_seen: cause.first_seen,
            last_seen: cause.last_seen,
            release_sha: release_sha.clone(),
            url: url.clone(),
            evidence: evidence(&cause, session),
            signature: cause.signature,
            culprit: cause.culprit,
        };
        Scanned {
            signals: causes.into_iter().map(signal).collect(),
            blind,
            started_at,
        }
    }
}

fn evidence(cause: &Cause, session: &Session<'_>) -> serde_json::Value {
    let more: Vec<String> = cause
        .samples
        .iter()
        .skip(1)
        .map(|sample| session.text(sample, SHORT_SAMPLE))
        .collect();
    json!({
        "pattern": cause.pattern,
        "alert": cause.alert,
        "about": cause.kind.word(),
        "label": cause.label,
        "samples": more,
    })
}
