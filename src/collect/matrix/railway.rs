//! Railway under the faults: one column a query, for each is a request of its own, although all go to one address. Beside
//! the faults that every API can have, those that only an API has which reports errors with HTTP 200.

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::{
    apis::{Api, TOKEN, with},
    faults::Good,
};
use crate::config::{Config, RailwayToken, RailwayUse};

pub(super) const APIS: [Api; 10] = [
    query("token", " Token ", of_project, serving),
    query("environments", " Environments ", of_account, serving),
    query("services", " Services ", of_account, serving),
    query("service", " Service ", of_project, serving),
    query("events", " Events ", of_project, unbuilt),
    query("build-log", " BuildLogs ", of_project, unbuilt),
    query("deploy-log", " DeploymentLogs ", of_project, unhealthy),
    query("runtime-log", " RuntimeLogs ", of_project, serving),
    query("http-log", " HttpLogs ", of_project, serving),
    query("variables", " Variables ", of_project, serving),
];

const fn query(
    name: &'static str,
    spoiled: &'static str,
    config: fn(&Url, Duration) -> Config,
    good: fn(&str) -> Good,
) -> Api {
    Api {
        name,
        collector: "railway",
        probe: false,
        cap: 16 << 20,
        config,
        spoiled,
        good,
    }
}

fn of_project(base: &Url, _: Duration) -> Config {
    let variable = "RAILWAY_TOKEN".to_owned();
    used(
        base,
        None,
        RailwayToken::Project {
            variable,
            value: TOKEN.into(),
        },
    )
}

/// A token of an account opens more than one project, so the one that is meant is named.
fn of_account(base: &Url, _: Duration) -> Config {
    let variable = "RAILWAY_API_TOKEN".to_owned();
    used(
        base,
        Some("p"),
        RailwayToken::Account {
            variable,
            value: TOKEN.into(),
        },
    )
}

fn used(base: &Url, project: Option<&str>, token: RailwayToken) -> Config {
    let mut config = with(|target| {
        target.railway = Some(RailwayUse {
            service: "shop".to_owned(),
            project: project.map(str::to_owned),
            environment: None,
            token: Some(token),
            filter: None,
            stderr_is_error: true,
        });
    });
    config.railway_api = base.join("/graphql/v2").unwrap();
    config
}

/// A service whose newest deployment serves.
fn serving(place: &str) -> Good {
    answer(place, &json!([deployment("d1", "SUCCESS", 0)]), "")
}

/// One whose newest deployment could not be built.
fn unbuilt(place: &str) -> Good {
    failed(place, "BUILD_IMAGE")
}

/// One whose newest deployment was built and did not answer.
fn unhealthy(place: &str) -> Good {
    failed(place, "HEALTHCHECK")
}

fn failed(place: &str, step: &str) -> Good {
    let both = json!([deployment("d2", "FAILED", 20), deployment("d1", "SUCCESS", 0)]);
    answer(place, &both, step)
}

fn deployment(id: &str, status: &str, minute: u32) -> Value {
    json!({ "node": {
        "id": id, "status": status, "createdAt": format!("2026-11-29T02:{minute:02}:00Z"),
        "statusUpdatedAt": format!("2026-11-29T02:{:02}:00Z", minute + 1), "canRollback": false,
        "deploymentStopped": status != "SUCCESS", "url": null, "staticUrl": "shop.example", "meta": { "commitHash": "c".repeat(40) },
    } })
}

fn answer(place: &str, deployments: &Value, step: &str) -> Good {
    let line = |message: &str| json!([{ "timestamp": "2026-11-29T02:50:00Z", "message": message, "severity": "info" }]);
    let last = json!({ "hasNextPage": false, "endCursor": "c0" });
    let data = match place.split(' ').nth(1).unwrap_or_default() {
        "Token" => json!({ "projectToken": {
            "projectId": "p", "environmentId": "e", "project": { "name": "acme" }, "environment": { "name": "production" },
        } }),
        "Environments" => json!({ "environments": {
            "edges": [{ "node": { "id": "e", "name": "production" } }], "pageInfo": last,
        } }),
        "Services" => json!({ "environment": { "serviceInstances": {
            "edges": [{ "node": { "serviceId": "s", "serviceName": "shop" } }], "pageInfo": last,
        } } }),
        "Service" => json!({
            "serviceInstance": { "cronSchedule": null, "activeDeployments": [{ "id": "d1" }] },
            "deployments": { "edges": deployments },
        }),
        "Events" => json!({ "deploymentEvents": { "edges": [
            { "node": { "step": step, "completedAt": null, "payload": { "error": "it failed", "reason": null } } },
        ] } }),
        "BuildLogs" => json!({ "buildLogs": line("error: no such module") }),
        "DeploymentLogs" => json!({ "deploymentLogs": line("Error: no port is open") }),
        "RuntimeLogs" => json!({ "environmentLogs": line("listening") }),
        "HttpLogs" => json!({ "httpLogs": [{
            "timestamp": "2026-11-29T02:50:00Z", "method": "GET", "path": "/cart", "httpStatus": 502,
            "responseDetails": "connection refused", "upstreamErrors": "[]", "totalDuration": 12,
        }] }),
        "Variables" => json!({ "environment": { "variables": {
            "edges": [{ "node": { "name": "MODE", "serviceId": "s", "updatedAt": "2026-11-29T02:00:00Z" } }], "pageInfo": last,
        } } }),
        other => panic!("nobody asks {other:?}"),
    };
    Good::json(json!({ "data": data }).to_string())
}

/// The name of the query that a request asks for.
pub(super) fn operation(request: &str) -> Option<String> {
    let (_, body) = request.split_once("\r\n\r\n")?;
    let asked: Value = serde_json::from_str(body).ok()?;
    Some(asked.get("operationName")?.as_str()?.to_owned())
}

/// What such an API says with HTTP 200 although it gives no answer, or not the whole one. `None`: no fault of this kind.
pub(super) fn spoil(fault: &str, good: &Good, before: usize) -> Option<Good> {
    if let Some(kind) = fault.strip_prefix("errors-") {
        let (message, code) = match kind {
            "no-right" => ("Not Authorized", "INTERNAL_SERVER_ERROR"),
            "bad-token" => ("Project Token not found", "UNAUTHENTICATED"),
            "two-factor" => ("Two Factor Authentication Required", ""),
            "gone" => ("Deployment not found", ""),
            "limit" => ("You have been rate limited", "RATE_LIMITED"),
            "field" => ("Cannot query field \"a\" on type \"B\".", "GRAPHQL_VALIDATION_FAILED"),
            "inside" | "beside" => ("Problem processing request", "INTERNAL_SERVER_ERROR"),
            _ => panic!("no such fault: {fault}"),
        };
        let mut whole: Value = serde_json::from_str(&good.body).unwrap();
        if kind != "beside" {
            whole["data"] = Value::Null;
        }
        whole["errors"] = json!([{ "message": message, "extensions": { "code": code } }]);
        return Some(Good::json(whole.to_string()));
    }
    let end = match fault {
        "no-data" => return Some(Good::json(r#"{"data":null}"#)),
        "no-errors" => return Some(Good::json(r#"{"data":null,"errors":[]}"#)),
        // Every page says that one more follows.
        "cursor-itself" => json!("c1"),
        "cursor-circle" => json!(format!("c{}", before % 2)),
        "cursor-on" => json!(format!("c{before}")),
        "cursor-missing" => Value::Null,
        _ => return None,
    };
    let last = r#""pageInfo":{"endCursor":"c0","hasNextPage":false}"#;
    assert!(good.body.contains(last), "no list of several pages: {}", good.body);
    let more = format!(r#""pageInfo":{}"#, json!({ "endCursor": end, "hasNextPage": true }));
    Some(Good::json(good.body.replace(last, &more)))
}
