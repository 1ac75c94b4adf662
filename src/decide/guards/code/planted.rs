//! Rule `test-infra`: the product or another test is put aside for the whole process by what tests bring along, and hooks
//! of a runner that stand in a file of their own.

use std::collections::BTreeSet;

use super::reject;
use crate::decide::guards::{
    Diff, Hit,
    listed::listed,
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::{File, Trees},
};

/// Hooks by which a plug-in chooses tests or changes what they come to.
const HOOKS: &str = "\
    pytest_collection_modifyitems pytest_ignore_collect pytest_runtest_makereport pytest_runtest_protocol \
    pytest_runtest_call pytest_sessionfinish pytest_pyfunc_call pytest_collect_file pytest_runtest_logreport \
    pytest_pycollect_makeitem pytest_itemcollected pytest_cmdline_main pytest_runtestloop pytest_unconfigure \
    pytest_runtest_setup pytest_collection pytest_collection_finish";

/// The files of the base as a module's name may mean them: `shop.price` for `shop/price.py`.
pub(super) struct Modules(BTreeSet<String>);

impl Modules {
    pub(super) fn of(diff: &Diff) -> Self {
        let named = diff.around.paths.iter().filter_map(|p| {
            let path = normal(p);
            let bare = path.strip_suffix(".py")?;
            Some(bare.trim_end_matches("/__init__").replace('/', "."))
        });
        Self(named.collect())
    }

    /// A module of this tree, from its root or from a folder of sources.
    fn has(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.0.contains(&name)
            || ["src.", "lib.", "app."]
                .iter()
                .any(|s| self.0.contains(&format!("{s}{name}")))
    }
}

pub(super) fn check(modules: &Modules, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    if new.grammar != Grammar::Python {
        return;
    }
    let before: Vec<String> = old
        .map(|ast| signs(modules, ast).into_iter().map(|(id, _)| ast.flat(id)).collect())
        .unwrap_or_default();
    for (id, why) in signs(modules, new) {
        if !before.contains(&new.flat(id)) {
            hits.push(reject("test-infra", new, id, why));
        }
    }
}

fn signs(modules: &Modules, ast: &Ast<'_>) -> Vec<(Id, &'static str)> {
    let imported = imported(modules, ast);
    let mut out = Vec::new();
    for id in ast.walk(Ast::ROOT) {
        if !for_all(ast, id) {
            continue;
        }
        let found = match ast.kind(id) {
            Kind::Assign if replaces_module(modules, ast, id) => {
                Some("a module of the product is another one for all tests")
            }
            Kind::Assign if replaces_part(&imported, ast, id) => {
                Some("a part of another module is another one for all tests")
            }
            Kind::Call if sets_part(&imported, ast, id) => {
                Some("a part of another module is another one for all tests")
            }
            _ => None,
        };
        out.extend(found.map(|why| (id, why)));
    }
    out
}

/// It holds for more than the test that it stands in: no function is around it, or one that all tests get.
fn for_all(ast: &Ast<'_>, id: Id) -> bool {
    let function = ast
        .above(id)
        .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda));
    let Some(function) = function else { return true };
    let name = ast.word(function);
    let hook = listed(
        "setUpModule tearDownModule setup_module teardown_module setUpClass tearDownClass",
        name,
    ) || name.starts_with("pytest_");
    let shared = ast.kids_of(function, Kind::Mark).any(|m| {
        // The mark of a test may hold a table of thousands of rows, and this is asked for each node below it.
        let head: String = ast.source(m).chars().take(80).collect();
        if !head.contains("fixture") {
            return false;
        }
        let flat = ast.flat(m).replace(' ', "");
        flat.contains("fixture") && (flat.contains("autouse=True") || flat.contains("session"))
    });
    hook || shared
}

/// Names that stand for modules of this tree, or for what they hold.
fn imported<'a>(modules: &Modules, ast: &Ast<'a>) -> Vec<&'a str> {
    let mut out = Vec::new();
    for import in ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Import) {
        let source = ast.source(import);
        let (module, names) = match source.strip_prefix("from ").and_then(|s| s.split_once(" import ")) {
            Some((module, names)) => (Some(module.trim()), names),
            None => (None, source.trim_start_matches("import ")),
        };
        for part in names.split(',') {
            let part = part.trim_matches(['(', ')', ' ', '\n']);
            let (name, alias) = part.split_once(" as ").unwrap_or((part, part));
            // What is taken out of a module is a module itself, or its class.
            let own = match module {
                Some(module) => modules.has(&format!("{module}.{name}")) || modules.has(module),
                None => modules.has(name),
            };
            if own {
                out.push(alias.split('.').next().unwrap_or_default().trim());
            }
        }
    }
    out
}

/// `sys.modules["shop.price"] = fake`
fn replaces_module(modules: &Modules, ast: &Ast<'_>, id: Id) -> bool {
    let Some(target) = ast.kids(id).first().copied() else {
        return false;
    };
    let flat = ast.flat(target).replace(' ', "");
    let table = ast.kind(target) == Kind::Index && flat.starts_with("sys.modules[");
    let text = ast.walk(target).find(|n| ast.kind(*n) == Kind::Text);
    table && text.is_some_and(|t| modules.has(literal::inner(ast.source(t))))
}

/// `shop.price.total = lambda order: 3`: something that is called gives way to something else.
fn replaces_part(imported: &[&str], ast: &Ast<'_>, id: Id) -> bool {
    let [target, value, ..] = ast.kids(id) else {
        return false;
    };
    let root = ast.chain(*target).first().map_or("", |l| l.name);
    ast.kind(*target) == Kind::Member && imported.contains(&root) && is_callable(ast, *value)
}

/// `setattr(module, "name", fake)`, `patch.object(module, "name", fake).start()`
fn sets_part(imported: &[&str], ast: &Ast<'_>, id: Id) -> bool {
    let args = ast.kids(id).get(1..).unwrap_or_default();
    let [object, _, value, ..] = args else { return false };
    let root = ast.chain(*object).first().map_or("", |l| l.name);
    let sets = matches!(ast.path(id).as_str(), "setattr" | "patch.object" | "mock.patch.object");
    sets && imported.contains(&root) && is_callable(ast, *value)
}

/// A function, a class or a double of one, and no plain value of a setting.
fn is_callable(ast: &Ast<'_>, value: Id) -> bool {
    match ast.kind(value) {
        Kind::Lambda => true,
        Kind::Name => {
            let name = ast.word(value);
            ast.walk(Ast::ROOT)
                .any(|n| matches!(ast.kind(n), Kind::Function | Kind::Class) && ast.word(n) == name)
        }
        Kind::Call => {
            let last = ast.chain(value).last().map_or("", |l| l.name);
            listed("Mock MagicMock AsyncMock create_autospec", last)
        }
        _ => false,
    }
}

/// A plug-in of this tree that the diff names to the runner, and its hooks, whatever the file is called.
pub(super) fn plugins(files: &[File<'_>], trees: &Trees<'_>) -> Vec<(usize, Hit)> {
    let names = |text: Option<&str>| {
        let lines = text.unwrap_or_default().lines();
        let named = lines.filter(|l| l.contains("pytest_plugins") || l.contains("pytest11") || l.contains("-p "));
        named.count()
    };
    if !files.iter().any(|f| names(f.new) > names(f.old)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (at, new) in &trees.new {
        let hooks = |ast: &Ast<'_>| -> Vec<(String, Id)> {
            let functions = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Function);
            functions
                .filter(|n| ast.grammar == Grammar::Python && listed(HOOKS, ast.word(*n)))
                .map(|n| (ast.flat(n), n))
                .collect()
        };
        let was = trees.old.get(at).map(hooks).unwrap_or_default();
        for (_, id) in hooks(new).into_iter().filter(|(f, _)| !was.iter().any(|(w, _)| w == f)) {
            let why = "a plug-in that the diff names decides which tests run or what their results are";
            out.push((*at, reject("test-infra", new, id, why)));
        }
    }
    out
}
