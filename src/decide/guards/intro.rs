//! What an item of a test file introduces: its role and the names it binds.

use std::ops::Range;

use super::{
    items::Source,
    kind::Language,
    lex::{Class, Token},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Test,
    Import,
    /// A function, class, type or module.
    Definition,
    Value,
    /// Without effect, such as a text that documents.
    Nothing,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intro<'a> {
    pub(super) role: Role,
    pub(super) names: Vec<&'a str>,
}

/// Names that a runner gives a meaning to, so that they act on tests that were there before.
pub(super) fn reserved(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "setUp",
        "tearDown",
        "setUpClass",
        "tearDownClass",
        "setUpModule",
        "tearDownModule",
        "asyncSetUp",
        "asyncTearDown",
        "setup",
        "teardown",
        "setup_module",
        "teardown_module",
        "setup_function",
        "teardown_function",
        "setup_method",
        "teardown_method",
        "setup_class",
        "teardown_class",
        "load_tests",
        "pytestmark",
        "collect_ignore",
        "collect_ignore_glob",
        "TestMain",
        "init",
        "run",
        "beforeEach",
        "beforeAll",
        "afterEach",
        "afterAll",
        "before",
        "after",
    ];
    NAMES.contains(&name) || name.starts_with("pytest_") || (name.starts_with("__") && name.ends_with("__"))
}

pub(super) fn intro<'a>(source: &Source<'a>, item: &Range<usize>) -> Intro<'a> {
    match source.language {
        Language::Python => python(source, item),
        Language::Script => script(source, item),
        Language::Rust => rust(source, item),
        Language::Go => go(source, item),
    }
}

fn found<'a>(role: Role, names: impl IntoIterator<Item = &'a str>) -> Intro<'a> {
    Intro {
        role,
        names: names.into_iter().collect(),
    }
}

fn other<'a>() -> Intro<'a> {
    found(Role::Other, [])
}

fn words<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    tokens
        .iter()
        .filter(|t| t.class == Class::Word)
        .map(|t| t.text)
        .collect()
}

fn python<'a>(source: &Source<'a>, item: &Range<usize>) -> Intro<'a> {
    let mut at = item.start;
    while at < item.end && source.tokens[at].is("@") {
        at = source.past(at);
        while at < item.end && !source.tokens[at].first {
            at = source.past(at);
        }
    }
    let tokens = &source.tokens[at..item.end];
    let tokens = if tokens.first().is_some_and(|t| t.is("async")) {
        &tokens[1..]
    } else {
        tokens
    };
    let [head, rest @ ..] = tokens else {
        return other();
    };
    let name = rest.first().map_or("", |t| t.text);
    match head.text {
        _ if head.class == Class::Text => found(if rest.is_empty() { Role::Nothing } else { Role::Other }, []),
        "def" if name.starts_with("test") => found(Role::Test, [name]),
        "class" if name.starts_with("Test") || name.ends_with("Test") || name.ends_with("Tests") => {
            found(Role::Test, [name])
        }
        "def" | "class" => found(Role::Definition, [name]),
        "import" | "from" => python_import(tokens),
        "pass" | "..." => found(Role::Nothing, []),
        text if head.class == Class::Word && rest.first().is_some_and(|t| t.is("=") || t.is(":")) => {
            found(Role::Value, [text])
        }
        _ => other(),
    }
}

/// Bound names; everything from a module is not to be seen, so it is refused.
fn python_import<'a>(tokens: &[Token<'a>]) -> Intro<'a> {
    if tokens.iter().any(|t| t.is("*")) {
        return other();
    }
    let start = tokens.iter().position(|t| t.is("import")).map_or(0, |i| i + 1);
    let mut names = Vec::new();
    let mut piece: Vec<&Token<'a>> = Vec::new();
    let mut close = |piece: &mut Vec<&Token<'a>>| {
        let alias = piece.iter().position(|t| t.is("as")).and_then(|i| piece.get(i + 1));
        names.extend(alias.or(piece.first()).map(|t| t.text));
        piece.clear();
    };
    for token in &tokens[start..] {
        if token.is(",") {
            close(&mut piece);
        } else if token.class == Class::Word {
            piece.push(token);
        }
    }
    close(&mut piece);
    found(Role::Import, names)
}

fn script<'a>(source: &Source<'a>, item: &Range<usize>) -> Intro<'a> {
    const CASES: &[&str] = &["test", "it", "describe", "suite", "context"];
    let mut tokens = &source.tokens[item.clone()];
    while tokens.first().is_some_and(|t| {
        ["export", "default", "async", "declare", "abstract"].contains(&t.text) && t.class == Class::Word
    }) {
        tokens = &tokens[1..];
    }
    let [head, rest @ ..] = tokens else {
        return other();
    };
    match head.text {
        _ if head.class == Class::Text => found(Role::Nothing, []),
        ";" => found(Role::Nothing, []),
        "import" => {
            let end = rest.iter().position(|t| t.is("from")).unwrap_or(rest.len());
            let names = words(&rest[..end]);
            found(Role::Import, names.into_iter().filter(|w| !matches!(*w, "type" | "as")))
        }
        text if CASES.contains(&text) && head.class == Class::Word => {
            let call = rest
                .iter()
                .position(|t| t.class == Class::Text || t.is("("))
                .unwrap_or(rest.len());
            let plain = words(&rest[..call])
                .iter()
                .all(|w| ["each", "concurrent", "describe", "sequential", "for"].contains(w));
            let title = rest.iter().find(|t| t.class == Class::Text).map(|t| t.text);
            found(if plain { Role::Test } else { Role::Other }, title)
        }
        "function" | "class" | "interface" | "enum" | "type" | "namespace" => found(
            Role::Definition,
            rest.iter().find(|t| t.class == Class::Word).map(|t| t.text),
        ),
        "const" | "let" | "var" => {
            let end = rest.iter().position(|t| t.is("=") || t.is(":")).unwrap_or(rest.len());
            found(Role::Value, words(&rest[..end]))
        }
        _ => other(),
    }
}

fn rust<'a>(source: &Source<'a>, item: &Range<usize>) -> Intro<'a> {
    let start = source.after_attributes(item);
    let attributes = &source.tokens[item.start..start];
    if attributes.first().is_some_and(|t| t.is("#")) && attributes.get(1).is_some_and(|t| t.is("!")) {
        return other();
    }
    let tokens = &source.tokens[start..item.end];
    let skip = tokens
        .iter()
        .take_while(|t| ["async", "unsafe", "extern"].contains(&t.text))
        .count();
    let tokens = &tokens[skip..];
    let [head, rest @ ..] = tokens else {
        return other();
    };
    let name = rest
        .iter()
        .find(|t| t.class == Class::Word && !matches!(t.text, "mut" | "fn"))
        .map(|t| t.text);
    match head.text {
        "fn" | "mod" if is_rust_test(attributes) => found(Role::Test, name),
        "fn" | "mod" | "struct" | "enum" | "trait" | "union" | "type" | "macro_rules" => found(Role::Definition, name),
        "impl" => found(Role::Definition, []),
        "const" | "static" => found(Role::Value, name),
        "use" => {
            let last = |i: usize| rest.get(i + 1).is_none_or(|t| t.is(",") || t.is("}") || t.is(";"));
            let names = rest
                .iter()
                .enumerate()
                .filter(|(i, t)| t.class == Class::Word && last(*i));
            found(Role::Import, names.map(|(_, t)| t.text).filter(|w| *w != "self"))
        }
        _ => other(),
    }
}

/// `#[test]`, `#[tokio::test]`, `#[rstest]`, `#[cfg(test)]`.
pub(super) fn is_rust_test(attributes: &[Token<'_>]) -> bool {
    attributes.windows(2).enumerate().any(|(i, pair)| {
        let opens = pair[0].is("#") && pair[1].is("[");
        let inner: Vec<&Token<'_>> = attributes[i..].iter().skip(2).take_while(|t| !t.is("]")).collect();
        let words: Vec<&str> = inner
            .iter()
            .filter(|t| t.class == Class::Word)
            .map(|t| t.text)
            .collect();
        let head = inner
            .iter()
            .take_while(|t| !t.is("("))
            .filter(|t| t.class == Class::Word)
            .map(|t| t.text)
            .last();
        opens && (words == ["cfg", "test"] || matches!(head, Some("test" | "rstest" | "test_case" | "proptest")))
    })
}

fn go<'a>(source: &Source<'a>, item: &Range<usize>) -> Intro<'a> {
    let [head, rest @ ..] = &source.tokens[item.clone()] else {
        return other();
    };
    let name = |tokens: &[Token<'a>]| tokens.iter().find(|t| t.class == Class::Word).map(|t| t.text);
    match head.text {
        "func" => {
            let after = if rest.first().is_some_and(|t| t.is("(")) {
                &source.tokens[source.past(item.start + 1)..item.end]
            } else {
                rest
            };
            let name = name(after);
            let test = name.is_some_and(|n| {
                ["Test", "Benchmark", "Fuzz", "Example"]
                    .iter()
                    .any(|p| n.starts_with(p))
                    && n != "TestMain"
            });
            found(if test { Role::Test } else { Role::Definition }, name)
        }
        "import" if rest.iter().any(|t| t.is(".")) => other(),
        "import" => found(Role::Import, words(rest)),
        "type" => found(Role::Definition, name(rest)),
        "var" | "const" => found(Role::Value, name(rest)),
        ";" => found(Role::Nothing, []),
        _ => other(),
    }
}

/// A word by which code does not run, or keeps other tests from running, where it stands as such a call or mark.
pub(super) fn switched_off<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    const CALLS: &[&str] = &[
        "fit",
        "fdescribe",
        "xit",
        "xdescribe",
        "xtest",
        "SkipTest",
        "skipTest",
        "Skip",
        "SkipNow",
        "Skipf",
        "autouse",
    ];
    const AFTER_DOT: &[&str] = &[
        "only",
        "skip",
        "skipIf",
        "skipUnless",
        "skipif",
        "runIf",
        "todo",
        "xfail",
        "expectedFailure",
        "failing",
        "importorskip",
        "exit",
        "_exit",
    ];
    const OWNERS: &[&str] = &[
        "it",
        "test",
        "describe",
        "suite",
        "context",
        "mark",
        "pytest",
        "unittest",
        "t",
        "self",
        "concurrent",
        "each",
        "os",
        "sys",
        "process",
    ];
    tokens.iter().enumerate().find_map(|(i, token)| {
        if token.class != Class::Word {
            return None;
        }
        let before = |n: usize| i.checked_sub(n).map(|k| &tokens[k]);
        let dotted = before(1).is_some_and(|t| t.is("."));
        let owner = before(2).is_some_and(|t| OWNERS.contains(&t.text));
        let marked = before(1).is_some_and(|t| t.is("@"));
        let ignored =
            token.is("ignore") && before(1).is_some_and(|t| t.is("[")) && before(2).is_some_and(|t| t.is("#"));
        let called = CALLS.contains(&token.text) && tokens.get(i + 1).is_some_and(|t| t.is("(") || t.is("="));
        let hit = ignored || called || (AFTER_DOT.contains(&token.text) && ((dotted && owner) || marked));
        hit.then_some(token.text)
    })
}
