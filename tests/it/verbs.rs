//! What a person says to tick: it works where it has to, says what was wrong with the command, and calls nothing a bug
//! that is none.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::street::{Street, tracked};

/// One repo with an incident that a person has.
fn with_incident() -> Street {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    assert_eq!(street.run(&[]).0, 0);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    street
}

fn cause() -> String {
    tick::text::signature("ValueError: bad order").signature.to_string()
}

#[track_caller]
fn says(street: &Street, args: &[&str], code: i32, words: &[&str]) {
    let (is, text) = street.run(args);
    assert_eq!(is, code, "tick {args:?}\n{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not said by tick {args:?}\n{text}");
    }
    assert!(!text.contains("a bug in tick"), "{text}");
}

#[test]
fn a_wrong_command_is_told_as_one() {
    let street = with_incident();
    let id = format!("{}-1", cause());
    let short = &cause()[..8];
    says(&street, &["approve", short], 64, &["no pushed head", "tick show"]);
    for args in [
        &["show", &format!("{}-99", cause())][..],
        &["retry", &format!("{}-99", cause())],
        &["repair", "--incident", &format!("{}-7", cause())],
    ] {
        says(&street, args, 64, &["there is no incident"]);
    }
    says(&street, &["show", "ffffffff"], 64, &["nothing is known"]);
    says(&street, &["show", "a.. "], 64, &["neither an incident nor"]);
    says(&street, &["retry", &id, "--keep-branch"], 64, &["no GitHub repository"]);
    let (_, show) = street.run(&["show", &id]);
    assert!(!show.contains("retry: by a person"), "it did not happen\n{show}");
    says(
        &street,
        &["pause", "nosuchrepo"],
        64,
        &["no repo is called", "there is: shop"],
    );
    says(&street, &["--dry-run", "pause"], 64, &["--dry-run before a verb"]);
    assert!(!street.home().join("state/paused").exists());
    let ignore = |time| vec!["ignore", short, "--for", time, "--why", "x"];
    says(&street, &ignore("9999999d"), 64, &["longer than 3650 days"]);
    says(&street, &ignore("2x"), 64, &["is not a time"]);
    says(&street, &["gate", "/no/such/file"], 64, &["read the snapshot"]);
    let (_, hidden) = street.run(&["--nope"]);
    assert!(!hidden.contains("--now"), "{hidden}");
    says(&street, &["resume", "nosuchrepo"], 64, &["no repo is called"]);
    says(&street, &["status"], 0, &["shop observe UNHEALTHY"]);
    says(
        &street,
        &["show", &id, "--sent"],
        0,
        &["sent Subject: [shop] needs you: ValueError"],
    );
}

#[test]
fn a_resume_says_what_it_ended() {
    let street = with_incident();
    says(&street, &["pause", "shop", "--why", "deploying"], 0, &["Paused: shop"]);
    says(&street, &["status"], 0, &["stopped: deploying"]);
    says(&street, &["resume"], 0, &["the pause of shop", "deploying"]);
    says(&street, &["resume"], 0, &["Nothing stopped tick"]);
}

/// The stop switch and the look at what happened need neither the scheduler's secrets nor a config without a fault.
#[test]
fn stopping_and_looking_need_no_secret_and_no_right_config() {
    let street = with_incident();
    let mut config = street.config();
    config["repos"]["shop"]["health"] =
        json!([{ "url": street.url("/page"), "headers": { "Authorization": "A_SECRET_OF_THE_SCHEDULER" } }]);
    street.configure(&config);
    says(&street, &[], 78, &["A_SECRET_OF_THE_SCHEDULER"]);
    let id = format!("{}-1", cause());
    for args in [
        &["status"][..],
        &["incidents"],
        &["show", &id],
        &["ignore", &id, "--for", "1h", "--why", "known"],
        &["audit", "verify"],
        &["ledger", "export"],
    ] {
        says(&street, args, 0, &[]);
    }
    let file = street.home().join("config.json");
    let paused = street.home().join("state/paused.shop");
    let everything = street.home().join("state/paused");
    let spoil: [&dyn Fn(); 5] = [
        &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap(),
        &|| {
            fs::write(
                &file,
                r#"{ "mode": "brave", "repos": { "shop": { "github": "no slash" } } }"#,
            )
            .unwrap();
        },
        &|| fs::write(&file, "{ not JSON").unwrap(),
        &|| fs::write(&file, b"\xff\xfe").unwrap(),
        &|| fs::remove_file(&file).unwrap(),
    ];
    for spoil in spoil {
        spoil();
        says(&street, &["status"], 78, &[]);
        says(&street, &["pause", "--why", "stop"], 0, &["Paused: everything"]);
        assert!(everything.exists());
        says(&street, &["pause", "shop"], 0, &["Paused: shop"]);
        assert!(paused.exists());
        says(&street, &["pause", "nosuchrepo"], 64, &["there is: shop"]);
        says(
            &street,
            &["resume"],
            0,
            &["the pause of everything", "the pause of shop"],
        );
        assert!(!everything.exists() && !paused.exists());
    }
}

#[test]
fn what_stood_there_at_first_sight_can_be_shown_ignored_and_handed_to_repair() {
    let mut street =
        Street::new(|url| json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" } }));
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(street.mails()[0].contains("tick adopt"), "{:?}", street.mails());
    let short = cause()[..8].to_owned();
    says(
        &street,
        &["show", &short],
        0,
        &["stood there at first sight", "tick adopt"],
    );
    says(
        &street,
        &["status"],
        0,
        &["shop observe known", "stood there at first sight"],
    );
    says(
        &street,
        &["ignore", &short, "--for", "1h", "--why", "later"],
        0,
        &["is ignored until"],
    );
    says(&street, &["show", &short], 0, &["ignored until"]);
    says(&street, &["approve", &short], 64, &["has no incident", "tick adopt"]);
    says(&street, &["retry", &short], 0, &["is open"]);
    street.step(75);
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    says(&street, &["retry", &short], 0, &["open again"]);
}

#[test]
fn where_no_channel_is_configured_it_is_said() {
    let street = Street::new(|url| json!({ "repos": { "site": { "health": [{ "url": format!("{url}/page") }] } } }));
    street.answer("/page", 500, &"");
    says(
        &street,
        &["config", "check"],
        0,
        &["no channel is configured, so no message goes anywhere"],
    );
    says(&street, &[], 1, &["site", "HTTP 500"]);
    says(
        &street,
        &["status"],
        0,
        &["1 message waits until there is one", "you move next: mend it"],
    );
    let id = tick_id(&street);
    says(&street, &["show", &id], 0, &["not sent: no channel is configured"]);
    let mut config = street.config();
    config["notify"] = json!({ "file": "mail" });
    street.configure(&config);
    says(&street, &[], 0, &[]);
    assert_eq!(street.mails().len(), 1, "what was owed is sent when there is a channel");
}

/// The only incident there is.
fn tick_id(street: &Street) -> String {
    let (_, text) = street.run(&["incidents"]);
    text.split_whitespace().nth(3).unwrap().to_owned()
}

#[test]
fn a_reader_that_goes_away_is_no_bug() {
    let street = with_incident();
    let lines = "an error\n".repeat(200_000);
    let script = format!("'{}' signature | head -n 1; exec true", env!("CARGO_BIN_EXE_tick"));
    let out = assert_cmd::Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {script}")])
        .env("HOME", street.home())
        .write_stdin(lines)
        .output()
        .unwrap();
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let count = String::from_utf8_lossy(&out.stdout).lines().count();
    assert_eq!(count, 1);
}

#[test]
fn a_first_line_says_what_is_broken_for_whom() {
    let mut street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["health"] = json!([{ "name": "home", "url": format!("{url}/page") }]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail", "name": "acme" } })
    });
    street.answer("/page", 200, &"{}");
    street.errors("/shop", &[]);
    street.run(&[]);
    street.step(15);
    street.answer("/page", 500, &"");
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (_, text) = street.run(&[]);
    let mails = street.mails();
    let mail = mails
        .iter()
        .find(|m| m.contains("needs you"))
        .unwrap_or_else(|| panic!("{text}"));
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("Subject: [acme/shop] needs you: home: HTTP 500; ValueError"),
        "{head}"
    );
    let body = body.replace("=\r\n", "");
    let first: Vec<&str> = body.lines().take_while(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    assert!(first.starts_with("shop is down since 03:1"), "{first}");
    assert!(first.contains("home: HTTP 500; ValueError"), "{first}");
    assert!(first.contains("It needs you: no model may be asked"), "{first}");
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("home: HTTP 500; ValueError no model may be asked for this repo you move next: mend it"),
        "{status}"
    );
}

#[test]
fn numbers_and_times_that_cannot_be_are_brought_to_what_can() {
    let mut street = with_incident();
    street.step(15);
    let absurd = json!([{ "type": "TypeError", "message": "x", "stack": null, "count": 9_007_199_254_740_991_u64,
        "first_seen": "9999-12-31T23:59:59Z", "last_seen": "0001-01-01T00:00:00Z", "route": "/" },
        { "type": "TypeError", "message": "x", "stack": null, "count": 9_007_199_254_740_991_u64,
        "first_seen": "9999-12-31T23:59:59Z", "last_seen": "9999-01-01T00:00:00Z", "route": "/a" }]);
    street.report("/shop", &absurd);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let mails = street.mails().concat();
    for wrong in ["9999", "0001-01", "900719", "922337"] {
        assert!(!mails.contains(wrong), "{wrong} in {mails}");
    }
    // Nothing of the time to come keeps it from being over.
    street.errors("/shop", &[]);
    for _ in 0..2 {
        street.step(30);
        street.run(&[]);
    }
    says(&street, &["status"], 0, &["shop observe healthy"]);
}

#[test]
fn a_page_that_turns_everybody_away_is_not_up() {
    let street = Street::new(|url| {
        let probe = json!({ "url": format!("{url}/page"), "expect": { "jq": ".ok == true" } });
        json!({ "repos": { "site": { "health": [probe] } }, "notify": { "file": "mail" } })
    });
    street.answer("/page", 429, &"{}");
    says(&street, &[], 3, &["rate-limited"]);
    says(&street, &["status"], 0, &["site observe BLIND"]);
}
