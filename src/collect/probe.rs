//! What the probes of a target have in common, whatever they ask: headers, sampling again while one is down, names in what
//! they say, the signal of a failing one.

use std::time::Duration;

use http::{HeaderName, header};
use serde_json::Value;
use url::Url;

use super::{
    context::{Blind, Place, Reached, Session},
    health_rules::{Down, Verdict, way},
};
use crate::{
    adapters::{
        clock::instant,
        http::{HttpFailure, Response, secret_value},
    },
    config::Patience,
    model::{
        Signature,
        signal::{Severity, Signal, SignalKind},
    },
    text::{self, json as strict},
};

/// Names and values were checked when the config was loaded; what does not fit is left out.
pub(super) fn probe_headers(headers: &[(String, secrecy::SecretString)]) -> Vec<(HeaderName, http::HeaderValue)> {
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, secret_value("", value)?)))
        .collect()
}

/// So long one question may take: what the owner allows, and less than the collection has, or a service that says nothing
/// would be a source that cannot be read instead of an outage.
pub(super) fn patience(session: &Session<'_>, timeout: Duration) -> Duration {
    timeout.min(session.ctx.config.limits.collect_deadline.mul_f32(0.9))
}

/// Asks until the answer is not "down", as often as the session samples again and the time of the collection allows: a
/// service that wakes up is no outage. One question takes `longest` at most.
pub(super) async fn sampled<T>(
    session: &Session<'_>,
    longest: Duration,
    mut ask: impl AsyncFnMut() -> (Verdict, T),
) -> (Verdict, T) {
    let started = instant();
    let has_time = |wait: Duration| started.elapsed() + wait + longest < session.ctx.config.limits.collect_deadline;
    let mut waits = session.ctx.resample.iter().copied();
    loop {
        let (verdict, rest) = ask().await;
        let wait = match &verdict {
            Verdict::Down(_) => waits.next().filter(|wait| has_time(*wait)),
            Verdict::Up | Verdict::Blind(_) => None,
        };
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return (verdict, rest),
        }
    }
}

pub(super) fn reached(url: &Url, failure: Option<&HttpFailure>) -> Reached {
    Reached {
        host: url.host_str().unwrap_or_default().to_owned(),
        way: way(failure),
    }
}

/// Says which probe could not be read.
pub(super) fn named(session: &Session<'_>, probe: &str, why: &Blind) -> Blind {
    let detail = session.line(&format!("{probe}: {}", why.detail), 300);
    Blind::new(why.cause.clone(), detail).of(part(session, probe))
}

/// A probe, check or file as outcomes and signals name it.
pub(super) fn part(session: &Session<'_>, name: &str) -> String {
    super::part_name(session.ctx.redactor, name)
}

/// JSON that two readers would read alike.
pub(super) fn check_json(response: &Response) -> Result<(), Blind> {
    let page = response
        .header(header::CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("text/html"));
    let fault = match strict::check(&response.body) {
        Ok(_) => return Ok(()),
        Err(_) if page => strict::JsonFault::Html,
        Err(fault) => fault,
    };
    Err(Blind::new(fault.cause(), fault.to_string()))
}

/// What the owner set for how often it is seen before it is believed, where that is not as usual.
pub(super) fn note_patience(evidence: &mut Value, patience: Patience) {
    for (name, looks) in [
        (Signal::FIRE_AFTER, patience.fire_after),
        (Signal::CLEAR_AFTER, patience.clear_after),
    ] {
        if looks != Patience::USUAL {
            evidence[name] = looks.into();
        }
    }
}

/// A failing probe; severity and what else it knows are the caller's. `known_as`: its first name, if it has another one now.
pub(super) fn signal(
    session: &Session<'_>,
    place: &Place<'_>,
    kind: SignalKind,
    (probe, known_as, asked): (&str, &str, &str),
    down: &Down,
    mut evidence: Value,
) -> Signal {
    evidence[Signal::PART] = part(session, probe).into();
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind,
        severity: Severity::Critical,
        title: session.line(&format!("{probe}: {}", down.what), 200),
        message: session.line(&format!("{asked}: {}", down.what), 500),
        signature: probe_signature(place, known_as, down),
        count: 1,
        first_seen: session.ctx.now,
        last_seen: session.ctx.now,
        release_sha: None,
        url: None,
        culprit: None,
        evidence,
    }
}

/// Identity of a failing probe: which one, and whether it is down. Two repos may name a probe alike, and the names of two
/// probes may differ in what the signature of a text leaves out.
fn probe_signature(place: &Place<'_>, probe: &str, down: &Down) -> Signature {
    let text = format!("probe:{}:{}:{probe}:{}", place.repo.slot, place.name, down.cause());
    text::named(&text)
}
