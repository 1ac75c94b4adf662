//! Calls within a body: assertions, helpers that hold some, and functions that are given along.

use super::{
    bag::Scope,
    checks::{NOT_AWAITED, SWALLOWED, Scan},
    operands::claims,
    outcome::is_skip,
    rows,
    switch::Runs,
    truth::Claim,
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Id, Kind, Link, literal};

/// Helpers of helpers are followed this far.
const DEEPEST: usize = 4;

impl Scan<'_, '_> {
    /// A chain that asserts by being read: `expect(x).to.be.true`.
    pub(super) fn property(&mut self, id: Id) {
        let opens = self
            .ast
            .chain(id)
            .iter()
            .any(|l| l.args.is_some() && words::opens_subject(&plain(l.name)));
        match claims(self.ast, id).filter(|_| opens) {
            Some(found) => self.push(id, found),
            None => self.kids(id),
        }
    }

    pub(super) fn call(&mut self, id: Id) {
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
    pub(super) fn repeats(&mut self, links: &[Link<'_>]) {
        let Some(last) = links.last() else { return };
        let number = last.arg(0).and_then(|a| literal::value(self.ast.source(a)));
        match plain(last.name).as_str() {
            "retries" | "retrytimes" => self.found.retries = self.found.retries.max(number.unwrap_or(1.0)),
            "timeout" | "settimeout" if links.len() > 1 => self.found.timeout = number.or(self.found.timeout),
            _ => {}
        }
    }

    pub(super) fn swallows_promise(&self, links: &[Link<'_>]) -> bool {
        let catch = links.iter().find(|l| plain(l.name) == "catch");
        let handler = catch
            .and_then(|l| l.arg(0))
            .filter(|h| self.ast.kind(*h) == Kind::Lambda);
        handler.is_some_and(|h| self.is_silent(h))
    }

    pub(super) fn chain(&mut self, id: Id) {
        let ast = self.ast;
        if self.own_helper(id) {
            return;
        }
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

    /// A helper of the file whose name alone says that it asserts: what it checks stands in its body.
    fn own_helper(&mut self, id: Id) -> bool {
        let links = self.ast.chain(id);
        let name = match links.as_slice() {
            [only] if only.args.is_some() => only.name,
            [owner, last] if matches!(owner.name, "self" | "this") && last.args.is_some() => last.name,
            _ => return false,
        };
        words::is_assertion(&plain(name)) && self.helpers.contains_key(name) && self.follow(name, id)
    }

    /// Functions that are given to a call and run by it.
    pub(super) fn callbacks(&mut self, id: Id, links: &[Link<'_>]) {
        let ast = self.ast;
        let word = links.last().map(|l| plain(l.name)).unwrap_or_default();
        let kids = ast.kids(id).to_vec();
        let loops = matches!(
            word.as_str(),
            "foreach" | "each" | "map" | "eachwithindex" | "some" | "every" | "times" | "eachpair"
        );
        let later = matches!(
            word.as_str(),
            "settimeout" | "setimmediate" | "nexttick" | "queuemicrotask" | "settinterval"
        );
        let chained = matches!(word.as_str(), "then" | "catch" | "finally") && !self.around.awaited;
        if let Some(callee) = kids.first() {
            self.scan_object(*callee);
        }
        let by_rows = matches!(word.as_str(), "forall" | "withdata" | "foreachrow" | "checkall");
        if let Some(body) = kids
            .last()
            .filter(|b| ast.kind(**b) == Kind::Lambda)
            .and_then(|b| ast.body(*b))
            && by_rows
            && kids.len() > 2
        {
            let rows = rows::given(ast, &self.scope, id);
            self.tables.push(rows);
            self.scan(body);
            self.tables.pop();
            return;
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
                    if matches!(word.as_str(), "catchunwind" | "runcatching") {
                        s.weaker(SWALLOWED);
                    }
                },
                |s| s.scan(body),
            );
        }
    }

    pub(super) fn scan_object(&mut self, callee: Id) {
        if self.ast.kind(callee) == Kind::Member || self.ast.kind(callee) == Kind::Call {
            self.kids(callee);
        }
    }

    /// The checks of a helper count where it is called, with what it is given.
    pub(super) fn follow(&mut self, name: &str, id: Id) -> bool {
        let local = self.scope.definitions(name).first().copied();
        let Some(def) = local.or_else(|| self.helpers.get(name).copied()) else {
            return self.follow_elsewhere(name, id);
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

    /// The same for a helper of another file.
    fn follow_elsewhere(&mut self, name: &str, id: Id) -> bool {
        let Some((file, def)) = self.foreign.and_then(|f| f.get(name, self.ast)) else {
            return false;
        };
        let body = file
            .ast
            .body(def)
            .filter(|_| matches!(file.ast.kind(def), Kind::Function | Kind::Lambda));
        let Some(body) = body.filter(|_| self.depth < DEEPEST) else {
            return false;
        };
        let scope = Scope::of(file.ast, def).under(&file.scope);
        let mut inner = Scan::new(file.ast, scope, &file.helpers, self.tables.clone());
        inner.given = self.given.clone();
        for arg in &self.ast.kids(id)[1..] {
            inner.given.add(&self.scope.bag(self.ast, *arg));
        }
        inner.around = self.around.clone();
        inner.depth = self.depth + 1;
        inner.scan(body);
        let found = inner.found.checks;
        let any = !found.is_empty();
        self.found.checks.extend(found);
        any
    }
}
