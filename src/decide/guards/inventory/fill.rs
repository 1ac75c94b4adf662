//! Fills a bag: walks an expression, and what its names mean.

use super::{
    bag::{Bag, MOST},
    definitions::{Scope, is_field},
    vocabulary::{is_manner, is_nearness, is_vocabulary, makes_double},
    words,
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, literal};

/// Definitions within definitions are followed this far.
const DEEPEST: usize = 6;
/// Nodes that are looked at for one bag.
const STEPS: usize = 20_000;

impl<'a> Scope<'a> {
    pub(super) fn bag(&self, ast: &Ast<'a>, id: Id) -> Bag {
        let mut bag = Bag::default();
        self.fill(ast, id, &mut Open::default(), &mut bag);
        bag.values.sort();
        bag
    }

    /// Without what the names in it mean.
    pub(super) fn written(&self, ast: &Ast<'a>, id: Id) -> Bag {
        let mut bag = Bag::default();
        let mut open = Open {
            shallow: true,
            ..Open::default()
        };
        self.fill(ast, id, &mut open, &mut bag);
        bag.values.sort();
        bag
    }

    fn fill(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        open.steps += 1;
        if bag.values.len() >= MOST || open.steps > STEPS || self.without.contains(&id) {
            return;
        }
        match ast.kind(id) {
            Kind::Number if counts_from(ast, id) => {}
            Kind::Number => bag.values.push(literal::number(ast.source(id))),
            Kind::Constant => bag.values.push(constant(ast.source(id))),
            Kind::Text if ast.kids(id).is_empty() => bag.values.push(literal::text(ast.source(id))),
            Kind::Text => Self::pieces(ast, id, bag),
            Kind::Name => self.name(ast, id, open, bag),
            Kind::Member if open.functions == 0 && self.is_column(ast, id) => return,
            Kind::Member if is_package(ast, id) => return,
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
            // What a parameter has where nobody gives it stands beside the tests, too.
            Kind::Params if !self.without.is_empty() => {}
            Kind::Type | Kind::Params | Kind::Mark | Kind::Import => return,
            Kind::Call if self.message_only(ast, id) => return,
            Kind::Call => return self.call(ast, id, open, bag),
            _ => {}
        }
        for kid in ast.kids(id) {
            self.fill(ast, *kid, open, bag);
        }
    }

    /// `pricing.total(…)`: by which way a name is reached says nothing of what it is. What is imported by itself, or
    /// from a module of another name, is the same.
    fn is_module(&self, ast: &Ast<'a>, id: Id) -> bool {
        let owns = ast
            .above(id)
            .next()
            .is_some_and(|up| ast.kind(up) == Kind::Member && ast.kids(up).first() == Some(&id));
        owns && self.modules.contains(ast.word(id))
    }

    /// A field of what a loop runs through.
    pub(super) fn is_column(&self, ast: &Ast<'a>, id: Id) -> bool {
        let root = ast.kids(id).first().filter(|o| ast.kind(**o) == Kind::Name);
        // Rust calls a function that is a column in parentheses; this is a method.
        let up = ast.above(id).next().filter(|_| ast.grammar == Grammar::Rust);
        let method = up.is_some_and(|up| ast.kind(up) == Kind::Call && ast.kids(up).first() == Some(&id));
        !method && root.is_some_and(|o| self.looped.contains(ast.word(*o)))
    }

    /// A part of an error that was caught to be looked at.
    pub(super) fn is_of_error(&self, ast: &Ast<'a>, id: Id) -> bool {
        let part = matches!(
            words::plain(ast.word(id)).as_str(),
            "value" | "message" | "args" | "getmessage" | "tostring" | "exception" | "msg"
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
        // Once is what is meant where nothing is said.
        if word == "times" && kids.get(1).is_some_and(|n| ast.source(*n) == "1") && kids.len() == 2 && links.len() < 3 {
            return;
        }
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
        // A suite is no message, and neither is what it holds.
        let suite = ast.kids(id).iter().any(|k| ast.kind(*k) == Kind::Lambda);
        (words::logs(&path) || fails) && !self.is_local(&path) && !suite
    }

    fn pair(&self, ast: &Ast<'a>, id: Id, open: &mut Open<'a>, bag: &mut Bag) {
        let kids = ast.kids(id);
        let Some((key, rest)) = kids.split_first() else {
            return;
        };
        match ast.kind(*key) {
            // How near is compared by itself.
            Kind::Name if is_nearness(ast.word(*key)) => return,
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
        let name = match ast.word(id) {
            "is_expected" if ast.grammar == Grammar::Ruby => "subject",
            word => word,
        };
        // A parameter that nothing in the file gives a value may be a fixture of another file.
        if !self.is_local(name) || self.definitions(name).is_empty() && self.foreign.contains_key(name) {
            match self.foreign.get(name).filter(|_| !open.shallow) {
                Some(helper) => {
                    bag.values.extend(helper.values.iter().cloned());
                    bag.reach.extend(helper.names.iter().chain(&helper.reach).cloned());
                }
                None if self.is_module(ast, id) => {}
                None => Self::called(name, bag),
            }
            return;
        }
        if open.shallow || open.names.len() >= DEEPEST || open.names.contains(&name) {
            return;
        }
        open.names.push(name);
        let defs = if name == ast.word(id) {
            self.meant(ast, id)
        } else {
            self.definitions(name).to_vec()
        };
        for def in defs {
            match ast.kind(def) {
                Kind::Function | Kind::Lambda => {
                    if let Some(body) = ast.body(def) {
                        let mut inner = Bag::default();
                        open.functions += 1;
                        self.fill(ast, body, open, &mut inner);
                        open.functions -= 1;
                        inner.values.extend(defaults(ast, def, id));
                        // `Lease April() => new(…)`: what is made stands before the name.
                        let types = head(ast, def).split(|c: char| !c.is_alphanumeric());
                        let types = types.filter(|t| t.starts_with(char::is_uppercase) && *t != name);
                        inner.reach.extend(types.map(str::to_owned));
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
        let mut defs = self.definitions(name);
        if defs.is_empty() {
            defs = self.definitions(&format!("cls.{}", ast.word(id)));
        }
        // A value that stands in the class itself.
        if defs.is_empty()
            && self
                .definitions(ast.word(id))
                .iter()
                .all(|d| ast.kind(*d) != Kind::Function)
        {
            defs = self.definitions(ast.word(id));
        }
        if defs.is_empty() {
            // Only the receiver of a suite in Go is known to be none of the product's.
            if ast.grammar != Grammar::Go {
                Self::called(ast.word(id), bag);
            }
            return;
        }
        if open.shallow || open.names.len() >= DEEPEST || open.names.contains(&name) {
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
    pub(super) fn meant(&self, ast: &Ast<'a>, id: Id) -> Vec<Id> {
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
    /// Helpers within helpers.
    functions: usize,
    steps: usize,
    /// Definitions are left where they are.
    shallow: bool,
}

/// `java.util.stream`: where a class is, not what it does.
fn is_package(ast: &Ast<'_>, id: Id) -> bool {
    let path = || ast.path(id);
    let lower = ast.word(id).starts_with(char::is_lowercase);
    let called = || {
        ast.above(id)
            .next()
            .is_some_and(|up| ast.kind(up) == Kind::Call && ast.kids(up).first() == Some(&id))
    };
    matches!(ast.grammar, Grammar::Java | Grammar::Kotlin)
        && lower
        && ["java.", "javax.", "org.", "com.", "kotlin.", "jakarta."]
            .iter()
            .any(|p| path().starts_with(p))
        && path().split('.').all(|part| part.starts_with(char::is_lowercase))
        && !called()
}

/// The zero with which a loop begins to count: others count without saying so.
fn counts_from(ast: &Ast<'_>, id: Id) -> bool {
    let header = ast.above(id).take_while(|up| ast.kind(*up) != Kind::Block);
    ast.source(id) == "0"
        && header
            .take(5)
            .any(|up| ast.kind(up) == Kind::Bind && ast.above(up).next().is_some_and(|l| ast.kind(l) == Kind::Loop))
}

/// What stands before the parameters of a function.
fn head<'a>(ast: &Ast<'a>, function: Id) -> &'a str {
    let typed = matches!(ast.grammar, Grammar::CSharp | Grammar::Java | Grammar::Kotlin);
    let params = ast.first_of(function, Kind::Params).filter(|_| typed);
    params
        .and_then(|p| ast.text.get(ast.node(function).start..ast.node(p).start))
        .unwrap_or_default()
}

/// What parameters have that the call of a function of the file gives nothing.
fn defaults(ast: &Ast<'_>, function: Id, name: Id) -> Vec<String> {
    let call = ast
        .above(name)
        .next()
        .filter(|up| ast.kind(*up) == Kind::Call && ast.kids(*up).first() == Some(&name));
    let Some(params) = ast.first_of(function, Kind::Params) else {
        return Vec::new();
    };
    let given = call.map_or(0, |c| ast.kids(c).len().saturating_sub(1));
    let left = ast.kids(params).iter().skip(given);
    let literals = left.flat_map(|p| ast.walk(*p));
    literals
        .filter_map(|n| match ast.kind(n) {
            Kind::Number => Some(literal::number(ast.source(n))),
            Kind::Text if ast.kids(n).is_empty() => Some(literal::text(ast.source(n))),
            _ => None,
        })
        .collect()
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
