//! The config file as it is written: serde structs, from which the JSON Schema is made as well. Nothing here is
//! checked beyond types and ranges; `validate.rs` turns it into the domain types of `mod.rs`.
//!
//! Every field says its meaning, unit and default; a default that is not "nothing" is a named function below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{AgentKind, Billing, ExecOutput, Mode};

mod environment;
mod exec;
mod railway;

pub(super) use environment::Service;
pub(super) use exec::Exec;
pub(super) use railway::{Railway, RailwayApi};

pub(super) mod vercel;

/// The owner's configuration of tick.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    /// Where an editor finds the schema of this file; tick does not read it.
    #[serde(default, rename = "$schema")]
    #[schemars(with = "String", example = &"./config.schema.json")]
    #[expect(dead_code, reason = "accepted for the sake of editors")]
    pub schema: Option<String>,
    /// What tick may do for a repo that does not say it itself. Default: monitor-only.
    #[serde(default = "mode")]
    #[schemars(example = &"monitor-only")]
    pub mode: Mode,
    /// What holds for every repo that does not say it itself. Default: nothing.
    #[serde(default)]
    pub defaults: Defaults,
    /// The repos that are looked after, by a name of your own (the slot). Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"web": {"health": [{"url": "https://acme.example/health"}]}}))]
    pub repos: BTreeMap<String, Repo>,
    /// Patterns over what production and CI say.
    #[serde(default)]
    pub detection: Detection,
    /// Globs of files that tick never merges by itself; they extend a built-in list. Default: none.
    #[serde(default, rename = "sensitivePaths")]
    #[schemars(example = ["**/ledger/**"])]
    pub sensitive_paths: Vec<String>,
    /// What always needs a person.
    #[serde(default)]
    pub severity: Severity,
    /// The coding agents, and which of them does what.
    #[serde(default)]
    pub agents: Agents,
    /// Ceilings of every loop.
    #[serde(default)]
    pub limits: Limits,
    /// How a read that failed is tried again.
    #[serde(default)]
    pub retry: Retry,
    /// Who is told, and how.
    #[serde(default)]
    pub notify: Notify,
    /// Addresses of GitHub, for GitHub Enterprise.
    #[serde(default)]
    pub github: GitHub,
    /// Address of Railway's API.
    #[serde(default)]
    pub railway: RailwayApi,
    /// Addresses of Vercel.
    #[serde(default)]
    pub vercel: vercel::Service,
    /// What the HTTP client may reach.
    #[serde(default)]
    pub network: Network,
    /// Where the run-time directories are. Default: beside this file.
    #[serde(default)]
    pub dirs: Dirs,
    /// Directories in which programs of children are looked for, before those of PATH. Default: none.
    #[serde(default)]
    #[schemars(example = ["/opt/homebrew/bin"])]
    pub path: Vec<String>,
    /// Directories that agents and tests may read beside the system's own, their tools and their tree. Default: none.
    #[serde(default)]
    #[schemars(example = ["/srv/toolchain"])]
    pub readable: Vec<String>,
}

/// What holds for every repo that does not say it itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Defaults {
    /// Commands that prepare a fresh checkout for the tests, in order. Default: none.
    #[serde(default)]
    #[schemars(example = ["npm ci"])]
    pub setup: Vec<String>,
    /// Test commands, in order; all must pass. Default: none.
    #[serde(default)]
    #[schemars(example = ["npm test"])]
    pub test: Vec<String>,
}

/// One repository, or something that is only observed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Repo {
    /// Owner and name on GitHub. Without it the slot stays at diagnose. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"acme/web")]
    pub github: Option<String>,
    /// Clone URL, http or https. Default: made from github.web and the repository's name.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://github.com/acme/web.git")]
    pub git_url: Option<String>,
    /// The branch that is deployed. Default: the repository's default branch.
    #[serde(default)]
    #[schemars(with = "String", example = &"main")]
    pub branch: Option<String>,
    /// What tick may do here. Default: the file's mode.
    #[serde(default)]
    #[schemars(with = "Mode", example = &"monitor-only")]
    pub mode: Option<Mode>,
    /// Commands that prepare a fresh checkout, in order. Default: defaults.setup.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["npm ci"])]
    pub setup: Option<Vec<String>>,
    /// Test commands, in order; all must pass. Default: defaults.test.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["npm test"])]
    pub test: Option<Vec<String>>,
    /// Programs that the tests need beside them, in order; they run on a loopback of their own. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"start": ["scripts/test-db 5433"], "ready": "tcp:5433"}]))]
    pub services: Vec<Service>,
    /// Variables of the test commands and services: name to value, no secrets. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"DATABASE_URL": "postgres://localhost:5433/test"}))]
    pub env: BTreeMap<String, String>,
    /// Longest run of all test commands on one tree, in seconds. Default: 1200.
    #[serde(default = "test_timeout_seconds")]
    #[schemars(range(min = 5, max = 14400), example = 1200)]
    pub test_timeout_seconds: u32,
    /// What the test commands write their results to.
    #[serde(default)]
    pub report: Report,
    /// Shortest watch over a release after a merge, in minutes. Default: 30.
    #[serde(default = "observe_minutes")]
    #[schemars(range(min = 0, max = 10080), example = 30)]
    pub observe_minutes: u32,
    /// Pages that must answer. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"url": "https://acme.example/health"}]))]
    pub health: Vec<Health>,
    /// JSON-RPC endpoints that must answer. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"url": "https://rpc.acme.example", "method": "eth_blockNumber"}]))]
    pub jsonrpc: Vec<JsonRpc>,
    /// Log files on this machine to follow. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"path": "/var/log/shop/app.log"}]))]
    pub logs: Vec<LogFile>,
    /// A service on Railway: its deployments, logs and failed requests. Default: none.
    #[serde(default)]
    #[schemars(with = "Railway", example = serde_json::json!({"service": "api", "environment": "production"}))]
    pub railway: Option<Railway>,
    /// Declared collectors to use here, by name (collectors/NAME.json and NAME.jq). Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"alertmanager": {"values": {"url": "https://alerts.acme.example"}}}))]
    pub collectors: BTreeMap<String, Collector>,
    /// Minutes for which a page that goes down while its target is deployed is not told; 0 = told as ever. Default: 10.
    #[serde(default = "deploy_grace_minutes")]
    #[schemars(range(min = 0, max = 120), example = 10)]
    pub deploy_grace_minutes: u32,
    /// The project on Vercel that serves it. Default: none.
    #[serde(default)]
    #[schemars(with = "vercel::Hosted", example = serde_json::json!({"project": "web", "team": "acme"}))]
    pub vercel: Option<vercel::Hosted>,
    /// Programs of your own in collectors/ of the home that look at something, by a name of your own. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"disk": {"program": "check_disk", "args": ["-w", "10%", "-c", "5%"]}}))]
    pub exec: BTreeMap<String, Exec>,
    /// Several things that one repository deploys, by name, instead of sources of the repo itself.
    /// Default: the repo is its own only target.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"web": {"health": [{"url": "https://acme.example/health"}]}}))]
    pub targets: BTreeMap<String, Target>,
    /// How the checks of a head are read.
    #[serde(default)]
    pub ci: Ci,
    /// What may be taken back.
    #[serde(default)]
    pub rollback: Rollback,
}

/// One of several things that a repository deploys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    /// Pages that must answer. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"url": "https://acme.example/health"}]))]
    pub health: Vec<Health>,
    /// JSON-RPC endpoints that must answer. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"url": "https://rpc.acme.example", "method": "eth_blockNumber"}]))]
    pub jsonrpc: Vec<JsonRpc>,
    /// Log files on this machine to follow. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"path": "/var/log/shop/app.log"}]))]
    pub logs: Vec<LogFile>,
    /// A service on Railway: its deployments, logs and failed requests. Default: none.
    #[serde(default)]
    #[schemars(with = "Railway", example = serde_json::json!({"service": "api", "environment": "production"}))]
    pub railway: Option<Railway>,
    /// Declared collectors to use here, by name. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"alertmanager": {"values": {"url": "https://alerts.acme.example"}}}))]
    pub collectors: BTreeMap<String, Collector>,
    /// Minutes for which a page that goes down while its target is deployed is not told; 0 = told as ever. Default: the repo's.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 0, max = 120), example = 10)]
    pub deploy_grace_minutes: Option<u32>,
    /// The project on Vercel that serves it. Default: none.
    #[serde(default)]
    #[schemars(with = "vercel::Hosted", example = serde_json::json!({"project": "web", "team": "acme"}))]
    pub vercel: Option<vercel::Hosted>,
    /// Programs of your own in collectors/ of the home that look at something, by a name of your own. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"disk": {"program": "check_disk", "args": ["-w", "10%", "-c", "5%"]}}))]
    pub exec: BTreeMap<String, Exec>,
}

/// A page that must answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Health {
    /// Address, http or https.
    #[schemars(example = &"https://acme.example/health")]
    pub url: String,
    /// Name in messages. Default: the URL's host and path.
    #[serde(default)]
    #[schemars(with = "String", example = &"checkout")]
    pub name: Option<String>,
    /// Minutes between two looks. Default: every tick.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 1440), example = 60)]
    pub every_minutes: Option<u32>,
    /// Longest wait for the whole answer, in seconds. Default: 10.
    #[serde(default = "probe_timeout_seconds")]
    #[schemars(range(min = 1, max = 120), example = 10)]
    pub timeout_seconds: u32,
    /// Looks in a row that see it down before it is told. Default: 2.
    #[serde(default = "fire_after")]
    #[schemars(range(min = 1, max = 9), example = 2)]
    pub fire_after: u32,
    /// Looks in a row that see it well before it is over. Default: 2.
    #[serde(default = "clear_after")]
    #[schemars(range(min = 1, max = 9), example = 2)]
    pub clear_after: u32,
    /// What a good answer looks like. Default: any status from 200 to 299.
    #[serde(default)]
    pub expect: Expect,
    /// jq program over the JSON answer that gives the commit which serves. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &".release")]
    pub release: Option<String>,
    /// jq program over the JSON answer that gives the number of requests served since the start. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &".requests")]
    pub requests: Option<String>,
    /// Numbers of the JSON answer that fill up, such as a disk or a quota: told three days before they are full. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!([{"name": "disk", "jq": ".disk.used_percent", "full": 100}]))]
    pub levels: Vec<Level>,
    /// Request headers: name to the environment variable that holds the value. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"Authorization": "HEALTH_AUTHORIZATION"}))]
    pub headers: BTreeMap<String, String>,
}

/// A number that fills up.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Level {
    /// Name in messages.
    #[schemars(example = &"disk")]
    pub name: String,
    /// jq program over the JSON answer that gives how full it is, as a number.
    #[schemars(example = &".disk.used_percent")]
    pub jq: String,
    /// The number at which it is full. Default: 100.
    #[serde(default = "full")]
    #[schemars(example = 100)]
    pub full: f64,
}

/// What a good answer of a health probe looks like.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    /// Accepted statuses. Default: 200 to 299.
    #[serde(default)]
    #[schemars(inner(range(min = 100, max = 599)), example = [200])]
    pub status: Vec<u16>,
    /// jq program over the JSON answer that must give true. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &".ok == true")]
    pub jq: Option<String>,
    /// Text that must stand in the answer. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"operational")]
    pub contains: Option<String>,
    /// Slowest good answer, in milliseconds. Default: no limit.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 120_000), example = 2000)]
    pub max_latency_ms: Option<u32>,
}

/// A JSON-RPC endpoint that must answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JsonRpc {
    /// Address, http or https.
    #[schemars(example = &"https://rpc.acme.example")]
    pub url: String,
    /// Method that is called.
    #[schemars(example = &"eth_blockNumber")]
    pub method: String,
    /// Name in messages. Default: the URL's host and the method.
    #[serde(default)]
    #[schemars(with = "String", example = &"rpc")]
    pub name: Option<String>,
    /// Parameters of the call. Default: an empty list.
    #[serde(default = "rpc_params")]
    #[schemars(example = serde_json::json!([]))]
    pub params: Value,
    /// Minutes between two looks. Default: every tick.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 1440), example = 60)]
    pub every_minutes: Option<u32>,
    /// Longest wait for the whole answer, in seconds. Default: 10.
    #[serde(default = "probe_timeout_seconds")]
    #[schemars(range(min = 1, max = 120), example = 10)]
    pub timeout_seconds: u32,
    /// Looks in a row that see it down before it is told. Default: 2.
    #[serde(default = "fire_after")]
    #[schemars(range(min = 1, max = 9), example = 2)]
    pub fire_after: u32,
    /// Looks in a row that see it well before it is over. Default: 2.
    #[serde(default = "clear_after")]
    #[schemars(range(min = 1, max = 9), example = 2)]
    pub clear_after: u32,
    /// jq program over the result that must give true. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"length > 2")]
    pub jq: Option<String>,
    /// Second endpoint whose block number this one may lag behind. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"https://rpc.other.example")]
    pub reference: Option<String>,
    /// Largest lag behind the reference, in blocks. Default: no limit; needs reference.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 0, max = 1_000_000), example = 20)]
    pub max_lag: Option<u32>,
    /// Request headers: name to the environment variable that holds the value. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"Authorization": "RPC_AUTHORIZATION"}))]
    pub headers: BTreeMap<String, String>,
}

/// A log file on this machine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LogFile {
    /// Absolute path. The file is followed when it is rotated or cut.
    #[schemars(example = &"/var/log/shop/app.log")]
    pub path: String,
}

/// Use of a declared collector.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Collector {
    /// Minutes between two looks. Default: every tick.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 1440), example = 60)]
    pub every_minutes: Option<u32>,
    /// Minutes within which it always has something to tell, at least an info: told when it has not. Default: no such rhythm.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 43_200), example = 1440)]
    pub expect_every_minutes: Option<u32>,
    /// Values of the placeholders that its request file names. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"url": "https://alerts.acme.example"}))]
    pub values: BTreeMap<String, String>,
    /// Secret placeholders: name to the environment variable that holds the value. Default: none.
    #[serde(default)]
    #[schemars(example = serde_json::json!({"token": "ALERTMANAGER_TOKEN"}))]
    pub secrets: BTreeMap<String, String>,
}

/// How the checks of a head are read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ci {
    /// Required checks that may end as skipped. Default: none.
    #[serde(default, rename = "maySkip")]
    #[schemars(example = ["deploy preview"])]
    pub may_skip: Vec<String>,
}

/// Results of runners that tick does not read itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    /// Glob, below the checkout, of the JUnit reports that the test commands write. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"build/test-results/**/*.xml")]
    pub junit: Option<String>,
}

/// What may be taken back.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// Take back a merge of our own that made things worse (active only). Default: true.
    #[serde(default = "rollback_own")]
    #[schemars(example = true)]
    pub own: bool,
    /// A release of others that made things worse: off, or ask (one message). Default: ask.
    #[serde(default = "rollback_others")]
    #[schemars(example = &"ask")]
    pub others: Others,
}

impl Default for Rollback {
    fn default() -> Self {
        Self {
            own: rollback_own(),
            others: rollback_others(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Others {
    Off,
    Ask,
}

/// Patterns over what production and CI say.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Detection {
    /// Regular expression: log lines that count as JSON-RPC errors. Default: none.
    #[serde(default, rename = "rpcErrRe")]
    #[schemars(example = &"execution reverted|header not found")]
    pub rpc_err: String,
    /// Regular expression: names of CI checks that never block a merge. Default: none.
    #[serde(default, rename = "ciNonblockingRe")]
    #[schemars(example = &"^codecov/")]
    pub ci_nonblocking: String,
}

/// What always needs a person.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Severity {
    /// Globs of files whose change a person decides; they extend a built-in list. Default: none.
    #[serde(default, rename = "needsHumanPaths")]
    #[schemars(example = ["migrations/**"])]
    pub needs_human_paths: Vec<String>,
}

/// The coding agents, and which of them does what.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Agents {
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
pub(super) struct Agent {
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
pub(super) struct Limits {
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
    /// Requests under way at once in a collection. Default: 128.
    #[serde(default = "concurrency")]
    #[schemars(range(min = 1, max = 1000), example = 128)]
    pub concurrency: u32,
}

/// How a read that failed is tried again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Retry {
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

/// Who is told, and how.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Notify {
    /// Send mail through the server that SMTP_URL names. Default: false.
    #[serde(default)]
    #[schemars(example = true)]
    pub email: bool,
    /// Write each message as a file into this directory instead. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"mail")]
    pub file: Option<String>,
    /// Sender. Default: NOTIFY_EMAIL_FROM.
    #[serde(default)]
    #[schemars(with = "String", example = &"tick <tick@acme.example>")]
    pub from: Option<String>,
    /// Recipients. Default: NOTIFY_EMAIL_TO, separated by commas.
    #[serde(default)]
    #[schemars(example = ["owner@acme.example"])]
    pub to: Vec<String>,
    /// Word before the repo in each subject. Default: none.
    #[serde(default)]
    #[schemars(example = &"acme")]
    pub name: String,
}

/// Addresses of GitHub.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitHub {
    /// Base of the API. Default: https://api.github.com.
    #[serde(default = "github_api")]
    #[schemars(example = &"https://github.acme.example/api/v3")]
    pub api: String,
    /// Base of the web pages and clone URLs. Default: https://github.com.
    #[serde(default = "github_web")]
    #[schemars(example = &"https://github.acme.example")]
    pub web: String,
}

/// What the HTTP client may reach.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    /// Hosts that a redirect may lead to although they are on this machine or a private network. Default: none.
    #[serde(default)]
    #[schemars(example = ["status.internal.example"])]
    pub allow_private_hosts: Vec<String>,
}

/// Where the run-time directories are.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Dirs {
    /// Ledger, clones, worktrees, locks. Default: state beside this file.
    #[serde(default)]
    #[schemars(with = "String", example = &"/var/lib/tick/state")]
    pub state: Option<String>,
    /// Snapshots. Default: signals beside this file.
    #[serde(default)]
    #[schemars(with = "String", example = &"/var/lib/tick/signals")]
    pub signals: Option<String>,
    /// Run logs and transcripts. Default: logs beside this file.
    #[serde(default)]
    #[schemars(with = "String", example = &"/var/log/tick")]
    pub logs: Option<String>,
}

macro_rules! defaults {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$doc])* pub(super) fn $name() -> $type { $value })*
    };
}

defaults! {
    /// As in the shell original: drafts only, until the owner says more.
    mode: Mode = Mode::MonitorOnly;
    test_timeout_seconds: u32 = 1200;
    observe_minutes: u32 = 30;
    probe_timeout_seconds: u32 = 10;
    full: f64 = 100.0;
    fire_after: u32 = 2;
    clear_after: u32 = 2;
    deploy_grace_minutes: u32 = 10;
    exec_output: ExecOutput = ExecOutput::Nagios;
    exec_timeout_seconds: u32 = 30;
    service_seconds: u32 = 60;
    rpc_params: Value = Value::Array(Vec::new());
    rollback_own: bool = true;
    rollback_others: Others = Others::Ask;
    agent_turns: u32 = 40;
    agent_minutes: u32 = 20;
    agent_billing: Billing = Billing::Metered;
    usd_per_incident: f64 = 2.0;
    usd_per_day: f64 = 5.0;
    usd_per_month: f64 = 50.0;
    agent_runs_per_day: u32 = 12;
    new_incidents_per_hour: u32 = 20;
    new_incidents_per_day: u32 = 50;
    diff_lines: u32 = 400;
    diff_lines_merge: u32 = 120;
    open_pulls_per_repo: u32 = 2;
    retries_per_run: u32 = 10;
    attempt_minutes: u32 = 30;
    collect_seconds: u32 = 60;
    gate_ms: u32 = 1000;
    concurrency: u32 = 512;
    retry_attempts: u32 = 5;
    retry_multiplier: f64 = 2.0;
    retry_seconds: f64 = 10.0;
    retry_random_factor: f64 = 0.5;
    github_api: String = "https://api.github.com".to_owned();
    github_web: String = "https://github.com".to_owned();
}

/// An empty object has the value of every default above.
macro_rules! from_defaults {
    ($($name:ident { $($field:ident: $default:ident),* $(,)? })*) => {
        $(impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default()),* }
            }
        })*
    };
}

from_defaults! {
    Limits {
        usd_per_incident: usd_per_incident, usd_per_day: usd_per_day, usd_per_month: usd_per_month,
        agent_runs_per_day: agent_runs_per_day, new_incidents_per_hour: new_incidents_per_hour,
        new_incidents_per_day: new_incidents_per_day, diff_lines: diff_lines, diff_lines_merge: diff_lines_merge,
        open_pulls_per_repo: open_pulls_per_repo, retries_per_run: retries_per_run, attempt_minutes: attempt_minutes,
        collect_seconds: collect_seconds, gate_ms: gate_ms, concurrency: concurrency,
    }
    Retry {
        attempts: retry_attempts, multiplier: retry_multiplier, seconds: retry_seconds,
        random_factor: retry_random_factor,
    }
    GitHub { api: github_api, web: github_web }
}
