//! Targets of a repo: health probes, JSON-RPC probes, uses of declared collectors.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;
use url::Url;

use super::{Checks, minutes};
use crate::{
    config::{
        DeclaredUse, HealthProbe, JsonRpcProbe, Level, Patience, Target,
        problem::{JsonPath, quote_str},
        raw,
    },
    model::Slot,
};

/// A placeholder of a shipped collector for which a variable stands, where the config gives nothing.
struct Kept {
    collector: &'static str,
    placeholder: &'static str,
    kind: Kind,
    variable: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Secret,
    Value { needed: bool },
}

const KEPT: [Kept; 3] = [
    Kept {
        collector: "sentry",
        placeholder: "token",
        kind: Kind::Secret,
        variable: "SENTRY_AUTH_TOKEN",
    },
    Kept {
        collector: "sentry",
        placeholder: "org",
        kind: Kind::Value { needed: true },
        variable: "SENTRY_ORG",
    },
    Kept {
        collector: "sentry",
        placeholder: "project",
        kind: Kind::Value { needed: false },
        variable: "SENTRY_PROJECT_<SLOT>",
    },
];

impl Checks<'_> {
    pub(super) fn targets(&mut self, slot: &Slot, raw: &raw::Repo, at: &JsonPath) -> Vec<Target> {
        let none = raw.health.is_empty() && raw.jsonrpc.is_empty() && raw.logs.is_empty() && raw.railway.is_none();
        let none = none && raw.collectors.is_empty() && raw.exec.is_empty() && raw.vercel.is_none();
        let own = !(none && raw.domains.is_empty());
        if raw.targets.is_empty() {
            let whole = raw::Target {
                health: raw.health.clone(),
                jsonrpc: raw.jsonrpc.clone(),
                logs: raw.logs.clone(),
                railway: raw.railway.clone(),
                collectors: raw.collectors.clone(),
                deploy_grace_minutes: None,
                vercel: raw.vercel.clone(),
                exec: raw.exec.clone(),
                domains: raw.domains.clone(),
            };
            return vec![self.target(slot, slot.as_str(), &whole, raw.deploy_grace_minutes, at)];
        }
        let at_targets = at.key("targets");
        if own {
            let what = "stands beside sources (health, logs, …) of the repo itself";
            self.problem(at_targets.clone(), what, "move those into one of the targets");
        }
        let mut targets = Vec::new();
        for (name, target) in &raw.targets {
            let here = at_targets.key(name);
            if Slot::parse(name).is_err() {
                let what = format!(
                    "{} is not a target's name (lower-case letters, digits, - and _)",
                    quote_str(name)
                );
                self.problem(here.clone(), what, "web");
            }
            targets.push(self.target(slot, name, target, raw.deploy_grace_minutes, &here));
        }
        targets
    }

    fn target(&mut self, slot: &Slot, name: &str, raw: &raw::Target, grace: u32, at: &JsonPath) -> Target {
        let at_health = at.key("health");
        let at_rpc = at.key("jsonrpc");
        let health: Vec<HealthProbe> = raw
            .health
            .iter()
            .enumerate()
            .filter_map(|(n, probe)| self.health(probe, &at_health.index(n)))
            .collect();
        let jsonrpc: Vec<JsonRpcProbe> = raw
            .jsonrpc
            .iter()
            .enumerate()
            .filter_map(|(n, probe)| self.jsonrpc(probe, &at_rpc.index(n)))
            .collect();
        self.unique(health.iter().map(|p| p.name.as_str()), &at_health);
        self.unique(jsonrpc.iter().map(|p| p.name.as_str()), &at_rpc);
        Target {
            name: name.to_owned(),
            health,
            jsonrpc,
            logs: self.logs(&raw.logs, &at.key("logs")),
            railway: raw.railway.as_ref().map(|raw| self.railway(raw, &at.key("railway"))),
            declared: self.declared(slot, raw, &at.key("collectors")),
            deploy_grace: minutes(raw.deploy_grace_minutes.unwrap_or(grace)),
            vercel: raw.vercel.as_ref().map(|raw| self.vercel(raw, &at.key("vercel"))),
            exec: self.exec(&raw.exec, &at.key("exec")),
            domains: self.domains(&raw.domains, &at.key("domains")),
        }
    }

    fn logs(&mut self, raw: &[raw::LogFile], at: &JsonPath) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        for (n, file) in raw.iter().enumerate() {
            let path = PathBuf::from(&file.path);
            let here = at.index(n).key("path");
            if !path.is_absolute() {
                let what = format!("{} is not an absolute path", quote_str(&file.path));
                self.problem(here, what, "\"/var/log/shop/app.log\"");
            } else if files.contains(&path) {
                let what = format!("{} stands twice", quote_str(&file.path));
                self.problem(here, what, "each file once");
            }
            files.push(path);
        }
        files
    }

    /// Two probes of one name would share one history.
    fn unique<'a>(&mut self, names: impl Iterator<Item = &'a str>, at: &JsonPath) {
        let mut seen = std::collections::BTreeSet::new();
        for (n, name) in names.enumerate() {
            if !seen.insert(name) {
                let what = format!("is the second probe that is called {}", quote_str(name));
                self.problem(at.index(n).key("name"), what, "a name of its own");
            }
        }
    }

    fn health(&mut self, raw: &raw::Health, at: &JsonPath) -> Option<HealthProbe> {
        let headers = self.headers(&raw.headers, &at.key("headers"));
        let expect = at.key("expect");
        self.jq(raw.expect.jq.as_ref(), expect.key("jq"), ".ok == true");
        if raw.expect.status.as_ref().is_some_and(Vec::is_empty) {
            self.problem(expect.key("status"), "is empty, so no answer is a good one", "[200]");
        }
        self.jq(raw.release.as_ref(), at.key("release"), ".release");
        self.jq(raw.requests.as_ref(), at.key("requests"), ".requests");
        let at_levels = at.key("levels");
        for (n, level) in raw.levels.iter().enumerate() {
            self.jq(Some(&level.jq), at_levels.index(n).key("jq"), ".disk.used_percent");
        }
        let url = self.url(&raw.url, at.key("url"), "https://acme.example/health")?;
        Some(HealthProbe {
            name: raw.name.clone().unwrap_or_else(|| place(&url)),
            url,
            every: raw.every_minutes.map(minutes),
            patience: Patience {
                fire_after: raw.fire_after,
                clear_after: raw.clear_after,
            },
            timeout: Duration::from_secs(raw.timeout_seconds.into()),
            status: raw.expect.status.clone().unwrap_or_else(|| (200..=299).collect()),
            jq: raw.expect.jq.clone(),
            contains: raw.expect.contains.clone(),
            release: raw.release.clone(),
            requests: raw.requests.clone(),
            max_latency: raw.expect.max_latency_ms.map(|ms| Duration::from_millis(ms.into())),
            levels: raw
                .levels
                .iter()
                .map(|level| Level {
                    name: level.name.clone(),
                    jq: level.jq.clone(),
                    full: level.full,
                })
                .collect(),
            headers,
        })
    }

    fn jsonrpc(&mut self, raw: &raw::JsonRpc, at: &JsonPath) -> Option<JsonRpcProbe> {
        let headers = self.headers(&raw.headers, &at.key("headers"));
        self.jq(raw.jq.as_ref(), at.key("jq"), "length > 2");
        if raw.max_lag.is_some() && raw.reference.is_none() {
            self.problem(
                at.key("max_lag"),
                "needs a reference to compare with",
                "\"reference\": \"https://rpc.other.example\"",
            );
        }
        if !raw.params.is_array() && !raw.params.is_object() {
            self.problem(
                at.key("params"),
                format!("{} is no list and no object", raw.params),
                "[]",
            );
        }
        if raw.method.trim().is_empty() {
            self.problem(at.key("method"), "is empty", "\"eth_blockNumber\"");
        }
        let reference = raw
            .reference
            .as_ref()
            .and_then(|text| self.url(text, at.key("reference"), "https://rpc.other.example"));
        let url = self.url(&raw.url, at.key("url"), "https://rpc.acme.example")?;
        Some(JsonRpcProbe {
            name: raw
                .name
                .clone()
                .unwrap_or_else(|| format!("{} {}", authority(&url), raw.method)),
            url,
            every: raw.every_minutes.map(minutes),
            patience: Patience {
                fire_after: raw.fire_after,
                clear_after: raw.clear_after,
            },
            timeout: Duration::from_secs(raw.timeout_seconds.into()),
            method: raw.method.clone(),
            params: raw.params.clone(),
            jq: raw.jq.clone(),
            reference,
            max_lag: raw.max_lag.map(u64::from),
            headers,
        })
    }

    fn declared(&mut self, slot: &Slot, raw: &raw::Target, at: &JsonPath) -> Vec<DeclaredUse> {
        let mut uses = Vec::new();
        for (name, raw) in &raw.collectors {
            let here = at.key(name);
            if !self.context.collectors.contains_key(name) {
                let known: Vec<&str> = self.context.collectors.keys().map(String::as_str).collect();
                let what = format!("is not a declared collector (there is: {})", known.join(", "));
                self.problem(
                    here.clone(),
                    what,
                    &format!("collectors/{name}.json and collectors/{name}.jq"),
                );
            }
            let (at_values, at_secrets) = (here.key("values"), here.key("secrets"));
            let (mut values, mut variables) = (raw.values.clone(), raw.secrets.clone());
            for kept in KEPT.iter().filter(|kept| kept.collector == name) {
                let variable = kept.variable.replace("<SLOT>", &in_capitals(slot));
                match (kept.kind, self.context.env.get(&variable)) {
                    (Kind::Secret, _) => {
                        variables.entry(kept.placeholder.to_owned()).or_insert(variable);
                    }
                    (Kind::Value { .. }, Some(value)) => {
                        values
                            .entry(kept.placeholder.to_owned())
                            .or_insert_with(|| value.to_owned());
                    }
                    (Kind::Value { needed: true }, None) if !values.contains_key(kept.placeholder) => {
                        let what = format!("is not given, and {variable} is not set in the environment or .env");
                        self.problem(at_values.key(kept.placeholder), what, "\"acme\"");
                    }
                    (Kind::Value { .. }, None) => {}
                }
            }
            self.placeholders(name, &here, &values, &variables);
            let secrets = variables
                .iter()
                .filter_map(|(key, variable)| Some((key.clone(), self.secret(variable, at_secrets.key(key))?)))
                .collect();
            uses.push(DeclaredUse {
                collector: name.clone(),
                every: raw.every_minutes.map(minutes),
                expect_every: raw.expect_every_minutes.map(minutes),
                values,
                secrets,
            });
        }
        uses
    }

    fn headers(
        &mut self,
        raw: &std::collections::BTreeMap<String, String>,
        at: &JsonPath,
    ) -> Vec<(String, SecretString)> {
        let mut headers = Vec::new();
        for (name, variable) in raw {
            if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
                let what = format!("{} is not a header name", quote_str(name));
                self.problem(at.key(name), what, "Authorization");
            }
            if let Some(value) = self.secret(variable, at.key(name)) {
                headers.push((name.clone(), value));
            }
        }
        headers
    }

    /// Only whether it parses; names are resolved where it is compiled.
    fn jq(&mut self, program: Option<&String>, at: JsonPath, example: &str) {
        let Some(program) = program else { return };
        if jaq_core::load::parse(program, |parser| parser.term()).is_none() {
            self.problem(
                at,
                format!("{} is not a jq program", quote_str(program)),
                &format!("\"{example}\""),
            );
        }
    }
}

/// A slot as it stands in the name of a variable.
fn in_capitals(slot: &Slot) -> String {
    slot.as_str().to_ascii_uppercase().replace('-', "_")
}

/// How a probe without a name is called: host and path. The path alone would collide between hosts, and a name that
/// changed when a second probe is added would lose its history.
fn place(url: &Url) -> String {
    format!("{}{}", authority(url), url.path().trim_end_matches('/'))
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
