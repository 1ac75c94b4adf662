//! Workflow runs, their attempts, jobs and logs: the same jobs that stand as check runs, seen from the other side.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::{
    Desk, is_anonymous,
    model::{Job, Stage},
    refuse,
};
use crate::demo::serve::Reply;

pub(super) fn runs(desk: &mut Desk<'_>) -> Result<Reply> {
    let (branch, sha, status) = (
        desk.call.param("branch"),
        desk.call.param("head_sha"),
        desk.call.param("status"),
    );
    let wanted =
        |job: &Job| branch.as_ref().is_none_or(|b| *b == job.branch) && sha.as_ref().is_none_or(|s| *s == job.sha);
    let now = desk.town.clock.now();
    desk.model.show_jobs(now, wanted);
    let mut by_run: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
    for job in desk.model.jobs.iter().filter(|j| wanted(j)) {
        by_run.entry(job.run).or_default().push(job);
    }
    let shapes = desk.shapes();
    let found: Vec<Value> = by_run
        .into_values()
        .rev()
        .map(|jobs| shapes.run(&jobs))
        .filter(|run| {
            status
                .as_ref()
                .is_none_or(|s| run["status"] == **s || run["conclusion"] == **s)
        })
        .collect();
    Ok(desk.page(&found, Some("workflow_runs")))
}

pub(super) fn jobs(desk: &mut Desk<'_>) -> Result<Reply> {
    let run = desk.number("run_id");
    if !desk.model.jobs.iter().any(|j| j.run == run) {
        return Ok(refuse(404, "Not Found"));
    }
    let now = desk.town.clock.now();
    desk.model.show_jobs(now, |job| job.run == run);
    let shapes = desk.shapes();
    let all = desk.call.param("filter").as_deref() == Some("all");
    let newest = desk.model.attempts(run);
    let jobs = desk.model.jobs.iter().filter(|j| j.run == run);
    let found: Vec<Value> = jobs
        .filter(|j| all || j.attempt == newest)
        .map(|j| shapes.job(j))
        .collect();
    Ok(desk.page(&found, Some("jobs")))
}

/// The jobs of one attempt.
pub(super) fn attempt_jobs(desk: &mut Desk<'_>) -> Result<Reply> {
    let (run, attempt) = (desk.number("run_id"), desk.number("attempt_number"));
    let shapes = desk.shapes();
    let jobs = desk.model.jobs.iter().filter(|j| j.is_of(run, attempt));
    let found: Vec<Value> = jobs.map(|j| shapes.job(j)).collect();
    if found.is_empty() {
        return Ok(refuse(404, "Not Found"));
    }
    Ok(desk.page(&found, Some("jobs")))
}

/// A redirect to the archive of an attempt's logs.
pub(super) fn attempt_logs(desk: &mut Desk<'_>) -> Result<Reply> {
    let (run, attempt) = (desk.number("run_id"), desk.number("attempt_number"));
    if is_anonymous(desk.call) {
        return Ok(refuse(403, "Must have admin rights to Repository."));
    }
    let mut jobs = desk.model.jobs.iter().filter(|j| j.is_of(run, attempt)).peekable();
    if jobs.peek().is_none() || !jobs.all(|j| j.stage == Stage::Completed && j.log.is_some()) {
        return Ok(refuse(404, "Not Found"));
    }
    Ok(stored(desk, &format!("archives/{run}-{attempt}")))
}

/// A redirect to where logs are kept, which wants no token.
pub(super) fn log(desk: &mut Desk<'_>) -> Result<Reply> {
    if is_anonymous(desk.call) {
        return Ok(refuse(403, "Must have admin rights to Repository."));
    }
    let id = desk.number("job_id");
    let job = desk.model.jobs.iter().find(|j| j.id == id);
    let Some(job) = job.filter(|j| j.stage == Stage::Completed) else {
        return Ok(refuse(404, "Not Found"));
    };
    if job.archived {
        return Ok(refuse(410, "Gone"));
    }
    Ok(stored(desk, &format!("logs/{id}")))
}

fn stored(desk: &Desk<'_>, what: &str) -> Reply {
    let base = desk.forge.api.trim_end_matches('/');
    Reply::empty(302).with("location", format!("{base}/storage/{what}"))
}
