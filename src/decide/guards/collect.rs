//! Whether a runner finds a test file: by the patterns of its configuration where they are written down, else by the
//! runner's own.

use std::collections::BTreeMap;

use globset::GlobBuilder;

use super::{
    Diff, Kinds,
    kind::extension,
    path::normal,
    syntax::{Ast, Grammar, Id, Kind, literal, parse},
    view::File,
};

/// Configuration files of the head, by normalised path.
pub(super) struct Collect {
    configs: BTreeMap<String, Patterns>,
}

/// What a configuration says about files.
#[derive(Debug, Default)]
struct Patterns {
    include: Vec<String>,
    exclude: Vec<String>,
    dirs: Vec<String>,
}

const CONFIGS: &[&str] = &[
    "vitest.config",
    "vite.config",
    "jest.config",
    "playwright.config",
    "cypress.config",
    ".mocharc",
];

/// The names of files that may say which tests run.
pub(super) fn is_config(name: &str) -> bool {
    CONFIGS.iter().any(|c| name.starts_with(c))
        || matches!(
            name,
            "package.json" | "pyproject.toml" | "pytest.ini" | "tox.ini" | "setup.cfg" | ".rspec" | "cargo.toml"
        )
}

impl Collect {
    pub(super) fn of(diff: &Diff, files: &[File<'_>], _kinds: &Kinds) -> Self {
        let mut configs = BTreeMap::new();
        let mut add = |path: &str, text: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            if is_config(name)
                && let Some(patterns) = patterns(name, text)
            {
                configs.insert(path.to_owned(), patterns);
            }
        };
        for (path, bytes) in &diff.around.files {
            if let Ok(text) = std::str::from_utf8(bytes) {
                add(&normal(path), text);
            }
        }
        for file in files {
            if let Some(text) = file.new {
                add(&file.normal, text);
            }
        }
        Self { configs }
    }

    pub(super) fn finds(&self, file: &File<'_>) -> bool {
        let Some(grammar) = file.grammar else { return true };
        let name = file.name();
        let by_name = match grammar {
            Grammar::Script | Grammar::Tsx => return self.finds_script(&file.normal, name),
            Grammar::Python => (name.starts_with("test") || name.ends_with("_test.py")) || name == "conftest.py",
            Grammar::Go => {
                name.ends_with("_test.go")
                    && !name.starts_with(['_', '.'])
                    && !file.normal.contains("testdata/")
                    && !is_of_another_platform(name)
            }
            Grammar::Rust => {
                // What a manifest names elsewhere is seldom, and then the base's file was not found either.
                let dirs = ["src", "tests", "benches", "examples"];
                return file.normal.split('/').any(|d| dirs.contains(&d));
            }
            Grammar::Java => {
                let stem = name.trim_end_matches(".java");
                ["test", "tests", "testcase", "it"].iter().any(|e| stem.ends_with(e)) || stem.starts_with("test")
            }
            Grammar::Kotlin => {
                let stem = name.trim_end_matches(".kt");
                ["test", "tests", "spec", "it"].iter().any(|e| stem.ends_with(e)) || stem.starts_with("test")
            }
            Grammar::Php => ["test.php", "cest.php", "spec.php", "cept.php"]
                .iter()
                .any(|e| name.ends_with(e)),
            Grammar::CSharp => true,
            // RSpec finds what ends in `_spec`, whatever else there is to find for others.
            Grammar::Ruby if file.new.is_some_and(|t| t.contains("RSpec.describe")) => name.ends_with("_spec.rb"),
            Grammar::Ruby => name.ends_with("_spec.rb") || name.ends_with("_test.rb") || name.starts_with("test_"),
        };
        by_name && self.in_dirs(&file.normal, grammar)
    }

    /// Below one of the folders that the nearest configuration names.
    fn in_dirs(&self, path: &str, grammar: Grammar) -> bool {
        let of = |config: &str| grammar == Grammar::Python && matches!(extension(config), "toml" | "ini" | "cfg");
        let governing = self
            .configs
            .iter()
            .filter(|(c, p)| of(c) && !p.dirs.is_empty() && is_above(c, path));
        let nearest = governing.max_by_key(|(c, _)| c.len());
        nearest.is_none_or(|(config, patterns)| {
            let base = super::answer::dir(config);
            patterns.dirs.iter().any(|d| {
                let full = normal(format!("{base}/{d}").as_bytes());
                full.is_empty() || path.starts_with(&format!("{full}/")) || path == full
            })
        })
    }

    fn finds_script(&self, path: &str, name: &str) -> bool {
        let governing: Vec<(&String, &Patterns)> = self
            .configs
            .iter()
            .filter(|(c, p)| is_above(c, path) && (!p.include.is_empty() || !p.dirs.is_empty()))
            .collect();
        let default = {
            let words: Vec<&str> = name.split('.').collect();
            words.len() > 2 && matches!(words[words.len() - 2], "test" | "spec" | "cy" | "e2e")
                || path.contains("__tests__/")
        };
        if governing.is_empty() {
            return default || path.split('/').any(|d| matches!(d, "test" | "tests" | "spec"));
        }
        // Several runners may share a tree; one that finds the file is enough.
        governing.iter().any(|(config, patterns)| {
            let base = super::answer::dir(config);
            let relative = path.strip_prefix(base).unwrap_or(path).trim_start_matches('/');
            let dirs = patterns.dirs.is_empty()
                || patterns
                    .dirs
                    .iter()
                    .any(|d| relative.starts_with(&normal(d.as_bytes())));
            let included = if patterns.include.is_empty() {
                default
            } else {
                matches(&patterns.include, relative)
            };
            dirs && included && !matches(&patterns.exclude, relative)
        })
    }
}

/// Go compiles a file of this name on one system or processor only, and not where tests mostly run.
fn is_of_another_platform(name: &str) -> bool {
    let bare = name.trim_end_matches("_test.go");
    let last = bare.rsplit_once('_').map_or("", |(_, last)| last);
    let systems = "windows darwin freebsd netbsd openbsd plan9 solaris aix android ios js wasip1 dragonfly illumos";
    let processors = "386 arm arm64 mips mips64 mipsle mips64le ppc64 ppc64le riscv64 s390x wasm loong64";
    super::listed::listed(systems, last) || super::listed::listed(processors, last)
}

fn is_above(config: &str, path: &str) -> bool {
    let base = super::answer::dir(config);
    base.is_empty() || path.starts_with(&format!("{base}/"))
}

fn matches(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| {
        let pattern = pattern
            .trim_start_matches("./")
            .trim_start_matches("<rootDir>/")
            .to_lowercase();
        // The one form of a pattern in parentheses that test runners document.
        let pattern = pattern
            .replace("?(*.)", "{,*.}")
            .replace("+(", "{")
            .replace("@(", "{")
            .replace("?(", "{,");
        let pattern = pattern.replace('|', ",").replace(')', "}");
        let pattern = pattern.replace("?[cm]", "{,c,m}").replace("?(c|m)", "{,c,m}");
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .empty_alternates(true)
            .build();
        glob.is_ok_and(|g| g.compile_matcher().is_match(path))
    })
}

fn patterns(name: &str, text: &str) -> Option<Patterns> {
    let mut out = Patterns::default();
    if matches!(extension(name), "toml" | "ini" | "cfg") {
        python_dirs(text, &mut out);
        return Some(out);
    }
    let grammar = Grammar::of(name).unwrap_or(Grammar::Tsx);
    let wrapped;
    let text = if extension(name) == "json" {
        wrapped = format!("({text})");
        &wrapped
    } else {
        text
    };
    let ast = parse(text, grammar)?;
    for id in ast.walk(Ast::ROOT) {
        if ast.kind(id) != Kind::Pair {
            continue;
        }
        let key = literal::inner(ast.word(id));
        let foreign = ast.above(id).any(|up| {
            ast.kind(up) == Kind::Pair
                && matches!(
                    literal::inner(ast.word(up)),
                    "coverage" | "typecheck" | "resolve" | "optimizeDeps"
                )
        });
        if foreign {
            continue;
        }
        let Some(value) = ast.body(id) else { continue };
        match key {
            "include" | "testMatch" | "specPattern" if name != "package.json" || key == "testMatch" => {
                out.include.extend(texts(&ast, value));
            }
            "spec" if name.starts_with(".mocharc") => out.include.extend(texts(&ast, value)),
            "exclude" | "testIgnore" | "excludeSpecPattern" => out.exclude.extend(texts(&ast, value)),
            "testDir" | "roots" | "dir" => out.dirs.extend(texts(&ast, value)),
            _ => {}
        }
    }
    Some(out)
}

fn texts(ast: &Ast<'_>, id: Id) -> Vec<String> {
    let texts = ast.walk(id).filter(|n| ast.kind(*n) == Kind::Text);
    texts
        .map(|n| literal::inner(ast.source(n)).replace("<rootDir>/", ""))
        .collect()
}

/// `testpaths`, on one line or in a list.
fn python_dirs(text: &str, out: &mut Patterns) {
    let Some(at) = text.find("testpaths") else { return };
    let rest = text[at..].split_once('=').map_or("", |(_, r)| r);
    let value = match rest.trim_start().strip_prefix('[') {
        Some(list) => list.split(']').next().unwrap_or_default(),
        None => rest
            .split("\n\n")
            .next()
            .unwrap_or_default()
            .split('\n')
            .next()
            .unwrap_or_default(),
    };
    let parts = value.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\''));
    out.dirs.extend(parts.filter(|p| !p.is_empty()).map(str::to_owned));
}
