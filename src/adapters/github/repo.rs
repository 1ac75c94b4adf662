//! The repository itself, the head of a branch, and one commit.

use super::{GitHub, GitHubError, GitHubErrorKind, sha, wire};
use crate::model::{RepoName, Sha, pull::CommitInfo};

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts of the host, each on its own")]
pub struct RepoInfo {
    /// Under its present name: the host follows renames.
    pub name: RepoName,
    pub default_branch: String,
    pub private: bool,
    /// Strangers can read it.
    pub public: bool,
    pub has_issues: bool,
    pub squash_allowed: bool,
    pub archived: bool,
}

impl GitHub {
    pub async fn repo(&self, repo: &RepoName) -> Result<RepoInfo, GitHubError> {
        let reply = self.edge.get(&self.repo_url(repo, &[], &[])).await?;
        let raw: wire::Repo = reply.json(&self.edge)?;
        let name = RepoName::parse(&raw.full_name).map_err(|e| GitHubError::shape(&reply.attempt, e.to_string()))?;
        let public = match raw.visibility.as_deref() {
            Some("private" | "internal") => false,
            // A word that is not known yet counts as readable by strangers: that only hides more.
            Some(_) => true,
            None => !raw.private,
        };
        Ok(RepoInfo {
            name,
            default_branch: raw.default_branch,
            private: raw.private,
            public,
            has_issues: raw.has_issues.unwrap_or(true),
            // Left out for tokens without write access; then the merge call tells.
            squash_allowed: raw.allow_squash_merge.unwrap_or(true),
            archived: raw.archived,
        })
    }

    /// Where a branch stands; none when it does not exist (or the repository is empty).
    pub async fn branch_head(&self, repo: &RepoName, branch: &str) -> Result<Option<Sha>, GitHubError> {
        let mut rest = vec!["git", "ref", "heads"];
        rest.extend(branch.split('/'));
        let reply = self.edge.get(&self.repo_url(repo, &rest, &[])).await?;
        if matches!(reply.status.as_u16(), 404 | 409) {
            return Ok(None);
        }
        let raw: wire::GitRef = reply.json(&self.edge)?;
        sha(&reply.attempt, &raw.object.sha).map(Some)
    }

    pub async fn commit(&self, repo: &RepoName, commit: &Sha) -> Result<CommitInfo, GitHubError> {
        let reply = self
            .edge
            .get(&self.repo_url(repo, &["commits", commit.as_str()], &[]))
            .await?;
        let raw: wire::Commit = reply.json(&self.edge)?;
        let found = sha(&reply.attempt, &raw.sha)?;
        if &found != commit {
            return Err(GitHubError::shape(
                &reply.attempt,
                format!("asked for {commit}, the answer is about {found}"),
            ));
        }
        let parents = raw.parents.iter().map(|p| sha(&reply.attempt, &p.sha));
        Ok(CommitInfo {
            sha: found,
            tree: sha(&reply.attempt, &raw.inner.tree.sha)?,
            parents: parents.collect::<Result<_, _>>()?,
            message: self.edge.text(&raw.inner.message),
        })
    }
}

/// Whether the failure says that there is nothing to read, and not that reading failed.
pub(super) fn is_absent(error: &GitHubError) -> bool {
    matches!(error.kind, GitHubErrorKind::NotFound | GitHubErrorKind::Gone)
}
