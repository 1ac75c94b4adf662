//! Health probes: status, body rule, latency, certificate expiry, the release that serves and how much it served.
//! A failing probe is sampled again within the tick, so that a service that wakes up is not an outage.

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    context::{Blind, Piece, Place, Reached, Session},
    health_rules::{Down, DownKind, Verdict, judge_failure, judge_status},
    memory::Memory,
    probe::{self, check_json, named, patience, probe_headers, reached, sampled},
};
use crate::{
    adapters::http::{HttpError, Redirects, Request, Response, RetryPolicy},
    config::HealthProbe,
    model::{
        Sha,
        signal::{Measure, MeasureKind, OutcomeKind, Severity, Signal, SignalKind},
    },
};

/// A front page may be long; a longer one is something else.
const CAP: usize = 1 << 20;
/// A certificate is a warning from the smaller of this and a third of its lifetime on.
const EXPIRY_DAYS: i64 = 21;
/// Headers that say which proxy answered for a service that did not.
const PROXY_HEADERS: [&str; 4] = ["server", "cf-ray", "x-vercel-id", "x-railway-request-id"];

/// One probe's end result of this tick.
pub(super) struct Seen<'a> {
    probe: &'a HealthProbe,
    pub(super) verdict: Verdict,
    pub(super) response: Option<Response>,
    reached: Reached,
    release: Option<Sha>,
    served: Option<u64>,
    levels: Vec<Measure>,
    /// Each sample that was down, in a few words.
    pub(super) samples: Vec<String>,
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let mut memory = Memory::recall(session, &place);
    let now = session.ctx.now;
    let due = place
        .target
        .health
        .iter()
        .filter(|probe| memory.due(&probe.name, probe.every, now));
    let seen = join_all(due.map(|probe| look(session, probe, Redirects::SameOrigin))).await;
    if seen.is_empty() {
        return place.piece(OutcomeKind::Skipped);
    }
    let mut piece = place.piece(OutcomeKind::Ok);
    // A look that read nothing is no look: such a probe stays due.
    for look in seen
        .iter()
        .filter(|look| look.probe.every.is_some() || look.probe.requests.is_some())
        .filter(|look| !matches!(look.verdict, Verdict::Blind(_)))
    {
        let new = memory.note(
            &look.probe.name,
            now,
            matches!(look.verdict, Verdict::Down(_)).then_some(look.probe.patience.clear_after),
            look.served,
        );
        piece.outcome.requests = new
            .map(|new| new.saturating_add(piece.outcome.requests.unwrap_or(0)))
            .or(piece.outcome.requests);
    }
    piece.cursor = memory.write();
    tell(session, &place, &memory, &seen, &mut piece);
    piece
}

/// One probe, wherever it sends its visitors, and what a tick would tell of it.
pub(super) async fn once<'a>(session: &Session<'_>, place: &Place<'_>, probe: &'a HealthProbe) -> (Seen<'a>, Piece) {
    let seen = [look(session, probe, Redirects::Elsewhere).await];
    let mut piece = place.piece(OutcomeKind::Ok);
    tell(session, place, &Memory::default(), &seen, &mut piece);
    let [seen] = seen;
    (seen, piece)
}

fn tell(session: &Session<'_>, place: &Place<'_>, memory: &Memory, seen: &[Seen<'_>], piece: &mut Piece) {
    let mut blind = Vec::new();
    let signal = |look, down: &Down| signal(session, place, memory, look, down);
    for look in seen {
        match &look.verdict {
            Verdict::Up => {}
            Verdict::Down(down) => piece.signals.push(signal(look, down)),
            Verdict::Blind(why) => blind.push(named(session, &look.probe.name, why)),
        }
        let ends = look.response.as_ref().and_then(|response| response.not_after);
        if let (Some(at), Some(host)) = (ends, look.probe.url.host_str()) {
            let host = session.line(host, 100);
            piece.changes.push(place.expiry("certificate", &host, at));
        }
        let now = session.ctx.now;
        if let Some(down) = look.response.as_ref().and_then(|response| expiry(response, now)) {
            piece.signals.push(signal(look, &down));
        }
        piece.measures.extend(look.levels.iter().cloned());
        piece.measures.extend(latency(session, look));
        piece.outcome.release_sha = piece.outcome.release_sha.take().or_else(|| look.release.clone());
    }
    piece.settle(seen.len() - blind.len(), &blind);
    piece.reached = seen.iter().map(|look| look.reached.clone()).collect();
}

async fn look<'a>(session: &Session<'_>, probe: &'a HealthProbe, redirects: Redirects) -> Seen<'a> {
    let mut samples = Vec::new();
    let longest = patience(session, probe.timeout);
    let (verdict, result) = sampled(session, longest, async || {
        let result = fetch(session, probe, redirects).await;
        let verdict = judge(session, probe, &result).await;
        if let Verdict::Down(down) = &verdict {
            samples.push(down.what.clone());
        }
        (verdict, result)
    })
    .await;
    let mut seen = Seen {
        probe,
        verdict,
        reached: reached(&probe.url, result.as_ref().err().map(|error| &error.failure)),
        response: result.ok(),
        release: None,
        served: None,
        levels: Vec::new(),
        samples,
    };
    facts(session, &mut seen).await;
    seen
}

async fn fetch(session: &Session<'_>, probe: &HealthProbe, redirects: Redirects) -> Result<Response, HttpError> {
    let _permit = session.permit().await;
    let mut request = Request::get(&probe.url);
    request.deadline = patience(session, probe.timeout);
    request.cap = CAP;
    request.redirects = redirects;
    request.retry = RetryPolicy::once();
    request.headers = probe_headers(&probe.headers);
    if reads_body(probe) {
        return session.ctx.http.send(request).await;
    }
    // However long a page is: that it comes is all that was asked.
    session.ctx.http.stream(request, &mut |_| {}).await
}

/// Whether anything of the config is about what stands in the answer.
fn reads_body(probe: &HealthProbe) -> bool {
    let programs = [&probe.jq, &probe.release, &probe.requests];
    programs.iter().any(|program| program.is_some()) || probe.contains.is_some() || !probe.levels.is_empty()
}

async fn judge(session: &Session<'_>, probe: &HealthProbe, result: &Result<Response, HttpError>) -> Verdict {
    let response = match result {
        Ok(response) => response,
        Err(error) => return judge_failure(&error.failure),
    };
    if let Some(verdict) = judge_status(response.status, &probe.status) {
        return verdict;
    }
    if let Some(program) = &probe.jq {
        match body_rule(session, program, response).await {
            Ok(true) => {}
            Ok(false) => return Verdict::Down(Down::outage("body", "the answer does not say what the rule expects")),
            Err(blind) => return Verdict::Blind(blind),
        }
    }
    if let Some(text) = &probe.contains
        && !contains(&response.body, text.as_bytes())
    {
        return Verdict::Down(Down::outage("body", "the answer lacks the expected text"));
    }
    if let Some(most) = probe.max_latency.filter(|most| response.elapsed > *most) {
        let what = format!("the answer takes longer than {} ms", most.as_millis());
        return Verdict::Down(Down::degraded("latency", what));
    }
    Verdict::Up
}

/// True or false as the rule says; anything else cannot be read.
async fn body_rule(session: &Session<'_>, program: &str, response: &Response) -> Result<bool, Blind> {
    check_json(response)?;
    match session.jq(program, false, &response.body).await.as_deref() {
        Ok([Value::Bool(answer)]) => Ok(*answer),
        Ok(_) => Err(Blind::new("jq", "the jq rule does not give one true or false")),
        Err(why) => Err(Blind::new("jq", why.clone())),
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

/// The release and the request counter, where the probe has programs for them and the answer is JSON.
async fn facts(session: &Session<'_>, seen: &mut Seen<'_>) {
    let Some(response) = &seen.response else { return };
    let wanted = [&seen.probe.release, &seen.probe.requests];
    let nothing = wanted.iter().all(|program| program.is_none()) && seen.probe.levels.is_empty();
    if nothing || matches!(seen.verdict, Verdict::Blind(_)) {
        return;
    }
    let mut unread = None;
    if let Err(blind) = check_json(response) {
        unread = Some(blind);
    } else {
        if let Some(program) = &seen.probe.release {
            match session.jq(program, false, &response.body).await.as_deref() {
                Ok([Value::String(text)]) => seen.release = Sha::parse(text).ok(),
                Ok([Value::Null]) => {}
                _ => unread = Some(Blind::new("jq", "the release program does not give one text")),
            }
        }
        if let Some(program) = &seen.probe.requests {
            match session.jq(program, false, &response.body).await.as_deref() {
                Ok([value]) => seen.served = value.as_u64(),
                _ => unread = Some(Blind::new("jq", "the requests program does not give one number")),
            }
        }
        for level in &seen.probe.levels {
            match session.jq(&level.jq, false, &response.body).await.as_deref() {
                Ok([Value::Number(number)]) => seen.levels.push(Measure {
                    name: session.line(&format!("{} {}", seen.probe.name, level.name), 120),
                    kind: MeasureKind::Level { full: level.full },
                    value: number.as_f64().unwrap_or(f64::NAN),
                }),
                _ => unread = Some(Blind::new("jq", "a levels program does not give one number")),
            }
        }
    }
    // A service that is down may well answer without these; one that is up may not.
    if let (Some(blind), Verdict::Up) = (unread, &seen.verdict) {
        seen.verdict = Verdict::Blind(blind);
    }
}

/// How long the answer took, where it was one that users get.
fn latency(session: &Session<'_>, look: &Seen<'_>) -> Option<Measure> {
    let response = look.response.as_ref()?;
    let outage = matches!(&look.verdict, Verdict::Down(down) if down.kind == DownKind::Outage);
    (!outage && !matches!(look.verdict, Verdict::Blind(_))).then(|| Measure {
        name: session.line(&look.probe.name, 120),
        kind: MeasureKind::Latency,
        value: response.elapsed.as_secs_f64() * 1000.0,
    })
}

/// A certificate that runs out soon, seen from its own lifetime.
fn expiry(response: &Response, now: DateTime<Utc>) -> Option<Down> {
    let (from, to) = (response.not_before?, response.not_after?);
    let warn = TimeDelta::days(EXPIRY_DAYS).min((to - from) / 3);
    let left = to - now;
    if left > warn {
        return None;
    }
    let what = format!("the certificate expires on {}", to.format("%Y-%m-%d %H:%M UTC"));
    Some(if left <= warn / 3 {
        Down {
            class: "tls-expires-soon".to_owned(),
            what,
            kind: DownKind::Outage,
        }
    } else {
        Down::degraded("tls-expiry", what)
    })
}

fn signal(session: &Session<'_>, place: &Place<'_>, memory: &Memory, look: &Seen<'_>, down: &Down) -> Signal {
    let probe = look.probe;
    let mut evidence = json!({
        "probe": probe.name,
        "class": down.class,
        "samples": look.samples,
    });
    probe::note_patience(&mut evidence, probe.patience);
    evidence[Signal::HOST] = session.line(probe.url.host_str().unwrap_or_default(), 200).into();
    if let Some(response) = &look.response {
        evidence["status"] = response.status.as_u16().into();
        evidence["ms"] = u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX).into();
        for name in PROXY_HEADERS {
            if let Some(value) = response.header(name) {
                evidence[name] = session.line(value, 120).into();
            }
        }
    }
    let mut shown = probe.url.clone();
    shown.set_query(None);
    let url = session.line(shown.as_str(), 300);
    let severity = match down.kind {
        DownKind::Outage if down.class.starts_with("tls-expires") => Severity::Error,
        DownKind::Outage => Severity::Critical,
        DownKind::Degraded => Severity::Warning,
    };
    let asked = format!("GET {url}");
    Signal {
        severity,
        release_sha: look.release.clone(),
        url: Some(url),
        ..probe::signal(
            session,
            place,
            SignalKind::Health,
            (&probe.name, memory.known_as(&probe.name), &asked),
            down,
            evidence,
        )
    }
}

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
