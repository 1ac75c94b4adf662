//! steps

pub mod prove;
