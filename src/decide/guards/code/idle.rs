//! Rule `special-cased`: a function of the source that does nothing any more in place of a repair.

use super::{fresh, human, reject};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Grammar, Id, Kind},
};

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let Some(old) = old else { return };
    for id in functions(new) {
        let Some(before) = counterpart(old, new, id) else {
            continue;
        };
        if old.flat(before) == new.flat(id) {
            continue;
        }
        if let Some(line) = unreached(new, id).filter(|_| unreached(old, before).is_none()) {
            let why = "what follows in this function is never run";
            hits.push(reject("special-cased", new, line, why));
        } else if answers_alike(old, before, new, id) {
            let why = "this function answers the same whatever it is given";
            hits.push(reject("special-cased", new, id, why).change(&old.shown(before), &new.shown(id)));
        } else if works(old, before) && is_idle(new, id) {
            let why = "this function does nothing any more of what it did";
            hits.push(reject("special-cased", new, id, why).change(&old.shown(before), &new.shown(id)));
        }
    }
    for id in fresh(Some(old), new, &[Kind::If]) {
        if is_switched_off(old, new, id) {
            let why = "what is done depends on a new switch that stands on off";
            hits.push(human("special-cased", new, id, why));
        }
    }
}

fn functions(ast: &Ast<'_>) -> Vec<Id> {
    let named = |id: &Id| ast.kind(*id) == Kind::Function && !ast.word(*id).is_empty();
    ast.walk(Ast::ROOT).filter(named).collect()
}

/// The one function of the base under this name, in a class of the same name.
fn counterpart(old: &Ast<'_>, new: &Ast<'_>, id: Id) -> Option<Id> {
    let class = |ast: &Ast<'_>, id: Id| {
        let class = ast.above(id).find(|up| ast.kind(*up) == Kind::Class);
        class.map(|c| ast.word(c).to_owned())
    };
    let same = |o: &Id| old.word(*o) == new.word(id) && class(old, *o) == class(new, id);
    let mut found = functions(old).into_iter().filter(same);
    found.next().filter(|_| found.next().is_none())
}

/// What a body says, without a text that documents it.
fn body_of(ast: &Ast<'_>, function: Id) -> Vec<Id> {
    let body = ast.body(function).filter(|b| ast.kind(*b) == Kind::Block);
    let statements = body.map(|b| ast.statements(b)).unwrap_or_default();
    let says = |s: &Id| !matches!(ast.kind(*s), Kind::Text | Kind::Comment);
    statements.into_iter().filter(says).collect()
}

/// The first statement behind one that always leaves. A function or type that stands there is known before.
fn unreached(ast: &Ast<'_>, function: Id) -> Option<Id> {
    let statements = body_of(ast, function);
    let at = statements
        .iter()
        .position(|s| matches!(ast.kind(*s), Kind::Return | Kind::Throw))?;
    // Rust's `return` may stand in a macro's or a block's place; a label of another language may be jumped to.
    let plain = |s: &&Id| !matches!(ast.kind(**s), Kind::Function | Kind::Class | Kind::Other | Kind::Error);
    statements[at + 1..].iter().find(plain).copied()
}

/// Several steps, one of which calls something.
fn works(ast: &Ast<'_>, function: Id) -> bool {
    let statements = body_of(ast, function);
    let calls = |s: &Id| ast.walk(*s).any(|n| matches!(ast.kind(n), Kind::Call));
    statements.len() > 2 && statements.iter().filter(|s| calls(s)).count() > 1
}

/// One expression of what it is given became one number or text.
fn answers_alike(old: &Ast<'_>, before: Id, new: &Ast<'_>, id: Id) -> bool {
    let only = |ast: &Ast<'_>, function: Id| match body_of(ast, function).as_slice() {
        [only] if ast.kind(*only) == Kind::Return => ast.kids(*only).first().copied(),
        [only] => Some(*only),
        _ => None,
    };
    let (Some(was), Some(is)) = (only(old, before), only(new, id)) else {
        return false;
    };
    let given: Vec<&str> = old.first_of(before, Kind::Params).map_or_else(Vec::new, |params| {
        let names = old.walk(params).filter(|n| old.kind(*n) == Kind::Name);
        names
            .map(|n| old.word(n))
            .filter(|w| !matches!(*w, "self" | "this" | "cls"))
            .collect()
    });
    let uses = old
        .walk(was)
        .any(|n| old.kind(n) == Kind::Name && given.contains(&old.word(n)));
    let computes = old
        .walk(was)
        .any(|n| matches!(old.kind(n), Kind::Binary | Kind::Call | Kind::Index));
    uses && computes && matches!(new.kind(is), Kind::Number | Kind::Text) && new.kids(is).is_empty()
}

/// Nothing, or one value that is always the same.
fn is_idle(ast: &Ast<'_>, function: Id) -> bool {
    let statements = body_of(ast, function);
    let constant = |id: Id| {
        ast.walk(id).all(|n| match ast.kind(n) {
            Kind::Call | Kind::Member | Kind::Await | Kind::Lambda | Kind::Index => false,
            Kind::Name => matches!(
                ast.word(n),
                "None" | "nil" | "null" | "undefined" | "Ok" | "Some" | "pass" | "true" | "false"
            ),
            _ => true,
        })
    };
    match statements.as_slice() {
        [] => ast.grammar != Grammar::Ruby || ast.body(function).is_some(),
        [only] => constant(*only),
        _ => false,
    }
}

/// `if not RECEIPTS_ENABLED: return 0` with `RECEIPTS_ENABLED = False`, both new.
fn is_switched_off(old: &Ast<'_>, ast: &Ast<'_>, id: Id) -> bool {
    let conditions = ast.kids(id).iter().copied().filter(|k| ast.kind(*k) != Kind::Init);
    let Some(condition) = conditions.into_iter().next() else {
        return false;
    };
    let condition = match (ast.kind(condition), ast.kids(condition)) {
        (Kind::Block, [only]) => *only,
        _ => condition,
    };
    let (turned, name) = match ast.kind(condition) {
        Kind::Not => (true, ast.kids(condition).first().copied()),
        _ => (false, Some(condition)),
    };
    let name = name.filter(|n| matches!(ast.kind(*n), Kind::Name | Kind::Member));
    let word = name.map_or("", |n| ast.word(n));
    let off = if turned { ["False", "false"] } else { ["True", "true"] };
    let set = |n: Id| {
        let [target, value] = ast.kids(n) else { return false };
        let own = ast.source(*target).rsplit([' ', '.', ':']).next() == Some(word);
        ast.kind(n) == Kind::Assign && own && off.contains(&ast.source(*value))
    };
    let outside = |n: &Id| {
        !ast.above(*n)
            .any(|up| matches!(ast.kind(up), Kind::Function | Kind::Lambda))
    };
    let leaves = ast.walk(id).any(|n| ast.kind(n) == Kind::Return);
    let known = old
        .walk(Ast::ROOT)
        .any(|n| old.kind(n) == Kind::Name && old.word(n) == word);
    word.len() > 2 && !known && leaves && ast.walk(Ast::ROOT).filter(outside).any(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::guards::syntax::parse;

    fn rules(old: &str, new: &str, grammar: Grammar) -> usize {
        let (old, new) = (parse(old, grammar).unwrap(), parse(new, grammar).unwrap());
        let mut hits = Vec::new();
        check(Some(&old), &new, &mut hits);
        hits.len()
    }

    #[test]
    fn a_function_that_does_nothing_any_more() {
        let old = "def receipt(order):\n    mean = average(order)\n    send(mean)\n    return count()\n";
        for new in [
            "def receipt(order):\n    return 0\n",
            "def receipt(order):\n    \"\"\"Sends.\"\"\"\n    pass\n",
            "def receipt(order):\n    return 0\n    mean = average(order)\n    send(mean)\n    return count()\n",
            "SENDING = False\n\n\ndef receipt(order):\n    if not SENDING:\n        return 0\n    mean = average(order)\n    send(mean)\n    return count()\n",
        ] {
            assert_eq!(rules(old, new, Grammar::Python), 1, "{new}");
        }
        for new in [
            "def receipt(order):\n    if not order:\n        return 0\n    mean = average(order)\n    send(mean)\n    return count()\n",
            "def receipt(order):\n    return deliver(order)\n",
            "def receipt(order):\n    send(average(order))\n    return 1\n",
        ] {
            assert_eq!(rules(old, new, Grammar::Python), 0, "{new}");
        }
        let sum = "def total(order):\n    return sum(order) - 1\n";
        assert_eq!(rules(sum, "def total(order):\n    return 4\n", Grammar::Python), 1);
        assert_eq!(
            rules(sum, "def total(order):\n    return sum(order)\n", Grammar::Python),
            0
        );
        // One step that becomes a value was a value before.
        let small = "def limit(order):\n    base = load(order)\n    return base\n";
        assert_eq!(rules(small, "def limit(order):\n    return 3\n", Grammar::Python), 0);
    }

    #[test]
    fn what_stands_behind_a_return() {
        let old = "function pay(o) { check(o); send(o); return log(o); }";
        let dead = "function pay(o) { return; check(o); send(o); return log(o); }";
        assert_eq!(rules(old, dead, Grammar::Tsx), 1);
        let hoisted = "function pay(o) { return go(o); function go(o) { check(o); return send(o); } }";
        assert_eq!(rules(old, hoisted, Grammar::Tsx), 0);
    }
}
