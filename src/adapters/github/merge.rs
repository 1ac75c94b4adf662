//! The merge call. It always names the head it means, so that the host refuses when the branch moved; and it is sent
//! once, so an answer that got lost is `Unknown` and the pull request is read again.

use http::{Method, StatusCode};
use serde_json::json;

use super::{GitHub, GitHubError, GitHubErrorKind, error::message_of, wire};
use crate::model::{PullNumber, RepoName, Sha};

/// Texts are the host's words, one line, cleaned and redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The commit on the base.
    Merged(Sha),
    HeadMoved,
    BaseMoved,
    /// By somebody else, or by a call of ours whose answer was lost.
    AlreadyMerged,
    /// A rule of the repository is not met (review, check, queue, conflict).
    Blocked(String),
    /// The repository can not take this kind of merge: a person changes the settings.
    Config(String),
    Forbidden(String),
    /// It may have happened.
    Unknown(String),
}

impl GitHub {
    pub async fn merge(
        &self,
        repo: &RepoName,
        number: PullNumber,
        head: &Sha,
        title: &str,
        message: &str,
    ) -> Result<MergeOutcome, GitHubError> {
        let url = self.repo_url(repo, &["pulls", &number.0.to_string(), "merge"], &[]);
        let body = json!({
            "merge_method": "squash", "sha": head.as_str(), "commit_title": title, "commit_message": message,
        });
        let reply = match self.edge.write(Method::PUT, &url, &body).await {
            Ok(reply) => reply,
            Err(e) if e.outcome_unknown() => return Ok(MergeOutcome::Unknown(e.to_string())),
            Err(e) => return Err(e),
        };
        let said = message_of(&reply.body);
        match (reply.status.as_u16(), refusal(reply.status, &said)) {
            (200, _) => Ok(merged(reply.json(&self.edge))),
            (_, Refusal::HeadMoved) => Ok(MergeOutcome::HeadMoved),
            (_, Refusal::BaseMoved) => Ok(MergeOutcome::BaseMoved),
            (_, Refusal::Config) => Ok(MergeOutcome::Config(self.edge.quoted(&said))),
            (_, Refusal::ReadAgain) => self.why_refused(repo, number, head, &said).await,
            (_, Refusal::Other) => {
                let error = reply.error(&self.edge);
                match error.kind {
                    GitHubErrorKind::Permission => Ok(MergeOutcome::Forbidden(error.what)),
                    GitHubErrorKind::Server(_) => Ok(MergeOutcome::Unknown(error.to_string())),
                    _ => Err(error),
                }
            }
        }
    }

    /// The same words stand for closed, merged, conflicting and moved: the pull request tells which it is.
    async fn why_refused(
        &self,
        repo: &RepoName,
        number: PullNumber,
        head: &Sha,
        said: &str,
    ) -> Result<MergeOutcome, GitHubError> {
        let url = self.repo_url(repo, &["pulls", &number.0.to_string()], &[]);
        let read = match self.edge.get(&url).await {
            Ok(reply) => reply.json::<wire::Pull>(&self.edge),
            Err(e) => Err(e),
        };
        Ok(match read {
            Ok(pull) if pull.is_merged() => MergeOutcome::AlreadyMerged,
            Ok(pull) if !pull.head.sha.eq_ignore_ascii_case(head.as_str()) => MergeOutcome::HeadMoved,
            Ok(_) => MergeOutcome::Blocked(self.edge.quoted(said)),
            Err(e) => MergeOutcome::Unknown(e.to_string()),
        })
    }
}

fn merged(answer: Result<wire::Merged, GitHubError>) -> MergeOutcome {
    match answer {
        Ok(wire::Merged {
            sha: Some(text),
            merged: true,
        }) => match Sha::parse(&text) {
            Ok(sha) => MergeOutcome::Merged(sha),
            Err(e) => MergeOutcome::Unknown(format!("the host says merged, but names no commit: {e}")),
        },
        Ok(_) => MergeOutcome::Unknown("the host answered 200 without saying merged".to_owned()),
        Err(e) => MergeOutcome::Unknown(e.to_string()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    HeadMoved,
    BaseMoved,
    Config,
    ReadAgain,
    Other,
}

fn refusal(status: StatusCode, said: &str) -> Refusal {
    let low = said.to_ascii_lowercase();
    match status.as_u16() {
        405 if low.contains("base branch was modified") => Refusal::BaseMoved,
        405 if low.contains("merges are not allowed") || low.contains("merging is not allowed") => Refusal::Config,
        // 409 is not always a moved head ("merge already in progress"), hence the second look.
        409 if low.contains("head branch was modified") => Refusal::HeadMoved,
        409 if low.contains("base branch was modified") => Refusal::BaseMoved,
        405 | 409 => Refusal::ReadAgain,
        301 | 307 | 308 | 400 | 422 => Refusal::Config,
        _ => Refusal::Other,
    }
}
