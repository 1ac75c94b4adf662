//! `tick`: an unattended maintainer for a running product. Modules in reading order; `tick.rs` is the page to
//! start with, `docs/ARCHITECTURE.md` the map.

pub mod adapters;
pub mod cli;
pub mod collect;
pub mod config;
pub mod decide;
pub mod demo;
pub mod exit;
#[doc(hidden)]
pub mod fuzz;
pub mod model;
pub mod render;
pub mod steps;
pub mod store;
pub mod telemetry;
pub mod text;
pub mod tick;
