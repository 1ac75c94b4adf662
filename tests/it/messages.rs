//! Messages: each is sent once or waits until it can be, and none of them stops anything else.

use std::net::TcpListener;

use serde_json::json;

use crate::street::{Street, tracked};

/// A street on which one repo is fine at first sight and has an error at the second look.
fn troubled(notify: serde_json::Value) -> Street {
    let mut street = Street::new(|url| {
        let mut config =
            json!({ "repos": { "shop": tracked(url, "/shop") }, "retry": { "attempts": 1, "seconds": 0 } });
        config["notify"] = notify;
        config
    });
    street.errors("/shop", &[]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street
}

fn nobody_listens() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_file_needs_no_recipient() {
    let street = troubled(json!({ "file": "mail" }));
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let mails = street.mails();
    assert_eq!(mails.len(), 1, "{mails:?}\n{text}");
    assert!(mails[0].contains("needs you"), "{mails:?}");
}

#[test]
fn without_a_channel_it_is_said_and_the_message_waits_for_one() {
    let mut street = troubled(json!({}));
    let (code, text) = street.run(&["config", "check"]);
    assert!(code == 0 && text.contains("no message goes anywhere"), "{text}");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("No message goes anywhere"), "{status}");
    assert!(status.contains("1 message waits"), "{status}");
    let id = only_incident(&street);
    let (_, show) = street.run(&["show", &id]);
    assert!(show.contains("needs-you: not sent: no channel is configured"), "{show}");
    assert!(!show.contains("needs-you: done"), "{show}");

    let mut config = street.config();
    config["notify"] = json!({ "file": "mail" });
    street.configure(&config);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(street.mails().len(), 1, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(!status.contains("message"), "{status}");
}

/// The page is down, its mail cannot go, another source is blind, and the blindness cannot be told either.
#[test]
fn a_mail_server_that_is_away_stops_nothing_and_is_no_bug() {
    let mut street = troubled(json!({ "file": "mail" }));
    street.env(&format!("SMTP_URL=smtp://127.0.0.1:{}\n", nobody_listens()));
    let mut config = street.config();
    config["notify"] = json!({ "email": true, "from": "tick@acme.example", "to": ["owner@acme.example"] });
    config["repos"]["other"] = tracked(&street.url(""), "/other");
    street.configure(&config);
    street.answer("/other/api/exceptions", 500, &"");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    for _ in 0..2 {
        street.step(15);
        street.errors("/shop", &[("bad order", 3, 1)]);
        let (code, text) = street.run(&[]);
        assert_eq!(code, 3, "the other source is blind\n{text}");
        assert!(text.contains("cannot connect to the mail server"), "{text}");
        assert!(!text.contains("bug"), "{text}");
    }
    street.step(15);
    street.answer(
        "/other/api/exceptions",
        200,
        &json!({ "release": null, "requests": 1, "exceptions": [] }),
    );
    let (code, text) = street.run(&[]);
    assert_eq!(code, 75, "nothing but the messages is wrong\n{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("3 messages wait since"), "{status}");
    assert!(status.contains("you move next"), "the incident was advanced\n{status}");
    // It comes back, here as a directory: each message once, in the order in which they were written.
    config["notify"] = json!({ "file": "mail" });
    street.configure(&config);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    street.run(&[]);
    let mails = street.mails();
    let each = ["needs you", "blind", "seen again"].map(|word| {
        let of = mails.iter().filter(|m| m.contains(&format!("] {word}")));
        of.count()
    });
    assert_eq!((mails.len(), each), (3, [1, 1, 1]), "{mails:?}");
}

#[test]
fn a_message_that_is_a_week_old_is_not_sent_any_more() {
    let mut street = troubled(json!({}));
    street.run(&[]);
    let id = only_incident(&street);
    street.step(8 * 24 * 60);
    street.errors("/shop", &[("bad order", 3, 1)]);
    let mut config = street.config();
    config["notify"] = json!({ "file": "mail" });
    street.configure(&config);
    let (_, text) = street.run(&[]);
    assert!(street.mails().is_empty(), "{text}");
    let (_, show) = street.run(&["show", &id]);
    assert!(show.contains("needs-you: given up: older than 7 days"), "{show}");
}

/// The tracker tells which release serves, but was first looked at half an hour ago; nobody tells of merges.
#[test]
fn every_message_says_what_changed_before_it_and_what_nobody_tells_of() {
    let mut street = troubled(json!({ "file": "mail" }));
    let serve = |street: &Street, digit: &str, errors: serde_json::Value| {
        let body = json!({ "release": digit.repeat(40), "requests": 100, "exceptions": errors });
        street.answer("/shop/api/exceptions", 200, &body);
    };
    serve(&street, "a", json!([]));
    street.run(&[]);
    street.step(15);
    let at = street.now.to_rfc3339();
    let error = json!([{ "type": "TypeError", "message": "no cart", "stack": null, "count": 3, "first_seen": at,
                         "last_seen": at, "route": "/" }]);
    serve(&street, "b", error);
    let (_, text) = street.run(&[]);
    let mails = street.mails();
    let mail: Vec<&str> = mails.last().unwrap().split_whitespace().collect();
    let mail = mail.join(" ");
    assert!(
        mail.contains(
            "before after 03:15 release bbbbbbb began to serve not known for the whole day: releases, merges"
        ),
        "a home of half an hour knows no yesterday\n{mail}\n{text}"
    );
    let (_, show) = street.run(&["show", &only_incident(&street)]);
    assert!(
        show.contains("before after 03:15 release bbbbbbb began to serve"),
        "{show}"
    );
}

fn only_incident(street: &Street) -> String {
    let db = rusqlite::Connection::open(street.home().join("state/tick.db")).unwrap();
    db.query_row("SELECT id FROM incident", [], |row| row.get(0)).unwrap()
}
