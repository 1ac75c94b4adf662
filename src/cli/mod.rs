//! The command line: clap types and one short function a verb, each in a file of its own.

pub mod answers;
pub mod bench_server;
pub mod collect;
pub mod config;
pub mod demo;
pub mod exec;
pub mod fault;
pub mod gate;
pub mod guard;
pub mod lines;
pub mod logs;
pub mod look;
mod recorded_agent;
pub mod records;
pub mod redact;
pub mod replay;
pub mod signature;
pub mod silence;
pub mod tick;

use std::{io::Write, path::PathBuf, process::ExitCode};

use chrono::{DateTime, Utc};
use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};

use crate::{
    adapters::{clock::Clock, host},
    config::{
        Config,
        load::{LoadError, Purpose, Sources, load, load_for},
    },
    exit::{Exit, Fault},
    render,
    text::Redactor,
};

/// Looks at your production every fifteen minutes, repairs what broke, proves it, and tells you once.
#[derive(Debug, Parser)]
#[command(name = "tick", version, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    tick: tick::TickArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Flags that every verb takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Directory that holds config and state
    #[arg(long, global = true, env = "TICK_HOME", value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Wall clock starts here and runs on with the monotonic clock
    #[arg(long, global = true, hide = true, value_name = "RFC3339")]
    pub now: Option<DateTime<Utc>>,
    /// Ends this process by SIGKILL at a phase of an effect (`KEYPREFIX:PHASE`)
    #[arg(long, global = true, hide = true, value_name = "KEYPREFIX:PHASE")]
    pub crash_at: Vec<String>,
    /// Ends this process by SIGKILL once its standard input ends: whoever holds the other end is gone
    #[arg(long, global = true, hide = true)]
    pub ends_with_stdin: bool,
}

impl Global {
    pub fn clock(&self) -> Clock {
        Clock::start(self.now)
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Repair what is due, without a look
    Repair(tick::RepairArgs),
    /// Rehearse the whole loop in a small world inside this machine
    Demo(demo::DemoArgs),
    /// Look once at pages and repositories: no configuration, no state, no model
    Look(look::LookArgs),
    /// Say how each repo stands, what is open and who moves next
    Status,
    /// List causes that became incidents, newest first; with --known those that stood there at first sight
    Incidents(records::IncidentsArgs),
    /// Show one incident: what is known, what was done, and why it is not merged
    Show(records::ShowArgs),
    /// Say what the log engine makes of a log: causes, counts, samples
    Logs(logs::LogsArgs),
    /// Judge a stored tick again, by today's code and configuration
    Replay(replay::ReplayArgs),
    /// Stop before every mutation; running agents end within a second
    Pause(answers::PauseArgs),
    /// End a pause
    Resume(answers::ResumeArgs),
    /// Open an incident again
    Retry(answers::RetryArgs),
    /// Leave a cause alone for a while
    Ignore(answers::IgnoreArgs),
    /// Collect and show what a target says, and tell none of it, while somebody works at it
    Silence(silence::SilenceArgs),
    /// Hand known causes, which stood there at first sight, to repair
    Adopt(answers::AdoptArgs),
    /// Stand in for the human part of the evidence
    Approve(answers::ApproveArgs),
    /// Check the audit log
    #[command(subcommand)]
    Audit(records::AuditVerb),
    /// Print or rebuild the ledger of known causes
    #[command(subcommand)]
    Ledger(records::LedgerVerb),
    /// Print, check or explain the configuration
    #[command(subcommand)]
    Config(config::ConfigVerb),
    /// Look at every source once and print what was seen
    Collect(collect::CollectArgs),
    /// Say whether a snapshot has to be looked at
    Gate(gate::GateArgs),
    /// Judge a diff: does it weaken a test or a check, or touch what a person has to see
    Guard(guard::GuardArgs),
    /// Runs an edited gate under limits
    #[command(name = "__gate", hide = true)]
    GateChild,
    /// Plays a recording as a `command` agent
    #[command(name = "__recorded-agent", hide = true)]
    RecordedAgent { script: PathBuf },
    /// Answers on loopback for benches
    #[command(name = "__bench-server", hide = true)]
    BenchServer(bench_server::BenchServerArgs),
    /// Becomes a child of tick: session, limits, confinement, then the program
    #[command(name = "__exec", hide = true)]
    Exec(exec::ExecArgs),
    /// Print the signature of each line of standard input
    Signature(signature::SignatureArgs),
    /// Print standard input without secrets and personal data
    Redact(redact::RedactArgs),
}

/// The command with its verbs in groups.
fn command() -> clap::Command {
    let command = Cli::command();
    let template = render::help::template(|verb| {
        let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    });
    command.help_template(template)
}

fn parse(args: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches_from(args)?)
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    host::close_to_others();
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(mut error) => {
            unsuggest_hidden(&mut error);
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // Nothing can be done when even the message cannot be written.
            let _ignored = error.print();
            return exit.into();
        }
    };
    match cli.verb {
        Some(Verb::Exec(args)) => return exec::run(args),
        Some(Verb::RecordedAgent { script }) => return recorded_agent::run(&script),
        _ => {}
    }
    if cli.global.ends_with_stdin {
        end_with_stdin();
    }
    let closed = std::cell::Cell::new(false);
    let mut out = std::io::BufWriter::new(Watched {
        out: std::io::stdout().lock(),
        closed: &closed,
    });
    let result = run(&cli, &mut out);
    // What was answered before an error is part of the result.
    let flushed = out.flush();
    drop(out);
    match result.and_then(|exit| {
        Ok(flushed
            .map(|()| exit)
            .or_else(|error| if closed.get() { Ok(exit) } else { Err(error) })?)
    }) {
        Ok(exit) => exit.into(),
        // A reader that has seen enough, such as `head`, is no bug.
        Err(_) if closed.get() => Exit::Ok.into(),
        Err(error) => fault::report(&error, &Redactor::default(), &mut std::io::stderr().lock()).into(),
    }
}

/// Whoever holds the other end of standard input ends it in the moment in which they are gone, killed or not.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let _until_its_end = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        // It cannot fail for this process itself; and what it started ends with it.
        let _sent = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

/// A flag that stands in no help is no suggestion.
fn unsuggest_hidden(error: &mut clap::Error) {
    let hidden = command();
    let is_hidden = |flag: &str| {
        let mut args = hidden.get_arguments();
        args.any(|arg| arg.is_hide_set() && arg.get_long().is_some_and(|long| flag.trim_start_matches("--") == long))
    };
    let suggested = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => is_hidden(flag),
        _ => false,
    };
    if suggested {
        error.remove(ContextKind::SuggestedArg);
    }
}

/// Standard output that knows whether its reader went away.
struct Watched<'a, W> {
    out: W,
    closed: &'a std::cell::Cell<bool>,
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| self.note(error))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush().inspect_err(|error| self.note(error))
    }
}

impl<W> Watched<'_, W> {
    fn note(&self, error: &std::io::Error) {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            self.closed.set(true);
        }
    }
}

/// The error of a writer whose reader went away.
fn is_closed_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<std::io::Error>();
    let json = cause
        .downcast_ref::<serde_json::Error>()
        .and_then(serde_json::Error::io_error_kind);
    io.map(std::io::Error::kind).or(json) == Some(std::io::ErrorKind::BrokenPipe)
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let stdin = || std::io::stdin().lock();
    let looking = |cli: &Cli| configured_for(&cli.global, Purpose::Look);
    if let (Some(_), Some(flag)) = (&cli.verb, cli.tick.first()) {
        // Whoever asks for a dry run of a verb must not get the verb.
        let fault = Fault::new(Exit::Usage, format!("{flag} before a verb does nothing"));
        return Err(fault
            .advise("tick alone takes it; what a verb takes: tick VERB --help")
            .into());
    }
    match &cli.verb {
        None => bare(cli, out),
        Some(Verb::Repair(args)) => tick::run_repair(args, &cli.global, configured(&cli.global)?, out),
        Some(Verb::Exec(_) | Verb::RecordedAgent { .. }) => Ok(Exit::Bug),
        Some(Verb::Demo(args)) => demo::run(args, &cli.global, out),
        Some(Verb::Look(args)) => look::run(args, &cli.global, out),
        Some(Verb::Status) => records::status(&cli.global, looking(cli)?, out),
        Some(Verb::Incidents(args)) => records::incidents(args, &cli.global, looking(cli)?, out),
        Some(Verb::Show(args)) => records::show(args, &cli.global, looking(cli)?, out),
        Some(Verb::Logs(args)) => logs::run(args, &cli.global, stdin(), out),
        Some(Verb::Replay(args)) => replay::run(args, &cli.global, looking(cli)?, out),
        Some(Verb::Pause(args)) => answers::pause(args, &cli.global, configured_for(&cli.global, Purpose::Stop)?, out),
        Some(Verb::Resume(args)) => {
            answers::resume(args, &cli.global, configured_for(&cli.global, Purpose::Stop)?, out)
        }
        Some(Verb::Retry(args)) => answers::retry(args, &cli.global, configured_for(&cli.global, args.purpose())?, out),
        Some(Verb::Ignore(args)) => answers::ignore(args, &cli.global, looking(cli)?, out),
        Some(Verb::Silence(args)) => silence::run(args, &cli.global, looking(cli)?, out),
        Some(Verb::Adopt(args)) => answers::adopt(args, &cli.global, looking(cli)?, out),
        Some(Verb::Approve(args)) => answers::approve(args, &cli.global, looking(cli)?, out),
        Some(Verb::Audit(verb)) => records::audit(verb, &looking(cli)?, out),
        Some(Verb::Ledger(verb)) => records::ledger(verb, &looking(cli)?, out),
        Some(Verb::Collect(args)) => collect::run(args, &configured(&cli.global)?, cli.global.clock(), out),
        Some(Verb::Gate(args)) => gate::run(args, &looking(cli)?, out),
        Some(Verb::Guard(args)) => guard::run(args, out),
        Some(Verb::GateChild) => gate::child(stdin(), out),
        Some(Verb::BenchServer(args)) => bench_server::run(args),
        Some(Verb::Config(verb)) => config::run(verb, &cli.global, out),
        Some(Verb::Signature(args)) => signature::run(args, stdin(), out).map(|()| Exit::Ok),
        Some(Verb::Redact(args)) => redact::run(args, stdin(), out).map(|()| Exit::Ok),
    }
}

/// The one runtime of a process: everything runs on the thread that started.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(32)
        .build();
    built.map_err(|error| Fault::new(Exit::CouldNot, format!("start the runtime: {error}")).into())
}

/// The config of a verb that cannot do without.
fn configured(global: &Global) -> anyhow::Result<Config> {
    configured_for(global, Purpose::Run)
}

/// The same for verbs that only look at what tick has stored, or answer it: no secret is needed for that.
fn configured_for(global: &Global, purpose: Purpose) -> anyhow::Result<Config> {
    let loaded = load_for(Sources::of_process(global.home.as_deref())?, purpose);
    loaded.map_err(|error| Fault::from(error).into())
}

/// `tick` without a verb.
fn bare(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match load(Sources::of_process(cli.global.home.as_deref())?) {
        Ok(config) => tick::run(&cli.tick, &cli.global, config, out),
        Err(LoadError::Missing { file }) => {
            out.write_all(render::config::no_config_text(&file.display().to_string()).as_bytes())?;
            Ok(Exit::Config)
        }
        Err(error) => Err(Fault::from(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_each_verb_stands_in_one_group() {
        command().debug_assert();
        let verbs: BTreeSet<String> = command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(|verb| verb.get_name().to_owned())
            .collect();
        let grouped: Vec<String> = render::help::GROUPS
            .iter()
            .flat_map(|(_, verbs)| verbs.iter().map(|verb| (*verb).to_owned()))
            .collect();
        assert_eq!(
            grouped.len(),
            grouped.iter().collect::<BTreeSet<_>>().len(),
            "a verb stands twice"
        );
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), verbs);
    }
}
