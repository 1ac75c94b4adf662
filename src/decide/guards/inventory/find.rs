//! Finds the cases of a file: functions by their names and marks, calls by their words, within suites.

use std::collections::BTreeSet;

use super::{
    Case, Inventory, Role,
    bag::{Bag, Scope},
    checks::Helpers,
    foreign::Foreign,
    generated, outside,
    recognise::{Begins, begins, initial, is_test},
    rows,
    scope::{collect, imports, modules, roots},
    switch::{Runs, Switch},
    words::plain,
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, Link, literal};

/// Suites within suites.
const DEEPEST: usize = 40;

/// All cases of a text. `tests` says that the file holds tests by its name; else only marked ones count.
pub(in crate::decide::guards) fn inventory(ast: &Ast<'_>, tests: bool, foreign: &Foreign<'_, '_>) -> Inventory {
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
        foreign,
        outer: outer.with_foreign(foreign.bags(ast)).with_modules(modules(ast)),
        helpers: &helpers,
        out: Inventory {
            broken: ast.broken,
            ..Inventory::default()
        },
        bodies: BTreeSet::new(),
    };
    let place = Place::default();
    let top = find.with_file_marks(&place);
    find.visit_all(Ast::ROOT, &top, 0);
    imports(ast, &mut find.out);
    find.out.cases.extend(generated::cases(ast));
    find.hidden();
    find.out.outside = outside::beside(ast, &find.outer, &roots, std::mem::take(&mut find.bodies));
    if tests {
        find.helpers_with_checks();
    }
    find.out
}

/// PHP's `@dataProvider name` in the comment before a test.
fn provider<'a>(ast: &Ast<'a>, id: Id) -> Option<&'a str> {
    let start = ast.node(id).start;
    let before = ast.comments().iter().copied().filter(|c| ast.node(*c).start < start);
    let comment = before.max_by_key(|c| ast.node(*c).start)?;
    let between = ast.text.get(ast.node(comment).end..start)?;
    let (_, rest) = ast.source(comment).split_once("@dataProvider")?;
    let name = rest.split_whitespace().next()?;
    between.trim().is_empty().then_some(name)
}

pub(super) struct Find<'x, 'a> {
    pub(super) ast: &'x Ast<'a>,
    pub(super) tests: bool,
    pub(super) foreign: &'x Foreign<'x, 'a>,
    pub(super) outer: Scope<'a>,
    pub(super) helpers: &'x Helpers<'a>,
    pub(super) out: Inventory,
    /// The bodies of the tests.
    pub(super) bodies: BTreeSet<Id>,
}

/// Where in the file: suites, what holds for all in them, tables around.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) names: Vec<String>,
    pub(super) switch: Switch,
    pub(super) tables: Vec<Vec<Bag>>,
    /// Values of marks that say what a test is run with.
    pub(super) inputs: Bag,
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
                            .find_map(|n| {
                                (ast.kind(n) == Kind::Number)
                                    .then(|| literal::value(ast.source(n)))
                                    .flatten()
                            })
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
            // C# leaves out what stands between such lines.
            Kind::Other if ast.grammar == Grammar::CSharp && ast.source(id).starts_with("#if") => {
                let mut inner = place.clone();
                let condition = ast.source(id).lines().next().unwrap_or_default();
                inner.switch.conditional(condition);
                self.visit_all(id, &inner, depth + 1);
            }
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

    pub(super) fn with_table(&self, place: &Place, source: Id) -> Place {
        let mut inner = place.clone();
        match rows::rows(self.ast, &self.outer, source) {
            Some(rows) => inner.tables.push(rows),
            None => inner.tables.push(vec![self.outer.bag(self.ast, source)]),
        }
        if rows::is_part(self.ast, &self.outer, source) {
            inner.switch.conditional(&self.ast.flat(source));
        }
        inner
    }

    fn visit_call(&mut self, id: Id, place: &Place, depth: usize) {
        let ast = self.ast;
        let links = ast.chain(id);
        if self.titled(id, &links, place) {
            return;
        }
        let mut alias = Switch::default();
        let known = self.alias(&links, &mut alias).or_else(|| begins(ast, &links));
        let Some((begins, at)) = known else {
            return self.visit_other_call(id, &links, place, depth);
        };
        // What is chained behind the call says more about the test: `it(…)->skip()`.
        let holds = |l: &&Link<'_>| {
            l.args
                .iter()
                .flatten()
                .any(|a| matches!(ast.kind(*a), Kind::Lambda | Kind::Function))
        };
        let call = links[at..].iter().find(holds).or(links.last());
        let args = call.and_then(|l| l.args.clone()).unwrap_or_default();
        let body = args
            .iter()
            .copied()
            .find(|a| matches!(ast.kind(*a), Kind::Lambda | Kind::Function));
        let mut switch = Switch::default();
        switch.prefix(if matches!(links[at].name, "feature" | "fixture") {
            ""
        } else {
            initial(links[at].name)
        });
        switch.links(ast, &links[at + 1..]);
        let switch = switch.within(&alias);
        let mut switch = switch;
        let options: Vec<Id> = args.iter().skip(1).copied().filter(|a| Some(*a) != body).collect();
        switch.options(ast, &options);
        let mut title = args
            .first()
            .filter(|a| Some(**a) != body)
            .map(|a| ast.flat(*a))
            .unwrap_or_default();
        if ast.grammar == Grammar::Kotlin {
            // What is chained behind the title, and the marks that Kotest reads at its beginning.
            if let Some(own) = links[at].arg(0).filter(|a| ast.kind(*a) == Kind::Text) {
                title = switch.kotest(&ast.flat(own));
            }
            for link in links[at + 1..].iter().filter(|l| l.name == "config") {
                switch.options(ast, link.args.as_deref().unwrap_or_default());
            }
        }
        let mut inner = Place {
            names: place.names.iter().cloned().chain([title]).collect(),
            switch: switch.within(&place.switch),
            tables: place.tables.clone(),
            inputs: place.inputs.clone(),
        };
        for link in &links[at + 1..] {
            self.each_table(link, &mut inner);
        }
        if links[at].name.starts_with("shared_examples") {
            self.shared_table(&args, &mut inner);
        }
        match (begins, body) {
            (Begins::Suite, Some(body)) => self.visit(body, &inner, depth + 1),
            (Begins::Suite, None) => {}
            (Begins::Test, Some(body)) => {
                self.case(id, body, &inner, Role::Test);
                self.chained_checks(id, &links[at + 1..]);
            }
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

    /// A name of the file's own for a suite or a test: `const maybe = flag ? describe : describe.skip`.
    fn alias(&self, links: &[Link<'_>], switch: &mut Switch) -> Option<(Begins, usize)> {
        let ast = self.ast;
        let [only] = links else { return None };
        let def = self
            .outer
            .definitions(only.name)
            .last()
            .copied()
            .filter(|_| ast.grammar.is_script())?;
        let plainly = matches!(ast.kind(def), Kind::If | Kind::Member | Kind::Name | Kind::Binary);
        let chains = ast
            .walk(def)
            .filter(|n| matches!(ast.kind(*n), Kind::Member | Kind::Name))
            .map(|n| ast.chain(n));
        let mut found = None;
        for chain in chains.filter(|_| plainly) {
            if let Some((begins, at)) = begins(ast, &chain) {
                found = Some((begins, 0));
                let mut own = Switch::default();
                own.links(ast, &chain[at + 1..]);
                if ast.kind(def) == Kind::If && own.runs > Runs::Always {
                    switch.conditional(&ast.flat(def));
                } else {
                    *switch = own.within(switch);
                }
            }
        }
        found
    }

    /// `it.each([…])`, and the same with a text for a table.
    fn each_table(&self, link: &Link<'_>, place: &mut Place) {
        if !matches!(link.name, "each" | "for" | "with") {
            return;
        }
        let Some(table) = link.arg(0) else { return };
        if self.ast.kind(table) == Kind::Text && !self.ast.kids(table).is_empty() {
            place.tables.push(rows::template_rows(self.ast, &self.outer, table));
        } else if self.ast.kind(table) == Kind::Text {
            place.tables.push(rows::text_rows(self.ast.source(table)));
        } else {
            *place = self.with_table(place, table);
        }
    }

    /// RSpec: what the uses of shared examples give them is a table.
    fn shared_table(&self, args: &[Id], place: &mut Place) {
        let ast = self.ast;
        let Some(title) = args.first() else { return };
        let uses = ast.walk(Ast::ROOT).filter(|n| ast.kind(*n) == Kind::Call).filter(|n| {
            let called = ast.kids(*n).first().map_or("", |c| ast.word(*c));
            let includes = matches!(
                called,
                "it_behaves_like" | "include_examples" | "it_should_behave_like" | "include_context"
            );
            includes && ast.kids(*n).get(1).is_some_and(|t| ast.flat(*t) == ast.flat(*title))
        });
        let row = |id: Id| {
            let given = ast.kids(id).iter().skip(2).filter(|k| ast.kind(**k) != Kind::Lambda);
            given.fold(Bag::default(), |row, k| row.with(&self.outer.bag(ast, *k)))
        };
        let rows: Vec<Bag> = uses.map(row).collect();
        if rows.iter().any(|r| !r.is_empty()) {
            place.tables.push(rows);
        }
    }

    /// Other calls may hold tests in what they are given: loops, wrappers.
    fn visit_other_call(&mut self, id: Id, links: &[Link<'_>], place: &Place, depth: usize) {
        let ast = self.ast;
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        if self.with_data(id, &word, place) {
            return;
        }
        let loops = matches!(
            word.as_str(),
            "foreach" | "each" | "map" | "times" | "eachwithindex" | "eachpair"
        );
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
            let off = body
                .into_iter()
                .flat_map(|b| ast.kids(b).to_vec())
                .any(|k| ast.kind(k) == Kind::Assign && ast.source(k).replace(' ', "") == "__test__=False");
            if off {
                own.word("skip", None);
            }
        }
        let head: String = ast.source(id).split('{').next().unwrap_or_default().to_owned();
        let made = matches!(
            ast.grammar,
            Grammar::Java | Grammar::CSharp | Grammar::Php | Grammar::Kotlin
        ) && head.split_whitespace().any(|w| w == "abstract");
        if made {
            own.conditional("abstract");
        }
        // JUnit runs the tests of an inner class where a mark says so.
        let within = ast.above(id).any(|up| ast.kind(up) == Kind::Class);
        let marks = || ast.kids_of(id, Kind::Mark).map(|m| ast.source(m));
        let says = |word: &str| head.split_whitespace().any(|w| w == word);
        let inner_class = match ast.grammar {
            Grammar::Java => !says("static"),
            Grammar::Kotlin => says("inner"),
            _ => false,
        };
        if inner_class && within && ast.text.contains("org.junit.jupiter") && !marks().any(|m| m.starts_with("@Nested"))
        {
            own.word("skip", None);
        }
        inner.switch = own.within(&place.switch);
        inner.names.push(name);
        if let Some(body) = ast.body(id) {
            self.visit(body, &inner, depth + 1);
        }
        // Kotlin: `class Spec : StringSpec({ … })`
        let given = ast.first_of(id, Kind::Types).filter(|_| ast.grammar == Grammar::Kotlin);
        let lambda = given.and_then(|t| ast.walk(t).find(|n| ast.kind(*n) == Kind::Lambda));
        if let Some(lambda) = lambda {
            self.visit(lambda, &inner, depth + 1);
        }
    }

    fn visit_function(&mut self, id: Id, place: &Place) {
        let ast = self.ast;
        let statements = ast.body(id).map(|b| ast.statements(b)).unwrap_or_default();
        // What only runs a suite is no test of its own.
        let runs_suite = matches!(statements.as_slice(), [only] if ast.path(*only) == "suite.Run");
        if !is_test(ast, id, self.tests) || runs_suite {
            return;
        }
        let mut inner = place.clone();
        inner.names.push(ast.word(id).to_owned());
        let mut own = Switch::default();
        for mark in ast.kids_of(id, Kind::Mark).collect::<Vec<_>>() {
            own.mark(ast, mark);
            self.mark_table(mark, &mut inner);
            self.mark_inputs(mark, &mut inner);
        }
        if let Some(name) = provider(ast, id) {
            self.table_of(name, &mut inner);
        }
        inner.switch = own.within(&place.switch);
        self.case(id, id, &inner, Role::Test);
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

    pub(super) fn scope_of(&self, body: Id) -> Scope<'a> {
        let mut own = Scope::of(self.ast, body);
        // A parameter of a test may be the name of a fixture, which gives it its value.
        let is_fixture = |name: &&'a str| {
            let def = self.helpers.get(*name).filter(|_| self.ast.grammar == Grammar::Python);
            def.is_some_and(|def| {
                let marks = self.ast.kids_of(*def, Kind::Mark);
                marks
                    .filter_map(|m| self.ast.kids(m).first().copied())
                    .any(|m| self.ast.chain(m).last().is_some_and(|l| l.name == "fixture"))
            })
        };
        let fixtures: Vec<&'a str> = own.bound.iter().copied().filter(is_fixture).collect();
        for name in fixtures {
            own.bound.remove(name);
        }
        // What a loop or a function around the test gives it.
        for up in self.ast.above(body) {
            let given = match self.ast.kind(up) {
                Kind::Lambda => self.ast.first_of(up, Kind::Params),
                Kind::Loop => self.ast.kids(up).first().copied(),
                _ => None,
            };
            let names = given.into_iter().flat_map(|g| self.ast.walk(g));
            let names: Vec<&'a str> = names
                .filter(|n| self.ast.kind(*n) == Kind::Name && !self.ast.word(*n).starts_with(char::is_uppercase))
                .map(|n| self.ast.word(n))
                .filter(|n| !own.defs.contains_key(n))
                .collect();
            own.bound.extend(names.iter().copied());
            own.looped.extend(names);
        }
        own.under(&self.outer)
    }
}
