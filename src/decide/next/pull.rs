//! While our pull request stands: audit, body, who has to say yes, and the merge.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Action, NEEDS_HUMAN, Next, act_once, before::escalate, done, next_tick, pause, stopped, tell_then, tomorrow,
};
use crate::{
    decide::{
        checks::{self, CheckSet},
        facts::{AttemptFacts, Facts, Policy, Seen, Status, keys},
        merge::{self, Bound, Evidence, MergeFacts, MergeVerdict, WaitsOn},
    },
    model::{Mode, Sha, incident::IncidentOutcome, pull::Pull},
};

pub(super) fn pull(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let Some(attempt) = facts.current() else {
        return done(IncidentOutcome::Escalated);
    };
    if let Some(failure) = attempt.failure() {
        return escalate(facts, seen, failure.sentence(), now);
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let Some(head) = attempt.head().cloned() else {
        return done(IncidentOutcome::Escalated);
    };
    let n = attempt.attempt.n;
    if attempt.audit.is_none() {
        return if attempt.audit_failures >= 3 {
            escalate(facts, seen, "the auditor gave no usable answer three times", now)
        } else if attempt.audit_unavailable.is_final() {
            escalate(facts, seen, &attempt.audit_unavailable.sentence("the auditor"), now)
        } else if let Some(wait) = pause(facts, &attempt.audit_unavailable, "the auditor", now) {
            wait
        } else if let Some(why) = out_of_runs(facts, policy) {
            tell_then(facts, Status::Budget, &why, || Next::Wait {
                until: tomorrow(now),
                why: format!("budget: {why}"),
            })
        } else {
            Next::Act(Action::Audit { n, head })
        };
    }
    if let Some(next) = act_once(
        facts,
        &keys::body(facts.id(), &format!("audited-{}", head.short())),
        || Action::Body {
            n,
            slot: format!("audited-{}", head.short()),
        },
    ) {
        return next;
    }
    let approved = facts.approved.is_some() || approved_by_review(seen, &head);
    if let Some(why) = attempt.needs_person()
        && !approved
    {
        return waits_for_person(facts, &why, now);
    }
    if policy.rung < Mode::Active {
        return tell_then(facts, Status::DraftReady, "the draft is proven and audited", || {
            Next::Wait {
                until: now + TimeDelta::minutes(10),
                why: "a person moves next: merge or close the draft".to_owned(),
            }
        });
    }
    to_merge(facts, seen, policy, now, attempt)
}

pub(super) fn out_of_runs(facts: &Facts, policy: &Policy) -> Option<String> {
    (facts.spent_usd.day_runs >= policy.agent_runs_per_day)
        .then(|| format!("{} agent runs today, the limit", facts.spent_usd.day_runs))
}

pub(super) fn approved_by_review(seen: &Seen, head: &Sha) -> bool {
    seen.pull.as_ref().is_some_and(|pull| {
        pull.reviews.iter().any(|review| {
            review.state == crate::model::pull::ReviewState::Approved
                && review.author_may_write
                && review.commit.as_ref() == Some(head)
        })
    })
}

pub(super) fn waits_for_person(facts: &Facts, why: &str, now: DateTime<Utc>) -> Next {
    if let Some(next) = act_once(facts, &keys::label(facts.id(), NEEDS_HUMAN), || Action::Label {
        label: NEEDS_HUMAN.to_owned(),
    }) {
        return next;
    }
    tell_then(facts, Status::NeedsYou, why, || Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: format!("a person moves next: merge, close, or tick approve ({why})"),
    })
}

pub(super) fn to_merge(
    facts: &Facts,
    seen: &Seen,
    policy: &Policy,
    now: DateTime<Utc>,
    attempt: &AttemptFacts,
) -> Next {
    let n = attempt.attempt.n;
    let (Some(head), Some(tree), Some(pull)) = (attempt.head(), &attempt.tree, &seen.pull) else {
        return next_tick(now, "the head or the pull request is unknown");
    };
    let checks = check_set(facts, seen, policy, head);
    if let CheckSet::Failed(names) = &checks.verdict {
        return Next::Act(Action::CiFailed {
            n,
            head: checks.head,
            checks: names.clone(),
        });
    }
    let evidence = Evidence::Fix {
        guards: bound(attempt, attempt.guards.as_ref().map(|g| g.verdict)),
        proof: attempt.proof.as_ref(),
        audit: attempt.audit.as_ref(),
    };
    let moved = seen.base.clone().filter(|base| *base != attempt.attempt.base);
    let candidate = Candidate {
        pull,
        head,
        tree,
        base: &attempt.attempt.base,
        evidence,
        checks,
    };
    let verdict = judge_merge(facts, seen, policy, &candidate);
    match verdict {
        MergeVerdict::Merge(proof) => Next::Act(Action::Merge(proof)),
        MergeVerdict::Wait { on: WaitsOn::Ready, .. } => act_once(facts, &keys::ready(facts.id()), || Action::Ready)
            .unwrap_or_else(|| next_tick(now, "a person moves next: the pull request was made a draft again")),
        MergeVerdict::Wait {
            on: WaitsOn::Person,
            why,
        } => asks_person(facts, seen, &why, now),
        MergeVerdict::Wait {
            on: on @ (WaitsOn::Ci | WaitsOn::Host),
            why,
        } => waits(facts, on, &why, now),
        MergeVerdict::NeedsPerson(why) => waits_for_person(facts, &why, now),
        MergeVerdict::StartOver(why) => match moved {
            Some(_) if attempt.rebases >= 3 => escalate(facts, seen, "the base moves faster than the tests", now),
            Some(onto) => Next::Act(Action::Rebase { n, onto }),
            None => next_tick(now, why),
        },
        MergeVerdict::Drop(why) => escalate(facts, seen, &why, now),
    }
}

/// Where the repository's rules ask for a review, one is requested, once.
pub(super) fn asks_person(facts: &Facts, seen: &Seen, why: &str, now: DateTime<Utc>) -> Next {
    let wanted = seen
        .rules
        .as_ref()
        .is_some_and(|rules| rules.required_approvals > 0 || rules.code_owner_review);
    if wanted && let Some(next) = act_once(facts, &keys::review(facts.id()), || Action::RequestReview) {
        return next;
    }
    // A review that was asked for is known to those who give it, and a sign or a freeze to who set it; everything else
    // is told once, since nothing moves until a person does.
    if wanted || facts.frozen.is_some() || stopped(seen, now).is_some() {
        return next_tick(now, format!("a person moves next: {why}"));
    }
    tell_then(facts, Status::DraftReady, why, || {
        next_tick(now, format!("a person moves next: {why}"))
    })
}

/// How long CI or the host may say neither yes nor no before a person hears of it.
const LONGEST_SILENCE: TimeDelta = TimeDelta::hours(3);

/// Waits for CI or the host; past the deadline a person is told what is missing, and tick still goes on by itself
/// should the answer come.
fn waits(facts: &Facts, on: WaitsOn, why: &str, now: DateTime<Utc>) -> Next {
    let since = facts
        .pushed
        .as_ref()
        .map_or(facts.incident.opened_at, |pushed| pushed.at);
    if now - since < LONGEST_SILENCE {
        return next_tick(now, why);
    }
    let who = match on {
        WaitsOn::Ci => "CI",
        WaitsOn::Host | WaitsOn::Person | WaitsOn::Ready => "the host",
    };
    let why = format!(
        "{who} has said neither yes nor no for {} h: {why}",
        LONGEST_SILENCE.num_hours()
    );
    if let Some(next) = act_once(facts, &keys::label(facts.id(), NEEDS_HUMAN), || Action::Label {
        label: NEEDS_HUMAN.to_owned(),
    }) {
        return next;
    }
    tell_then(facts, Status::NeedsYou, &why, || Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: format!("a person moves next: {why}"),
    })
}

/// What a merge is asked for: our PR at one head, with what speaks for it.
pub(super) struct Candidate<'a> {
    pub(super) pull: &'a Pull,
    pub(super) head: &'a Sha,
    pub(super) tree: &'a Sha,
    pub(super) base: &'a Sha,
    pub(super) evidence: Evidence<'a>,
    pub(super) checks: Bound<CheckSet>,
}

pub(super) fn judge_merge(facts: &Facts, seen: &Seen, policy: &Policy, of: &Candidate<'_>) -> MergeVerdict {
    let (Some(rules), Some(stop), Some(branch)) = (&seen.rules, &seen.stop, &seen.base_branch) else {
        return MergeVerdict::Wait {
            on: WaitsOn::Host,
            why: "rules or stop signs were not read".to_owned(),
        };
    };
    merge::judge(&MergeFacts {
        mode: policy.rung,
        pull: of.pull,
        base_branch: branch,
        our_head: of.head,
        tested_base: of.base,
        base_now: seen.base.as_ref(),
        landing_tree: of.tree,
        evidence: of.evidence.clone(),
        checks: of.checks.clone(),
        rules,
        unresolved_threads: seen.threads,
        stop,
        frozen: facts.frozen.as_deref(),
        approved: facts.approved.as_ref().map(|a| &a.head),
    })
}

pub(super) fn bound<V>(attempt: &AttemptFacts, verdict: Option<V>) -> Option<Bound<V>> {
    Some(Bound {
        head: attempt.head()?.clone(),
        verdict: verdict?,
    })
}

/// The check set of the head that it was read for; what was not read is unknown.
pub(super) fn check_set(facts: &Facts, seen: &Seen, policy: &Policy, head: &Sha) -> Bound<CheckSet> {
    let pushed_at = match &facts.revert {
        Some(revert) => revert.pushed,
        // A person's head was there before we looked: whatever ran on it ran on this very commit.
        None if facts.current().is_some_and(AttemptFacts::is_a_persons) => Some(DateTime::<Utc>::MIN_UTC),
        None => facts.pushed.as_ref().map(|p| p.at),
    };
    match (&seen.checks, &seen.rules, pushed_at) {
        (Some(read), Some(rules), Some(at)) => Bound {
            head: read.head.clone(),
            verdict: checks::check_set(read, rules, policy.nonblocking.as_ref(), &policy.may_skip, at),
        },
        _ => Bound {
            head: head.clone(),
            verdict: CheckSet::Unknown("checks or rules were not read".to_owned()),
        },
    }
}
