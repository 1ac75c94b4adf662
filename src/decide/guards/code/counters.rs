//! Rule `special-cased`: the source counts its calls, or recognises an input by its hash.

use super::{fresh, reject};
use crate::decide::guards::{
    Hit,
    syntax::{Ast, Grammar, Id, Kind},
};

pub(super) fn check(old: Option<&Ast<'_>>, new: &Ast<'_>, hits: &mut Vec<Hit>) {
    let counted = counted(old, new);
    if let Some(id) = fresh(old, new, &[Kind::If])
        .into_iter()
        .find(|id| remembers(old, new, *id))
    {
        let why = "the source answers by whether it was called before";
        hits.push(reject("special-cased", new, id, why));
    }
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

/// `def f(x, _seen=[])` with `if not _seen: _seen.append(1)`: whether it was called before. A cache is asked for its key.
fn remembers(old: Option<&Ast<'_>>, ast: &Ast<'_>, branch: Id) -> bool {
    let asked = |id: Id| match ast.kind(id) {
        Kind::Name => Some(ast.word(id)),
        Kind::Not => ast
            .kids(id)
            .first()
            .filter(|k| ast.kind(**k) == Kind::Name)
            .map(|k| ast.word(*k)),
        Kind::Call => {
            let links = ast.chain(id);
            let last = links
                .last()
                .filter(|l| matches!(l.name, "len" | "isEmpty" | "is_empty" | "empty?"));
            let arg = last.and_then(|l| l.arg(0)).filter(|a| ast.kind(*a) == Kind::Name);
            arg.map(|a| ast.word(a)).or(last.and(links.first()).map(|l| l.name))
        }
        Kind::Member if matches!(ast.word(id), "length" | "size") => ast
            .kids(id)
            .first()
            .filter(|k| ast.kind(**k) == Kind::Name)
            .map(|k| ast.word(*k)),
        _ => None,
    };
    let Some(condition) = ast.kids(branch).iter().copied().find(|k| ast.kind(*k) != Kind::Init) else {
        return false;
    };
    let mut above = ast.above(branch);
    let Some(function) = above.find(|up| matches!(ast.kind(*up), Kind::Function | Kind::Lambda)) else {
        return false;
    };
    let grows = |name: &str| {
        ast.walk(function).any(|n| {
            let links = ast.chain(n);
            let first = links.first().is_some_and(|l| l.name == name);
            ast.kind(n) == Kind::Call
                && first
                && links
                    .last()
                    .is_some_and(|l| matches!(l.name, "append" | "add" | "push" | "insert" | "<<" | "put"))
        })
    };
    let empty = |id: Id| {
        matches!(
            ast.source(id),
            "[]" | "{}" | "set()" | "list()" | "dict()" | "new Set()" | "new Map()"
        )
    };
    // Outlives the call: a default of Python, or a container of the module that is new.
    let outlives = |name: &str| {
        let params = ast.first_of(function, Kind::Params);
        let default = params.is_some_and(|p| {
            let source = ast.source(p).replace(' ', "");
            ["[]", "{}", "set()"]
                .iter()
                .any(|e| source.contains(&format!("{name}={e}")))
        });
        let own = |n: Id| {
            let [target, value] = ast.kids(n) else { return false };
            let outside = !ast
                .above(n)
                .any(|up| matches!(ast.kind(up), Kind::Function | Kind::Lambda));
            ast.kind(n) == Kind::Assign && outside && ast.source(*target).ends_with(name) && empty(*value)
        };
        let known = old.is_some_and(|o| o.walk(Ast::ROOT).any(|n| o.kind(n) == Kind::Name && o.word(n) == name));
        !known && (default && ast.grammar == Grammar::Python || ast.walk(Ast::ROOT).any(own))
    };
    ast.walk(condition)
        .filter_map(asked)
        .any(|name| !name.is_empty() && grows(name) && outlives(name))
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
