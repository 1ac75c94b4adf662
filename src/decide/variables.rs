//! Which variables of the environment a change begins to read, from the text of its diff. Names only; a variable with a
//! default beside it needs no setting.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::guards::Kinds;

/// Ways of many languages to read a variable; the name is the one group that takes part.
static READ: LazyLock<Regex> = LazyLock::new(|| {
    let name = "([A-Z][A-Z0-9_]{2,80})";
    let quoted = format!(r#"\s*\(?\[?\s*["']{name}["']\s*\]?"#);
    let ways = [
        format!(r"(?:process|Bun|import\.meta)\.env\.{name}\b"),
        format!(r"(?:process|Bun|import\.meta)\.env{quoted}"),
        format!(
            r"(?:Deno\.env\.get|os\.environ\.get|os\.environ|os\.getenv|\bgetenv|\benviron\.get|\benviron){quoted}"
        ),
        format!(r"(?:env::var_os|env::var|\benv!|os\.Getenv|os\.LookupEnv){quoted}"),
        format!(r"(?:\bENV\.fetch|\bENV|System\.getenv|System\.get_env|GetEnvironmentVariable|\$_ENV){quoted}"),
    ];
    Regex::new(&ways.join("|")).expect("the pattern is constant")
});

/// What stands behind a variable that has a default.
static DEFAULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*\)?\s*(?:\|\||\?\?|\?:|,|or\b|\.unwrap_or|\.ok\(\)|\.to_s\b|!?==)")
        .expect("the pattern is constant")
});

/// Set by systems and platforms themselves.
const GIVEN: [&str; 16] = [
    "NODE_ENV",
    "PORT",
    "HOME",
    "PATH",
    "CI",
    "TZ",
    "LANG",
    "PWD",
    "USER",
    "HOSTNAME",
    "TMPDIR",
    "SHELL",
    "TERM",
    "DEBUG",
    "NODE_OPTIONS",
    "RUST_LOG",
];
const GIVEN_PREFIXES: [&str; 6] = [
    "VERCEL",
    "NEXT_PUBLIC_VERCEL",
    "RAILWAY",
    "GITHUB_",
    "NEXT_RUNTIME",
    "LC_",
];

/// Variables that the added lines of a unified diff read without a default, and that no removed line read.
pub fn begins_to_read(diff: &str, kinds: &Kinds) -> BTreeSet<String> {
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    let mut tests = false;
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.strip_prefix("b/").unwrap_or(path);
            tests = kinds.of(path).is_test_side();
        } else if tests || line.starts_with("--- ") {
        } else if let Some(text) = line.strip_prefix('+') {
            added.extend(reads(text));
        } else if let Some(text) = line.strip_prefix('-') {
            removed.extend(reads(text));
        }
    }
    added.difference(&removed).cloned().collect()
}

fn reads(line: &str) -> impl Iterator<Item = String> {
    let code = line.trim_start();
    let comment = ["//", "#", "*", "--"].iter().any(|mark| code.starts_with(mark));
    READ.captures_iter(if comment { "" } else { line })
        .filter_map(move |found| {
            let end = found.get(0)?.end();
            let name = found.iter().skip(1).flatten().next()?.as_str();
            let given = GIVEN.contains(&name) || GIVEN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            let default = DEFAULT.is_match(line.get(end..)?);
            (!given && !default).then(|| name.to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(diff: &str) -> Vec<String> {
        begins_to_read(diff, &Kinds::new([]).unwrap()).into_iter().collect()
    }

    #[test]
    fn each_language_reads_in_its_way() {
        for line in [
            "+const url = process.env.QUEUE_URL;",
            "+const url = process.env[\"QUEUE_URL\"]!;",
            "+const url = import.meta.env.QUEUE_URL",
            "+url = os.environ[\"QUEUE_URL\"]",
            "+url = os.environ.get('QUEUE_URL')",
            "+url = os.getenv(\"QUEUE_URL\")",
            "+let url = std::env::var(\"QUEUE_URL\")?;",
            "+url := os.Getenv(\"QUEUE_URL\")",
            "+url, ok := os.LookupEnv(\"QUEUE_URL\")",
            "+url = ENV.fetch(\"QUEUE_URL\")",
            "+url = ENV[\"QUEUE_URL\"]",
            "+String url = System.getenv(\"QUEUE_URL\");",
            "+var url = Environment.GetEnvironmentVariable(\"QUEUE_URL\");",
            "+$url = getenv('QUEUE_URL');",
        ] {
            assert_eq!(read(line), ["QUEUE_URL"], "{line}");
        }
    }

    #[test]
    fn a_default_a_comment_and_what_the_platform_sets_need_no_setting() {
        for line in [
            "+const url = process.env.QUEUE_URL ?? \"redis://localhost\";",
            "+const url = process.env.QUEUE_URL || local",
            "+url = os.environ.get(\"QUEUE_URL\", \"\")",
            "+url = os.getenv(\"QUEUE_URL\") or LOCAL",
            "+let url = env::var(\"QUEUE_URL\").unwrap_or_default();",
            "+url = ENV.fetch(\"QUEUE_URL\", nil)",
            "+// reads process.env.QUEUE_URL",
            "+const port = process.env.PORT;",
            "+const where = process.env.VERCEL_REGION;",
            " const url = process.env.QUEUE_URL;",
            "-const url = process.env.QUEUE_URL;",
            "+myprocess_env.QUEUE_URL",
        ] {
            assert_eq!(read(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn what_moves_is_not_new_and_tests_do_not_count() {
        let moved = "--- a/x.ts\n+++ b/x.ts\n-process.env.QUEUE_URL;\n+  process.env.QUEUE_URL;\n";
        assert_eq!(read(moved), [""; 0]);
        let test = "--- a/tests/x.test.ts\n+++ b/tests/x.test.ts\n+process.env.QUEUE_URL;\n--- a/y.ts\n+++ b/y.ts\n+process.env.SECOND;\n";
        assert_eq!(read(test), ["SECOND"]);
    }
}
