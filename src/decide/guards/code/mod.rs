//! The layer of program text: what a diff puts into tests and their set-up beside the tests themselves, and what it puts
//! into the source in place of a repair. Only what the head has and the base has not is looked at.

mod answers;
mod betrayed;
mod counters;
mod detect;
mod dropped;
mod elsewhere;
mod equality;
mod hollow;
mod idle;
mod infra;
mod known;
mod leak;
mod mocks;
mod patched;
mod planted;
mod suppress;
mod swallow;
mod unrun;
mod unthrown;
mod written;

pub(super) use swallow::is_log;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Diff, Hit, Kind,
    syntax::{Ast, Grammar, Id, Kind as Node},
    view::{File, Texts, Trees},
};
use crate::model::evidence::GuardVerdict;

/// Findings, each with the index of its file.
pub(super) fn check(diff: &Diff, files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    let tests = known::Tests::of(diff, files, trees);
    let (texts, modules) = (Texts::of(diff, files), planted::Modules::of(diff));
    let all: Vec<&Ast<'_>> = trees.new.values().collect();
    let gone = Gone::of(files);
    for (at, file) in files.iter().enumerate() {
        let Some(new) = trees.new.get(&at) else {
            if file.is_source() && file.grammar.is_none() {
                let mut hits = Vec::new();
                detect::plain(file, &mut hits);
                out.extend(hits.into_iter().map(|hit| (at, hit)));
            }
            continue;
        };
        let moved = || gone.moved_from(file).and_then(|from| trees.old.get(&from));
        let old = trees.old.get(&at).or_else(moved);
        let mut hits = Vec::new();
        if matches!(file.kind, Kind::Test(_) | Kind::Runner) || file.name().contains("setup") {
            infra::check(file, old, new, &mut hits);
            if !matches!(file.kind, Kind::Test(_)) || file.name().contains("setup") {
                mocks::in_set_up(diff, old, new, &mut hits);
            }
            mocks::check(file, old, new, &mut hits);
            unrun::check(file, old, new, &all, &mut hits);
            hollow::check(file, old, new, &texts, &mut hits);
            planted::check(&modules, old, new, &mut hits);
        } else if file.is_source() {
            detect::check(old, new, &mut hits);
            swallow::check(old, new, &mut hits);
            unthrown::check(old, new, &mut hits);
            counters::check(old, new, &mut hits);
            answers::check(&tests, old, new, &mut hits);
            leak::check(old, new, &mut hits);
            patched::check(file, old, new, &mut hits);
            idle::check(old, new, &mut hits);
            if !hits.iter().any(|h| h.rule == "special-cased") {
                betrayed::check(old, new, &mut hits);
                elsewhere::check(old, new, &mut hits);
            }
            if new.grammar == Grammar::Rust {
                hollow::check(file, old, new, &texts, &mut hits);
            }
        }
        if !file.is_source() {
            leak::check(old, new, &mut hits);
        }
        leak::spelled_out(old, new, &mut hits);
        equality::check(old, new, &mut hits);
        out.extend(hits.into_iter().map(|hit| (at, hit)));
    }
    out.extend(planted::plugins(files, trees));
    out.extend(suppress::check(diff, files, trees));
    out
}

/// Lines of the files that are gone, each with its files, once for every time that it stands there.
struct Gone<'d>(BTreeMap<(Option<Grammar>, &'d str), Vec<usize>>);

impl<'d> Gone<'d> {
    fn of(files: &[File<'d>]) -> Self {
        let mut lines: BTreeMap<(Option<Grammar>, &'d str), Vec<usize>> = BTreeMap::new();
        for (at, file) in files.iter().enumerate().filter(|(_, f)| f.change.new.is_none()) {
            for line in file.old.into_iter().flat_map(str::lines).map(str::trim) {
                lines.entry((file.grammar, line)).or_default().push(at);
            }
        }
        Self(lines)
    }

    /// The file that this new one was: gone from its place, with more than half of its lines here.
    fn moved_from(&self, file: &File<'d>) -> Option<usize> {
        let new = file.new.filter(|_| file.change.old.is_none())?;
        let lines: BTreeSet<&str> = new.lines().map(str::trim).filter(|l| l.len() > 3).collect();
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for line in &lines {
            for at in self.0.get(&(file.grammar, *line)).into_iter().flatten() {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let (best, count) = shared.into_iter().max_by_key(|(_, count)| *count)?;
        (2 * count > lines.len()).then_some(best)
    }
}

fn reject(rule: &'static str, ast: &Ast<'_>, id: Id, why: &str) -> Hit {
    Hit::new(rule, GuardVerdict::Reject, why.to_owned())
        .at(ast.line(id))
        .is(&ast.shown(id))
}

fn human(rule: &'static str, ast: &Ast<'_>, id: Id, why: &str) -> Hit {
    Hit {
        verdict: GuardVerdict::NeedsHuman,
        ..reject(rule, ast, id, why)
    }
}

/// The texts of all nodes of some kinds, to tell what is new.
fn texts(ast: Option<&Ast<'_>>, kinds: &[Node]) -> BTreeSet<String> {
    let Some(ast) = ast else {
        return BTreeSet::new();
    };
    ast.walk(Ast::ROOT)
        .filter(|id| kinds.contains(&ast.kind(*id)))
        .map(|id| ast.flat(id))
        .collect()
}

/// Nodes of these kinds that stand in the head only.
fn fresh(old: Option<&Ast<'_>>, new: &Ast<'_>, kinds: &[Node]) -> Vec<Id> {
    let known = texts(old, kinds);
    new.walk(Ast::ROOT)
        .filter(|id| kinds.contains(&new.kind(*id)) && !known.contains(&new.flat(*id)))
        .collect()
}

/// Every word of a node, names and texts alike.
fn words<'a>(ast: &Ast<'a>, id: Id) -> Vec<&'a str> {
    let named = ast.walk(id).filter_map(|n| match ast.kind(n) {
        Node::Name | Node::Member => Some(ast.word(n)),
        Node::Text => Some(super::syntax::literal::inner(ast.source(n))),
        _ => None,
    });
    named.collect()
}
