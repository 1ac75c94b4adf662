//! tsc, eslint, mypy and ruff: one failure a file and rule.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, own_file, re};

static TSC: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\S[^()\n]*\.[cm]?[jt]sx?|\S+\.json)(?:\((\d+),\d+\): |:(\d+):\d+ - )error (TS\d+): (.+)$"));
static FILE: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:[A-Za-z]:)?[\w./\\@ \[\]()-]+\.\w{1,6}$"));
static PROBLEM: LazyLock<Regex> =
    LazyLock::new(|| re(r"^\s+(\d+):\d+\s+error\s+(\S.*?)(?:\s{2,}([\w@-]+(?:/[\w@-]+)*))?$"));

static MYPY: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\S[^:\n]*\.pyi?):(\d+)(?::\d+)?: error: (.+?)(?:\s+\[([\w-]+)\])?$"));
/// In one line, or the rule first and its place in the next.
static RUFF: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^(\S[^:\n]*\.(?:pyi?|ipynb|toml)):(?:cell \d+:)?(\d+):\d+: ([A-Z]{1,4}\d{3,4}) (?:\[\*\] )?(.+)$")
});
static RUFF_RULE: LazyLock<Regex> = LazyLock::new(|| re(r"^([A-Z]{1,4}\d{3,4}|invalid-syntax:?) (?:\[\*\] )?(.+)$"));
static RUFF_PLACE: LazyLock<Regex> =
    LazyLock::new(|| re(r"^\s+--> (\S.*\.(?:pyi?|ipynb|toml)):(?:cell \d+:)?(\d+):\d+$"));

pub(super) fn read(lines: &[&str]) -> Vec<Failure> {
    let mut file = None;
    let mut failures = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = TSC.captures(line) {
            let number = found.get(2).or(found.get(3)).map_or("1", |number| number.as_str());
            let (path, code) = (own_file(&found[1]), &found[4]);
            let message = format!("{code}: {}", &found[5]);
            failures.push(of("tsc", &path, number, code, message, &[line]));
        } else if let Some(failure) = python(line, lines.get(at + 1).copied().unwrap_or_default()) {
            failures.push(failure);
        } else if let (Some(path), Some(found)) = (file, PROBLEM.captures(line)) {
            let path = own_file(path);
            let rule = found.get(3).map_or("parse", |rule| rule.as_str());
            let message = match found.get(3) {
                Some(rule) => format!("{} ({})", &found[2], rule.as_str()),
                None => found[2].to_owned(),
            };
            failures.push(of("eslint", &path, &found[1], rule, message, &[path.as_str(), line]));
        } else if !line.starts_with(' ') {
            file = FILE.is_match(line).then_some(*line);
        }
        if failures.len() == super::MOST {
            break;
        }
    }
    failures
}

/// What mypy or ruff says in a line; of ruff's longer form the place stands in the next.
fn python(line: &str, next: &str) -> Option<Failure> {
    if let Some(found) = MYPY.captures(line) {
        let code = found.get(4).map_or("error", |code| code.as_str());
        let message = format!("{} [{code}]", &found[3]);
        return Some(of("mypy", &own_file(&found[1]), &found[2], code, message, &[line]));
    }
    if let Some(found) = RUFF.captures(line) {
        let message = format!("{} {}", &found[3], &found[4]);
        return Some(of("ruff", &own_file(&found[1]), &found[2], &found[3], message, &[line]));
    }
    let (rule, place) = (RUFF_RULE.captures(line)?, RUFF_PLACE.captures(next)?);
    let code = rule[1].trim_end_matches(':');
    let message = format!("{code} {}", &rule[2]);
    Some(of(
        "ruff",
        &own_file(&place[1]),
        &place[2],
        code,
        message,
        &[line, next],
    ))
}

fn of(runner: &'static str, path: &str, line: &str, rule: &str, message: String, block: &[&str]) -> Failure {
    let frames = vec![format!("    at f ({path}:{line}:1)")];
    Failure::framed(runner, Class::Build, format!("{path} {rule}"), message, frames, block)
}
