//! Check runs and commit statuses of one head SHA, as the forge reports them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Sha;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    pub head: Sha,
    pub checks: Vec<Check>,
    /// Set when one of the sources could not be read: the set is then incomplete and never SUCCESS.
    pub incomplete: Option<String>,
}

/// The newest run of one name and app. A commit status is a check without an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub app_id: Option<u64>,
    pub state: CheckState,
    pub started_at: Option<DateTime<Utc>>,
    pub url: Option<String>,
}

/// The failed run of a workflow that showed a cause, as the forge numbers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedRun {
    pub id: u64,
    /// Which try of the run was red, from 1.
    pub attempt: u64,
    pub sha: Sha,
    /// The forge's word for how it ended.
    pub conclusion: String,
    /// Another run of the same workflow on this commit was green.
    pub green_too: bool,
}

/// How a run of a workflow stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSeen {
    pub attempt: u64,
    pub state: CheckState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Queued,
    InProgress,
    Success,
    Failure,
    Neutral,
    Cancelled,
    Skipped,
    TimedOut,
    ActionRequired,
    Stale,
    StartupFailure,
    /// A word this program does not know; never counts as success.
    Unknown,
}

impl CheckState {
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Queued | Self::InProgress | Self::Unknown => false,
            Self::Success
            | Self::Failure
            | Self::Neutral
            | Self::Cancelled
            | Self::Skipped
            | Self::TimedOut
            | Self::ActionRequired
            | Self::Stale
            | Self::StartupFailure => true,
        }
    }
}
