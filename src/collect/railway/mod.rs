//! A service on Railway: its deployments, what it wrote, requests that failed, variables by name. Reads only.
//!
//! One look: the ids once, then four calls, and two more when a deployment has failed. What the hour still allows is kept
//! with the source, so that a tick waits where too little is left.

pub(in crate::collect) mod api;
mod ids;
mod limit;
mod lines;
mod memory;
mod shapes;
mod variables;

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    context::{Blind, CacheEntry, Piece, Place, Session},
    deploys::{Deployment, Standing},
    log_scan::LogScan,
    requests::FailedRequests,
};
use crate::{
    config::RailwayUse,
    model::signal::{Change, ChangeKind, OutcomeKind, SignalKind},
};
use api::{Api, Query};
use lines::{Next, Pages, Stamped};
use memory::{Ids, Memory};

/// Deployments that are looked at; older ones have nothing to say about what serves.
const DEPLOYMENTS: u32 = 20;
/// What is younger may not be shown yet.
const SETTLE: TimeDelta = TimeDelta::seconds(20);
/// How far a first look goes back; more with `--deep`.
const FIRST_LOOK: TimeDelta = TimeDelta::minutes(15);
const FIRST_LOOK_DEEP: TimeDelta = TimeDelta::hours(24);
/// The shortest time for which Railway keeps logs.
const KEPT: TimeDelta = TimeDelta::days(7);
/// Entries of one page of a log, and pages of one look.
const PAGE: usize = 500;
const PAGES: usize = 10;
const PAGES_DEEP: usize = 40;
/// Lines of the log of a deployment that failed.
const LOG_OF_FAILED: usize = 400;
const LONGEST_LOG: usize = 64 * 1024;

/// One look at one service.
struct Look<'a> {
    session: &'a Session<'a>,
    place: Place<'a>,
    used: &'a RailwayUse,
    api: &'a Api<'a>,
    ids: Ids,
    until: DateTime<Utc>,
    piece: Piece,
    /// Parts that were read, and what could not be.
    read: usize,
    blind: Vec<Blind>,
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let Some(used) = &place.target.railway else {
        return place.piece(OutcomeKind::Skipped);
    };
    let Some(token) = &used.token else {
        return place.failed(
            "no-token",
            "neither RAILWAY_TOKEN nor RAILWAY_API_TOKEN is set; put one into .env",
        );
    };
    let mut memory = Memory::recall(session, &place, used, token.variable());
    let api = Api::new(session, token, memory.limit);
    let looked = match memory.limit.too_little(session.ctx.now) {
        Some(blind) => Err(blind),
        None => look(session, place, used, &api, &mut memory).await,
    };
    memory.limit = api.limit();
    let mut piece = looked.unwrap_or_else(|blind| place.failed(&blind.cause, &session.line(&blind.detail, 400)));
    piece.cursor = memory.write();
    piece
}

async fn look(
    session: &Session<'_>,
    place: Place<'_>,
    used: &RailwayUse,
    api: &Api<'_>,
    memory: &mut Memory,
) -> Result<Piece, Blind> {
    let ids = match memory.ids() {
        Some(ids) => ids,
        None => ids::find(api, used).await?,
    };
    memory.found(&ids);
    let input = json!({ "projectId": ids.project, "environmentId": ids.environment, "serviceId": ids.service });
    let asked = json!({
        "environmentId": ids.environment, "serviceId": ids.service, "input": input, "first": DEPLOYMENTS,
    });
    let service: shapes::Service = api.ask(&api::SERVICE, asked).await.inspect_err(|blind| {
        if matches!(blind.cause.as_str(), "not-found" | "not-authorised") {
            memory.forget_ids();
        }
    })?;
    let found = shapes::deployments(service, &ids, &mut memory.live);
    let mut look = Look {
        session,
        place,
        used,
        api,
        ids,
        until: session.ctx.clock.now() - SETTLE,
        piece: place.piece(OutcomeKind::Ok),
        read: 1,
        blind: Vec::new(),
    };
    look.piece.asleep = found.asleep;
    if found.unknown {
        let what = "a deployment has a status that is not known here; a newer tick may know it";
        look.blind.push(Blind::new("unknown-status", what));
    }
    let since = look.since(memory.logs);
    look.runtime(&found.list, memory).await;
    look.requests(&found.list, memory).await;
    look.deployments(found.list, !found.unknown, since).await;
    look.variables().await;
    Ok(look.settled())
}

impl Look<'_> {
    /// Where reading of a log begins.
    fn since(&self, before: Option<DateTime<Utc>>) -> DateTime<Utc> {
        let first = if self.session.ctx.deep {
            FIRST_LOOK_DEEP
        } else {
            FIRST_LOOK
        };
        before
            .unwrap_or(self.until - first)
            .clamp(self.until - KEPT, self.until)
    }

    /// The entries since the last look, page by page. None where they could not be read.
    async fn entries<T: Stamped, A: DeserializeOwned>(
        &mut self,
        query: &Query,
        mut asked: Value,
        before: Option<DateTime<Utc>>,
        entries: impl Fn(A) -> Vec<T>,
    ) -> Option<Vec<(DateTime<Utc>, T)>> {
        let since = self.since(before);
        if before.is_some_and(|before| before < since) {
            self.gap(
                query,
                "Railway keeps no logs of the time since the last look; part of it was not read",
            );
        }
        let mut pages = Pages::new(since, self.until);
        let most = if self.session.ctx.deep { PAGES_DEEP } else { PAGES };
        for n in 1..=most {
            asked["since"] = stamp(since).into();
            asked["until"] = stamp(pages.until).into();
            asked["limit"] = PAGE.into();
            let page = match self.api.ask::<A>(query, asked.clone()).await {
                Ok(page) => page,
                Err(blind) => {
                    self.blind.push(blind);
                    return None;
                }
            };
            let next = pages.take(entries(page), PAGE);
            match next {
                Next::Done => break,
                Next::More if n < most => {}
                Next::More | Next::Stuck => {
                    let what = "more was written since the last look than one look reads, and the oldest of it was not \
                                read; set railway.filter";
                    self.gap(query, what);
                    break;
                }
            }
        }
        self.read += 1;
        Some(pages.into_entries())
    }

    fn gap(&mut self, query: &Query, what: &str) {
        self.blind.push(Blind::new("gap", format!("{}: {what}", query.name)));
    }

    /// What the service wrote, through the log engine, each deployment's for itself.
    async fn runtime(&mut self, list: &[Deployment], memory: &mut Memory) {
        let service = format!("@service:{}", self.ids.service);
        let filter = match &self.used.filter {
            Some(own) => format!("{service} AND ({own})"),
            None => service,
        };
        let asked = json!({ "environmentId": self.ids.environment, "filter": filter });
        let read = self.entries(&api::RUNTIME_LOGS, asked, memory.logs, |page: lines::RuntimeLogs| {
            page.lines
        });
        let Some(found) = read.await else { return };
        memory.logs = Some(self.until);
        for (id, entries) in lines::by_deployment(found, self.used.stderr_is_error) {
            let wrote = list.iter().find(|one| one.id == id);
            let mut scan = LogScan::new(self.session, self.place)
                .released(wrote.and_then(|one| one.sha.clone()))
                .url(wrote.and_then(|one| one.url.as_deref()))
                .started(wrote.and_then(|one| one.live_since));
            for entry in entries {
                scan.entry(Some(entry.at), entry.level, &entry.text);
            }
            let scanned = scan.finish();
            self.piece.signals.extend(scanned.signals);
            self.blind.extend(scanned.blind);
        }
    }

    /// Requests that failed at the edge: of what serves, and of what it replaced since the last look.
    async fn requests(&mut self, list: &[Deployment], memory: &mut Memory) {
        let mut served: Vec<&Deployment> = list.iter().filter(|one| one.live_since.is_some()).collect();
        served.sort_by_key(|one| std::cmp::Reverse(one.live_since));
        let since = self.since(memory.requests);
        let replaced = served.first().is_some_and(|one| one.live_since > Some(since));
        served.truncate(if replaced { 2 } else { 1 });
        let mut failed = FailedRequests::default();
        for one in &served {
            let asked = json!({ "deploymentId": one.id });
            let read = self.entries(&api::HTTP_LOGS, asked, memory.requests, |page: lines::HttpLogs| {
                page.lines
            });
            let Some(found) = read.await else { return };
            for (at, line) in found {
                failed.add(at, &line.method, &line.path, line.http_status, &line.said());
            }
        }
        memory.requests = Some(self.until);
        let live = Standing::of(list, self.session.ctx.now).live();
        let sha = live.and_then(|one| one.sha.as_ref());
        failed.tell(self.session, &self.place, sha, &mut self.piece);
    }

    async fn deployments(&mut self, mut list: Vec<Deployment>, whole: bool, since: DateTime<Utc>) {
        let now = self.session.ctx.now;
        let failed = Standing::of(&list, now).failed().map(|one| one.id.clone());
        let mut lines = String::new();
        if let Some(one) = list.iter_mut().find(|one| Some(&one.id) == failed.as_ref()) {
            let failure = self.failure(&one.id).await;
            lines = self.causes(one, &failure, since);
            one.code = failure.step;
            one.why = failure.said;
        }
        let standing = Standing::of(&list, now).whole(whole);
        standing.tell(self.session, &self.place, &lines, &mut self.piece);
    }

    /// Why a deployment failed. It stays as it is, so it is read once and kept.
    async fn failure(&mut self, id: &str) -> Failure {
        let key = format!("railway {} {id}", self.session.ctx.config.railway_api);
        let kept = self.session.ctx.cache.get(&key);
        if let Some(known) = kept.and_then(|entry| serde_json::from_slice(&entry.body).ok()) {
            return known;
        }
        match self.read_failure(id).await {
            Ok(failure) => {
                if let Ok(body) = serde_json::to_vec(&failure) {
                    let entry = CacheEntry {
                        etag: id.to_owned(),
                        link: None,
                        body,
                    };
                    self.session.ctx.cache.put(&key, entry);
                }
                failure
            }
            Err(blind) => {
                self.blind.push(blind);
                Failure::default()
            }
        }
    }

    async fn read_failure(&self, id: &str) -> Result<Failure, Blind> {
        let asked = json!({ "id": id, "first": 50 });
        let events: shapes::Events = self.api.ask(&api::EVENTS, asked).await?;
        let (step, said) = shapes::failed_step(events).unwrap_or_default();
        let of_build = step.is_empty() || shapes::is_build_step(&step);
        let asked = json!({ "deploymentId": id, "limit": LOG_OF_FAILED });
        let lines = if of_build {
            self.api.ask::<lines::BuildLogs>(&api::BUILD_LOGS, asked).await?.lines
        } else {
            self.api
                .ask::<lines::DeploymentLogs>(&api::DEPLOYMENT_LOGS, asked)
                .await?
                .lines
        };
        let text: Vec<String> = lines.into_iter().map(|line| line.message).collect();
        Ok(Failure {
            step: self.session.line(&step, 80),
            said: self.session.text(&said, 1000),
            of_build,
            log: self.session.text(&text.join("\n"), LONGEST_LOG),
        })
    }

    /// The causes in the log of a deployment that failed; what gives none is given back as the lines that tell most.
    fn causes(&mut self, one: &Deployment, failure: &Failure, since: DateTime<Utc>) -> String {
        // What ran within this look is among the lines of the service.
        if !failure.of_build && one.created >= since {
            return String::new();
        }
        let kind = if failure.of_build {
            SignalKind::Ci
        } else {
            SignalKind::Log
        };
        let mut scan = LogScan::new(self.session, self.place)
            .kind(kind)
            .released(one.sha.clone())
            .url(one.url.as_deref())
            .whole();
        scan.push(failure.log.as_bytes());
        let mut found = scan.finish().signals;
        let at = one.ended.unwrap_or(one.created);
        for signal in &mut found {
            // One failure, however often it is looked at.
            (signal.count, signal.first_seen, signal.last_seen) = (1, at, at);
        }
        let named = !found.is_empty();
        self.piece.signals.extend(found);
        if named || !failure.of_build {
            String::new()
        } else {
            lines::failing(&failure.log)
        }
    }

    async fn variables(&mut self) {
        let all = match ids::variables(self.api, &self.ids).await {
            Ok(all) => all,
            Err(blind) => return self.blind.push(blind),
        };
        self.read += 1;
        let own = variables::of_service(all, &self.ids.service);
        for (name, at) in variables::lately(&own, self.session.ctx.now) {
            let name = self.session.line(name, 100);
            self.piece.changes.push(Change {
                at,
                repo: self.place.repo.slot.clone(),
                target: self.place.name.to_owned(),
                source: self.place.collector.to_owned(),
                kind: ChangeKind::Variable,
                what: format!("the variable {name} was set or changed"),
                key: name,
                sha: None,
                url: None,
            });
        }
        let names = own.iter().map(|one| self.session.line(&one.name, 100));
        self.piece.outcome.told.insert(ChangeKind::Variable);
        self.piece.outcome.variables = Some(names.collect());
    }

    fn settled(mut self) -> Piece {
        self.blind.extend(self.api.take_missing());
        let mut said: Vec<Blind> = Vec::new();
        for blind in self.blind {
            let blind = Blind::new(blind.cause, self.session.line(&blind.detail, 400));
            if !said.contains(&blind) {
                said.push(blind);
            }
        }
        self.piece.settle(self.read, &said);
        self.piece
    }
}

/// The reading of what an answer holds, for the fuzzer.
pub(super) fn fuzz(body: &[u8]) {
    fn of<T: DeserializeOwned>(data: &Value) -> Option<T> {
        serde_json::from_value(data.clone()).ok()
    }
    let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    let Ok(data) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let ids = Ids {
        project: "p".to_owned(),
        environment: "e".to_owned(),
        service: "s".to_owned(),
    };
    if let Some(service) = of::<shapes::Service>(&data) {
        drop(shapes::deployments(service, &ids, &mut BTreeMap::new()));
    }
    drop(of::<shapes::Events>(&data).map(shapes::failed_step));
    if let Some(page) = of::<shapes::Variables>(&data) {
        let own = variables::of_service(page.environment.variables.into_nodes().collect(), &ids.service);
        assert!(variables::lately(&own, now).all(|(_, at)| at <= now));
    }
    if let Some(page) = of::<lines::RuntimeLogs>(&data) {
        let mut pages = Pages::new(now - KEPT, now);
        let size = page.lines.len();
        let _next = pages.take(page.lines, size);
        drop(lines::by_deployment(pages.into_entries(), true));
    }
    if let Some(page) = of::<lines::HttpLogs>(&data) {
        page.lines.iter().for_each(|line| drop(line.said()));
    }
    if let Some(page) = of::<lines::BuildLogs>(&data) {
        let text: Vec<String> = page.lines.into_iter().map(|line| line.message).collect();
        drop(lines::failing(&text.join("\n")));
    }
}

/// Why a deployment failed, cleaned and redacted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Failure {
    step: String,
    said: String,
    of_build: bool,
    log: String,
}

fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Nanos, true)
}
