//! Workflow runs and jobs as the forge lists them: only the fields that are needed; everything else may come and go.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::super::context::Blind;
use crate::text::ci;

pub(super) fn parse<T: for<'de> Deserialize<'de>>(body: &[u8], what: &str) -> Result<T, Blind> {
    serde_json::from_slice(body).map_err(|error| Blind::new("shape", format!("the list of {what}: {error}")))
}

#[derive(Debug, Deserialize)]
pub(super) struct RunList {
    #[serde(default)]
    pub(super) total_count: Option<usize>,
    pub(super) workflow_runs: Vec<Run>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Run {
    pub(super) id: u64,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    path: Option<String>,
    pub(super) workflow_id: u64,
    #[serde(default)]
    pub(super) event: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    pub(super) conclusion: Option<String>,
    pub(super) head_sha: String,
    #[serde(default)]
    pub(super) html_url: Option<String>,
    pub(super) created_at: DateTime<Utc>,
    #[serde(default, rename = "run_started_at")]
    started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    updated_at: Option<DateTime<Utc>>,
    #[serde(default, rename = "run_attempt")]
    attempt: Option<u64>,
}

impl Run {
    pub(super) fn is_failing(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_failing)
    }

    pub(super) fn is_green(&self) -> bool {
        self.conclusion.as_deref() == Some("success")
    }

    pub(super) fn attempt(&self) -> u64 {
        self.attempt.unwrap_or(1).max(1)
    }

    pub(super) fn started(&self) -> DateTime<Utc> {
        self.started_at.unwrap_or(self.created_at)
    }

    pub(super) fn finished(&self) -> DateTime<Utc> {
        self.updated_at.unwrap_or(self.created_at)
    }

    /// A run that says something about the branch: finished, and neither called off nor of a pull request.
    pub(super) fn decides(&self) -> bool {
        let foreign = matches!(
            self.event.as_str(),
            "pull_request" | "pull_request_target" | "merge_group"
        );
        let void = matches!(
            self.conclusion.as_deref(),
            None | Some("cancelled" | "skipped" | "stale" | "action_required")
        );
        self.status.as_deref() == Some("completed") && !foreign && !void
    }

    pub(super) fn workflow(&self) -> String {
        let named = self.name.as_deref().filter(|name| !name.is_empty());
        let file = self.path.as_deref().and_then(|path| path.rsplit('/').next());
        named
            .or(file)
            .map_or_else(|| self.workflow_id.to_string(), str::to_owned)
    }
}

pub(super) fn is_failing(conclusion: &str) -> bool {
    matches!(conclusion, "failure" | "timed_out" | "startup_failure")
}

/// The newest run of each workflow that decides whether the branch is red.
pub(super) fn deciding(runs: &[Run]) -> Vec<&Run> {
    let mut newest: BTreeMap<u64, &Run> = BTreeMap::new();
    let age = |run: &Run| (run.started(), run.id);
    for run in runs.iter().filter(|run| run.decides()) {
        match newest.get(&run.workflow_id) {
            Some(known) if age(known) >= age(run) => {}
            _ => drop(newest.insert(run.workflow_id, run)),
        }
    }
    newest.into_values().collect()
}

#[derive(Debug, Deserialize)]
pub(super) struct JobList {
    pub(super) jobs: Vec<Job>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) name: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    pub(super) html_url: Option<String>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
struct Step {
    name: String,
    #[serde(default)]
    conclusion: Option<String>,
}

impl Job {
    pub(super) fn is_failing(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_failing)
    }

    pub(super) fn is_running(&self) -> bool {
        self.status.as_deref().is_some_and(|status| status != "completed")
    }

    pub(super) fn failing_step(&self) -> Option<&str> {
        let failing = |step: &&Step| step.conclusion.as_deref().is_some_and(is_failing);
        self.steps.iter().find(failing).map(|step| step.name.as_str())
    }
}

/// What a failed job's log says, cleaned and redacted; kept, since such a log never changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) failures: Vec<ci::Failure>,
    /// Failures beyond those that are kept.
    pub(super) more: usize,
    /// The part around the first error, for a job of whose failures no reader knows anything.
    pub(super) excerpt: String,
}
