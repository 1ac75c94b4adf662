//! The failed jobs of a red run, once more: when they are, what comes of it, and that no model is asked before.

use super::*;
use crate::{
    decide::{facts::Hindered, next, why},
    model::checks::{RedRun, RunSeen},
};

fn red(change: impl FnOnce(&mut Fake)) -> Fake {
    let mut fake = Fake::new(&[Made::Good]);
    fake.facts.cause.points_at_code = false;
    fake.facts.cause.red_run = Some(RedRun {
        id: 7,
        attempt: 1,
        sha: fake.base.clone(),
        conclusion: "failure".to_owned(),
        green_too: false,
    });
    change(&mut fake);
    fake
}

fn ends(fake: &mut Fake, state: CheckState) {
    fake.waits_for("the failed jobs of run 7 run again");
    assert!(next::rerun_comes_first(&fake.facts, &fake.policy), "no model is asked");
    let unmet = why::not_merged(&fake.facts, &fake.policy);
    assert_eq!(unmet[0].value, "the failed jobs of run 7 run again");
    fake.reran = Some(RunSeen { attempt: 2, state });
}

#[test]
fn green_on_the_same_commit_ends_it_without_a_word() {
    let mut fake = red(|_| {});
    ends(&mut fake, CheckState::Success);
    assert_eq!(fake.until_done(), IncidentOutcome::Gone);
    assert_eq!(fake.trace, ["Rerun", "Reran"]);
    assert!(fake.mails.is_empty(), "nobody had heard of it");
}

#[test]
fn who_heard_of_it_hears_of_its_end() {
    let mut fake = red(|fake| fake.facts.told.extend([Status::NeedsYou]));
    ends(&mut fake, CheckState::Success);
    assert_eq!(fake.until_done(), IncidentOutcome::Gone);
    assert_eq!(fake.mails, [Status::Resolved]);
}

#[test]
fn red_again_or_no_answer_goes_on_and_is_not_asked_twice() {
    for state in [CheckState::Failure, CheckState::Cancelled, CheckState::InProgress] {
        let mut fake = red(|_| {});
        ends(&mut fake, state);
        for _ in 0..12 {
            if matches!(fake.rest(), Rest::Waits(why) if why.contains("triage has not answered")) {
                break;
            }
            fake.now += TimeDelta::minutes(15);
        }
        fake.waits_for("triage has not answered");
        assert!(!next::rerun_comes_first(&fake.facts, &fake.policy), "{state:?}");
        fake.facts.cause.red_run.as_mut().unwrap().id = 8;
        fake.triaged(TriageVerdict::Bug);
        fake.rest();
        let asked = fake.trace.iter().filter(|step| *step == "Rerun").count();
        assert_eq!(asked, 1, "{:?}", fake.trace);
        assert!(fake.trace.iter().any(|step| step == "Attempt"), "{:?}", fake.trace);
    }
}

#[test]
fn what_comes_and_goes_runs_again_up_to_five_times() {
    let e2e = |fake: &mut Fake| {
        fake.triaged(TriageVerdict::Bug);
        fake.facts.triage.as_mut().unwrap().failure_type = FailureType::E2e;
    };
    let flaky = |fake: &mut Fake| fake.facts.cause.flaky_before = true;
    for (change, green_at) in [(&flaky as &dyn Fn(&mut Fake), 3), (&e2e, 5), (&flaky, 9)] {
        let mut fake = red(change);
        for n in 1..=5 {
            fake.waits_for("the failed jobs of run 7 run again");
            let state = if n == green_at {
                CheckState::Success
            } else {
                CheckState::Failure
            };
            fake.reran = Some(RunSeen { attempt: n + 1, state });
            if n == green_at {
                break;
            }
        }
        let asked = |fake: &Fake| fake.trace.iter().filter(|step| *step == "Rerun").count();
        if green_at > 5 {
            fake.waits_for("triage has not answered");
            assert_eq!(asked(&fake), 5, "{:?}", fake.trace);
        } else {
            assert_eq!(fake.until_done(), IncidentOutcome::Gone);
            assert_eq!(asked(&fake) as u64, green_at, "{:?}", fake.trace);
            assert!(fake.mails.is_empty(), "nobody had heard of it");
        }
    }
}

#[test]
fn what_the_host_does_not_let_through_keeps_nothing_back() {
    for (times, denied) in [(1, true), (3, false)] {
        let mut fake = red(|_| {});
        let (why, last) = ("the run is not there".to_owned(), fake.now);
        let hindered = Hindered {
            times,
            denied,
            why,
            last,
        };
        fake.facts.hindered.insert("rerun/0".to_owned(), hindered);
        fake.waits_for("triage has not answered");
        assert_eq!(fake.trace, ["Reran"]);
        assert!(fake.mails.is_empty(), "no person is asked for that");
    }
}

#[test]
fn what_points_at_the_code_is_not_run_again_without_another_reason() {
    let first = |change: fn(&mut Fake)| {
        let fake = red(|fake| {
            fake.facts.cause.points_at_code = true;
            change(fake);
        });
        next::rerun_comes_first(&fake.facts, &fake.policy)
    };
    assert!(!first(|_| {}));
    assert!(first(|fake| fake.facts.cause.flaky_before = true));
    assert!(first(|fake| fake.facts.cause.red_run.as_mut().unwrap().green_too = true));
    assert!(first(|fake| fake.facts.cause.label = "infrastructure".to_owned()));
    assert!(first(|fake| {
        "timed_out".clone_into(&mut fake.facts.cause.red_run.as_mut().unwrap().conclusion);
    }));
    assert!(first(|fake| fake.triaged(TriageVerdict::Infrastructure)));
    assert!(!first(|fake| fake.triaged(TriageVerdict::Bug)));
}

#[test]
fn it_needs_leave_and_the_commit_that_the_branch_is_at() {
    let first = |change: fn(&mut Fake)| {
        let fake = red(change);
        next::rerun_comes_first(&fake.facts, &fake.policy)
    };
    assert!(first(|_| {}));
    assert!(!first(|fake| fake.policy.reruns = false));
    assert!(!first(|fake| fake.policy.rung = Mode::Diagnose));
    assert!(!first(|fake| fake.facts.paused = Some("a holiday".to_owned())));
    assert!(!first(|fake| fake.facts.cause.is_down = true));
    assert!(!first(|fake| fake.facts.cause.security = Some("injection".to_owned())));
    assert!(!first(|fake| fake.facts.cause.red_run = None));

    let mut stopped = red(|fake| fake.stop = stopped());
    stopped.waits_for("stopped");
    assert!(stopped.trace.is_empty());

    let mut moved = red(|_| {});
    moved.base = sha(77);
    moved.waits_for("triage has not answered");
    assert_eq!(moved.trace, ["Reran"], "an older commit's jobs might deploy it");
}
