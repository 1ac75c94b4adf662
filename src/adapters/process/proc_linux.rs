//! Processes as `/proc` shows them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::{Known, Member};
use crate::{adapters::process::RUN_ID_VARIABLE, model::RunId};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    state: u8,
    parent: u32,
    session: u32,
    start: u64,
}

impl Entry {
    fn is_dead(self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Orphans below us come to us instead of to the first process, so that they stay in sight.
pub(super) fn adopt_orphans() {
    // Where it fails the marker has to do.
    let _set = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Living members of a run, without its leader.
pub(super) fn members(scope: &Scope<'_>) -> Vec<Member> {
    let own = std::process::id();
    let all = table();
    let marker = format!("{RUN_ID_VARIABLE}={}", scope.run_id);
    let mut found: BTreeSet<u32> = all
        .iter()
        .filter(|(pid, entry)| {
            scope.known.get(pid) == Some(&entry.start)
                || scope.sessions.contains(&entry.session)
                || is_stray(scope, own, **pid, **entry, &all)
                || has_marker(**pid, marker.as_bytes())
        })
        .map(|(pid, _)| *pid)
        .collect();
    let mut roots: BTreeSet<u32> = found.iter().copied().chain(scope.leader).collect();
    loop {
        let more: BTreeSet<u32> = all
            .iter()
            .filter(|(pid, entry)| roots.contains(&entry.parent) && !roots.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(&more);
        roots.extend(more);
    }
    found
        .into_iter()
        .filter(|pid| Some(*pid) != scope.leader && *pid != own && *pid != 1)
        .filter_map(|pid| all.get(&pid).map(|entry| (pid, *entry)))
        .filter(|(_, entry)| !entry.is_dead())
        .map(|(pid, entry)| Member {
            pid,
            start: entry.start,
            session: entry.session,
        })
        .collect()
}

/// Fell to us, in a session that is not ours, while only this run was there to have made it.
fn is_stray(scope: &Scope<'_>, own: u32, pid: u32, entry: Entry, all: &BTreeMap<u32, Entry>) -> bool {
    let only_run = scope.is_own && scope.leaders.len() == 1;
    only_run
        && entry.parent == own
        && !scope.leaders.contains(&pid)
        && all.get(&own).is_some_and(|us| us.session != entry.session)
}

/// Collects the exit status of dead orphans that fell to us; nobody else waits for them.
pub(super) fn reap_orphans(leaders: &BTreeSet<u32>) {
    let own = std::process::id();
    let all = table();
    let Some(us) = all.get(&own) else { return };
    let dead = all.iter().filter(|(pid, entry)| {
        entry.is_dead() && entry.parent == own && entry.session != us.session && !leaders.contains(pid)
    });
    for pid in dead.filter_map(|(pid, _)| Pid::from_raw(i32::try_from(*pid).ok()?)) {
        // Reaped already: nothing to do.
        let _reaped = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Members are killed one by one here: the number of a group whose leader is gone may belong to others.
pub(super) fn end_group(_leader: u32) {}

/// Kills that very process: the handle is opened first, then the start time is compared.
pub(super) fn kill(pid: u32, start: u64) {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let handle = rustix::process::pidfd_open(raw, PidfdFlags::empty());
    if read(pid).is_none_or(|entry| entry.start != start) {
        return;
    }
    // An error means that it is gone, or that the next round tries again.
    let _sent = match handle {
        Ok(handle) => rustix::process::pidfd_send_signal(handle, Signal::KILL),
        Err(_) => rustix::process::kill_process(raw, Signal::KILL),
    };
}

fn table() -> BTreeMap<u32, Entry> {
    let Ok(dir) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    dir.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, read(pid)?)))
        .collect()
}

fn read(pid: u32) -> Option<Entry> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name may hold spaces and parentheses, so the fields count from the last one.
fn parse_stat(stat: &str) -> Option<Entry> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(Entry {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

fn has_marker(pid: u32, marker: &[u8]) -> bool {
    pid != std::process::id()
        && fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|v| v == marker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_the_fields() {
        let stat = "42 (a) S 1 1 (x) R 7 8 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        assert_eq!(
            parse_stat(stat),
            Some(Entry {
                state: b'R',
                parent: 7,
                session: 9,
                start: 12345
            })
        );
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn our_own_process_is_read() {
        let own = read(std::process::id()).unwrap();
        assert!(!own.is_dead());
        assert!(own.start > 0);
    }
}
