//! A cause's life: what triage said of it, each attempt, how it ended.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{AttemptId, IncidentId, Sha, Signature, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriageVerdict {
    Bug,
    Noise,
    Infrastructure,
    Auth,
    Config,
    NeedsHuman,
}

impl TriageVerdict {
    /// As triage writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Noise => "noise",
            Self::Infrastructure => "infrastructure",
            Self::Auth => "auth",
            Self::Config => "config",
            Self::NeedsHuman => "needs-human",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureType {
    Runtime,
    Unit,
    E2e,
    Build,
    Deploy,
    Migration,
    Visual,
    Health,
    AgentTask,
}

/// One answer of triage. Its texts are a model's guess: shown as such, never acted upon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Triage {
    pub signature: Signature,
    pub verdict: TriageVerdict,
    pub failure_type: FailureType,
    pub repo: Slot,
    pub root_cause: String,
    pub suspected_files: Vec<String>,
    /// 0 to 1.
    pub confidence: f64,
    pub same_as: Option<Signature>,
}

/// Why an attempt ended without a head to push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "why")]
pub enum AttemptOutcome {
    /// A commit stands; evidence decides what becomes of it.
    Committed,
    /// The agent said it cannot fix this; its reason is data.
    CannotFix(String),
    /// The agent changed nothing although it said it did.
    NoChange,
    /// The tree could not become a commit (planted `.git`, device, name that cannot be).
    Refused(String),
    /// The agent did not work: hang, not logged in, quota, overload. Costs the incident no attempt.
    Infrastructure(String),
    /// The agent broke its contract: unparsable reply, crash, limits.
    Failed(String),
    /// Ended by a stop sign or a kill. Not charged.
    Interrupted(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub n: u32,
    pub base: Sha,
    pub head: Option<Sha>,
    /// `git patch-id --stable` of base..head.
    pub patch_id: Option<String>,
    pub started: DateTime<Utc>,
    pub ended: Option<DateTime<Utc>>,
    pub outcome: Option<AttemptOutcome>,
    /// hash(test id, normalised message, sorted source paths of the diff).
    pub failure_sig: Option<String>,
    /// Counts against the budget of attempts.
    pub charged: bool,
    /// Agent that wrote it, such as `claude` or `command:recording`.
    pub agent: String,
    /// What the agent said: summary and root cause. Shown as said, never as evidence.
    pub said: String,
}

/// What an agent said of its patch, as an attempt keeps it: the cause in one paragraph, then what it did.
pub fn said(root_cause: &str, summary: &str) -> String {
    let lines = root_cause.lines().filter(|line| !line.trim().is_empty());
    format!("{}\n\n{summary}", lines.collect::<Vec<_>>().join("\n"))
}

impl Attempt {
    /// What the agent takes for the cause; of a patch that came to nothing this is what is left.
    pub fn said_cause(&self) -> &str {
        self.said.split("\n\n").next().unwrap_or_default().trim()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    pub id: IncidentId,
    pub repo: Slot,
    pub opened_at: DateTime<Utc>,
    pub due_at: Option<DateTime<Utc>>,
    pub closed_at: Option<DateTime<Utc>>,
    pub outcome: Option<IncidentOutcome>,
}

impl Incident {
    /// Nothing waits for longer; one that would be due later was put off by a clock that was ahead.
    pub const LONGEST_WAIT: TimeDelta = TimeDelta::days(8);

    pub fn is_due(&self, now: DateTime<Utc>) -> bool {
        let due = |at| at <= now || at > now + Self::LONGEST_WAIT;
        self.closed_at.is_none() && self.due_at.is_some_and(due)
    }
}

/// How an incident ended. Also the last word of `tick incidents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentOutcome {
    Resolved,
    Unconfirmed,
    TakenBack,
    Declined,
    /// Gone before a fix of ours was merged (fixed by a person, or by itself).
    Gone,
    Noise,
    Ignored,
    /// The owner took what saw it out of the config: whether it is over, nobody can tell.
    Unwatched,
    /// Handed to a person; stays closed for tick until `tick retry`.
    Escalated,
}
