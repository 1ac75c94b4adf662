//! What happened in this process, as facts: for the exit code, for the story on a terminal, for `--json`.

use serde::Serialize;

use crate::{
    decide::facts::Status,
    exit::Exit,
    model::{IncidentId, Slot},
};

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Milliseconds since this process started.
    pub ms: u64,
    pub incident: Option<IncidentId>,
    /// Stable word: `collected`, `gate`, `triage`, `attempt`, `guards`, `proof`, `push`, `pull`, `audit`, `merge` …
    pub what: String,
    /// Sentences, redacted, one a line.
    pub lines: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    pub events: Vec<Event>,
    /// Sources that could not be read, with their cause.
    pub blind: Vec<String>,
    pub gate_fault: Option<String>,
    /// Incidents that became a person's, or were taken back, in this process.
    pub to_person: Vec<IncidentId>,
    /// Incidents whose work stopped for budget in this process.
    pub out_of_budget: Vec<IncidentId>,
    pub models_called: u32,
    pub signals: u64,
    pub sources: u64,
    pub collect_ms: u64,
    /// Another process holds the tick lock; what it says of itself.
    pub busy: Option<String>,
    pub waiting: Vec<Waiting>,
}

/// An incident that waits, and for whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    pub incident: IncidentId,
    pub repo: Slot,
    pub why: String,
}

impl Report {
    /// Notes that a message of this status was sent.
    pub fn told(&mut self, incident: &IncidentId, status: Status) {
        match status {
            Status::NeedsYou | Status::TakenBack | Status::Frozen => self.to_person.push(incident.clone()),
            Status::Budget => self.out_of_budget.push(incident.clone()),
            Status::Inventory
            | Status::DraftReady
            | Status::Merged
            | Status::Resolved
            | Status::Unconfirmed
            | Status::Declined
            | Status::Blind
            | Status::SeeingAgain
            | Status::GateFault => {}
        }
    }

    /// The first that holds, in the documented order.
    pub fn exit(&self) -> Exit {
        if !self.to_person.is_empty() {
            Exit::NeedsHuman
        } else if !self.out_of_budget.is_empty() {
            Exit::Budget
        } else if !self.blind.is_empty() || self.gate_fault.is_some() {
            Exit::Blind
        } else {
            Exit::Ok
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Signature;

    #[test]
    fn the_first_code_that_holds_wins() {
        let id = IncidentId::new(&Signature::parse("7f3a91c07f3a91c0").unwrap(), 1);
        let mut report = Report::default();
        assert_eq!(report.exit(), Exit::Ok);
        report.blind.push("exceptions".to_owned());
        assert_eq!(report.exit(), Exit::Blind);
        report.told(&id, Status::Budget);
        assert_eq!(report.exit(), Exit::Budget);
        report.told(&id, Status::Resolved);
        assert_eq!(report.exit(), Exit::Budget);
        report.told(&id, Status::NeedsYou);
        assert_eq!(report.exit(), Exit::NeedsHuman);
    }
}
