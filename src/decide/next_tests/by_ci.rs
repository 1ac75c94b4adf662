//! The proof by CI over ticks: the witness alone, then the fix, and the witness's branch goes again.

use super::*;
use crate::model::checks::CheckState;

fn by_ci(made: &[Made]) -> Fake {
    let mut fake = Fake::bug(made);
    fake.policy.by_ci = true;
    fake
}

#[test]
fn the_witness_is_red_before_the_fix_is_shown() {
    let mut fake = by_ci(&[Made::Good]);
    fake.rest();
    let steps: Vec<&str> = fake.trace.iter().map(String::as_str).take(12).collect();
    let expected =
        "Attempt Guards CiWitness CiReport PushWitness CiReport CiGrade Push CiReport CiGrade DropWitness OpenPull";
    assert_eq!(steps.join(" "), expected);
    assert!(fake.facts.merge.is_some() && fake.facts.witness.is_none());
}

#[test]
fn a_witness_that_is_not_red_keeps_the_fix_back() {
    let mut fake = by_ci(&[Made::NotRed, Made::Good]);
    fake.rest();
    let at = |name: &str| fake.trace.iter().position(|step| step == name).unwrap();
    assert!(at("DropWitness") < at("Push"), "{:?}", fake.trace);
    assert_eq!(
        fake.trace.iter().filter(|step| *step == "Push").count(),
        1,
        "of the second attempt alone"
    );
    assert_eq!(fake.trace.iter().filter(|step| *step == "DropWitness").count(), 2);
}

#[test]
fn ci_that_does_not_answer_in_time_proves_nothing() {
    let mut fake = by_ci(&[Made::Good]);
    fake.ci = CheckState::InProgress;
    fake.waits_for("it proves the base");
    for _ in 0..12 {
        fake.waits_for("");
    }
    let proof = fake.facts.attempts[0].proof.clone().unwrap();
    let why = format!("{:?}", proof.grade);
    assert!(
        why.contains("CI did not end with the base") && why.contains("within 3 hours"),
        "{why}"
    );
    assert!(
        fake.facts.merge.is_none() && fake.facts.pull.is_some(),
        "a person has it"
    );
}

#[test]
fn a_stop_keeps_every_push_back() {
    let mut fake = by_ci(&[Made::Good]);
    fake.ci = CheckState::Queued;
    fake.waits_for("it proves the base");
    fake.stop = StopSigns::Unreadable("no answer".to_owned());
    fake.ci = CheckState::Success;
    fake.waits_for("stop signs cannot be read");
    assert!(!fake.trace.iter().any(|step| step == "PushWitness"), "{:?}", fake.trace);
}
