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
