//! Silences and the inventory: what a person says about a target or about what stood there already.

use serde_json::json;

use crate::street::{Street, tracked};

/// Two targets of one repo, each a page; another repo that its tracker is read of. All well at the first look.
fn street() -> Street {
    let mut street = Street::new(|url| {
        let page = |name: &str| json!({ "health": [{ "name": name, "url": format!("{url}/{name}") }] });
        json!({ "repos": { "shop": { "targets": { "api": page("api"), "front": page("front") } },
                           "other": tracked(url, "/other") },
                "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.answer("/api", 200, &"{}");
    street.answer("/front", 200, &"{}");
    street.errors("/other", &[]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street
}

pub(crate) fn subjects(street: &Street) -> Vec<String> {
    let subject = |mail: &String| {
        let line = mail.lines().find_map(|line| line.strip_prefix("Subject: "));
        line.unwrap_or_default().to_owned()
    };
    street.mails().iter().map(subject).collect()
}

#[test]
fn what_is_silenced_is_shown_and_told_only_when_it_is_still_there_afterwards() {
    let mut street = street();
    let (code, said) = street.run(&["silence", "shop/api", "--for", "2h", "--why", "new disk"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("Silenced: shop/api until 2026-11-29 05:15 UTC"), "{said}");
    street.answer("/api", 503, &"");
    street.answer("/front", 503, &"");
    for look in 0..3 {
        let (code, text) = street.run(&[]);
        assert_eq!(code, i32::from(look == 1), "only the other target is told\n{text}");
        street.step(30);
    }
    let told = subjects(&street);
    assert!(told.len() == 1 && told[0].contains("front"), "{told:?}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("shop/api: silenced until 05:15 by "), "{status}");
    assert!(status.contains("(new disk)"), "{status}");
    assert!(
        status.contains("silenced until 05:15: ") && status.contains("api: HTTP 503"),
        "{status}"
    );
    street.step(30);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let told = subjects(&street);
    assert!(
        told.len() == 2 && told.iter().any(|s| s.contains("api: HTTP 503")),
        "{told:?}"
    );
    let (_, list) = street.run(&["silence", "--list"]);
    assert!(list.contains("Nothing is silenced."), "{list}");
    let log = std::fs::read_to_string(street.home().join("state/incidents.jsonl")).unwrap();
    let ends = log.lines().filter(|line| line.contains("silence:shop/api"));
    assert_eq!(ends.count(), 2, "set by a person, ended by its time: {log}");
}

#[test]
fn errors_of_a_silenced_repo_are_told_when_they_go_on() {
    let mut street = street();
    street.run(&["silence", "other", "--for", "20m", "--why", "migration"]);
    street.errors("/other", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("other observe known"), "{status}");
    street.run(&["silence", "other", "--end"]);
    street.step(15);
    street.errors("/other", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(subjects(&street).len(), 1);
}

#[test]
fn a_silence_is_bounded_has_a_reason_and_names_something_that_exists() {
    let street = street();
    let says = |args: &[&str], code: i32, words: &[&str]| {
        let (is, text) = street.run(args);
        assert_eq!(is, code, "{args:?}\n{text}");
        for word in words {
            assert!(text.contains(word), "{word:?} is not said by {args:?}\n{text}");
        }
    };
    let of = |name, time| ["silence", name, "--for", time, "--why", "x"];
    says(
        &of("shpo/api", "1h"),
        64,
        &["no repo or target is called", "did you mean shop/api?"],
    );
    says(&of("zzz", "1h"), 64, &["there is: other, shop, shop/api, shop/front"]);
    says(&of("front", "8d"), 64, &["longer than 7 days"]);
    says(&["silence", "front", "--for", "1h"], 64, &["--why"]);
    says(&["silence"], 64, &["required"]);
    says(&["silence", "front", "--end"], 64, &["front is not silenced"]);
    says(&of("front", "7d"), 0, &["Silenced: shop/front"]);
    says(
        &["silence", "--list"],
        0,
        &["shop/front: silenced until 2026-12-06 03:15", "(x)"],
    );
    says(
        &["silence", "front", "--end"],
        0,
        &["Ended: the silence over shop/front"],
    );
}

#[test]
fn what_stood_there_at_first_sight_is_listed_and_handed_to_repair_by_a_person() {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors(
        "/shop",
        &[("bad order", 3, 1), ("no such cart", 40, 1), ("a lost coupon", 7, 1)],
    );
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    let (_, known) = street.run(&["incidents", "--known"]);
    let events = ["40 events", "7 events", "3 events"];
    let places: Vec<usize> = events.iter().filter_map(|n| known.find(n)).collect();
    assert!(
        places.len() == 3 && places.is_sorted(),
        "the most frequent first\n{known}"
    );
    let (code, said) = street.run(&["adopt", "--top", "1"]);
    assert_eq!(code, 0, "{said}");
    let most = tick::text::signature("ValueError: no such cart").signature;
    assert!(said.contains(&format!("{most}-1 in shop is open")), "{said}");
    let other = tick::text::signature("ValueError: bad order").signature;
    let (code, said) = street.run(&["adopt", other.short(), most.short()]);
    assert_eq!(code, 64, "one of them has an incident, so nothing is done\n{said}");
    let (_, known) = street.run(&["incidents", "--known"]);
    assert!(
        !known.contains(most.short()) && known.contains(other.short()),
        "{known}"
    );
    street.step(15);
    street.errors("/shop", &[("no such cart", 40, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let told = subjects(&street);
    assert_eq!(told.iter().filter(|s| s.contains("needs you")).count(), 1, "{told:?}");
    let log = std::fs::read_to_string(street.home().join("state/incidents.jsonl")).unwrap();
    assert!(log.contains("handed to repair by "), "{log}");
    let (code, said) = street.run(&["adopt"]);
    assert_eq!(code, 64, "{said}");
}
