//! A case of what was found: its checks, its values, its switches; and helpers that hold checks.

use super::{
    Case, Check, Role,
    bag::Bag,
    checks::{SWALLOWED, Scan},
    find::{Find, Place},
    made::statements,
    outside, rows,
    switch::Runs,
    words::{Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, Link, literal};

impl Find<'_, '_> {
    /// Marks of property tests: how many examples, and out of what.
    pub(super) fn mark_inputs(&self, mark: Id, place: &mut Place) {
        let ast = self.ast;
        let word = ast
            .kids(mark)
            .first()
            .and_then(|c| ast.chain(*c).last().map(|l| plain(l.name)))
            .unwrap_or_default();
        if matches!(
            word.as_str(),
            "given" | "settings" | "property" | "example" | "forall" | "quickcheck" | "repeatedtest"
        ) {
            place.inputs.add(&self.loose_bag(mark));
        }
    }

    /// Rows in marks: `@parametrize(names, rows)`, `@CsvSource({…})`, `#[case(…)]`.
    pub(super) fn mark_table(&self, mark: Id, place: &mut Place) {
        let ast = self.ast;
        let Some(call) = ast.kids(mark).first().copied() else {
            return;
        };
        let links = ast.chain(call);
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        match word.as_str() {
            "parametrize" | "parameterized" | "expand" => {
                let args = links.last().and_then(|l| l.args.clone()).unwrap_or_default();
                if let Some(table) = args.get(1).or(args.first()) {
                    *place = self.with_table(place, *table);
                }
            }
            "methodsource" | "testcasesource" | "memberdata" | "dataprovider" | "dynamicdata" => {
                let text = ast.walk(mark).find(|n| ast.kind(*n) == Kind::Text);
                // `[MemberData(nameof(Hours))]`
                let named = || ast.tokens(mark).iter().rev().find(|t| t.kind == Kind::Name);
                let name = match text {
                    Some(text) => literal::inner(ast.source(text)),
                    None => named().map_or("", |t| ast.token_text(t)),
                };
                self.table_of(name.rsplit(['#', ':']).next().unwrap_or_default(), place);
            }
            "csvsource" | "valuesource" | "enumsource" => {
                let list = ast.walk(mark).find(|n| ast.kind(*n) == Kind::List);
                let block = ast.walk(mark).find(|n| rows::is_block(ast, *n));
                match (list, block) {
                    (Some(list), _) => *place = self.with_table(place, list),
                    (None, Some(block)) => place.tables.push(rows::lines(ast.source(block))),
                    (None, None) => place.tables.push(vec![self.outer.bag(ast, call)]),
                }
            }
            "case" | "testcase" | "inlinedata" => {
                let mut bag = self.loose_bag(mark);
                bag.table = true;
                match place.tables.last_mut() {
                    Some(rows) => rows.push(bag),
                    None => place.tables.push(vec![bag]),
                }
            }
            _ => {}
        }
    }

    /// The rows that a function or a field of this name gives.
    pub(super) fn table_of(&self, name: &str, place: &mut Place) {
        let ast = self.ast;
        let given = |id: Id| {
            let body = ast.body(id)?;
            let last = ast.statements(body).last().copied()?;
            Some(
                ast.kids(last)
                    .first()
                    .copied()
                    .filter(|_| ast.kind(last) == Kind::Return)
                    .unwrap_or(last),
            )
        };
        let body = self.helpers.get(name).and_then(|id| ast.body(*id));
        if let Some(rows) = body.and_then(|b| rows::yielded(ast, &self.outer, b)) {
            place.tables.push(rows);
            return;
        }
        let function = self.helpers.get(name).copied().and_then(given);
        let field = self
            .outer
            .definitions(name)
            .last()
            .copied()
            .filter(|d| ast.kind(*d) != Kind::Function);
        if let Some(table) = function.or(field) {
            *place = self.with_table(place, table);
        }
    }

    /// Values of a mark whose inside the grammar does not read.
    pub(super) fn loose_bag(&self, mark: Id) -> Bag {
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
                _ if matches!(text, "true" | "false" | "null") => bag.values.push(text.to_owned()),
                _ if matches!(text, "expected" | "class" | "typeof" | "timeout" | "ExpectedResult") => {}
                _ if text.starts_with(char::is_alphabetic) && !std::mem::take(&mut own) => {
                    bag.names.insert(text.to_owned());
                }
                _ => {}
            }
        }
        bag.values.sort();
        bag
    }

    pub(super) fn case(&mut self, id: Id, body_of: Id, place: &Place, role: Role) {
        let ast = self.ast;
        let Some(body) = ast.body(body_of) else { return };
        let scope = self.scope_of(body_of);
        let mut all = scope.bag(ast, body);
        let mut written = scope.written(ast, body);
        all.add(&place.inputs);
        written.add(&place.inputs);
        for row in place.tables.iter().flatten() {
            all.add(row);
            written.add(row);
        }
        let acted = outside::acted(ast, &scope, body);
        if role == Role::Test {
            self.bodies.insert(body);
        }
        let mut found = Scan::new(ast, scope, self.helpers, place.tables.clone())
            .with_foreign(self.foreign)
            .wanting_return(
                ast.kids_of(body_of, Kind::Mark)
                    .any(|m| ast.source(m).contains("ExpectedResult")),
            )
            .run(body);
        if self.wants_any_failure(body_of) {
            for check in &mut found.checks {
                check.weak = Some(SWALLOWED);
                check.strength = Strength::Nothing;
            }
        }
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
            acted,
            statements: statements(ast, body),
            body: ast.flat(body),
        });
    }

    /// A mark by which a failed check is a success as well as any other end.
    fn wants_any_failure(&self, id: Id) -> bool {
        let ast = self.ast;
        ast.kids_of(id, Kind::Mark).any(|m| {
            let flat = ast.flat(m);
            let any = ["AssertionError", "Throwable", "Error . class", "AssertionException"];
            flat.contains("should_panic") && !flat.contains("expected")
                || (flat.contains("expected =") || flat.contains("ExpectedException"))
                    && any.iter().any(|w| flat.contains(w))
        })
    }

    /// Marks that want a failure: `#[should_panic]`, `@Test(expected = …)`.
    pub(super) fn marked_checks(&self, id: Id) -> Vec<Check> {
        let ast = self.ast;
        let wants = |m: &Id| {
            let flat = ast.flat(*m);
            flat.contains("should_panic") || flat.contains("expected =") || flat.contains("ExpectedException")
        };
        let marks: Vec<Id> = ast.kids_of(id, Kind::Mark).filter(wants).collect();
        marks
            .into_iter()
            .map(|m| Check::of_mark(ast, m, self.loose_bag(m)))
            .collect()
    }

    /// Pest: what is chained behind a test wants an error of it, `it(…)->throws(Full::class, 'full')`.
    pub(super) fn chained_checks(&mut self, id: Id, links: &[Link<'_>]) {
        let ast = self.ast;
        let says = |l: &&Link<'_>| ast.grammar == Grammar::Php && l.name.starts_with("throws");
        for link in links.iter().filter(says) {
            let mut bag = Bag::default();
            for arg in link.args.iter().flatten() {
                bag.add(&self.outer.bag(ast, *arg));
            }
            let mut check = Check::of_mark(ast, id, bag);
            check.flat = link
                .args
                .iter()
                .flatten()
                .map(|a| ast.flat(*a))
                .collect::<Vec<_>>()
                .join(" ");
            if link.name == "throwsNoExceptions" {
                check.strength = Strength::Truthy;
                check.negated = true;
            }
            if let Some(case) = self.out.cases.last_mut() {
                case.all.add(&check.sides[0]);
                case.checks.push(check);
            }
        }
    }

    pub(super) fn empty_case(&mut self, id: Id, place: &Place) {
        self.out.cases.push(Case {
            role: Role::Test,
            name: place.names.clone(),
            line: self.ast.line(id),
            shown: self.ast.shown(id),
            switch: place.switch.clone(),
            checks: Vec::new(),
            all: Bag::default(),
            written: Bag::default(),
            acted: Bag::default(),
            statements: Vec::new(),
            body: String::new(),
        });
    }

    /// Functions with checks that are no tests themselves.
    pub(super) fn helpers_with_checks(&mut self) {
        let ast = self.ast;
        for (name, id) in self.helpers {
            if super::recognise::is_test(ast, *id, self.tests) {
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
                && matches!(
                    links[0].name,
                    "beforeEach" | "afterEach" | "beforeAll" | "afterAll" | "before" | "after" | "around"
                );
            let body = links[0]
                .args
                .iter()
                .flatten()
                .copied()
                .find(|a| ast.kind(*a) == Kind::Lambda);
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
