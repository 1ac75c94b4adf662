//! A proof that CI computes: the witness alone is pushed and has to be red there, then the fix, which has to be green.
//! CI is waited for over ticks; one that does not start or end in time proves nothing.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Action, Next, Stage, before::escalate, done, hindered_key, next_tick, stage, stopped};
use crate::{
    decide::facts::{AttemptFacts, Facts, Policy, Seen, keys},
    model::{
        Sha,
        checks::{Check, CheckState, Checks},
        incident::IncidentOutcome,
    },
};

/// For so long CI may not have begun with what was pushed.
const START: TimeDelta = TimeDelta::minutes(30);
/// And for so long it may not have ended.
const END: TimeDelta = TimeDelta::hours(3);

/// The commit whose runs are waited for now.
pub(in crate::decide) fn awaited(facts: &Facts) -> Option<Sha> {
    let attempt = facts.current()?;
    let witness = attempt.ci.witness.as_ref()?.commit.as_ref();
    // The host knows no commit that was never pushed.
    let stands = |sha: &&Sha| facts.witness.as_ref().is_some_and(|pushed| pushed.head == **sha);
    let shown = |sha: &&Sha| attempt.is_a_persons() || facts.pushed.as_ref().is_some_and(|pushed| pushed.head == **sha);
    let pushed = witness.filter(stands).into_iter().chain(attempt.head().filter(shown));
    let mut all = [&attempt.attempt.base].into_iter().chain(pushed);
    all.find(|sha| !attempt.ci.reports.contains(*sha)).cloned()
}

pub(super) fn judge(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let Some((attempt, head)) = facts.current().and_then(|a| Some((a, a.head()?.clone()))) else {
        return done(IncidentOutcome::Escalated);
    };
    let n = attempt.attempt.n;
    if attempt.guards.is_none() {
        return Next::Act(Action::Guards { n, head });
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let Some(witness) = &attempt.ci.witness else {
        // The newest commit is the one that CI still has its reports of.
        return match &seen.base {
            Some(onto) if facts.pushed.is_none() && attempt.rebases == 0 && *onto != attempt.attempt.base => {
                Next::Act(Action::Rebase { n, onto: onto.clone() })
            }
            Some(_) | None => Next::Act(Action::CiWitness { n, head }),
        };
    };
    let waits = Waits {
        facts,
        seen,
        attempt,
        head: &head,
        now,
    };
    if let Some(next) = waits.for_runs(&attempt.attempt.base, "the base", attempt.attempt.ended) {
        return next;
    }
    if let Some(sha) = &witness.commit
        && !attempt.ci.reports.contains(sha)
    {
        let key = keys::push_witness(&attempt.attempt.id, sha);
        if let Some(why) = facts.refused.get(&key) {
            let branch = facts.id().witness_branch();
            return waits.unproven(format!(
                "{branch} could not be pushed ({why}); delete it, then tick retry"
            ));
        }
        let pushed = facts.witness.as_ref().filter(|pushed| pushed.head == *sha);
        let Some(pushed) = pushed else {
            return Next::Act(Action::PushWitness { n, sha: sha.clone() });
        };
        if let Some(next) = waits.for_runs(sha, "the witness", Some(pushed.at)) {
            return next;
        }
    }
    if !attempt.ci.red {
        return Next::Act(Action::CiGrade { n, head });
    }
    waits.for_the_fix(policy)
}

struct Waits<'a> {
    facts: &'a Facts,
    seen: &'a Seen,
    attempt: &'a AttemptFacts,
    head: &'a Sha,
    now: DateTime<Utc>,
}

impl Waits<'_> {
    /// Red is seen: the fix is pushed, and its runs decide.
    fn for_the_fix(&self, policy: &Policy) -> Next {
        let (facts, n, head) = (self.facts, self.attempt.attempt.n, self.head);
        let pushed = facts.pushed.as_ref().filter(|pushed| pushed.head == *head);
        let since = match pushed {
            Some(pushed) => pushed.at,
            None if self.attempt.is_a_persons() => self.attempt.attempt.started,
            None => {
                if facts.pull.is_none() && facts.other_open_pulls >= policy.open_pulls_per_repo {
                    let why = "as many pull requests of ours as allowed are open; a person moves next";
                    return next_tick(self.now, why);
                }
                if let Some(why) = facts.refused.get(&keys::push(&self.attempt.attempt.id, head)) {
                    let why = format!("the host refused the push: {why}");
                    return escalate(facts, self.seen, &why, self.now);
                }
                return Next::Act(Action::Push { n, head: head.clone() });
            }
        };
        self.for_runs(head, "the fix", Some(since))
            .unwrap_or_else(|| Next::Act(Action::CiGrade { n, head: head.clone() }))
    }

    /// What is next before the runs of a commit are read; none when they are.
    fn for_runs(&self, sha: &Sha, what: &str, since: Option<DateTime<Utc>>) -> Option<Next> {
        if self.attempt.ci.reports.contains(sha) {
            return None;
        }
        let Some(read) = self.seen.checks.as_ref().filter(|read| read.head == *sha) else {
            return Some(next_tick(
                self.now,
                format!("CI's runs of {what} were not read; tick moves next"),
            ));
        };
        // A status says nothing of a run, and keeps no report.
        let runs: Vec<&Check> = read.checks.iter().filter(|check| check.app_id.is_some()).collect();
        let waited = self.now - since.unwrap_or(self.now);
        let short = sha.short();
        Some(if runs.is_empty() && waited >= START {
            self.unproven(format!(
                "CI did not begin with {what} ({short}) within {} minutes",
                START.num_minutes()
            ))
        } else if runs.iter().any(|check| !check.state.has_ended()) && waited >= END {
            self.unproven(format!(
                "CI did not end with {what} ({short}) within {} hours",
                END.num_hours()
            ))
        } else if runs.is_empty() || runs.iter().any(|check| !check.state.has_ended()) {
            next_tick(self.now, format!("CI moves next: it proves {what} ({short})"))
        } else {
            let n = self.attempt.attempt.n;
            Next::Act(Action::CiReport { n, sha: sha.clone() })
        })
    }

    fn unproven(&self, why: String) -> Next {
        let (n, head) = (self.attempt.attempt.n, self.head.clone());
        Next::Act(Action::CiUnproven { n, head, why })
    }
}

/// Whether CI is green on a commit; none while it has not said so of every run.
pub fn says(read: &Checks) -> Option<bool> {
    let mut runs = read.checks.iter().filter(|check| check.app_id.is_some()).peekable();
    let ended = runs.peek().is_some() && read.incomplete.is_none();
    let states: Vec<CheckState> = runs.map(|check| check.state).collect();
    let good = |state: &CheckState| matches!(state, CheckState::Success | CheckState::Neutral | CheckState::Skipped);
    (ended && states.iter().all(|state| state.has_ended())).then(|| states.iter().all(good))
}

/// The branch of a witness goes as soon as nothing waits for its runs any more, also at the end of the incident.
pub(super) fn sweep(facts: &Facts, seen: &Seen, policy: &Policy, next: Next, now: DateTime<Utc>) -> Next {
    let Some(witness) = &facts.witness else {
        return next;
    };
    let over = matches!(next, Next::Done { .. });
    if !over && policy.by_ci && stage(facts, policy) == Stage::Judge {
        return next;
    }
    let drop = Action::DropWitness {
        key: witness.key.clone(),
        sha: witness.head.clone(),
    };
    let kept = facts.refused.contains_key(&keys::drop_witness(&witness.key));
    let hindered = facts.hindered.contains_key(&hindered_key(facts, &drop));
    if kept || hindered || stopped(seen, now).is_some() {
        return next;
    }
    Next::Act(drop)
}
