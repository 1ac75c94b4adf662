//! What stands beside the tests of a file: set-ups, fixtures, builders, constants. A value that a test had written in it
//! may stand there afterwards, and a check that reaches it by another way is still the same check.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    Case, Check, Role,
    bag::{Bag, Scope},
    cover::{Cover, covers},
    operands::claims,
    switch::Runs,
    words::Strength,
};
use crate::decide::guards::syntax::{Ast, Id, Kind};

/// Everything in a text but the bodies of its tests.
pub(super) fn beside<'a>(ast: &Ast<'a>, outer: &Scope<'a>, roots: &[Id], bodies: BTreeSet<Id>) -> Bag {
    let scope = outer.clone().leaving_out(Rc::new(bodies));
    let mut out = Bag::default();
    for root in roots {
        out.add(&scope.written(ast, *root));
    }
    out
}

/// What the statements of a test give to the locals that it works with: answers of a double, elements of a list.
pub(super) fn acted<'a>(ast: &Ast<'a>, scope: &Scope<'a>, body: Id) -> Bag {
    let mut out = Bag::default();
    for statement in ast.statements(body) {
        let call = match ast.kind(statement) {
            Kind::Await => ast.kids(statement).first().copied().unwrap_or(statement),
            _ => statement,
        };
        let links = ast.chain(call);
        let on_local = links.len() > 1 && links.first().is_some_and(|l| scope.is_local(l.name));
        let member = ast.kids(call).first().is_some_and(|c| ast.kind(*c) == Kind::Member);
        if ast.kind(call) == Kind::Call && member && on_local && claims(ast, call).is_none() {
            out.add(&scope.written(ast, call));
        }
    }
    out
}

/// What stands beside the tests of all files, before and after.
#[derive(Debug, Default)]
pub(super) struct Beside {
    was: BTreeMap<String, usize>,
    is: BTreeMap<String, usize>,
    names: BTreeSet<String>,
    grown: Bag,
}

impl Beside {
    pub(super) fn of(was: &Bag, is: &Bag) -> Self {
        let count = |bag: &Bag| {
            let mut out = BTreeMap::new();
            for value in &bag.values {
                *out.entry(value.clone()).or_default() += 1;
            }
            out
        };
        Self {
            was: count(was),
            is: count(is),
            names: is.names.union(&is.reach).cloned().collect(),
            grown: Bag {
                values: was.missing(is),
                ..Bag::default()
            },
        }
    }

    /// What stands there more often than before.
    pub(super) fn grown(&self) -> &Bag {
        &self.grown
    }

    fn grew(&self, value: &str) -> bool {
        self.is.get(value).copied().unwrap_or_default() > self.was.get(value).copied().unwrap_or_default()
    }

    fn stays(&self, value: &str) -> bool {
        let is = self.is.get(value).copied().unwrap_or_default();
        is > 0 && is >= self.was.get(value).copied().unwrap_or_default()
    }

    /// Whether a check of the head stands for one of the base, when what the test lost is looked for beside it.
    pub(super) fn covers(&self, old: &Case, check: &Check, new: &Case, other: &Check) -> bool {
        let had = |v: &String| old.all.values.contains(v) || self.was.contains_key(v) || check.own.values.contains(v);
        if other.strength < check.strength || !other.own.values.iter().all(had) {
            return false;
        }
        let both = other.sides[0].clone().with(&other.sides[1]);
        let wanted = check.sides[0].clone().with(&check.sides[1]);
        let lost_values = both.missing(&wanted);
        let knows = |n: &&String| both.names.contains(*n) || both.reach.contains(*n);
        let lost_names: BTreeSet<String> = wanted.names.iter().filter(|n| !knows(n)).cloned().collect();
        // What the base's test did already gave no value to what it wanted.
        let acted = Bag {
            values: old.acted.missing(&new.acted),
            names: new.acted.names.difference(&old.acted.names).cloned().collect(),
            ..Bag::default()
        };
        let accounted = |value: &String| {
            self.grew(value)
                || acted.values.contains(value)
                || !old.written.values.contains(value) && self.stays(value)
                || check.places.contains(value) && other.places.is_empty()
        };
        // A class, as that of an error, may be asked for by a check of its own.
        let asked = |name: &String| {
            let class = name.starts_with(char::is_uppercase);
            let has = |c: &Check| c.weak.is_none() && c.sides.iter().any(|s| s.names.contains(name));
            let error = check.of_error || check.raises;
            error && class && new.checks.iter().any(has) || both.values.contains(&format!("\"{name}\""))
        };
        let reached = |name: &String| self.names.contains(name) || acted.names.contains(name) || asked(name);
        if !lost_values.iter().all(accounted) || !lost_names.iter().all(reached) {
            return false;
        }
        let lean = without(check, &lost_values, &lost_names);
        let says = |c: &Check| c.sides.iter().any(|s| !s.values.is_empty() || !s.names.is_empty());
        (says(&lean) || check.flat == other.flat) && covers(&lean, other, &new.all) == Cover::Same
    }
}

/// The check without what is found elsewhere.
fn without(check: &Check, values: &[String], names: &BTreeSet<String>) -> Check {
    let mut lean = check.clone();
    for sides in [&mut lean.sides, &mut lean.bare] {
        let mut left: Vec<&String> = values.iter().collect();
        for side in sides.iter_mut() {
            side.names.retain(|n| !names.contains(n));
            side.values.retain(|v| match left.iter().position(|l| *l == v) {
                Some(at) => {
                    left.swap_remove(at);
                    false
                }
                None => true,
            });
        }
    }
    // Where nothing else is left, the way to it tells nothing.
    for side in lean.sides.iter_mut().chain(&mut lean.bare) {
        if side.values.is_empty() && side.names.is_empty() {
            side.reach.clear();
        }
    }
    lean
}

/// An error with its message may be wanted by one check of its kind and one of its message.
pub(super) fn told_apart(check: &Check, new: &Case) -> bool {
    let wanted = check.sides[0].clone().with(&check.sides[1]);
    let sound = |c: &Check| c.weak.is_none() && !c.negated;
    let holds = |kind: &Check, message: &Check| {
        let all = kind.sides[0]
            .clone()
            .with(&kind.sides[1])
            .with(&message.sides[0])
            .with(&message.sides[1]);
        let missing = kind.sides[0].clone().with(&kind.sides[1]).missing(&wanted);
        let told = |v: &String| all.values.iter().any(|x| x.contains(v.trim_matches('"')));
        all.knows(&wanted) && missing.iter().all(told)
    };
    check.raises
        && !check.negated
        && new.checks.iter().any(|kind| {
            let messages = new.checks.iter().filter(|m| m.of_error && sound(m));
            kind.strength >= Strength::Type
                && sound(kind)
                && !kind.of_error
                && messages
                    .filter(|m| m.strength >= Strength::Part)
                    .any(|m| holds(kind, m))
        })
}

/// What a double was asked may be told by a list that another one keeps: an exact look at something that the base's test
/// did not know, with all that the double was asked with.
pub(super) fn told_by_record(check: &Check, old: &Case, new: &Case) -> bool {
    let wanted = check.sides[0].clone().with(&check.sides[1]);
    let asked = wanted.values.iter().filter(|v| v.starts_with('"'));
    let asked: Vec<&str> = asked.map(|v| v.trim_matches('"')).filter(|v| !v.is_empty()).collect();
    check.asks_double
        && new.checks.iter().any(|c| {
            let both = c.sides[0].clone().with(&c.sides[1]);
            let keeps = !c.asks_double && c.weak.is_none() && c.strength == Strength::Exact && !c.negated;
            let fresh = !old.checks.iter().any(|o| o.flat == c.flat);
            let told = asked.iter().all(|a| both.values.iter().any(|v| v.contains(a)));
            keeps && fresh && told && (!asked.is_empty() || c.listed.is_empty() || check.negated)
        })
}

/// A test that takes the place of another: about the same, with most of its values.
pub(super) fn follows(old: &Case, new: &Case) -> bool {
    let lost = new.all.missing(&old.all).len();
    let shares = old.all.names.is_empty() || old.all.names.intersection(&new.all.names).next().is_some();
    let checks = new
        .checks
        .iter()
        .any(|c| c.weak.is_none() && c.strength > Strength::Nothing);
    let runs = new.role == Role::Test && new.switch.runs == Runs::Always;
    runs && checks && shares && 2 * lost <= old.all.values.len()
}

/// The values of all checks: as often as they are written, and as often as one of them has each.
pub(super) fn checked(checks: &[Check]) -> Bag {
    let mut out = Bag::default();
    let mut seen = BTreeSet::new();
    // The rows of a table repeat what is written once.
    for check in checks.iter().filter(|c| seen.insert((c.line, &c.flat))) {
        out.add(&check.own);
    }
    for side in checks.iter().flat_map(|c| &c.sides) {
        let more = out.missing(side);
        out.values.extend(more);
        out.values.sort();
    }
    out
}
