//! Runs `go test -json` and reads its events: one a line, as `go doc test2json` describes them, written by the go command.
//!
//! A panic ends the test program of its package. What it kept from running is run afterwards, without the test that
//! panicked, so that one crash does not make the others unknown: the other tests, and the other rows of its table.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use serde::Deserialize;

use super::{Only, Readout};
use crate::model::evidence::{TestResult, TestStatus};

pub(super) mod rows;
#[cfg(test)]
mod tests;

/// Nothing is fetched while tests run.
pub(super) const ENV: [(&str, &str); 1] = [("GOPROXY", "off")];

/// Starts each package's test program with a file of its own that the program writes when its tests have ended by
/// themselves: one that leaves early, and prints what it likes before, does not write it.
pub(super) const AT_END_FILE: &str = "at-end.sh";
pub(super) const AT_END: &str = "program=$1\nshift\nexec \"$program\" \"-test.memprofile=$0.$$\" \"$@\"\n";

/// So many crashes are followed up in one run of a suite.
pub(super) const MOST_CRASHES: usize = 20;

/// With these it runs no tests, or not as it would.
const MUDDLED: [&str; 9] = ["-c", "-i", "-n", "-x", "-list", "-exec", "-o", "-fuzz", "-memprofile"];

/// Options that take no value.
const SWITCHES: [&str; 14] = [
    "-a",
    "-asan",
    "-benchmem",
    "-buildvcs",
    "-cover",
    "-fullpath",
    "-linkshared",
    "-modcacherw",
    "-msan",
    "-race",
    "-short",
    "-trimpath",
    "-v",
    "-work",
];

/// Where a test says what went wrong: `    cart_test.go:12: got 1`.
static SAID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s+(\S+\.go):\d+: ?(.*)$").expect("a constant pattern"));
static PANIC: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(?:panic|fatal error): ").expect("a constant pattern"));
static RECOVERED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\s*\[recovered[^\]]*\]$").expect("a constant pattern"));

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    import_path: String,
}

/// A `go test` line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    flags: Vec<String>,
    packages: Vec<String>,
    /// After `-args`: for the test programs.
    passed_on: Vec<String>,
}

impl Command {
    /// The arguments of `go`, or why a run with them cannot be read.
    pub(super) fn read(rest: &[String]) -> Result<Self, String> {
        let Some(("test", rest)) = rest.split_first().map(|(verb, rest)| (verb.as_str(), rest)) else {
            return Err("of go's commands only `go test` can be read".to_owned());
        };
        let (mut flags, mut packages, mut passed_on) = (Vec::new(), Vec::new(), Vec::new());
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let name = option(word);
            if MUDDLED.contains(&name.as_str()) {
                return Err(format!("`go test` cannot be read with {word}"));
            }
            match name.as_str() {
                "-args" => passed_on = words.by_ref().cloned().collect(),
                "-json" | "-failfast" => {}
                _ if !word.starts_with('-') => packages.push(word.clone()),
                _ => {
                    flags.push(word.clone());
                    if !word.contains('=') && !SWITCHES.contains(&name.as_str()) {
                        flags.extend(words.next().cloned());
                    }
                }
            }
        }
        Ok(Self {
            flags,
            packages,
            passed_on,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| option(flag) == name)
    }

    fn line(&self, ours: &[String], flags: &[String], packages: &[String]) -> Vec<String> {
        let count = (!self.has("-count")).then(|| "-count=1".to_owned());
        let passed_on = (!self.passed_on.is_empty()).then(|| "-args".to_owned());
        let test = ["test".to_owned(), "-json".to_owned()];
        let parts = test.into_iter().chain(count).chain(ours.iter().cloned());
        let parts = parts.chain(flags.iter().cloned()).chain(packages.iter().cloned());
        parts.chain(passed_on).chain(self.passed_on.iter().cloned()).collect()
    }

    /// The run as it was asked for; of the tests chosen alone, where some are. `at_end` is quoted.
    pub(super) fn args(&self, at_end: &str, only: Option<&Only>) -> Vec<String> {
        let exec = exec(at_end);
        let ids = only.map_or(&[][..], |only| &only.ids);
        let chosen: Vec<(&str, &str)> = ids.iter().filter_map(|id| id.split_once(" > ")).collect();
        if chosen.is_empty() || self.has("-run") {
            return self.line(&exec, &self.flags, &self.packages);
        }
        let packages: BTreeSet<String> = chosen.iter().map(|(package, _)| (*package).to_owned()).collect();
        let names: BTreeSet<String> = chosen.iter().map(|(_, test)| top(test).to_owned()).collect();
        let flags = [self.flags.clone(), vec![just(&names)]].concat();
        self.line(&exec, &flags, &packages.into_iter().collect::<Vec<_>>())
    }

    /// Says the names of a package's tests; none where the line itself chooses among them.
    pub(super) fn names(&self, ended: &Ended) -> Option<Vec<String>> {
        if ["-run", "-skip", "-bench"].iter().any(|name| self.has(name)) {
            return None;
        }
        let flags = [self.flags.clone(), vec!["-list=.".to_owned()]].concat();
        Some(self.line(&[], &flags, std::slice::from_ref(&ended.package)))
    }

    /// The tests of a package that its crash kept from running.
    pub(super) fn rest(&self, at_end: &str, ended: &Ended, listed: &[u8]) -> Option<Vec<String>> {
        let events = String::from_utf8_lossy(listed).into_owned();
        let said = events
            .lines()
            .filter_map(|line| serde_json::from_str::<Event>(line).ok());
        let names = said
            .map(|event| event.output.trim().to_owned())
            .filter(|name| ["Test", "Example", "Fuzz"].iter().any(|start| name.starts_with(start)))
            .filter(|name| !name.contains(char::is_whitespace) && !ended.has_run(name));
        let names: BTreeSet<String> = names.collect();
        if names.is_empty() {
            return None;
        }
        let flags = [self.flags.clone(), vec![just(&names)]].concat();
        Some(self.line(&exec(at_end), &flags, std::slice::from_ref(&ended.package)))
    }

    /// The rows of a table that a crash in one of them kept from running.
    pub(super) fn rows(&self, at_end: &str, ended: &Ended, table: &str) -> Option<Vec<String>> {
        let flags = [self.flags.clone(), vec![format!("-run={}", ended.rows_left(table)?)]].concat();
        Some(self.line(&exec(at_end), &flags, std::slice::from_ref(&ended.package)))
    }
}

/// The name of an option, with one dash and no value.
fn option(word: &str) -> String {
    let word = word
        .strip_prefix('-')
        .filter(|word| word.starts_with('-'))
        .unwrap_or(word);
    word.split_once('=').map_or(word, |(name, _)| name).to_owned()
}

fn exec(at_end: &str) -> [String; 1] {
    [format!("-exec=/bin/sh {at_end}")]
}

/// A path as one word of `-exec`, which go takes apart: between quotes nothing has a meaning, not even a backslash.
pub(super) fn quoted(path: &str) -> Result<String, String> {
    let quote = ['\'', '"'].into_iter().find(|quote| !path.contains(*quote));
    let quote = quote.ok_or_else(|| format!("go cannot be told of a path with both kinds of quotes: {path}"))?;
    Ok(format!("{quote}{path}{quote}"))
}

/// Exactly these tests, with their subtests.
fn just(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!("-run=^({})$", names.join("|"))
}

fn top(test: &str) -> &str {
    test.split('/').next().unwrap_or(test)
}

/// What one run said.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) readout: Readout,
    pub(super) ended: Vec<Ended>,
    /// Packages whose tests are said to have ended by themselves.
    pub(super) whole: usize,
}

/// A package whose tests a crash ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ended {
    package: String,
    /// Tests and rows that need not run again: those that had ended, and the one that crashed.
    ran: BTreeSet<String>,
    /// What crashed in this run.
    crashed: BTreeSet<String>,
    /// And in this or an earlier one.
    gone: BTreeSet<String>,
}

impl Ended {
    /// With what had run already when the earlier crash ended the package.
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.ran.extend(before.ran.iter().cloned());
        self.gone.extend(before.gone.iter().cloned());
        self
    }

    fn has_run(&self, name: &str) -> bool {
        self.ran.iter().any(|test| top(test) == name)
    }
}

/// A package while its events are read.
#[derive(Default)]
struct Package {
    open: BTreeMap<String, String>,
    results: Vec<(String, TestResult)>,
    crashed: BTreeSet<String>,
    ended: bool,
}

impl Package {
    fn take(&mut self, package: &str, event: &Event) -> Result<(), String> {
        match event.action.as_str() {
            "run" => drop(self.open.insert(event.test.clone(), String::new())),
            "output" => match self.open.get_mut(&event.test) {
                Some(said) => said.push_str(&event.output),
                // Of the package as a whole: nobody knows whose it is.
                None if PANIC.is_match(&event.output) => return Err(left(package)),
                None => {}
            },
            "pass" | "fail" | "skip" if !event.test.is_empty() => {
                let said = self.open.remove(&event.test).ok_or("a test ends that never began")?;
                let crashed = event.action == "fail" && said.lines().any(|line| PANIC.is_match(line));
                if crashed {
                    self.crashed.insert(event.test.clone());
                    self.results
                        .push((event.test.clone(), crash(package, &event.test, &said)));
                } else if self.crashed.is_empty() || said.contains("--- ") {
                    self.results.push((event.test.clone(), result(&event.action, &said)));
                }
            }
            "pass" | "fail" => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    fn close(self, name: &str, told: &mut Told) -> Result<(), String> {
        if self.crashed.is_empty() {
            if !self.open.is_empty() {
                return Err(left(name));
            }
            told.whole += usize::from(self.ended && !self.results.is_empty());
        } else {
            told.ended.push(Ended {
                package: name.to_owned(),
                ran: self.results.iter().map(|(test, _)| test.clone()).collect(),
                gone: self.crashed.clone(),
                crashed: self.crashed,
            });
        }
        let results = self.results.into_iter();
        told.readout
            .tests
            .extend(results.map(|(test, result)| (format!("{name} > {test}"), result)));
        Ok(())
    }
}

pub(super) fn ended_early(ended: &Ended) -> String {
    left(&ended.package)
}

pub(super) fn parse(stdout: &[u8], stderr: &[u8]) -> Result<Told, String> {
    let (text, errors) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut building: BTreeMap<String, String> = BTreeMap::new();
    let mut unbuilt: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            // Until Go 1.20 this stood beside the events.
            if let Some(package) = not_built(line) {
                unbuilt
                    .entry(package.to_owned())
                    .or_insert_with(|| compiler(&errors, package));
            } else if line != "FAIL" {
                return Err("it writes a line that is no event".to_owned());
            }
            continue;
        };
        match event.action.as_str() {
            "build-output" => building.entry(event.import_path).or_default().push_str(&event.output),
            "build-fail" => {
                let package = event.import_path.split(' ').next().unwrap_or_default().to_owned();
                let said = building.remove(&event.import_path).unwrap_or_default();
                unbuilt.insert(package, first_errors(said.lines()));
            }
            _ => {
                if event.test.is_empty()
                    && let Some(package) = not_built(event.output.trim_end())
                {
                    unbuilt
                        .entry(package.to_owned())
                        .or_insert_with(|| compiler(&errors, package));
                }
                let package = packages.entry(event.package.clone()).or_default();
                package.take(&event.package, &event)?;
            }
        }
    }
    let mut told = Told::default();
    for (name, package) in packages.into_iter().filter(|(name, _)| !unbuilt.contains_key(name)) {
        package.close(&name, &mut told)?;
    }
    let errors = unbuilt.into_iter().map(|(package, said)| format!("{package}: {said}"));
    told.readout.load_errors.extend(errors);
    groups(&mut told.readout);
    Ok(told)
}

/// The package that a line says could not be built.
fn not_built(line: &str) -> Option<&str> {
    let line = line.strip_prefix("FAIL\t")?;
    line.strip_suffix(" [build failed]")
        .or_else(|| line.strip_suffix(" [setup failed]"))
}

/// What the compiler said of a package on standard error, below `# package`.
fn compiler(errors: &str, package: &str) -> String {
    let own = |line: &&str| {
        line.strip_prefix("# ")
            .is_none_or(|name| name.split(' ').next() != Some(package))
    };
    let below = errors.lines().skip_while(own).skip(1);
    first_errors(below.take_while(|line| !line.starts_with("# ")))
}

fn first_errors<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let errors: Vec<&str> = lines.filter(|line| !line.starts_with('#')).take(3).collect();
    errors.join("; ")
}

fn left(package: &str) -> String {
    format!("the tests of {package} ended before all of them had run")
}

/// A test that panicked: `inside` when its own function stands in the trace of what panicked.
fn crash(package: &str, test: &str, said: &str) -> TestResult {
    let from = said.lines().position(|line| PANIC.is_match(line)).unwrap_or_default();
    let first = said.lines().nth(from).unwrap_or_default();
    let running = said.lines().skip_while(|line| !line.starts_with("goroutine "));
    let frames: Vec<&str> = running.take_while(|line| !line.is_empty()).collect();
    let own = [
        format!("{package}.{}", top(test)),
        format!("{package}_test.{}", top(test)),
    ];
    let is_own = |frame: &&str| {
        let rest = own.iter().find_map(|name| frame.strip_prefix(name.as_str()));
        rest.is_some_and(|rest| rest.starts_with('(') || rest.starts_with('.'))
    };
    TestResult {
        inside: frames.iter().any(is_own),
        kind: "panic".to_owned(),
        message: RECOVERED.replace(first, "").into_owned(),
        trace: said.lines().skip(from).collect::<Vec<_>>().join("\n"),
        ..TestResult::of(TestStatus::Error)
    }
}

fn result(action: &str, said: &str) -> TestResult {
    let lines: Vec<&str> = said.lines().collect();
    let at = lines.iter().rposition(|line| SAID.is_match(line));
    let (file, message) = at.map_or_else(Default::default, |at| {
        let found = SAID.captures(lines[at]).expect("it was found to match");
        // Libraries of assertions leave the line empty and say it below.
        let below = lines[at + 1..].iter().map(|line| line.trim());
        let below = below.filter(|line| !line.is_empty() && !line.starts_with("--- "));
        let said = found[2].trim();
        let error = below
            .clone()
            .find(|line| line.starts_with("Error:"))
            .or(below.clone().next());
        let message = if said.is_empty() {
            error.unwrap_or_default()
        } else {
            said
        };
        (found[1].to_owned(), message.to_owned())
    });
    match action {
        "pass" => TestResult::of(TestStatus::Pass),
        "skip" => TestResult {
            message,
            ..TestResult::of(TestStatus::Skip)
        },
        _ => {
            // Go has no exceptions: what a test says has failed is its assertion, if a test says it.
            let by_assertion = file.ends_with("_test.go");
            TestResult {
                status: if by_assertion {
                    TestStatus::Fail
                } else {
                    TestStatus::Error
                },
                by_assertion,
                inside: true,
                message,
                trace: said.to_owned(),
                ..TestResult::of(TestStatus::Fail)
            }
        }
    }
}

/// A test around subtests fails with them; they say why, and it did what it should.
fn groups(readout: &mut Readout) {
    let failed: Vec<String> = readout
        .tests
        .iter()
        .filter(|(_, result)| matches!(result.status, TestStatus::Fail | TestStatus::Error))
        .map(|(id, _)| id.clone())
        .collect();
    for (id, result) in &mut readout.tests {
        let around = format!("{id}/");
        if result.message.is_empty() && failed.contains(id) && failed.iter().any(|other| other.starts_with(&around)) {
            *result = TestResult::of(TestStatus::Pass);
        }
    }
}
