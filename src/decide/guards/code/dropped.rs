//! Rule `swallowed-failure`: an error that left the function in the base and is thrown away now.

use super::{
    fresh, human, reject,
    swallow::{RULE, is_log, is_logged, speaks},
};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Grammar, Id, Kind},
};

/// A result that was passed on in the base and is thrown away now.
pub(super) fn dropped(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let Some(old) = old else { return };
    let before = old.flat(Ast::ROOT);
    for id in fresh(Some(old), new, &[Kind::Assign]) {
        let [target, value] = new.kids(id) else { continue };
        let blank = |t: &str| matches!(t, "_" | "_, _") || new.grammar == Grammar::Go && t.ends_with(", _");
        if !blank(new.source(*target))
            || !matches!(new.kind(*value), Kind::Call | Kind::Block | Kind::List | Kind::Other)
        {
            continue;
        }
        let call = new.flat(*value);
        let passed = before.contains(&format!("{call} ?"))
            || before.contains(&format!("err := {call}"))
            || before.contains(&format!("err = {call}"))
            || before.contains(&format!("return {call}"));
        if passed {
            hits.push(reject(RULE, new, id, "the error of this call is thrown away"));
        }
    }
    for id in fresh(Some(old), new, &[Kind::Call]) {
        let links = new.chain(id);
        let Some(last) = links.last() else { continue };
        let object = new
            .kids(id)
            .first()
            .and_then(|c| new.kids(*c).first())
            .map(|o| new.flat(*o))
            .unwrap_or_default();
        let passed = !object.is_empty() && is_passed_on(&before, &object);
        match last.name {
            "ok" if passed && new.grammar == Grammar::Rust => {
                hits.push(reject(RULE, new, id, "the error of this call is thrown away"));
            }
            "unwrap_or_default" | "unwrap_or" if passed => {
                hits.push(reject(
                    RULE,
                    new,
                    id,
                    "an error that was passed on becomes a default value",
                ));
            }
            "unwrap_or_else" if passed => {
                hits.push(human(RULE, new, id, "an error becomes a default value"));
            }
            _ => {}
        }
    }
    go_ignored(old, new, hits);
    go_returns(old, new, hits);
    go_forgotten(old, new, hits);
}

/// `x.parse()?`, `x.parse().map_err(bad)?`, `x.parse().context("…")?`: the error of a call leaves the function.
fn is_passed_on(text: &str, call: &str) -> bool {
    let ways = [
        "map_err",
        "context",
        "with_context",
        "wrap_err",
        "wrap_err_with",
        "ok_or",
        "ok_or_else",
        "change_context",
    ];
    text.match_indices(call).any(|(at, _)| {
        let mut words = text[at + call.len()..].split_whitespace().peekable();
        loop {
            match words.next() {
                Some("?") => return true,
                Some(".") => {}
                _ => return false,
            }
            if !words.next().is_some_and(|word| ways.contains(&word)) {
                return false;
            }
            let mut depth = 0_usize;
            for word in words.by_ref() {
                match word {
                    "(" => depth += 1,
                    ")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
    })
}

/// `if err != nil { … }` that passed the error on in the base and only looks away now.
fn go_forgotten(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Go {
        return;
    }
    let before: Vec<String> = errors_looked_at(old)
        .into_iter()
        .filter(|(_, then)| !is_forgotten(old, *then))
        .map(|(id, then)| header(old, id, then))
        .collect();
    for id in fresh(Some(old), new, &[Kind::If]) {
        let Some((_, then)) = errors_looked_at(new).into_iter().find(|(found, _)| *found == id) else {
            continue;
        };
        if is_forgotten(new, then) && before.contains(&header(new, id, then)) {
            hits.push(reject(RULE, new, id, "an error that was passed on is forgotten"));
        }
    }
}

/// Branches that are taken when there is an error, with what they do.
fn errors_looked_at(ast: &Ast<'_>) -> Vec<(Id, Id)> {
    let branch = |id: Id| {
        let kids = ast.kids(id);
        let condition = kids.iter().find(|k| ast.kind(**k) == Kind::Binary)?;
        let then = kids.iter().copied().find(|k| ast.kind(*k) == Kind::Block)?;
        (ast.flat(*condition) == "err != nil").then_some((id, then))
    };
    let ifs = ast.walk(Ast::ROOT).filter(|id| ast.kind(*id) == Kind::If);
    ifs.filter_map(branch).collect()
}

/// The words before a body.
fn header(ast: &Ast<'_>, id: Id, then: Id) -> String {
    let text = &ast.text[ast.node(id).start..ast.node(then).start];
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing leaves the function, and the error goes nowhere but into a log or a blank.
fn is_forgotten(ast: &Ast<'_>, then: Id) -> bool {
    ast.walk(then).all(|node| match ast.kind(node) {
        Kind::Return | Kind::Throw => false,
        Kind::Name if ast.word(node) == "err" => {
            let blank =
                |up: Id| ast.kind(up) == Kind::Assign && ast.kids(up).first().is_some_and(|t| ast.source(*t) == "_");
            is_logged(ast, node) || ast.above(node).any(blank)
        }
        Kind::Call => {
            let path = ast.path(node).to_lowercase();
            is_log(&path) || !speaks(path.rsplit('.').next().unwrap_or_default())
        }
        _ => true,
    })
}

/// `n, _ := strconv.Atoi(x)` where the error of such a call was looked at, whatever it is given now.
fn go_ignored(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Go {
        return;
    }
    let (was, is) = (old.flat(Ast::ROOT), new.flat(Ast::ROOT));
    for id in fresh(Some(old), new, &[Kind::Assign]) {
        let [target, value] = new.kids(id) else { continue };
        let call = new.walk(*value).find(|n| new.kind(*n) == Kind::Call);
        let Some(callee) = call.and_then(|c| new.kids(c).first()) else {
            continue;
        };
        let called = new.flat(*callee);
        let looked = |text: &str| {
            let ways = [format!("err := {called} ("), format!("err = {called} (")];
            ways.iter().map(|w| text.matches(w.as_str()).count()).sum::<usize>()
        };
        let told = hits.iter().any(|h| h.line == Some(new.line(id)));
        if new.source(*target).ends_with(", _") && looked(&was) > looked(&is) && !told {
            hits.push(reject(RULE, new, id, "the error of this call is thrown away"));
        }
    }
}

/// `if err != nil { return nil }`
fn go_returns(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Go {
        return;
    }
    for id in fresh(Some(old), new, &[Kind::If]) {
        let kids = new.kids(id);
        let Some(condition) = kids.iter().find(|k| new.kind(**k) == Kind::Binary) else {
            continue;
        };
        if new.flat(*condition) != "err != nil" {
            continue;
        }
        let Some(then) = kids.iter().copied().find(|k| new.kind(*k) == Kind::Block) else {
            continue;
        };
        let statements = new.statements(then);
        let [only] = statements.as_slice() else { continue };
        let nothing =
            new.kind(*only) == Kind::Return && new.kids(*only).last().is_some_and(|l| new.source(*l) == "nil");
        let fallible = new
            .above(id)
            .find(|up| new.kind(*up) == Kind::Function)
            .is_some_and(|f| {
                new.source(f)
                    .split('{')
                    .next()
                    .is_some_and(|head| head.contains("error"))
            });
        if nothing && fallible {
            hits.push(reject(RULE, new, id, "the error is answered as if there was none"));
        }
    }
}
