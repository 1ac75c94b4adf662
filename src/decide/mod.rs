//! Decisions as values. Pure: no clock, file, network or process; `now` is an argument. Imports `model` and `text`
//! of ours, nothing else.

pub mod checks;
pub mod gate;
pub mod merge;
pub mod verdict;
