//! Writes to a pull request other than comments and the merge. Each is sent once.

use http::Method;
use serde_json::json;

use super::{GitHub, GitHubError, GitHubErrorKind, error::message_of, wire};
use crate::model::{PullNumber, RepoName, pull::Pull};

const READY: &str = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
    { pullRequest { isDraft } } }";

/// What is opened; `title` and `body` are our own words.
#[derive(Debug, Clone)]
pub struct NewPull<'a> {
    pub title: &'a str,
    pub body: &'a str,
    pub head: &'a str,
    pub base: &'a str,
    pub draft: bool,
}

/// Texts are the host's words, one line, cleaned and redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenPullOutcome {
    Opened(Box<Pull>),
    /// One is open for this head branch: find it by its head.
    AlreadyExists,
    /// The head branch holds nothing that the base does not.
    NoCommits,
    DraftsUnsupported,
    Refused(String),
    /// The answer is lost: look for it by its head before anything else.
    Unknown(String),
}

impl GitHub {
    pub async fn open_pull(&self, repo: &RepoName, new: &NewPull<'_>) -> Result<OpenPullOutcome, GitHubError> {
        let url = self.repo_url(repo, &["pulls"], &[]);
        let body = json!({
            "title": new.title, "head": new.head, "base": new.base, "body": new.body,
            "draft": new.draft, "maintainer_can_modify": false,
        });
        let reply = match self.edge.write(Method::POST, &url, &body).await {
            Ok(reply) => reply,
            Err(e) if e.outcome_unknown() => return Ok(OpenPullOutcome::Unknown(e.to_string())),
            Err(e) => return Err(e),
        };
        if reply.status.as_u16() == 422 {
            return Ok(self.why_not_opened(&message_of(&reply.body)));
        }
        let opened = reply
            .json::<wire::Pull>(&self.edge)
            .and_then(|raw| self.read_pull(&raw, &reply.attempt));
        match opened {
            Ok(pull) => Ok(OpenPullOutcome::Opened(Box::new(pull))),
            Err(e) if e.outcome_unknown() => Ok(OpenPullOutcome::Unknown(e.to_string())),
            Err(e) => Err(e),
        }
    }

    fn why_not_opened(&self, said: &str) -> OpenPullOutcome {
        let low = said.to_ascii_lowercase();
        if low.contains("pull request already exists") {
            OpenPullOutcome::AlreadyExists
        } else if low.contains("no commits between") {
            OpenPullOutcome::NoCommits
        } else if low.contains("draft pull requests are not supported") {
            OpenPullOutcome::DraftsUnsupported
        } else {
            OpenPullOutcome::Refused(self.edge.quoted(said))
        }
    }

    /// Sets the title, the body, or both; sending it twice changes nothing.
    pub async fn edit_pull(
        &self,
        repo: &RepoName,
        number: PullNumber,
        title: Option<&str>,
        body: Option<&str>,
    ) -> Result<(), GitHubError> {
        let mut fields = serde_json::Map::new();
        if let Some(title) = title {
            fields.insert("title".to_owned(), json!(title));
        }
        if let Some(body) = body {
            fields.insert("body".to_owned(), json!(body));
        }
        self.patch_pull(repo, number, fields.into()).await
    }

    pub async fn close_pull(&self, repo: &RepoName, number: PullNumber) -> Result<(), GitHubError> {
        self.patch_pull(repo, number, json!({"state": "closed"})).await
    }

    async fn patch_pull(
        &self,
        repo: &RepoName,
        number: PullNumber,
        fields: serde_json::Value,
    ) -> Result<(), GitHubError> {
        let url = self.repo_url(repo, &["pulls", &number.0.to_string()], &[]);
        let reply = self.edge.write(Method::PATCH, &url, &fields).await?;
        reply.done(&self.edge)
    }

    /// Adds a label; the host makes one that does not exist yet.
    pub async fn add_label(&self, repo: &RepoName, number: PullNumber, label: &str) -> Result<(), GitHubError> {
        let url = self.repo_url(repo, &["issues", &number.0.to_string(), "labels"], &[]);
        let reply = self.edge.write(Method::POST, &url, &json!({"labels": [label]})).await?;
        reply.done(&self.edge)
    }

    /// Turns a draft into a pull request that can be merged. One that is ready already is fine.
    pub async fn ready(&self, node_id: &str) -> Result<(), GitHubError> {
        let attempt = "mark the pull request ready for review";
        let data = match self.graphql(attempt, READY, &json!({"id": node_id})).await {
            Err(e) if matches!(e.kind, GitHubErrorKind::Refused(_)) && says_not_a_draft(&e.what) => return Ok(()),
            other => other?,
        };
        match data["markPullRequestReadyForReview"]["pullRequest"]["isDraft"].as_bool() {
            Some(false) => Ok(()),
            Some(true) => Err(GitHubError::new(
                GitHubErrorKind::Refused(200),
                attempt,
                "it is still a draft",
            )),
            None => Err(GitHubError::shape(
                attempt,
                "the answer does not say whether it is a draft",
            )),
        }
    }

    pub async fn request_reviewers(
        &self,
        repo: &RepoName,
        number: PullNumber,
        people: &[String],
        teams: &[String],
    ) -> Result<(), GitHubError> {
        let url = self.repo_url(repo, &["pulls", &number.0.to_string(), "requested_reviewers"], &[]);
        let body = json!({"reviewers": people, "team_reviewers": teams});
        let reply = self.edge.write(Method::POST, &url, &body).await?;
        reply.done(&self.edge)
    }
}

fn says_not_a_draft(said: &str) -> bool {
    let low = said.to_ascii_lowercase();
    low.contains("not a draft") || low.contains("not in draft")
}
