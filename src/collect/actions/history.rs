//! The runs of some days on the default branch, each red one with its causes: for a look without state. Bounded; what was
//! not read is said.

use chrono::{DateTime, Utc};

use super::{
    super::{
        context::{Blind, CollectContext, Place, Session},
        github::Reader,
    },
    branch,
    causes::{Cause, Flake, causes, signal, without_jobs},
    flakes, merges, told,
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
const COMMIT_PAGES: usize = 3;
/// Red runs whose logs are read, the newest ones: each costs some requests of an hourly limit.
const MOST_READ: usize = 40;
/// The same without a token, whose hour has sixty calls.
const PAGES_WITHOUT_TOKEN: usize = 3;
const MOST_READ_WITHOUT_TOKEN: usize = 20;

/// None for a slot without a repository on the forge.
pub(in crate::collect) async fn read(ctx: &CollectContext<'_>, repo: &Repo, since: DateTime<Utc>) -> Option<Past> {
    let session = Session::new(ctx);
    let mut reader = Reader::new(&session, repo)?;
    reader.shows_logs = reader.has_token();
    let place = Place::new("actions", repo, repo.targets.first()?, repo.slot.as_str());
    let mut past = Past::default();
    if let Err(why) = fill(&session, &reader, &place, since, &mut past).await {
        past.blind.push(why.detail);
    }
    past.blind.dedup();
    Some(past)
}

async fn fill(
    session: &Session<'_>,
    reader: &Reader<'_>,
    place: &Place<'_>,
    since: DateTime<Utc>,
    past: &mut Past,
) -> Result<(), Blind> {
    past.branch = branch(place, reader).await?;
    past.without_logs = !reader.shows_logs;
    let runs = listed(reader, since, past).await?;
    if runs.is_empty() {
        return Ok(());
    }
    let pages = if past.without_logs { 1 } else { COMMIT_PAGES };
    match merges::lately(session, reader, &past.branch, pages).await {
        Ok(landed) => past.landed = landed,
        Err(why) => past.blind.push(why.detail),
    }
    let mut left = if past.without_logs {
        MOST_READ_WITHOUT_TOKEN
    } else {
        MOST_READ
    };
    let mut blind: Vec<Blind> = Vec::new();
    // The newest are read first, where not all can be.
    for (at, run) in runs.iter().enumerate().rev() {
        let Ok(sha) = Sha::parse(&run.head_sha) else { continue };
        let suspect = suspect(run, &runs[..=at]);
        let mut seen = PastRun {
            workflow: run.workflow_id,
            sha,
            started: run.started(),
            finished: run.finished(),
            green: run.is_green(),
            signals: Vec::new(),
            unread: suspect.is_some() && left == 0,
        };
        if let Some(suspect) = suspect.filter(|_| left > 0) {
            left -= 1;
            let told = told(session, reader, suspect.red, suspect.attempt, &mut blind).await;
            let told = told.unwrap_or_default();
            let (mut found, left_out) = causes(suspect.red, &told);
            if found.is_empty() && run.is_failing() {
                found.push(without_jobs(run));
            }
            let flake = suspect.flake.as_ref();
            let tell = |cause: &Cause| signal(session, place, suspect.red, cause, left_out, flake);
            seen.signals = found.iter().map(tell).collect();
        }
        past.runs.push(seen);
    }
    past.runs.reverse();
    past.blind.extend(blind.into_iter().map(|why| why.detail));
    Ok(())
}

/// A run whose causes are worth reading: it is red, or its commit was red before.
struct Suspect<'a> {
    red: &'a Run,
    attempt: u64,
    flake: Option<Flake>,
}

/// Judged by what had begun by then: what a later run says of the commit is told with that one.
fn suspect<'a>(run: &'a Run, so_far: &'a [Run]) -> Option<Suspect<'a>> {
    if run.is_failing() {
        return Some(Suspect {
            red: run,
            attempt: run.attempt(),
            flake: flakes::of_red(run, so_far),
        });
    }
    let found = flakes::of_green(run, so_far, run.finished())?;
    Some(Suspect {
        red: found.red,
        attempt: found.flake.red_attempt,
        flake: Some(found.flake),
    })
}

async fn listed(reader: &Reader<'_>, since: DateTime<Utc>, past: &mut Past) -> Result<Vec<Run>, Blind> {
    let created = format!(">={}", since.format("%Y-%m-%dT%H:%M:%SZ"));
    let query = [
        ("branch", past.branch.as_str()),
        ("created", created.as_str()),
        ("exclude_pull_requests", "true"),
        ("per_page", "100"),
    ];
    let pages = if past.without_logs { PAGES_WITHOUT_TOKEN } else { PAGES };
    let mut runs: Vec<Run> = Vec::new();
    let mut all = 0;
    reader
        .pages(reader.url(&["actions", "runs"], &query), pages, |body| {
            let list = parse::<RunList>(body, "workflow runs")?;
            all = list.total_count.unwrap_or(0);
            runs.extend(list.workflow_runs);
            Ok(())
        })
        .await?;
    if all > runs.len() {
        past.reaches_back_to = runs.iter().map(|run| run.created_at).min();
    }
    runs.retain(|run| run.decides() && run.created_at >= since);
    runs.sort_by_key(|run| (run.started(), run.id));
    Ok(runs)
}
