//! Whether one check can stand for another.

use super::{Case, Check, bag::Bag, words::Strength};
use crate::decide::guards::{listed::listed, syntax::literal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    No,
    /// At least as strong, about the same.
    Same,
}

/// Whether the head's check wants at least what the base's does.
pub(super) fn covers(old: &Check, new: &Check, case: &Bag) -> Cover {
    if let Some(plain) = not_nothing(old)
        && !new.negated
        && (new.strength >= Strength::Part || new.strength == Strength::Truthy && only_null(old))
        && !wants_nothing(new)
    {
        return covers(&plain, new, case);
    }
    if let Some(plain) = old.says_empty().then(|| without_empty(old))
        && new.wants_empty()
    {
        return covers(&plain, new, case);
    }
    if super::range::differs(old, new) {
        return Cover::No;
    }
    if let Some(free) = super::range::narrowed(old, new) {
        return covers(&free, new, case);
    }
    let strong = is_as_strong(old, new);
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
    // A field that is looked at by name is an entry of the whole.
    let as_field = || {
        let entry = |side: &Bag, other: &Bag| {
            let mut side = side.clone();
            side.names.retain(|n| !other.names.contains(n));
            side
        };
        let [n0, n1] = &new.sides;
        let [o0, o1] = &old.sides;
        new.strength == Strength::Exact
            && new.whole.is_some()
            && old.whole.is_none()
            && (fits(&entry(o0, n1), n0) && fits(o1, n1) || fits(o0, n1) && fits(&entry(o1, n0), n0))
    };
    let same = either(&old.sides, &new.sides) || as_field() || either(&old.bare, &new.sides) && unrolled();
    if strong && same { Cover::Same } else { Cover::No }
}

/// As hard to pass, whatever it is about.
fn is_as_strong(old: &Check, new: &Check) -> bool {
    // The message of an error is looked at where the error is wanted, or behind it.
    let by_message = new.raises && old.of_error && new.strength >= Strength::Part;
    (new.strength >= old.strength || by_message)
        && softens_no_more(old, new)
        && (new.weak.is_none() || new.weak == old.weak)
        && new.tolerance.unwrap_or(0.0) <= old.tolerance.unwrap_or(0.0)
        && !shuffled(old, new)
        && polarity(old, new)
}

fn softens_no_more(old: &Check, new: &Check) -> bool {
    new.softened.iter().all(|w| old.softened.contains(w))
}

/// The same claim in another form: as strong, all its values in one check, whatever stands on which side, and each name
/// somewhere in the test.
pub(super) fn covers_in_another_form(old: &Check, new: &Check, case: &Bag) -> bool {
    let both = new.sides[0].clone().with(&new.sides[1]);
    let wanted = old.sides[0].clone().with(&old.sides[1]);
    let says = !wanted.values.is_empty() || !wanted.names.is_empty();
    let shares = wanted.names.is_empty()
        || wanted
            .names
            .iter()
            .any(|n| both.names.contains(n) || both.reach.contains(n));
    let missing = both.missing(&wanted);
    let in_lines = |v: &String| {
        let inner = v.trim_matches('"');
        let lines: Vec<&str> = inner.split("\\n").filter(|l| !l.is_empty()).collect();
        lines.len() > 1
            && lines
                .iter()
                .all(|l| both.values.iter().any(|have| have.trim_matches('"') == *l))
    };
    // Where the form is the same, only a value is another.
    let another_form = old.flat != new.flat || !missing.is_empty();
    another_form
        && says
        && shares
        && is_as_strong(old, new)
        && !super::range::differs(old, new)
        && missing.iter().all(in_lines)
        && wanted
            .names
            .iter()
            .all(|n| case.names.contains(n) || case.reach.contains(n) || both.reach.contains(n))
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

/// A text that the pattern of the base finds.
fn fits_pattern(pattern: &str, value: &str) -> bool {
    let bare = pattern.trim_start_matches('r').trim_matches(['/', '"', '\'']);
    let special = bare.contains(['^', '$', '\\', '.', '*', '+', '[']) && bare.len() > 2 && bare.len() < 500;
    let plain = pattern.trim_matches('"').starts_with('/') && bare.chars().all(|c| c.is_alphanumeric() || c == ' ');
    if plain && !bare.is_empty() {
        return value.contains(bare);
    }
    special && regex::Regex::new(bare).is_ok_and(|r| r.is_match(value.trim_matches('"')))
}

/// Whether a look at a part of a thing stands in a check of the whole, which may hold many such parts.
pub(super) fn stands_in_whole(old: &Check, new: &Check, case: &Bag) -> bool {
    in_whole(old, new).is_some_and(|part| covers(&part, new, case) == Cover::Same)
}

/// A value that is wanted as it is has any number of parts, each of which was looked at by itself.
pub(super) fn stands_in_exact(old: &Check, new: &Check, case: &Bag) -> bool {
    let parts = old.strength <= Strength::Part && !old.negated && old.tolerance.is_none();
    parts && new.strength == Strength::Exact && new.room == 1 && covers(old, new, case) == Cover::Same
}

/// A part of a thing, where the head wants the whole: by which key it was found stands in the whole or needs no place.
fn in_whole(old: &Check, new: &Check) -> Option<Check> {
    let entries = new
        .whole
        .filter(|_| new.strength == Strength::Exact && new.tolerance.is_none())?;
    if old.keys.is_empty() && !old.counts || old.whole.is_some() {
        return None;
    }
    let mut part = old.clone();
    let counted = entries.to_string();
    for side in &mut part.sides {
        *side = without_accessors(side);
        side.names.retain(|n| !old.fields.contains(n));
        let none = |s: &Bag| s.is_empty() || s.values.iter().any(|v| v == "null");
        let wants_none = old.strength == Strength::Exact && old.sides.iter().any(none);
        side.values.retain(|v| {
            let key = old.keys.contains(v)
                && (new.flat.contains(v.trim_matches('"')) || wants_none || v.parse::<f64>().is_ok());
            let count = old.counts && *v == counted;
            !(key || count || wants_none && v == "null")
        });
    }
    Some(part)
}

/// Words for a value that is none.
fn is_nothing(value: &str) -> bool {
    matches!(value, "null" | "\"\"" | "0" | "false")
}

fn wants_nothing(check: &Check) -> bool {
    check.sides.iter().flat_map(|s| &s.values).any(|v| is_nothing(v))
}

/// What it is not is none, and nothing else.
fn only_null(check: &Check) -> bool {
    check
        .sides
        .iter()
        .flat_map(|s| &s.values)
        .all(|v| !is_nothing(v) || v == "null")
}

/// A check that only says that there is something.
fn says_it_is_there(check: &Check) -> bool {
    not_nothing(check).is_some() && only_null(check)
}

/// "There is one" in the words "it is not none".
fn not_nothing(check: &Check) -> Option<Check> {
    let nothing = |b: &Bag| !b.values.is_empty() && b.names.is_empty() && b.values.iter().all(|v| is_nothing(v));
    let found = check.sides.iter().any(nothing) && check.row.is_empty();
    (check.negated && check.strength >= Strength::Part && found).then(|| {
        let mut plain = check.clone();
        plain.negated = false;
        plain.strength = Strength::Truthy;
        for side in plain.sides.iter_mut().chain(plain.bare.iter_mut()) {
            side.values.retain(|v| !is_nothing(v));
        }
        plain
    })
}

/// What is empty, without the word for it.
fn without_empty(check: &Check) -> Check {
    let mut plain = check.clone();
    for side in plain.sides.iter_mut().chain(plain.bare.iter_mut()) {
        side.names.retain(|n| !is_empty_word(n));
        if let Some(at) = side.values.iter().position(|v| v == "true") {
            side.values.remove(at);
        }
    }
    plain
}

pub(super) fn is_empty_word(name: &str) -> bool {
    listed(
        "isempty empty tobeempty tobearrayempty beempty beanemptystring isempty? empty?",
        &super::words::plain(name),
    )
}

/// The same elements in another order, where the order is looked at.
fn shuffled(old: &Check, new: &Check) -> bool {
    let sorted = |check: &Check| {
        let mut all = check.listed.clone();
        all.sort();
        all
    };
    // A list of which one is the beginning of the other is another list.
    let other_length = !old.listed.is_empty()
        && !new.listed.is_empty()
        && old.listed.len() != new.listed.len()
        && (old.listed.iter().all(|e| new.listed.contains(e)) || new.listed.iter().all(|e| old.listed.contains(e)));
    old.strength == Strength::Exact
        && new.strength == Strength::Exact
        && old.listed != new.listed
        && (sorted(old) == sorted(new) || other_length)
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
            // A key that was looked for is one of the whole.
            || value.starts_with('"') && new.names.contains(inner)
            || new.values.iter().any(|v| v.contains(inner) || fits_pattern(inner, v))
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
        "len",
        "length",
        "size",
        "count",
        "calls",
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

/// `expect.assertions(2)` says nothing more where every check runs.
pub(super) fn counts_itself(check: &Check, new: &Case) -> bool {
    let plan = ["assertions", "hasAssertions", "plan"];
    let says = check.flat.split(' ').nth(2).is_some_and(|w| plan.contains(&w));
    let all_run =
        new.checks.iter().all(|c| c.weak.is_none()) && !new.statements.iter().any(|s| s.flat.starts_with("try"));
    let wanted = check.own.values.first().and_then(|v| v.parse::<usize>().ok());
    says && all_run && new.checks.len() >= wanted.unwrap_or(1)
}

/// In what a check of the head falls short of one of the base.
pub(super) fn weaker(old: &Check, new: &Check) -> (&'static str, &'static str) {
    match new.weak {
        Some(why) if old.weak.is_none() => {
            let rule = if why.contains("swallowed") {
                "swallowed-failure"
            } else {
                "assertion-loosened"
            };
            return (rule, why);
        }
        _ => {}
    }
    if new.strength == Strength::Nothing {
        ("assertion-loosened", "the check cannot fail any more")
    } else if new.strength < old.strength || !old.negated && says_it_is_there(new) {
        ("assertion-loosened", "the check is weaker than it was")
    } else if !softens_no_more(old, new) {
        ("assertion-loosened", "differences are taken away before it compares")
    } else if old.tolerance.unwrap_or(0.0) < new.tolerance.unwrap_or(0.0) {
        ("assertion-loosened", "the check allows a wider difference than it did")
    } else {
        ("expectation-rewritten", "what the check wants is another value")
    }
}
