//! A patch as git prints it, read and put onto the contents of a base: both sides of every file, and nothing guessed.
//! What does not fit its base is named, since it cannot be judged.

mod apply;
mod binary;
mod parse;

#[cfg(test)]
mod patch_tests;

pub use apply::{Applied, Unread, apply};
pub use parse::{base_paths, parse};

/// A patch that cannot be read or does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {why}")]
pub struct PatchError {
    pub line: usize,
    pub why: String,
}

impl PatchError {
    fn new(line: usize, why: impl Into<String>) -> Self {
        Self { line, why: why.into() }
    }
}

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// None for a new file.
    pub(super) old_path: Option<Vec<u8>>,
    /// None for a deleted one.
    pub(super) new_path: Option<Vec<u8>>,
    /// The old path stays.
    pub(super) copy: bool,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    body: Body,
    line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Body {
    Same,
    Hunks(Vec<Hunk>),
    /// The whole new content.
    Literal(Vec<u8>),
    /// Instructions that make the new content of the old one.
    Delta(Vec<u8>),
    /// "Binary files differ": the new content is not in the patch.
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Hunk {
    /// First line of the old side, counted from 1; 0 for an empty side.
    start: usize,
    old: Vec<Vec<u8>>,
    new: Vec<Vec<u8>>,
    line: usize,
}
