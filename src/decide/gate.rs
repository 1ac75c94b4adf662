//! The gate: does this snapshot have to be looked at? Pure. The shipped program runs here; an edited one runs in a
//! limited child, and this module judges what came out of it.

use serde_json::Value;

use crate::{
    model::signal::Snapshot,
    text::{clean, jq},
};

/// The program in the binary. A `collectors/gate.jq` in the home that differs from it wins.
pub const SHIPPED: &str = include_str!("../../collectors/gate.jq");

/// Most reasons that are kept, and the longest one.
const MAX_REASONS: usize = 100;
const MAX_REASON: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateResult {
    Quiet,
    Wake(Vec<String>),
    /// It gave no answer that can be relied on. Never healthy; a person is told.
    Fault(String),
}

/// Is this text the shipped program, so that it may run in this process?
pub fn is_shipped(program: &str) -> bool {
    program == SHIPPED
}

/// Runs the shipped program. A snapshot without signals is known to be quiet and starts no engine.
pub fn shipped(snapshot: &Snapshot) -> GateResult {
    if snapshot.signals.is_empty() {
        return GateResult::Quiet;
    }
    match serde_json::to_vec(snapshot) {
        Ok(input) => run(SHIPPED, &input),
        Err(error) => GateResult::Fault(format!("the snapshot cannot be written as JSON: {error}")),
    }
}

/// Runs a program in this process; for shipped programs and tests only.
fn run(program: &str, input: &[u8]) -> GateResult {
    let results = jq::Program::compile(program).and_then(|program| program.run(input));
    judge(results.map_err(|fault| fault.to_string()))
}

/// What the results of a gate program mean: exactly one object of the one shape, or a fault.
pub fn judge(results: Result<Vec<Value>, String>) -> GateResult {
    let results = match results {
        Ok(results) => results,
        // An error message may quote the snapshot.
        Err(why) => return GateResult::Fault(one_line(&why)),
    };
    let fault = |why: String| GateResult::Fault(format!("{why}; it must give {{\"wake\": bool, \"reasons\": [text]}}"));
    let [Value::Object(result)] = results.as_slice() else {
        return fault(match results.len() {
            0 => "the program gives no result".to_owned(),
            1 => "the result is not an object".to_owned(),
            n => format!("the program gives {n} results"),
        });
    };
    if let Some(key) = result.keys().find(|key| !matches!(key.as_str(), "wake" | "reasons")) {
        return fault(format!("the result has {key:?} too"));
    }
    let (Some(Value::Bool(wake)), Some(Value::Array(reasons))) = (result.get("wake"), result.get("reasons")) else {
        return fault("the result has another shape".to_owned());
    };
    let texts: Option<Vec<String>> = reasons.iter().take(MAX_REASONS).map(reason).collect();
    match (texts, *wake) {
        (None, _) => fault("a reason is not text".to_owned()),
        (Some(_), false) => GateResult::Quiet,
        (Some(texts), true) => GateResult::Wake(texts),
    }
}

fn reason(value: &Value) -> Option<String> {
    value.as_str().map(one_line)
}

fn one_line(text: &str) -> String {
    clean(text).replace('\n', " ").chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{
        TickId,
        signal::{CollectorOutcome, OutcomeKind, SNAPSHOT_SCHEMA, Severity, Signal, SignalKind},
    };

    fn signal(severity: Severity) -> Signal {
        let at = "2026-11-29T03:00:00Z".parse().unwrap();
        Signal {
            source: "health".to_owned(),
            repo: "web".parse().unwrap(),
            target: "web".to_owned(),
            kind: SignalKind::Health,
            severity,
            title: "probe is down".to_owned(),
            message: "HTTP 503".to_owned(),
            signature: "7f3a91c07f3a91c0".parse().unwrap(),
            count: 1,
            first_seen: at,
            last_seen: at,
            release_sha: None,
            url: None,
            culprit: None,
            evidence: json!({}),
        }
    }

    fn snapshot(signals: Vec<Signal>) -> Snapshot {
        Snapshot {
            schema: SNAPSHOT_SCHEMA,
            tick: TickId::new("20261129T030000Z", 1),
            started_at: "2026-11-29T03:00:00Z".parse().unwrap(),
            deep: false,
            signals,
            collectors: vec![CollectorOutcome {
                name: "health".to_owned(),
                repo: "web".parse().unwrap(),
                target: "web".to_owned(),
                outcome: OutcomeKind::Failed,
                ms: 3,
                items: 0,
                cause: "html".to_owned(),
                detail: String::new(),
                release_sha: None,
                requests: None,
                deploying_since: None,
                told: std::collections::BTreeSet::new(),
                variables: None,
                blind_parts: Vec::new(),
                blind_seconds: None,
            }],
            open_pulls: Vec::new(),
            changes: Vec::new(),
            signed_by: 1,
            stood: Vec::new(),
        }
    }

    #[test]
    fn the_shipped_gate_wakes_on_errors_only() {
        let wake = |signals| matches!(shipped(&snapshot(signals)), GateResult::Wake(_));
        assert!(wake(vec![signal(Severity::Error)]));
        assert!(wake(vec![signal(Severity::Info), signal(Severity::Critical)]));
        assert_eq!(shipped(&snapshot(vec![signal(Severity::Warning)])), GateResult::Quiet);
        assert_eq!(
            shipped(&snapshot(vec![signal(Severity::Error)])),
            GateResult::Wake(vec!["web/web: probe is down".to_owned()])
        );
    }

    #[test]
    fn the_short_way_for_no_signals_says_what_the_program_says() {
        let empty = snapshot(Vec::new());
        assert_eq!(run(SHIPPED, &serde_json::to_vec(&empty).unwrap()), GateResult::Quiet);
        assert_eq!(shipped(&empty), GateResult::Quiet);
    }

    #[test]
    fn only_one_object_of_the_shape_is_an_answer() {
        let fault = |results: Vec<Value>| matches!(judge(Ok(results)), GateResult::Fault(_));
        for results in [
            vec![],
            vec![json!(null)],
            vec![json!(true)],
            vec![json!([])],
            vec![json!({})],
            vec![json!({"wake": false})],
            vec![json!({"reasons": []})],
            vec![json!({"wake": "false", "reasons": []})],
            vec![json!({"wake": 0, "reasons": []})],
            vec![json!({"wake": false, "reasons": "none"})],
            vec![json!({"wake": true, "reasons": [1]})],
            vec![json!({"wake": false, "reasons": [], "env": {}})],
            vec![
                json!({"wake": false, "reasons": []}),
                json!({"wake": false, "reasons": []}),
            ],
        ] {
            assert!(fault(results.clone()), "{results:?}");
        }
        assert_eq!(
            judge(Ok(vec![json!({"wake": false, "reasons": ["x"]})])),
            GateResult::Quiet
        );
        let woken = judge(Ok(vec![json!({"wake": true, "reasons": ["a\u{1b}[31m\nb"]})]));
        let GateResult::Wake(reasons) = woken else {
            panic!("{woken:?}")
        };
        assert!(!reasons[0].contains(['\u{1b}', '\n']));
        assert!(matches!(judge(Err("x".to_owned())), GateResult::Fault(_)));
    }
}
