//! Computes from the results of test runs whether a fix is proven: red without it, green with it, nothing lost.
//! Exit codes and what an agent says play no part. Knows no clock, file or process: `plan` names the next run, the
//! caller makes it.

use std::{collections::BTreeSet, fmt::Write as _};

use sha2::{Digest, Sha256};

use crate::model::{
    Sha,
    evidence::{Counts, NOT_ASSERTED, Proof, ProofGrade, Suite, TestResult, TestStatus, Witness},
};

mod by_ci;
mod calls_only;
mod checks;
mod culprit;
mod flakes;
mod green;
mod incident;
mod landed;
mod own;
mod reach;
mod red;
#[cfg(test)]
mod tests;
mod undo;
mod written;

pub use by_ci::by_ci;
pub use calls_only::calls_only;
pub use checks::filled;
pub use culprit::{culprit, red_at, without};
pub use flakes::{Again, flaky, seen as flakes_seen};
pub use incident::IncidentFacts;
pub use landed::as_good_as;
pub use own::ids_of;
pub use reach::{Reach, does_nothing, file_of, reached, shown_place, unreached};
pub use undo::{another_error, check_nothing, looks_at_source, undone, unseen, unused};

/// The unchanging part of a proof's input.
#[derive(Debug, Clone)]
pub struct Facts {
    pub base: Sha,
    pub head: Sha,
    pub incident: IncidentFacts,
    /// The diff adds tests: `Runs::red` is the base with nothing but them.
    pub has_test_part: bool,
    /// The runner can be told to run single tests.
    pub selects: bool,
    /// Test ids known to change their results by themselves: two results on one commit, seen before.
    pub flakes: BTreeSet<String>,
    /// As a person would type them.
    pub commands: Vec<String>,
    /// Changed files of the base that are no tests.
    pub source: Vec<String>,
    /// Runs of the new files alone, after the two whole runs of the head.
    pub alone_runs: usize,
    /// When the witness has to be red once more. The caller throws dice: a test that counts runs cannot know it.
    pub red_again: RedAgain,
}

/// After which run with the fix the run without it is repeated: what is only red because it came first is no witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedAgain {
    AfterHead,
    AfterHeadAgain,
    AtTheEnd,
}

impl RedAgain {
    pub const ALL: [Self; 3] = [Self::AfterHead, Self::AfterHeadAgain, Self::AtTheEnd];
}

/// Results of the runs made so far.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    pub base: Option<Suite>,
    /// Base and test part.
    pub red: Option<Suite>,
    pub head: Option<Suite>,
    /// Head again, in another folder, without CI variables.
    pub head_again: Option<Suite>,
    pub alone: Vec<Suite>,
    /// The witness in the tree of the red run, after a run with the fix.
    pub red_again: Option<Suite>,
    /// The whole red run on a fresh tree, where the one before left a doubt: an honest test may leave files behind.
    pub red_fresh: Option<Suite>,
    /// Single tests of the base, again, where another run gave them other results.
    pub base_again: Vec<Again>,
    /// The base's tests, as the base has them, on the head's source: the second whole run where the new tests can be run
    /// without the others, made like `head_again`.
    pub own: Option<Suite>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    Base,
    Red,
    Head,
    HeadAgain,
    Alone,
    RedAgain,
    RedFresh,
    BaseAgain,
    OwnTests,
}

impl Run {
    const fn words(self) -> &'static str {
        match self {
            Self::Base | Self::BaseAgain => "the base",
            Self::Red | Self::RedAgain | Self::RedFresh => "the base with the new tests",
            Self::Head | Self::HeadAgain => "the head",
            Self::Alone => "what is new alone",
            Self::OwnTests => "the base's tests on the head's source",
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// With ids: only these tests matter.
    Run(Run, Vec<String>),
    Graded(Box<Proof>),
}

/// Tests that show the fault, found without looking at the head.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    witness: Witness,
    ids: Vec<String>,
    message: String,
    /// At least one of them failed by an assertion.
    by_assertion: bool,
    /// Sentences for a person on what the new tests do not show.
    notes: Vec<String>,
}

/// The next run that is needed, or the grade. A run that cannot change the grade any more is not asked for.
pub fn plan(facts: &Facts, runs: &Runs) -> Next {
    let runs = &filled(runs);
    let facts = &flakes::with_seen(facts, runs);
    let Some(base) = &runs.base else {
        return Next::Run(Run::Base, Vec::new());
    };
    if let Some(why) = unusable(base, "the base") {
        return graded(facts, runs, None, ProofGrade::Unproven(why));
    }
    if let Err(grade) = written::judge(base, runs) {
        return graded(facts, runs, None, grade);
    }
    if facts.has_test_part && runs.red.is_none() {
        return Next::Run(Run::Red, Vec::new());
    }
    let found = match red::witness(facts, base, runs.red.as_ref()) {
        Ok(found) => found,
        Err(grade) => return doubted(facts, runs, None, grade),
    };
    let Some(head) = &runs.head else {
        return Next::Run(Run::Head, Vec::new());
    };
    if let Err(grade) = green::readable(head, "the head") {
        return graded(facts, runs, Some(found), grade);
    }
    if facts.red_again == RedAgain::AfterHead
        && let Some(next) = red_again(facts, runs, &found)
    {
        return next;
    }
    let apart = facts.has_test_part && facts.selects && facts.alone_runs > 0;
    if runs.head_again.is_none() && !apart {
        return Next::Run(Run::HeadAgain, Vec::new());
    }
    if let Err(grade) = green::judge(facts, base, head, runs.head_again.as_ref(), &found.ids) {
        return doubted(facts, runs, Some(found), grade);
    }
    if facts.has_test_part {
        let Some(own) = &runs.own else {
            return Next::Run(Run::OwnTests, Vec::new());
        };
        if let Err(grade) = own::judge(facts, base, head, own) {
            return doubted(facts, runs, Some(found), grade);
        }
    }
    if facts.red_again == RedAgain::AfterHeadAgain
        && let Some(next) = red_again(facts, runs, &found)
    {
        return next;
    }
    match green::alone(&runs.alone, &found.ids) {
        Err(grade) => graded(facts, runs, Some(found), grade),
        Ok(()) if apart && runs.alone.len() < facts.alone_runs => Next::Run(Run::Alone, found.ids),
        // A witness that the runner did not run alone was seen with the fix only once.
        Ok(()) if runs.head_again.is_none() && !green::ran_alone(&runs.alone, &found.ids) => {
            Next::Run(Run::HeadAgain, Vec::new())
        }
        Ok(()) => {
            red_again(facts, runs, &found).unwrap_or_else(|| graded(facts, runs, Some(found), ProofGrade::Proven))
        }
    }
}

/// A grade that speaks against the fix, unless tests are behind it that may come and go: those run again first.
fn doubted(facts: &Facts, runs: &Runs, found: Option<Found>, grade: ProofGrade) -> Next {
    match flakes::suspects(facts, runs) {
        Some(ids) => Next::Run(Run::BaseAgain, ids),
        None => graded(facts, runs, found, grade),
    }
}

/// The run that has to show once more that the witness is red without the fix, or its failure; none when it has.
fn red_again(facts: &Facts, runs: &Runs, found: &Found) -> Option<Next> {
    let Some(again) = &runs.red_again else {
        return Some(Next::Run(Run::RedAgain, found.ids.clone()));
    };
    if red::again(facts, again, &found.ids).is_ok() {
        return None;
    }
    let Some(fresh) = &runs.red_fresh else {
        return Some(Next::Run(Run::RedFresh, Vec::new()));
    };
    let grade = red::again(facts, fresh, &found.ids).err()?;
    Some(graded(facts, runs, Some(found.clone()), grade))
}

/// The grade of complete runs; incomplete ones are `Unproven`.
pub fn grade(facts: &Facts, runs: &Runs) -> Proof {
    match plan(facts, runs) {
        Next::Graded(proof) => *proof,
        Next::Run(run, _) => proof(
            facts,
            runs,
            None,
            ProofGrade::Unproven(format!("{} was not run", run.words())),
        ),
    }
}

/// Nothing was computed: why.
pub fn unproven(facts: &Facts, why: &str) -> Proof {
    proof(facts, &Runs::default(), None, ProofGrade::Unproven(why.to_owned()))
}

fn graded(facts: &Facts, runs: &Runs, found: Option<Found>, grade: ProofGrade) -> Next {
    Next::Graded(Box::new(proof(facts, runs, found, grade)))
}

fn proof(facts: &Facts, runs: &Runs, found: Option<Found>, grade: ProofGrade) -> Proof {
    let made = [&runs.base, &runs.red, &runs.head, &runs.head_again];
    let again = [&runs.red_again, &runs.red_fresh, &runs.own].into_iter().flatten();
    let again = again.chain(runs.base_again.iter().map(|again| &again.suite));
    let made: Vec<&Suite> = made.into_iter().flatten().chain(&runs.alone).chain(again).collect();
    let not_proven = not_proven(facts, runs, found.as_ref());
    let green_runs = match &grade {
        ProofGrade::Proven => {
            let whole = runs.head.iter().chain(&runs.head_again).count();
            let alone = runs.alone.iter().filter(|suite| green::ran(suite, found.as_ref()));
            whole + alone.count()
        }
        ProofGrade::Unproven(_) | ProofGrade::NotRed(_) | ProofGrade::NotGreen(_) => 0,
    };
    let grade_is_proven = grade == ProofGrade::Proven;
    let (witness, witness_ids, red) = match found {
        Some(found) => (found.witness, found.ids, found.message),
        None => (Witness::C, Vec::new(), String::new()),
    };
    Proof {
        base: facts.base.clone(),
        head: facts.head.clone(),
        grade,
        witness,
        witness_ids,
        red,
        green_runs: u32::try_from(green_runs).unwrap_or(u32::MAX),
        red_again: grade_is_proven,
        undone: Vec::new(),
        reached: None,
        for_person: None,
        base_counts: runs.base.as_ref().map(counts).unwrap_or_default(),
        head_counts: runs.head.as_ref().map(counts).unwrap_or_default(),
        commands: facts.commands.clone(),
        source: facts.source.clone(),
        not_proven,
        sandbox: sandbox(&made),
        digest: digest(&made),
    }
}

/// Sentences about what even a proven fix leaves open.
fn not_proven(facts: &Facts, runs: &Runs, found: Option<&Found>) -> Vec<String> {
    let mut out =
        vec!["Whether the error is gone in production: only the time after the merge can show that.".to_owned()];
    if let Some(found) = found {
        if !found.by_assertion {
            out.push(NOT_ASSERTED.to_owned());
        }
        out.extend(found.notes.iter().cloned());
        let alone = facts.alone_runs > 0 && facts.has_test_part && runs.own.is_some();
        if alone
            && (!facts.selects || !runs.alone.is_empty())
            && !runs.alone.iter().any(|suite| green::ran(suite, Some(found)))
        {
            out.push("Whether the new tests pass when they run alone: this runner could not select them.".to_owned());
        }
    }
    if let (Some(base), Some(head)) = (&runs.base, &runs.head) {
        let failing = |suite: &Suite| -> BTreeSet<String> {
            let bad = suite.tests.iter().filter(|(_, results)| results.iter().any(is_bad));
            bad.map(|(id, _)| id.clone()).collect()
        };
        let still: Vec<String> = failing(base).intersection(&failing(head)).cloned().collect();
        if !still.is_empty() {
            out.push(format!(
                "Failing before the change and after it, counted neither way: {}.",
                list(&still)
            ));
        }
    }
    if let Some(base) = &runs.base
        && !base.load_errors.is_empty()
    {
        let names: Vec<String> = base.load_errors.iter().map(|e| load_name(e).to_owned()).collect();
        out.push(format!(
            "What could not be loaded before the change either says nothing: {}.",
            list(&names)
        ));
    }
    if !facts.flakes.is_empty() {
        let flakes: Vec<String> = facts.flakes.iter().cloned().collect();
        out.push(format!(
            "Tests that gave two results on one and the same commit without the change count neither way: {}.",
            list(&flakes)
        ));
    }
    out
}

/// Why a run cannot be built upon.
fn unusable(suite: &Suite, of: &str) -> Option<String> {
    if let Some(why) = &suite.unreadable {
        return Some(format!("the tests of {of} could not be read: {why}"));
    }
    suite
        .timed_out
        .then(|| format!("the tests of {of} did not end in time"))
}

fn is_bad(result: &TestResult) -> bool {
    match result.status {
        TestStatus::Fail | TestStatus::Error => true,
        TestStatus::Pass | TestStatus::Skip => false,
    }
}

/// A failure as people read it: `assertion: 500 != 200`, or the error's own type and message.
fn shown(result: &TestResult) -> String {
    let text = result
        .message
        .strip_prefix(result.kind.as_str())
        .unwrap_or(&result.message);
    match (result.by_assertion, text.trim_start_matches(':').trim()) {
        (false, _) => result.message.clone(),
        (true, "") => "assertion".to_owned(),
        (true, text) => format!("assertion: {text}"),
    }
}

fn count(results: &[TestResult], status: TestStatus) -> usize {
    results.iter().filter(|result| result.status == status).count()
}

fn counts(suite: &Suite) -> Counts {
    let of = |status| u32::try_from(suite.count(status)).unwrap_or(u32::MAX);
    Counts {
        pass: of(TestStatus::Pass),
        fail: of(TestStatus::Fail),
        error: of(TestStatus::Error),
        skip: of(TestStatus::Skip),
    }
}

/// What could not be loaded; the message behind it can change with the tree.
fn load_name(error: &str) -> &str {
    error.split_once(": ").map_or(error, |(name, _)| name)
}

/// The first load error that the base does not have.
fn new_load_error<'a>(base: &Suite, suite: &'a Suite) -> Option<&'a String> {
    let known: BTreeSet<&str> = base.load_errors.iter().map(|e| load_name(e)).collect();
    suite.load_errors.iter().find(|error| !known.contains(load_name(error)))
}

fn sandbox(suites: &[&Suite]) -> String {
    let open = suites.iter().find(|suite| suite.sandbox != "sandboxed");
    open.or(suites.first())
        .map(|suite| suite.sandbox.clone())
        .unwrap_or_default()
}

fn digest(suites: &[&Suite]) -> String {
    let mut hash = Sha256::new();
    for suite in suites {
        hash.update(suite.digest.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

fn list(names: &[String]) -> String {
    let mut out = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 5 {
        // Writing to a string cannot fail.
        let _infallible = write!(out, " and {} more", names.len() - 5);
    }
    out
}
