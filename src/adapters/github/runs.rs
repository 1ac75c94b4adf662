//! One run of a workflow: how it stands, and its failed jobs once more.

use http::{Method, StatusCode};
use serde_json::json;

use super::{GitHub, GitHubError, GitHubErrorKind, checks::run_state, wire};
use crate::model::{RepoName, checks::RunSeen};

/// What became of asking for a run's failed jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerunOutcome {
    Begun,
    /// The forge does not run these again: too old, running already, or nothing failed.
    Refused(String),
}

impl GitHub {
    pub async fn run(&self, repo: &RepoName, id: u64) -> Result<RunSeen, GitHubError> {
        let url = self.repo_url(repo, &["actions", "runs", &id.to_string()], &[]);
        let run: wire::Run = self.edge.get(&url).await?.json(&self.edge)?;
        let status = run.status.as_deref().unwrap_or_default();
        Ok(RunSeen {
            attempt: run.attempt.unwrap_or(1),
            state: run_state(status, run.conclusion.as_deref()),
        })
    }

    pub async fn rerun_failed(&self, repo: &RepoName, id: u64) -> Result<RerunOutcome, GitHubError> {
        let id = id.to_string();
        let url = self.repo_url(repo, &["actions", "runs", &id, "rerun-failed-jobs"], &[]);
        let reply = self.edge.write(Method::POST, &url, &json!({})).await?;
        if reply.status.is_success() {
            return Ok(RerunOutcome::Begun);
        }
        let error = reply.error(&self.edge);
        let no = matches!(
            reply.status,
            StatusCode::FORBIDDEN | StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY
        );
        if no && !matches!(error.kind, GitHubErrorKind::RateLimited { .. }) {
            return Ok(RerunOutcome::Refused(error.to_string()));
        }
        Err(error)
    }
}
