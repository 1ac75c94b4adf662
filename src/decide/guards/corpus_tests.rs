//! The guards as a whole over labelled diffs: those of this repository always, the larger public set where it lies
//! beside the checkout (else the test says "skipped").

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde_json::Value;

use super::{Around, Diff, GuardPolicy, Side, Ticket, TicketKind, judge, patch, unjudged, wanted};
use crate::{
    model::evidence::{GuardReport, GuardVerdict},
    text::Redactor,
};

type Tree = BTreeMap<Vec<u8>, Side>;

/// One labelled diff.
pub(super) struct Case {
    pub(super) id: String,
    tree: String,
    pub(super) label: Value,
    diff: Vec<u8>,
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn own() -> (BTreeMap<String, Tree>, Vec<Case>) {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/guards");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    let trees: Value = serde_json::from_str(&read("trees.json")).unwrap();
    let tree = |files: &Value| -> Tree {
        let side = |file: &Value| Side {
            mode: if file["program"] == true { 0o100_755 } else { 0o100_644 },
            bytes: file["text"].as_str().unwrap().as_bytes().to_vec(),
        };
        let files = files.as_object().unwrap().iter();
        files
            .map(|(path, file)| (path.as_bytes().to_vec(), side(file)))
            .collect()
    };
    let trees = trees
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, files)| (name.clone(), tree(files)));
    let case = |row: Value| Case {
        id: row["id"].as_str().unwrap().to_owned(),
        tree: row["tree"].as_str().unwrap().to_owned(),
        diff: row["diff"].as_str().unwrap().as_bytes().to_vec(),
        label: row,
    };
    (
        trees.collect(),
        rows(&read("cases.jsonl")).into_iter().map(case).collect(),
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "only tests look for the larger corpora, whose place may be given"
)]
fn shared() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("TICK_SHARED")
        .map_or(beside, PathBuf::from)
        .join("bench/guards");
    let found = dir.join("labels.jsonl").exists();
    if !found {
        println!("skipped (optional): no bench/guards");
    }
    found.then_some(dir)
}

fn read_tree(root: &Path, dir: &Path, out: &mut Tree) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_tree(root, &path, out);
            continue;
        }
        let program = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
        let side = Side {
            mode: if program { 0o100_755 } else { 0o100_644 },
            bytes: std::fs::read(&path).unwrap(),
        };
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        out.insert(name.as_bytes().to_vec(), side);
    }
}

fn ticket(task: &Value) -> Ticket {
    let declared = task["declared_paths"].as_array().into_iter().flatten();
    Ticket {
        kind: if task["kind"] == "behaviour-change" {
            TicketKind::BehaviourChange
        } else {
            TicketKind::Bugfix
        },
        declared: declared.map(|p| p.as_str().unwrap().to_owned()).collect(),
    }
}

fn report(tree: &Tree, case: &Case) -> GuardReport {
    static POLICY: OnceLock<GuardPolicy> = OnceLock::new();
    let policy = POLICY.get_or_init(|| GuardPolicy::anybody([]).unwrap());
    let applied = match patch::parse(&case.diff).map(|p| patch::apply(&p, tree)) {
        Ok(applied) => applied,
        Err(error) => return unjudged(&error),
    };
    let mut diff = Diff {
        changes: applied.changes,
        unread: applied.unread,
        around: Around {
            paths: tree.keys().cloned().collect::<BTreeSet<_>>(),
            files: BTreeMap::new(),
        },
        ticket: ticket(&case.label["task"]),
    };
    for _ in 0..3 {
        for path in wanted(&diff) {
            let bytes = tree.get(&path).map(|s| s.bytes.clone()).unwrap_or_default();
            diff.around.files.insert(path, bytes);
        }
    }
    judge(&diff, policy, &Redactor::default())
}

pub(super) fn word(verdict: GuardVerdict) -> &'static str {
    match verdict {
        GuardVerdict::Accept => "accept",
        GuardVerdict::NeedsHuman => "needs-human",
        GuardVerdict::Reject => "reject",
    }
}

/// The cases of this repository with what the guards say of each; asked once for all tests.
pub(super) fn answered() -> &'static [(Case, GuardReport)] {
    static ANSWERS: OnceLock<Vec<(Case, GuardReport)>> = OnceLock::new();
    ANSWERS.get_or_init(|| {
        let (trees, cases) = own();
        let answer = |case: Case| {
            let report = report(&trees[&case.tree], &case);
            (case, report)
        };
        cases.into_iter().map(answer).collect()
    })
}

/// Shares in thousandths, and the bars that the project sets itself.
fn score<'c>(answers: impl Iterator<Item = (&'c Case, GuardVerdict)>) {
    let (mut bad, mut blocked, mut rejects, mut rejected, mut honest, mut stopped) = (0, 0, 0, 0, 0, 0);
    let mut wrong = Vec::new();
    for (case, verdict) in answers {
        let got = word(verdict);
        let want = case.label["verdict"].as_str().unwrap();
        let also = case.label.get("also").or(case.label.get("also_ok"));
        let right = got == want
            || also
                .and_then(Value::as_array)
                .is_some_and(|a| a.iter().any(|v| v == got));
        if want == "accept" {
            honest += 1;
            stopped += usize::from(!right);
        } else {
            bad += 1;
            blocked += usize::from(got != "accept");
        }
        if want == "reject" {
            rejects += 1;
            rejected += usize::from(right);
        }
        if !right {
            wrong.push(format!("{} {want} -> {got}: {}", case.id, case.label["why"]));
        }
    }
    let share = |a: usize, b: usize| a * 1000 / b.max(1);
    assert!(share(blocked, bad) >= 970, "{wrong:#?}");
    assert!(share(rejected, rejects) >= 920, "{wrong:#?}");
    assert!(share(stopped, honest) <= 30, "{wrong:#?}");
}

#[test]
fn our_own_diffs_meet_the_bars() {
    let answers = answered();
    assert!(answers.len() >= 440);
    score(answers.iter().map(|(case, report)| (case, report.verdict)));
}

#[test]
fn the_public_diffs_meet_the_bars() {
    let Some(dir) = shared() else { return };
    let labels = rows(&std::fs::read_to_string(dir.join("labels.jsonl")).unwrap());
    let mut trees = BTreeMap::new();
    let mut cases = Vec::new();
    for label in labels {
        let tree = label["base"].as_str().unwrap().to_owned();
        trees.entry(tree.clone()).or_insert_with(|| {
            let root = dir.join("base").join(&tree);
            let mut out = Tree::new();
            read_tree(&root, &root, &mut out);
            out
        });
        cases.push(Case {
            id: label["file"].as_str().unwrap().to_owned(),
            diff: std::fs::read(dir.join(label["file"].as_str().unwrap())).unwrap(),
            tree,
            label,
        });
    }
    score(
        cases
            .iter()
            .map(|case| (case, report(&trees[&case.tree], case).verdict)),
    );
}

#[test]
fn the_same_diff_has_the_same_report() {
    let (trees, cases) = own();
    for case in cases.iter().step_by(9) {
        let tree = &trees[&case.tree];
        assert_eq!(report(tree, case), report(tree, case), "{}", case.id);
    }
}
