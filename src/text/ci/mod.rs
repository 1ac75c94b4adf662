//! Which tests, files or build steps failed, read from the text of a CI log. Each reader knows one runner by lines that
//! only it prints. Pure: the framing of the log (times, groups, marks) is gone before, colours go here.
//!
//! Machine reports of our own test runs are read elsewhere; these are the logs of other people's runners.

mod build;
mod go;
mod javascript;
mod lint;
mod node;
mod playwright;
mod python;
pub mod rust;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{Signed, clean, signature};
use crate::model::signal::Culprit;

/// Lines and characters that are kept of what a failure says.
const MOST_SAID: usize = 8;
const LONGEST_SAID: usize = 300;
/// Lines that are kept of the part of the log that is about it.
const MOST_LINES: usize = 60;
const MOST_FRAMES: usize = 40;
/// More failures of one log than anybody reads are not even looked for.
const MOST: usize = 2000;

/// What kind of work failed: the class of a repair's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Unit,
    E2e,
    /// A comparison of pictures.
    Visual,
    /// Compilers, linters, images.
    Build,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::E2e => "e2e",
            Self::Visual => "visual",
            Self::Build => "build",
        }
    }
}

/// One failed test, or one place that did not compile, lint or build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub runner: String,
    pub class: Class,
    /// The test's id as its runner writes it, without numbers of lines, times and projects of a matrix.
    pub test: String,
    /// What it said, without frames and excerpts of code.
    pub message: String,
    /// Lines of the stack in a shape that the reader of frames knows, as their runner orders them.
    frames: Vec<String>,
    /// The part of the log that is about it.
    pub text: String,
}

impl Failure {
    fn new(runner: &'static str, class: Class, test: impl Into<String>, message: String, block: &[&str]) -> Self {
        let frames = block.iter().filter(|line| is_frame(line)).take(MOST_FRAMES);
        let frames = frames.map(|line| (*line).to_owned()).collect();
        Self::framed(runner, class, test, message, frames, block)
    }

    fn framed(
        runner: &'static str,
        class: Class,
        test: impl Into<String>,
        message: String,
        frames: Vec<String>,
        block: &[&str],
    ) -> Self {
        let class = if is_visual(&message) { Class::Visual } else { class };
        Self {
            runner: runner.to_owned(),
            class,
            test: test.into(),
            message,
            frames,
            text: excerpt(block),
        }
    }

    /// What is signed: the test, what it said, and the stack, of which the top frame of the project counts.
    pub fn signed_text(&self) -> String {
        let mut text = format!("FAIL {}\n{}", self.test, self.message);
        for frame in &self.frames {
            text.push('\n');
            text.push_str(frame);
        }
        text
    }

    pub fn sign(&self) -> Signed {
        signature(&self.signed_text())
    }
}

type Reader = fn(&[&str]) -> Vec<Failure>;

/// Every failure that a log tells of, each test once, in the order of the readers.
pub fn read(text: &str) -> Vec<Failure> {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().map(inner).map(str::trim_end).collect();
    let readers: [Reader; 13] = [
        python::pytest,
        python::unittest,
        rust::nextest,
        rust::cargo,
        go::test,
        javascript::jest,
        javascript::vitest,
        javascript::mocha,
        node::tap,
        node::spec,
        playwright::read,
        lint::read,
        build::read,
    ];
    let mut seen = HashSet::new();
    readers
        .iter()
        .flat_map(|read| read(&lines))
        .filter(|failure| seen.insert((failure.runner.clone(), failure.test.clone())))
        .take(MOST)
        .collect()
}

/// Every finding of compilers, type checkers and linters, each as often as it was said.
pub fn checked(text: &str) -> Vec<Failure> {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let readers: [Reader; 3] = [lint::read, rust::not_built, go::not_built];
    readers.iter().flat_map(|read| read(&lines)).take(MOST).collect()
}

/// A line of a command that ran within the build of an image.
fn inner(line: &str) -> &str {
    static WITHIN: LazyLock<Regex> = LazyLock::new(|| re(r"^#\d+ \d+\.\d+ "));
    WITHIN.find(line).map_or(line, |found| &line[found.end()..])
}

fn re(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    ["at ", "❯ ", "File \""].iter().any(|start| line.starts_with(start))
}

fn is_visual(message: &str) -> bool {
    const WORDS: [&str; 7] = [
        "toHaveScreenshot(",
        "toMatchSnapshot(expected) failed",
        "Screenshot comparison failed",
        "of all image pixels) are different",
        "toMatchImageSnapshot",
        "close match to snapshot",
        "Expected an image ",
    ];
    WORDS.iter().any(|word| message.contains(word))
}

/// Its beginning and its end.
fn excerpt(block: &[&str]) -> String {
    let blank = |line: &&&str| line.trim().is_empty();
    let start = block.iter().take_while(blank).count();
    let end = block.len() - block[start..].iter().rev().take_while(blank).count();
    let block = &block[start..end];
    if block.len() <= MOST_LINES {
        return block.join("\n");
    }
    let (head, tail) = (&block[..MOST_LINES / 2], &block[block.len() - MOST_LINES / 2..]);
    format!("{}\n…\n{}", head.join("\n"), tail.join("\n"))
}

/// What a block says before its stack, its code and its differences.
fn said<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    static ENDS: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"^(?:>? *\d+ \||\+ expected - actual|(?:Full )?[Dd]iff(?:erence)?:|Call log:|Stack trace:|stack backtrace:)",
        )
    });
    let mut out: Vec<String> = Vec::new();
    for line in lines {
        let line = line.trim();
        if is_frame(line) || ENDS.is_match(line) {
            break;
        }
        if line.chars().any(char::is_alphanumeric) {
            out.push(line.chars().take(LONGEST_SAID).collect());
        }
        if out.len() == MOST_SAID {
            break;
        }
    }
    out.join("\n")
}

/// A file of the project without the directory that a runner checked it out into.
fn own_file(path: &str) -> String {
    let culprit = signature(&format!("x\n    at f ({path}:1:1)")).culprit;
    culprit.map_or_else(|| path.trim_start_matches("./").to_owned(), |Culprit { file, .. }| file)
}

/// Blocks that begin with a line `start` knows and last until the next one, or until `ends` says so.
fn blocks<'a, T>(
    lines: &[&'a str],
    start: impl Fn(&'a str) -> Option<T>,
    ends: impl Fn(&'a str) -> bool,
) -> Vec<(T, Vec<&'a str>)> {
    let mut out: Vec<(T, Vec<&'a str>)> = Vec::new();
    let mut open = false;
    for line in lines {
        if let Some(found) = start(line) {
            if out.len() == MOST {
                break;
            }
            out.push((found, Vec::new()));
            open = true;
        } else if ends(line) {
            open = false;
        } else if let Some((_, block)) = out.last_mut().filter(|_| open) {
            block.push(line);
        }
    }
    out
}
