//! The command line: clap types and one short function a verb, each in a file of its own.

pub mod lines;
pub mod redact;
pub mod signature;

use std::{io::Write, path::PathBuf, process::ExitCode};

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};

use crate::{
    adapters::clock::Clock,
    exit::{Exit, Fault},
};

/// Looks at your production every fifteen minutes, repairs what broke, proves it, and tells you once.
#[derive(Debug, Parser)]
#[command(name = "tick", version, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
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
}

impl Global {
    pub fn clock(&self) -> Clock {
        Clock::start(self.now)
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the signature of each line of standard input
    Signature(signature::SignatureArgs),
    /// Print standard input without secrets and personal data
    Redact(redact::RedactArgs),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // Nothing can be done when even the message cannot be written.
            let _ignored = error.print();
            return exit.into();
        }
    };
    match cli.verb {
        None => Exit::Config.into(),
        Some(verb) => ended(run(verb)),
    }
}

fn run(verb: Verb) -> anyhow::Result<Exit> {
    let input = std::io::stdin().lock();
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let done = match verb {
        Verb::Signature(args) => signature::run(&args, input, &mut output),
        Verb::Redact(args) => redact::run(&args, input, &mut output),
    };
    // What was answered before an error is part of the result.
    let flushed = output.flush();
    done?;
    flushed?;
    Ok(Exit::Ok)
}

fn ended(result: anyhow::Result<Exit>) -> ExitCode {
    let error = match result {
        Ok(exit) => return exit.into(),
        Err(error) => error,
    };
    let fault = error.downcast_ref::<Fault>();
    let mut stderr = std::io::stderr().lock();
    // Nothing can be done when even the message cannot be written.
    let _ignored = writeln!(stderr, "tick: {error:#}");
    for advice in fault.iter().flat_map(|fault| &fault.advice) {
        let _ignored = writeln!(stderr, "  {advice}");
    }
    fault.map_or(Exit::Bug, |fault| fault.exit).into()
}
