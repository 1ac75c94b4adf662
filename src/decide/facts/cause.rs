//! What an incident is about: its primary cause as the ledger has it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::{
    Sha, Signature,
    checks::RedRun,
    signal::{Culprit, Severity, SignalKind},
};

/// The primary signature's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    pub signature: Signature,
    pub title: String,
    pub label: String,
    pub kind: SignalKind,
    pub severity: Severity,
    pub culprit: Option<Culprit>,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub count: u64,
    pub release: Option<Sha>,
    pub ignored_until: Option<DateTime<Utc>>,
    /// Looks in a row that read its source in full without it; of the cause and its symptoms, the fewest.
    #[serde(default)]
    pub quiet_looks: u32,
    /// Why nobody looks any more at what saw it.
    #[serde(default)]
    pub unwatched: Option<String>,
    /// Such looks before it is over, where nobody repaired it.
    #[serde(default = "usual_looks")]
    pub clear_after: u32,
    /// Incidents of this cause that opened within a day, this one included.
    #[serde(default = "one_life")]
    pub lives: u32,
    /// It is a probe that fails, or one that has failed in two looks in a row came with it.
    #[serde(default)]
    pub is_down: bool,
    /// What of security it smells of.
    #[serde(default)]
    pub security: Option<String>,
    /// The newest red run of CI that showed it.
    #[serde(default)]
    pub red_run: Option<RedRun>,
    /// Its test was red and green on one commit before.
    #[serde(default)]
    pub flaky_before: bool,
    /// It names a test, a finding or a place in the code.
    #[serde(default)]
    pub points_at_code: bool,
    /// The first commit of the default branch that CI saw it at, this time.
    #[serde(default)]
    pub suspect: Option<Sha>,
}

/// Incidents of one cause within a day from which on it flaps: it is told once more, and then not before it was quiet for
/// long.
pub const FLAPS: u32 = 3;

const fn usual_looks() -> u32 {
    2
}

const fn one_life() -> u32 {
    1
}

impl Cause {
    /// How many lives it had within a day, where they are too many to tell of each.
    pub fn flaps(&self) -> Option<u32> {
        (self.lives >= FLAPS).then_some(self.lives)
    }
}
