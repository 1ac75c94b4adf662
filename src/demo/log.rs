//! What happened in the world, in order: printed when a story fails, and read by tests. Also keeps every reply of
//! the forge and of the platforms, so that a test can hold each against the published schema.

use std::{
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{
    clock::millis,
    faults::Site,
    serve::{Call, Reply},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    pub at: DateTime<Utc>,
    /// Part of the world, such as `forge`, `ci`, `git`, `deployer`, `person`.
    pub who: &'static str,
    pub what: String,
}

/// One answer of an API, as it left the handler (before a fault spoilt it).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    pub site: Site,
    pub method: String,
    /// Path of the published description, such as `/repos/{owner}/{repo}/pulls/{pull_number}`.
    pub template: &'static str,
    pub path: String,
    /// Where everything is asked at one address: the text of the query.
    pub query: Option<String>,
    pub status: u16,
    pub body: serde_json::Value,
}

impl Recorded {
    pub(super) fn of(call: &Call, template: &'static str, reply: &Reply) -> Self {
        Self {
            site: call.site,
            method: call.method.clone(),
            template,
            path: call.path.clone(),
            query: call.json()["query"].as_str().map(str::to_owned),
            status: reply.status,
            body: serde_json::from_slice(&reply.body).unwrap_or(serde_json::Value::Null),
        }
    }
}

#[derive(Debug, Default)]
pub struct Log {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: Vec<Event>,
    replies: Vec<Recorded>,
    errors: Vec<String>,
}

impl Log {
    pub fn add(&self, at: DateTime<Utc>, who: &'static str, what: impl Into<String>) {
        let what = what.into();
        self.with(|k| k.events.push(Event { at, who, what }));
    }

    /// Something the product must never do, or the world cannot answer: `finish` reports it.
    pub fn error(&self, at: DateTime<Utc>, who: &'static str, what: impl Into<String>) {
        let what = what.into();
        self.with(|k| {
            k.errors.push(format!("{who}: {what}"));
            k.events.push(Event { at, who, what });
        });
    }

    pub fn reply(&self, reply: Recorded) {
        self.with(|k| k.replies.push(reply));
    }

    pub fn events(&self) -> Vec<Event> {
        self.with(|k| k.events.clone())
    }

    pub fn replies(&self) -> Vec<Recorded> {
        self.with(|k| k.replies.clone())
    }

    pub fn errors(&self) -> Vec<String> {
        self.with(|k| k.errors.clone())
    }

    /// One line an event.
    pub fn print(&self) -> String {
        self.events().iter().fold(String::new(), |mut text, e| {
            let _infallible = writeln!(text, "{}  {:<8}  {}", millis(e.at), e.who, e.what);
            text
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
