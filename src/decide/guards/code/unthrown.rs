//! Rule `swallowed-failure`: where the base raised an error under a condition, the head goes on under the same one.

use super::{human, reject};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Grammar, Id, Kind},
};

const RULE: &str = "swallowed-failure";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let Some(old) = old else { return };
    let raised: Vec<String> = branches(old)
        .into_iter()
        .filter(|b| raises(old, b.then))
        .map(|b| key(old, &b))
        .collect();
    let still: Vec<String> = branches(new)
        .into_iter()
        .filter(|b| raises(new, b.then))
        .map(|b| key(new, &b))
        .collect();
    for branch in branches(new) {
        let key = key(new, &branch);
        if !raised.contains(&key) || still.contains(&key) {
            continue;
        }
        match instead(new, branch.then) {
            Instead::Nothing => {
                let why = "an error that was raised here is only noted, or not even that";
                hits.push(reject(RULE, new, branch.id, why));
            }
            Instead::Empty => {
                let why = "an error that was raised here is answered with a default value";
                hits.push(human(RULE, new, branch.id, why));
            }
            Instead::Else => {}
        }
    }
    catch_all(old, new, hits);
}

/// The arm for all that is not known raised an error and gives a value now.
fn catch_all(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let arms = |ast: &Ast<'_>| -> Vec<(String, Id, bool)> {
        let all = ast.walk(Ast::ROOT).filter(|id| ast.kind(*id) == Kind::Arm);
        all.filter_map(|id| {
            let (body, patterns) = ast.kids(id).split_last()?;
            let any = patterns.is_empty()
                || patterns
                    .iter()
                    .all(|p| matches!(ast.kind(*p), Kind::Name | Kind::Bind | Kind::Other));
            let function = ast
                .above(id)
                .find(|up| ast.kind(*up) == Kind::Function)
                .map(|f| ast.word(f));
            let raising = raises(ast, *body) || is_error(ast, *body) || ast.kind(*body) == Kind::Throw;
            any.then(|| (function.unwrap_or_default().to_owned(), id, raising))
        })
        .collect()
    };
    let (was, is) = (arms(old), arms(new));
    for (name, id, _) in is.iter().filter(|(_, _, raising)| !raising) {
        let one = |list: &[(String, Id, bool)]| list.iter().filter(|(n, _, _)| n == name).count() == 1;
        let raised = was.iter().any(|(n, _, raising)| n == name && *raising);
        if raised && one(&was) && one(&is) {
            let why = "what is not known raised an error and is answered with a value now";
            hits.push(human(RULE, new, *id, why));
        }
    }
}

struct Branch {
    id: Id,
    condition: Id,
    then: Id,
}

fn branches(ast: &Ast<'_>) -> Vec<Branch> {
    let ifs = ast.walk(Ast::ROOT).filter(|id| ast.kind(*id) == Kind::If);
    ifs.filter_map(|id| {
        let mut parts = ast
            .kids(id)
            .iter()
            .copied()
            .filter(|k| !matches!(ast.kind(*k), Kind::Init | Kind::Else));
        let (condition, then) = (parts.next()?, parts.next()?);
        // Go passes errors on by their name; another rule reads that.
        (ast.flat(condition) != "err != nil").then_some(Branch { id, condition, then })
    })
    .collect()
}

/// The function and the condition, which have to be the same on both sides.
fn key(ast: &Ast<'_>, branch: &Branch) -> String {
    let function = ast.above(branch.id).find(|up| ast.kind(*up) == Kind::Function);
    let name = function.map(|f| ast.word(f)).unwrap_or_default();
    format!("{name} {}", ast.flat(branch.condition))
}

fn raises(ast: &Ast<'_>, then: Id) -> bool {
    ast.statements(then).into_iter().any(|s| match ast.kind(s) {
        Kind::Throw => true,
        Kind::Return => ast.kids(s).iter().any(|k| is_error(ast, *k)),
        Kind::Call => matches!(ast.path(s).as_str(), "raise" | "panic" | "Kernel.raise" | "fail"),
        _ => false,
    })
}

/// `Err(…)`, `fmt.Errorf(…)`, `errors.New(…)`, `ErrFull`
fn is_error(ast: &Ast<'_>, id: Id) -> bool {
    ast.walk(id).any(|n| match ast.kind(n) {
        Kind::Call => match ast.grammar {
            Grammar::Rust => ast.path(n) == "Err",
            Grammar::Go => matches!(ast.path(n).as_str(), "fmt.Errorf" | "errors.New" | "errors.Join"),
            _ => false,
        },
        Kind::Name | Kind::Member => ast.grammar == Grammar::Go && ast.word(n).starts_with("Err"),
        _ => false,
    })
}

enum Instead {
    /// A note in a log, a jump to the next, an empty success.
    Nothing,
    Empty,
    Else,
}

fn instead(ast: &Ast<'_>, then: Id) -> Instead {
    let mut found = Instead::Nothing;
    for statement in ast.statements(then) {
        match ast.kind(statement) {
            Kind::Jump | Kind::Other | Kind::Comment => {}
            Kind::Call if crate::decide::guards::code::swallow::is_log(&ast.path(statement).to_lowercase()) => {}
            Kind::Return => {
                let values = ast.kids(statement);
                let flat = values.iter().map(|v| ast.flat(*v)).collect::<Vec<_>>().join(" ");
                match flat.as_str() {
                    "" | "Ok ( ( ) )" | "nil" if ast.grammar != Grammar::Ruby => {}
                    "Ok ( 0 )"
                    | "Ok ( None )"
                    | "Ok ( false )"
                    | "Ok ( vec ! [ ] )"
                    | "Ok ( String :: new ( ) )"
                    | "0 , nil"
                    | "\"\" , nil"
                    | "nil , nil"
                    | "null"
                    | "None"
                    | "undefined"
                    | "nil"
                    | "0"
                    | "false"
                    | "False"
                    | "[ ]"
                    | "{ }"
                    | "\"\""
                    | "''" => {
                        found = Instead::Empty;
                    }
                    _ => return Instead::Else,
                }
            }
            _ => return Instead::Else,
        }
    }
    found
}
