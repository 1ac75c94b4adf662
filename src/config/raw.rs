//! The config file as it is written: serde structs, from which the JSON Schema is made as well. Nothing here is
//! checked beyond types and ranges; `validate.rs` turns it into the domain types of `mod.rs`.
//!
//! Every field says its meaning, unit and default; a default that is not "nothing" is a named function below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Billing, ExecOutput, Mode};

mod environment;
mod exec;
mod limits;
mod network;
mod probes;
mod railway;

pub(super) use environment::Service;
pub(super) use exec::Exec;
pub(super) use limits::{Agent, Agents, Limits, Retry};
pub(super) use network::Network;
pub(super) use probes::{Collector, Health, JsonRpc, LogFile};
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
    /// What the HTTP client reaches, and may reach.
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
    /// Hosts that setup may reach beside the usual registries of packages: name, or name:port. Default: none.
    #[serde(default)]
    #[schemars(example = ["packages.acme.example"])]
    pub setup_hosts: Vec<String>,
    /// Longest run of all setup commands, in seconds. Default: 900.
    #[serde(default = "setup_timeout_seconds")]
    #[schemars(range(min = 5, max = 14400), example = 900)]
    pub setup_timeout_seconds: u32,
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
    /// Where a fix is proven: local, or ci for tests that cannot run here. Default: local.
    #[serde(default = "proof_place")]
    #[schemars(example = &"ci")]
    pub proof: ProofPlace,
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
    /// Registered names whose end is watched; their registries are asked once a day (RDAP). Default: none.
    #[serde(default)]
    #[schemars(example = ["acme.example"])]
    pub domains: Vec<String>,
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
    /// Registered names whose end is watched; their registries are asked once a day (RDAP). Default: none.
    #[serde(default)]
    #[schemars(example = ["acme.example"])]
    pub domains: Vec<String>,
}

/// How the checks of a head are read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ci {
    /// Required checks that may end as skipped. Default: none.
    #[serde(default, rename = "maySkip")]
    #[schemars(example = ["deploy preview"])]
    pub may_skip: Vec<String>,
    /// Run the failed jobs of a red run of the default branch once more where it looks like a flake (monitor-only and up). Default: true.
    #[serde(default = "ci_rerun")]
    #[schemars(example = false)]
    pub rerun: bool,
}

impl Default for Ci {
    fn default() -> Self {
        Self {
            may_skip: Vec::new(),
            rerun: ci_rerun(),
        }
    }
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

/// Where a fix is proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProofPlace {
    #[default]
    Local,
    Ci,
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
    setup_timeout_seconds: u32 = 900;
    rpc_params: Value = Value::Array(Vec::new());
    proof_place: ProofPlace = ProofPlace::Local;
    ci_rerun: bool = true;
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
