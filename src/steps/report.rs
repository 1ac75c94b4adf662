//! How a process ends: what was told decides the exit code.

use crate::{
    exit::Exit,
    model::{
        IncidentId,
        report::{Report, Status},
    },
};

/// Notes that a message of this status was sent.
pub fn told(report: &mut Report, incident: &IncidentId, status: Status) {
    match status {
        Status::TakenBack => {
            report.to_person.push(incident.clone());
            report.taken_back.push(incident.clone());
        }
        Status::NeedsYou | Status::Frozen => report.to_person.push(incident.clone()),
        Status::Budget => report.out_of_budget.push(incident.clone()),
        Status::Inventory
        | Status::DraftReady
        | Status::Merged
        | Status::Resolved
        | Status::Unconfirmed
        | Status::Declined
        | Status::Unwatched
        | Status::Blind
        | Status::SeeingAgain
        | Status::GateFault
        | Status::Overflow
        | Status::Warning => {}
    }
}

/// The first that holds, in the documented order.
pub fn exit(report: &Report) -> Exit {
    if !report.to_person.is_empty() {
        Exit::NeedsHuman
    } else if !report.out_of_budget.is_empty() {
        Exit::Budget
    } else if !report.blind.is_empty() || report.gate_fault.is_some() {
        Exit::Blind
    } else if !report.unsent.is_empty() {
        // Nobody can be told by mail that no mail goes out.
        Exit::CouldNot
    } else {
        Exit::Ok
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
        assert_eq!(exit(&report), Exit::Ok);
        report.unsent.push("blind of 7f3a91c0: no server".to_owned());
        assert_eq!(exit(&report), Exit::CouldNot, "what needs a person outranks it");
        report.blind.push("exceptions".to_owned());
        assert_eq!(exit(&report), Exit::Blind);
        told(&mut report, &id, Status::Budget);
        assert_eq!(exit(&report), Exit::Budget);
        told(&mut report, &id, Status::Resolved);
        assert_eq!(exit(&report), Exit::Budget);
        told(&mut report, &id, Status::NeedsYou);
        assert_eq!(exit(&report), Exit::NeedsHuman);
    }
}
