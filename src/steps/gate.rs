//! Runs the gate that stands in the home, or the shipped one: known text in this process, anything else in a child.

use std::{fs, io, path::Path, time::Duration};

use crate::{
    adapters::gate_child,
    config::{Config, read_plain},
    decide::gate::{self, GateResult},
    model::signal::Snapshot,
};

/// Largest program file that is read.
const MAX_FILE: u64 = 64 * 1024;

/// Does this snapshot have to be looked at?
pub async fn gate(config: &Config, snapshot: &Snapshot) -> GateResult {
    match own_program(&config.home.collectors.join("gate.jq")) {
        Ok(None) => gate::shipped(snapshot),
        Ok(Some(program)) => edited(&program, snapshot, config.limits.gate_deadline).await,
        Err(error) => GateResult::Fault(format!("collectors/gate.jq cannot be read: {error}")),
    }
}

/// The owner's program, unless there is none or it is the shipped one.
fn own_program(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(found) if found.len() > MAX_FILE => return Err(io::Error::other("it is larger than 64 KiB")),
        Ok(_) => {}
    }
    let program = read_plain(path)?;
    Ok((!gate::is_shipped(&program)).then_some(program))
}

async fn edited(program: &str, snapshot: &Snapshot, deadline: Duration) -> GateResult {
    match serde_json::to_vec(snapshot) {
        Ok(input) => gate::judge(gate_child::run(program, &input, deadline).await),
        Err(error) => GateResult::Fault(format!("the snapshot cannot be written as JSON: {error}")),
    }
}
