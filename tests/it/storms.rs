//! Storms and flapping: however much breaks at once, and however often it comes and goes, a person gets a few messages, no
//! model is asked about what nobody could read, and nothing is lost.

use std::fmt::Write as _;

use chrono::TimeDelta;
use serde_json::{Value, json};
use tick::{
    adapters::clock::Clock,
    config::{
        env::Environment,
        load::{Sources, load},
    },
    exit::Exit,
    steps::{Ctx, effect::CrashPoints},
    store::Store,
    text::Redactor,
    tick::{Scope, tick},
};

use crate::{
    silence::subjects,
    street::{Street, tracked},
};

fn quiet() -> Street {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street
}

/// Messages that differ in a word each, which no mask takes for the same.
fn words(n: usize) -> Vec<String> {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 20).unwrap());
    let word = |n: usize| String::from_iter([letter(n / 8000), letter(n / 400), letter(n / 20), letter(n), 'q']);
    (0..n).map(|n| format!("cannot pack the {} box", word(n))).collect()
}

fn report(street: &Street, messages: &[String], count: u64) {
    let errors: Vec<(&str, u64, i64)> = messages.iter().map(|text| (text.as_str(), count, 1)).collect();
    street.errors("/shop", &errors);
}

fn count(street: &Street, sql: &str) -> u32 {
    let db = rusqlite::Connection::open(street.home().join("state/tick.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn told(street: &Street, word: &str) -> usize {
    subjects(street).iter().filter(|subject| subject.contains(word)).count()
}

/// Looks in this process, as many as wanted: `before` sets the scene of each.
fn looks(street: &mut Street, n: usize, seconds: i64, mut before: impl FnMut(&Street, usize)) {
    let sources = Sources {
        home: Some(street.home()),
        cwd: street.home(),
        env: Environment::new([("HOME", "/nonexistent")]),
    };
    let config = load(sources).unwrap();
    config.home.prepare().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for look in 0..n {
        before(street, look);
        let clock = Clock::start(Some(street.now));
        let redactor = Redactor::new(config.secrets.values.values());
        let store = Store::open(&config.home.state).unwrap();
        let id = store.next_tick(clock.now()).unwrap();
        let ctx = Ctx::new(config.clone(), clock, redactor, id, store, CrashPoints::default());
        let exit = runtime.block_on(tick(&ctx, Scope::Whole, false)).unwrap();
        assert!(matches!(exit, Exit::Ok | Exit::NeedsHuman), "look {look}: {exit:?}");
        assert_eq!(ctx.report().models_called, 0);
        street.now += TimeDelta::seconds(seconds);
    }
}

#[test]
fn ten_thousand_events_of_one_cause_are_one_incident_and_one_message() {
    let mut street = quiet();
    report(&street, &["bad order".to_owned()], 10_000);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    street.step(15);
    let same: Vec<String> = (0..1000).map(|n| format!("bad order {n}")).collect();
    report(&street, &same, 10);
    street.run(&[]);
    assert_eq!(
        count(&street, "SELECT count(*) FROM incident WHERE repo = 'shop'"),
        2,
        "with and without a number"
    );
    assert_eq!(told(&street, "needs you"), 2);
}

#[test]
fn of_ten_thousand_causes_the_caps_let_some_open_one_message_lists_the_rest_and_nothing_is_lost() {
    let mut street = quiet();
    let all = words(10_000);
    report(&street, &all, 1);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{}", &text[..text.len().min(2000)]);
    let open = "SELECT count(*) FROM incident";
    let waits = "SELECT count(*) FROM signature WHERE waits_since IS NOT NULL";
    // A look takes 2000 signals of a source and says that there were more.
    assert_eq!((count(&street, open), count(&street, waits)), (20, 1980));
    assert_eq!(told(&street, "needs you"), 20);
    assert_eq!(told(&street, "storm: 1980 more causes wait"), 1);
    let mails = street.mails();
    let storm = mails.iter().find(|mail| mail.contains("] storm")).unwrap();
    assert!(storm.contains("1980 more causes wait"), "{storm}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("wait for their turn"), "{status}");
    // The same again within the hour, then quiet ones: what is still there opens as the caps allow.
    for (minutes, opened) in [(15, 20), (60, 40), (61, 50), (61, 50)] {
        street.step(minutes);
        report(&street, &all[..100], 2);
        street.run(&[]);
        assert_eq!(count(&street, open), opened, "after {minutes} min");
    }
    assert_eq!(told(&street, "storm"), 1, "once a day");
    assert_eq!(told(&street, "needs you"), 50);
    assert_eq!(count(&street, "SELECT count(*) FROM signature"), 2000, "in the ledger");
}

/// One cause that comes and goes for a day, a thousand times, also for long enough to be over.
#[test]
fn a_thousand_flips_in_a_day_are_two_messages_a_status_and_one_that_says_so() {
    let mut street = quiet();
    let runs = [1, 1, 3, 25, 1, 26, 2, 1, 1, 30, 1, 45, 4, 60];
    let mut plan = Vec::new();
    for (n, looks) in runs.iter().cycle().take(400).enumerate() {
        plan.extend(std::iter::repeat_n(n % 2 == 0, *looks));
    }
    looks(&mut street, 1000, 86, |street, look| {
        let errors = [("bad order", 3, 1)];
        street.errors("/shop", if plan[look] { &errors } else { &[] });
    });
    let told = ["needs you", "over", "flaps"].map(|word| told(&street, &format!("] {word}:")));
    assert!(
        told[0] <= 2 && told[1] <= 2 && told[2] == 1,
        "{told:?} {:?}",
        subjects(&street)
    );
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("ValueError"), "it stays open and shown\n{status}");
}

/// What stands there on the first day, also in CI, is one message and asks no model.
#[test]
fn two_hundred_issues_and_thirty_failed_runs_on_day_one_are_one_message() {
    let street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["github"] = json!("acme/shop");
        shop["branch"] = json!("main");
        shop["test"] = json!(["true"]);
        let agent = json!({ "kind": "command", "program": "/bin/false" });
        json!({ "mode": "active", "repos": { "shop": shop }, "notify": { "file": "mail" },
                "github": { "api": format!("{url}/gh"), "web": url },
                "agents": { "define": { "mine": agent }, "triage": ["mine"], "fix": ["mine"], "audit": ["mine"] },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.env("GITHUB_TOKEN=ghp_000000000000000000000000000000000000\n");
    let run = |n: u32| {
        json!({ "id": n, "name": format!("check {n}"), "workflow_id": n, "event": "push", "status": "completed",
                "conclusion": "failure", "head_sha": "0123456789abcdef0123456789abcdef01234567",
                "created_at": "2026-11-28T03:00:00Z", "updated_at": "2026-11-28T03:05:00Z" })
    };
    let runs: Vec<Value> = (1..=30).map(run).collect();
    street.answer(
        "/gh/repos/acme/shop/actions/runs",
        200,
        &json!({ "total_count": 30, "workflow_runs": runs }),
    );
    for n in 1..=30 {
        street.answer(
            &format!("/gh/repos/acme/shop/actions/runs/{n}/jobs"),
            200,
            &json!({ "total_count": 0, "jobs": [] }),
        );
    }
    street.answer("/gh/repos/acme/shop/pulls", 200, &json!([]));
    report(&street, &words(200), 7);
    let output = street.tick(&["--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let mut said = String::new();
    let _ = write!(said, "{told}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(told["models_called"], 0, "{said}");
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 0);
    assert_eq!(
        count(&street, "SELECT count(*) FROM effect WHERE kind != 'mail'"),
        0,
        "no pull request, no push"
    );
    let mails = street.mails();
    assert_eq!(mails.len(), 1, "{:?}", subjects(&street));
    let words: Vec<&str> = mails[0].split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("first look: the default branch is red"), "{text}");
    assert!(text.contains("the default branch of shop is red: check"), "{text}");
    assert_eq!(
        count(&street, "SELECT count(*) FROM signature WHERE inventory = 1"),
        210,
        "each is known by its cause"
    );
}

/// A deployment is under way: what goes down meanwhile is not told, for as long as the grace lasts.
#[test]
fn a_page_that_goes_down_while_it_is_deployed_is_held_for_the_grace_and_no_longer() {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": { "health": [{ "name": "front", "url": format!("{url}/page") }],
                                     "deploy_grace_minutes": 40 } },
                "notify": { "file": "mail" } })
    });
    street.answer("/page", 200, &"{}");
    street.run(&[]);
    let since = (street.now + TimeDelta::minutes(5)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let db = rusqlite::Connection::open(street.home().join("state/tick.db")).unwrap();
    db.execute(
        "INSERT INTO source (repo, target, collector, deploying_since) VALUES ('shop', 'shop', 'vercel', ?1)",
        [since],
    )
    .unwrap();
    drop(db);
    street.answer("/page", 503, &"");
    for held in [true, true, false] {
        street.step(15);
        let (code, text) = street.run(&[]);
        assert_eq!(code, i32::from(!held), "{text}");
        let (_, status) = street.run(&["status"]);
        let words = "held while a deployment is under way, until 03:45 at most";
        assert_eq!(status.contains(words), held, "{status}");
    }
    assert_eq!(told(&street, "needs you"), 1);
}

#[test]
fn the_owner_says_how_many_looks_a_probe_is_given() {
    let mut street = Street::new(|url| {
        let page = |name: &str, fire: u32, clear: u32| json!({ "health": [{ "name": name, "url": format!("{url}/{name}"), "fire_after": fire, "clear_after": clear }] });
        json!({ "repos": { "quick": page("quick", 1, 2), "slow": page("slow", 3, 4) }, "notify": { "file": "mail" } })
    });
    for status in [200, 503, 503, 503, 200, 200, 200, 200] {
        street.answer("/quick", status, &"{}");
        street.answer("/slow", status, &"{}");
        street.run(&[]);
        let now = ["quick", "slow"].map(|repo| told(&street, &format!("[{repo}]")));
        let minute = (street.now.timestamp() / 60) % 60 + (street.now.timestamp() / 3600 - 3) % 24 * 60;
        let expected = match minute {
            0 => [0, 0],
            15 | 30 => [1, 0],
            45 | 60 => [1, 1],
            75 | 90 => [2, 1],
            _ => [2, 2],
        };
        assert_eq!(now, expected, "minute {minute}: {:?}", subjects(&street));
        street.step(15);
    }
}

/// A provider's incident, as the shipped collector of status pages signs it.
const PAGE_JQ: &str = r#"{ signals: [ .incidents[] | {
    title: "vercel: \(.name)", message: .name, severity: "error", first_seen: .at, last_seen: .at,
    signature_text: "incident of the provider vercel: \(.name)", evidence: { provider: "vercel" } } ] }"#;
const PAGE_JSON: &str =
    r#"{ "request": { "method": "GET", "url": "{url}/status" }, "kind": "alert", "severity": "warning" }"#;

/// One outage of the provider: its incident, the page that is down with it and the host's node are one message; what is still
/// there when the provider is well again is told by itself.
#[test]
fn a_providers_incident_explains_the_pages_that_are_down_until_it_is_over() {
    let mut street = Street::new(|url| {
        let page = json!({ "url": url });
        json!({ "repos": {
            "web": { "health": [{ "name": "front", "url": format!("{url}/page") }],
                     "collectors": { "page": { "values": page } } } },
            "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    let collectors = street.home().join("collectors");
    std::fs::create_dir_all(&collectors).unwrap();
    std::fs::write(collectors.join("page.json"), PAGE_JSON).unwrap();
    std::fs::write(collectors.join("page.jq"), PAGE_JQ).unwrap();
    street.answer("/page", 200, &"{}");
    street.answer("/status", 200, &json!({ "incidents": [] }));
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    for look in 0..3 {
        street.step(15);
        let at = street.now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        street.answer(
            "/status",
            200,
            &json!({ "incidents": [{ "name": "builds and functions fail", "at": at }] }),
        );
        street.answer("/page", 503, &"");
        let (code, text) = street.run(&[]);
        assert_eq!(code, i32::from(look == 0), "{text}");
    }
    let told_now = subjects(&street);
    assert!(
        told_now.len() == 1 && told_now[0].contains("vercel reports an incident"),
        "{told_now:?}"
    );
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 1);
    // However the two weigh, both are named.
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("front: HTTP 503") && status.contains("vercel reports an incident"),
        "{status}"
    );
    street.answer("/status", 200, &json!({ "incidents": [] }));
    for _ in 0..4 {
        street.step(15);
        street.run(&[]);
    }
    assert_eq!(told(&street, "over"), 1, "{:?}", subjects(&street));
    assert_eq!(
        told(&street, "needs you: front: HTTP 503"),
        2,
        "{:?}",
        subjects(&street)
    );
    let all = subjects(&street);
    let by_itself = |subject: &&String| subject.contains("needs you: front") && !subject.contains("vercel");
    assert_eq!(
        all.iter().filter(by_itself).count(),
        1,
        "what is still down is told by itself: {all:?}"
    );
}

/// A disk that fills up, and a source that always had something to tell: one warning each, and nobody is woken.
#[test]
fn what_fills_up_and_what_stopped_happening_are_one_warning_each() {
    let mut street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["collectors"]["exceptions"]["expect_every_minutes"] = json!(60);
        let levels = json!([{ "name": "disk", "jq": ".disk" }]);
        shop["health"] = json!([{ "name": "front", "url": format!("{url}/page"), "levels": levels }]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    looks(&mut street, 16, 3600, |street, look| {
        street.answer("/page", 200, &json!({ "disk": 50 + look }));
    });
    let early = subjects(&street);
    assert!(
        !early.iter().any(|subject| subject.contains("disk")),
        "no day was seen: {early:?}"
    );
    looks(&mut street, 14, 3600, |street, look| {
        street.answer("/page", 200, &json!({ "disk": 66 + look }));
    });
    let warnings: Vec<String> = subjects(&street)
        .into_iter()
        .filter(|s| s.contains("] warning:"))
        .collect();
    assert_eq!(warnings.len(), 2, "{:?}", subjects(&street));
    let has = |words: &str| warnings.iter().any(|subject| subject.contains(words));
    assert!(
        has("front disk is at") && has("exceptions told nothing since"),
        "{warnings:?}"
    );
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 0);
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("shop observe healthy") && status.contains("front disk is at 78 of 100 and full on"),
        "{status}"
    );
    // It is freed, and the source tells again: what stood is over without a word.
    looks(&mut street, 8, 3600, |street, _| {
        street.answer("/page", 200, &json!({ "disk": 20 }));
        street.errors("/shop", &[("bad order", 1, 1)]);
    });
    let (_, status) = street.run(&["status"]);
    assert!(!status.contains("warning since"), "{status}");
}
