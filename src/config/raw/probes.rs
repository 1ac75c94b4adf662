//! What is asked of pages, endpoints, log files and declared collectors, as the file writes it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{clear_after, fire_after, full, probe_timeout_seconds, rpc_params};

/// A page that must answer.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Health {
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
pub(in crate::config) struct Level {
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
pub(in crate::config) struct Expect {
    /// Accepted statuses. Default: 200 to 299.
    #[serde(default)]
    #[schemars(inner(range(min = 100, max = 599)), example = [200])]
    pub status: Option<Vec<u16>>,
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
pub(in crate::config) struct JsonRpc {
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
pub(in crate::config) struct LogFile {
    /// Absolute path. The file is followed when it is rotated or cut.
    #[schemars(example = &"/var/log/shop/app.log")]
    pub path: String,
}

/// Use of a declared collector.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Collector {
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
