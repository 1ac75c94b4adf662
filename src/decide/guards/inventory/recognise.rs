//! What makes a call or a function a test: words, names and marks of the frameworks.

use super::words::plain;
use crate::decide::guards::{
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, Link},
};

/// What a word begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    Suite,
    Test,
}

pub(super) fn begins(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<(Begins, usize)> {
    if !ast.grammar.has_sentences() {
        return None;
    }
    let word = |n: usize| links.get(n).map_or("", |l| l.name);
    let owner = matches!(word(0), "Deno" | "QUnit" | "RSpec" | "t" | "tap" | "vitest");
    let at = usize::from(owner);
    let found = match word(at) {
        "describe"
        | "context"
        | "suite"
        | "fdescribe"
        | "xdescribe"
        | "feature"
        | "xcontext"
        | "fcontext"
        | "module"
        | "shared_examples"
        | "shared_examples_for"
        | "shared_context"
        | "ddescribe"
        | "xfeature" => Begins::Suite,
        "it" | "test" | "specify" | "fit" | "xit" | "xtest" | "ftest" | "example" | "scenario" | "xspecify"
        | "fspecify" | "xexample" | "fexample" | "xscenario" | "iit" | "its" => Begins::Test,
        "should" | "given" | "when" | "then" | "expect" | "Given" | "When" | "Then" | "xgiven" | "xwhen" | "xthen"
            if is_kotlin_spec(ast, links, at) =>
        {
            match word(at).trim_start_matches('x').to_lowercase().as_str() {
                "given" | "when" => Begins::Suite,
                _ => Begins::Test,
            }
        }
        _ => return None,
    };
    let nested = links
        .get(at + 1)
        .is_some_and(|l| matches!(l.name, "describe" | "suite"));
    if found == Begins::Test && nested {
        return Some((Begins::Suite, at + 1));
    }
    (found == Begins::Test || found == Begins::Suite).then_some((found, at))
}

/// A sentence with a title and a body.
fn is_kotlin_spec(ast: &Ast<'_>, links: &[Link<'_>], at: usize) -> bool {
    let args = links.get(at).and_then(|l| l.args.as_ref());
    let titled = args.is_some_and(|a| a.first().is_some_and(|t| ast.kind(*t) == Kind::Text));
    let body = links
        .iter()
        .flat_map(|l| l.args.iter().flatten())
        .any(|a| ast.kind(*a) == Kind::Lambda);
    ast.grammar == Grammar::Kotlin && at == 0 && titled && body
}

/// A function that a runner takes for a test. `tests` says that its file is one of tests.
pub(super) fn is_test(ast: &Ast<'_>, id: Id, tests: bool) -> bool {
    let name = ast.word(id);
    let marks: Vec<String> = ast
        .kids_of(id, Kind::Mark)
        .filter_map(|m| ast.kids(m).first().map(|c| ast.chain(*c)))
        .filter_map(|links| links.last().map(|l| plain(l.name)))
        .collect();
    let marked = |words: &[&str]| marks.iter().any(|m| words.contains(&m.as_str()));
    let class = ast.above(id).find(|up| ast.kind(*up) == Kind::Class);
    match ast.grammar {
        Grammar::Python => {
            let case = class.is_some_and(|c| is_test_class(ast, c, tests));
            let nested = ast.above(id).any(|up| ast.kind(up) == Kind::Function);
            name.starts_with("test") && !nested && (case || tests && class.is_none())
        }
        Grammar::Rust => marked(&["test", "rstest", "testcase", "wasmbindgentest", "quickcheck", "case"]),
        Grammar::Go => {
            let takes = ast
                .first_of(id, Kind::Params)
                .is_some_and(|p| ast.source(p).contains("testing."));
            let named = ["Test", "Fuzz", "Example", "Benchmark"].iter().any(|p| {
                name.strip_prefix(p)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
            });
            let method = ast.source(id).starts_with("func (");
            tests && named && name != "TestMain" && (takes || name.starts_with("Example") || method)
        }
        Grammar::Java | Grammar::Kotlin | Grammar::CSharp | Grammar::Php => {
            let by_name = name.starts_with("test")
                && class.is_some_and(|c| {
                    ast.first_of(c, Kind::Types)
                        .is_some_and(|t| ast.source(t).contains("TestCase"))
                });
            let words = "test parameterizedtest repeatedtest testfactory testtemplate theory property fact testmethod \
                         testcase datatestmethod testcasesource";
            marks.iter().any(|m| listed(words, m)) || by_name
        }
        Grammar::Ruby => tests && name.starts_with("test_") && class.is_some() && !is_private(ast, id),
        Grammar::Script | Grammar::Tsx => false,
    }
}

/// A bare `private` stands before it in its class.
fn is_private(ast: &Ast<'_>, id: Id) -> bool {
    let Some(around) = ast.above(id).next() else {
        return false;
    };
    let before = ast.kids(around).iter().take_while(|k| **k != id);
    let words = before.filter(|k| ast.kind(**k) == Kind::Name).map(|k| ast.word(*k));
    words
        .filter(|w| matches!(*w, "private" | "protected" | "public"))
        .last()
        .is_some_and(|w| w != "public")
}

/// Python collects these classes.
fn is_test_class(ast: &Ast<'_>, id: Id, tests: bool) -> bool {
    let supers = ast.first_of(id, Kind::Types).map_or("", |t| ast.source(t));
    let unit = supers.contains("TestCase") || tests && extends_suite(ast, id, 0);
    let init = ast
        .body(id)
        .is_some_and(|b| ast.kids_of(b, Kind::Function).any(|f| ast.word(f) == "__init__"));
    unit || tests && ast.word(id).starts_with("Test") && !init
}

/// A class of the file that is itself one of tests stands among those that it extends.
fn extends_suite(ast: &Ast<'_>, id: Id, depth: usize) -> bool {
    let Some(types) = ast.first_of(id, Kind::Types).filter(|_| depth < 4) else {
        return false;
    };
    let names: Vec<&str> = ast
        .walk(types)
        .filter(|n| ast.kind(*n) == Kind::Name)
        .map(|n| ast.word(n))
        .collect();
    let classes = ast
        .walk(Ast::ROOT)
        .filter(|c| ast.kind(*c) == Kind::Class && names.contains(&ast.word(*c)));
    classes.into_iter().any(|c| {
        let own = ast
            .first_of(c, Kind::Types)
            .is_some_and(|t| ast.source(t).contains("TestCase"));
        own || extends_suite(ast, c, depth + 1)
    })
}

/// The letter that old spellings put before a word.
pub(super) fn initial(word: &str) -> &str {
    let bare = word.strip_prefix(['x', 'f']);
    let known = [
        "describe", "it", "test", "context", "specify", "example", "scenario", "feature",
    ];
    if bare.is_some_and(|b| known.contains(&b)) {
        word
    } else {
        ""
    }
}
