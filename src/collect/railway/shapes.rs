//! What Railway's answers look like, and what they mean in the words that all platforms share. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::memory::Ids;
use crate::{
    collect::deploys::{Deployment, State},
    model::Sha,
};

/// A list as Relay writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Connection<T> {
    edges: Vec<Edge<T>>,
    #[serde(default, rename = "pageInfo")]
    page: Option<PageInfo>,
}

#[derive(Debug, Deserialize)]
struct Edge<T> {
    node: T,
}

#[derive(Debug, Deserialize)]
struct PageInfo {
    #[serde(rename = "hasNextPage")]
    more: bool,
    #[serde(rename = "endCursor")]
    end: Option<String>,
}

/// What follows a page of a list.
pub(super) enum Follows {
    Nothing,
    After(String),
    /// Another page, and nothing says where it begins.
    Lost,
}

impl<T> Connection<T> {
    pub(super) fn next(&self) -> Follows {
        match &self.page {
            Some(page) if page.more => page.end.clone().map_or(Follows::Lost, Follows::After),
            Some(_) | None => Follows::Nothing,
        }
    }

    pub(super) fn into_nodes(self) -> impl Iterator<Item = T> {
        self.edges.into_iter().map(|edge| edge.node)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Opened {
    #[serde(rename = "projectToken")]
    pub(super) token: ProjectToken,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectToken {
    pub(super) project_id: String,
    pub(super) environment_id: String,
    pub(super) project: Name,
    pub(super) environment: Name,
}

#[derive(Debug, Deserialize)]
pub(super) struct Name {
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Environments {
    pub(super) environments: Connection<Named>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    #[serde(alias = "serviceId")]
    pub(super) id: String,
    #[serde(alias = "serviceName")]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Services {
    pub(super) environment: ServicesOf,
}

#[derive(Debug, Deserialize)]
pub(super) struct ServicesOf {
    #[serde(rename = "serviceInstances")]
    pub(super) services: Connection<Named>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Variables {
    pub(super) environment: VariablesOf,
}

#[derive(Debug, Deserialize)]
pub(super) struct VariablesOf {
    pub(super) variables: Connection<Variable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variable {
    pub(super) name: String,
    /// None: shared by all services of the environment.
    pub(super) service_id: Option<String>,
    pub(super) updated_at: DateTime<Utc>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Service {
    #[serde(rename = "serviceInstance")]
    pub(super) instance: Instance,
    pub(super) deployments: Connection<Deployed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Instance {
    cron_schedule: Option<String>,
    active_deployments: Vec<Id>,
}

#[derive(Debug, Deserialize)]
struct Id {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deployed {
    id: String,
    status: Status,
    created_at: DateTime<Utc>,
    status_updated_at: Option<DateTime<Utc>>,
    can_rollback: bool,
    deployment_stopped: bool,
    url: Option<String>,
    static_url: Option<String>,
    /// Opaque: nothing in it is promised.
    meta: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Status {
    Building,
    Crashed,
    Deploying,
    Failed,
    Initializing,
    NeedsApproval,
    Queued,
    Removed,
    Removing,
    Skipped,
    Sleeping,
    Success,
    Waiting,
    /// One that the service did not have when this was written.
    #[serde(other)]
    Unknown,
}

/// A service's deployments in the words of all platforms.
pub(super) struct Deployments {
    pub(super) list: Vec<Deployment>,
    /// What serves is asleep: a request wakes it.
    pub(super) asleep: bool,
    /// Some have a status that is not known here.
    pub(super) unknown: bool,
}

/// `live` is when each deployment was first seen to serve, and is kept up here.
pub(super) fn deployments(service: Service, ids: &Ids, live: &mut BTreeMap<String, DateTime<Utc>>) -> Deployments {
    let Service { instance, deployments } = service;
    let all: Vec<Deployed> = deployments.into_nodes().collect();
    let asleep = all.iter().any(|one| one.status == Status::Sleeping);
    let unknown = all.iter().any(|one| one.status == Status::Unknown);
    let list: Vec<Deployment> = all.iter().map(|one| meaning(one, &all, &instance, ids, live)).collect();
    live.retain(|id, _| all.iter().any(|one| one.id == *id));
    Deployments { list, asleep, unknown }
}

fn meaning(
    one: &Deployed,
    all: &[Deployed],
    instance: &Instance,
    ids: &Ids,
    live: &mut BTreeMap<String, DateTime<Utc>>,
) -> Deployment {
    let text = |name: &str| {
        let found = one.meta.as_ref().and_then(|meta| meta.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    // Ended without an error, although people reach it: nobody answers them.
    let ended = one.status == Status::Success
        && one.deployment_stopped
        && instance.cron_schedule.is_none()
        && (one.url.is_some() || one.static_url.is_some());
    // Another one goes on serving beside the one that crashed.
    let replaced = || {
        let serves =
            |other: &Deployed| matches!(other.status, Status::Success | Status::Sleeping) && other.id != one.id;
        let active = |other: &Deployed| instance.active_deployments.iter().any(|active| active.id == other.id);
        all.iter()
            .any(|other| serves(other) && active(other) && !other.deployment_stopped)
    };
    let state = match one.status {
        Status::Building | Status::Deploying | Status::Initializing | Status::Queued | Status::Waiting => {
            State::UnderWay
        }
        Status::Success if ended => State::Crashed,
        Status::Success | Status::Sleeping => State::Ready,
        Status::Crashed if replaced() => State::Failed,
        Status::Crashed => State::Crashed,
        Status::Failed => State::Failed,
        Status::Removed | Status::Removing => State::Removed,
        Status::NeedsApproval | Status::Skipped | Status::Unknown => State::Over,
    };
    let changed = one.status_updated_at.unwrap_or(one.created_at);
    let first = match one.status {
        Status::Success => Some(changed),
        // Since when it serves is not told any more; it began to be made then.
        Status::Sleeping => Some(one.created_at),
        Status::Crashed if state == State::Crashed => Some(one.created_at),
        Status::Removed | Status::Removing if one.can_rollback => Some(one.created_at),
        _ => None,
    };
    let live_since = match (live.get(&one.id), first) {
        (Some(known), _) if state != State::Failed => Some(*known),
        (_, Some(first)) => {
            live.insert(one.id.clone(), first);
            Some(first)
        }
        (_, None) => None,
    };
    let under_way = state == State::UnderWay;
    Deployment {
        state,
        production: true,
        sha: Sha::parse(&text("commitHash")).ok(),
        subject: text("commitMessage"),
        created: one.created_at,
        ended: if under_way { None } else { one.status_updated_at },
        live_since,
        url: Some(page(ids, &one.id)),
        code: if ended { "EXITED".to_owned() } else { String::new() },
        why: if ended {
            "its process ended by itself, and nothing answers in its place".to_owned()
        } else {
            String::new()
        },
        id: one.id.clone(),
    }
}

/// Where a person looks at a deployment.
fn page(ids: &Ids, deployment: &str) -> String {
    let Ids {
        project,
        environment,
        service,
    } = ids;
    format!("https://railway.com/project/{project}/service/{service}?environmentId={environment}&id={deployment}")
}

#[derive(Debug, Deserialize)]
pub(super) struct Events {
    #[serde(rename = "deploymentEvents")]
    pub(super) events: Connection<Event>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) step: String,
    #[serde(default)]
    pub(super) payload: Option<Payload>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Payload {
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// The step that failed and what it says: the last one with an error.
pub(super) fn failed_step(events: Events) -> Option<(String, String)> {
    let said = |payload: Option<Payload>| {
        let Payload { error, reason } = payload?;
        let error = error.filter(|text| !text.trim().is_empty())?;
        Some(match reason.filter(|text| !text.trim().is_empty() && *text != error) {
            Some(reason) => format!("{error} ({reason})"),
            None => error,
        })
    };
    let failed = events
        .events
        .into_nodes()
        .filter_map(|event| Some((event.step, said(event.payload)?)));
    failed.last()
}

/// A step before anything of the new release runs: what it says stands in the log of the build.
pub(super) fn is_build_step(step: &str) -> bool {
    matches!(step, "SNAPSHOT_CODE" | "BUILD_IMAGE" | "PUBLISH_IMAGE")
}

#[cfg(test)]
#[path = "shapes_tests.rs"]
mod tests;
