//! Judges the head with one changed file as it was before: some test has to see the difference. Also says when a proof
//! that holds is for a person all the same.

use super::{Facts, is_bad, red::shows};
use crate::model::evidence::{Proof, ProofGrade, Suite, UndoOutcome};

/// What the tests say without one file's change. `head` is the run with it.
pub fn undone(facts: &Facts, head: &Suite, without: &Suite) -> UndoOutcome {
    if let Some(why) = &without.unreadable {
        return UndoOutcome::Unknown(why.clone());
    }
    if without.timed_out {
        return UndoOutcome::Unknown("the tests did not end in time".to_owned());
    }
    let passed = |id: &String| head.tests.get(id).is_some_and(|results| !results.iter().any(is_bad));
    let fails = without
        .tests
        .iter()
        .filter(|(id, _)| passed(id) && !facts.flakes.contains(*id));
    let mut breaks = None;
    for (id, results) in fails {
        if results.iter().any(|result| shows(facts, result)) {
            return UndoOutcome::Fails(id.clone());
        }
        if let Some(bad) = results.iter().find(|result| is_bad(result)) {
            breaks.get_or_insert_with(|| format!("{id}: {}", bad.message));
        }
    }
    let load = without
        .load_errors
        .iter()
        .find(|error| !head.load_errors.contains(error));
    match breaks.or_else(|| load.cloned()) {
        Some(said) => UndoOutcome::Needed(said),
        None if without.total() == 0 => UndoOutcome::Unknown("no test ran".to_owned()),
        None => UndoOutcome::Unseen,
    }
}

/// Marks a proof that leaves the change of a file unseen.
pub fn unseen(proof: &mut Proof) {
    let Some(first) = proof.undone.iter().find(|undone| !undone.is_seen()) else {
        return;
    };
    let why = match &first.outcome {
        UndoOutcome::Unknown(why) => format!("whether the change of {} is needed is not known: {why}", first.path),
        UndoOutcome::Unseen | UndoOutcome::Fails(_) | UndoOutcome::Needed(_) => {
            format!("no test fails when the change of {} alone is undone", first.path)
        }
    };
    mark(proof, why);
}

/// Marks a proof whose new tests contain no check.
pub fn check_nothing(proof: &mut Proof) {
    mark(
        proof,
        "the new tests check nothing: they show only that nothing is raised any more".to_owned(),
    );
}

/// Marks a proof whose change only adds what nothing of the product comes to.
pub fn unused(proof: &mut Proof, names: &[&str]) {
    let shown = names.join(", ");
    mark(
        proof,
        format!("the change only adds {shown}, which nothing but the new tests uses"),
    );
}

/// Marks a proof whose change raises an error where another one was.
pub fn another_error(proof: &mut Proof) {
    mark(
        proof,
        "the change raises an error and the new tests want one: whether that mends the incident's error is a person's decision"
            .to_owned(),
    );
}

/// Marks a proof whose new tests read the source.
pub fn looks_at_source(proof: &mut Proof) {
    mark(
        proof,
        "the new tests look at how the source is written, or whether it has a name, and not only at what it does"
            .to_owned(),
    );
}

pub(super) fn mark(proof: &mut Proof, why: String) {
    if proof.grade != ProofGrade::Proven {
        return;
    }
    let mut sentence = why.clone();
    sentence[..1].make_ascii_uppercase();
    proof.not_proven.push(format!("{sentence}."));
    proof.for_person.get_or_insert(why);
}
