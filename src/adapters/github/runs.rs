//! Failed workflow runs of a branch, their jobs, and the end of a job's log.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{GitHub, GitHubError, GitHubErrorKind, checks::run_state, paging::list, sha, wire};
use crate::model::{RepoName, Sha, checks::CheckState};

/// A log that is longer than this is not read to its end.
const LOG_MOST: usize = 64 * 1024 * 1024;

/// The newest completed run of a workflow on the branch, where that one failed. Texts are cleaned and redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    pub id: u64,
    pub name: String,
    pub path: String,
    pub workflow_id: u64,
    pub number: u64,
    pub attempt: u64,
    pub event: String,
    pub state: CheckState,
    pub head_sha: Sha,
    pub started_at: Option<DateTime<Utc>>,
    pub updated_at: Option<DateTime<Utc>>,
    pub url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: u64,
    pub name: String,
    pub state: CheckState,
    pub started_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
    pub url: String,
    /// The first step that failed.
    pub failed_step: Option<JobStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStep {
    pub number: u64,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobLog {
    /// The last part of it, cleaned and redacted.
    Tail { text: String, cut: bool },
    /// Deleted by age or by hand; will not come back.
    Expired,
    /// The job has not ended.
    NotYet,
}

impl GitHub {
    /// Workflows that are red on this branch now: a later success heals an earlier failure.
    pub async fn failed_runs(&self, repo: &RepoName, branch: &str) -> Result<Vec<FailedRun>, GitHubError> {
        let query = [
            ("branch", branch),
            ("exclude_pull_requests", "true"),
            ("per_page", "100"),
        ];
        let url = self.repo_url(repo, &["actions", "runs"], &query);
        let listed = list::<wire::Run>(&self.edge, url, Some("workflow_runs"), 1).await?;
        red_runs(listed.items, repo, branch)
            .into_iter()
            .map(|(run, state)| {
                Ok(FailedRun {
                    id: run.id,
                    name: self.edge.line(run.name.as_deref().unwrap_or("(unnamed workflow)")),
                    path: self.edge.line(run.path.as_deref().unwrap_or_default()),
                    workflow_id: run.workflow_id,
                    number: run.run_number,
                    attempt: run.run_attempt.max(1),
                    event: self.edge.line(&run.event),
                    state,
                    head_sha: sha("read workflow runs", &run.head_sha)?,
                    started_at: run.run_started_at.or(run.created_at),
                    updated_at: run.updated_at,
                    url: self.edge.line(&run.html_url),
                })
            })
            .collect()
    }

    pub async fn jobs(&self, repo: &RepoName, run: u64) -> Result<Vec<Job>, GitHubError> {
        let raw = self.raw_jobs(repo, run).await?;
        let failed = |s: &&wire::Step| matches!(s.conclusion.as_deref(), Some("failure" | "timed_out"));
        let jobs = raw.into_iter().map(|job| Job {
            id: job.id,
            state: run_state(&job.status, job.conclusion.as_deref()),
            failed_step: job.steps.iter().find(failed).map(|s| JobStep {
                number: s.number,
                name: self.edge.line(&s.name),
            }),
            name: self.edge.line(&job.name),
            started_at: job.started_at,
            completed_at: job.completed_at,
            url: self.edge.line(job.html_url.as_deref().unwrap_or_default()),
        });
        Ok(jobs.collect())
    }

    /// The last `keep` bytes of a job's log. The log lies on a storage host, which never sees the token.
    pub async fn job_log(&self, repo: &RepoName, job: u64, keep: usize) -> Result<JobLog, GitHubError> {
        let url = self.repo_url(repo, &["actions", "jobs", &job.to_string(), "logs"], &[]);
        let reply = match self.edge.get(&url).await {
            Err(e) => return Err(e),
            Ok(reply) => reply,
        };
        let (bytes, cut) = match (reply.status.as_u16(), reply.location(&url)) {
            (200, _) => {
                let start = reply.body.len().saturating_sub(keep);
                (reply.body[start..].to_vec(), start > 0)
            }
            (404, _) => return Ok(JobLog::NotYet),
            (410, _) => return Ok(JobLog::Expired),
            (_, Some(storage)) => {
                self.refuse_strange_storage(&reply.attempt, &storage)?;
                let tail = self.edge.tail(&storage, keep, LOG_MOST).await?;
                match tail.status.as_u16() {
                    200..=299 => (tail.bytes, tail.cut),
                    404 | 410 => return Ok(JobLog::Expired),
                    code => {
                        let what = format!("the storage host answered {code}");
                        return Err(GitHubError::new(GitHubErrorKind::Refused(code), &reply.attempt, what));
                    }
                }
            }
            (_, None) => return Err(reply.error(&self.edge)),
        };
        Ok(JobLog::Tail {
            text: self.edge.text(&whole_lines(&bytes, cut)),
            cut,
        })
    }

    /// The address comes from an answer: only https, or the API's own host.
    fn refuse_strange_storage(&self, attempt: &str, storage: &url::Url) -> Result<(), GitHubError> {
        let own = storage.host() == self.edge.api().host() && storage.scheme() == self.edge.api().scheme();
        let named = matches!(storage.host(), Some(url::Host::Domain(d)) if d.contains('.'));
        if own || (storage.scheme() == "https" && named) {
            Ok(())
        } else {
            Err(GitHubError::shape(
                attempt,
                "the log is said to lie at an address that tick does not follow",
            ))
        }
    }
}

/// Text without a byte order mark; when the start was cut off, from the first whole line on.
fn whole_lines(bytes: &[u8], cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.split_once('\n') {
        Some((_, rest)) if cut => rest.to_owned(),
        _ => text.to_owned(),
    }
}

/// The newest judged run of each workflow on this very branch, where it is red. Runs of forks and of pull requests
/// carry branch names of their own and do not speak for this one.
fn red_runs(runs: Vec<wire::Run>, repo: &RepoName, branch: &str) -> Vec<(wire::Run, CheckState)> {
    let full_name = repo.to_string();
    let mut newest: BTreeMap<u64, (wire::Run, CheckState)> = BTreeMap::new();
    for run in runs {
        let here = run.head_branch.as_deref() == Some(branch)
            && !run.event.starts_with("pull_request")
            && run
                .head_repository
                .as_ref()
                .is_none_or(|r| r.full_name.eq_ignore_ascii_case(&full_name));
        let state = run_state(run.status.as_deref().unwrap_or_default(), run.conclusion.as_deref());
        if !here || !speaks(state) {
            continue;
        }
        let at = |r: &wire::Run| (r.run_started_at.or(r.created_at), r.id);
        match newest.get(&run.workflow_id) {
            Some((known, _)) if at(known) >= at(&run) => {}
            _ => drop(newest.insert(run.workflow_id, (run, state))),
        }
    }
    newest.into_values().filter(|(_, state)| is_red(*state)).collect()
}

/// A run that says whether the branch is good. Cancelled and skipped ones do not.
fn speaks(state: CheckState) -> bool {
    is_red(state) || matches!(state, CheckState::Success | CheckState::Neutral)
}

fn is_red(state: CheckState) -> bool {
    matches!(
        state,
        CheckState::Failure | CheckState::TimedOut | CheckState::StartupFailure
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn red(runs: serde_json::Value) -> Vec<u64> {
        let runs = serde_json::from_value(runs).unwrap();
        let repo = RepoName::parse("acme/shop").unwrap();
        red_runs(runs, &repo, "main").into_iter().map(|(r, _)| r.id).collect()
    }

    fn run(id: u64, workflow: u64, conclusion: &str, at: &str) -> serde_json::Value {
        json!({"id": id, "workflow_id": workflow, "status": "completed", "conclusion": conclusion, "event": "push",
            "head_branch": "main", "head_sha": "0".repeat(40), "run_started_at": format!("2026-11-29T{at}:00Z"),
            "name": null, "head_repository": {"full_name": "Acme/Shop"}})
    }

    #[test]
    fn the_newest_judged_run_of_each_workflow_tells() {
        assert_eq!(
            red(json!([run(1, 7, "failure", "10:00"), run(2, 7, "success", "11:00")])),
            [0_u64; 0]
        );
        assert_eq!(
            red(json!([run(1, 7, "success", "10:00"), run(2, 7, "failure", "11:00")])),
            [2]
        );
        assert_eq!(
            red(json!([run(1, 7, "failure", "10:00"), run(2, 7, "cancelled", "11:00")])),
            [1]
        );
        assert_eq!(
            red(json!([
                run(1, 7, "startup_failure", "10:00"),
                run(2, 8, "success", "11:00")
            ])),
            [1]
        );
        let mut fork = run(3, 7, "failure", "12:00");
        fork["head_repository"]["full_name"] = json!("mallory/shop");
        let mut pull = run(4, 7, "failure", "12:00");
        pull["event"] = json!("pull_request");
        assert_eq!(red(json!([fork, pull])), [0_u64; 0]);
    }

    #[test]
    fn a_cut_log_starts_with_a_whole_line() {
        assert_eq!(whole_lines("\u{feff}a\nb".as_bytes(), false), "a\nb");
        assert_eq!(whole_lines(b"alf a line\nb", true), "b");
        assert_eq!(whole_lines(&[0xff, b'\n', b'b'], true), "b");
    }
}
