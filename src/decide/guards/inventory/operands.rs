//! Reads a call as assertions: what is looked at, what is wanted, how exactly.

use super::{
    sayings::{expected_calls, foretold, how_often, is_once_with, of_exception_type, once, said_by_truth},
    truth::{Claim, truth},
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Grammar, Id, Kind, Link, literal};

/// The claims of a call; none when it is no assertion.
pub(super) fn claims(ast: &Ast<'_>, id: Id) -> Option<Vec<Claim>> {
    let links = ast.chain(id);
    let last = links.last()?;
    let word = plain(last.name);
    if let Some(found) = sentence(ast, &links) {
        return Some(found);
    }
    let says = ["must", "wont", "should"]
        .iter()
        .any(|w| word.strip_prefix(w).is_some_and(|rest| !rest.is_empty()));
    if links.len() > 1 && says && last.args.is_some() {
        let subject = before(ast, id);
        let wanted = last.args.clone().unwrap_or_default();
        let negated = word.starts_with("wont") || word.starts_with("shouldnot");
        let bare = word.replacen("wont", "must", 1).replacen("shouldnot", "should", 1);
        return Some(vec![Claim::new(words::matcher(&bare), subject, wanted).not(negated)]);
    }
    if plain(links[0].name) == "verify" && links.len() > 1 && links[0].args.is_some() {
        let wanted = links[1..].iter().flat_map(|l| l.args.clone().unwrap_or_default());
        let (strength, never) = how_often(ast, &links[0]);
        let claim = Claim::new(strength, vec![ast.kids(id)[0]], wanted.collect());
        return Some(vec![claim.not(never)]);
    }
    if let Some(found) = expected_calls(ast, &links) {
        return Some(vec![found]);
    }
    if let Some(found) = foretold(ast, &word, last) {
        return Some(vec![found]);
    }
    // What no one else was asked: `verifyNoMoreInteractions(mock)`.
    if word.starts_with("verifyno") || word.starts_with("confirmverified") {
        return Some(vec![Claim::new(Strength::Exact, last.args.clone()?, Vec::new())]);
    }
    assertion(ast, id, &links)
}

/// What a call is made on.
fn before(ast: &Ast<'_>, id: Id) -> Vec<Id> {
    let callee = ast.kids(id).first().copied();
    callee.into_iter().flat_map(|c| ast.kids(c).to_vec()).collect()
}

/// `expect(x).not.toBe(y)`, `assertThat(x).isEqualTo(y)`, `expect(x).to eq(y)`.
fn sentence(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<Vec<Claim>> {
    let one_liner = |l: &Link<'_>| ast.grammar == Grammar::Ruby && l.name == "is_expected";
    let opens = |l: &Link<'_>| words::opens_subject(&plain(l.name)) && l.args.is_some() || one_liner(l);
    let at = links.iter().position(opens)?;
    if plain(links[0].name) == "expect" && links[0].args.is_none() && links.len() == 2 {
        return None;
    }
    let open = &links[at];
    let word = plain(open.name);
    let mut args = open.args.clone().unwrap_or_default();
    let rest = &links[at + 1..];
    if one_liner(open) {
        args = vec![open.id];
    }
    if at > 0 && word == "should" && args.is_empty() && !rest.is_empty() {
        // `x.Should().Be(y)`
        args.push(links[at - 1].id);
    } else if at > 0 && matches!(word.as_str(), "expect" | "should") && !is_library(links[at - 1].name) {
        return Some(steps(ast, &links[at..], links[at - 1].id));
    }
    if rest.is_empty() {
        return hamcrest(ast, &word, &args);
    }
    if let Some(found) = of_exception_type(ast, &word, &args, rest) {
        return Some(found);
    }
    let subject: Vec<Id> = args.iter().take(1).copied().collect();
    let promise = rest.iter().any(|l| {
        matches!(
            plain(l.name).as_str(),
            "resolves" | "rejects" | "eventually" | "become" | "fulfilled"
        )
    });
    let mut out = Vec::new();
    let mut negated = false;
    if rest.iter().any(|l| is_once_with(&plain(l.name))) {
        out.push(once(&subject));
    }
    for (n, link) in rest.iter().enumerate() {
        let word = plain(link.name);
        match (word.as_str(), &link.args) {
            ("not" | "never" | "isnot", None) => negated = !negated,
            ("to" | "tonot" | "notto" | "toeventually", Some(args)) => {
                let turned = negated ^ (word != "to" && word != "toeventually");
                out.extend(args.iter().take(1).flat_map(|m| matcher(ast, &subject, *m, turned)));
            }
            (_, Some(args)) if !is_connector(&word) || word == "be" && !args.is_empty() => {
                out.push(worded(&word, &subject, args).not(negated));
            }
            // A property that asserts by being read.
            (_, None) if n + 1 == rest.len() && !is_connector(&word) => {
                out.push(worded(&word, &subject, &[]).not(negated));
            }
            _ => {}
        }
    }
    if out.is_empty() {
        out.push(Claim::new(Strength::Nothing, subject, Vec::new()));
    }
    if let ([claim], false) = (out.as_slice(), promise)
        && let Some(inner) = said_by_truth(ast, claim)
    {
        return Some(inner);
    }
    for claim in &mut out {
        claim.promise = promise;
        narrow(ast, claim);
    }
    Some(out)
}

fn is_library(name: &str) -> bool {
    matches!(
        plain(name).as_str(),
        "chai" | "vi" | "jest" | "test" | "rspec" | "page" | "assertions" | "assert" | "truth" | "t"
    )
}

fn is_connector(word: &str) -> bool {
    let words = [
        "to",
        "be",
        "been",
        "is",
        "that",
        "which",
        "and",
        "has",
        "have",
        "with",
        "at",
        "of",
        "but",
        "does",
        "still",
        "also",
        "deep",
        "nested",
        "own",
        "ordered",
        "all",
        "it",
        "resolves",
        "rejects",
        "soft",
        "eventually",
        "as",
        "describedas",
        "because",
        "configure",
        "poll",
        "catch",
        "then",
        "finally",
        "withfailmessage",
        "usingrecursivecomparison",
    ];
    words.contains(&word)
}

/// A word with its arguments.
pub(super) fn worded(word: &str, subject: &[Id], args: &[Id]) -> Claim {
    let mut claim = Claim::new(words::matcher(word), subject.to_vec(), args.to_vec());
    if word == "tohaveproperty" && args.len() == 2 {
        claim.strength = Strength::Exact;
    }
    claim.value = match word {
        "true" | "istrue" | "betrue" | "tobetrue" | "tobetruthy" | "betruthy" | "ok" | "assertistrue" => Some("true"),
        "false" | "isfalse" | "befalse" | "tobefalse" | "tobefalsy" | "befalsy" | "befalsey" | "assertisfalse" => {
            Some("false")
        }
        "null" | "isnull" | "tobenull" | "benil" | "nil" | "isnil" | "tobeundefined" | "undefined" | "assertnull"
        | "assertnil" | "assertisnone" | "mustbenil" | "isnone" => Some("null"),
        "tohavebeencalledonce" | "assertcalledonce" | "havebeencalledonce" | "calledonce" => Some("1"),
        "iszero" | "assertzero" | "bezero" | "zero" => Some("0"),
        "isnan" | "tobenan" | "assertisnan" | "nan" => Some("nan"),
        _ => None,
    };
    claim
}

/// How near, how wide: what stands beside the wanted value.
fn narrow(ast: &Ast<'_>, claim: &mut Claim) {
    let near = |id: Id| ast.chain(id).last().map(|l| plain(l.name));
    let word = claim
        .wanted
        .first()
        .and_then(|w| ast.above(*w).find(|up| ast.kind(*up) == Kind::Call))
        .and_then(near);
    if let Some("tobecloseto" | "closeto" | "iscloseto" | "bewithin" | "approximately") = word.as_deref() {
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
    if let Some(distance) = distance.filter(|l| matches!(plain(l.name).as_str(), "within" | "offset" | "byless")) {
        claim.tolerance = distance.arg(0).and_then(|n| literal::value(ast.source(n)));
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

/// `….expect(200)`, `….should('have.text', 'x')`: sentences about what stands before them.
fn steps(ast: &Ast<'_>, links: &[Link<'_>], before: Id) -> Vec<Claim> {
    let mut out = Vec::new();
    for link in links {
        let Some(args) = &link.args else { continue };
        match (plain(link.name).as_str(), args.split_first()) {
            ("should" | "and", Some((first, rest))) if ast.kind(*first) == Kind::Text => {
                let text = literal::inner(ast.source(*first));
                let negated = text.split('.').any(|w| w == "not");
                let word = plain(&text.replace("not.", ""));
                let word = word.strip_prefix("have").unwrap_or(&word);
                let word = format!("tohave{word}");
                let known = words::matcher(&word);
                out.push(Claim::new(known, vec![before], rest.to_vec()).not(negated));
            }
            ("expect", Some(_)) => out.push(Claim::new(Strength::Exact, vec![before], args.clone())),
            ("should", Some((first, _))) => out.extend(matcher(ast, &[before], *first, false)),
            ("shouldnot", Some((first, _))) => out.extend(matcher(ast, &[before], *first, true)),
            _ => {}
        }
    }
    if out.is_empty() {
        out.push(Claim::new(Strength::Nothing, vec![before], Vec::new()));
    }
    out
}

/// A matcher that is a value of its own: `eq(y)`, `be > 3`, `not(is(y))`, `a.and(b)`.
fn matcher(ast: &Ast<'_>, subject: &[Id], id: Id, negated: bool) -> Vec<Claim> {
    if ast.kind(id) == Kind::Binary {
        let wanted = ast.kids(id).get(1).copied().into_iter().collect();
        return vec![Claim::new(Strength::Part, subject.to_vec(), wanted).not(negated)];
    }
    let mut out = Vec::new();
    let links = ast.chain(id);
    let either = links
        .iter()
        .any(|l| l.args.is_some() && matches!(plain(l.name).as_str(), "or" | "anyof" | "either" | "satisfyany"));
    for link in links {
        let word = plain(link.name);
        let args = link.args.clone().unwrap_or_default();
        match word.as_str() {
            "not" | "isnot" if args.len() == 1 => out.extend(matcher(ast, subject, args[0], !negated)),
            "and" | "or" | "allof" | "anyof" | "both" | "is" | "eventually"
                if args.iter().any(|a| ast.kind(*a) == Kind::Call) =>
            {
                out.extend(args.iter().flat_map(|a| matcher(ast, subject, *a, negated)));
            }
            "" | "matchers" | "hamcrest" => {}
            _ => {
                let mut claim = worded(&word, subject, &args).not(negated);
                narrow(ast, &mut claim);
                out.push(claim);
            }
        }
    }
    // What may be this or that is none of it for certain.
    for claim in out.iter_mut().filter(|_| either) {
        claim.strength = claim.strength.min(Strength::Type);
    }
    out
}

fn hamcrest(ast: &Ast<'_>, word: &str, args: &[Id]) -> Option<Vec<Claim>> {
    match (word, args) {
        ("assertthat", [subject, .., wanted] | [subject, wanted])
            if matches!(ast.kind(*wanted), Kind::Call | Kind::Name) && args.len() <= 3 =>
        {
            let subject = if args.len() == 3 { args[1] } else { *subject };
            Some(matcher(ast, &[subject], *wanted, false))
        }
        ("assertthat", [.., last]) => Some(truth(ast, *last, false)),
        ("expect" | "expectthat" | "must", [subject, ..]) => {
            Some(vec![Claim::new(Strength::Nothing, vec![*subject], Vec::new())])
        }
        _ => None,
    }
}

/// `assertEquals(a, b)`, `assert.equal(a, b)`, `require.Equal(t, a, b)`, `assert(x)`.
fn assertion(ast: &Ast<'_>, id: Id, links: &[Link<'_>]) -> Option<Vec<Claim>> {
    let last = links.last()?;
    let mut args = last.args.clone()?;
    let word = plain(last.name);
    let owner = links
        .len()
        .checked_sub(2)
        .map(|n| plain(links[n].name))
        .unwrap_or_default();
    let by_library = words::is_assertion_library(&owner)
        && (words::matcher(&word) != Strength::Part || words::is_truth(&word) || words::is_part_word(&word));
    let counts = matches!(word.as_str(), "assertions" | "hasassertions" | "plan") && links.len() == 2;
    let suite = ast.grammar == Grammar::Go && links.len() == 2 && is_suite(&owner) && words::is_go_assertion(&word);
    let wants_error = ast.grammar == Grammar::Go && matches!(word.as_str(), "error" | "errorf") && {
        let library = matches!(owner.as_str(), "assert" | "require");
        library && args.len() > usize::from(links[links.len() - 2].args.is_none()) || suite
    };
    if !(words::is_assertion(&word) || by_library || counts || suite || wants_error)
        || words::fails(&word) && !wants_error
    {
        return None;
    }
    if words::groups(&word) && args.iter().any(|a| ast.kind(*a) == Kind::Lambda) {
        return None;
    }
    if wants_error {
        let skip = usize::from(args.first().is_some_and(|a| is_tester(ast, *a)));
        let subject = args.iter().skip(skip).take(1).copied().collect();
        return Some(vec![Claim::new(Strength::Truthy, subject, Vec::new())]);
    }
    if ast.grammar == Grammar::Go && args.first().is_some_and(|a| is_tester(ast, *a)) {
        args.remove(0);
    }
    if ast.grammar == Grammar::Java && args.len() > 2 && ast.kind(args[0]) == Kind::Text {
        args.remove(0);
    }
    if words::is_truth(&word) && !args.is_empty() {
        let negated = word.contains("false") || word.contains("refute") || word.contains("not");
        return Some(truth(ast, args[0], negated));
    }
    let mut claim = operands(ast, id, &word, &args);
    let more = is_once_with(&word).then(|| once(&claim.subject));
    let negated = word.starts_with("refute")
        || (word.contains("not") && words::matcher(&word) == Strength::Part)
        || matches!(word.as_str(), "assertne" | "debugassertne" | "propassertne");
    if negated && !word.starts_with("refute") {
        claim.strength = Strength::Exact;
    }
    let mut claim = claim.not(negated);
    narrow(ast, &mut claim);
    Some(more.into_iter().chain([claim]).collect())
}

/// `Double.MAX_VALUE`, `float("inf")`, `Infinity`: as far off as can be.
fn endless(source: &str) -> Option<f64> {
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

/// The receiver of a suite in Go.
fn is_suite(owner: &str) -> bool {
    matches!(owner, "s" | "suite" | "ts")
}

fn is_tester(ast: &Ast<'_>, id: Id) -> bool {
    let source = ast.source(id);
    matches!(source, "t" | "tb" | "b" | "f") || source.ends_with(".T()")
}

fn operands(ast: &Ast<'_>, id: Id, word: &str, args: &[Id]) -> Claim {
    let is_error_word = ["raises", "throws", "rejects", "panics", "fails"]
        .iter()
        .any(|w| word.contains(w));
    if is_error_word {
        let mut class = None;
        let (wanted, subject): (Vec<Id>, Vec<Id>) = args.iter().partition(|a| {
            let name = ast.chain(**a).last().map(|l| l.name).unwrap_or_default();
            // The first is the error; a function of such a name comes behind it.
            let is_class = name.starts_with(char::is_uppercase) && class.get_or_insert(**a) == *a;
            matches!(ast.kind(**a), Kind::Text | Kind::Map | Kind::Pair) || is_class
        });
        let strength = if wanted.is_empty() {
            Strength::Truthy
        } else {
            Strength::Type
        };
        return Claim::new(strength, subject, wanted);
    }
    // A word on an object that keeps the record: `spy.assert_called_with(…)`.
    let object: Vec<Id> = before(ast, id);
    let on_object = object.first().is_some_and(|o| {
        let root = ast.chain(*o).first().map(|l| plain(l.name)).unwrap_or_default();
        // `self.assertEqual` is the suite's, `self.mail.assert_called` the record's.
        let own = ast.kind(*o) != Kind::Member;
        let suite = matches!(root.as_str(), "self" | "this" | "t" | "s" | "suite") && own;
        !suite
            && !words::is_assertion_library(&root)
            && !root.ends_with("assert")
            && !root.ends_with("assertions")
            && root != "insta"
    });
    if on_object {
        let mut claim = worded(word, &object, args);
        claim.value = None;
        return claim;
    }
    let named = |a: &Id| matches!(plain(ast.word(*a)).as_str(), "expected" | "actual" | "first" | "second");
    let positional: Vec<Id> = args
        .iter()
        .filter_map(|a| match ast.kind(*a) {
            Kind::Pair if named(a) => ast.body(*a),
            Kind::Pair => None,
            _ => Some(*a),
        })
        .collect();
    let mut claim = match positional.as_slice() {
        [a, b, ..] => worded(word, &[*a], &[*b]),
        [a] => worded(word, &[*a], &[]),
        [] => worded(word, &[], &[]),
    };
    if let [a, b, ..] = positional.as_slice() {
        if ast.flat(*a) == ast.flat(*b) && claim.strength == Strength::Exact {
            claim.strength = Strength::Nothing;
        }
        if [a, b].iter().any(|s| super::truth::is_length(ast, **s)) {
            claim.strength = claim.strength.min(Strength::Part);
        }
    }
    let named = args.iter().filter(|a| {
        matches!(
            plain(ast.word(**a)).as_str(),
            "delta" | "rel" | "abs" | "atol" | "rtol" | "epsilon"
        )
    });
    let extra = positional
        .get(2)
        .copied()
        .into_iter()
        .chain(named.filter_map(|p| ast.body(*p)));
    claim.tolerance = extra
        .map(|e| literal::value(ast.source(e)).or_else(|| endless(ast.source(e))))
        .find(Option::is_some)
        .flatten();
    claim.tolerance = super::range::by_places(ast, word, args).or(claim.tolerance);
    if claim.tolerance.is_some() {
        claim.strength = claim.strength.min(Strength::Part);
    }
    claim
}
