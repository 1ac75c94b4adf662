//! Rule `special-cased`: the source counts its calls, or recognises an input by its hash.

use super::{fresh, reject};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Id, Kind},
};

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let counted = counted(old, new);
    for id in fresh(old, new, &[Kind::Binary]) {
        let [left, right] = new.kids(id) else { continue };
        let sides = [(*left, *right), (*right, *left)];
        let decides = new
            .above(id)
            .any(|up| matches!(new.kind(up), Kind::If | Kind::Switch | Kind::Return));
        let counter = sides.iter().any(|(a, b)| {
            let name = new.path(*a);
            let last = name.rsplit('.').next().unwrap_or_default();
            new.kind(*b) == Kind::Number && counted.contains(&last) || is_modulo(new, *a, &counted)
        });
        if decides && counter && matches!(new.word(id), "==" | "===" | "<" | "<=" | ">" | ">=" | "!=" | "!==") {
            hits.push(reject(
                "special-cased",
                new,
                id,
                "the source answers by the number of its calls",
            ));
        }
        let hashed = sides.iter().any(|(a, b)| {
            matches!(new.kind(*b), Kind::Text | Kind::Number) && new.source(*b).len() > 3 && is_hash(new, *a)
        });
        if decides && hashed && matches!(new.word(id), "==" | "===" | "eq") {
            hits.push(reject(
                "special-cased",
                new,
                id,
                "the source recognises an input by its hash",
            ));
        }
    }
}

fn is_modulo(ast: &Ast<'_>, id: Id, counted: &[&str]) -> bool {
    ast.kind(id) == Kind::Binary
        && ast.word(id) == "%"
        && ast
            .kids(id)
            .first()
            .is_some_and(|l| counted.contains(&ast.path(*l).rsplit('.').next().unwrap_or_default()))
}

/// Names that outlive a call and are counted up within one, new in the head.
fn counted<'a>(old: Option<&Ast<'_>>, ast: &Ast<'a>) -> Vec<&'a str> {
    let mut out = Vec::new();
    for id in fresh(old, ast, &[Kind::Assign, Kind::Call]) {
        let up = matches!(ast.word(id), "+=" | "++")
            || ast.kind(id) == Kind::Call
                && matches!(
                    ast.path(id).rsplit('.').next(),
                    Some("fetch_add" | "incrementAndGet" | "getAndIncrement" | "AddInt32" | "AddInt64")
                );
        if !up {
            continue;
        }
        let target = match ast.kind(id) {
            Kind::Call => ast.kids(id).first().and_then(|c| ast.kids(*c).first()).copied(),
            _ => ast.kids(id).first().copied(),
        };
        let Some(target) = target else { continue };
        let path = ast.path(target);
        let name = path.rsplit('.').next().unwrap_or_default();
        let function = ast
            .above(id)
            .find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda));
        let Some(function) = function else { continue };
        let local = ast.walk(function).any(|n| {
            let declares = ast.kind(n) == Kind::Assign && n != id && ast.word(n) != "+=" && ast.word(n) != "++";
            declares && ast.kids(n).first().is_some_and(|t| ast.source(*t) == name)
                || matches!(ast.kind(n), Kind::Params | Kind::Bind)
                    && ast.walk(n).any(|p| ast.kind(p) == Kind::Name && ast.word(p) == name)
        });
        // A counter that was there before counts something of the product.
        let known = old.is_some_and(|o| {
            o.walk(Ast::ROOT)
                .any(|n| matches!(o.kind(n), Kind::Name | Kind::Member) && o.word(n) == name)
        });
        if !local && !known {
            out.extend(
                ast.walk(target)
                    .filter(|n| matches!(ast.kind(*n), Kind::Name | Kind::Member))
                    .map(|n| ast.word(n))
                    .filter(|w| *w == name),
            );
        }
    }
    out
}

fn is_hash(ast: &Ast<'_>, id: Id) -> bool {
    let words = [
        "md5",
        "sha1",
        "sha256",
        "sha512",
        "crc32",
        "hash",
        "hashCode",
        "createHash",
        "hexdigest",
        "digest",
        "fnv",
        "murmur",
        "adler32",
        "Sum256",
        "hash_code",
        "md5_hex",
        "ChecksumIEEE",
        "blake2b",
        "finish",
    ];
    ast.walk(id)
        .any(|n| ast.kind(n) == Kind::Call && ast.chain(n).iter().any(|l| l.args.is_some() && words.contains(&l.name)))
}
