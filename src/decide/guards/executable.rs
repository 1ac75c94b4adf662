//! What a proof wants to know of a diff beside its verdict: which changed files can make the program do something else,
//! and which new tests check nothing.

use super::{
    FileChange,
    code::is_log,
    inventory::{Foreign, inventory},
    kind::extension,
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, Token, parse},
};

/// Texts, pictures and styles: no test runs them.
const IDLE: [&str; 16] = [
    "md", "txt", "rst", "adoc", "css", "scss", "less", "svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "woff2",
    "lock",
];

/// Whether a change is more than imports, types, comments, documentation and the words of log lines.
pub fn is_executable(change: &FileChange) -> bool {
    differs(change, is_idle)
}

/// Whether a change is more than comments, documentation and the words of log lines.
pub fn acts(change: &FileChange) -> bool {
    differs(change, is_words)
}

fn differs(change: &FileChange, idle: fn(&Ast<'_>, Id) -> bool) -> bool {
    let path = normal(&change.path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(grammar) = Grammar::of(&path) else {
        return !IDLE.contains(&extension(name));
    };
    let side = |side: Option<&super::Side>| -> Option<Vec<String>> {
        let text = side.map_or(Some(""), |side| std::str::from_utf8(&side.bytes).ok())?;
        let ast = parse(text, grammar).filter(|ast| !ast.broken)?;
        Some(acting(&ast, idle))
    };
    // What cannot be read may do anything.
    match (side(change.old.as_ref()), side(change.new.as_ref())) {
        (Some(old), Some(new)) => old != new,
        (None, _) | (_, None) => true,
    }
}

/// The tokens that act.
fn acting(ast: &Ast<'_>, is_idle: fn(&Ast<'_>, Id) -> bool) -> Vec<String> {
    let mut idle: Vec<std::ops::Range<usize>> = ast
        .walk(Ast::ROOT)
        .filter(|id| is_idle(ast, *id))
        .map(|id| range(ast, id))
        .collect();
    idle.sort_by_key(|range| range.start);
    let is_idle = |token: &Token| {
        idle.iter()
            .any(|range| range.start <= token.start && token.end <= range.end)
    };
    let acting = ast.tokens(Ast::ROOT).iter().filter(|token| !is_idle(token));
    acting
        .map(|token| ast.token_text(token).to_owned())
        .filter(|text| !matches!(text.as_str(), "," | ";" | ":"))
        .collect()
}

fn range(ast: &Ast<'_>, id: Id) -> std::ops::Range<usize> {
    ast.node(id).start..ast.node(id).end
}

fn is_idle(ast: &Ast<'_>, id: Id) -> bool {
    matches!(ast.kind(id), Kind::Import | Kind::Type) || is_words(ast, id)
}

fn is_words(ast: &Ast<'_>, id: Id) -> bool {
    ast.kind(id) == Kind::Text && (is_said(ast, id) || is_documentation(ast, id))
}

/// Part of what is written to a log. What is put into the text acts.
fn is_said(ast: &Ast<'_>, id: Id) -> bool {
    ast.kids(id).is_empty()
        && ast
            .above(id)
            .take_while(|up| ast.kind(*up) != Kind::Block)
            .any(|up| ast.kind(up) == Kind::Call && is_log(&ast.path(up).to_lowercase()))
}

/// A text that stands as a statement of its own.
fn is_documentation(ast: &Ast<'_>, id: Id) -> bool {
    let parent = ast.node(id).parent;
    ast.grammar == Grammar::Python && (ast.kind(parent) == Kind::Block || parent == Ast::ROOT)
}

/// Whether each of these tests, as the runner names them, is one of the files' own that checks nothing: it can only say
/// that nothing is raised.
pub fn check_nothing(tests: &[FileChange], ids: &[String]) -> bool {
    let files: Vec<(String, &super::Side)> = tests
        .iter()
        .filter_map(|change| Some((normal(&change.path), change.new.as_ref()?)))
        .collect();
    let asts: Vec<Ast<'_>> = files
        .iter()
        .filter_map(|(path, side)| parse(std::str::from_utf8(&side.bytes).ok()?, Grammar::of(path)?))
        .collect();
    // A check that the inventory does not know is one all the same.
    if asts.iter().any(|ast| ast.text.lines().any(speaks_of_checks)) {
        return false;
    }
    let none = Foreign::default();
    let inventories: Vec<_> = asts.iter().map(|ast| inventory(ast, true, &none)).collect();
    let cases = || inventories.iter().flat_map(|inventory| &inventory.cases);
    let checks_nothing = |id: &String| {
        let mut named = cases()
            .filter(|case| case.name.last().is_some_and(|own| ends_with(id, own)))
            .peekable();
        named.peek().is_some() && named.all(|case| !case.checks_anything())
    };
    !ids.is_empty() && ids.iter().all(checks_nothing)
}

/// `assert x`, `assertEqual(`, `assert.equal(`, `assert_eq!`, `expect(` and their like; not the line that imports them.
fn speaks_of_checks(line: &str) -> bool {
    let line = line.trim();
    let called = |word: &str| {
        let after = line
            .match_indices(word)
            .map(|(at, _)| line[at + word.len()..].chars().next());
        after
            .flatten()
            .any(|next| matches!(next, '.' | '(' | '_' | '!') || next.is_uppercase())
    };
    line.starts_with("assert ") || called("assert") || called("expect") || called("should") || line.contains("raises(")
}

/// `tests.test_a.A.test_x`, `a.js > suite > test x`, `mod::test_x[1]`: all end with the test's own name.
fn ends_with(id: &str, own: &str) -> bool {
    let id = id.split('[').next().unwrap_or(id).trim_end();
    id.strip_suffix(own)
        .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::guards::Side;

    fn change(path: &str, old: &str, new: &str) -> FileChange {
        let side = |text: &str| {
            Some(Side {
                mode: 0o100_644,
                bytes: text.as_bytes().to_vec(),
            })
        };
        FileChange {
            path: path.as_bytes().to_vec(),
            old: side(old),
            new: side(new),
        }
    }

    #[test]
    fn only_what_acts_is_executable() {
        for (path, old, new) in [
            (
                "a.py",
                "def f(x):\n    return x\n",
                "import os\n\n\ndef f(x):\n    # as it is\n    return x\n",
            ),
            (
                "a.py",
                "def f(x):\n    return x\n",
                "def f(x):\n    \"\"\"As it is.\"\"\"\n    return x\n",
            ),
            (
                "a.py",
                "import logging\nlogging.info('a')\n",
                "import logging\nlogging.info('b')\n",
            ),
            (
                "a.ts",
                "export const f = (x) => x\n",
                "import { g } from './g'\nexport const f = (x: number) => x\n",
            ),
            (
                "a.rs",
                "fn f() -> u8 { 1 }\n",
                "use std::fmt;\n\n/// One.\nfn f() -> u8 {\n    1\n}\n",
            ),
            ("a.md", "a", "b"),
        ] {
            assert!(!is_executable(&change(path, old, new)), "{path} {new}");
        }
        for (path, old, new) in [
            ("a.py", "def f(x):\n    return x\n", "def f(x):\n    return x + 1\n"),
            ("a.py", "logging.info('a')\n", "logging.info('a', drop())\n"),
            ("a.py", "raise_alarm('a')\n", "raise_alarm('b')\n"),
            (
                "a.ts",
                "export const f = (x) => x\n",
                "export const f = (x) => x ?? 0\n",
            ),
            ("a.rs", "fn f() -> u8 { 1 }\n", "fn f() -> u8 { 2 }\n"),
            (
                "a.go",
                "package a\n\nfunc f() int { return 1 }\n",
                "package a\n\nfunc f() int { return 2 }\n",
            ),
            ("q.sql", "select 1", "select 2"),
            ("a.py", "def f(x):\n", "def f(x:\n"),
        ] {
            assert!(is_executable(&change(path, old, new)), "{path} {new}");
        }
    }

    #[test]
    fn a_test_without_a_check_is_seen() {
        const BEFORE: &str = "import unittest\n\nclass A(unittest.TestCase):\n    def test_x(self):\n        ";
        let of = |body: &str, id: &str| {
            let file = change("tests/test_a.py", "", &format!("{BEFORE}{body}\n"));
            check_nothing(&[file], &[id.to_owned()])
        };
        let id = "tests.test_a.A.test_x";
        assert!(of("f([])", id));
        assert!(!of("self.assertEqual(f([]), 0)", id));
        assert!(!of("f([])", "another"));
    }
}
