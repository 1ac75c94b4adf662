//! Whether the tests of three commits show that one commit is the cause: the failure is not at its parent, where the same
//! tests pass; it is at the commit, and still on the branch.

use std::collections::BTreeSet;

use super::{IncidentFacts, incident::is_incident, is_bad, list, unusable};
use crate::model::evidence::{Suite, TestStatus};

/// Tests that fail by the incident's error, or why there are none.
pub fn red_at(incident: &IncidentFacts, flakes: &BTreeSet<String>, suite: &Suite) -> Result<Vec<String>, String> {
    if let Some(why) = unusable(suite, "the commit") {
        return Err(why);
    }
    let red = suite.tests.iter().filter(|(id, _)| !flakes.contains(*id));
    let red = red.filter(|(_, results)| results.iter().any(|result| is_incident(result, incident)));
    let red: Vec<String> = red.map(|(id, _)| id.clone()).collect();
    if red.is_empty() {
        return Err("no test fails there with this error".to_owned());
    }
    Ok(red)
}

/// Before, at and after the commit. Gives the tests that came with it.
pub fn culprit(
    incident: &IncidentFacts,
    flakes: &BTreeSet<String>,
    [before, with, now]: [&Suite; 3],
) -> Result<BTreeSet<String>, String> {
    let then = red_at(incident, flakes, with)?;
    let still = red_at(incident, flakes, now).map_err(|why| format!("on the default branch: {why}"))?;
    let red: Vec<&String> = then.iter().filter(|id| still.contains(*id)).collect();
    if red.is_empty() {
        return Err(format!("other tests fail now than {}", list(&then)));
    }
    if let Some(why) = unusable(before, "its parent") {
        return Err(why);
    }
    for id in red {
        let results = before.tests.get(id).map_or(&[][..], Vec::as_slice);
        if let Some(bad) = results.iter().find(|result| is_bad(result)) {
            return Err(format!("{id} fails at its parent, too: {}", bad.message));
        }
        if !results.iter().any(|result| result.status == TestStatus::Pass) {
            return Err(format!("{id} does not run at its parent"));
        }
    }
    let new = with.tests.keys().filter(|id| !before.tests.contains_key(*id));
    Ok(new.cloned().collect())
}

/// The base as a revert is measured by: what came with the commit goes with it.
pub fn without(mut base: Suite, brought: &BTreeSet<String>) -> Suite {
    base.tests.retain(|id, _| !brought.contains(id));
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Signature, evidence::TestResult},
        text::signature,
    };

    const ERROR: &str = "AssertionError: 1 != 2";

    fn suite(tests: &[(&str, bool)]) -> Suite {
        let mut suite = Suite::default();
        for (id, green) in tests {
            let result = if *green {
                TestResult::of(TestStatus::Pass)
            } else {
                TestResult {
                    inside: true,
                    by_assertion: true,
                    kind: "AssertionError".to_owned(),
                    message: ERROR.to_owned(),
                    ..TestResult::of(TestStatus::Fail)
                }
            };
            suite.tests.entry((*id).to_owned()).or_default().push(result);
        }
        suite
    }

    fn incident() -> IncidentFacts {
        let signature: Signature = signature(ERROR).signature;
        IncidentFacts::of(signature, ERROR, ERROR)
    }

    #[track_caller]
    fn check(before: &[(&str, bool)], with: &[(&str, bool)], now: &[(&str, bool)], expected: Result<&[&str], &str>) {
        let suites = [suite(before), suite(with), suite(now)];
        let [before, with, now] = &suites;
        let got = culprit(&incident(), &BTreeSet::from(["shaky".to_owned()]), [before, with, now]);
        match (got, expected) {
            (Ok(brought), Ok(expected)) => assert_eq!(brought.iter().collect::<Vec<_>>(), expected),
            (Err(why), Err(word)) => assert!(why.contains(word), "{why}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn parent_green_and_commit_red_is_the_cause() {
        let red = [("total", false), ("new", true)];
        check(&[("total", true)], &red, &red, Ok(&["new"]));
        check(&[("total", false)], &red, &red, Err("total fails at its parent, too"));
        check(&[("other", true)], &red, &red, Err("total does not run at its parent"));
        check(&[("total", true)], &[("total", true)], &red, Err("no test fails there"));
        check(
            &[("total", true)],
            &red,
            &[("total", true)],
            Err("on the default branch: no test fails"),
        );
        check(
            &[("total", true)],
            &red,
            &[("other", false)],
            Err("other tests fail now"),
        );
        let shaky = [("shaky", false)];
        check(&[("shaky", true)], &shaky, &shaky, Err("no test fails there"));
        check(&[], &red, &red, Err("does not run at its parent"));
    }

    #[test]
    fn an_unreadable_run_shows_nothing() {
        let mut unread = suite(&[("total", true)]);
        unread.unreadable = Some("no report".to_owned());
        let red = suite(&[("total", false)]);
        let got = culprit(&incident(), &BTreeSet::new(), [&unread, &red, &red]);
        assert!(got.unwrap_err().contains("could not be read: no report"));
    }

    #[test]
    fn what_came_with_it_is_not_missed() {
        let base = suite(&[("total", false), ("new", true)]);
        let base = without(base, &BTreeSet::from(["new".to_owned()]));
        assert_eq!(base.tests.len(), 1);
    }
}
