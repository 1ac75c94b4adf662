//! What is waited for has an end or is told.

use chrono::TimeDelta;

use super::{
    fake::{Fake, Made, Rest},
    given::at,
    stopped, with_pull,
};
use crate::{
    decide::facts::{Status, Unavailable},
    model::{
        checks::CheckState,
        incident::{IncidentOutcome, TriageVerdict},
        signal::SignalKind,
    },
};

/// Still there in this look, whenever that is.
fn there(fake: &mut Fake) {
    fake.facts.cause.last_seen = fake.now;
}

#[test]
fn whom_no_agent_may_help_hears_of_it_all_the_same_and_of_its_end() {
    let mut spent = Fake::new(&[]);
    spent.policy.agent_runs_per_day = 0;
    let mut paused = Fake::new(&[]);
    paused.facts.paused = Some("by ana".to_owned());
    for (mut fake, word, status) in [
        (spent, "budget: 0 agent runs today, the limit", Status::Budget),
        (paused, "stopped: tick pause (by ana)", Status::NeedsYou),
    ] {
        for _ in 0..3 {
            there(&mut fake);
            fake.waits_for(word);
        }
        assert_eq!(fake.mails, [status], "once");
        fake.now += TimeDelta::minutes(30);
        assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Gone));
        assert_eq!(fake.mails, [status, Status::Resolved]);
    }
    // With a new day or a resume, triage is asked: it waits for nothing else.
    let mut resumed = Fake::new(&[]);
    resumed.waits_for("triage has not answered");
    assert_eq!(resumed.mails, []);
}

#[test]
fn a_page_that_is_down_is_told_before_anybody_has_a_guess() {
    let mut down = Fake::new(&[]);
    down.facts.cause.is_down = true;
    down.facts.triage_unavailable = Unavailable {
        times: 1,
        last: Some((at(0), "overloaded".to_owned())),
    };
    there(&mut down);
    down.waits_for("triage could not work 1 times: overloaded");
    assert_eq!(down.mails, [Status::NeedsYou], "not after an hour of asking");
    there(&mut down);
    down.triaged(TriageVerdict::Infrastructure);
    down.waits_for("this is infrastructure");
    assert_eq!(down.mails, [Status::NeedsYou]);
    // Up again, although triage never answered.
    down.facts.triage = None;
    down.facts.cause.is_down = false;
    down.now += TimeDelta::minutes(60);
    assert_eq!(down.rest(), Rest::Done(IncidentOutcome::Gone));
    assert_eq!(down.mails, [Status::NeedsYou, Status::Resolved]);
}

#[test]
fn what_stops_tick_stops_no_alarm() {
    let mut page = Fake::bug(&[]);
    page.facts.cause.kind = SignalKind::Health;
    page.stop = stopped();
    there(&mut page);
    page.waits_for("stopped: label tick:stop");
    assert_eq!(page.mails, [Status::NeedsYou]);
}

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
