//! Everything outside this program, one thin file a service: an adapter method is one outside action with domain
//! types in and out. Adapters import `model`, `text` and their own section of the config; never `decide`, `steps`,
//! or each other (`http`, `process` and `clock` excepted).

pub mod agents;
pub mod clock;
pub mod exec;
pub mod folder;
pub mod gate_child;
pub mod git;
pub mod github;
pub mod host;
pub mod http;
pub mod mail;
pub mod plugin;
pub mod process;
pub mod suite;
pub mod template;
