//! What an expression claims when it has to be true.

use super::words::{self, Strength, plain};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, literal};

/// What one assertion claims, before the names in it are followed.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the claim, and all of them go together"
)]
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) strength: Strength,
    pub(super) negated: bool,
    pub(super) subject: Vec<Id>,
    pub(super) wanted: Vec<Id>,
    /// A value that the word itself names, such as null.
    pub(super) value: Option<&'static str>,
    pub(super) tolerance: Option<f64>,
    /// It says nothing before it is awaited.
    pub(super) promise: bool,
    /// An error is wanted, with what it says.
    pub(super) raises: bool,
    /// How many there are is wanted.
    pub(super) counts: bool,
}

impl Claim {
    pub(super) fn new(strength: Strength, subject: Vec<Id>, wanted: Vec<Id>) -> Self {
        Self {
            strength,
            negated: false,
            subject,
            wanted,
            value: None,
            tolerance: None,
            promise: false,
            raises: false,
            counts: false,
        }
    }

    /// The opposite of a claim tells less, unless it is about truth.
    pub(super) fn not(mut self, negated: bool) -> Self {
        if negated {
            match self.value {
                Some("true") => self.value = Some("false"),
                Some("false") => self.value = Some("true"),
                _ => {
                    self.negated = !self.negated;
                    self.strength = match self.strength {
                        Strength::Exact | Strength::Members => Strength::Part,
                        Strength::Type => Strength::Truthy,
                        other => other,
                    };
                }
            }
        }
        self
    }

    fn valued(mut self, value: &'static str) -> Self {
        self.value = Some(value);
        self
    }
}

/// The claims of an expression; a conjunction makes several.
pub(super) fn truth(ast: &Ast<'_>, id: Id, negated: bool) -> Vec<Claim> {
    match ast.kind(id) {
        Kind::Not => ast
            .kids(id)
            .first()
            .map_or_else(Vec::new, |inner| truth(ast, *inner, !negated)),
        Kind::Binary => binary(ast, id, negated),
        Kind::Constant | Kind::Number | Kind::Text => {
            vec![Claim::new(Strength::Nothing, vec![id], Vec::new())]
        }
        Kind::Call => vec![call(ast, id, negated)],
        Kind::Await | Kind::Block if ast.kids(id).len() == 1 => truth(ast, ast.kids(id)[0], negated),
        _ => vec![bare(ast, id, negated)],
    }
}

/// A value that counts as true. Where the language knows truth only, that is the whole of it.
fn bare(ast: &Ast<'_>, id: Id, negated: bool) -> Claim {
    let typed = matches!(
        ast.grammar,
        Grammar::Rust | Grammar::Go | Grammar::Java | Grammar::CSharp | Grammar::Kotlin | Grammar::Php
    );
    let strength = if typed { Strength::Exact } else { Strength::Truthy };
    let value = if negated { "false" } else { "true" };
    Claim::new(strength, vec![id], Vec::new()).valued(value)
}

fn binary(ast: &Ast<'_>, id: Id, negated: bool) -> Vec<Claim> {
    let kids = ast.kids(id);
    let [left, right] = kids else {
        return vec![bare(ast, id, negated)];
    };
    let (left, right) = (*left, *right);
    let operator = ast.word(id);
    let split = |negated| {
        let mut both = truth(ast, left, negated);
        both.extend(truth(ast, right, negated));
        both
    };
    match (operator, negated) {
        ("&&" | "and", false) | ("||" | "or", true) => split(negated),
        ("||" | "or" | "&&" | "and", _) => vec![either(&split(negated), left, right)],
        ("==" | "===" | "is", _) => vec![equal(ast, left, right).not(negated)],
        ("!=" | "!==" | "is not" | "<>", _) => vec![equal(ast, left, right).not(!negated)],
        ("not in", _) => vec![Claim::new(Strength::Part, vec![left], vec![right]).not(!negated)],
        ("instanceof", _) => vec![Claim::new(Strength::Type, vec![left], vec![right]).not(negated)],
        ("<" | "<=", false) if near(ast, left, right).is_some() => vec![within(ast, left, right)],
        (">" | ">=", false) if near(ast, right, left).is_some() => vec![within(ast, right, left)],
        ("<" | ">" | "<=" | ">=" | "in" | "=~" | "<=>" | "!~", _) => {
            vec![Claim::new(Strength::Part, vec![left], vec![right]).not(negated)]
        }
        _ => vec![bare(ast, id, negated)],
    }
}

/// The number that a distance has to stay below.
fn near(ast: &Ast<'_>, distance: Id, most: Id) -> Option<f64> {
    let last = ast.chain(distance).pop()?;
    let is_distance = matches!(plain(last.name).as_str(), "abs" | "fabs") && last.args.is_some();
    literal::value(ast.source(most)).filter(|_| is_distance)
}

fn within(ast: &Ast<'_>, distance: Id, most: Id) -> Claim {
    let mut claim = Claim::new(Strength::Part, vec![distance], Vec::new());
    claim.tolerance = near(ast, distance, most);
    claim
}

/// One of two is enough: weaker than both.
fn either(claims: &[Claim], left: Id, right: Id) -> Claim {
    let weakest = claims.iter().map(|c| c.strength).min().unwrap_or(Strength::Nothing);
    Claim::new(weakest.min(Strength::Truthy), vec![left], vec![right])
}

fn equal(ast: &Ast<'_>, left: Id, right: Id) -> Claim {
    let strength = if ast.flat(left) == ast.flat(right) {
        Strength::Nothing
    } else if [left, right].iter().any(|side| is_length(ast, *side)) {
        Strength::Part
    } else {
        Strength::Exact
    };
    Claim::new(strength, vec![left], vec![right])
}

/// How many there are, and not which.
pub(super) fn is_length(ast: &Ast<'_>, id: Id) -> bool {
    let links = ast.chain(id);
    let last = links.last().map(|l| plain(l.name)).unwrap_or_default();
    matches!(last.as_str(), "len" | "length") && matches!(ast.kind(id), Kind::Call | Kind::Member)
}

fn call(ast: &Ast<'_>, id: Id, negated: bool) -> Claim {
    let links = ast.chain(id);
    let Some(last) = links.last() else {
        return bare(ast, id, negated);
    };
    let word = plain(last.name);
    let args = last.args.clone().unwrap_or_default();
    let object = ast.kids(id).first().copied().into_iter();
    let strength = match word.as_str() {
        "equal" | "equals" | "deepequal" | "eq" | "eql" | "isequal" | "compare" | "matches" => Strength::Exact,
        "is" if args.len() == 2 => Strength::Exact,
        "isinstance" | "isa" | "kindof" | "isok" | "iserr" | "issome" | "isnone" | "hasattr" | "callable" | "as" => {
            Strength::Type
        }
        "all" | "every" | "allsatisfy" | "allmatch" => Strength::Members,
        "contains" | "includes" | "include" | "startswith" | "endswith" | "hasprefix" | "hassuffix" | "match"
        | "ismatch" | "test" | "any" | "some" | "has" | "isclose" => Strength::Part,
        "bool" | "boolean" => {
            return args
                .first()
                .map_or_else(|| bare(ast, id, negated), |a| bare(ast, *a, negated));
        }
        _ => return bare(ast, id, negated),
    };
    // `matches!(x, Ok(_))` wants the kind only.
    let loose = word == "matches" && args.get(1).is_some_and(|p| ast.source(*p).contains('_'));
    let strength = if loose { Strength::Part } else { strength };
    let (subject, wanted) = match args.as_slice() {
        [a, rest @ ..] if !rest.is_empty() => (object.chain([*a]).collect::<Vec<_>>(), rest.to_vec()),
        _ => (object.collect(), args),
    };
    let same = subject.len() == 2 && wanted.len() == 1 && ast.flat(subject[1]) == ast.flat(wanted[0]);
    let strength = if same { Strength::Nothing } else { strength };
    Claim::new(strength, subject, wanted).not(negated)
}

/// Values that fit many: what stands for "anything" in the place of what is wanted.
pub(super) fn loosened(ast: &Ast<'_>, wanted: &[Id], strength: Strength) -> Strength {
    let loose = |id: Id| {
        let name = match ast.kind(id) {
            Kind::Call | Kind::Member | Kind::Name => ast.chain(id).last().map(|l| plain(l.name)),
            _ => None,
        };
        name.filter(|n| words::is_loose(n))
    };
    if wanted.len() == 1 && loose(wanted[0]).is_some_and(|n| words::is_anything(&n)) {
        return strength.min(Strength::Truthy);
    }
    let inside = |id: &Id| ast.walk(*id).any(|n| loose(n).is_some());
    if wanted.iter().any(inside) {
        return strength.min(Strength::Part);
    }
    strength
}
