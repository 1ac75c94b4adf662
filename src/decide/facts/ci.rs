//! What is known of CI beside the checks of a head: a proof that it computes, and red runs that were run again.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::{Sha, checks::RedRun};

/// A witness that was pushed and not dropped since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnessed {
    /// Of the effect that pushed it.
    pub key: String,
    pub head: Sha,
    pub at: DateTime<Utc>,
}

/// How far a proof by CI is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByCi {
    pub witness: Option<CiWitness>,
    /// Commits whose runs have ended and whose reports were read.
    pub reports: BTreeSet<Sha>,
    /// The witness is red there, so the fix may be shown.
    pub red: bool,
}

/// The diff's tests on its base; none where the base's own failure is the witness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiWitness {
    pub commit: Option<Sha>,
}

/// The failed jobs of the run that showed the cause, once more on the same commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rerun {
    /// The run of which they were asked for, and when.
    pub sent: Option<(RedRun, DateTime<Utc>)>,
    /// What came of the newest one.
    pub end: Option<RerunEnd>,
    /// How many of them were red again.
    pub reds: u32,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerunEnd {
    Green,
    Red,
    /// It said nothing, or was not begun: why.
    Nothing(String),
}
