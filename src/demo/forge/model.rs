//! What the forge knows: plain data under one mutex. Handlers read and change it; nothing here talks to anybody.

use std::{collections::BTreeMap, path::PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

/// A runner is never there at once; times are shown in whole seconds, so a job that began in the second of the push
/// would look older than the push.
pub const RUNNER_START: TimeDelta = TimeDelta::seconds(2);

#[derive(Debug, Clone, Serialize)]
pub struct Model {
    pub settings: Settings,
    pub pulls: Vec<Pull>,
    pub issues: Vec<Issue>,
    pub comments: Vec<Comment>,
    pub labelled: Vec<Labelled>,
    pub jobs: Vec<Job>,
    pub statuses: Vec<Status>,
    last_id: u64,
    last_number: u64,
}

/// What an owner sets in the forge.
#[derive(Debug, Clone, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch on the forge's settings page"
)]
pub struct Settings {
    pub private: bool,
    pub archived: bool,
    pub issues: bool,
    pub drafts: bool,
    pub squash: bool,
    /// Names of the checks that a merge needs; CI runs one job for each.
    pub required_checks: Vec<String>,
    pub required_approvals: u32,
    pub code_owner_review: bool,
    pub conversation_resolution: bool,
    /// A push starts CI, and CI keeps the reports of its jobs.
    pub ci_starts: bool,
    pub keeps_reports: bool,
    /// How failed jobs end that are run again.
    pub reruns_green: bool,
    /// Further active rules, as `/rules/branches` shows them.
    pub more_rules: Vec<serde_json::Value>,
    /// Login and permission (`admin`, `write`, `read`); anybody else has `read`, or `none` where it is private.
    pub people: BTreeMap<String, String>,
    /// Login of whoever holds the token.
    pub bot: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Pull {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub head: String,
    pub head_sha: String,
    /// Where the head was before its last move.
    pub head_before: String,
    pub base: String,
    /// Head of the base when it was opened.
    pub base_sha: String,
    pub draft: bool,
    pub open: bool,
    pub closed_by: Option<String>,
    pub merged_at: Option<DateTime<Utc>>,
    pub merge_sha: Option<String>,
    pub labels: Vec<String>,
    pub reviewers: Vec<String>,
    pub reviews: Vec<Review>,
    /// Review threads that nobody resolved.
    pub open_threads: u32,
    pub created: DateTime<Utc>,
    pub updated: DateTime<Utc>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Review {
    pub id: u64,
    pub author: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`.
    pub state: String,
    pub body: String,
    pub commit: String,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub author: String,
    pub labels: Vec<String>,
    pub open: bool,
    pub created: DateTime<Utc>,
}

/// Who set a label, and when.
#[derive(Debug, Clone, Serialize)]
pub struct Labelled {
    pub id: u64,
    pub number: u64,
    pub label: String,
    pub by: String,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Comment {
    pub id: u64,
    pub number: u64,
    pub author: String,
    pub body: String,
    pub created: DateTime<Utc>,
    pub updated: DateTime<Utc>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Status {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub at: DateTime<Utc>,
}

/// One CI job, which is also one check run.
#[derive(Debug, Clone, Serialize)]
pub struct Job {
    pub id: u64,
    /// Jobs of one push share a run.
    pub run: u64,
    pub workflow: String,
    /// Which try of the run, from 1.
    pub attempt: u64,
    pub name: String,
    /// What its step runs, where that is not the name.
    pub command: Option<String>,
    pub sha: String,
    pub branch: String,
    pub stage: Stage,
    /// How it ended; shown only from `Completed` on.
    pub conclusion: Option<String>,
    pub log: Option<PathBuf>,
    /// The report that it kept as an artifact, under the job's own id.
    #[serde(skip)]
    pub kept: Option<Vec<u8>>,
    /// Its log alone is gone; the archive of the attempt is still kept.
    pub archived: bool,
    /// Each stage stays until one read has shown it.
    pub held: bool,
    pub shown: bool,
    pub created: DateTime<Utc>,
    pub started: Option<DateTime<Utc>>,
    pub completed: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Queued,
    InProgress,
    Completed,
}

impl Stage {
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl Job {
    /// One that has just been made; nobody has to look at its stages.
    pub fn queued(id: u64, run: u64, name: &str, sha: &str, branch: &str, created: DateTime<Utc>) -> Self {
        Self {
            id,
            run,
            workflow: "CI".to_owned(),
            attempt: 1,
            name: name.to_owned(),
            command: None,
            sha: sha.to_owned(),
            branch: branch.to_owned(),
            stage: Stage::Queued,
            conclusion: None,
            log: None,
            kept: None,
            archived: false,
            held: false,
            shown: false,
            created,
            started: None,
            completed: None,
        }
    }

    pub fn command(&self) -> &str {
        self.command.as_deref().unwrap_or(&self.name)
    }

    pub fn is_of(&self, run: u64, attempt: u64) -> bool {
        (self.run, self.attempt) == (run, attempt)
    }

    /// One stage further, when the present one was shown (or nobody holds it) and the next has begun.
    pub fn step(&mut self, now: DateTime<Utc>) {
        if self.held && !self.shown {
            return;
        }
        match self.stage {
            Stage::Queued => {
                self.stage = Stage::InProgress;
                self.started = Some(now.max(self.created + RUNNER_START));
                self.shown = false;
                if !self.held {
                    self.step(now);
                }
            }
            Stage::InProgress if self.conclusion.is_some() => {
                self.stage = Stage::Completed;
                self.completed = Some(self.started.map_or(now, |started| now.max(started)));
                self.shown = false;
            }
            Stage::InProgress | Stage::Completed => {}
        }
    }

    pub fn is_green(&self) -> bool {
        self.stage == Stage::Completed && self.conclusion.as_deref() == Some("success")
    }
}

impl Pull {
    pub fn node_id(&self) -> String {
        format!("PR_{}", self.number)
    }

    /// Newest review of each person that is not a plain comment.
    pub fn standing_reviews(&self) -> BTreeMap<&str, &Review> {
        self.reviews
            .iter()
            .filter(|r| r.state != "COMMENTED")
            .map(|r| (r.author.as_str(), r))
            .collect()
    }
}

impl Model {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            pulls: Vec::new(),
            issues: Vec::new(),
            comments: Vec::new(),
            labelled: Vec::new(),
            jobs: Vec::new(),
            statuses: Vec::new(),
            last_id: 1000,
            last_number: 0,
        }
    }

    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Issues and pulls share their numbers.
    pub fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub fn pull(&mut self, number: u64) -> Option<&mut Pull> {
        self.pulls.iter_mut().find(|p| p.number == number)
    }

    /// Sets a label on a pull or an issue; false when there is no such number.
    pub fn label(&mut self, number: u64, label: &str, by: &str, at: DateTime<Utc>) -> bool {
        let Some(labels) = self.labels(number) else {
            return false;
        };
        if !labels.iter().any(|l| l == label) {
            labels.push(label.to_owned());
            let id = self.next_id();
            let (label, by) = (label.to_owned(), by.to_owned());
            self.labelled.push(Labelled {
                id,
                number,
                label,
                by,
                at,
            });
        }
        true
    }

    pub fn labels(&mut self, number: u64) -> Option<&mut Vec<String>> {
        let of_pulls = self.pulls.iter_mut().map(|p| (p.number, &mut p.labels));
        let of_issues = self.issues.iter_mut().map(|i| (i.number, &mut i.labels));
        of_pulls
            .chain(of_issues)
            .find(|(n, _)| *n == number)
            .map(|(_, labels)| labels)
    }

    pub fn newest_open(&self) -> Option<&Pull> {
        self.pulls.iter().rev().find(|p| p.open)
    }

    /// What `login` may do: `admin`, `write`, `read` or `none`.
    pub fn permission(&self, login: &str) -> &str {
        match self.settings.people.get(login) {
            Some(level) => level,
            None if login == self.settings.bot => "write",
            None if self.settings.private => "none",
            None => "read",
        }
    }

    /// The newest job of each name at one commit.
    pub fn newest_jobs(&self, sha: &str) -> Vec<&Job> {
        let newest: BTreeMap<&str, &Job> = self
            .jobs
            .iter()
            .filter(|j| j.sha == sha)
            .map(|j| (j.name.as_str(), j))
            .collect();
        newest.into_values().collect()
    }

    /// Number of the last attempt of a run.
    pub fn attempts(&self, run: u64) -> u64 {
        let jobs = self.jobs.iter().filter(|j| j.run == run);
        jobs.map(|j| j.attempt).max().unwrap_or(1)
    }

    /// Moves every job of these commits on by one stage and notes that it is now shown.
    pub fn show_jobs(&mut self, now: DateTime<Utc>, wanted: impl Fn(&Job) -> bool) {
        for job in self.jobs.iter_mut().filter(|j| wanted(j)) {
            job.step(now);
            job.shown = true;
        }
    }
}
