//! Helpers that stand in other files than the tests that use them: builders, fixtures, functions with checks.

use std::collections::BTreeMap;

use super::{
    bag::{Bag, Scope},
    checks::Helpers,
    scope::collect,
};
use crate::decide::guards::syntax::{Ast, Id, Kind};

/// Definitions of one side's helper files, by name.
#[derive(Default)]
pub(in crate::decide::guards) struct Foreign<'x, 'a> {
    files: Vec<HelperFile<'x, 'a>>,
    names: BTreeMap<&'a str, Named>,
}

/// Where a name is defined, by the order of the files.
#[derive(Default)]
struct Named {
    /// At the top of a file: the last one counts.
    top: Vec<(usize, Id)>,
    /// Anywhere in it: the first one counts, where none stands at the top.
    within: Vec<(usize, Id)>,
}

pub(super) struct HelperFile<'x, 'a> {
    pub(super) ast: &'x Ast<'a>,
    pub(super) scope: Scope<'a>,
    pub(super) helpers: Helpers<'a>,
}

impl<'x, 'a> Foreign<'x, 'a> {
    pub(in crate::decide::guards) fn of(asts: impl IntoIterator<Item = &'x Ast<'a>>) -> Self {
        let mut out = Self {
            files: Vec::new(),
            names: BTreeMap::new(),
        };
        for ast in asts {
            let mut scope = Scope::default();
            collect(ast, Ast::ROOT, &mut scope, 0);
            let mut helpers = Helpers::new();
            for id in ast.walk(Ast::ROOT) {
                if ast.kind(id) == Kind::Function && !ast.word(id).is_empty() {
                    helpers.insert(ast.word(id), id);
                }
            }
            let at = out.files.len();
            for (name, defs) in scope.all() {
                if let Some(def) = defs.last() {
                    out.names.entry(name).or_default().top.push((at, *def));
                }
            }
            for (name, id) in &helpers {
                out.names.entry(name).or_default().within.push((at, *id));
            }
            out.files.push(HelperFile { ast, scope, helpers });
        }
        out
    }

    /// In another file than this one: a helper of the file's own is not found elsewhere.
    pub(super) fn get(&self, name: &str, own: &Ast<'_>) -> Option<(&HelperFile<'x, 'a>, Id)> {
        let named = self.names.get(name)?;
        let elsewhere = |(at, id): &(usize, Id)| {
            let file = self.files.get(*at)?;
            (file.ast.text.as_ptr() != own.text.as_ptr()).then_some((file, *id))
        };
        let top = named.top.iter().rev().find_map(elsewhere);
        top.or_else(|| named.within.iter().find_map(elsewhere))
    }

    /// What the helpers come to that a file names.
    pub(super) fn bags(&self, ast: &Ast<'_>) -> BTreeMap<String, Bag> {
        let used = ast
            .walk(Ast::ROOT)
            .filter(|n| ast.kind(*n) == Kind::Name)
            .map(|n| ast.word(n));
        let mut out = BTreeMap::new();
        for name in used {
            if out.contains_key(name) {
                continue;
            }
            let Some((file, def)) = self.get(name, ast) else {
                continue;
            };
            let scope = Scope::of(file.ast, def).under(&file.scope);
            let body = match file.ast.kind(def) {
                Kind::Function | Kind::Lambda => file.ast.body(def).unwrap_or(def),
                _ => def,
            };
            out.insert(name.to_owned(), scope.bag(file.ast, body));
        }
        out
    }
}
