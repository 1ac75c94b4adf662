//! What the config file says about addresses that belong to no vendor.

use schemars::JsonSchema;
use serde::Deserialize;

/// What the HTTP client reaches, and may reach.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Network {
    /// Hosts that a redirect may lead to although they are on this machine or a private network. Default: none.
    #[serde(default)]
    #[schemars(example = ["status.internal.example"])]
    pub allow_private_hosts: Vec<String>,
    /// List of the registries of domains (RDAP). Default: https://data.iana.org/rdap/dns.json.
    #[serde(default = "registries")]
    #[schemars(example = &"https://mirror.acme.example/rdap/dns.json")]
    pub registries: String,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            allow_private_hosts: Vec::new(),
            registries: registries(),
        }
    }
}

fn registries() -> String {
    super::super::REGISTRIES.to_owned()
}
