//! What a file defines outside of its cases, and what it imports.

use std::collections::BTreeSet;

use super::{
    Inventory,
    bag::Scope,
    recognise::{Begins, begins},
    words::plain,
};
use crate::decide::guards::{
    answer::is_test as is_test_module,
    syntax::{Ast, Grammar, Id, Kind, literal},
};

/// Suites within suites.
const DEEPEST: usize = 40;

/// Where definitions belong to tests: everywhere, or in the modules and classes of tests within a source file.
pub(super) fn roots(ast: &Ast<'_>, tests: bool) -> Vec<Id> {
    if tests {
        return vec![Ast::ROOT];
    }
    let is_root = |id: &Id| ast.kind(*id) == Kind::Class && (is_test_module(ast, *id) || extends_test_case(ast, *id));
    ast.walk(Ast::ROOT)
        .filter(is_root)
        .filter_map(|id| ast.body(id))
        .collect()
}

fn extends_test_case(ast: &Ast<'_>, id: Id) -> bool {
    let supers = ast.first_of(id, Kind::Types);
    supers.is_some_and(|t| ast.source(t).contains("TestCase"))
}

/// Definitions outside of cases: constants, hooks, suites.
pub(super) fn collect<'a>(ast: &Ast<'a>, id: Id, scope: &mut Scope<'a>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    for kid in ast.kids(id) {
        match ast.kind(*kid) {
            Kind::Call => {
                let links = ast.chain(*kid);
                let is_test = matches!(begins(ast, &links), Some((Begins::Test, _)));
                if !is_test {
                    scope.note(ast, *kid);
                    for arg in ast.kids(*kid).iter().skip(1) {
                        if ast.kind(*arg) == Kind::Lambda
                            && let Some(body) = ast.body(*arg)
                        {
                            collect(ast, body, scope, depth + 1);
                        }
                    }
                }
            }
            Kind::Function => {
                scope.note(ast, *kid);
                let set_up = matches!(
                    plain(ast.word(*kid)).as_str(),
                    "setup" | "setupclass" | "setuptestdata" | "asyncsetup" | "setupmodule" | "setupmethod" | "init"
                );
                if set_up && let Some(body) = ast.body(*kid) {
                    collect(ast, body, scope, depth + 1);
                }
            }
            Kind::Class | Kind::Block | Kind::Other | Kind::Types => collect(ast, *kid, scope, depth + 1),
            Kind::Assign => scope.note(ast, *kid),
            _ => {}
        }
    }
}

/// Names by which a file reaches into modules and packages: `import a.pricing`, `from a import pricing`,
/// `import * as pricing from "…"`, the last part of a path in Go.
pub(super) fn modules<'a>(ast: &Ast<'a>) -> BTreeSet<&'a str> {
    let mut out = BTreeSet::new();
    let imported = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Import);
    for id in imported {
        let names = || ast.walk(id).filter(|n| ast.kind(*n) == Kind::Name).map(|n| ast.word(n));
        match ast.grammar {
            Grammar::Python | Grammar::Rust => out.extend(names().filter(|n| n.starts_with(char::is_lowercase))),
            Grammar::Go => {
                let paths = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Text);
                let last = |n: Id| literal::inner(ast.source(n)).rsplit('/').next().unwrap_or_default();
                out.extend(paths.map(last).chain(names()));
            }
            Grammar::Script | Grammar::Tsx => {
                let source = ast.source(id);
                let name = source
                    .split("* as ")
                    .nth(1)
                    .and_then(|rest| rest.split_whitespace().next());
                out.extend(name);
            }
            Grammar::Java | Grammar::Ruby | Grammar::CSharp | Grammar::Php | Grammar::Kotlin => {}
        }
    }
    out
}

pub(super) fn imports(ast: &Ast<'_>, out: &mut Inventory) {
    for id in ast.walk(Ast::ROOT) {
        match ast.kind(id) {
            Kind::Import => {
                let source = ast.source(id);
                let text = ast.walk(id).find(|n| ast.kind(*n) == Kind::Text);
                out.imports
                    .push(text.map_or(source, |t| literal::inner(ast.source(t))).to_owned());
                let names = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Name);
                out.imported.extend(names.map(|n| ast.word(n).to_owned()));
            }
            Kind::Call => {
                let links = ast.chain(id);
                let word = links.last().map_or("", |l| l.name);
                if matches!(word, "require" | "require_relative" | "import" | "load")
                    && let Some(path) = links.last().and_then(|l| l.arg(0))
                    && ast.kind(path) == Kind::Text
                {
                    // `require("assert").strict` is the module of that name.
                    let strict = ast
                        .above(id)
                        .next()
                        .is_some_and(|up| ast.kind(up) == Kind::Member && ast.word(up) == "strict");
                    let suffix = if strict { "/strict" } else { "" };
                    out.imports
                        .push(format!("{}{suffix}", literal::inner(ast.source(path))));
                }
            }
            _ => {}
        }
    }
}
