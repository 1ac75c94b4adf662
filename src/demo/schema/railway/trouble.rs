//! What cannot be read, what is refused, what sleeps: each named, none taken for calm.

use super::*;

#[test]
fn errors_in_a_good_status_are_blindness_with_its_cause() {
    use OutcomeKind::{Degraded, Failed};
    for (query, message, kind, cause) in [
        ("Token", "Project Token not found", Failed, "bad-token"),
        ("Service", "Not Authorized", Failed, "not-authorised"),
        ("Service", "Service not found", Failed, "not-found"),
        ("Service", "Two Factor Authentication Required", Failed, "two-factor"),
        ("Service", "Problem processing request", Failed, "graphql"),
        (
            "Service",
            "Cannot query field \"status\" on type \"Deployment\".",
            Failed,
            "unknown-field",
        ),
        ("RuntimeLogs", "You are being rate limited", Degraded, "rate-limited"),
        ("HttpLogs", "Not Authorized", Degraded, "not-authorised"),
        ("Variables", "Not Authorized", Degraded, "not-authorised"),
    ] {
        let mut stage = Stage::new();
        stage.minutes(5);
        stage.railway().line(stage.ago(60), "error", "KeyError: 'total'");
        stage.railway().refuse(query, Some(message));
        let (outcome, collected) = stage.look();
        assert_eq!(
            (outcome.outcome, outcome.cause.as_str()),
            (kind, cause),
            "{query} {message}"
        );
        assert!(!outcome.detail.contains(RAILWAY_PROJECT_TOKEN), "{}", outcome.detail);
        let seen = collected.signals.len();
        assert_eq!(seen, usize::from(kind == Degraded && query != "RuntimeLogs"), "{query}");
        // What was not read is read later, and once.
        stage.railway().refuse(query, None);
        stage.minutes(10);
        let (_, collected) = stage.good();
        assert_eq!(
            seen + collected.signals.len(),
            1,
            "{query} {message}: {:?}",
            collected.signals
        );
        stage.end();
    }
}

#[test]
fn another_token_and_another_place_are_named() {
    let service = json!({ "service": RAILWAY_SERVICE });
    let with = |token: &str, railway: &Value| {
        let mut stage = Stage::with(("RAILWAY_TOKEN", token), railway, &Value::Null, false);
        let (outcome, _) = stage.look();
        stage.end();
        (outcome.cause, outcome.detail)
    };
    let (cause, detail) = with("not-a-real-token", &service);
    assert_eq!(cause, "not-authorised");
    assert!(detail.contains("RAILWAY_TOKEN"), "{detail}");
    let (cause, detail) = with(
        RAILWAY_PROJECT_TOKEN,
        &json!({ "service": RAILWAY_SERVICE, "environment": "staging" }),
    );
    assert_eq!(cause, "other-place");
    assert!(detail.contains("staging") && detail.contains("production"), "{detail}");
    let (cause, detail) = with(RAILWAY_PROJECT_TOKEN, &json!({ "service": "shopp" }));
    assert_eq!(cause, "not-found");
    assert!(detail.contains("there is: shop, worker"), "{detail}");
}

#[test]
fn a_spent_hour_is_waited_for_over_ticks() {
    let mut stage = Stage::new();
    stage.minutes(5);
    let until = stage.world.now() + TimeDelta::minutes(40);
    stage.railway().limit(7, until);
    stage.good();
    assert_eq!(stage.asked(0).len(), 6);
    // One call is left: a look would burn it and see nothing.
    stage.minutes(15);
    assert_eq!(stage.bad(), (OutcomeKind::Failed, "rate-limited".to_owned()));
    assert_eq!(stage.asked(6), Vec::<String>::new(), "nothing is asked");
    stage.railway().line(stage.ago(60), "error", "KeyError: 'total'");
    stage.minutes(30);
    let (_, collected) = stage.good();
    assert_eq!(collected.signals.len(), 1, "and the lines of the time between are read");
    // The limit runs out within a look.
    stage.minutes(15);
    stage.railway().limit(2, stage.world.now() + TimeDelta::minutes(20));
    let before = stage.asked(0).len();
    assert_eq!(stage.bad(), (OutcomeKind::Degraded, "rate-limited".to_owned()));
    assert_eq!(stage.asked(before).len(), 2, "what is known to be refused is not asked");
    stage.end();
}

#[test]
fn a_refusal_says_how_long_to_wait() {
    let mut stage = Stage::new();
    stage.minutes(5);
    stage.railway().limit(0, stage.world.now() + TimeDelta::minutes(20));
    assert_eq!(stage.bad(), (OutcomeKind::Failed, "rate-limited".to_owned()));
    stage.minutes(15);
    assert_eq!(stage.bad(), (OutcomeKind::Failed, "rate-limited".to_owned()));
    assert_eq!(stage.asked(0).len(), 1);
    stage.minutes(15);
    stage.good();
    stage.end();
}

#[test]
fn broken_answers_are_named_and_a_query_is_tried_again() {
    let status = |code| Fault::Status { code, performed: false };
    let api = Which::first("POST", "/graphql/v2").on(Site::Railway);
    for (fault, cause) in [
        (status(401), "http-401"),
        (status(500), "http-500"),
        (Fault::Html, "html"),
        (Fault::TruncatedJson, "truncated"),
        (Fault::DuplicateKeys, "duplicate-keys"),
        (Fault::RedirectLoop, "http-302"),
        (Fault::LostAnswer, "reset"),
    ] {
        let mut stage = Stage::new();
        stage.world.fault(api.clone(), fault.clone());
        let (outcome, _) = stage.look();
        assert_eq!(
            (outcome.outcome, outcome.cause.as_str()),
            (OutcomeKind::Failed, cause),
            "{fault:?}"
        );
        stage.good();
        stage.end();
    }
    // To ask a question twice does nothing twice.
    let service = json!({ "service": RAILWAY_SERVICE });
    let more = json!({ "retry": { "attempts": 2, "seconds": 0 } });
    let mut stage = Stage::with(("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN), &service, &more, false);
    stage.world.fault(api, status(503));
    stage.good();
    stage.end();
}

#[test]
fn what_sleeps_is_woken_before_it_is_called_down() {
    let railway = json!({ "service": RAILWAY_SERVICE });
    for (status, down) in [("SLEEPING", false), ("SUCCESS", true)] {
        let mut stage = Stage::with(("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN), &railway, &Value::Null, true);
        stage.railway().status(Some(status));
        // As long as all samples of one probe: then it is awake.
        let mut waking = Which::first("GET", "/health").on(Site::App);
        waking.times = 3;
        let gateway = Fault::Status {
            code: 502,
            performed: false,
        };
        stage.world.fault(waking, gateway);
        let collected = stage.look_at_all();
        let told: Vec<&str> = collected.signals.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(told, if down { vec!["front: HTTP 502"] } else { vec![] }, "{status}");
        assert_eq!(collected.collectors.len(), 2);
        stage.end();
    }
}

#[test]
fn what_does_not_wake_is_down() {
    let railway = json!({ "service": RAILWAY_SERVICE });
    let mut stage = Stage::with(("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN), &railway, &Value::Null, true);
    stage.railway().status(Some("SLEEPING"));
    let gateway = Fault::Status {
        code: 502,
        performed: false,
    };
    stage
        .world
        .fault(Which::first("GET", "/health").on(Site::App).always(), gateway);
    let collected = stage.look_at_all();
    assert_eq!(
        titles(&collected.signals),
        [(SignalKind::Health, Severity::Critical, "front: HTTP 502", 1)]
    );
    stage.end();
}

#[test]
fn replies_are_what_the_schema_says() {
    let schema = Schema::railway();
    let stage = Stage::new();
    stage.minutes(5);
    stage.railway().line(stage.ago(60), "error", "KeyError: 'total'");
    stage
        .railway()
        .request(stage.ago(60), "/cart", 502, "connection refused");
    stage.railway().variable("STRIPE_KEY", stage.ago(30));
    stage
        .railway()
        .other(Some(failed(&stage, "BUILD_IMAGE", "exit code: 2", &["no"])));
    let ids = json!({
        "projectId": RAILWAY_PROJECT, "environmentId": "22222222-2222-4222-8222-222222222222", "first": 50,
        "serviceId": "33333333-3333-4333-8333-333333333333", "filter": "@service:33333333-3333-4333-8333-333333333333",
    });
    for (name, text) in railway_queries() {
        let header = if name == "Environments" {
            ("Authorization", format!("Bearer {RAILWAY_ACCOUNT_TOKEN}"))
        } else {
            ("Project-Access-Token", RAILWAY_PROJECT_TOKEN.to_owned())
        };
        let body = json!({ "query": text, "operationName": name, "variables": ids }).to_string();
        let base = stage.world.railway_api();
        let base = base.strip_suffix("/graphql/v2").unwrap();
        let reply = client::request(base, "POST", "/graphql/v2", &[(header.0, &header.1)], body.as_bytes()).unwrap();
        let reply = reply.json();
        assert_eq!(schema.check_reply(text, &reply["data"]), Ok(()), "{name}: {reply}");
        let list = reply["data"].as_object().unwrap().values().next().unwrap();
        assert_ne!(list, &json!([]), "{name} shows something");
    }
    stage.end();
}
