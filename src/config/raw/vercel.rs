//! What the config file says about Vercel.

use schemars::JsonSchema;
use serde::Deserialize;

/// A project on Vercel; VERCEL_TOKEN opens it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Hosted {
    /// Id or name of the project.
    #[schemars(example = &"web")]
    pub project: String,
    /// Id (team_…) or slug of the team that owns it. Default: the token's own account.
    #[serde(default)]
    #[schemars(with = "String", example = &"acme")]
    pub team: Option<String>,
    /// Read what production logs. Default: true.
    #[serde(default = "yes")]
    #[schemars(example = true)]
    pub logs: bool,
    /// How long the plan keeps logs, in hours: 1 for Hobby, 24 for Pro, 72 for Enterprise. Default: 1.
    #[serde(default = "log_hours")]
    #[schemars(range(min = 1, max = 720), example = 24)]
    pub log_hours: u32,
    /// Vercel's own program, asked for logs when the API does not give them. Default: none.
    #[serde(default)]
    #[schemars(with = "String", example = &"vercel")]
    pub cli: Option<String>,
    /// Read the names of the project's variables and when they were changed, never their values. Default: true.
    #[serde(default = "yes")]
    #[schemars(example = true)]
    pub variables: bool,
    /// Read when the domains of the project end. Default: true.
    #[serde(default = "yes")]
    #[schemars(example = true)]
    pub domains: bool,
}

/// Addresses of Vercel.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Service {
    /// Base of the API. Default: https://api.vercel.com.
    #[serde(default = "api")]
    #[schemars(example = &"https://api.vercel.com")]
    pub api: String,
    /// Base of the web pages, below which the history of logs is. Default: https://vercel.com.
    #[serde(default = "web")]
    #[schemars(example = &"https://vercel.com")]
    pub web: String,
}

impl Default for Service {
    fn default() -> Self {
        Self { api: api(), web: web() }
    }
}

const fn yes() -> bool {
    true
}

const fn log_hours() -> u32 {
    1
}

fn api() -> String {
    "https://api.vercel.com".to_owned()
}

fn web() -> String {
    "https://vercel.com".to_owned()
}
