//! A small config and one runtime for the tests of collectors.

use std::{collections::BTreeMap, time::Duration};

use url::Url;

use super::{CollectContext, Collected, HttpCache, Sources, collect};
use crate::{
    adapters::{clock::Clock, http::Http},
    config::{
        Agents, Config, DeclaredUse, Detection, GitHubService, HealthProbe, Home, JsonRpcProbe, Limits, MailBackend,
        Mode, Notify, Repo, Retry, Secrets, Target,
    },
    text::Redactor,
};

pub(crate) const NOW: &str = "2026-11-29T03:00:00Z";

pub(crate) fn target() -> Target {
    Target {
        name: "web".to_owned(),
        health: Vec::new(),
        jsonrpc: Vec::new(),
        declared: Vec::new(),
    }
}

pub(crate) fn probe(url: Url) -> HealthProbe {
    HealthProbe {
        name: "front".to_owned(),
        url,
        every: None,
        timeout: Duration::from_secs(2),
        status: (200..=299).collect(),
        jq: None,
        contains: None,
        release: None,
        requests: None,
        max_latency: None,
        headers: Vec::new(),
    }
}

pub(crate) fn rpc(url: Url) -> JsonRpcProbe {
    JsonRpcProbe {
        name: "node".to_owned(),
        url,
        every: None,
        timeout: Duration::from_secs(2),
        method: "eth_blockNumber".to_owned(),
        params: serde_json::json!([]),
        jq: None,
        reference: None,
        max_lag: None,
        headers: Vec::new(),
    }
}

pub(crate) fn declared(name: &str, url: &Url) -> DeclaredUse {
    let base = url.as_str().trim_end_matches('/').to_owned();
    DeclaredUse {
        collector: name.to_owned(),
        every: None,
        values: BTreeMap::from([("url".to_owned(), base)]),
        secrets: BTreeMap::new(),
    }
}

/// One repo `web` with this one target and no forge.
pub(crate) fn config(target: Target) -> Config {
    let root = std::path::PathBuf::from("/nonexistent/tick-test");
    let repo = Repo {
        slot: "web".parse().unwrap(),
        mode: Mode::Observe,
        github: None,
        git_url: None,
        branch: Some("main".to_owned()),
        setup: Vec::new(),
        test: Vec::new(),
        targets: vec![target],
        may_skip: Vec::new(),
        rollback_own: false,
        rollback_ask: false,
        test_timeout: Duration::from_mins(1),
        observe_min: Duration::from_mins(30),
    };
    Config {
        home: Home {
            config_file: root.join("config.json"),
            state: root.join("state"),
            signals: root.join("signals"),
            logs: root.join("logs"),
            collectors: root.join("collectors"),
            prompts: root.join("prompts"),
            root,
        },
        repos: BTreeMap::from([(repo.slot.clone(), repo)]),
        detection: Detection {
            ci_nonblocking: None,
            rpc_error: None,
        },
        sensitive: Vec::new(),
        toolchain_env: Vec::new(),
        agents: Agents {
            defined: BTreeMap::new(),
            triage: Vec::new(),
            fix: Vec::new(),
            audit: Vec::new(),
            unsandboxed: false,
        },
        limits: Limits {
            usd_per_incident: 2.0,
            usd_per_day: 5.0,
            usd_per_month: 50.0,
            agent_runs_per_day: 12,
            diff_lines: 400,
            diff_lines_merge: 120,
            open_pulls_per_repo: 2,
            retries_per_run: 10,
            attempt_wall: Duration::from_mins(30),
            collect_deadline: Duration::from_secs(5),
            gate_deadline: Duration::from_secs(2),
            concurrency: 64,
        },
        retry: Retry {
            attempts: 1,
            multiplier: 2.0,
            first: Duration::from_millis(1),
            random_factor: 0.0,
        },
        notify: Notify {
            mail: MailBackend::Off,
            from: String::new(),
            to: Vec::new(),
            name: String::new(),
        },
        github: GitHubService {
            api: Url::parse("http://127.0.0.1:1/").unwrap(),
            web: Url::parse("http://127.0.0.1:1/").unwrap(),
        },
        secrets: Secrets::default(),
        allow_private_hosts: Vec::new(),
        digests: BTreeMap::new(),
        path: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(crate) fn run(config: &Config) -> Collected {
    run_with(config, &Sources::new(), &HttpCache::default())
}

/// One collection at [`NOW`], without waits between samples.
pub(crate) fn run_with(config: &Config, sources: &Sources, cache: &HttpCache) -> Collected {
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), Vec::new());
    let clock = Clock::start(Some(NOW.parse().unwrap()));
    let mut ctx = CollectContext::new(config, &http, &redactor, clock, sources, cache);
    ctx.resample = [Duration::ZERO; 2];
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(collect(&ctx))
}
