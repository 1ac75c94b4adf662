//! Requests that an edge answered with 5xx, counted by route and status, whatever platform tells them. They are what users
//! feel, and symptoms: an exception of the same service explains them.
//!
//! ```text
//! let mut failed = FailedRequests::default();
//! failed.add(at, "GET", "/orders/17", 500, "why, as the edge says it");
//! failed.tell(session, &place, released, &mut piece);
//! ```

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::context::{Piece, Place, Session};
use crate::{
    model::{
        Sha,
        signal::{Severity, Signal, SignalKind},
    },
    text::{named, signature},
};

/// Routes that are told apart; what is more is counted with the rest.
const MOST_ROUTES: usize = 200;
/// Routes that one signal names.
const SHOWN: usize = 10;

/// What failed within a time.
#[derive(Debug, Default)]
pub(super) struct FailedRequests {
    routes: BTreeMap<(u16, String), Route>,
}

#[derive(Debug, Clone)]
struct Route {
    count: u64,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    /// One path as it was asked for, and what the edge says about it.
    path: String,
    said: String,
}

impl FailedRequests {
    /// One request; the query of its path is not looked at.
    pub(super) fn add(&mut self, at: DateTime<Utc>, method: &str, path: &str, status: u16, said: &str) {
        if !(500..=599).contains(&status) {
            return;
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let route = route(method, path);
        let route = if self.routes.len() < MOST_ROUTES || self.routes.contains_key(&(status, route.clone())) {
            route
        } else {
            "other routes".to_owned()
        };
        let known = self.routes.entry((status, route)).or_insert_with(|| Route {
            count: 0,
            first: at,
            last: at,
            path: format!("{method} {path}"),
            said: said.to_owned(),
        });
        known.count += 1;
        known.first = known.first.min(at);
        known.last = known.last.max(at);
    }

    /// Brings them into the piece, worst first: what never reached the service is one cause, whatever was asked for; each
    /// other route with its status is one of its own.
    pub(super) fn tell(&self, session: &Session<'_>, place: &Place<'_>, released: Option<&Sha>, piece: &mut Piece) {
        let (away, own): (Vec<_>, Vec<_>) = self.routes.iter().partition(|((status, _), _)| is_gateway(*status));
        let mut told: Vec<Vec<_>> = own.into_iter().map(|one| vec![one]).collect();
        if !away.is_empty() {
            told.push(away);
        }
        let mut signals: Vec<Signal> = told
            .into_iter()
            .map(|routes| signal(session, place, released, routes))
            .collect();
        signals.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.title.cmp(&b.title)));
        piece.signals.extend(signals);
    }
}

/// How the title begins of what never reached the service.
pub const GATEWAY: &str = "requests do not reach the service";

/// The edge answered in place of the service.
const fn is_gateway(status: u16) -> bool {
    matches!(status, 502..=504)
}

/// A path without its ids, by the rules that name causes.
fn route(method: &str, path: &str) -> String {
    signature(&format!("{method} {path}")).template
}

fn signal(
    session: &Session<'_>,
    place: &Place<'_>,
    released: Option<&Sha>,
    mut routes: Vec<(&(u16, String), &Route)>,
) -> Signal {
    routes.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(b.0)));
    let ((status, route), first) = routes[0];
    let count = routes.iter().map(|(_, route)| route.count).sum();
    let (title, name) = if is_gateway(*status) {
        (format!("{GATEWAY}: HTTP {status}"), "gateway".to_owned())
    } else {
        (format!("{route}: HTTP {status}"), format!("{status}:{route}"))
    };
    let times = if count == 1 { "once" } else { &format!("{count} times") };
    let said = if first.said.trim().is_empty() {
        String::new()
    } else {
        format!(": {}", first.said)
    };
    let message = format!("{title}, {times}; such as {}{said}", first.path);
    let shown = routes.iter().take(SHOWN).map(
        |((status, route), known)| json!({ "route": session.line(route, 200), "status": status, "count": known.count }),
    );
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind: SignalKind::Probe,
        severity: Severity::Error,
        title: session.line(&title, 200),
        message: session.line(&message, 500),
        signature: named(&format!("requests:{}:{}:{name}", place.repo.slot, place.name)),
        count,
        first_seen: routes.iter().map(|(_, known)| known.first).min().unwrap_or(first.first),
        last_seen: routes.iter().map(|(_, known)| known.last).max().unwrap_or(first.last),
        release_sha: released.cloned(),
        url: None,
        culprit: None,
        evidence: json!({ "routes": shown.collect::<Vec<_>>(), "of": routes.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        adapters::{clock::Clock, http::Http},
        collect::{CollectContext, HttpCache, Sources, testing},
        model::signal::OutcomeKind,
        text::Redactor,
    };

    fn told(requests: &[(&str, u16)]) -> Vec<(String, u64, String)> {
        let mut failed = FailedRequests::default();
        for (path, status) in requests {
            failed.add(
                testing::NOW.parse().unwrap(),
                "GET",
                path,
                *status,
                "connection refused",
            );
        }
        let config = testing::config(testing::target());
        let redactor = Redactor::new([]);
        let http = Http::new(redactor.clone(), Vec::new());
        let (sources, cache) = (Sources::new(), HttpCache::default());
        let clock = Clock::start(Some(testing::NOW.parse().unwrap()));
        let ctx = CollectContext::new(&config, &http, &redactor, clock, &sources, &cache);
        let session = Session::new(&ctx);
        let repo = config.repos.values().next().unwrap();
        let place = Place::new("railway", repo, &repo.targets[0], "web");
        let mut piece = place.piece(OutcomeKind::Ok);
        failed.tell(&session, &place, None, &mut piece);
        let signals = piece.signals.into_iter();
        signals.map(|s| (s.title, s.count, s.signature.to_string())).collect()
    }

    #[test]
    fn they_are_counted_by_route_and_status() {
        let seen = told(&[
            ("/orders/17", 500),
            ("/orders/18?token=x", 500),
            ("/cart", 500),
            ("/orders/19", 501),
            ("/cart", 200),
            ("/cart", 404),
        ]);
        let shown: Vec<(&str, u64)> = seen.iter().map(|(title, count, _)| (title.as_str(), *count)).collect();
        let expected = [
            ("GET /orders/<n>: HTTP 500", 2),
            ("GET /cart: HTTP 500", 1),
            ("GET /orders/<n>: HTTP 501", 1),
        ];
        assert_eq!(shown, expected);
        let alone = told(&[("/orders/99", 500)]);
        assert_eq!(alone[0].2, seen[0].2, "the same cause at the next look");
    }

    #[test]
    fn a_service_that_is_not_reached_is_one_cause() {
        let seen = told(&[("/orders/17", 502), ("/cart", 503), ("/", 504), ("/cart", 500)]);
        let shown: Vec<(&str, u64)> = seen.iter().map(|(title, count, _)| (title.as_str(), *count)).collect();
        assert_eq!(
            shown,
            [
                ("requests do not reach the service: HTTP 502", 3),
                ("GET /cart: HTTP 500", 1)
            ]
        );
    }

    #[test]
    fn a_scan_of_a_thousand_paths_stays_small() {
        let paths: Vec<String> = (0..1000).map(|n| format!("/{}", "ab".repeat(n % 500 + 1))).collect();
        let requests: Vec<(&str, u16)> = paths.iter().map(|path| (path.as_str(), 500)).collect();
        let seen = told(&requests);
        assert!(seen.len() <= MOST_ROUTES + 1, "{}", seen.len());
        assert_eq!(seen.iter().map(|(_, count, _)| count).sum::<u64>(), 1000);
    }
}
