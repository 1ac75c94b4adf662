//! The command line: clap types and one short function a verb, each in a file of its own.

mod recorded_agent;

use std::{path::PathBuf, process::ExitCode};

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};

use crate::{adapters::clock::Clock, exit::Exit};

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
    /// Plays a recording as a `command` agent
    #[command(name = "__recorded-agent", hide = true)]
    RecordedAgent { script: PathBuf },
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
        Some(Verb::RecordedAgent { script }) => recorded_agent::run(&script),
    }
}
