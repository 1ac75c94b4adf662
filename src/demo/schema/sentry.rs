//! The shipped collector reads the world's Sentry; every reply is held against the published description, where it lies
//! beside the checkout.

use serde_json::{Value, json};

use super::Description;
use crate::{
    adapters::{clock::Clock, http::Http},
    collect::{CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources, collect},
    config::{Config, Home, env::Environment, load::from_text},
    demo::{Fault, Pace, SENTRY_ON_REQUEST, Site, TRACKER_TOKEN, Which, World, WorldOptions, client},
    model::signal::OutcomeKind,
    text::{self, Redactor, corpus_tests::shared},
};

const LIST: &str = "/api/0/organizations/{organization_id_or_slug}/issues/";
const EVENT: &str = "/api/0/organizations/{organization_id_or_slug}/issues/{issue_id}/events/{event_id}/";
fn world() -> World {
    World::start(WorldOptions {
        pace: Pace::Assumed,
        app: false,
        ..WorldOptions::shop("2026-11-29T03:00:00Z".parse().unwrap())
    })
    .unwrap()
}

fn stack(n: usize) -> String {
    let name = ["total", "price", "stock"][n];
    format!(
        "Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in {name}\n    return cart[\"{name}\"]\nKeyError: '{name}'\n"
    )
}

fn report(world: &World, n: usize) {
    let message = ["'total'", "'price'", "'stock'"][n];
    let event = json!({ "type": "KeyError", "message": message, "stack": stack(n), "route": "/cart", "release": "a".repeat(40) });
    client::request(
        world.tracker_url(),
        "POST",
        "/api/events",
        &[],
        event.to_string().as_bytes(),
    )
    .unwrap();
}

fn config(world: &World) -> Config {
    let text = json!({ "mode": "observe", "retry": { "attempts": 1, "seconds": 0 }, "repos": { "my-shop": { "branch": "main",
        "collectors": { "sentry": { "values": { "url": world.tracker_url() } } } } } });
    let env = [
        ("SENTRY_AUTH_TOKEN", TRACKER_TOKEN),
        ("SENTRY_ORG", "acme"),
        ("SENTRY_PROJECT_MY_SHOP", "shop"),
    ];
    from_text(
        &text.to_string(),
        &Home::at("/nonexistent/home".as_ref()),
        &Environment::new(env),
    )
    .unwrap()
}

fn look(world: &World, cursor: Option<&str>) -> Collected {
    let config = config(world);
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), Vec::new());
    let mut sources = Sources::new();
    if let Some(cursor) = cursor {
        let facts = SourceFacts {
            last_ok_at: cursor.parse().ok(),
            cursor: Some(cursor.to_owned()),
        };
        sources.insert(key(), facts);
    }
    let cache = HttpCache::default();
    let context = CollectContext::new(
        &config,
        &http,
        &redactor,
        Clock::start(Some(world.now())),
        &sources,
        &cache,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(collect(&context))
}

fn key() -> SourceKey {
    SourceKey {
        repo: "my-shop".parse().unwrap(),
        target: "my-shop".to_owned(),
        collector: "sentry".to_owned(),
    }
}

fn minutes(world: &World, n: u64) {
    world.advance(std::time::Duration::from_mins(n));
}

#[test]
fn issues_of_all_pages_are_signals_with_their_latest_event() {
    let world = world();
    (0..3).for_each(|n| report(&world, n));
    report(&world, 0);
    minutes(&world, 5);
    let collected = look(&world, None);
    let outcome = &collected.collectors[0];
    assert_eq!((outcome.outcome, outcome.items), (OutcomeKind::Ok, 3), "{outcome:?}");
    let asked = world.town().requests();
    assert_eq!(
        asked.iter().filter(|r| r.ends_with("/issues/")).count(),
        2,
        "two pages: {asked:?}"
    );

    let first = collected
        .signals
        .iter()
        .find(|s| s.title == "KeyError: 'total'")
        .unwrap();
    assert_eq!(
        first.signature,
        text::signature(&stack(0)).signature,
        "an issue and a log line are one cause"
    );
    assert_eq!(first.culprit.as_ref().unwrap().file, "app/cart.py");
    assert_eq!((first.count, first.evidence["state"].as_str()), (2, Some("new")));
    assert_eq!(first.release_sha.as_ref().unwrap().as_str(), "a".repeat(40));
    let all = serde_json::to_string(&collected.signals).unwrap();
    for private in ["customer@example.com", "fake-cookie-not-real", "fake-variable-not-real"] {
        assert!(!all.contains(private), "{private}: {all}");
    }
    world.finish().unwrap();
}

#[test]
fn each_event_is_read_in_one_look() {
    let world = world();
    report(&world, 0);
    minutes(&world, 5);
    let first = look(&world, None);
    let cursor = first.cursors[&key()].clone();
    // Younger than the source needs to show it: left to the next look.
    report(&world, 1);
    let next = look(&world, Some(&cursor));
    assert!(next.signals.is_empty(), "{:?}", next.signals);
    minutes(&world, 3);
    let next = look(&world, Some(&cursor));
    let titles: Vec<_> = next.signals.iter().map(|s| (s.title.as_str(), s.count)).collect();
    assert_eq!(titles, [("KeyError: 'price'", 1)]);
    let since: chrono::DateTime<chrono::Utc> = cursor.parse().unwrap();
    assert!(next.signals[0].first_seen >= since);
    world.finish().unwrap();
}

#[test]
fn what_cannot_be_read_is_named() {
    let status = |code| Fault::Status { code, performed: false };
    let event = "/api/0/organizations/acme/issues/*/events/latest/";
    let cases = [
        ("*/issues/", status(401), OutcomeKind::Failed, "http-401", 0),
        ("*/issues/", status(429), OutcomeKind::Failed, "http-429", 0),
        ("*/issues/", Fault::TruncatedJson, OutcomeKind::Failed, "truncated", 0),
        ("*/issues/", Fault::Html, OutcomeKind::Failed, "html", 0),
        // The first of two events is spoilt: of its issue is told what the list says.
        (event, Fault::TruncatedJson, OutcomeKind::Degraded, "truncated", 2),
        (event, status(500), OutcomeKind::Degraded, "http-500", 2),
        // An event that is gone leaves what the list says.
        (event, status(404), OutcomeKind::Ok, "", 2),
        // What every call would meet ends the look, and the next one begins where this one did.
        (event, status(429), OutcomeKind::Failed, "http-429", 0),
    ];
    for (path, fault, kind, cause, told) in cases {
        let world = world();
        report(&world, 0);
        report(&world, 1);
        minutes(&world, 5);
        world.fault(Which::first("GET", path).on(Site::Tracker), fault.clone());
        let collected = look(&world, None);
        let outcome = &collected.collectors[0];
        assert_eq!(
            (outcome.outcome, outcome.cause.as_str()),
            (kind, cause),
            "{path} {fault:?}: {outcome:?}"
        );
        assert_eq!(collected.signals.len(), told, "{path} {fault:?}");
        assert_eq!(
            collected.cursors.is_empty(),
            kind == OutcomeKind::Failed,
            "{path} {fault:?}"
        );
        world.finish().unwrap();
    }
}

#[test]
fn replies_are_what_the_description_says() {
    let Some(text) = shared("reference/schemas/sentry-openapi-subset.json") else {
        return;
    };
    let sentry = Description::new(&serde_json::from_str(&text).unwrap(), &Value::Null);
    let world = world();
    report(&world, 0);
    let bearer = format!("Bearer {TRACKER_TOKEN}");
    let get =
        |path: &str| client::request(world.tracker_url(), "GET", path, &[("Authorization", &bearer)], b"").unwrap();
    let issues = get("/api/0/organizations/acme/issues/?start=2026-11-29T02:00:00&end=2026-11-29T04:00:00").json();
    let id = issues[0]["id"].as_str().unwrap();
    let event = get(&format!("/api/0/organizations/acme/issues/{id}/events/latest/")).json();
    for (path, body) in [(LIST, &issues), (EVENT, &event)] {
        let mut problems = sentry.check("GET", path, 200, body).err().unwrap_or_default();
        problems.retain(|p| {
            !SENTRY_ON_REQUEST
                .iter()
                .any(|name| p.contains(&format!("\"{name}\" is a required property")))
        });
        assert!(problems.is_empty(), "{path}: {problems:#?}");
    }
    let refused = client::get(world.tracker_url(), "/api/0/organizations/acme/issues/").unwrap();
    assert_eq!(
        (refused.status, refused.json()["detail"].as_str().map(str::to_owned)),
        (401, Some("Invalid token".to_owned()))
    );
    world.finish().unwrap();
}
