//! What stands around the tests of a repository: services, and variables.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{Checks, exec::OURS};
use crate::config::{
    Service, ServiceReady,
    command::parse_command,
    env::is_name,
    problem::{JsonPath, quote_str},
    raw,
};

/// Where packages of the common languages come from.
const PACKAGE_HOSTS: [&str; 21] = [
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "repo.yarnpkg.com",
    "pypi.org",
    "files.pythonhosted.org",
    "index.crates.io",
    "static.crates.io",
    "crates.io",
    "proxy.golang.org",
    "sum.golang.org",
    "rubygems.org",
    "index.rubygems.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "repo.packagist.org",
    "packagist.org",
    "api.nuget.org",
    "hex.pm",
    "repo.hex.pm",
];

impl Checks<'_> {
    pub(super) fn setup_hosts(&mut self, raw: &[String], at: &JsonPath) -> BTreeSet<String> {
        let mut hosts: BTreeSet<String> = PACKAGE_HOSTS.map(str::to_owned).into();
        for (n, text) in raw.iter().enumerate() {
            let (name, port) = text
                .rsplit_once(':')
                .map_or((text.as_str(), None), |(name, port)| (name, Some(port)));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
            let is_host = !name.is_empty() && name.chars().all(plain);
            if !is_host || port.is_some_and(|port| port.parse::<u16>().is_err()) {
                let what = format!("{} is not a host", quote_str(text));
                self.problem(at.index(n), what, "\"packages.acme.example\"");
            }
            hosts.insert(text.to_ascii_lowercase());
        }
        hosts
    }

    pub(super) fn services(&mut self, raw: &[raw::Service], at: &JsonPath) -> Vec<Service> {
        let mut services = Vec::new();
        for (n, service) in raw.iter().enumerate() {
            let here = at.index(n);
            if service.start.is_empty() {
                self.problem(here.key("start"), "has no command", "[\"scripts/test-db 5433\"]");
            }
            let start = self.commands(&service.start, &here.key("start"));
            if let Some(ready) = self.ready(&service.ready, here.key("ready")) {
                services.push(Service {
                    start,
                    ready,
                    within: Duration::from_secs(service.ready_seconds.into()),
                });
            }
        }
        services
    }

    fn ready(&mut self, text: &str, at: JsonPath) -> Option<ServiceReady> {
        let example = "\"tcp:5433\"";
        if let Some(port) = text.strip_prefix("tcp:") {
            let port = port.parse().ok().filter(|port| *port != 0);
            if port.is_none() {
                let what = format!("{} names no port of the loopback", quote_str(text));
                self.problem(at, what, example);
            }
            return port.map(ServiceReady::Port);
        }
        match parse_command(text) {
            Ok(command) => Some(ServiceReady::Command(command)),
            Err(bad) => {
                self.problem(at, format!("{} {}", quote_str(text), bad.what), example);
                None
            }
        }
    }

    /// The values are no secrets: code of the repository reads them.
    pub(super) fn test_env(&mut self, raw: &BTreeMap<String, String>, at: &JsonPath) -> Vec<(String, String)> {
        for (name, value) in raw {
            // A second run without it has to find the same.
            let what = if name == "CI" {
                "is set in one run of the tests and not in another, to see that both are the same"
            } else if !is_name(name) || OURS.contains(&name.as_str()) {
                "is not a variable that the tests can be given"
            } else if value.contains('\0') {
                "has a NUL character in its value"
            } else {
                continue;
            };
            self.problem(at.key(name), format!("{} {what}", quote_str(name)), "DATABASE_URL");
        }
        raw.clone().into_iter().collect()
    }
}
