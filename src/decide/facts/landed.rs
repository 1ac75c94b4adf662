//! What a merge made of the default branch, beside what was tested.

use serde::{Deserialize, Serialize};

use crate::model::Sha;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    pub tree: Sha,
    pub parent: Sha,
    pub expected_tree: Sha,
    pub tested_base: Sha,
}

impl Landed {
    pub fn verdict(&self) -> Landing {
        if self.tree != self.expected_tree {
            Landing::WrongTree
        } else if self.parent == self.tested_base {
            Landing::AsTested
        } else {
            Landing::Raced
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Landing {
    /// Tree and parent are the tested ones.
    AsTested,
    /// The tree is right for another parent: something else landed first.
    Raced,
    /// The host wrote another tree than the one that was tested.
    WrongTree,
}
