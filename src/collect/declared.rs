//! Declared collectors: a request file and a jq program that turns the raw answer into signals. Two files, no compiler.
//! The program's results are checked field by field; what does not fit the shape is a failure of the collector.

use std::{borrow::Cow, fs, io, path::Path};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{
    context::{Blind, Piece, Place, Session},
    declared_fetch::List,
    declared_spec::{Asked, Spec},
    memory::is_due,
};
use crate::{
    config::{DeclaredUse, read_plain},
    model::{
        Sha,
        signal::{OutcomeKind, Severity, Signal, SignalKind},
    },
    text::{clean, jq::Program, signature},
};

/// Signals of one look that are kept; a source with more has one message to send, not thousands.
const MOST_SIGNALS: usize = 2000;
const LONGEST_TEXT: usize = 16 * 1024;

/// A collector that is compiled in.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    pub name: &'static str,
    pub request: &'static str,
    pub program: &'static str,
}

const SHIPPED: [Shipped; 3] = [
    Shipped {
        name: "alertmanager",
        request: include_str!("../../collectors/alertmanager.json"),
        program: include_str!("../../collectors/alertmanager.jq"),
    },
    Shipped {
        name: "exceptions",
        request: include_str!("../../collectors/exceptions.json"),
        program: include_str!("../../collectors/exceptions.jq"),
    },
    Shipped {
        name: "sentry",
        request: include_str!("../../collectors/sentry.json"),
        program: include_str!("../../collectors/sentry.jq"),
    },
];

/// The collectors in the binary.
pub fn shipped() -> &'static [Shipped] {
    &SHIPPED
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>, used: &DeclaredUse) -> Piece {
    let facts = session.ctx.sources.get(&place.key());
    let last = facts.and_then(|facts| facts.last_ok_at);
    if !is_due(used.every, last, session.ctx.now) {
        return place.piece(OutcomeKind::Skipped);
    }
    let cursor = facts.and_then(|facts| facts.cursor.as_deref());
    let since = cursor.and_then(|cursor| cursor.parse().ok()).or(last);
    match look(session, &place, used, since).await {
        Ok(piece) => piece,
        Err(blind) => place.failed(&blind.cause, &session.line(&blind.detail, 400)),
    }
}

/// Whether the two files of a collector fit each other and what the config gives them.
pub fn check(collectors: &Path, used: &DeclaredUse, now: DateTime<Utc>) -> Result<(), String> {
    let files = Files::find(collectors, &used.collector).map_err(|blind| blind.detail)?;
    let spec = Spec::parse(&files.request)?;
    spec.prepare(&Asked {
        used,
        since: now,
        until: now,
        deep: false,
    })?;
    Program::compile(&files.program).map_err(|fault| format!("{}.jq: {fault}", used.collector))?;
    Ok(())
}

async fn look(
    session: &Session<'_>,
    place: &Place<'_>,
    used: &DeclaredUse,
    since: Option<DateTime<Utc>>,
) -> Result<Piece, Blind> {
    let files = Files::find(&session.ctx.config.home.collectors, &used.collector)?;
    let config = |why: String| Blind::new("collector-config", format!("collector {}: {why}", used.collector));
    let spec = Spec::parse(&files.request).map_err(config)?;
    let until = session.ctx.clock.now() - spec.settle();
    let asked = Asked {
        used,
        since: since.unwrap_or(session.ctx.now - spec.first_look()),
        until,
        deep: session.ctx.deep,
    };
    if spec.windowed && asked.since >= until {
        return Ok(place.piece(OutcomeKind::Skipped));
    }
    let list = List {
        session,
        spec: &spec,
        asked,
        prepared: spec.prepare(&asked).map_err(config)?,
    };
    let judge = async |body: Vec<u8>| files.report(session, &used.collector, &body).await;
    let body = list.read().await?;
    let (reports, missed) = match &spec.detail {
        None => (vec![judge(body).await?], Vec::new()),
        Some(detail) => list.each(&body, detail, judge).await?,
    };
    let mut piece = place.piece(OutcomeKind::Ok);
    fill(&mut piece, session, place, &list, reports, &missed);
    if piece.outcome.outcome != OutcomeKind::Failed {
        piece.cursor = Some(until.to_rfc3339());
    }
    Ok(piece)
}

fn fill(
    piece: &mut Piece,
    session: &Session<'_>,
    place: &Place<'_>,
    list: &List<'_>,
    reports: Vec<Report>,
    missed: &[Blind],
) {
    let mut items = Vec::new();
    for report in reports {
        let release = report.release_sha.as_deref().and_then(|sha| Sha::parse(sha).ok());
        piece.outcome.release_sha = release.or(piece.outcome.release_sha.take());
        piece.outcome.requests = report.requests.or(piece.outcome.requests);
        items.extend(report.signals);
    }
    piece.settle(items.len(), missed);
    piece.outcome.detail = session.line(&piece.outcome.detail, 400);
    if items.len() > MOST_SIGNALS {
        piece.outcome.outcome = OutcomeKind::Degraded;
        "too-many".clone_into(&mut piece.outcome.cause);
        piece.outcome.detail = format!("{} signals, of which {MOST_SIGNALS} are kept", items.len());
    }
    let release = piece.outcome.release_sha.clone();
    piece.signals = items
        .into_iter()
        .take(MOST_SIGNALS)
        .map(|item| item.into_signal(session, place, list, release.as_ref()))
        .collect();
}

/// The two files of a collector: from the home where they stand, else from the binary.
struct Files {
    request: Cow<'static, str>,
    program: Cow<'static, str>,
    /// Known text may run in this process.
    program_shipped: bool,
}

impl Files {
    fn find(dir: &Path, name: &str) -> Result<Self, Blind> {
        let fits = !name.is_empty()
            && name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !fits {
            return Err(Blind::new(
                "collector-config",
                format!("{name:?} is not the name of a collector"),
            ));
        }
        let known = SHIPPED.iter().find(|shipped| shipped.name == name);
        let pick = |end: &str, text: Option<&'static str>| match read(&dir.join(format!("{name}.{end}"))) {
            Ok(own) => Ok(Cow::Owned(own)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => text.map(Cow::Borrowed).ok_or_else(|| {
                let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
                let why = format!(
                    "collectors/{name}.{end} does not exist; shipped are {}",
                    names.join(", ")
                );
                Blind::new("collector-config", why)
            }),
            Err(error) => Err(Blind::new(
                "collector-config",
                format!("collectors/{name}.{end} cannot be read: {error}"),
            )),
        };
        let request = pick("json", known.map(|k| k.request))?;
        let program = pick("jq", known.map(|k| k.program))?;
        Ok(Self {
            program_shipped: known.is_some_and(|k| k.program == program),
            request,
            program,
        })
    }

    /// What the program makes of an answer.
    async fn report(&self, session: &Session<'_>, name: &str, body: &[u8]) -> Result<Report, Blind> {
        let results = session
            .jq(&self.program, self.program_shipped, body)
            .await
            .map_err(|why| Blind::new("jq", format!("{name}.jq: {why}")))?;
        Report::read(results).map_err(|why| Blind::new("shape", format!("{name}.jq: {why}")))
    }
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > 64 * 1024 {
        return Err(io::Error::other("it is larger than 64 KiB"));
    }
    read_plain(path)
}

/// What a program may give: this object, or only the list of signals.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    #[serde(default)]
    release_sha: Option<String>,
    #[serde(default)]
    requests: Option<u64>,
    signals: Vec<Item>,
}

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
    #[serde(default)]
    signature_text: Option<String>,
    /// Short facts for people.
    #[serde(default)]
    evidence: std::collections::BTreeMap<String, Value>,
}

impl Report {
    fn read(mut results: Vec<Value>) -> Result<Self, String> {
        let n = results.len();
        let (Some(result), 1) = (results.pop(), n) else {
            return Err(format!("the program must give one result and gives {n}"));
        };
        match result {
            Value::Array(_) => Ok(Self {
                release_sha: None,
                requests: None,
                signals: serde_json::from_value(result).map_err(|error| error.to_string())?,
            }),
            other => serde_json::from_value(other).map_err(|error| error.to_string()),
        }
    }
}

impl Item {
    fn into_signal(self, session: &Session<'_>, place: &Place<'_>, list: &List<'_>, release: Option<&Sha>) -> Signal {
        let (now, spec) = (session.ctx.now, list.spec);
        let text = self.signature_text.as_deref().unwrap_or(if self.message.is_empty() {
            &self.title
        } else {
            &self.message
        });
        let signed = signature(&clean(&text.chars().take(LONGEST_TEXT).collect::<String>()));
        let last_seen = self.last_seen.unwrap_or(now);
        let first_seen = self.first_seen.unwrap_or(last_seen);
        let (first_seen, last_seen) = if spec.windowed {
            let within = |time: DateTime<Utc>| time.clamp(list.asked.since, list.asked.until);
            (within(first_seen), within(last_seen))
        } else {
            (first_seen, last_seen)
        };
        let evidence = self.evidence.into_iter().map(|(key, value)| {
            let value = match value {
                Value::String(text) => Value::String(session.line(&text, 300)),
                Value::Null | Value::Bool(_) | Value::Number(_) => value,
                Value::Array(_) | Value::Object(_) => Value::String(session.line(&value.to_string(), 300)),
            };
            (session.line(&key, 60), value)
        });
        let mut evidence: serde_json::Map<String, Value> = evidence.collect();
        // What a program says under this name is no word on what was signed.
        evidence.remove(Signal::SIGNED);
        if text != self.message {
            evidence.insert(Signal::SIGNED.to_owned(), session.text(text, LONGEST_TEXT).into());
        }
        Signal {
            source: place.collector.to_owned(),
            repo: place.repo.slot.clone(),
            target: place.name.to_owned(),
            kind: self.kind.unwrap_or(spec.kind),
            severity: self.severity.unwrap_or(spec.severity),
            title: session.line(&self.title, 200),
            message: session.text(&self.message, LONGEST_TEXT),
            signature: signed.signature,
            count: self.count.unwrap_or(1),
            first_seen,
            last_seen,
            release_sha: self
                .release_sha
                .as_deref()
                .and_then(|sha| Sha::parse(sha).ok())
                .or_else(|| release.cloned()),
            url: self.url.map(|url| session.line(&url, 300)),
            culprit: signed.culprit,
            evidence: evidence.into(),
        }
    }
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;
