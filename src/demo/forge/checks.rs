//! Check runs and commit statuses of a commit. A read shows each stage of a job at least once.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Desk, refuse};
use crate::demo::serve::Reply;

pub(super) fn check_runs(desk: &mut Desk<'_>) -> Result<Reply> {
    let Some(sha) = commit_of(desk)? else {
        return Ok(refuse(422, "No commit found for SHA"));
    };
    let now = desk.town.clock.now();
    desk.model.show_jobs(now, |job| job.sha == sha);
    let all = desk.call.param("filter").as_deref() == Some("all");
    let shapes = desk.shapes();
    let jobs = if all {
        desk.model.jobs.iter().filter(|j| j.sha == sha).collect()
    } else {
        desk.model.newest_jobs(&sha)
    };
    let found: Vec<Value> = jobs.into_iter().map(|j| shapes.check_run(j)).collect();
    Ok(desk.page(&found, Some("check_runs")))
}

pub(super) fn status(desk: &mut Desk<'_>) -> Result<Reply> {
    let Some(sha) = commit_of(desk)? else {
        return Ok(refuse(404, "Not Found"));
    };
    let shapes = desk.shapes();
    let statuses: Vec<&_> = desk.model.statuses.iter().filter(|s| s.sha == sha).collect();
    let any = |state: &str| statuses.iter().any(|s| s.state == state);
    let state = match () {
        () if any("failure") || any("error") => "failure",
        () if statuses.is_empty() || any("pending") => "pending",
        () => "success",
    };
    let shown: Vec<Value> = statuses.iter().map(|s| shapes.commit_status(s)).collect();
    let body = json!({
        "state": state, "sha": sha, "total_count": shown.len(), "statuses": shown, "repository": shapes.repository(),
        "commit_url": shapes.url(&format!("/commits/{sha}")), "url": shapes.url(&format!("/commits/{sha}/status")),
    });
    Ok(Reply::json(200, &body))
}

fn commit_of(desk: &Desk<'_>) -> Result<Option<String>> {
    Ok(desk.forge.repo.facts(desk.arg("ref"))?.map(|(sha, _)| sha))
}
