//! Stop signs on the forge: an open issue labelled `tick:pause`, the label `tick:stop` on the pull request. Read
//! right before a mutation; what can not be read counts as stopped.

use chrono::{DateTime, Utc};

use super::{GitHub, GitHubError, GitHubErrorKind, PAGES, paging::list, wire};
use crate::model::{
    PullNumber, RepoName,
    pull::{StopSign, StopSigns},
};

pub const PAUSE_LABEL: &str = "tick:pause";
pub const STOP_LABEL: &str = "tick:stop";

impl GitHub {
    pub async fn stop_signs(&self, repo: &RepoName, pull: Option<PullNumber>, has_issues: bool) -> StopSigns {
        match self.signs(repo, pull, has_issues).await {
            Ok(signs) if signs.is_empty() => StopSigns::None,
            Ok(signs) => StopSigns::Stopped(signs),
            Err(e) => StopSigns::Unreadable(e.to_string()),
        }
    }

    async fn signs(
        &self,
        repo: &RepoName,
        pull: Option<PullNumber>,
        has_issues: bool,
    ) -> Result<Vec<StopSign>, GitHubError> {
        let mut signs = Vec::new();
        if has_issues {
            for issue in self.paused_issues(repo).await? {
                let (by, since) = self.who_labelled(repo, issue.number, PAUSE_LABEL).await;
                signs.push(StopSign {
                    what: format!("issue #{} labelled {PAUSE_LABEL}", issue.number),
                    by: by.or_else(|| issue.user.as_ref().map(|u| self.edge.line(&u.login))),
                    since: since.or(issue.created_at),
                });
            }
        }
        if let Some(number) = pull {
            let url = self.repo_url(repo, &["pulls", &number.0.to_string()], &[]);
            let raw: wire::Pull = self.edge.get(&url).await?.json(&self.edge)?;
            for label in [STOP_LABEL, PAUSE_LABEL] {
                if raw.labels.iter().any(|l| l.name.eq_ignore_ascii_case(label)) {
                    let (by, since) = self.who_labelled(repo, number.0, label).await;
                    let what = format!("label {label} on {number}");
                    signs.push(StopSign { what, by, since });
                }
            }
        }
        Ok(signs)
    }

    async fn paused_issues(&self, repo: &RepoName) -> Result<Vec<wire::Issue>, GitHubError> {
        let query = [("labels", PAUSE_LABEL), ("state", "open"), ("per_page", "100")];
        let url = self.repo_url(repo, &["issues"], &query);
        let listed = match list::<wire::Issue>(&self.edge, url, None, PAGES).await {
            // Issues are switched off: there is no place for this sign.
            Err(e) if matches!(e.kind, GitHubErrorKind::NotFound | GitHubErrorKind::Gone) => return Ok(Vec::new()),
            other => other?,
        };
        let mut issues = listed.items;
        issues.retain(|i| i.labels.iter().any(|l| l.name().eq_ignore_ascii_case(PAUSE_LABEL)));
        Ok(issues)
    }

    /// For people only, so a failure here is no failure: the sign stands either way.
    async fn who_labelled(&self, repo: &RepoName, number: u64, label: &str) -> (Option<String>, Option<DateTime<Utc>>) {
        let url = self.repo_url(repo, &["issues", &number.to_string(), "events"], &[("per_page", "100")]);
        let Ok(listed) = list::<wire::IssueEvent>(&self.edge, url, None, PAGES).await else {
            return (None, None);
        };
        let sets_it = |e: &&wire::IssueEvent| {
            e.event == "labeled" && e.label.as_ref().is_some_and(|l| l.name.eq_ignore_ascii_case(label))
        };
        match listed.items.iter().rfind(sets_it) {
            Some(event) => (event.actor.as_ref().map(|u| self.edge.line(&u.login)), event.created_at),
            None => (None, None),
        }
    }
}
