//! The one place that starts agents, tests, gates and plugins. A child has a deadline, capped output, exactly the
//! environment that it is given, and no descendant that outlives it. Nothing here looks at what a child said.
//!
//! Call [`run`] from the main thread: a child asks to die with the thread that started it.

mod capture;
mod door;
mod env;
mod running;
mod service;
mod tree;

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use secrecy::SecretString;

use crate::{adapters::clock::instant, model::RunId};

pub use env::{Env, base_env, located, own_path, random_nonce};
pub use service::{NOT_UP, NOT_UP_EXIT, Ready, Service};
pub use tree::{end_descendants, end_leftovers};

/// Name of the variable that marks every process of one run.
pub const RUN_ID_VARIABLE: &str = "TICK_RUN_ID";

/// What a helper that stays says after it told how the child is held: nothing more comes from it.
pub const LAST_WORD: &str = "-";

/// How long a child may take to end by itself once it was asked to. Part of its deadline.
pub const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct ChildSpec {
    /// Absolute path.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment; the run marker is added to it.
    pub env: Vec<(String, SecretString)>,
    pub cwd: PathBuf,
    /// May be left unread.
    pub stdin: Vec<u8>,
    /// By then everything has ended: the child is asked to end [`GRACE`] (at most a quarter) before.
    pub deadline: Duration,
    pub stdout_cap: usize,
    pub stderr_cap: usize,
    pub run_id: RunId,
    pub sandbox: Sandbox,
    pub stop: Option<StopFlag>,
}

/// What the kernel lets a child see, where it can enforce it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Directories below which it may write; nowhere else.
    pub write: Vec<PathBuf>,
    /// What it may read beside the system's own, the tools of its PATH, `write` and its working directory.
    pub read: Vec<PathBuf>,
    /// What it may not read even there; `write` and the working directory are stronger.
    pub hide: Vec<PathBuf>,
    pub network: Network,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// A loopback of its own, which ends with it.
    #[default]
    Own,
    /// The same, with these services on it: started before the child, in order, and ended after it.
    With(Vec<Service>),
    /// The same, with a way to these hosts and no others: `name` at the ports of the web, or `name:port`. Has no stdin.
    Hosts(BTreeSet<String>),
    /// The machine's, for what has to reach a service.
    Open,
}

/// Says that a run has to end. Asked at least each second.
#[derive(Clone)]
pub struct StopFlag(Arc<dyn Fn() -> bool + Send + Sync>);

impl StopFlag {
    pub fn new(raised: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(raised))
    }

    pub fn raised(&self) -> bool {
        (self.0)()
    }
}

impl std::fmt::Debug for StopFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StopFlag")
    }
}

/// How the child itself ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunExit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Stopped,
    /// It went on writing this many bytes and more, and was ended for it.
    Flooded(usize),
    /// The program never ran. What was attempted and why it failed.
    SpawnFailed(String),
}

/// As a sentence without its subject.
impl std::fmt::Display for RunExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::TimedOut => f.write_str("ran out of time"),
            Self::Stopped => f.write_str("was stopped"),
            Self::Flooded(bytes) => write!(f, "wrote more than {} MiB and was ended", bytes >> 20),
            Self::SpawnFailed(why) => f.write_str(why),
        }
    }
}

#[derive(Debug, Clone)]
pub struct RawRun {
    pub exit: RunExit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// More was written than was kept. A child that goes on flooding is ended.
    pub truncated: bool,
    pub wall: Duration,
    /// `sandboxed…` or `not sandboxed: why`.
    pub sandbox: String,
    /// Descendants that were still there when the child had ended, and were killed.
    pub leftovers: u32,
}

impl RawRun {
    pub(crate) fn never_ran(why: String, wall: Duration) -> Self {
        Self {
            exit: RunExit::SpawnFailed(why),
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
            wall,
            sandbox: "not sandboxed: it never ran".to_owned(),
            leftovers: 0,
        }
    }
}

/// Runs a child to its end, and its descendants with it.
pub async fn run(spec: ChildSpec) -> RawRun {
    let started = instant();
    if spec.stop.as_ref().is_some_and(StopFlag::raised) {
        return RawRun {
            exit: RunExit::Stopped,
            ..RawRun::never_ran(String::new(), started.elapsed())
        };
    }
    match running::Running::start(&spec) {
        Ok(running) => running.finish(spec, started).await,
        Err(why) => RawRun::never_ran(why, started.elapsed()),
    }
}
