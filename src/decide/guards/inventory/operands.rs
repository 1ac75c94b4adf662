//! Reads a call as assertions: what is looked at, what is wanted, how exactly.

use super::{
    narrow::{endless, narrow},
    sayings::{
        expected_calls, foretold, how_often, is_once_with, of_answer, of_exception_type, of_program, once, recorded,
        said_by_truth,
    },
    steps::{before_it, steps},
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
    if let Some(found) = recorded(ast, &links) {
        return Some(vec![found]);
    }
    if let Some(found) = of_program(ast, &links).or_else(|| of_answer(&links)) {
        return Some(found);
    }
    // What no one else was asked: `verifyNoMoreInteractions(mock)`.
    if word.starts_with("verifyno") || word.starts_with("confirmverified") {
        return Some(vec![Claim::new(Strength::Exact, last.args.clone()?, Vec::new())]);
    }
    let mut found = assertion(ast, id, &links)?;
    found.extend(before_it(ast, id));
    Some(found)
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
    let mut subject: Vec<Id> = args.iter().take(1).copied().collect();
    let promise = rest.iter().any(|l| {
        matches!(
            plain(l.name).as_str(),
            "resolves" | "rejects" | "eventually" | "become" | "fulfilled"
        )
    });
    let waited = |l: &Link<'_>| matches!(plain(l.name).as_str(), "wait" | "getresult" | "result" | "getawaiter");
    let later = |l: &Link<'_>| ast.grammar == Grammar::CSharp && plain(l.name).ends_with("async");
    let promise = promise || rest.iter().any(later) && !rest.iter().any(waited);
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
            // Pest goes on with another subject.
            ("and", Some(args)) if ast.grammar == Grammar::Php && !args.is_empty() => {
                subject.clone_from(args);
                negated = false;
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
    claim.counts = ["length", "lengthof", "size", "count"]
        .iter()
        .any(|w| word.ends_with(w));
    if word == "tohaveproperty" && args.len() == 2 {
        claim.strength = Strength::Exact;
    }
    // "It is there" is "it is not none"; an error that is none is wanted to be that.
    if words::is_there(word) {
        claim.strength = Strength::Part;
        claim.negated = true;
    } else if words::is_no_error(word) {
        claim.strength = Strength::Exact;
    }
    claim.value = match word {
        _ if words::is_there(word) || words::is_no_error(word) => Some("null"),
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

/// A matcher that is a value of its own: `eq(y)`, `be > 3`, `not(is(y))`, `a.and(b)`.
pub(super) fn matcher(ast: &Ast<'_>, subject: &[Id], id: Id, negated: bool) -> Vec<Claim> {
    if ast.kind(id) == Kind::Binary {
        let wanted = ast.kids(id).get(1).copied().into_iter().collect();
        return vec![Claim::new(Strength::Part, subject.to_vec(), wanted).not(negated)];
    }
    let mut out = Vec::new();
    let links = ast.chain(id);
    let either = links
        .iter()
        .any(|l| l.args.is_some() && matches!(plain(l.name).as_str(), "or" | "anyof" | "either" | "satisfyany"));
    let mut negated = negated;
    for link in links {
        let word = plain(link.name);
        let args = link.args.clone().unwrap_or_default();
        match word.as_str() {
            // `Is.Not.Null`, `Has.Length.EqualTo(3)`
            "not" | "no" if link.args.is_none() => negated = !negated,
            "is" | "has" | "does" | "length" | "count" | "be" if link.args.is_none() && out.is_empty() => {}
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
        ("assertthat" | "that", [subject, .., wanted] | [subject, wanted])
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
        let mut claim = Claim::new(Strength::Part, subject, Vec::new());
        claim.negated = true;
        claim.value = Some("null");
        return Some(vec![claim]);
    }
    if ast.grammar == Grammar::Go && args.first().is_some_and(|a| is_tester(ast, *a)) {
        args.remove(0);
    }
    if ast.grammar == Grammar::Java && args.len() > 2 && ast.kind(args[0]) == Kind::Text {
        args.remove(0);
    }
    if words::is_truth(&word) && !args.is_empty() {
        let negated = word.contains("false") || word.contains("refute") || word.contains("not");
        let mut found = truth(ast, args[0], negated);
        // chai wants the value itself.
        if ast.grammar.is_script() && matches!(word.as_str(), "istrue" | "isfalse") {
            found
                .iter_mut()
                .filter(|c| c.value.is_some())
                .for_each(|c| c.strength = Strength::Exact);
        }
        return Some(found);
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
    // What is thrown later is known only where it is waited for.
    claim.promise = matches!(word.as_str(), "rejects" | "doesnotreject") && ast.grammar.is_script()
        || word.ends_with("async") && ast.grammar == Grammar::CSharp;
    Some(more.into_iter().chain([claim]).collect())
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
