//! Tests that run and check nothing: what they compare with, fail with or ask is no longer the framework's, or the check
//! stands where it is not reached.

use super::reject;
use crate::decide::guards::{
    Hit,
    answer::paths_of,
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal, parse},
    view::{File, Texts},
};

/// Names of the runner and of its assertions that a file may import.
const RUNNER: &str = "\
    expect it test describe assert should assertEqual assertEquals assert_eq assert_ne assert_equal assertTrue \
    assertThat specify suite context before after beforeEach afterEach";

struct Sign {
    rule: &'static str,
    id: Id,
    why: &'static str,
}

pub(super) fn check(file: &File<'_>, old: Option<&Ast<'_>>, new: &Ast<'_>, texts: &Texts<'_>, hits: &mut Vec<Hit>) {
    let before: Vec<String> = old
        .map(|ast| signs(ast).into_iter().map(|s| ast.flat(s.id)).collect())
        .unwrap_or_default();
    for sign in signs(new).into_iter().filter(|s| !before.contains(&new.flat(s.id))) {
        // In a new file these may be tests about tests; there only what holds for all tests counts.
        if old.is_some() || sign.rule == "test-infra" {
            hits.push(reject(sign.rule, new, sign.id, sign.why));
        }
    }
    if let Some(old) = old {
        imports(file, old, new, texts, hits);
        wider_errors(old, new, hits);
        looks_elsewhere(file, old, new, texts, hits);
    }
}

fn signs(ast: &Ast<'_>) -> Vec<Sign> {
    let mut out = Vec::new();
    for id in ast.walk(Ast::ROOT) {
        let found = match ast.kind(id) {
            Kind::Call if all_are_equal(ast, id) => Some(("test-infra", "everything counts as equal")),
            Kind::Call if is_not_joined(ast, id) => {
                Some(("swallowed-failure", "nobody waits for what is checked here"))
            }
            Kind::Binary if is_guarded(ast, id) => {
                Some(("assertion-removed", "the check runs only where a condition holds"))
            }
            Kind::Throw if throws_itself(ast, id) => {
                Some(("assertion-removed", "the test itself raises what it wants to see"))
            }
            Kind::Loop if never_runs(ast, id) => Some(("assertion-removed", "the loop around the check never runs")),
            Kind::Assign if makes_a_t(ast, id) => {
                Some(("swallowed-failure", "failures are told to something that nobody reads"))
            }
            Kind::Function if fails_in_silence(ast, id) => {
                Some(("test-infra", "a function that should fail the test does nothing"))
            }
            _ => None,
        };
        out.extend(found.map(|(rule, why)| Sign { rule, id, why }));
    }
    out
}

/// `expect.addEqualityTesters([() => true])`
fn all_are_equal(ast: &Ast<'_>, id: Id) -> bool {
    let last = ast.chain(id).last().map_or("", |l| l.name);
    let lambda = |n: Id| matches!(ast.kind(n), Kind::Lambda | Kind::Function) && gives_only(ast, n, "true");
    listed("addEqualityTesters addEqualityTester addCustomEqualityTester", last) && ast.walk(id).any(lambda)
}

/// A function whose one result is this constant.
fn gives_only(ast: &Ast<'_>, function: Id, constant: &str) -> bool {
    let Some(body) = ast.body(function).filter(|b| ast.kind(*b) != Kind::Params) else {
        return false;
    };
    let [only] = ast.statements(body)[..] else { return false };
    let value = match ast.kind(only) {
        Kind::Return => ast.kids(only).first().copied(),
        _ => Some(only),
    };
    value.is_some_and(|v| ast.source(v) == constant)
}

fn is_assertion(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Assert => true,
        Kind::Call => {
            let links = ast.chain(id);
            let (first, last) = (
                links.first().map_or("", |l| l.name),
                links.last().map_or("", |l| l.name),
            );
            first == "expect" && links.len() > 1 || first.starts_with("assert") || last.starts_with("assert")
        }
        _ => false,
    }
}

/// `total === 3 && expect(total).toBe(3)`
fn is_guarded(ast: &Ast<'_>, id: Id) -> bool {
    let [_, right] = ast.kids(id) else { return false };
    let statement = ast.above(id).next().is_some_and(|up| ast.kind(up) == Kind::Block);
    let right = if ast.kind(*right) == Kind::Await {
        ast.kids(*right).first().copied().unwrap_or(*right)
    } else {
        *right
    };
    matches!(ast.word(id), "&&" | "||" | "??" | "and" | "or") && statement && is_assertion(ast, right)
}

/// Functions that want an error of the code that they are given.
const WANT_ERROR: &str = "\
    raises assertRaises assertRaisesRegex assert_raises assertThrows assertThrowsExactly assertFailsWith shouldThrow toThrow \
    toThrowError toThrowErrorMatchingSnapshot throws rejects raise_error assertThatThrownBy ThrowsException Throws \
    ThrowsAsync expectException assert_raise";

/// A `raise` behind the call that should have raised.
fn throws_itself(ast: &Ast<'_>, id: Id) -> bool {
    let Some(block) = ast.above(id).next().filter(|b| ast.kind(*b) == Kind::Block) else {
        return false;
    };
    let behind = ast.kids(block).iter().position(|k| *k == id).is_some_and(|at| at > 0);
    let wants = |call: Id| ast.chain(call).iter().any(|l| listed(WANT_ERROR, l.name));
    let Some(around) = ast.above(block).next().filter(|_| behind) else {
        return false;
    };
    match ast.kind(around) {
        Kind::With => ast
            .kids(around)
            .iter()
            .take_while(|k| **k != block)
            .any(|context| ast.walk(*context).any(|n| ast.kind(n) == Kind::Call && wants(n))),
        Kind::Lambda => ast
            .above(around)
            .take_while(|up| matches!(ast.kind(*up), Kind::Call | Kind::Member | Kind::Await))
            .any(|up| ast.kind(up) == Kind::Call && wants(up)),
        _ => false,
    }
}

/// `while False:`
fn never_runs(ast: &Ast<'_>, id: Id) -> bool {
    let flat = ast.flat(id);
    let never = [
        "while False",
        "while false",
        "while ( false",
        "while 0",
        "while ( 0",
        "for false {",
        "until true",
    ];
    never.iter().any(|w| flat.starts_with(w)) && ast.walk(id).any(|n| is_assertion(ast, n) || ast.kind(n) == Kind::Call)
}

/// `t := &testing.T{}` in the place of the test's own.
fn makes_a_t(ast: &Ast<'_>, id: Id) -> bool {
    if ast.grammar != Grammar::Go {
        return false;
    }
    let flat = ast.flat(id).replace(' ', "");
    let Some((name, value)) = flat.split_once('=') else {
        return false;
    };
    let name = name.trim_end_matches(':');
    let made = [
        "&testing.T{}",
        "new(testing.T)",
        "testing.T{}",
        "&testing.B{}",
        "new(testing.B)",
    ];
    let function = ast
        .above(id)
        .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda));
    let fails = |n: Id| {
        let links = ast.chain(n);
        ast.kind(n) == Kind::Call
            && links.first().is_some_and(|l| l.name == name)
            && links
                .last()
                .is_some_and(|l| listed("Error Errorf Fatal Fatalf Fail FailNow Run", l.name))
    };
    made.contains(&value) && function.is_some_and(|f| ast.walk(f).any(fails))
}

/// `func (quiet) Errorf(string, ...any) {}`
fn fails_in_silence(ast: &Ast<'_>, id: Id) -> bool {
    let empty = ast
        .body(id)
        .is_some_and(|b| ast.kind(b) == Kind::Block && ast.kids(b).is_empty());
    ast.grammar == Grammar::Go
        && ast.source(id).starts_with("func (")
        && listed("Error Errorf Fatal Fatalf Fail FailNow", ast.word(id))
        && empty
}

/// A thread with checks that nobody joins.
fn is_not_joined(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let (first, last) = (
        links.first().map_or("", |l| l.name),
        links.last().map_or("", |l| l.name),
    );
    let spawns = match ast.grammar {
        Grammar::Rust => last == "spawn" && (first == "std" || first == "thread" || first == "tokio"),
        Grammar::Python => last == "Thread" || last == "start_new_thread",
        Grammar::Ruby => first == "Thread" && matches!(last, "new" | "start" | "fork"),
        Grammar::Java | Grammar::Kotlin | Grammar::CSharp => matches!(last, "startVirtualThread" | "execute"),
        Grammar::Script | Grammar::Tsx => matches!(last, "setImmediate" | "queueMicrotask"),
        Grammar::Go | Grammar::Php => false,
    };
    if !spawns || !ast.walk(id).any(|n| is_assertion(ast, n)) {
        return false;
    }
    let function = ast
        .above(id)
        .find(|up| ast.kind(*up) == Kind::Function)
        .unwrap_or(Ast::ROOT);
    let waits = "join await block_on value recv awaitTermination get wait is_finished";
    !ast.walk(function).any(|n| match ast.kind(n) {
        Kind::Call | Kind::Member => listed(waits, ast.chain(n).last().map_or("", |l| l.name)),
        Kind::Await => true,
        _ => false,
    })
}

/// Names of the runner that the file takes from its own tree now.
fn imports(file: &File<'_>, old: &Ast<'_>, new: &Ast<'_>, texts: &Texts<'_>, hits: &mut Vec<Hit>) {
    let own = |ast: &Ast<'_>| -> Vec<(String, String, Id)> {
        let imports = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Import);
        imports.flat_map(|i| own_names(ast, i)).collect()
    };
    let known: Vec<(String, String)> = own(old).into_iter().map(|(n, m, _)| (n, m)).collect();
    for (name, module, id) in own(new) {
        if known.iter().any(|(n, _)| *n == name) {
            continue;
        }
        let stub = match new.grammar {
            Grammar::Rust => new.text.contains(&name),
            _ => is_stub(file, &module, &name, texts),
        };
        if stub {
            let why = "a part of the framework comes from this tree now, and does nothing of what it did";
            hits.push(reject("test-infra", new, id, why));
            return;
        }
    }
}

/// The names of the runner in an import by its place, each with the module.
fn own_names(ast: &Ast<'_>, import: Id) -> Vec<(String, String, Id)> {
    let flat = ast.source(import);
    let (module, names) = match ast.grammar {
        Grammar::Script | Grammar::Tsx => {
            let module = flat.rsplit("from").next().unwrap_or_default();
            let module = literal::inner(module.trim().trim_end_matches(';').trim());
            let names = flat.split("from").next().unwrap_or_default();
            (module.to_owned(), names)
        }
        Grammar::Rust => {
            let bare = flat
                .trim_start_matches("pub ")
                .trim_start_matches("use ")
                .trim_end_matches(';');
            let here = ["crate::", "super::", "self::"].iter().any(|w| bare.starts_with(w));
            (if here { "./crate".to_owned() } else { String::new() }, bare)
        }
        _ => return Vec::new(),
    };
    if !module.starts_with('.') {
        return Vec::new();
    }
    let words = names.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words
        .filter(|w| {
            listed(RUNNER, w) && !(ast.grammar == Grammar::Rust && matches!(*w, "test" | "it" | "suite" | "context"))
        })
        .map(|w| (w.to_owned(), module.clone(), import))
        .collect()
}

/// The test takes what it tests from a new file, while the file that it tested still makes it.
fn looks_elsewhere(file: &File<'_>, old: &Ast<'_>, new: &Ast<'_>, texts: &Texts<'_>, hits: &mut Vec<Hit>) {
    if !new.grammar.is_script() {
        return;
    }
    let taken = |ast: &Ast<'_>| -> Vec<(String, String, Id)> {
        let imports = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Import);
        imports.flat_map(|i| taken_from(ast, i)).collect()
    };
    let was = taken(old);
    for (name, module, id) in taken(new) {
        let Some((_, before, _)) = was.iter().find(|(n, _, _)| *n == name) else {
            continue;
        };
        let (Some(from), Some(to)) = (
            resolved(file, before, texts, true),
            resolved(file, &module, texts, false),
        ) else {
            continue;
        };
        let made = texts.was(&to).is_none();
        let still = texts
            .is(&from)
            .and_then(|t| parse(t, Grammar::Script))
            .is_some_and(|ast| makes(&ast, &name));
        if from != to && made && still {
            let why = format!("the test looks at a new file, while {from} still makes {name}");
            hits.push(reject("mock-of-unit", new, id, &why));
            return;
        }
    }
}

/// Names in braces of an import by its place, each with the module.
fn taken_from(ast: &Ast<'_>, import: Id) -> Vec<(String, String, Id)> {
    let source = ast.source(import);
    let module = source.rsplit("from").next().unwrap_or_default();
    let module = literal::inner(module.trim().trim_end_matches(';').trim()).to_owned();
    let names = source
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map_or("", |(names, _)| names);
    if !module.starts_with('.') {
        return Vec::new();
    }
    let one = |part: &str| part.split(" as ").next().unwrap_or_default().trim().to_owned();
    names
        .split(',')
        .map(one)
        .filter(|n| !n.is_empty())
        .map(|n| (n, module.clone(), import))
        .collect()
}

/// The file that an import by its place means.
fn resolved(file: &File<'_>, module: &str, texts: &Texts<'_>, old: bool) -> Option<String> {
    let endings = [
        "",
        ".ts",
        ".tsx",
        ".js",
        ".mjs",
        ".jsx",
        ".mts",
        ".cjs",
        "/index.ts",
        "/index.js",
    ];
    let paths = paths_of(module, &file.normal)?;
    let all = paths
        .iter()
        .flat_map(|p| endings.iter().map(move |e| format!("{p}{e}")));
    all.into_iter().find(|path| {
        let text = if old { texts.was(path) } else { texts.is(path) };
        text.is_some()
    })
}

fn makes(ast: &Ast<'_>, name: &str) -> bool {
    ast.walk(Ast::ROOT).any(|n| match ast.kind(n) {
        Kind::Function | Kind::Class => ast.word(n) == name,
        Kind::Assign => {
            let [target, value, ..] = ast.kids(n) else { return false };
            ast.path(*target) == name && is_made_here(ast, *value)
        }
        _ => false,
    })
}

/// The module makes the name itself, as a function.
fn is_stub(file: &File<'_>, module: &str, name: &str, texts: &Texts<'_>) -> bool {
    let text = resolved(file, module, texts, false).and_then(|path| texts.is(&path));
    let Some(ast) = text.and_then(|t| parse(t, Grammar::Script)) else {
        return false;
    };
    ast.walk(Ast::ROOT).any(|n| match ast.kind(n) {
        Kind::Function => ast.word(n) == name && !calls_by_name(&ast, n, name),
        Kind::Assign => {
            let [target, value, ..] = ast.kids(n) else { return false };
            ast.path(*target) == name && is_made_here(&ast, *value) && !calls_by_name(&ast, *value, name)
        }
        _ => false,
    })
}

/// A function, or one dressed up as something with properties.
pub(super) fn is_made_here(ast: &Ast<'_>, value: Id) -> bool {
    match ast.kind(value) {
        Kind::Lambda | Kind::Function => true,
        Kind::Call => {
            let path = ast.path(value);
            let first = ast.kids(value).get(1).copied();
            matches!(path.as_str(), "Object.assign" | "Proxy")
                && first.is_some_and(|f| matches!(ast.kind(f), Kind::Lambda | Kind::Function))
        }
        _ => false,
    }
}

/// It hands on to the framework: `(name, fn) => base.it(name, fn)`, `(x) => chai.expect(x)`.
fn calls_by_name(ast: &Ast<'_>, id: Id, name: &str) -> bool {
    let own = [name, "test", "it", "expect", "describe"];
    ast.walk(id).any(|n| {
        ast.kind(n) == Kind::Call
            && ast.chain(n).iter().any(|l| {
                own.iter()
                    .any(|o| l.name.eq_ignore_ascii_case(o) || l.name.to_lowercase().ends_with(o))
            })
    })
}

/// More kinds of errors are right than before.
fn wider_errors(old: &Ast<'_>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let wanted = |ast: &Ast<'_>| -> Vec<(Vec<String>, Id)> {
        let calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
        let listed = calls.filter(|n| {
            ast.chain(*n).last().is_some_and(|l| {
                matches!(
                    l.name,
                    "raises" | "assertRaises" | "assertRaisesRegex" | "assert_raises"
                )
            })
        });
        listed
            .map(|n| (classes(ast, n), n))
            .filter(|(names, _)| !names.is_empty())
            .collect()
    };
    let (was, is) = (wanted(old), wanted(new));
    for (names, id) in &is {
        if was.iter().any(|(w, _)| w == names) {
            continue;
        }
        let gone = was.iter().find(|(w, _)| {
            !is.iter().any(|(i, _)| i == w) && w.len() < names.len() && w.iter().all(|n| names.contains(n))
        });
        if let Some((_, before)) = gone {
            let hit = reject(
                "assertion-loosened",
                new,
                *id,
                "more kinds of errors are right than before",
            );
            hits.push(hit.change(&old.shown(*before), &new.shown(*id)));
        }
    }
}

/// The classes of errors that a check takes.
fn classes(ast: &Ast<'_>, call: Id) -> Vec<String> {
    let args = ast.kids(call).get(1..).unwrap_or_default();
    let named = |n: &Id| {
        let last = ast.chain(*n).last().map_or("", |l| l.name);
        matches!(ast.kind(*n), Kind::Name | Kind::Member) && last.starts_with(char::is_uppercase)
    };
    let list = args.first().filter(|list| ast.kind(**list) == Kind::List);
    let among = list.map_or(args, |list| ast.kids(*list));
    among.iter().take_while(|n| named(n)).map(|n| ast.flat(*n)).collect()
}
