//! Decisions. Pure: no clock, network, file or process; imports `model` and `text` only.

pub mod checks;
pub mod merge;
