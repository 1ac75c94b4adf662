//! Health probes against services that answer, fail and lie in every way that was thought of.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use super::*;
use crate::{
    adapters::http::testing::{Reply, Server, json as answer, path, reply},
    collect::{Collected, HttpCache, SourceFacts, SourceKey, Sources, testing},
};

fn probe_at(server: &Server, at: &str, change: impl FnOnce(&mut HealthProbe)) -> crate::config::Config {
    let mut target = testing::target();
    let mut probe = testing::probe(server.url(at));
    change(&mut probe);
    target.health = vec![probe];
    testing::config(target)
}

fn look_at(server: &Server, at: &str, change: impl FnOnce(&mut HealthProbe)) -> Collected {
    testing::run(&probe_at(server, at, change))
}

fn word(collected: &Collected) -> String {
    let outcome = &collected.collectors[0];
    match collected.signals.first() {
        Some(signal) => format!("{:?} {}", signal.severity, signal.evidence["class"].as_str().unwrap()),
        None if outcome.is_blind() => format!("blind {}", outcome.cause),
        None => "up".to_owned(),
    }
}

/// However short the time of the collection is, or long the owner's patience.
#[test]
fn a_service_that_says_nothing_is_an_outage_and_no_source_that_cannot_be_read() {
    let server = Server::start(|_| Reply::Silence(Vec::new()));
    for timeout in [600, 60_000] {
        let mut config = probe_at(&server, "/", |probe| probe.timeout = Duration::from_millis(timeout));
        config.limits.collect_deadline = Duration::from_secs(1);
        assert_eq!(word(&testing::run(&config)), "Critical read_timeout", "{timeout} ms");
    }
}

#[test]
fn every_kind_of_answer_is_up_down_or_blind() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let server = Server::start(move |request| match path(request) {
        "/ok" => answer(r#"{"ok":true}"#),
        "/not-ok" => answer(r#"{"ok":false}"#),
        "/html" => reply(200, &[("content-type", "text/html")], "<html>all is well</html>"),
        "/cut" => answer(r#"{"ok":tr"#),
        "/short" => Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"ok\":".to_vec()),
        "/twice" => answer(r#"{"ok":false,"ok":true}"#),
        "/deep" => answer(&deep),
        "/numbers" => answer(r#"{"ok":true,"n":1e999999999,"m":123456789012345678901234567890}"#),
        "/empty" => answer(""),
        "/endless" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; 65536]),
        "/loop" => reply(302, &[("location", "/loop")], ""),
        "/away" => reply(302, &[("location", "http://127.0.0.1:9/latest/meta-data/")], ""),
        "/file" => reply(302, &[("location", "file:///etc/hostname")], ""),
        "/401" => reply(401, &[], ""),
        "/429" => reply(429, &[], ""),
        "/500" => reply(500, &[], r#"{"ok":true}"#),
        "/silent" => Reply::Silence(Vec::new()),
        other => panic!("{other}"),
    });
    let cases = [
        ("/ok", "up"),
        ("/numbers", "up"),
        ("/429", "blind rate-limited"),
        ("/not-ok", "Critical body"),
        ("/500", "Critical status:500"),
        ("/silent", "Critical read_timeout"),
        ("/html", "blind html"),
        ("/cut", "blind truncated"),
        ("/short", "blind truncated"),
        ("/twice", "blind duplicate-keys"),
        ("/deep", "blind too-deep"),
        ("/empty", "blind empty"),
        ("/endless", "blind too-large"),
        ("/loop", "blind redirect-loop"),
        ("/away", "blind redirect-denied"),
        ("/file", "blind redirect-denied"),
        ("/401", "blind http-401"),
    ];
    for (at, expected) in cases {
        let collected = look_at(&server, at, |probe| {
            probe.jq = Some(".ok == true".to_owned());
            probe.timeout = Duration::from_millis(if at == "/silent" { 100 } else { 5000 });
        });
        assert_eq!(word(&collected), expected, "{at}");
        let outcome = &collected.collectors[0];
        assert_eq!(outcome.is_blind(), !outcome.cause.is_empty(), "{at}: {outcome:?}");
        assert_eq!(outcome.is_blind(), !outcome.detail.is_empty(), "{at}: {outcome:?}");
    }
}

#[test]
fn without_a_rule_the_body_says_nothing() {
    let server = Server::start(|_| reply(200, &[], "<html>ok</html>"));
    assert_eq!(word(&look_at(&server, "/", |_| {})), "up");
    assert_eq!(
        word(&look_at(&server, "/", |p| p.contains = Some("ok".to_owned()))),
        "up"
    );
    assert_eq!(
        word(&look_at(&server, "/", |p| p.contains = Some("operational".to_owned()))),
        "Critical body"
    );
}

#[test]
fn a_rule_that_gives_no_verdict_is_blind() {
    let server = Server::start(|_| answer(r#"{"ok":"yes"}"#));
    for rule in [".ok", ".ok.deep", "empty", ".ok, .ok", "not jq ("] {
        assert_eq!(
            word(&look_at(&server, "/", |p| p.jq = Some(rule.to_owned()))),
            "blind jq",
            "{rule}"
        );
    }
}

#[test]
fn a_service_that_wakes_up_is_no_outage() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => reply(502, &[], ""),
        1 => Reply::Raw(Vec::new()),
        _ => answer("{}"),
    });
    assert_eq!(word(&look_at(&server, "/", |_| {})), "up");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_failing_probe_is_one_signal_with_a_stable_identity() {
    let server = Server::start(|request| match path(request) {
        at if at.starts_with("/a") => reply(503, &[("x-vercel-id", "fra1::abc")], "request 123 failed"),
        _ => reply(503, &[], "request 456 failed"),
    });
    let first = look_at(&server, "/a?token=abc", |_| {});
    let second = look_at(&server, "/b", |_| {});
    let (a, b) = (&first.signals[0], &second.signals[0]);
    assert_eq!(first.signals.len(), 1);
    assert_eq!(a.signature, b.signature);
    assert_eq!(a.evidence["x-vercel-id"], "fra1::abc");
    assert_eq!(a.evidence["samples"].as_array().unwrap().len(), 3);
    assert!(!format!("{first:?}").contains("token=abc"));
    assert_eq!(
        first.collectors[0].outcome,
        OutcomeKind::Ok,
        "a probe that is down was read well"
    );
    let other = look_at(&server, "/a", |probe| probe.name = "other".to_owned());
    assert_ne!(other.signals[0].signature, a.signature);
}

#[test]
fn nothing_listening_is_down_and_one_blind_probe_hides_no_other() {
    let server = Server::start(|_| reply(401, &[], ""));
    let mut target = testing::target();
    target.health = vec![
        testing::probe(server.url("/")),
        testing::probe("http://127.0.0.1:1/".parse().unwrap()),
    ];
    target.health[1].name = "back".to_owned();
    let collected = testing::run(&testing::config(target));
    assert_eq!(word(&collected), "Critical connect_refused");
    let outcome = &collected.collectors[0];
    assert_eq!(
        (outcome.outcome, outcome.cause.as_str()),
        (OutcomeKind::Degraded, "http-401")
    );
}

#[test]
fn a_slow_answer_is_a_warning() {
    let server = Server::start(|_| answer("{}"));
    let collected = look_at(&server, "/", |probe| probe.max_latency = Some(Duration::ZERO));
    assert_eq!(word(&collected), "Warning latency");
}

#[test]
fn the_release_and_what_it_served_are_read() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let body = format!(r#"{{"release":"{sha}","requests":160}}"#);
    let server = Server::start(move |_| answer(&body));
    let config = probe_at(&server, "/", |probe| {
        probe.release = Some(".release".to_owned());
        probe.requests = Some(".requests".to_owned());
    });
    let first = testing::run(&config);
    let outcome = &first.collectors[0];
    assert_eq!(outcome.release_sha.as_ref().unwrap().as_str(), sha);
    assert_eq!(outcome.requests, None);
    let (key, cursor) = first.cursors.first_key_value().unwrap();
    let facts = SourceFacts {
        last_ok_at: Some(testing::NOW.parse().unwrap()),
        cursor: Some(cursor.replace("160", "100")),
    };
    let second = testing::run_with(&config, &Sources::from([(key.clone(), facts)]), &HttpCache::default());
    assert_eq!(second.collectors[0].requests, Some(60));
}

#[test]
fn a_probe_that_is_not_due_is_skipped_and_blindness_has_an_age() {
    let server = Server::start(|_| reply(403, &[], ""));
    let config = probe_at(&server, "/", |probe| probe.every = Some(Duration::from_hours(1)));
    let key = SourceKey {
        repo: "web".parse().unwrap(),
        target: "web".to_owned(),
        collector: "health".to_owned(),
    };
    let at =
        |minutes| -> DateTime<Utc> { testing::NOW.parse::<DateTime<Utc>>().unwrap() - TimeDelta::minutes(minutes) };
    let facts = |minutes| {
        let mut memory = Memory::default();
        memory.note("front", at(minutes), None, None);
        SourceFacts {
            last_ok_at: Some(at(minutes)),
            cursor: memory.write(),
        }
    };
    let skipped = testing::run_with(
        &config,
        &Sources::from([(key.clone(), facts(30))]),
        &HttpCache::default(),
    );
    assert_eq!(skipped.collectors[0].outcome, OutcomeKind::Skipped);
    assert!(server.seen().is_empty());
    let before = facts(60);
    let sources = Sources::from([(key.clone(), before.clone())]);
    let blind = testing::run_with(&config, &sources, &HttpCache::default());
    assert_eq!(blind.collectors[0].blind_seconds, Some(3600));
    let probes = |cursor: Option<&String>| {
        let cursor: Value = serde_json::from_str(cursor.unwrap()).unwrap();
        cursor["probes"].clone()
    };
    assert_eq!(
        probes(blind.cursors.get(&key)),
        probes(before.cursor.as_ref()),
        "a blind look leaves the probe due"
    );
}

#[test]
fn a_certificate_is_judged_by_its_own_lifetime() {
    let now: DateTime<Utc> = testing::NOW.parse().unwrap();
    let class = |lifetime: i64, left: i64| {
        let response = Response {
            status: http::StatusCode::OK,
            headers: http::HeaderMap::new(),
            body: bytes::Bytes::new(),
            truncated: false,
            url: url::Url::parse("https://a.example/").unwrap(),
            elapsed: Duration::ZERO,
            not_before: Some(now + TimeDelta::hours(left - lifetime)),
            not_after: Some(now + TimeDelta::hours(left)),
        };
        expiry(&response, now).map(|down| down.class)
    };
    let day = 24;
    assert_eq!(class(90 * day, 30 * day), None);
    assert_eq!(class(90 * day, 20 * day).as_deref(), Some("tls-expiry"));
    assert_eq!(class(90 * day, 6 * day).as_deref(), Some("tls-expires-soon"));
    assert_eq!(class(6 * day, 3 * day), None, "a six-day certificate is renewed late");
    assert_eq!(class(6 * day, day).as_deref(), Some("tls-expiry"));
}

#[test]
fn a_page_of_which_nothing_is_asked_may_be_of_any_length() {
    let server = Server::start(|_| reply(200, &[], &"<p>much</p>".repeat(200_000)));
    assert_eq!(word(&look_at(&server, "/", |_| {})), "up");
    let searched = look_at(&server, "/", |probe| probe.contains = Some("much".to_owned()));
    assert_eq!(word(&searched), "blind too-large", "what is searched has to be read");
}
