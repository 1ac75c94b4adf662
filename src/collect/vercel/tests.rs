//! The whole collector against a small server that answers by path; the parsers have their tests beside them.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use chrono::TimeDelta;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;
use crate::{
    collect::{Collected, HttpCache, SourceFacts, SourceKey, Sources, testing},
    config::{Config, VercelProject},
    model::signal::{ChangeKind, Severity, SignalKind},
    text::signature,
};

type Answers = Arc<Mutex<BTreeMap<String, (u16, String)>>>;

/// A project as the vendor's examples show it: one good release, and nothing else.
struct Vercel {
    answers: Answers,
    asked: Arc<Mutex<Vec<String>>>,
    config: Config,
    cursor: Option<String>,
}

fn at(minute: i64) -> DateTime<Utc> {
    testing::NOW.parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
}

fn millis(minute: i64) -> i64 {
    at(minute).timestamp_millis()
}

fn deployment(uid: &str, state: &str, created: i64) -> Value {
    let ready = (state == "READY").then(|| millis(created + 1));
    json!({
        "uid": uid, "name": "shop", "projectId": "prj_x", "url": format!("shop-{uid}.vercel.app"), "created": millis(created),
        "createdAt": millis(created), "ready": ready, "readyState": state, "state": state,
        "readySubstate": ready.map(|_| "PROMOTED"), "target": "production", "type": "LAMBDAS", "source": "git",
        "inspectorUrl": format!("https://vercel.com/acme/shop/{uid}"), "aliasError": null, "creator": { "uid": "u" },
        "meta": { "githubCommitSha": format!("{:040x}", uid.len()), "githubCommitMessage": "feat: b\n\nmore", "githubCommitRef": "main" },
    })
}

fn list(items: &[Value]) -> Value {
    json!({ "deployments": items, "pagination": { "count": items.len(), "next": null, "prev": null } })
}

impl Vercel {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url: url::Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let (answers, asked) = (Answers::default(), Arc::<Mutex<Vec<String>>>::default());
        let (known, heard) = (Arc::clone(&answers), Arc::clone(&asked));
        drop(std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 8192];
                let Ok(n) = stream.read(&mut request) else { continue };
                let request = String::from_utf8_lossy(&request[..n]).into_owned();
                let target = request.split(' ').nth(1).unwrap_or_default();
                heard.lock().unwrap().push(target.to_owned());
                let path = target.split('?').next().unwrap_or_default();
                let known = known.lock().unwrap();
                let found = known.get(target).or_else(|| known.get(path)).cloned();
                let (status, body) =
                    found.unwrap_or((404, r#"{"error":{"code":"not_found","message":"no"}}"#.to_owned()));
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _gone = stream.write_all((head + &body).as_bytes());
            }
        }));
        let mut target = testing::target();
        target.vercel = Some(VercelProject {
            project: "shop".to_owned(),
            team: Some("team_x".to_owned()),
            logs: true,
            log_retention: std::time::Duration::from_hours(1),
            cli: None,
            variables: true,
            domains: true,
        });
        let mut config = testing::config(target);
        config.vercel.api = url.clone();
        config.vercel.web = url;
        let token = SecretString::from("vercel-token-of-nobody");
        config.secrets.values.insert("VERCEL_TOKEN".to_owned(), token);
        let vercel = Self {
            answers,
            asked,
            config,
            cursor: None,
        };
        vercel.serves("dpl_a", None);
        vercel.answer("/v7/deployments", &list(&[deployment("dpl_a", "READY", -90)]));
        vercel.answer("/api/logs/request-logs", &json!({ "rows": [], "hasMoreRows": false }));
        vercel.answer("/v10/projects/prj_x/env", &json!({ "envs": [] }));
        vercel.answer("/v9/projects/prj_x/domains", &json!({ "domains": [] }));
        vercel
    }

    fn answer(&self, path: &str, body: &Value) {
        self.refuse(path, 200, &body.to_string());
    }

    fn refuse(&self, path: &str, status: u16, body: &str) {
        let answer = (status, body.to_owned());
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    fn serves(&self, id: &str, alias: Option<&Value>) {
        let project = json!({ "id": "prj_x", "name": "shop", "accountId": "team_x",
            "targets": { "production": { "id": id } }, "lastAliasRequest": alias });
        self.answer("/v9/projects/shop", &project);
    }

    fn look(&mut self) -> Collected {
        let key = SourceKey {
            repo: "web".parse().unwrap(),
            target: "web".to_owned(),
            collector: "vercel".to_owned(),
        };
        let mut sources = Sources::new();
        let facts = SourceFacts {
            last_ok_at: None,
            cursor: self.cursor.take(),
        };
        sources.insert(key.clone(), facts);
        let collected = testing::run_with(&self.config, &sources, &HttpCache::default());
        self.cursor = collected.cursors.get(&key).cloned();
        collected
    }
}

fn outcome(collected: &Collected) -> (OutcomeKind, &str) {
    let outcome = &collected.collectors[0];
    (outcome.outcome, outcome.cause.as_str())
}

#[test]
fn an_empty_list_beside_a_deployment_that_serves_is_not_read() {
    let mut vercel = Vercel::new();
    vercel.answer("/v7/deployments", &list(&[]));
    let outcome = vercel.look().collectors.remove(0);
    assert_eq!(
        (outcome.outcome, outcome.cause.as_str()),
        (OutcomeKind::Degraded, "empty"),
        "{}",
        outcome.detail
    );
    assert!(!outcome.told.contains(&ChangeKind::Deployment));
    vercel.answer(
        "/v7/deployments",
        &json!({ "error": { "code": "forbidden", "message": "no" } }),
    );
    let outcome = vercel.look().collectors.remove(0);
    assert!(
        outcome
            .detail
            .contains("the deployments of Vercel: refused (forbidden)"),
        "{}",
        outcome.detail
    );
}

#[test]
fn what_changed_is_told_only_of_a_list_that_was_read_whole() {
    let mut vercel = Vercel::new();
    let mut told = |items: &[Value]| {
        vercel.answer("/v7/deployments", &list(items));
        vercel.look().collectors[0].told.contains(&ChangeKind::Deployment)
    };
    let good = deployment("dpl_a", "READY", -90);
    assert!(told(std::slice::from_ref(&good)));
    let mut unreadable = deployment("dpl_bb", "READY", -30);
    unreadable["readyState"] = json!("A_NEW_STATE");
    unreadable["state"] = json!("A_NEW_STATE");
    assert!(!told(&[unreadable, good]));
    assert!(!told(&[deployment("dpl_ccc", "READY", -30)]), "dpl_a serves");
    vercel.answer("/v9/projects/prj_x/domains", &json!({ "pagination": null }));
    let detail = vercel.look().collectors[0].detail.clone();
    assert!(
        detail.contains("the domains of Vercel: the answer holds no list of them"),
        "{detail}"
    );
}

#[test]
fn a_project_that_is_well_is_one_good_outcome() {
    let mut vercel = Vercel::new();
    let collected = vercel.look();
    assert_eq!(outcome(&collected), (OutcomeKind::Ok, ""), "{:?}", collected.collectors);
    assert_eq!(collected.signals, []);
    assert_eq!(
        collected.collectors[0].release_sha.as_ref().unwrap().as_str(),
        format!("{:040x}", 5)
    );
    assert_eq!(collected.changes[0].what, "a deployment went live (0000000, feat: b)");
    let asked = vercel.asked.lock().unwrap().clone();
    for call in asked.iter().filter(|call| !call.starts_with("/api/logs")) {
        assert!(call.contains("teamId=team_x"), "{call}");
    }
    assert!(!asked.iter().any(|call| call.contains("decrypt")), "{asked:?}");
}

#[test]
fn a_failed_production_deployment_is_told_with_the_lines_of_its_build() {
    let mut vercel = Vercel::new();
    let mut bad = deployment("dpl_bb", "ERROR", -30);
    bad["errorCode"] = json!("BUILD_UTILS_SPAWN_1");
    bad["errorMessage"] = json!("Command \"npm run build\" exited with 1");
    vercel.answer("/v7/deployments", &list(&[bad, deployment("dpl_a", "READY", -90)]));
    let types = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.";
    let event = |n: u64, kind: &str, text: &str| json!({ "created": n, "type": kind, "text": text, "level": (kind == "stderr").then_some("error") });
    let events = json!([
        event(1, "stdout", "Running \"npm run build\""),
        event(2, "stderr", types),
        event(3, "exit", "exited")
    ]);
    vercel.answer("/v3/deployments/dpl_bb/events", &events);
    let collected = vercel.look();
    assert_eq!(outcome(&collected), (OutcomeKind::Ok, ""));
    let kinds: Vec<_> = collected.signals.iter().map(|s| (s.kind, s.severity)).collect();
    assert_eq!(
        kinds,
        [(SignalKind::Deploy, Severity::Error), (SignalKind::Ci, Severity::Error)]
    );
    assert_eq!(collected.signals[1].signature, signature(types).signature);
    assert_eq!(
        collected.signals[1].url.as_deref(),
        Some("https://vercel.com/acme/shop/dpl_bb")
    );
    // Without its log the failure is told all the same, and that the log is missing.
    vercel.refuse("/v3/deployments/dpl_bb/events", 500, "{}");
    let collected = vercel.look();
    assert_eq!(outcome(&collected), (OutcomeKind::Degraded, "http-500"));
    assert_eq!(collected.signals.len(), 1);
}

#[test]
fn previews_builds_and_ways_back_are_told_apart() {
    let mut vercel = Vercel::new();
    let mut preview = deployment("dpl_p", "ERROR", -5);
    preview["target"] = Value::Null;
    let building = deployment("dpl_building", "BUILDING", -4);
    let newer = deployment("dpl_newer", "READY", -30);
    vercel.answer(
        "/v7/deployments",
        &list(&[preview, building, newer, deployment("dpl_a", "READY", -90)]),
    );
    let request = json!({ "fromDeploymentId": "dpl_newer", "toDeploymentId": "dpl_a", "jobStatus": "succeeded",
                          "requestedAt": millis(-10), "type": "rollback" });
    vercel.serves("dpl_a", Some(&request));
    let collected = vercel.look();
    assert_eq!(collected.signals, []);
    let told = &collected.collectors[0];
    assert_eq!(told.deploying_since, Some(at(-4)));
    assert_eq!(told.release_sha.as_ref().unwrap().as_str(), format!("{:040x}", 5));
    let mut changes: Vec<_> = collected.changes.iter().map(|change| change.at).collect();
    changes.sort();
    assert_eq!(changes, [at(-29), at(-10)]);
    // Built well, and refused by a check: no line of its build says so, and none is asked for.
    let mut refused = deployment("dpl_r", "READY", -3);
    refused["readySubstate"] = json!("STAGED");
    refused["checksConclusion"] = json!("failed");
    vercel.answer("/v7/deployments", &list(&[refused, deployment("dpl_a", "READY", -90)]));
    let collected = vercel.look();
    assert!(
        collected.signals[0]
            .message
            .contains("the checks of the deployment failed"),
        "{:?}",
        collected.signals
    );
    assert_eq!(
        (collected.signals.len(), outcome(&collected)),
        (1, (OutcomeKind::Ok, ""))
    );
    // A state that is not known is no sign of health.
    vercel.answer(
        "/v7/deployments",
        &list(&[deployment("dpl_z", "MELTED", -3), deployment("dpl_a", "READY", -90)]),
    );
    assert_eq!(outcome(&vercel.look()), (OutcomeKind::Degraded, "shape"));
}

#[test]
fn every_line_is_told_once_and_with_its_release() {
    let mut vercel = Vercel::new();
    let row = |minute: i64, message: &str| {
        json!({ "requestId": format!("r{minute}"), "timestamp": at(minute).to_rfc3339(), "deploymentId": "dpl_a", "requestMethod": "GET",
                "requestPath": "/orders", "statusCode": 500, "logs": [{ "level": "error", "message": message }] })
    };
    let trace =
        "TypeError: Cannot read properties of undefined (reading 'total')\n    at price (/var/task/src/cart.js:12:7)";
    let rows = json!({ "rows": [row(-2, trace), row(-10, trace), row(-12, "Error: connect ECONNREFUSED 10.0.0.5:5432")], "hasMoreRows": false });
    vercel.answer("/api/logs/request-logs", &rows);
    let collected = vercel.look();
    let signed = |text: &str| signature(text).signature;
    let found = collected.signals.iter().find(|s| s.signature == signed(trace)).unwrap();
    assert_eq!(
        (found.count, found.kind, found.release_sha.is_some()),
        (2, SignalKind::Log, true)
    );
    assert_eq!(collected.signals.len(), 2, "{:?}", collected.signals);
    // What the overlap of two looks shows again is old.
    vercel.answer(
        "/api/logs/request-logs",
        &json!({ "rows": [row(-2, trace)], "hasMoreRows": false }),
    );
    assert_eq!(vercel.look().signals, []);
    // A look that comes too late says what nobody saw.
    vercel.cursor = Some(json!({ "logs_until": at(-180) }).to_string());
    let collected = vercel.look();
    assert_eq!(outcome(&collected), (OutcomeKind::Degraded, "gap"));
    assert!(
        collected.collectors[0]
            .detail
            .contains("2026-11-29 00:00 UTC to 2026-11-29 02:00 UTC")
    );
    assert_eq!(outcome(&vercel.look()), (OutcomeKind::Ok, ""), "the gap is told once");
}

#[test]
fn a_history_of_another_shape_is_no_calm_and_the_stream_helps_out() {
    let mut vercel = Vercel::new();
    let stream = "/v1/projects/prj_x/deployments/dpl_a/runtime-logs";
    let line = json!({ "domain": "shop.example", "level": "fatal", "message": "panic: out of stock", "messageTruncated": false,
        "requestMethod": "GET", "requestPath": "/", "responseStatusCode": 0, "rowId": "1", "source": "serverless", "timestampInMs": millis(-1) });
    vercel.refuse(stream, 200, &format!("{line}\n"));
    for answer in [json!({ "entries": [] }), json!([1]), json!({ "rows": [{ "when": 1 }] })] {
        vercel.answer("/api/logs/request-logs", &answer);
        let collected = vercel.look();
        assert_eq!(outcome(&collected), (OutcomeKind::Degraded, "shape"), "{answer}");
        assert_eq!(collected.signals.len(), 1, "{answer}");
        let memory: Memory = serde_json::from_str(vercel.cursor.as_ref().unwrap()).unwrap();
        assert_eq!(memory.logs_until, None, "what was not read stays to be read");
    }
    // A refusal is no change of the call: nothing else is tried.
    vercel.refuse(
        "/api/logs/request-logs",
        403,
        r#"{"error":{"code":"forbidden","message":"no"}}"#,
    );
    let collected = vercel.look();
    assert_eq!(
        (outcome(&collected), collected.signals.len()),
        ((OutcomeKind::Degraded, "http-403"), 0)
    );
}

#[test]
fn variables_are_told_by_their_names_alone() {
    let mut vercel = Vercel::new();
    let variable = |key: &str, created: i64, updated: i64, target: Value| {
        json!({ "id": key, "key": key, "value": "the-value-of-it", "type": "plain", "target": target,
                "createdAt": millis(created), "updatedAt": millis(updated) })
    };
    let day = 24 * 60;
    let old = variable("OLD", -90 * day, -80 * day, json!(["production"]));
    let new = variable("PAYMENT_URL", -30, -30, json!(["production", "preview"]));
    let changed = variable("STOCK_URL", -90 * day, -20, json!("production"));
    let preview = variable("PREVIEW_ONLY", -10, -10, json!(["preview"]));
    vercel.answer(
        "/v10/projects/prj_x/env",
        &json!({ "envs": [old, new, changed, preview] }),
    );
    let told = |collected: &Collected| -> Vec<String> {
        let all = collected.changes.iter();
        all.filter(|c| c.kind == ChangeKind::Variable)
            .map(|c| c.key.clone())
            .collect()
    };
    let collected = vercel.look();
    assert_eq!(told(&collected), ["PAYMENT_URL", "STOCK_URL"]);
    let set = collected.collectors[0].variables.clone().unwrap();
    assert_eq!(Vec::from_iter(set), ["OLD", "PAYMENT_URL", "STOCK_URL"]);
    let all = format!("{collected:?}{:?}", vercel.cursor);
    assert!(!all.contains("the-value-of-it"));
}

#[test]
fn a_domain_that_ends_is_told_in_time() {
    let mut vercel = Vercel::new();
    let served = |name: &str, verified: bool| json!({ "name": name, "apexName": "shop.example", "projectId": "prj_x", "verified": verified });
    vercel.answer(
        "/v9/projects/prj_x/domains",
        &json!({ "domains": [served("shop.example", true)] }),
    );
    let day = 24 * 60;
    let cases = [
        (60, false, None),
        (
            20,
            false,
            Some((Severity::Warning, "the domain shop.example expires on 2026-12-19")),
        ),
        (
            5,
            false,
            Some((Severity::Error, "the domain shop.example expires on 2026-12-04")),
        ),
        (5, true, None),
        (
            -1,
            true,
            Some((Severity::Critical, "the domain shop.example expired on 2026-11-28")),
        ),
    ];
    for (days, renew, expected) in cases {
        let domain = json!({ "name": "shop.example", "expiresAt": millis(days * day), "renew": renew });
        vercel.answer("/v5/domains", &json!({ "domains": [domain] }));
        let collected = vercel.look();
        let told: Vec<_> = collected
            .signals
            .iter()
            .map(|s| (s.severity, s.title.as_str()))
            .collect();
        assert_eq!(told, Vec::from_iter(expected), "{days} {renew}");
        let kinds = collected
            .changes
            .iter()
            .filter(|c| c.kind == ChangeKind::Expiry)
            .count();
        assert_eq!(kinds, usize::from(expected.is_some()));
    }
    vercel.answer(
        "/v9/projects/prj_x/domains",
        &json!({ "domains": [served("www.shop.example", false)] }),
    );
    vercel.answer("/v5/domains", &json!({ "domains": [] }));
    assert_eq!(vercel.look().signals[0].evidence["class"], "unverified");
}

#[test]
fn a_refusal_says_how_it_is_mended_and_pages_come_to_an_end() {
    let mut vercel = Vercel::new();
    let code = |code: &str, more: &str| format!(r#"{{"error":{{"code":"{code}","message":"no"{more}}}}}"#);
    for (status, body, cause, mend) in [
        (
            401,
            code("not_authenticated", ""),
            "http-401",
            "VERCEL_TOKEN is wrong or has expired",
        ),
        (
            403,
            code("forbidden", r#","invalidToken":true"#),
            "http-403",
            "VERCEL_TOKEN is wrong or has expired",
        ),
        (
            403,
            code("forbidden", ""),
            "http-403",
            "`team` names who owns the project",
        ),
        (404, code("not_found", ""), "http-404", "check `project` and `team`"),
        (429, code("rate_limited", ""), "rate-limited", "it comes back by itself"),
        (200, "<html>".to_owned(), "not-json", ""),
    ] {
        vercel.refuse("/v9/projects/shop", status, &body);
        let collected = vercel.look();
        let told = &collected.collectors[0];
        assert_eq!(told.outcome, OutcomeKind::Failed);
        assert!(told.detail.contains(mend), "{}", told.detail);
        if status != 200 {
            assert_eq!(told.cause, cause);
        }
        assert!(vercel.cursor.is_none(), "{status}");
    }
    let mut vercel = Vercel::new();
    vercel.serves("dpl_never", None);
    let page = |next: i64| json!({ "deployments": [deployment("dpl_bb", "READY", -90)], "pagination": { "count": 1, "next": next, "prev": null } });
    vercel.answer("/v7/deployments", &page(millis(-90)));
    let collected = vercel.look();
    assert_eq!(outcome(&collected), (OutcomeKind::Degraded, "pages"));
    assert!(
        collected.collectors[0].detail.contains("lead back"),
        "{:?}",
        collected.collectors
    );
    assert!(
        vercel
            .asked
            .lock()
            .unwrap()
            .iter()
            .filter(|call| call.starts_with("/v7"))
            .count()
            <= 3
    );
}
