//! Workflow runs, their attempts, jobs and logs: the same jobs that stand as check runs, seen from the other side.

use std::{collections::BTreeMap, io::Write as _};

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Desk, is_anonymous,
    model::{Job, Model, Stage},
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

pub(super) fn run(desk: &mut Desk<'_>) -> Result<Reply> {
    let run = desk.number("run_id");
    let now = desk.town.clock.now();
    desk.model.show_jobs(now, |job| job.run == run);
    let shapes = desk.shapes();
    let jobs: Vec<&Job> = desk.model.jobs.iter().filter(|job| job.run == run).collect();
    Ok(if jobs.is_empty() {
        refuse(404, "Not Found")
    } else {
        Reply::json(200, &shapes.run(&jobs))
    })
}

/// The failed jobs of a run once more. They end as the story says.
pub(super) fn rerun(desk: &mut Desk<'_>) -> Result<Reply> {
    if is_anonymous(desk.call) {
        return Ok(refuse(403, "Must have admin rights to Repository."));
    }
    let (run, now) = (desk.number("run_id"), desk.town.clock.now());
    let attempt = desk.model.attempts(run);
    let newest: Vec<Job> = desk
        .model
        .jobs
        .iter()
        .filter(|j| j.is_of(run, attempt))
        .cloned()
        .collect();
    if newest.is_empty() {
        return Ok(refuse(404, "Not Found"));
    }
    if newest.iter().any(|job| job.stage != Stage::Completed) {
        return Ok(refuse(403, "This workflow run is already running"));
    }
    for job in newest.into_iter().filter(|job| !job.is_green()) {
        let verdict = if desk.model.settings.reruns_green {
            "success"
        } else {
            "failure"
        };
        let again = Job {
            workflow: job.workflow.clone(),
            attempt: attempt + 1,
            command: job.command.clone(),
            held: true,
            conclusion: Some(verdict.to_owned()),
            log: job.log.clone(),
            ..Job::queued(desk.model.next_id(), run, &job.name, &job.sha, &job.branch, now)
        };
        desk.model.jobs.push(again);
    }
    Ok(Reply::json(201, &json!({})))
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

/// What the jobs of a run kept.
pub(super) fn artifacts(desk: &mut Desk<'_>) -> Result<Reply> {
    let run = desk.number("run_id");
    let api = format!("{}/repos/{}/actions/artifacts", desk.forge.api, desk.forge.full_name());
    let jobs = desk
        .model
        .jobs
        .iter()
        .filter(|job| job.run == run && job.stage == Stage::Completed);
    let found: Vec<Value> = jobs
        .filter_map(|job| {
            let url = format!("{api}/{}", job.id);
            let at = job
                .completed
                .map(|at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
            Some(json!({
                "id": job.id, "node_id": format!("AR_{}", job.id), "name": format!("{}-report", job.name),
                "size_in_bytes": job.kept.as_ref()?.len(), "url": url, "archive_download_url": format!("{url}/zip"),
                "expired": false, "created_at": at, "expires_at": at, "updated_at": at,
            }))
        })
        .collect();
    Ok(desk.page(&found, Some("artifacts")))
}

/// A redirect to where archives are kept, which wants no token.
pub(super) fn archive(desk: &mut Desk<'_>) -> Result<Reply> {
    let id = desk.number("artifact_id");
    if !desk.model.jobs.iter().any(|job| job.id == id && job.kept.is_some()) {
        return Ok(refuse(410, "Gone"));
    }
    Ok(stored(desk, &format!("kept/{id}")))
}

pub(super) fn stored_archive(model: &Model, id: &str) -> Reply {
    let job = model.jobs.iter().find(|job| job.id.to_string() == id);
    let Some(kept) = job.and_then(|job| job.kept.as_ref()) else {
        return Reply::text(410, "the archive is gone");
    };
    match zipped(kept) {
        Ok(body) => Reply {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/zip".to_owned())],
            body,
        },
        Err(error) => Reply::text(500, format!("the archive cannot be made: {error}")),
    }
}

fn zipped(report: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("report.xml", zip::write::SimpleFileOptions::default())?;
    writer.write_all(report)?;
    Ok(writer.finish()?.into_inner())
}

fn stored(desk: &Desk<'_>, what: &str) -> Reply {
    let base = desk.forge.api.trim_end_matches('/');
    Reply::empty(302).with("location", format!("{base}/storage/{what}"))
}
