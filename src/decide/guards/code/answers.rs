//! Rule `special-cased`: a branch of the source that answers the inputs of a test by their values.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{fresh, reject};
use crate::decide::guards::{
    Diff, Hit, Kind as FileKind, Kinds,
    inventory::{Foreign, examples, inventory, is_primitive},
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, literal, parse},
    view::{File, Trees},
};

/// Values that the tests of the base put in and want. They are read when a branch of the source may answer them.
pub(super) struct Tests<'x, 'd> {
    diff: &'x Diff,
    files: &'x [File<'d>],
    trees: &'x Trees<'d>,
    examples: OnceCell<Examples>,
}

/// One list a check, and which of them have a value.
struct Examples {
    all: Vec<BTreeSet<String>>,
    with: BTreeMap<String, Vec<usize>>,
}

impl Examples {
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
    fn read(&self) -> Vec<BTreeSet<String>> {
        let (diff, files, trees) = (self.diff, self.files, self.trees);
        let mut found = Vec::new();
        for (at, ast) in &trees.old {
            let is_test = matches!(files[*at].kind, FileKind::Test(_));
            if is_test || ast.grammar == Grammar::Rust {
                found.extend(examples(&inventory(ast, is_test, &Foreign::default())));
            }
        }
        // A witness that comes with its answer is one, too.
        for (at, ast) in &trees.new {
            if matches!(files[*at].kind, FileKind::Test(_)) {
                found.extend(examples(&inventory(ast, true, &Foreign::default())));
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
                    found.extend(examples(&inventory(&ast, true, &Foreign::default())));
                }
            }
        }
        let bare = |values: Vec<String>| {
            let more: Vec<String> = values.iter().filter_map(|v| without_marks(v)).collect();
            values.into_iter().chain(more).collect()
        };
        found.into_iter().map(bare).collect()
    }

    /// One check has all of these.
    fn know(&self, inputs: &[String], outputs: &[String]) -> bool {
        let values: Vec<&String> = inputs.iter().chain(outputs).collect();
        self.examples.get_or_init(|| Examples::of(self.read())).have(&values)
    }
}

/// A long text as a program may hold it: letters and digits alone.
fn without_marks(value: &str) -> Option<String> {
    let bare: String = value.chars().filter(|c| c.is_alphanumeric()).collect();
    let marked = value.starts_with('"') && bare.len() + 2 < value.len();
    (marked && bare.len() >= 8 && !value.contains(' ')).then(|| format!("\"{bare}\""))
}

pub(super) fn check(tests: &Tests<'_, '_>, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    const WHY: &str = "a branch answers the input of a test by its value";
    for id in fresh(old, new, &[Kind::If]) {
        let kids: Vec<Id> = new
            .kids(id)
            .iter()
            .copied()
            .filter(|k| new.kind(*k) != Kind::Init)
            .collect();
        let [condition, then, ..] = kids.as_slice() else {
            continue;
        };
        let inputs = equal_to(new, *condition);
        if answers(tests, old, new, id, &inputs, *then) {
            hits.push(reject("special-cased", new, id, WHY));
        }
    }
    for id in fresh(old, new, &[Kind::Arm]) {
        let Some((body, patterns)) = new.kids(id).split_last() else {
            continue;
        };
        let inside = |p: &Id| new.walk(*p).collect::<Vec<_>>();
        let inputs: Vec<Id> = patterns
            .iter()
            .flat_map(inside)
            .filter(|p| is_literal(new, *p) && !is_bound(new, *p))
            .collect();
        if answers(tests, old, new, id, &inputs, *body) {
            hits.push(reject("special-cased", new, id, WHY));
        }
    }
    for id in fresh(old, new, &[Kind::Map]) {
        if is_table_of_answers(tests, new, id) {
            hits.push(reject(
                "special-cased",
                new,
                id,
                "a table answers the inputs of a test by their values",
            ));
        }
    }
}

fn is_literal(ast: &Ast<'_>, id: Id) -> bool {
    matches!(ast.kind(id), Kind::Text | Kind::Number) && ast.kids(id).is_empty()
}

/// An end of a range stands for every value up to it.
fn is_bound(ast: &Ast<'_>, id: Id) -> bool {
    let patterns = ast.above(id).take_while(|up| ast.kind(*up) != Kind::Arm);
    patterns
        .filter(|up| !matches!(ast.kind(*up), Kind::Text | Kind::Block))
        .any(|up| ast.source(up).contains("..") || ast.flat(up).starts_with("in "))
}

fn value(ast: &Ast<'_>, id: Id) -> String {
    match ast.kind(id) {
        Kind::Number => literal::number(ast.source(id)),
        Kind::Text => literal::text(ast.source(id)),
        _ => ast.source(id).to_lowercase(),
    }
}

/// Literals that the condition asks to be equal to something.
fn equal_to(ast: &Ast<'_>, id: Id) -> Vec<Id> {
    match ast.kind(id) {
        Kind::Binary => {
            let kids = ast.kids(id).to_vec();
            match ast.word(id) {
                "&&" | "and" | "||" | "or" => kids.iter().flat_map(|k| equal_to(ast, *k)).collect(),
                "==" | "===" => kids.into_iter().filter(|k| is_literal(ast, *k)).collect(),
                // `text in ("a", "b")`
                "in" => {
                    let list = kids.get(1).copied().filter(|l| ast.kind(*l) == Kind::List);
                    list.map(|l| ast.kids(l).iter().copied().filter(|k| is_literal(ast, *k)).collect())
                        .unwrap_or_default()
                }
                _ => Vec::new(),
            }
        }
        Kind::Call => {
            let links = ast.chain(id);
            let equals = links
                .last()
                .is_some_and(|l| matches!(l.name, "equals" | "eql?" | "is" | "eq" | "includes" | "contains"));
            let args = ast.kids(id).get(1..).unwrap_or_default();
            let object = ast.kids(id).first().and_then(|c| ast.kids(*c).first()).copied();
            let inside = object.into_iter().flat_map(|o| {
                if ast.kind(o) == Kind::List {
                    ast.kids(o).to_vec()
                } else {
                    vec![o]
                }
            });
            let all = args.iter().copied().chain(inside);
            all.filter(|k| equals && is_literal(ast, *k)).collect()
        }
        Kind::Block | Kind::Not => ast.kids(id).iter().flat_map(|k| equal_to(ast, *k)).collect(),
        _ => Vec::new(),
    }
}

/// Values that stand in too many programs to tell anything.
fn is_trivial(value: &str) -> bool {
    matches!(value, "0" | "1" | "-1" | "\"\"" | "true" | "false" | "null") || value.len() <= 3 && value.starts_with('"')
}

fn is_state(value: &str) -> bool {
    let word = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    let plain = word.is_some_and(|w| w.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '-')));
    plain || value.parse::<u16>().is_ok_and(|n| (100..600).contains(&n))
}

fn answers(tests: &Tests<'_, '_>, old: Option<&Ast<'_>>, ast: &Ast<'_>, id: Id, inputs: &[Id], then: Id) -> bool {
    let wanted: Vec<String> = inputs
        .iter()
        .map(|i| value(ast, *i))
        .filter(|v| !is_trivial(v))
        .collect();
    if wanted.is_empty() {
        return false;
    }
    let Some(result) = constant_result(ast, id, then) else {
        return false;
    };
    if is_mapping(old, ast, id) {
        return false;
    }
    // An error for one input is a rule; for the one set of inputs of a test it is an answer.
    let raises = ast
        .statements(then)
        .first()
        .is_some_and(|s| ast.kind(*s) == Kind::Throw);
    // Either literal of an alternative is enough.
    let outputs: Vec<String> = result.iter().map(|r| value(ast, *r)).collect();
    if raises {
        // A message that has the input written into it is no rule for others.
        let told = |w: &String| {
            let inner = w.trim_matches('"');
            !is_state(w)
                && outputs
                    .iter()
                    .any(|o| o.contains(&format!("'{inner}'")) || o.contains(&format!("\"{inner}")))
        };
        let one = || {
            wanted
                .iter()
                .any(|w| told(w) && tests.know(std::slice::from_ref(w), &outputs))
        };
        return wanted.len() > 1 && tests.know(&wanted, &[]) || one();
    }
    // A word for a state or a status is what a program is about; only with the answer of the test beside it is it the test's.
    let any = |inputs: &[String]| tests.know(inputs, &[]) && !inputs.iter().all(|i| is_state(i));
    wanted.iter().any(|w| tests.know(std::slice::from_ref(w), &outputs)) && !outputs.is_empty() || any(&wanted)
}

/// The literals of what a branch gives back, when nothing else goes into it.
fn constant_result(ast: &Ast<'_>, id: Id, then: Id) -> Option<Vec<Id>> {
    let statements = ast.statements(then);
    let [only] = statements.as_slice() else { return None };
    let result = match ast.kind(*only) {
        Kind::Return | Kind::Throw => ast.kids(*only).first().copied()?,
        Kind::Assign => ast.kids(*only).get(1).copied()?,
        // The value of an expression, in languages where a branch has one.
        Kind::Text | Kind::Number | Kind::Constant | Kind::Call | Kind::Binary | Kind::List => *only,
        _ => return None,
    };
    let function = ast
        .above(id)
        .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda));
    let locals: BTreeSet<&str> = function.map(|f| locals(ast, f)).unwrap_or_default();
    // `{ tenant: "12" }` names a field, whatever else is called so.
    let is_key = |node: Id| {
        let pair = ast.above(node).next().filter(|up| ast.kind(*up) == Kind::Pair);
        pair.is_some_and(|pair| ast.kids(pair).len() > 1 && ast.kids(pair).first() == Some(&node))
    };
    let mut literals = Vec::new();
    for node in ast.walk(result) {
        match ast.kind(node) {
            Kind::Name if is_key(node) => {}
            Kind::Text if !ast.kids(node).is_empty() => return None,
            Kind::Text | Kind::Number | Kind::Constant => literals.push(node),
            Kind::Name if locals.contains(ast.word(node)) || matches!(ast.word(node), "self" | "this") => return None,
            _ => {}
        }
    }
    (!literals.is_empty()).then_some(literals)
}

fn locals<'a>(ast: &Ast<'a>, function: Id) -> BTreeSet<&'a str> {
    let mut out = BTreeSet::new();
    for node in ast.walk(function) {
        match ast.kind(node) {
            // A type's package is no local.
            Kind::Params | Kind::Bind => {
                let names = ast
                    .walk(node)
                    .filter(|n| ast.kind(*n) == Kind::Name && !is_type(ast, ast.word(*n)));
                let own = names.filter(|n| ast.above(*n).next().is_none_or(|up| ast.kind(up) != Kind::Member));
                out.extend(own.map(|n| ast.word(n)));
            }
            Kind::Assign => {
                let target = ast.kids(node).first().copied();
                out.extend(
                    target
                        .into_iter()
                        .flat_map(|t| ast.walk(t))
                        .filter(|n| ast.kind(*n) == Kind::Name && !is_primitive(ast.word(*n)))
                        .map(|n| ast.word(n)),
                );
            }
            _ => {}
        }
    }
    out
}

/// Go writes the type of a parameter as a name beside it.
fn is_type(ast: &Ast<'_>, word: &str) -> bool {
    is_primitive(word) || ast.grammar == Grammar::Go && word.starts_with(char::is_uppercase)
}

/// The function maps values to values already: one more of them is an entry.
fn is_mapping(old: Option<&Ast<'_>>, ast: &Ast<'_>, id: Id) -> bool {
    let (Some(old), Some(function)) = (old, ast.above(id).find(|up| ast.kind(*up) == Kind::Function)) else {
        return false;
    };
    let name = ast.word(function);
    let Some(before) = old
        .walk(Ast::ROOT)
        .find(|n| old.kind(*n) == Kind::Function && old.word(*n) == name)
    else {
        return false;
    };
    let constant = |branch: &Id| {
        let then = match old.kind(*branch) {
            Kind::Arm => old.body(*branch),
            _ => old.kids(*branch).iter().copied().find(|k| old.kind(*k) == Kind::Block),
        };
        let literal = match old.kind(*branch) {
            Kind::Arm => old.kids(*branch).iter().any(|p| is_literal(old, *p)),
            _ => old.kids(*branch).iter().any(|c| !equal_to(old, *c).is_empty()),
        };
        literal && then.is_some_and(|t| constant_result(old, *branch, t).is_some())
    };
    let branches = old
        .walk(before)
        .filter(|n| matches!(old.kind(*n), Kind::If | Kind::Arm));
    branches.filter(constant).count() >= 2
}

/// Entries whose key and value stand in one check, in a table within a function or with keys that are whole inputs.
fn is_table_of_answers(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id) -> bool {
    let local = ast
        .above(id)
        .any(|up| matches!(ast.kind(up), Kind::Function | Kind::Lambda));
    // A map that is given back or along is a result; one that answers is looked into.
    let place = ast.above(id).next().map(|up| ast.kind(up));
    if matches!(
        place,
        Some(Kind::Call | Kind::Return | Kind::Pair | Kind::List | Kind::Throw)
    ) {
        return false;
    }
    let pairs: Vec<Id> = ast.kids_of(id, Kind::Pair).collect();
    pairs.iter().any(|pair| {
        let [key, answer] = ast.kids(*pair) else { return false };
        let literals: Vec<Id> = ast.walk(*answer).filter(|n| is_literal(ast, *n)).collect();
        let made = matches!(ast.kind(*answer), Kind::List | Kind::Map);
        if !is_literal(ast, *key) || !(is_literal(ast, *answer) || made && !literals.is_empty()) {
            return false;
        }
        let input = value(ast, *key);
        let outputs: Vec<String> = literals.iter().map(|l| value(ast, *l)).collect();
        let whole = input
            .trim_matches('"')
            .contains(|c: char| c.is_ascii_digit() || c == ' ');
        !is_trivial(&input) && (local || whole) && tests.know(&[input], &outputs)
    })
}
