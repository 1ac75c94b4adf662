//! Evidence for a merge: guards, proof, tests, audit. Each is bound to one head SHA.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Sha;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardVerdict {
    Accept,
    NeedsHuman,
    Reject,
}

/// One thing a guard saw in a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable rule id, such as `fixer-touched-tests`, `sensitive-path`, `diff-size`, `secret`.
    pub rule: String,
    pub verdict: GuardVerdict,
    /// Empty where the diff as a whole is meant.
    pub path: String,
    pub line: Option<u32>,
    /// What stood there and what would stand there; empty where it does not apply.
    pub was: String,
    pub is: String,
    pub why: String,
}

impl Finding {
    /// `path:line`, or the diff as a whole.
    pub fn place(&self) -> String {
        match self.line {
            _ if self.path.is_empty() => "the whole diff".to_owned(),
            Some(line) => format!("{}:{line}", self.path),
            None => self.path.clone(),
        }
    }

    /// Where it is and what is wrong there.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.place(), self.why)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    pub verdict: GuardVerdict,
    pub findings: Vec<Finding>,
    /// Changed paths, sorted.
    pub paths: Vec<String>,
    pub added: u32,
    pub removed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    Pass,
    Fail,
    Error,
    Skip,
}

/// One result of one test id. Ids repeat in real suites, so a suite is a multiset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    pub status: TestStatus,
    /// An assertion failed inside the named test (as opposed to a load, import or set-up error).
    pub by_assertion: bool,
    /// It was raised in the test's own body: not by a set-up, a tear-down, a hook, a deadline.
    #[serde(default)]
    pub inside: bool,
    /// Type of the failure, such as `AssertionError`, `shop.errors.NoCoupon`, `panic`.
    #[serde(default)]
    pub kind: String,
    /// Type and message of the failure, redacted; empty on pass.
    pub message: String,
    /// End of its traceback, redacted; empty on pass.
    #[serde(default)]
    pub trace: String,
}

impl TestResult {
    /// A result that says nothing beyond its status.
    pub fn of(status: TestStatus) -> Self {
        Self {
            status,
            by_assertion: false,
            inside: false,
            kind: String::new(),
            message: String::new(),
            trace: String::new(),
        }
    }
}

/// Results of one run of a slot's test commands on one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    pub tests: BTreeMap<String, Vec<TestResult>>,
    /// Set when the output could not be read as results of a known runner: the run proves nothing.
    pub unreadable: Option<String>,
    /// Compilers, type checkers and linters that ran to their end, as the ids of their results begin.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub checks: BTreeSet<String>,
    /// Load, import and collection errors, by file or module.
    pub load_errors: Vec<String>,
    pub timed_out: bool,
    /// Files of the repository that the run wrote to.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<String>,
    /// SHA-256 of the whole output.
    pub digest: String,
    pub ms: u64,
    /// "sandboxed" or "not sandboxed: …".
    pub sandbox: String,
}

impl Suite {
    pub fn count(&self, status: TestStatus) -> usize {
        self.tests.values().flatten().filter(|r| r.status == status).count()
    }

    pub fn total(&self) -> usize {
        self.tests.values().map(Vec::len).sum()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Witness {
    /// A check that already fails at the base with this signature.
    A,
    /// A new regression test, red without the fix and green with it.
    B,
    /// None possible.
    C,
}

/// What the harness computed about one attempt's head. Shown in the PR, with what is not proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub base: Sha,
    pub head: Sha,
    pub grade: ProofGrade,
    pub witness: Witness,
    /// Ids of the tests that carry the proof (computed, never what the agent lists).
    pub witness_ids: Vec<String>,
    /// Message of the red run, redacted.
    pub red: String,
    pub green_runs: u32,
    /// The red run was repeated after a run with the fix, and was red again.
    #[serde(default)]
    pub red_again: bool,
    /// The head with one changed file as it was before, for each that can change what the program does.
    #[serde(default)]
    pub undone: Vec<Undone>,
    /// The new tests come to a function of the incident's trace or to what one of them calls: the first place of that trace.
    #[serde(default)]
    pub reached: Option<String>,
    /// Why a person decides although it is proven.
    #[serde(default)]
    pub for_person: Option<String>,
    pub base_counts: Counts,
    pub head_counts: Counts,
    /// Commands a person can repeat it with.
    pub commands: Vec<String>,
    /// Files of the fix that are no tests: with these as the base has them the witness fails.
    #[serde(default)]
    pub source: Vec<String>,
    /// Sentences: what this proof does not show.
    pub not_proven: Vec<String>,
    pub sandbox: String,
    /// SHA-256 over the outputs of all runs, in order.
    pub digest: String,
}

/// What undoing one changed file alone did to the tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    pub path: String,
    pub outcome: UndoOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "said")]
pub enum UndoOutcome {
    /// This test fails as the witness does.
    Fails(String),
    /// The rest cannot be loaded without it.
    Needed(String),
    /// Every test still passes.
    Unseen,
    /// The tests could not be run or read.
    Unknown(String),
}

impl Undone {
    /// Whether the tests need the file's change.
    pub fn is_seen(&self) -> bool {
        match self.outcome {
            UndoOutcome::Fails(_) | UndoOutcome::Needed(_) => true,
            UndoOutcome::Unseen | UndoOutcome::Unknown(_) => false,
        }
    }
}

/// Among what a proof does not show: the red run raises the incident's error, where no assertion is made.
pub const NOT_ASSERTED: &str = "The failing run fails with an error like the incident's, not with an assertion.";

impl Proof {
    /// The red run fails in an assertion of the test.
    pub fn is_by_assertion(&self) -> bool {
        !self.not_proven.iter().any(|sentence| sentence == NOT_ASSERTED)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub pass: u32,
    pub fail: u32,
    pub error: u32,
    pub skip: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "grade", content = "why")]
pub enum ProofGrade {
    /// Red without, green with, nothing lost.
    Proven,
    /// The harness could not compute it (unknown runner, unreadable output): a person decides.
    Unproven(String),
    /// The red is not red: the new test passes on the base, or fails by anything but an assertion.
    NotRed(String),
    /// The head does not pass: witness still red, or an id of the base lost or worse.
    NotGreen(String),
}

/// Reply of the auditor, parsed strictly and bound to a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    pub verdict: AuditVerdict,
    pub head: Sha,
    pub agent: String,
    pub reasons: Vec<String>,
    pub sandbox: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditVerdict {
    Approve,
    Revise,
    Reject,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_where_it_is() {
        let mut finding = Finding {
            rule: "diff-size".to_owned(),
            verdict: GuardVerdict::NeedsHuman,
            path: String::new(),
            line: None,
            was: String::new(),
            is: String::new(),
            why: "348 changed lines".to_owned(),
        };
        assert_eq!(finding.sentence(), "the whole diff: 348 changed lines");
        "a.rs".clone_into(&mut finding.path);
        assert_eq!(finding.sentence(), "a.rs: 348 changed lines");
        finding.line = Some(3);
        assert_eq!(finding.sentence(), "a.rs:3: 348 changed lines");
    }
}
