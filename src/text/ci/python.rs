//! pytest and unittest.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, re, said};

static TITLE: LazyLock<Regex> = LazyLock::new(|| re(r"^=+ (.+) =+$"));
static NAME: LazyLock<Regex> = LazyLock::new(|| re(r"^_+ ([^_ ].*|_\w.*) _+$"));
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:FAILED|ERROR) (\S+\.py\S*(?:\[.*?\])?)(?: - (.*))?$"));
/// `tests/test_cart.py:4: AssertionError`, `tests/test_cart.py:4: in test_adds`.
static PLACE: LazyLock<Regex> = LazyLock::new(|| re(r"^(\S+\.py):(\d+): ?(?:in (\S+))?"));
static HEAD: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:FAIL|ERROR): (\S+) \(([^()\s]+)\)"));
static RULE: LazyLock<Regex> = LazyLock::new(|| re(r"^(?:={70}|-{70})$"));

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Other,
    Blocks,
    Summary,
}

pub(super) fn pytest(lines: &[&str]) -> Vec<Failure> {
    let mut part = Part::Other;
    let mut open = false;
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut summary: Vec<(&str, &str)> = Vec::new();
    for line in lines {
        if let Some(title) = TITLE.captures(line).and_then(|c| c.get(1)) {
            part = match title.as_str() {
                "FAILURES" | "ERRORS" => Part::Blocks,
                "short test summary info" => Part::Summary,
                _ => Part::Other,
            };
            open = false;
            continue;
        }
        match part {
            Part::Other => {}
            Part::Blocks => match NAME.captures(line).and_then(|c| c.get(1)) {
                Some(name) => {
                    found.push((name.as_str(), Vec::new()));
                    open = true;
                }
                None => {
                    if let Some((_, block)) = found.last_mut().filter(|_| open) {
                        block.push(line);
                    }
                }
            },
            Part::Summary => {
                summary.extend(
                    SUMMARY
                        .captures(line)
                        .and_then(|c| Some((c.get(1)?.as_str(), c.get(2).map_or("", |said| said.as_str())))),
                );
            }
        }
    }
    let mut failures: Vec<Failure> = found
        .iter()
        .map(|(name, block)| of_block(name, block, &summary))
        .collect();
    // Without blocks (`--tb=no`, `--tb=line`) the summary is all there is.
    for (id, message) in summary {
        if failures.iter().all(|failure| failure.test != id) {
            let line = format!("{id} - {message}");
            failures.push(Failure::new("pytest", Class::Unit, id, said([message]), &[&line]));
        }
    }
    failures
}

fn of_block(name: &str, block: &[&str], summary: &[(&str, &str)]) -> Failure {
    const STAGES: [&str; 3] = ["ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "];
    let name = STAGES.iter().find_map(|stage| name.strip_prefix(stage)).unwrap_or(name);
    let places: Vec<_> = block.iter().filter_map(|line| PLACE.captures(line)).collect();
    let matching: Vec<&str> = summary.iter().map(|(id, _)| *id).filter(|id| is_of(id, name)).collect();
    let within = |id: &&&str| {
        let path = id.split("::").next().unwrap_or_default();
        places.iter().any(|place| place[1].ends_with(path))
    };
    let test = match matching.iter().find(within).or_else(|| matching.first()) {
        Some(id) => (*id).to_owned(),
        None => match places.iter().find(|place| place[1].contains("test")) {
            Some(place) => format!("{}::{}", &place[1], name.replace('.', "::")),
            None => name.to_owned(),
        },
    };
    let frames: Vec<String> = places
        .iter()
        .map(|place| match place.get(3) {
            Some(function) => format!("File \"{}\", line {}, in {}", &place[1], &place[2], function.as_str()),
            None => format!("File \"{}\", line {}", &place[1], &place[2]),
        })
        .collect();
    let message = raised(block);
    if frames.is_empty() {
        return Failure::new("pytest", Class::Unit, test, message, block);
    }
    Failure::framed("pytest", Class::Unit, test, message, frames, block)
}

/// `tests/test_cart.py::TestCart::test_empty` is the block `TestCart.test_empty`; what could not be loaded is its file.
fn is_of(id: &str, name: &str) -> bool {
    match id.split_once("::") {
        Some((_, rest)) => rest.replace("::", ".") == name.replace("::", "."),
        None => id == name,
    }
}

/// The error at the end: the lines marked with E, or those below a traceback.
fn raised(block: &[&str]) -> String {
    let marked = |line: &&str| *line == "E" || line.starts_with("E  ");
    let Some(last) = block.iter().rposition(marked) else {
        return below_traceback(block);
    };
    let first = block[..=last]
        .iter()
        .rposition(|line| !marked(line))
        .map_or(0, |at| at + 1);
    said(block[first..=last].iter().map(|line| &line[1..]))
}

/// What a traceback ends with.
fn below_traceback(block: &[&str]) -> String {
    let Some(start) = block
        .iter()
        .rposition(|line| line.trim_start().starts_with("Traceback (most"))
    else {
        return said(block.iter().copied());
    };
    let indent = block[start].len() - block[start].trim_start().len();
    let deeper = format!("{} ", " ".repeat(indent));
    let tail = block[start + 1..]
        .iter()
        .copied()
        .skip_while(|line| line.starts_with(&deeper));
    said(tail.take_while(|line| !line.trim().is_empty()))
}

pub(super) fn unittest(lines: &[&str]) -> Vec<Failure> {
    let heads: Vec<usize> = (1..lines.len())
        .filter(|at| RULE.is_match(lines[at - 1]) && lines[at - 1].starts_with('=') && HEAD.is_match(lines[*at]))
        .collect();
    let mut failures = Vec::new();
    for head in heads {
        let Some(found) = HEAD.captures(lines[head]) else {
            continue;
        };
        // A docstring may stand between the name and the rule.
        let Some(rule) = (head + 1..lines.len().min(head + 4)).find(|at| RULE.is_match(lines[*at])) else {
            continue;
        };
        let rest = &lines[rule + 1..];
        let block = &rest[..rest.iter().position(|line| RULE.is_match(line)).unwrap_or(rest.len())];
        let mut shown = vec![lines[head]];
        shown.extend(block);
        let test = unittest_id(&found[1], &found[2]);
        failures.push(Failure::new(
            "unittest",
            Class::Unit,
            test,
            below_traceback(block),
            &shown,
        ));
    }
    failures
}

/// Since Python 3.11 the place ends with the name.
fn unittest_id(name: &str, place: &str) -> String {
    if place.starts_with("unittest.loader.") {
        return name.to_owned();
    }
    match place.rsplit_once('.') {
        Some((_, last)) if last == name => place.to_owned(),
        _ => format!("{place}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_unittest_are_those_of_both_versions() {
        let new = unittest_id("test_total", "tests.test_cart.Cart.test_total");
        assert_eq!(new, unittest_id("test_total", "tests.test_cart.Cart"));
        assert_eq!(
            unittest_id("tests.broken", "unittest.loader._FailedTest"),
            "tests.broken"
        );
    }

    #[test]
    fn names_of_blocks_are_no_rules_between_frames() {
        assert_eq!(&NAME.captures("____ test_rates[1] ____").unwrap()[1], "test_rates[1]");
        assert_eq!(
            &NAME.captures("_ test_a_very_long_name _").unwrap()[1],
            "test_a_very_long_name"
        );
        assert!(!NAME.is_match("_ _ _ _ _ _ _"));
    }
}
