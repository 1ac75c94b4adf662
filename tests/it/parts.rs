//! Sources of several parts: one probe that cannot be read hides neither the others nor their end, and a page that goes
//! down is told whatever it came with.

use serde_json::{Value, json};

use crate::street::{Street, tracked};

fn page(url: &str, name: &str) -> Value {
    json!({ "name": name, "url": format!("{url}/{name}") })
}

fn street(repo: impl FnOnce(&str) -> Value) -> Street {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": repo(url) }, "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.errors("/shop", &[]);
    pages(&street, [200, 200]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street
}

fn pages(street: &Street, [front, back]: [u16; 2]) {
    street.answer("/front", front, &"{}");
    street.answer("/back", back, &"{}");
}

/// So many looks with the pages answering so.
fn looks(street: &mut Street, n: usize, statuses: [u16; 2]) {
    pages(street, statuses);
    for _ in 0..n {
        street.run(&[]);
        street.step(15);
    }
}

/// Messages whose words hold all of these.
fn told(street: &Street, words: &[&str]) -> usize {
    let said = |mail: &String| mail.split_whitespace().collect::<Vec<_>>().join(" ");
    let mails: Vec<String> = street.mails().iter().map(said).collect();
    mails
        .iter()
        .filter(|mail| words.iter().all(|word| mail.contains(word)))
        .count()
}

fn both(url: &str) -> Value {
    json!({ "health": [page(url, "front"), page(url, "back")] })
}

#[test]
fn a_probe_that_is_blind_keeps_nobody_from_hearing_that_another_one_is_over() {
    let mut street = street(both);
    looks(&mut street, 2, [500, 200]);
    assert_eq!(told(&street, &["needs you", "front: HTTP 500"]), 1);
    looks(&mut street, 1, [200, 429]);
    let (_, status) = street.run(&["status"]);
    assert!(!status.contains("opens when the next one sees it"), "{status}");
    looks(&mut street, 3, [200, 429]);
    assert_eq!(
        told(&street, &["] over:", "front: HTTP 500 is over"]),
        1,
        "{:?}",
        street.mails()
    );
    // The other one goes down in the same way while this one is blind.
    looks(&mut street, 2, [429, 500]);
    assert_eq!(told(&street, &["needs you", "back: HTTP 500"]), 1);
}

#[test]
fn each_probe_that_goes_blind_is_told_and_so_is_its_end_and_that_it_lasts() {
    let mut street = street(both);
    looks(&mut street, 2, [200, 429]);
    assert_eq!(
        told(&street, &["] blind:", "back of health/shop cannot be read"]),
        1,
        "{:?}",
        street.mails()
    );
    looks(&mut street, 3, [429, 429]);
    assert_eq!(told(&street, &["] blind:", "front of health/shop cannot be read"]), 1);
    looks(&mut street, 2, [429, 200]);
    assert_eq!(told(&street, &["] seen again", "back of health/shop is read again"]), 1);
    assert_eq!(told(&street, &["] seen again"]), 1);
    street.step(24 * 60);
    looks(&mut street, 3, [429, 200]);
    assert_eq!(
        told(&street, &["front of health/shop still cannot be read"]),
        1,
        "{:?}",
        street.mails()
    );
    looks(&mut street, 1, [200, 200]);
    assert_eq!(
        told(&street, &["] seen again", "front of health/shop is read again"]),
        1
    );
    assert_eq!(street.mails().len(), 5, "{:?}", street.mails());
}

#[test]
fn a_page_that_goes_down_after_an_error_was_told_is_told_too() {
    let mut street = street(|url| {
        let mut shop = tracked(url, "/shop");
        shop["health"] = json!([page(url, "front")]);
        shop
    });
    street.errors("/shop", &[("cannot evict", 1, 1)]);
    looks(&mut street, 1, [200, 200]);
    assert_eq!(told(&street, &["needs you", "ValueError"]), 1);
    street.errors("/shop", &[]);
    looks(&mut street, 4, [500, 200]);
    assert_eq!(
        told(&street, &["needs you", "shop is down", "front: HTTP 500"]),
        1,
        "{:?}",
        street.mails()
    );
    looks(&mut street, 4, [200, 200]);
    assert_eq!(
        told(&street, &["] over:", "also", "front: HTTP 500"]),
        1,
        "{:?}",
        street.mails()
    );
}

#[test]
fn of_two_pages_that_went_down_together_the_one_that_still_is_stands_in_the_status() {
    let mut street = street(|url| {
        let target = |name: &str| json!({ "health": [page(url, name)] });
        json!({ "targets": { "a": target("front"), "b": target("back") } })
    });
    looks(&mut street, 2, [500, 503]);
    assert_eq!(told(&street, &["needs you", "front: HTTP 500", "back: HTTP 503"]), 1);
    looks(&mut street, 1, [200, 503]);
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("back: HTTP 503") && !status.contains("front: HTTP 500"),
        "{status}"
    );
    looks(&mut street, 3, [200, 200]);
    assert_eq!(
        told(&street, &["] over:", "front: HTTP 500", "back: HTTP 503"]),
        1,
        "{:?}",
        street.mails()
    );
}
