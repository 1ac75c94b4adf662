//! How near, how wide, which error: what stands beside the wanted value.

use super::{
    truth::Claim,
    words::{Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Id, Kind, literal};

/// How near, how wide: what stands beside the wanted value.
pub(super) fn narrow(ast: &Ast<'_>, claim: &mut Claim) {
    let near = |id: Id| ast.chain(id).last().map(|l| plain(l.name));
    let word = claim
        .wanted
        .first()
        .and_then(|w| ast.above(*w).find(|up| ast.kind(*up) == Kind::Call))
        .and_then(near);
    if let Some(
        "tobecloseto" | "closeto" | "iscloseto" | "bewithin" | "approximately" | "beapproximately" | "shouldbewithin",
    ) = word.as_deref()
    {
        let number = claim.wanted.get(1).and_then(|n| literal::value(ast.source(*n)));
        // Digits allow less the more there are.
        claim.tolerance = match word.as_deref() {
            Some("tobecloseto") => Some(10_f64.powf(-number.unwrap_or(2.0))),
            _ => number,
        };
        claim.wanted.truncate(1);
    }
    // `isEqualTo(1.5, within(0.1))`
    let distance = claim.wanted.get(1).and_then(|w| ast.chain(*w).pop());
    if let Some(distance) = distance.filter(|l| {
        matches!(
            plain(l.name).as_str(),
            "within" | "offset" | "byless" | "byatmost" | "withpercentage" | "withinpercentage"
        )
    }) {
        // A distance that is no number here may be any.
        let number = distance.arg(0).and_then(|n| literal::value(ast.source(n)));
        claim.tolerance = number.or(Some(f64::MAX));
        claim.strength = claim.strength.min(Strength::Part);
        claim.wanted.truncate(1);
    }
    // An error of any message.
    let bare = claim.wanted.is_empty() || claim.wanted.iter().all(|w| is_broad(ast, *w));
    if claim.strength == Strength::Type && !bare && claim.wanted.iter().any(|w| says_message(ast, *w)) {
        claim.strength = Strength::Part;
        claim.raises = true;
    } else if claim.strength == Strength::Type && bare {
        claim.strength = Strength::Truthy;
    }
}

fn says_message(ast: &Ast<'_>, id: Id) -> bool {
    match ast.kind(id) {
        Kind::Text | Kind::Spread => true,
        Kind::Pair => matches!(plain(ast.word(id)).as_str(), "match" | "message" | "matching"),
        Kind::Map => ast.kids(id).iter().any(|k| says_message(ast, *k)),
        // `new RangeError("…")`
        Kind::Call => ast.kids(id)[1..].iter().any(|a| ast.kind(*a) == Kind::Text),
        _ => false,
    }
}

/// A class that nearly every error belongs to.
pub(super) fn is_broad(ast: &Ast<'_>, id: Id) -> bool {
    let words = [
        "Exception",
        "BaseException",
        "Error",
        "Throwable",
        "StandardError",
        "RuntimeError",
        "RuntimeException",
        "Object",
    ];
    match ast.kind(id) {
        Kind::List | Kind::Types => ast.kids(id).iter().any(|k| is_broad(ast, *k)),
        Kind::Name | Kind::Member => words.contains(&ast.word(id)),
        Kind::Assign => ast.body(id).is_some_and(|b| is_broad(ast, b)),
        Kind::Other => ast.kids(id).len() == 1 && is_broad(ast, ast.kids(id)[0]),
        _ => false,
    }
}

/// `Double.MAX_VALUE`, `float("inf")`, `Infinity`: as far off as can be.
pub(super) fn endless(source: &str) -> Option<f64> {
    let words = [
        "MAX_VALUE",
        "Infinity",
        "INFINITY",
        "\"inf\"",
        "math.inf",
        "MaxFloat64",
        "MaxValue",
    ];
    words.iter().any(|w| source.contains(w)).then_some(f64::MAX)
}
