//! The agents and the ceilings of every loop, as the file writes them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    agent_billing, agent_minutes, agent_runs_per_day, agent_turns, attempt_minutes, collect_seconds, concurrency,
    diff_lines, diff_lines_merge, gate_ms, new_incidents_per_day, new_incidents_per_hour, open_pulls_per_repo,
    retries_per_run, retry_attempts, retry_multiplier, retry_random_factor, retry_seconds, usd_per_day,
    usd_per_incident, usd_per_month,
};
use crate::config::{AgentKind, Billing};

/// The coding agents, and which of them does what.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Agents {
    /// Agents that judge what broke, in the order in which they are tried. Default: claude where it is installed.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["claude"])]
    pub triage: Option<Vec<String>>,
    /// Agents that write the fix, in order. Default: claude where it is installed.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["claude"])]
    pub fix: Option<Vec<String>>,
    /// Agents that audit the fix, in order. Default: claude where it is installed.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["claude"])]
    pub audit: Option<Vec<String>>,
    /// Let agents and tests run although no sandbox holds them on this machine. Default: false.
    #[serde(default)]
    #[schemars(example = false)]
    pub unsandboxed: bool,
    /// Agents by a name of your own; claude is known without being defined. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"mine": {"kind": "command", "program": "/usr/local/bin/my-agent"}}))]
    pub define: BTreeMap<String, Agent>,
}

/// One agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Agent {
    /// claude (the command-line program), or command (any program that speaks the contract).
    #[schemars(example = &"command")]
    pub kind: AgentKind,
    /// Program: an absolute path, or a name that is looked for in `path` and PATH. Default for claude: claude.
    #[serde(default)]
    #[schemars(with = "String", example = &"/usr/local/bin/my-agent")]
    pub program: Option<String>,
    /// Arguments before those that tick adds. Default: none.
    #[serde(default)]
    #[schemars(example = ["--quiet"])]
    pub args: Vec<String>,
    /// Model by the agent's own name for it. Default: the agent's choice.
    #[serde(default)]
    #[schemars(with = "String", example = &"sonnet")]
    pub model: Option<String>,
    /// Most turns of one run. Default: 40.
    #[serde(default = "agent_turns")]
    #[schemars(range(min = 1, max = 1000), example = 40)]
    pub turns: u32,
    /// Longest run, in minutes. Default: 20.
    #[serde(default = "agent_minutes")]
    #[schemars(range(min = 1, max = 240), example = 20)]
    pub minutes: u32,
    /// Most dollars of one run. Default: what limits leave.
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0.01, max = 1000), example = 1.0)]
    pub usd: Option<f64>,
    /// metered (paid by use, counted in dollars) or plan (flat, counted in runs and minutes). Default: metered.
    #[serde(default = "agent_billing")]
    #[schemars(example = &"metered")]
    pub billing: Billing,
    /// Environment variables that this agent gets beside the fixed few. Default: for claude its key and base URL.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["ANTHROPIC_API_KEY"])]
    pub env: Option<Vec<String>>,
}

/// Ceilings of every loop.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Limits {
    /// Dollars for one incident. Default: 2.
    #[serde(default = "usd_per_incident")]
    #[schemars(range(min = 0, max = 100_000), example = 2)]
    pub usd_per_incident: f64,
    /// Dollars in one day (UTC). Default: 5.
    #[serde(default = "usd_per_day")]
    #[schemars(range(min = 0, max = 100_000), example = 20)]
    pub usd_per_day: f64,
    /// Dollars in one month (UTC). Default: 50.
    #[serde(default = "usd_per_month")]
    #[schemars(range(min = 0, max = 1_000_000), example = 50)]
    pub usd_per_month: f64,
    /// Runs of agents in one day. Default: 12.
    #[serde(default = "agent_runs_per_day")]
    #[schemars(range(min = 0, max = 10_000), example = 12)]
    pub agent_runs_per_day: u32,
    /// Causes that become incidents in one hour; a page that is down may use it again. What is over it waits. Default: 20.
    #[serde(default = "new_incidents_per_hour")]
    #[schemars(range(min = 1, max = 10_000), example = 20)]
    pub new_incidents_per_hour: u32,
    /// The same in one day. Default: 50.
    #[serde(default = "new_incidents_per_day")]
    #[schemars(range(min = 1, max = 100_000), example = 50)]
    pub new_incidents_per_day: u32,
    /// Changed lines above which a patch goes to a person. Default: 400.
    #[serde(default = "diff_lines")]
    #[schemars(range(min = 1, max = 100_000), example = 400)]
    pub diff_lines: u32,
    /// Changed lines above which a patch is not merged without a person. Default: 120.
    #[serde(default = "diff_lines_merge")]
    #[schemars(range(min = 1, max = 100_000), example = 120)]
    pub diff_lines_merge: u32,
    /// Pull requests of ours that may be open in one repo. Default: 2.
    #[serde(default = "open_pulls_per_repo")]
    #[schemars(range(min = 1, max = 10), example = 2)]
    pub open_pulls_per_repo: u32,
    /// Repeated attempts of one run over all failures. Default: 10.
    #[serde(default = "retries_per_run")]
    #[schemars(range(min = 0, max = 100), example = 10)]
    pub retries_per_run: u32,
    /// Longest attempt at a repair, in minutes. Default: 30.
    #[serde(default = "attempt_minutes")]
    #[schemars(range(min = 1, max = 240), example = 30)]
    pub attempt_minutes: u32,
    /// Longest collection, in seconds; what is not read by then counts as failed. Default: 60.
    #[serde(default = "collect_seconds")]
    #[schemars(range(min = 1, max = 600), example = 60)]
    pub collect_seconds: u32,
    /// Longest run of an edited gate, in milliseconds. Default: 1000.
    #[serde(default = "gate_ms")]
    #[schemars(range(min = 10, max = 10_000), example = 1000)]
    pub gate_ms: u32,
    /// Requests under way at once in a collection. Default: 512.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1, max = 1000), example = 512)]
    pub concurrency: u32,
}

/// How a read that failed is tried again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Retry {
    /// Tries in all; 1 means that nothing is tried again. Default: 5.
    #[serde(default = "retry_attempts")]
    #[schemars(range(min = 1, max = 20), example = 5)]
    pub attempts: u32,
    /// Factor by which each wait is longer than the one before. Default: 2.
    #[serde(default = "retry_multiplier")]
    #[schemars(range(min = 1, max = 10), example = 2)]
    pub multiplier: f64,
    /// First wait, in seconds. Default: 10.
    #[serde(default = "retry_seconds")]
    #[schemars(range(min = 0, max = 600), example = 10)]
    pub seconds: f64,
    /// Share by which a wait varies at random. Default: 0.5.
    #[serde(default = "retry_random_factor")]
    #[schemars(range(min = 0, max = 1), example = 0.5)]
    pub random_factor: f64,
}
