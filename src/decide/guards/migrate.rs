//! Rule `destructive-migration`: statements by which data or structure is lost, renamed or rewritten; in migrations of
//! any tool, and in files of SQL. What only adds passes.

use super::{
    Hit,
    lines::number,
    listed::listed,
    sql::{self, Statement},
    syntax::{Ast, Id, Kind, literal},
    view::{File, Trees},
};
use crate::model::evidence::GuardVerdict;

const RULE: &str = "destructive-migration";

/// Findings, each with the index of its file.
pub(super) fn check(files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let hits = one(file, trees.new.get(&at));
        out.extend(hits.into_iter().map(|hit| (at, hit)));
    }
    out
}

fn human(why: &str) -> Hit {
    Hit::new(RULE, GuardVerdict::NeedsHuman, why.to_owned())
}

fn one(file: &File<'_>, new: Option<&Ast<'_>>) -> Vec<Hit> {
    let migration = is_migration(&file.normal);
    let prose = super::view::is_prose(file.name());
    if migration && file.change.old.is_some() && !prose && !is_index(file.name()) {
        return vec![human("a migration that exists is changed; it may have run already")];
    }
    if is_schema(file.name()) {
        return schema(file);
    }
    if super::kind::extension(file.name()) == "sql" {
        return statements(file);
    }
    match (migration, new) {
        (true, Some(ast)) => calls(ast),
        (true, None) if !prose && !is_index(file.name()) => unread(file),
        _ => Vec::new(),
    }
}

fn is_migration(path: &str) -> bool {
    let dirs: Vec<&str> = path.split('/').collect();
    let (name, dirs) = dirs.split_last().unwrap_or((&"", &[]));
    let by_dir = dirs.iter().any(|d| {
        matches!(
            *d,
            "migrations" | "migration" | "migrate" | "changelog" | "changelogs" | "evolutions"
        )
    }) || dirs
        .windows(2)
        .any(|w| w == ["alembic", "versions"] || w == ["db", "versions"]);
    // Flyway: V1__name.sql, R__name.sql
    let flyway = name.split_once("__").is_some_and(|(v, _)| {
        let rest = v.trim_start_matches(['v', 'r', 'u']);
        rest.len() < v.len() && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'))
    });
    (by_dir || flyway) && !is_test_dir(dirs)
}

fn is_test_dir(dirs: &[&str]) -> bool {
    dirs.iter()
        .any(|d| matches!(*d, "test" | "tests" | "spec" | "__tests__"))
}

fn is_index(name: &str) -> bool {
    matches!(
        name,
        "__init__.py" | "env.py" | "script.py.mako" | "migration_lock.toml" | ".gitkeep" | "readme" | "mod.rs"
    ) || name.starts_with("index.")
}

fn is_schema(name: &str) -> bool {
    matches!(name, "schema.prisma" | "schema.rb" | "structure.sql" | "schema.sql") || name.ends_with(".prisma")
}

/// A description of the whole structure: lines of it that go away.
fn schema(file: &File<'_>) -> Vec<Hit> {
    let (Some(old), Some(new)) = (file.old, file.new) else {
        return if file.change.new.is_none() {
            vec![human("the description of the data is deleted")]
        } else {
            Vec::new()
        };
    };
    let lines = |t: &str| {
        t.lines()
            .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let kept = lines(new);
    let comment = |l: &str| l.starts_with("//") || l.starts_with('#') || l.starts_with("--");
    let lost = lines(old).into_iter().enumerate().find(|(_, l)| {
        !l.is_empty()
            && !comment(l)
            && !kept.contains(l)
            && l.chars().any(char::is_alphabetic)
            && !l.contains("version:")
    });
    lost.map(|(at, line)| {
        human("a part of the data's structure changes or goes away")
            .at(number(at))
            .change(&line, "")
    })
    .into_iter()
    .collect()
}

fn statements(file: &File<'_>) -> Vec<Hit> {
    let Some(new) = file.new else {
        return Vec::new();
    };
    let way_back = [".down.sql", "_down.sql", "/down.sql", ".undo.sql", "rollback.sql"];
    let slashed = format!("/{}", file.normal);
    let undo =
        way_back.iter().any(|w| slashed.ends_with(w)) || file.name().starts_with('u') && file.name().contains("__");
    if undo && file.change.old.is_none() {
        return Vec::new();
    }
    let before: Vec<Statement> = file.old.map(sql::statements).unwrap_or_default();
    let fresh = sql::statements(new)
        .into_iter()
        .filter(|s| !before.iter().any(|b| b.words == s.words));
    fresh
        .filter_map(|s| sql::destroys(&s).map(|why| human(why).at(s.line).is(&s.shown())))
        .collect()
}

/// Steps of a migration that is a program.
const STEPS: &str = "\
    drop_table remove_column remove_columns rename_column rename_table change_column change_column_null \
    drop_column alter_column rename RemoveField DeleteModel RenameField RenameModel AlterField RunPython \
    dropTable dropTableIfExists dropColumn dropColumns renameColumn renameTable removeColumn changeColumn \
    bulkDelete bulkUpdate truncate DropColumn DropTable RenameColumn RenameTable AlterColumn DeleteData remove \
    modify drop_join_table remove_reference remove_belongs_to remove_timestamps drop_schema dropSchema alter \
    change delete_all destroy_all update_all drop_if_exists drop_view dropView delete removeField \
    SeparateDatabaseAndState";

/// Steps that carry SQL of their own.
const RAW: &str = "\
    execute RunSQL raw query Sql sql executeSql statement unprepared exec";

fn calls(ast: &Ast<'_>) -> Vec<Hit> {
    let mut out = Vec::new();
    for id in ast.walk(Ast::ROOT) {
        if ast.kind(id) != Kind::Call || is_way_back(ast, id) {
            continue;
        }
        let links = ast.chain(id);
        let Some(last) = links.last() else { continue };
        if listed(STEPS, last.name) && !(last.name == "change" && ast.kind(id) != Kind::Call) {
            let why = "this step drops, renames or rewrites what is there";
            out.push(human(why).at(ast.line(id)).is(&ast.shown(id)));
        } else if listed(RAW, last.name) {
            out.extend(raw(ast, id));
        }
    }
    out
}

fn raw(ast: &Ast<'_>, id: Id) -> Option<Hit> {
    let text = ast
        .kids(id)
        .iter()
        .skip(1)
        .copied()
        .find(|a| ast.kind(*a) == Kind::Text)
        .or_else(|| {
            let first = ast.kids(id).get(1).copied()?;
            ast.walk(first).find(|n| ast.kind(*n) == Kind::Text)
        });
    let place = |hit: Hit| hit.at(ast.line(id)).is(&ast.shown(id));
    match text {
        Some(text) if ast.kids(text).is_empty() => {
            let found = sql::statements(literal::inner(ast.source(text)));
            found.iter().find_map(sql::destroys).map(|why| place(human(why)))
        }
        _ => Some(place(human("SQL that is put together while it runs"))),
    }
}

/// Within the function that takes the migration back.
fn is_way_back(ast: &Ast<'_>, id: Id) -> bool {
    ast.above(id).any(|up| match ast.kind(up) {
        Kind::Function => matches!(
            ast.word(up),
            "down" | "downgrade" | "revert" | "rollback" | "Down" | "reverse" | "undo"
        ),
        Kind::Assign | Kind::Pair => {
            let name = ast.kids(up).first().map(|t| ast.path(*t)).unwrap_or_default();
            matches!(
                name.rsplit('.').next(),
                Some("down" | "downgrade" | "revert" | "rollback")
            )
        }
        _ => false,
    })
}

/// Formats without a grammar: XML and YAML changes, other languages.
fn unread(file: &File<'_>) -> Vec<Hit> {
    let Some(new) = file.new else { return Vec::new() };
    let words = [
        "drop", "remove", "rename", "delete", "truncate", "execute", "modify", "<sql", "sql:", "alter",
    ];
    let lower = new.to_lowercase();
    let found = lower
        .lines()
        .enumerate()
        .find(|(_, l)| words.iter().any(|w| l.contains(w)));
    found
        .map(|(at, line)| {
            human("this step may drop, rename or rewrite what is there")
                .at(number(at))
                .is(line.trim())
        })
        .into_iter()
        .collect()
}
