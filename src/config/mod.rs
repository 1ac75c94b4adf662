//! The validated configuration: domain types only, no raw strings of the file. `load.rs` reads the config file and
//! `.env`, `env.rs` the environment; nothing else does.

mod command;
pub mod env;
pub mod home;
pub mod load;
mod parse;
pub mod problem;
mod raw;
pub mod schema;
pub mod trust;
mod validate;

pub use trust::read_plain;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    model::{RepoName, Slot},
    text::{Redactor, logs::Patterns},
};

/// Directories and files that tick owns; see `docs/ARCHITECTURE.md`, State.
#[derive(Debug, Clone)]
pub struct Home {
    pub root: PathBuf,
    pub config_file: PathBuf,
    pub state: PathBuf,
    pub signals: PathBuf,
    pub logs: PathBuf,
    /// Overrides of what is shipped in the binary.
    pub collectors: PathBuf,
    pub prompts: PathBuf,
}

pub use crate::model::Mode;

#[derive(Debug, Clone)]
pub struct Config {
    pub home: Home,
    pub repos: BTreeMap<Slot, Repo>,
    pub detection: Detection,
    /// What the log engine looks for (`patterns.json` and `detection.rpcErrRe`).
    pub patterns: Patterns,
    /// Globs that extend the built-in sensitive list (`sensitivePaths` and `severity.needsHumanPaths`).
    pub sensitive: Vec<String>,
    pub agents: Agents,
    pub limits: Limits,
    pub retry: Retry,
    pub notify: Notify,
    pub github: GitHubService,
    /// Address of Railway's API.
    pub railway_api: Url,
    pub vercel: VercelService,
    pub secrets: Secrets,
    /// Where IANA's list of the registries of domains is.
    pub registries: Url,
    /// Hosts that a redirect or a probe may reach although they resolve to loopback or private addresses.
    pub allow_private_hosts: Vec<String>,
    /// Variables that tool chains need to find themselves under another HOME, such as `RUSTUP_HOME`; no secrets.
    pub toolchain_env: Vec<(String, String)>,
    /// SHA-256 of the config file and of every file that can change what runs, by path.
    pub digests: BTreeMap<String, String>,
    /// Directories in which programs of children are looked for, in order.
    pub path: Vec<PathBuf>,
    /// Directories that children may read beside what they could read anyway.
    pub readable: Vec<PathBuf>,
    /// What is accepted although it will hardly be meant, one sentence each.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a leave of the owner's, independently"
)]
pub struct Repo {
    pub slot: Slot,
    pub mode: Mode,
    /// Without it the slot stays at `diagnose`.
    pub github: Option<RepoName>,
    /// Clone URL; derived from the GitHub base when the file does not set it.
    pub git_url: Option<String>,
    /// Default branch; none = as the host says.
    pub branch: Option<String>,
    pub setup: Vec<CommandLine>,
    /// Hosts that `setup` may reach.
    pub setup_hosts: BTreeSet<String>,
    pub setup_timeout: Duration,
    pub test: Vec<CommandLine>,
    /// What the tests need beside them.
    pub services: Vec<Service>,
    /// Variables of the test commands and services; no secrets.
    pub test_env: Vec<(String, String)>,
    /// At least one; a repo without `targets` is its own only target.
    pub targets: Vec<Target>,
    pub may_skip: Vec<String>,
    /// Failed jobs of the default branch may be run once more.
    pub ci_rerun: bool,
    /// CI computes the proof: the tests cannot run here.
    pub proof_by_ci: bool,
    pub rollback_own: bool,
    /// Tell the owner about a release of others that made things worse.
    pub rollback_ask: bool,
    pub test_timeout: Duration,
    /// Glob of the JUnit reports that other runners than the known ones write.
    pub junit: Option<String>,
    /// Shortest observation after a merge.
    pub observe_min: Duration,
}

/// A program that the tests need on their loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// All but the last run to their end first; the last one stays.
    pub start: Vec<CommandLine>,
    pub ready: ServiceReady,
    pub within: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceReady {
    /// This port of the loopback takes connections.
    Port(u16),
    /// It ends with 0.
    Command(CommandLine),
}

#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub health: Vec<HealthProbe>,
    pub jsonrpc: Vec<JsonRpcProbe>,
    /// Log files on this machine that are followed.
    pub logs: Vec<PathBuf>,
    pub railway: Option<RailwayUse>,
    pub declared: Vec<DeclaredUse>,
    pub vercel: Option<VercelProject>,
    pub exec: Vec<ExecCheck>,
    /// Registered names whose end is watched.
    pub domains: Vec<String>,
    /// For how long a page that goes down while this is deployed is not told.
    pub deploy_grace: Duration,
}

/// How often a probe is seen before it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Bad looks in a row before it is told.
    pub fire_after: u32,
    /// Good looks in a row before it is over.
    pub clear_after: u32,
}

#[derive(Debug, Clone)]
pub struct HealthProbe {
    pub name: String,
    pub url: Url,
    pub every: Option<Duration>,
    pub patience: Patience,
    pub timeout: Duration,
    /// Accepted statuses; default 200..=299.
    pub status: Vec<u16>,
    /// A jq program over the JSON body that must give `true`.
    pub jq: Option<String>,
    pub contains: Option<String>,
    /// A jq program over the JSON body that gives the SHA of the release that serves.
    pub release: Option<String>,
    /// A jq program that gives the number of requests served since the process started.
    pub requests: Option<String>,
    pub max_latency: Option<Duration>,
    /// Numbers that fill up.
    pub levels: Vec<Level>,
    /// Header names and the environment variables that hold their values, resolved.
    pub headers: Vec<(String, SecretString)>,
}

/// A number of a probe's answer that fills up.
#[derive(Debug, Clone)]
pub struct Level {
    pub name: String,
    /// A jq program over the JSON body that gives a number.
    pub jq: String,
    pub full: f64,
}

#[derive(Debug, Clone)]
pub struct JsonRpcProbe {
    pub name: String,
    pub url: Url,
    pub every: Option<Duration>,
    pub patience: Patience,
    pub timeout: Duration,
    pub method: String,
    pub params: serde_json::Value,
    /// A jq program over `result` that must give `true`.
    pub jq: Option<String>,
    /// A second endpoint whose block number this one may lag behind by at most `max_lag`.
    pub reference: Option<Url>,
    pub max_lag: Option<u64>,
    pub headers: Vec<(String, SecretString)>,
}

impl Patience {
    pub const USUAL: u32 = 2;
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            fire_after: Self::USUAL,
            clear_after: Self::USUAL,
        }
    }
}

/// Use of a declared collector (`collectors/NAME.json` + `NAME.jq`) by a target.
#[derive(Debug, Clone)]
pub struct DeclaredUse {
    pub collector: String,
    pub every: Option<Duration>,
    /// Within which it always has something to tell.
    pub expect_every: Option<Duration>,
    /// Values of the placeholders that the request file names.
    pub values: BTreeMap<String, String>,
    /// Values of its secret placeholders, resolved from the environment.
    pub secrets: BTreeMap<String, SecretString>,
}

/// A service on Railway that a target is.
#[derive(Debug, Clone)]
pub struct RailwayUse {
    /// Its name or id.
    pub service: String,
    /// Id; none = that of the project token.
    pub project: Option<String>,
    /// Name or id; none = that of the project token, else `production`.
    pub environment: Option<String>,
    /// None only where the config may be used without what the environment lacks.
    pub token: Option<RailwayToken>,
    /// Railway's own filter over the log lines that are read.
    pub filter: Option<String>,
    /// Lines on stderr, which Railway marks as errors, count as such.
    pub stderr_is_error: bool,
}

/// Railway has two kinds of tokens, which go out in different headers.
#[derive(Debug, Clone)]
pub enum RailwayToken {
    /// Of one environment of one project.
    Project { variable: String, value: SecretString },
    /// Of an account or a workspace.
    Account { variable: String, value: SecretString },
}

impl RailwayToken {
    /// Name of the variable that holds it.
    pub fn variable(&self) -> &str {
        match self {
            Self::Project { variable, .. } | Self::Account { variable, .. } => variable,
        }
    }
}

/// Where Railway's API is, if the config does not say it.
const RAILWAY_API: &str = "https://backboard.railway.com/graphql/v2";
/// IANA publishes here which registry answers for which suffix (RFC 9224).
pub const REGISTRIES: &str = "https://data.iana.org/rdap/dns.json";

/// A project on Vercel; `VERCEL_TOKEN` opens it.
#[derive(Debug, Clone)]
pub struct VercelProject {
    /// Id or name.
    pub project: String,
    /// Id or slug.
    pub team: Option<String>,
    pub logs: bool,
    /// How long the plan keeps logs.
    pub log_retention: Duration,
    /// Vercel's own program, for logs that the API does not give.
    pub cli: Option<PathBuf>,
    /// Names and times of variables are read.
    pub variables: bool,
    pub domains: bool,
}

/// A program of the home's `collectors` that looks at something.
#[derive(Debug, Clone)]
pub struct ExecCheck {
    /// As the owner calls it.
    pub name: String,
    /// Absolute path.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub output: ExecOutput,
    pub every: Option<Duration>,
    pub timeout: Duration,
    /// Its environment beside what every child gets, resolved.
    pub env: Vec<(String, SecretString)>,
    /// What it may read beside the system's own and `collectors`.
    pub read: Vec<PathBuf>,
}

/// What a program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecOutput {
    /// The plugin convention: exit 0, 1, 2 or 3 and a line of text.
    Nagios,
    /// JSON: a list of signals, or an object that holds one.
    Signals,
}

/// One command: program and arguments, split like POSIX words without any expansion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// As written in the config.
    pub text: String,
    pub argv: Vec<String>,
}

impl CommandLine {
    /// As a person wrote it; the error goes on after the text itself.
    pub fn of_person(text: &str) -> Result<Self, String> {
        command::parse_command(text).map_err(|bad| bad.what)
    }
}

#[derive(Debug, Clone)]
pub struct Detection {
    /// Checks that never block (`ciNonblockingRe`); refused when it matches the empty string.
    pub ci_nonblocking: Option<regex::Regex>,
}

#[derive(Debug, Clone)]
pub struct Agents {
    pub defined: BTreeMap<String, Agent>,
    /// Names in the order in which they are tried.
    pub triage: Vec<String>,
    pub fix: Vec<String>,
    pub audit: Vec<String>,
    /// The owner spelled out that agents and tests may run although no sandbox holds them.
    pub unsandboxed: bool,
}

#[derive(Debug, Clone)]
pub struct Agent {
    pub name: String,
    pub kind: AgentKind,
    /// Absolute path of the program.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub model: Option<String>,
    pub turns: u32,
    pub wall: Duration,
    pub usd_per_run: Option<f64>,
    pub billing: Billing,
    /// Environment of the child beside the fixed allow-list: the model key and its base URL.
    pub env: BTreeMap<String, SecretString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    Claude,
    Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Billing {
    Metered,
    Plan,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    pub usd_per_incident: f64,
    pub usd_per_day: f64,
    pub usd_per_month: f64,
    pub agent_runs_per_day: u32,
    pub new_incidents_per_hour: u32,
    pub new_incidents_per_day: u32,
    pub diff_lines: u32,
    pub diff_lines_merge: u32,
    pub open_pulls_per_repo: u32,
    pub retries_per_run: u32,
    pub attempt_wall: Duration,
    /// Whole of one collection; a collector that is not done by then has failed.
    pub collect_deadline: Duration,
    pub gate_deadline: Duration,
    /// Concurrent requests of one collection.
    pub concurrency: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    pub attempts: u32,
    pub multiplier: f64,
    pub first: Duration,
    pub random_factor: f64,
}

#[derive(Debug, Clone)]
pub struct Notify {
    pub mail: MailBackend,
    pub from: String,
    pub to: Vec<String>,
    /// Put before each subject, such as `acme`.
    pub name: String,
}

#[derive(Debug, Clone)]
pub enum MailBackend {
    /// No mail is configured: messages stand in `tick status` and the run log only.
    Off,
    /// `SMTP_URL`.
    Smtp(SecretString),
    /// One file a message, for tests and for people without a mail server.
    File(PathBuf),
}

#[derive(Debug, Clone)]
pub struct GitHubService {
    pub api: Url,
    /// `https://github.com`; clone URLs start with it.
    pub web: Url,
}

#[derive(Debug, Clone)]
pub struct VercelService {
    pub api: Url,
    /// `https://vercel.com`; the history of logs is below it.
    pub web: Url,
}

/// Secrets from the environment or `.env`, by the name of their variable.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    pub values: BTreeMap<String, SecretString>,
}

impl Secrets {
    pub fn get(&self, name: &str) -> Option<&SecretString> {
        self.values.get(name)
    }

    pub fn github(&self) -> Option<&SecretString> {
        self.get("GITHUB_TOKEN")
    }

    /// Address of the switch that is told of each tick which went through.
    pub fn heartbeat(&self) -> Option<&SecretString> {
        self.get("HEARTBEAT_URL")
    }
}

impl Mode {
    /// As the config writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Diagnose => "diagnose",
            Self::MonitorOnly => "monitor-only",
            Self::Active => "active",
        }
    }
}

impl Config {
    /// Knows every secret that this process holds.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.values.values())
    }

    pub fn repo(&self, slot: &Slot) -> Option<&Repo> {
        self.repos.get(slot)
    }
}
