//! A registry of the test's own: asked seldom, believed until it says otherwise.

use std::sync::{Arc, Mutex};

use super::*;
use crate::{
    adapters::http::testing::{Server, json as answer, path, reply},
    collect::{Collected, SourceFacts, SourceKey, Sources, testing},
    config::Config,
};

type Said = Arc<Mutex<(u16, String)>>;

struct Registry {
    server: Server,
    said: Said,
    config: Config,
    cursor: Option<String>,
}

fn start() -> DateTime<Utc> {
    testing::NOW.parse().unwrap()
}

impl Registry {
    fn new() -> Self {
        let said = Said::default();
        let says = Arc::clone(&said);
        let server = Server::start(move |request| match path(request) {
            "/dns.json" => {
                let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
                answer(&format!(
                    r#"{{ "services": [[["example"], ["http://{host}/rdap/"]]] }}"#
                ))
            }
            "/rdap/domain/shop.example" => {
                let (code, body) = says.lock().unwrap().clone();
                reply(code, &[("content-type", "application/rdap+json")], &body)
            }
            _ => reply(404, &[], ""),
        });
        let mut target = testing::target();
        target.domains = vec!["shop.example".to_owned()];
        let mut config = testing::config(target);
        config.registries = server.url("/dns.json");
        Self {
            server,
            said,
            config,
            cursor: None,
        }
    }

    fn ends(&self, end: DateTime<Utc>) {
        let event = json!({ "eventAction": "expiration", "eventDate": end.to_rfc3339() });
        *self.said.lock().unwrap() = (200, json!({ "events": [event] }).to_string());
    }

    fn refuses(&self, code: u16) {
        *self.said.lock().unwrap() = (code, String::new());
    }

    fn look(&mut self, now: DateTime<Utc>) -> Collected {
        let key = SourceKey {
            repo: "web".parse().unwrap(),
            target: "web".to_owned(),
            collector: "domains".to_owned(),
        };
        let facts = SourceFacts {
            last_ok_at: None,
            cursor: self.cursor.take(),
        };
        let collected = testing::run_at(&self.config, &Sources::from([(key.clone(), facts)]), now);
        self.cursor = collected.cursors.get(&key).cloned();
        collected
    }

    /// How often the registry was asked for the name.
    fn asked(&self) -> usize {
        let seen = self.server.seen();
        seen.iter()
            .filter(|request| path(request).starts_with("/rdap/"))
            .count()
    }
}

fn told(collected: &Collected) -> Vec<(Severity, &str)> {
    let signals = collected.signals.iter();
    signals.map(|signal| (signal.severity, signal.title.as_str())).collect()
}

fn outcome(collected: &Collected) -> (OutcomeKind, &str) {
    let outcome = &collected.collectors[0];
    (outcome.outcome, outcome.cause.as_str())
}

#[test]
fn a_registry_is_asked_once_a_day_and_what_it_said_holds() {
    let mut registry = Registry::new();
    registry.ends(start() + TimeDelta::days(31));
    let mut seen = Vec::new();
    for hour in [0, 1, 12, 23, 24, 47, 48] {
        let collected = registry.look(start() + TimeDelta::hours(hour));
        assert_eq!(outcome(&collected), (OutcomeKind::Ok, ""), "{hour}");
        seen.push((hour, registry.asked(), collected.signals.len()));
    }
    assert_eq!(
        seen,
        [
            (0, 1, 0),
            (1, 1, 0),
            (12, 1, 0),
            (23, 1, 0),
            (24, 2, 1),
            (47, 2, 1),
            (48, 3, 1)
        ]
    );
    registry.look(start() - TimeDelta::days(9));
    assert_eq!(registry.asked(), 4, "a clock that went back");
}

#[test]
fn the_nearer_the_end_the_worse_it_is() {
    let end = start() + TimeDelta::days(60);
    let mut registry = Registry::new();
    registry.ends(end);
    for (days, expected) in [
        (31, None),
        (
            30,
            Some((Severity::Warning, "the domain shop.example expires on 2027-01-28")),
        ),
        (
            7,
            Some((Severity::Error, "the domain shop.example expires on 2027-01-28")),
        ),
        (
            0,
            Some((Severity::Critical, "the domain shop.example expired on 2027-01-28")),
        ),
    ] {
        let collected = registry.look(end - TimeDelta::days(days));
        assert_eq!(told(&collected).first().copied(), expected, "{days}");
    }
    let collected = registry.look(end);
    let (signal, change) = (&collected.signals[0], &collected.changes[0]);
    assert_eq!((change.what.as_str(), change.at), ("domain", end));
    assert_eq!(signal.evidence["domain"], "shop.example");
    registry.ends(end + TimeDelta::days(365));
    let renewed = registry.look(end + TimeDelta::days(1));
    assert_eq!(told(&renewed), []);
}

#[test]
fn a_registry_that_does_not_tell_is_blindness_and_forgets_nothing() {
    let mut registry = Registry::new();
    registry.ends(start() + TimeDelta::days(3));
    registry.look(start());
    for (code, cause) in [
        (500, "http-500"),
        (429, "rate-limited"),
        (404, "http-404"),
        (200, "empty"),
    ] {
        registry.refuses(code);
        let collected = registry.look(start() + TimeDelta::days(1));
        assert_eq!(outcome(&collected), (OutcomeKind::Failed, cause), "{code}");
        assert_eq!(collected.signals.len(), 1, "what was said before still holds");
        registry.look(start());
    }
    let before = registry.asked();
    for minute in [0, 15, 30, 45, 60] {
        registry.look(start() + TimeDelta::days(2) + TimeDelta::minutes(minute));
    }
    assert_eq!(registry.asked() - before, 2, "after a failure it is asked once an hour");
    registry.ends(start() + TimeDelta::days(300));
    let well = registry.look(start() + TimeDelta::days(3));
    assert_eq!((outcome(&well), told(&well)), ((OutcomeKind::Ok, ""), vec![]));
}

#[test]
fn a_name_that_no_registry_answers_for_hides_no_other() {
    let mut registry = Registry::new();
    registry.ends(start() + TimeDelta::days(3));
    registry.config.repos.values_mut().next().unwrap().targets[0]
        .domains
        .push("shop.nowhere".to_owned());
    registry.cursor = Some("{broken".to_owned());
    let collected = registry.look(start());
    assert_eq!(outcome(&collected), (OutcomeKind::Degraded, "no-registry"));
    assert_eq!(
        collected.collectors[0].detail,
        "shop.nowhere: no registry is listed for it"
    );
    assert_eq!(collected.signals.len(), 1);
}
