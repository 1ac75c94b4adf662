//! Runs one command of a suite: in a room of its own, with the services it needs, to its end or its deadline. What its
//! children wrote is hashed as it comes, and read by the runner's own reader.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{
    OUTPUT_CAP, Readout, SuiteChild, SuiteOptions, SuiteOutput, TOO_LONG, at_end, cargo,
    command::{self, Detected, Prepared},
    go, junit, nextest, report, room,
};
use crate::{
    adapters::{
        clock,
        process::{NOT_UP, NOT_UP_EXIT, Network},
    },
    config::CommandLine,
};

/// Why one command gave no results.
pub(super) enum Unread {
    NotRun(String),
    TimedOut,
    Because(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

/// One command on one tree: its children share a room, a deadline and a digest.
struct Started<'a, R> {
    runner: &'a R,
    dir: &'a Path,
    options: &'a SuiteOptions,
    room: room::Room,
    began: Instant,
    deadline: Duration,
}

impl<R: AsyncFn(SuiteChild) -> SuiteOutput> Started<'_, R> {
    /// What a child wrote that ended by itself, and its exit status.
    async fn once(&self, prepared: &Prepared, heard: &mut Heard) -> Result<(SuiteOutput, i32), Unread> {
        let services = room::services(self.dir, self.options)?;
        let has_services = !services.is_empty();
        let network = if has_services {
            Network::With(services)
        } else {
            Network::Own
        };
        let left = self.deadline.saturating_sub(self.began.elapsed());
        let output = (self.runner)(child(prepared, network, self.dir, &self.room, left, self.options)).await;
        if output.not_run {
            return Err(Unread::NotRun(output.note));
        }
        if has_services && let Some(why) = not_up(&output) {
            return Err(Unread::Because(why));
        }
        heard.digest.update(output.exit.unwrap_or(-1).to_le_bytes());
        for part in [&output.stdout, &output.stderr] {
            heard.digest.update((part.len() as u64).to_le_bytes());
            heard.digest.update(part);
        }
        keep_weakest(&mut heard.sandbox, &output.sandbox);
        if output.timed_out {
            return Err(Unread::TimedOut);
        }
        match output.exit {
            Some(exit) => Ok((output, exit)),
            None => Err(format!("the run did not end by itself ({})", output.note).into()),
        }
    }

    /// Go's tests: those that a crash kept from running are run too.
    async fn go(&self, command: &go::Command, first: &Prepared, heard: &mut Heard) -> Result<Readout, Unread> {
        let at_end = go::quoted(&self.room.dir.join(go::AT_END_FILE).to_string_lossy())?;
        let with = |args: Vec<String>| Prepared { args, ..first.clone() };
        let mut readout = Readout::default();
        let (mut whole, mut crashes) = (0, 0);
        // What is run, what had run before, and the table whose rows it is about.
        let mut waiting: Vec<(Prepared, go::Ended, Option<String>)> = vec![(first.clone(), go::Ended::default(), None)];
        while let Some((prepared, before, table)) = waiting.pop() {
            let (output, exit) = self.once(&prepared, heard).await?;
            if output.truncated {
                return Err(TOO_LONG.to_owned().into());
            }
            let told = go::parse(&output.stdout, &output.stderr)?;
            agrees_with_exit(&told.readout, exit)?;
            whole += told.whole;
            if table.is_some() {
                go::rows::add(&mut readout, told.readout);
            } else {
                readout.tests.extend(told.readout.tests);
                readout.load_errors.extend(told.readout.load_errors);
            }
            for ended in told.ended {
                let ended = ended.after(&before);
                crashes += 1;
                let names = command.names(&ended).filter(|_| crashes <= go::MOST_CRASHES);
                let names = names.ok_or_else(|| go::ended_early(&ended))?;
                for around in ended.tables(table.as_deref()) {
                    let rows = command.rows(&at_end, &ended, &around);
                    waiting.extend(rows.map(|rows| (with(rows), ended.clone(), Some(around))));
                }
                if table.is_some() {
                    continue;
                }
                let (listed, _) = self.once(&with(names), heard).await?;
                if let Some(rest) = command.rest(&at_end, &ended, &listed.stdout) {
                    waiting.push((with(rest), ended, None));
                }
            }
        }
        if room::named(&self.room.dir, go::AT_END_FILE)?.len() <= whole {
            return Err("a test program left before its tests had ended".to_owned().into());
        }
        Ok(readout)
    }
}

/// What all children of a suite said together.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) digest: Sha256,
    pub(super) sandbox: String,
}

pub(super) async fn run_one(
    runner: &impl AsyncFn(SuiteChild) -> SuiteOutput,
    dir: &Path,
    (index, command): (usize, &CommandLine),
    deadline: Duration,
    options: &SuiteOptions,
    heard: &mut Heard,
) -> Result<Readout, Unread> {
    let (detected, place) = recognised(command, options)?;
    if let Some(place) = &place {
        place.clear(dir)?;
    }
    let room = room::Room::make(&options.scratch, index, options.home.as_deref())?;
    let prepared = command::prepare(&detected, dir, &room, options)?;
    let began = clock::instant();
    let started = Started {
        runner,
        dir,
        options,
        room,
        began,
        deadline,
    };
    if let Detected::Go { command, .. } = &detected {
        return started.go(command, &prepared, heard).await;
    }
    let (output, exit) = started.once(&prepared, heard).await?;
    let readout = match &detected {
        Detected::Unittest { .. } | Detected::Pytest { .. } | Detected::Node { .. } | Detected::Script(_) => {
            let bytes = report::read(&prepared.report)?;
            heard.digest.update(&bytes);
            report::parse(&bytes, &prepared.nonce, &last_words(&output))?
        }
        Detected::Cargo { .. } | Detected::Nextest { .. } | Detected::Check(_) if output.truncated => {
            return Err(TOO_LONG.to_owned().into());
        }
        Detected::Check(check) => check.parse(&output.stdout, &output.stderr, dir, exit)?,
        Detected::Cargo { .. } => cargo::parse(&output.stdout, &at_end::without_notice(&output.stderr), dir)?,
        Detected::Nextest { .. } => nextest::parse(&output.stdout, &output.stderr, dir)?,
        Detected::Go { .. } | Detected::Other { .. } => {
            let reports = place.map_or_else(|| Ok(Vec::new()), |place| place.read(dir));
            let reports = reports.map_err(|why| format!("{why} ({})", last_words(&output)))?;
            for report in &reports {
                heard.digest.update(report);
            }
            junit::parse(&reports)?
        }
    };
    agrees_with_exit(&readout, exit)?;
    if prepared.lists {
        at_end::agrees(&readout, &started.room.dir)?;
    }
    Ok(readout)
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
    prepared: &Prepared,
    network: Network,
    dir: &Path,
    room: &room::Room,
    deadline: Duration,
    options: &SuiteOptions,
) -> SuiteChild {
    SuiteChild {
        network,
        program: prepared.program.clone(),
        args: prepared.args.clone(),
        env: environment(room, &prepared.env, options),
        cwd: dir.to_owned(),
        writable: vec![room.dir.clone(), room.home.clone()],
        stdin: prepared.stdin.clone(),
        deadline,
        run_id: options.run_id.clone(),
        stdout_cap: OUTPUT_CAP,
        stderr_cap: OUTPUT_CAP,
    }
}

/// The whole environment of a test run.
pub(super) fn environment(
    room: &room::Room,
    runner: &[(String, String)],
    options: &SuiteOptions,
) -> Vec<(String, String)> {
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
    env.extend(runner.iter().cloned());
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
        Some(line) => format!("exit {exit}, last line: \"{}\"", line.replace('"', "'")),
        None => format!("exit {exit}, no output"),
    }
}
