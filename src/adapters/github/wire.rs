//! The parts of the forge's JSON that are read, lenient: unknown fields are ignored and what may be null is an
//! option. Texts in here are raw; they are cleaned and redacted on the way out.

use chrono::{DateTime, Utc};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct User {
    #[serde(default)]
    pub(super) login: String,
}

/// The name, or the one the forge shows for a deleted account.
pub(super) fn login(user: Option<&User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |u| u.login.clone())
}

#[derive(Debug, Deserialize)]
pub(super) struct Repo {
    pub(super) full_name: String,
    pub(super) default_branch: String,
    #[serde(default)]
    pub(super) private: bool,
    pub(super) visibility: Option<String>,
    pub(super) has_issues: Option<bool>,
    #[serde(default)]
    pub(super) archived: bool,
    pub(super) allow_squash_merge: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RepoRef {
    pub(super) full_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Side {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) sha: String,
    pub(super) repo: Option<RepoRef>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Label {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Team {
    #[serde(default)]
    pub(super) slug: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) node_id: String,
    #[serde(default)]
    pub(super) html_url: String,
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: Option<bool>,
    pub(super) title: Option<String>,
    pub(super) body: Option<String>,
    pub(super) head: Side,
    pub(super) base: Side,
    #[serde(default)]
    pub(super) labels: Vec<Label>,
    pub(super) mergeable_state: Option<String>,
    pub(super) merged: Option<bool>,
    pub(super) merged_at: Option<DateTime<Utc>>,
    pub(super) merged_by: Option<User>,
    pub(super) user: Option<User>,
    pub(super) merge_commit_sha: Option<String>,
    pub(super) requested_reviewers: Option<Vec<User>>,
    pub(super) requested_teams: Option<Vec<Team>>,
}

impl Pull {
    pub(super) fn is_merged(&self) -> bool {
        self.merged == Some(true) || self.merged_at.is_some()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub(super) user: Option<User>,
    pub(super) state: String,
    pub(super) body: Option<String>,
    pub(super) commit_id: Option<String>,
    pub(super) submitted_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<IssueLabel>,
    pub(super) closed_by: Option<User>,
    pub(super) created_at: Option<DateTime<Utc>>,
}

/// Labels of issues come as objects, and in old answers as plain names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum IssueLabel {
    Name(String),
    Object { name: Option<String> },
}

impl IssueLabel {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Object { name } => name.as_deref().unwrap_or_default(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct IssueEvent {
    #[serde(default)]
    pub(super) event: String,
    pub(super) actor: Option<User>,
    pub(super) created_at: Option<DateTime<Utc>>,
    pub(super) label: Option<Label>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    pub(super) body: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckRun {
    pub(super) name: String,
    #[serde(default)]
    pub(super) head_sha: Option<String>,
    #[serde(default)]
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) html_url: Option<String>,
    pub(super) app: Option<App>,
}

#[derive(Debug, Deserialize)]
pub(super) struct App {
    pub(super) id: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) context: String,
    pub(super) state: String,
    pub(super) created_at: Option<DateTime<Utc>>,
    pub(super) target_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Run {
    pub(super) id: u64,
    pub(super) head_sha: String,
    #[serde(rename = "run_attempt")]
    pub(super) attempt: Option<u64>,
    pub(super) status: Option<String>,
    pub(super) conclusion: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GitRef {
    pub(super) object: Object,
}

#[derive(Debug, Deserialize)]
pub(super) struct Object {
    pub(super) sha: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) sha: String,
    #[serde(rename = "commit")]
    pub(super) inner: CommitBody,
    #[serde(default)]
    pub(super) parents: Vec<Object>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommitBody {
    pub(super) tree: Object,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Merged {
    pub(super) sha: Option<String>,
    #[serde(default)]
    pub(super) merged: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Access {
    #[serde(default)]
    pub(super) permission: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Artifact {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) expired: bool,
}
