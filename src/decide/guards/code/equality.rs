//! Rule `special-cased`: an equality that is always true, or that leaves out fields which it compared before.

use std::collections::BTreeSet;

use super::reject;
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Id, Kind},
};

const NAMES: &str = "\
    equals __eq__ __cmp__ == eq eql? Equal Equals isEqual is_equal compareTo Compare <=> same isSame cmp areEqual deepEqual";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let before = old.map(|ast| equalities(ast)).unwrap_or_default();
    for id in equalities(new) {
        let same = old.and_then(|o| before.iter().copied().find(|b| is_counterpart(o, *b, new, id)));
        let known = old.zip(same).is_some_and(|(o, s)| o.flat(s) == new.flat(id));
        if known {
            continue;
        }
        if is_constant(new, id) {
            hits.push(reject("special-cased", new, id, "this equality is true for everything"));
        } else if let (Some(old), Some(same)) = (old, same) {
            let lost: Vec<&str> = fields(old, same).difference(&fields(new, id)).copied().collect();
            if let Some(field) = lost.first().filter(|_| !calls(new, id)) {
                let why = format!("this equality no longer looks at {field}");
                hits.push(reject("special-cased", new, id, &why).change(&old.shown(same), &new.shown(id)));
            }
        }
    }
}

fn equalities(ast: &Ast<'_>) -> Vec<Id> {
    let is_one = |id: &Id| match ast.kind(*id) {
        Kind::Function => listed(NAMES, ast.word(*id)),
        // `__eq__ = lambda self, other: …`
        Kind::Assign => {
            let [target, value] = ast.kids(*id) else { return false };
            ast.kind(*value) == Kind::Lambda && listed(NAMES, ast.source(*target))
        }
        _ => false,
    };
    ast.walk(Ast::ROOT).filter(is_one).collect()
}

fn is_counterpart(old: &Ast<'_>, a: Id, new: &Ast<'_>, b: Id) -> bool {
    let class = |ast: &Ast<'_>, id: Id| {
        ast.above(id)
            .find(|up| ast.kind(*up) == Kind::Class)
            .map(|c| ast.word(c).to_owned())
    };
    old.kind(a) == new.kind(b) && old.word(a) == new.word(b) && class(old, a) == class(new, b)
}

/// Nothing but a constant that means "the same".
fn is_constant(ast: &Ast<'_>, id: Id) -> bool {
    let function = match ast.kind(id) {
        Kind::Assign => ast.kids(id).get(1).copied().unwrap_or(id),
        _ => id,
    };
    let Some(body) = ast.body(function).filter(|b| ast.kind(*b) != Kind::Params) else {
        return false;
    };
    let statements: Vec<Id> = ast
        .statements(body)
        .into_iter()
        .filter(|s| ast.kind(*s) != Kind::Text)
        .collect();
    let [only] = statements.as_slice() else { return false };
    let value = match ast.kind(*only) {
        Kind::Return => ast.kids(*only).first().copied(),
        _ => Some(*only),
    };
    let words: &[&str] = if matches!(ast.word(id), "compareTo" | "__cmp__" | "Compare" | "<=>" | "cmp") {
        &["0"]
    } else {
        &["true", "True"]
    };
    let says = |v: Id| words.contains(&ast.source(v));
    value.is_some_and(|v| {
        let or = ast.kind(v) == Kind::Binary && matches!(ast.word(v), "||" | "or");
        says(v)
            || or && ast.kids(v).iter().any(|k| says(*k))
            || asks_the_kind(ast, v) && has_fields(ast, id)
            || asks_for_nothing(ast, v)
    })
}

/// `not (other is None)`, `other !== null`: all but nothing is the same.
fn asks_for_nothing(ast: &Ast<'_>, id: Id) -> bool {
    let nothing = |n: Id| matches!(ast.source(n), "None" | "null" | "nil" | "undefined" | "NULL");
    match ast.kind(id) {
        Kind::Not => ast
            .kids(id)
            .first()
            .is_some_and(|k| is_nothing(ast, *k, &["is", "==", "==="])),
        Kind::Block if ast.kids(id).len() == 1 => asks_for_nothing(ast, ast.kids(id)[0]),
        Kind::Binary => {
            let both = matches!(ast.word(id), "is not" | "!=" | "!==");
            both && ast.kids(id).iter().any(|k| nothing(*k))
        }
        _ => false,
    }
}

fn is_nothing(ast: &Ast<'_>, id: Id, operators: &[&str]) -> bool {
    match ast.kind(id) {
        Kind::Block if ast.kids(id).len() == 1 => is_nothing(ast, ast.kids(id)[0], operators),
        Kind::Binary => {
            let named = |n: &Id| matches!(ast.source(*n), "None" | "null" | "nil" | "undefined");
            operators.contains(&ast.word(id)) && ast.kids(id).iter().any(named)
        }
        Kind::Call => ast.chain(id).last().is_some_and(|l| l.name == "nil?"),
        _ => false,
    }
}

/// `isinstance(other, Colour)`, `other instanceof Batch`, `other.is_a?(Sap)`
fn asks_the_kind(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Binary => matches!(ast.word(id), "instanceof" | "is"),
        Kind::Call => ast.chain(id).last().is_some_and(|l| {
            matches!(
                l.name,
                "isinstance" | "is_a?" | "kind_of?" | "instance_of?" | "isInstance"
            )
        }),
        _ => false,
    }
}

/// The class around it holds values that may differ.
fn has_fields(ast: &Ast<'_>, id: Id) -> bool {
    let class = ast.above(id).find(|up| ast.kind(*up) == Kind::Class);
    let body = class.and_then(|c| ast.body(c));
    body.is_some_and(|b| {
        ast.walk(b).any(|n| {
            ast.kind(n) == Kind::Assign
                || ast.kind(n) == Kind::Type && ast.grammar == super::super::syntax::Grammar::Python
        })
    })
}

/// Members that it reads.
fn fields<'a>(ast: &Ast<'a>, id: Id) -> BTreeSet<&'a str> {
    let members = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Member);
    let called: BTreeSet<Id> = ast
        .walk(id)
        .filter(|n| ast.kind(*n) == Kind::Call)
        .filter_map(|n| ast.kids(n).first().copied())
        .collect();
    members.filter(|m| !called.contains(m)).map(|m| ast.word(m)).collect()
}

/// It asks another function, which may look at everything.
fn calls(ast: &Ast<'_>, id: Id) -> bool {
    let words = [
        "equals",
        "eq",
        "hash",
        "key",
        "to_a",
        "to_h",
        "astuple",
        "asdict",
        "reflectionEquals",
        "DeepEqual",
        "state",
        "to_tuple",
        "_key",
    ];
    ast.walk(id).any(|n| {
        let called = ast.kind(n) == Kind::Call;
        let name = ast.path(n);
        called && words.contains(&name.rsplit('.').next().unwrap_or_default()) && !name.contains('.')
    })
}
