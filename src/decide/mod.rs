//! decide

pub mod proof;
