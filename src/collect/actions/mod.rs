//! Failed workflow runs on the default branch: the newest finished run of each workflow decides. A failing one is told
//! by its failed tests, one cause each, with job, step and what they said; a job without any by the end of its log.
//! Beside it: tests that are red and green on one commit, and what landed on the branch.

mod causes;
mod flakes;
pub(super) mod history;
mod log;
mod merges;
mod wire;

use serde::Deserialize;

use super::{
    context::{Blind, CacheEntry, Piece, Place, Session},
    github::{Log, Reader},
};
use crate::{
    model::signal::{ChangeKind, OutcomeKind},
    text::ci,
};
use causes::{MOST_CAUSES, causes, signal, without_jobs};
use log::Intake;
use wire::{Job, JobList, Run, RunList, Told, deciding, parse};

/// How the title of a failed run begins.
pub const CI_IS_RED: &str = "CI is red: ";
/// Failing workflows and jobs that are told in one tick; more of them rarely say more.
const MOST_WORKFLOWS: usize = 10;
const MOST_JOBS: usize = 5;
/// Green runs of one tick whose earlier attempts are looked at.
const MOST_FLAKES: usize = 3;

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let Some(reader) = Reader::new(session, place.repo) else {
        return place.piece(OutcomeKind::Skipped);
    };
    let mut piece = place.piece(OutcomeKind::Ok);
    let branch = match branch(&place, &reader).await {
        Ok(branch) => branch,
        Err(blind) => {
            piece.settle(0, &[blind]);
            return piece;
        }
    };
    let (runs, landed) = tokio::join!(
        runs(session, &reader, &branch),
        merges::landed(session, &place, &reader, &branch)
    );
    let runs = match runs {
        Ok(runs) => runs,
        Err(blind) => {
            piece.settle(0, &[blind]);
            return piece;
        }
    };
    let mut blind = Vec::new();
    match landed {
        Ok(Some(changes)) => {
            piece.changes = changes;
            piece.outcome.told.insert(ChangeKind::Merge);
        }
        Ok(None) => {}
        Err(why) => blind.push(why),
    }
    let newest = deciding(&runs);
    for run in newest.iter().filter(|run| run.is_failing()).take(MOST_WORKFLOWS) {
        red(session, &place, &reader, run, &runs, &mut piece, &mut blind).await;
    }
    let green = newest
        .iter()
        .filter_map(|run| flakes::of_green(run, &runs, session.ctx.now));
    for suspect in green.take(MOST_FLAKES) {
        flaky(session, &place, &reader, &suspect, &mut piece, &mut blind).await;
    }
    // At least the list itself was read.
    piece.settle(newest.len().max(1), &blind);
    piece
}

async fn branch(place: &Place<'_>, reader: &Reader<'_>) -> Result<String, Blind> {
    match &place.repo.branch {
        Some(branch) => Ok(branch.clone()),
        None => default_branch(reader).await,
    }
}

async fn runs(session: &Session<'_>, reader: &Reader<'_>, branch: &str) -> Result<Vec<Run>, Blind> {
    let query = [
        ("branch", branch),
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
    Ok(runs)
}

async fn default_branch(reader: &Reader<'_>) -> Result<String, Blind> {
    #[derive(Deserialize)]
    struct Repository {
        default_branch: String,
    }
    let page = reader.page(&reader.url(&[], &[])).await?;
    Ok(parse::<Repository>(&page.body, "repository")?.default_branch)
}

/// Tells of each cause of a red run.
async fn red(
    session: &Session<'_>,
    place: &Place<'_>,
    reader: &Reader<'_>,
    run: &Run,
    all: &[Run],
    piece: &mut Piece,
    blind: &mut Vec<Blind>,
) {
    let flake = flakes::of_red(run, all);
    let Some(told) = told(session, reader, run, run.attempt(), blind).await else {
        return;
    };
    let (mut causes, left_out) = causes(run, &told);
    if causes.is_empty() {
        causes.push(without_jobs(run));
    }
    let signals = causes
        .iter()
        .map(|cause| signal(session, place, run, cause, left_out, flake.as_ref()));
    piece.signals.extend(signals);
}

/// Tells of what was red before it was green on the same commit. Without a failed job it was called off, not red.
async fn flaky(
    session: &Session<'_>,
    place: &Place<'_>,
    reader: &Reader<'_>,
    suspect: &flakes::Suspect<'_>,
    piece: &mut Piece,
    blind: &mut Vec<Blind>,
) {
    let told = told(session, reader, suspect.red, suspect.flake.red_attempt, blind).await;
    let told = told.unwrap_or_default();
    let (causes, left_out) = causes(suspect.red, &told);
    let causes = causes.into_iter().map(causes::Cause::into_flaky);
    let flake = Some(&suspect.flake);
    piece
        .signals
        .extend(causes.map(|cause| signal(session, place, suspect.red, &cause, left_out, flake)));
}

/// The failed jobs of one attempt, each with what its log says. What cannot be read is blind, and the job stays. None when
/// the run was begun again since it was listed: it is not red now.
async fn told(
    session: &Session<'_>,
    reader: &Reader<'_>,
    run: &Run,
    attempt: u64,
    blind: &mut Vec<Blind>,
) -> Option<Vec<(Job, Told)>> {
    let mut jobs = match jobs(reader, run, attempt).await {
        Ok(jobs) => jobs,
        Err(why) => {
            blind.push(why);
            return Some(Vec::new());
        }
    };
    if jobs.iter().any(Job::is_running) {
        return None;
    }
    jobs.retain(Job::is_failing);
    jobs.truncate(MOST_JOBS);
    let mut told = Vec::new();
    for job in jobs {
        if !reader.shows_logs {
            told.push((job, Told::default()));
            continue;
        }
        let read = read_log(session, reader, run, attempt, &job).await;
        let said = read.unwrap_or_else(|why| {
            blind.push(why);
            Told::default()
        });
        told.push((job, said));
    }
    Some(told)
}

async fn jobs(reader: &Reader<'_>, run: &Run, attempt: u64) -> Result<Vec<Job>, Blind> {
    let (id, number) = (run.id.to_string(), attempt.to_string());
    let url = if attempt == run.attempt() {
        let query = [("filter", "latest"), ("per_page", "100")];
        reader.url(&["actions", "runs", &id, "jobs"], &query)
    } else {
        let path = ["actions", "runs", &id, "attempts", &number, "jobs"];
        reader.url(&path, &[("per_page", "100")])
    };
    let page = reader.page(&url).await?;
    Ok(parse::<JobList>(&page.body, "jobs of a run")?.jobs)
}

/// What a job's log says about its failure. Such a log never changes: it is read once and what it says is kept.
async fn read_log(
    session: &Session<'_>,
    reader: &Reader<'_>,
    run: &Run,
    attempt: u64,
    job: &Job,
) -> Result<Told, Blind> {
    let id = job.id.to_string();
    let url = reader.url(&["actions", "jobs", &id, "logs"], &[]);
    let key = format!("failures {url}");
    if let Some(known) = session.ctx.cache.get(&key)
        && let Ok(told) = serde_json::from_slice(&known.body)
    {
        return Ok(told);
    }
    let mut intake = Intake::default();
    let mut found = reader.log(&url, &mut |piece| intake.push(piece)).await?;
    if found == Log::Gone {
        // The archive of the whole attempt may still be there.
        let (run, attempt) = (run.id.to_string(), attempt.to_string());
        let path = ["actions", "runs", &run, "attempts", &attempt, "logs"];
        intake = Intake::default();
        found = reader
            .log(&reader.url(&path, &[]), &mut |piece| intake.push(piece))
            .await?;
    }
    let told = match found {
        Log::Gone => Told::default(),
        Log::Read => {
            let failed = intake.failed(&job.name, job.failing_step());
            let failed = failed
                .map_err(|why| Blind::new("log", format!("the log of {}: {why}", session.line(&job.name, 80))))?;
            let mut failures = ci::read(&session.text(&failed.text, usize::MAX));
            let more = failures.len().saturating_sub(MOST_CAUSES);
            failures.truncate(MOST_CAUSES);
            let excerpt = session.text(&failed.excerpt, 16 * 1024);
            Told {
                failures,
                more,
                excerpt,
            }
        }
    };
    if let Ok(body) = serde_json::to_vec(&told) {
        let entry = CacheEntry {
            etag: id,
            link: None,
            body,
        };
        session.ctx.cache.put(&key, entry);
    }
    Ok(told)
}

/// The reading of lists, for the fuzzer.
pub(super) fn fuzz(body: &[u8]) {
    drop(parse::<RunList>(body, "workflow runs").map(|list| deciding(&list.workflow_runs).len()));
    drop(parse::<JobList>(body, "jobs of a run"));
}

/// The reading of a log in either form, and of the failures in it.
pub(super) fn fuzz_log(bytes: &[u8]) {
    let mut intake = Intake::default();
    for piece in bytes.chunks(7) {
        intake.push(piece);
    }
    if let Ok(failed) = intake.failed("test", None) {
        for failure in ci::read(&failed.text) {
            failure.sign();
        }
    }
}

#[cfg(test)]
mod tests;
