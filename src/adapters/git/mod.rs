//! All work with git: our bare mirrors, throwaway worktrees, commits read from a tree by our own walk, pushes by SHA.
//! git is never pointed at files or a git dir that a child could write, never gets a shell, a prompt or a hook, and
//! sees a token only in its environment and only while it talks to the remote.

mod command;
mod commit;
mod error;
mod keep;
mod merge;
mod mirror;
mod parse;
mod remote;
mod sweep;
mod tree;
mod url;
mod walk;
mod work;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod real_tests;

use std::path::PathBuf;

use chrono::{DateTime, Utc};

pub use command::Git;
pub use error::{GitError, GitErrorKind};
pub use mirror::Mirror;
pub use remote::branch_is_ours;
pub use sweep::sweep;
pub use walk::WalkLimits;

use crate::{
    model::{Sha, pull::PushRefusal},
    text::{Untrusted, clean},
};

pub type Result<T, E = GitError> = std::result::Result<T, E>;

/// The reading of what git prints, for the fuzzer.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _version = parse::version(&text);
    drop(parse::changes(bytes));
    drop(parse::entries(bytes));
    drop(parse::log(bytes, &crate::text::Redactor::default()));
    drop(parse::words(bytes));
    drop(parse::batch(bytes));
    drop(parse::merge_tree(bytes));
    drop(parse::remote_ref(&text, "refs/heads/main"));
    drop(parse::push(&text, "refs/heads/main"));
}

/// Where an attempt's files are: `tree` is the child's, `git_dir` belongs to the child too and nobody reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePaths {
    pub dir: PathBuf,
    pub tree: PathBuf,
    pub git_dir: PathBuf,
}

/// What the walk of a child's tree came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walked {
    Commit {
        sha: Sha,
        tree: Sha,
    },
    /// The files are those of the base.
    NoChange,
    /// Something in the tree cannot become a commit; the sentence names it (controls made visible).
    Refused(String),
}

/// One changed path between two commits, without rename detection: a rename is a removal and an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<u8>,
    /// 0 where the side does not exist.
    pub old_mode: u32,
    pub new_mode: u32,
    pub old_blob: Option<Sha>,
    pub new_blob: Option<Sha>,
}

/// One entry of a commit's tree. A submodule has mode 160000 and no size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: Vec<u8>,
    pub mode: u32,
    pub id: Sha,
    pub size: Option<u64>,
}

/// A patch put onto another commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    Clean {
        tree: Sha,
    },
    /// Paths in conflict, controls made visible.
    Conflict(Vec<String>),
}

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Push {
    /// The branch is at our commit.
    Done,
    /// The remote did not take it, and will not take it when asked again. Its words, cleaned and redacted.
    Refused(PushRefusal, String),
    /// The answer was lost; `ls_remote` tells.
    Unknown(String),
}

/// A file of a commit to be made: mode and content, or none for a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub path: Vec<u8>,
    pub new: Option<(u32, Vec<u8>)>,
}

#[derive(Debug, Clone)]
pub struct CommitLine {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub at: Option<DateTime<Utc>>,
    pub author: Untrusted,
    pub subject: Untrusted,
}

/// A path for people: one line, bytes that are not UTF-8 replaced, controls and invisible characters visible.
pub fn shown_path(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path).replace('\n', "\\n").replace('\t', "\\t");
    clean(&text)
}
