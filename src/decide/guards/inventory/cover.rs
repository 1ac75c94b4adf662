//! Whether one check can stand for another.

use super::{Check, bag::Bag, words::Strength};
use crate::decide::guards::syntax::literal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    No,
    /// At least as strong, about the same.
    Same,
}

/// Whether the head's check wants at least what the base's does.
pub(super) fn covers(old: &Check, new: &Check) -> Cover {
    let strong = new.strength >= old.strength
        && (new.weak.is_none() || new.weak == old.weak)
        && new.tolerance.unwrap_or(0.0) <= old.tolerance.unwrap_or(0.0)
        && polarity(old, new);
    let stricter = new.strength > old.strength;
    // How far off a value might be goes with the nearness.
    let apart = old.tolerance.filter(|_| new.tolerance.is_none() && stricter);
    // Elements that are looked at one by one say how many there are, and which stands where.
    let listed = (stricter && new.room > 1).then_some(new.room);
    let fits = |a: &Bag, b: &Bag| holds(b, a, stricter, apart, listed, old.counts);
    let [o0, o1] = &old.sides;
    let [n0, n1] = &new.sides;
    if strong && (fits(o0, n0) && fits(o1, n1) || fits(o0, n1) && fits(o1, n0)) {
        Cover::Same
    } else {
        Cover::No
    }
}

/// Whether a check may be one element's part of a check of a list: about the same, with values of the list only.
pub(super) fn is_part(old: &Check, new: &Check, wanted: &Bag) -> bool {
    let both = new.sides[0].clone().with(&new.sides[1]);
    new.strength >= old.strength
        && (new.weak.is_none() || new.weak == old.weak)
        && new.tolerance.is_none()
        && polarity(old, new)
        && both.knows(wanted)
        && wanted.missing(&both).is_empty()
}

/// The same turn of the sentence; an exact value says more than "not that one".
fn polarity(old: &Check, new: &Check) -> bool {
    old.negated == new.negated || (old.negated && new.strength == Strength::Exact && old.strength < Strength::Part)
}

/// Names and values of the old side are in the new one. Where the check became stricter, a part of a text may have
/// become the text, and a word for truth a value.
fn holds(new: &Bag, old: &Bag, stricter: bool, apart: Option<f64>, listed: Option<usize>, counts: bool) -> bool {
    if new.holds(old) {
        return true;
    }
    if !stricter || !new.knows(old) {
        return false;
    }
    new.missing(old).iter().all(|value| {
        let inner = value.trim_matches('"');
        let number = literal::value(value);
        let place = listed.is_some_and(|all| number.is_some_and(|n| n < all as f64 && n >= -1.0 && n.fract() == 0.0));
        matches!(inner, "true" | "false" | "null")
            || place
            || counts && listed.is_some_and(|all| number == Some(all as f64))
            || apart.is_some_and(|a| literal::value(value) == Some(a))
            || new.values.iter().any(|v| v.contains(inner))
    })
}

/// The check of the head that was probably made of one of the base; those that stand for no other come first.
pub(super) fn nearest<'c>(old: &Check, checks: &'c [Check], room: &[usize]) -> Option<&'c Check> {
    let score = |new: &Check| {
        let mut both = new.sides[0].clone();
        both.add(&new.sides[1]);
        let mut wanted = old.sides[0].clone();
        wanted.add(&old.sides[1]);
        let names = wanted.names.intersection(&both.names).count();
        let values = wanted.values.len() - both.missing(&wanted).len();
        3 * names + values + usize::from(new.flat == old.flat)
    };
    let free = checks.iter().zip(room).filter(|(c, r)| **r == c.room);
    let best = free
        .map(|(c, _)| (score(c), c))
        .max_by_key(|(s, c)| (*s, std::cmp::Reverse(c.line)));
    best.filter(|(s, _)| *s > 0).map(|(_, c)| c)
}
