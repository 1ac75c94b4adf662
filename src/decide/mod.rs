//! decide

pub mod gate;
