//! Which processes belong to a run, and ending all of them. Agent programs start their tools in sessions of their
//! own, so a kill of the process group leaves them alive: members are found by descent, by the marker in their
//! environment, by their session, and by having fallen to us when their parent died.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};

use crate::model::RunId;

/// Rounds of looking and killing; each finds what the round before let go.
const ROUNDS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(20);

/// Leaders that run now. Held while one is started, so that nobody takes a fresh leader for a stray.
static LEADERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A process by number and start time: a number alone may have been given to another one since.
type Known = BTreeMap<u32, u64>;

/// A living process of a run.
#[derive(Debug, Clone, Copy)]
struct Member {
    pid: u32,
    start: u64,
    session: u32,
}

pub(super) struct Tree {
    leader: u32,
    run_id: RunId,
    known: Known,
    /// Sessions that only members of this run can be in.
    sessions: BTreeSet<u32>,
    /// The leader's number may by now belong to somebody else.
    leader_gone: bool,
    ended: bool,
}

impl Tree {
    /// Starts the leader of a tree.
    pub(super) fn plant(command: &mut Command, run_id: &RunId) -> std::io::Result<(Child, Self)> {
        proc::adopt_orphans();
        let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let leader = child
            .id()
            .ok_or_else(|| std::io::Error::other("it has no process id"))?;
        leaders.insert(leader);
        let tree = Self {
            leader,
            run_id: run_id.clone(),
            known: Known::new(),
            sessions: BTreeSet::from([leader]),
            leader_gone: false,
            ended: false,
        };
        Ok((child, tree))
    }

    /// Remembers the descendants of this moment: once their parent is gone, descent does not show them.
    pub(super) fn note(&mut self) {
        let leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
        let found = proc::members(&self.scope(&leaders));
        self.remember(&found);
    }

    /// TERM to the leader only: agent programs end their tools themselves when asked.
    pub(super) fn ask_to_end(&self) {
        signal(self.leader, Signal::TERM);
    }

    /// Kills whatever is left of the tree; the leader has ended. Returns how many there were.
    pub(super) async fn end(&mut self) -> u32 {
        self.leader_gone = true;
        let mut killed = BTreeSet::new();
        for _ in 0..ROUNDS {
            if !self.round(&mut killed) {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        self.close();
        u32::try_from(killed.len()).unwrap_or(u32::MAX)
    }

    /// One look; false when nothing was left.
    fn round(&mut self, killed: &mut BTreeSet<(u32, u64)>) -> bool {
        let leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
        proc::end_group(self.leader);
        let found = proc::members(&self.scope(&leaders));
        for member in &found {
            proc::kill(member.pid, member.start);
        }
        proc::reap_orphans(&leaders);
        killed.extend(found.iter().map(|member| (member.pid, member.start)));
        self.remember(&found);
        !found.is_empty()
    }

    fn remember(&mut self, found: &[Member]) {
        self.known.extend(found.iter().map(|member| (member.pid, member.start)));
        self.sessions.extend(found.iter().map(|member| member.session));
    }

    fn scope<'a>(&'a self, leaders: &'a BTreeSet<u32>) -> proc::Scope<'a> {
        proc::Scope {
            leader: (!self.leader_gone).then_some(self.leader),
            is_own: true,
            run_id: &self.run_id,
            known: &self.known,
            sessions: &self.sessions,
            leaders,
        }
    }

    fn close(&mut self) {
        self.ended = true;
        LEADERS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.leader);
    }
}

/// A run that is dropped half-way leaves nothing behind either.
impl Drop for Tree {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.note();
        signal(self.leader, Signal::KILL);
        let mut killed = BTreeSet::new();
        for _ in 0..ROUNDS {
            if !self.round(&mut killed) {
                break;
            }
            std::thread::sleep(BETWEEN);
        }
        self.close();
    }
}

/// Ends every process that carries the marker of a run, with its descendants. For recovery: the process that
/// started them is gone. Returns how many there were.
pub fn end_leftovers(run_id: &RunId) -> u32 {
    end_below(None, run_id)
}

/// Ends every process below this one. For a leader that outlives what it started.
pub fn end_descendants(run_id: &RunId) -> u32 {
    end_below(Some(std::process::id()), run_id)
}

fn end_below(leader: Option<u32>, run_id: &RunId) -> u32 {
    let (mut known, none) = (Known::new(), BTreeSet::new());
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let found = proc::members(&proc::Scope {
            leader,
            is_own: false,
            run_id,
            known: &known,
            sessions: &none,
            leaders: &none,
        });
        if found.is_empty() {
            break;
        }
        for member in &found {
            proc::kill(member.pid, member.start);
        }
        killed.extend(found.iter().map(|member| (member.pid, member.start)));
        known.extend(found.iter().map(|member| (member.pid, member.start)));
        std::thread::sleep(BETWEEN);
    }
    u32::try_from(killed.len()).unwrap_or(u32::MAX)
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended this very moment, which is what was wanted.
        let _sent = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(target_os = "linux")]
#[path = "proc_linux.rs"]
mod proc;

#[cfg(not(target_os = "linux"))]
#[path = "proc_other.rs"]
mod proc;
