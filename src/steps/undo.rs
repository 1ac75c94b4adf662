//! Undoes each changed file of a proven head alone and runs the tests that know it: some have to fail. A change that no
//! test sees is not proven by the others.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};

use super::{
    ground::Ground,
    prove::{Proven, with_tree_at},
};
use crate::{
    adapters::{
        clock::instant,
        git::{FileEdit, Mirror},
        suite::{self, NotRun, Only, SuiteChild, SuiteOptions, SuiteOutput},
    },
    config::CommandLine,
    decide::{
        guards::{FileChange, Kind, Kinds, Parts, acts, is_executable, normal},
        proof::{self, Facts},
    },
    model::evidence::{ProofGrade, Suite, UndoOutcome, Undone, Witness},
};

/// For all files together.
const CAP: Duration = Duration::from_mins(5);
/// A test file that is larger is not searched for the names of modules.
const SEARCHED: u64 = 1 << 20;

/// What the runs need beside the proof.
pub(super) struct Undoing<'a> {
    pub(super) facts: &'a Facts,
    pub(super) parts: &'a Parts,
    pub(super) kinds: &'a Kinds,
    pub(super) mirror: &'a Mirror,
    pub(super) ground: Option<&'a Ground>,
    pub(super) commands: &'a [CommandLine],
    pub(super) options: &'a SuiteOptions,
    /// Ours alone; the trees are made in it.
    pub(super) dir: &'a Path,
    pub(super) work: &'a Path,
    /// The base's tree.
    pub(super) reference: &'a Path,
}

impl Undoing<'_> {
    /// Adds what each undoing did to a proof that holds.
    pub(super) async fn each(
        &self,
        runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
        proven: &mut Proven,
    ) -> Result<()> {
        let Some(head) = proven
            .runs
            .head
            .clone()
            .filter(|_| proven.proof.grade == ProofGrade::Proven)
        else {
            return Ok(());
        };
        if proven.proof.witness == Witness::B && !self.parts.source_part.iter().any(acts) {
            proof::does_nothing(&mut proven.proof);
        }
        let witness = &proven.proof.witness_ids;
        if let Some(undone) = by_witness(self.parts, witness) {
            proven.proof.undone = undone;
            return Ok(());
        }
        let started = instant();
        let mut undone = Vec::new();
        for (n, change) in acting(self.parts).into_iter().enumerate() {
            let left = CAP.saturating_sub(started.elapsed());
            let outcome = if left.is_zero() {
                UndoOutcome::Unknown("the five minutes for it were over".to_owned())
            } else {
                self.one(runner, change, &head, witness, n, left).await?
            };
            undone.push(Undone {
                path: change.shown(),
                outcome,
            });
        }
        proven.proof.undone = undone;
        proof::unseen(&mut proven.proof);
        Ok(())
    }

    async fn one(
        &self,
        runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
        change: &FileChange,
        head: &Suite,
        witness: &[String],
        n: usize,
        left: Duration,
    ) -> Result<UndoOutcome> {
        let edit = FileEdit {
            path: change.path.clone(),
            new: change.old.as_ref().map(|side| (side.mode, side.bytes.clone())),
        };
        let commit = self
            .mirror
            .commit_edits(&self.facts.head, &[edit], "One file as it was")
            .await?;
        let tree = self.dir.join(format!("undone-{n}"));
        self.mirror.checkout(&commit, &tree).await?;
        let files = self.knowing(change, &tree).await?;
        if let Some(ground) = self.ground {
            ground.fill(&tree)?;
            ground.renew_home()?;
        }
        let options = SuiteOptions {
            timeout: left,
            second_run: false,
            only: Some(Only {
                ids: ids_of(head, &files, witness),
                files,
            }),
            reference: Some(self.reference.to_owned()),
            scratch: self.options.scratch.join(format!("undone-{n}")),
            ..self.options.clone()
        };
        let run = async |dir: &Path| -> Result<Suite, NotRun> {
            suite::run_suite(runner, dir, self.commands, &options).await
        };
        let without = with_tree_at(self.work, &tree, run).await??;
        Ok(proof::undone(self.facts, head, &without))
    }

    /// Test files that name the changed one, and those that the fix brought.
    async fn knowing(&self, change: &FileChange, tree: &Path) -> Result<Vec<String>> {
        let name = module_name(&change.shown());
        let brought: BTreeSet<String> = self.parts.test_part.iter().map(FileChange::shown).collect();
        let entries = self.mirror.list(&self.facts.head).await?;
        let mut knowing = Vec::new();
        for entry in entries {
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            let searched = entry.size.is_some_and(|size| size <= SEARCHED);
            if !matches!(self.kinds.of(&normal(&entry.path)), Kind::Test(_)) || !searched {
                continue;
            }
            let read = || -> Result<bool> {
                let file = tree.join(PathBuf::from(&path));
                let meta = std::fs::symlink_metadata(&file).with_context(|| format!("read {path}"))?;
                let text = std::fs::read(&file).with_context(|| format!("read {path}"))?;
                Ok(meta.is_file() && has_word(&String::from_utf8_lossy(&text), &name))
            };
            if brought.contains(&path) || read()? {
                knowing.push(path);
            }
        }
        Ok(knowing)
    }
}

/// Changes that can alter what the program does.
fn acting(parts: &Parts) -> Vec<&FileChange> {
    parts
        .source_part
        .iter()
        .filter(|change| is_executable(change))
        .collect()
}

/// What needs no run: without the one file that changed the head is what the red run was made on.
pub(super) fn by_witness(parts: &Parts, witness: &[String]) -> Option<Vec<Undone>> {
    let acting = acting(parts);
    let ([one], [_]) = (acting.as_slice(), parts.source_part.as_slice()) else {
        return None;
    };
    let fails = |id: &String| Undone {
        path: one.shown(),
        outcome: UndoOutcome::Fails(id.clone()),
    };
    Some(witness.first().into_iter().map(fails).collect())
}

/// Where nothing runs here.
pub(super) fn not_tried(parts: &Parts) -> Vec<Undone> {
    let unknown = |change: &FileChange| Undone {
        path: change.shown(),
        outcome: UndoOutcome::Unknown("CI ran the fix as a whole".to_owned()),
    };
    acting(parts).into_iter().map(unknown).collect()
}

/// `shop/discount.py` is `discount`; what stands for its folder is named like that.
fn module_name(path: &str) -> String {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    match (stem, parts.next()) {
        ("index" | "mod" | "lib" | "main" | "__init__", Some(folder)) if folder != "src" => folder.to_owned(),
        _ => stem.to_owned(),
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// The tests of these files, as the runner names them, and the witness.
fn ids_of(head: &Suite, files: &[String], witness: &[String]) -> Vec<String> {
    let mut ids = proof::ids_of(head, files);
    ids.extend(witness.iter().cloned());
    ids.sort();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::{TestResult, TestStatus};

    #[test]
    fn tests_are_known_by_the_names_in_them() {
        assert_eq!(module_name("shop/discount.py"), "discount");
        assert_eq!(module_name("src/cart/index.ts"), "cart");
        assert_eq!(module_name("src/lib.rs"), "lib");
        assert!(has_word("from shop import discount\n", "discount"));
        assert!(!has_word("from shop import discounts, my_discount\n", "discount"));
        let mut head = Suite::default();
        for id in ["tests.test_a.A.test_x", "tests.test_ab.A.test_y", "test/a.test.js > z"] {
            head.tests.insert(id.to_owned(), vec![TestResult::of(TestStatus::Pass)]);
        }
        let of = |file: &str| ids_of(&head, &[file.to_owned()], &["w".to_owned()]);
        assert_eq!(of("test/a.test.js"), ["test/a.test.js > z", "w"]);
        assert_eq!(of("tests/test_none.py"), ["w"]);
        assert!(of("tests/test_a.py").contains(&"tests.test_a.A.test_x".to_owned()));
    }
}
