//! A service on Railway through the built program: well, broken, unreadable, and with an hour that is spent.

use serde_json::{Value, json};
use tick::demo::{Fault, RAILWAY_PROJECT_TOKEN, RAILWAY_SERVICE, Site, Which};

use crate::spine::Stage;

fn stage() -> Stage {
    Stage::platform(("RAILWAY_TOKEN", RAILWAY_PROJECT_TOKEN), |world| {
        json!({
            "railway": { "api": world.railway_api() },
            "repos": { "shop": { "railway": { "service": RAILWAY_SERVICE } } },
            "retry": { "attempts": 1, "seconds": 0 },
        })
    })
}

fn blind(report: &Value) -> Vec<&str> {
    report["blind"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn a_look_tells_the_release_and_what_changed() {
    let stage = stage();
    let now = stage.world.now();
    stage.world.town().railway.variable("STRIPE_KEY", now);
    let (code, snapshot, text) = stage.json(&["collect", "--only", "railway"]);
    assert_eq!(code, Some(0), "{text}");
    let seen = &snapshot["collectors"][0];
    let head = stage.world.main_head().unwrap();
    assert_eq!(
        (&seen["outcome"], &seen["release_sha"]),
        (&json!("ok"), &json!(head)),
        "{text}"
    );
    let kinds: Vec<&Value> = snapshot["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| &change["kind"])
        .collect();
    assert_eq!(kinds, ["deployment", "variable"], "{text}");
    assert!(!text.contains(RAILWAY_PROJECT_TOKEN), "{text}");
    stage.world.finish().unwrap();
}

#[test]
fn a_crash_is_told_at_once_and_its_end_too() {
    let stage = stage();
    let railway = &stage.world.town().railway;
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    railway.line(
        stage.world.now() - chrono::TimeDelta::minutes(1),
        "error",
        "panic: no money left",
    );
    railway.status(Some("CRASHED"));
    let mut opened = 0;
    for _ in 0..2 {
        let (_, report, text) = stage.json(&["--json"]);
        assert!(blind(&report).is_empty(), "{text}");
        let events = report["events"].as_array().unwrap();
        opened += events.iter().filter(|event| event["what"] == "opened").count();
        stage.step(15);
    }
    assert_eq!(opened, 1, "the crash and what the service wrote are one cause");
    assert!(!stage.world.mail().take().unwrap().is_empty());
    stage.world.finish().unwrap();
}

#[test]
fn what_cannot_be_read_is_blindness_and_never_calm() {
    let stage = stage();
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    let status = |code| Fault::Status { code, performed: false };
    for fault in [
        status(500),
        Fault::Html,
        Fault::TruncatedJson,
        Fault::RedirectLoop,
        Fault::EndlessBody,
    ] {
        let api = Which::first("POST", "/graphql/v2").on(Site::Railway).always();
        stage.world.fault(api, fault.clone());
        for turn in 0..2 {
            let (code, report, text) = stage.json(&["--json"]);
            assert_eq!(code, Some(3), "{fault:?}\n{text}");
            let named = blind(&report);
            assert!(named.len() == 1 && named[0].starts_with("railway/"), "{named:?}");
            let told = stage.world.mail().take().unwrap();
            assert_eq!(told.len(), turn, "{fault:?}: told once, after the second look\n{text}");
            stage.step(15);
        }
        stage.world.town().calm();
        let (code, _, text) = stage.json(&["--json"]);
        assert_eq!(code, Some(0), "{text}");
        let told = stage.world.mail().take().unwrap();
        assert!(told.len() == 1 && told[0].subject.contains("again"), "{told:?}");
        // A quiet day: what comes and goes within one is told less.
        stage.step(24 * 60);
    }
    stage.world.finish().unwrap();
}

#[test]
fn an_error_in_a_good_status_is_blindness_too() {
    let stage = stage();
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.world.town().railway.refuse("Service", Some("Not Authorized"));
    stage.step(15);
    let (code, report, text) = stage.json(&["--json"]);
    assert_eq!(code, Some(3), "{text}");
    let named = blind(&report);
    assert!(named.len() == 1 && named[0].ends_with("(not-authorised)"), "{named:?}");
    stage.world.finish().unwrap();
}

#[test]
fn the_limit_of_the_hour_is_kept_from_tick_to_tick() {
    let stage = stage();
    let railway = &stage.world.town().railway;
    railway.limit(8, stage.world.now() + chrono::TimeDelta::minutes(40));
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    let asked = railway.asked().len();
    for _ in 0..2 {
        stage.step(15);
        let (code, report, text) = stage.json(&["--json"]);
        assert_eq!(code, Some(3), "{text}");
        let named = blind(&report);
        assert!(named.len() == 1 && named[0].ends_with("(rate-limited)"), "{named:?}");
    }
    assert_eq!(railway.asked().len(), asked, "nothing was asked meanwhile");
    stage.step(15);
    let (code, _, text) = stage.json(&["--json"]);
    assert_eq!(code, Some(0), "{text}");
    drop(stage.world.mail().take().unwrap());
    stage.world.finish().unwrap();
}
