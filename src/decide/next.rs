//! The state machine: facts and the reads of this iteration in, the one next thing out. Total and pure; the stage is
//! derived from facts each time, never stored.

mod action;
mod after;
mod before;
mod by_ci;
mod hindered;
mod pull;
mod rerun;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{
    budget::{self, Budget},
    elsewhere,
    facts::{Facts, Need, Policy, Seen, Status, Unavailable},
    settle,
};
use crate::model::{
    Mode,
    evidence::AuditVerdict,
    incident::{IncidentOutcome, TriageVerdict},
    pull::StopSigns,
};
pub use action::Action;
use after::{merged, take_back};
pub use before::OVER;
pub(super) use before::head_is_ours;
pub use before::{SAYS_WHEN_OVER, quiet_for};
use before::{judge, person_moved, publish, repair, told, untriaged, unwatched};
pub(super) use by_ci::awaited as awaited_by_ci;
pub use by_ci::says as ci_says;
pub use hindered::{key as hindered_key, name};
use pull::pull;
pub use rerun::comes_first as rerun_comes_first;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    Act(Action),
    /// Nothing can be done before `until`; the sentence says who moves next.
    Wait {
        until: DateTime<Utc>,
        why: String,
    },
    Done {
        outcome: IncidentOutcome,
    },
}

/// Where an incident stands. A function of facts; only this file names stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ended,
    Untriaged,
    /// Not for code: told, and watched until it is over.
    Told,
    /// An attempt has to be made.
    Repair,
    /// The newest attempt's head is being judged, before anything is pushed.
    Judge,
    /// Its head is to be pushed, or its PR opened.
    Publish,
    /// The PR stands.
    Pull,
    Merged,
    TakingBack,
}

fn stage(facts: &Facts, policy: &Policy) -> Stage {
    if facts.incident.closed_at.is_some() {
        return Stage::Ended;
    }
    if facts.revert.is_some() {
        return Stage::TakingBack;
    }
    if facts.merge.is_some() {
        return Stage::Merged;
    }
    let Some(triage) = &facts.triage else {
        return Stage::Untriaged;
    };
    if triage.verdict != TriageVerdict::Bug || policy.rung < Mode::MonitorOnly || is_for_the_owner_alone(facts) {
        return Stage::Told;
    }
    let Some(attempt) = facts.current() else {
        return Stage::Repair;
    };
    if attempt.failure().is_some() {
        return if facts.pull.is_some() && !may_try_again(facts, policy) {
            Stage::Pull
        } else {
            Stage::Repair
        };
    }
    if attempt.guards.is_none() || attempt.proof.is_none() {
        return Stage::Judge;
    }
    let pushed = facts.pushed.as_ref().map(|p| &p.head);
    if facts.pull.is_none() || pushed != attempt.head() {
        return Stage::Publish;
    }
    Stage::Pull
}

/// Strangers, and everybody who may read the repository, would learn from a branch of what is not mended yet.
fn is_for_the_owner_alone(facts: &Facts) -> bool {
    facts.cause.security.is_some() && facts.pushed.is_none() && facts.pull.is_none()
}

fn may_try_again(facts: &Facts, policy: &Policy) -> bool {
    match budget::judge(facts, policy) {
        Budget::Go { .. } | Budget::Wait(_) | Budget::Spent(_) => true,
        Budget::Exhausted(_) => false,
    }
}

/// The outside reads that this stage wants.
pub fn need(facts: &Facts, policy: &Policy) -> Need {
    let mut need = if rerun::comes_first(facts, policy) {
        rerun::need(facts)
    } else {
        of_stage(facts, policy)
    };
    // Its branch may have to go, whatever the stage is.
    need.stop |= facts.witness.is_some();
    need
}

fn of_stage(facts: &Facts, policy: &Policy) -> Need {
    let nothing = Need::default();
    let with_pull = facts.pull.is_some();
    match stage(facts, policy) {
        Stage::Ended | Stage::Untriaged | Stage::Told => nothing,
        // Nothing more is tried at it, so nothing is asked either.
        Stage::Repair if !with_pull && !may_try_again(facts, policy) => nothing,
        Stage::Repair => Need {
            stop: true,
            base: true,
            // A later attempt is made on what the first one was compared with.
            failed_release: facts.failed_release.is_some() && facts.attempts.is_empty() && !with_pull,
            pull: with_pull,
            ..nothing
        },
        Stage::Judge => Need {
            pull: with_pull,
            stop: policy.by_ci,
            base: policy.by_ci,
            ci: policy.by_ci,
            ..nothing
        },
        Stage::Publish => Need {
            stop: true,
            rules: true,
            base: true,
            pull: with_pull,
            ..nothing
        },
        Stage::Pull => Need {
            stop: true,
            rules: true,
            base: true,
            pull: true,
            checks: true,
            ..nothing
        },
        Stage::Merged => Need {
            landed: facts.merge.as_ref().is_some_and(|m| m.landed.is_none()),
            ..nothing
        },
        Stage::TakingBack => Need {
            stop: true,
            rules: true,
            base: true,
            checks: true,
            revert_pull: true,
            ..nothing
        },
    }
}

/// The next tick looks again: due at once, but not within this process.
fn next_tick(now: DateTime<Utc>, why: impl Into<String>) -> Next {
    Next::Wait {
        until: now + TimeDelta::minutes(1),
        why: why.into(),
    }
}

const fn done(outcome: IncidentOutcome) -> Next {
    Next::Done { outcome }
}

fn tell_then(facts: &Facts, status: Status, why: &str, then: impl FnOnce() -> Next) -> Next {
    if facts.told.contains(&status) {
        then()
    } else {
        Next::Act(Action::Tell {
            status,
            why: why.to_owned(),
        })
    }
}

/// The one next step of an incident.
pub fn next(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let next = by_ci::sweep(facts, seen, policy, wanted(facts, seen, policy, now), now);
    let next = hindered::gate(facts, next, now);
    settle::leave(facts, seen, next)
}

/// What the stage asks for, whether or not the outside lets it through.
fn wanted(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    if let Some(outcome) = facts.incident.outcome {
        return done(outcome);
    }
    if let Some(next) = ignored(facts, now) {
        return next;
    }
    if let Some(what) = seen.unreadable.first() {
        return next_tick(now, format!("could not read {what}; looked at again by the next tick"));
    }
    if let Some(action) = settle::happened(facts, seen) {
        return Next::Act(action);
    }
    if let Some(next) = person_moved(facts, seen, now) {
        return next;
    }
    if let Some(close) = elsewhere::close(facts, seen, policy, now) {
        return stopped(seen, now).unwrap_or(close);
    }
    if let Some(next) = unwatched(facts) {
        return next;
    }
    if let Some(next) = rerun::remedy(facts, seen, policy, now) {
        return next;
    }
    match stage(facts, policy) {
        Stage::Ended => done(IncidentOutcome::Escalated),
        Stage::Untriaged => untriaged(facts, policy, now),
        Stage::Told => told(facts, policy, now),
        Stage::Repair => repair(facts, seen, policy, now),
        Stage::Judge if policy.by_ci => by_ci::judge(facts, seen, policy, now),
        Stage::Judge => judge(facts),
        Stage::Publish => publish(facts, seen, policy, now),
        Stage::Pull => pull(facts, seen, policy, now),
        Stage::Merged => merged(facts, seen, policy, now),
        Stage::TakingBack => take_back(facts, seen, policy, now),
    }
}

/// A person's "leave it alone". Without a pull request it is over, and opens again when the time is and it is still there.
fn ignored(facts: &Facts, now: DateTime<Utc>) -> Option<Next> {
    let until = facts.cause.ignored_until.filter(|until| *until > now)?;
    if facts.merge.is_some() {
        return None;
    }
    Some(if facts.pull.is_none() {
        done(IncidentOutcome::Ignored)
    } else {
        let shown = until.format("%Y-%m-%d %H:%M UTC");
        Next::Wait {
            until,
            why: format!("a person moves next: ignored until {shown}, and its pull request stays open"),
        }
    })
}

fn stopped(seen: &Seen, now: DateTime<Utc>) -> Option<Next> {
    let why = match seen.stop.as_ref()? {
        StopSigns::None => return None,
        StopSigns::Stopped(signs) => signs.iter().map(|s| s.what.as_str()).collect::<Vec<_>>().join(", "),
        StopSigns::Unreadable(why) => format!("stop signs cannot be read ({why}), which counts as stopped"),
    };
    Some(next_tick(now, format!("stopped: {why}")))
}
/// An agent that could not work is asked again after a pause, and a person hears of it once.
fn pause(facts: &Facts, unavailable: &Unavailable, who: &str, now: DateTime<Utc>) -> Option<Next> {
    let until = unavailable.again_at().filter(|until| *until > now)?;
    let why = unavailable.sentence(who);
    let wait = || Next::Wait {
        until,
        why: format!("tick moves next: {why}; it is asked again"),
    };
    Some(if unavailable.is_told() {
        tell_then(facts, Status::NeedsYou, &why, wait)
    } else {
        wait()
    })
}

fn tomorrow(now: DateTime<Utc>) -> DateTime<Utc> {
    let next = now.date_naive() + chrono::Days::new(1);
    next.and_time(chrono::NaiveTime::MIN).and_utc()
}

const NEEDS_HUMAN: &str = "needs-human";

fn act_once(facts: &Facts, key: &str, action: impl FnOnce() -> Action) -> Option<Next> {
    (!facts.done.contains(key)).then(|| Next::Act(action()))
}
/// The audit's verdict as a word, for reports.
pub const fn audit_word(verdict: AuditVerdict) -> &'static str {
    match verdict {
        AuditVerdict::Approve => "approve",
        AuditVerdict::Revise => "revise",
        AuditVerdict::Reject => "reject",
    }
}
