//! Runs a repo's test commands on one tree and reads what happened to each test. It judges nothing (`decide/proof`)
//! and starts nothing itself: children go through the caller's process runner. Whatever cannot be read surely, such
//! as an unknown runner or a report that contradicts the exit status, makes the whole run unreadable.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};

use crate::{
    adapters::{clock, process::Network},
    config::{self, CommandLine},
    model::{
        RunId,
        evidence::{Suite, TestResult},
    },
    text::{self, Redactor},
};

mod at_end;
mod cargo;
mod check;
mod command;
mod go;
mod javascript;
mod junit;
mod nextest;
mod npm;
mod panic;
mod python;
mod report;
mod room;
mod run;
mod setup;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use npm::resolve;
pub use run::last_words;
pub use setup::setup_child;

use run::{Heard, Unread, run_one};

/// Output beyond this is cut, and a cut `cargo test` run cannot be read.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;
const TOO_LONG: &str = "its output was too long to be read";

/// The reading of JUnit reports, for the fuzzer.
#[doc(hidden)]
pub fn fuzz_junit(bytes: &[u8]) {
    drop(junit::parse(&[bytes.to_vec()]));
}

/// The reading of what test runners print and report, for the fuzzer.
#[doc(hidden)]
pub fn fuzz_output(bytes: &[u8]) {
    let dir = Path::new("/tree");
    drop(cargo::parse(
        bytes,
        b"     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)\n",
        dir,
    ));
    drop(cargo::parse(bytes, bytes, dir));
    drop(nextest::parse(bytes, bytes, dir));
    drop(go::parse(bytes, bytes));
    drop(report::parse(bytes, "nonce", "it ended"));
}

/// One child as the caller's process runner has to start it. Nothing else may be in its environment, save the mark
/// of the run.
#[derive(Debug, Clone)]
pub struct SuiteChild {
    /// Absolute.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// What it may write beside `cwd`: home, temporary directory and report.
    pub writable: Vec<PathBuf>,
    pub stdin: Vec<u8>,
    pub deadline: Duration,
    pub run_id: RunId,
    /// Its own, with what has to be there before it starts.
    pub network: Network,
    pub stdout_cap: usize,
    pub stderr_cap: usize,
}

/// How the child ended.
#[derive(Debug, Clone, Default)]
pub struct SuiteOutput {
    /// None when it ended in another way than by exiting; `note` says how.
    pub exit: Option<i32>,
    /// It was stopped, or never started, so it says nothing about the tree; `note` says why.
    pub not_run: bool,
    pub timed_out: bool,
    /// `stdout` or `stderr` was cut.
    pub truncated: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// "signal 9", "could not be started: …"; empty after an exit.
    pub note: String,
    /// "sandboxed" or "not sandboxed: …".
    pub sandbox: String,
}

/// The tests were stopped or could not be started. Nothing may be concluded from that; they have to run again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the test command `{command}` did not run: {why}")]
pub struct NotRun {
    pub command: String,
    pub why: String,
}

/// Tests to run alone.
#[derive(Debug, Clone, Default)]
pub struct Only {
    /// Changed paths below the tree: unittest keeps what they hold. Without any it keeps the ids.
    pub files: Vec<String>,
    /// Test ids as this module gave them: runners of JavaScript take their files, cargo their names.
    pub ids: Vec<String>,
}

#[derive(Clone)]
pub struct SuiteOptions {
    /// For all commands together.
    pub timeout: Duration,
    pub run_id: RunId,
    /// The second run of a head: no CI or runner variable is set.
    pub second_run: bool,
    pub only: Option<Only>,
    /// Directories in which programs are looked up; also the children's PATH.
    pub path: Vec<PathBuf>,
    /// The base's tree: a command that names a program within the tree (`.venv/bin/python`) is run only where that
    /// path leads to the same thing as there.
    pub reference: Option<PathBuf>,
    /// Variables that tool chains need, such as `RUSTUP_HOME`; never a secret.
    pub toolchain_env: Vec<(String, String)>,
    /// What the tests need beside them, and the owner's variables for both.
    pub services: Vec<config::Service>,
    pub env: Vec<(String, String)>,
    /// The home with what a setup left there; none: an empty one of each run.
    pub home: Option<PathBuf>,
    /// A directory outside the tree that is ours alone; emptied parts of it serve as home and temporary directory.
    pub scratch: PathBuf,
    /// Where runners that are not known here put reports in JUnit's format: a glob below the tree.
    pub junit: Option<String>,
    pub redactor: Redactor,
}

/// What one command's output said.
#[derive(Debug, Default, PartialEq)]
struct Readout {
    tests: Vec<(String, TestResult)>,
    load_errors: Vec<String>,
    /// The checker that ran to its end.
    check: Option<String>,
}

/// Runs the commands one after the other on the tree in `dir`.
pub async fn run_suite(
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    dir: &Path,
    commands: &[CommandLine],
    options: &SuiteOptions,
) -> Result<Suite, NotRun> {
    let started = clock::instant();
    let mut suite = Suite::default();
    let mut heard = Heard::default();
    if commands.is_empty() {
        suite.unreadable = Some("no test command is configured".to_owned());
    }
    let checks = check::among(commands);
    for (index, command) in commands.iter().enumerate() {
        let left = options.timeout.saturating_sub(started.elapsed());
        let Some(options) = &check::options_of(command, options, &checks) else {
            continue;
        };
        match run_one(runner, dir, (index, command), left, options, &mut heard).await {
            Ok(readout) => take_in(&mut suite, readout, &options.redactor),
            Err(Unread::NotRun(why)) => {
                let command = command.text.clone();
                return Err(NotRun { command, why });
            }
            Err(Unread::TimedOut) => suite.timed_out = true,
            Err(Unread::Because(why)) => {
                suite.unreadable = Some(shown(&format!("`{}`: {why}", command.text), &options.redactor, 600));
            }
        }
        if suite.unreadable.is_some() || suite.timed_out {
            break;
        }
    }
    suite.sandbox = heard.sandbox;
    suite.digest = hex(&heard.digest.finalize());
    suite.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(suite)
}

/// Whether single tests can be run alone by every one of these commands.
pub fn selects(commands: &[CommandLine]) -> bool {
    commands.iter().all(|command| command::selects(&command.argv))
}

/// Reports that a run elsewhere kept, as one suite. Without any it proves nothing.
pub fn read_reports(reports: &[Vec<u8>], redactor: &Redactor) -> Suite {
    let mut suite = Suite {
        sandbox: "in CI".to_owned(),
        ..Suite::default()
    };
    let mut digest = Sha256::new();
    for report in reports {
        digest.update(report);
    }
    suite.digest = hex(&digest.finalize());
    let read = if reports.is_empty() {
        Err("the runs kept no JUnit report as an artifact; let the workflow upload it for every branch".to_owned())
    } else {
        junit::parse(reports)
    };
    match read {
        Ok(readout) => take_in(&mut suite, readout, redactor),
        Err(why) => suite.unreadable = Some(shown(&why, redactor, 600)),
    }
    suite
}

fn take_in(suite: &mut Suite, readout: Readout, redactor: &Redactor) {
    let mut tests: BTreeMap<String, Vec<TestResult>> = std::mem::take(&mut suite.tests);
    for (id, result) in readout.tests {
        let result = TestResult {
            kind: shown(&result.kind, redactor, 200),
            message: shown(&result.message, redactor, 2000),
            trace: text_of(&result.trace, redactor),
            ..result
        };
        tests.entry(name_of(&id, redactor)).or_default().push(result);
    }
    suite.tests = tests;
    let errors = readout.load_errors.iter().map(|e| shown(e, redactor, 1000));
    suite.load_errors.extend(errors);
    suite.checks.extend(readout.check);
}

/// An id as it is stored and shown. Addresses go: they differ in every run.
fn name_of(id: &str, redactor: &Redactor) -> String {
    let mut name = String::with_capacity(id.len());
    let mut rest = id;
    while let Some(at) = rest.find("0x") {
        let (before, after) = rest.split_at(at + 2);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        name.push_str(before);
        name.push_str(if digits >= 6 { "…" } else { &after[..digits] });
        rest = &after[digits..];
    }
    name.push_str(rest);
    let name = shown(&name.replace('\n', " "), redactor, usize::MAX);
    if name.chars().count() <= 400 {
        return name;
    }
    let digest = hex(&Sha256::digest(name.as_bytes()));
    let head: String = name.chars().take(380).collect();
    format!("{head}… {}", &digest[..12])
}

fn shown(raw: &str, redactor: &Redactor, max: usize) -> String {
    text::short(&redactor.redact(&text::clean(raw)), max)
}

/// The end of a traceback: the error stands last.
fn text_of(raw: &str, redactor: &Redactor) -> String {
    let text = redactor.redact(&text::clean(raw));
    let skip = text.chars().count().saturating_sub(6000);
    text.chars().skip(skip).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}
