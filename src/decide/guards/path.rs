//! Paths as a guard sees them: one spelling for all that a file system may take for the same name, and the list of
//! paths that nobody changes unattended. The list can be extended, never shortened.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization as _;

use crate::text::clean::is_invisible;

/// What changes how code is built, checked, shipped or guarded, or who may do what. Matched after [`normal`].
pub const SENSITIVE: &[&str] = &[
    // The forge and its automation.
    "**/.github/**",
    "**/.gitlab/**",
    "**/.gitlab-ci.yml",
    "**/.circleci/**",
    "**/.buildkite/**",
    "**/.woodpecker/**",
    "**/.woodpecker*.y{a,}ml",
    "**/.{semaphore,teamcity,forgejo,gitea,azure-pipelines,tekton}/**",
    "**/buildspec*.y{a,}ml",
    "**/.{appveyor,cirrus,mergify,coderabbit,readthedocs,gitpod}.y{a,}ml",
    "**/renovate.json",
    "**/.renovaterc*",
    "**/.ci/**",
    "**/.travis.yml",
    "**/.drone.yml",
    "**/appveyor.yml",
    "**/azure-pipelines*.yml",
    "**/bitbucket-pipelines.yml",
    "**/cloudbuild.y{a,}ml",
    "**/jenkinsfile*",
    "**/codeowners",
    // What agents read and obey.
    "**/agents.md",
    "**/agents.override.md",
    "**/claude.md",
    "**/claude.local.md",
    "**/gemini.md",
    "**/copilot-instructions.md",
    "**/.claude/**",
    "**/.cursor/**",
    "**/.cursorrules",
    "**/.codex/**",
    "**/.gemini/**",
    "**/.opencode/**",
    "**/opencode.json{c,}",
    "**/.aider*",
    "**/.windsurf/**",
    "**/.windsurfrules",
    "**/.clinerules{,/**}",
    "**/.roo/**",
    "**/.kiro/**",
    "**/.continue/**",
    "**/.{junie,amazonq,augment,trae,kilocode,openhands}/**",
    "**/.roo{modes,ignore}",
    "**/.goosehints",
    "**/.augment-guidelines",
    "agent.md",
    "**/.mcp.json",
    "**/mcp.json",
    // Hooks and git's own files.
    "**/.git/**",
    "**/.git",
    "**/.husky/**",
    "**/.githooks/**",
    "**/githooks/**",
    "**/git-hooks/**",
    "**/lefthook*.y{a,}ml",
    "**/.lefthook*.y{a,}ml",
    "**/.overcommit.y{a,}ml",
    "**/.lefthook/**",
    "**/.pre-commit-config.yaml",
    "**/.lintstagedrc*",
    "**/.gitattributes",
    "**/.gitmodules",
    "**/.gitconfig",
    "**/.lfsconfig",
    // Who may do what.
    "**/src/auth/**",
    "**/auth/**",
    "**/authn/**",
    "**/authz/**",
    "**/authentication/**",
    "**/authorization/**",
    "**/oauth/**",
    "**/permissions/**",
    // How it is shipped.
    "**/infra/**",
    "**/infrastructure/**",
    "**/deploy/**",
    "**/deployment/**",
    "**/terraform/**",
    "**/*.tf",
    "**/*.tfvars",
    "**/k8s/**",
    "**/kubernetes/**",
    "**/helm/**",
    "**/ansible/**",
    "**/vercel.json",
    "**/railway.{json,toml}",
    "**/netlify.toml",
    "**/fly.toml",
    "**/render.yaml",
    "**/wrangler.{toml,json,jsonc}",
    "**/procfile",
    "**/nixpacks.toml",
    "**/dockerfile{,.*}",
    "**/*.dockerfile",
    "**/containerfile",
    "**/{docker-,}compose*.y{a,}ml",
    "**/.devcontainer/**",
    "**/.devcontainer.json",
    // Data and rights that cannot be taken back.
    "**/migrations/**",
    "**/migration/**",
    "**/licen{s,c}e{,.*,-*}",
    "**/copying{,.*}",
    "**/unlicense",
    // What runs by itself on a developer's machine or at build time.
    "**/.npmrc",
    "**/.yarnrc{,.yml}",
    "**/.yarn/**",
    "**/.pnpmfile.cjs",
    "**/.pypirc",
    "**/pip.conf",
    "**/.netrc",
    "**/.cargo/**",
    "**/rust-toolchain{,.toml}",
    "**/build.rs",
    "**/node_modules/**",
    "**/site-packages/**",
    "**/{unittest,pytest,_pytest}/**",
    "**/*.pth",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "**/.envrc",
    "**/.env",
    "**/.vscode/**",
    "**/.vscode/{tasks,launch}.json",
    "**/.idea/**",
    "**/.zed/tasks.json",
    "**/{,.}mise.toml",
    // What the checks demand.
    "**/tsconfig*.json",
    "**/eslint.config.*",
    "**/.eslintrc*",
    "**/.eslintignore",
    "**/biome.json{c,}",
    "**/{.,}ruff.toml",
    "**/{.,}mypy.ini",
    "**/pyrightconfig.json",
    "**/.flake8",
    "**/{.,}pylintrc",
    "**/{.,}clippy.toml",
    "**/deny.toml",
    "**/.golangci.*",
    "**/.semgrep*{,/**}",
    "**/sonar-project.properties",
    "**/{codecov,.codecov}.y{a,}ml",
    "**/{scripts,tools,bin,hack}/**/*guard*",
    "**/makefile",
    "**/gnumakefile",
    "**/justfile",
];

/// Of the list above, what is judged by its content in a diff of anybody: stricter is not weaker, and adding is not
/// destroying.
const BY_CONTENT: &[&str] = &[
    "**/.ci/**",
    "**/permissions/**",
    "**/migrations/**",
    "**/migration/**",
    "**/dockerfile{,.*}",
    "**/*.dockerfile",
    "**/containerfile",
    "**/{docker-,}compose*.y{a,}ml",
    "**/.yarn/**",
    "**/rust-toolchain{,.toml}",
    "**/build.rs",
    "**/.vscode/**",
    "**/.idea/**",
    "**/tsconfig*.json",
    "**/eslint.config.*",
    "**/.eslintrc*",
    "**/.eslintignore",
    "**/biome.json{c,}",
    "**/{.,}ruff.toml",
    "**/{.,}mypy.ini",
    "**/pyrightconfig.json",
    "**/.flake8",
    "**/{.,}pylintrc",
    "**/{.,}clippy.toml",
    "**/deny.toml",
    "**/.golangci.*",
    "**/.semgrep*{,/**}",
    "**/sonar-project.properties",
    "**/{codecov,.codecov}.y{a,}ml",
    "**/{scripts,tools,bin,hack}/**/*guard*",
    "**/makefile",
    "**/gnumakefile",
    "**/justfile",
];

/// A glob of the configuration that cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the path pattern {pattern:?} cannot be read: {why}; an example is \"**/ledger/**\"")]
pub struct BadGlob {
    pub pattern: String,
    pub why: String,
}

/// A set of path patterns, matched without regard to case and spelling.
#[derive(Debug, Clone)]
pub struct PathSet {
    set: GlobSet,
    patterns: Vec<String>,
}

impl PathSet {
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        let mut builder = GlobSetBuilder::new();
        let mut kept = Vec::new();
        for pattern in patterns {
            let bad = |why: String| BadGlob {
                pattern: pattern.to_owned(),
                why,
            };
            let folded = fold(pattern.trim_start_matches("./").trim_start_matches('/'));
            if folded.is_empty() {
                return Err(bad("it is empty".to_owned()));
            }
            // A bare directory means all that is in it, a bare name stands at the top.
            let folded = if folded.ends_with('/') {
                format!("{folded}**")
            } else {
                folded
            };
            let glob = GlobBuilder::new(&folded)
                .literal_separator(true)
                .backslash_escape(true)
                .empty_alternates(true)
                .build()
                .map_err(|e| bad(e.kind().to_string()))?;
            builder.add(glob);
            kept.push(pattern.to_owned());
        }
        let set = builder.build().map_err(|e| BadGlob {
            pattern: e.glob().unwrap_or_default().to_owned(),
            why: e.kind().to_string(),
        })?;
        Ok(Self { set, patterns: kept })
    }

    /// A list that is part of the program.
    pub(super) fn built_in(patterns: &[&'static str]) -> Self {
        Self::new(patterns.iter().copied()).expect("the built-in patterns can be read")
    }

    /// The built-in list and these.
    pub fn sensitive<'a>(extra: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        Self::new(SENSITIVE.iter().copied().chain(extra))
    }

    /// The built-in list for a diff of anybody, and these.
    pub fn personal<'a>(extra: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        let built_in = SENSITIVE.iter().copied().filter(|p| !BY_CONTENT.contains(p));
        Self::new(built_in.chain(extra))
    }

    /// Whether a normalised path matches any pattern.
    pub fn matches(&self, normal: &str) -> bool {
        self.set.is_match(normal)
    }

    /// The first pattern that a normalised path matches.
    pub fn hit(&self, normal: &str) -> Option<&str> {
        if !self.matches(normal) {
            return None;
        }
        self.set.matches(normal).first().map(|i| self.patterns[*i].as_str())
    }
}

/// One spelling of a path: composed, case folded, without `.`, `..`, doubled or turned slashes, characters that file
/// systems ignore, and dots or blanks at the end of a name.
pub fn normal(path: &[u8]) -> String {
    spelled(path).into_owned()
}

/// The same, without a copy where it is spelled so already.
pub(super) fn spelled(path: &[u8]) -> Cow<'_, str> {
    // Nearly all paths are written so, and a tree has many.
    if is_normal(path)
        && let Ok(text) = std::str::from_utf8(path)
    {
        return Cow::Borrowed(text);
    }
    let text = if path.is_ascii() && !path.iter().any(u8::is_ascii_control) {
        String::from_utf8_lossy(path).to_ascii_lowercase()
    } else {
        fold(&String::from_utf8_lossy(path))
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => {
                let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
                if !name.is_empty() {
                    parts.push(name);
                }
            }
        }
    }
    Cow::Owned(parts.join("/"))
}

/// Whether a path is plain names with single slashes between them: each begins with what is no dot, and ends so.
fn is_normal(path: &[u8]) -> bool {
    let mut before = Part::Slash;
    for b in path {
        let part = PARTS[usize::from(*b)];
        match (before, part) {
            (_, Part::Other) | (Part::Slash, Part::Dot) | (Part::Slash | Part::Dot, Part::Slash) => return false,
            (_, Part::Plain | Part::Dot | Part::Slash) => before = part,
        }
    }
    before == Part::Plain
}

/// What a byte is in a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Plain,
    Dot,
    Slash,
    Other,
}

/// In a table, since a verdict asks for every byte of the paths of a tree.
const PARTS: [Part; 256] = {
    let mut parts = [Part::Other; 256];
    let mut b = 0_u8;
    loop {
        parts[b as usize] = match b {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => Part::Plain,
            b'.' => Part::Dot,
            b'/' => Part::Slash,
            _ => Part::Other,
        };
        if b == u8::MAX {
            break parts;
        }
        b += 1;
    }
};

/// Upper and then lower case folds what lower case alone leaves apart, such as the long s.
fn fold(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_invisible(*c)).nfc().collect();
    seen.to_uppercase().to_lowercase().nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_path_is_its_own_spelling() {
        for path in ["a", "src/a.rs", "web/p1/test/m-1.test_x.ts", "a..b/c"] {
            assert!(is_normal(path.as_bytes()));
            assert_eq!(normal(path.as_bytes()), path);
        }
        for path in [
            "", "/", "/a", "a/", "a//b", "./a", "a/..", ".", "A", "a.", ".a", "a b", "a:b", "a\\b", "\u{e9}",
        ] {
            assert!(!is_normal(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn spellings_become_one() {
        for path in [
            ".github/workflows/ci.yml",
            ".GITHUB/Workflows/CI.yml",
            "./.github//workflows/./ci.yml",
            "x/../.github/workflows/ci.yml",
            ".github\\workflows\\ci.yml",
            ".g\u{200d}ithub/workflows/ci.yml",
            ".github./workflows /ci.yml",
            ".github/workflow\u{17f}/ci.yml",
            "/.github/workflows/ci.yml",
            ".github/workflows/ci.yml::$DATA",
        ] {
            assert_eq!(normal(path.as_bytes()), ".github/workflows/ci.yml", "{path:?}");
        }
        assert_eq!(normal("caf\u{e9}/X".as_bytes()), normal("cafe\u{301}/x".as_bytes()));
        assert_eq!(normal(b"../../a"), "a");
    }

    #[test]
    fn configured_patterns_extend_the_list() {
        let set = PathSet::sensitive(["**/Ledger/**", "pay/"]).unwrap();
        assert!(set.hit("src/ledger/a.rs").is_some());
        assert!(set.hit("pay/x/y.ts").is_some());
        assert!(set.hit(".github/dependabot.yml").is_some());
        assert!(set.hit("src/payer/y.ts").is_none());
        assert!(PathSet::new(["a{b"]).unwrap_err().to_string().contains("a{b"));
        assert!(PathSet::new([""]).is_err());
    }

    #[test]
    fn look_alikes_are_not_sensitive() {
        let set = PathSet::sensitive([]).unwrap();
        for path in [
            "src/author/name.rs",
            "src/authority.rs",
            "docs/github.md",
            "src/deployer.rs",
            "src/license_check.rs",
            "lib/migrations.rb",
            "src/makefile_parser.rs",
            "src/dockerfiles.py",
            "src/env.rs",
            "src/claude_client.ts",
            "src/infrared.rs",
            "web/agents.tsx",
            "src/hooks/use-cart.ts",
            "README.md",
        ] {
            assert_eq!(set.hit(&normal(path.as_bytes())), None, "{path}");
        }
    }
}
