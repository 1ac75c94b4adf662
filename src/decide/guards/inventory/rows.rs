//! Tables: what a case is repeated with. Each row is an instance of the checks below it.

use super::bag::{Bag, Scope};
use crate::decide::guards::syntax::{Ast, Id, Kind, literal};

/// With more rows a table is one instance.
const MOST: usize = 100;

/// The rows of what a loop or a parametrised test runs through; none where it is not written out.
pub(super) fn rows<'a>(ast: &Ast<'a>, scope: &Scope<'a>, id: Id) -> Option<Vec<Bag>> {
    let list = list(ast, scope, id, 0)?;
    let kids = ast.kids(list);
    if kids.len() > MOST {
        return None;
    }
    Some(kids.iter().map(|row| row_bag(ast, scope, *row)).collect())
}

/// A row that is one text may be a line of values.
fn row_bag<'a>(ast: &Ast<'a>, scope: &Scope<'a>, row: Id) -> Bag {
    if ast.kind(row) == Kind::Text && literal::inner(ast.source(row)).contains([',', '|']) {
        return cells(literal::inner(ast.source(row)));
    }
    if ast.kind(row) == Kind::Pair {
        let parts = ast.kids(row).iter().map(|part| scope.bag(ast, *part));
        return parts.fold(Bag::default(), |all, part| all.with(&part));
    }
    scope.bag(ast, row)
}

/// The cells of a line, as values.
fn cells(line: &str) -> Bag {
    let mut values: Vec<String> = line
        .split([',', '|'])
        .map(|cell| cell.trim().trim_matches(['\'', '"']))
        .filter(|cell| !cell.is_empty())
        .map(|cell| match cell.parse::<f64>() {
            Ok(_) => literal::number(cell),
            Err(_) => format!("\"{cell}\""),
        })
        .collect();
    values.sort();
    Bag {
        values,
        ..Bag::default()
    }
}

/// The brackets with the elements: written here, or in the one definition of a name.
pub(super) fn list<'a>(ast: &Ast<'a>, scope: &Scope<'a>, id: Id, depth: usize) -> Option<Id> {
    if depth > 4 {
        return None;
    }
    match ast.kind(id) {
        Kind::List | Kind::Map => Some(id),
        Kind::Name => match scope.definitions(ast.word(id)) {
            [only] => list(ast, scope, *only, depth + 1),
            _ => None,
        },
        // Go's and Rust's typed lists, `list.iter()`, `Object.entries(map)`, `List.of(…)`.
        Kind::Other | Kind::Member | Kind::Call => {
            let kids = ast.kids(id);
            let mut found = kids.iter().filter_map(|k| list(ast, scope, *k, depth + 1));
            match (found.next(), found.next()) {
                (Some(only), None) => Some(only),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The lines of a table that is written as one text.
pub(super) fn text_rows(text: &str) -> Vec<Bag> {
    let lines = literal::inner(text).lines().map(str::trim);
    lines.filter(|l| l.contains('|')).skip(1).map(cells).collect()
}
