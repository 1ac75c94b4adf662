//! Messages: each is sent once or waits until it can be, and none of them stops anything else.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::json;

use crate::{
    street::{Street, tracked},
    support::CLOSED_PORT,
};

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
    street.env(&format!("SMTP_URL=smtp://127.0.0.1:{CLOSED_PORT}\n"));
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

/// It takes a mail and never says so: the other mails of this tick would each wait as long.
#[test]
fn a_mail_server_that_stalls_is_asked_once_in_a_tick() {
    let street = troubled(json!({ "file": "mail" }));
    street.errors(
        "/shop",
        &[("bad order", 3, 1), ("no stock left", 3, 1), ("the till is shut", 3, 1)],
    );
    let (port, mails) = stalling_server();
    street.env(&format!("SMTP_URL=smtp://127.0.0.1:{port}\n"));
    let mut config = street.config();
    config["notify"] = json!({ "email": true, "from": "tick@acme.example", "to": ["owner@acme.example"] });
    street.configure(&config);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(mails.load(Ordering::SeqCst), 1, "{text}");
    assert_eq!(text.matches("unsent needs-you of").count(), 3, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("2 messages wait") && status.contains("1 message waits"),
        "{status}"
    );
}

/// A mail server that says nothing after the text of a mail, and how many it was given.
fn stalling_server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mails = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&mails);
    // Ends with the test's process; it waits on sockets of its own and holds nothing else.
    drop(std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            drop(std::thread::spawn(move || {
                let _gone = stream.write_all(b"220 hello\r\n");
                let mut words = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut words) {
                    let answer: &[u8] = match words.get(..read.min(4)).unwrap_or_default() {
                        b"DATA" => {
                            count.fetch_add(1, Ordering::SeqCst);
                            b"354 go on\r\n"
                        }
                        b"EHLO" | b"MAIL" | b"RCPT" | b"NOOP" | b"QUIT" => b"250 fine\r\n",
                        _ => continue,
                    };
                    let _gone = stream.write_all(answer);
                }
            }));
        }
    }));
    (port, mails)
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
