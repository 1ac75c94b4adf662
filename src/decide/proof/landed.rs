//! Judges one run of the test commands on a commit that nobody proved: what landed after a race, or a revert on top of
//! later commits. What failed or could not be loaded before our change already is not held against it.

use std::collections::BTreeSet;

use super::{is_bad, list, new_load_error, unusable};
use crate::model::evidence::{Suite, TestStatus};

/// Whether the run is as good as the one before our change, and the sentence that says it. Flakes count neither way.
pub fn as_good_as(before: &Suite, after: &Suite, flakes: &BTreeSet<String>) -> (bool, String) {
    if let Some(why) = unusable(after, "the commit") {
        return (false, why);
    }
    if let Some(error) = new_load_error(before, after) {
        return (false, format!("something cannot be loaded any more: {error}"));
    }
    if after.total() == 0 {
        return (false, "no test ran".to_owned());
    }
    let known = failing(before);
    let new = failing(after)
        .into_iter()
        .filter(|id| !known.contains(id) && !flakes.contains(*id));
    let new: Vec<String> = new.cloned().collect();
    let failed = after.count(TestStatus::Fail) + after.count(TestStatus::Error);
    let mut said = format!(
        "{} pass, {failed} fail, {} of them new",
        after.count(TestStatus::Pass),
        new.len()
    );
    if !new.is_empty() {
        said = format!("{said}: {}", list(&new));
    }
    if !after.load_errors.is_empty() {
        said = format!("{said}; {} could not be loaded before either", after.load_errors.len());
    }
    (new.is_empty(), said)
}

fn failing(suite: &Suite) -> BTreeSet<&String> {
    let bad = suite.tests.iter().filter(|(_, results)| results.iter().any(is_bad));
    bad.map(|(id, _)| id).collect()
}
