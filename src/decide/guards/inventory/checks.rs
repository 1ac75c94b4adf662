//! The checks of a body, each with what stands around it: a handler that swallows it, a condition, a return before it.

use std::collections::BTreeMap;

use super::{
    Check,
    bag::{Bag, Scope},
    foreign::Foreign,
    narrow::is_broad,
    rows,
    switch::Runs,
    truth::{Claim, truth},
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind};

/// Checks of one case that are looked at.
const MOST: usize = 2_000;

pub(super) const UNREACHED: &str = "nothing after this place runs";
pub(super) const SOMETIMES: &str = "it is checked only where a condition holds";
pub(super) const SWALLOWED: &str = "a failure is swallowed";
pub(super) const NOT_AWAITED: &str = "it is never awaited";
const IN_PART: &str = "the loop around it runs through a part of the rows only";
const EMPTY: &str = "the loop around it runs through nothing";

/// What a body comes to.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) checks: Vec<Check>,
    /// A call in it that ends the test before it can fail.
    pub(super) skipped: Option<(Runs, String)>,
    pub(super) retries: f64,
    pub(super) timeout: Option<f64>,
}

/// Functions of a file that tests may call.
pub(super) type Helpers<'a> = BTreeMap<&'a str, Id>;

pub(super) struct Scan<'x, 'a> {
    pub(super) ast: &'x Ast<'a>,
    pub(super) scope: Scope<'a>,
    pub(super) helpers: &'x Helpers<'a>,
    pub(super) foreign: Option<&'x Foreign<'x, 'a>>,
    pub(super) found: Found,
    pub(super) around: Around<'a>,
    pub(super) tables: Vec<Vec<Bag>>,
    /// Given to a helper.
    pub(super) given: Bag,
    pub(super) depth: usize,
    /// A row of the table says what the test gives back.
    pub(super) wants_return: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Around<'a> {
    pub(super) weak: Option<&'static str>,
    pub(super) awaited: bool,
    condition: Option<&'a str>,
    /// The column of a table's rows that the condition asks for.
    pub(super) column: Option<&'a str>,
}

impl<'x, 'a> Scan<'x, 'a> {
    pub(super) fn new(ast: &'x Ast<'a>, scope: Scope<'a>, helpers: &'x Helpers<'a>, tables: Vec<Vec<Bag>>) -> Self {
        Self {
            ast,
            scope,
            helpers,
            foreign: None,
            found: Found::default(),
            around: Around::default(),
            tables,
            given: Bag::default(),
            depth: 0,
            wants_return: false,
        }
    }

    pub(super) fn wanting_return(mut self, wants: bool) -> Self {
        self.wants_return = wants;
        self
    }

    pub(super) fn with_foreign(mut self, foreign: &'x Foreign<'x, 'a>) -> Self {
        self.foreign = Some(foreign);
        self
    }

    pub(super) fn run(mut self, body: Id) -> Found {
        // A body that is one expression gives its value back.
        self.around.awaited = self.ast.kind(body) != Kind::Block;
        self.scan(body);
        self.found
    }

    pub(super) fn weaker(&mut self, why: &'static str) {
        // What holds in no run is harder than what holds in some.
        if self.around.weak.is_none_or(|w| w == SOMETIMES) {
            self.around.weak = Some(why);
        }
    }

    pub(super) fn within(&mut self, change: impl FnOnce(&mut Self), scan: impl FnOnce(&mut Self)) {
        let before = self.around.clone();
        change(self);
        scan(self);
        self.around = before;
    }

    pub(super) fn scan(&mut self, id: Id) {
        if self.found.checks.len() >= MOST {
            return;
        }
        match self.ast.kind(id) {
            Kind::Block => self.block(id),
            Kind::If => self.branch(id),
            Kind::Loop => self.repeat(id),
            Kind::Try => self.attempt(id),
            Kind::With => self.with(id),
            Kind::Switch => self.switch(id),
            Kind::Assert => {
                let what = self.ast.kids(id).first().copied();
                let found = what.map(|w| truth(self.ast, w, false)).unwrap_or_default();
                self.push(id, found);
            }
            Kind::Return if self.wants_return => {
                let given = self.ast.kids(id).to_vec();
                self.push(id, vec![Claim::new(Strength::Exact, given, Vec::new())]);
            }
            Kind::Await | Kind::Return => {
                let kids = self.ast.kids(id).to_vec();
                self.within(
                    |s| s.around.awaited = true,
                    |s| kids.into_iter().for_each(|k| s.scan(k)),
                );
            }
            Kind::Call => self.call(id),
            Kind::Member => self.property(id),
            Kind::Name if super::outcome::is_skip(self.ast, id) => self.call(id),
            Kind::Function | Kind::Class | Kind::Lambda => {}
            // A function that is put into a variable runs where it is called.
            _ => self.kids(id),
        }
    }

    pub(super) fn kids(&mut self, id: Id) {
        for kid in self.ast.kids(id).to_vec() {
            self.scan(kid);
        }
    }

    pub(super) fn block(&mut self, id: Id) {
        let before = self.around.clone();
        for statement in self.ast.kids(id).to_vec() {
            self.scan(statement);
            self.after(statement);
        }
        // What a condition inside ends does not end what stands around, unless it is the body itself.
        self.around = before;
    }

    /// What a statement means for those behind it.
    pub(super) fn after(&mut self, id: Id) {
        match self.ast.kind(id) {
            Kind::Return | Kind::Throw | Kind::Jump => self.weaker(UNREACHED),
            Kind::Call => {
                let path = self.ast.path(id);
                if words::exits(&path) {
                    self.weaker(UNREACHED);
                }
            }
            // Go: what is thrown behind this place ends the test as a success.
            Kind::Other if self.recovers(id) => self.weaker(SWALLOWED),
            Kind::If if (self.ends(id) || self.leaves_row(id)) && !self.fails(id) => self.weaker(SOMETIMES),
            _ => {}
        }
    }

    /// `defer func() { recover() }()`, with nothing that fails.
    fn recovers(&self, id: Id) -> bool {
        let source = self.ast.source(id);
        let recovers = self.ast.grammar == Grammar::Go && source.starts_with("defer") && source.contains("recover()");
        recovers
            && !self
                .ast
                .walk(id)
                .any(|n| self.ast.kind(n) == Kind::Call && self.is_failing(n))
    }

    /// A branch leaves the body.
    pub(super) fn ends(&self, id: Id) -> bool {
        let ast = self.ast;
        let mut open: Vec<Id> = ast.kids(id).to_vec();
        while let Some(at) = open.pop() {
            match ast.kind(at) {
                Kind::Return => return true,
                Kind::Call if words::exits(&ast.path(at)) => return true,
                Kind::Function | Kind::Lambda | Kind::Class => {}
                _ => open.extend(ast.kids(at)),
            }
        }
        false
    }

    /// `if tt.wantErr != "" {`, `if tt.wantErr {`
    fn column_asked(&self, condition: Id) -> Option<&'a str> {
        let ast = self.ast;
        let column = |n: Id| (ast.kind(n) == Kind::Member && self.scope.is_column(ast, n)).then(|| ast.word(n));
        match (ast.kind(condition), ast.kids(condition)) {
            (Kind::Binary, [left, right]) => {
                let nothing = matches!(ast.source(*right), "\"\"" | "nil" | "null" | "undefined" | "0" | "None");
                column(*left).filter(|_| nothing && matches!(ast.word(condition), "!=" | "!=="))
            }
            _ => column(condition),
        }
    }

    /// A branch goes on to the next row of a table.
    fn leaves_row(&self, id: Id) -> bool {
        let ast = self.ast;
        let jump = |s: &Id| ast.kind(*s) == Kind::Jump && !ast.source(*s).starts_with("yield");
        let parts = ast
            .kids(id)
            .iter()
            .filter(|k| matches!(ast.kind(**k), Kind::Block | Kind::Else));
        !self.tables.is_empty() && parts.flat_map(|p| ast.statements(*p)).any(|s| jump(&s))
    }

    pub(super) fn branch(&mut self, id: Id) {
        let ast = self.ast;
        let kids = ast.kids(id).to_vec();
        let init = kids.iter().find(|k| ast.kind(**k) == Kind::Init);
        let parts: Vec<Id> = kids
            .iter()
            .copied()
            .filter(|k| !matches!(ast.kind(*k), Kind::Init | Kind::Else))
            .collect();
        if let Some(init) = init {
            self.scan(*init);
        }
        let [condition, then, ..] = parts.as_slice() else {
            return self.kids(id);
        };
        let (condition, then) = (*condition, *then);
        let other = kids.iter().copied().filter(|k| ast.kind(*k) == Kind::Else);
        let other: Vec<Id> = other.collect();
        let then_fails = self.fails_here(then);
        let else_fails = other.iter().any(|o| self.fails_here(*o));
        let asks = self.column_asked(condition);
        if then_fails || else_fails {
            let found = truth(ast, condition, then_fails);
            self.push(id, found);
        }
        self.scan(condition);
        if let Some(skip) = self.skip_in(then) {
            self.skip(Runs::Sometimes, &format!("{} {skip}", ast.flat(condition)));
        }
        let source = ast.source(condition);
        self.within(
            |s| {
                s.weaker(SOMETIMES);
                s.around.condition = Some(source);
                s.around.column = asks.or(s.around.column);
            },
            |s| {
                s.inner(then, then_fails);
                for o in other {
                    s.inner(o, else_fails);
                }
            },
        );
    }

    /// A branch that is itself what fails holds no further check but those nested in it.
    pub(super) fn inner(&mut self, id: Id, fails: bool) {
        if fails && self.ast.statements(id).len() <= 1 {
            return;
        }
        self.scan(id);
    }

    pub(super) fn repeat(&mut self, id: Id) {
        let ast = self.ast;
        let kids = ast.kids(id).to_vec();
        let [_, source, body] = kids.as_slice() else {
            return self.kids(id);
        };
        self.table(*source, *body);
        let _ = ast;
    }

    /// A body that runs once for each row of a list.
    pub(super) fn table(&mut self, source: Id, body: Id) {
        let rows = rows::rows(self.ast, &self.scope, source);
        let empty = rows.as_ref().is_some_and(Vec::is_empty);
        let part = rows::is_part(self.ast, &self.scope, source);
        let more = self.scope.bag(self.ast, source);
        let given = self.given.clone();
        match rows {
            Some(rows) if !rows.is_empty() => self.tables.push(rows),
            _ => {
                self.given.add(&more);
                self.tables.push(vec![Bag::default()]);
            }
        }
        self.within(
            |s| {
                if empty {
                    s.weaker(EMPTY);
                }
                if part {
                    s.weaker(IN_PART);
                }
            },
            |s| s.scan(body),
        );
        self.tables.pop();
        self.given = given;
    }

    pub(super) fn attempt(&mut self, id: Id) {
        let ast = self.ast;
        let silent = ast
            .kids_of(id, Kind::Catch)
            .any(|c| self.is_silent(c) || self.takes_another(id, c))
            || ast.kids_of(id, Kind::Finally).any(|f| self.ends(f));
        self.wants_error(id);
        for kid in ast.kids(id).to_vec() {
            let body = !matches!(ast.kind(kid), Kind::Catch | Kind::Finally);
            self.within(
                |s| {
                    if silent && body {
                        s.weaker(SWALLOWED);
                    }
                },
                |s| match ast.kind(kid) {
                    Kind::Catch => {
                        if let Some(handler) = ast.body(kid) {
                            s.scan(handler);
                        }
                    }
                    _ => s.scan(kid),
                },
            );
        }
    }

    /// A body that fails at its end wants the error that is caught.
    fn wants_error(&mut self, id: Id) {
        let ast = self.ast;
        let Some(body) = ast.kids(id).first().copied() else {
            return;
        };
        let last = ast.statements(body).last().copied();
        let types = ast
            .kids_of(id, Kind::Catch)
            .find_map(|c| ast.first_of(c, Kind::Types))
            .filter(|t| !ast.source(*t).contains("AssertionError"));
        if let (true, Some(types)) = (last.is_some_and(|l| self.is_failing(l)), types) {
            let strength = if is_broad(ast, types) {
                Strength::Truthy
            } else {
                Strength::Type
            };
            self.push(id, vec![Claim::new(strength, vec![body], vec![types])]);
        }
    }

    pub(super) fn with(&mut self, id: Id) {
        let ast = self.ast;
        let (contexts, body) = match ast.kids(id) {
            [contexts @ .., body] => (contexts.to_vec(), *body),
            [] => return,
        };
        let mut swallows = false;
        for context in contexts {
            let call = ast
                .body(context)
                .filter(|_| ast.kind(context) == Kind::Assign)
                .unwrap_or(context);
            let path = ast.path(call);
            let word = plain(path.rsplit('.').next().unwrap_or_default());
            if matches!(
                word.as_str(),
                "raises" | "assertraises" | "assertraisesregex" | "warns" | "assertwarns" | "assertraisesmessage"
            ) {
                self.raises(call, body, &word);
                let args = ast.kids(call).get(1..).unwrap_or_default();
                let own = args
                    .iter()
                    .any(|a| is_broad(ast, *a) || ast.source(*a).contains("AssertionError"));
                swallows |= own;
            } else if matches!(
                word.as_str(),
                "assertnumqueries" | "djangoassertnumqueries" | "assertlogs" | "assertnologs" | "assertchanges"
            ) {
                let args = ast.kids(call).get(1..).unwrap_or_default().to_vec();
                self.push(call, vec![Claim::new(Strength::Exact, vec![body], args)]);
            } else if word == "suppress" {
                swallows = true;
            } else {
                self.scan(call);
            }
        }
        self.within(
            |s| {
                if swallows {
                    s.weaker(SWALLOWED);
                }
            },
            |s| s.scan(body),
        );
    }

    pub(super) fn raises(&mut self, call: Id, body: Id, word: &str) {
        let args = self.ast.kids(call).get(1..).unwrap_or_default().to_vec();
        let message = word.contains("regex") || word.contains("message") || args.len() > 1;
        let broad = args.first().is_none_or(|a| is_broad(self.ast, *a));
        let strength = match (message, broad) {
            (true, _) => Strength::Part,
            (false, true) => Strength::Truthy,
            (false, false) => Strength::Type,
        };
        let mut claim = Claim::new(strength, vec![body], args);
        claim.raises = message;
        self.push(call, vec![claim]);
    }

    pub(super) fn switch(&mut self, id: Id) {
        let ast = self.ast;
        let kids = ast.kids(id).to_vec();
        let Some((value, arms)) = kids.split_first() else {
            return;
        };
        let failing = arms.iter().any(|a| ast.body(*a).is_some_and(|b| self.fails_here(b)));
        if failing {
            let passing: Vec<Id> = arms
                .iter()
                .copied()
                .filter(|a| ast.body(*a).is_none_or(|b| !self.fails_here(b)))
                .flat_map(|a| ast.kids(a).iter().rev().skip(1).copied().collect::<Vec<_>>())
                .collect();
            self.push(id, vec![Claim::new(Strength::Part, vec![*value], passing)]);
        }
        self.scan(*value);
        self.within(
            |s| {
                if !failing {
                    s.weaker(SOMETIMES);
                }
            },
            |s| {
                for arm in arms {
                    if let Some(body) = ast.body(*arm) {
                        let fails = s.fails_here(body);
                        s.inner(body, fails);
                    }
                }
            },
        );
    }
}
