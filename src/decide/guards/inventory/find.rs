//! Finds the cases of a file: functions by their names and marks, calls by their words, within suites.

use super::{
    Case, Inventory, Role,
    bag::{Bag, Scope},
    checks::{Helpers, Scan, statements},
    rows,
    switch::{Runs, Switch},
    words::plain,
};
use crate::decide::guards::{
    answer::is_test as is_test_module,
    syntax::{Ast, Grammar, Id, Kind, Link, literal},
};

/// Suites within suites.
const DEEPEST: usize = 40;

/// All cases of a text. `tests` says that the file holds tests by its name; else only marked ones count.
pub(in crate::decide::guards) fn inventory(ast: &Ast<'_>, tests: bool) -> Inventory {
    let roots = roots(ast, tests);
    let mut helpers = Helpers::new();
    for id in roots.iter().flat_map(|r| ast.walk(*r)) {
        if ast.kind(id) == Kind::Function && !ast.word(id).is_empty() {
            helpers.insert(ast.word(id), id);
        }
    }
    let mut outer = Scope::default();
    for root in &roots {
        collect(ast, *root, &mut outer, 0);
    }
    let mut find = Find {
        ast,
        tests,
        outer,
        helpers: &helpers,
        out: Inventory {
            broken: ast.broken,
            ..Inventory::default()
        },
    };
    let place = Place::default();
    let top = find.with_file_marks(&place);
    find.visit_all(Ast::ROOT, &top, 0);
    imports(ast, &mut find.out);
    find.hidden();
    if tests {
        find.helpers_with_checks();
    }
    find.out
}

struct Find<'x, 'a> {
    ast: &'x Ast<'a>,
    tests: bool,
    outer: Scope<'a>,
    helpers: &'x Helpers<'a>,
    out: Inventory,
}

/// Where in the file: suites, what holds for all in them, tables around.
#[derive(Debug, Clone, Default)]
struct Place {
    names: Vec<String>,
    switch: Switch,
    tables: Vec<Vec<Bag>>,
}

/// What a word begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Suite,
    Test,
}

fn begins(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<(Begins, usize)> {
    if !ast.grammar.is_script() && ast.grammar != Grammar::Ruby {
        return None;
    }
    let word = |n: usize| links.get(n).map_or("", |l| l.name);
    let owner = matches!(word(0), "Deno" | "QUnit" | "RSpec" | "t" | "tap" | "vitest");
    let at = usize::from(owner);
    let found = match word(at) {
        "describe" | "context" | "suite" | "fdescribe" | "xdescribe" | "feature" | "xcontext" | "fcontext"
        | "module" | "shared_examples" | "shared_examples_for" | "shared_context" | "ddescribe" | "xfeature" => {
            Begins::Suite
        }
        "it" | "test" | "specify" | "fit" | "xit" | "xtest" | "ftest" | "example" | "scenario" | "xspecify" | "fspecify"
        | "xexample" | "fexample" | "xscenario" | "iit" | "its" => Begins::Test,
        _ => return None,
    };
    let nested = links.get(at + 1).is_some_and(|l| matches!(l.name, "describe" | "suite"));
    if found == Begins::Test && nested {
        return Some((Begins::Suite, at + 1));
    }
    (found == Begins::Test || found == Begins::Suite).then_some((found, at))
}

impl<'a> Find<'_, 'a> {
    /// What holds for the whole file: build conditions, module marks.
    fn with_file_marks(&self, place: &Place) -> Place {
        let ast = self.ast;
        let mut switch = place.switch.clone();
        for id in ast.comments() {
            let text = ast.source(*id);
            let condition = text.strip_prefix("//go:build ").or(text.strip_prefix("// +build "));
            if let Some(condition) = condition {
                switch.conditional(condition);
            }
        }
        for id in ast.kids(Ast::ROOT) {
            match ast.kind(*id) {
                Kind::Mark => switch.mark(ast, *id),
                Kind::Assign if ast.kids(*id).first().is_some_and(|t| ast.source(*t) == "pytestmark") => {
                    for node in ast.walk(*id).skip(1) {
                        if matches!(ast.kind(node), Kind::Call | Kind::Member) {
                            let links = ast.chain(node);
                            switch.links(ast, &links);
                        }
                    }
                }
                Kind::Assign if ast.kids(*id).first().is_some_and(|t| ast.source(*t) == "__test__") => {
                    switch.word("skip", None);
                }
                Kind::Throw if ast.source(*id).contains("SkipTest") => switch.word("skip", None),
                Kind::Call => {
                    let path = ast.path(*id);
                    if matches!(path.as_str(), "pytest.skip" | "pytest.importorskip") {
                        switch.word("skip", None);
                    } else if matches!(path.as_str(), "jest.retryTimes" | "vi.setConfig") {
                        switch.retries = ast
                            .walk(*id)
                            .find_map(|n| (ast.kind(n) == Kind::Number).then(|| literal::value(ast.source(n))).flatten())
                            .unwrap_or(1.0);
                    }
                }
                _ => {}
            }
        }
        Place {
            switch,
            ..place.clone()
        }
    }

    fn visit_all(&mut self, id: Id, place: &Place, depth: usize) {
        for kid in self.ast.kids(id).to_vec() {
            self.visit(kid, place, depth);
        }
    }

    fn visit(&mut self, id: Id, place: &Place, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let ast = self.ast;
        match ast.kind(id) {
            Kind::Call => self.visit_call(id, place, depth),
            Kind::Name if matches!(ast.word(id), "it" | "test") => {}
            Kind::Function => self.visit_function(id, place),
            Kind::Class => self.visit_class(id, place, depth),
            Kind::Lambda => {
                if let Some(body) = ast.body(id) {
                    self.visit_all(body, place, depth + 1);
                }
            }
            Kind::If => self.visit_branch(id, place, depth),
            Kind::Loop => {
                let [_, source, body] = ast.kids(id) else { return };
                let (source, body) = (*source, *body);
                let inner = self.with_table(place, source);
                self.visit(body, &inner, depth + 1);
            }
            Kind::Import | Kind::Text | Kind::Comment => {}
            _ => self.visit_all(id, place, depth + 1),
        }
    }

    /// Tests that are there only where a condition holds.
    fn visit_branch(&mut self, id: Id, place: &Place, depth: usize) {
        let ast = self.ast;
        let condition = ast.kids(id).first().map(|c| ast.flat(*c)).unwrap_or_default();
        // Python's `if __name__ == "__main__"` and `if TYPE_CHECKING` hold no tests of the suite.
        let mut inner = place.clone();
        inner.switch.conditional(&condition);
        self.visit_all(id, &inner, depth + 1);
    }

    fn with_table(&self, place: &Place, source: Id) -> Place {
        let mut inner = place.clone();
        match rows::rows(self.ast, &self.outer, source) {
            Some(rows) => inner.tables.push(rows),
            None => inner.tables.push(vec![self.outer.bag(self.ast, source)]),
        }
        inner
    }

    fn visit_call(&mut self, id: Id, place: &Place, depth: usize) {
        let ast = self.ast;
        let links = ast.chain(id);
        let Some((begins, at)) = begins(ast, &links) else {
            return self.visit_other_call(id, &links, place, depth);
        };
        let args = links.last().and_then(|l| l.args.clone()).unwrap_or_default();
        let body = args.iter().copied().find(|a| matches!(ast.kind(*a), Kind::Lambda | Kind::Function));
        let mut switch = Switch::default();
        switch.prefix(if matches!(links[at].name, "feature" | "fixture") { "" } else { initial(links[at].name) });
        switch.links(ast, &links[at + 1..]);
        let options: Vec<Id> = args.iter().skip(1).copied().filter(|a| Some(*a) != body).collect();
        switch.options(ast, &options);
        let title = args.first().filter(|a| Some(**a) != body).map(|a| ast.flat(*a)).unwrap_or_default();
        let mut inner = Place {
            names: place.names.iter().cloned().chain([title]).collect(),
            switch: switch.within(&place.switch),
            tables: place.tables.clone(),
        };
        for link in &links[at + 1..] {
            self.each_table(link, &mut inner);
        }
        match (begins, body) {
            (Begins::Suite, Some(body)) => self.visit(body, &inner, depth + 1),
            (Begins::Suite, None) => {}
            (Begins::Test, Some(body)) => self.case(id, body, &inner, Role::Test),
            (Begins::Test, None) => {
                // A title without a body is a test that is still to be written; a body by name is one.
                let by_name = args.get(1).filter(|a| ast.kind(**a) == Kind::Name);
                let def = by_name.and_then(|n| self.helpers.get(ast.word(*n))).copied();
                match def {
                    Some(def) => self.case(id, def, &inner, Role::Test),
                    None if !args.is_empty() && by_name.is_none() => {
                        inner.switch.word("todo", None);
                        self.empty_case(id, &inner);
                    }
                    None => {}
                }
            }
        }
    }

    /// `it.each([…])`, and the same with a text for a table.
    fn each_table(&self, link: &Link<'_>, place: &mut Place) {
        if !matches!(link.name, "each" | "for") {
            return;
        }
        let Some(table) = link.arg(0) else { return };
        if self.ast.kind(table) == Kind::Text {
            place.tables.push(rows::text_rows(self.ast.source(table)));
        } else {
            *place = self.with_table(place, table);
        }
    }

    /// Other calls may hold tests in what they are given: loops, wrappers.
    fn visit_other_call(&mut self, id: Id, links: &[Link<'_>], place: &Place, depth: usize) {
        let ast = self.ast;
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        let loops = matches!(word.as_str(), "foreach" | "each" | "map" | "times" | "eachwithindex");
        let callee = ast.kids(id).first().copied();
        let source = callee.and_then(|c| ast.kids(c).first().copied()).filter(|_| loops);
        let inner = source.map_or_else(|| place.clone(), |s| self.with_table(place, s));
        for kid in ast.kids(id).to_vec() {
            self.visit(kid, &inner, depth + 1);
        }
    }

    fn visit_class(&mut self, id: Id, place: &Place, depth: usize) {
        let ast = self.ast;
        let mut inner = place.clone();
        let name = ast.word(id).to_owned();
        let mut own = Switch::default();
        for mark in ast.kids_of(id, Kind::Mark).collect::<Vec<_>>() {
            own.mark(ast, mark);
        }
        if ast.grammar == Grammar::Python {
            let body = ast.body(id);
            let off = body.into_iter().flat_map(|b| ast.kids(b).to_vec()).any(|k| {
                ast.kind(k) == Kind::Assign && ast.source(k).replace(' ', "") == "__test__=False"
            });
            if off {
                own.word("skip", None);
            }
        }
        inner.switch = own.within(&place.switch);
        inner.names.push(name);
        if let Some(body) = ast.body(id) {
            self.visit(body, &inner, depth + 1);
        }
    }

    fn visit_function(&mut self, id: Id, place: &Place) {
        if !self.is_test(id) {
            return;
        }
        let ast = self.ast;
        let mut inner = place.clone();
        inner.names.push(ast.word(id).to_owned());
        let mut own = Switch::default();
        for mark in ast.kids_of(id, Kind::Mark).collect::<Vec<_>>() {
            own.mark(ast, mark);
            self.mark_table(mark, &mut inner);
        }
        inner.switch = own.within(&place.switch);
        self.case(id, id, &inner, Role::Test);
    }

    /// Rows in marks: `@parametrize(names, rows)`, `@CsvSource({…})`, `#[case(…)]`.
    fn mark_table(&self, mark: Id, place: &mut Place) {
        let ast = self.ast;
        let Some(call) = ast.kids(mark).first().copied() else { return };
        let links = ast.chain(call);
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        match word.as_str() {
            "parametrize" | "parameterized" | "expand" => {
                let args = links.last().and_then(|l| l.args.clone()).unwrap_or_default();
                if let Some(table) = args.get(1).or(args.first()) {
                    *place = self.with_table(place, *table);
                }
            }
            "csvsource" | "valuesource" | "enumsource" | "methodsource" => {
                let list = ast.walk(mark).find(|n| ast.kind(*n) == Kind::List);
                match list {
                    Some(list) => *place = self.with_table(place, list),
                    None => place.tables.push(vec![self.outer.bag(ast, call)]),
                }
            }
            "case" | "testcase" | "inlinedata" => {
                let bag = self.loose_bag(mark);
                match place.tables.last_mut() {
                    Some(rows) => rows.push(bag),
                    None => place.tables.push(vec![bag]),
                }
            }
            _ => {}
        }
    }

    /// Values of a mark whose inside the grammar does not read.
    fn loose_bag(&self, mark: Id) -> Bag {
        let ast = self.ast;
        let tokens = ast.tokens(mark);
        let mut bag = Bag::default();
        // The first word is the mark's own.
        let mut own = true;
        for token in tokens {
            let text = ast.token_text(token);
            match token.kind {
                Kind::Text => bag.values.push(literal::text(text)),
                Kind::Number => bag.values.push(literal::number(text)),
                Kind::Constant => bag.values.push(text.to_owned()),
                _ if text.starts_with(char::is_alphabetic) && !std::mem::take(&mut own) => {
                    bag.names.insert(text.to_owned());
                }
                _ => {}
            }
        }
        bag.values.sort();
        bag
    }

    fn is_test(&self, id: Id) -> bool {
        let ast = self.ast;
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
                let case = class.is_some_and(|c| self.is_test_class(c));
                let nested = ast.above(id).any(|up| ast.kind(up) == Kind::Function);
                name.starts_with("test") && !nested && (case || self.tests && class.is_none())
            }
            Grammar::Rust => marked(&["test", "rstest", "testcase", "wasmbindgentest", "quickcheck", "case"]),
            Grammar::Go => {
                let takes = ast.first_of(id, Kind::Params).is_some_and(|p| ast.source(p).contains("testing."));
                let named = ["Test", "Fuzz", "Example", "Benchmark"].iter().any(|p| {
                    name.strip_prefix(p).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
                });
                let method = ast.source(id).starts_with("func (");
                self.tests && named && name != "TestMain" && (takes || name.starts_with("Example") || method)
            }
            Grammar::Java => {
                let by_name = name.starts_with("test") && class.is_some_and(|c| {
                    ast.first_of(c, Kind::Types).is_some_and(|t| ast.source(t).contains("TestCase"))
                });
                marked(&["test", "parameterizedtest", "repeatedtest", "testfactory", "testtemplate", "theory", "property"])
                    || by_name
            }
            Grammar::Ruby => self.tests && name.starts_with("test_") && class.is_some(),
            Grammar::Script | Grammar::Tsx => false,
        }
    }

    /// Python collects these classes.
    fn is_test_class(&self, id: Id) -> bool {
        let ast = self.ast;
        let supers = ast.first_of(id, Kind::Types).map_or("", |t| ast.source(t));
        let unit = supers.contains("TestCase");
        let init = ast.body(id).is_some_and(|b| {
            ast.kids_of(b, Kind::Function).any(|f| ast.word(f) == "__init__")
        });
        unit || self.tests && ast.word(id).starts_with("Test") && !init
    }

    /// Where functions carry the names, the last of two equal ones hides the first.
    fn hidden(&mut self) {
        if !matches!(self.ast.grammar, Grammar::Python | Grammar::Ruby) {
            return;
        }
        let by_function = |c: &Case| c.shown.trim_start().contains("def ");
        let cases = std::mem::take(&mut self.out.cases);
        for case in cases {
            if by_function(&case) {
                self.out.cases.retain(|c| c.name != case.name);
            }
            self.out.cases.push(case);
        }
    }

    fn scope_of(&self, body: Id) -> Scope<'a> {
        Scope::of(self.ast, body).under(&self.outer)
    }

    fn case(&mut self, id: Id, body_of: Id, place: &Place, role: Role) {
        let ast = self.ast;
        let Some(body) = ast.body(body_of) else { return };
        let scope = self.scope_of(body_of);
        let mut all = scope.bag(ast, body);
        let mut written = scope.written(ast, body);
        for row in place.tables.iter().flatten() {
            all.add(row);
            written.add(row);
        }
        let mut found = Scan::new(ast, scope, self.helpers, place.tables.clone()).run(body);
        found.checks.extend(self.marked_checks(body_of));
        let mut switch = place.switch.clone();
        if let Some((runs, by)) = &found.skipped {
            match runs {
                Runs::Never => switch.word("skip", None),
                Runs::Sometimes | Runs::Always | Runs::MayFail => switch.conditional(by),
            }
        }
        switch.retries = switch.retries.max(found.retries);
        switch.timeout = found.timeout.or(switch.timeout);
        self.out.cases.push(Case {
            role,
            name: place.names.clone(),
            line: ast.line(id),
            shown: ast.shown(id),
            switch,
            checks: found.checks,
            all,
            written,
            statements: statements(ast, body),
            body: ast.flat(body),
        });
    }

    /// Marks that want a failure: `#[should_panic]`, `@Test(expected = …)`.
    fn marked_checks(&self, id: Id) -> Vec<super::Check> {
        let ast = self.ast;
        let wants = |m: &Id| {
            let flat = ast.flat(*m);
            flat.contains("should_panic") || flat.contains("expected =") || flat.contains("ExpectedException")
        };
        let marks: Vec<Id> = ast.kids_of(id, Kind::Mark).filter(wants).collect();
        marks.into_iter().map(|m| super::Check::of_mark(ast, m, self.loose_bag(m))).collect()
    }

    fn empty_case(&mut self, id: Id, place: &Place) {
        self.out.cases.push(Case {
            role: Role::Test,
            name: place.names.clone(),
            line: self.ast.line(id),
            shown: self.ast.shown(id),
            switch: place.switch.clone(),
            checks: Vec::new(),
            all: Bag::default(),
            written: Bag::default(),
            statements: Vec::new(),
            body: String::new(),
        });
    }

    /// Functions with checks that are no tests themselves.
    fn helpers_with_checks(&mut self) {
        let ast = self.ast;
        for (name, id) in self.helpers {
            if self.is_test(*id) {
                continue;
            }
            let place = Place {
                names: vec![(*name).to_owned()],
                ..Place::default()
            };
            let before = self.out.cases.len();
            self.case(*id, *id, &place, Role::Helper);
            if self.out.cases.len() > before && self.out.cases[before].checks.is_empty() {
                self.out.cases.pop();
            }
        }
        // Hooks that are calls with a body.
        for id in ast.walk(Ast::ROOT).collect::<Vec<_>>() {
            if ast.kind(id) != Kind::Call {
                continue;
            }
            let links = ast.chain(id);
            let hook = links.len() == 1
                && matches!(links[0].name, "beforeEach" | "afterEach" | "beforeAll" | "afterAll" | "before" | "after" | "around");
            let body = links[0].args.iter().flatten().copied().find(|a| ast.kind(*a) == Kind::Lambda);
            if let (true, Some(body)) = (hook, body) {
                let place = Place {
                    names: vec![links[0].name.to_owned()],
                    ..Place::default()
                };
                self.case(id, body, &place, Role::Helper);
                if self.out.cases.last().is_some_and(|c| c.checks.is_empty()) {
                    self.out.cases.pop();
                }
            }
        }
    }
}

/// The letter that old spellings put before a word.
fn initial(word: &str) -> &str {
    let bare = word.strip_prefix(['x', 'f']);
    let known = ["describe", "it", "test", "context", "specify", "example", "scenario", "feature"];
    if bare.is_some_and(|b| known.contains(&b)) { word } else { "" }
}

/// Where definitions belong to tests: everywhere, or in the modules and classes of tests within a source file.
fn roots(ast: &Ast<'_>, tests: bool) -> Vec<Id> {
    if tests {
        return vec![Ast::ROOT];
    }
    let is_root = |id: &Id| ast.kind(*id) == Kind::Class && (is_test_module(ast, *id) || extends_test_case(ast, *id));
    ast.walk(Ast::ROOT).filter(is_root).filter_map(|id| ast.body(id)).collect()
}

fn extends_test_case(ast: &Ast<'_>, id: Id) -> bool {
    let supers = ast.first_of(id, Kind::Types);
    supers.is_some_and(|t| ast.source(t).contains("TestCase"))
}

/// Definitions outside of cases: constants, hooks, suites.
fn collect<'a>(ast: &Ast<'a>, id: Id, scope: &mut Scope<'a>, depth: usize) {
    if depth > DEEPEST {
        return;
    }
    for kid in ast.kids(id) {
        match ast.kind(*kid) {
            Kind::Call => {
                let links = ast.chain(*kid);
                let is_test = matches!(begins(ast, &links), Some((Begins::Test, _)));
                if !is_test {
                    scope.note(ast, *kid);
                    for arg in ast.kids(*kid).iter().skip(1) {
                        if ast.kind(*arg) == Kind::Lambda
                            && let Some(body) = ast.body(*arg)
                        {
                            collect(ast, body, scope, depth + 1);
                        }
                    }
                }
            }
            Kind::Function => {
                scope.note(ast, *kid);
                let set_up = matches!(plain(ast.word(*kid)).as_str(), "setup" | "setupclass" | "asyncsetup" | "setupmodule" | "setupmethod" | "init");
                if set_up && let Some(body) = ast.body(*kid) {
                    collect(ast, body, scope, depth + 1);
                }
            }
            Kind::Class | Kind::Block | Kind::Other => collect(ast, *kid, scope, depth + 1),
            Kind::Assign => scope.note(ast, *kid),
            _ => {}
        }
    }
}

fn imports(ast: &Ast<'_>, out: &mut Inventory) {
    for id in ast.walk(Ast::ROOT) {
        match ast.kind(id) {
            Kind::Import => {
                let source = ast.source(id);
                let text = ast.walk(id).find(|n| ast.kind(*n) == Kind::Text);
                out.imports.push(text.map_or(source, |t| literal::inner(ast.source(t))).to_owned());
                let names = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Name);
                out.imported.extend(names.map(|n| ast.word(n).to_owned()));
            }
            Kind::Call => {
                let links = ast.chain(id);
                let word = links.last().map_or("", |l| l.name);
                if matches!(word, "require" | "require_relative" | "import" | "load")
                    && let Some(path) = links.last().and_then(|l| l.arg(0))
                    && ast.kind(path) == Kind::Text
                {
                    out.imports.push(literal::inner(ast.source(path)).to_owned());
                }
            }
            _ => {}
        }
    }
}
