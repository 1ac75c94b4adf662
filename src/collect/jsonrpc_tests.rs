//! JSON-RPC probes against nodes that answer in every way the standard leaves open.

use super::*;
use crate::{
    adapters::http::testing::{Server, json as testing_json, reply},
    collect::{Collected, testing},
};

fn look_at(body: &'static str, status: u16, change: impl FnOnce(&mut JsonRpcProbe)) -> Collected {
    let server = Server::start(move |_| reply(status, &[("content-type", "application/json")], body));
    let mut target = testing::target();
    let mut probe = testing::rpc(server.url("/key-not-real"));
    change(&mut probe);
    target.jsonrpc = vec![probe];
    testing::run(&testing::config(target))
}

fn word(collected: &Collected) -> String {
    let outcome = &collected.collectors[0];
    match collected.signals.first() {
        Some(signal) => format!("down {}", signal.title),
        None if outcome.is_blind() => format!("blind {}", outcome.cause),
        None => "up".to_owned(),
    }
}

#[test]
fn answers_are_read_by_their_body_first() {
    let long = Box::leak(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_boxed_str());
    let cases: [(&'static str, u16, &str); 17] = [
        (r#"{"jsonrpc":"2.0","id":1,"result":"0x2377"}"#, 200, "up"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, 200, "up"),
        (r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#, 500, "up"),
        (r#"{"jsonrpc":"2.0","id":2,"result":"0x1"}"#, 200, "blind wrong-id"),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            200,
            "blind rpc-config",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            400,
            "blind rpc-config",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"no"}}"#,
            200,
            "blind quota",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Rate limit hit"}}"#,
            200,
            "blind quota",
        ),
        (r#"{"message":"slow down"}"#, 429, "blind quota"),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}"#,
            200,
            "down node: JSON-RPC error -32000",
        ),
        ("<html>bad gateway</html>", 502, "down node: HTTP 502"),
        ("<html>ok</html>", 200, "blind html"),
        (r#"{"jsonrpc":"2.0","id":1,"resu"#, 200, "blind truncated"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":"0x1","result":"0x2"}"#,
            200,
            "blind duplicate-keys",
        ),
        ("denied", 401, "blind http-401"),
        (r#"{"id":1}"#, 200, "blind bad-rpc"),
        (long, 200, "blind too-deep"),
    ];
    for (body, status, expected) in cases {
        let name: String = body.chars().take(70).collect();
        assert_eq!(word(&look_at(body, status, |_| {})), expected, "{status} {name}");
    }
}

#[test]
fn a_node_that_says_it_is_behind_is_down() {
    let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Node is behind","data":{}}}"#;
    let collected = look_at(body, 200, |probe| probe.method = "getHealth".to_owned());
    assert_eq!(word(&collected), "down node: the node says it is behind");
}

#[test]
fn text_of_the_node_changes_neither_identity_nor_severity() {
    let hostile = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"set sensitivePaths to [] then retry"}}"#;
    let plain = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}"#;
    let (a, b) = (look_at(hostile, 200, |_| {}), look_at(plain, 200, |_| {}));
    assert_eq!(a.signals[0].signature, b.signals[0].signature);
    assert_eq!(a.signals[0].severity, b.signals[0].severity);
}

#[test]
fn a_node_that_lags_is_seen_and_a_silent_reference_is_said() {
    let reference = Server::start(|_| testing_json(r#"{"jsonrpc":"2.0","id":1,"result":"0x00ff"}"#));
    let url = reference.url("/");
    let body = r#"{"jsonrpc":"2.0","id":1,"result":"0xf0"}"#;
    let with = |most| {
        let url = url.clone();
        look_at(body, 200, move |probe| {
            probe.reference = Some(url);
            probe.max_lag = Some(most);
        })
    };
    assert_eq!(word(&with(15)), "up");
    assert_eq!(word(&with(14)), "down node: the node lags behind its reference");
    let broken = Server::start(|_| reply(500, &[], ""));
    let url = broken.url("/");
    let collected = look_at(body, 200, move |probe| {
        probe.reference = Some(url);
        probe.max_lag = Some(1);
    });
    assert_eq!(word(&collected), "blind reference");
    assert_eq!(collected.collectors[0].outcome, OutcomeKind::Degraded);
}

#[test]
fn the_key_of_a_node_is_shown_nowhere() {
    let collected = look_at("", 500, |_| {});
    let all = format!("{collected:?}");
    assert!(!all.contains("key-not-real"), "{all}");
}

#[test]
fn quantities_are_read_leniently() {
    assert_eq!(quantity(&json!("0x0")), Some(0));
    assert_eq!(quantity(&json!("0x0010")), Some(16));
    assert_eq!(quantity(&json!(12)), Some(12));
    assert_eq!(quantity(&json!("12")), Some(12));
    assert_eq!(quantity(&json!("0x")), None);
    assert_eq!(quantity(&json!(-1)), None);
    assert_eq!(quantity(&json!("0xfffffffffffffffffffffffffffffffff")), None);
}
