//! The layer of tests: which files hold them, whether their runner finds them, and what became of each case.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Diff, Hit, Kind, Kinds,
    answer::{Answers, is_test, renames, stem},
    by_line,
    collect::Collect,
    inventory::{Answer, Foreign, Inventory, TestFile, compare, fewer_inputs, inventory, rewritten, skipping_hooks},
    marks,
    path::normal,
    syntax::{Ast, Grammar, Kind as Node, parse},
    view::{File, Trees},
};
use crate::model::evidence::GuardVerdict;

/// Findings, each with the index of its file.
pub(super) fn check(
    diff: &Diff,
    kinds: &Kinds,
    files: &[File<'_>],
    trees: &Trees<'_>,
    answers: &Answers,
) -> Vec<(usize, Hit)> {
    let collect = Collect::of(diff, files, kinds);
    let around = unchanged_helpers(diff, kinds);
    let source = files.iter().any(|f| f.is_source() && f.old != f.new);
    let (before, after) = (helpers(files, &trees.old, &around), helpers(files, &trees.new, &around));
    let none = Foreign::default();
    let mut hits = Vec::new();
    let mut tests = Vec::new();
    let mut places = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let is_test = matches!(file.kind, Kind::Test(_));
        let read = |ast: &Ast<'_>, side: &BTreeMap<Family, Foreign<'_, '_>>| {
            inventory(ast, is_test, side.get(&family(ast.grammar)).unwrap_or(&none))
        };
        let old = trees.old.get(&at).map(|ast| read(ast, &before));
        let new = trees.new.get(&at).map(|ast| read(ast, &after));
        let unread = if trees.lacks(at, file) {
            Some("the file is too large or too deep to be read, so its change cannot be judged")
        } else if is_test && !(by_line::reads(file) && by_line::keeps_all(file)) {
            unreadable(file, new.as_ref())
        } else {
            None
        };
        if is_test && by_line::reads(file) {
            let found = by_line::check(file, source).into_iter();
            hits.extend(found.chain(by_line::uncollected(files, at)).map(|hit| (at, hit)));
        }
        let hit = |why: &str| Hit::new("unreadable", GuardVerdict::NeedsHuman, why.to_owned());
        hits.extend(unread.map(|why| (at, hit(why))));
        // What could not be read is not gone.
        if trees.lacks(at, file) {
            continue;
        }
        let both = trees.old.get(&at).zip(trees.new.get(&at)).filter(|_| is_test);
        hits.extend(both.iter().flat_map(|(o, n)| fewer_inputs(o, n)).map(|hit| (at, hit)));
        let head = trees.new.get(&at).filter(|_| is_test);
        hits.extend(
            head.iter()
                .flat_map(|n| skipping_hooks(trees.old.get(&at), n))
                .map(|hit| (at, hit)),
        );
        let any = |i: &Option<Inventory>| i.as_ref().is_some_and(|i| !i.cases.is_empty());
        if !any(&old) && !any(&new) {
            let answer = answers.to_data(&file.normal);
            let found = both.map(|(o, n)| rewritten(o, n)).unwrap_or_default();
            hits.extend(
                found
                    .into_iter()
                    .filter_map(|f| shared_value(f, answer))
                    .map(|hit| (at, hit)),
            );
            continue;
        }
        let imports = new
            .as_ref()
            .or(old.as_ref())
            .map(|i| i.imports.clone())
            .unwrap_or_default();
        hits.extend(
            old.as_ref()
                .zip(new.as_ref())
                .and_then(|(o, n)| laxer_library(o, n))
                .map(|hit| (at, hit)),
        );
        tests.push(TestFile {
            answer: answers.to(&file.normal, &imports),
            collected: collect.finds(file),
            old,
            new,
        });
        places.push(at);
    }
    hits.extend(lost_modules(files, trees));
    hits.extend(lost_suites(files, trees));
    hits.extend(lost_examples(files, trees));
    let names = renames(files, trees);
    hits.extend(compare(&tests, &names).into_iter().map(|(n, hit)| (places[n], hit)));
    marks::show(files, &mut hits);
    hits
}

/// Node's library of assertions in its form that takes `1` for `"1"`.
fn laxer_library(old: &Inventory, new: &Inventory) -> Option<Hit> {
    let named = |i: &Inventory, names: [&str; 2]| i.imports.iter().any(|m| names.contains(&m.as_str()));
    let (strict, lax) = (["assert/strict", "node:assert/strict"], ["assert", "node:assert"]);
    let looser = named(old, strict) && !named(new, strict) && named(new, lax) && !named(old, lax);
    let why = "the assertions compare less strictly";
    looser.then(|| Hit::new("assertion-loosened", GuardVerdict::Reject, why.to_owned()).change(strict[1], lax[1]))
}

/// A value that tests of other files work with.
fn shared_value((line, was): (u32, String), answer: Answer) -> Option<Hit> {
    let (verdict, tail) = match answer {
        Answer::None => (GuardVerdict::Reject, "and nothing that they test changes"),
        Answer::Changed => (GuardVerdict::NeedsHuman, "together with what they test"),
        Answer::Declared => return None,
    };
    let why = format!("a value that tests share is another one, {tail}");
    Some(
        Hit::new("expectation-rewritten", verdict, why)
            .at(line)
            .change(&was, ""),
    )
}

/// Rust compiles a file of tests only where a module names it.
fn lost_modules(files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let declared = |ast: &Ast<'_>| -> Vec<String> {
        let is_one =
            |id: &usize| ast.kind(*id) == Node::Class && ast.first_of(*id, Node::Block).is_none() && is_test(ast, *id);
        let found = ast.walk(Ast::ROOT).filter(is_one);
        found
            .filter(|id| ast.source(*id).trim_end().ends_with(';'))
            .map(|id| ast.word(id).to_owned())
            .collect()
    };
    let removed = files.iter().filter(|f| f.change.new.is_none());
    let removed: BTreeSet<&str> = removed.map(|f| stem(&f.normal)).collect();
    let mut out = Vec::new();
    for (at, old) in trees.old.iter().filter(|(_, a)| a.grammar == Grammar::Rust) {
        let kept = trees.new.get(at).map(&declared).unwrap_or_default();
        for name in declared(old).into_iter().filter(|n| !kept.contains(n)) {
            let gone = removed.contains(name.as_str());
            if !gone && files[*at].change.new.is_some() {
                let why = "the tests of this module are not compiled any more";
                let hit = Hit::new("test-uncollected", GuardVerdict::Reject, why.to_owned());
                out.push((*at, hit.change(&format!("mod {name};"), "")));
            }
        }
    }
    out
}

/// Examples in Go are run where a comment says what they print; without one they are only compiled.
fn lost_outputs(old: &Ast<'_>, new: &Ast<'_>) -> Option<Hit> {
    let examples = |ast: &Ast<'_>| -> Vec<(String, bool)> {
        let functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Node::Function);
        let said = |n: usize| {
            let text = ast.source(n).to_lowercase();
            text.contains("// output:") || text.contains("// unordered output:")
        };
        functions
            .filter(|n| ast.word(*n).starts_with("Example"))
            .map(|n| (ast.word(n).to_owned(), said(n)))
            .collect()
    };
    if new.grammar != Grammar::Go {
        return None;
    }
    let is = examples(new);
    let lost = |(name, said): &(String, bool)| *said && is.iter().any(|(n, still)| n == name && !still);
    let (name, _) = examples(old).into_iter().find(lost)?;
    let why = "an example without the comment that says what it prints is not run";
    Some(Hit::new("test-uncollected", GuardVerdict::Reject, why.to_owned()).change("// Output:", &name))
}

/// Lines of the documentation that a doctest runs, and that stand nowhere any more.
fn lost_doctests(file: &File<'_>, files: &[File<'_>]) -> Option<Hit> {
    let lines = |text: &str| -> Vec<String> {
        let shown = text.lines().map(str::trim).filter(|l| l.starts_with(">>> "));
        shown.map(str::to_owned).collect()
    };
    let (was, is) = (lines(file.old?), lines(file.new?));
    let stands = |line: &String| files.iter().any(|f| f.new.is_some_and(|t| t.contains(line.as_str())));
    let lost = was.iter().find(|l| !stands(l)).filter(|_| is.len() < was.len())?;
    let why = "an example in the documentation is gone, which a doctest may have run";
    Some(Hit::new("test-deleted", GuardVerdict::NeedsHuman, why.to_owned()).change(lost, ""))
}

/// Examples in comments that were compiled or run and are not any more.
fn lost_examples(files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let fences = |ast: &Ast<'_>| -> (usize, usize) {
        let lines = ast.comments().iter().flat_map(|c| ast.source(*c).lines());
        let marks = lines.filter_map(|l| l.trim_start_matches(['/', '!', '*', ' ']).strip_prefix("```"));
        let opened: Vec<&str> = marks.step_by(2).map(str::trim).collect();
        let off = |m: &&&str| {
            m.split(',')
                .any(|w| matches!(w.trim(), "ignore" | "text" | "no_run" | "compile_fail"))
        };
        let count = opened.iter().filter(off).count();
        (opened.len() - count, count)
    };
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (Some(old), Some(new)) = (trees.old.get(&at), trees.new.get(&at)) else {
            continue;
        };
        if new.grammar == Grammar::Python {
            out.extend(lost_doctests(file, files).map(|hit| (at, hit)));
        }
        out.extend(lost_outputs(old, new).map(|hit| (at, hit)));
        let (was, is) = (fences(old), fences(new));
        let skips = |text: Option<&str>| text.unwrap_or_default().matches("# doctest: +SKIP").count();
        let rust = new.grammar == Grammar::Rust && is.0 < was.0 && is.1 > was.1;
        let python = new.grammar == Grammar::Python && skips(file.new) > skips(file.old);
        if rust || python {
            let why = "an example in the documentation is not run any more";
            let hit = Hit::new("skip-added", GuardVerdict::Reject, why.to_owned()).at(1);
            out.push((at, hit.by("", "```ignore ```text no_run compile_fail doctest SKIP")));
        }
    }
    out
}

/// Methods of a suite in Go run only where a test runs the suite.
fn lost_suites(files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let runs = |ast: &Ast<'_>| -> BTreeSet<String> {
        let calls = ast
            .walk(Ast::ROOT)
            .filter(|n| ast.kind(*n) == Node::Call && ast.path(*n) == "suite.Run");
        let named = calls.flat_map(|c| ast.walk(c).collect::<Vec<_>>());
        named
            .filter(|n| ast.kind(*n) == Node::Name && ast.word(*n).starts_with(char::is_uppercase))
            .map(|n| ast.word(n).to_owned())
            .collect()
    };
    let go = |(at, ast): &(&usize, &Ast<'_>)| ast.grammar == Grammar::Go && matches!(files[**at].kind, Kind::Test(_));
    let kept: BTreeSet<String> = trees.new.iter().filter(go).flat_map(|(_, ast)| runs(ast)).collect();
    let mut out = Vec::new();
    for (at, old) in trees.old.iter().filter(go) {
        for name in runs(old).into_iter().filter(|n| !kept.contains(n)) {
            let methods = trees.new.values().any(|ast| {
                let methods = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Node::Function);
                methods.map(|m| ast.source(m)).any(|s| {
                    s.starts_with("func (")
                        && s.split(')').next().is_some_and(|r| r.ends_with(&name))
                        && s.contains(") Test")
                })
            });
            if methods {
                let why = "nothing runs the methods of this suite any more";
                let hit = Hit::new("test-uncollected", GuardVerdict::Reject, why.to_owned());
                out.push((*at, hit.change(&name, "")));
            }
        }
    }
    out
}

/// Files beside the tests with what tests are made of, by their names.
fn is_helper(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let words = [
        "test", "spec", "fixture", "factor", "mock", "fake", "stub", "helper", "support", "builder", "testing", "util",
        "common", "shared",
    ];
    words.iter().any(|w| name.contains(w))
}

/// Helper files that the diff leaves as they are.
fn unchanged_helpers<'d>(diff: &'d Diff, kinds: &Kinds) -> Vec<Ast<'d>> {
    let changed: BTreeSet<&Vec<u8>> = diff.changes.iter().map(|c| &c.path).collect();
    let mut out = Vec::new();
    for (path, bytes) in diff.around.files.iter().filter(|(p, _)| !changed.contains(p)) {
        let plain = normal(path);
        let beside = matches!(kinds.of(&plain), Kind::Test(_)) && is_helper(&plain);
        if let (true, Some(grammar), Ok(text)) = (beside, Grammar::of(&plain), std::str::from_utf8(bytes)) {
            out.extend(parse(text, grammar));
        }
    }
    out
}

/// Grammars whose files use each other's helpers: one, or those of scripts.
type Family = Option<Grammar>;

fn family(grammar: Grammar) -> Family {
    (!grammar.is_script()).then_some(grammar)
}

/// What tests may use of other files, on one side. Worked out once: a file asks for what stands elsewhere.
fn helpers<'x, 'd>(
    files: &[File<'_>],
    trees: &'x BTreeMap<usize, Ast<'d>>,
    around: &'x [Ast<'d>],
) -> BTreeMap<Family, Foreign<'x, 'd>> {
    let changed = trees.iter().filter(|(at, _)| {
        let file = &files[**at];
        matches!(file.kind, Kind::Test(_)) || is_helper(&file.normal)
    });
    let mut families: BTreeMap<Family, Vec<&'x Ast<'d>>> = BTreeMap::new();
    for ast in around.iter().chain(changed.map(|(_, ast)| ast)) {
        families.entry(family(ast.grammar)).or_default().push(ast);
    }
    let foreign = families.into_iter().map(|(family, asts)| (family, Foreign::of(asts)));
    foreign.collect()
}

/// Tests that no grammar reads, or that do not parse: nobody can say what became of them.
fn unreadable(file: &File<'_>, new: Option<&Inventory>) -> Option<&'static str> {
    let broken = |i: Option<&Inventory>| i.is_some_and(|i| i.broken);
    if by_line::reads(file) && file.change.old.is_some() {
        Some("no grammar reads this test, so its change cannot be judged")
    } else if broken(new) {
        Some("the test cannot be read as code, so its change cannot be judged")
    } else {
        None
    }
}
