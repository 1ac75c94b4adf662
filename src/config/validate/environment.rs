//! What stands around the tests of a repository: services, and variables.

use std::{collections::BTreeMap, time::Duration};

use super::{Checks, exec::OURS};
use crate::config::{
    Service, ServiceReady,
    command::parse_command,
    env::is_name,
    problem::{JsonPath, quote_str},
    raw,
};

impl Checks<'_> {
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
