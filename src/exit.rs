//! Every exit code of every verb. An interface: the README carries the same table, and a test compares them.

use std::process::ExitCode;

/// How a run of `tick` ended, in the words of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Healthy, or everything that is wrong is being handled.
    Ok,
    /// Something of ours was rolled back, or an incident became a person's, in this process. A failed check of a verb.
    NeedsHuman,
    /// Work stopped for budget in this process.
    Budget,
    /// An enabled source, or the gate, could not be read.
    Blind,
    /// `tick guard`: a person decides.
    GuardNeedsHuman,
    /// `tick gate`, `tick look`: something is wrong.
    Unhealthy,
    /// The command line is wrong.
    Usage,
    /// A bug of tick.
    Bug,
    /// Could not do it now: full or read-only disk, unreadable state, a message that nobody takes.
    CouldNot,
    /// The configuration is wrong, missing or newer than this program.
    Config,
}

impl Exit {
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::NeedsHuman,
        Self::Budget,
        Self::Blind,
        Self::GuardNeedsHuman,
        Self::Unhealthy,
        Self::Usage,
        Self::Bug,
        Self::CouldNot,
        Self::Config,
    ];

    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::NeedsHuman => 1,
            Self::Budget => 2,
            Self::Blind => 3,
            Self::GuardNeedsHuman => 4,
            Self::Unhealthy => 10,
            Self::Usage => 64,
            Self::Bug => 70,
            Self::CouldNot => 75,
            Self::Config => 78,
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "healthy, or handled",
            Self::NeedsHuman => "something was rolled back, or newly needs a person",
            Self::Budget => "work stopped for budget",
            Self::Blind => "blind: a source or the gate could not be read",
            Self::GuardNeedsHuman => "a person has to judge this diff",
            Self::Unhealthy => "unhealthy",
            Self::Usage => "the command line is wrong",
            Self::Bug => "a bug in tick",
            Self::CouldNot => "could not now (disk, state, mail)",
            Self::Config => "configuration missing, wrong or newer than this tick",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error that knows its exit code. Anything else that reaches `main` is a bug (70).
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub exit: Exit,
    pub message: String,
    /// How to mend it; may be empty.
    pub advice: Vec<String>,
}

impl Fault {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            advice: Vec::new(),
        }
    }

    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}
