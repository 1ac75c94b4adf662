//! Rule `mock-of-unit`: what a test is about is replaced by something that answers as the test wants.

use std::collections::{BTreeMap, BTreeSet};

use super::reject;
use crate::decide::guards::{
    Diff, Hit,
    inventory::{Foreign, inventory, subjects},
    listed::listed,
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, literal},
    view::File,
};

/// Names of the world around a program, whatever tests compare with them.
const OUTSIDE: &str = "\
    datetime date time sleep now today utcnow random randint choice uuid uuid4 requests httpx socket environ getenv open \
    input print urlopen urandom monotonic perf_counter Date Math fetch setTimeout console stdout stderr stdin";

pub(super) fn check(file: &File<'_>, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let before: Vec<String> = old
        .map(|ast| marked(ast).into_iter().map(|id| ast.flat(id)).collect())
        .unwrap_or_default();
    for id in marked(new).into_iter().filter(|id| !before.contains(&new.flat(*id))) {
        hits.push(reject("mock-of-unit", new, id, "what the tests are about is replaced"));
    }
    let known: BTreeSet<String> = old
        .map(|ast| mocks(ast).into_iter().map(|id| ast.flat(id)).collect())
        .unwrap_or_default();
    let fresh: Vec<Id> = mocks(new)
        .into_iter()
        .filter(|id| !known.contains(&new.flat(*id)))
        .collect();
    // What the tests of the base look at; of a new file nothing is known but its name.
    let units = old
        .map(|ast| subjects(&inventory(ast, true, &Foreign::default())))
        .unwrap_or_default();
    if let Some(old) = old {
        for id in shadows(old, new, &units) {
            hits.push(reject("mock-of-unit", new, id, "what the tests are about is replaced"));
        }
    }
    if fresh.is_empty() {
        return;
    }
    let modules = modules(new);
    for id in fresh {
        if is_unit(file, new, id, &units, &modules) {
            hits.push(reject("mock-of-unit", new, id, "what the tests are about is replaced"));
        }
    }
}

/// A function of a test under the name of what the base's tests call from elsewhere.
fn shadows(old: &Ast<'_>, new: &Ast<'_>, units: &BTreeSet<String>) -> Vec<Id> {
    let defined = |ast: &Ast<'_>| -> Vec<(Id, String)> {
        let functions = ast.walk(Ast::ROOT).filter_map(|id| match ast.kind(id) {
            Kind::Function => Some((id, ast.word(id))),
            Kind::Assign => {
                let [target, value] = ast.kids(id) else { return None };
                let named = matches!(ast.kind(*target), Kind::Name | Kind::Bind) && ast.kind(*value) == Kind::Lambda;
                named.then(|| (id, ast.source(*target)))
            }
            _ => None,
        });
        functions.map(|(id, name)| (id, name.to_owned())).collect()
    };
    let before: BTreeSet<String> = defined(old).into_iter().map(|(_, name)| name).collect();
    let called = |ast: &Ast<'_>, name: &str| {
        let mut calls = ast.walk(Ast::ROOT).filter(|id| ast.kind(*id) == Kind::Call);
        calls.any(|id| matches!(ast.chain(id).as_slice(), [link] if link.name == name))
    };
    let fresh = defined(new).into_iter().filter(|(_, name)| !before.contains(name));
    fresh
        .filter(|(_, name)| units.contains(name) || new.grammar == Grammar::Go && name.starts_with(char::is_uppercase))
        .filter(|(_, name)| called(old, name) && called(new, name))
        .map(|(id, _)| id)
        .collect()
}

/// A set-up that replaces, for all tests, a module of the product that has tests of its own.
pub(super) fn in_set_up(diff: &Diff, old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let replaced = |ast: &Ast<'_>| -> Vec<(Id, String)> {
        let calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
        let module = |id: Id| {
            let known = matches!(
                ast.path(id).as_str(),
                "vi.mock" | "jest.mock" | "vi.doMock" | "jest.doMock"
            );
            let path = ast
                .kids(id)
                .get(1)
                .copied()
                .filter(|a| known && ast.kind(*a) == Kind::Text)?;
            let path = literal::inner(ast.source(path));
            let own = path.starts_with('.') || path.starts_with("@/") || path.starts_with("~/");
            let stem = path.rsplit('/').next()?.split('.').next()?.to_lowercase();
            own.then_some((id, stem))
        };
        calls.filter_map(module).collect()
    };
    let known: Vec<String> = old
        .map(&replaced)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, s)| s)
        .collect();
    let tested = |stem: &str| {
        diff.around.paths.iter().map(|p| normal(p)).any(|p| {
            let name = p.rsplit('/').next().unwrap_or_default();
            name.starts_with(&format!("{stem}.test.")) || name.starts_with(&format!("{stem}.spec."))
        })
    };
    for (id, stem) in replaced(new) {
        if !known.contains(&stem) && tested(&stem) {
            let why = "the set-up replaces a module that the tests are about";
            hits.push(reject("test-infra", new, id, why));
        }
    }
}

/// `@Mock private Core core;` in the suite of that class.
fn marked(ast: &Ast<'_>) -> Vec<Id> {
    let doubles = |id: Id| {
        let flat = ast.flat(id);
        let word = flat
            .trim_start_matches(['@', ' '])
            .split([' ', '('])
            .next()
            .unwrap_or_default();
        matches!(word, "Mock" | "MockBean" | "MockitoBean" | "MockK" | "RelaxedMockK")
    };
    let marks = ast
        .walk(Ast::ROOT)
        .filter(|n| ast.kind(*n) == Kind::Mark && doubles(*n));
    // The type stands behind the modifiers, of which the mark is one.
    let typed = |mark: Id| {
        let modifiers = ast.above(mark).next()?;
        let around = ast.kids(ast.above(modifiers).next()?);
        let at = around.iter().position(|k| *k == modifiers)?;
        around.get(at + 1).copied()
    };
    marks
        .filter_map(typed)
        .filter(|t| made_in_set_up(ast, *t, ast.source(*t)))
        .collect()
}

/// Calls that replace something.
fn mocks(ast: &Ast<'_>) -> Vec<Id> {
    let words = [
        "mock",
        "doMock",
        "unstable_mockModule",
        "patch",
        "object",
        "setattr",
        "spyOn",
        "stub",
        "replace",
        "receive",
        "stub_const",
        "mockStatic",
        "spy",
        "allow_any_instance_of",
        "expect_any_instance_of",
        "mockImplementation",
        "mockReturnValue",
        "mockResolvedValue",
        "and_return",
        "stubs",
        "when",
        "doReturn",
        "given",
        "mockk",
        "mockkStatic",
        "mockkObject",
        "module",
        "dict",
        "create_autospec",
        "MagicMock",
        "class_double",
        "instance_double",
        "createStub",
        "createMock",
        "createPartialMock",
        "createConfiguredMock",
        "getMockBuilder",
        "prophesize",
    ];
    let is_mock = |id: &Id| {
        ast.kind(*id) == Kind::Call
            && ast
                .chain(*id)
                .iter()
                .any(|l| l.args.is_some() && words.contains(&l.name))
    };
    ast.walk(Ast::ROOT).filter(is_mock).collect()
}

/// Where imported names come from.
fn modules<'a>(ast: &Ast<'a>) -> BTreeMap<String, BTreeSet<&'a str>> {
    let mut out: BTreeMap<String, BTreeSet<&'a str>> = BTreeMap::new();
    for id in ast.walk(Ast::ROOT) {
        let (source, names) = match ast.kind(id) {
            Kind::Import => {
                let Some(path) = ast.walk(id).find(|n| ast.kind(*n) == Kind::Text) else {
                    continue;
                };
                (path, id)
            }
            Kind::Assign if ast.kids(id).len() > 1 => {
                let value = ast.kids(id)[1];
                let path = ast.path(value);
                let Some(text) = ast
                    .kids(value)
                    .get(1)
                    .copied()
                    .filter(|t| path == "require" && ast.kind(*t) == Kind::Text)
                else {
                    continue;
                };
                (text, ast.kids(id)[0])
            }
            _ => continue,
        };
        let found = ast
            .walk(names)
            .filter(|n| ast.kind(*n) == Kind::Name)
            .map(|n| ast.word(n));
        out.entry(literal::inner(ast.source(source)).to_owned())
            .or_default()
            .extend(found);
    }
    out
}

fn is_unit(
    file: &File<'_>,
    ast: &Ast<'_>,
    id: Id,
    units: &BTreeSet<String>,
    modules: &BTreeMap<String, BTreeSet<&str>>,
) -> bool {
    let links = ast.chain(id);
    links.iter().any(|link| {
        let args = link.args.clone().unwrap_or_default();
        let Some(first) = args.first().copied() else {
            return false;
        };
        let text = |id: Id| (ast.kind(id) == Kind::Text).then(|| literal::inner(ast.source(id)));
        match (link.name, text(first)) {
            // A module by its path.
            ("mock" | "doMock" | "unstable_mockModule" | "module" | "replace", Some(path)) => {
                is_unit_module(file, ast, path, args.get(1).copied(), units, modules)
            }
            // `patch("package.module.name")`, `setattr("package.module.name", …)`
            ("patch" | "setattr" | "stub_const", Some(path)) => {
                let mut parts = path.rsplit(['.', ':']);
                let last = parts.next().unwrap_or_default();
                // What the test itself has imported is what it is about.
                let own = parts
                    .next()
                    .is_some_and(|module| file.name().split('.').next() == Some(module));
                own || units.contains(last) && !listed(OUTSIDE, last)
            }
            // `receive(:name)`
            ("receive" | "stub" | "stubs", Some(name)) => {
                // Minitest's `object.stub(:name, value) { … }`
                let object = links.first().map_or("", |l| l.name);
                let own = (link.name == "stubs" || link.name == "stub" && args.len() > 1)
                    && object.starts_with(|c: char| c == '@' || c.is_lowercase());
                let unit = units.contains(name);
                unit && own && object != "allow" || (unit || is_called(ast, name)) && on_unit(ast, id, units)
            }
            // `spyOn(object, "name")`, `patch.object(object, "name")`, `setattr(object, "name", …)`
            ("spyOn" | "object" | "setattr" | "stub" | "replace", None) => {
                let name = args.get(1).and_then(|n| text(*n)).unwrap_or_default();
                let only_watches =
                    link.name == "spyOn" && links.last().is_some_and(|l| l.name == "spyOn") && !is_told_later(ast, id);
                units.contains(name) && !only_watches && !listed(OUTSIDE, name)
            }
            // `mock(Unit.class)`, `spy(Unit)`, `allow_any_instance_of(Unit)`
            (
                "mock"
                | "spy"
                | "mockStatic"
                | "allow_any_instance_of"
                | "create_autospec"
                | "mockk"
                | "mockkObject"
                | "createStub"
                | "createMock"
                | "createPartialMock"
                | "createConfiguredMock"
                | "getMockBuilder"
                | "prophesize",
                None,
            ) => {
                let name = ast
                    .chain(first)
                    .iter()
                    .rev()
                    .map(|l| l.name)
                    .find(|n| !matches!(*n, "class" | "java" | "new" | ""));
                let unit = |n: &str| units.contains(n) && n.starts_with(char::is_uppercase);
                name.is_some_and(|n| unit(n) || n == "described_class" || made_in_set_up(ast, id, n))
            }
            _ => false,
        }
    })
}

/// `const spy = vi.spyOn(unit, "name"); spy.mockReturnValue(3);`
fn is_told_later(ast: &Ast<'_>, id: Id) -> bool {
    let assign = ast.above(id).next().filter(|up| ast.kind(*up) == Kind::Assign);
    let name = assign
        .and_then(|a| ast.kids(a).first())
        .map_or("", |target| ast.source(*target));
    let answers = |word: &str| {
        let told = ["mockReturn", "mockImplementation", "mockResolved", "mockRejected"];
        told.iter().any(|w| word.starts_with(w)) || listed("returns callsFake resolves and_return andReturn", word)
    };
    !name.is_empty()
        && ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call).any(|call| {
            let links = ast.chain(call);
            links.first().is_some_and(|l| l.name == name) && links.iter().any(|l| l.args.is_some() && answers(l.name))
        })
}

/// A spy around a new object of the class that the file is named after.
fn made_in_set_up(ast: &Ast<'_>, id: Id, name: &str) -> bool {
    let suite = ast
        .above(id)
        .find(|up| ast.kind(*up) == Kind::Class)
        .map(|c| ast.word(c));
    suite.is_some_and(|s| {
        s.strip_suffix("Test")
            .or(s.strip_suffix("Tests"))
            .or(s.strip_suffix("Spec"))
            == Some(name)
    })
}

/// Ruby's `allow(unit).to receive(:name)`: the object is the unit itself and no helper of it.
fn on_unit(ast: &Ast<'_>, id: Id, units: &BTreeSet<String>) -> bool {
    let statement = ast
        .above(id)
        .take_while(|up| !matches!(ast.kind(*up), Kind::Lambda | Kind::Function | Kind::Block))
        .filter(|up| ast.kind(*up) == Kind::Call)
        .last()
        .unwrap_or(id);
    let links = ast.chain(statement);
    let object = links.first().and_then(|l| l.arg(0));
    object.is_some_and(|o| {
        let name = ast.chain(o).last().map(|l| l.name).unwrap_or_default();
        let named = name.starts_with(char::is_uppercase) && (units.contains(name) || describes(ast, name));
        named || matches!(name, "subject" | "described_class") || is_described(ast, name)
    })
}

/// A check calls a method of this name.
fn is_called(ast: &Ast<'_>, name: &str) -> bool {
    let mut calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
    calls.any(|call| ast.chain(call).iter().any(|l| l.args.is_some() && l.name == name))
}

/// `RSpec.describe Fine do`
fn describes(ast: &Ast<'_>, class: &str) -> bool {
    let mut calls = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
    calls.any(|call| {
        let links = ast.chain(call);
        let last = links.last().filter(|l| l.name == "describe");
        let first = last.and_then(|l| l.arg(0));
        first.is_some_and(|arg| ast.chain(arg).last().is_some_and(|l| l.name == class))
    })
}

/// `let(:unit) { described_class.new }`
fn is_described(ast: &Ast<'_>, name: &str) -> bool {
    let lets = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call);
    lets.filter(|n| {
        ast.kids(*n)
            .first()
            .is_some_and(|c| matches!(ast.word(*c), "let" | "let!" | "subject"))
    })
    .any(|n| {
        let title = ast.kids(n).get(1).filter(|t| ast.kind(**t) == Kind::Text);
        let same = title.is_some_and(|t| literal::inner(ast.source(*t)) == name);
        let body = ast.kids(n).last().filter(|b| ast.kind(**b) == Kind::Lambda);
        same && body.is_some_and(|b| {
            ast.walk(*b)
                .any(|w| ast.kind(w) == Kind::Name && ast.word(w) == "described_class")
        })
    })
}

fn is_unit_module(
    file: &File<'_>,
    ast: &Ast<'_>,
    path: &str,
    factory: Option<Id>,
    units: &BTreeSet<String>,
    modules: &BTreeMap<String, BTreeSet<&str>>,
) -> bool {
    let stem = path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .split('.')
        .next()
        .unwrap_or_default();
    let own_name = path.starts_with('.') && file.name().split('.').next().is_some_and(|n| n == stem.to_lowercase());
    let Some(names) = modules.get(path) else {
        return own_name;
    };
    let looked_at: Vec<&&str> = names.iter().filter(|n| units.contains(**n)).collect();
    if looked_at.is_empty() {
        return own_name && units.is_empty();
    }
    // A factory that keeps what is looked at replaces something else.
    let replaced = factory.map(|f| {
        let pairs = ast
            .walk(f)
            .filter(|n| matches!(ast.kind(*n), Kind::Pair | Kind::Function));
        pairs
            .map(|p| literal::inner(ast.word(p)).to_owned())
            .collect::<BTreeSet<_>>()
    });
    let keeps = factory.is_some_and(|f| ast.walk(f).any(|n| ast.kind(n) == Kind::Spread));
    match replaced {
        Some(keys) if keeps => looked_at.iter().any(|n| keys.contains(**n)),
        _ => true,
    }
}
