//! Comments of ours: found by a hidden marker on their first line, edited in place, never posted twice.

use http::Method;
use serde_json::json;

use super::{GitHub, GitHubError, GitHubErrorKind, PAGES, paging::list, wire};
use crate::model::{PullNumber, RepoName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub id: u64,
    pub author: String,
    /// Cleaned and redacted.
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsert {
    Posted(u64),
    Edited(u64),
    /// It stands there already, word for word.
    Unchanged(u64),
}

impl GitHub {
    /// Comments that begin with this marker. A quotation of ours begins with `>` and is not one.
    pub async fn comments_with_marker(
        &self,
        repo: &RepoName,
        number: PullNumber,
        marker: &str,
    ) -> Result<Vec<Comment>, GitHubError> {
        let found = self.marked(repo, number, marker).await?;
        let read = found.into_iter().map(|c| Comment {
            id: c.id,
            author: self.edge.line(&wire::login(c.user.as_ref())),
            body: self.keep_markers(c.body.as_deref().unwrap_or_default()),
        });
        Ok(read.collect())
    }

    /// Puts the text there once. `body` must begin with `marker`.
    pub async fn upsert_comment(
        &self,
        repo: &RepoName,
        number: PullNumber,
        marker: &str,
        body: &str,
    ) -> Result<Upsert, GitHubError> {
        debug_assert!(body.starts_with(marker), "our comments begin with their marker");
        for comment in self.marked(repo, number, marker).await? {
            if comment.body.as_deref().map(normal) == Some(normal(body)) {
                return Ok(Upsert::Unchanged(comment.id));
            }
            let url = self.repo_url(repo, &["issues", "comments", &comment.id.to_string()], &[]);
            let reply = self.edge.write(Method::PATCH, &url, &json!({"body": body})).await?;
            if reply.status.is_success() {
                return Ok(Upsert::Edited(comment.id));
            }
            let error = reply.error(&self.edge);
            // Somebody copied our marker: their comment is not ours to edit, and does not stand for ours.
            if !matches!(error.kind, GitHubErrorKind::Permission | GitHubErrorKind::NotFound) {
                return Err(error);
            }
        }
        let url = self.repo_url(repo, &["issues", &number.0.to_string(), "comments"], &[]);
        let posted: wire::Comment = self
            .edge
            .write(Method::POST, &url, &json!({"body": body}))
            .await?
            .json(&self.edge)?;
        Ok(Upsert::Posted(posted.id))
    }

    async fn marked(
        &self,
        repo: &RepoName,
        number: PullNumber,
        marker: &str,
    ) -> Result<Vec<wire::Comment>, GitHubError> {
        let url = self.repo_url(
            repo,
            &["issues", &number.0.to_string(), "comments"],
            &[("per_page", "100")],
        );
        let attempt = format!("read the comments of {number}");
        let mut all: Vec<wire::Comment> = list(&self.edge, url, None, PAGES).await?.whole(&attempt)?;
        all.retain(|c| c.body.as_deref().is_some_and(|b| b.trim_start().starts_with(marker)));
        Ok(all)
    }
}

fn normal(body: &str) -> String {
    body.replace('\r', "").trim().to_owned()
}
