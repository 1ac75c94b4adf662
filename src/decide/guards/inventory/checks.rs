//! The checks of a body, each with what stands around it: a handler that swallows it, a condition, a return before it.

use std::collections::BTreeMap;

use super::{
    Check, Statement,
    bag::{Bag, Scope},
    operands::{claims, is_broad},
    rows,
    switch::Runs,
    truth::{Claim, loosened, truth},
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, Link, literal};

/// Helpers of helpers are followed this far.
const DEEPEST: usize = 4;
/// Checks of one case that are looked at.
const MOST: usize = 2_000;

const UNREACHED: &str = "nothing after this place runs";
const SOMETIMES: &str = "it is checked only where a condition holds";
const SWALLOWED: &str = "a failure is swallowed";
const NOT_AWAITED: &str = "it is never awaited";
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
    found: Found,
    around: Around<'a>,
    tables: Vec<Vec<Bag>>,
    /// Given to a helper.
    given: Bag,
    depth: usize,
}

#[derive(Debug, Clone, Default)]
struct Around<'a> {
    weak: Option<&'static str>,
    awaited: bool,
    condition: Option<&'a str>,
}

impl<'x, 'a> Scan<'x, 'a> {
    pub(super) fn new(ast: &'x Ast<'a>, scope: Scope<'a>, helpers: &'x Helpers<'a>, tables: Vec<Vec<Bag>>) -> Self {
        Self {
            ast,
            scope,
            helpers,
            found: Found::default(),
            around: Around::default(),
            tables,
            given: Bag::default(),
            depth: 0,
        }
    }

    pub(super) fn run(mut self, body: Id) -> Found {
        // A body that is one expression gives its value back.
        self.around.awaited = self.ast.kind(body) != Kind::Block;
        self.scan(body);
        self.found
    }

    fn weaker(&mut self, why: &'static str) {
        // What holds in no run is harder than what holds in some.
        if self.around.weak.is_none_or(|w| w == SOMETIMES) {
            self.around.weak = Some(why);
        }
    }

    fn within(&mut self, change: impl FnOnce(&mut Self), scan: impl FnOnce(&mut Self)) {
        let before = self.around.clone();
        change(self);
        scan(self);
        self.around = before;
    }

    fn scan(&mut self, id: Id) {
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
            Kind::Await | Kind::Return => {
                let kids = self.ast.kids(id).to_vec();
                self.within(
                    |s| s.around.awaited = true,
                    |s| kids.into_iter().for_each(|k| s.scan(k)),
                );
            }
            Kind::Call => self.call(id),
            Kind::Member => self.property(id),
            Kind::Function | Kind::Class | Kind::Lambda => {}
            // A function that is put into a variable runs where it is called.
            _ => self.kids(id),
        }
    }

    fn kids(&mut self, id: Id) {
        for kid in self.ast.kids(id).to_vec() {
            self.scan(kid);
        }
    }

    fn block(&mut self, id: Id) {
        let before = self.around.clone();
        for statement in self.ast.kids(id).to_vec() {
            self.scan(statement);
            self.after(statement);
        }
        // What a condition inside ends does not end what stands around, unless it is the body itself.
        self.around = before;
    }

    /// What a statement means for those behind it.
    fn after(&mut self, id: Id) {
        match self.ast.kind(id) {
            Kind::Return | Kind::Throw | Kind::Jump => self.weaker(UNREACHED),
            Kind::Call => {
                let path = self.ast.path(id);
                if words::exits(&path) {
                    self.weaker(UNREACHED);
                }
            }
            Kind::If if self.ends(id) && !self.fails(id) => self.weaker(SOMETIMES),
            _ => {}
        }
    }

    /// A branch leaves the body.
    fn ends(&self, id: Id) -> bool {
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

    /// A branch makes the test fail.
    fn fails(&self, id: Id) -> bool {
        self.failing_call(id).is_some()
    }

    fn failing_call(&self, id: Id) -> Option<Id> {
        let ast = self.ast;
        let mut open: Vec<Id> = vec![id];
        while let Some(at) = open.pop() {
            match ast.kind(at) {
                Kind::Throw => return Some(at),
                Kind::Call if self.is_failing(at) => return Some(at),
                Kind::Function | Kind::Lambda | Kind::Class => {}
                _ => open.extend(ast.kids(at).iter().rev()),
            }
        }
        None
    }

    fn is_failing(&self, id: Id) -> bool {
        let links = self.ast.chain(id);
        let (Some(first), Some(last)) = (links.first(), links.last()) else {
            return false;
        };
        let word = plain(last.name);
        let owner = plain(first.name);
        let known = matches!(
            owner.as_str(),
            "t" | "tb" | "b" | "f" | "pytest" | "self" | "assert" | "this" | "s" | "expect" | "assertions" | "testing" | "done"
        );
        last.args.is_some()
            && words::fails(&word)
            && (known || links.len() == 1 && !matches!(word.as_str(), "error" | "errorf"))
    }

    fn branch(&mut self, id: Id) {
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
    fn inner(&mut self, id: Id, fails: bool) {
        if fails && self.ast.statements(id).len() <= 1 {
            return;
        }
        self.scan(id);
    }

    fn fails_here(&self, id: Id) -> bool {
        let mut open = vec![id];
        while let Some(at) = open.pop() {
            match self.ast.kind(at) {
                Kind::Throw => return true,
                Kind::Call if self.is_failing(at) => return true,
                Kind::Block | Kind::Else | Kind::Await => open.extend(self.ast.kids(at)),
                _ => {}
            }
        }
        false
    }

    fn skip_in(&self, id: Id) -> Option<String> {
        let here = self.ast.statements(id);
        here.into_iter().find_map(|s| self.skipping(s))
    }

    /// A call that skips the test, or the error that does.
    fn skipping(&self, id: Id) -> Option<String> {
        let ast = self.ast;
        match ast.kind(id) {
            Kind::Throw => {
                let source = ast.source(id);
                ["SkipTest", "SkipException", "TestAbortedException", "Skipped", "XCTSkip"]
                    .iter()
                    .any(|w| source.contains(w))
                    .then(|| ast.shown(id))
            }
            Kind::Return | Kind::Await | Kind::Block | Kind::Else => {
                ast.kids(id).first().and_then(|k| self.skipping(*k))
            }
            Kind::Call | Kind::Name if is_skip(ast, id) => Some(ast.shown(id)),
            _ => None,
        }
    }

    fn skip(&mut self, runs: Runs, by: &str) {
        if self.found.skipped.as_ref().is_none_or(|(had, _)| *had < runs) {
            self.found.skipped = Some((runs, by.to_owned()));
        }
    }

    fn repeat(&mut self, id: Id) {
        let ast = self.ast;
        let kids = ast.kids(id).to_vec();
        let [_, source, body] = kids.as_slice() else {
            return self.kids(id);
        };
        self.table(*source, *body);
        let _ = ast;
    }

    /// A body that runs once for each row of a list.
    fn table(&mut self, source: Id, body: Id) {
        let rows = rows::rows(self.ast, &self.scope, source);
        let empty = rows.as_ref().is_some_and(Vec::is_empty);
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
            },
            |s| s.scan(body),
        );
        self.tables.pop();
        self.given = given;
    }

    fn attempt(&mut self, id: Id) {
        let ast = self.ast;
        let silent = ast.kids_of(id, Kind::Catch).any(|c| self.is_silent(c))
            || ast.kids_of(id, Kind::Finally).any(|f| self.ends(f));
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

    /// What is caught is neither passed on nor looked at.
    fn is_silent(&self, id: Id) -> bool {
        let Some(body) = self.ast.body(id) else { return true };
        let speaks = self.ast.walk(body).any(|n| match self.ast.kind(n) {
            Kind::Throw | Kind::Assert => true,
            Kind::Call => {
                let word = self.ast.chain(n).last().map(|l| plain(l.name)).unwrap_or_default();
                let passes = matches!(word.as_str(), "done" | "reject" | "raise" | "next" | "rethrow" | "throw" | "panic");
                passes || self.is_failing(n) || claims(self.ast, n).is_some()
            }
            Kind::Name => matches!(self.ast.word(n), "raise"),
            _ => false,
        });
        !speaks
    }

    fn with(&mut self, id: Id) {
        let ast = self.ast;
        let (contexts, body) = match ast.kids(id) {
            [contexts @ .., body] => (contexts.to_vec(), *body),
            [] => return,
        };
        let mut swallows = false;
        for context in contexts {
            let call = ast.body(context).filter(|_| ast.kind(context) == Kind::Assign).unwrap_or(context);
            let path = ast.path(call);
            let word = plain(path.rsplit('.').next().unwrap_or_default());
            if matches!(word.as_str(), "raises" | "assertraises" | "assertraisesregex" | "warns" | "assertwarns" | "assertraisesmessage") {
                self.raises(call, body, &word);
                let args = ast.kids(call).get(1..).unwrap_or_default();
                let own = args.iter().any(|a| is_broad(ast, *a) || ast.source(*a).contains("AssertionError"));
                swallows |= own;
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

    fn raises(&mut self, call: Id, body: Id, word: &str) {
        let args = self.ast.kids(call).get(1..).unwrap_or_default().to_vec();
        let message = word.contains("regex") || word.contains("message") || args.len() > 1;
        let broad = args.first().is_none_or(|a| is_broad(self.ast, *a));
        let strength = match (message, broad) {
            (true, _) => Strength::Part,
            (false, true) => Strength::Truthy,
            (false, false) => Strength::Type,
        };
        self.push(call, vec![Claim::new(strength, vec![body], args)]);
    }

    fn switch(&mut self, id: Id) {
        let ast = self.ast;
        let kids = ast.kids(id).to_vec();
        let Some((value, arms)) = kids.split_first() else { return };
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

    /// A chain that asserts by being read: `expect(x).to.be.true`.
    fn property(&mut self, id: Id) {
        let opens = self.ast.chain(id).iter().any(|l| l.args.is_some() && words::opens_subject(&plain(l.name)));
        match claims(self.ast, id).filter(|_| opens) {
            Some(found) => self.push(id, found),
            None => self.kids(id),
        }
    }

    fn call(&mut self, id: Id) {
        let ast = self.ast;
        if is_skip(ast, id) {
            let top = self.around.weak.is_none();
            let runs = if top { Runs::Never } else { Runs::Sometimes };
            return self.skip(runs, &ast.shown(id));
        }
        let links = ast.chain(id);
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        if words::assumes(&word) {
            return self.skip(Runs::Sometimes, &ast.shown(id));
        }
        self.repeats(&links);
        if links.iter().any(|l| plain(l.name) == "catch") && self.swallows_promise(&links) {
            return self.within(|s| s.weaker(SWALLOWED), |s| s.chain(id));
        }
        self.chain(id);
    }

    /// `this.retries(3)`, `jest.setTimeout(…)`.
    fn repeats(&mut self, links: &[Link<'_>]) {
        let Some(last) = links.last() else { return };
        let number = last.arg(0).and_then(|a| literal::value(self.ast.source(a)));
        match plain(last.name).as_str() {
            "retries" | "retrytimes" => self.found.retries = self.found.retries.max(number.unwrap_or(1.0)),
            "timeout" | "settimeout" if links.len() > 1 => self.found.timeout = number.or(self.found.timeout),
            _ => {}
        }
    }

    fn swallows_promise(&self, links: &[Link<'_>]) -> bool {
        let catch = links.iter().find(|l| plain(l.name) == "catch");
        let handler = catch.and_then(|l| l.arg(0)).filter(|h| self.ast.kind(*h) == Kind::Lambda);
        handler.is_some_and(|h| self.is_silent(h))
    }

    fn chain(&mut self, id: Id) {
        let ast = self.ast;
        if let Some(found) = claims(ast, id) {
            self.push(id, found);
            // What is looked at may hold checks of its own only in the callbacks of waiting helpers.
            return;
        }
        let links = ast.chain(id);
        if links.len() == 1 && links[0].args.is_some() && self.follow(links[0].name, id) {
            return;
        }
        if let Some(last) = links.last().filter(|l| matches!(l.name, "assertRaises" | "raises")) {
            let args = last.args.clone().unwrap_or_default();
            self.push(id, vec![Claim::new(Strength::Type, args.clone(), args)]);
        }
        self.callbacks(id, &links);
    }

    /// Functions that are given to a call and run by it.
    fn callbacks(&mut self, id: Id, links: &[Link<'_>]) {
        let ast = self.ast;
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        let kids = ast.kids(id).to_vec();
        let loops = matches!(word.as_str(), "foreach" | "each" | "map" | "eachwithindex" | "some" | "every" | "times");
        let later = matches!(word.as_str(), "settimeout" | "setimmediate" | "nexttick" | "queuemicrotask" | "settinterval");
        let chained = matches!(word.as_str(), "then" | "catch" | "finally") && !self.around.awaited;
        if let Some(callee) = kids.first() {
            self.scan_object(*callee);
        }
        for arg in kids.iter().skip(1) {
            if ast.kind(*arg) != Kind::Lambda {
                self.scan(*arg);
                continue;
            }
            let Some(body) = ast.body(*arg) else { continue };
            if loops && ast.kind(kids[0]) == Kind::Member {
                let source = ast.kids(kids[0]).first().copied().unwrap_or(kids[0]);
                self.table(source, body);
                continue;
            }
            self.within(
                |s| {
                    if later || chained {
                        s.weaker(NOT_AWAITED);
                    }
                },
                |s| s.scan(body),
            );
        }
    }

    fn scan_object(&mut self, callee: Id) {
        if self.ast.kind(callee) == Kind::Member || self.ast.kind(callee) == Kind::Call {
            self.kids(callee);
        }
    }

    /// The checks of a helper count where it is called, with what it is given.
    fn follow(&mut self, name: &str, id: Id) -> bool {
        let local = self.scope.definitions(name).first().copied();
        let Some(def) = local.or_else(|| self.helpers.get(name).copied()) else {
            return false;
        };
        if self.depth >= DEEPEST || !matches!(self.ast.kind(def), Kind::Function | Kind::Lambda) {
            return false;
        }
        let Some(body) = self.ast.body(def) else { return false };
        let args: Vec<Id> = self.ast.kids(id)[1..].to_vec();
        let before = (self.scope.clone(), self.given.clone(), self.around.clone());
        let mut given = self.given.clone();
        for arg in &args {
            given.add(&self.scope.bag(self.ast, *arg));
        }
        self.given = given;
        self.scope = Scope::of(self.ast, def).under(&self.scope);
        self.depth += 1;
        let count = self.found.checks.len();
        self.scan(body);
        self.depth -= 1;
        (self.scope, self.given, self.around) = before;
        for arg in args {
            if self.ast.kind(arg) == Kind::Lambda
                && let Some(body) = self.ast.body(arg)
            {
                self.scan(body);
            }
        }
        self.found.checks.len() > count
    }

    fn push(&mut self, id: Id, claims: Vec<Claim>) {
        for claim in claims {
            let instances = self.tables.last().cloned().unwrap_or_else(|| vec![Bag::default()]);
            let outer = self.tables.len().checked_sub(1).map(|n| self.tables[..n].to_vec()).unwrap_or_default();
            let mut shared = self.given.clone();
            outer.iter().flatten().for_each(|row| shared.add(row));
            for row in instances {
                let check = self.check(id, &claim, &row.with(&shared));
                self.found.checks.push(check);
            }
        }
    }

    fn check(&self, id: Id, claim: &Claim, row: &Bag) -> Check {
        let ast = self.ast;
        let bag = |ids: &[Id]| {
            let mut bag = row.clone();
            ids.iter().for_each(|i| bag.add(&self.scope.bag(ast, *i)));
            bag
        };
        let mut sides = [bag(&claim.subject), bag(&claim.wanted)];
        if let Some(value) = claim.value {
            let mut more = Bag::default();
            more.values.push(value.to_owned());
            sides[1].add(&more);
        }
        let mut strength = loosened(ast, &claim.wanted, claim.strength);
        let mut weak = self.around.weak;
        if claim.promise && !self.around.awaited {
            weak = Some(NOT_AWAITED);
        }
        let nameless = sides[0].names.is_empty() && sides[1].names.is_empty();
        let constant = claim.subject.iter().chain(&claim.wanted).all(|i| {
            ast.walk(*i).all(|n| !matches!(ast.kind(n), Kind::Call | Kind::Name | Kind::Member))
        });
        if nameless && constant {
            strength = Strength::Nothing;
        }
        if weak.is_some_and(|w| w != SOMETIMES) {
            strength = Strength::Nothing;
        }
        let many = |ids: &[Id]| {
            let lists = ids.iter().filter(|i| matches!(ast.kind(**i), Kind::List | Kind::Map));
            lists.map(|i| ast.kids(*i).len()).max().unwrap_or(1).max(1)
        };
        Check {
            line: ast.line(id),
            shown: ast.shown(id),
            strength,
            weak,
            negated: claim.negated,
            room: many(&claim.wanted).max(many(&claim.subject)).max(self.given.values.len()),
            sides,
            flat: ast.flat(id),
            tolerance: claim.tolerance,
        }
    }
}

/// A call, or Ruby's bare word, that ends the test without a result.
fn is_skip(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let (Some(first), Some(last)) = (links.first(), links.last()) else {
        return false;
    };
    if ast.kind(id) == Kind::Name && ast.grammar != Grammar::Ruby {
        return false;
    }
    let owner = plain(first.name);
    let owned = matches!(
        owner.as_str(),
        "t" | "tb" | "b" | "f" | "s" | "self" | "this" | "test" | "it" | "pytest" | "unittest" | "ctx" | "context" | "testing" | "assume" | "assert" | "suite"
    );
    let bare = links.len() == 1 && matches!(ast.grammar, Grammar::Ruby | Grammar::Python);
    let word = plain(last.name);
    let lambda = last.args.iter().flatten().any(|a| ast.kind(*a) == Kind::Lambda);
    words::skips(&word) && (owned && links.len() > 1 || bare && matches!(word.as_str(), "skip" | "pending" | "omit")) && !lambda
}

/// The statements of a body, each with the name that it gives a value.
pub(super) fn statements(ast: &Ast<'_>, body: Id) -> Vec<Statement> {
    let changes = |id: Id| {
        let assigns = ast.kind(id) == Kind::Assign && ast.kids(id).len() > 1;
        let target = ast.kids(id).first().filter(|_| assigns)?;
        ast.chain(*target).first().map(|l| l.name.to_owned())
    };
    let all = ast.statements(body).into_iter();
    all.map(|id| Statement {
        flat: ast.flat(id),
        line: ast.line(id),
        changes: changes(id),
    })
    .collect()
}
