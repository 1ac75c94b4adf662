//! Judges the runs of the head: the witness passes in each, and every test of the base is still there with its old
//! result or a better one.

use std::collections::BTreeMap;

use super::{Facts, Found, count, flakes::tally, is_bad, new_load_error};
use crate::model::evidence::{ProofGrade, Suite, TestResult, TestStatus};

/// A head whose run cannot be read is a person's matter; one that does not end is no fix.
pub(super) fn readable(head: &Suite, of: &str) -> Result<(), ProofGrade> {
    if let Some(why) = &head.unreadable {
        return Err(ProofGrade::Unproven(format!(
            "the tests of {of} could not be read: {why}"
        )));
    }
    if head.timed_out {
        return Err(not(format!("the tests of {of} did not end in time")));
    }
    if head.total() == 0 {
        return Err(not(format!("no test of {of} ran")));
    }
    Ok(())
}

/// The whole runs of the head against the base.
pub(super) fn judge(
    facts: &Facts,
    base: &Suite,
    head: &Suite,
    again: Option<&Suite>,
    witness: &[String],
) -> Result<(), ProofGrade> {
    if let Some(again) = again {
        readable(again, "the head, run again,")?;
    }
    for suite in again.into_iter().chain([head]) {
        if let Some(error) = new_load_error(base, suite) {
            return Err(not(format!(
                "with the fix something cannot be loaded any more: {error}"
            )));
        }
    }
    if let Some(id) = again.and_then(|again| differs(facts, head, again)) {
        return Err(not(format!(
            "{id} is flaky: two runs of the head differ (the second has another folder and no CI variables)"
        )));
    }
    for id in witness {
        passes(head, id, "with the fix")?;
    }
    for (id, old) in base.tests.iter().filter(|(id, _)| !facts.flakes.contains(*id)) {
        kept(id, old, head.tests.get(id).map_or(&[][..], Vec::as_slice))?;
    }
    for (id, results) in head
        .tests
        .iter()
        .filter(|(id, _)| !base.tests.contains_key(*id) && !facts.flakes.contains(*id))
    {
        new(id, results)?;
    }
    Ok(())
}

/// The runs of the new files alone. A run that could not select them says nothing.
pub(super) fn alone(runs: &[Suite], witness: &[String]) -> Result<(), ProofGrade> {
    for (n, suite) in runs.iter().enumerate() {
        let when = if n == 0 {
            "when the new tests run alone, in another folder and without the variables of CI"
        } else {
            "when the new tests run alone"
        };
        if suite.timed_out {
            return Err(not("the new tests did not end in time when they ran alone".to_owned()));
        }
        if let Some(why) = &suite.unreadable {
            return Err(ProofGrade::Unproven(format!(
                "the new tests, run alone, could not be read: {why}"
            )));
        }
        if let Some(error) = suite.load_errors.first().filter(|_| suite.total() == 0) {
            return Err(not(format!("the new tests cannot be loaded alone: {error}")));
        }
        for id in witness.iter().filter(|id| suite.tests.contains_key(*id)) {
            passes(suite, id, when)?;
        }
    }
    Ok(())
}

/// Whether each witness was in one of the runs alone.
pub(super) fn ran_alone(runs: &[Suite], witness: &[String]) -> bool {
    let ran = |id: &String| runs.iter().any(|suite| suite.tests.contains_key(id));
    witness.iter().all(ran)
}

/// Whether a run alone held any witness at all.
pub(super) fn ran(suite: &Suite, found: Option<&Found>) -> bool {
    found.is_some_and(|found| found.ids.iter().any(|id| suite.tests.contains_key(id)))
}

fn passes(suite: &Suite, id: &str, when: &str) -> Result<(), ProofGrade> {
    let results = suite.tests.get(id).map_or(&[][..], Vec::as_slice);
    if let Some(bad) = results.iter().find(|result| is_bad(result)) {
        return Err(not(format!("{id} still fails {when}: {}", bad.message)));
    }
    if count(results, TestStatus::Skip) > 0 {
        return Err(not(format!("{id} is skipped {when}")));
    }
    if results.is_empty() {
        return Err(not(format!("{id} does not run {when}")));
    }
    Ok(())
}

/// Every result of the base is there, as good or better: a failure may turn into a pass, nothing into a skip.
pub(super) fn kept(id: &str, old: &[TestResult], now: &[TestResult]) -> Result<(), ProofGrade> {
    let bad = |results: &[TestResult]| results.iter().filter(|r| is_bad(r)).count();
    if now.len() < old.len() {
        return Err(not(format!("{id}, a test of the base, does not run with the fix")));
    }
    if count(now, TestStatus::Skip) > count(old, TestStatus::Skip) {
        return Err(not(format!("{id}, a test of the base, is skipped with the fix")));
    }
    if bad(now) > bad(old) {
        let said = now.iter().rev().find(|r| is_bad(r)).map_or("", |r| r.message.as_str());
        return Err(not(format!("{id}, a test of the base, fails with the fix: {said}")));
    }
    Ok(())
}

fn new(id: &str, results: &[TestResult]) -> Result<(), ProofGrade> {
    if let Some(bad) = results.iter().find(|result| is_bad(result)) {
        return Err(not(format!("{id}, new, fails with the fix: {}", bad.message)));
    }
    if count(results, TestStatus::Skip) > 0 {
        return Err(not(format!("{id}, new, is skipped with the fix")));
    }
    Ok(())
}

/// The first id whose results differ between two runs of the same tree.
fn differs<'a>(facts: &Facts, head: &'a Suite, again: &'a Suite) -> Option<&'a String> {
    let tally = |suite: &Suite| -> BTreeMap<String, [usize; 3]> {
        let tests = suite.tests.iter();
        tests.map(|(id, results)| (id.clone(), tally(results))).collect()
    };
    let (first, second) = (tally(head), tally(again));
    let ids = head.tests.keys().chain(again.tests.keys());
    ids.filter(|id| !facts.flakes.contains(*id))
        .find(|id| first.get(*id) != second.get(*id))
}

fn not(why: String) -> ProofGrade {
    ProofGrade::NotGreen(why)
}
