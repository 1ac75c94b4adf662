//! What a file is, by its path: test code, snapshot, fixture, runner or CI configuration, manifest, or source.

use std::sync::LazyLock;

use super::path::PathSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    /// JavaScript and TypeScript.
    Script,
    Rust,
    Go,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Test code, or helpers beside it. Without a language it is text that is not understood.
    Test(Option<Language>),
    Snapshot,
    /// Data that tests read.
    Fixture,
    /// Decides which tests run and how.
    Runner,
    /// Decides what a merge needs.
    Ci,
    /// Names dependencies; may also configure a runner.
    Manifest,
    Lock,
    Source(Option<Language>),
}

impl Kind {
    /// Belongs to the tests and not to what they test.
    pub fn is_test_side(self) -> bool {
        matches!(self, Self::Test(_) | Self::Snapshot | Self::Fixture)
    }
}

const LOCKS: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "pipfile.lock",
    "gemfile.lock",
    "composer.lock",
    "go.sum",
    "flake.lock",
    "deno.lock",
];

const MANIFESTS: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pipfile",
    "cargo.toml",
    "go.mod",
    "go.work",
    "gemfile",
    "composer.json",
    "pnpm-workspace.yaml",
    "deno.json",
    "deno.jsonc",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
];

const RUNNERS: &[&str] = &[
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "noxfile.py",
    ".coveragerc",
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    ".mocharc",
    ".nycrc",
    ".taprc",
    "karma.conf",
    "jest.config",
    "jest.setup",
    "vitest.config",
    "vitest.workspace",
    "vitest.setup",
    "playwright.config",
    "cypress.config",
    "ava.config",
    "wdio.conf",
    "phpunit.xml",
    "nextest.toml",
    "sitecustomize.py",
    "usercustomize.py",
    // A file of this name is taken for the framework itself.
    "unittest.py",
    "pytest.py",
    "_pytest.py",
    "doctest.py",
];

const CI: &[&str] = &[
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".gitlab/**",
    ".circleci/**",
    ".buildkite/**",
    ".woodpecker/**",
    ".ci/**",
    ".travis.yml",
    ".drone.yml",
    "appveyor.yml",
    "azure-pipelines*.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile*",
];

/// One for all: it takes longer to compile than to ask.
static CI_SET: LazyLock<PathSet> = LazyLock::new(|| PathSet::built_in(CI));

/// Reads kinds from normalised paths.
#[derive(Debug, Clone)]
pub struct Kinds {
    extra_tests: PathSet,
}

impl Kinds {
    /// `extra_tests`: patterns of files that count as tests beside those that are known.
    pub fn new<'a>(extra_tests: impl IntoIterator<Item = &'a str>) -> Result<Self, super::path::BadGlob> {
        Ok(Self {
            extra_tests: PathSet::new(extra_tests)?,
        })
    }

    pub fn of(&self, normal: &str) -> Kind {
        let (dirs, name) = normal.rsplit_once('/').map_or(("", normal), |(d, n)| (d, n));
        let dirs: Vec<&str> = dirs.split('/').filter(|d| !d.is_empty()).collect();
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let ext = extension(name);
        let language = language(ext);
        if CI_SET.matches(normal) {
            return Kind::Ci;
        }
        if LOCKS.contains(&name) {
            return Kind::Lock;
        }
        if is_runner(name) {
            return Kind::Runner;
        }
        if is_manifest(name) {
            return Kind::Manifest;
        }
        if is_by_lines(normal) {
            return Kind::Test(language);
        }
        let snapshots = ["__snapshots__", "__image_snapshots__", "snapshots"];
        if matches!(ext, "snap" | "ambr" | "golden" | "approved") || (has_dir(&dirs, &snapshots) && language.is_none())
        {
            return Kind::Snapshot;
        }
        let in_tests = has_dir(
            &dirs,
            &[
                "test",
                "tests",
                "__tests__",
                "spec",
                "specs",
                "e2e",
                "testing",
                "__mocks__",
                "testdata",
                "test_data",
                "__fixtures__",
            ],
        );
        if ["csproj", "fsproj", "vbproj", "props", "targets"].contains(&ext) {
            return Kind::Source(None);
        }
        if language.is_none() && (in_tests || (has_dir(&dirs, &["fixtures"]) && !ext.is_empty())) {
            return if is_foreign_code(ext) {
                Kind::Test(None)
            } else {
                Kind::Fixture
            };
        }
        if in_tests || named_as_test(name, stem, ext) || self.extra_tests.hit(normal).is_some() {
            return Kind::Test(language);
        }
        Kind::Source(language)
    }
}

/// Code whose checks stand in no test of their own, and are judged by their lines although a grammar may read them:
/// steps of features, scripts of load tests.
pub(super) fn is_by_lines(normal: &str) -> bool {
    let Some((dirs, name)) = normal.rsplit_once('/') else {
        return false;
    };
    let within = |wanted: &str| dirs.split('/').any(|d| d == wanted);
    let code = matches!(
        extension(name),
        "py" | "rb" | "js" | "ts" | "mjs" | "cjs" | "java" | "kt" | "go" | "cs" | "php" | "rs" | "groovy" | "exs"
    );
    let steps = within("step_definitions") || within("features") && (within("steps") || name.contains("steps"));
    code && (steps || within("k6"))
}

/// Of a normalised name, so in lower case.
pub(super) fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ext)| ext)
}

fn has_dir(dirs: &[&str], names: &[&str]) -> bool {
    dirs.iter().any(|d| names.contains(d))
}

fn is_runner(name: &str) -> bool {
    RUNNERS.iter().any(|r| {
        name == *r
            || name.strip_prefix(r).is_some_and(|rest| {
                matches!(
                    rest,
                    ".js" | ".cjs" | ".mjs" | ".ts" | ".mts" | ".cts" | ".json" | ".yml" | ".yaml" | ".xml" | ".dist"
                )
            })
    })
}

fn is_manifest(name: &str) -> bool {
    MANIFESTS.contains(&name)
        || (name.starts_with("requirements") && matches!(extension(name), "txt" | "in"))
        || (name.starts_with("constraints") && extension(name) == "txt")
}

fn language(ext: &str) -> Option<Language> {
    match ext {
        "py" | "pyi" => Some(Language::Python),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Some(Language::Script),
        "rs" => Some(Language::Rust),
        "go" => Some(Language::Go),
        _ => None,
    }
}

/// Code whose structure is not read here.
fn is_foreign_code(ext: &str) -> bool {
    [
        "rb", "java", "kt", "kts", "scala", "php", "cs", "fs", "c", "h", "cc", "cpp", "hpp", "swift", "m", "ex", "exs",
        "erl", "sh", "bash", "bats", "zsh", "pl", "pm", "t", "lua", "r", "jl", "dart", "vue", "svelte", "feature",
        "robot", "hs", "ml", "clj", "zig", "cxx", "hh", "groovy", "gvy", "sol", "hurl", "http", "rest", "res", "ipynb",
        "jmx", "bru", "fsx", "vb", "nim", "cr", "rkt", "el", "lisp", "f90", "tcl", "ps1",
    ]
    .contains(&ext)
}

fn named_as_test(name: &str, stem: &str, ext: &str) -> bool {
    let words: Vec<&str> = name.split('.').collect();
    let marked = words.len() > 2
        && words[1..words.len() - 1]
            .iter()
            .any(|w| matches!(*w, "test" | "tests" | "spec" | "e2e" | "cy"));
    match ext {
        "py" => {
            stem.starts_with("test_")
                || stem.ends_with("_test")
                || matches!(name, "conftest.py" | "tests.py" | "test.py")
        }
        "go" => name.ends_with("_test.go"),
        "rs" => matches!(name, "tests.rs" | "test.rs") || stem.ends_with("_test") || stem.ends_with("_tests"),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => {
            marked || stem.starts_with("test-") || stem.ends_with("-test") || stem.ends_with("_test") || stem == "test"
        }
        "rb" => stem.ends_with("_spec") || stem.ends_with("_test"),
        "java" | "kt" | "scala" | "cs" | "php" | "swift" => stem.ends_with("test") || stem.ends_with("tests"),
        "bats" | "feature" | "robot" | "t" | "hurl" | "jmx" | "bru" => true,
        // `shop.postman_collection.json`
        "json" => marked || name.ends_with("postman_collection.json"),
        "groovy" => stem.ends_with("test") || stem.ends_with("tests") || stem.ends_with("spec"),
        "sol" => marked || name.ends_with(".t.sol"),
        // `box_test.cc`, `test_box.cpp`, `box_spec.lua`, `test-box.R`
        _ if is_foreign_code(ext) || ext == "sql" => {
            let ends = ["_test", "_tests", "_unittest", "_spec", "-test", "_suite"];
            marked || stem.starts_with("test_") || stem.starts_with("test-") || ends.iter().any(|e| stem.ends_with(e))
        }
        _ => marked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_path() {
        let kinds = Kinds::new(["checks/**"]).unwrap();
        let test = |l| Kind::Test(Some(l));
        let source = |l| Kind::Source(Some(l));
        for (path, kind) in [
            ("api/tests/test_parse.py", test(Language::Python)),
            ("api/tests/conftest.py", test(Language::Python)),
            ("api/app/parse.py", source(Language::Python)),
            ("api/app/contest.py", source(Language::Python)),
            ("web/test/cart.test.ts", test(Language::Script)),
            ("web/src/cart.spec.tsx", test(Language::Script)),
            ("web/src/cart.ts", source(Language::Script)),
            ("web/src/latest.ts", source(Language::Script)),
            ("web/src/__tests__/a.js", test(Language::Script)),
            ("web/src/spectrum.js", source(Language::Script)),
            ("core/tests/window.rs", test(Language::Rust)),
            ("core/src/window.rs", source(Language::Rust)),
            ("core/src/attest.rs", source(Language::Rust)),
            ("relay/queue_test.go", test(Language::Go)),
            ("relay/queue.go", source(Language::Go)),
            ("relay/testdata/a.json", Kind::Fixture),
            ("tests/fixtures/a.csv", Kind::Fixture),
            ("tests/run.sh", Kind::Test(None)),
            ("cpp/box_test.cc", Kind::Test(None)),
            ("cpp/test_box.cpp", Kind::Test(None)),
            ("cpp/latest.cpp", Kind::Source(None)),
            ("t/box.t", Kind::Test(None)),
            ("features/steps/box.py", test(Language::Python)),
            ("features/step_definitions/box.rb", Kind::Test(None)),
            ("shop/features/steps.md", Kind::Source(None)),
            ("shop/steps/box.py", source(Language::Python)),
            ("k6/load.js", test(Language::Script)),
            ("notebooks/test_box.ipynb", Kind::Test(None)),
            ("notebooks/box.ipynb", Kind::Source(None)),
            ("postman/shop.postman_collection.json", Kind::Test(None)),
            ("test/box.t.sol", Kind::Test(None)),
            ("tests/box.groovy", Kind::Test(None)),
            ("tests/box.hurl", Kind::Test(None)),
            ("db/seed.sql", Kind::Source(None)),
            ("web/test/__snapshots__/banner.test.ts.snap", Kind::Snapshot),
            ("checks/a.py", test(Language::Python)),
            ("vitest.config.ts", Kind::Runner),
            ("web/jest.config.json", Kind::Runner),
            ("src/config.ts", source(Language::Script)),
            ("pytest.ini", Kind::Runner),
            (".github/workflows/ci.yml", Kind::Ci),
            ("package.json", Kind::Manifest),
            ("requirements-dev.txt", Kind::Manifest),
            ("package-lock.json", Kind::Lock),
            ("docs/requirements.md", Kind::Source(None)),
        ] {
            assert_eq!(kinds.of(path), kind, "{path}");
        }
    }
}
