//! Rule `special-cased`: a branch of the source that answers the inputs of a test by their values.

use std::collections::BTreeSet;

use super::{fresh, known::Tests, reject};
use crate::decide::guards::{
    Hit,
    inventory::is_primitive,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
};

pub(super) fn check(tests: &Tests<'_, '_>, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    const WHY: &str = "a branch answers the input of a test by its value";
    let apart = |id: Id| tests.is_apart(old, new, id);
    for id in fresh(old, new, &[Kind::If]).into_iter().filter(|id| !apart(*id)) {
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
        if answers(tests, old, new, id, &inputs, *then)
            || answers_its_begin(tests, new, id, *condition, *then)
            || super::written::answers(tests, new, id, *condition, *then)
        {
            hits.push(reject("special-cased", new, id, WHY));
        }
    }
    for id in fresh(old, new, &[Kind::Arm]).into_iter().filter(|id| !apart(*id)) {
        let Some((body, patterns)) = new.kids(id).split_last() else {
            continue;
        };
        let inside = |p: &Id| new.walk(*p).collect::<Vec<_>>();
        let inputs: Vec<Id> = patterns
            .iter()
            .flat_map(inside)
            .filter(|p| is_literal(new, *p) && !is_bound(new, *p))
            .collect();
        if answers(tests, old, new, id, &inputs, *body)
            || is_one_input(tests, old, new, id, patterns)
            || super::written::in_arm(tests, new, id, &inputs, *body)
        {
            hits.push(reject("special-cased", new, id, WHY));
        }
    }
    for id in fresh(old, new, &[Kind::Binary]) {
        if counts_a_comparison(new, id) {
            let why = "a comparison with a value is counted as a number: it mends this one value";
            hits.push(reject("special-cased", new, id, why));
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

/// `total - 1 + (len(order) == 2)`
fn counts_a_comparison(ast: &Ast<'_>, id: Id) -> bool {
    let bare = |k: Id| match (ast.kind(k), ast.kids(k)) {
        (Kind::Block, [only]) => *only,
        _ => k,
    };
    let compares = |k: Id| {
        ast.kind(k) == Kind::Binary
            && matches!(ast.word(k), "==" | "===")
            && ast.kids(k).iter().any(|side| is_literal(ast, *side))
    };
    let counts = matches!(ast.grammar, Grammar::Python | Grammar::Script | Grammar::Tsx);
    let kids = ast.kids(id);
    counts
        && matches!(ast.word(id), "+" | "-" | "*")
        && kids.iter().any(|k| compares(bare(*k)))
        && !kids.iter().all(|k| compares(bare(*k)))
}

/// `case [1, 3]:` in a switch that is new: a list as a test puts it in, whatever is done then.
fn is_one_input(tests: &Tests<'_, '_>, old: Option<&Ast<'_>>, ast: &Ast<'_>, id: Id, patterns: &[Id]) -> bool {
    let switch = ast.above(id).find(|up| ast.kind(*up) == Kind::Switch);
    let known = switch.zip(old).is_some_and(|(switch, old)| {
        let asked = ast.kids(switch).first().map(|s| ast.flat(*s));
        let mut before = old.walk(Ast::ROOT).filter(|n| old.kind(*n) == Kind::Switch);
        before.any(|n| old.kids(n).first().map(|s| old.flat(*s)) == asked)
    });
    let all = |p: &Id| {
        let inside: Vec<Id> = ast.walk(*p).filter(|n| is_literal(ast, *n)).collect();
        let plain = ast
            .walk(*p)
            .all(|n| !matches!(ast.kind(n), Kind::Name | Kind::Spread | Kind::Call));
        (inside.len() > 1 && plain && !ast.source(*p).contains('|')).then_some(inside)
    };
    !known
        && patterns.iter().filter_map(all).any(|inside| {
            let values: Vec<String> = inside.iter().map(|i| value(ast, *i)).collect();
            tests.know(&values, &[])
        })
}

pub(super) fn is_literal(ast: &Ast<'_>, id: Id) -> bool {
    matches!(ast.kind(id), Kind::Text | Kind::Number) && ast.kids(id).is_empty()
}

/// An end of a range stands for every value up to it.
fn is_bound(ast: &Ast<'_>, id: Id) -> bool {
    let patterns = ast.above(id).take_while(|up| ast.kind(*up) != Kind::Arm);
    patterns
        .filter(|up| !matches!(ast.kind(*up), Kind::Text | Kind::Block))
        .any(|up| ast.source(up).contains("..") || ast.flat(up).starts_with("in "))
}

/// A literal, or the one that a value is made of: `Decimal("1.5")`, `"x".to_owned()`, `Some("x")`.
fn literal_in(ast: &Ast<'_>, id: Id) -> Option<Id> {
    if is_literal(ast, id) {
        return Some(id);
    }
    let made = matches!(ast.kind(id), Kind::Call) && ast.kids(id).len() <= 2;
    let literals: Vec<Id> = ast.walk(id).filter(|n| is_literal(ast, *n)).collect();
    let names = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Name).map(|n| ast.word(n));
    let wraps = names
        .into_iter()
        .all(|n| n.starts_with(char::is_uppercase) || matches!(n, "new" | "from" | "of" | "decimal" | "big"));
    match literals.as_slice() {
        [only] if made && wraps => Some(*only),
        _ => None,
    }
}

pub(super) fn value(ast: &Ast<'_>, id: Id) -> String {
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
                "==" | "===" => {
                    let all = |k: Id| match ast.kind(k) {
                        // `(month, day) == (6, 14)`
                        Kind::List => ast.kids(k).iter().copied().filter(|e| is_literal(ast, *e)).collect(),
                        _ => literal_in(ast, k).into_iter().collect::<Vec<_>>(),
                    };
                    kids.into_iter().flat_map(all).collect()
                }
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
pub(super) fn is_trivial(value: &str) -> bool {
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
    let told = wanted.iter().any(|w| tests.know(std::slice::from_ref(w), &outputs)) && !outputs.is_empty();
    // Several inputs and their answer are no accident.
    let whole = || wanted.len() > 1 && outputs.iter().any(|o| !is_trivial(o)) && tests.know_in_whole(&wanted, &outputs);
    told || any(&wanted) || whole()
}

/// `text.startsWith("Wed, 01 May 2024")`: most of one test's input, with digits that no rule would name.
fn answers_its_begin(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id, condition: Id, then: Id) -> bool {
    let named = "startsWith starts_with startswith start_with? HasPrefix endsWith ends_with endswith end_with? HasSuffix \
        hasPrefix hasSuffix includes contains Contains include?";
    let parts = ast.walk(condition).filter(|n| {
        let text = literal::inner(ast.source(*n));
        let digits = text.chars().filter(char::is_ascii_digit).count();
        ast.kind(*n) == Kind::Text && ast.kids(*n).is_empty() && text.len() >= 6 && digits >= 3
    });
    let within = |n: Id| {
        let mut above = ast.above(n).take_while(|up| *up != id);
        above.any(|up| ast.kind(up) == Kind::Call && ast.chain(up).last().is_some_and(|l| listed(named, l.name)))
    };
    let Some(result) = constant_result(ast, id, then) else {
        return false;
    };
    let outputs: Vec<String> = result.iter().map(|r| value(ast, *r)).collect();
    parts
        .filter(|n| within(*n))
        .any(|n| tests.know_a_text_with(literal::inner(ast.source(n)), &outputs))
}

/// The literals of what a branch gives back, when nothing else goes into it.
pub(super) fn constant_result(ast: &Ast<'_>, id: Id, then: Id) -> Option<Vec<Id>> {
    let mut statements = ast.statements(then);
    // What is done, and then nothing more.
    if let [_, last] = statements.as_slice()
        && ast.kind(*last) == Kind::Return
        && ast.kids(*last).is_empty()
    {
        statements.pop();
    }
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
    is_primitive(word) || ast.grammar != Grammar::Ruby && word.starts_with(char::is_uppercase)
}

/// What a branch compares with a literal.
fn asked(ast: &Ast<'_>, branch: Id) -> Option<String> {
    if ast.kind(branch) == Kind::Arm {
        let switch = ast.above(branch).find(|up| ast.kind(*up) == Kind::Switch)?;
        return ast.kids(switch).first().map(|s| ast.flat(*s));
    }
    let condition = ast.kids(branch).iter().copied().find(|k| ast.kind(*k) != Kind::Init)?;
    let compared = ast.walk(condition).find(|n| {
        ast.kind(*n) == Kind::Binary && matches!(ast.word(*n), "==" | "===" | "in") || ast.kind(*n) == Kind::Call
    })?;
    let own = match ast.kind(compared) {
        Kind::Call => ast.kids(*ast.kids(compared).first()?).first().copied(),
        _ => ast.kids(compared).iter().copied().find(|k| !is_literal(ast, *k)),
    };
    own.map(|o| ast.flat(o))
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
    // What is asked here; branches on something else are another mapping.
    let subject = asked(ast, id);
    let constant = |branch: &Id| {
        if asked(old, *branch) != subject {
            return false;
        }
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
    if only_reckoned_with(ast, id) {
        return false;
    }
    let known = |pair: &Id| {
        let [key, answer] = ast.kids(*pair) else { return false };
        let literals: Vec<Id> = ast.walk(*answer).filter(|n| is_literal(ast, *n)).collect();
        let made = matches!(ast.kind(*answer), Kind::List | Kind::Map);
        if !(is_literal(ast, *answer) || made && !literals.is_empty()) {
            return false;
        }
        let outputs: Vec<String> = literals.iter().map(|l| value(ast, *l)).collect();
        if ast.kind(*key) == Kind::List {
            return super::written::is_known(tests, &super::written::elements(ast, *key), &outputs);
        }
        if !is_literal(ast, *key) {
            return false;
        }
        let input = value(ast, *key);
        let whole = input
            .trim_matches('"')
            .contains(|c: char| c.is_ascii_digit() || c == ' ');
        if super::written::is_known(tests, &super::written::parts(&input), &outputs) {
            return true;
        }
        !is_trivial(&input) && (local || whole) && tests.know(&[input], &outputs)
    };
    // A table of which tests know a part is about something; of answers they know most.
    let telling = |p: &&Id| {
        let key = ast.kids(**p).first().filter(|k| is_literal(ast, **k));
        key.is_none_or(|k| !is_trivial(&value(ast, *k)))
    };
    let many = 2 * pairs.iter().filter(|p| known(p)).count() > pairs.iter().filter(telling).count();
    many || super::written::is_looked_up(tests, ast, id, &pairs)
}

/// A local table of which every use is a part of a sum or product: rates, and no results.
fn only_reckoned_with(ast: &Ast<'_>, id: Id) -> bool {
    let Some(assign) = ast.above(id).next().filter(|up| ast.kind(*up) == Kind::Assign) else {
        return false;
    };
    let Some(function) = ast
        .above(id)
        .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda))
    else {
        return false;
    };
    let name = ast.path(ast.kids(assign)[0]);
    let uses: Vec<Id> = ast
        .walk(function)
        .filter(|n| ast.kind(*n) == Kind::Name && ast.word(*n) == name && ast.kids(assign)[0] != *n)
        .collect();
    let reckons = |n: Id| {
        ast.above(n)
            .take_while(|up| *up != function)
            .any(|up| ast.kind(up) == Kind::Binary && matches!(ast.word(up), "*" | "/" | "+" | "-" | "%" | "**" | "//"))
    };
    !uses.is_empty() && uses.iter().all(|n| reckons(*n))
}
