//! From the raw file to the domain types: every check that a schema cannot express, all problems at once.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use globset::GlobBuilder;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{
    Agents, CommandLine, Config, GitHubService, Home, Limits, MailBackend, Mode, Notify, Repo, Retry, Secrets,
    command::parse_command,
    env::{Environment, is_name, is_usual_name},
    problem::{JsonPath, Problem, quote_str},
    raw,
};
use crate::model::{RepoName, Slot};

mod agents;
mod declared;
mod domains;
mod environment;
mod exec;
mod patterns;
mod probes;
mod railway;
mod vercel;

pub(super) use patterns::PATTERNS_FILE;

/// What checks need to know beside the file.
pub(super) struct Context<'a> {
    pub env: &'a Environment,
    pub home: &'a Home,
    /// The declared collectors that exist, with the text of their request files.
    pub collectors: BTreeMap<String, String>,
    /// Text of the home's own `patterns.json`.
    pub patterns: Option<String>,
}

/// Collects problems and the secrets that the file names while it is walked.
struct Checks<'a> {
    context: &'a Context<'a>,
    path: Vec<PathBuf>,
    problems: Vec<Problem>,
    warnings: Vec<String>,
    secrets: Secrets,
}

/// The config of a raw file; on the way every problem is noted. The config is usable only if there is none.
pub(super) fn validate(root: &raw::Root, context: &Context<'_>) -> (Config, Vec<Problem>) {
    let at = JsonPath::default();
    let mut checks = Checks {
        context,
        path: Vec::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
        secrets: Secrets::default(),
    };
    checks.path = checks.search_path(root);
    for name in ["GITHUB_TOKEN", "SMTP_URL", "HEARTBEAT_URL"] {
        if let Some(secret) = context.env.secret(name) {
            checks.secrets.values.insert(name.to_owned(), secret);
        }
    }
    checks.heartbeat();
    let github = checks.github(&root.github);
    let vercel = checks.vercel_service(&root.vercel);
    let repos = checks.repos(root, &github);
    let mut sensitive = checks.globs(&root.sensitive_paths, &at.key("sensitivePaths"));
    sensitive.extend(checks.globs(
        &root.severity.needs_human_paths,
        &at.key("severity").key("needsHumanPaths"),
    ));
    let config = Config {
        home: context.home.clone(),
        repos,
        detection: checks.detection(&root.detection),
        patterns: checks.patterns(&root.detection),
        sensitive,
        agents: checks.agents(&root.agents),
        limits: limits(&root.limits),
        retry: Retry {
            attempts: root.retry.attempts,
            multiplier: root.retry.multiplier,
            first: Duration::try_from_secs_f64(root.retry.seconds).unwrap_or_default(),
            random_factor: root.retry.random_factor,
        },
        notify: checks.notify(&root.notify),
        github,
        railway_api: checks.railway_api(&root.railway),
        vercel,
        secrets: Secrets::default(),
        registries: checks.registries(&root.network),
        allow_private_hosts: root.network.allow_private_hosts.clone(),
        toolchain_env: Vec::new(),
        digests: BTreeMap::new(),
        path: checks.path.clone(),
        readable: checks.absolute(&root.readable, "readable", "\"/srv/toolchain\""),
        warnings: Vec::new(),
    };
    if matches!(config.notify.mail, MailBackend::Off) && !config.repos.is_empty() {
        let what = "notify: no channel is configured, so no message goes anywhere; for example \"file\": \"mail\"";
        checks.warnings.push(what.to_owned());
    }
    let config = Config {
        secrets: checks.secrets,
        warnings: checks.warnings,
        ..config
    };
    checks.problems.sort();
    (config, checks.problems)
}

fn limits(raw: &raw::Limits) -> Limits {
    Limits {
        usd_per_incident: raw.usd_per_incident,
        usd_per_day: raw.usd_per_day,
        usd_per_month: raw.usd_per_month,
        agent_runs_per_day: raw.agent_runs_per_day,
        new_incidents_per_hour: raw.new_incidents_per_hour,
        new_incidents_per_day: raw.new_incidents_per_day,
        diff_lines: raw.diff_lines,
        diff_lines_merge: raw.diff_lines_merge,
        open_pulls_per_repo: raw.open_pulls_per_repo,
        retries_per_run: raw.retries_per_run,
        attempt_wall: minutes(raw.attempt_minutes),
        collect_deadline: Duration::from_secs(raw.collect_seconds.into()),
        gate_deadline: Duration::from_millis(raw.gate_ms.into()),
        concurrency: raw.concurrency.try_into().unwrap_or(usize::MAX),
    }
}

fn minutes(n: u32) -> Duration {
    Duration::from_secs(u64::from(n) * 60)
}

impl Checks<'_> {
    fn problem(&mut self, path: JsonPath, what: impl Into<String>, example: &str) {
        self.problems.push(Problem::new(path, what).example(example));
    }

    /// The environment lacks a variable that the file asks for.
    fn absent(&mut self, path: JsonPath, what: String, variable: &str) {
        let shown = if is_usual_name(variable) {
            variable
        } else {
            "HEALTH_AUTHORIZATION"
        };
        let example = format!("{shown}=… in .env");
        self.problems.push(Problem::new(path, what).example(example).absent());
    }

    fn search_path(&mut self, root: &raw::Root) -> Vec<PathBuf> {
        let mut path = self.absolute(&root.path, "path", "\"/usr/local/bin\"");
        path.extend(self.context.env.path());
        path
    }

    fn absolute(&mut self, dirs: &[String], key: &str, example: &str) -> Vec<PathBuf> {
        let at = JsonPath::default().key(key);
        let mut found = Vec::new();
        for (n, dir) in dirs.iter().enumerate() {
            if Path::new(dir).is_absolute() {
                found.push(PathBuf::from(dir));
            } else {
                let what = format!("{} is not an absolute path", quote_str(dir));
                self.problem(at.index(n), what, example);
            }
        }
        found
    }

    fn github(&mut self, raw: &raw::GitHub) -> GitHubService {
        let at = JsonPath::default().key("github");
        GitHubService {
            api: self.base(&raw.api, at.key("api"), "https://api.github.com"),
            web: self.base(&raw.web, at.key("web"), "https://github.com"),
        }
    }

    /// Address of a service; the usual one stands in for what is none.
    fn base(&mut self, text: &str, at: JsonPath, usual: &str) -> Url {
        self.url(text, at, usual)
            .unwrap_or_else(|| Url::parse(usual).expect("a constant URL"))
    }

    fn repos(&mut self, root: &raw::Root, github: &GitHubService) -> BTreeMap<Slot, Repo> {
        let at = JsonPath::default().key("repos");
        let mut repos = BTreeMap::new();
        let mut first_of: BTreeMap<String, &str> = BTreeMap::new();
        for (name, raw) in &root.repos {
            let here = at.key(name);
            let slot = match Slot::parse(name) {
                Ok(slot) => slot,
                Err(error) => {
                    self.problem(here, error.to_string(), "web");
                    continue;
                }
            };
            if let Some(github) = &raw.github
                && let Some(other) = first_of.insert(github.to_ascii_lowercase(), name)
            {
                let what = format!("{} is the repository of slot {other} already", quote_str(github));
                self.problem(here.key("github"), what, "one slot with targets");
            }
            let repo = self.repo(slot.clone(), raw, root, github, &here);
            repos.insert(slot, repo);
        }
        repos
    }

    fn repo(&mut self, slot: Slot, raw: &raw::Repo, root: &raw::Root, github: &GitHubService, at: &JsonPath) -> Repo {
        let name = raw.github.as_ref().and_then(|text| match RepoName::parse(text) {
            Ok(name) => Some(name),
            Err(error) => {
                self.problem(at.key("github"), error.to_string(), "\"acme/web\"");
                None
            }
        });
        let git_url = match &raw.git_url {
            Some(text) => self
                .url(text, at.key("git_url"), "https://github.com/acme/web.git")
                .map(String::from),
            None => name
                .as_ref()
                .map(|name| format!("{}/{name}.git", github.web.as_str().trim_end_matches('/'))),
        };
        if let Some(branch) = &raw.branch
            && !is_branch(branch)
        {
            self.problem(
                at.key("branch"),
                format!("{} is not a branch name", quote_str(branch)),
                "\"main\"",
            );
        }
        let mut mode = raw.mode.unwrap_or(root.mode);
        if raw.github.is_none() {
            mode = mode.min(Mode::Diagnose);
        }
        let defaults = JsonPath::default().key("defaults");
        let setup = match &raw.setup {
            Some(list) => self.commands(list, &at.key("setup")),
            None => self.commands(&root.defaults.setup, &defaults.key("setup")),
        };
        if let Some(glob) = &raw.report.junit {
            self.glob(glob, at.key("report").key("junit"), "\"build/test-results/**/*.xml\"");
        }
        let test = match &raw.test {
            Some(list) => self.commands(list, &at.key("test")),
            None => self.commands(&root.defaults.test, &defaults.key("test")),
        };
        Repo {
            targets: self.targets(&slot, raw, at),
            slot,
            mode,
            github: name,
            git_url,
            branch: raw.branch.clone(),
            setup,
            setup_hosts: self.setup_hosts(&raw.setup_hosts, &at.key("setup_hosts")),
            setup_timeout: Duration::from_secs(raw.setup_timeout_seconds.into()),
            test,
            services: self.services(&raw.services, &at.key("services")),
            test_env: self.test_env(&raw.env, &at.key("env")),
            may_skip: raw.ci.may_skip.clone(),
            ci_rerun: raw.ci.rerun,
            proof_by_ci: raw.proof == raw::ProofPlace::Ci,
            rollback_own: raw.rollback.own,
            rollback_ask: raw.rollback.others == raw::Others::Ask,
            test_timeout: Duration::from_secs(u64::from(raw.test_timeout_seconds)),
            junit: raw.report.junit.clone(),
            observe_min: minutes(raw.observe_minutes),
        }
    }

    fn commands(&mut self, list: &[String], at: &JsonPath) -> Vec<CommandLine> {
        let mut commands = Vec::new();
        for (n, text) in list.iter().enumerate() {
            match parse_command(text) {
                Ok(command) => commands.push(command),
                Err(bad) => {
                    let problem = Problem::new(at.index(n), format!("{} {}", quote_str(text), bad.what))
                        .example(serde_json::Value::from(bad.example).to_string());
                    // defaults are looked at once a repo
                    if !self.problems.contains(&problem) {
                        self.problems.push(problem);
                    }
                }
            }
        }
        commands
    }

    fn url(&mut self, text: &str, at: JsonPath, example: &str) -> Option<Url> {
        let example = format!("\"{example}\"");
        let what = match Url::parse(text) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                // `host:8080/x` parses as scheme `host`; that is not what was meant.
                if text.contains("://") {
                    format!("scheme is {}, not http or https", quote_str(url.scheme()))
                } else {
                    "has no scheme".to_owned()
                }
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                self.problem(
                    at,
                    "holds a user name or a password; put it into the environment",
                    &example,
                );
                return None;
            }
            Ok(url) => return Some(url),
            Err(url::ParseError::RelativeUrlWithoutBase) => "has no scheme".to_owned(),
            Err(error) => format!("is not a URL ({error})"),
        };
        self.problem(at, format!("{} {what}", quote_str(text)), &example);
        None
    }

    fn globs(&mut self, list: &[String], at: &JsonPath) -> Vec<String> {
        for (n, glob) in list.iter().enumerate() {
            self.glob(glob, at.index(n), "\"**/ledger/**\"");
        }
        list.to_vec()
    }

    fn glob(&mut self, glob: &str, at: JsonPath, example: &str) {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        if let Err(error) = built {
            let what = format!("{} is not a glob ({})", quote_str(glob), error.kind());
            self.problem(at, what, example);
        } else if glob.trim().is_empty() || glob.starts_with('/') {
            let what = format!("{} matches no path of a repository", quote_str(glob));
            self.problem(at, what, example);
        }
    }

    fn notify(&mut self, raw: &raw::Notify) -> Notify {
        let at = JsonPath::default().key("notify");
        let env = self.context.env;
        let from = raw
            .from
            .clone()
            .or_else(|| env.get("NOTIFY_EMAIL_FROM").map(str::to_owned));
        let to = if raw.to.is_empty() {
            let listed = env.get("NOTIFY_EMAIL_TO").unwrap_or_default();
            listed
                .split(',')
                .map(str::trim)
                .filter(|a| !a.is_empty())
                .map(str::to_owned)
                .collect()
        } else {
            raw.to.clone()
        };
        let mut missing = Vec::new();
        if from.is_none() {
            missing.push("NOTIFY_EMAIL_FROM");
        }
        if to.is_empty() {
            missing.push("NOTIFY_EMAIL_TO");
        }
        for (key, address) in from.iter().map(|a| ("from", a)).chain(to.iter().map(|a| ("to", a))) {
            if address.parse::<lettre::message::Mailbox>().is_err() {
                let what = format!("{} is not a mail address", quote_str(address));
                self.problem(at.key(key), what, "\"owner@host\"");
            }
        }
        let mail = match (&raw.file, raw.email, env.secret("SMTP_URL")) {
            (Some(_), true, _) => {
                self.problem(
                    at.key("file"),
                    "stands beside \"email\": true; only one can be",
                    "remove one of the two",
                );
                MailBackend::Off
            }
            (Some(dir), false, _) => MailBackend::File(self.context.home.root.join(dir)),
            (None, false, _) => MailBackend::Off,
            (None, true, Some(url)) if missing.is_empty() => {
                self.check_smtp(&url);
                MailBackend::Smtp(url)
            }
            (None, true, url) => {
                if url.is_none() {
                    missing.insert(0, "SMTP_URL");
                }
                let what = format!(
                    "is true, but not set in the environment or .env: {}",
                    missing.join(", ")
                );
                self.absent(at.key("email"), what, missing[0]);
                // Who goes on without sends nothing, and shall not say that no mail is configured.
                MailBackend::Smtp(url.unwrap_or_else(|| SecretString::from("")))
            }
        };
        Notify {
            mail,
            from: from.unwrap_or_else(|| "tick <tick@localhost>".to_owned()),
            to,
            name: raw.name.clone(),
        }
    }

    /// Passwords and messages go through TLS; only a server on this machine may do without.
    fn check_smtp(&mut self, url: &SecretString) {
        let at = JsonPath::default().key("notify").key("email");
        let what = match Url::parse(url.expose_secret()) {
            Ok(url) if !matches!(url.scheme(), "smtp" | "smtps") || url.host_str().is_none() => {
                "is true, but SMTP_URL is not an smtp or smtps URL (its value is not shown)"
            }
            Ok(url) if url.scheme() == "smtps" || is_loopback(&url) => return,
            Ok(url) if url.query_pairs().any(|(k, v)| k == "tls" && v == "required") => return,
            Ok(_) => "is true, but SMTP_URL does not ask for TLS (smtps, or smtp with ?tls=required)",
            Err(_) => "is true, but SMTP_URL is not a URL (its value is not shown)",
        };
        self.problem(at, what, "SMTP_URL=smtps://user:password@mail.acme.example:465");
    }

    /// The address holds the switch's secret, so no message shows it.
    fn heartbeat(&mut self) {
        let Some(secret) = self.secrets.heartbeat() else {
            return;
        };
        let url = Url::parse(secret.expose_secret()).ok();
        if !url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            let what = "HEARTBEAT_URL is not an http or https URL (its value is not shown)";
            self.problem(
                JsonPath::default(),
                what,
                "HEARTBEAT_URL=https://hc-ping.com/5b1d8c8e-0000-4000-8000-000000000000",
            );
        }
    }

    /// The value of a variable that the file names; it is a secret from here on.
    fn secret(&mut self, variable: &str, at: JsonPath) -> Option<SecretString> {
        if !is_name(variable) {
            // What stands in the place of a name is often the secret itself.
            let what =
                "is not the name of an environment variable (what stands there is not shown: it may be a secret)";
            self.problem(at, what, "\"HEALTH_AUTHORIZATION\"");
            return None;
        }
        let Some(value) = self.context.env.secret(variable) else {
            let what = if is_usual_name(variable) {
                format!("names {variable}, which is not set in the environment or .env")
            } else {
                "names a variable that is not set in the environment or .env (what stands there is not shown: it may \
                 be a secret)"
                    .to_owned()
            };
            self.absent(at, what, variable);
            return None;
        };
        self.secrets.values.insert(variable.to_owned(), value.clone());
        Some(value)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// What git accepts and no option parser mistakes.
fn is_branch(name: &str) -> bool {
    let parts_fit = name
        .split('/')
        .all(|p| !p.is_empty() && !p.starts_with('.') && p.strip_suffix(".lock").is_none());
    !name.starts_with('-')
        && name != "@"
        && name.len() <= 200
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && parts_fit
        && !name.contains(|c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c))
}

#[cfg(test)]
mod tests;
