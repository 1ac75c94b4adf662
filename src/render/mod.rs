//! All words for people and models. Pure: no clock, file, network or process; text from outside arrives cleaned and
//! redacted and stands only inside a fence.

pub mod before;
pub mod comment;
pub mod config;
pub mod demo;
pub mod fault;
pub mod guard;
pub mod help;
pub mod incidents;
pub mod inert;
#[cfg(test)]
mod injection_tests;
pub mod logs;
pub mod look;
pub mod mail;
pub mod note;
pub mod outside;
pub mod page;
pub mod plan;
pub mod pr;
pub mod prompt;
pub mod replay;
pub mod sarif;
pub mod silence;
pub mod status;
pub mod story;
pub mod title;
pub mod warning;
