//! A service that a child needs: how it is started, and when it is there.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Runs beside the child, within the same sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// As its owner wrote it, for messages.
    pub name: String,
    /// Programs and their arguments: all but the last run to their end first, the last one stays.
    pub start: Vec<(PathBuf, Vec<String>)>,
    pub ready: Ready,
    pub within: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// This port of the loopback takes connections.
    Port(u16),
    /// This command ends with 0.
    Command(PathBuf, Vec<String>),
}

impl Service {
    pub fn programs(&self) -> impl Iterator<Item = &PathBuf> {
        let asked = match &self.ready {
            Ready::Port(_) => None,
            Ready::Command(program, _) => Some(program),
        };
        self.start.iter().map(|(program, _)| program).chain(asked)
    }
}

/// What a child with services says on stderr when it could not be started because one of them did not come up.
pub const NOT_UP: &str = "tick: a service did not come up: ";
/// Its exit status then.
pub const NOT_UP_EXIT: u8 = 69;
