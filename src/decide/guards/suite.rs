//! The layer of tests: which files hold them, whether their runner finds them, and what became of each case.

use super::{
    Diff, Hit, Kind, Kinds,
    answer::{Answers, renames},
    collect::Collect,
    inventory::{Inventory, TestFile, compare, inventory},
    syntax::Ast,
    view::{File, Trees},
};
use crate::model::evidence::GuardVerdict;

/// Findings, each with the index of its file.
pub(super) fn check(
    diff: &Diff,
    kinds: &Kinds,
    files: &[File<'_>],
    trees: &Trees<'_>,
    answers: &Answers<'_>,
) -> Vec<(usize, Hit)> {
    let collect = Collect::of(diff, files, kinds);
    let mut hits = Vec::new();
    let mut tests = Vec::new();
    let mut places = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let is_test = matches!(file.kind, Kind::Test(_));
        let read = |ast: Option<&Ast<'_>>| ast.map(|ast| inventory(ast, is_test));
        let (old, new) = (read(trees.old.get(&at)), read(trees.new.get(&at)));
        if is_test {
            hits.extend(unreadable(file, old.as_ref(), new.as_ref()).map(|hit| (at, hit)));
        }
        let any = |i: &Option<Inventory>| i.as_ref().is_some_and(|i| !i.cases.is_empty());
        if !any(&old) && !any(&new) {
            continue;
        }
        let imports = new
            .as_ref()
            .or(old.as_ref())
            .map(|i| i.imports.clone())
            .unwrap_or_default();
        tests.push(TestFile {
            answer: answers.to(&file.normal, &imports),
            collected: collect.finds(file),
            old,
            new,
        });
        places.push(at);
    }
    let names = renames(files, trees);
    hits.extend(compare(&tests, &names).into_iter().map(|(n, hit)| (places[n], hit)));
    hits
}

/// Tests that no grammar reads, or that do not parse: nobody can say what became of them.
fn unreadable(file: &File<'_>, old: Option<&Inventory>, new: Option<&Inventory>) -> Option<Hit> {
    let broken = |i: Option<&Inventory>| i.is_some_and(|i| i.broken);
    let why = if file.grammar.is_none() && file.change.old.is_some() {
        "no grammar reads this test, so its change cannot be judged"
    } else if broken(new) && !broken(old) || (broken(old) && broken(new)) {
        "the test cannot be read as code, so its change cannot be judged"
    } else if file.grammar.is_some() && (file.old.is_some() && old.is_none() || file.new.is_some() && new.is_none()) {
        "the test is too large or too deep to be read"
    } else {
        return None;
    };
    Some(Hit::new("unreadable", GuardVerdict::NeedsHuman, why.to_owned()))
}
