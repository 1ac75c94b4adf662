//! Where the forge keeps the logs of CI: the text of one job, or an archive of an attempt, each line with its time and
//! between the marks that a runner prints. Wants no token.

use std::io::{Cursor, Write as _};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::model::{Job, Model};
use crate::demo::serve::Reply;

/// Answers below `/storage/`.
pub(super) fn answer(model: &Model, path: &str) -> Reply {
    match path.split_once('/') {
        Some(("logs", id)) => log(model, id),
        Some(("archives", of)) => archive(model, of),
        _ => Reply::text(404, "nothing is kept there"),
    }
}

/// The text of a finished job's log.
fn log(model: &Model, id: &str) -> Reply {
    let Some(job) = model.jobs.iter().find(|j| j.id.to_string() == id) else {
        return Reply::text(404, "no such log");
    };
    match text(job) {
        Some(text) => Reply::text(200, text),
        None => Reply::text(410, "the log is gone"),
    }
}

/// `RUN-ATTEMPT`: a file for each job, and beside them a directory of its steps.
fn archive(model: &Model, of: &str) -> Reply {
    let number = |text: &str| text.parse::<u64>().ok();
    let Some((run, attempt)) = of.split_once('-').and_then(|(run, n)| Some((number(run)?, number(n)?))) else {
        return Reply::text(404, "no such archive");
    };
    let jobs: Vec<&Job> = model.jobs.iter().filter(|job| job.is_of(run, attempt)).collect();
    match zipped(&jobs) {
        Ok(bytes) => Reply {
            status: 200,
            headers: vec![("content-type".into(), "application/zip".into())],
            body: bytes,
        },
        Err(error) => Reply::text(500, format!("the archive cannot be made: {error:#}")),
    }
}

fn zipped(jobs: &[&Job]) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let mut add = |name: String, text: &str| {
        zip.start_file(name, options)?;
        zip.write_all(text.as_bytes()).context("write an entry")
    };
    for (n, job) in jobs.iter().enumerate() {
        let text = text(job).context("the log of the job is there")?;
        add(format!("{n}_{}.txt", job.name), &text)?;
        add(
            format!("{}/1_Set up job.txt", job.name),
            "Current runner version: '2.329.0'\n",
        )?;
        add(
            format!("{}/3_Run {}.txt", job.name, job.command().replace('/', "_")),
            &text,
        )?;
    }
    Ok(zip.finish()?.into_inner())
}

/// What a runner makes of the output of a job's command. None: nothing is kept of it.
fn text(job: &Job) -> Option<String> {
    let raw = std::fs::read(job.log.as_ref()?).ok()?;
    let raw = String::from_utf8_lossy(&raw);
    let command = job.command();
    let begin = [
        "Current runner version: '2.329.0'".to_owned(),
        "##[group]Operating System".to_owned(),
        "Ubuntu".to_owned(),
        "24.04.3".to_owned(),
        "##[endgroup]".to_owned(),
        "##[group]Run actions/checkout@v4".to_owned(),
        "with:".to_owned(),
        "  fetch-depth: 1".to_owned(),
        "##[endgroup]".to_owned(),
        "Syncing repository: acme/shop".to_owned(),
        format!("##[group]Run {command}"),
        format!("\u{1b}[36;1m{command}\u{1b}[0m"),
        "shell: /usr/bin/bash -e {0}".to_owned(),
        "env:".to_owned(),
        "  CI: true".to_owned(),
        "##[endgroup]".to_owned(),
    ];
    let green = job.conclusion.as_deref() == Some("success");
    let end = (!green).then_some("##[error]Process completed with exit code 1.");
    let after = [
        "Post job cleanup.",
        "[command]/usr/bin/git version",
        "Cleaning up orphan processes",
    ];
    let at = stamp(job.started.unwrap_or(job.created));
    let lines = begin
        .iter()
        .map(String::as_str)
        .chain(raw.lines())
        .chain(end)
        .chain(after);
    Some(lines.fold("\u{feff}".to_owned(), |mut text, line| {
        text.extend([at.as_str(), " ", line, "\n"]);
        text
    }))
}

fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6f0Z").to_string()
}
