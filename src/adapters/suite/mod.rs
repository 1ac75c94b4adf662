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
    adapters::{
        clock,
        process::{NOT_UP, NOT_UP_EXIT, Network},
    },
    config::{self, CommandLine},
    model::{
        RunId,
        evidence::{Suite, TestResult},
    },
    text::{self, Redactor},
};

mod cargo;
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
mod setup;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use npm::resolve;
pub use setup::setup_child;

use command::{Detected, Prepared};

/// Output beyond this is cut, and a cut `cargo test` run cannot be read.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;

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
    drop(go::parse(bytes));
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
    let mut digest = Sha256::new();
    if commands.is_empty() {
        suite.unreadable = Some("no test command is configured".to_owned());
    }
    for (index, command) in commands.iter().enumerate() {
        let left = options.timeout.saturating_sub(started.elapsed());
        let read = run_one(runner, dir, command, index, left, options, &mut suite, &mut digest).await;
        match read {
            Ok(()) => {}
            Err(Unread::NotRun(why)) => {
                let command = command.text.clone();
                return Err(NotRun { command, why });
            }
            Err(Unread::Because(why)) => {
                suite.unreadable = Some(shown(&format!("`{}`: {why}", command.text), &options.redactor, 600));
            }
        }
        if suite.unreadable.is_some() || suite.timed_out {
            break;
        }
    }
    suite.digest = hex(&digest.finalize());
    suite.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(suite)
}

/// Whether single tests can be run alone by every one of these commands.
pub fn selects(commands: &[CommandLine]) -> bool {
    commands.iter().all(|command| command::selects(&command.argv))
}

/// Why one command gave no results.
enum Unread {
    NotRun(String),
    Because(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one step of the loop above, split for its length"
)]
async fn run_one(
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    dir: &Path,
    command: &CommandLine,
    index: usize,
    deadline: Duration,
    options: &SuiteOptions,
    suite: &mut Suite,
    digest: &mut Sha256,
) -> Result<(), Unread> {
    let (detected, place) = recognised(command, options)?;
    if let Some(place) = &place {
        place.clear(dir)?;
    }
    let room = room::Room::make(&options.scratch, index, options.home.as_deref())?;
    let prepared = command::prepare(&detected, dir, &room, options)?;
    let report = prepared.report.clone();
    let nonce = prepared.nonce.clone();
    let services = room::services(dir, options)?;
    let has_services = !services.is_empty();
    let network = if has_services {
        Network::With(services)
    } else {
        Network::Own
    };
    let output = runner(child(prepared, network, dir, &room, deadline, options)).await;
    if output.not_run {
        return Err(Unread::NotRun(output.note));
    }
    if has_services && let Some(why) = not_up(&output) {
        return Err(Unread::Because(why));
    }

    digest.update(output.exit.unwrap_or(-1).to_le_bytes());
    for part in [&output.stdout, &output.stderr] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    keep_weakest(&mut suite.sandbox, &output.sandbox);
    if output.timed_out {
        suite.timed_out = true;
        return Ok(());
    }
    let Some(exit) = output.exit else {
        return Err(format!("the run did not end by itself ({})", output.note).into());
    };
    let readout = match &detected {
        Detected::Unittest { .. } | Detected::Pytest { .. } | Detected::Node { .. } | Detected::Script(_) => {
            let bytes = report::read(&report)?;
            digest.update(&bytes);
            report::parse(&bytes, &nonce, &last_words(&output))?
        }
        Detected::Cargo { .. } | Detected::Nextest { .. } | Detected::Go { .. } if output.truncated => {
            return Err("its output was too long to be read".to_owned().into());
        }
        Detected::Cargo { .. } => cargo::parse(&output.stdout, &output.stderr, dir)?,
        Detected::Nextest { .. } => nextest::parse(&output.stdout, &output.stderr, dir)?,
        Detected::Go { .. } => go::parse(&output.stdout)?,
        Detected::Other { .. } => {
            let reports = place.map_or_else(|| Ok(Vec::new()), |place| place.read(dir));
            let reports = reports.map_err(|why| format!("{why} ({})", last_words(&output)))?;
            for report in &reports {
                digest.update(report);
            }
            junit::parse(&reports)?
        }
    };
    agrees_with_exit(&readout, exit)?;
    take_in(suite, readout, &options.redactor);
    Ok(())
}

/// The runner of a command; for one that is not known, where it puts its reports.
fn recognised(command: &CommandLine, options: &SuiteOptions) -> Result<(Detected, Option<junit::Place>), String> {
    let detected = command::detect(&command.argv);
    match (&options.junit, command.argv.split_first()) {
        (Some(glob), Some((program, args))) if detected.is_err() => {
            let (program, args) = (program.clone(), args.to_vec());
            Ok((Detected::Other { program, args }, Some(junit::Place::new(glob)?)))
        }
        _ => Ok((detected?, None)),
    }
}

/// A service kept the command from starting.
fn not_up(output: &SuiteOutput) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let why = text.lines().next_back()?.strip_prefix(NOT_UP)?;
    (output.exit == Some(NOT_UP_EXIT.into())).then(|| format!("its service {why}"))
}

fn child(
    prepared: Prepared,
    network: Network,
    dir: &Path,
    room: &room::Room,
    deadline: Duration,
    options: &SuiteOptions,
) -> SuiteChild {
    SuiteChild {
        network,
        program: prepared.program,
        args: prepared.args,
        env: environment(room, prepared.env, options),
        cwd: dir.to_owned(),
        writable: vec![room.dir.clone(), room.home.clone()],
        stdin: prepared.stdin,
        deadline,
        run_id: options.run_id.clone(),
        stdout_cap: OUTPUT_CAP,
        stderr_cap: OUTPUT_CAP,
    }
}

/// The whole environment of a test run.
fn environment(room: &room::Room, runner: Vec<(String, String)>, options: &SuiteOptions) -> Vec<(String, String)> {
    let path: Vec<_> = options.path.iter().map(|p| p.to_string_lossy()).collect();
    let mut env: Vec<(String, String)> = [
        ("PATH", path.join(":")),
        ("HOME", room.home.to_string_lossy().into_owned()),
        ("TMPDIR", room.tmp.to_string_lossy().into_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TZ", "UTC".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    if !options.second_run {
        env.push(("CI".to_owned(), "true".to_owned()));
    }
    // The later one of a name counts.
    // A setup fetches into its own home.
    let chains = options.toolchain_env.iter();
    env.extend(
        chains
            .filter(|(name, _)| options.home.is_none() || name != "GOMODCACHE")
            .cloned(),
    );
    env.extend(options.env.iter().cloned());
    env.extend(runner);
    env
}

/// The report is written where code under test runs; an exit status that contradicts it makes both worthless.
fn agrees_with_exit(readout: &Readout, exit: i32) -> Result<(), String> {
    use crate::model::evidence::TestStatus::{Error, Fail, Pass, Skip};
    let bad = readout.tests.iter().any(|(_, result)| match result.status {
        Fail | Error => true,
        Pass | Skip => false,
    });
    let bad = bad || !readout.load_errors.is_empty();
    match (bad, exit) {
        (true, 0) => Err("its report names failures, but it exited with 0".to_owned()),
        (false, 0) | (true, _) => Ok(()),
        // unittest's own word for "no test ran".
        (false, 5) if readout.tests.is_empty() => Ok(()),
        (false, code) => Err(format!("its report names no failure, but it exited with {code}")),
    }
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
    let text = redactor.redact(&text::clean(raw));
    if text.chars().count() <= max {
        return text;
    }
    let mut cut: String = text.chars().take(max).collect();
    cut.push('…');
    cut
}

/// The end of a traceback: the error stands last.
fn text_of(raw: &str, redactor: &Redactor) -> String {
    let text = redactor.redact(&text::clean(raw));
    let skip = text.chars().count().saturating_sub(6000);
    text.chars().skip(skip).collect()
}

fn keep_weakest(held: &mut String, now: &str) {
    if held.is_empty() || (held == "sandboxed" && now != "sandboxed") {
        now.clone_into(held);
    }
}

/// The last line that the child wrote, to name a cause when its report is missing.
pub fn last_words(output: &SuiteOutput) -> String {
    let line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines()
            .rev()
            .find(|l| !l.trim().is_empty())
            .map(|l| l.trim().chars().take(200).collect::<String>())
    };
    let exit = output.exit.unwrap_or(-1);
    match line(&output.stderr).or_else(|| line(&output.stdout)) {
        Some(line) => format!("exit {exit}, last line: {line}"),
        None => format!("exit {exit}, no output"),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}
