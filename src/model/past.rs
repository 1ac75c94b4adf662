//! Runs of CI on a branch over some days, as one look finds them.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Sha, signal::Signal};

/// One finished run that says something about the branch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastRun {
    pub workflow: u64,
    pub sha: Sha,
    pub started: DateTime<Utc>,
    pub finished: DateTime<Utc>,
    pub green: bool,
    /// What was red, by cause; of a green run what was red before on the same commit.
    pub signals: Vec<Signal>,
    /// It is red and nobody read why: there were too many.
    pub unread: bool,
}

/// A commit on the branch, along first parents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Landed {
    pub sha: Sha,
    pub title: String,
}

/// What could be read of a branch's runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Past {
    pub branch: String,
    /// Oldest first.
    pub runs: Vec<PastRun>,
    /// Newest first, each one's first parent after it; empty where they could not be read.
    pub landed: Vec<Landed>,
    /// There are more runs than were read: these reach back to here.
    pub reaches_back_to: Option<DateTime<Utc>>,
    /// Without a token the forge shows no logs: causes are told by job and step.
    pub without_logs: bool,
    /// What could not be read, and why.
    pub blind: Vec<String>,
}
