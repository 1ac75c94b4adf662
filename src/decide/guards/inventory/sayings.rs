//! Claims that a library says in words of its own: how often a double is called, which error comes, what stands in a
//! question.

use super::{
    narrow::is_broad,
    operands::worded,
    truth::{Claim, truth},
    words::{Strength, plain},
};
use crate::decide::guards::{
    listed::listed,
    syntax::{Ast, Grammar, Id, Kind, Link, literal},
};

/// `store.expect_keep().times(2)`, `store.EXPECT().Keep().Times(2)`: how often a double has to be called.
pub(super) fn expected_calls(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<Claim> {
    let expects = |l: &Link<'_>| match ast.grammar {
        Grammar::Rust => l.name.starts_with("expect_") && l.args.as_ref().is_some_and(Vec::is_empty),
        Grammar::Go => l.name == "EXPECT",
        _ => false,
    };
    let at = links.iter().position(expects)?;
    let often = links[at..].iter().find(|l| {
        matches!(
            plain(l.name).as_str(),
            "times" | "once" | "never" | "anytimes" | "mintimes"
        )
    })?;
    let number = often.arg(0);
    let shown = number.map_or("", |n| ast.source(n)).replace(' ', "");
    let any = shown == ".." || shown.starts_with("0..") && !shown.starts_with("0..=0");
    let strength = match plain(often.name).as_str() {
        "anytimes" => Strength::Nothing,
        "mintimes" if shown == "0" => Strength::Nothing,
        "mintimes" => Strength::Part,
        "times" if any => Strength::Nothing,
        "times" if shown.contains("..") => Strength::Part,
        _ => Strength::Exact,
    };
    let call = links
        .get(at + 1)
        .filter(|_| ast.grammar == Grammar::Go)
        .unwrap_or(&links[at]);
    Some(Claim::new(strength, vec![call.id], number.into_iter().collect()))
}

/// `verify(mock, atLeast(0))`: what the word beside the mock leaves of the check, and whether it is turned around.
pub(super) fn how_often(ast: &Ast<'_>, verify: &Link<'_>) -> (Strength, bool) {
    let Some(mode) = verify.arg(1).and_then(|m| ast.chain(m).pop()) else {
        return (Strength::Exact, false);
    };
    let number = mode.arg(0).and_then(|n| literal::value(ast.source(n)));
    match plain(mode.name).as_str() {
        "never" => (Strength::Exact, true),
        "times" if number == Some(0.0) => (Strength::Exact, true),
        "atleast" if number == Some(0.0) => (Strength::Nothing, false),
        "atleast" | "atleastonce" | "atmost" | "atmostonce" => (Strength::Part, false),
        _ => (Strength::Exact, false),
    }
}

/// `assertThatExceptionOfType(X.class).isThrownBy(() -> …).withMessage("…")`
pub(super) fn of_exception_type(ast: &Ast<'_>, word: &str, args: &[Id], rest: &[Link<'_>]) -> Option<Vec<Claim>> {
    let thrown = rest.iter().find(|l| plain(l.name) == "isthrownby")?;
    let subject = thrown.args.clone()?;
    let kind = if args.iter().all(|a| is_broad(ast, *a)) {
        Strength::Truthy
    } else {
        Strength::Type
    };
    let mut out = vec![Claim::new(kind, subject.clone(), args.to_vec())];
    for link in rest.iter().filter(|l| plain(l.name) != "isthrownby") {
        if let Some(wanted) = &link.args {
            out.push(worded(&plain(link.name), &subject, wanted));
        }
    }
    (word == "assertthatexceptionoftype").then_some(out)
}

/// `expect(text.startsWith("a")).toBe(true)`: what has to be true says more than that it is.
pub(super) fn said_by_truth(ast: &Ast<'_>, claim: &Claim) -> Option<Vec<Claim>> {
    let [subject] = claim.subject.as_slice() else {
        return None;
    };
    let constant = match claim.wanted.as_slice() {
        [only] if ast.kind(*only) == Kind::Constant => Some(ast.source(*only)),
        [] => claim.value,
        _ => None,
    };
    let asked = matches!(constant, Some("true" | "false")) && !claim.negated;
    let said = truth(ast, *subject, constant == Some("false"));
    // A call whose word is not known stays what it was.
    let known = said.iter().all(|c| c.value.is_none() && !c.wanted.is_empty());
    (asked && matches!(ast.kind(*subject), Kind::Call | Kind::Binary) && known && !said.is_empty()).then_some(said)
}

/// `toHaveBeenCalledExactlyOnceWith(…)`, `assert_called_once_with(…)`: how often is a claim of its own.
pub(super) fn is_once_with(word: &str) -> bool {
    word.ends_with("calledoncewith") || word.ends_with("calledexactlyoncewith")
}

pub(super) fn once(subject: &[Id]) -> Claim {
    let mut claim = Claim::new(Strength::Exact, subject.to_vec(), Vec::new());
    claim.value = Some("1");
    claim
}

/// PHPUnit says before the call what has to come of it: `$this->expectException(…)`.
pub(super) fn foretold(ast: &Ast<'_>, word: &str, call: &Link<'_>) -> Option<Claim> {
    let words = "\
        expectexception expectexceptionmessage expectexceptionmessagematches expectexceptioncode \
        expectexceptionobject expectoutputstring expectoutputregex";
    if ast.grammar != Grammar::Php || !listed(words, word) {
        return None;
    }
    let wanted = call.args.clone()?;
    let strength = match word {
        "expectexception" if wanted.iter().all(|w| is_broad(ast, *w)) => Strength::Truthy,
        "expectexception" => Strength::Type,
        "expectoutputstring" | "expectexceptionobject" => Strength::Exact,
        _ => Strength::Part,
    };
    Some(Claim::new(strength, Vec::new(), wanted))
}

/// `sub.Received(1).Send("a")`, `mock.Verify(x => x.Send("a"), Times.Once)`: what a double was asked.
pub(super) fn recorded(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<Claim> {
    if ast.grammar != Grammar::CSharp {
        return None;
    }
    let word = |l: &Link<'_>| plain(l.name);
    if let Some(at) = links.iter().position(|l| {
        l.args.is_some()
            && matches!(
                word(l).as_str(),
                "received" | "didnotreceive" | "receivedwithanyargs" | "didnotreceivewithanyargs"
            )
    }) {
        let how = word(&links[at]);
        let call = links.get(at + 1)?;
        let any = how.contains("anyargs");
        let never = how.starts_with("didnot");
        let mut wanted = links[at].args.clone().unwrap_or_default();
        if !any {
            wanted.extend(call.args.clone().unwrap_or_default());
        }
        let strength = if any && !never { Strength::Type } else { Strength::Exact };
        let subject = vec![links.get(at.checked_sub(1)?)?.id, call.id];
        return Some(Claim::new(strength, subject, wanted).not(never));
    }
    let last = links.last()?;
    let verifies = matches!(word(last).as_str(), "verify" | "verifyset" | "verifyget") && links.len() > 1;
    let lambda = last.arg(0).filter(|a| ast.kind(*a) == Kind::Lambda)?;
    if !verifies {
        return None;
    }
    let often = last.arg(1).and_then(|t| ast.chain(t).pop());
    let times = often.as_ref().map(|l| plain(l.name)).unwrap_or_default();
    let number = often.and_then(|l| l.arg(0)).and_then(|n| literal::value(ast.source(n)));
    let (strength, never) = match times.as_str() {
        "never" => (Strength::Exact, true),
        "exactly" if number == Some(0.0) => (Strength::Exact, true),
        "atleast" if number == Some(0.0) => (Strength::Nothing, false),
        "atmost" | "atmostonce" => (Strength::Truthy, false),
        "atleastonce" | "atleast" => (Strength::Part, false),
        _ => (Strength::Exact, false),
    };
    Some(
        Claim::new(
            strength,
            vec![ast.body(lambda)?],
            last.args.iter().flatten().skip(1).copied().collect(),
        )
        .not(never),
    )
}

/// assert_cmd: `program.assert().failure().code(2).stderr("…")`, a claim for each word.
pub(super) fn of_program(ast: &Ast<'_>, links: &[Link<'_>]) -> Option<Vec<Claim>> {
    let at = links
        .iter()
        .position(|l| l.name == "assert" && l.args.as_ref().is_some_and(Vec::is_empty))?;
    if ast.grammar != Grammar::Rust || at == 0 {
        return None;
    }
    let claim = |link: &Link<'_>| {
        let mut wanted = link.args.clone()?;
        let predicate = wanted.first().map(|w| (ast.kind(*w), ast.chain(*w).pop()));
        if let Some((Kind::Call, Some(call))) = &predicate {
            wanted = call.args.clone().unwrap_or_default();
        }
        let strength = match predicate {
            Some((Kind::Call, Some(predicate))) => match plain(predicate.name).as_str() {
                "always" => Strength::Nothing,
                "eq" | "diff" | "similar" | "format" | "concat" | "from" => Strength::Exact,
                _ => Strength::Part,
            },
            _ => Strength::Exact,
        };
        Some(Claim::new(strength, vec![links[at].id], wanted))
    };
    let found: Vec<Claim> = links[at + 1..].iter().filter_map(claim).collect();
    (!found.is_empty()).then_some(found)
}

/// Spring: `mvc.perform(get("/a")).andExpect(status().isOk())`, a claim for each.
pub(super) fn of_answer(links: &[Link<'_>]) -> Option<Vec<Claim>> {
    let first = links.first()?;
    let expects = |l: &&Link<'_>| matches!(plain(l.name).as_str(), "andexpect" | "andexpectall");
    let claim = |l: &Link<'_>| Some(Claim::new(Strength::Exact, vec![first.id], l.args.clone()?));
    let found: Vec<Claim> = links.iter().filter(expects).filter_map(claim).collect();
    (!found.is_empty()).then_some(found)
}
