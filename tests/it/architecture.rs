//! Which part may know which other part. The rules are a table; the sources are read as text, with every `use` tree
//! spelled out, and a planted violation of each kind has to be found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::root;

/// What a part may not name.
struct Rule {
    part: &'static str,
    forbidden: &'static [&'static [&'static str]],
}

/// Our own parts that touch the outside or hold the story together.
const EDGES: &[&str] = &[
    "crate::adapters",
    "crate::store",
    "crate::steps",
    "crate::collect",
    "crate::cli",
    "crate::demo",
    "crate::tick",
    "crate::telemetry",
];
/// The parts of the configuration that read files and the environment.
const READING: &[&str] = &[
    "crate::config::load",
    "crate::config::env",
    "crate::config::home",
    "crate::config::trust",
];
/// Everything through which the outside or the time comes in.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::net::ToSocketAddrs",
    "std::thread",
    "std::io::stdin",
    "tokio",
    "reqwest",
    "octocrab",
    "lettre",
    "rusqlite",
    "axum",
    "rustix",
    "landlock",
    "seccompiler",
    "getrandom",
];
const TIME: &[&str] = &[
    "Utc::now",
    "Local::now",
    "SystemTime",
    "std::time::Instant",
    "Instant::now",
];

const RULES: &[Rule] = &[
    Rule {
        part: "src/model",
        forbidden: &[
            EDGES,
            READING,
            OUTSIDE,
            TIME,
            &["crate::text", "crate::decide", "crate::render", "crate::config"],
        ],
    },
    Rule {
        part: "src/text",
        forbidden: &[
            EDGES,
            READING,
            OUTSIDE,
            TIME,
            &["crate::decide", "crate::render", "crate::config"],
        ],
    },
    Rule {
        part: "src/decide",
        forbidden: &[EDGES, READING, OUTSIDE, TIME, &["crate::render"]],
    },
    Rule {
        part: "src/render",
        forbidden: &[EDGES, READING, OUTSIDE, TIME],
    },
    Rule {
        part: "src/adapters",
        forbidden: &[&[
            "crate::decide",
            "crate::store",
            "crate::steps",
            "crate::collect",
            "crate::cli",
            "crate::demo",
            "crate::tick",
            "crate::render",
        ]],
    },
    Rule {
        part: "src/store",
        forbidden: &[&[
            "crate::steps",
            "crate::collect",
            "crate::cli",
            "crate::demo",
            "crate::tick",
            "crate::render",
            "tokio",
            "reqwest",
        ]],
    },
    Rule {
        part: "src/collect",
        forbidden: &[&[
            "crate::steps",
            "crate::store",
            "crate::cli",
            "crate::demo",
            "crate::tick",
            "reqwest",
            "octocrab",
        ]],
    },
    Rule {
        part: "src/steps",
        forbidden: &[&[
            "crate::cli",
            "crate::demo",
            "crate::tick",
            "reqwest",
            "rusqlite",
            "lettre",
        ]],
    },
];

/// Adapters that the others may use.
const SHARED_ADAPTERS: [&str; 4] = ["http", "process", "clock", "exec"];

fn sources(part: &str) -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") && !is_test_file(&path) {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(&root().join(part), &mut out);
    assert!(!out.is_empty(), "{part} has no sources");
    out
}

/// A file of tests, by its name; `test_files_are_compiled_for_tests_only` holds it to that.
fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    stem == "tests" || stem == "testing" || stem.ends_with("_tests")
}

/// The code that is not a test, without comments.
fn code(source: &str) -> String {
    let product = source.split("#[cfg(test)]").next().unwrap_or_default();
    product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Every path that the code names: the leaves of each `use` tree, and the code itself.
fn named(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (n, part) in code.split("use ").enumerate() {
        if n > 0
            && let Some((tree, _)) = part.split_once(';')
        {
            expand("", &tree.split_whitespace().collect::<String>(), &mut paths);
        }
    }
    paths.push(code.split_whitespace().collect::<Vec<_>>().join(" "));
    paths
}

fn expand(prefix: &str, tree: &str, out: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        out.push(format!("{prefix}{tree}"));
        return;
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    let mut from = 0;
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if from < at {
                    expand(&format!("{prefix}{head}"), &inner[from..at], out);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Whether a path stands in a text as a whole: not as the end or the beginning of a longer name.
fn stands_in(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + path.len()..];
        let after = rest.chars().next();
        let whole = !before
            .is_some_and(|c| is_name(c) || (c == ':' && !path.contains("::now") && path != "SystemTime"))
            && !after.is_some_and(is_name);
        // A crate is named as the start of a path, a word of prose or a field is not.
        whole && (path.contains("::") || path == "SystemTime" || rest.starts_with("::") || text == path)
    })
}

fn violations(rule: &Rule, source: &str) -> Vec<&'static str> {
    let named = named(&code(source));
    let forbidden = rule.forbidden.iter().flat_map(|list| list.iter());
    forbidden
        .filter(|path| named.iter().any(|text| stands_in(text, path)))
        .copied()
        .collect()
}

#[test]
fn no_part_knows_what_it_must_not() {
    let mut found = Vec::new();
    for rule in RULES {
        for file in sources(rule.part) {
            for path in violations(rule, &fs::read_to_string(&file).unwrap()) {
                found.push(format!("{} names {path}", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn test_files_are_compiled_for_tests_only() {
    let mut declared = 0;
    for file in sources("src") {
        let source = fs::read_to_string(&file).unwrap();
        let mut attributes = Vec::new();
        for line in source.lines() {
            let module = line
                .trim()
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ");
            let name = module.strip_prefix("pub mod ").or_else(|| module.strip_prefix("mod "));
            if let Some(name) = name.and_then(|name| name.strip_suffix(';'))
                && is_test_file(Path::new(name))
            {
                assert!(attributes.contains(&"#[cfg(test)]"), "{}: mod {name}", file.display());
                declared += 1;
            }
            if line.trim().starts_with('#') {
                attributes.push(line.trim());
            } else {
                attributes.clear();
            }
        }
    }
    assert!(declared > 0, "the sources have test files");
}

#[test]
fn only_the_command_line_knows_the_demo() {
    for file in sources("src") {
        let relative = file.strip_prefix(root()).unwrap();
        if relative.starts_with("src/cli") || relative.starts_with("src/demo") {
            continue;
        }
        let named = named(&code(&fs::read_to_string(&file).unwrap()));
        assert!(
            !named.iter().any(|text| stands_in(text, "crate::demo")),
            "{} names the demo",
            relative.display()
        );
    }
}

#[test]
fn adapters_know_only_the_shared_ones_among_themselves() {
    let adapters: Vec<String> = fs::read_dir(root().join("src/adapters"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "mod")
        .collect();
    for file in sources("src/adapters") {
        let relative = file.strip_prefix(root().join("src/adapters")).unwrap();
        let own = relative
            .iter()
            .next()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs");
        let named = named(&code(&fs::read_to_string(&file).unwrap()));
        for other in adapters
            .iter()
            .filter(|other| *other != own && !SHARED_ADAPTERS.contains(&other.as_str()))
        {
            let path = format!("crate::adapters::{other}");
            assert!(
                !named.iter().any(|text| stands_in(text, &path)),
                "{} names {path}",
                relative.display()
            );
        }
    }
}

#[test]
fn a_planted_violation_of_every_kind_is_found() {
    let decide = RULES.iter().find(|rule| rule.part == "src/decide").unwrap();
    for (source, expected) in [
        ("use crate::adapters::http::Http;", "crate::adapters"),
        ("use crate::{model::Sha, store::{self, Store}};", "crate::store"),
        ("use std::{collections::BTreeMap, fs};", "std::fs"),
        (
            "use std::{\n    io::{self, Write},\n    process::{Command, Stdio},\n};",
            "std::process",
        ),
        ("fn f() { let _ = std::env::current_dir(); }", "std::env"),
        ("fn f() { crate::steps::go(); }", "crate::steps"),
        ("use tokio::fs as files;", "tokio"),
        ("fn f() { let now = chrono::Utc::now(); }", "Utc::now"),
        ("use chrono::Utc;\nfn f() { Utc::now(); }", "Utc::now"),
        ("use std::time::{Duration, SystemTime};", "SystemTime"),
        ("use std::time::{Duration, Instant};", "std::time::Instant"),
        ("pub use crate::config::{load::load};", "crate::config::load"),
        ("use lettre;", "lettre"),
    ] {
        assert!(
            violations(decide, source).contains(&expected),
            "{source}: {:?}",
            violations(decide, source)
        );
    }
    for harmless in [
        "// crate::adapters is not for us\nuse crate::model::Sha;",
        "use crate::{model::Sha, text::Untrusted};\nuse std::{collections::BTreeMap, time::Duration};",
        "struct S { tokio: u8 }\nfn f(crate_store: u8) {}",
        "#[cfg(test)]\nmod tests { use std::fs; }",
    ] {
        assert_eq!(violations(decide, harmless), [""; 0], "{harmless}");
    }
}
