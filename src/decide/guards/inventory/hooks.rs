//! Set-ups and fixtures that end every test which uses them.

use super::{bag::Scope, checks::Helpers, checks::Scan, outcome::is_skip, recognise, switch::is_platform};
use crate::{
    decide::guards::{
        Hit,
        syntax::{Ast, Id, Kind},
    },
    model::evidence::GuardVerdict,
};

/// Skips of the head that stand in no test of their own.
pub(in crate::decide::guards) fn skipping_hooks(old: Option<&Ast<'_>>, new: &Ast<'_>) -> Vec<Hit> {
    let before: Vec<String> = old
        .map(|o| skips(o).into_iter().map(|id| o.flat(id)).collect())
        .unwrap_or_default();
    let had = |id: Id| before.contains(&new.flat(id));
    let hit = |id: Id| {
        let why = "a set-up or fixture ends the tests that use it";
        Hit::new("skip-added", GuardVerdict::Reject, why.to_owned())
            .at(new.line(id))
            .is(&new.shown(id))
    };
    skips(new).into_iter().filter(|id| !had(*id)).map(hit).collect()
}

fn skips(ast: &Ast<'_>) -> Vec<Id> {
    let helpers = Helpers::new();
    let scan = Scan::new(ast, Scope::default(), &helpers, Vec::new());
    ast.walk(Ast::ROOT)
        .filter(|id| match ast.kind(*id) {
            Kind::Call | Kind::Name => is_skip(ast, *id),
            Kind::Throw => scan.skipping(*id).is_some(),
            _ => false,
        })
        .filter(|id| in_hook(ast, *id) && !by_platform(ast, *id))
        .collect()
}

/// In a function that is no test, or in what a hook is given.
fn in_hook(ast: &Ast<'_>, id: Id) -> bool {
    for up in ast.above(id) {
        match ast.kind(up) {
            Kind::Function => return !recognise::is_test(ast, up, true) && sets_up(ast, up),
            Kind::Call => {
                let links = ast.chain(up);
                if recognise::begins(ast, &links).is_some() {
                    return false;
                }
                let hooks = "beforeEach beforeAll before after afterEach around around_each setup prepend_before";
                if links.len() == 1 && crate::decide::guards::listed::listed(hooks, links[0].name) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// A fixture, or a method that a framework calls before the tests.
fn sets_up(ast: &Ast<'_>, function: Id) -> bool {
    let marked = ast.kids_of(function, Kind::Mark).any(|m| {
        let flat = ast.flat(m).to_lowercase();
        ["fixture", "before", "setup", "initialize"]
            .iter()
            .any(|w| flat.contains(w))
    });
    let name = super::words::plain(ast.word(function));
    marked || name.starts_with("setup") || matches!(name.as_str(), "beforeeach" | "beforeall" | "asyncsetup" | "before")
}

fn by_platform(ast: &Ast<'_>, id: Id) -> bool {
    ast.above(id)
        .filter(|up| ast.kind(*up) == Kind::If)
        .any(|up| ast.kids(up).first().is_some_and(|c| is_platform(&ast.flat(*c))))
}
