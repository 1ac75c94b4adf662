//! Stories after the merge: what landed, the time after it, and taking it back.

use chrono::TimeDelta;

use super::{
    fake::{Fake, Made, Rest},
    given::sha,
    merged, with_pull,
};
use crate::{
    decide::{facts::Status, merge::Restores, next::Next},
    model::{Mode, checks::CheckState, incident::IncidentOutcome},
};

#[test]
fn from_merged_to_taken_back() {
    let mut fake = merged();
    fake.trace.clear();
    fake.probe_down = 2;
    assert_eq!(fake.until_done(), IncidentOutcome::TakenBack);
    let expected = [
        "Note",
        "MakeRevert",
        "PushRevert",
        "OpenRevert",
        "MergeRevert",
        "DropAutonomy",
        "Tell",
        "Tell",
    ];
    assert_eq!(fake.trace, expected);
    assert_eq!(
        fake.mails,
        [Status::TakenBack, Status::Resolved],
        "the old error's end is told, too"
    );
    assert_eq!(fake.policy.rung, Mode::MonitorOnly);
}

#[test]
fn worse_is_looked_for_all_the_time() {
    let mut fake = merged();
    let (_, _, next) = fake.turn();
    let Next::Wait { until, .. } = next else {
        panic!("{next:?}")
    };
    assert!(until <= fake.now + TimeDelta::minutes(10), "{until}");
}

#[test]
fn another_tree_than_the_tested_one_freezes_merges() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.landed = Some((sha(1), sha(1)));
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Escalated));
    assert!(fake.facts.frozen.is_some());
    assert_eq!(fake.mails, [Status::Frozen]);
    let mut next = with_pull();
    next.ci = CheckState::Success;
    next.facts.frozen = fake.facts.frozen;
    next.waits_for("merges are frozen");
    assert!(next.facts.merge.is_none());
}

#[test]
fn a_merge_without_a_commit_is_waited_for_and_then_freezes_merges() {
    let mut fake = Fake::bug(&[Made::Good]);
    fake.commit_missing = true;
    fake.waits_for("cannot be seen yet");
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Escalated));
    assert_eq!(fake.mails, [Status::Frozen]);
}

#[test]
fn a_race_is_tested_and_reverted_only_when_red() {
    let mut green = Fake::bug(&[Made::Good]);
    green.landed = Some((sha(900), sha(55)));
    green.waits_for("expected so far");
    assert!(green.trace.contains(&"TestLanded".to_owned()));
    assert_eq!(green.until_done(), IncidentOutcome::Resolved);
    let mut red = Fake::bug(&[Made::Good]);
    red.landed = Some((sha(900), sha(55)));
    red.landed_tests = false;
    red.restores = Restores::AppliedAndPasses;
    assert_eq!(red.until_done(), IncidentOutcome::TakenBack);
    assert!(
        !red.trace.contains(&"Live".to_owned()),
        "at once, not after an observation"
    );
}

#[test]
fn a_revert_that_does_not_restore_is_a_persons() {
    let end = |change: fn(&mut Fake)| {
        let mut fake = merged();
        fake.probe_down = 2;
        change(&mut fake);
        fake.waits_for("a person moves next, and tick says when it is over");
        assert_eq!(fake.mails, [Status::NeedsYou]);
        assert!(!fake.trace.contains(&"MergeRevert".to_owned()));
        fake.probe_down = 0;
        let over = [IncidentOutcome::Gone, IncidentOutcome::Resolved];
        assert!(over.contains(&fake.until_done()), "over once the page is up");
        fake.trace.contains(&"PushRevert".to_owned())
    };
    assert!(!end(|fake| fake.conflicts = true));
    assert!(!end(|fake| fake.restores = Restores::No));
    assert!(end(|fake| fake.ci = CheckState::Failure));
    assert!(!end(|fake| fake.policy.rollback_own = false));
}

#[test]
fn the_time_after_a_merge() {
    let mut still = merged();
    still.seen = 15;
    assert_eq!(still.until_done(), IncidentOutcome::Gone);
    assert_eq!(still.mails, [Status::NeedsYou, Status::Resolved]);
    assert!(!still.trace.contains(&"Note".to_owned()), "not worse: it stays");
    let mut late = Fake::bug(&[Made::Good]);
    late.deploys = false;
    late.waits_for("waiting for the release");
    late.now += TimeDelta::hours(2);
    late.waits_for("a person may look");
    assert_eq!(late.mails, [Status::Merged]);
    late.now += TimeDelta::days(7);
    assert_eq!(late.rest(), Rest::Done(IncidentOutcome::Unconfirmed));
    let mut unknown = Fake::bug(&[Made::Good]);
    unknown.policy.release_known = false;
    unknown.deploys = false;
    unknown.waits_for("waiting for the release");
    unknown.waits_for("expected so far");
    assert!(unknown.facts.merge.as_ref().unwrap().live_at.is_some());
}

#[test]
fn a_base_that_moves_under_a_revert_is_followed_three_times() {
    let mut fake = merged();
    fake.probe_down = 2;
    fake.ci = CheckState::Queued;
    fake.waits_for("the revert waits");
    fake.restores = Restores::AppliedAndPasses;
    for n in 0..3 {
        fake.base = sha(40 + n);
        fake.trace.clear();
        fake.waits_for("the revert waits");
        assert_eq!(fake.trace, ["MakeRevert", "PushRevert", "RevertBody"]);
    }
    let mut moves = fake;
    moves.base = sha(50);
    moves.ci = CheckState::Success;
    moves.waits_for("a person moves next");
    assert_eq!(moves.mails, [Status::NeedsYou]);
    assert!(!moves.trace.contains(&"MergeRevert".to_owned()));
}

#[test]
fn a_revert_is_merged_on_the_base_that_it_was_replayed_onto() {
    let mut fake = merged();
    fake.probe_down = 2;
    fake.ci = CheckState::Queued;
    fake.waits_for("the revert waits");
    fake.base = sha(40);
    fake.restores = Restores::AppliedAndPasses;
    fake.ci = CheckState::Success;
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::TakenBack));

    // The same, but the tests fail on the two together.
    let mut red = merged();
    red.probe_down = 2;
    red.ci = CheckState::Queued;
    red.waits_for("the revert waits");
    red.base = sha(40);
    red.restores = Restores::No;
    red.waits_for("a person moves next");
    assert_eq!(red.mails, [Status::NeedsYou]);
}

#[test]
fn an_earlier_head_of_the_revert_is_a_host_that_lags() {
    let mut fake = merged();
    fake.probe_down = 2;
    fake.ci = CheckState::Queued;
    fake.waits_for("the revert waits");
    let earlier = fake.revert.clone();
    fake.base = sha(40);
    fake.restores = Restores::AppliedAndPasses;
    fake.waits_for("the revert waits");
    fake.revert = earlier;
    fake.ci = CheckState::Success;
    fake.waits_for("an earlier head of ours");
    assert!(fake.mails.is_empty());
}

#[test]
fn what_a_person_took_back_is_not_taken_back_again() {
    let mut fake = merged();
    fake.probe_down = 2;
    fake.taken_back_by_hand = true;
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Declined));
    assert_eq!(fake.mails, [Status::Declined]);
    assert_eq!(fake.policy.rung, Mode::MonitorOnly);
    assert!(!fake.trace.contains(&"PushRevert".to_owned()));
}
