//! The runs of some days on the default branch, each red one with its causes: for a look without state. Bounded; what was
//! not read is said.

use chrono::{DateTime, Utc};

use super::{
    super::{
        context::{Blind, CollectContext, Place, Session},
        github::Reader,
    },
    branch,
    causes::{Cause, causes, signal, without_jobs},
    flakes, told,
    wire::{Run, RunList, parse},
};
use crate::{
    config::Repo,
    model::{
        Sha,
        past::{Past, PastRun},
    },
};

/// As many as the forge gives for one search.
const PAGES: usize = 10;
/// Red runs whose logs are read, the newest ones: each costs some requests of an hourly limit.
const MOST_READ: usize = 40;
const MOST_READ_WITHOUT_TOKEN: usize = 12;

pub(in crate::collect) async fn read(ctx: &CollectContext<'_>, repo: &Repo, since: DateTime<Utc>) -> Option<Past> {
    let session = Session::new(ctx);
    let reader = Reader::new(&session, repo)?;
    let place = Place::new("actions", repo, repo.targets.first()?, repo.slot.as_str());
    let mut past = Past::default();
    let runs = match listed(&place, &reader, since, &mut past).await {
        Ok(runs) => runs,
        Err(why) => {
            past.blind.push(why.detail);
            return Some(past);
        }
    };
    let mut blind: Vec<Blind> = Vec::new();
    let most = if ctx.config.secrets.github().is_some() {
        MOST_READ
    } else {
        MOST_READ_WITHOUT_TOKEN
    };
    let mut left = most;
    // The newest are read first, where not all can be.
    for run in runs.iter().rev() {
        let Ok(sha) = Sha::parse(&run.head_sha) else { continue };
        let suspect = flakes::of_green(run, &runs, run.finished());
        let mut seen = PastRun {
            workflow: run.workflow_id,
            sha,
            started: run.started(),
            finished: run.finished(),
            green: run.is_green(),
            signals: Vec::new(),
            unread: false,
        };
        if run.is_failing() && left == 0 {
            seen.unread = true;
        } else if run.is_failing() {
            left -= 1;
            let told = told(&session, &reader, run, run.attempt(), &mut blind).await;
            let (mut found, left_out) = causes(run, &told);
            if found.is_empty() {
                found.push(without_jobs(run));
            }
            let flake = flakes::of_red(run, &runs);
            let tell = |cause: &Cause| signal(&session, &place, run, cause, left_out, flake.as_ref());
            seen.signals = found.iter().map(tell).collect();
        } else if let Some(suspect) = suspect.filter(|_| left > 0) {
            left -= 1;
            let told = told(&session, &reader, suspect.red, suspect.flake.red_attempt, &mut blind).await;
            let (found, left_out) = causes(suspect.red, &told);
            let tell = |cause: Cause| {
                signal(
                    &session,
                    &place,
                    suspect.red,
                    &cause.into_flaky(),
                    left_out,
                    Some(&suspect.flake),
                )
            };
            seen.signals = found.into_iter().map(tell).collect();
        }
        past.runs.push(seen);
    }
    past.runs.reverse();
    past.blind.extend(blind.into_iter().map(|why| why.detail));
    past.blind.dedup();
    Some(past)
}

async fn listed(
    place: &Place<'_>,
    reader: &Reader<'_>,
    since: DateTime<Utc>,
    past: &mut Past,
) -> Result<Vec<Run>, Blind> {
    past.branch = branch(place, reader).await?;
    let created = format!(">={}", since.format("%Y-%m-%dT%H:%M:%SZ"));
    let query = [
        ("branch", past.branch.as_str()),
        ("created", created.as_str()),
        ("exclude_pull_requests", "true"),
        ("per_page", "100"),
    ];
    let mut runs: Vec<Run> = Vec::new();
    reader
        .pages(reader.url(&["actions", "runs"], &query), PAGES, |body| {
            runs.extend(parse::<RunList>(body, "workflow runs")?.workflow_runs);
            Ok(())
        })
        .await?;
    runs.retain(|run| run.decides() && run.created_at >= since);
    runs.sort_by_key(|run| (run.started(), run.id));
    Ok(runs)
}
