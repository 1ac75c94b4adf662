//! Tests that a macro of Rust makes: functions within `proptest! { … }` and its like, and rows of a macro of the
//! file's own. Their text is read as functions that draw their inputs first.

use std::fmt::Write as _;

use super::{
    Case, Inventory, Role,
    bag::{Bag, Scope},
    find::inventory,
    foreign::Foreign,
    switch::Switch,
};
use crate::decide::guards::syntax::{Ast, Grammar, Kind, parse};

/// Macros within macros.
const MOST: usize = 40;

/// Cases of the macros at the top of a file or of a module.
pub(super) fn cases(ast: &Ast<'_>) -> Vec<Case> {
    if ast.grammar != Grammar::Rust {
        return Vec::new();
    }
    let mut out = Vec::new();
    let made: Vec<&str> = own_macros(ast);
    for (name, start, body) in calls(ast.text).into_iter().take(MOST) {
        let line = u32::try_from(ast.text[..start].matches('\n').count()).unwrap_or(0);
        if body.contains("fn ") && (matches!(name, "proptest" | "quickcheck") || body.contains("#[test]")) {
            let text = as_functions(body);
            if let Some(inner) = parse(&text, Grammar::Rust) {
                let Inventory { cases, .. } = inventory(&inner, true, &Foreign::default());
                out.extend(cases.into_iter().filter(|c| c.role == Role::Test).map(|mut c| {
                    c.line += line;
                    c.checks.iter_mut().for_each(|check| check.line += line);
                    c
                }));
            }
        } else if made.contains(&name) {
            out.extend(rows(name, body, line + 1));
        }
    }
    out
}

/// Macros of the file by which tests are made.
fn own_macros<'a>(ast: &Ast<'a>) -> Vec<&'a str> {
    let mut out = Vec::new();
    for (at, _) in ast.text.match_indices("macro_rules!") {
        let rest = ast.text[at + "macro_rules!".len()..].trim_start();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let body = rest[end..].trim_start();
        if braces(body).is_some_and(|inside| inside.contains("test]")) {
            out.push(&rest[..end]);
        }
    }
    out
}

/// `name! { … }` and `name!( … );` where an item may stand: name, place, inside.
fn calls(text: &str) -> Vec<(&str, usize, &str)> {
    let mut out = Vec::new();
    for (at, _) in text.match_indices('!') {
        let before = &text[..at];
        let from = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |n| n + 1);
        let line = before.rfind('\n').map_or(0, |n| n + 1);
        let name = &text[from..at];
        let first = text[line..from].trim().is_empty() && !name.is_empty() && name != "macro_rules";
        if let Some(inside) = braces(text[at + 1..].trim_start()).filter(|_| first) {
            out.push((name, from, inside));
        }
    }
    out
}

/// What stands between the bracket at the beginning and its other half; texts are stepped over.
fn braces(text: &str) -> Option<&str> {
    let open = text.chars().next().filter(|c| matches!(c, '{' | '('))?;
    let close = if open == '{' { '}' } else { ')' };
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    return text.get(1..at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `fn f(a in any::<u8>()) { … }` becomes `fn f() { let a = any::<u8>(); … }`.
fn as_functions(body: &str) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = rest.find("fn ") {
        let Some(open) = rest[at..].find('(').map(|n| at + n) else {
            break;
        };
        let Some(inside) = braces(&rest[open..]) else { break };
        let behind = open + inside.len() + 2;
        let Some(brace) = rest[behind..].find('{').map(|n| behind + n) else {
            break;
        };
        out.push_str(&rest[..open]);
        if inside.contains(" in ") {
            out.push_str("() {");
            for drawn in parameters(inside) {
                if let Some((name, strategy)) = drawn.split_once(" in ") {
                    let _ = write!(out, " let {} = {};", name.trim(), strategy.trim());
                }
            }
        } else {
            out.push_str(&rest[open..=brace]);
        }
        rest = &rest[brace + 1..];
    }
    out.push_str(rest);
    // How many inputs are tried is looked at elsewhere.
    let config = out
        .find("#![proptest_config")
        .and_then(|at| out[at..].find(']').map(|end| (at, at + end + 1)));
    if let Some((from, to)) = config {
        out.replace_range(from..to, "");
    }
    out
}

/// Parameters between commas that stand in no bracket.
fn parameters(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut quoted) = (0_i32, 0, false);
    let mut out = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '>' if text[..at].ends_with('=') => {}
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

/// Each row of a macro of the file's own is a case: a name, and what it is made with.
fn rows(name: &str, body: &str, line: u32) -> Vec<Case> {
    let row = |text: &str| {
        let text = text.trim();
        let title = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .next()
            .unwrap_or_default();
        (!title.is_empty()).then(|| row_case(name, title, text, line))
    };
    let separator = if body.contains(';') && !body.contains("=>") {
        ';'
    } else {
        ','
    };
    let pieces = if separator == ',' {
        parameters(body)
    } else {
        body.split(';').collect()
    };
    pieces.into_iter().filter_map(row).collect()
}

fn row_case(name: &str, title: &str, text: &str, line: u32) -> Case {
    let wrapped = format!(
        "fn {title}() {{ {name}(({})); }}",
        text.replacen("=>", ",", 1).replacen(':', ",", 1)
    );
    let mut values = Bag::default();
    if let Some(ast) = parse(&wrapped, Grammar::Rust) {
        let made = ast.walk(Ast::ROOT).find(|n| ast.kind(*n) == Kind::Call);
        let args = made.and_then(|c| ast.kids(c).get(1).copied());
        if let Some(args) = args {
            // The first of them is the title.
            for part in ast.kids(args).iter().skip(1) {
                values.add(&Scope::default().bag(&ast, *part));
            }
        }
    }
    Case {
        role: Role::Test,
        name: vec![name.to_owned(), title.to_owned()],
        line,
        shown: text.to_owned(),
        switch: Switch::default(),
        checks: vec![super::Check::of_row(text, line, values.clone())],
        all: values.clone(),
        acted: Bag::default(),
        written: values,
        statements: Vec::new(),
        body: text.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
