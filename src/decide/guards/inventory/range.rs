//! The numbers that a check lets pass: a bound, a nearness, one value. What lets fewer pass wants more, whatever number
//! is written in it.

use super::{
    Check,
    truth::Claim,
    words::{Strength, plain},
};
use crate::decide::guards::{
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, literal},
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    low: f64,
    high: f64,
    /// The number that is written in the check.
    by: String,
}

/// What a claim about a number that is written out lets pass.
pub(super) fn range(ast: &Ast<'_>, id: Id, claim: &Claim, tolerance: Option<f64>) -> Option<Range> {
    let number = |ids: &[Id]| {
        let [only] = ids else { return None };
        // `approx(1.5)` and its like stand for the number in them.
        let near = tolerance.is_some() && ast.kind(*only) == Kind::Call;
        let inner = ast.chain(*only).last().and_then(|l| l.arg(0)).filter(|_| near);
        let at = inner.unwrap_or(*only);
        let value = literal::value(ast.source(at)).filter(|_| ast.kind(at) == Kind::Number);
        value.map(|v| (at, v))
    };
    let right = number(&claim.wanted);
    let (at, value) = right.or_else(|| number(&claim.subject))?;
    let by = literal::number(ast.source(at));
    // What is not above a number is at most that number.
    let between = |low: f64, high: f64| match (claim.negated, low.is_finite(), high.is_finite()) {
        (false, ..) => Some(Range { low, high, by }),
        (true, true, false) => Some(Range {
            low: f64::NEG_INFINITY,
            high: low.next_down(),
            by,
        }),
        (true, false, true) => Some(Range {
            low: high.next_up(),
            high: f64::INFINITY,
            by,
        }),
        (true, ..) => None,
    };
    if let Some(distance) = tolerance {
        return between(value - distance, value + distance);
    }
    // A number of which the next one is not asked for: none lies between.
    let (below, above) = (value.next_down(), value.next_up());
    let operator = ast.above(at).next().filter(|up| ast.kind(*up) == Kind::Binary);
    let turned = right.is_none();
    match operator.map(|up| ast.word(up)) {
        Some("<") if !turned => return between(f64::NEG_INFINITY, below),
        Some("<=") if !turned => return between(f64::NEG_INFINITY, value),
        Some(">") if !turned => return between(above, f64::INFINITY),
        Some(">=") if !turned => return between(value, f64::INFINITY),
        Some("<") => return between(above, f64::INFINITY),
        Some("<=") => return between(value, f64::INFINITY),
        Some(">") => return between(f64::NEG_INFINITY, below),
        Some(">=") => return between(f64::NEG_INFINITY, value),
        _ => {}
    }
    let word = ast.chain(id).last().map(|l| plain(l.name)).unwrap_or_default();
    match word.as_str() {
        _ if claim.strength == Strength::Exact => between(value, value),
        // `assertLess(3, x)` names the number first.
        _ if turned => None,
        w if listed(ABOVE, w) => between(above, f64::INFINITY),
        w if listed(AT_LEAST, w) => between(value, f64::INFINITY),
        w if listed(BELOW, w) => between(f64::NEG_INFINITY, below),
        w if listed(AT_MOST, w) => between(f64::NEG_INFINITY, value),
        _ => None,
    }
}

const ABOVE: &str = "tobegreaterthan isgreaterthan assertgreater greater begreaterthan above isabove gt greaterthan";
const AT_LEAST: &str = "\
    tobegreaterthanorequal isgreaterthanorequalto assertgreaterequal greaterorequal begreaterthanorequalto atleast \
    isatleast gte greaterthanorequalto assertgreaterthanorequal begreaterorequalto";
const BELOW: &str = "tobelessthan islessthan assertless less belessthan below isbelow lt lessthan";
const AT_MOST: &str = "\
    tobelessthanorequal islessthanorequalto assertlessequal lessorequal belessthanorequalto atmost isatmost lte \
    lessthanorequalto assertlessthanorequal belessorequalto";

/// Digits behind the point that have to agree: `assertAlmostEqual(a, b, places=2)`.
pub(super) fn by_places(ast: &Ast<'_>, word: &str, args: &[Id]) -> Option<f64> {
    if ast.grammar != Grammar::Python || !matches!(word, "assertalmostequal" | "assertnotalmostequal") {
        return None;
    }
    let named = |name: &str| {
        args.iter()
            .find(|a| ast.kind(**a) == Kind::Pair && ast.word(**a) == name)
    };
    if let Some(delta) = named("delta") {
        return ast.body(*delta).and_then(|d| literal::value(ast.source(d)));
    }
    let third = args.get(2).filter(|a| ast.kind(**a) == Kind::Number).copied();
    let places = named("places").and_then(|p| ast.body(*p)).or(third);
    let places = places.map_or(Some(7.0), |p| literal::value(ast.source(p)))?;
    Some(0.5 * 10_f64.powf(-places))
}

/// The head's check lets numbers pass that the base's does not.
pub(super) fn differs(old: &Check, new: &Check) -> bool {
    let (Some(was), Some(is)) = (&old.range, &new.range) else {
        return false;
    };
    !(was.low <= is.low && is.high <= was.high)
}

/// The check of the base without its number, where the head's lets a part of the same numbers pass.
pub(super) fn narrowed(old: &Check, new: &Check) -> Option<Check> {
    let (was, is) = (old.range.as_ref()?, new.range.as_ref()?);
    let within = was.low <= is.low && is.high <= was.high;
    if !within || was.low >= was.high || was.by == is.by {
        return None;
    }
    let mut free = old.clone();
    free.range = None;
    for sides in [&mut free.sides, &mut free.bare] {
        let side = sides.iter_mut().find(|s| s.values.contains(&was.by))?;
        let at = side.values.iter().position(|v| *v == was.by)?;
        side.values.remove(at);
    }
    Some(free)
}

#[cfg(test)]
mod tests {
    use super::super::{Foreign, inventory};
    use crate::decide::guards::syntax::{Grammar, parse};

    /// The ranges of the checks of a test in Python.
    fn ranges(body: &str) -> Vec<Option<(f64, f64)>> {
        let text = format!("class A(TestCase):\n    def test_a(self):\n        {body}\n");
        let ast = parse(&text, Grammar::Python).unwrap();
        let found = inventory(&ast, true, &Foreign::default());
        let checks = found.cases.iter().flat_map(|c| &c.checks);
        checks.map(|c| c.range.as_ref().map(|r| (r.low, r.high))).collect()
    }

    #[test]
    fn bounds_nearness_and_one_value() {
        assert_eq!(ranges("assert f() == 3"), [Some((3.0, 3.0))]);
        assert_eq!(ranges("assert f() >= 3"), [Some((3.0, f64::INFINITY))]);
        assert_eq!(
            ranges("assert 3 > f()"),
            [Some((f64::NEG_INFINITY, 3.0_f64.next_down()))]
        );
        assert_eq!(ranges("self.assertLessEqual(f(), 3)"), [Some((f64::NEG_INFINITY, 3.0))]);
        assert_eq!(ranges("self.assertAlmostEqual(f(), 3, places=0)"), [Some((2.5, 3.5))]);
        assert_eq!(ranges("assert f() == approx(200, rel=0.1)"), [Some((180.0, 220.0))]);
        assert_eq!(ranges("assert round(f(), 1) == 2"), [Some((1.95, 2.05))]);
        assert_eq!(ranges("assert not f() > 3"), [Some((f64::NEG_INFINITY, 3.0))]);
        assert_eq!(ranges("assert not f() < 3"), [Some((3.0, f64::INFINITY))]);
        assert_eq!(ranges("assert f() != 3"), [None]);
        assert_eq!(ranges("assert f() == g()"), [None]);
    }
}
