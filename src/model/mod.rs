//! Plain data that every part shares. No behaviour beyond construction and conversion; imports std,
//! serde and chrono types only.

pub mod checks;
pub mod evidence;
pub mod ids;
pub mod incident;
pub mod mode;
pub mod page;
pub mod past;
pub mod pull;
pub mod report;
pub mod signal;

pub use ids::{AttemptId, IncidentId, PullNumber, RepoName, RunId, Sha, Signature, Slot, TickId};
pub use mode::Mode;
