//! A project on Vercel through the built program: well, with a failed build, with an exception in its logs, unreadable.

use serde_json::{Value, json};
use tick::demo::{Fault, Site, VERCEL_TOKEN, Which, client, vercel::Build};

use crate::spine::Stage;

const TYPES: &str = "src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.";
const STACK: &str = "Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in total\n    return cart[\"total\"]\nKeyError: 'total'\n";

fn stage() -> Stage {
    Stage::platform(("VERCEL_TOKEN", VERCEL_TOKEN), |world| {
        json!({
            "vercel": { "api": world.vercel_url(), "web": world.vercel_url() },
            "repos": { "shop": { "vercel": { "project": "shop", "team": "team_acme" } } },
            "retry": { "attempts": 1, "seconds": 0 },
            "limits": { "collect_seconds": 5 },
        })
    })
}

fn build(stage: &Stage, state: &'static str, production: bool) {
    stage.world.town().vercel.build(Build {
        state,
        production,
        sha: "b".repeat(40),
        at: stage.world.now() - chrono::TimeDelta::minutes(1),
        log: TYPES.to_owned(),
    });
}

fn opened(report: &Value) -> usize {
    let events = report["events"].as_array().unwrap();
    events.iter().filter(|event| event["what"] == "opened").count()
}

#[test]
fn a_look_tells_the_release_what_changed_and_what_is_under_way() {
    let stage = stage();
    stage.world.town().vercel.variable("STRIPE_KEY", stage.world.now());
    build(&stage, "BUILDING", true);
    let (code, snapshot, text) = stage.json(&["collect", "--only", "vercel"]);
    assert_eq!(code, Some(0), "{text}");
    let seen = &snapshot["collectors"][0];
    let head = json!(stage.world.main_head().unwrap());
    assert_eq!(
        (&seen["outcome"], &seen["release_sha"]),
        (&json!("ok"), &head),
        "{text}"
    );
    assert!(
        seen["deploying_since"].is_string() && seen["variables"] == json!(["STRIPE_KEY"]),
        "{text}"
    );
    let changes = snapshot["changes"].as_array().unwrap();
    let kinds: Vec<&Value> = changes.iter().map(|change| &change["kind"]).collect();
    assert_eq!(kinds, ["deployment", "variable"], "{text}");
    for secret in [VERCEL_TOKEN, "a-value-nobody-may-keep"] {
        assert!(!text.contains(secret), "{text}");
    }
    stage.world.finish().unwrap();
}

#[test]
fn a_failed_production_build_is_one_incident_and_a_previews_none() {
    let stage = stage();
    build(&stage, "ERROR", false);
    for _ in 0..2 {
        let (code, report, text) = stage.json(&["--json"]);
        assert_eq!((code, opened(&report)), (Some(0), 0), "{text}");
        stage.step(15);
    }
    build(&stage, "ERROR", true);
    let mut all = 0;
    for _ in 0..3 {
        let (_, report, text) = stage.json(&["--json"]);
        assert!(report["blind"].as_array().is_none_or(Vec::is_empty), "{text}");
        all += opened(&report);
        stage.step(15);
    }
    assert_eq!(all, 1, "the failure and the lines of its build are one cause");
    drop(stage.world.mail().take().unwrap());
    stage.world.finish().unwrap();
}

#[test]
fn a_line_of_the_log_and_the_trackers_event_are_one_cause() {
    let stage = stage();
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    let event = json!({ "type": "KeyError", "message": "'total'", "stack": STACK, "route": "/cart" });
    let tracker = stage.world.tracker_url();
    client::request(tracker, "POST", "/api/events", &[], event.to_string().as_bytes()).unwrap();
    stage.step(1);
    let (code, snapshot, text) = stage.json(&["collect"]);
    assert_eq!(code, Some(0), "{text}");
    let signals = snapshot["signals"].as_array().unwrap();
    let of = |source: &str| signals.iter().find(|signal| signal["source"] == source).unwrap();
    let (log, tracked) = (of("vercel"), of("exceptions"));
    assert_eq!(log["signature"], tracked["signature"], "{text}");
    assert_eq!(
        (&log["kind"], &log["culprit"]["file"]),
        (&json!("log"), &json!("app/cart.py")),
        "{text}"
    );
    assert_eq!(log["release_sha"], json!(stage.world.main_head().unwrap()), "{text}");
    let (_, report, text) = stage.json(&["--json"]);
    assert_eq!(opened(&report), 1, "{text}");
    stage.step(15);
    // What the overlap of two looks shows again is told once.
    let (_, _, text) = stage.json(&["--json"]);
    let latest = std::fs::read(stage.home.join("signals/latest.json")).unwrap();
    let snapshot: Value = serde_json::from_slice(&latest).unwrap();
    assert_eq!(snapshot["signals"], json!([]), "{text}");
    drop(stage.world.mail().take().unwrap());
    stage.world.finish().unwrap();
}

#[test]
fn what_cannot_be_read_is_blindness_and_never_calm() {
    let stage = stage();
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    let status = |code| Fault::Status { code, performed: false };
    let all = "*";
    for (path, fault) in [
        (all, status(401)),
        (all, status(500)),
        (all, Fault::Html),
        (all, Fault::TruncatedJson),
        (all, Fault::DuplicateKeys),
        (all, Fault::RedirectLoop),
        (all, Fault::EndlessBody),
        ("/v7/deployments", status(403)),
        ("/api/logs/request-logs", Fault::Html),
        ("/v10/*", status(404)),
    ] {
        let which = Which::first("GET", path).on(Site::Vercel).always();
        stage.world.fault(which, fault.clone());
        let (code, report, text) = stage.json(&["--json"]);
        assert_eq!(code, Some(3), "{path} {fault:?}\n{text}");
        let blind = report["blind"].as_array().unwrap();
        assert!(
            blind.len() == 1 && blind[0].as_str().unwrap().starts_with("vercel/"),
            "{blind:?}"
        );
        assert!(!text.to_lowercase().contains("healthy"), "{text}");
        stage.world.town().calm();
        stage.step(15);
        let (code, _, text) = stage.json(&["--json"]);
        assert_eq!(code, Some(0), "{path} {fault:?}\n{text}");
        stage.step(15);
    }
    drop(stage.world.mail().take().unwrap());
    stage.world.finish().unwrap();
}

/// A program that prints what Vercel's own would, and where its token came from.
#[test]
fn vercels_own_program_helps_out_where_the_history_has_changed() {
    use std::os::unix::fs::PermissionsExt;
    let stage = stage();
    let program = stage.world.root().join("vercel");
    let line = json!({ "id": "log_1", "timestamp": stage.world.now().timestamp_millis() - 60_000, "level": "error",
                       "message": "Error: out of stock", "responseStatusCode": 500 });
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *{VERCEL_TOKEN}*) exit 9;; esac\ntest -n \"$VERCEL_TOKEN\" || exit 8\ncat <<'END'\n{line}\nEND\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = stage.home.join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["repos"]["shop"]["vercel"]["cli"] = json!(program);
    std::fs::write(&file, config.to_string()).unwrap();
    let history = Which::first("GET", "/api/logs/request-logs").on(Site::Vercel).always();
    stage.world.fault(
        history,
        Fault::Status {
            code: 404,
            performed: false,
        },
    );
    let (code, snapshot, text) = stage.json(&["collect", "--only", "vercel"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        snapshot["collectors"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("own program"),
        "{text}"
    );
    assert_eq!(snapshot["signals"][0]["title"], "Error: out of stock", "{text}");
    stage.world.finish().unwrap();
}
