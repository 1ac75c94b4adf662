//! CI: one worker thread that runs each job's commands for real in a checkout of the pushed commit. What a reader of
//! the forge sees of it, and when, is decided by the job's stages.

use std::{path::PathBuf, sync::mpsc::Receiver, time::Duration};

use anyhow::{Context, Result};

use super::{forge::Job, town::Town};

/// What CI runs for one required check.
#[derive(Debug, Clone)]
pub struct CiJob {
    pub name: String,
    /// Commands in order; the first that fails ends the job.
    pub commands: Vec<Vec<String>>,
    /// File below the checkout that is kept as an artifact, however the job ends.
    pub report: Option<String>,
}

/// How CI behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Runs for real; queued, in progress and completed each stay until one read has shown them.
    Held,
    /// Runs for real; a reader sees whatever is true at the moment.
    Free,
    /// Runs nothing and is green at once: for stories about something else.
    Assumed,
}

#[derive(Debug)]
pub struct Task {
    pub job: u64,
    pub sha: String,
    pub name: String,
}

/// Works until the world ends the queue.
pub fn work(town: &Town, queue: &Receiver<Task>) {
    while let Ok(task) = queue.recv() {
        if town.children.is_closing() {
            return;
        }
        let log = town.root.join("ci").join(format!("{}.log", task.job));
        let (green, kept) = run(town, &task, &log).unwrap_or_else(|error| {
            town.log
                .error(town.clock.now(), "ci", format!("job {}: {error:#}", task.name));
            (false, None)
        });
        let now = town.clock.now();
        let verdict = if green { "success" } else { "failure" };
        town.log
            .add(now, "ci", format!("{} at {}: {verdict}", task.name, &task.sha[..7]));
        let mut model = town.forge.model();
        let keeps = model.settings.keeps_reports;
        if let Some(job) = model.jobs.iter_mut().find(|j| j.id == task.job) {
            job.conclusion = Some(verdict.to_owned());
            job.log = Some(log);
            job.kept = kept.filter(|_| keeps);
            if !job.held {
                job.step(now);
            }
        }
        drop(model);
        town.ci_job_ended();
    }
}

/// Whether it was green, and the report that it wrote.
fn run(town: &Town, task: &Task, log: &PathBuf) -> Result<(bool, Option<Vec<u8>>)> {
    let job = town
        .options
        .ci
        .iter()
        .find(|j| j.name == task.name)
        .context("the check has a job")?;
    let dir = town.root.join("ci").join(task.job.to_string());
    town.forge.repo.checkout(&task.sha, &dir)?;
    let mut green = true;
    let mut output = Vec::new();
    for argv in &job.commands {
        let (program, args) = argv.split_first().context("a command has a program")?;
        let mut command = town.children.command(program, &dir);
        command.args(args).env("CI", "true");
        green = town.children.logged(command, log, Duration::from_mins(5))?;
        output.extend(std::fs::read(log)?);
        if !green {
            break;
        }
    }
    std::fs::write(log, output)?;
    let kept = job
        .report
        .as_ref()
        .and_then(|report| std::fs::read(dir.join(report)).ok());
    std::fs::remove_dir_all(&dir)?;
    Ok((green, kept))
}

/// Jobs that a push of `sha` queues.
pub fn queue(town: &Town, model: &mut super::forge::Model, branch: &str, sha: &str, first: bool) {
    if !model.settings.ci_starts {
        return;
    }
    let now = town.clock.now();
    let run = model.next_id();
    let assumed = town.options.pace == Pace::Assumed || first;
    for ci in &town.options.ci {
        let mut job = Job {
            conclusion: assumed.then(|| "success".to_owned()),
            held: town.options.pace == Pace::Held && !first,
            ..Job::queued(model.next_id(), run, &ci.name, sha, branch, now)
        };
        if assumed {
            job.step(now);
        } else {
            if !job.held {
                job.step(now);
            }
            town.queue_ci(Task {
                job: job.id,
                sha: sha.to_owned(),
                name: ci.name.clone(),
            });
        }
        model.jobs.push(job);
    }
}
