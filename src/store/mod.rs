//! store

pub mod snapshots;
