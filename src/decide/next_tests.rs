//! Incidents walked from seen to their end by [`next`](super::next), with a fake of the outside. Each story is one rule
//! of the state machine; the sweep over all stops puts a stop sign before every single turn.

mod after;
mod base;
mod by_ci;
mod culprit;
mod fake;
mod given;
mod rerun;
mod waits;

use chrono::TimeDelta;

use self::{
    fake::{Fake, Made, Rest, name_of},
    given::{at, review, sha},
};
use super::{
    facts::{Approved, Need, Seen, Status, Unavailable},
    next::{Action, Next},
};
use crate::model::{
    Mode,
    checks::CheckState,
    incident::{FailureType, IncidentOutcome, TriageVerdict},
    pull::{PullState, ReviewState, StopSign, StopSigns},
};

const REPAIR: [&str; 6] = ["Attempt", "Guards", "Prove", "Push", "OpenPull", "Audit"];
/// Writes that the forge or a person would see, and agents that work towards one.
const MUTATIONS: [&str; 14] = [
    "Attempt",
    "Push",
    "OpenPull",
    "Audit",
    "Body",
    "Label",
    "RequestReview",
    "Ready",
    "Merge",
    "PushRevert",
    "OpenRevert",
    "MergeRevert",
    "Comment",
    "ClosePull",
];

fn stopped() -> StopSigns {
    StopSigns::Stopped(vec![StopSign {
        what: "label tick:stop on #31".to_owned(),
        by: None,
        since: None,
    }])
}

fn with_pull() -> Fake {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.ci = CheckState::Queued;
    fake.waits_for("running");
    fake
}

/// Everything is merged and live.
fn merged() -> Fake {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.waits_for("expected so far");
    fake
}

#[test]
fn from_seen_to_resolved() {
    let mut fake = Fake::new(&[Made::WeakTest, Made::Good]);
    fake.waits_for("triage has not answered");
    fake.triaged(TriageVerdict::Bug);
    fake.ci = CheckState::InProgress;
    fake.waits_for("running: test");
    let mut story = vec!["Attempt", "Guards"];
    story.extend(REPAIR);
    story.push("Body");
    assert_eq!(fake.trace, story, "what the guards refuse is not pushed");
    fake.trace.clear();
    fake.ci = CheckState::Success;
    fake.waits_for("expected so far");
    assert_eq!(fake.trace, ["Merge", "Landed", "Live"]);
    assert_eq!(fake.until_done(), IncidentOutcome::Resolved);
    assert_eq!(fake.mails, [Status::Resolved], "one mail in all");
}

#[test]
fn a_closed_pull_is_a_no() {
    let mut fake = with_pull();
    fake.trace.clear();
    fake.pull.as_mut().unwrap().state = PullState::Closed;
    fake.ci = CheckState::Success;
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Declined));
    assert_eq!(fake.trace, ["Tell"], "nothing but one message");
    assert_eq!(fake.mails, [Status::Declined]);
}

#[test]
fn a_persons_merge_is_adopted_also_of_a_draft_and_never_taken_back_by_us() {
    for down in [0, 2] {
        let mut fake = Fake::bug(&[Made::Good]);
        fake.policy.rung = Mode::MonitorOnly;
        fake.waits_for("merge or close the draft");
        let pull = fake.pull.as_mut().unwrap();
        pull.state = PullState::Merged;
        pull.merge_sha = Some(sha(77));
        pull.closed_by = Some("ada".to_owned());
        fake.trace.clear();
        fake.probe_down = down;
        if down == 0 {
            assert_eq!(fake.until_done(), IncidentOutcome::Resolved);
        } else {
            fake.waits_for("tick does not take this back by itself; a person moves next");
        }
        assert_eq!(fake.trace[..3], ["Adopt", "Landed", "Live"]);
        assert!(!fake.trace.contains(&"Note".to_owned()));
    }
}

#[test]
fn a_persons_push_makes_the_branch_theirs() {
    let mut fake = with_pull();
    fake.trace.clear();
    fake.ci = CheckState::Success;
    fake.pull.as_mut().unwrap().head_sha = sha(66);
    fake.waits_for("the branch is theirs");
    fake.waits_for("the branch is theirs");
    assert_eq!(fake.trace, ["Tell"], "told once, and nothing else");
    // What `tick retry --keep-branch` makes of it: their head is an attempt to judge.
    let kept = fake.facts.attempts.last().unwrap().attempt.clone();
    let mut attempt = super::facts::AttemptFacts::of(kept);
    attempt.attempt.n = 2;
    attempt.attempt.head = Some(sha(66));
    attempt.attempt.charged = false;
    attempt.tree = Some(sha(900));
    fake.facts.attempts = vec![attempt];
    // Whatever ran on it ran before anybody said --keep-branch.
    fake.ci_started = Some(at(0));
    fake.trace.clear();
    fake.waits_for("expected so far");
    assert_eq!(fake.trace[..4], ["Guards", "Prove", "Push", "Audit"]);
    assert!(fake.trace.contains(&"Merge".to_owned()));
}

#[test]
fn an_earlier_head_of_ours_is_a_host_that_lags_and_not_a_person() {
    let mut fake = with_pull();
    let earlier = fake.head();
    fake.facts.pushed_before.insert(earlier.clone());
    fake.facts.pushed.as_mut().unwrap().head = sha(500);
    fake.facts.attempts.last_mut().unwrap().attempt.head = Some(sha(500));
    fake.waits_for("an earlier head of ours");
    assert!(fake.mails.is_empty());
}

/// Every turn of these stories is asked once more with a stop sign, and with signs that cannot be read.
#[test]
fn no_mutation_once_a_stop_sign_can_be_read() {
    let mut mutated = std::collections::BTreeSet::new();
    for mut fake in stories() {
        let mut each = |fake: &Fake, need: Need, seen: &Seen, next: &Next| {
            let Next::Act(action) = next else { return };
            let name = name_of(action);
            if !MUTATIONS.contains(&name.as_str()) {
                return;
            }
            assert!(need.stop, "{name} does not ask for stop signs");
            mutated.insert(name.clone());
            for sign in [stopped(), StopSigns::Unreadable("404".to_owned())] {
                let seen = Seen {
                    stop: Some(sign),
                    ..seen.clone()
                };
                let then = super::next::next(&fake.facts, &seen, &fake.policy, fake.now);
                assert!(
                    matches!(&then, Next::Wait { why, .. } if why.contains("stop")),
                    "{name} becomes {then:?}"
                );
            }
        };
        for _ in 0..40 {
            match fake.rest_with(&mut each) {
                Rest::Done(_) => break,
                Rest::Waits(_) => fake.now += TimeDelta::minutes(30),
            }
        }
    }
    // Comment and ClosePull are said by other rules.
    for name in &MUTATIONS[..12] {
        assert!(mutated.contains(*name), "no story reaches {name}");
    }
}

fn stories() -> Vec<Fake> {
    let mut worse = Fake::bug(&[Made::WeakTest, Made::Good]);
    worse.probe_down = 2;
    let mut red = Fake::bug(&[Made::Good, Made::Good]);
    red.ci = CheckState::Failure;
    let mut reviewed = Fake::bug(&[Made::Good]);
    reviewed.rules.required_approvals = 1;
    let mut approved = Fake::bug(&[Made::Sensitive]);
    approved.facts.approved = Some(Approved {
        by: "ada".to_owned(),
        head: sha(101),
    });
    vec![worse, red, reviewed, approved, Fake::bug(&[Made::Unproven])]
}

#[test]
fn the_stop_label_on_the_very_pull_that_is_merged_stops_too() {
    let mut fake = with_pull();
    fake.ci = CheckState::Success;
    fake.pull.as_mut().unwrap().labels.push("tick:stop".to_owned());
    fake.waits_for("tick:stop");
    assert!(fake.facts.merge.is_none());
}

#[test]
fn used_up_attempts_become_a_persons() {
    let mut fake = Fake::bug(&[Made::WeakTest, Made::NotRed]);
    fake.facts.cause.last_seen = fake.now;
    fake.waits_for("a person moves next");
    assert_eq!(fake.mails, [Status::NeedsYou]);
    let (need, ..) = fake.turn();
    assert_eq!(need, Need::default(), "nobody is asked about it any more");
    // It stays open while it is there, and its end is told.
    fake.now += TimeDelta::hours(9);
    fake.facts.cause.last_seen = fake.now;
    fake.waits_for("a person moves next");
    fake.now += TimeDelta::hours(1);
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Gone));
    assert_eq!(fake.mails, [Status::NeedsYou, Status::Resolved]);
    assert!(!fake.trace.contains(&"Push".to_owned()));
}

#[test]
fn an_honest_no_of_the_agent_is_taken() {
    let mut fake = Fake::bug(&[Made::CannotFix]);
    fake.facts.cause.last_seen = fake.now;
    fake.waits_for("a person moves next");
    assert_eq!(fake.trace, ["Attempt", "Tell"]);
}

#[test]
fn a_change_that_does_nothing_is_an_attempt() {
    let mut fake = Fake::bug(&[Made::Nothing, Made::Good]);
    fake.waits_for("expected so far");
    assert_eq!(fake.facts.attempts.len(), 2);
}

#[test]
fn one_revision_and_one_rejection_are_answered_by_an_attempt() {
    for first in [Made::Revise, Made::Rejected] {
        let mut fake = Fake::bug(&[first, Made::Good]);
        fake.waits_for("expected so far");
        assert_eq!(fake.trace.iter().filter(|a| *a == "OpenPull").count(), 1);
        assert_eq!(fake.trace.iter().filter(|a| *a == "Push").count(), 2);
    }
    let mut twice = Fake::bug(&[Made::Revise, Made::Revise]);
    twice.waits_for("a person moves next");
    assert_eq!(twice.mails, [Status::NeedsYou]);
    assert!(twice.facts.merge.is_none());
}

#[test]
fn what_became_a_persons_with_an_open_pull_still_hears_them() {
    let mut fake = Fake::bug(&[Made::Rejected, Made::Rejected]);
    fake.waits_for("a person moves next");
    assert_eq!(fake.pull.as_ref().unwrap().labels, ["needs-human"]);
    fake.waits_for("a person moves next");
    assert_eq!(fake.mails, [Status::NeedsYou], "told once");
    fake.pull.as_mut().unwrap().state = PullState::Closed;
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Declined));
}

#[test]
fn a_later_attempt_without_a_head_leaves_the_pull_as_it_is_shown() {
    for second in [Made::Nothing, Made::WeakTest, Made::CannotFix] {
        let mut fake = Fake::bug(&[Made::Rejected, second]);
        fake.waits_for("a person moves next");
        assert_eq!(fake.pull.as_ref().unwrap().labels, ["needs-human"]);
        assert_eq!(fake.mails, [Status::NeedsYou]);
    }
}

#[test]
fn a_success_from_before_the_push_is_about_something_else() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.ci_started = Some(at(-1));
    fake.waits_for("no success started after the push");
    assert!(fake.facts.merge.is_none());
}

#[test]
fn an_auditor_without_an_answer_is_asked_three_times() {
    let mut fake = Fake::bug(&[Made::NoAudit]);
    fake.waits_for("a person moves next");
    assert_eq!(fake.trace.iter().filter(|a| *a == "Audit").count(), 3);
}

#[test]
fn a_sensitive_change_waits_as_a_draft_until_somebody_approves() {
    for made in [Made::Sensitive, Made::Unproven] {
        let mut fake = Fake::bug(&[made]);
        fake.waits_for("a person moves next");
        assert!(fake.pull.as_ref().unwrap().draft);
        // Routing comes from the evidence: somebody who takes the label away changes nothing.
        fake.pull.as_mut().unwrap().labels.clear();
        fake.waits_for("a person moves next");
        let head = fake.head();
        let reader = review("eve", false, ReviewState::Approved, &head);
        fake.pull.as_mut().unwrap().reviews = vec![reader];
        fake.waits_for("a person moves next");
        assert!(fake.facts.merge.is_none());
        fake.facts.approved = Some(Approved {
            by: "ada".to_owned(),
            head: sha(9),
        });
        fake.waits_for("a person moves next");
        assert!(fake.facts.merge.is_none(), "approved was another head");
        fake.facts.approved = Some(Approved {
            by: "ada".to_owned(),
            head,
        });
        fake.trace.clear();
        fake.waits_for("expected so far");
        assert_eq!(fake.trace[..2], ["Ready", "Merge"]);
        assert_eq!(fake.mails, [Status::NeedsYou]);
    }
}

#[test]
fn a_required_review_is_asked_for_once_and_waited_for() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.rules.required_approvals = 1;
    fake.waits_for("a review is required");
    fake.waits_for("a review is required");
    assert_eq!(fake.trace.iter().filter(|a| *a == "RequestReview").count(), 1);
    assert!(!fake.pull.as_ref().unwrap().draft, "ready");
    assert!(fake.mails.is_empty(), "a normal state");
    let head = fake.head();
    for (who, writes, of) in [("eve", false, head.clone()), ("bob", true, sha(9))] {
        fake.pull.as_mut().unwrap().reviews = vec![review(who, writes, ReviewState::Approved, &of)];
        fake.waits_for("a review is required");
    }
    fake.pull.as_mut().unwrap().reviews = vec![
        review("bob", true, ReviewState::Approved, &head),
        review("ann", true, ReviewState::ChangesRequested, &head),
    ];
    fake.waits_for("asked for changes");
    fake.pull.as_mut().unwrap().reviews.pop();
    fake.waits_for("expected so far");
}

#[test]
fn a_moved_base_is_followed_three_times() {
    let mut fake = with_pull();
    for n in 0..3 {
        fake.base = sha(40 + n);
        fake.trace.clear();
        fake.waits_for("running");
        assert_eq!(
            fake.trace,
            ["Rebase", "Guards", "Prove", "Push", "Body"],
            "the same patch keeps its audit"
        );
    }
    fake.ci = CheckState::Success;
    fake.base = sha(50);
    fake.waits_for("the base moves faster than the tests");
    assert_eq!(fake.mails, [Status::NeedsYou]);
    assert!(fake.facts.merge.is_none());
}

#[test]
fn a_patch_that_does_not_fit_the_new_base_is_made_again() {
    let mut fake = with_pull();
    fake.made.push_back(Made::Good);
    fake.ci = CheckState::Success;
    fake.base = sha(40);
    fake.conflicts = true;
    fake.trace.clear();
    fake.waits_for("expected so far");
    assert_eq!(fake.trace[..3], ["Rebase", "Attempt", "Guards"]);
    assert_eq!(fake.facts.attempts.len(), 2);
}

#[test]
fn red_ci_is_an_attempt_and_then_a_persons() {
    let mut fake = Fake::bug(&[Made::Good, Made::Good]);
    fake.ci = CheckState::Failure;
    fake.waits_for("a person moves next");
    assert_eq!(fake.trace.iter().filter(|a| *a == "CiFailed").count(), 2);
    assert_eq!(fake.mails, [Status::NeedsYou]);
    assert!(fake.facts.merge.is_none());
}

#[test]
fn monitor_only_ends_at_a_draft() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.policy.rung = Mode::MonitorOnly;
    for _ in 0..3 {
        fake.waits_for("merge or close the draft");
    }
    assert!(fake.pull.as_ref().unwrap().draft);
    assert_eq!(fake.mails, [Status::DraftReady]);
    assert!(fake.facts.merge.is_none());
}

#[test]
fn a_used_up_budget_waits_for_tomorrow() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.facts.spent_usd.day = 19.5;
    let (_, _, next) = fake.turn();
    assert!(
        matches!(
            next,
            Next::Act(Action::Tell {
                status: Status::Budget,
                ..
            })
        ),
        "{next:?}"
    );
    fake.waits_for("budget");
    let (_, _, next) = fake.turn();
    let Next::Wait { until, .. } = next else {
        panic!("{next:?}")
    };
    assert_eq!(until, at(21 * 60), "midnight");
    assert_eq!(fake.mails, [Status::Budget]);
    fake.facts.spent_usd.day = 0.0;
    fake.waits_for("expected so far");
    let mut runs = with_pull();
    runs.facts.attempts.last_mut().unwrap().audit = None;
    runs.facts.spent_usd.day_runs = 50;
    runs.waits_for("budget");
    assert_eq!(runs.mails, [Status::Budget]);
}

#[test]
fn one_process_makes_a_few_attempts_and_other_pulls_come_first() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.facts.attempts_this_run = 10;
    fake.waits_for("attempts were made in this run");
    fake.facts.attempts_this_run = 0;
    fake.facts.other_open_pulls = 2;
    fake.waits_for("2 pull requests of ours");
    assert!(fake.trace.is_empty());
}
