//! The one commit that may have brought a cause, and what running the tests around it showed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::Sha;

/// What was found out about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    pub commit: Sha,
    /// It is a merge of ours.
    pub ours: bool,
    /// Tests that came with it, and go with it when it is taken back.
    pub brought: BTreeSet<String>,
    /// Why it is not shown to be the cause, or cannot be taken back; none: its revert is an attempt.
    pub not: Option<String>,
}

/// Stands as the author of an attempt that takes a commit back; no agent can have this name.
pub const REVERT: &str = "a revert by tick";
