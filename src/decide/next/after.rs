//! After the merge: what landed, when it served, what was seen since, and taking it back.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Action, Next, act_once,
    before::{until_over, watch_until_over},
    done, next_tick,
    pull::{Candidate, check_set, judge_merge},
    stopped, tell_then,
};
use crate::{
    decide::{
        checks::CheckSet,
        facts::{Facts, Landing, OurMerge, Policy, Seen, Status, keys},
        merge::{self, Bound, Evidence, MergeVerdict},
        observation::{self, Observed},
    },
    model::{Mode, incident::IncidentOutcome},
};

pub(super) fn merged(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let Some(merge) = &facts.merge else {
        return done(IncidentOutcome::Escalated);
    };
    let Some(landed) = &merge.landed else {
        return if seen.landed.is_some() {
            Next::Act(Action::Landed { sha: merge.sha.clone() })
        } else if seen.landed_missing && now - merge.at >= TimeDelta::minutes(10) {
            let sha = merge.sha.short();
            freeze(
                facts,
                &format!("the host said that it merged {sha}, and there is no such commit"),
            )
        } else {
            next_tick(now, "the landed commit cannot be seen yet")
        };
    };
    match (landed.verdict(), merge.landed_tests) {
        (Landing::WrongTree, _) => {
            let why = format!(
                "the host landed tree {} where {} was tested",
                landed.tree.short(),
                landed.expected_tree.short()
            );
            return freeze(facts, &why);
        }
        (Landing::Raced, None) => return Next::Act(Action::TestLanded { sha: merge.sha.clone() }),
        (Landing::Raced, Some(false)) => {
            let why = "something else landed first, and the tests fail on the two together".to_owned();
            return begin_take_back(facts, policy, merge, why, now);
        }
        (Landing::Raced, Some(true)) | (Landing::AsTested, _) => {}
    }
    observe(facts, policy, merge, now)
}

/// The host did something else than it was asked: nothing is merged until a person resumes.
pub(super) fn freeze(facts: &Facts, why: &str) -> Next {
    if facts.frozen.is_none() && !facts.told.contains(&Status::Frozen) {
        return Next::Act(Action::Freeze { why: why.to_owned() });
    }
    tell_then(facts, Status::Frozen, why, || done(IncidentOutcome::Escalated))
}

pub(super) fn observe(facts: &Facts, policy: &Policy, merge: &OurMerge, now: DateTime<Utc>) -> Next {
    let (Some(live_at), Some(watch)) = (merge.live_at, &facts.watch) else {
        return not_live(facts, policy, merge, now);
    };
    let record = |verdict: String| Action::Observed {
        sha: merge.sha.clone(),
        verdict,
    };
    match observation::observe(watch, live_at, policy.observe_min, now) {
        Observed::Watching { expected, until } => Next::Wait {
            // Worse is noticed at once, not when the time is over.
            until: until.min(now + TimeDelta::minutes(10)).max(now + TimeDelta::minutes(1)),
            why: format!("tick moves next: {} seen, {expected:.0} expected so far", watch.seen),
        },
        Observed::Gone { expected } => once_observed(merge, || record(format!("0 seen, {expected:.0} expected")))
            .unwrap_or_else(|| {
                tell_then(
                    facts,
                    Status::Resolved,
                    &format!("0 seen, {expected:.0} expected"),
                    || done(IncidentOutcome::Resolved),
                )
            }),
        Observed::Unconfirmed { expected } => {
            let why = format!("0 seen in 7 days, but only {expected:.1} were to be expected");
            tell_then(facts, Status::Unconfirmed, &why, || done(IncidentOutcome::Unconfirmed))
        }
        Observed::Still { seen, expected } => {
            let why = format!("still there after the merge: {seen} seen, {expected:.0} expected at the old rate");
            once_observed(merge, || record(why.clone()))
                .unwrap_or_else(|| tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, &why, now)))
        }
        Observed::Worse { why } => begin_take_back(facts, policy, merge, why, now),
    }
}

pub(super) fn once_observed(merge: &OurMerge, action: impl FnOnce() -> Action) -> Option<Next> {
    merge.observed.is_none().then(|| Next::Act(action()))
}

/// Without a probe that tells the release, a merge counts as live a quarter of an hour later, and says so.
pub(super) fn not_live(facts: &Facts, policy: &Policy, merge: &OurMerge, now: DateTime<Utc>) -> Next {
    let waited = now - merge.at;
    if merge.live_at.is_none() {
        let serves = facts.cause.release.is_some() && facts.cause.release.as_ref() == Some(&merge.sha);
        if serves || (!policy.release_known && waited >= TimeDelta::minutes(15)) {
            return Next::Act(Action::Live { sha: merge.sha.clone() });
        }
    }
    if waited >= TimeDelta::days(7) {
        let why = "merged, and no release that carries it was seen within 7 days";
        return tell_then(facts, Status::Unconfirmed, why, || done(IncidentOutcome::Unconfirmed));
    }
    if waited >= TimeDelta::hours(2) {
        return tell_then(facts, Status::Merged, "merged, but not live after two hours", || {
            next_tick(now, "waiting for the release that carries the merge; a person may look")
        });
    }
    next_tick(now, "waiting for the release that carries the merge")
}

pub(super) fn begin_take_back(
    facts: &Facts,
    policy: &Policy,
    merge: &OurMerge,
    why: String,
    now: DateTime<Utc>,
) -> Next {
    if merge.by.is_some() || !policy.rollback_own || policy.rung < Mode::Active {
        let why = format!("{why}; tick does not take this back by itself");
        return tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, &why, now));
    }
    Next::Act(Action::Note { why })
}

/// Times that a revert follows a base that moves while its checks run.
const REPLAYS: usize = 3;

pub(super) fn take_back(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let (Some(revert), Some(merge)) = (&facts.revert, &facts.merge) else {
        return done(IncidentOutcome::Escalated);
    };
    if revert.merged.is_some() || revert.gone {
        let key = format!("autonomy:{}", facts.id());
        if !facts.done.contains(&key) {
            return Next::Act(Action::DropAutonomy {
                why: revert.why.clone(),
            });
        }
        if revert.gone {
            let why = format!("a person took the merge back before tick did ({})", revert.why);
            return tell_then(facts, Status::Declined, &why, || done(IncidentOutcome::Declined));
        }
        // The old error is back with the old code: the incident ends when that does, and its end is told.
        return tell_then(facts, Status::TakenBack, &revert.why, || {
            until_over(facts, &revert.why, now, IncidentOutcome::TakenBack)
        });
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let by_hand = |why: &str| tell_then(facts, Status::NeedsYou, why, || watch_until_over(facts, why, now));
    let Some(head) = &revert.head else {
        return if facts.done.contains(&format!("revert-tried:{}", facts.id())) {
            by_hand("the merge makes things worse and does not revert cleanly")
        } else {
            Next::Act(Action::MakeRevert { sha: merge.sha.clone() })
        };
    };
    if revert.restores == merge::Restores::No {
        return by_hand("the merge makes things worse, and its revert fails the tests");
    }
    if revert.pushed.is_none() {
        if let Some(why) = facts.refused.get(&keys::push_revert(facts.id(), head)) {
            return by_hand(&format!("the host refused the push of the revert: {why}"));
        }
        return Next::Act(Action::PushRevert { head: head.clone() });
    }
    let (Some(pull), Some(base), Some(tree)) = (&seen.revert_pull, &revert.base, &revert.tree) else {
        return Next::Act(Action::OpenRevert { head: head.clone() });
    };
    if revert.earlier.contains(&pull.head_sha) {
        return next_tick(now, "the forge still shows an earlier head of ours");
    }
    if !revert.earlier.is_empty()
        && let Some(next) = act_once(
            facts,
            &keys::body(facts.id(), &format!("revert-{}", head.short())),
            || Action::RevertBody { head: head.clone() },
        )
    {
        return next;
    }
    let checks = check_set(facts, seen, policy, head);
    if let CheckSet::Failed(names) = &checks.verdict {
        return by_hand(&format!("the revert of our merge fails CI: {}", names.join(", ")));
    }
    let verdict = judge_merge(
        facts,
        seen,
        policy,
        &Candidate {
            pull,
            head,
            tree,
            base,
            evidence: Evidence::Revert {
                restores: Some(Bound {
                    head: head.clone(),
                    verdict: revert.restores,
                }),
            },
            checks,
        },
    );
    match verdict {
        MergeVerdict::Merge(proof) => Next::Act(Action::MergeRevert(proof)),
        MergeVerdict::Wait { why, .. } => next_tick(now, format!("the revert waits: {why}")),
        MergeVerdict::StartOver(why) if seen.base.as_ref() == Some(base) => {
            by_hand(&format!("the revert no longer fits: {why}"))
        }
        MergeVerdict::StartOver(_) if revert.earlier.len() >= REPLAYS => {
            by_hand("the base moves faster than the checks of the revert")
        }
        MergeVerdict::StartOver(_) => Next::Act(Action::MakeRevert { sha: merge.sha.clone() }),
        MergeVerdict::NeedsPerson(why) | MergeVerdict::Drop(why) => by_hand(&why),
    }
}
