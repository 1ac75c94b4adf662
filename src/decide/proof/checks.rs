//! Results of compilers, type checkers and linters. They name what they find and nothing that is in order, so a finding
//! of the base that another run of the same tool does not have is made a pass there.

use super::Runs;
use crate::model::evidence::{Suite, TestResult, TestStatus};

/// The runs with a pass for each finding of the base that is gone.
pub fn filled(runs: &Runs) -> Runs {
    let mut runs = runs.clone();
    let Some(base) = runs.base.clone().filter(|base| !base.checks.is_empty()) else {
        return runs;
    };
    let whole = [
        &mut runs.red,
        &mut runs.head,
        &mut runs.head_again,
        &mut runs.red_again,
        &mut runs.red_fresh,
        &mut runs.own,
    ];
    for suite in whole.into_iter().flatten().chain(&mut runs.alone) {
        fill(suite, &base);
    }
    for again in &mut runs.base_again {
        fill(&mut again.suite, &base);
    }
    runs
}

fn fill(suite: &mut Suite, base: &Suite) {
    if suite.unreadable.is_some() || suite.timed_out {
        return;
    }
    let ran = |id: &str| {
        let tool = id.split_once(": ").map(|(tool, _)| tool);
        tool.is_some_and(|tool| suite.checks.contains(tool))
    };
    let gone: Vec<(&String, usize)> = base
        .tests
        .iter()
        .filter(|(id, _)| ran(id))
        .map(|(id, old)| (id, old.len()))
        .collect();
    for (id, len) in gone {
        let now = suite.tests.entry(id.clone()).or_default();
        while now.len() < len {
            now.push(TestResult::of(TestStatus::Pass));
        }
    }
}
