//! The small world on loopback: a git forge with CI, a deployer, a sample shop with a real bug and its customers, an
//! error tracker, a mailbox, and a recorded agent. `tick demo` and the end-to-end tests run the product in it.
//! Nothing of it is the product, and no part of the product imports it (the command line excepted).

pub mod act;
pub mod agent;
pub mod children;
pub mod ci;
pub mod client;
pub mod clock;
mod control;
pub mod deploy;
pub mod faults;
pub mod forge;
mod ground;
pub mod left;
pub mod log;
pub mod mailbox;
pub mod own;
pub mod railway;
pub mod schema;
mod sentry;
pub mod serve;
pub mod services;
mod setup;
pub mod shop;
pub mod story;
#[cfg(test)]
mod tests;
pub mod town;
pub mod tracker;
pub mod vercel;
mod world;

pub use self::{
    act::Act,
    ci::{CiJob, Pace},
    faults::{Fault, Site, Which},
    railway::{RAILWAY_ACCOUNT_TOKEN, RAILWAY_PROJECT, RAILWAY_PROJECT_TOKEN, RAILWAY_SERVICE},
    sentry::ON_REQUEST as SENTRY_ON_REQUEST,
    setup::Setup,
    vercel::VERCEL_TOKEN,
    world::{FORGE_TOKEN, OwnRepo, TRACKER_TOKEN, World, WorldOptions},
};
