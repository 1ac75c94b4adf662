//! Rule `special-cased`: the source reaches into the runner, or ends the process before the runner can tell its result.

use super::{fresh, reject};
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::File,
};

pub(super) fn check(file: &File<'_>, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    for id in fresh(
        old,
        new,
        &[
            Kind::Assign,
            Kind::Import,
            Kind::Call,
            Kind::Member,
            Kind::Name,
            Kind::Finally,
        ],
    ) {
        let why = match new.kind(id) {
            Kind::Assign if replaces_framework(new, id) => "the source changes the framework of the tests",
            Kind::Import if !file.normal.contains("test") && of_tests(new, id) => "the source uses a library of tests",
            Kind::Import if of_inside(new, id) => "the source imports the inside of a test runner",
            Kind::Call if ends_late(new, id) => "the process ends with success whatever the tests say",
            Kind::Call if clears_task(new, id) => {
                hits.push(reject("gate-weakened", new, id, "the task no longer runs what it ran"));
                continue;
            }
            Kind::Finally if returns(new, id) => {
                let why = "what is given back at last takes every error with it";
                hits.push(reject("swallowed-failure", new, id, why));
                continue;
            }
            _ => continue,
        };
        hits.push(reject("special-cased", new, id, why));
    }
    macros(old, new, hits);
}

/// `builtins.AssertionError = Warning`, `session.testsfailed = 0`
fn replaces_framework(ast: &Ast<'_>, id: Id) -> bool {
    let Some(target) = ast.kids(id).first().copied().filter(|t| ast.kind(*t) == Kind::Member) else {
        return false;
    };
    let path = ast.path(target);
    let root = path.split('.').next().unwrap_or_default();
    let last = ast.word(target);
    let counters = "testsfailed testscollected _exitstatus shouldfail";
    let framework = listed(
        "builtins __builtins__ unittest pytest _pytest RSpec Minitest jest vi chai expect",
        root,
    );
    let taken = "AssertionError assert skip only fail exit runner outcome assertEqual assert_equal expect it test describe \
        raises toBe toEqual equal deepEqual strictEqual";
    framework && listed(taken, last) || listed(counters, last)
}

/// `from unittest.mock import ANY`: what is made for tests, in what is delivered.
fn of_tests(ast: &Ast<'_>, id: Id) -> bool {
    let source = ast.source(id);
    let mut words = source.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '-' | '.' | ':')));
    let named = match ast.grammar {
        Grammar::Python => "unittest unittest.mock pytest mock nose hypothesis",
        Grammar::Script | Grammar::Tsx => {
            "vitest jest @jest/globals sinon chai mocha node:test @playwright/test @testing-library/react"
        }
        Grammar::Java | Grammar::Kotlin => {
            return [
                "org.junit.",
                "org.mockito.",
                "io.mockk",
                "org.assertj.",
                "org.hamcrest.",
                "org.testng.",
            ]
            .iter()
            .any(|w| source.contains(w));
        }
        _ => return false,
    };
    words.any(|w| listed(named, w))
}

/// `import _pytest.runner`
fn of_inside(ast: &Ast<'_>, id: Id) -> bool {
    let source = ast.source(id);
    let words: Vec<&str> = source
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '-')))
        .collect();
    match ast.grammar {
        Grammar::Python => words.contains(&"_pytest"),
        Grammar::Script | Grammar::Tsx => ["@vitest/runner", "@jest/core", "jest-circus", "@vitest/expect"]
            .iter()
            .any(|m| words.contains(m)),
        _ => false,
    }
}

/// `atexit.register(lambda: os._exit(0))`, `Timer(0.5, os._exit, [0])`: not where a child is made, which ends so.
fn ends_late(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let last = links.last().map_or("", |l| l.name);
    let path = ast.path(id);
    let later = matches!(
        path.as_str(),
        "atexit.register" | "at_exit" | "process.on" | "process.once"
    ) || listed("Timer Thread addShutdownHook setTimeout setImmediate AfterFunc", last);
    let args: Vec<Id> = links.last().and_then(|l| l.args.clone()).unwrap_or_default();
    let event = args.first().map_or("", |a| literal::inner(ast.source(*a)));
    if !later || path.starts_with("process.") && !listed("exit beforeExit", event) {
        return false;
    }
    let flat = ast.flat(id).replace(' ', "");
    let hard = [
        "os._exit(0)",
        "exit!(0)",
        "exit!0",
        "process.reallyExit(0)",
        "halt(0)",
        "os.Exit(0)",
    ];
    let success = path.starts_with("process.") && (flat.contains("process.exit(0)") || flat.contains("exitCode=0"));
    let given = flat.contains("os._exit,") && flat.contains("[0]") || flat.contains("os._exit,0");
    hard.iter().any(|h| flat.contains(h)) || success || given
}

/// `Rake::Task[:test].clear`
fn clears_task(ast: &Ast<'_>, id: Id) -> bool {
    let last = ast.chain(id).last().map_or("", |l| l.name);
    let task = ast.flat(id).replace(' ', "");
    let named = |n: Id| {
        let text = literal::inner(ast.source(n));
        ast.kind(n) == Kind::Text && listed("test spec default lint check ci cucumber rubocop features verify", text)
    };
    ast.grammar == Grammar::Ruby
        && listed("clear clear_actions clear_prerequisites", last)
        && task.contains("Task[")
        && ast.walk(id).any(named)
}

/// A `return` of its own in a `finally`.
fn returns(ast: &Ast<'_>, id: Id) -> bool {
    ast.walk(id).any(|n| {
        let within = |up: &Id| matches!(ast.kind(*up), Kind::Function | Kind::Lambda);
        ast.kind(n) == Kind::Return && !ast.above(n).take_while(|up| *up != id).any(|up| within(&up))
    })
}

/// `macro_rules! assert_eq { … }` beside the tests in a file of sources.
fn macros(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Rust {
        return;
    }
    let defined = |ast: &Ast<'_>| -> Vec<(String, Id)> {
        let nodes = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Other);
        let name = |n: Id| {
            let rest = ast.source(n).strip_prefix("macro_rules!")?.trim_start();
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            listed("assert assert_eq assert_ne matches panic", &name).then_some((name, n))
        };
        nodes.filter_map(name).collect()
    };
    let known = old.map(defined).unwrap_or_default();
    for (_, id) in defined(new)
        .into_iter()
        .filter(|(n, _)| !known.iter().any(|(k, _)| k == n))
    {
        hits.push(reject(
            "test-infra",
            new,
            id,
            "a macro takes the place of the framework's own",
        ));
    }
}
