//! Makes the runs that `decide::proof` asks for, on trees that the caller has checked out, and returns its grade.
//! Decides nothing itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::stamps::Stamps;
use crate::{
    adapters::suite::{self, Only, SuiteChild, SuiteOptions, SuiteOutput},
    config::CommandLine,
    decide::proof::{self, Again, Facts, Next, Run, Runs},
    model::evidence::{Proof, Suite},
};

/// Fresh checkouts, each ours alone, all on one file system. Tests may write into them.
#[derive(Debug, Clone)]
pub struct ProofTrees {
    pub base: PathBuf,
    /// Base with the test part of the diff; not looked at when there is none.
    pub red: PathBuf,
    pub head: PathBuf,
    /// The head once more, under another path.
    pub head_again: PathBuf,
    /// What the red run was made on, untouched.
    pub red_fresh: PathBuf,
    /// The head's source with the base's tests; not looked at when the diff brings no test.
    pub own: PathBuf,
}

impl ProofTrees {
    pub fn all(&self) -> [&Path; 6] {
        let all = [
            &self.base,
            &self.red,
            &self.head,
            &self.head_again,
            &self.red_fresh,
            &self.own,
        ];
        all.map(PathBuf::as_path)
    }
}

pub struct ProveRequest {
    /// `selects` is set here.
    pub facts: Facts,
    /// The slot's test commands.
    pub commands: Vec<CommandLine>,
    /// Paths of the test part, for the run of the new files alone.
    pub test_files: Vec<String>,
    /// `second_run`, `only`, `reference` and parts of `scratch` are set for each run here.
    pub options: SuiteOptions,
    /// Where every tree but `head_again` stands while its tests run: a build cache or an editable install that names
    /// an absolute path would otherwise test another tree. None = each runs where it is.
    pub work: Option<PathBuf>,
    /// A tree works under another path than that too: the second runs of the head are made there.
    pub moves: bool,
    /// Files of the repository, below each tree: none of them may change while tests run.
    pub files: Vec<PathBuf>,
    /// The base's results of an earlier proof with the same tree and commands.
    pub base: Option<Suite>,
}

/// The proof and the runs it was computed from; `runs.base` may be kept for the next attempt.
pub struct Proven {
    pub proof: Proof,
    pub runs: Runs,
}

/// Calls `fresh` before each run: what runs share beside the trees is put back there. Fails with [`suite::NotRun`] when the tests were stopped: then there is no grade, and nothing to record.
pub async fn prove(
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    fresh: &impl Fn() -> Result<()>,
    trees: &ProofTrees,
    mut request: ProveRequest,
) -> Result<Proven> {
    let commands = suite::resolve(&trees.base, &request.commands);
    request.facts.selects = suite::selects(&commands);
    let mut runs = Runs {
        base: request.base.clone(),
        ..Runs::default()
    };
    loop {
        let (run, ids) = match proof::plan(&request.facts, &runs) {
            Next::Graded(proof) => {
                let runs = proof::filled(&runs);
                return Ok(Proven { proof: *proof, runs });
            }
            Next::Run(run, ids) => (run, ids),
        };
        let second = is_second(run, &runs);
        let (tree, options) = prepare((run, second), ids.clone(), trees, &request);
        fresh()?;
        let work = request.work.as_deref().filter(|_| !(second && request.moves));
        let stamps = Stamps::of(tree, &request.files);
        let mut suite = match work {
            None => suite::run_suite(runner, tree, &commands, &options).await?,
            Some(work) => {
                let run = async |dir: &Path| suite::run_suite(runner, dir, &commands, &options).await;
                with_tree_at(work, tree, run).await??
            }
        };
        suite.written = stamps.changed(tree);
        match run {
            Run::Base => runs.base = Some(suite),
            Run::Red => runs.red = Some(suite),
            Run::Head => runs.head = Some(suite),
            Run::HeadAgain => runs.head_again = Some(suite),
            Run::Alone => runs.alone.push(suite),
            Run::RedAgain => runs.red_again = Some(suite),
            Run::RedFresh => runs.red_fresh = Some(suite),
            Run::BaseAgain => runs.base_again.push(Again { ids, suite }),
            Run::OwnTests => runs.own = Some(suite),
        }
    }
}

/// What is seen for the second time with the fix: the head, the base's tests on its source, the new tests when they run alone
/// for the first time. It is made in another folder, without the runner's variables and those of CI.
fn is_second(run: Run, runs: &Runs) -> bool {
    match run {
        Run::HeadAgain | Run::OwnTests => true,
        Run::Alone => runs.alone.is_empty(),
        Run::Base | Run::Red | Run::Head | Run::RedAgain | Run::RedFresh | Run::BaseAgain => false,
    }
}

fn prepare<'a>(
    (run, second): (Run, bool),
    ids: Vec<String>,
    trees: &'a ProofTrees,
    request: &ProveRequest,
) -> (&'a Path, SuiteOptions) {
    let (tree, name) = match run {
        Run::Base => (&trees.base, "base"),
        Run::Red => (&trees.red, "red"),
        Run::Head => (&trees.head, "head"),
        Run::HeadAgain => (&trees.head_again, "head-again"),
        Run::Alone if second => (&trees.head_again, "alone-again"),
        Run::Alone => (&trees.head, "alone"),
        // The tree as the red run left it: what was built there need not be built again.
        Run::RedAgain if request.facts.has_test_part => (&trees.red, "red-again"),
        Run::RedAgain => (&trees.base, "red-again"),
        Run::RedFresh => (&trees.red_fresh, "red-fresh"),
        Run::BaseAgain => (&trees.base, "base-again"),
        Run::OwnTests => (&trees.own, "own"),
    };
    let files = if run == Run::Alone {
        request.test_files.clone()
    } else {
        Vec::new()
    };
    let single = matches!(run, Run::Alone | Run::RedAgain | Run::BaseAgain);
    let only = single.then_some(Only { files, ids });
    // While the base's own tests run, the base stands elsewhere.
    let reference = match &request.work {
        Some(work) if tree == &trees.base => work,
        _ => &trees.base,
    };
    let options = SuiteOptions {
        second_run: second,
        only,
        reference: Some(reference.clone()),
        scratch: request.options.scratch.join(name),
        ..request.options.clone()
    };
    (tree, options)
}

/// Moves `tree` to `work` while `run` runs there, and back afterwards, also when the future is dropped.
pub async fn with_tree_at<T>(work: &Path, tree: &Path, run: impl AsyncFnOnce(&Path) -> T) -> Result<T> {
    let placed = Placed::put(work, tree)?;
    let out = run(work).await;
    placed.back()?;
    Ok(out)
}

struct Placed<'a> {
    work: &'a Path,
    tree: &'a Path,
    there: bool,
}

impl<'a> Placed<'a> {
    fn put(work: &'a Path, tree: &'a Path) -> Result<Self> {
        // A rename onto an empty directory would succeed and hide that somebody else works there.
        anyhow::ensure!(
            fs::symlink_metadata(work).is_err(),
            "{} is taken: remove what an ended run left there",
            work.display()
        );
        fs::rename(tree, work).with_context(|| format!("move {} to {}", tree.display(), work.display()))?;
        Ok(Self {
            work,
            tree,
            there: true,
        })
    }

    fn back(mut self) -> Result<()> {
        self.there = false;
        fs::rename(self.work, self.tree)
            .with_context(|| format!("move {} back to {}", self.work.display(), self.tree.display()))
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        if self.there {
            // Nobody is left to tell; the sweep of the next tick removes what stays.
            let _best_effort = fs::rename(self.work, self.tree);
        }
    }
}

#[cfg(test)]
mod tests;
