//! The deployer as Vercel shows it. Releases are the world's own and what production logs is what the sample app reported;
//! builds that fail or are under way, variables and domains are set by the story. Tests hold every reply against the
//! published description.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{
    clock::millis,
    log::Recorded,
    serve::{Call, Reply},
    town::Town,
};

/// Opens nothing but the world.
pub const VERCEL_TOKEN: &str = "world-vercel-token-not-a-secret";
const PROJECT: &str = "prj_shop";
const TEAM: &str = "team_acme";
/// Deployments and rows on one page; the real service has more.
const PAGE: usize = 2;
const ROWS: usize = 20;

#[derive(Debug, Default)]
pub struct Vercel {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    builds: Vec<Build>,
    variables: BTreeMap<String, DateTime<Utc>>,
    domain_ends: Option<DateTime<Utc>>,
}

/// A deployment that serves nobody.
#[derive(Debug, Clone)]
pub struct Build {
    /// `ERROR`, `BUILDING` …
    pub state: &'static str,
    pub production: bool,
    pub sha: String,
    pub at: DateTime<Utc>,
    /// What the build wrote to standard error.
    pub log: String,
}

impl Vercel {
    pub fn build(&self, build: Build) {
        self.lock().builds.push(build);
    }

    /// What was planted before is mended, or has come to its end.
    pub fn clear(&self) {
        self.lock().builds.clear();
    }

    pub fn variable(&self, name: &str, at: DateTime<Utc>) {
        self.lock().variables.insert(name.to_owned(), at);
    }

    pub fn domain_ends(&self, at: DateTime<Utc>) {
        self.lock().domain_ends = Some(at);
    }

    pub(super) fn answer(&self, town: &Town, call: &Call) -> Reply {
        if call.header("authorization") != Some(&format!("Bearer {VERCEL_TOKEN}")) {
            let error = json!({ "code": "forbidden", "message": "Not authorized", "invalidToken": true });
            return Reply::json(403, &json!({ "error": error }));
        }
        let parts: Vec<&str> = call.path.trim_matches('/').split('/').collect();
        let found = (call.method == "GET").then(|| self.reply(town, call, &parts)).flatten();
        let Some((template, reply)) = found else {
            let what = format!("no route for {} {}", call.method, call.path);
            town.log.error(town.clock.now(), "vercel", what.clone());
            return refused(501, "not_implemented", &what);
        };
        town.log.reply(Recorded::of(call, template, &reply));
        reply
    }

    /// The answer, and the path as the description has it.
    fn reply(&self, town: &Town, call: &Call, parts: &[&str]) -> Option<(&'static str, Reply)> {
        let ok = |body: &Value| Reply::json(200, body);
        Some(match parts {
            ["v9", "projects", "shop" | PROJECT] => ("/v9/projects/{idOrName}", ok(&project(town))),
            ["v7", "deployments"] => ("/v7/deployments", ok(&self.list(town, call))),
            ["v3", "deployments", id, "events"] => {
                let missing = || refused(404, "not_found", "Deployment not found");
                let reply = self.events(id).map_or_else(missing, |events| ok(&events));
                ("/v3/deployments/{idOrUrl}/events", reply)
            }
            ["v10", "projects", PROJECT, "env"] => ("/v10/projects/{idOrName}/env", ok(&self.env())),
            ["v9", "projects", PROJECT, "domains"] => ("/v9/projects/{idOrName}/domains", ok(&project_domains())),
            ["v5", "domains"] => ("/v5/domains", ok(&self.domains())),
            ["api", "logs", "request-logs"] => {
                let missing = "projectId, ownerId, startDate and endDate are required";
                let rows = logs(town, call);
                let reply = rows.map_or_else(|| refused(400, "bad_request", missing), |rows| ok(&rows));
                ("/api/logs/request-logs", reply)
            }
            ["v1", "projects", PROJECT, "deployments", _, "runtime-logs"] => {
                let stream = Reply::empty(200).with("content-type", "application/stream+json");
                (
                    "/v1/projects/{projectId}/deployments/{deploymentId}/runtime-logs",
                    stream,
                )
            }
            _ => return None,
        })
    }

    /// Newest first, in pages that end where the next one begins.
    fn list(&self, town: &Town, call: &Call) -> Value {
        let releases = town.deployer.history();
        let served = releases.iter().map(|release| {
            let built = release.since - TimeDelta::seconds(60);
            let ready = Some(release.since);
            deployment(&uid(&release.sha), "READY", true, &release.sha, built, ready)
        });
        let kept = self.lock();
        let builds = kept
            .builds
            .iter()
            .enumerate()
            .map(|(n, build)| deployment(&planted(n), build.state, build.production, &build.sha, build.at, None));
        let created = |one: &Value| one["created"].as_i64().unwrap_or(0);
        let until = call
            .param("until")
            .and_then(|until| until.parse().ok())
            .unwrap_or(i64::MAX);
        let wanted = call.param("target");
        let mut all: Vec<Value> = served
            .chain(builds)
            .filter(|one| created(one) < until && wanted.as_deref().is_none_or(|wanted| one["target"] == wanted))
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(created(one)));
        let next = all.get(PAGE).map(|_| created(&all[PAGE - 1]));
        all.truncate(PAGE);
        json!({ "pagination": { "count": all.len(), "next": next, "prev": null }, "deployments": all })
    }

    fn events(&self, id: &str) -> Option<Value> {
        let kept = self.lock();
        let (_, build) = kept.builds.iter().enumerate().find(|(n, _)| planted(*n) == id)?;
        let event = |n: i64, kind: &str, level: Option<&str>, text: &str| {
            let at = build.at.timestamp_millis() + n;
            let mut event = json!({ "created": at, "date": at, "deploymentId": id, "id": format!("{at}000"), "serial": format!("{at}000"),
                "type": kind, "text": text, "info": { "type": "build", "name": "bld_1", "entrypoint": "." } });
            if let Some(level) = level {
                event["level"] = level.into();
            }
            event
        };
        Some(json!([
            event(0, "command", None, "Running \"npm run build\""),
            event(1, "stdout", None, "Collecting page data"),
            event(2, "stderr", Some("error"), &build.log),
            event(3, "exit", None, "Command \"npm run build\" exited with 1"),
        ]))
    }

    fn env(&self) -> Value {
        let kept = self.lock();
        let variable = |(name, at): (&String, &DateTime<Utc>)| {
            json!({ "id": format!("env_{name}"), "key": name, "value": "a-value-nobody-may-keep", "type": "plain",
                    "target": ["production"], "createdAt": 1_700_000_000_000_i64, "updatedAt": at.timestamp_millis() })
        };
        json!({ "envs": kept.variables.iter().map(variable).collect::<Vec<_>>() })
    }

    fn domains(&self) -> Value {
        let ends = self.lock().domain_ends.map(|at| at.timestamp_millis());
        let domain = json!({ "id": "dom_1", "name": "shop.example", "verified": true, "nameservers": [], "intendedNameservers": [],
            "creator": { "id": "user_1", "username": "ada", "email": "ada@shop.example" }, "teamId": TEAM, "userId": "user_1",
            "boughtAt": 1_700_000_000_000_i64, "createdAt": 1_700_000_000_000_i64, "expiresAt": ends, "renew": false,
            "serviceType": "zeit.world" });
        json!({ "domains": [domain], "pagination": { "count": 1, "next": null, "prev": null } })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": { "code": code, "message": message } }))
}

/// What the service calls the deployment of a commit.
fn uid(sha: &str) -> String {
    format!("dpl_{}", &sha[..12.min(sha.len())])
}

fn planted(n: usize) -> String {
    format!("dpl_planted{n}")
}

fn project(town: &Town) -> Value {
    let live = town.deployer.live().map(|sha| json!({ "id": uid(&sha) }));
    json!({ "id": PROJECT, "name": "shop", "accountId": TEAM, "framework": "nextjs", "live": true,
            "targets": { "production": live }, "lastAliasRequest": null })
}

fn project_domains() -> Value {
    let domain =
        json!({ "name": "www.shop.example", "apexName": "shop.example", "projectId": PROJECT, "verified": true });
    json!({ "domains": [domain], "pagination": { "count": 1, "next": null, "prev": null } })
}

fn deployment(
    uid: &str,
    state: &str,
    production: bool,
    sha: &str,
    at: DateTime<Utc>,
    ready: Option<DateTime<Utc>>,
) -> Value {
    let created = at.timestamp_millis();
    let mut one = json!({
        "uid": uid, "name": "shop", "projectId": PROJECT, "url": format!("shop-{uid}.vercel.app"), "created": created,
        "createdAt": created, "buildingAt": created + 500, "state": state, "readyState": state, "type": "LAMBDAS",
        "target": if production { json!("production") } else { Value::Null }, "source": "git", "aliasError": null,
        "inspectorUrl": format!("https://vercel.com/acme/shop/{uid}"), "isRollbackCandidate": ready.is_some(),
        "creator": { "uid": "user_1", "username": "ada" },
        "meta": { "githubCommitSha": sha, "githubCommitRef": "main", "githubCommitMessage": "a change" },
    });
    if let Some(ready) = ready {
        one["ready"] = ready.timestamp_millis().into();
        one["readySubstate"] = "PROMOTED".into();
    }
    if state == "ERROR" {
        one["errorCode"] = "BUILD_UTILS_SPAWN_1".into();
        one["errorMessage"] = "Command \"npm run build\" exited with 1".into();
    }
    one
}

/// Each exception of the app as the request that met it. None: a parameter is missing.
fn logs(town: &Town, call: &Call) -> Option<Value> {
    let time = |name: &str| DateTime::from_timestamp_millis(call.param(name)?.parse().ok()?);
    let (from, to) = (time("startDate")?, time("endDate")?);
    (call.param("projectId")? == PROJECT && call.param("ownerId")? == TEAM).then_some(())?;
    let page: usize = call.param("page").and_then(|page| page.parse().ok()).unwrap_or(0);
    let releases = town.deployer.history();
    let served = |at: DateTime<Utc>| releases.iter().rev().find(|release| release.since <= at);
    let mut rows: Vec<(DateTime<Utc>, Value)> = Vec::new();
    for group in town.tracker.groups(town, |at| from <= at && at <= to) {
        for (n, at) in group.times.iter().enumerate() {
            let line = json!({ "level": "error", "message": group.what.stack, "messageTruncated": false });
            let row = json!({ "requestId": format!("fra1::{}-{n}", at.timestamp_millis()), "timestamp": millis(*at),
                "deploymentId": served(*at).map(|release| uid(&release.sha)).unwrap_or_default(), "requestMethod": "GET",
                "requestPath": group.what.route, "statusCode": 500, "environment": "production", "branch": "main",
                "domain": "www.shop.example", "cache": "MISS", "logs": [line], "events": [{ "source": "serverless" }] });
            rows.push((*at, row));
        }
    }
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let shown: Vec<Value> = rows
        .iter()
        .skip(page * ROWS)
        .take(ROWS)
        .map(|(_, row)| row.clone())
        .collect();
    Some(json!({ "rows": shown, "hasMoreRows": rows.len() > (page + 1) * ROWS }))
}
