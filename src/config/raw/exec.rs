//! Programs of the owner's, as the file writes them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::ExecOutput;

/// A program that looks at something and says what it saw.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Exec {
    /// File in collectors/ of the home, or a link there; it and what it leads to may be written by you (or root) alone.
    #[schemars(example = &"check_disk")]
    pub program: String,
    /// Arguments, each as it is. Default: none.
    #[serde(default)]
    #[schemars(example = ["-w", "10%", "-c", "5%", "-p", "/"])]
    pub args: Vec<String>,
    /// What it prints: nagios (exit 0, 1, 2 or 3 and a line of text), or signals (JSON). Default: nagios.
    #[serde(default = "super::exec_output")]
    #[schemars(example = &"nagios")]
    pub output: ExecOutput,
    /// Minutes between two looks. Default: every tick.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 1440), example = 60)]
    pub every_minutes: Option<u32>,
    /// Longest run, in seconds. Default: 30.
    #[serde(default = "super::exec_timeout_seconds")]
    #[schemars(range(min = 1, max = 300), example = 30)]
    pub timeout_seconds: u32,
    /// Its environment: name to the environment variable that holds the value. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"PGPASSWORD": "SHOP_DB_PASSWORD"}))]
    pub env: BTreeMap<String, String>,
    /// Directories or files that it may read beside the system's own and collectors/. Default: none.
    #[serde(default)]
    #[schemars(example = ["/var/lib/shop"])]
    pub read: Vec<String>,
}
