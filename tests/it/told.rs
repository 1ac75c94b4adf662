//! What messages say is true: since when, of what, by whom, and until when; each thing that breaks stands in one of them.

use serde_json::{Value, json};

use crate::{
    silence::subjects,
    street::{Street, tracked},
};

/// The text of the message whose subject holds these words, in one line.
fn mail(street: &Street, words: &str) -> String {
    let mails = street.mails();
    let mut found = mails.iter().filter(|mail| {
        let subject = mail.lines().find(|line| line.starts_with("Subject: "));
        subject.is_some_and(|subject| subject.contains(words))
    });
    let one = found
        .next()
        .unwrap_or_else(|| panic!("no {words:?}: {:?}", subjects(street)));
    assert!(found.next().is_none(), "{words:?} twice: {:?}", subjects(street));
    let one = one.replace("=\n", "").replace("=\r\n", "");
    one.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn status_page(incidents: &[(&str, &str, &str)]) -> Value {
    let all: Vec<Value> = incidents
        .iter()
        .map(|(id, name, at)| {
            json!({ "id": id, "name": name, "status": "identified", "impact": "major", "started_at": at,
                    "updated_at": at, "components": [], "incident_updates": [{ "body": "We look." }] })
        })
        .collect();
    json!({ "page": { "name": "Railtown" }, "incidents": all })
}

/// A repo with a page and the status page of its provider, both well at the first look.
fn on_railtown() -> Street {
    let mut street = Street::new(|url| {
        let values = json!({ "url": format!("{url}/status"), "provider": "railtown" });
        json!({ "repos": { "api": { "health": [{ "name": "home", "url": format!("{url}/page") }],
                                    "collectors": { "statuspage": { "values": values } } } },
                "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.answer("/page", 200, &"{}");
    street.answer("/status", 200, &status_page(&[]));
    assert_eq!(street.run(&[]).0, 0);
    street.step(15);
    street
}

/// The incident began while the page was well: the page is down since the look that saw it down.
#[test]
fn a_page_is_down_since_it_was_seen_down_and_its_own_words_stand_in_the_message() {
    let street = on_railtown();
    let one = [("i1", "Builds are slow", "2026-11-29T03:05:00Z")];
    street.answer("/status", 200, &status_page(&one));
    street.answer("/page", 500, &"");
    street.run(&[]);
    let told = mail(&street, "needs you");
    assert!(told.contains("api is down since 03:15 UTC: home: HTTP 500"), "{told}");
    assert!(
        told.contains("error home: HTTP 500: seen by one look, since 03:15 UTC"),
        "{told}"
    );
    assert!(told.contains("/page: HTTP 500"), "the address that was asked\n{told}");
    assert!(
        told.contains("also railtown reports an incident: \"Builds are slow\": seen by one look, since 03:05 UTC"),
        "{told}"
    );
    assert!(
        !told.contains("mend it yourself") && told.contains("see what railtown says"),
        "{told}"
    );
    assert!(
        !told.contains("railtown reported"),
        "it is no change before itself\n{told}"
    );
}

/// Renamed it is the same incident, and is over once.
#[test]
fn an_incident_that_its_provider_renames_is_told_once() {
    let mut street = on_railtown();
    for name in [
        "Builds are slow",
        "Builds and deployments fail",
        "Builds and deployments fail",
    ] {
        let all = [
            ("i1", name, "2026-11-29T03:05:00Z"),
            ("i2", "Old news", "2026-11-29T01:05:00Z"),
        ];
        street.answer("/status", 200, &status_page(&all[..1]));
        street.run(&[]);
        street.step(15);
    }
    let told = subjects(&street);
    assert_eq!(told.len(), 1, "{told:?}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("\"Builds and deployments fail\""), "{status}");
    street.answer("/status", 200, &status_page(&[]));
    for _ in 0..2 {
        street.run(&[]);
        street.step(15);
    }
    let over = mail(&street, "] over");
    assert!(
        over.contains("It was seen from 03:05 to 03:45 UTC, for 40 minutes."),
        "{over}"
    );
    assert_eq!(subjects(&street).len(), 2, "{:?}", subjects(&street));
}

/// A page that goes down beside an error that was told, and a blip of that page days ago.
#[test]
fn the_blip_of_another_day_is_not_when_a_page_went_down() {
    let mut street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["health"] = json!([{ "name": "front", "url": format!("{url}/page") }]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    for status in [200, 503, 200, 200] {
        street.answer("/page", status, &"{}");
        street.run(&[]);
        street.step(15);
    }
    street.step(60 * 24);
    street.answer("/page", 200, &"{}");
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    for _ in 0..3 {
        street.step(15);
        street.answer("/page", 503, &"");
        street.run(&[]);
    }
    let told = mail(&street, "front: HTTP 503");
    assert!(told.contains("shop is down since 04:15 UTC: front: HTTP 503"), "{told}");
    assert!(told.contains("front: HTTP 503: in 2 looks since 04:15 UTC"), "{told}");
    assert!(told.contains("/page: HTTP 503"), "{told}");
    street.answer("/page", 200, &"{}");
    street.errors("/shop", &[]);
    for _ in 0..3 {
        street.step(15);
        street.run(&[]);
    }
    let over = mail(&street, "] over");
    assert!(
        over.contains("shop: front: HTTP 503; ValueError is over. It was seen from 03:59 to 04:45 UTC"),
        "{over}"
    );
}

/// One error goes on for ever; the page beside it goes down, is well, and goes down again.
#[test]
fn a_page_that_goes_down_again_is_told_while_an_error_keeps_its_first_incident_open() {
    let mut street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["health"] = json!([{ "name": "front", "url": format!("{url}/page") }]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    let look = |street: &mut Street, statuses: &[u16]| {
        for status in statuses {
            street.answer("/page", *status, &"{}");
            street.run(&[]);
            street.step(15);
            street.errors("/shop", &[("bad order", 3, 1)]);
        }
        subjects(street)
            .iter()
            .filter(|subject| subject.contains("front: HTTP 500"))
            .count()
    };
    assert_eq!(look(&mut street, &[200, 200, 500, 500]), 1, "{:?}", subjects(&street));
    assert_eq!(look(&mut street, &[200, 200, 200, 200, 200, 500]), 1, "seen once");
    assert_eq!(look(&mut street, &[500]), 2, "{:?}", subjects(&street));
}

fn alerts(hosts: &[&str]) -> Value {
    let one = |host: &&str| {
        json!({ "labels": { "alertname": "NodeDown", "severity": "critical", "instance": host },
                "annotations": { "summary": format!("{host} does not answer") }, "startsAt": "2026-11-29T03:05:00Z",
                "status": { "state": "active" } })
    };
    json!(hosts.iter().map(one).collect::<Vec<_>>())
}

/// Each host is told, those that come together in one message, and it is over when the last of them is.
#[test]
fn an_alert_on_a_second_host_is_told_and_a_hundred_hosts_are_one_message() {
    let mut street = Street::new(|url| {
        let values = json!({ "url": format!("{url}/am") });
        json!({ "repos": { "ops": { "collectors": { "alertmanager": { "values": values } } } },
                "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    let mut look = |hosts: &[&str], minutes: i64| {
        street.answer("/am/api/v2/alerts", 200, &alerts(hosts));
        let (_, text) = street.run(&[]);
        street.step(minutes);
        (subjects(&street), text)
    };
    look(&[], 15);
    let (told, _) = look(&["db1"], 15);
    assert_eq!(told, ["[ops] needs you: \"NodeDown on db1\""]);
    let (told, _) = look(&["db1", "web1", "web2"], 15);
    assert_eq!(told.len(), 2, "{told:?}");
    let further = |told: &[String]| {
        told.iter()
            .filter(|subject| subject.contains("\"NodeDown on w"))
            .count()
    };
    assert_eq!(further(&told), 1, "{told:?}");
    // A third one within the hour waits for the next message.
    let (told, _) = look(&["db1", "web1", "web2", "web3"], 30);
    assert_eq!(told.len(), 2, "{told:?}");
    let (told, _) = look(&["web1", "web2", "web3"], 15);
    assert_eq!(told.len(), 2, "{told:?}");
    let (told, _) = look(&["web1", "web2", "web3"], 15);
    assert!(told.len() == 3 && further(&told) == 2, "{told:?}");
    // The first one is back while others kept the incident open.
    let (told, _) = look(&["db1", "web1", "web2", "web3"], 60);
    let (told, _) = (look(&["db1", "web1", "web2", "web3"], 15).0, told);
    assert_eq!(told.len(), 4, "{told:?}");
    look(&["web3"], 15);
    look(&["web3"], 15);
    let status = street.run(&["status"]).1;
    assert!(
        status.contains("NodeDown on web3") && !status.contains("db1"),
        "{status}"
    );
    let mut look = |hosts: &[&str]| {
        street.answer("/am/api/v2/alerts", 200, &alerts(hosts));
        street.run(&[]);
        street.step(15);
        subjects(&street)
    };
    look(&[]);
    let told = look(&[]);
    assert_eq!(told.iter().filter(|s| s.contains("] over")).count(), 1, "{told:?}");
    // A hundred at once.
    let many: Vec<String> = (0..100).map(|n| format!("node{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let told = look(&many);
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(told.iter().any(|s| s.contains("and 99 more of its kind")), "{told:?}");
    let told = look(&many);
    assert_eq!(told.len(), 6, "{told:?}");
}

/// The most frequent first, and those of one name with their text.
#[test]
fn an_inventory_tells_its_causes_apart_and_is_answered_in_words_that_fit() {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors(
        "/shop",
        &[
            ("cannot pack the box", 3, 9),
            ("cannot find the road", 70, 9),
            ("no driver", 12, 9),
        ],
    );
    street.run(&[]);
    let first = mail(&street, "first look");
    let places = ["\"cannot find the road\"", "\"no driver\"", "\"cannot pack the box\""].map(|text| first.find(text));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?} {first}"
    );
    let known = street.run(&["incidents", "--known"]).1;
    assert!(known.contains("ValueError: \"no driver\""), "{known}");
    let sig = tick::text::signature("ValueError: no driver").signature;
    let (code, text) = street.run(&["adopt", sig.short()]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = street.run(&["adopt", sig.short()]);
    assert!(
        code == 64 && text.contains("an open incident") && !text.contains("retry"),
        "{text}"
    );
    let show = street.run(&["show", sig.short()]).1;
    assert!(show.contains("no agent is configured for triage"), "{show}");
    assert!(
        !show.contains("not yet, 0 failed tries"),
        "nothing of it is a matter of waiting\n{show}"
    );
    for verb in ["ignore", "pause"] {
        let args = match verb {
            "ignore" => vec![verb, sig.short(), "--for", "2h", "--why", " "],
            _ => vec![verb, "--why", ""],
        };
        let (code, text) = street.run(&args);
        assert!(code == 64 && text.contains("--why is empty"), "{text}");
    }
    // What is judged of the latest tick is what is judged of it by its name.
    street.step(15);
    street.errors("/shop", &[("cannot pack the box", 3, 9)]);
    street.run(&[]);
    let latest: Value = serde_json::from_slice(&street.tick(&["replay", "latest", "--json"]).stdout).unwrap();
    let named = latest["tick"].as_str().unwrap().to_owned();
    let by_name: Value = serde_json::from_slice(&street.tick(&["replay", &named, "--json"]).stdout).unwrap();
    assert_eq!(latest["causes"], by_name["causes"]);
    let (code, text) = street.run(&["replay", "2026"]);
    assert!(code == 64 && text.contains("begins the ids of 2 ticks"), "{text}");
}

/// What a config says that can never be right is said before it runs.
#[test]
fn a_config_that_looks_at_nothing_is_told_by_its_check() {
    let street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        shop["collectors"]["exceptions"]["values"]["ulr"] = json!("x");
        shop["health"] = json!([{ "url": format!("{url}/page"), "expect": { "status": [] } }]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail" } })
    });
    let (code, text) = street.run(&["config", "check"]);
    assert!(
        code == 78 && text.contains("repos.shop.health[0].expect.status is empty"),
        "{text}"
    );
    let mut config = street.config();
    config["repos"]["shop"]["health"] = json!([]);
    config["repos"]["shop"]["logs"] = json!([{ "path": "/dev/zero" }, { "path": street.home() }]);
    street.configure(&config);
    let (code, text) = street.run(&["config", "check"]);
    // A tick runs with it, and is blind there: the check ends as that tick would.
    assert!(
        code == 3 && text.contains("value \"ulr\" is asked for by neither file of the collector; for example \"url\""),
        "{text}"
    );
    assert!(text.contains("/dev/zero is no regular file"), "{text}");
    assert_eq!(text.matches("is no regular file").count(), 2, "{text}");
}

/// A job that wrote a line each day and writes it no more, whatever else its log says.
#[test]
fn a_line_that_is_expected_and_does_not_come_is_one_warning() {
    let mut street = Street::new(
        |_| json!({ "repos": { "shop": { "logs": [{ "path": "/nonexistent.log" }] } }, "notify": { "file": "mail" } }),
    );
    let collectors = street.home().join("collectors");
    std::fs::create_dir_all(&collectors).unwrap();
    let patterns = json!({ "version": 1, "patterns": [
        { "id": "backup-done", "regex": "backup done", "severity": "low", "kind": "runtime", "expect_every_minutes": 60 },
        { "id": "error", "regex": "ERROR", "severity": "high", "kind": "runtime" }] });
    std::fs::write(collectors.join("patterns.json"), patterns.to_string()).unwrap();
    let log = street.home().join("shop.log");
    let mut config = street.config();
    config["repos"]["shop"]["logs"] = json!([{ "path": log }]);
    street.configure(&config);
    let mut text = String::new();
    for look in 0..12 {
        let at = street.now.format("%Y-%m-%dT%H:%M:%SZ");
        let done = if look < 4 {
            format!("{at} INFO backup done in 3 s\n")
        } else {
            String::new()
        };
        text = format!("{text}{at} INFO asked\n{done}{at} INFO answered\n");
        std::fs::write(&log, &text).unwrap();
        let (code, said) = street.run(&["--observe"]);
        assert_eq!(code, 0, "{said}");
        let warned = subjects(&street)
            .iter()
            .filter(|subject| subject.contains("] warning: backup-done in logs"))
            .count();
        if look != 9 {
            assert_eq!(warned, usize::from(look > 9), "look {look}: {:?}", subjects(&street));
        }
        street.step(15);
    }
}

#[test]
fn each_outage_of_a_check_is_told_whatever_keeps_its_incident_open() {
    let mut street = Street::new(|_| {
        let check = |name: &str| json!({ "program": name });
        json!({ "mode": "observe", "repos": { "shop": { "exec": { "front": check("front"), "stock": check("stock") } } },
                "notify": { "file": "mail" } })
    });
    let look = |street: &mut Street, front: bool, stock: bool| {
        street.plugin("front", front);
        street.plugin("stock", stock);
        let (code, text) = street.run(&[]);
        assert!(code <= 1, "{text}");
        street.step(15);
    };
    look(&mut street, true, true);
    let mut told = Vec::new();
    for (looks, front, stock) in [
        (2, false, false),
        (4, true, false),
        (2, false, false),
        (5, true, false),
        (2, false, false),
    ] {
        for _ in 0..looks {
            look(&mut street, front, stock);
        }
        told.push(street.mails().len());
    }
    assert_eq!(told, [1, 1, 2, 2, 3], "{:#?}", subjects(&street));
    let last = street.mails().pop().unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    assert!(words.join(" ").contains("it is down again"), "{last}");
}
