//! What is waited for has an end or is told.

use super::*;
use crate::model::signal::SignalKind;

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
    down.waits_for("triage could not work once: overloaded");
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
    busy.waits_for("the agent could not work once: overload");
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

#[test]
fn what_is_not_for_code_is_told_and_watched_until_it_is_over() {
    let verdicts = [
        TriageVerdict::Infrastructure,
        TriageVerdict::Auth,
        TriageVerdict::Config,
        TriageVerdict::NeedsHuman,
    ];
    for verdict in verdicts {
        let mut fake = Fake::new(&[]);
        fake.triaged(verdict);
        fake.waits_for("tick says when it is over");
        assert_eq!(fake.until_done(), IncidentOutcome::Gone);
        assert_eq!(fake.mails, [Status::NeedsYou, Status::Resolved]);
    }
    let mut noise = Fake::new(&[]);
    noise.triaged(TriageVerdict::Noise);
    assert_eq!(noise.rest(), Rest::Done(IncidentOutcome::Noise));
    let mut probe = Fake::new(&[]);
    probe.facts.cause.kind = SignalKind::Health;
    probe.facts.cause.last_seen = probe.now;
    probe.triaged(TriageVerdict::Noise);
    probe.waits_for("a probe that is down is never that");
    assert_eq!(probe.mails, [Status::NeedsYou]);
    let mut diagnose = Fake::bug(&[]);
    diagnose.policy.rung = Mode::Diagnose;
    diagnose.waits_for("a person moves next");
    let mut busy = Fake::new(&[]);
    busy.facts.triage_unavailable = Unavailable {
        times: 3,
        last: Some((busy.now, "overload".to_owned())),
    };
    busy.waits_for("triage could not work 3 times: overload; it is asked again");
    assert_eq!(busy.mails, [Status::NeedsYou], "told once, and asked on");
    let mut mute = Fake::new(&[]);
    mute.facts.triage_failures = 3;
    mute.waits_for("a person moves next");
    assert_eq!(mute.mails, [Status::NeedsYou]);
}

#[test]
fn ignored_unreadable_and_health_failures_after_our_merge() {
    let mut ignored = with_pull();
    ignored.facts.cause.ignored_until = Some(at(9999));
    ignored.waits_for("ignored until");
    ignored.facts.pull = None;
    assert_eq!(ignored.rest(), Rest::Done(IncidentOutcome::Ignored));
    let mut blind = with_pull();
    blind.ci = CheckState::Success;
    blind.unreadable = true;
    blind.waits_for("could not read the forge");
    assert!(blind.facts.merge.is_none());
    let mut health = Fake::bug(&[]);
    health.facts.triage.as_mut().unwrap().failure_type = FailureType::Health;
    health.facts.ours_serves = true;
    health.facts.cause.last_seen = health.now;
    health.waits_for("a person moves next");
    // Triage may take a page that is down for an error of the code.
    let mut page = Fake::bug(&[]);
    page.facts.cause.kind = SignalKind::Health;
    page.facts.ours_serves = true;
    page.facts.cause.last_seen = page.now;
    page.waits_for("a person moves next");
    // Once the release is taken back and the page is up, there is nothing to repair.
    page.facts.ours_serves = false;
    page.facts.cause.quiet_looks = 1;
    page.waits_for("it is up again");
    assert!(page.facts.attempts.is_empty());
}

#[test]
fn what_smells_of_security_is_told_to_the_owner_and_shown_to_nobody_else() {
    for verdict in [TriageVerdict::Bug, TriageVerdict::Noise, TriageVerdict::Infrastructure] {
        for public in [true, false] {
            let mut fake = Fake::bug(&[Made::Good]);
            fake.triaged(verdict);
            fake.rules.public = public;
            fake.facts.cause.security = Some("injection".to_owned());
            assert_eq!(fake.until_done(), IncidentOutcome::Gone);
            assert_eq!(fake.mails, [Status::NeedsYou, Status::Resolved], "{verdict:?}");
            assert!(fake.trace.iter().all(|action| action == "Tell"), "{:?}", fake.trace);
        }
    }
}
