//! steps

pub mod gate;
