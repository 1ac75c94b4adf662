//! The cheapest remedy: the failed jobs of a red run, once more on the same commit, before any model is asked. Only where
//! something speaks for a flake or for what CI runs on, or nothing speaks for the code; only of the commit that the default
//! branch is at, since an older one's jobs might deploy it; and once. What is known to come and go, and end-to-end tests, run
//! up to five times: green once shows the flake.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Action, Next, done, hindered_key, next_tick, stopped, tell_then};
use crate::{
    decide::facts::{Facts, Need, Policy, RerunEnd, Seen, Status},
    model::{
        Mode,
        checks::{CheckState, RedRun},
        incident::{FailureType, IncidentOutcome, Triage, TriageVerdict},
    },
};

/// Red reruns of what may come and go, after which it is a failure like any other.
const MOST_REDS: u32 = 5;
/// Failed tries after which the next remedy is tried instead.
const TRIES: u32 = 3;
/// For so long the jobs may not have ended.
const END: TimeDelta = TimeDelta::hours(3);

/// Whether this comes before everything else that would be done, asking a model included.
pub fn comes_first(facts: &Facts, policy: &Policy) -> bool {
    match &facts.rerun.end {
        Some(RerunEnd::Green) => return true,
        Some(RerunEnd::Red) if again(facts) => {}
        Some(RerunEnd::Red | RerunEnd::Nothing(_)) => return false,
        None if facts.rerun.sent.is_some() => return true,
        None => {}
    }
    let untouched = facts.attempts.is_empty() && facts.pull.is_none() && facts.merge.is_none();
    let allowed = policy.reruns && policy.rung >= Mode::MonitorOnly && facts.paused.is_none();
    let alone = facts.cause.security.is_none() && !facts.cause.is_down;
    untouched && allowed && alone && facts.cause.red_run.is_some() && doubt(facts).is_some()
}

/// Red once says little about what comes and goes.
fn again(facts: &Facts) -> bool {
    let cause = &facts.cause;
    let green_too = cause.red_run.as_ref().is_some_and(|run| run.green_too);
    let is_e2e = |triage: &Triage| triage.verdict == TriageVerdict::Bug && triage.failure_type == FailureType::E2e;
    let may_go = cause.flaky_before || green_too || facts.triage.as_ref().is_some_and(is_e2e);
    may_go && facts.rerun.reds < MOST_REDS
}

/// What speaks against the code being the cause, for people.
fn doubt(facts: &Facts) -> Option<&'static str> {
    let cause = &facts.cause;
    let run = cause.red_run.as_ref()?;
    if run.green_too {
        return Some("another run of this commit was green");
    }
    if cause.flaky_before {
        return Some("this test was red and green on one commit before");
    }
    if let Some(triage) = &facts.triage {
        return match (triage.verdict, triage.failure_type) {
            (TriageVerdict::Infrastructure, _) => Some("triage calls it infrastructure"),
            (TriageVerdict::Bug, FailureType::E2e) => Some("triage calls it an end-to-end test, or flaky"),
            (
                TriageVerdict::Bug
                | TriageVerdict::Noise
                | TriageVerdict::Auth
                | TriageVerdict::Config
                | TriageVerdict::NeedsHuman,
                _,
            ) => None,
        };
    }
    match run.conclusion.as_str() {
        "timed_out" => return Some("the run timed out"),
        "startup_failure" => return Some("the run did not start"),
        _ => {}
    }
    if cause.label == "infrastructure" {
        Some("what it printed is about what CI runs on")
    } else if cause.points_at_code {
        None
    } else {
        Some("nothing that it printed points at the code")
    }
}

pub(super) fn need(facts: &Facts) -> Need {
    let waits = facts.rerun.sent.is_some() && facts.rerun.end.is_none();
    Need {
        stop: !waits,
        base: !waits,
        rerun: waits,
        ..Need::default()
    }
}

pub(super) fn remedy(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Option<Next> {
    if !comes_first(facts, policy) {
        return None;
    }
    let run = match (&facts.rerun.end, &facts.rerun.sent) {
        (None, Some((run, since))) => return Some(answer(run, *since, seen, now)),
        (None, None) => facts.cause.red_run.clone()?,
        // The rerun was a try of the same run, and was red as well.
        (Some(RerunEnd::Red), Some((run, _))) => RedRun {
            attempt: run.attempt + 1,
            ..run.clone()
        },
        (Some(_), _) => return Some(over(facts)),
    };
    if let Some(stop) = stopped(seen, now) {
        return Some(stop);
    }
    let action = Action::Rerun {
        run: run.clone(),
        why: doubt(facts)?.to_owned(),
    };
    let hindered = facts.hindered.get(&hindered_key(facts, &action));
    let not = if seen.base.as_ref() == Some(&run.sha) {
        hindered.filter(|h| h.denied || h.times >= TRIES).map(|h| h.why.clone())
    } else {
        Some("the default branch has another commit now".to_owned())
    };
    Some(Next::Act(match not {
        None => action,
        Some(why) => Action::Reran {
            run,
            end: RerunEnd::Nothing(why),
        },
    }))
}

fn answer(run: &RedRun, since: DateTime<Utc>, seen: &Seen, now: DateTime<Utc>) -> Next {
    let is = seen.rerun.filter(|is| is.attempt > run.attempt);
    let end = match is.map(|is| is.state).filter(|state| state.has_ended()) {
        Some(CheckState::Success) => RerunEnd::Green,
        Some(CheckState::Failure | CheckState::TimedOut | CheckState::StartupFailure) => RerunEnd::Red,
        Some(
            CheckState::Cancelled
            | CheckState::Skipped
            | CheckState::Neutral
            | CheckState::Stale
            | CheckState::ActionRequired
            | CheckState::Queued
            | CheckState::InProgress
            | CheckState::Unknown,
        ) => RerunEnd::Nothing("somebody called it off".to_owned()),
        None if now - since >= END => {
            RerunEnd::Nothing(format!("its jobs did not end within {} hours", END.num_hours()))
        }
        None => {
            let why = format!(
                "CI moves next: the failed jobs of run {} run again on {}",
                run.id,
                run.sha.short()
            );
            return next_tick(now, why);
        }
    };
    Next::Act(Action::Reran { run: run.clone(), end })
}

/// Green on the very commit that was red. Who never heard of it need not hear of its end either.
fn over(facts: &Facts) -> Next {
    let gone = || done(IncidentOutcome::Gone);
    if facts.told.is_empty() {
        return gone();
    }
    let why = "its failed jobs ran again on the same commit and are green: it comes and goes";
    tell_then(facts, Status::Resolved, why, gone)
}
