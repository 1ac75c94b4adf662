//! Inputs of a test that the source answers in another spelling: joined to one text, as JSON, as elements of a list.

use super::{
    answers::{constant_result, is_literal, is_trivial, value},
    known::Tests,
};
use crate::decide::guards::{
    listed::listed,
    syntax::{Ast, Id, Kind},
};

/// Calls that write a value as text.
const WRITES: &str = "\
    stringify join dumps toString to_s to_json inspect str repr String Sprint Sprintf format to_string to_owned encode \
    md5 sha256 hexdigest digest hash serialize to_a";

/// The parts of a text that holds several values: `1,2` or `[1,2]`.
pub(super) fn parts(value: &str) -> Vec<String> {
    let Some(inner) = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) else {
        return Vec::new();
    };
    let plain =
        |c: char| c.is_ascii_digit() || matches!(c, ',' | '[' | ']' | ' ' | '-' | '|' | ':' | ';' | '.' | '_' | '/');
    if !inner.chars().all(plain) {
        return Vec::new();
    }
    inner
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter(|p| !p.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The literals of a list.
pub(super) fn elements(ast: &Ast<'_>, list: Id) -> Vec<String> {
    let all: Vec<Id> = ast.kids(list).to_vec();
    if !all.iter().all(|k| is_literal(ast, *k)) {
        return Vec::new();
    }
    all.iter().map(|k| value(ast, *k)).collect()
}

/// Several values that stand in one check together with the answer.
pub(super) fn is_known(tests: &Tests<'_, '_>, inputs: &[String], outputs: &[String]) -> bool {
    inputs.len() > 1 && !outputs.is_empty() && tests.know(inputs, outputs)
}

/// A branch that compares a written form of its input and gives back a constant.
pub(super) fn answers(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id, condition: Id, then: Id) -> bool {
    let writes = |n: Id| ast.kind(n) == Kind::Call && ast.chain(n).last().is_some_and(|l| listed(WRITES, l.name));
    ast.walk(condition).any(|n| {
        let equal = ast.kind(n) == Kind::Binary && matches!(ast.word(n), "==" | "===");
        let [left, right] = ast.kids(n) else { return false };
        let literal = [*left, *right]
            .into_iter()
            .find(|k| is_literal(ast, *k) && ast.kind(*k) == Kind::Text);
        let written = [*left, *right].into_iter().any(writes);
        equal && written && literal.is_some_and(|l| is_answer(tests, ast, id, &value(ast, l), then))
    })
}

/// `switch (JSON.stringify(items)) { case "[1,2]": return 3; }`
pub(super) fn in_arm(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id, inputs: &[Id], body: Id) -> bool {
    let switch = ast.above(id).find(|up| ast.kind(*up) == Kind::Switch);
    let writes = switch.and_then(|s| ast.kids(s).first().copied()).is_some_and(|head| {
        ast.walk(head)
            .any(|n| ast.kind(n) == Kind::Call && ast.chain(n).last().is_some_and(|l| listed(WRITES, l.name)))
    });
    let list: Vec<String> = inputs.iter().map(|i| value(ast, *i)).collect();
    writes && list.iter().any(|input| is_answer(tests, ast, id, input, body))
}

fn is_answer(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id, input: &str, then: Id) -> bool {
    let Some(result) = constant_result(ast, id, then) else {
        return false;
    };
    let outputs: Vec<String> = result.iter().map(|r| value(ast, *r)).collect();
    let inner = input.trim_matches('"');
    let digits: Vec<String> = inner.chars().filter(char::is_ascii_digit).map(String::from).collect();
    let joined = inner.chars().all(|c| c.is_ascii_digit()) && is_known(tests, &digits, &outputs);
    joined || is_known(tests, &parts(input), &outputs)
}

/// A table of numbers that is asked where it stands, and of which every entry is a value of the tests.
pub(super) fn is_looked_up(tests: &Tests<'_, '_>, ast: &Ast<'_>, id: Id, pairs: &[Id]) -> bool {
    let place = ast.above(id).next();
    let asked = place.is_some_and(|up| match ast.kind(up) {
        Kind::Member => listed("get fetch has getOrDefault", ast.word(up)),
        Kind::Index => ast.kids(up).first() == Some(&id),
        // A table of a name may be what the program is about, unless it holds one entry alone.
        Kind::Assign => pairs.len() == 1,
        _ => false,
    });
    asked
        && !pairs.is_empty()
        && pairs.iter().all(|pair| {
            let [key, answer] = ast.kids(*pair) else { return false };
            let number = |n: Id| ast.kind(n) == Kind::Number && !is_trivial(&value(ast, n));
            number(*key)
                && number(*answer)
                && tests.know(&[value(ast, *key)], &[])
                && tests.know(&[value(ast, *answer)], &[])
        })
}
