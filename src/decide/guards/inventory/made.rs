//! Claims as checks: with what they reach, and how much of them is left where they stand.

use super::{
    Check, Statement,
    bag::Bag,
    checks::{NOT_AWAITED, SOMETIMES, Scan},
    truth::{Claim, loosened},
    words::Strength,
};
use crate::decide::guards::syntax::{Ast, Id, Kind};

impl Scan<'_, '_> {
    pub(super) fn push(&mut self, id: Id, claims: Vec<Claim>) {
        for claim in claims {
            let instances = self.tables.last().cloned().unwrap_or_else(|| vec![Bag::default()]);
            let outer = self
                .tables
                .len()
                .checked_sub(1)
                .map(|n| self.tables[..n].to_vec())
                .unwrap_or_default();
            let mut shared = self.given.clone();
            outer.iter().flatten().for_each(|row| shared.add(row));
            for row in instances {
                let check = self.check(id, &claim, &row.with(&shared));
                self.found.checks.push(check);
            }
        }
    }

    pub(super) fn check(&self, id: Id, claim: &Claim, row: &Bag) -> Check {
        let ast = self.ast;
        let bag = |ids: &[Id]| {
            let mut bag = row.clone();
            for id in ids {
                bag.add(&self.scope.bag(ast, *id));
            }
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
            ast.walk(*i)
                .all(|n| !matches!(ast.kind(n), Kind::Call | Kind::Name | Kind::Member))
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
            room: many(&claim.wanted)
                .max(many(&claim.subject))
                .max(self.given.values.len()),
            sides,
            flat: ast.flat(id),
            tolerance: claim.tolerance,
        }
    }
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
