//! All words for people and models. Pure: no clock, file, network or process; text from outside arrives cleaned and
//! redacted and stands only inside a fence.

pub mod config;
pub mod fault;
pub mod page;
pub mod comment;
pub mod inert;
pub mod pr;
