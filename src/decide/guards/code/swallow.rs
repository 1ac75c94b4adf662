//! Rule `swallowed-failure` in the source: an error that is caught and forgotten instead of being mended.

use super::{dropped::dropped, fresh, human, reject, texts};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Grammar, Id, Kind},
};

pub(super) const RULE: &str = "swallowed-failure";

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    for id in fresh(old, new, &[Kind::Try]) {
        attempt(old, new, id, hits);
    }
    for id in fresh(old, new, &[Kind::Assign]) {
        if silences(new, id) {
            let why = "errors that nobody handles are silenced for the whole process";
            hits.push(reject(RULE, new, id, why));
        }
    }
    for id in fresh(old, new, &[Kind::With]) {
        if suppresses(new, id) {
            hits.push(reject(RULE, new, id, "every error in this block is swallowed"));
        }
    }
    for id in fresh(old, new, &[Kind::Call]) {
        call(new, id, hits);
        if forgets(new, id) {
            hits.push(reject(
                RULE,
                new,
                id,
                "every error of this block is answered with a value",
            ));
        }
    }
    dropped(old, new, hits);
}

/// `sys.excepthook = lambda *a: None`
fn silences(ast: &Ast<'_>, id: Id) -> bool {
    let [target, value, ..] = ast.kids(id) else {
        return false;
    };
    let hooks = ["sys.excepthook", "threading.excepthook", "sys.unraisablehook"];
    if ast.grammar != Grammar::Python || !hooks.contains(&ast.path(*target).as_str()) {
        return false;
    }
    let named = || {
        let functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Function);
        functions.into_iter().find(|n| ast.word(*n) == ast.word(*value))
    };
    let handler = match ast.kind(*value) {
        Kind::Lambda => Some(*value),
        Kind::Name => named(),
        _ => None,
    };
    let speaks = |n: Id| matches!(ast.kind(n), Kind::Call | Kind::Throw);
    handler.is_some_and(|h| !ast.walk(h).any(speaks))
}

/// Kotlin's `runCatching { … }.getOrDefault(0)`
fn forgets(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    match links.as_slice() {
        [.., attempt, last] if attempt.name == "runCatching" => matches!(last.name, "getOrDefault" | "getOrNull"),
        // A statement of its own, after which the result is gone.
        [.., attempt] if attempt.name == "runCatching" => ast.above(id).next().is_some_and(|up| {
            ast.kind(up) == Kind::Block
                && (ast.kids(up).last() != Some(&id)
                    || ast.above(up).next().is_some_and(|f| ast.kind(f) == Kind::Function))
        }),
        _ => false,
    }
}

/// How a handler treats what it caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handling {
    /// Passed on, looked at, or turned into something that says so.
    Speaks,
    Logged,
    Silent,
}

fn attempt(old: Option<&Ast<'_>>, ast: &Ast<'_>, id: Id, hits: &mut Vec<Hit>) {
    let known = texts(old, &[Kind::Catch]);
    for catch in ast.kids_of(id, Kind::Catch).collect::<Vec<_>>() {
        if known.contains(&ast.flat(catch)) || !is_broad(ast, catch) {
            continue;
        }
        match handling(ast, catch) {
            Handling::Speaks => {}
            Handling::Silent if is_small_parse(ast, id) && gives_empty(ast, catch) => {
                let why = "what cannot be read is answered as if it was empty";
                hits.push(human(RULE, ast, catch, why));
            }
            Handling::Silent if is_small_parse(ast, id) => {}
            Handling::Silent => hits.push(reject(RULE, ast, catch, "every error of this block is swallowed")),
            Handling::Logged if gives_nothing(ast, catch) => {
                let why = "every error of this block is logged and answered with nothing";
                hits.push(reject(RULE, ast, catch, why));
            }
            Handling::Logged => {
                hits.push(human(
                    RULE,
                    ast,
                    catch,
                    "every error of this block is logged and forgotten",
                ));
            }
        }
    }
}

/// `return null`, `return []`
fn gives_nothing(ast: &Ast<'_>, catch: Id) -> bool {
    let Some(body) = ast.body(catch) else { return false };
    ast.walk(body).filter(|n| ast.kind(*n) == Kind::Return).any(|r| {
        let given = ast.kids(r).first().map(|v| ast.flat(*v)).unwrap_or_default();
        matches!(
            given.as_str(),
            "null" | "None" | "nil" | "undefined" | "[ ]" | "{ }" | "\"\"" | "''" | "0" | "false"
        )
    })
}

/// `return {}`, `return []`: nobody can tell it from a good answer.
fn gives_empty(ast: &Ast<'_>, catch: Id) -> bool {
    let Some(body) = ast.body(catch) else { return false };
    ast.walk(body).filter(|n| ast.kind(*n) == Kind::Return).any(|r| {
        let given = ast.kids(r).first().map(|v| ast.flat(*v)).unwrap_or_default();
        matches!(given.replace(' ', "").as_str(), "{}" | "[]")
    })
}

/// So many kinds of errors that they are nearly all, or mistakes of the code among them.
fn is_wide(names: &[&str]) -> bool {
    let has = |wanted: &[&str]| names.iter().any(|n| wanted.contains(n));
    names.len() > 3 || has(&["ArithmeticError", "LookupError"]) && has(&["TypeError", "AttributeError", "NameError"])
}

/// It catches nearly everything, also what nobody thought of.
fn is_broad(ast: &Ast<'_>, catch: Id) -> bool {
    let Some(types) = ast.first_of(catch, Kind::Types) else {
        return true;
    };
    let broad = [
        "Exception",
        "BaseException",
        "Throwable",
        "StandardError",
        "Error",
        "RuntimeException",
        "RuntimeError",
        "Object",
    ];
    let of_member = |n: Id| ast.above(n).next().is_some_and(|up| ast.kind(up) == Kind::Member);
    let named = ast
        .walk(types)
        .filter(|n| matches!(ast.kind(*n), Kind::Name | Kind::Member) && !of_member(*n));
    let names: Vec<&str> = named.map(|n| ast.word(n)).collect();
    let wide = ast.grammar == Grammar::Python && is_wide(&names);
    names.is_empty() || wide || names.iter().any(|n| broad.contains(n))
}

fn handling(ast: &Ast<'_>, catch: Id) -> Handling {
    let Some(body) = ast.body(catch) else {
        return Handling::Silent;
    };
    let mut logged = false;
    for node in ast.walk(body) {
        match ast.kind(node) {
            Kind::Throw => return Handling::Speaks,
            Kind::Call => {
                let path = ast.path(node).to_lowercase();
                let last = path.rsplit('.').next().unwrap_or_default().to_owned();
                if is_log(&path) {
                    logged = true;
                } else if speaks(&last) && !says_success(ast, node, &last) {
                    return Handling::Speaks;
                }
            }
            Kind::Name if matches!(ast.word(node), "raise" | "fail") => return Handling::Speaks,
            _ => {}
        }
    }
    // The caught value is given back or stored.
    let bound = bound(ast, catch);
    let used = bound.is_some_and(|name| {
        ast.walk(body)
            .any(|n| ast.kind(n) == Kind::Name && ast.word(n) == name && !is_logged(ast, n))
    });
    match (used, logged) {
        (true, _) => Handling::Speaks,
        (false, true) => Handling::Logged,
        (false, false) => Handling::Silent,
    }
}

pub(in crate::decide::guards) fn is_log(path: &str) -> bool {
    let words = [
        "log",
        "logger",
        "logging",
        "console",
        "print",
        "println",
        "printf",
        "eprintln",
        "warn",
        "error_log",
        "puts",
        "rails.logger",
        "printstacktrace",
        "slog",
        "tracing",
    ];
    words.iter().any(|w| {
        path == *w
            || path.starts_with(&format!("{w}."))
            || path.ends_with(&format!(".{w}"))
            || path.contains(&format!(".{w}."))
    })
}

/// `res.status(200)`
fn says_success(ast: &Ast<'_>, call: Id, word: &str) -> bool {
    let code = ast.kids(call).get(1).and_then(|a| ast.source(*a).parse::<u16>().ok());
    word == "status" && code.is_some_and(|c| c < 400)
}

pub(super) fn speaks(word: &str) -> bool {
    let words = [
        "raise",
        "throw",
        "reject",
        "abort",
        "exit",
        "panic",
        "next",
        "fail",
        "rethrow",
        "captureexception",
        "capture_exception",
        "notify",
        "done",
        "callback",
        "cb",
        "seterror",
        "onerror",
        "emit",
        "status",
        "reraise",
        "retry",
        "rollback",
        "report",
        "senderror",
        "interrupt",
    ];
    words.contains(&word)
}

pub(super) fn is_logged(ast: &Ast<'_>, id: Id) -> bool {
    ast.above(id)
        .any(|up| ast.kind(up) == Kind::Call && is_log(&ast.path(up).to_lowercase()))
}

/// The name of what is caught, by the words before the body.
fn bound<'a>(ast: &Ast<'a>, catch: Id) -> Option<&'a str> {
    let body = ast.body(catch)?;
    let head = &ast.text[ast.node(catch).start..ast.node(body).start];
    let words = head.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words
        .rev()
        .find(|w| !w.is_empty() && !matches!(*w, "as" | "catch" | "except" | "rescue" | "then"))
}

/// JavaScript cannot name what it catches; one parse of outside text may answer with nothing.
fn is_small_parse(ast: &Ast<'_>, id: Id) -> bool {
    if !ast.grammar.is_script() {
        return false;
    }
    let Some(body) = ast.kids(id).first().copied() else {
        return false;
    };
    let parses = [
        "JSON.parse",
        "URL",
        "decodeURIComponent",
        "decodeURI",
        "atob",
        "BigInt",
        "structuredClone",
        "Intl.NumberFormat",
        "RegExp",
        "require.resolve",
    ];
    let one = ast.statements(body).len() == 1;
    let calls: Vec<Id> = ast.walk(body).filter(|n| ast.kind(*n) == Kind::Call).collect();
    let answers = ast
        .kids_of(id, Kind::Catch)
        .filter_map(|c| ast.body(c))
        .all(|b| ast.walk(b).any(|n| ast.kind(n) == Kind::Return));
    one && answers && calls.len() == 1 && parses.contains(&ast.path(calls[0]).as_str())
}

/// `contextlib.suppress(Exception)`
fn suppresses(ast: &Ast<'_>, id: Id) -> bool {
    let contexts = &ast.kids(id)[..ast.kids(id).len().saturating_sub(1)];
    contexts.iter().any(|c| {
        let path = ast.path(*c);
        let broad = ["Exception", "BaseException"];
        let args = ast.kids(*c).get(1..).unwrap_or_default();
        let names: Vec<&str> = args.iter().map(|a| ast.source(*a)).collect();
        path.ends_with("suppress") && (is_wide(&names) || names.iter().any(|n| broad.contains(n)))
    })
}

fn call(ast: &Ast<'_>, id: Id, hits: &mut Vec<Hit>) {
    let links = ast.chain(id);
    let Some(last) = links.last() else { return };
    // `.catch(() => {})`, `.then(read, () => [])`
    let handler = match last.name {
        "catch" => last.arg(0),
        "then" if ast.grammar.is_script() => last.arg(1),
        _ => None,
    };
    if let Some(handler) = handler.filter(|h| ast.kind(*h) == Kind::Lambda) {
        let is_key = |n: Id| {
            let pair = ast.above(n).next().filter(|up| ast.kind(*up) == Kind::Pair);
            pair.is_some_and(|pair| ast.kids(pair).len() > 1 && ast.kids(pair)[0] == n)
        };
        let silent = ast.body(handler).is_none_or(|b| {
            !ast.walk(b)
                .any(|n| matches!(ast.kind(n), Kind::Throw | Kind::Call) || ast.kind(n) == Kind::Name && !is_key(n))
        });
        if silent {
            hits.push(reject(RULE, ast, id, "every error of this promise is swallowed"));
        }
    }
    if is_global_handler(ast, id) {
        hits.push(reject(
            RULE,
            ast,
            id,
            "errors that nobody handles are silenced for the whole process",
        ));
    }
    if ast.grammar == Grammar::Go && links.len() == 1 && last.name == "recover" && !recovers(ast, id) {
        hits.push(reject(RULE, ast, id, "a panic is caught and forgotten"));
    }
    if ast.grammar == Grammar::Rust && last.name == "catch_unwind" {
        hits.push(human(RULE, ast, id, "a panic is caught"));
    }
}

/// `process.on("uncaughtException", () => {})`
pub(super) fn is_global_handler(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(id);
    let args = ast.kids(id).get(1..).unwrap_or_default();
    let event = args
        .first()
        .map_or("", |a| ast.source(*a))
        .trim_matches(['"', '\'', '`']);
    if !matches!(
        event,
        "uncaughtException" | "unhandledRejection" | "error" | "unhandledrejection" | "fail" | "uncaught:exception"
    ) {
        return false;
    }
    let silent = || {
        let handler = args
            .iter()
            .find(|a| ast.kind(**a) == Kind::Lambda)
            .and_then(|h| ast.body(*h));
        handler.is_some_and(|b| {
            !ast.walk(b)
                .any(|n| matches!(ast.kind(n), Kind::Throw | Kind::Call | Kind::Assign))
        })
    };
    match path.as_str() {
        "Cypress.on" | "cy.on" => matches!(event, "fail" | "uncaught:exception") && silent(),
        "process.on" | "process.once" | "process.addListener" | "window.addEventListener" => silent(),
        "process.removeAllListeners" => event != "error",
        _ => false,
    }
}

/// What was recovered becomes an error, a log line or a panic again.
fn recovers(ast: &Ast<'_>, id: Id) -> bool {
    let Some(function) = ast
        .above(id)
        .find(|up| matches!(ast.kind(*up), Kind::Lambda | Kind::Function))
    else {
        return false;
    };
    ast.walk(function).any(|n| match ast.kind(n) {
        Kind::Call => n != id && !ast.path(n).is_empty() && ast.path(n) != "recover",
        Kind::Assign => ast.kids(n).first().is_some_and(|t| ast.source(*t).contains("err")),
        _ => false,
    })
}
