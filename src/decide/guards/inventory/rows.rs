//! Tables: what a case is repeated with. Each row is an instance of the checks below it.

use super::{
    bag::{Bag, Scope},
    words::plain,
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, literal};

/// With more rows a table is one instance.
const MOST: usize = 100;

/// The rows of what a loop or a parametrised test runs through; none where it is not written out.
pub(super) fn rows<'a>(ast: &Ast<'a>, scope: &Scope<'a>, id: Id) -> Option<Vec<Bag>> {
    let list = list(ast, scope, id, 0);
    let kids = match list {
        Some(list) => ast.kids(list),
        None => gathered(ast, id)?,
    };
    if kids.len() > MOST {
        return None;
    }
    let runs = kids.iter().filter(|row| !is_off(ast, **row));
    Some(runs.map(|row| row_bag(ast, scope, *row)).collect())
}

/// `Stream.of(arguments(…), arguments(…))`, `listOf(row(…), row(…))`
fn gathered<'x>(ast: &'x Ast<'_>, id: Id) -> Option<&'x [Id]> {
    let last = ast.chain(id).pop()?;
    let gathers = [
        "of",
        "aslist",
        "listof",
        "arrayof",
        "setof",
        "sequenceof",
        "arrays.aslist",
    ];
    let args = ast.kids(id).get(1..)?;
    let rows = args
        .iter()
        .all(|a| matches!(ast.kind(*a), Kind::Call | Kind::Pair | Kind::List))
        || args
            .iter()
            .all(|a| matches!(ast.kind(*a), Kind::Text | Kind::Number | Kind::Constant));
    (ast.kind(id) == Kind::Call && gathers.contains(&plain(last.name).as_str()) && rows && !args.is_empty())
        .then_some(args)
}

/// An entry of a map of rows: its key is a title where its value is a row, and else one of the values.
fn entry_bag<'a>(ast: &Ast<'a>, scope: &Scope<'a>, entry: Id) -> Bag {
    let (Some(key), Some(value)) = (ast.kids(entry).first().copied(), ast.body(entry)) else {
        return Bag::default();
    };
    let title = ast.kind(key) == Kind::Text && key != value && holds_row(ast, value);
    let mut bag = if title {
        row_bag(ast, scope, value)
    } else {
        let parts = ast.kids(entry).iter().map(|part| scope.bag(ast, *part));
        parts.fold(Bag::default(), |all, part| all.with(&part))
    };
    if title {
        bag.titles.push(literal::text(ast.source(key)));
    }
    bag.table = true;
    bag
}

/// A row with names for its columns; PHP gives a title to one without, too.
fn holds_row(ast: &Ast<'_>, id: Id) -> bool {
    let named = |n: Id| ast.kids(n).iter().any(|k| ast.kind(*k) == Kind::Pair);
    named(id) || ast.kids(id).iter().any(|k| named(*k)) || ast.grammar == Grammar::Php && ast.kind(id) == Kind::List
}

/// The rows that a call is given one by one, or as one list.
pub(super) fn given<'a>(ast: &Ast<'a>, scope: &Scope<'a>, call: Id) -> Vec<Bag> {
    let args = ast.kids(call).get(1..).unwrap_or_default();
    let args: Vec<Id> = args
        .iter()
        .copied()
        .filter(|a| ast.kind(*a) != Kind::Lambda && (ast.kind(*a) != Kind::Pair || ast.source(*a).contains(" to ")))
        .collect();
    if let [only] = args.as_slice()
        && let Some(found) = rows(ast, scope, *only)
    {
        return found;
    }
    args.iter().map(|row| row_bag(ast, scope, *row)).collect()
}

/// `pytest.param(…, marks=pytest.mark.skip)`
fn is_off(ast: &Ast<'_>, row: Id) -> bool {
    let marked = |pair: Id| ast.word(pair) == "marks" && ast.body(pair).is_some_and(|m| says_off(ast, m));
    ast.kind(row) == Kind::Call && ast.kids_of(row, Kind::Pair).any(marked)
}

fn says_off(ast: &Ast<'_>, marks: Id) -> bool {
    let mut words = ast
        .walk(marks)
        .filter(|n| matches!(ast.kind(*n), Kind::Member | Kind::Name));
    words.any(|n| matches!(ast.word(n), "skip" | "skipif" | "xfail"))
}

/// A row that is one text may be a line of values.
fn row_bag<'a>(ast: &Ast<'a>, scope: &Scope<'a>, row: Id) -> Bag {
    if ast.kind(row) == Kind::Text && literal::inner(ast.source(row)).contains([',', '|']) {
        return cells(literal::inner(ast.source(row)));
    }
    if ast.kind(row) == Kind::Pair {
        return entry_bag(ast, scope, row);
    }
    let mut bag = scope.bag(ast, row);
    columns(ast, scope, row, &mut bag);
    bag.table = true;
    bag
}

/// The keys of a row name its columns, and its title says nothing of what is tested.
fn columns<'a>(ast: &Ast<'a>, scope: &Scope<'a>, row: Id, bag: &mut Bag) {
    let map = if ast.kind(row) == Kind::Map || ast.kids_of(row, Kind::Pair).next().is_some() {
        row
    } else {
        match ast.kids(row).iter().find(|k| ast.kind(**k) == Kind::Map) {
            Some(map) => *map,
            None => return,
        }
    };
    for pair in ast.kids_of(map, Kind::Pair) {
        let key = literal::inner(ast.word(pair));
        bag.names.remove(key);
        bag.columns.insert(key.to_owned());
        let title = matches!(
            plain(key).as_str(),
            "name" | "title" | "desc" | "description" | "label" | "scenario" | "comment" | "testname"
        );
        let text = ast.body(pair).filter(|v| title && ast.kind(*v) == Kind::Text);
        if let Some(text) = text {
            let value = scope.bag(ast, text);
            if let Some(at) = value
                .values
                .first()
                .and_then(|v| bag.values.iter().position(|b| b == v))
            {
                let title = bag.values.remove(at);
                bag.titles.push(title);
            }
        }
    }
}

/// The cells of a line, as values.
fn cells(line: &str) -> Bag {
    let mut values: Vec<String> = line
        .split([',', '|'])
        .map(|cell| {
            // What is put into a text stands in braces.
            let bare = cell.trim();
            let inner = bare
                .strip_prefix("${")
                .and_then(|c| c.strip_suffix('}'))
                .unwrap_or(bare);
            inner.trim().trim_matches(['\'', '"', '`'])
        })
        .filter(|cell| !cell.is_empty())
        .map(|cell| match cell.parse::<f64>() {
            Ok(_) => literal::number(cell),
            Err(_) => format!("\"{cell}\""),
        })
        .collect();
    values.sort();
    Bag {
        values,
        table: true,
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

/// A text of several lines.
pub(super) fn is_block(ast: &Ast<'_>, id: Id) -> bool {
    ast.kind(id) == Kind::Text && ast.source(id).contains('\n')
}

/// Each line of a text is a row of values.
pub(super) fn lines(text: &str) -> Vec<Bag> {
    let lines = literal::inner(text).lines().map(|l| l.trim_matches(['"', ' ', '\t']));
    lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(cells)
        .collect()
}

/// The lines of a table that is written as one text.
pub(super) fn text_rows(text: &str) -> Vec<Bag> {
    let lines = literal::inner(text).lines().map(str::trim);
    lines.filter(|l| l.contains('|')).skip(1).map(cells).collect()
}

/// The same where values are put into the text: those of one line are a row.
pub(super) fn template_rows<'a>(ast: &Ast<'a>, scope: &Scope<'a>, table: Id) -> Vec<Bag> {
    let mut rows: Vec<(u32, Bag)> = Vec::new();
    for part in ast.kids(table) {
        let (line, bag) = (ast.line(*part), scope.bag(ast, *part));
        match rows.last_mut().filter(|(at, _)| *at == line) {
            Some((_, row)) => row.add(&bag),
            None => rows.push((line, bag)),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// `yield 'a' => [1, 2];` and the next: each gives a row.
pub(super) fn yielded<'a>(ast: &Ast<'a>, scope: &Scope<'a>, body: Id) -> Option<Vec<Bag>> {
    let statements = ast.statements(body);
    let yields = |id: &Id| ast.source(*id).starts_with("yield");
    let all = !statements.is_empty() && statements.iter().all(yields);
    let row = |s: &Id| match ast.walk(*s).find(|n| ast.kind(*n) == Kind::Pair) {
        Some(entry) if ast.walk(*s).take_while(|n| *n != entry).all(|n| !holds_row(ast, n)) => {
            entry_bag(ast, scope, entry)
        }
        _ => {
            let mut bag = scope.bag(ast, *s);
            bag.table = true;
            bag
        }
    };
    all.then(|| statements.iter().map(row).collect())
}

/// `rows[:1]`, `rows.slice(0, 1)`: a cut of a list that is written out.
pub(super) fn is_part<'a>(ast: &Ast<'a>, scope: &Scope<'a>, source: Id) -> bool {
    let cut = match ast.kind(source) {
        Kind::Index => ast.source(source).contains([':', '.']),
        Kind::Call => {
            let last = ast.chain(source).last().map(|l| plain(l.name)).unwrap_or_default();
            matches!(
                last.as_str(),
                "slice" | "filter" | "take" | "limit" | "islice" | "reject" | "select"
            )
        }
        _ => false,
    };
    let from = ast.kids(source).first().copied();
    let from = from.map(|f| {
        if ast.kind(f) == Kind::Member {
            ast.kids(f).first().copied().unwrap_or(f)
        } else {
            f
        }
    });
    cut && from.is_some_and(|f| list(ast, scope, f, 0).is_some())
}
