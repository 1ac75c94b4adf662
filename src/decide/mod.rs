//! Decisions as values. Pure: no clock, file, network or process; `now` is an argument. Imports `model` and `text`
//! of ours, nothing else.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod again;
pub mod before;
pub mod blindness;
pub mod budget;
pub mod caps;
pub mod checks;
pub mod culprit;
pub mod dedup;
mod elsewhere;
pub mod facts;
pub mod gate;
pub mod guards;
pub mod hold;
pub mod merge;
pub mod next;
#[cfg(test)]
mod next_tests;
pub mod observation;
pub mod parents;
pub mod past;
pub mod proof;
pub mod retention;
pub mod rhythm;
pub mod rules;
pub mod security;
mod settle;
pub mod spells;
#[cfg(test)]
mod testing;
pub mod trend;
pub mod variables;
pub mod verdict;
pub mod whereabouts;
pub mod why;
