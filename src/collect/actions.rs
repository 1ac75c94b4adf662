//! Failed workflow runs on the default branch: the newest finished run of each workflow decides, and a failing one is
//! told with its job, its step and the end of that step's log.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use super::{
    actions_log::Tail,
    context::{Blind, CacheEntry, Piece, Place, Session},
    github::{Log, Reader},
};
use crate::{
    model::{
        Sha,
        signal::{OutcomeKind, Severity, Signal, SignalKind},
    },
    text::{named, signature},
};

/// How the title of a failed run begins.
pub const CI_IS_RED: &str = "CI is red: ";
/// Failing workflows and jobs that are told in one tick; more of them rarely say more.
const MOST_WORKFLOWS: usize = 10;
const MOST_JOBS: usize = 5;

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let Some(reader) = Reader::new(session, place.repo) else {
        return place.piece(OutcomeKind::Skipped);
    };
    let mut piece = place.piece(OutcomeKind::Ok);
    let runs = match newest_runs(session, &place, &reader).await {
        Ok(runs) => runs,
        Err(blind) => {
            piece.settle(0, &[blind]);
            return piece;
        }
    };
    let workflows = runs.len();
    let mut blind = Vec::new();
    for run in runs.into_iter().filter(Run::is_failing).take(MOST_WORKFLOWS) {
        match failing_jobs(&reader, &run).await {
            Ok(jobs) if jobs.is_empty() => piece.signals.push(signal(session, &place, &run, None, "")),
            Ok(jobs) => {
                for job in jobs {
                    let log = failure_text(session, &reader, &job).await;
                    let text = log.unwrap_or_else(|why| {
                        blind.push(why);
                        String::new()
                    });
                    piece.signals.push(signal(session, &place, &run, Some(&job), &text));
                }
            }
            Err(why) => {
                blind.push(why);
                piece.signals.push(signal(session, &place, &run, None, ""));
            }
        }
    }
    // At least the list itself was read.
    piece.settle(workflows.max(1), &blind);
    piece
}

/// The newest run of each workflow that decides whether the branch is red.
async fn newest_runs(session: &Session<'_>, place: &Place<'_>, reader: &Reader<'_>) -> Result<Vec<Run>, Blind> {
    let branch = match &place.repo.branch {
        Some(branch) => branch.clone(),
        None => default_branch(reader).await?,
    };
    let query = [
        ("branch", branch.as_str()),
        ("exclude_pull_requests", "true"),
        ("per_page", "100"),
    ];
    let pages = if session.ctx.deep { 5 } else { 1 };
    let mut runs = Vec::new();
    reader
        .pages(reader.url(&["actions", "runs"], &query), pages, |body| {
            runs.extend(parse::<RunList>(body, "workflow runs")?.workflow_runs);
            Ok(())
        })
        .await?;
    Ok(deciding(runs))
}

async fn default_branch(reader: &Reader<'_>) -> Result<String, Blind> {
    #[derive(Deserialize)]
    struct Repository {
        default_branch: String,
    }
    let page = reader.page(&reader.url(&[], &[])).await?;
    Ok(parse::<Repository>(&page.body, "repository")?.default_branch)
}

async fn failing_jobs(reader: &Reader<'_>, run: &Run) -> Result<Vec<Job>, Blind> {
    let id = run.id.to_string();
    let url = reader.url(
        &["actions", "runs", &id, "jobs"],
        &[("filter", "latest"), ("per_page", "100")],
    );
    let page = reader.page(&url).await?;
    let mut jobs = parse::<JobList>(&page.body, "jobs of a run")?.jobs;
    jobs.retain(|job| job.conclusion.as_deref().is_some_and(is_failing));
    jobs.truncate(MOST_JOBS);
    Ok(jobs)
}

/// What the log says about the failure, cleaned and redacted. A red run keeps its log: it is read once and kept.
async fn failure_text(session: &Session<'_>, reader: &Reader<'_>, job: &Job) -> Result<String, Blind> {
    let id = job.id.to_string();
    let url = reader.url(&["actions", "jobs", &id, "logs"], &[]);
    let key = format!("log {url}");
    if let Some(known) = session.ctx.cache.get(&key) {
        return Ok(String::from_utf8_lossy(&known.body).into_owned());
    }
    let mut tail = Tail::default();
    match reader.log(&url, &mut |piece| tail.push(piece)).await? {
        Log::Gone => Ok(String::new()),
        Log::Read => {
            let text = session.text(&tail.failure(), 16 * 1024);
            let entry = CacheEntry {
                etag: id,
                link: None,
                body: text.clone().into_bytes(),
            };
            session.ctx.cache.put(&key, entry);
            Ok(text)
        }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(body: &[u8], what: &str) -> Result<T, Blind> {
    serde_json::from_slice(body).map_err(|error| Blind::new("shape", format!("the list of {what}: {error}")))
}

/// The reading of lists, for the fuzzer.
pub(super) fn fuzz(body: &[u8]) {
    drop(parse::<RunList>(body, "workflow runs").map(|list| deciding(list.workflow_runs)));
    drop(parse::<JobList>(body, "jobs of a run"));
}

#[derive(Debug, Deserialize)]
struct RunList {
    workflow_runs: Vec<Run>,
}

#[derive(Debug, Clone, Deserialize)]
struct Run {
    id: u64,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    path: Option<String>,
    workflow_id: u64,
    #[serde(default)]
    event: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    head_sha: String,
    #[serde(default)]
    html_url: Option<String>,
    created_at: DateTime<Utc>,
    #[serde(default, rename = "run_started_at")]
    started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    updated_at: Option<DateTime<Utc>>,
    #[serde(default, rename = "run_attempt")]
    attempt: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct JobList {
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Job {
    id: u64,
    name: String,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Step {
    name: String,
    #[serde(default)]
    conclusion: Option<String>,
}

impl Run {
    fn is_failing(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_failing)
    }

    /// A run that says something about the branch: finished, and neither called off nor of a pull request.
    fn decides(&self) -> bool {
        let foreign = matches!(
            self.event.as_str(),
            "pull_request" | "pull_request_target" | "merge_group"
        );
        let void = matches!(
            self.conclusion.as_deref(),
            None | Some("cancelled" | "skipped" | "stale" | "action_required")
        );
        self.status.as_deref() == Some("completed") && !foreign && !void
    }

    fn workflow(&self) -> String {
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        let file = self.path.as_deref().and_then(|path| path.rsplit('/').next());
        named
            .or(file)
            .map_or_else(|| self.workflow_id.to_string(), str::to_owned)
    }
}

fn is_failing(conclusion: &str) -> bool {
    matches!(conclusion, "failure" | "timed_out" | "startup_failure")
}

fn deciding(runs: Vec<Run>) -> Vec<Run> {
    let mut newest: BTreeMap<u64, Run> = BTreeMap::new();
    let age = |run: &Run| (run.started_at.unwrap_or(run.created_at), run.id);
    for run in runs.into_iter().filter(Run::decides) {
        match newest.get(&run.workflow_id) {
            Some(known) if age(known) >= age(&run) => {}
            _ => drop(newest.insert(run.workflow_id, run)),
        }
    }
    newest.into_values().collect()
}

fn signal(session: &Session<'_>, place: &Place<'_>, run: &Run, job: Option<&Job>, log: &str) -> Signal {
    let workflow = session.line(&run.workflow(), 100);
    let job_name = job.map(|job| session.line(&job.name, 100)).unwrap_or_default();
    let failing = job.and_then(|job| {
        job.steps
            .iter()
            .find(|step| step.conclusion.as_deref().is_some_and(is_failing))
    });
    let step = failing.map(|step| session.line(&step.name, 100)).unwrap_or_default();
    let where_it_failed: Vec<&str> = [workflow.as_str(), &job_name, &step]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let title = format!("{CI_IS_RED}{}", where_it_failed.join(" / "));
    // Without a log the place is the only thing that tells causes apart.
    let signed = (!log.trim().is_empty()).then(|| signature(log));
    let finished = run.updated_at.unwrap_or(run.created_at);
    let url = job.and_then(|job| job.html_url.as_ref()).or(run.html_url.as_ref());
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind: SignalKind::Ci,
        severity: Severity::Error,
        title: session.line(&title, 200),
        message: if log.is_empty() { title } else { session.text(log, 4000) },
        signature: signed.as_ref().map_or_else(
            || named(&format!("ci:{workflow}:{job_name}:{step}")),
            |signed| signed.signature.clone(),
        ),
        count: 1,
        first_seen: run.started_at.unwrap_or(run.created_at),
        last_seen: finished,
        release_sha: Sha::parse(&run.head_sha).ok(),
        url: url.map(|url| session.line(url, 300)),
        culprit: signed.and_then(|signed| signed.culprit),
        evidence: json!({
            "workflow": workflow,
            "job": job_name,
            "step": step,
            "run": run.id,
            "attempt": run.attempt,
            "conclusion": run.conclusion,
            "event": session.line(&run.event, 40),
        }),
    }
}

#[cfg(test)]
#[path = "actions_tests.rs"]
mod tests;
