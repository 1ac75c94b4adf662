//! Processes where there is no `/proc`: the process group is all that can be ended.

use std::collections::BTreeSet;

use rustix::process::{Pid, Signal};

use super::{Known, Member};
use crate::model::RunId;

/// Whose processes are looked for.
pub(super) struct Scope<'a> {
    /// While it lives.
    pub(super) leader: Option<u32>,
    /// This process started the run.
    pub(super) is_own: bool,
    pub(super) run_id: &'a RunId,
    pub(super) known: &'a Known,
    pub(super) sessions: &'a BTreeSet<u32>,
    pub(super) leaders: &'a BTreeSet<u32>,
}

pub(super) fn adopt_orphans() {}

/// Members cannot be listed.
pub(super) fn members(scope: &Scope<'_>) -> Vec<Member> {
    let _unused = (
        scope.leader,
        scope.is_own,
        scope.run_id,
        scope.known,
        scope.sessions,
        scope.leaders,
    );
    Vec::new()
}

/// Ends the group that the leader made.
pub(super) fn end_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // No such group: nothing is left.
        let _sent = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

pub(super) fn reap_orphans(_leaders: &BTreeSet<u32>) {}

pub(super) fn kill(_pid: u32, _start: u64) {}
