//! Patterns: the regular expressions of the config, and the home's own `patterns.json`.

use regex::{Regex, RegexBuilder};

use super::Checks;
use crate::{
    config::{
        Detection,
        problem::{JsonPath, Problem, quote_str},
        raw,
    },
    text::logs::{Patterns, pattern_fault, regex_fault},
};

/// Compiled size of a user's pattern. A longer one is a mistake or an attack on memory.
const REGEX_BYTES: usize = 1 << 20;

/// Checks as people name them. A pattern that fits all of them fits whatever else there is.
const CHECK_NAMES: [&str; 9] = [
    "test",
    "build",
    "lint",
    "Typecheck",
    "unit tests",
    "e2e-tests",
    "CI / test (ubuntu-latest, 20)",
    "ci/circleci: build",
    "deploy",
];

/// As it is called below the home.
pub(in crate::config) const PATTERNS_FILE: &str = "collectors/patterns.json";

impl Checks<'_> {
    pub(super) fn detection(&mut self, raw: &raw::Detection) -> Detection {
        let at = JsonPath::default().key("detection").key("ciNonblockingRe");
        let ci_nonblocking = self.regex(&raw.ci_nonblocking, at.clone(), "\"^codecov/\"");
        let ci_nonblocking = ci_nonblocking.filter(|regex| {
            let all = regex.is_match("") || CHECK_NAMES.iter().all(|name| regex.is_match(name));
            if all {
                let what = format!(
                    "{} matches every check, so none would block a merge",
                    quote_str(regex.as_str())
                );
                self.problem(at.clone(), what, "\"^codecov/\"");
            }
            !all
        });
        Detection { ci_nonblocking }
    }

    /// An empty pattern is none.
    fn regex(&mut self, text: &str, at: JsonPath, example: &str) -> Option<Regex> {
        if text.is_empty() {
            return None;
        }
        match RegexBuilder::new(text).size_limit(REGEX_BYTES).build() {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.problem(at, format!("{} {}", quote_str(text), regex_fault(&error)), example);
                None
            }
        }
    }

    /// What the log engine looks for: the home's own file or the shipped one, and `detection.rpcErrRe`.
    pub(super) fn patterns(&mut self, raw: &raw::Detection) -> Patterns {
        let rpc = Some(raw.rpc_err.as_str()).filter(|text| !text.is_empty());
        let wrong = rpc.and_then(pattern_fault);
        if let Some(what) = &wrong {
            let at = JsonPath::default().key("detection").key("rpcErrRe");
            let what = format!("{} {what}", quote_str(&raw.rpc_err));
            self.problem(at, what, "\"execution reverted|header not found\"");
        }
        let rpc = rpc.filter(|_| wrong.is_none());
        let Some(own) = &self.context.patterns else {
            return Patterns::shipped(rpc);
        };
        Patterns::parse(own, rpc).unwrap_or_else(|faults| {
            let below = |fault| Problem::of_pattern(PATTERNS_FILE, fault);
            self.problems.extend(faults.into_iter().map(below));
            Patterns::shipped(rpc)
        })
    }
}
