//! What happened in one process, and the states a message can be about. Plain data.

use serde::{Deserialize, Serialize};

use super::{IncidentId, Slot};

/// The states a message can be about: at most one message each, a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Inventory,
    NeedsYou,
    DraftReady,
    Merged,
    Resolved,
    Unconfirmed,
    TakenBack,
    Declined,
    /// What saw it is not looked at any more.
    Unwatched,
    Budget,
    Blind,
    SeeingAgain,
    GateFault,
    Frozen,
    Overflow,
    Warning,
}

impl Status {
    pub const ALL: [Self; 16] = [
        Self::Inventory,
        Self::NeedsYou,
        Self::DraftReady,
        Self::Merged,
        Self::Resolved,
        Self::Unconfirmed,
        Self::TakenBack,
        Self::Declined,
        Self::Unwatched,
        Self::Budget,
        Self::Blind,
        Self::SeeingAgain,
        Self::GateFault,
        Self::Frozen,
        Self::Overflow,
        Self::Warning,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::NeedsYou => "needs-you",
            Self::DraftReady => "draft-ready",
            Self::Merged => "merged",
            Self::Resolved => "resolved",
            Self::Unconfirmed => "unconfirmed",
            Self::TakenBack => "taken-back",
            Self::Declined => "declined",
            Self::Unwatched => "unwatched",
            Self::Budget => "budget",
            Self::Blind => "blind",
            Self::SeeingAgain => "seeing-again",
            Self::GateFault => "gate-fault",
            Self::Frozen => "frozen",
            Self::Overflow => "overflow",
            Self::Warning => "warning",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Milliseconds since this process started.
    pub ms: u64,
    pub incident: Option<IncidentId>,
    /// Stable word: `collected`, `gate`, `triage`, `attempt`, `guards`, `proof`, `push`, `pull`, `audit`, `merge` …
    pub what: String,
    /// Sentences, redacted, one a line.
    pub lines: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub events: Vec<Event>,
    /// Sources that could not be read, with their cause.
    pub blind: Vec<String>,
    pub gate_fault: Option<String>,
    /// Incidents that became a person's, or were taken back, in this process.
    pub to_person: Vec<IncidentId>,
    /// Those of them that were taken back.
    #[serde(default)]
    pub taken_back: Vec<IncidentId>,
    /// Incidents whose work stopped for budget in this process.
    pub out_of_budget: Vec<IncidentId>,
    pub models_called: u32,
    /// Causes that are open at its end, or were seen and may be opened by the next look.
    #[serde(default)]
    pub unwell: u64,
    pub signals: u64,
    pub sources: u64,
    pub collect_ms: u64,
    /// This process looked itself: how healthy things are is its word only then.
    #[serde(default)]
    pub looked: bool,
    /// Another process holds the tick lock; what it says of itself.
    pub busy: Option<String>,
    pub waiting: Vec<Waiting>,
    /// Messages that could not be sent, and why.
    #[serde(default)]
    pub unsent: Vec<String>,
}

/// An incident that waits, and for whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    pub incident: IncidentId,
    pub repo: Slot,
    /// What users have of it and the cause, in one line, from our own template.
    #[serde(default)]
    pub title: String,
    pub why: String,
}
