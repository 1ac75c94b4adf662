//! New files that are taken for others by their name or place: for a tool, for a module of the product, for what a test
//! looks at; and files of tests that no build takes in.

use std::collections::BTreeSet;

use super::{
    Diff, Hit, Kind,
    answer::dir,
    kind::extension,
    listed::listed,
    path::normal,
    syntax::{Ast, Grammar, Kind as Node, parse},
    view::{File, Texts, Trees},
};
use crate::model::evidence::GuardVerdict;

/// Modules of Python's tools: a file of this name in the folder that a run starts from is imported in their place.
const TOOLS: &str = "\
    pytest _pytest pluggy mypy ruff flake8 pylint unittest doctest nose2 coverage hypothesis tox nox xdist pytest_cov \
    pytest_xdist pytest_asyncio pytest_mock pytest_timeout pytest_randomly pytest_django pytest_subtests pytest_benchmark \
    pytest_rerunfailures pytest_socket anyio trio";

/// The same for Ruby, below the folders that its runners put on the path.
const RUBY: &str =
    "minitest.rb minitest/autorun.rb rspec.rb rspec/core.rb rspec/autorun.rb test/unit.rb minitest/test.rb";

pub(super) fn check(diff: &Diff, files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let base: BTreeSet<String> = diff.around.paths.iter().map(|p| normal(p)).collect();
    let texts = Texts::of(diff, files);
    let stays = |path: &str| base.contains(path) && !files.iter().any(|f| f.normal == path && f.change.new.is_none());
    let world = World {
        stays: &stays,
        base: &base,
        texts: &texts,
    };
    let mut out = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if file.change.old.is_some() || file.new.is_none() || base.contains(&file.normal) {
            continue;
        }
        let new = trees.new.get(&at);
        let hits = [
            tool(file),
            world.double(file, new),
            world.nested(file, new),
            world.mock(file),
            world.uncompiled(files, trees, file, new),
        ];
        out.extend(hits.into_iter().flatten().map(|hit| (at, hit)));
    }
    out
}

fn hit(rule: &'static str, verdict: GuardVerdict, why: String) -> Hit {
    Hit::new(rule, verdict, why)
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// `pytest.py` beside the tests: `python -m pytest` runs it.
fn tool(file: &File<'_>) -> Option<Hit> {
    let path = &file.normal;
    let python =
        extension(path) == "py" && listed(TOOLS, stem_of(path)) && matches!(dir(path), "" | "src" | "test" | "tests");
    let ruby = ["lib/", "test/", "spec/"]
        .iter()
        .any(|d| path.strip_prefix(d).is_some_and(|rest| listed(RUBY, rest)));
    let why = format!("a file of this name is taken for {} itself", stem_of(path));
    (python || ruby).then(|| hit("test-infra", GuardVerdict::Reject, why))
}

struct World<'x> {
    /// In the base, and still there.
    stays: &'x dyn Fn(&str) -> bool,
    base: &'x BTreeSet<String>,
    texts: &'x Texts<'x>,
}

impl World<'_> {
    /// `price.js` beside `price.ts`, `price/__init__.py` or `price.pyi` beside `price.py`.
    fn double(&self, file: &File<'_>, new: Option<&Ast<'_>>) -> Option<Hit> {
        let path = &file.normal;
        let scripts = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
        let bare = path.strip_suffix(&format!(".{}", extension(path)))?;
        let other = if scripts.contains(&extension(path)) && extension(bare) != "d" && file.is_source() {
            let found = scripts.iter().map(|e| format!("{bare}.{e}"));
            found.into_iter().find(|p| p != path && (self.stays)(p))?
        } else if let Some(package) = path.strip_suffix("/__init__.py") {
            Some(format!("{package}.py")).filter(|p| (self.stays)(p))?
        } else if extension(path) == "pyi" {
            let source = Some(format!("{bare}.py")).filter(|p| (self.stays)(p))?;
            let why = format!("a stub takes the place of {source} for whoever checks types");
            return Some(hit("gate-changed", GuardVerdict::NeedsHuman, why));
        } else {
            return None;
        };
        self.taken_for(&other, new)
    }

    /// A folder of tests with a module of the product's name: `tests/shop/price.py` for `shop/price.py`.
    fn nested(&self, file: &File<'_>, new: Option<&Ast<'_>>) -> Option<Hit> {
        let path = &file.normal;
        let name = file.name();
        let named = name.starts_with("test") || matches!(name, "__init__.py" | "conftest.py");
        if file.grammar != Some(Grammar::Python) || !matches!(file.kind, Kind::Test(_)) || named {
            return None;
        }
        let mut rest = path.as_str();
        while let Some((_, below)) = rest.split_once('/') {
            rest = below;
            let other = [rest.to_owned(), format!("src/{rest}")]
                .into_iter()
                .find(|p| (self.stays)(p));
            if let Some(other) = other.filter(|_| rest.contains('/')) {
                return self.taken_for(&other, new);
            }
        }
        None
    }

    fn taken_for(&self, other: &str, new: Option<&Ast<'_>>) -> Option<Hit> {
        let why = format!("this file is taken for {other} by its name");
        let Some(text) = self.texts.was(other) else {
            return Some(hit("mock-of-unit", GuardVerdict::NeedsHuman, why));
        };
        let old = parse(text, Grammar::of(other)?)?;
        let both = definitions(&old);
        let shared = definitions(new?).into_iter().any(|d| both.contains(&d));
        shared.then(|| hit("mock-of-unit", GuardVerdict::Reject, why))
    }

    /// A double in `__mocks__` for a module of the product; those for packages stand beside `node_modules`.
    fn mock(&self, file: &File<'_>) -> Option<Hit> {
        let folder = dir(&file.normal);
        let parent = folder
            .strip_suffix("__mocks__")
            .filter(|p| p.is_empty() || p.ends_with('/'))?;
        let stem = stem_of(&file.normal);
        let unit = ["ts", "tsx", "js", "jsx", "mjs", "mts"]
            .iter()
            .map(|e| format!("{parent}{stem}.{e}"))
            .find(|p| (self.stays)(p))?;
        let why = format!("tests that ask for it get this double in the place of {unit}");
        Some(hit("mock-of-unit", GuardVerdict::NeedsHuman, why))
    }

    /// Tests of the base that stand in a file now which no module of Rust names.
    fn uncompiled(&self, files: &[File<'_>], trees: &Trees<'_>, file: &File<'_>, new: Option<&Ast<'_>>) -> Option<Hit> {
        let new = new.filter(|a| a.grammar == Grammar::Rust)?;
        let own = tests(new);
        let moved = trees.old.iter().any(|(at, old)| {
            let kept = trees.new.get(at).map(tests).unwrap_or_default();
            files[*at].normal != file.normal && tests(old).iter().any(|t| own.contains(t) && !kept.contains(t))
        });
        if !moved {
            return None;
        }
        let parents = parents(&file.normal)?;
        let name = module(&file.normal);
        let names = |text: &str| {
            let declared = [format!("mod {name};"), format!("mod {name} {{"), format!("{name}.rs\"")];
            declared.iter().any(|d| text.contains(d.as_str()))
        };
        let there = |p: &&String| (self.stays)(p) || files.iter().any(|f| f.normal == **p && f.new.is_some());
        let around: Vec<&String> = parents.iter().filter(there).collect();
        let unread = around.iter().any(|p| self.texts.is(p).is_none());
        let by_path = |f: &File<'_>| f.new.is_some_and(|t| t.contains(&format!("{name}.rs\"")));
        let declared = around.iter().filter_map(|p| self.texts.is(p)).any(names) || files.iter().any(by_path);
        let elsewhere = || {
            let manifests = self.base.iter().filter(|p| p.ends_with("cargo.toml"));
            let texts = manifests.filter_map(|p| self.texts.is(p));
            texts.into_iter().any(|t| t.contains(&format!("{name}.rs\"")))
        };
        let why = "no module names this file, so its tests are not compiled any more".to_owned();
        (!declared && !unread && !elsewhere()).then(|| hit("test-uncollected", GuardVerdict::Reject, why))
    }
}

/// Functions and classes that a file defines.
fn definitions(ast: &Ast<'_>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for id in ast.walk(Ast::ROOT) {
        match ast.kind(id) {
            Node::Function | Node::Class if !ast.word(id).is_empty() => {
                out.insert(ast.word(id).to_owned());
            }
            Node::Assign => {
                let value = ast.kids(id).get(1).filter(|v| ast.kind(**v) == Node::Lambda);
                if let (Some(_), Some(target)) = (value, ast.kids(id).first()) {
                    out.insert(ast.path(*target));
                }
            }
            _ => {}
        }
    }
    out
}

fn tests(ast: &Ast<'_>) -> BTreeSet<String> {
    let functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Node::Function);
    functions
        .filter(|n| super::answer::is_test(ast, *n))
        .map(|n| ast.word(n).to_owned())
        .collect()
}

/// The name by which a module would name this file.
fn module(path: &str) -> &str {
    match path.strip_suffix("/mod.rs") {
        Some(folder) => folder.rsplit('/').next().unwrap_or_default(),
        None => stem_of(path),
    }
}

/// Files that may name a file of Rust as their module; none of one that cargo finds by itself.
pub(super) fn parents(path: &str) -> Option<Vec<String>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let own = path.strip_suffix("/mod.rs").map_or(path, |folder| folder);
    let folder = dir(own);
    let last = folder.rsplit('/').next().unwrap_or_default();
    let found = matches!(name, "main.rs" | "lib.rs" | "build.rs")
        || matches!(last, "tests" | "benches" | "examples" | "bin") && own == path;
    if found || extension(path) != "rs" {
        return None;
    }
    let mut out: Vec<String> = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .map(|n| format!("{folder}/{n}"))
        .collect();
    out.push(format!("{folder}.rs"));
    Some(out)
}
