//! What tests put in and want, to be held against the branches of the source.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use crate::decide::guards::{
    Diff, Kind as FileKind, Kinds,
    inventory::{Foreign, Inventory, examples, inventory, whole_examples},
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, parse},
    view::{File, Trees},
};

/// Values that the tests of the base put in and want. They are read when a branch of the source may answer them.
pub(super) struct Tests<'x, 'd> {
    diff: &'x Diff,
    files: &'x [File<'d>],
    trees: &'x Trees<'d>,
    examples: OnceCell<Known>,
}

/// Values that go together: in one check, and in one small test.
#[derive(Debug, Default)]
struct Examples {
    checks: Vec<BTreeSet<String>>,
    wholes: Vec<BTreeSet<String>>,
}

impl Examples {
    fn add(&mut self, inventory: &Inventory) {
        let bare = |values: Vec<String>| {
            let quoted = |v: &String| v.parse::<f64>().is_ok().then(|| format!("\"{v}\""));
            let more: Vec<String> = values
                .iter()
                .flat_map(|v| without_marks(v).into_iter().chain(quoted(v)))
                .collect();
            values.into_iter().chain(more).collect::<BTreeSet<_>>()
        };
        self.checks.extend(examples(inventory).into_iter().map(bare));
        self.wholes.extend(whole_examples(inventory).into_iter().map(bare));
    }
}

/// The same, to be asked.
#[derive(Debug)]
struct Known {
    checks: Lists,
    wholes: Lists,
}

/// Lists of values, and which of them have a value.
#[derive(Debug)]
struct Lists {
    all: Vec<BTreeSet<String>>,
    with: BTreeMap<String, Vec<usize>>,
}

impl Lists {
    fn of(all: Vec<BTreeSet<String>>) -> Self {
        let mut with: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, values) in all.iter().enumerate() {
            for value in values {
                with.entry(value.clone()).or_default().push(at);
            }
        }
        Self { all, with }
    }

    /// One of them has all of these. Those with the rarest value are looked at.
    fn have(&self, values: &[&String]) -> bool {
        let with = |value: &&String| self.with.get(*value).map_or(&[][..], Vec::as_slice);
        match values.iter().map(with).min_by_key(|ids| ids.len()) {
            Some(ids) => ids.iter().any(|at| values.iter().all(|v| self.all[*at].contains(*v))),
            None => !self.all.is_empty(),
        }
    }
}

impl<'x, 'd> Tests<'x, 'd> {
    pub(super) fn of(diff: &'x Diff, files: &'x [File<'d>], trees: &'x Trees<'d>) -> Self {
        Self {
            diff,
            files,
            trees,
            examples: OnceCell::new(),
        }
    }

    /// Of changed files and of those that stand around, one list a check. What the diff itself adds is no test of the base.
    fn read(&self) -> Examples {
        let (diff, files, trees) = (self.diff, self.files, self.trees);
        let mut found = Examples::default();
        for (at, ast) in &trees.old {
            let is_test = matches!(files[*at].kind, FileKind::Test(_));
            if is_test || ast.grammar == Grammar::Rust {
                found.add(&inventory(ast, is_test, &Foreign::default()));
            }
        }
        // A witness that comes with its answer is one, too.
        for (at, ast) in &trees.new {
            if matches!(files[*at].kind, FileKind::Test(_)) {
                found.add(&inventory(ast, true, &Foreign::default()));
            }
        }
        if let Ok(kinds) = Kinds::new([]) {
            for (path, bytes) in &diff.around.files {
                let plain = normal(path);
                let grammar = Grammar::of(&plain);
                let (FileKind::Test(_), Some(grammar), Ok(text)) =
                    (kinds.of(&plain), grammar, std::str::from_utf8(bytes))
                else {
                    continue;
                };
                if let Some(ast) = parse(text, grammar) {
                    found.add(&inventory(&ast, true, &Foreign::default()));
                }
            }
        }
        found
    }

    /// One check has all of these.
    pub(super) fn know(&self, inputs: &[String], outputs: &[String]) -> bool {
        let values: Vec<&String> = inputs.iter().chain(outputs).collect();
        self.known().checks.have(&values)
    }

    /// One check has a text of which this is more than half, and the answer.
    pub(super) fn know_a_text_with(&self, part: &str, outputs: &[String]) -> bool {
        let part = part.to_lowercase();
        let holds = |value: &String| {
            let inner = value.trim_matches('"').to_lowercase();
            value.starts_with('"') && inner.contains(&part) && 2 * part.len() >= inner.len()
        };
        let all = &self.known().checks.all;
        all.iter()
            .any(|values| values.iter().any(holds) && outputs.iter().all(|o| values.contains(o)))
    }

    /// One small test has all of these.
    pub(super) fn know_in_whole(&self, inputs: &[String], outputs: &[String]) -> bool {
        let values: Vec<&String> = inputs.iter().chain(outputs).collect();
        !outputs.is_empty() && self.known().wholes.have(&values)
    }

    /// A function that is new, that new tests call by its name, and that nothing else does: no answer to any test of the base.
    pub(super) fn is_apart(&self, old: Option<&Ast<'_>>, new: &Ast<'_>, id: Id) -> bool {
        let mut above = new.above(id);
        let Some(function) = above.find(|up| new.kind(*up) == Kind::Function) else {
            return false;
        };
        let name = new.word(function);
        let own = above.all(|up| !matches!(new.kind(up), Kind::Class | Kind::Function | Kind::Lambda))
            && new.first_of(function, Kind::Mark).is_none()
            && !new.source(function).starts_with("func (");
        let is_test = |at: &usize| matches!(self.files[*at].kind, FileKind::Test(_));
        let names = |ast: &Ast<'_>, id: Id| matches!(ast.kind(id), Kind::Name | Kind::Member) && ast.word(id) == name;
        let made = |ast: &Ast<'_>| {
            let mut functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Function);
            functions.any(|f| ast.word(f) == name)
        };
        let named = |ast: &Ast<'_>| ast.walk(Ast::ROOT).any(|n| names(ast, n));
        let called = |(at, ast): (&usize, &Ast<'_>)| {
            let of_it = |n: Id| ast.source(n).as_ptr() >= new.source(function).as_ptr() && n == function;
            !is_test(at)
                && ast
                    .walk(Ast::ROOT)
                    .any(|n| names(ast, n) && !of_it(n) && !ast.above(n).any(of_it))
        };
        own && name.len() > 2
            && !old.is_some_and(|ast| named(ast) || made(ast))
            && !self.trees.old.values().any(|ast| named(ast) || made(ast))
            && !self.trees.new.iter().any(called)
            && self.trees.new.iter().any(|(at, ast)| is_test(at) && named(ast))
    }

    fn known(&self) -> &Known {
        self.examples.get_or_init(|| {
            let examples = self.read();
            Known {
                checks: Lists::of(examples.checks),
                wholes: Lists::of(examples.wholes),
            }
        })
    }
}

/// A long text as a program may hold it: letters and digits alone.
fn without_marks(value: &str) -> Option<String> {
    let bare: String = value.chars().filter(|c| c.is_alphanumeric()).collect();
    let marked = value.starts_with('"') && bare.len() + 2 < value.len();
    (marked && bare.len() >= 8 && !value.contains(' ')).then(|| format!("\"{bare}\""))
}
