//! Wrong merges are none, and a person's no is final: the built program against a forge whose people, checks and signs
//! move at any moment, and whose host does other things than it was asked for.

mod base;
mod by_ci;
mod culprit;
mod flakes;
mod landing;
mod moves;
mod page;
mod person;
pub(crate) mod prepared;
mod rerun;
