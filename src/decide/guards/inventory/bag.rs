//! What an expression is made of: the values in it and the names that it reaches, through the locals, helpers and
//! tables that it uses. Two tests that differ in form only have the same bags.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    vocabulary::{is_manner, is_vocabulary, makes_double},
    words,
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, literal};

/// Definitions within definitions are followed this far.
const DEEPEST: usize = 6;
/// Elements that a bag holds at most.
const MOST: usize = 2_000;
/// Nodes that are looked at for one bag.
const STEPS: usize = 20_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bag {
    /// Values, sorted; the same value may stand more than once.
    pub(super) values: Vec<String>,
    pub(super) names: BTreeSet<String>,
    /// Names that only helpers use: another way to the same result may do without them.
    pub(super) reach: BTreeSet<String>,
}

impl Bag {
    pub(super) fn add(&mut self, other: &Self) {
        self.values.extend(other.values.iter().cloned());
        self.values.sort();
        self.values.truncate(MOST);
        self.names.extend(other.names.iter().cloned());
        self.reach.extend(other.reach.iter().cloned());
    }

    pub(super) fn with(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Every value of the other one, as often as there, and every name.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.knows(other) && self.missing(other).is_empty()
    }

    /// Every name of the other one; where only its helpers have names, one of those.
    pub(super) fn knows(&self, other: &Self) -> bool {
        let has = |n: &String| self.names.contains(n) || self.reach.contains(n);
        let some = !other.names.is_empty() || other.reach.is_empty() || other.reach.iter().any(has);
        other.names.iter().all(has) && some
    }

    /// Values of the other one that are not here.
    pub(super) fn missing(&self, other: &Self) -> Vec<String> {
        let mut rest = self.values.iter().peekable();
        let mut out = Vec::new();
        for value in &other.values {
            while rest.peek().is_some_and(|r| *r < value) {
                rest.next();
            }
            if rest.peek() == Some(&value) {
                rest.next();
            } else {
                out.push(value.clone());
            }
        }
        out
    }

    pub(super) fn renamed(&self, renames: &BTreeMap<String, String>) -> Self {
        let name = |n: &String| renames.get(n).unwrap_or(n).clone();
        Self {
            values: self.values.clone(),
            names: self.names.iter().map(name).collect(),
            reach: self.reach.iter().map(name).collect(),
        }
    }
}

/// Definitions that the names of a text may mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    defs: BTreeMap<&'a str, Vec<Id>>,
    /// What helpers of other files come to.
    foreign: Rc<BTreeMap<String, Bag>>,
    /// Definitions are left where they are.
    shallow: bool,
    /// Bound, but not to a value that is known: parameters, loops.
    bound: BTreeSet<&'a str>,
    /// Of these, the ones that run through a table: names of their columns are nobody's vocabulary.
    looped: BTreeSet<&'a str>,
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
            match value {
                Some(value) => self.defs.entry(word).or_default().push(value),
                None => {
                    self.bound.insert(word);
                }
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

    pub(super) fn with_foreign(mut self, bags: BTreeMap<String, Bag>) -> Self {
        self.foreign = Rc::new(bags);
        self
    }

    fn is_local(&self, name: &str) -> bool {
        self.defs.contains_key(name) || self.bound.contains(name)
    }

    pub(super) fn bag(&self, ast: &Ast<'a>, id: Id) -> Bag {
        let mut bag = Bag::default();
        self.fill(ast, id, &mut Open::default(), &mut bag);
        bag.values.sort();
        bag
    }

    /// Without what the names in it mean.
    pub(super) fn written(&self, ast: &Ast<'a>, id: Id) -> Bag {
        let shallow = Self {
            shallow: true,
            ..self.clone()
        };
        shallow.bag(ast, id)
    }

    fn fill(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        open.steps += 1;
        if bag.values.len() >= MOST || open.steps > STEPS {
            return;
        }
        match ast.kind(id) {
            Kind::Number if counts_from(ast, id) => {}
            Kind::Number => bag.values.push(literal::number(ast.source(id))),
            Kind::Constant => bag.values.push(constant(ast.source(id))),
            Kind::Text if ast.kids(id).is_empty() => bag.values.push(literal::text(ast.source(id))),
            Kind::Text => Self::pieces(ast, id, bag),
            Kind::Name => self.name(ast, id, open, bag),
            Kind::Member if self.is_column(ast, id) => return,
            Kind::Member if is_field(ast, id) => return self.field(ast, id, open, bag),
            // The name tells nothing, what it is a part of does.
            Kind::Member if self.is_of_error(ast, id) => {}
            Kind::Member => Self::called(ast.word(id), bag),
            Kind::Assert => {
                // Behind the claim stands a message.
                if let Some(claim) = ast.kids(id).first() {
                    self.fill(ast, *claim, open, bag);
                }
                return;
            }
            Kind::Pair => return self.pair(ast, id, open, bag),
            Kind::Type | Kind::Params | Kind::Mark | Kind::Import => return,
            Kind::Call if self.message_only(ast, id) => return,
            Kind::Call => return self.call(ast, id, open, bag),
            _ => {}
        }
        for kid in ast.kids(id) {
            self.fill(ast, *kid, open, bag);
        }
    }

    /// A field of what a loop runs through.
    fn is_column(&self, ast: &Ast<'a>, id: Id) -> bool {
        let root = ast.kids(id).first().filter(|o| ast.kind(**o) == Kind::Name);
        root.is_some_and(|o| self.looped.contains(ast.word(*o)))
    }

    /// A part of an error that was caught to be looked at.
    fn is_of_error(&self, ast: &Ast<'a>, id: Id) -> bool {
        let part = matches!(
            words::plain(ast.word(id)).as_str(),
            "value" | "message" | "args" | "getmessage" | "tostring"
        );
        let root = ast.kids(id).first().filter(|o| ast.kind(**o) == Kind::Name);
        let caught = |def: &Id| {
            let last = ast.chain(*def).last().map(|l| words::plain(l.name)).unwrap_or_default();
            [
                "raises",
                "throws",
                "failswith",
                "catchthrowable",
                "unwraperr",
                "expecterr",
                "shouldthrow",
            ]
            .iter()
            .any(|w| last.contains(w))
        };
        part && root.is_some_and(|o| self.definitions(ast.word(*o)).iter().any(caught))
    }

    /// A call without the messages that are meant for people.
    fn call(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        let links = ast.chain(id);
        let word = links.last().map(|l| words::plain(l.name)).unwrap_or_default();
        let kids = ast.kids(id);
        if makes_double(&word) {
            let given = kids.iter().skip(1);
            for kid in given.filter(|k| matches!(ast.kind(**k), Kind::Pair | Kind::Map | Kind::Lambda)) {
                self.fill(ast, *kid, open, bag);
            }
            return;
        }
        let message = match word.as_str() {
            "expect" | "expecterr" | "as" | "describedas" | "withfailmessage" | "because" => Some(0),
            _ if words::is_assertion(&word) || words::is_assertion_library(&word) => Some(2),
            _ => None,
        };
        let rust_expect = word.starts_with("expect") && links.len() < 2;
        for (at, kid) in kids.iter().enumerate() {
            let told = message.is_some_and(|m| at > m) && ast.kind(*kid) == Kind::Text && !rust_expect;
            if !told {
                self.fill(ast, *kid, open, bag);
            }
        }
    }

    /// What stands between the parts that are put into a text.
    fn pieces(ast: &Ast<'a>, id: Id, bag: &mut Bag) {
        let node = ast.node(id);
        let mut from = node.start;
        for kid in ast.kids(id) {
            let kid = ast.node(*kid);
            push_piece(&ast.text[from..kid.start.max(from)], bag);
            from = kid.end;
        }
        push_piece(&ast.text[from.min(node.end)..node.end], bag);
    }

    fn message_only(&self, ast: &Ast<'a>, id: Id) -> bool {
        let path = ast.path(id);
        let word = words::plain(path.rsplit('.').next().unwrap_or_default());
        let tester = matches!(
            path.split('.').next(),
            Some("t" | "tb" | "b" | "pytest" | "self" | "assert")
        );
        let fails = words::fails(&word) && (tester && path.contains('.') || !path.contains('.') && word != "error");
        (words::logs(&path) || fails) && !self.is_local(&path)
    }

    fn pair(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        let kids = ast.kids(id);
        let Some((key, rest)) = kids.split_first() else {
            return;
        };
        match ast.kind(*key) {
            Kind::Name if is_manner(ast.word(*key)) => {}
            Kind::Name => Self::called(ast.word(*key), bag),
            Kind::Text if ast.kids(*key).is_empty() => Self::called(literal::inner(ast.source(*key)), bag),
            _ => self.fill(ast, *key, open, bag),
        }
        for kid in rest {
            self.fill(ast, *kid, open, bag);
        }
    }

    fn called(name: &str, bag: &mut Bag) {
        if !is_vocabulary(name) {
            bag.names.insert(name.to_owned());
        }
    }

    fn name(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        let name = ast.word(id);
        if !self.is_local(name) {
            match self.foreign.get(name).filter(|_| !self.shallow) {
                Some(helper) => {
                    bag.values.extend(helper.values.iter().cloned());
                    bag.reach.extend(helper.names.iter().chain(&helper.reach).cloned());
                }
                None => Self::called(name, bag),
            }
            return;
        }
        if self.shallow || open.names.len() >= DEEPEST || open.names.contains(&name) {
            return;
        }
        open.names.push(name);
        for def in self.meant(ast, id) {
            match ast.kind(def) {
                Kind::Function | Kind::Lambda => {
                    if let Some(body) = ast.body(def) {
                        let mut inner = Bag::default();
                        self.fill(ast, body, open, &mut inner);
                        bag.values.append(&mut inner.values);
                        bag.reach.append(&mut inner.names);
                        bag.reach.append(&mut inner.reach);
                    }
                }
                _ => self.fill(ast, def, open, bag),
            }
        }
        open.names.pop();
    }

    /// A field of the suite, which its set-up gave a value.
    fn field(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        let name = ast.source(id);
        let defs = self.definitions(name);
        if defs.is_empty() {
            // Only the receiver of a suite in Go is known to be none of the product's.
            if ast.grammar != Grammar::Go {
                Self::called(ast.word(id), bag);
            }
            return;
        }
        if self.shallow || open.names.len() >= DEEPEST || open.names.contains(&name) {
            return;
        }
        open.names.push(name);
        for def in defs {
            let mut inner = Bag::default();
            self.fill(ast, *def, open, &mut inner);
            bag.values.append(&mut inner.values);
            bag.reach.append(&mut inner.names);
            bag.reach.append(&mut inner.reach);
        }
        open.names.pop();
    }

    /// The last definition before a use; all where none stands before it.
    fn meant(&self, ast: &Ast<'a>, id: Id) -> Vec<Id> {
        let all = self.definitions(ast.word(id));
        let before = all.iter().copied().filter(|d| ast.node(*d).start < ast.node(id).start);
        match before.max_by_key(|d| ast.node(*d).start) {
            Some(last) => vec![last],
            None => all.to_vec(),
        }
    }
}

/// What is being followed, and how many nodes were looked at for it.
#[derive(Default)]
struct Open<'a> {
    names: Vec<&'a str>,
    steps: usize,
}

/// `self.client`, `this.client`; in Go a field of the suite that a test is a method of.
fn is_field(ast: &Ast<'_>, id: Id) -> bool {
    let root = ast.kids(id).first().filter(|o| ast.kind(**o) == Kind::Name);
    let called = ast
        .above(id)
        .next()
        .is_some_and(|up| ast.kind(up) == Kind::Call && ast.kids(up).first() == Some(&id));
    let owner = root.is_some_and(|o| match ast.word(*o) {
        "self" | "this" => ast.grammar != Grammar::Rust,
        "s" | "suite" | "ts" => ast.grammar == Grammar::Go,
        _ => false,
    });
    ast.kind(id) == Kind::Member && owner && !called
}

/// The zero with which a loop begins to count: others count without saying so.
fn counts_from(ast: &Ast<'_>, id: Id) -> bool {
    let header = ast.above(id).take_while(|up| ast.kind(*up) != Kind::Block);
    ast.source(id) == "0"
        && header
            .take(5)
            .any(|up| ast.kind(up) == Kind::Bind && ast.above(up).next().is_some_and(|l| ast.kind(l) == Kind::Loop))
}

fn is_import(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    links
        .first()
        .is_some_and(|l| matches!(l.name, "require" | "import" | "importlib") && ast.kind(id) != Kind::Name)
}

fn push_piece(piece: &str, bag: &mut Bag) {
    let piece = piece.trim_matches(['"', '\'', '`', '{', '}', '$', '#', 'f']);
    if !piece.is_empty() {
        bag.values.push(format!("\"{piece}\""));
    }
}

fn constant(source: &str) -> String {
    match source {
        "None" | "nil" | "null" | "undefined" => "null".to_owned(),
        other => other.to_lowercase(),
    }
}
