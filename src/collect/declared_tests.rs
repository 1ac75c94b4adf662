//! The shipped declared collectors on the answers they are made for, and sources that cannot be read.

use super::*;
use crate::{
    adapters::http::testing::{Reply, Server, json as answer, path, reply},
    collect::{Collected, HttpCache, SourceFacts, SourceKey, Sources, testing},
    config::Config,
    model::signal::{ChangeKind, Severity, SignalKind},
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
    assert_eq!(titles, ["HighErrors on a:1", "HighErrors on b:1", "DiskFull on a:1"]);
    let family = |n: usize| crate::text::signature::family(collected.signals[n].signed_text());
    assert_eq!(family(0), Some("alert HighErrors"));
    assert!(family(0) == family(1) && family(0) != family(2));
    assert_ne!(collected.signals[0].signature, collected.signals[1].signature);
    assert_eq!(collected.signals[2].severity, Severity::Warning);
}

/// What a rollout renames is the same thing; another workload, disk or host is another.
#[test]
fn an_alert_is_about_a_workload_a_disk_or_a_host() {
    let pods = [
        "api-7d9f8c6b5-x2vqz",
        "api-5c8d7f9b4d-kq7wz",
        "worker-7d9f8c6b5-x2vqz",
        "db-0",
        "db-1",
    ];
    let of_pods = pods.iter().enumerate().map(|(n, pod)| {
        format!(r#"{{"labels":{{"alertname":"CrashLooping","pod":"{pod}","instance":"10.0.0.{n}:80"}},"annotations":{{}},"startsAt":"2026-11-29T02:00:00Z","status":{{"state":"active"}}}}"#)
    });
    let disks = [("db1", "/"), ("db1", "/data"), ("db2", "/")].map(|(host, at)| {
        format!(r#"{{"labels":{{"alertname":"DiskFull","instance":"{host}","mountpoint":"{at}"}},"annotations":{{}},"startsAt":"2026-11-29T02:00:00Z","status":{{"state":"active"}}}}"#)
    });
    let body = format!("[{}]", of_pods.chain(disks).collect::<Vec<_>>().join(","));
    let server = Server::start(move |_| answer(&body));
    let collected = look_at(&server, "alertmanager");
    let titles: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
    let expected = [
        "CrashLooping on api",
        "CrashLooping on api",
        "CrashLooping on worker",
        "CrashLooping on db-0",
        "CrashLooping on db-1",
        "DiskFull on db1 /",
        "DiskFull on db1 /data",
        "DiskFull on db2 /",
    ];
    assert_eq!(titles, expected);
    let signatures: BTreeSet<_> = collected.signals.iter().map(|s| &s.signature).collect();
    assert_eq!(signatures.len(), 7);
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
    target.declared = vec![testing::declared("exceptions", &"http://127.0.0.1:1/".parse().unwrap())];
    assert_eq!(testing::run(&testing::config(target)).collectors[0].cause, "refused");
}

#[test]
fn an_issue_whose_event_cannot_be_read_is_told_from_the_list() {
    let issue = |id: u32, kind: &str| {
        format!(
            r#"{{"id":"{id}","shortId":"SHOP-{id}","title":"{kind}: bad","level":"error","count":"3","culprit":"pay","permalink":"https://sentry.example/{id}",
            "firstSeen":"2026-11-29T02:40:00Z","lastSeen":"2026-11-29T02:50:00Z","userCount":1,"metadata":{{"type":"{kind}","value":"bad"}}}}"#
        )
    };
    let look = |issues: &[(u32, &str)]| {
        let list: Vec<String> = issues.iter().map(|(id, kind)| issue(*id, kind)).collect();
        let list = format!("[{}]", list.join(","));
        let server = Server::start(move |request| match path(request).split('?').next().unwrap() {
            "/api/0/organizations/acme/issues/" => answer(&list),
            "/api/0/organizations/acme/issues/1/events/latest/" => answer(r#"{"entries":[]}"#),
            _ => reply(500, &[], ""),
        });
        let mut config = config(&server, "sentry");
        let used = &mut config.repos.values_mut().next().unwrap().targets[0].declared[0];
        used.values.insert("org".to_owned(), "acme".to_owned());
        used.secrets.insert("token".to_owned(), "fake-token-not-real".into());
        let collected = testing::run(&config);
        let titles: Vec<String> = collected.signals.iter().map(|s| s.title.clone()).collect();
        let outcome = &collected.collectors[0];
        (outcome.outcome, outcome.cause.clone(), titles, collected.cursors.len())
    };
    let told = |titles: &[&str]| {
        let titles = titles.iter().map(|title| (*title).to_owned()).collect();
        (OutcomeKind::Degraded, "http-500".to_owned(), titles, 1)
    };
    assert_eq!(look(&[(9, "TypeError")]), told(&["TypeError: bad"]));
    assert_eq!(
        look(&[(9, "TypeError"), (1, "KeyError")]),
        told(&["TypeError: bad", "KeyError: bad"])
    );
    // No event of several: the service has a problem, and the next look reads them all.
    let (kind, _, titles, cursors) = look(&[(8, "TypeError"), (9, "KeyError")]);
    assert_eq!((kind, titles.len(), cursors), (OutcomeKind::Failed, 0, 0));
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

/// A status page of Atlassian's shape with these incidents.
fn summary(incidents: &str) -> String {
    format!(
        r#"{{"page":{{"id":"kx1","name":"Acme Cloud","url":"https://status.acme.example","time_zone":"Etc/UTC","updated_at":"2026-11-29T02:58:00Z"}},
        "components":[{{"id":"c1","name":"Builds","status":"partial_outage","group":false}},{{"id":"c2","name":"API","status":"operational","group":false}}],
        "incidents":[{incidents}],"scheduled_maintenances":[],"status":{{"indicator":"major","description":"Partial System Outage"}}}}"#
    )
}

fn incident(id: &str, name: &str, status: &str, impact: &str, components: &str) -> String {
    format!(
        r#"{{"id":"{id}","name":"{name}","status":"{status}","impact":"{impact}","created_at":"2026-11-29T02:10:00.000Z",
        "started_at":"2026-11-29T02:05:00.000Z","updated_at":"2026-11-29T02:50:00.000Z","monitoring_at":null,"resolved_at":null,
        "shortlink":"https://stspg.example/{id}","page_id":"kx1","components":[{components}],
        "incident_updates":[{{"id":"u2","status":"{status}","body":"A fix is on its way.","created_at":"2026-11-29T02:50:00Z"}},
        {{"id":"u1","status":"investigating","body":"We are looking.","created_at":"2026-11-29T02:10:00Z"}}]}}"#
    )
}

fn status(body: String, values: &[(&str, &str)]) -> Collected {
    let server = Server::start(move |_| answer(&body));
    let mut config = config(&server, "statuspage");
    let used = &mut config.repos.values_mut().next().unwrap().targets[0].declared[0];
    let address = server.url("/api/v2/summary.json").to_string();
    used.values.insert("url".to_owned(), address);
    for (name, value) in values {
        used.values.insert((*name).to_owned(), (*value).to_owned());
    }
    testing::run(&config)
}

#[test]
fn an_incident_of_a_provider_is_an_alert_and_a_change() {
    let incidents = [
        incident(
            "a1",
            "Builds are delayed",
            "identified",
            "major",
            r#"{"id":"c1","name":"Builds"}"#,
        ),
        incident("a2", "Everything is down", "investigating", "critical", ""),
        incident("a3", "Slow pages", "monitoring", "minor", r#"{"id":"c2","name":"API"}"#),
        incident("a4", "Over", "resolved", "major", ""),
        incident("a5", "A note", "investigating", "none", ""),
    ];
    let body = summary(&incidents.join(","));
    let collected = status(body.clone(), &[("provider", "acme")]);
    assert_eq!(collected.collectors[0].cause, "", "{:?}", collected.collectors[0]);
    let told: Vec<(&str, Severity)> = collected
        .signals
        .iter()
        .map(|s| (s.title.as_str(), s.severity))
        .collect();
    assert_eq!(
        told,
        [
            ("acme: Builds are delayed", Severity::Error),
            ("acme: Everything is down", Severity::Critical),
            ("acme: Slow pages", Severity::Warning),
            ("acme: A note", Severity::Info),
        ]
    );
    let first = &collected.signals[0];
    assert_eq!((first.source.as_str(), first.kind), ("statuspage", SignalKind::Alert));
    assert_eq!(first.message, "Builds are delayed\nA fix is on its way.");
    assert_eq!(first.first_seen.to_rfc3339(), "2026-11-29T02:05:00+00:00");
    assert_eq!(first.url.as_deref(), Some("https://stspg.example/a1"));
    let evidence = ["provider", "impact", "status", "components", "incident"].map(|key| first.evidence[key].as_str());
    assert_eq!(
        evidence,
        [
            Some("acme"),
            Some("major"),
            Some("identified"),
            Some("Builds"),
            Some("a1")
        ]
    );
    let signatures: BTreeSet<_> = collected.signals.iter().map(|s| &s.signature).collect();
    assert_eq!(signatures.len(), 4);
    let change = &collected.changes[0];
    assert_eq!((change.kind, change.key.as_str()), (ChangeKind::Provider, "acme a1"));
    assert_eq!(
        change.what,
        "acme has an incident: Builds are delayed (major, identified)"
    );

    // Of other components nothing is told; an incident that names none counts for all.
    let collected = status(body, &[("components", " api ,Webhooks")]);
    let told: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(
        told,
        [
            "acme cloud: Everything is down",
            "acme cloud: Slow pages",
            "acme cloud: A note"
        ]
    );
}

#[test]
fn the_other_shape_of_status_pages_is_read_and_a_third_is_not() {
    let body = r#"{"page":{"name":"Railtown","url":"https://status.railtown.example","status":"HASISSUES"},
        "activeIncidents":[{"id":"i1","name":"Deployments are slow","started":"2026-11-29T02:00:00.000Z","status":"INVESTIGATING",
        "impact":"PARTIALOUTAGE","url":"https://status.railtown.example/i1"},
        {"name":"Old clock","started":"Sat Nov 28 2026 18:55:50 GMT+0000","status":"MONITORING","impact":"DEGRADEDPERFORMANCE","url":"https://x.example/i2"}]}"#;
    let collected = status(body.to_owned(), &[]);
    let told: Vec<(&str, Severity)> = collected
        .signals
        .iter()
        .map(|s| (s.title.as_str(), s.severity))
        .collect();
    assert_eq!(
        told,
        [
            ("railtown: Deployments are slow", Severity::Error),
            ("railtown: Old clock", Severity::Warning)
        ],
        "{:?}",
        collected.collectors[0]
    );
    assert_eq!(collected.changes.len(), 1, "without a time it is no change");
    let well = status(
        r#"{"page":{"name":"R","url":"https://r.example","status":"UP"}}"#.to_owned(),
        &[],
    );
    assert!(well.signals.is_empty() && !well.collectors[0].is_blind());
    for other in [r#"{"status":"ok"}"#, r#"{"page":{}}"#, "[]", r#"{"incidents":{}}"#] {
        let collected = status(other.to_owned(), &[]);
        assert!(collected.collectors[0].is_blind(), "{other}");
    }
}
