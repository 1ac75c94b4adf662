//! What the outside did not let through: tried again after growing pauses, told after the last of them, and then a
//! person's. A no that waiting cannot mend is told at once.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Action, Next, before::watch_until_over, done, tell_then};
use crate::{
    decide::facts::{Facts, Hindered, Status},
    model::incident::IncidentOutcome,
};

/// Failed tries after which a person is told.
const TRIES: u32 = 5;
/// Minutes until the next try, after the first failed one, the second, and so on.
const PAUSES: [i64; 4] = [1, 5, 15, 30];
/// Once told, it is tried hourly for another day: most outages end by themselves.
const LAST_TRY: u32 = TRIES + 24;

/// The action as failed tries are counted: its kind, within the newest attempt.
pub fn key(facts: &Facts, action: &Action) -> String {
    let n = facts.current().map_or(0, |a| a.attempt.n);
    format!("{}/{n}", name(action))
}

/// Lets an action pass that nothing speaks against; else waits, tells, or gives up.
pub(super) fn gate(facts: &Facts, next: Next, now: DateTime<Utc>) -> Next {
    let Next::Act(action) = &next else {
        return next;
    };
    let Some(hindered) = facts.hindered.get(&key(facts, action)) else {
        return next;
    };
    if !hindered.denied && hindered.times < TRIES {
        return after_pause(hindered, next, now);
    }
    let times = if hindered.denied || hindered.times == 1 {
        String::new()
    } else {
        format!(" ({} times)", hindered.times)
    };
    let why = format!("{}{times}", hindered.why);
    tell_then(facts, Status::NeedsYou, &why, || {
        if !hindered.denied && hindered.times < LAST_TRY {
            after_pause(hindered, next, now)
        } else if facts.merge.is_some() {
            done(IncidentOutcome::Escalated)
        } else if facts.pull.is_none() {
            watch_until_over(facts, &why, now)
        } else {
            // What the person does with the open pull request is still to be seen.
            Next::Wait {
                until: now + TimeDelta::minutes(10),
                why: format!("a person moves next: mend it, then tick retry ({why})"),
            }
        }
    })
}

fn after_pause(hindered: &Hindered, next: Next, now: DateTime<Utc>) -> Next {
    let pause = usize::try_from(hindered.times.saturating_sub(1))
        .ok()
        .and_then(|n| PAUSES.get(n));
    let until = hindered.last + TimeDelta::minutes(pause.copied().unwrap_or(60));
    if now >= until {
        return next;
    }
    let of = if hindered.times < TRIES {
        format!(" of {TRIES}")
    } else {
        String::new()
    };
    Next::Wait {
        until,
        why: format!("{}; tried {}{of} times, tick tries again", hindered.why, hindered.times),
    }
}

/// One word an action, also for the log.
pub const fn name(action: &Action) -> &'static str {
    match action {
        Action::Rerun { .. } => "rerun",
        Action::Reran { .. } => "reran",
        Action::Attempt { .. } => "attempt",
        Action::Blame { .. } => "blame",
        Action::Guards { .. } => "guards",
        Action::Prove { .. } => "prove",
        Action::CiWitness { .. } => "ci_witness",
        Action::PushWitness { .. } => "push_witness",
        Action::CiReport { .. } => "ci_report",
        Action::CiGrade { .. } => "ci_grade",
        Action::CiUnproven { .. } => "ci_unproven",
        Action::DropWitness { .. } => "drop_witness",
        Action::Push { .. } => "push",
        Action::OpenPull { .. } => "open_pull",
        Action::Audit { .. } => "audit",
        Action::Body { .. } => "body",
        Action::Label { .. } => "label",
        Action::RequestReview => "request_review",
        Action::Ready => "ready",
        Action::Rebase { .. } => "rebase",
        Action::CiFailed { .. } => "ci_failed",
        Action::Merge(_) => "merge",
        Action::Adopt { .. } => "adopt",
        Action::Landed { .. } => "landed",
        Action::TestLanded { .. } => "test_landed",
        Action::Freeze { .. } => "freeze",
        Action::Live { .. } => "live",
        Action::Observed { .. } => "observed",
        Action::Note { .. } => "note",
        Action::MakeRevert { .. } => "make_revert",
        Action::PushRevert { .. } => "push_revert",
        Action::OpenRevert { .. } => "open_revert",
        Action::RevertBody { .. } => "revert_body",
        Action::MergeRevert(_) => "merge_revert",
        Action::DropAutonomy { .. } => "drop_autonomy",
        Action::Comment { .. } => "comment",
        Action::ClosePull { .. } => "close_pull",
        Action::Settle { .. } => "settle",
        Action::GiveUp { .. } => "give_up",
        Action::Tell { .. } => "tell",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{at, facts_with_pull, id};

    fn push() -> Next {
        Next::Act(Action::Push { n: 1, head: id('a') })
    }

    fn facts(times: u32, denied: bool) -> Facts {
        let mut facts = facts_with_pull();
        facts.pull = None;
        let why = "push fix/auto-7f3a91c0: no route to host".to_owned();
        let last = at(0);
        facts.hindered.insert(
            "push/1".to_owned(),
            Hindered {
                times,
                denied,
                why,
                last,
            },
        );
        facts
    }

    fn word(next: &Next) -> String {
        match next {
            Next::Act(Action::Tell { why, .. }) => format!("tell {why}"),
            Next::Act(action) => name(action).to_owned(),
            Next::Wait { until, why } => format!("{} {why}", (*until - at(0)).num_minutes()),
            Next::Done { outcome } => format!("{outcome:?}"),
        }
    }

    #[track_caller]
    fn check(facts: &Facts, minutes: i64, expected: &str) {
        let got = word(&gate(facts, push(), at(minutes)));
        assert!(got.starts_with(expected), "{got:?} does not begin with {expected:?}");
    }

    #[test]
    fn pauses_grow_and_then_a_person_is_told() {
        check(&facts_with_pull(), 0, "push");
        for (times, pause) in [(1, 1), (2, 5), (3, 15), (4, 30)] {
            check(&facts(times, false), 0, &format!("{pause} push fix/auto"));
            check(&facts(times, false), pause, "push");
        }
        check(
            &facts(5, false),
            0,
            "tell push fix/auto-7f3a91c0: no route to host (5 times)",
        );
        let mut told = facts(5, false);
        told.told.insert(Status::NeedsYou);
        check(&told, 0, "60 push fix/auto");
        check(&told, 60, "push");
        let mut last = facts(LAST_TRY, false);
        last.told.insert(Status::NeedsYou);
        check(&last, 600, "610 push fix/auto");
    }

    #[test]
    fn a_no_for_certain_is_told_at_once() {
        let mut denied = facts(1, true);
        check(&denied, 0, "tell push fix/auto-7f3a91c0: no route to host");
        denied.told.insert(Status::NeedsYou);
        check(&denied, 600, "610 push fix/auto");
        // With a pull request open, what the person does with it is still to be seen.
        denied.pull = facts_with_pull().pull;
        check(&denied, 600, "610 a person moves next");
    }

    #[test]
    fn a_later_attempt_starts_anew() {
        let mut next_one = facts(5, true);
        next_one.attempts[0].attempt.n = 2;
        check(&next_one, 0, "push");
    }
}
