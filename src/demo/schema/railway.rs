//! The product's collector reads the world's Railway, with either kind of token; every reply is held against the published
//! schema.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::graphql::Schema;
use crate::{
    adapters::{clock::Clock, http::Http},
    collect::{
        CacheEntry, CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources, collect, railway_queries,
    },
    config::{Config, Home, env::Environment, load::from_text},
    demo::{
        Fault, Pace, RAILWAY_ACCOUNT_TOKEN, RAILWAY_PROJECT, RAILWAY_PROJECT_TOKEN, RAILWAY_SERVICE, Site, Which,
        World, WorldOptions, client,
        railway::{Other, Railway},
    },
    model::signal::{ChangeKind, CollectorOutcome, OutcomeKind, Severity, Signal, SignalKind},
    text::{self, Redactor},
};

const TRACE: &str = "Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in total\n    return cart[\"total\"]\nKeyError: 'total'\n";
const EVERY_LOOK: [&str; 4] = ["Service", "RuntimeLogs", "HttpLogs", "Variables"];

mod trouble;

/// A world, and what is kept between looks at it.
struct Stage {
    world: World,
    config: Config,
    facts: Option<SourceFacts>,
    cache: BTreeMap<String, CacheEntry>,
}

impl Stage {
    fn with(env: (&str, &str), railway: &Value, more: &Value, app: bool) -> Self {
        let world = World::start(WorldOptions {
            pace: Pace::Assumed,
            app,
            ..WorldOptions::shop("2026-11-29T03:00:00Z".parse().unwrap())
        })
        .unwrap();
        let mut target = json!({ "branch": "main", "railway": railway });
        if app {
            target["health"] = json!([{ "url": format!("{}/health", world.app_url()), "name": "front" }]);
        }
        let mut text = json!({
            "mode": "observe", "retry": { "attempts": 1, "seconds": 0 }, "railway": { "api": world.railway_api() },
            "repos": { "shop": target },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            text[key] = value.clone();
        }
        let home = Home::at("/nonexistent/home".as_ref());
        let config = from_text(&text.to_string(), &home, &Environment::new([env])).unwrap();
        Self {
            world,
            config,
            facts: None,
            cache: BTreeMap::new(),
        }
    }

    /// With a project token, which needs no ids.
    fn new() -> Self {
        let railway = json!({ "service": RAILWAY_SERVICE });
        Self::with(("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN), &railway, &Value::Null, false)
    }

    fn railway(&self) -> &Railway {
        &self.world.town().railway
    }

    fn minutes(&self, n: u64) {
        self.world.advance(std::time::Duration::from_mins(n));
    }

    fn ago(&self, seconds: i64) -> DateTime<Utc> {
        self.world.now() - TimeDelta::seconds(seconds)
    }

    /// Everything that is configured.
    fn look_at_all(&mut self) -> Collected {
        let redactor = Redactor::new(self.config.secrets.values.values());
        let http = Http::new(redactor.clone(), Vec::new());
        let mut sources = Sources::new();
        if let Some(facts) = &self.facts {
            sources.insert(key(), facts.clone());
        }
        let cache = HttpCache::new(self.cache.clone());
        let clock = Clock::start(Some(self.world.now()));
        let mut context = CollectContext::new(&self.config, &http, &redactor, clock, &sources, &cache);
        context.resample = [std::time::Duration::ZERO; 2];
        context.waking = std::time::Duration::ZERO;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let collected = runtime.block_on(collect(&context));
        self.cache.extend(cache.changed());
        self.facts = Some(SourceFacts {
            last_ok_at: Some(self.world.now()),
            cursor: collected.cursors.get(&key()).cloned(),
        });
        collected
    }

    fn look(&mut self) -> (CollectorOutcome, Collected) {
        let collected = self.look_at_all();
        let outcome = collected.collectors.iter().find(|outcome| outcome.name == "railway");
        (outcome.unwrap().clone(), collected)
    }

    /// A look at which everything could be read.
    fn good(&mut self) -> (CollectorOutcome, Collected) {
        let (outcome, collected) = self.look();
        assert_eq!(outcome.outcome, OutcomeKind::Ok, "{outcome:?}");
        (outcome, collected)
    }

    /// A look at which something could not: how much, and why.
    fn bad(&mut self) -> (OutcomeKind, String) {
        let (outcome, _) = self.look();
        (outcome.outcome, outcome.cause)
    }

    /// Names of the queries since the last time.
    fn asked(&self, before: usize) -> Vec<String> {
        self.railway().asked().split_off(before)
    }

    fn end(self) {
        self.world.finish().unwrap();
    }
}

fn key() -> SourceKey {
    SourceKey {
        repo: "shop".parse().unwrap(),
        target: "shop".to_owned(),
        collector: "railway".to_owned(),
    }
}

fn titles(signals: &[Signal]) -> Vec<(SignalKind, Severity, &str, u64)> {
    let all = signals.iter();
    all.map(|s| (s.kind, s.severity, s.title.as_str(), s.count)).collect()
}

#[test]
fn each_kind_of_token_reads_the_service() {
    let by_name = json!({ "service": RAILWAY_SERVICE });
    let whole = json!({ "service": "Shop", "project": RAILWAY_PROJECT, "environment": "production" });
    for (variable, token, railway, first) in [
        ("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN, &by_name, ["Token", "Services"]),
        ("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN, &whole, ["Token", "Services"]),
        (
            "RAILWAY_API_TOKEN",
            RAILWAY_ACCOUNT_TOKEN,
            &whole,
            ["Environments", "Services"],
        ),
    ] {
        let mut stage = Stage::with((variable, token), railway, &Value::Null, false);
        stage.minutes(5);
        let (outcome, collected) = stage.good();
        let head = stage.world.main_head().unwrap();
        assert_eq!(outcome.release_sha.unwrap().as_str(), head);
        assert_eq!((outcome.deploying_since, collected.signals), (None, Vec::new()));
        let live = &collected.changes[0];
        assert_eq!(
            (live.kind, live.sha.as_ref().unwrap().as_str()),
            (ChangeKind::Deployment, head.as_str())
        );
        assert!(
            live.url
                .as_ref()
                .unwrap()
                .starts_with("https://railway.com/project/1111")
        );
        assert_eq!(stage.asked(0), [&first[..], &EVERY_LOOK].concat(), "{variable}");
        stage.minutes(15);
        stage.good();
        assert_eq!(stage.asked(6), EVERY_LOOK, "the ids are known");
        stage.end();
    }
}

#[test]
fn what_a_service_writes_is_read_once_and_traces_are_joined() {
    let mut stage = Stage::new();
    stage.minutes(5);
    for line in TRACE.lines() {
        stage.railway().line(stage.ago(60), "error", line);
    }
    stage.railway().line(stage.ago(30), "info", "served 17 orders");
    let (_, collected) = stage.good();
    let found = &collected.signals;
    assert_eq!(
        titles(found),
        [(SignalKind::Log, Severity::Error, "KeyError: 'total'", 1)]
    );
    assert_eq!(
        found[0].signature,
        text::signature(TRACE).signature,
        "the same cause as in CI and in a tracker"
    );
    assert_eq!(found[0].culprit.as_ref().unwrap().file, "app/cart.py");
    assert_eq!(
        found[0].release_sha.as_ref().unwrap().as_str(),
        stage.world.main_head().unwrap()
    );
    // Too young to be shown everywhere: left to the next look.
    stage.railway().line(stage.ago(5), "error", "KeyError: 'price'");
    let (_, collected) = stage.good();
    assert!(collected.signals.is_empty(), "{:?}", collected.signals);
    stage.minutes(15);
    let (_, collected) = stage.good();
    assert_eq!(
        titles(&collected.signals),
        [(SignalKind::Log, Severity::Error, "KeyError: 'price'", 1)]
    );
    stage.end();
}

#[test]
fn more_than_a_page_is_read_and_more_than_a_look_is_said() {
    let mut stage = Stage::new();
    stage.minutes(10);
    let start = stage.ago(500);
    for n in 0..1200 {
        stage
            .railway()
            .line(start + TimeDelta::milliseconds(n * 100), "error", "KeyError: 'total'");
    }
    let (_, collected) = stage.good();
    assert_eq!(collected.signals[0].count, 1200);
    assert_eq!(
        stage
            .railway()
            .asked()
            .iter()
            .filter(|name| *name == "RuntimeLogs")
            .count(),
        3
    );
    stage.minutes(15);
    let start = stage.ago(800);
    for n in 0..6000 {
        stage
            .railway()
            .line(start + TimeDelta::milliseconds(n * 100), "error", "KeyError: 'total'");
    }
    assert_eq!(stage.bad(), (OutcomeKind::Degraded, "gap".to_owned()));
    stage.end();
}

#[test]
fn requests_that_failed_are_counted_by_route() {
    let mut stage = Stage::new();
    stage.minutes(5);
    for n in 0..3 {
        stage.railway().request(
            stage.ago(60 + n),
            &format!("/orders/{n}?card=fake-card-not-real"),
            500,
            "",
        );
    }
    stage
        .railway()
        .request(stage.ago(50), "/cart", 502, "connection refused");
    stage.railway().request(stage.ago(50), "/cart", 200, "");
    let (_, collected) = stage.good();
    let expected = [
        (SignalKind::Probe, Severity::Error, "GET /orders/<n>: HTTP 500", 3),
        (
            SignalKind::Probe,
            Severity::Error,
            "requests do not reach the service: HTTP 502",
            1,
        ),
    ];
    assert_eq!(titles(&collected.signals), expected);
    assert!(!serde_json::to_string(&collected.signals).unwrap().contains("fake-card"));
    stage.minutes(15);
    assert!(stage.good().1.signals.is_empty());
    stage.end();
}

fn failed(stage: &Stage, step: &'static str, said: &str, log: &[&str]) -> Other {
    Other {
        status: "FAILED",
        sha: "f".repeat(40),
        at: stage.ago(60),
        failed: Some((step, said.to_owned())),
        log: log.iter().map(|line| (*line).to_owned()).collect(),
    }
}

#[test]
fn a_failed_build_is_told_with_its_cause_at_every_look_and_read_once() {
    let mut stage = Stage::new();
    stage.minutes(5);
    let log = [
        "step 4/9",
        "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    ];
    stage
        .railway()
        .other(Some(failed(&stage, "BUILD_IMAGE", "exit code: 2", &log)));
    for look in 0..2 {
        let (outcome, collected) = stage.good();
        let found = titles(&collected.signals);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found
                .iter()
                .all(|(_, severity, _, count)| (*severity, *count) == (Severity::Error, 1)),
            "{found:?}"
        );
        let deploy = collected.signals.iter().find(|s| s.kind == SignalKind::Deploy).unwrap();
        assert!(deploy.message.contains("exit code: 2"), "{}", deploy.message);
        assert_eq!(deploy.evidence["code"], "BUILD_IMAGE");
        let cause = collected.signals.iter().find(|s| s.kind == SignalKind::Ci).unwrap();
        assert!(cause.message.contains("TS2322"), "{}", cause.message);
        assert_eq!(
            outcome.release_sha.unwrap().as_str(),
            stage.world.main_head().unwrap(),
            "the old one serves"
        );
        let builds = stage
            .railway()
            .asked()
            .iter()
            .filter(|name| *name == "BuildLogs")
            .count();
        assert_eq!(builds, 1, "look {look}");
        stage.minutes(15);
    }
    stage.end();
}

#[test]
fn a_release_that_does_not_start_tells_what_it_wrote() {
    let mut stage = Stage::new();
    stage.minutes(180);
    let log = ["Error: listen EADDRINUSE: address already in use :::3000"];
    let mut other = failed(&stage, "HEALTHCHECK", "no replica became healthy", &log);
    // Before the time of a first look: its lines are not among those of the service any more.
    other.at = stage.ago(3600);
    stage.railway().other(Some(other));
    let (_, collected) = stage.good();
    let said = ["EADDRINUSE", "no replica became healthy"];
    let known = |signal: &Signal| said.iter().any(|words| signal.message.contains(words));
    let mut told: Vec<(SignalKind, bool)> = collected.signals.iter().map(|s| (s.kind, known(s))).collect();
    told.sort_by_key(|(kind, _)| *kind);
    let expected = [(SignalKind::Log, true), (SignalKind::Deploy, true)];
    assert_eq!(told, expected, "{:?}", collected.signals);
    stage.end();
}

#[test]
fn crashed_ended_asleep_and_under_way_are_four_things() {
    let mut stage = Stage::new();
    stage.minutes(5);
    let deploy = |signals: &[Signal]| -> Vec<(Severity, String)> {
        signals.iter().map(|s| (s.severity, s.title.clone())).collect()
    };
    stage.railway().status(Some("CRASHED"));
    let crashed = "the production deployment crashed".to_owned();
    assert_eq!(deploy(&stage.good().1.signals), [(Severity::Critical, crashed.clone())]);
    stage.railway().status(None);
    stage.railway().stopped(true);
    let (_, ended) = stage.good();
    assert_eq!(deploy(&ended.signals), [(Severity::Critical, crashed)]);
    assert!(
        ended.signals[0].message.contains("ended by itself"),
        "{}",
        ended.signals[0].message
    );
    stage.railway().status(Some("SLEEPING"));
    assert!(stage.good().1.signals.is_empty(), "asleep is well");
    stage.railway().status(None);
    stage.railway().stopped(false);
    let at = stage.ago(60);
    stage.railway().other(Some(Other {
        status: "BUILDING",
        sha: "b".repeat(40),
        at,
        failed: None,
        log: Vec::new(),
    }));
    let (outcome, collected) = stage.good();
    assert_eq!(
        outcome.deploying_since.map(|since| since.timestamp()),
        Some(at.timestamp())
    );
    assert!(collected.signals.is_empty());
    stage.end();
}

#[test]
fn variables_are_told_by_name_and_time() {
    let mut stage = Stage::new();
    let old = stage.ago(3600 * 24 * 30);
    stage.railway().variable("DATABASE_URL", old);
    stage.railway().variable("CACHE_URL", old);
    stage.minutes(5);
    let (_, collected) = stage.good();
    assert!(
        collected
            .changes
            .iter()
            .all(|change| change.kind != ChangeKind::Variable),
        "old ones are no news"
    );
    let (changed, set) = (stage.ago(60), stage.ago(30));
    stage.railway().variable("DATABASE_URL", changed);
    stage.railway().variable("STRIPE_KEY", set);
    stage.railway().remove_variable("CACHE_URL");
    let (outcome, collected) = stage.good();
    let names: Vec<String> = outcome.variables.unwrap().into_iter().collect();
    assert_eq!(names, ["DATABASE_URL", "STRIPE_KEY"], "the names that are set now");
    let changes = || {
        collected
            .changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Variable)
    };
    let told: Vec<(&str, i64)> = changes()
        .map(|change| (change.key.as_str(), change.at.timestamp()))
        .collect();
    assert_eq!(
        told,
        [("DATABASE_URL", changed.timestamp()), ("STRIPE_KEY", set.timestamp())]
    );
    stage.end();
}
