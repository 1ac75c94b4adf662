//! The owner changes the config while something is open: what is looked at no more is not told as over, and what only has
//! another name is the same.

use serde_json::{Value, json};

use crate::street::{Street, tracked};

/// `name` asks `/PATH`.
fn page(street: &Street, name: &str, path: &str) -> Value {
    json!({ "name": name, "url": street.url(path) })
}

fn configure(street: &Street, pages: &[Value]) {
    let mut shop = tracked(&street.url(""), "/shop");
    if !pages.is_empty() {
        shop["health"] = json!(pages);
    }
    street.configure(
        &json!({ "mode": "observe", "repos": { "shop": shop }, "notify": { "file": "mail" },
        "retry": { "attempts": 1, "seconds": 0 } }),
    );
}

/// A shop whose front page is down and told, and whose stock page is fine.
fn with_a_page_down() -> Street {
    let mut street = Street::new(|url| json!({ "repos": { "shop": tracked(url, "/shop") } }));
    configure(
        &street,
        &[page(&street, "front", "/front"), page(&street, "stock", "/stock")],
    );
    street.errors("/shop", &[]);
    street.answer("/front", 200, &"{}");
    street.answer("/stock", 200, &"{}");
    look(&mut street, 1);
    street.answer("/front", 503, &"");
    look(&mut street, 2);
    assert_eq!(told(&street), ["needs you: front: HTTP 503"]);
    street
}

fn look(street: &mut Street, times: usize) {
    for _ in 0..times {
        street.step(30);
        let (code, text) = street.run(&[]);
        assert!(code <= 1, "{text}");
    }
}

/// What the messages say behind the name of the repo, in the order in which they were written.
fn told(street: &Street) -> Vec<String> {
    let mut subjects: Vec<(String, String)> = Vec::new();
    for mail in street.mails() {
        let header = |name: &str| {
            let line = mail.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let subject = header("Subject: ");
        let what = subject.split_once("] ").map_or(subject.as_str(), |(_, what)| what);
        subjects.push((header("Date: "), what.to_owned()));
    }
    subjects.sort();
    subjects.into_iter().map(|(_, what)| what).collect()
}

#[test]
fn a_page_that_is_taken_out_of_the_config_is_closed_as_not_watched_and_not_as_over() {
    let mut street = with_a_page_down();
    configure(&street, &[page(&street, "stock", "/stock")]);
    look(&mut street, 4);
    assert_eq!(
        told(&street),
        ["needs you: front: HTTP 503", "no longer watched: front: HTTP 503"]
    );
    let mails = street.mails().join("\n");
    let words: Vec<&str> = mails.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains(
            "because front of health/shop is not in the config any more. Whether it is well again is not known."
        ),
        "{words}"
    );
    let (_, listed) = street.run(&["incidents"]);
    assert!(listed.contains("no longer watched"), "{listed}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("shop observe healthy"), "{status}");

    // Put back, it is told again.
    configure(
        &street,
        &[page(&street, "front", "/front"), page(&street, "stock", "/stock")],
    );
    look(&mut street, 2);
    assert_eq!(told(&street).len(), 3, "{:?}", told(&street));
}

#[test]
fn a_collector_that_is_taken_out_of_the_config_leaves_no_incident_open_for_ever() {
    let mut street = with_a_page_down();
    configure(&street, &[]);
    look(&mut street, 3);
    assert_eq!(
        told(&street),
        ["needs you: front: HTTP 503", "no longer watched: front: HTTP 503"]
    );
}

#[test]
fn a_page_with_another_name_keeps_its_incident() {
    let mut street = with_a_page_down();
    configure(
        &street,
        &[page(&street, "home", "/front"), page(&street, "stock", "/stock")],
    );
    look(&mut street, 4);
    assert_eq!(told(&street), ["needs you: front: HTTP 503"]);
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("home: HTTP 503"), "{status}");
    street.answer("/front", 200, &"{}");
    look(&mut street, 3);
    assert_eq!(told(&street), ["needs you: front: HTTP 503", "over: home: HTTP 503"]);
}

/// It is well when it gets its new name: the incident ends as over, and the next outage is its second.
#[test]
fn a_page_that_is_well_again_with_its_new_name_is_over() {
    let mut street = with_a_page_down();
    street.answer("/front", 200, &"{}");
    configure(
        &street,
        &[page(&street, "home", "/front"), page(&street, "stock", "/stock")],
    );
    look(&mut street, 3);
    assert_eq!(told(&street), ["needs you: front: HTTP 503", "over: front: HTTP 503"]);
}

#[test]
fn another_page_in_its_place_is_another_cause() {
    let mut street = with_a_page_down();
    street.answer("/cart", 503, &"");
    configure(
        &street,
        &[page(&street, "cart", "/cart"), page(&street, "stock", "/stock")],
    );
    look(&mut street, 3);
    assert_eq!(
        told(&street),
        [
            "needs you: front: HTTP 503",
            "no longer watched: front: HTTP 503",
            "needs you: cart: HTTP 503"
        ]
    );
}

/// One that could not be read and is gone from the config is not read again.
#[test]
fn a_check_that_was_blind_is_not_seen_again_when_it_is_taken_out() {
    let mut street = Street::new(|_| json!({ "repos": {} }));
    let blind = "#!/bin/sh\necho no such disk; exit 3\n";
    street.plugin("stock", true);
    street.plugin("disk", true);
    std::fs::write(street.home().join("collectors/disk"), blind).unwrap();
    let checks = |names: &[&str]| {
        let all: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({ "program": name.trim_end_matches('2') })))
            .collect();
        json!({ "mode": "observe", "repos": { "shop": { "exec": all } }, "notify": { "file": "mail" } })
    };
    let blind = |street: &mut Street, times: usize| {
        for _ in 0..times {
            street.step(30);
            street.run(&[]);
        }
    };
    street.configure(&checks(&["disk", "stock"]));
    blind(&mut street, 3);
    let before = told(&street);
    assert_eq!(before.len(), 1, "{before:?}");
    // Another name alone says nothing new.
    street.configure(&checks(&["disk2", "stock"]));
    blind(&mut street, 3);
    assert_eq!(told(&street), before);
    street.configure(&checks(&["stock"]));
    blind(&mut street, 3);
    assert_eq!(told(&street), before);
}
