//! tsc and eslint: one failure a file and rule.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, own_file, re};

static TSC: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(\S[^()\n]*\.[cm]?[jt]sx?|\S+\.json)(?:\((\d+),\d+\): |:(\d+):\d+ - )error (TS\d+): (.+)$"));
static FILE: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:[A-Za-z]:)?[\w./\\@ \[\]()-]+\.\w{1,6}$"));
static PROBLEM: LazyLock<Regex> =
    LazyLock::new(|| re(r"^\s+(\d+):\d+\s+error\s+(\S.*?)(?:\s{2,}([\w@-]+(?:/[\w@-]+)*))?$"));

pub(super) fn read(lines: &[&str]) -> Vec<Failure> {
    let mut file = None;
    let mut failures = Vec::new();
    for line in lines {
        if let Some(found) = TSC.captures(line) {
            let number = found.get(2).or(found.get(3)).map_or("1", |number| number.as_str());
            let (path, code) = (own_file(&found[1]), &found[4]);
            let message = format!("{code}: {}", &found[5]);
            failures.push(of("tsc", &path, number, code, message, &[line]));
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

fn of(runner: &'static str, path: &str, line: &str, rule: &str, message: String, block: &[&str]) -> Failure {
    let frames = vec![format!("    at f ({path}:{line}:1)")];
    Failure::framed(runner, Class::Build, format!("{path} {rule}"), message, frames, block)
}
