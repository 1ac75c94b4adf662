//! The deployer as Railway shows it: a GraphQL service that knows each query of the product by its name. Releases are the
//! world's own; what the service writes, what fails at the edge, variables and the hour's limit are set by the story. Tests
//! hold every reply against the published schema.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    clock::millis,
    deploy::Release,
    log::Recorded,
    serve::{Call, Reply},
    town::Town,
};
use crate::text::hex;

/// Tokens of the world. They open nothing but the world.
pub const RAILWAY_PROJECT_TOKEN: &str = "world-railway-project-token-not-a-secret";
pub const RAILWAY_ACCOUNT_TOKEN: &str = "world-railway-account-token-not-a-secret";
/// What the service is called there.
pub const RAILWAY_PROJECT: &str = "11111111-1111-4111-8111-111111111111";
pub const RAILWAY_SERVICE: &str = "shop";
const ENVIRONMENT: &str = "22222222-2222-4222-8222-222222222222";
const SERVICE: &str = "33333333-3333-4333-8333-333333333333";
const INSTANCE: &str = "44444444-4444-4444-8444-444444444444";

#[derive(Debug, Default)]
pub struct Railway {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Status of the release that serves, where it is not SUCCESS; and whether its process has ended.
    status: Option<String>,
    stopped: bool,
    /// A deployment beside the releases, newer than them.
    other: Option<Other>,
    lines: Vec<Line>,
    requests: Vec<Request>,
    variables: BTreeMap<String, DateTime<Utc>>,
    /// Errors that queries get with HTTP 200, by their name.
    refused: BTreeMap<String, String>,
    /// Calls that the hour still allows, and when it ends.
    left: Option<(u64, DateTime<Utc>)>,
    asked: Vec<String>,
}

/// A deployment that never served.
#[derive(Debug, Clone)]
pub struct Other {
    pub status: &'static str,
    pub sha: String,
    pub at: DateTime<Utc>,
    /// The step that failed and what it said.
    pub failed: Option<(&'static str, String)>,
    pub log: Vec<String>,
}

#[derive(Debug)]
struct Line {
    at: DateTime<Utc>,
    severity: String,
    message: String,
}

#[derive(Debug)]
struct Request {
    at: DateTime<Utc>,
    path: String,
    status: u16,
    said: String,
}

/// What a call may see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Project,
    Account,
}

impl Railway {
    /// The service writes a line.
    pub fn line(&self, at: DateTime<Utc>, severity: &str, message: &str) {
        self.lock().lines.push(Line {
            at,
            severity: severity.to_owned(),
            message: message.to_owned(),
        });
    }

    /// The edge answers a request.
    pub fn request(&self, at: DateTime<Utc>, path: &str, status: u16, said: &str) {
        self.lock().requests.push(Request {
            at,
            path: path.to_owned(),
            status,
            said: said.to_owned(),
        });
    }

    /// Sets a variable, or changes it.
    pub fn variable(&self, name: &str, at: DateTime<Utc>) {
        self.lock().variables.insert(name.to_owned(), at);
    }

    pub fn remove_variable(&self, name: &str) {
        self.lock().variables.remove(name);
    }

    /// The release that serves has another status than SUCCESS from now on.
    pub fn status(&self, status: Option<&str>) {
        self.lock().status = status.map(str::to_owned);
    }

    /// The process of the release that serves has ended, or not.
    pub fn stopped(&self, stopped: bool) {
        self.lock().stopped = stopped;
    }

    pub fn other(&self, other: Option<Other>) {
        self.lock().other = other;
    }

    /// A query gets this error, with HTTP 200; none: its answer again.
    pub fn refuse(&self, query: &str, message: Option<&str>) {
        let mut kept = self.lock();
        match message {
            Some(message) => kept.refused.insert(query.to_owned(), message.to_owned()),
            None => kept.refused.remove(query),
        };
    }

    /// So many calls are left until then.
    pub fn limit(&self, left: u64, until: DateTime<Utc>) {
        self.lock().left = Some((left, until));
    }

    /// Names of the queries so far.
    pub fn asked(&self) -> Vec<String> {
        self.lock().asked.clone()
    }

    pub(super) fn answer(&self, town: &Town, call: &Call) -> Reply {
        if (call.method.as_str(), call.path.as_str()) != ("POST", "/graphql/v2") {
            let what = format!("no route for {} {}", call.method, call.path);
            town.log.error(town.clock.now(), "railway", what.clone());
            return Reply::text(501, what);
        }
        let body = call.json();
        let name = body["operationName"].as_str().unwrap_or_default().to_owned();
        let now = town.clock.now();
        self.lock().asked.push(name.clone());
        let limit = match self.spend(now) {
            Ok(limit) => limit,
            Err(refused) => return refused,
        };
        let refused = self.lock().refused.get(&name).cloned();
        let data = match (refused, token(call)) {
            (Some(message), _) => Err(message),
            (None, None) => Err("Not Authorized".to_owned()),
            (None, Some(token)) => self.data(town, token, &name, &body["variables"]),
        };
        let reply = match data {
            Ok(data) => Reply::json(200, &json!({ "data": data })),
            Err(message) => {
                let error = json!({ "message": message, "extensions": { "code": "INTERNAL_SERVER_ERROR" } });
                Reply::json(200, &json!({ "errors": [error], "data": null }))
            }
        };
        town.log.reply(Recorded::of(call, "/graphql/v2", &reply));
        limit
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with(name, value))
    }

    /// Counts a call; the headers of its answer, or the answer of one that is too many.
    fn spend(&self, now: DateTime<Utc>) -> Result<Vec<(&'static str, String)>, Reply> {
        let mut kept = self.lock();
        let Some((left, until)) = kept.left.filter(|(_, until)| *until > now) else {
            kept.left = None;
            return Ok(Vec::new());
        };
        let headers = |left: u64| {
            vec![
                ("x-ratelimit-limit", "1000".to_owned()),
                ("x-ratelimit-remaining", left.to_string()),
                ("x-ratelimit-reset", until.timestamp().to_string()),
            ]
        };
        if left == 0 {
            let wait = (until - now).num_seconds().max(1).to_string();
            let reply = Reply::json(429, &json!({ "data": null })).with("retry-after", wait);
            return Err(headers(0)
                .into_iter()
                .fold(reply, |reply, (name, value)| reply.with(name, value)));
        }
        kept.left = Some((left - 1, until));
        Ok(headers(left - 1))
    }

    fn data(&self, town: &Town, token: Token, name: &str, given: &Value) -> Result<Value, String> {
        let known = |key: &str, id: &str| given[key].as_str().is_none_or(|given| given == id);
        if !known("environmentId", ENVIRONMENT) || !known("projectId", RAILWAY_PROJECT) {
            return Err("Not Authorized".to_owned());
        }
        if !known("serviceId", SERVICE) {
            return Err("Service not found".to_owned());
        }
        match (name, token) {
            ("Token", Token::Project) => Ok(json!({ "projectToken": {
                "projectId": RAILWAY_PROJECT, "environmentId": ENVIRONMENT,
                "project": { "name": "shop" }, "environment": { "name": "production" },
            } })),
            ("Token", Token::Account) => Err("Project Token not found".to_owned()),
            // A project token sees nothing beyond its environment.
            ("Environments", Token::Project) => Err("Not Authorized".to_owned()),
            ("Environments", Token::Account) => {
                let nodes = [("production", ENVIRONMENT), ("staging", INSTANCE)];
                let nodes = nodes.map(|(name, id)| json!({ "id": id, "name": name }));
                Ok(json!({ "environments": pages(nodes.into()) }))
            }
            ("Services", _) => {
                let nodes = [(RAILWAY_SERVICE, SERVICE), ("worker", INSTANCE)];
                let nodes = nodes.map(|(name, id)| json!({ "serviceId": id, "serviceName": name }));
                Ok(json!({ "environment": { "serviceInstances": pages(nodes.into()) } }))
            }
            ("Service", _) => Ok(self.service(town, given)),
            ("Events", _) => Ok(self.events()),
            ("BuildLogs", _) => Ok(json!({ "buildLogs": self.log_of_other() })),
            ("DeploymentLogs", _) => Ok(json!({ "deploymentLogs": self.log_of_other() })),
            ("RuntimeLogs", _) => Ok(json!({ "environmentLogs": self.runtime(town, given) })),
            ("HttpLogs", _) => Ok(json!({ "httpLogs": self.http(given) })),
            ("Variables", _) => Ok(json!({ "environment": { "variables": self.variables() } })),
            (other, _) => {
                let what = format!("no query {other}");
                town.log.error(town.clock.now(), "railway", what);
                Err(format!("Unknown operation named \"{other}\"."))
            }
        }
    }

    fn service(&self, town: &Town, given: &Value) -> Value {
        let kept = self.lock();
        let history = town.deployer.history();
        let live = history.last().map(|release| id(&release.sha));
        let mut all: Vec<Value> = history
            .iter()
            .map(|release| released(&kept, release, live.as_ref()))
            .collect();
        if let Some(other) = &kept.other {
            let meta = json!({ "commitHash": other.sha, "commitMessage": "Tidy up", "branch": "main" });
            all.push(deployment(
                &id(&other.sha),
                other.status,
                other.at,
                other.at,
                false,
                &meta,
            ));
        }
        all.reverse();
        let first = given["first"].as_u64().unwrap_or(10);
        let nodes: Vec<Value> = all.into_iter().take(usize::try_from(first).unwrap_or(10)).collect();
        let edges: Vec<Value> = nodes.into_iter().map(|node| json!({ "node": node })).collect();
        let active: Vec<Value> = live.into_iter().map(|id| json!({ "id": id })).collect();
        json!({
            "serviceInstance": { "cronSchedule": null, "activeDeployments": active },
            "deployments": { "edges": edges },
        })
    }

    fn events(&self) -> Value {
        let kept = self.lock();
        let failed = kept
            .other
            .as_ref()
            .and_then(|other| Some((other.at, other.failed.clone()?)));
        let done = |step: &str, at: DateTime<Utc>| json!({ "step": step, "completedAt": millis(at), "payload": null });
        let mut nodes = Vec::new();
        if let Some((at, (step, error))) = failed {
            nodes.push(done("SNAPSHOT_CODE", at));
            let payload = json!({ "error": error, "reason": null });
            nodes.push(json!({ "step": step, "completedAt": millis(at), "payload": payload }));
        }
        let edges: Vec<Value> = nodes.into_iter().map(|node| json!({ "node": node })).collect();
        json!({ "deploymentEvents": { "edges": edges } })
    }

    fn log_of_other(&self) -> Vec<Value> {
        let kept = self.lock();
        let Some(other) = &kept.other else { return Vec::new() };
        let line = |text: &String| json!({ "timestamp": nanos(other.at), "message": text, "severity": "info" });
        other.log.iter().map(line).collect()
    }

    fn runtime(&self, town: &Town, given: &Value) -> Vec<Value> {
        let kept = self.lock();
        let deployment = town.deployer.live().map(|sha| id(&sha));
        let wanted = format!("@service:{SERVICE}");
        // Of the filter only what every query of the product begins with.
        if given["filter"]
            .as_str()
            .is_none_or(|filter| !filter.starts_with(&wanted))
        {
            return Vec::new();
        }
        let tags = json!({ "deploymentId": deployment, "deploymentInstanceId": INSTANCE });
        let level = |severity: &str| json!([{ "key": "level", "value": json!(severity).to_string() }]);
        within(&kept.lines, given, |line| line.at)
            .map(|line| {
                json!({
                    "timestamp": nanos(line.at), "message": line.message, "severity": line.severity,
                    "attributes": level(&line.severity), "tags": tags,
                })
            })
            .collect()
    }

    fn http(&self, given: &Value) -> Vec<Value> {
        let kept = self.lock();
        within(&kept.requests, given, |request| request.at)
            .filter(|request| (500..=599).contains(&request.status))
            .map(|request| {
                json!({
                    "timestamp": nanos(request.at), "method": "GET", "path": request.path, "httpStatus": request.status,
                    "responseDetails": request.said, "upstreamErrors": "[]", "totalDuration": 120,
                })
            })
            .collect()
    }

    fn variables(&self) -> Value {
        let kept = self.lock();
        let nodes = kept
            .variables
            .iter()
            .map(|(name, at)| json!({ "name": name, "serviceId": SERVICE, "updatedAt": millis(*at) }));
        pages(nodes.collect())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which token a call bears, in the header of its kind.
fn token(call: &Call) -> Option<Token> {
    let bearer = format!("Bearer {RAILWAY_ACCOUNT_TOKEN}");
    match (call.header("project-access-token"), call.header("authorization")) {
        (Some(RAILWAY_PROJECT_TOKEN), None) => Some(Token::Project),
        (None, Some(value)) if value == bearer => Some(Token::Account),
        _ => None,
    }
}

/// Entries between the two times, the latest of them, oldest first.
fn within<'a, T>(
    entries: &'a [T],
    given: &Value,
    at: fn(&T) -> DateTime<Utc>,
) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let time = |name: &str| given[name].as_str().and_then(|text| text.parse::<DateTime<Utc>>().ok());
    let (since, until) = (time("since"), time("until"));
    let most = given["limit"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(500);
    let fits = |entry: &&T| Some(at(entry)) >= since && until.is_none_or(|until| at(entry) <= until);
    let found: Vec<&T> = entries.iter().filter(fits).collect();
    let skipped = found.len().saturating_sub(most);
    found.into_iter().skip(skipped)
}

fn released(kept: &Kept, release: &Release, live: Option<&String>) -> Value {
    let id = id(&release.sha);
    let serves = Some(&id) == live;
    let status = if serves {
        kept.status.as_deref().unwrap_or("SUCCESS")
    } else {
        "REMOVED"
    };
    let meta = json!({ "commitHash": release.sha, "commitMessage": "show the average discount", "branch": "main" });
    let stopped = !serves || kept.stopped || status == "SLEEPING";
    let created = release.since - TimeDelta::minutes(2);
    deployment(&id, status, created, release.since, stopped, &meta)
}

fn deployment(
    id: &str,
    status: &str,
    created: DateTime<Utc>,
    since: DateTime<Utc>,
    stopped: bool,
    meta: &Value,
) -> Value {
    json!({
        "id": id, "status": status, "createdAt": millis(created), "statusUpdatedAt": millis(since),
        "canRollback": status == "REMOVED", "deploymentStopped": stopped,
        "url": "shop.up.railway.example", "staticUrl": "shop.up.railway.example", "meta": meta,
    })
}

/// A list of one page.
fn pages(nodes: Vec<Value>) -> Value {
    let edges: Vec<Value> = nodes.into_iter().map(|node| json!({ "node": node })).collect();
    json!({ "edges": edges, "pageInfo": { "hasNextPage": false, "endCursor": null } })
}

/// The id of the deployment of a commit.
fn id(sha: &str) -> String {
    let digits = hex(&Sha256::digest(sha)[..16]);
    let part = |from: usize, to: usize| &digits[from..to];
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    parts.join("-")
}

fn nanos(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Nanos, true)
}
