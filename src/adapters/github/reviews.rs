//! Reviews of a pull request, and what each reviewer may do. An approval counts only with write access, which is
//! read freshly and never taken from `author_association`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{GitHub, GitHubError, GitHubErrorKind, PAGES, paging::list, sha, wire};
use crate::model::{
    PullNumber, RepoName,
    pull::{Review, ReviewState},
};

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { nodes { isResolved } pageInfo { hasNextPage endCursor } } } } }";

impl GitHub {
    pub(super) async fn reviews(&self, repo: &RepoName, number: PullNumber) -> Result<Vec<Review>, GitHubError> {
        let path = number.0.to_string();
        let url = self.repo_url(repo, &["pulls", &path, "reviews"], &[("per_page", "100")]);
        let attempt = format!("read the reviews of {number}");
        let raw: Vec<wire::Review> = list(&self.edge, url, None, PAGES).await?.whole(&attempt)?;
        let mut newest: BTreeMap<String, Review> = BTreeMap::new();
        for review in &raw {
            let Some(state) = state(&review.state) else { continue };
            let author = wire::login(review.user.as_ref());
            let standing = newest.get(&author).is_some_and(|r| r.state != ReviewState::Commented);
            if state == ReviewState::Commented && standing {
                continue;
            }
            let commit = review.commit_id.as_deref().map(|c| sha(&attempt, c)).transpose()?;
            newest.insert(
                author.clone(),
                Review {
                    author,
                    state,
                    commit,
                    body: self.edge.text(review.body.as_deref().unwrap_or_default()),
                    submitted_at: review.submitted_at,
                    author_may_write: false,
                },
            );
        }
        let mut reviews: Vec<Review> = newest.into_values().collect();
        for review in &mut reviews {
            let counts = matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested);
            review.author_may_write = counts && self.may_write(repo, &review.author).await?;
            review.author = self.edge.line(&review.author);
        }
        Ok(reviews)
    }

    /// Whether this account may push to the repository now.
    pub async fn may_write(&self, repo: &RepoName, login: &str) -> Result<bool, GitHubError> {
        let url = self.repo_url(repo, &["collaborators", login, "permission"], &[]);
        let access: Result<wire::Access, _> = self.edge.get(&url).await?.json(&self.edge);
        match access {
            Ok(access) => Ok(matches!(access.permission.as_str(), "admin" | "maintain" | "write")),
            Err(e) if matches!(e.kind, GitHubErrorKind::NotFound | GitHubErrorKind::Permission) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Review threads that nobody has resolved yet.
    pub async fn unresolved_threads(&self, repo: &RepoName, number: PullNumber) -> Result<u32, GitHubError> {
        let mut after = Value::Null;
        let mut open = 0;
        for _ in 0..PAGES {
            let variables = json!({
                "owner": repo.owner(), "name": repo.name(), "number": number.0, "after": after,
            });
            let data = self.graphql("read review threads", THREADS, &variables).await?;
            let threads = &data["repository"]["pullRequest"]["reviewThreads"];
            let (Some(nodes), Some(more)) = (
                threads["nodes"].as_array(),
                threads["pageInfo"]["hasNextPage"].as_bool(),
            ) else {
                return Err(GitHubError::shape("read review threads", "no threads in the answer"));
            };
            // Anything but a clear "resolved" counts as open.
            open += nodes.iter().filter(|n| n["isResolved"] != true).count();
            let cursor = threads["pageInfo"]["endCursor"].clone();
            if !more {
                return Ok(u32::try_from(open).unwrap_or(u32::MAX));
            }
            if cursor.is_null() || cursor == after {
                return Err(GitHubError::shape(
                    "read review threads",
                    "the pages go round in a circle",
                ));
            }
            after = cursor;
        }
        Err(GitHubError::shape("read review threads", "more pages than tick reads"))
    }

    /// `data` of a GraphQL answer. Errors come with status 200, and with partial data that is not used.
    pub(super) async fn graphql(&self, attempt: &str, query: &str, variables: &Value) -> Result<Value, GitHubError> {
        let body = json!({"query": query, "variables": variables});
        let reply = self.edge.write(http::Method::POST, &self.edge.graphql(), &body).await?;
        let mut answer: Value = reply.json(&self.edge)?;
        if let Some(error) = answer["errors"].as_array().and_then(|e| e.first()) {
            let kind = match error["type"].as_str().unwrap_or_default() {
                "NOT_FOUND" => GitHubErrorKind::NotFound,
                "FORBIDDEN" | "INSUFFICIENT_SCOPES" => GitHubErrorKind::Permission,
                "RATE_LIMITED" => GitHubErrorKind::RateLimited {
                    wait: std::time::Duration::from_mins(1),
                },
                _ => GitHubErrorKind::Refused(200),
            };
            let said = self
                .edge
                .quoted(error["message"].as_str().unwrap_or("an error without a message"));
            return Err(GitHubError::new(kind, attempt, said));
        }
        match answer["data"].take() {
            Value::Object(data) => Ok(Value::Object(data)),
            _ => Err(GitHubError::shape(attempt, "an answer without data")),
        }
    }
}

/// None for reviews that are not submitted yet, and for words this program does not know.
fn state(word: &str) -> Option<ReviewState> {
    match word {
        "APPROVED" => Some(ReviewState::Approved),
        "CHANGES_REQUESTED" => Some(ReviewState::ChangesRequested),
        "DISMISSED" => Some(ReviewState::Dismissed),
        "COMMENTED" => Some(ReviewState::Commented),
        _ => None,
    }
}
