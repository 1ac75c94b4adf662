//! What an attempt is made on: the release that failed, and then the default branch.

use chrono::TimeDelta;

use super::{
    fake::{Fake, Made, Rest},
    given::{at, sha},
};
use crate::{
    decide::{
        facts::{Elsewhere, Status, Watch},
        next::{Action, Next},
    },
    model::incident::IncidentOutcome,
};

/// The default branch is ahead of the release that failed.
fn ahead(made: &[Made]) -> Fake {
    let mut fake = Fake::bug(made);
    fake.failed_release = Some(sha(9));
    fake.base = sha(40);
    fake
}

#[test]
fn the_first_attempt_is_made_where_it_failed_and_compared_before_anybody_sees_it() {
    let mut fake = ahead(&[Made::NotRed, Made::Good]);
    let (_, _, next) = fake.turn();
    assert!(
        matches!(&next, Next::Act(Action::Attempt { base, .. }) if *base == sha(9)),
        "{next:?}"
    );
    fake.waits_for("expected so far");
    let story = ["Attempt", "Guards", "Prove", "Attempt", "Guards", "Prove", "Push"];
    assert_eq!(fake.trace[..7], story, "the second one is made on the default branch");

    let mut first = ahead(&[Made::Good]);
    first.waits_for("expected so far");
    let story = [
        "Attempt", "Guards", "Prove", "Rebase", "Guards", "Prove", "Push", "OpenPull",
    ];
    assert_eq!(first.trace[..8], story);
    assert_eq!(
        first.facts.attempts[0].attempt.base,
        sha(40),
        "merged on the default branch"
    );
}

#[test]
fn what_the_default_branch_mended_is_waited_for_and_not_patched_again() {
    let mut fake = ahead(&[Made::Good]);
    fake.mended = true;
    fake.waits_for("no longer fails by it; tick moves next when a release of it serves");
    fake.waits_for("no longer fails by it");
    assert!(!fake.trace.contains(&"Push".to_owned()), "{:?}", fake.trace);
    assert_eq!(fake.mails, []);
    let mut late = ahead(&[Made::Good]);
    late.mended = true;
    late.waits_for("no longer fails by it");
    late.now += TimeDelta::days(1);
    late.waits_for("no release of it serves");
    assert_eq!(late.mails, [Status::NeedsYou]);
    late.now += TimeDelta::days(7);
    assert_eq!(late.rest(), Rest::Done(IncidentOutcome::Escalated));

    // A release of it serves, and is quiet.
    fake.facts.elsewhere = Some(serving(0));
    fake.now += TimeDelta::minutes(30);
    assert_eq!(fake.rest(), Rest::Done(IncidentOutcome::Gone));
    assert_eq!(fake.mails, [Status::Resolved]);
}

#[test]
fn a_release_of_the_default_branch_that_still_fails_is_an_answer_too() {
    let mut fake = ahead(&[Made::Good, Made::Good]);
    fake.mended = true;
    fake.waits_for("no longer fails by it");
    fake.facts.elsewhere = Some(serving(3));
    fake.mended = false;
    fake.waits_for("expected so far");
    assert_eq!(fake.facts.attempts.len(), 2);
}

fn serving(seen: u64) -> Elsewhere {
    Elsewhere {
        release: sha(40),
        live_at: at(20),
        watch: Watch {
            rate_before: 60.0,
            seen,
            samples: u32::from(seen > 0),
            requests: None,
            looked_until: at(30),
            others: Vec::new(),
            probe_down_samples: 0,
        },
    }
}
