//! Tests that change their results by themselves: two runs of the very same input say so, and nothing else. Only runs of
//! the base count, since a fix could make any test of a tree that holds it come and go.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Runs, count, is_bad};
use crate::model::evidence::{Suite, TestResult, TestStatus};

/// Runs of the same single tests of the base, to see whether one of them comes and goes.
const RUNS: usize = 4;
/// More tests than these do not flake together: something broke them.
const SUSPECTS: usize = 20;

/// Single tests of the base that ran once more, and what they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    pub ids: Vec<String>,
    pub suite: Suite,
}

/// Ids with two results in runs of one input. A run in which an id does not appear says nothing about it.
pub fn flaky<'a>(runs: impl IntoIterator<Item = &'a Suite>) -> BTreeSet<String> {
    let mut seen: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut out = BTreeSet::new();
    for suite in runs.into_iter().filter(|suite| is_whole(suite)) {
        for (id, results) in &suite.tests {
            let now = tally(results);
            if *seen.entry(id.as_str()).or_insert(now) != now {
                out.insert(id.clone());
            }
        }
    }
    out
}

/// What the repeated runs of the base showed. A selection is compared with itself only: a test that needs the others
/// before it fails alone each time, and comes and goes no more than they do.
pub fn seen(runs: &Runs) -> BTreeSet<String> {
    let again = &runs.base_again;
    let of = |first: &Again| flaky(again.iter().filter(|run| run.ids == first.ids).map(|run| &run.suite));
    again.iter().flat_map(of).collect()
}

/// The facts with what the runs of the base added to them.
pub(super) fn with_seen(facts: &Facts, runs: &Runs) -> Facts {
    let mut facts = facts.clone();
    facts.flakes.extend(seen(runs));
    facts
}

/// Tests of the base that speak against the fix and may come and go by themselves: they run again at the base before
/// anything is concluded.
pub(super) fn suspects(facts: &Facts, runs: &Runs) -> Option<Vec<String>> {
    let ids = doubtful(facts, runs)?;
    if ids.is_empty() || ids.len() > SUSPECTS || !facts.selects {
        return None;
    }
    let Some(last) = runs.base_again.last().map(|again| &again.ids) else {
        return Some(ids);
    };
    if ids.iter().all(|id| last.contains(id)) {
        let made = runs.base_again.iter().filter(|again| again.ids == *last).count();
        return (made < RUNS).then(|| last.clone());
    }
    (runs.base_again.len() <= RUNS).then_some(ids)
}

fn doubtful(facts: &Facts, runs: &Runs) -> Option<Vec<String>> {
    let base = runs.base.as_ref()?;
    let made = [&runs.red, &runs.head, &runs.head_again, &runs.own];
    if made.into_iter().flatten().any(|suite| !is_whole(suite)) {
        return None;
    }
    let of = |suite: &Option<Suite>, id: &str| suite.as_ref()?.tests.get(id).map(|results| tally(results));
    let doubt = |id: &str, old: [usize; 3]| {
        let heads = [of(&runs.head, id), of(&runs.head_again, id)];
        let worse = |now: [usize; 3]| now[1] > old[1] || now[2] > old[2];
        of(&runs.red, id).is_some_and(|now| now != old)
            || heads.into_iter().chain([of(&runs.own, id)]).flatten().any(worse)
            || matches!(heads, [Some(first), Some(second)] if first != second)
    };
    let tests = base.tests.iter().filter(|(id, _)| !facts.flakes.contains(*id));
    let ids = tests.filter(|(id, old)| doubt(id, tally(old)));
    Some(ids.map(|(id, _)| id.clone()).collect())
}

fn is_whole(suite: &Suite) -> bool {
    suite.unreadable.is_none() && !suite.timed_out
}

/// Passed, failed, skipped.
pub(super) fn tally(results: &[TestResult]) -> [usize; 3] {
    let bad = results.iter().filter(|result| is_bad(result)).count();
    [count(results, TestStatus::Pass), bad, count(results, TestStatus::Skip)]
}
