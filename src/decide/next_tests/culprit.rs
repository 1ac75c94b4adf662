//! The one commit that CI became red with: blamed once, before an agent is asked, and its revert judged like every attempt.

use super::*;

fn suspected(made: &[Made]) -> Fake {
    let mut fake = Fake::bug(made);
    fake.facts.cause.suspect = Some(sha(55));
    fake
}

fn steps(fake: &Fake, first: usize) -> String {
    let steps: Vec<&str> = fake.trace.iter().map(String::as_str).take(first).collect();
    steps.join(" ")
}

fn count(fake: &Fake, step: &str) -> usize {
    fake.trace.iter().filter(|done| *done == step).count()
}

#[test]
fn a_shown_culprit_is_taken_back_before_an_agent_is_asked() {
    let mut fake = suspected(&[Made::Good]);
    fake.rest();
    assert_eq!(steps(&fake, 5), "Blame Guards Prove Push OpenPull");
    assert_eq!(count(&fake, "Attempt"), 0);
    assert!(
        fake.pull.as_ref().unwrap().draft && fake.facts.merge.is_none(),
        "of a person's commit"
    );
    let mut own = suspected(&[Made::Good]);
    own.ours = true;
    own.rest();
    assert!(own.facts.merge.is_some(), "of ours it goes the way of every fix");
}

#[test]
fn one_that_is_not_shown_costs_nothing_and_is_not_asked_about_again() {
    let mut fake = suspected(&[Made::NotRed, Made::Good]);
    fake.shown = false;
    fake.rest();
    assert_eq!(steps(&fake, 2), "Blame Attempt");
    assert_eq!((count(&fake, "Blame"), count(&fake, "Attempt")), (1, 2));
}

#[test]
fn a_revert_that_is_not_green_leaves_the_agent_all_its_attempts() {
    let mut fake = suspected(&[Made::NotRed, Made::NotRed, Made::Good]);
    fake.rest();
    assert_eq!(steps(&fake, 4), "Blame Guards Prove Attempt");
    assert_eq!((count(&fake, "Attempt"), count(&fake, "Push")), (2, 1));
}

#[test]
fn where_the_tests_cannot_run_nothing_is_shown() {
    let mut fake = suspected(&[Made::Good]);
    fake.policy.by_ci = true;
    fake.rest();
    assert_eq!(count(&fake, "Blame"), 0);
    let mut full = suspected(&[Made::Good]);
    full.facts.other_open_pulls = 2;
    full.waits_for("pull requests of ours are open");
    assert!(full.trace.is_empty());
}
