//! What stands around the tests of a repository, as the file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

/// A program that the tests need beside them, such as a database.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Service {
    /// Commands in the checkout, in order: all but the last run to their end first, the last one stays.
    #[schemars(example = ["scripts/test-db 5433"])]
    pub start: Vec<String>,
    /// When it is there: tcp:PORT takes connections, or a command ends with 0.
    #[schemars(example = &"tcp:5433")]
    pub ready: String,
    /// Longest time until it is there, in seconds. Default: 60.
    #[serde(default = "super::service_seconds")]
    #[schemars(range(min = 1, max = 600), example = 60)]
    pub ready_seconds: u32,
}
