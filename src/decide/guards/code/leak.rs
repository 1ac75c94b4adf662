//! Rule `secret-exposed`: the source writes secrets, or the whole environment, where others read them.

use super::{fresh, reject};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Id, Kind},
};

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    for id in fresh(old, new, &[Kind::Call]) {
        if !is_output(new, id) {
            continue;
        }
        for arg in new.kids(id).iter().skip(1) {
            if let Some(what) = exposed(new, *arg) {
                let why = format!("{what} is written to the output");
                hits.push(reject("secret-exposed", new, id, &why));
                break;
            }
        }
    }
}

/// `[f"{k}={v}" for k, v in os.environ.items()]`: the whole environment as texts, wherever they go.
pub(super) fn spelled_out(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    for id in fresh(old, new, &[Kind::Loop, Kind::Other, Kind::List, Kind::Call]) {
        let whole = |n: &Id| match ast_path(new, *n).as_str() {
            "os.environ.items" | "ENV.map" | "ENV.each" | "ENV.each_pair" | "os.Environ" | "env.vars" => true,
            "Object.entries" => new.flat(*n).contains("( process . env )"),
            _ => false,
        };
        let written = |n: Id| new.kind(n) == Kind::Text && !new.kids(n).is_empty();
        let small = new.walk(id).count() <= 60;
        if small && new.walk(id).any(|n| whole(&n)) && new.walk(id).any(written) {
            let why = "the whole environment is written as text";
            hits.push(reject("secret-exposed", new, id, why));
            return;
        }
    }
}

fn ast_path(ast: &Ast<'_>, id: Id) -> String {
    match ast.kind(id) {
        Kind::Call | Kind::Member => ast.path(id),
        _ => String::new(),
    }
}

fn is_output(ast: &Ast<'_>, id: Id) -> bool {
    let path = ast.path(id);
    let lower = path.to_lowercase();
    let last = lower.rsplit('.').next().unwrap_or_default();
    let root = lower.split('.').next().unwrap_or_default();
    let words = [
        "print", "println", "printf", "puts", "p", "pp", "echo", "eprintln", "dbg", "writeln", "log", "debug", "info",
        "warn", "error", "warning", "trace", "critical", "logf", "infof", "debugf", "errorf", "warnf", "fatalf",
        "dump", "var_dump",
    ];
    let alone = matches!(
        last,
        "print" | "println" | "puts" | "printf" | "pp" | "p" | "eprintln" | "dbg" | "var_dump"
    );
    let logger = matches!(
        root,
        "console"
            | "log"
            | "logger"
            | "logging"
            | "fmt"
            | "system"
            | "tracing"
            | "slog"
            | "rails"
            | "process"
            | "sys"
            | "self"
            | "this"
            | "loguru"
            | "@logger"
            | "@log"
    );
    words.contains(&last) && (alone && !lower.contains('.') || logger)
}

/// The whole environment, or a value whose name says that it is secret.
fn exposed(ast: &Ast<'_>, id: Id) -> Option<&'static str> {
    for node in ast.walk(id) {
        let path = match ast.kind(node) {
            Kind::Name | Kind::Member | Kind::Call => ast.path(node),
            _ => continue,
        };
        let bare = path.as_str();
        let narrower = ast
            .above(node)
            .next()
            .is_some_and(|up| matches!(ast.kind(up), Kind::Member | Kind::Index));
        let whole = matches!(
            bare,
            "process.env"
                | "os.environ"
                | "ENV"
                | "os.Environ"
                | "System.getenv"
                | "std.env.vars"
                | "env.vars"
                | "dict"
                | "ENV.to_h"
                | "ENV.to_hash"
                | "ENV.inspect"
                | "Deno.env.toObject"
        ) && (bare != "dict" || ast.flat(node).contains("environ"));
        let called_alone = !matches!(bare, "System.getenv") || ast.kids(node).len() == 1;
        if whole && !narrower && called_alone {
            return Some("the whole environment");
        }
        if is_secret(bare) && !narrower && is_value(ast, node, id) {
            return Some("a value that is secret by its name");
        }
    }
    None
}

fn is_secret(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    let plain: String = last
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let words = [
        "token",
        "secret",
        "password",
        "passwd",
        "apikey",
        "privatekey",
        "secretkey",
        "accesskey",
        "authtoken",
        "accesstoken",
        "refreshtoken",
        "credentials",
        "sessiontoken",
        "bearertoken",
        "clientsecret",
        "deploytoken",
        "signingkey",
        "encryptionkey",
        "databaseurl",
        "connectionstring",
    ];
    words.contains(&plain.as_str()) || words.iter().any(|w| plain.ends_with(w) && plain.len() < w.len() + 12)
}

/// The value itself, and not its length, its presence or a call about it.
fn is_value(ast: &Ast<'_>, node: Id, top: Id) -> bool {
    if ast.kind(node) == Kind::Call {
        return false;
    }
    let mut at = node;
    for up in ast.above(node) {
        if at == top {
            return true;
        }
        match ast.kind(up) {
            Kind::Text | Kind::Binary | Kind::Map | Kind::Pair | Kind::List | Kind::Other | Kind::Block => {
                if ast.kind(up) == Kind::Binary && !matches!(ast.word(up), "+" | "%" | ".") {
                    return false;
                }
            }
            Kind::Call => {
                let callee = ast.kids(up).first() == Some(&at);
                let shows = [
                    "format",
                    "str",
                    "String",
                    "stringify",
                    "Sprintf",
                    "inspect",
                    "to_s",
                    "repr",
                    "dumps",
                    "format!",
                ];
                let path = ast.path(up);
                if callee || !shows.contains(&path.rsplit('.').next().unwrap_or_default()) {
                    return up == top || is_output(ast, up);
                }
            }
            _ => return false,
        }
        at = up;
    }
    at == top
}
