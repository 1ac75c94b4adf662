//! Runs of CI that the story says have been: any workflow, attempt after attempt, with what their jobs printed.

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};

use super::model::{Job, Model, Stage};
use crate::demo::town::Town;

/// From the start of one attempt to the start of the next, and how long each job takes.
const APART: TimeDelta = TimeDelta::minutes(10);
const TAKES: TimeDelta = TimeDelta::minutes(4);

#[derive(Debug, Clone)]
pub struct CiRun {
    pub workflow: String,
    /// A commit on the default branch.
    pub sha: String,
    /// First to last; the last one ended just now.
    pub attempts: Vec<Vec<JobRun>>,
}

/// What became of a job.
#[derive(Debug, Clone)]
pub struct JobRun {
    pub name: String,
    /// The command of the step that decides.
    pub command: String,
    pub green: bool,
    /// What the command printed.
    pub output: String,
    /// The log of the job alone is not there any more; the archive of the attempt is.
    pub archived: bool,
}

impl JobRun {
    pub fn new(name: &str, command: &str, green: bool, output: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: command.to_owned(),
            green,
            output: output.to_owned(),
            archived: false,
        }
    }
}

/// Enters a run; gives its number.
pub(in crate::demo) fn enter(town: &Town, run: &CiRun) -> Result<u64> {
    let now = town.clock.now();
    let mut model = town.forge.model();
    let id = model.next_id();
    for (at, jobs) in run.attempts.iter().enumerate() {
        let left = i32::try_from(run.attempts.len() - at)?;
        let attempt = Attempt {
            run: id,
            number: at as u64 + 1,
            workflow: &run.workflow,
            sha: &run.sha,
            begun: now - APART * left,
        };
        attempt.enter(town, &mut model, jobs)?;
    }
    Ok(id)
}

/// One more attempt of a run that is there; it ended just now.
pub(in crate::demo) fn again(town: &Town, run: u64, jobs: &[JobRun]) -> Result<()> {
    let mut model = town.forge.model();
    let first = model.jobs.iter().find(|job| job.run == run);
    let first = first.context("the run is there")?.clone();
    let attempt = Attempt {
        run,
        number: model.attempts(run) + 1,
        workflow: &first.workflow,
        sha: &first.sha,
        begun: town.clock.now() - TAKES,
    };
    attempt.enter(town, &mut model, jobs)
}

struct Attempt<'a> {
    run: u64,
    number: u64,
    workflow: &'a str,
    sha: &'a str,
    begun: DateTime<Utc>,
}

impl Attempt<'_> {
    fn enter(&self, town: &Town, model: &mut Model, jobs: &[JobRun]) -> Result<()> {
        for one in jobs {
            let id = model.next_id();
            let log = town.root.join("ci").join(format!("{id}.log"));
            std::fs::write(&log, &one.output).with_context(|| format!("write the log of {}", one.name))?;
            model.jobs.push(Job {
                workflow: self.workflow.to_owned(),
                attempt: self.number,
                command: Some(one.command.clone()),
                archived: one.archived,
                stage: Stage::Completed,
                conclusion: Some(if one.green { "success" } else { "failure" }.to_owned()),
                log: Some(log),
                shown: true,
                started: Some(self.begun),
                completed: Some(self.begun + TAKES),
                ..Job::queued(id, self.run, &one.name, self.sha, &town.forge.branch, self.begun)
            });
        }
        Ok(())
    }
}
