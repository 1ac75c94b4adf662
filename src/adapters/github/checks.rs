//! Check runs and commit statuses of one commit, in one list. What can not be seen is said in `incomplete`.

use super::{GitHub, GitHubError, GitHubErrorKind, PAGES, paging::list, wire};
use crate::model::{
    RepoName, Sha,
    checks::{Check, CheckState, Checks},
};

/// The app behind the check runs of GitHub Actions on github.com.
const ACTIONS_APP: u64 = 15368;

impl GitHub {
    pub async fn checks(&self, repo: &RepoName, head: &Sha) -> Result<Checks, GitHubError> {
        let (mut checks, mut incomplete) = match self.check_runs(repo, head).await {
            Ok((checks, more)) => (
                checks,
                more.then(|| "there are more check runs than tick reads".to_owned()),
            ),
            Err(e) if e.kind == GitHubErrorKind::Permission => {
                let why = "this token may not read check runs; only the jobs of GitHub Actions were seen";
                (self.jobs_as_checks(repo, head).await?, Some(why.to_owned()))
            }
            Err(e) => return Err(e),
        };
        let url = self.repo_url(repo, &["commits", head.as_str(), "status"], &[("per_page", "100")]);
        // `state` of the whole answer is ignored: it is "pending" where there are no statuses at all.
        let statuses = list::<wire::Status>(&self.edge, url, Some("statuses"), PAGES).await?;
        if statuses.more {
            incomplete = Some("there are more commit statuses than tick reads".to_owned());
        }
        checks.extend(statuses.items.into_iter().map(|s| Check {
            state: status_state(&s.state),
            name: s.context,
            app_id: None,
            started_at: s.created_at,
            url: s.target_url,
        }));
        Ok(Checks {
            head: head.clone(),
            checks,
            incomplete,
        })
    }

    async fn check_runs(&self, repo: &RepoName, head: &Sha) -> Result<(Vec<Check>, bool), GitHubError> {
        let query = [("filter", "latest"), ("per_page", "100")];
        let url = self.repo_url(repo, &["commits", head.as_str(), "check-runs"], &query);
        let listed = list::<wire::CheckRun>(&self.edge, url, Some("check_runs"), PAGES).await?;
        for run in &listed.items {
            if run
                .head_sha
                .as_deref()
                .is_some_and(|s| !s.eq_ignore_ascii_case(head.as_str()))
            {
                return Err(GitHubError::shape("read check runs", "a check run of another commit"));
            }
        }
        let checks = listed.items.into_iter().map(|run| Check {
            state: run_state(&run.status, run.conclusion.as_deref()),
            app_id: run.app.and_then(|a| a.id),
            started_at: run.started_at,
            url: run.html_url,
            name: run.name,
        });
        Ok((checks.collect(), listed.more))
    }

    /// Job names and ids of Actions are those of their check runs.
    async fn jobs_as_checks(&self, repo: &RepoName, head: &Sha) -> Result<Vec<Check>, GitHubError> {
        let query = [("head_sha", head.as_str()), ("per_page", "100")];
        let url = self.repo_url(repo, &["actions", "runs"], &query);
        let attempt = "read the workflow runs of the head";
        let runs: Vec<wire::Run> = list(&self.edge, url, Some("workflow_runs"), PAGES)
            .await?
            .whole(attempt)?;
        let mut checks = Vec::new();
        for run in runs.iter().filter(|r| r.head_sha.eq_ignore_ascii_case(head.as_str())) {
            let jobs = self.raw_jobs(repo, run.id).await?;
            checks.extend(jobs.into_iter().map(|job| Check {
                state: run_state(&job.status, job.conclusion.as_deref()),
                name: job.name,
                app_id: Some(ACTIONS_APP),
                started_at: job.started_at,
                url: job.html_url,
            }));
        }
        Ok(checks)
    }

    async fn raw_jobs(&self, repo: &RepoName, run: u64) -> Result<Vec<wire::Job>, GitHubError> {
        let query = [("filter", "latest"), ("per_page", "100")];
        let url = self.repo_url(repo, &["actions", "runs", &run.to_string(), "jobs"], &query);
        list(&self.edge, url, Some("jobs"), PAGES)
            .await?
            .whole("read the jobs of a run")
    }
}

/// A conclusion counts only on a completed run; a word this program does not know is `Unknown`.
pub(super) fn run_state(status: &str, conclusion: Option<&str>) -> CheckState {
    match (status, conclusion) {
        ("queued" | "requested" | "waiting" | "pending", _) => CheckState::Queued,
        ("in_progress", _) => CheckState::InProgress,
        ("completed", Some("success")) => CheckState::Success,
        ("completed", Some("failure")) => CheckState::Failure,
        ("completed", Some("neutral")) => CheckState::Neutral,
        ("completed", Some("cancelled")) => CheckState::Cancelled,
        ("completed", Some("skipped")) => CheckState::Skipped,
        ("completed", Some("timed_out")) => CheckState::TimedOut,
        ("completed", Some("action_required")) => CheckState::ActionRequired,
        ("completed", Some("stale")) => CheckState::Stale,
        ("completed", Some("startup_failure")) => CheckState::StartupFailure,
        _ => CheckState::Unknown,
    }
}

fn status_state(state: &str) -> CheckState {
    match state {
        "success" => CheckState::Success,
        "failure" | "error" => CheckState::Failure,
        "pending" => CheckState::InProgress,
        _ => CheckState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_counts_only_when_completed() {
        assert_eq!(run_state("completed", Some("success")), CheckState::Success);
        assert_eq!(run_state("in_progress", Some("success")), CheckState::InProgress);
        assert_eq!(run_state("completed", None), CheckState::Unknown);
        assert_eq!(run_state("completed", Some("splendid")), CheckState::Unknown);
        assert_eq!(run_state("paused", Some("success")), CheckState::Unknown);
        assert_eq!(status_state("error"), CheckState::Failure);
        assert_eq!(status_state("expected"), CheckState::Unknown);
    }
}
