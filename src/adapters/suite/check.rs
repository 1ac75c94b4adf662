//! Compilers, type checkers and linters among the test commands. What each of them finds is a result that fails, named by
//! tool, file and rule; that it ran to its end is one of its own. How many findings a clean tree would have cannot be
//! told from its output, so what is gone is made a pass by whoever compares two runs.

use std::path::Path;

use super::{
    Only, Readout, SuiteOptions,
    command::{Detected, detect as detect_command},
    javascript,
};
use crate::{
    config::CommandLine,
    model::evidence::{TestResult, TestStatus},
    text,
};

/// One of these tools, as it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// First part of the ids of its results.
    pub(super) tool: String,
}

/// With these it changes what it reads, never ends, says nothing, or says it in another form.
const MUDDLED: [&str; 16] = [
    "--watch",
    "-w",
    "--fix",
    "--fix-only",
    "--unsafe-fixes",
    "-f",
    "--format",
    "--output-format",
    "--message-format",
    "--exit-zero",
    "--quiet",
    "-q",
    "--silent",
    "--help",
    "--version",
    "--init",
];

/// Nothing is fetched, and what is said is plain text.
pub(super) const ENV: [(&str, &str); 4] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("CARGO_TERM_COLOR", "never"),
    ("GOPROXY", "off"),
    ("NO_COLOR", "1"),
];

/// None for another program; an error where what it says could not be read.
pub(super) fn detect(name: &str, program: &str, rest: &[String]) -> Option<Result<Check, String>> {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    let (tool, args) = match (name, words.as_slice()) {
        ("tsc" | "eslint" | "mypy", args) => (name.to_owned(), args),
        ("ruff", ["check", args @ ..]) => ("ruff check".to_owned(), args),
        ("cargo", args) => {
            let args: Vec<&&str> = args.iter().filter(|word| !word.starts_with('+')).collect();
            let verb = args.iter().find(|word| !word.starts_with('-'))?;
            let verb = match **verb {
                "clippy" | "check" | "build" => **verb,
                "c" => "check",
                "b" => "build",
                _ => return None,
            };
            (format!("cargo {verb}"), words.as_slice())
        }
        ("go", [verb @ ("build" | "vet"), args @ ..]) => (format!("go {verb}"), args),
        _ => return None,
    };
    let muddled = |word: &&&str| {
        MUDDLED
            .iter()
            .any(|flag| *word == flag || word.starts_with(&format!("{flag}=")))
    };
    if let Some(word) = args.iter().find(muddled) {
        return Some(Err(format!("`{tool}` cannot be read with {word}")));
    }
    Some(Ok(Check {
        program: program.to_owned(),
        args: rest.to_vec(),
        tool,
    }))
}

/// `npx tsc`: the program that npx would find in the tree.
pub(super) fn npx(rest: &[String]) -> Option<Result<Check, String>> {
    let (name, rest) = rest.split_first()?;
    detect(name, &javascript::in_tree(name), rest)
}

impl Check {
    /// Whether a result of that name is one of this tool's.
    pub(super) fn owns(&self, id: &str) -> bool {
        id.strip_prefix(self.tool.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    }

    /// What it said, in a tree that stood at `dir`.
    pub(super) fn parse(&self, stdout: &[u8], stderr: &[u8], dir: &Path, exit: i32) -> Result<Readout, String> {
        let said = [stdout, b"\n", stderr].concat();
        let said = String::from_utf8_lossy(&said).replace(&format!("{}/", dir.display()), "");
        let found = text::ci::checked(&said);
        if found.is_empty() && exit != 0 {
            return Err(format!("it exited with {exit} and names no finding that can be read"));
        }
        let status = if exit == 0 { TestStatus::Pass } else { TestStatus::Fail };
        let mut tests = vec![(self.tool.clone(), TestResult::of(status))];
        tests.extend(found.into_iter().map(|finding| {
            let result = TestResult {
                inside: true,
                trace: finding.signed_text(),
                message: finding.message,
                ..TestResult::of(TestStatus::Fail)
            };
            (format!("{}: {}", self.tool, finding.test), result)
        }));
        Ok(Readout {
            tests,
            load_errors: Vec::new(),
            check: Some(self.tool.clone()),
        })
    }
}

/// The checkers among the commands.
pub(super) fn among(commands: &[CommandLine]) -> Vec<Check> {
    let detected = commands.iter().filter_map(|command| detect_command(&command.argv).ok());
    let check = |detected| match detected {
        Detected::Check(check) => Some(check),
        _ => None,
    };
    detected.filter_map(check).collect()
}

/// The options for one command, none where it has no part in a run of single tests: a checker runs for its own findings,
/// and a runner never hears of those.
pub(super) fn options_of(command: &CommandLine, options: &SuiteOptions, checks: &[Check]) -> Option<SuiteOptions> {
    let (Some(only), false) = (&options.only, checks.is_empty()) else {
        return Some(options.clone());
    };
    if let Ok(Detected::Check(check)) = detect_command(&command.argv) {
        return only.ids.iter().any(|id| check.owns(id)).then(|| options.clone());
    }
    let of_tests = |id: &&String| !checks.iter().any(|check| check.owns(id));
    let ids: Vec<String> = only.ids.iter().filter(of_tests).cloned().collect();
    if ids.is_empty() && !only.ids.is_empty() {
        return None;
    }
    let only = Only { ids, ..only.clone() };
    Some(SuiteOptions {
        only: Some(only),
        ..options.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<Result<Check, String>> {
        let words = shell_words::split(line).unwrap();
        let name = words[0].rsplit('/').next().unwrap();
        detect(name, &words[0], &words[1..])
    }

    #[test]
    fn tools_are_known_by_their_command() {
        for (line, tool) in [
            ("tsc --noEmit -p .", "tsc"),
            ("node_modules/.bin/eslint src", "eslint"),
            ("mypy --strict shop", "mypy"),
            ("ruff check .", "ruff check"),
            ("cargo +stable clippy --all-targets -- -D warnings", "cargo clippy"),
            ("cargo b --release", "cargo build"),
            ("go vet ./...", "go vet"),
        ] {
            assert_eq!(found(line).unwrap().unwrap().tool, tool, "{line}");
        }
        for line in ["ruff format", "cargo test", "cargo", "go test ./...", "make lint"] {
            assert!(found(line).is_none(), "{line}");
        }
        for line in [
            "tsc --watch",
            "eslint --fix .",
            "ruff check --output-format=json",
            "mypy --help",
        ] {
            assert!(found(line).unwrap().is_err(), "{line}");
        }
    }

    #[test]
    fn each_finding_is_a_result_and_so_is_the_end() {
        let check = found("tsc").unwrap().unwrap();
        let said = "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n\
                    src/a.ts(9,5): error TS2322: Type 'null' is not assignable to type 'number'.\n";
        let read = check.parse(said.as_bytes(), b"", Path::new("/tree"), 2).unwrap();
        let ids: Vec<&str> = read.tests.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["tsc", "tsc: src/a.ts TS2322", "tsc: src/a.ts TS2322"]);
        assert!(ids.iter().all(|id| check.owns(id)) && !check.owns("tscx"));
        let first = &read.tests[1].1;
        assert!(first.inside && !first.by_assertion && first.trace.starts_with("FAIL src/a.ts TS2322\nTS2322: Type"));
        let clean = check.parse(b"", b"", Path::new("/tree"), 0).unwrap();
        assert_eq!(clean.tests, [("tsc".to_owned(), TestResult::of(TestStatus::Pass))]);
        let why = check.parse(b"out of memory", b"", Path::new("/tree"), 134).unwrap_err();
        assert_eq!(why, "it exited with 134 and names no finding that can be read");
    }
}
