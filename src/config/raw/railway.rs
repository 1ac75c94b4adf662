//! Railway, as the config file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

/// A service on Railway.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Railway {
    /// Name or id of the service.
    #[schemars(example = &"api")]
    pub service: String,
    /// Id of the project. Default: that of the project token; the token of an account needs it.
    #[serde(default)]
    #[schemars(with = "String", example = &"5b1d8c8e-0000-4000-8000-000000000000")]
    pub project: Option<String>,
    /// Name or id of the environment. Default: that of the project token, else production.
    #[serde(default)]
    #[schemars(with = "String", example = &"production")]
    pub environment: Option<String>,
    /// Environment variable that holds a project token. Default: RAILWAY_TOKEN (a project's), else RAILWAY_API_TOKEN (an account's or workspace's).
    #[serde(default)]
    #[schemars(with = "String", example = &"RAILWAY_TOKEN_STAGING")]
    pub token: Option<String>,
    /// Railway's own filter over the log lines that are read. Default: every line.
    #[serde(default)]
    #[schemars(with = "String", example = &"@level:error OR panic")]
    pub filter: Option<String>,
    /// Count every line on stderr as an error, as Railway marks it; false: only what a pattern names. Default: true.
    #[serde(default = "stderr_is_error")]
    #[schemars(example = true)]
    pub stderr_is_error: bool,
}

/// Where Railway's API is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct RailwayApi {
    /// Address of the GraphQL API. Default: https://backboard.railway.com/graphql/v2.
    #[serde(default = "railway_api")]
    #[schemars(example = &"https://backboard.railway.com/graphql/v2")]
    pub api: String,
}

impl Default for RailwayApi {
    fn default() -> Self {
        Self { api: railway_api() }
    }
}

fn stderr_is_error() -> bool {
    true
}

fn railway_api() -> String {
    super::super::RAILWAY_API.to_owned()
}
