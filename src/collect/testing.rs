//! A small config and one runtime for the tests of collectors.

use std::{collections::BTreeMap, path::Path, time::Duration};

use chrono::{DateTime, Utc};
use url::Url;

use super::{CollectContext, Collected, HttpCache, Sources, collect};
use crate::{
    adapters::{clock::Clock, http::Http},
    config::{
        Config, DeclaredUse, HealthProbe, Home, JsonRpcProbe, Patience, Retry, Target, env::Environment,
        load::from_text,
    },
    text::Redactor,
};

pub(crate) const NOW: &str = "2026-11-29T03:00:00Z";

pub(crate) fn target() -> Target {
    Target {
        name: "web".to_owned(),
        health: Vec::new(),
        jsonrpc: Vec::new(),
        logs: Vec::new(),
        railway: None,
        declared: Vec::new(),
        deploy_grace: Duration::from_mins(10),
        vercel: None,
        exec: Vec::new(),
        domains: Vec::new(),
    }
}

pub(crate) fn probe(url: Url) -> HealthProbe {
    HealthProbe {
        name: "front".to_owned(),
        url,
        every: None,
        patience: Patience::default(),
        timeout: Duration::from_secs(2),
        status: (200..=299).collect(),
        jq: None,
        contains: None,
        release: None,
        requests: None,
        max_latency: None,
        levels: Vec::new(),
        headers: Vec::new(),
    }
}

pub(crate) fn rpc(url: Url) -> JsonRpcProbe {
    JsonRpcProbe {
        name: "node".to_owned(),
        url,
        every: None,
        patience: Patience::default(),
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
        expect_every: None,
        values: BTreeMap::from([("url".to_owned(), base)]),
        secrets: BTreeMap::new(),
    }
}

/// One repo `web` with this one target and no forge.
pub(crate) fn config(target: Target) -> Config {
    let text = r#"{ "mode": "observe", "repos": { "web": { "branch": "main", "health": [{ "url": "http://127.0.0.1:1/" }] } } }"#;
    let home = Home::at(Path::new("/nonexistent/tick-test"));
    let mut config = from_text(text, &home, &Environment::default()).unwrap();
    config.repos.values_mut().next().unwrap().targets = vec![target];
    config.limits.collect_deadline = Duration::from_secs(5);
    config.retry = Retry {
        attempts: 1,
        multiplier: 2.0,
        first: Duration::from_millis(1),
        random_factor: 0.0,
    };
    config
}

pub(crate) fn run(config: &Config) -> Collected {
    run_with(config, &Sources::new(), &HttpCache::default())
}

/// One collection at [`NOW`], without waits between samples.
pub(crate) fn run_with(config: &Config, sources: &Sources, cache: &HttpCache) -> Collected {
    run_over(config, sources, cache, None, |redactor| Http::new(redactor, Vec::new()))
}

/// As [`run_with`], of one collector, over a client of the test's own.
pub(crate) fn run_over(
    config: &Config,
    sources: &Sources,
    cache: &HttpCache,
    only: Option<&str>,
    http: impl FnOnce(Redactor) -> Http,
) -> Collected {
    at(NOW.parse().unwrap(), config, sources, cache, only, http)
}

/// As [`run_with`], at another time.
pub(crate) fn run_at(config: &Config, sources: &Sources, now: DateTime<Utc>) -> Collected {
    let http = |redactor| Http::new(redactor, Vec::new());
    at(now, config, sources, &HttpCache::default(), None, http)
}

fn at(
    now: DateTime<Utc>,
    config: &Config,
    sources: &Sources,
    cache: &HttpCache,
    only: Option<&str>,
    http: impl FnOnce(Redactor) -> Http,
) -> Collected {
    let redactor = Redactor::new(config.secrets.values.values());
    let http = http(redactor.clone());
    let clock = Clock::start(Some(now));
    let mut ctx = CollectContext::new(config, &http, &redactor, clock, sources, cache);
    ctx.resample = [Duration::ZERO; 2];
    ctx.waking = Duration::ZERO;
    ctx.only = only;
    block_on(collect(&ctx))
}

/// What a look without state does, at [`NOW`].
pub(crate) fn look<T>(config: &Config, look: impl AsyncFnOnce(&CollectContext<'_>) -> T) -> T {
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), Vec::new());
    let (sources, cache) = (Sources::new(), HttpCache::default());
    let clock = Clock::start(Some(NOW.parse().unwrap()));
    let ctx = CollectContext::new(config, &http, &redactor, clock, &sources, &cache);
    block_on(look(&ctx))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
