//! Tests of the base that a construct beside them keeps from running: their name is taken away, the module or suite ends
//! before them, a decorator drops them, or they become something that the runner does not run.

use super::reject;
use crate::decide::guards::{
    Hit,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::File,
};

const SKIP: &str = "skip-added";
const LOST: &str = "test-uncollected";

struct Sign {
    rule: &'static str,
    /// What tells it from one that was there.
    key: String,
    id: Id,
    why: &'static str,
}

pub(super) fn check(file: &File<'_>, old: Option<&Ast<'_>>, new: &Ast<'_>, all: &[&Ast<'_>], hits: &mut Vec<Hit>) {
    let keys = |ast: &Ast<'_>| -> Vec<String> { signs(file, ast, all).into_iter().map(|s| s.key).collect() };
    let before = old.map(keys).unwrap_or_default();
    for sign in signs(file, new, all).into_iter().filter(|s| !before.contains(&s.key)) {
        // What a new file says about its own tests takes none from the base.
        let own = old.is_none() && !holds_for_others(file.name());
        if !own || sign.rule == LOST && sets_names(new, sign.id) {
            hits.push(reject(sign.rule, new, sign.id, sign.why));
        }
    }
    if let Some(old) = old {
        benchmarks(old, new, hits);
        autorun(old, new, hits);
        shared_examples(old, new, all, hits);
    }
}

/// Files whose statements speak of tests in others.
fn holds_for_others(name: &str) -> bool {
    matches!(name, "__init__.py" | "conftest.py") || name.contains("helper") || name.contains("setup")
}

fn signs(file: &File<'_>, ast: &Ast<'_>, all: &[&Ast<'_>]) -> Vec<Sign> {
    let mut out = Vec::new();
    let tests = ast.grammar != Grammar::Python || has_tests(ast) || holds_for_others(file.name());
    for id in ast.walk(Ast::ROOT) {
        let found = match ast.kind(id) {
            Kind::Call if module_ends(ast, id) && tests => Some((SKIP, "the module ends before its tests")),
            Kind::Call | Kind::Assign | Kind::Other | Kind::Name if takes_name(ast, id) => {
                Some((LOST, "the name of a test is taken away"))
            }
            Kind::Return if ends_suite(ast, id) => Some((SKIP, "the suite ends before its tests")),
            Kind::Function if is_generator(ast, id) => Some((LOST, "nothing runs the body of a generator")),
            Kind::Function if listed("runnable_methods run_one_method test_methods", ast.word(id)) => {
                (ast.grammar == Grammar::Ruby).then_some((LOST, "the class itself says which of its tests run"))
            }
            Kind::Lambda if gives_generator(ast, id) => Some((LOST, "nothing runs the body of a generator")),
            Kind::Call if drops_example(ast, id) => Some((SKIP, "a hook around the tests does not run them")),
            Kind::Mark if is_fixture(ast, id) => Some((LOST, "a test that is a fixture is not run")),
            Kind::Mark => dropped_by(ast, id, all).then_some((LOST, "the decorator does not call what it decorates")),
            _ => None,
        };
        if let Some((rule, why)) = found {
            let key = match ast.kind(id) {
                Kind::Function => format!("{why} {}", ast.word(id)),
                Kind::Lambda => why.to_owned(),
                Kind::Mark => {
                    let owner = ast.above(id).next().map_or("", |o| ast.word(o));
                    format!("{} {owner}", ast.flat(id))
                }
                _ => ast.flat(id),
            };
            out.push(Sign { rule, key, id, why });
        }
    }
    out
}

fn has_tests(ast: &Ast<'_>) -> bool {
    ast.walk(Ast::ROOT)
        .any(|n| ast.kind(n) == Kind::Function && ast.word(n).starts_with("test"))
}

fn in_function(ast: &Ast<'_>, id: Id) -> bool {
    ast.above(id)
        .any(|up| matches!(ast.kind(up), Kind::Function | Kind::Lambda))
}

/// `pytest.importorskip("nope")`, `pytest.exit("done")`, `pytest.skip(…, allow_module_level=True)`
fn module_ends(ast: &Ast<'_>, id: Id) -> bool {
    if ast.grammar != Grammar::Python {
        return false;
    }
    let path = ast.path(id);
    let ends = matches!(path.as_str(), "pytest.skip" | "pytest.importorskip" | "importorskip");
    let by_platform = || {
        ast.above(id)
            .filter(|up| ast.kind(*up) == Kind::If)
            .any(|up| ast.kids(up).first().is_some_and(|c| is_platform(&ast.flat(*c))))
    };
    path == "pytest.exit" || ends && !in_function(ast, id) && !by_platform()
}

fn is_platform(condition: &str) -> bool {
    ["platform", "version", "os . name", "win32", "darwin", "linux"]
        .iter()
        .any(|w| condition.contains(w))
}

fn is_test_name(name: &str) -> bool {
    let rest = name.strip_prefix("test_").or_else(|| name.strip_prefix("Test"));
    rest.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_alphanumeric()))
        && ![
            "test_client",
            "test_cli",
            "test_request",
            "test_app",
            "TestClient",
            "TestCase",
        ]
        .iter()
        .any(|w| name.starts_with(w))
}

/// Names that dynamic languages keep in a table, taken out of it.
fn takes_name(ast: &Ast<'_>, id: Id) -> bool {
    let named = |n: Id| match ast.kind(n) {
        Kind::Name | Kind::Member => is_test_name(ast.word(n)),
        Kind::Text => is_test_name(literal::inner(ast.source(n))),
        _ => false,
    };
    match (ast.grammar, ast.kind(id)) {
        (Grammar::Python, Kind::Other) => {
            ast.source(id).starts_with("del ") && !in_function(ast, id) && ast.walk(id).any(named)
        }
        (Grammar::Ruby, Kind::Other) => ast.source(id).starts_with("undef ") && ast.walk(id).any(named),
        (Grammar::Python, Kind::Call) => {
            let links = ast.chain(id);
            let last = links.last().map_or("", |l| l.name);
            let table = || {
                let flat = ast.flat(id);
                ["globals ( )", "locals ( )", "vars ( )", "__dict__"]
                    .iter()
                    .any(|w| flat.contains(w))
            };
            let attribute = listed("delattr setattr", last) && links.len() == 1;
            let texts = ast
                .kids(id)
                .iter()
                .skip(1)
                .any(|a| ast.kind(*a) == Kind::Text && named(*a));
            attribute && texts && !in_function(ast, id)
                || listed("pop popitem clear __delitem__ update", last) && table() && !in_function(ast, id)
        }
        (Grammar::Ruby, Kind::Call) => {
            let last = ast.chain(id).last().map_or("", |l| l.name);
            listed("undef_method remove_method", last) && ast.walk(id).skip(1).any(named)
        }
        // `other.PriceTest.test_total = lambda self: None`
        (Grammar::Python, Kind::Assign) => sets_names(ast, id),
        _ => false,
    }
}

fn sets_names(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Assign => {
            let [target, value, ..] = ast.kids(id) else {
                return false;
            };
            let none = ast.kind(*value) == Kind::Constant && ast.source(*value) == "None";
            let made = matches!(ast.kind(*value), Kind::Lambda | Kind::Name) || none;
            let own = ast.path(*target).starts_with("self.") || ast.path(*target).starts_with("cls.");
            ast.kind(*target) == Kind::Member && is_test_name(ast.word(*target)) && made && !own
        }
        Kind::Call => listed("delattr setattr", ast.chain(id).last().map_or("", |l| l.name)),
        _ => false,
    }
}

/// `if (process.env.CI) return;` in the function of a suite, before the tests in it.
fn ends_suite(ast: &Ast<'_>, id: Id) -> bool {
    if !ast.grammar.is_script() {
        return false;
    }
    let within = |up: &Id| matches!(ast.kind(*up), Kind::Lambda | Kind::Function);
    let Some(body) = ast.above(id).find(within) else {
        return false;
    };
    let Some(call) = ast.above(body).next().filter(|up| ast.kind(*up) == Kind::Call) else {
        return false;
    };
    let first = ast.chain(call).first().map_or("", |l| l.name);
    let platform = ast
        .above(id)
        .take_while(|up| *up != body)
        .filter(|up| ast.kind(*up) == Kind::If)
        .any(|up| ast.kids(up).first().is_some_and(|c| is_platform(&ast.flat(*c))));
    listed("describe context suite fdescribe", first) && !platform && ast.kids(id).is_empty()
}

/// A test function with a `yield` of its own, which no other framework's mark asks for.
fn is_generator(ast: &Ast<'_>, id: Id) -> bool {
    if ast.grammar != Grammar::Python || !is_test_name(ast.word(id)) {
        return false;
    }
    let foreign = ast.kids_of(id, Kind::Mark).any(|m| !ast.flat(m).contains("pytest"));
    let yields = |n: Id| {
        let nearest = ast
            .above(n)
            .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda));
        let source = ast.source(n);
        nearest == Some(id) && (source == "yield" || source.starts_with("yield ")) && ast.kind(n) == Kind::Other
    };
    !foreign && ast.walk(id).any(yields)
}

/// `it("adds", function* () { … })`
fn gives_generator(ast: &Ast<'_>, id: Id) -> bool {
    let call = ast.above(id).next().filter(|up| ast.kind(*up) == Kind::Call);
    let test = |c: Id| ast.chain(c).first().is_some_and(|l| listed("it test specify", l.name));
    ast.grammar.is_script() && ast.source(id).replace(' ', "").starts_with("function*") && call.is_some_and(test)
}

/// `around { |example| }`: what it is given is never run.
fn drops_example(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let hook = links
        .last()
        .is_some_and(|l| matches!(l.name, "around" | "around_each" | "aroundEach"));
    let body = links
        .last()
        .and_then(|l| l.args.as_ref())
        .and_then(|args| args.last().copied());
    let Some(body) = body.filter(|b| hook && ast.kind(*b) == Kind::Lambda) else {
        return false;
    };
    let params: Vec<&str> = ast
        .first_of(body, Kind::Params)
        .map(|p| {
            ast.walk(p)
                .filter(|n| ast.kind(*n) == Kind::Name)
                .map(|n| ast.word(n))
                .collect()
        })
        .unwrap_or_default();
    let inside: Vec<Id> = ast
        .kids(body)
        .iter()
        .filter(|k| ast.kind(**k) != Kind::Params)
        .copied()
        .collect();
    let used = inside
        .iter()
        .flat_map(|k| ast.walk(*k).collect::<Vec<_>>())
        .any(|n| ast.kind(n) == Kind::Name && params.contains(&ast.word(n)) || ast.source(n).starts_with("yield"));
    !params.is_empty() && !used
}

/// `@pytest.fixture` over a function that is named as a test
fn is_fixture(ast: &Ast<'_>, mark: Id) -> bool {
    let call = ast.kids(mark).first();
    let named = call.is_some_and(|c| ast.flat(*c).replace(' ', "").starts_with("pytest.fixture"));
    let test = ast
        .above(mark)
        .next()
        .is_some_and(|o| ast.kind(o) == Kind::Function && is_test_name(ast.word(o)));
    ast.grammar == Grammar::Python && named && test
}

/// The decorator of a test is a function of this tree that never calls what it is given.
fn dropped_by(ast: &Ast<'_>, mark: Id, all: &[&Ast<'_>]) -> bool {
    let Some(owner) = ast.above(mark).next() else {
        return false;
    };
    let test = match ast.kind(owner) {
        Kind::Function => is_test_name(ast.word(owner)),
        Kind::Class => ast.word(owner).starts_with("Test"),
        _ => false,
    };
    if ast.grammar != Grammar::Python || !test {
        return false;
    }
    let Some(call) = ast.kids(mark).first() else {
        return false;
    };
    let name = ast.chain(*call).last().map_or("", |l| l.name).to_owned();
    let found = all.iter().chain(std::iter::once(&ast)).find_map(|other| {
        let is_one = |n: &Id| other.kind(*n) == Kind::Function && other.word(*n) == name;
        let own = other.grammar == ast.grammar;
        other.walk(Ast::ROOT).filter(|_| own).find(is_one).map(|n| (*other, n))
    });
    found.is_some_and(|(other, function)| drops_what_it_gets(other, function))
}

/// No function in it calls or gives back what one of them takes first.
fn drops_what_it_gets(ast: &Ast<'_>, function: Id) -> bool {
    let functions: Vec<Id> = ast
        .walk(function)
        .filter(|n| matches!(ast.kind(*n), Kind::Function | Kind::Lambda))
        .collect();
    let given: Vec<&str> = functions
        .iter()
        .filter_map(|f| ast.first_of(*f, Kind::Params))
        .flat_map(|p| {
            ast.walk(p)
                .filter(|n| ast.kind(*n) == Kind::Name)
                .map(|n| ast.word(n))
                .collect::<Vec<_>>()
        })
        .collect();
    if given.is_empty() {
        return false;
    }
    let params: Vec<Id> = functions
        .iter()
        .filter_map(|f| ast.first_of(*f, Kind::Params))
        .collect();
    let outside = |n: Id| {
        !ast.above(n)
            .any(|up| params.contains(&up) || ast.kind(up) == Kind::Mark)
    };
    let uses = |n: Id| ast.kind(n) == Kind::Name && given.contains(&ast.word(n)) && outside(n);
    !ast.walk(function).any(uses)
}

/// A test in Go that is a benchmark now: `go test` does not run those.
fn benchmarks(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Go {
        return;
    }
    let named = |ast: &Ast<'_>, start: &str| -> Vec<(String, Id)> {
        let functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Function);
        functions
            .filter_map(|n| Some((ast.word(n).strip_prefix(start)?.to_owned(), n)))
            .collect()
    };
    let (kept, was) = (named(new, "Test"), named(old, "Benchmark"));
    let body = |ast: &Ast<'_>, id: Id| ast.body(id).map(|b| ast.flat(b)).unwrap_or_default();
    for (name, id) in named(old, "Test") {
        if kept.iter().any(|(n, _)| *n == name) {
            continue;
        }
        let found = named(new, "Benchmark")
            .into_iter()
            .find(|(n, b)| !was.iter().any(|(w, _)| w == n) && (*n == name || body(new, *b) == body(old, id)));
        if let Some((_, bench)) = found {
            let hit = reject(
                LOST,
                new,
                bench,
                "the test is a benchmark now, which is not run with the tests",
            );
            hits.push(hit.change(&old.shown(id), &new.shown(bench)));
        }
    }
}

/// The line that starts the tests of a file when it is run.
fn autorun(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Ruby {
        return;
    }
    let starts = |ast: &Ast<'_>| {
        [
            "minitest/autorun",
            "test/unit",
            "rspec/autorun",
            "_helper\"",
            "_helper'",
            "minitest/pride",
        ]
        .iter()
        .any(|w| ast.text.contains(w))
    };
    if starts(old) && !starts(new) && !new.text.contains("helper") {
        hits.push(reject(
            LOST,
            new,
            Ast::ROOT,
            "nothing starts the tests of this file any more",
        ));
    }
}

/// Examples that run only where a suite names them.
fn shared_examples(old: &Ast<'_>, new: &Ast<'_>, all: &[&Ast<'_>], hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Ruby {
        return;
    }
    let calls = |ast: &Ast<'_>, names: &'static str| -> Vec<Id> {
        let calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
        calls
            .filter(|n| ast.chain(*n).iter().any(|l| listed(names, l.name) && l.args.is_some()))
            .collect()
    };
    let shared = "shared_examples shared_examples_for shared_context";
    let suites = |ast: &Ast<'_>| calls(ast, "describe context feature").len();
    let known = calls(old, shared).len();
    let fresh = calls(new, shared);
    if fresh.len() <= known || suites(new) >= suites(old) {
        return;
    }
    let uses = "include_examples it_behaves_like include_context it_should_behave_like";
    let used = std::iter::once(&new)
        .chain(all)
        .any(|ast| ast.grammar == Grammar::Ruby && !calls(ast, uses).is_empty());
    if !used {
        hits.push(reject(
            LOST,
            new,
            fresh[0],
            "examples that are shared run only where a suite names them",
        ));
    }
}
