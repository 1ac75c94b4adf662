//! JSON-RPC probes: one call, read by its body first and its status second, and the lag behind a reference node.
//! A node that answers "no such method" lives; then the probe is wrong, not the node.

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderValue, Method, header};
use serde_json::{Value, json};
use url::Url;

use super::{
    context::{Blind, Piece, Place, Reached, Session},
    health_rules::{Down, DownKind, Verdict, judge_failure, judge_status},
    memory::Memory,
    probe::{self, check_json, named, patience, probe_headers, reached, sampled},
};
use crate::{
    adapters::http::{HttpError, Redirects, Request, Response, RetryPolicy},
    config::JsonRpcProbe,
    model::signal::{OutcomeKind, Severity, Signal, SignalKind},
    text::json as strict,
};

const CAP: usize = 2 << 20;
/// The one id that is ever sent.
const ID: u64 = 1;

/// One probe's end result of this tick.
struct Seen<'a> {
    probe: &'a JsonRpcProbe,
    verdict: Verdict,
    /// The reference could not be read although the node could.
    unread: Option<Blind>,
    reached: Reached,
    evidence: Value,
}

/// What the body of an answer says.
#[derive(Debug, PartialEq)]
enum Reply {
    Result(Value),
    Error { code: i64, message: String },
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let mut memory = Memory::recall(session, &place);
    let now = session.ctx.now;
    let due = place
        .target
        .jsonrpc
        .iter()
        .filter(|probe| memory.due(&probe.name, probe.every, now));
    let seen = join_all(due.map(|probe| look(session, probe))).await;
    if seen.is_empty() {
        return place.piece(OutcomeKind::Skipped);
    }
    let mut piece = place.piece(OutcomeKind::Ok);
    // A look that read nothing is no look: such a probe stays due.
    for look in seen.iter().filter(|look| look.probe.every.is_some()) {
        if !matches!(look.verdict, Verdict::Blind(_)) {
            let down = matches!(look.verdict, Verdict::Down(_)).then_some(look.probe.patience.clear_after);
            memory.note(&look.probe.name, now, down, None);
        }
    }
    piece.cursor = memory.write();
    let mut blind = Vec::new();
    let mut read = 0;
    for look in &seen {
        match &look.verdict {
            Verdict::Up => read += 1,
            Verdict::Down(down) => {
                read += 1;
                piece.signals.push(signal(session, &place, &memory, look, down));
            }
            Verdict::Blind(why) => blind.push(named(session, &look.probe.name, why)),
        }
        if let Some(why) = &look.unread {
            blind.push(named(session, &look.probe.name, why));
        }
    }
    piece.settle(read, &blind);
    piece.reached = seen.into_iter().map(|look| look.reached).collect();
    piece
}

async fn look<'a>(session: &Session<'_>, probe: &'a JsonRpcProbe) -> Seen<'a> {
    let longest = patience(session, probe.timeout);
    let (verdict, (result, unread, evidence)) = sampled(session, longest, async || {
        let result = call(session, probe, &probe.url).await;
        let mut evidence = json!({ "probe": probe.name, "method": probe.method });
        let mut unread = None;
        let verdict = match read(probe, &result) {
            Err(verdict) => verdict,
            Ok(Reply::Error { code, message }) => {
                evidence["code"] = code.into();
                evidence["message"] = session.line(&message, 300).into();
                judge_error(probe, code, &message)
            }
            Ok(Reply::Result(value)) => judge_result(session, probe, &value, &mut unread, &mut evidence).await,
        };
        (verdict, (result, unread, evidence))
    })
    .await;
    Seen {
        probe,
        verdict,
        unread,
        reached: reached(&probe.url, result.as_ref().err().map(|error| &error.failure)),
        evidence,
    }
}

async fn call(session: &Session<'_>, probe: &JsonRpcProbe, url: &Url) -> Result<Response, HttpError> {
    let _permit = session.permit().await;
    let body = json!({ "jsonrpc": "2.0", "id": ID, "method": probe.method, "params": probe.params });
    let mut headers = vec![(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    // The key of one node is not shown to another.
    if url == &probe.url {
        headers.extend(probe_headers(&probe.headers));
    }
    let request = Request {
        method: Method::POST,
        url,
        headers,
        body: Some(Bytes::from(body.to_string())),
        deadline: patience(session, probe.timeout),
        cap: CAP,
        redirects: Redirects::None,
        retry: RetryPolicy::once(),
    };
    session.ctx.http.send(request).await
}

/// Body first: many servers send a JSON-RPC error with 400, 429 or 500.
fn read(probe: &JsonRpcProbe, result: &Result<Response, HttpError>) -> Result<Reply, Verdict> {
    let response = result.as_ref().map_err(|error| judge_failure(&error.failure))?;
    let body = parse(&response.body, probe);
    let status = response.status.as_u16();
    match body {
        Ok(reply) => Ok(reply),
        Err(_) if status == 429 => Err(quota("HTTP 429")),
        Err(blind) => match judge_status(response.status, &[200]) {
            Some(verdict) => Err(verdict),
            None => Err(Verdict::Blind(check_json(response).err().unwrap_or(blind))),
        },
    }
}

fn parse(body: &[u8], probe: &JsonRpcProbe) -> Result<Reply, Blind> {
    let value = strict::parse(body).map_err(|fault| Blind::new(fault.cause(), fault.to_string()))?;
    let shape = || {
        Blind::new(
            "bad-rpc",
            format!("the answer to {} is no JSON-RPC reply", probe.method),
        )
    };
    let Value::Object(mut fields) = value else {
        return Err(shape());
    };
    let error = fields.remove("error").filter(|error| !error.is_null());
    let own = fields.get("id").and_then(Value::as_u64) == Some(ID);
    // An error about a request that could not be read has no id.
    let nobodys = error.is_some() && fields.get("id").is_none_or(Value::is_null);
    if !(own || nobodys) {
        return Err(Blind::new("wrong-id", "the answer belongs to another call"));
    }
    match (error, fields.remove("result")) {
        (Some(error), None | Some(Value::Null)) => Ok(Reply::Error {
            code: error.get("code").and_then(Value::as_i64).ok_or_else(shape)?,
            message: error
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        }),
        (None, Some(result)) => Ok(Reply::Result(result)),
        _ => Err(shape()),
    }
}

/// The reading of an answer, for the fuzzer.
pub(super) fn fuzz(body: &[u8], probe: &JsonRpcProbe) {
    if let Ok(Reply::Error { code, message }) = parse(body, probe) {
        drop(judge_error(probe, code, &message));
    }
}

fn quota(what: &str) -> Verdict {
    Verdict::Blind(Blind::new("quota", format!("the provider limits our calls ({what})")))
}

fn judge_error(probe: &JsonRpcProbe, code: i64, message: &str) -> Verdict {
    let said = message.to_ascii_lowercase();
    let limited = ["rate limit", "too many requests", "quota"]
        .iter()
        .any(|word| said.contains(word));
    match code {
        // The same code means "behind" where the health of the node itself was asked for.
        -32005 if probe.method == "getHealth" => Verdict::Down(Down::outage("behind", "the node says it is behind")),
        -32005 | -32029 => quota(&format!("code {code}")),
        _ if limited => quota(&format!("code {code}")),
        -32700 | -32602..=-32600 | -32604 => Verdict::Blind(Blind::new(
            "rpc-config",
            format!("the node refuses the call itself (code {code}): check method and params of the probe"),
        )),
        _ => Verdict::Down(Down::outage(
            format!("rpc_error:{code}"),
            format!("JSON-RPC error {code}"),
        )),
    }
}

async fn judge_result(
    session: &Session<'_>,
    probe: &JsonRpcProbe,
    value: &Value,
    unread: &mut Option<Blind>,
    evidence: &mut Value,
) -> Verdict {
    if let Some(program) = &probe.jq {
        let input = value.to_string();
        match session.jq(program, false, input.as_bytes()).await.as_deref() {
            Ok([Value::Bool(true)]) => {}
            Ok([Value::Bool(false)]) => {
                return Verdict::Down(Down::outage("result", "the result is not what the rule expects"));
            }
            Ok(_) => return Verdict::Blind(Blind::new("jq", "the jq rule does not give one true or false")),
            Err(why) => return Verdict::Blind(Blind::new("jq", why.clone())),
        }
    }
    let (Some(reference), Some(most)) = (&probe.reference, probe.max_lag) else {
        return Verdict::Up;
    };
    let Some(own) = quantity(value) else {
        return Verdict::Blind(Blind::new("bad-rpc", "the result is no block number"));
    };
    let other = match read(probe, &call(session, probe, reference).await) {
        Ok(Reply::Result(value)) => quantity(&value),
        Ok(Reply::Error { .. }) | Err(_) => None,
    };
    let Some(other) = other else {
        *unread = Some(Blind::new("reference", "the reference node gives no block number"));
        return Verdict::Up;
    };
    let lag = other.saturating_sub(own);
    evidence["lag"] = u64::try_from(lag).unwrap_or(u64::MAX).into();
    if lag > u128::from(most) {
        return Verdict::Down(Down::degraded("lag", "the node lags behind its reference"));
    }
    Verdict::Up
}

/// A hex quantity or a plain number; leading zeroes are let through.
fn quantity(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        Value::String(text) => match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some("") => None,
            Some(hex) => u128::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

fn signal(session: &Session<'_>, place: &Place<'_>, memory: &Memory, look: &Seen<'_>, down: &Down) -> Signal {
    let probe = look.probe;
    // Keys of providers stand in the path, so only the host is shown.
    let host = probe.url.host_str().unwrap_or_default();
    let severity = match down.kind {
        DownKind::Outage => Severity::Critical,
        DownKind::Degraded => Severity::Error,
    };
    let asked = format!("{} on {host}", probe.method);
    let mut evidence = look.evidence.clone();
    probe::note_patience(&mut evidence, probe.patience);
    evidence[Signal::HOST] = session.line(host, 200).into();
    Signal {
        severity,
        ..probe::signal(
            session,
            place,
            SignalKind::Probe,
            (&probe.name, memory.known_as(&probe.name), &asked),
            down,
            evidence,
        )
    }
}

#[cfg(test)]
#[path = "jsonrpc_tests.rs"]
mod tests;
