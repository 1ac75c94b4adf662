//! Files of the repository that a run wrote to. What was tested then is not what its commit holds.

use std::collections::BTreeSet;

use super::{Runs, list};
use crate::model::evidence::{ProofGrade, Suite};

/// Why the runs prove nothing: one of them wrote to a file that the base's own tests leave alone.
pub(super) fn judge(base: &Suite, runs: &Runs) -> Result<(), ProofGrade> {
    let single = [
        &runs.red,
        &runs.head,
        &runs.head_again,
        &runs.own,
        &runs.red_again,
        &runs.red_fresh,
    ];
    let suites = single.into_iter().flatten().chain(&runs.alone);
    let written: BTreeSet<&String> = suites
        .flat_map(|suite| &suite.written)
        .filter(|path| !base.written.contains(*path))
        .collect();
    if written.is_empty() {
        return Ok(());
    }
    let written: Vec<String> = written.into_iter().cloned().collect();
    Err(ProofGrade::Unproven(format!(
        "while the tests ran, files of the repository were written: {}; what was tested is not what the commit holds",
        list(&written)
    )))
}
