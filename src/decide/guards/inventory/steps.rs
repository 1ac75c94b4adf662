//! Chains of assertions about one answer: `….expect(200)`, `….should('have.text', 'x')`, `….assertOk().assertSee("x")`.

use super::{
    operands::{claims, matcher},
    truth::Claim,
    words::{self, Strength, plain},
};
use crate::decide::guards::syntax::{Ast, Id, Kind, Link, literal};

/// `….expect(200)`, `….should('have.text', 'x')`: sentences about what stands before them.
pub(super) fn steps(ast: &Ast<'_>, links: &[Link<'_>], before: Id) -> Vec<Claim> {
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
            // supertest: a status, a header, a body, each a claim; nothing is known before it is waited for.
            ("expect", Some(_)) => {
                let done = args
                    .iter()
                    .any(|a| matches!(ast.source(*a), "done" | "next" | "cb" | "end"));
                let header = args.len() > 1 && ast.kind(args[0]) == Kind::Text;
                let parts: Vec<Vec<Id>> = if header {
                    vec![args.clone()]
                } else {
                    args.iter().map(|a| vec![*a]).collect()
                };
                let waits = ast.grammar.is_script() && !done;
                out.extend(parts.into_iter().map(|part| {
                    let mut claim = Claim::new(Strength::Exact, vec![before], part);
                    claim.promise = waits;
                    claim
                }));
            }
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

/// `answer.assertOk().assertSee("x")`: the assertions that stand before the last one of a chain.
pub(super) fn before_it(ast: &Ast<'_>, id: Id) -> Vec<Claim> {
    let object = ast.kids(id).first().and_then(|c| ast.kids(*c).first()).copied();
    let Some(object) = object.filter(|o| ast.kind(*o) == Kind::Call) else {
        return Vec::new();
    };
    let word = ast.chain(object).last().map(|l| plain(l.name)).unwrap_or_default();
    let asserts = words::is_assertion(&word) && !words::opens_subject(&word) && word != "assert";
    if asserts {
        claims(ast, object).unwrap_or_default()
    } else {
        Vec::new()
    }
}
