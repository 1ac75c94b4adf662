//! The same rules over reports that CI kept: one run of the base, one of the base with the new tests, one of the fix. What
//! a second run, another folder or a file undone alone would show is not known, and said so.

use super::{Facts, Runs, filled, flakes, green, proof, red, unusable};
use crate::model::evidence::{Proof, ProofGrade};

const ONCE: &str = "Whether it is red and green each time: CI ran each of the three commits once.";

/// The grade, or none while only the run of the fix is missing: the witness is red.
pub fn by_ci(facts: &Facts, runs: &Runs) -> Option<Proof> {
    let runs = &filled(runs);
    let facts = &flakes::with_seen(facts, runs);
    let graded = |found, grade| {
        let mut proof = proof(facts, runs, found, grade);
        proof.green_runs = proof.green_runs.min(1);
        proof.red_again = false;
        proof.not_proven.push(ONCE.to_owned());
        proof
    };
    let unproven = |why: String| graded(None, ProofGrade::Unproven(why));
    let Some(base) = &runs.base else {
        return Some(unproven("CI's run of the base was not read".to_owned()));
    };
    if let Some(why) = unusable(base, "the base in CI") {
        return Some(unproven(why));
    }
    if facts.has_test_part && runs.red.is_none() {
        return Some(unproven("CI's run of the witness was not read".to_owned()));
    }
    let found = match red::witness(facts, base, runs.red.as_ref()) {
        Ok(found) => found,
        Err(grade) => return Some(graded(None, grade)),
    };
    let head = runs.head.as_ref()?;
    let judged =
        green::readable(head, "the fix in CI").and_then(|()| green::judge(facts, base, head, None, &found.ids));
    Some(match judged {
        Ok(()) => graded(Some(found), ProofGrade::Proven),
        Err(grade) => graded(Some(found), grade),
    })
}
