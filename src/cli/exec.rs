//! `tick __exec`: how every child starts. Hidden; only the process runner writes such a command line.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{
    adapters::{
        exec::{Plan, become_program},
        process::Service,
    },
    exit::Exit,
};

#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Stands before each report line on stderr
    #[arg(long)]
    mark: String,
    /// Process to die with
    #[arg(long)]
    parent: u32,
    /// Directory that may be written
    #[arg(long)]
    write: Vec<PathBuf>,
    /// Directory that may be read
    #[arg(long)]
    read: Vec<PathBuf>,
    /// Directory that may not be read
    #[arg(long)]
    hide: Vec<PathBuf>,
    /// Leave it the machine's network
    #[arg(long)]
    network: bool,
    /// Hand a way to some hosts out through stdin
    #[arg(long)]
    door: bool,
    /// Service that it needs on its loopback, as JSON
    #[arg(long, value_parser = service)]
    service: Vec<Service>,
    /// Directory in which programs are looked for
    #[arg(long)]
    path: Vec<PathBuf>,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub fn run(args: ExecArgs) -> ExitCode {
    let mut command = args.command.into_iter();
    let Some(program) = command.next() else {
        return Exit::Usage.into();
    };
    become_program(&Plan {
        mark: args.mark,
        parent: args.parent,
        write: args.write,
        read: args.read,
        hide: args.hide,
        network: args.network,
        door: args.door,
        services: args.service,
        path: args.path,
        program: program.into(),
        args: command.collect(),
    })
}

fn service(text: &str) -> Result<Service, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
