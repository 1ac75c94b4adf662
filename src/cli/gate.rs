//! `tick gate`: what the gate says about a snapshot; and the hidden verb that runs an edited gate.

use std::{
    io::{Read, Write},
    path::PathBuf,
};

use clap::Args;
use serde_json::json;

use crate::{
    adapters::gate_child,
    config::Config,
    decide::gate::GateResult,
    exit::{Exit, Fault},
    steps::gate::gate,
    store::snapshots::{self, LATEST},
};

#[derive(Debug, Args)]
pub struct GateArgs {
    /// Snapshot to judge (default: the latest)
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Prints one JSON object: 0 quiet, 10 awake, 3 when the gate or a source could not be read.
pub fn run(args: &GateArgs, config: &Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let file = args.file.clone().unwrap_or_else(|| config.home.signals.join(LATEST));
    let snapshot = snapshots::read(&file).map_err(|error| {
        // A file that was named is the command line's; our own is what the gate would have seen.
        let exit = if args.file.is_some() { Exit::Usage } else { Exit::Blind };
        let fault = Fault::new(exit, format!("read the snapshot {}: {error}", file.display()));
        fault.advise("a tick, or `tick collect`, makes one")
    })?;
    let result = super::runtime()?.block_on(gate(config, &snapshot));
    let blind: Vec<String> = snapshot
        .blind()
        .map(|c| format!("{} {}: {}", c.repo, c.name, c.cause))
        .collect();
    let (reply, exit) = match result {
        GateResult::Fault(why) => (json!({ "fault": why, "blind": blind }), Exit::Blind),
        GateResult::Wake(reasons) => (
            json!({ "wake": true, "reasons": reasons, "blind": blind }),
            Exit::Unhealthy,
        ),
        GateResult::Quiet => {
            let exit = if blind.is_empty() { Exit::Ok } else { Exit::Blind };
            (json!({ "wake": false, "reasons": [], "blind": blind }), exit)
        }
    };
    writeln!(out, "{reply}")?;
    Ok(exit)
}

/// The child that runs one program under limits.
pub fn child(stdin: impl Read, out: &mut dyn Write) -> anyhow::Result<Exit> {
    out.write_all(&gate_child::serve(stdin))?;
    Ok(Exit::Ok)
}
