//! The read APIs: how each is configured, which of its requests is spoiled, and what a good answer is.

use std::time::Duration;

use url::Url;

use super::faults::Good;
use crate::{
    collect::testing,
    config::{Config, Target, VercelProject},
    model::RepoName,
};

pub(super) const TOKEN: &str = "fake-token-not-real-0123456789";

pub(super) struct Api {
    pub(super) name: &'static str,
    /// The collector that reads it.
    pub(super) collector: &'static str,
    /// It asks a service of the owner: what is wrong there is a signal.
    pub(super) probe: bool,
    /// Most bytes of one answer that it takes.
    pub(super) cap: usize,
    pub(super) config: fn(&Url, Duration) -> Config,
    /// A part of the path of the request that is spoiled.
    pub(super) spoiled: &'static str,
    /// The good answer to a path.
    pub(super) good: fn(&str) -> Good,
}

const fn declared(name: &'static str, collector: &'static str, spoiled: &'static str, good: fn(&str) -> Good) -> Api {
    Api {
        name,
        collector,
        probe: false,
        cap: 4 << 20,
        config: match collector.as_bytes() {
            b"sentry" => sentry,
            b"alertmanager" => alertmanager,
            b"statuspage" => statuspage,
            _ => exceptions,
        },
        spoiled,
        good,
    }
}

const fn forge(
    name: &'static str,
    collector: &'static str,
    cap: usize,
    spoiled: &'static str,
    good: fn(&str) -> Good,
) -> Api {
    Api {
        name,
        collector,
        probe: false,
        cap,
        config: github,
        spoiled,
        good,
    }
}

pub(super) const APIS: [Api; 13] = [
    Api {
        name: "health",
        collector: "health",
        probe: true,
        cap: 1 << 20,
        config: health,
        spoiled: "/health",
        good: |_| Good::json(r#"{"ok":true}"#),
    },
    Api {
        name: "jsonrpc",
        collector: "jsonrpc",
        probe: true,
        cap: 2 << 20,
        config: jsonrpc,
        spoiled: "/rpc",
        good: |_| Good::json(r#"{"jsonrpc":"2.0","id":1,"result":"0x10"}"#),
    },
    forge("pulls", "pulls", 16 << 20, "/pulls", |_| Good::json(PULLS)),
    forge("runs", "actions", 16 << 20, "/actions/runs", |path| runs(path, RUNS)),
    forge("commits", "actions", 16 << 20, "/commits", |path| runs(path, RUNS)),
    forge("log", "actions", 128 << 20, "/logs", red),
    declared("issues", "sentry", "/organizations/acme/issues/?", issues),
    declared("event", "sentry", "/events/latest/", issues),
    declared("alerts", "alertmanager", "/api/v2/alerts", |_| Good::json(ALERTS)),
    declared("status", "statuspage", "/summary.json", |_| Good::json(STATUS)),
    declared("exceptions", "exceptions", "/api/exceptions", |_| {
        Good::json(EXCEPTIONS)
    }),
    hosted("project", "/v9/projects/shop"),
    hosted("deployments", "/v7/deployments"),
];

const fn hosted(name: &'static str, spoiled: &'static str) -> Api {
    Api {
        name,
        collector: "vercel",
        probe: false,
        cap: 16 << 20,
        config: vercel,
        spoiled,
        good: project,
    }
}

pub(super) fn with(target: impl FnOnce(&mut Target)) -> Config {
    let mut own = testing::target();
    target(&mut own);
    let mut config = testing::config(own);
    for name in ["GITHUB_TOKEN", "VERCEL_TOKEN"] {
        config.secrets.values.insert(name.to_owned(), TOKEN.into());
    }
    config
}

fn health(base: &Url, timeout: Duration) -> Config {
    with(|target| {
        let mut probe = testing::probe(base.join("/health").unwrap());
        probe.timeout = timeout;
        probe.jq = Some(".ok == true".to_owned());
        probe.headers = vec![("authorization".to_owned(), TOKEN.into())];
        target.health = vec![probe];
    })
}

fn jsonrpc(base: &Url, timeout: Duration) -> Config {
    with(|target| {
        let mut probe = testing::rpc(base.join("/rpc").unwrap());
        probe.timeout = timeout;
        probe.headers = vec![("authorization".to_owned(), TOKEN.into())];
        target.jsonrpc = vec![probe];
    })
}

fn github(base: &Url, _: Duration) -> Config {
    let mut config = with(|_| {});
    config.github.api = base.clone();
    config.repos.values_mut().next().unwrap().github = Some(RepoName::parse("acme/shop").unwrap());
    config
}

fn vercel(base: &Url, _: Duration) -> Config {
    let mut config = with(|target| {
        target.vercel = Some(VercelProject {
            project: "shop".to_owned(),
            team: None,
            logs: false,
            log_retention: Duration::from_hours(1),
            cli: None,
            variables: false,
            domains: false,
        });
    });
    config.vercel.api = base.clone();
    config.vercel.web = base.clone();
    config
}

fn project(path: &str) -> Good {
    if path.contains("/deployments") {
        return Good::json(
            r#"{"deployments":[{"uid":"dpl_a","name":"shop","projectId":"prj_x","url":"shop-a.vercel.app","created":1764380000000,
            "createdAt":1764380000000,"ready":1764380060000,"readyState":"READY","state":"READY","readySubstate":"PROMOTED","target":"production",
            "aliasError":null,"meta":{"githubCommitSha":"3484a3fb816e0859fd6e1cea078d76385ff50625"}}],"pagination":{"count":1,"next":null,"prev":null}}"#,
        );
    }
    Good::json(
        r#"{"id":"prj_x","name":"shop","accountId":"team_x","targets":{"production":{"id":"dpl_a"}},"lastAliasRequest":null}"#,
    )
}

fn used(name: &str, base: &Url, values: &[(&str, &str)]) -> Config {
    with(|target| {
        let mut used = testing::declared(name, base);
        used.secrets.insert("token".to_owned(), TOKEN.into());
        for (name, value) in values {
            used.values.insert((*name).to_owned(), (*value).to_owned());
        }
        target.declared = vec![used];
    })
}

fn sentry(base: &Url, _: Duration) -> Config {
    used("sentry", base, &[("org", "acme")])
}

fn alertmanager(base: &Url, _: Duration) -> Config {
    used("alertmanager", base, &[])
}

fn statuspage(base: &Url, _: Duration) -> Config {
    used(
        "statuspage",
        base,
        &[("url", base.join("/summary.json").unwrap().as_str())],
    )
}

fn exceptions(base: &Url, _: Duration) -> Config {
    used("exceptions", base, &[])
}

const PULLS: &str = r#"[{"number":7,"title":"Mend the cart","draft":false,"user":{"login":"ann","type":"User"},
  "head":{"ref":"cart","repo":{"full_name":"acme/shop"}},"updated_at":"2026-11-29T02:00:00Z"}]"#;

const RUNS: &str = r#"{"total_count":1,"workflow_runs":[{"id":5,"name":"CI","path":".github/workflows/ci.yml","workflow_id":1,"event":"push",
  "status":"completed","conclusion":"success","head_branch":"main","head_sha":"3484a3fb816e0859fd6e1cea078d76385ff50625","run_attempt":1,
  "html_url":"https://forge.example/runs/5","created_at":"2026-11-29T02:00:00Z","run_started_at":"2026-11-29T02:00:00Z","updated_at":"2026-11-29T02:01:00Z"}]}"#;

const COMMITS: &str = r#"[{"sha":"3484a3fb816e0859fd6e1cea078d76385ff50625","html_url":"https://forge.example/commit/3484a3f","parents":[],
  "commit":{"message":"Mend the cart","committer":{"date":"2026-11-29T02:00:00Z"}}}]"#;

const JOBS: &str = r#"{"total_count":1,"jobs":[{"id":77,"name":"test","conclusion":"failure","html_url":"https://forge.example/jobs/77",
  "steps":[{"name":"Run tests","conclusion":"failure"}]}]}"#;

const LOG: &str = "2026-11-29T02:10:00.0000000Z ##[group]Run make test\n2026-11-29T02:10:01.0000000Z AssertionError: 3 != 4\n\
                   2026-11-29T02:10:01.0000000Z ##[error]Process completed with exit code 2.\n";

/// A red branch, whose log is what is spoiled.
fn red(path: &str) -> Good {
    if path.contains("/logs") {
        Good {
            kind: "text/plain",
            body: LOG.to_owned(),
        }
    } else if path.contains("/jobs") {
        Good::json(JOBS)
    } else {
        runs(path, &RUNS.replace("success", "failure"))
    }
}

/// The runs; what landed on the branch is asked beside them.
fn runs(path: &str, list: &str) -> Good {
    Good::json(if path.contains("/commits") { COMMITS } else { list })
}

fn issues(path: &str) -> Good {
    if path.contains("/events/") {
        return Good::json(
            r#"{"id":"e1","platform":"python","release":{"version":"shop@1.2"},"entries":[{"type":"exception","data":{"values":[
            {"type":"KeyError","value":"'total'","stacktrace":{"frames":[{"filename":"app/cart.py","lineNo":12,"function":"total","inApp":true}]}}]}}]}"#,
        );
    }
    Good::json(
        r#"[{"id":"41","shortId":"SHOP-1","title":"KeyError: 'total'","culprit":"total","level":"error","status":"unresolved","substatus":"new",
        "permalink":"https://sentry.example/41","platform":"python","count":"3","userCount":1,"firstSeen":"2026-11-29T02:50:00Z",
        "lastSeen":"2026-11-29T02:58:00Z","metadata":{"type":"KeyError","value":"'total'"},"issueCategory":"error"}]"#,
    )
}

const ALERTS: &str = r#"[{"labels":{"alertname":"HighErrors","severity":"critical"},"annotations":{"summary":"it hurts"},
  "startsAt":"2026-11-29T02:00:00Z","endsAt":"2026-11-29T04:00:00Z","fingerprint":"a","generatorURL":"http://p.example/g",
  "status":{"state":"active","silencedBy":[],"inhibitedBy":[]}}]"#;

const STATUS: &str = r#"{"page":{"id":"k","name":"Acme","url":"https://status.acme.example"},"components":[],"scheduled_maintenances":[],
  "incidents":[{"id":"a1","name":"Builds wait","status":"identified","impact":"major","created_at":"2026-11-29T02:10:00Z",
  "started_at":"2026-11-29T02:05:00Z","updated_at":"2026-11-29T02:50:00Z","shortlink":"https://stspg.example/a1","components":[],
  "incident_updates":[{"body":"We are looking."}]}],"status":{"indicator":"major","description":"Outage"}}"#;

const EXCEPTIONS: &str = r#"{"release":null,"requests":412,"exceptions":[{"type":"KeyError","message":"'total'",
  "stack":"Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in total\nKeyError: 'total'","count":3,
  "release":null,"first_seen":"2026-11-29T02:50:00Z","last_seen":"2026-11-29T02:59:00Z","route":"/cart"}]}"#;
