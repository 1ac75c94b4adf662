//! What is waited for has an end or is told.

use chrono::TimeDelta;

use super::{
    fake::{Fake, Made, Rest},
    given::at,
    with_pull,
};
use crate::{
    decide::facts::Status,
    model::{checks::CheckState, incident::IncidentOutcome},
};

#[test]
fn who_has_to_move_is_told_once_and_the_fix_still_lands_when_the_answer_comes() {
    let mut slow = with_pull();
    slow.waits_for("running");
    assert_eq!(slow.mails, [], "CI may take its time");
    slow.now += TimeDelta::hours(3);
    slow.waits_for("CI has said neither yes nor no for 3 h: running");
    slow.waits_for("a person moves next");
    assert_eq!(slow.mails, [Status::NeedsYou]);
    slow.ci = CheckState::Success;
    assert_eq!(slow.until_done(), IncidentOutcome::Resolved);
    let mut unread = with_pull();
    unread.ci = CheckState::Success;
    unread.rules.unread = Some("the protection of main".to_owned());
    unread.waits_for("could not read the protection of main; a person merges");
    unread.waits_for("a person merges");
    assert_eq!(unread.mails, [Status::DraftReady]);
}

#[test]
fn an_agent_that_cannot_work_is_asked_again_after_a_pause_and_costs_no_attempt() {
    let mut busy = Fake::bug(&[Made::Overload, Made::Overload, Made::Overload, Made::Good]);
    busy.waits_for("the agent could not work 1 times: overload");
    busy.now += TimeDelta::minutes(5);
    busy.waits_for("could not work 2 times");
    assert_eq!(busy.mails, []);
    busy.now += TimeDelta::minutes(15);
    busy.waits_for("could not work 3 times");
    assert_eq!(busy.mails, [Status::NeedsYou], "a person hears of it once");
    busy.now += TimeDelta::minutes(30);
    assert_eq!(busy.until_done(), IncidentOutcome::Resolved);
}

#[test]
fn overload_costs_no_attempt_and_ends_too() {
    let mut ever = Fake::bug(&[Made::Overload; 24]);
    ever.policy.retries_per_run = 100;
    let mut attempts = 0;
    for _ in 0..200 {
        let Rest::Waits(_) = ever.rest() else { break };
        let made = ever.facts.attempts.len();
        assert!(made <= attempts + 1, "one run, then a pause");
        attempts = made;
        ever.now += TimeDelta::minutes(15);
    }
    assert_eq!(ever.facts.attempts.len(), 24);
    assert!(ever.now - at(0) > TimeDelta::hours(20));
    assert_eq!(
        ever.mails,
        [Status::NeedsYou, Status::Resolved],
        "a person's, and watched until it is over"
    );
}
