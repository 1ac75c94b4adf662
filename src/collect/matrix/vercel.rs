//! Vercel under the faults: one column for each call that follows the project and its deployments. What one of them does not
//! say leaves the others, so the look is blind in part.

use std::time::Duration;

use url::Url;

use super::{
    apis::{Api, with},
    faults::Good,
};
use crate::config::{Config, VercelProject};

pub(super) const APIS: [Api; 5] = [
    call("build", "/events", broken),
    call("history", "/api/logs/request-logs", good),
    call("env", "/env", good),
    call("domains", "/v9/projects/prj_x/domains", good),
    call("account", "/v5/domains", good),
];

const fn call(name: &'static str, spoiled: &'static str, good: fn(&str) -> Good) -> Api {
    Api {
        name,
        collector: "vercel",
        probe: false,
        cap: 16 << 20,
        config: everything,
        spoiled,
        good,
    }
}

/// All that can be read of a project.
fn everything(base: &Url, _: Duration) -> Config {
    let mut config = with(|target| {
        target.vercel = Some(VercelProject {
            project: "shop".to_owned(),
            team: None,
            logs: true,
            log_retention: Duration::from_hours(1),
            cli: None,
            variables: true,
            domains: true,
        });
    });
    config.vercel.api = base.clone();
    config.vercel.web = base.clone();
    config
}

/// The newest deployment failed, so that the log of its build is read.
fn broken(path: &str) -> Good {
    if path.starts_with("/v7/deployments") {
        let list = good(path).body;
        let failed = r#"{"uid":"dpl_b","name":"shop","projectId":"prj_x","url":"shop-b.vercel.app","created":1764380100000,
            "createdAt":1764380100000,"readyState":"ERROR","state":"ERROR","target":"production","errorCode":"BUILD_UTILS_SPAWN_1",
            "errorMessage":"Command \"npm run build\" exited with 1","aliasError":null,"meta":{}},"#;
        return Good::json(list.replacen('[', &format!("[{failed}"), 1));
    }
    good(path)
}

fn good(path: &str) -> Good {
    let path = path.split('?').next().unwrap_or(path);
    Good::json(match path {
        "/v7/deployments" => {
            r#"{"deployments":[{"uid":"dpl_a","name":"shop","projectId":"prj_x","url":"shop-a.vercel.app","created":1764380000000,
            "createdAt":1764380000000,"ready":1764380060000,"readyState":"READY","state":"READY","readySubstate":"PROMOTED",
            "target":"production","aliasError":null,"meta":{"githubCommitSha":"3484a3fb816e0859fd6e1cea078d76385ff50625"}}],
            "pagination":{"count":1,"next":null,"prev":null}}"#
        }
        "/api/logs/request-logs" => r#"{"rows":[],"hasMoreRows":false}"#,
        "/v10/projects/prj_x/env" => {
            r#"{"envs":[{"id":"env_1","key":"STRIPE_KEY","type":"encrypted","target":["production"],"createdAt":1764380000000,
            "updatedAt":1764380000000}]}"#
        }
        "/v9/projects/prj_x/domains" => {
            r#"{"domains":[{"name":"www.shop.example","apexName":"shop.example","projectId":"prj_x","verified":true}],
            "pagination":{"count":1,"next":null,"prev":null}}"#
        }
        "/v5/domains" => {
            r#"{"domains":[{"id":"dom_1","name":"shop.example","verified":true,"expiresAt":null,"renew":false}],
            "pagination":{"count":1,"next":null,"prev":null}}"#
        }
        path if path.ends_with("/events") => {
            r#"[{"created":1764380100000,"type":"stderr","level":"error","text":"src/app.ts(3,7): error TS2322: no"}]"#
        }
        // What is listened to where the history has changed.
        path if path.ends_with("/runtime-logs") => "",
        _ => {
            r#"{"id":"prj_x","name":"shop","accountId":"team_x","targets":{"production":{"id":"dpl_a"}},"lastAliasRequest":null}"#
        }
    })
}
