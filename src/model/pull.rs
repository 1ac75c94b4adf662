//! Facts read from the forge: pull requests, the rules of a repository, stop signs.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{PullNumber, Sha};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub number: PullNumber,
    pub node_id: String,
    pub url: String,
    pub state: PullState,
    pub draft: bool,
    pub title: String,
    pub body: String,
    pub head_ref: String,
    pub head_sha: Sha,
    pub base_ref: String,
    pub labels: Vec<String>,
    /// As the host says it (`clean`, `dirty`, `draft`, `unknown` …). Shown; only `dirty` and `draft` decide.
    pub mergeable_state: String,
    /// The commit on the base, once merged.
    pub merge_sha: Option<Sha>,
    pub closed_by: Option<String>,
    /// Who opened it.
    pub author: String,
    pub reviews: Vec<Review>,
    /// Logins and teams whose review was asked for.
    pub requested_reviewers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Closed,
    Merged,
}

/// The newest review of each reviewer that is not a plain comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub author: String,
    pub state: ReviewState,
    pub commit: Option<Sha>,
    pub body: String,
    pub submitted_at: Option<DateTime<Utc>>,
    /// Checked freshly for this read: the author may push to the repository.
    pub author_may_write: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Dismissed,
    Commented,
}

/// What the repository demands of a merge, read before a PR is opened and again before the merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of the host that holds or not"
)]
pub struct Rules {
    /// Names of required checks, each with the app it must come from (none = any).
    pub required_checks: Vec<RequiredCheck>,
    pub required_approvals: u32,
    pub code_owner_review: bool,
    pub conversation_resolution: bool,
    pub signed_commits: bool,
    pub linear_history: bool,
    pub merge_queue: bool,
    pub required_deployments: Vec<String>,
    pub squash_allowed: bool,
    /// A part of the rules that this token may not read; nothing is merged on such rules.
    pub unread: Option<String>,
    /// Strangers can read the repository: nothing that came from production may appear there.
    pub public: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequiredCheck {
    pub name: String,
    pub app_id: Option<u64>,
}

/// Every sign that says stop, as read right before a mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopSigns {
    /// Read in full; nothing says stop.
    None,
    /// At least one sign: what it is, who set it and when, for people.
    Stopped(Vec<StopSign>),
    /// Could not be read, which counts as stopped.
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopSign {
    /// `tick pause`, `issue #12 labelled tick:pause`, `label tick:stop on #31`.
    pub what: String,
    pub by: Option<String>,
    pub since: Option<DateTime<Utc>>,
}

/// A commit of the default branch as the forge shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitInfo {
    pub sha: Sha,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub message: String,
}

/// Why the host did not take a push, as far as its words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushRefusal {
    /// The token may not write, or not to this path.
    Rights,
    /// A rule of the repository forbids it.
    Rule,
    /// The branch is not where we left it.
    Moved,
    Other,
}
