//! docker build: the step that did not go through, and the end of what it said.

use std::sync::LazyLock;

use regex::Regex;

use super::{Class, Failure, re, said};

static SOLVE: LazyLock<Regex> =
    LazyLock::new(|| re(r"^(?:ERROR: |buildx failed with: ERROR: )+(?:failed to build: )?failed to solve: (.+)$"));
static STEP: LazyLock<Regex> = LazyLock::new(|| re(r"^ > (\[.+\] .+?|importing .+?|\[.+\]):?$"));
static TIMED: LazyLock<Regex> = LazyLock::new(|| re(r"^\d+\.\d+ "));
/// The classic builder.
static CLASSIC: LazyLock<Regex> = LazyLock::new(|| re(r"^The command '(.+)' returned a non-zero code: (\d+)$"));
static CLASSIC_STEP: LazyLock<Regex> = LazyLock::new(|| re(r"^Step \d+/\d+ : (.+)$"));

/// Lines of the step's output that are signed: the end names the error.
const END: usize = 6;

pub(super) fn read(lines: &[&str]) -> Vec<Failure> {
    buildkit(lines).or_else(|| classic(lines)).into_iter().collect()
}

fn buildkit(lines: &[&str]) -> Option<Failure> {
    let (at, why) = lines
        .iter()
        .enumerate()
        .find_map(|(at, line)| Some((at, SOLVE.captures(line)?.get(1)?.as_str())))?;
    let found = (0..at)
        .rev()
        .find_map(|at| Some((at, STEP.captures(lines[at])?.get(1)?.as_str())));
    let Some((head, step)) = found else {
        let message = said([why]);
        return Some(Failure::new(
            "docker build",
            Class::Build,
            subject(why),
            message,
            &lines[at..=at],
        ));
    };
    let rest = &lines[head + 1..at];
    let output = &rest[..rest
        .iter()
        .position(|line| line.starts_with("------"))
        .unwrap_or(rest.len())];
    let mut shown = vec![lines[head]];
    shown.extend(output);
    shown.push(lines[at]);
    Some(Failure::new(
        "docker build",
        Class::Build,
        step,
        ending(output, why),
        &shown,
    ))
}

fn classic(lines: &[&str]) -> Option<Failure> {
    let (at, why) = lines
        .iter()
        .enumerate()
        .find_map(|(at, line)| CLASSIC.captures(line).map(|found| (at, found)))?;
    let head = (0..at).rev().find(|at| CLASSIC_STEP.is_match(lines[*at]))?;
    let step = CLASSIC_STEP.captures(lines[head])?.get(1)?.as_str();
    let why = format!("exit code: {}", &why[2]);
    let message = ending(&lines[head + 1..at], &why);
    Some(Failure::new(
        "docker build",
        Class::Build,
        step,
        message,
        &lines[head..=at],
    ))
}

/// What could not be solved, where no step is shown.
fn subject(why: &str) -> &str {
    why.split(": ").next().unwrap_or(why)
}

fn ending(output: &[&str], why: &str) -> String {
    let words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let bare = output
        .iter()
        .map(|line| TIMED.find(line).map_or(*line, |found| &line[found.end()..]));
    let bare: Vec<&str> = bare.filter(words).collect();
    said(
        [why]
            .into_iter()
            .chain(bare[bare.len().saturating_sub(END)..].iter().copied()),
    )
}
