//! The error tracker: the sample app reports to it, the product reads it. Times are the world's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{
    clock::millis,
    sentry,
    serve::{Call, Reply},
    town::Town,
};

#[derive(Debug)]
pub struct Tracker {
    pub token: String,
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<Seen>,
    requests: Vec<DateTime<Utc>>,
    planted: Option<Planted>,
}

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    at: DateTime<Utc>,
    what: Exception,
}

/// What makes two events one entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exception {
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) stack: String,
    pub(super) route: String,
    pub(super) release: Option<String>,
}

/// Events that are one entry.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) what: Exception,
    pub(super) times: Vec<DateTime<Utc>>,
}

impl Group {
    /// The first and the last event.
    pub(super) fn ends(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        let times = || self.times.iter().copied();
        (times().min().unwrap_or_default(), times().max().unwrap_or_default())
    }
}

/// A signal that stands while one commit is deployed, once a minute: for repositories whose app cannot run here.
#[derive(Debug)]
struct Planted {
    what: Exception,
    release: String,
    from: Option<DateTime<Utc>>,
}

impl Tracker {
    pub fn new(token: String) -> Self {
        Self {
            token,
            inner: Mutex::default(),
        }
    }

    /// Takes a signal as the product writes one; it shows from [`Tracker::show`] on.
    pub fn plant(&self, signal: &Value, release: &str) {
        let text = |names: &[&str]| {
            let found = names
                .iter()
                .find_map(|name| signal.pointer(name).and_then(Value::as_str));
            found.unwrap_or_default().to_owned()
        };
        let (title, message) = (text(&["/title", "/message"]), text(&["/message", "/title"]));
        let title = title.lines().next().unwrap_or_default();
        let named = title.split_once(": ").filter(|(kind, _)| !kind.contains(' '));
        let kind = match (signal.get("type").and_then(Value::as_str), named) {
            (Some(kind), _) | (None, Some((kind, _))) => kind.to_owned(),
            (None, None) => title.to_owned(),
        };
        let first = message.lines().next().unwrap_or_default();
        let said = first.strip_prefix(&format!("{kind}: ")).unwrap_or(first).to_owned();
        let stack = text(&["/stack", "/evidence/stack"]);
        let what = Exception {
            kind,
            message: said,
            // Many sources put the whole text into the message.
            stack: if stack.is_empty() { message } else { stack },
            route: text(&["/route", "/evidence/route"]),
            release: Some(release.to_owned()),
        };
        let release = release.to_owned();
        self.lock().planted = Some(Planted {
            what,
            release,
            from: None,
        });
    }

    pub fn show(&self, from: DateTime<Utc>) {
        if let Some(planted) = &mut self.lock().planted {
            planted.from.get_or_insert(from);
        }
    }

    /// A customer's request was served.
    pub fn request(&self, at: DateTime<Utc>) {
        self.lock().requests.push(at);
    }

    /// Events so far, and requests so far.
    pub fn totals(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.events.len(), kept.requests.len())
    }

    pub(super) fn answer(&self, town: &Town, call: &Call) -> Reply {
        match (call.method.as_str(), call.path.as_str()) {
            ("POST", "/api/events") => {
                let body = call.json();
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                let what = Exception {
                    kind: text("type"),
                    message: text("message"),
                    stack: text("stack"),
                    route: text("route"),
                    release: body["release"].as_str().map(str::to_owned),
                };
                let at = town.clock.now();
                self.lock().events.push(Seen { at, what });
                Reply::json(202, &json!({ "ok": true }))
            }
            ("GET", "/api/exceptions") => {
                if call.header("authorization") != Some(&format!("Bearer {}", self.token)) {
                    return Reply::json(401, &json!({ "detail": "Invalid token" }));
                }
                let since = match call.param("since").map(|s| DateTime::parse_from_rfc3339(&s)) {
                    None => DateTime::<Utc>::MIN_UTC,
                    Some(Ok(since)) => since.with_timezone(&Utc),
                    Some(Err(error)) => return Reply::json(400, &json!({ "detail": format!("since: {error}") })),
                };
                Reply::json(200, &self.exceptions(town, since))
            }
            (method, path) => {
                let sentry = (method == "GET").then(|| sentry::answer(town, &self.token, call));
                if let Some(reply) = sentry.flatten() {
                    return reply;
                }
                let what = format!("no route for {method} {path}");
                town.log.error(town.clock.now(), "tracker", what.clone());
                Reply::json(501, &json!({ "detail": what }))
            }
        }
    }

    fn exceptions(&self, town: &Town, since: DateTime<Utc>) -> Value {
        let now = town.clock.now();
        let shown: Vec<Value> = self
            .groups(town, |at| at > since)
            .into_iter()
            .map(|group| {
                let (what, (first, last)) = (&group.what, group.ends());
                json!({
                    "type": what.kind, "message": what.message, "stack": what.stack, "count": group.times.len(), "route": what.route,
                    "release": what.release, "first_seen": millis(first), "last_seen": millis(last),
                })
            })
            .collect();
        let kept = self.lock();
        let mut requests = kept.requests.iter().filter(|at| **at > since).count();
        if let Some(from) = kept.planted.as_ref().and_then(|planted| planted.from) {
            requests += minutes(from, now).filter(|at| *at > since).count() * 10;
        }
        let release = town.deployer.history().last().map(|r| r.sha.clone());
        json!({ "release": release, "requests": requests, "exceptions": shown })
    }

    /// The entries of the events in a time.
    pub(super) fn groups(&self, town: &Town, within: impl Fn(DateTime<Utc>) -> bool) -> Vec<Group> {
        let now = town.clock.now();
        let history = town.deployer.history();
        let kept = self.lock();
        let mut seen = kept.events.clone();
        if let Some(planted) = &kept.planted
            && let Some(from) = planted.from
        {
            let replaced = history
                .iter()
                .find(|r| r.sha != planted.release)
                .map_or(now, |r| r.since);
            seen.extend(minutes(from, now.min(replaced)).map(|at| Seen {
                at,
                what: planted.what.clone(),
            }));
        }
        let mut groups: Vec<Group> = Vec::new();
        for event in seen.into_iter().filter(|event| within(event.at)) {
            match groups.iter_mut().find(|group| group.what == event.what) {
                Some(group) => group.times.push(event.at),
                None => groups.push(Group {
                    what: event.what,
                    times: vec![event.at],
                }),
            }
        }
        groups
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The start and each full minute after it, up to the end.
fn minutes(from: DateTime<Utc>, to: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> {
    (0..=(to - from).num_minutes()).map(move |n| from + TimeDelta::minutes(n))
}
