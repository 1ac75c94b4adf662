//! Finds the tests that show the fault: at the base (witness a), or in the base with nothing but the new tests
//! (witness b). Looks at no head.

use std::collections::BTreeMap;

use super::{Facts, Found, count, incident::is_incident, is_bad, list, new_load_error, shown, unusable};
use crate::model::evidence::{ProofGrade, Suite, TestResult, TestStatus, Witness};

/// The witness, or the grade that its lack means.
pub(super) fn witness(facts: &Facts, base: &Suite, red: Option<&Suite>) -> Result<Found, ProofGrade> {
    let known = at_base(facts, base, red);
    let Some(red) = red else {
        return known.ok_or_else(|| {
            ProofGrade::NotRed(
                "the change adds no test, and no test of the base fails with this incident's error".to_owned(),
            )
        });
    };
    if let Some(why) = &red.unreadable {
        return Err(ProofGrade::Unproven(format!(
            "the tests of the base with the new tests could not be read: {why}"
        )));
    }
    let new = at_red(facts, base, red);
    match (known, new) {
        (None, new) => new,
        (Some(known), Err(ProofGrade::NotRed(why))) => Ok(Found {
            notes: vec![format!("The new tests add nothing to this proof: {why}.")],
            ..known
        }),
        (Some(_), Err(grade @ (ProofGrade::Proven | ProofGrade::Unproven(_) | ProofGrade::NotGreen(_)))) => Err(grade),
        // The base's own failure is the witness; the new tests have to turn green with it.
        (Some(known), Ok(new)) => Ok(Found {
            ids: known.ids.into_iter().chain(new.ids).collect(),
            by_assertion: known.by_assertion || new.by_assertion,
            notes: new.notes,
            ..known
        }),
    }
}

/// Witness a: ids of the base that fail with the incident's error, and do so again with the new tests added.
fn at_base(facts: &Facts, base: &Suite, red: Option<&Suite>) -> Option<Found> {
    let hits = |results: &[TestResult]| results.iter().find(|r| is_incident(r, &facts.incident)).cloned();
    let again = |id: &String| {
        red.and_then(|red| red.tests.get(id))
            .is_none_or(|results| hits(results).is_some())
    };
    let found: Vec<(&String, TestResult)> = base
        .tests
        .iter()
        .filter(|(id, _)| !facts.flakes.contains(*id) && again(id))
        .filter_map(|(id, results)| Some((id, hits(results)?)))
        .collect();
    let (_, first) = found.first()?;
    Some(Found {
        witness: Witness::A,
        message: shown(first),
        by_assertion: found.iter().any(|(_, result)| result.by_assertion),
        ids: found.iter().map(|(id, _)| (*id).clone()).collect(),
        notes: Vec::new(),
    })
}

/// Witness b: new results of the base with the new tests that fail as they should, with everything old unchanged.
fn at_red(facts: &Facts, base: &Suite, red: &Suite) -> Result<Found, ProofGrade> {
    if let Some(why) = unusable(red, "the base with the new tests") {
        return Err(ProofGrade::NotRed(format!("{why}; a deadline is no failing test")));
    }
    if let Some(error) = new_load_error(base, red) {
        return Err(ProofGrade::NotRed(format!(
            "without the fix the new tests cannot even be loaded: {error}; a test can name only what is there without the fix"
        )));
    }
    if red.total() == 0 {
        return Err(ProofGrade::NotRed("no test ran".to_owned()));
    }
    if let Some(why) = old_changed(facts, base, red) {
        return Err(ProofGrade::NotRed(why));
    }
    let new = new_results(facts, base, red);
    let reds: Vec<(&String, &TestResult)> = flat(&new).filter(|(_, result)| shows(facts, result)).collect();
    let around = |id: &String| reds.iter().any(|(red, _)| red.starts_with(&format!("{id} ")));
    // A test around a failing subtest passes by itself; it is the subtest that shows the fault.
    let idle: Vec<String> = passing(&new).into_iter().filter(|id| !around(id)).collect();
    let Some((_, first)) = reds.first() else {
        return Err(ProofGrade::NotRed(why_not_red(&new, &idle)));
    };
    let mut ids: Vec<String> = reds.iter().map(|(id, _)| (*id).clone()).collect();
    ids.dedup();
    let mut notes = match idle.as_slice() {
        [] => Vec::new(),
        idle => vec![format!(
            "New tests that pass without the fix as well show nothing about it: {}.",
            list(idle)
        )],
    };
    if let Some(error) = facts.incident.error()
        && !reds.iter().any(|(_, result)| facts.incident.is_told_by(result))
    {
        notes.push(format!(
            "The failing run does not fail by the incident's own error ({error})."
        ));
    }
    Ok(Found {
        witness: Witness::B,
        message: shown(first),
        by_assertion: reds.iter().any(|(_, result)| result.by_assertion),
        ids,
        notes,
    })
}

/// An old test that no longer has its old results although only tests were added.
fn old_changed(facts: &Facts, base: &Suite, red: &Suite) -> Option<String> {
    const STATUSES: [TestStatus; 4] = [TestStatus::Pass, TestStatus::Fail, TestStatus::Error, TestStatus::Skip];
    base.tests
        .iter()
        .filter(|(id, _)| !facts.flakes.contains(*id))
        .find_map(|(id, old)| {
            let now = red.tests.get(id).map_or(&[][..], Vec::as_slice);
            if now.len() < old.len() {
                return Some(format!("{id} no longer runs when the new tests are added"));
            }
            let lost = STATUSES
                .into_iter()
                .any(|status| count(now, status) < count(old, status));
            lost.then(|| {
                let said = now
                    .iter()
                    .find(|r| is_bad(r))
                    .map(|r| format!(" ({})", r.message))
                    .unwrap_or_default();
                format!(
                    "{id}, a test of the base, gives another result when only the new tests are added{said}: the new case \
                     belongs into a test of its own"
                )
            })
        })
}

/// The witness without the fix, once more after a run with it: red as before.
pub(super) fn again(facts: &Facts, suite: &Suite, witness: &[String]) -> Result<(), ProofGrade> {
    if let Some(why) = unusable(suite, "the red run, repeated,") {
        return Err(ProofGrade::Unproven(why));
    }
    for id in witness {
        let results = suite.tests.get(id).map_or(&[][..], Vec::as_slice);
        if results.iter().any(|result| shows(facts, result)) {
            continue;
        }
        let now = match results.iter().find(|result| is_bad(result)) {
            Some(bad) => format!("fails by {}", bad.message),
            None if results.iter().any(|result| result.status == TestStatus::Pass) => "passes".to_owned(),
            None if results.is_empty() => "does not run".to_owned(),
            None => "is skipped".to_owned(),
        };
        return Err(ProofGrade::NotRed(format!(
            "run once more without the fix, {id} {now}: what it says depends on the runs before it, not on the fix"
        )));
    }
    Ok(())
}

/// A failure that shows the fault: by an assertion, or by the incident's own error.
pub(super) fn shows(facts: &Facts, result: &TestResult) -> bool {
    is_bad(result) && (result.by_assertion || is_incident(result, &facts.incident))
}

/// Results that the base does not have, by id.
fn new_results<'a>(facts: &Facts, base: &Suite, red: &'a Suite) -> BTreeMap<&'a String, Vec<&'a TestResult>> {
    let mut new = BTreeMap::new();
    for (id, results) in red.tests.iter().filter(|(id, _)| !facts.flakes.contains(*id)) {
        let mut old: Vec<&TestResult> = base.tests.get(id).map(|r| r.iter().collect()).unwrap_or_default();
        let mut extra = Vec::new();
        for result in results {
            match old.iter().position(|o| o.status == result.status) {
                Some(at) => drop(old.swap_remove(at)),
                None => extra.push(result),
            }
        }
        if !extra.is_empty() {
            new.insert(id, extra);
        }
    }
    new
}

fn flat<'a>(new: &'a BTreeMap<&'a String, Vec<&'a TestResult>>) -> impl Iterator<Item = (&'a String, &'a TestResult)> {
    new.iter()
        .flat_map(|(id, results)| results.iter().map(move |result| (*id, *result)))
}

fn passing(new: &BTreeMap<&String, Vec<&TestResult>>) -> Vec<String> {
    let pass = new
        .iter()
        .filter(|(_, results)| results.iter().all(|r| r.status == TestStatus::Pass));
    pass.map(|(id, _)| (*id).clone()).collect()
}

fn why_not_red(new: &BTreeMap<&String, Vec<&TestResult>>, idle: &[String]) -> String {
    if let Some((id, result)) = flat(new).find(|(_, result)| is_bad(result)) {
        let place = if result.inside {
            "by"
        } else {
            "outside its own body, by"
        };
        return format!(
            "without the fix {id} fails {place} {}: neither an assertion nor this incident's error",
            if result.message.is_empty() {
                "an unnamed error"
            } else {
                &result.message
            }
        );
    }
    if !idle.is_empty() {
        return format!(
            "the new tests pass without the fix, so they prove nothing: {}",
            list(idle)
        );
    }
    match flat(new).next() {
        Some((id, _)) => format!("without the fix {id} is skipped"),
        None => "the change adds test files, but no new test ran".to_owned(),
    }
}
