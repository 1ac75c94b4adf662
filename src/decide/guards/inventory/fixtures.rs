//! Values that tests share: what a definition beside the tests gives them, and how many inputs a generator makes.

use std::collections::BTreeMap;

use super::{
    bag::{Bag, Scope},
    words::plain,
};
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Id, Kind, literal},
};
use crate::model::evidence::GuardVerdict;

/// Definitions of both sides, by their names, of which a value is another one: line, and the value that is gone.
pub(in crate::decide::guards) fn rewritten(old: &Ast<'_>, new: &Ast<'_>) -> Vec<(u32, String)> {
    let (was, is) = (definitions(old), definitions(new));
    let gone = |(name, (_, before)): (&String, &(u32, Bag))| {
        let (line, after) = is.get(name)?;
        let value = after.missing(before).into_iter().next()?;
        (!after.values.is_empty()).then_some((*line, value))
    };
    was.iter().filter_map(gone).collect()
}

/// Functions and values at the top of a file, or in its classes.
fn definitions(ast: &Ast<'_>) -> BTreeMap<String, (u32, Bag)> {
    let inner = |id: Id| {
        ast.above(id)
            .any(|up| matches!(ast.kind(up), Kind::Function | Kind::Lambda | Kind::Call | Kind::Loop))
    };
    let mut out = BTreeMap::new();
    for id in ast.walk(Ast::ROOT) {
        let name = match ast.kind(id) {
            Kind::Function => ast.word(id).to_owned(),
            Kind::Assign => ast.kids(id).first().map_or_else(String::new, |t| ast.flat(*t)),
            _ => continue,
        };
        if !name.is_empty() && !inner(id) {
            out.insert(name, (ast.line(id), Scope::default().written(ast, id)));
        }
    }
    out
}

/// Generated tests that try fewer inputs than they did.
pub(in crate::decide::guards) fn fewer_inputs(old: &Ast<'_>, new: &Ast<'_>) -> Vec<Hit> {
    let (was, is) = (inputs(old), inputs(new));
    let mut hits = Vec::new();
    for (word, before) in &was {
        for (at, (_, count, shown)) in before.iter().enumerate() {
            let after = is.get(word).and_then(|a| a.get(at));
            if let Some((line, now, other)) = after.filter(|(_, now, _)| now < count) {
                let why = format!("generated inputs are {now} where they were {count}");
                let hit = Hit::new("assertion-loosened", GuardVerdict::Reject, why);
                hits.push(hit.at(*line).change(shown, other));
            }
        }
    }
    hits
}

type Inputs = BTreeMap<String, Vec<(u32, f64, String)>>;

/// Numbers right behind the words by which libraries for generated tests say how often they try.
fn inputs(ast: &Ast<'_>) -> Inputs {
    const WORDS: &str =
        "withcases maxexamples numruns maxcount tries numtests minsuccessful minsuccessfultests quickchecktests";
    let tokens = ast.tokens(Ast::ROOT);
    let mut out = Inputs::new();
    for (at, token) in tokens.iter().enumerate() {
        let word = plain(literal::inner(ast.token_text(token)));
        if !listed(WORDS, &word) {
            continue;
        }
        let Some((number, from)) = tokens[at + 1..]
            .iter()
            .take(2)
            .find_map(|t| literal::value(ast.token_text(t)).map(|n| (n, t.start)))
        else {
            continue;
        };
        let line = ast.text[..from].matches('\n').count();
        let shown = ast.text.lines().nth(line).unwrap_or_default().trim().to_owned();
        let line = crate::decide::guards::lines::number(line);
        out.entry(word).or_default().push((line, number, shown));
    }
    out
}
