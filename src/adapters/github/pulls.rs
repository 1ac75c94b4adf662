//! Reading pull requests.

use super::{GitHub, GitHubError, PAGES, paging::list, sha, wire};
use crate::model::{
    PullNumber, RepoName,
    pull::{Pull, PullState},
};

impl GitHub {
    /// All pull requests, in any state, whose head is this branch of this very repository; newest first. Without
    /// their reviews.
    pub async fn pulls_by_head(&self, repo: &RepoName, branch: &str) -> Result<Vec<Pull>, GitHubError> {
        let head = format!("{}:{branch}", repo.owner());
        let query = [("state", "all"), ("head", head.as_str()), ("per_page", "100")];
        let url = self.repo_url(repo, &["pulls"], &query);
        let attempt = format!("list pull requests of {branch}");
        let raw: Vec<wire::Pull> = list(&self.edge, url, None, PAGES).await?.whole(&attempt)?;
        // The filter is checked again: an answer that ignores it would hand over somebody else's pull request.
        let ours = raw.iter().filter(|p| p.head.name == branch && !is_fork(p, repo));
        let mut pulls: Vec<Pull> = ours.map(|p| self.read_pull(p, &attempt)).collect::<Result<_, _>>()?;
        pulls.sort_by_key(|p| std::cmp::Reverse(p.number));
        Ok(pulls)
    }

    /// One pull request, fresh, with its reviews and with what each reviewer may do.
    pub async fn pull(&self, repo: &RepoName, number: PullNumber) -> Result<Pull, GitHubError> {
        let path = number.0.to_string();
        let reply = self.edge.get(&self.repo_url(repo, &["pulls", &path], &[])).await?;
        let raw: wire::Pull = reply.json(&self.edge)?;
        if raw.number != number.0 {
            return Err(GitHubError::shape(
                &reply.attempt,
                format!("asked for {number}, the answer is about #{}", raw.number),
            ));
        }
        let mut pull = self.read_pull(&raw, &reply.attempt)?;
        if pull.state == PullState::Closed {
            pull.closed_by = self.closed_by(repo, &path).await;
        }
        pull.reviews = self.reviews(repo, number).await?;
        Ok(pull)
    }

    /// Who closed it is told by the issue side; for people only.
    async fn closed_by(&self, repo: &RepoName, number: &str) -> Option<String> {
        let reply = self
            .edge
            .get(&self.repo_url(repo, &["issues", number], &[]))
            .await
            .ok()?;
        let issue: wire::Issue = reply.json(&self.edge).ok()?;
        issue.closed_by.map(|u| self.edge.line(&u.login))
    }

    pub(super) fn read_pull(&self, raw: &wire::Pull, attempt: &str) -> Result<Pull, GitHubError> {
        let state = match (raw.is_merged(), raw.state.as_str()) {
            (true, _) => PullState::Merged,
            (false, "open") => PullState::Open,
            (false, "closed") => PullState::Closed,
            (false, other) => {
                let what = format!("unknown state {:?} of #{}", self.edge.line(other), raw.number);
                return Err(GitHubError::shape(attempt, what));
            }
        };
        // Before the merge this field names a test merge that nobody keeps.
        let merge_sha = match (&raw.merge_commit_sha, state) {
            (Some(text), PullState::Merged) => Some(sha(attempt, text)?),
            (Some(_) | None, PullState::Open | PullState::Closed) | (None, PullState::Merged) => None,
        };
        let people = raw.requested_reviewers.iter().flatten().map(|u| &u.login);
        let teams = raw.requested_teams.iter().flatten().map(|t| &t.slug);
        Ok(Pull {
            number: PullNumber(raw.number),
            node_id: raw.node_id.clone(),
            url: raw.html_url.clone(),
            state,
            draft: raw.draft.unwrap_or(false),
            title: self.edge.line(raw.title.as_deref().unwrap_or_default()),
            body: self.keep_markers(raw.body.as_deref().unwrap_or_default()),
            head_ref: raw.head.name.clone(),
            head_sha: sha(attempt, &raw.head.sha)?,
            base_ref: raw.base.name.clone(),
            labels: raw.labels.iter().map(|l| self.edge.line(&l.name)).collect(),
            mergeable_state: raw.mergeable_state.clone().unwrap_or_else(|| "unknown".to_owned()),
            merge_sha,
            closed_by: raw.merged_by.as_ref().map(|u| self.edge.line(&u.login)),
            author: self.edge.line(&wire::login(raw.user.as_ref())),
            reviews: Vec::new(),
            requested_reviewers: people.chain(teams).map(|name| self.edge.line(name)).collect(),
        })
    }

    /// Cleaned and redacted, except our own marker lines: a commit id in one must come back as it was written.
    pub(super) fn keep_markers(&self, body: &str) -> String {
        let lines = body.lines().map(|line| {
            let line = line.trim_end();
            if is_marker_line(line) {
                line.to_owned()
            } else {
                self.edge.text(line)
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn is_fork(pull: &wire::Pull, repo: &RepoName) -> bool {
    let full_name = repo.to_string();
    !pull
        .head
        .repo
        .as_ref()
        .is_some_and(|r| r.full_name.eq_ignore_ascii_case(&full_name))
}

fn is_marker_line(line: &str) -> bool {
    let inner = line.strip_prefix("<!-- tick:").and_then(|l| l.strip_suffix(" -->"));
    inner.is_some_and(|i| {
        i.len() <= 300
            && !i.contains("--")
            && i.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'=' | b'/' | b' ' | b'.' | b'_'))
    })
}
