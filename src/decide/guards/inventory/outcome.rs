//! What ends a test within its body: a failure, a skip, or a handler that keeps the failure from being one.

use super::{
    checks::Scan,
    operands::claims,
    switch::Runs,
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind};

impl Scan<'_, '_> {
    /// A branch makes the test fail.
    pub(super) fn fails(&self, id: Id) -> bool {
        self.failing_call(id).is_some()
    }

    pub(super) fn failing_call(&self, id: Id) -> Option<Id> {
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

    pub(super) fn is_failing(&self, id: Id) -> bool {
        let links = self.ast.chain(id);
        let (Some(first), Some(last)) = (links.first(), links.last()) else {
            return false;
        };
        let word = plain(last.name);
        let owner = plain(first.name);
        let known = matches!(
            owner.as_str(),
            "t" | "tb"
                | "b"
                | "f"
                | "pytest"
                | "self"
                | "assert"
                | "this"
                | "s"
                | "expect"
                | "assertions"
                | "testing"
                | "done"
        );
        last.args.is_some()
            && words::fails(&word)
            && (known || links.len() == 1 && !matches!(word.as_str(), "error" | "errorf"))
    }

    pub(super) fn fails_here(&self, id: Id) -> bool {
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

    pub(super) fn skip_in(&self, id: Id) -> Option<String> {
        let here = self.ast.statements(id);
        here.into_iter().find_map(|s| self.skipping(s))
    }

    /// A call that skips the test, or the error that does.
    pub(super) fn skipping(&self, id: Id) -> Option<String> {
        let ast = self.ast;
        match ast.kind(id) {
            Kind::Throw => {
                let source = ast.source(id);
                [
                    "SkipTest",
                    "SkipException",
                    "TestAbortedException",
                    "Skipped",
                    "XCTSkip",
                    "skip.Exception",
                ]
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

    pub(super) fn skip(&mut self, runs: Runs, by: &str) {
        if self.found.skipped.as_ref().is_none_or(|(had, _)| *had < runs) {
            self.found.skipped = Some((runs, by.to_owned()));
        }
    }

    /// What is caught is neither passed on nor looked at.
    fn may_fail(&self, claims: &[super::truth::Claim]) -> bool {
        let constant = |id: &Id| {
            self.ast
                .walk(*id)
                .all(|n| !matches!(self.ast.kind(n), Kind::Call | Kind::Name | Kind::Member))
        };
        let fails = |c: &super::truth::Claim| {
            let says = c.subject.iter().chain(&c.wanted);
            c.strength > Strength::Nothing && !says.clone().all(constant)
        };
        claims.iter().any(fails)
    }

    /// What is caught is an assertion that failed, and what is checked in its place says nothing of it.
    pub(super) fn takes_another(&self, attempt: Id, catch: Id) -> bool {
        let ast = self.ast;
        let (Some(body), Some(handler)) = (ast.kids(attempt).first().copied(), ast.body(catch)) else {
            return false;
        };
        let asserts = |n: Id| ast.kind(n) == Kind::Call && claims(ast, n).is_some_and(|c| self.may_fail(&c));
        let head = ast.text[ast.node(catch).start..ast.node(handler).start].to_owned();
        let named: Vec<&str> = head
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
            .collect();
        let looks = ast.walk(handler).any(|n| match ast.kind(n) {
            Kind::Name => named.contains(&ast.word(n)),
            Kind::Throw => true,
            Kind::Call => self.is_failing(n),
            _ => false,
        });
        ast.grammar.is_script() && !looks && ast.statements(body).into_iter().any(asserts)
    }

    pub(super) fn is_silent(&self, id: Id) -> bool {
        let Some(body) = self.ast.body(id) else { return true };
        let speaks = self.ast.walk(body).any(|n| match self.ast.kind(n) {
            Kind::Throw | Kind::Assert => true,
            Kind::Call => {
                let word = self.ast.chain(n).last().map(|l| plain(l.name)).unwrap_or_default();
                let passes = matches!(
                    word.as_str(),
                    "done" | "reject" | "raise" | "next" | "rethrow" | "throw" | "panic"
                );
                passes || self.is_failing(n) || claims(self.ast, n).is_some_and(|c| self.may_fail(&c))
            }
            Kind::Name => matches!(self.ast.word(n), "raise"),
            _ => false,
        });
        !speaks
    }
}

/// A call, or Ruby's bare word, that ends the test without a result.
pub(super) fn is_skip(ast: &Ast<'_>, id: Id) -> bool {
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
        "t" | "tb"
            | "b"
            | "f"
            | "s"
            | "self"
            | "this"
            | "test"
            | "it"
            | "pytest"
            | "unittest"
            | "ctx"
            | "context"
            | "testing"
            | "assume"
            | "assert"
            | "suite"
            | "assumptions"
    );
    let bare = links.len() == 1
        && (matches!(ast.grammar, Grammar::Ruby | Grammar::Python)
            || ast.grammar.is_script() && is_given(ast, id, last.name));
    let word = plain(last.name);
    let lambda = last.args.iter().flatten().any(|a| ast.kind(*a) == Kind::Lambda);
    if word == "abort" && matches!(owner.as_str(), "assumptions" | "assume") {
        return true;
    }
    words::skips(&word)
        && (owned && links.len() > 1 || bare && matches!(word.as_str(), "skip" | "pending" | "omit"))
        && !lambda
}

/// A name that the function around it takes out of what it is given: `({ skip }) => skip()`.
fn is_given(ast: &Ast<'_>, id: Id, name: &str) -> bool {
    let lambdas = ast.above(id).filter(|up| ast.kind(*up) == Kind::Lambda);
    let params = lambdas.filter_map(|l| ast.first_of(l, Kind::Params));
    params.into_iter().any(|p| {
        let source = ast.source(p);
        source.contains('{')
            && source
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .any(|w| w == name)
    })
}
