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
pub(super) fn covers(old: &Check, new: &Check, case: &Bag) -> Cover {
    // The message of an error is looked at where the error is wanted, or behind it.
    let by_message = new.raises && old.of_error && new.strength >= Strength::Part;
    let strong = (new.strength >= old.strength || by_message)
        && new.softened.iter().all(|w| old.softened.contains(w))
        && (new.weak.is_none() || new.weak == old.weak)
        && new.tolerance.unwrap_or(0.0) <= old.tolerance.unwrap_or(0.0)
        && polarity(old, new);
    let whole = new.strength == Strength::Exact && new.room > 1 && old.room == 1;
    // A message that is given in full has its part in it.
    let in_full = old.raises && new.raises && new.strength >= old.strength;
    let stricter = new.strength > old.strength || whole && old.strength >= Strength::Part || in_full;
    // How far off a value might be goes with the nearness.
    let apart = old.tolerance.filter(|_| new.tolerance.is_none() && stricter);
    // Elements that are looked at one by one say how many there are, and which stands where.
    let listed = (stricter && new.room > 1).then_some(new.room);
    let fits = |a: &Bag, b: &Bag| holds(b, a, stricter, apart, listed, old.counts, &old.places);
    // A row of a table may stand on either side; what it holds has to be there as a whole.
    let either =
        |[o0, o1]: &[Bag; 2], [n0, n1]: &[Bag; 2]| fits(o0, n0) && fits(o1, n1) || fits(o0, n1) && fits(o1, n0);
    let all = |check: &Check| check.bare[0].clone().with(&check.bare[1]).with(&check.row);
    // The row of a table stands in a check of its own, as far as the check reads it, and in its test as a whole.
    let read = || {
        let there = old.row.values.len() - all(new).missing(&old.row).len();
        there >= old.parts.min(old.row.values.len()) && case.missing(&old.row).is_empty()
    };
    let unrolled = || !old.row.is_empty() && new.row.is_empty() && all(new).knows(&all(old)) && read();
    let same = either(&old.sides, &new.sides) || either(&old.bare, &new.sides) && unrolled();
    if strong && same { Cover::Same } else { Cover::No }
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
fn holds(
    new: &Bag,
    old: &Bag,
    stricter: bool,
    apart: Option<f64>,
    listed: Option<usize>,
    counts: bool,
    places: &[String],
) -> bool {
    if new.holds(old) {
        return true;
    }
    let zeros = |v: &String| matches!(v.as_str(), "null" | "0" | "\"\"" | "false");
    if !new.columns.is_empty() && old.columns.is_empty() && new.knows(old) && new.missing(old).iter().all(zeros) {
        return true;
    }
    if !stricter || !(new.knows(old) || listed.is_some() && new.knows(&without_accessors(old))) {
        return false;
    }
    new.missing(old).iter().all(|value| {
        let inner = value.trim_matches('"');
        let place = listed.is_some() && places.contains(value);
        // A column that a keyed row leaves out has its zero value.
        let zero = !new.columns.is_empty() && matches!(value.as_str(), "null" | "0" | "\"\"" | "false");
        matches!(inner, "true" | "false" | "null")
            || zero
            || place
            || counts && listed.is_some_and(|all| value.parse() == Ok(all))
            || apart.is_some_and(|a| literal::value(value) == Some(a))
            || new.values.iter().any(|v| v.contains(inner))
    })
}

/// Ways to one element, where the whole is looked at.
fn without_accessors(bag: &Bag) -> Bag {
    let ways = [
        "get",
        "at",
        "first",
        "last",
        "fetch",
        "dig",
        "nth",
        "index",
        "get_mut",
        "containsKey",
    ];
    let mut bag = bag.clone();
    bag.names.retain(|n| !ways.contains(&n.as_str()));
    bag
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
