//! The shipped declared collectors on the answers they are made for, and sources that cannot be read.

use super::*;
use crate::{
    adapters::http::testing::{Reply, Server, json as answer, path, reply},
    collect::{Collected, HttpCache, SourceFacts, SourceKey, Sources, testing},
    config::Config,
};

fn config(server: &Server, name: &str) -> Config {
    let mut target = testing::target();
    target.declared = vec![testing::declared(name, &server.url("/"))];
    testing::config(target)
}

fn look_at(server: &Server, name: &str) -> Collected {
    testing::run(&config(server, name))
}

const EXCEPTIONS: &str = r#"{"release":"0123456789abcdef0123456789abcdef01234567","requests":412,"exceptions":[
  {"type":"KeyError","message":"'total'","stack":"Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in total\nKeyError: 'total'",
   "count":19,"first_seen":"2026-11-29T02:50:00Z","last_seen":"2026-11-29T02:59:00Z","route":"/cart"}]}"#;

#[test]
fn an_exception_becomes_a_signal_with_what_was_served() {
    let server = Server::start(|_| answer(EXCEPTIONS));
    let mut config = config(&server, "exceptions");
    let used = &mut config.repos.values_mut().next().unwrap().targets[0].declared[0];
    used.secrets.insert("token".to_owned(), "fake-token-not-real".into());
    let key = SourceKey {
        repo: "web".parse().unwrap(),
        target: "web".to_owned(),
        collector: "exceptions".to_owned(),
    };
    let facts = SourceFacts {
        last_ok_at: Some("2026-11-29T02:45:00Z".parse().unwrap()),
        cursor: None,
    };
    let collected = testing::run_with(&config, &Sources::from([(key.clone(), facts)]), &HttpCache::default());
    let request = &server.seen()[0];
    assert!(
        request.starts_with("GET /api/exceptions?since=2026-11-29T02%3A45%3A00.000Z "),
        "{request}"
    );
    assert!(request.contains("Bearer fake-token-not-real"));
    let outcome = &collected.collectors[0];
    assert_eq!(
        (outcome.outcome, outcome.items, outcome.requests),
        (OutcomeKind::Ok, 1, Some(412))
    );
    let signal = &collected.signals[0];
    assert_eq!((signal.kind, signal.count), (SignalKind::Exception, 19));
    assert_eq!(signal.title, "KeyError: 'total'");
    assert_eq!(signal.evidence["route"], "/cart");
    assert_eq!(signal.release_sha, outcome.release_sha);
    assert!(signal.message.contains('\n'));
    assert!(collected.cursors.contains_key(&key));
}

#[test]
fn no_exception_is_read_as_none() {
    let server = Server::start(|_| answer(r#"{"release":null,"requests":7,"exceptions":[]}"#));
    let collected = look_at(&server, "exceptions");
    assert!(collected.signals.is_empty());
    assert_eq!(collected.collectors[0].requests, Some(7));
    assert!(!collected.collectors[0].is_blind());
}

#[test]
fn alerts_are_told_apart_by_their_labels() {
    let alert = |name: &str, instance: &str, severity: &str, state: &str| {
        format!(
            r#"{{"labels":{{"alertname":"{name}","instance":"{instance}","severity":"{severity}"}},"annotations":{{"summary":"it hurts"}},
               "startsAt":"2026-11-29T02:00:00Z","endsAt":"2026-11-29T04:00:00Z","fingerprint":"a","generatorURL":"http://p/g","status":{{"state":"{state}","silencedBy":[],"inhibitedBy":[]}}}}"#
        )
    };
    let body = format!(
        "[{},{},{},{}]",
        alert("HighErrors", "a:1", "critical", "active"),
        alert("HighErrors", "b:1", "critical", "active"),
        alert("DiskFull", "a:1", "warning", "active"),
        alert("Quiet", "a:1", "critical", "suppressed")
    );
    let server = Server::start(move |_| answer(&body));
    let collected = look_at(&server, "alertmanager");
    assert!(server.seen()[0].starts_with("GET /api/v2/alerts?active=true&inhibited=false&silenced=false "));
    assert!(!server.seen()[0].to_ascii_lowercase().contains("authorization"));
    let titles: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(titles, ["HighErrors", "HighErrors", "DiskFull"]);
    assert_eq!(collected.signals[0].signature, collected.signals[1].signature);
    assert_ne!(collected.signals[0].signature, collected.signals[2].signature);
    assert_eq!(collected.signals[2].severity, Severity::Warning);
}

#[test]
fn a_source_that_cannot_be_read_is_blind_and_never_quiet() {
    let server = Server::start(|request| match path(request).split(['?']).next().unwrap() {
        "/401/api/exceptions" => reply(401, &[], ""),
        "/500/api/exceptions" => reply(500, &[], ""),
        "/html/api/exceptions" => reply(200, &[("content-type", "text/html")], "<html>log in</html>"),
        "/cut/api/exceptions" => answer(r#"{"release":null,"requests":7,"except"#),
        "/twice/api/exceptions" => answer(r#"{"exceptions":[],"exceptions":[]}"#),
        "/shape/api/exceptions" => answer(r#"{"error":"no such project"}"#),
        "/count/api/exceptions" => answer(&EXCEPTIONS.replace("19", "\"many\"")),
        "/endless/api/exceptions" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; 65536]),
        "/loop/api/exceptions" => reply(302, &[("location", "/loop/api/exceptions")], ""),
        "/loopback/api/exceptions" => reply(302, &[("location", "http://127.0.0.1:9/")], ""),
        other => panic!("{other}"),
    });
    let cases = [
        ("/401", "http-401"),
        ("/500", "http-500"),
        ("/html", "html"),
        ("/cut", "truncated"),
        ("/twice", "duplicate-keys"),
        ("/shape", "jq"),
        ("/count", "shape"),
        ("/endless", "too-large"),
        ("/loop", "redirect-loop"),
        ("/loopback", "redirect-denied"),
    ];
    for (at, cause) in cases {
        let mut target = testing::target();
        target.declared = vec![testing::declared("exceptions", &server.url(at))];
        let collected = testing::run(&testing::config(target));
        let outcome = &collected.collectors[0];
        assert_eq!(
            (outcome.outcome, outcome.cause.as_str()),
            (OutcomeKind::Failed, cause),
            "{at}: {outcome:?}"
        );
        assert!(collected.signals.is_empty() && collected.cursors.is_empty(), "{at}");
        assert!(!outcome.detail.is_empty());
    }
    let mut target = testing::target();
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    target.declared = vec![testing::declared(
        "exceptions",
        &url::Url::parse(&format!("http://{gone}/")).unwrap(),
    )];
    assert_eq!(testing::run(&testing::config(target)).collectors[0].cause, "refused");
}

#[test]
fn an_unknown_collector_is_named_with_the_known_ones() {
    let server = Server::start(|_| answer("[]"));
    for name in ["nosuch", "../exceptions"] {
        let collected = look_at(&server, name);
        assert_eq!(collected.collectors[0].cause, "collector-config");
    }
    assert!(look_at(&server, "nosuch").collectors[0].detail.contains("alertmanager"));
}

#[test]
fn a_file_in_the_home_wins_and_pages_are_joined() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(|request| match path(request) {
        "/list" => reply(
            200,
            &[("link", &format!("<http://{}/list?page=2>; rel=\"next\"", host(request)))],
            r#"[{"t":"a"}]"#,
        ),
        "/list?page=2" => answer(r#"[{"t":"b"}]"#),
        other => panic!("{other}"),
    });
    fs::write(
        dir.path().join("own.json"),
        r#"{"request":{"url":"{url}/list"},"pages":"link","kind":"task","severity":"warning"}"#,
    )
    .unwrap();
    // Plain enough to run without a child.
    fs::write(dir.path().join("own.jq"), r#"map({title: .t, message: ""})"#).unwrap();
    let mut config = config(&server, "own");
    config.home.collectors = dir.path().to_owned();
    let collected = testing::run(&config);
    let titles: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(titles, ["a", "b"], "{:?}", collected.collectors);
    assert_eq!(collected.signals[0].kind, SignalKind::Task);
}

fn host(request: &str) -> String {
    let line = request
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("host:"))
        .unwrap();
    line.split_once(' ').unwrap().1.to_owned()
}

#[test]
fn text_of_the_source_is_cleaned_and_redacted() {
    let body = r#"[{"labels":{"alertname":"A\u001b[2J\u202e"},"annotations":{"summary":"key is fake-secret-not-real"},"startsAt":"2026-11-29T02:00:00Z","status":{"state":"active"}}]"#;
    let server = Server::start(move |_| answer(body));
    let mut config = config(&server, "alertmanager");
    config
        .secrets
        .values
        .insert("X".to_owned(), "fake-secret-not-real".into());
    let collected = testing::run(&config);
    let all = serde_json::to_string(&collected.signals).unwrap();
    assert!(
        !all.contains("fake-secret-not-real") && !all.contains("\\u001b"),
        "{all}"
    );
}
