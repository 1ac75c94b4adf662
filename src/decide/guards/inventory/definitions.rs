//! Definitions that the names of a text may mean.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::bag::Bag;
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, literal};

/// Definitions that the names of a text may mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    pub(super) defs: BTreeMap<&'a str, Vec<Id>>,
    /// What helpers of other files come to.
    pub(super) foreign: Rc<BTreeMap<String, Bag>>,
    /// Parts of the text that are passed over.
    pub(super) without: Rc<BTreeSet<Id>>,
    /// Names of imported modules and packages.
    pub(super) modules: Rc<BTreeSet<&'a str>>,
    /// Bound, but not to a value that is known: parameters, loops.
    pub(super) bound: BTreeSet<&'a str>,
    /// Of these, the ones that run through a table: names of their columns are nobody's vocabulary.
    pub(super) looped: BTreeSet<&'a str>,
}

impl<'a> Scope<'a> {
    /// What is defined in a part of a text, functions within it left out but for their names.
    pub(super) fn of(ast: &Ast<'a>, id: Id) -> Self {
        let mut scope = Self::default();
        scope.collect(ast, id, true);
        scope
    }

    /// One definition of a file: an assignment, a function, a lazy value.
    pub(super) fn note(&mut self, ast: &Ast<'a>, id: Id) {
        match ast.kind(id) {
            Kind::Assign => self.assign(ast, id),
            Kind::Function => self.defs.entry(ast.word(id)).or_default().push(id),
            _ => self.lazy(ast, id),
        }
    }

    fn collect(&mut self, ast: &Ast<'a>, id: Id, top: bool) {
        match ast.kind(id) {
            Kind::Assign => self.assign(ast, id),
            Kind::Function if !top => {
                self.defs.entry(ast.word(id)).or_default().push(id);
                return;
            }
            Kind::Params | Kind::Bind => self.bind(ast, id),
            Kind::Try => self.caught(ast, id),
            Kind::Loop => {
                if let Some(target) = ast.kids(id).first() {
                    let names = ast.walk(*target).filter(|n| ast.kind(*n) == Kind::Name);
                    self.looped.extend(names.map(|n| ast.word(n)));
                }
            }
            Kind::Call => self.lazy(ast, id),
            _ => {}
        }
        for kid in ast.kids(id).to_vec() {
            self.collect(ast, kid, false);
        }
    }

    fn assign(&mut self, ast: &Ast<'a>, id: Id) {
        let kids = ast.kids(id);
        let (Some(target), value) = (kids.first().copied(), kids.get(1).copied()) else {
            return;
        };
        let value = value.filter(|v| ast.kind(*v) != Kind::Else);
        // What comes from another module is that module's name here, too.
        if value.is_some_and(|v| is_import(ast, v)) {
            return;
        }
        for part in ast.walk(target) {
            if ast.kind(part) != Kind::Name {
                continue;
            }
            // A name in a pattern may be a constructor, which is no local.
            let word = ast.word(part);
            if part != target && word.starts_with(char::is_uppercase) {
                continue;
            }
            if is_field(ast, target) {
                if let Some(value) = value {
                    self.defs.entry(ast.source(target)).or_default().push(value);
                }
                break;
            }
            if matches!(ast.kind(target), Kind::Member | Kind::Index) {
                break;
            }
            match value.map(|v| each_its_own(ast, target, v, part).unwrap_or(v)) {
                Some(value) => self.defs.entry(word).or_default().push(value),
                None => {
                    self.bound.insert(word);
                }
            }
        }
    }

    /// What is caught comes from the body.
    fn caught(&mut self, ast: &Ast<'a>, id: Id) {
        let Some(body) = ast.kids(id).first().copied() else {
            return;
        };
        for catch in ast.kids_of(id, Kind::Catch) {
            let Some(handler) = ast.body(catch) else { continue };
            let head = &ast.text[ast.node(catch).start..ast.node(handler).start.max(ast.node(catch).start)];
            let name = head
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
                .rfind(|w| !w.is_empty() && !matches!(*w, "as" | "catch" | "except" | "rescue" | "then"));
            if let Some(name) = name.filter(|n| n.starts_with(|c: char| c.is_lowercase() || c == '_' || c == '$')) {
                self.defs.entry(name).or_default().push(body);
            }
        }
    }

    /// `let(:name) { … }`
    fn lazy(&mut self, ast: &Ast<'a>, id: Id) {
        let kids = ast.kids(id);
        let called = kids
            .first()
            .filter(|c| ast.kind(**c) == Kind::Name)
            .map(|c| ast.word(*c));
        if !matches!(called, Some("let" | "let!" | "subject")) {
            return;
        }
        let Some(body) = kids.last().filter(|k| ast.kind(**k) == Kind::Lambda) else {
            return;
        };
        let name = kids.get(1).filter(|k| ast.kind(**k) == Kind::Text);
        let name = name.map_or("subject", |n| literal::inner(ast.source(*n)));
        self.defs.entry(name).or_default().push(*body);
        if called == Some("subject") && name != "subject" {
            self.defs.entry("subject").or_default().push(*body);
        }
    }

    fn bind(&mut self, ast: &Ast<'a>, id: Id) {
        for part in ast.walk(id) {
            if ast.kind(part) == Kind::Name && !ast.word(part).starts_with(char::is_uppercase) {
                self.bound.insert(ast.word(part));
            }
        }
    }

    /// The inner one is asked first.
    pub(super) fn under(&self, outer: &Self) -> Self {
        let mut both = outer.clone();
        for name in &self.bound {
            both.defs.remove(name);
        }
        both.bound.extend(self.bound.iter().copied());
        both.looped.extend(self.looped.iter().copied());
        for (name, ids) in &self.defs {
            both.defs.insert(name, ids.clone());
        }
        both
    }

    pub(super) fn definitions(&self, name: &str) -> &[Id] {
        self.defs.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every name with its definitions.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a str, &[Id])> {
        self.defs.iter().map(|(name, ids)| (*name, ids.as_slice()))
    }

    /// How many names that only a table gives a value go into some expressions.
    pub(super) fn parts(&self, ast: &Ast<'a>, ids: impl Iterator<Item = Id>) -> usize {
        let mut found = BTreeSet::new();
        let mut open: Vec<(Id, usize)> = ids.map(|id| (id, 0)).collect();
        while let Some((id, depth)) = open.pop() {
            match ast.kind(id) {
                Kind::Member if self.is_column(ast, id) => {
                    found.insert(ast.word(id));
                    continue;
                }
                Kind::Name if self.bound.contains(ast.word(id)) || self.looped.contains(ast.word(id)) => {
                    found.insert(ast.word(id));
                }
                Kind::Name if depth < 3 => {
                    let defs = self.meant(ast, id);
                    let plain = defs
                        .iter()
                        .filter(|d| !matches!(ast.kind(**d), Kind::Function | Kind::Lambda));
                    open.extend(plain.map(|d| (*d, depth + 1)));
                }
                _ => {}
            }
            if found.len() > 20 || open.len() > 2_000 {
                break;
            }
            open.extend(ast.kids(id).iter().map(|k| (*k, depth)));
        }
        found.len()
    }

    pub(super) fn leaving_out(mut self, parts: Rc<BTreeSet<Id>>) -> Self {
        self.without = parts;
        self
    }

    pub(super) fn with_foreign(mut self, bags: BTreeMap<String, Bag>) -> Self {
        self.foreign = Rc::new(bags);
        self
    }

    pub(super) fn with_modules(mut self, names: BTreeSet<&'a str>) -> Self {
        self.modules = Rc::new(names);
        self
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        self.defs.contains_key(name) || self.bound.contains(name)
    }
}

/// `a, b := x, y`: the value of one of several names that are given as many values.
fn each_its_own(ast: &Ast<'_>, target: Id, value: Id, name: Id) -> Option<Id> {
    let grouped = |id: Id| matches!(ast.kind(id), Kind::Block | Kind::List | Kind::Other);
    let (names, values) = (ast.kids(target), ast.kids(value));
    let as_many = names.len() > 1 && names.len() == values.len() && grouped(target) && grouped(value);
    let at = names.iter().position(|n| *n == name).filter(|_| as_many)?;
    Some(values[at])
}

/// `self.client`, `this.client`; in Go a field of the suite that a test is a method of.
pub(super) fn is_field(ast: &Ast<'_>, id: Id) -> bool {
    let root = ast.kids(id).first().filter(|o| ast.kind(**o) == Kind::Name);
    let called = ast
        .above(id)
        .next()
        .is_some_and(|up| ast.kind(up) == Kind::Call && ast.kids(up).first() == Some(&id));
    let owner = root.is_some_and(|o| match ast.word(*o) {
        "self" | "this" | "cls" | "$this" => ast.grammar != Grammar::Rust,
        "s" | "suite" | "ts" => ast.grammar == Grammar::Go,
        _ => false,
    });
    ast.kind(id) == Kind::Member && owner && !called
}

fn is_import(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    links
        .first()
        .is_some_and(|l| matches!(l.name, "require" | "import" | "importlib") && ast.kind(id) != Kind::Name)
}
