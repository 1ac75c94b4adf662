//! A clock that was wrong for a while: what it wrote loses nothing that comes after it.

use std::{fs, os::unix::fs::PermissionsExt};

use chrono::TimeDelta;
use serde_json::json;

use crate::street::Street;

/// A shop with one check that is fine, looked at once.
fn shop() -> Street {
    let mut street = Street::new(|_| {
        json!({ "mode": "observe", "repos": { "shop": { "exec": { "queue": { "program": "queue" } } } },
                "notify": { "file": "mail" } })
    });
    look(&mut street, true);
    street
}

/// The next tick, in which the check is fine or not.
fn look(street: &mut Street, fine: bool) {
    let (word, code) = if fine { ("OK", 0) } else { ("CRITICAL", 2) };
    let dir = street.home().join("collectors");
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("queue");
    fs::write(&file, format!("#!/bin/sh\necho 'QUEUE {word}'; exit {code}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, text) = street.run(&[]);
    assert!(code <= 1, "{text}");
    street.step(15);
}

/// Of each message so far the tag in its subject.
fn tags(street: &Street) -> Vec<&'static str> {
    let mails = street.mails();
    let tag = |mail: &String| {
        let subject = mail
            .lines()
            .find(|line| line.starts_with("Subject:"))
            .unwrap_or_default();
        let known = ["needs you", "over", "flaps"];
        *known.iter().find(|tag| subject.contains(**tag)).unwrap_or(&"other")
    };
    let mut tags: Vec<&str> = mails.iter().map(tag).filter(|tag| *tag != "other").collect();
    tags.sort_unstable();
    tags
}

#[test]
fn an_outage_after_one_that_a_wrong_clock_dated_ahead_is_told() {
    for ahead in [TimeDelta::hours(1), TimeDelta::days(1), TimeDelta::days(1500)] {
        let mut street = shop();
        let right = street.now;
        street.now += ahead;
        for fine in [false, false, true, true] {
            look(&mut street, fine);
        }
        assert_eq!(tags(&street), ["needs you", "over"], "{ahead}");
        street.now = right;
        for fine in [true, false, false] {
            look(&mut street, fine);
        }
        assert_eq!(tags(&street), ["needs you", "needs you", "over"], "{ahead}");
    }
}

#[test]
fn an_outage_that_a_wrong_clock_saw_begin_is_over_when_it_is() {
    let mut street = shop();
    let right = street.now;
    street.now += TimeDelta::days(1500);
    look(&mut street, false);
    look(&mut street, false);
    assert_eq!(tags(&street), ["needs you"]);
    street.now = right;
    look(&mut street, false);
    look(&mut street, false);
    assert_eq!(tags(&street), ["needs you"], "it is the same outage");
    for _ in 0..3 {
        look(&mut street, true);
    }
    assert_eq!(tags(&street), ["needs you", "over"]);
}

#[test]
fn an_outage_that_only_a_wrong_clock_saw_is_over_when_the_clock_is_right() {
    let mut street = shop();
    let right = street.now;
    street.now += TimeDelta::days(1500);
    look(&mut street, false);
    look(&mut street, false);
    street.now = right;
    for _ in 0..3 {
        look(&mut street, true);
    }
    assert_eq!(tags(&street), ["needs you", "over"]);
}
