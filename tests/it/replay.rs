//! A stored tick is judged again: by another gate, of a snapshot that was changed, and when it is not there.

use std::fs;

use serde_json::json;

use crate::street::{Street, tracked};

/// Two looks; the second sees an error and wakes.
fn woken() -> Street {
    let mut street = Street::new(
        |url| json!({ "repos": { "shop": tracked(url, "/shop") }, "retry": { "attempts": 1, "seconds": 0 }, "notify": { "file": "mail" } }),
    );
    street.errors("/shop", &[]);
    street.run(&[]);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    street
}

#[test]
fn a_tick_is_judged_again_by_todays_gate() {
    let street = woken();
    let (code, text) = street.run(&["replay", "20261129T0315"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("today it would decide the same."), "{text}");
    assert!(text.contains("Gate the same: wake: shop/shop: "), "{text}");
    assert!(text.contains("Causes 1 cause, the same"), "{text}");

    let gate = street.home().join("collectors/gate.jq");
    fs::create_dir_all(gate.parent().unwrap()).unwrap();
    fs::write(&gate, r#"{"wake": false, "reasons": []}"#).unwrap();
    let (code, text) = street.run(&["replay", "latest"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("otherwise in 1 place"), "{text}");
    assert!(text.contains("now quiet"), "{text}");
}

#[test]
fn a_snapshot_that_was_changed_is_said_to_be() {
    let street = woken();
    let latest = street.home().join("signals/latest.json");
    let text = fs::read_to_string(&latest).unwrap();
    fs::write(&latest, text.replace("bad order", "good order")).unwrap();
    let (code, text) = street.run(&["replay", "latest"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("NOT as it was recorded"), "{text}");
    fs::write(&latest, "{").unwrap();
    let (code, text) = street.run(&["replay", "latest"]);
    assert_eq!(code, 75, "{text}");
}

#[test]
fn a_tick_that_is_not_kept_is_said_with_those_that_are() {
    let street = woken();
    for (named, says) in [
        ("20200101", "there is no snapshot of a tick"),
        ("../x", "there is no snapshot"),
    ] {
        let (code, text) = street.run(&["replay", named]);
        assert_eq!(code, 64, "{text}");
        assert!(
            text.contains(says) && text.contains("kept are, newest first: 20261129T031500Z-"),
            "{text}"
        );
    }
}

/// A page that is down at the first look and at the next, and a log with a panic.
fn down() -> Street {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": { "health": [{ "name": "front", "url": format!("{url}/page"), "fire_after": 3 }] } },
                "retry": { "attempts": 1, "seconds": 0 }, "notify": { "file": "mail" } })
    });
    street.answer("/page", 200, &"{}");
    street.run(&[]);
    street.answer("/page", 503, &"");
    for _ in 0..2 {
        street.step(15);
        street.run(&[]);
    }
    street
}

#[test]
fn a_tick_is_judged_again_by_todays_settings_and_the_difference_is_named() {
    let street = down();
    let second = "20261129T0330";
    let (_, text) = street.run(&["replay", second]);
    assert!(text.contains("today it would decide the same."), "{text}");

    let mut config = street.config();
    let probe = |config: &mut serde_json::Value, key: &str, value: serde_json::Value| {
        config["repos"]["shop"]["health"][0][key] = value;
    };
    probe(&mut config, "fire_after", json!(2));
    street.configure(&config);
    let (_, text) = street.run(&["replay", second]);
    assert!(text.contains("otherwise in 1 place"), "{text}");
    assert!(text.contains("then symptom; now open"), "{text}");
    assert!(text.contains("(by its fire_after is 2)"), "{text}");

    probe(&mut config, "expect", json!({ "status": [200, 503] }));
    street.configure(&config);
    let (_, text) = street.run(&["replay", second]);
    assert!(
        text.contains("HTTP 503 is among the statuses that are expected of it"),
        "{text}"
    );
    assert!(text.contains("now quiet"), "{text}");

    // What is not in the config is not seen.
    config["repos"]["shop"]["health"] = json!([{ "name": "stock", "url": street.url("/stock") }]);
    street.configure(&config);
    let (_, text) = street.run(&["replay", second]);
    assert!(
        text.contains("front of health/shop is not in the config any more"),
        "{text}"
    );
}

#[test]
fn a_silence_of_today_is_named_as_the_difference() {
    let mut street = down();
    street.step(15);
    street.run(&[]);
    let third = "20261129T0345";
    let (_, text) = street.run(&["replay", third]);
    assert!(text.contains("today it would decide the same."), "{text}");
    let (code, text) = street.run(&["silence", "shop", "--for", "2h", "--why", "moving"]);
    assert_eq!(code, 0, "{text}");
    let (_, text) = street.run(&["replay", third]);
    assert!(
        text.contains("now held") && text.contains("shop is silenced until"),
        "{text}"
    );
}

#[test]
fn a_line_is_judged_again_by_todays_patterns() {
    let mut street = Street::new(|_| json!({ "repos": {} }));
    let log = street.home().join("app.log");
    let patterns = |severity: &str, regex: &str| json!({ "version": 1, "patterns": [{ "id": "no-room", "regex": regex, "severity": severity, "kind": "runtime", "priority": 50 }] });
    let file = street.home().join("collectors/patterns.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, patterns("critical", "no room left").to_string()).unwrap();
    street.configure(&json!({ "repos": { "shop": { "logs": [{ "path": log }] } }, "notify": { "file": "mail" } }));
    fs::write(&log, "2026-11-29T02:59:00Z INFO begun\n").unwrap();
    street.run(&[]);
    street.step(15);
    fs::write(
        &log,
        "2026-11-29T02:59:00Z INFO begun\n2026-11-29T03:14:00Z ERROR no room left in the cellar\n",
    )
    .unwrap();
    street.run(&[]);
    let second = "20261129T0315";
    let (_, text) = street.run(&["replay", second]);
    assert!(text.contains("today it would decide the same."), "{text}");
    fs::write(&file, patterns("warning", "no room left").to_string()).unwrap();
    let (_, text) = street.run(&["replay", second]);
    assert!(
        text.contains("then critical; now warning (by pattern no-room says warning)"),
        "{text}"
    );
    assert!(text.contains("now quiet"), "{text}");
    fs::write(&file, patterns("critical", "no room at all").to_string()).unwrap();
    let (_, text) = street.run(&["replay", second]);
    assert!(
        text.contains("pattern no-room does not match the recorded text"),
        "{text}"
    );
}
