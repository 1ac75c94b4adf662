//! A disk on which nothing can be written: what only looks goes on, and what has to write says what failed.

use serde_json::json;

use crate::street::{Street, tracked};

/// The program in a process that may make no file longer than nothing.
fn full(street: &Street, args: &str, stdin: &str) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_tick");
    let (home, now) = (street.home(), street.now.to_rfc3339());
    let (home, now) = (home.display(), now.as_str());
    let line = format!("trap '' XFSZ; ulimit -f 0; exec {program} --home {home} --now {now} {args}");
    let done = assert_cmd::Command::new("sh")
        .args(["-c", &line])
        .env_clear()
        .env("HOME", street.home())
        .env("PATH", "/usr/bin:/bin")
        .write_stdin(stdin)
        .output()
        .unwrap();
    let text = [done.stdout, done.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    (
        done.status.code().unwrap_or(-1),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

#[test]
fn what_only_looks_needs_no_disk_that_can_be_written() {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
        "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    street.run(&[]);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    let (_, before) = street.run(&["status"]);
    let before = before.trim_start_matches("exit Some(0) ").to_owned();

    let (code, status) = full(&street, "status", "");
    assert_eq!(code, 0, "{status}");
    assert!(status.contains(&before), "{status}");
    assert!(
        status.contains("nothing can be written here now") && status.contains("no tick can run"),
        "{status}"
    );
    for verb in ["incidents", "replay latest", "config check", "gate"] {
        let (code, text) = full(&street, verb, "");
        assert!(code == 0 || (verb == "gate" && code == 10), "{verb}: {text}");
    }
    let (code, signed) = full(&street, "signature", "ValueError: bad order\n");
    assert!(code == 0 && signed.len() == 16, "{signed}");
    let (code, text) = full(&street, "redact", "password=Zebra77quark\n");
    assert!(code == 0 && !text.contains("Zebra77"), "{text}");
    let page = street.url("/page");
    street.answer("/page", 200, &"{}");
    let (code, text) = full(&street, &format!("look {page}"), "");
    assert!(code == 0 || code == 10, "{text}");

    // What has to write says so.
    let (code, text) = full(&street, "ignore 12345678 --for 2h --why known", "");
    assert_ne!(code, 70, "{text}");
    let (code, text) = full(&street, "", "");
    assert_eq!(code, 75, "{text}");
    assert!(text.contains("tick.db") || text.contains("signals"), "{text}");
}
