//! All text for people and models is built here and nowhere else. Pure.
pub mod prompt;
