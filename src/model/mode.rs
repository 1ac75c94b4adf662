//! The rungs of a repo.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tick may do for a repo. Ordered: a later rung may do all that an earlier one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Observe,
    Diagnose,
    MonitorOnly,
    Active,
}
