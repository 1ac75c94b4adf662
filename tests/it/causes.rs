//! One cause, one incident: what belongs together and what does not, when it begins and when it is over.

use serde_json::json;

use crate::street::{Street, tracked};

fn count(street: &Street, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(street.home().join("state/tick.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Repos that were looked at once and were fine.
fn quiet(slots: &[&str]) -> Street {
    let mut street = Street::new(|url| {
        let repos = slots
            .iter()
            .map(|slot| ((*slot).to_owned(), tracked(url, &format!("/{slot}"))));
        json!({ "repos": repos.collect::<serde_json::Map<_, _>>(), "notify": { "file": "mail" },
                "retry": { "attempts": 1, "seconds": 0 } })
    });
    for slot in slots {
        street.errors(&format!("/{slot}"), &[]);
    }
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street
}

#[test]
fn one_error_of_two_repos_is_a_cause_of_each() {
    let mut street = quiet(&["shop", "other"]);
    street.errors("/shop", &[("bad order", 5, 2)]);
    street.errors("/other", &[("bad order", 7, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(!status.contains("healthy"), "{status}");
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 2, "{status}");
    assert_eq!(
        count(&street, "SELECT count(DISTINCT substr(id, 1, 8)) FROM incident"),
        2
    );
    assert_eq!(count(&street, "SELECT count FROM signature WHERE repo = 'shop'"), 5);
    assert_eq!(count(&street, "SELECT count FROM signature WHERE repo = 'other'"), 7);
    let mails = street.mails();
    assert_eq!(mails.len(), 2, "{mails:?}");
    for (slot, times) in [("shop", "5 times"), ("other", "7 times")] {
        let of = mails.iter().filter(|m| m.contains(&format!("[{slot}]")));
        let of: Vec<_> = of.collect();
        assert!(of.len() == 1 && of[0].contains(times), "{slot}: {mails:?}");
    }
    // The same again is nothing new, and the one that is over is over alone.
    for _ in 0..4 {
        street.step(15);
        street.errors("/shop", &[]);
        street.errors("/other", &[("bad order", 7, 1)]);
        let (code, text) = street.run(&[]);
        assert_eq!(code, 0, "{text}");
    }
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("shop observe healthy"), "{status}");
    assert!(status.contains("other observe UNHEALTHY"), "{status}");
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 2);
    assert_eq!(count(&street, "SELECT count FROM signature WHERE repo = 'shop'"), 5);
    assert_eq!(street.mails().len(), 3);
}

#[test]
fn a_shared_cause_names_its_like_and_each_is_shown_by_its_own_name() {
    let street = quiet(&["shop", "other"]);
    street.errors("/shop", &[("bad order", 5, 2)]);
    street.errors("/other", &[("bad order", 7, 1)]);
    street.run(&[]);
    let text = tick::text::signature("ValueError: bad order").signature;
    let db = rusqlite::Connection::open(street.home().join("state/tick.db")).unwrap();
    let shared: (String, String) = db
        .query_row(
            "SELECT sig, repo FROM signature WHERE text_sig = ?1",
            [text.as_str()],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .unwrap();
    let short = shared.0[..8].to_owned();
    assert_eq!(shared.1, "shop", "the first of two new ones by name keeps the text's");
    for (asked, slot, like) in [(text.short(), "other:", &*short), (&short, "shop:", text.short())] {
        let (code, said) = street.run(&["show", asked]);
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains(slot) && said.contains(&format!("of its own: {like}")),
            "{said}"
        );
    }
}

/// A repo with a page and a tracker, both well at the first look.
fn with_page(every_minutes: Option<u32>) -> Street {
    let mut street = Street::new(|url| {
        let mut shop = tracked(url, "/shop");
        let mut probe = json!({ "name": "front", "url": format!("{url}/page") });
        if let Some(minutes) = every_minutes {
            probe["every_minutes"] = json!(minutes);
        }
        shop["health"] = json!([probe]);
        json!({ "repos": { "shop": shop }, "notify": { "file": "mail" }, "retry": { "attempts": 1, "seconds": 0 } })
    });
    street.answer("/page", 200, &"{}");
    street.errors("/shop", &[]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "{text}");
    street.step(15);
    street
}

/// A mail without what its encoding and its lines make of it.
fn plain(mail: &str) -> String {
    let mail = mail.replace("=\r\n", "").replace("=\n", "");
    mail.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn told(street: &Street, word: &str) -> usize {
    let mails = street.mails();
    mails.iter().filter(|mail| mail.contains(&format!("] {word}"))).count()
}

#[test]
fn late_events_are_told_and_are_over_only_after_two_looks_without_them() {
    let mut street = quiet(&["shop"]);
    street.errors("/shop", &[("bad order", 3, 40)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert_eq!((told(&street, "needs you"), told(&street, "over")), (1, 0), "{text}");
    street.step(15);
    street.run(&[]);
    assert_eq!(told(&street, "over"), 0, "the look shows it still");
    street.errors("/shop", &[]);
    for over in [0, 1] {
        street.step(15);
        let (_, text) = street.run(&[]);
        assert_eq!(told(&street, "over"), over, "{text}");
    }
    assert_eq!(told(&street, "needs you"), 1);
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("shop observe healthy"), "{status}");
}

/// One outage however it shows, and soon although the probe is looked at once an hour while it is well.
#[test]
fn a_page_that_fails_another_way_at_each_look_is_one_outage() {
    let mut street = with_page(Some(60));
    street.step(45);
    street.answer("/page", 502, &"");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 0, "one bad look\n{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("UNHEALTHY"), "{status}");
    assert!(status.contains("seen by the last look"), "{status}");
    street.step(15);
    street.answer("/page", 504, &"");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    street.step(15);
    street.answer("/page", 503, &"");
    street.run(&[]);
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 1, "{text}");
    assert_eq!((told(&street, "needs you"), told(&street, "over")), (1, 0));
    street.answer("/page", 200, &"{}");
    for over in [0, 1] {
        street.step(30);
        street.run(&[]);
        assert_eq!(told(&street, "over"), over);
    }
}

#[test]
fn a_page_that_fails_at_every_second_look_is_told() {
    let mut street = with_page(None);
    for (look, status) in [502, 200, 502, 200, 502].into_iter().enumerate() {
        street.answer("/page", status, &"{}");
        let (_, text) = street.run(&[]);
        assert_eq!(told(&street, "needs you"), usize::from(look == 4), "{text}");
        street.step(15);
    }
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("shop observe UNHEALTHY"), "{status}");
}

#[test]
fn what_nobody_has_looked_at_for_days_is_not_healthy() {
    let mut street = quiet(&["shop"]);
    street.run(&[]);
    street.step(3 * 24 * 60);
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("shop observe NOT LOOKED since 2026-11-29 03:15"),
        "{status}"
    );
    assert!(status.contains("See that the scheduler runs tick"), "{status}");
    assert!(!status.contains("healthy"), "{status}");
}

#[test]
fn a_page_that_is_down_when_it_is_first_looked_at_is_told_at_once() {
    let street = Street::new(|url| {
        json!({ "repos": { "site": { "health": [{ "url": format!("{url}/page") }] } },
                "notify": { "file": "mail" } })
    });
    street.answer("/page", 500, &"");
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(told(&street, "needs you"), 1, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("site observe UNHEALTHY"), "{status}");
}

/// The error that came with the outage goes away; the page stays down.
#[test]
fn an_incident_is_not_over_while_a_symptom_of_it_is_there() {
    let mut street = with_page(None);
    street.answer("/page", 500, &"");
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    street.errors("/shop", &[]);
    for _ in 0..3 {
        street.step(30);
        street.run(&[]);
    }
    assert_eq!(count(&street, "SELECT count(*) FROM incident"), 1);
    assert_eq!((told(&street, "needs you"), told(&street, "over")), (1, 0));
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("UNHEALTHY"), "{status}");
}

#[test]
fn what_is_ignored_for_a_while_is_shown_and_is_told_again_when_the_time_is_over() {
    let mut street = quiet(&["shop"]);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    let id = text_signature();
    let (code, text) = street.run(&["ignore", &id[..8], "--for", "2h", "--why", "known, fixing"]);
    assert_eq!(code, 0, "{text}");
    for _ in 0..2 {
        street.step(45);
        street.errors("/shop", &[("bad order", 3, 1)]);
        let (code, text) = street.run(&[]);
        assert_eq!(code, 0, "{text}");
        let (_, status) = street.run(&["status"]);
        assert!(status.contains("shop observe known"), "{status}");
        assert!(status.contains("ignored until 05:15"), "{status}");
    }
    assert_eq!(told(&street, "needs you"), 1);
    street.step(45);
    street.errors("/shop", &[("bad order", 3, 1)]);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(told(&street, "needs you"), 2, "{text}");
    assert_eq!(count(&street, "SELECT max(generation) FROM incident"), 2);
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("UNHEALTHY"), "{status}");
}

fn text_signature() -> String {
    tick::text::signature("ValueError: bad order").signature.to_string()
}

#[test]
fn what_a_person_has_is_told_once_more_when_it_gets_far_worse() {
    let mut street = quiet(&["shop"]);
    for _ in 0..3 {
        street.errors("/shop", &[("bad order", 3, 1)]);
        street.run(&[]);
        street.step(15);
    }
    assert_eq!(told(&street, "needs you"), 1);
    for _ in 0..3 {
        street.errors("/shop", &[("bad order", 5000, 1)]);
        street.run(&[]);
        street.step(15);
    }
    assert_eq!(told(&street, "needs you"), 2);
    let mails = street.mails();
    let worse = mails.iter().find(|mail| mail.contains("it got worse")).unwrap();
    assert!(worse.contains("it got worse: 5000 ev"), "{worse}");
    assert!(worse.contains("tick show"), "{worse}");
}

#[test]
fn a_day_on_which_tick_did_not_run_makes_nothing_worse() {
    let mut street = quiet(&["shop"]);
    for minutes in [15, 15, 15, 1440, 15, 15] {
        street.errors("/shop", &[("bad order", 10, 1)]);
        street.run(&[]);
        street.step(minutes);
    }
    assert_eq!(told(&street, "needs you"), 1, "{:?}", street.mails());
}

/// What stood there at first sight becomes far more: one message, which says so.
#[test]
fn a_known_cause_that_rises_is_told_once_and_with_the_reason() {
    let mut street = Street::new(|url| {
        json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
        "retry": { "attempts": 1, "seconds": 0 } })
    });
    for _ in 0..4 {
        street.errors("/shop", &[("bad order", 3, 1)]);
        street.run(&[]);
        street.step(15);
    }
    assert_eq!(told(&street, "needs you"), 0);
    for _ in 0..4 {
        street.errors("/shop", &[("bad order", 500, 1)]);
        street.run(&[]);
        street.step(15);
    }
    assert_eq!(told(&street, "needs you"), 1, "{:#?}", street.mails());
    let mails = street.mails();
    let mail = mails.iter().find(|mail| mail.contains("] needs you")).unwrap();
    let words = plain(mail);
    assert!(
        words.contains(
            "opened known from first sight, and rising: 500 events since the look before, 4 were to be expected"
        ),
        "{mail}"
    );
}

/// The page is well while the error that it came with goes on: that is said where it stands, and in the last message.
#[test]
fn a_page_that_is_well_again_before_the_rest_is_told_as_that() {
    let mut street = with_page(None);
    street.answer("/page", 500, &"");
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    street.step(15);
    street.errors("/shop", &[("bad order", 3, 1)]);
    street.run(&[]);
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("front: HTTP 500; ValueError") && !status.contains("well again"),
        "{status}"
    );
    street.answer("/page", 200, &"{}");
    for _ in 0..2 {
        street.step(15);
        street.errors("/shop", &[("bad order", 3, 1)]);
        street.run(&[]);
    }
    let (_, status) = street.run(&["status"]);
    assert!(
        status.contains("well again: front: HTTP 500, last seen 03:30"),
        "{status}"
    );
    street.errors("/shop", &[]);
    for _ in 0..3 {
        street.step(30);
        street.run(&[]);
    }
    let mails = street.mails();
    let over = mails.iter().find(|mail| mail.contains("] over")).expect("it is over");
    let words = plain(over);
    assert!(
        words.contains("front: HTTP 500: in 2 looks since 03:15 UTC, well again after 03:30 UTC"),
        "{over}"
    );
    assert!(
        !words.contains("UTC, well again after 04"),
        "the rest ends with the incident: {over}"
    );
}

/// Two good looks within a minute are no half hour: until then status says when it is over, and whose move it is.
#[test]
fn what_is_well_again_says_when_it_is_over() {
    let mut street = Street::new(
        |url| json!({ "repos": { "site": { "health": [{ "url": format!("{url}/page") }] } }, "notify": { "file": "mail" } }),
    );
    street.answer("/page", 500, &"");
    let (code, text) = street.run(&["--observe"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        !text.contains("handled") && text.contains("1 incident opened and told to nobody yet"),
        "{text}"
    );
    assert!(street.mails().is_empty());
    street.step(1);
    let (code, text) = street.run(&[]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("something newly needs a person") && !text.contains("rolled back"),
        "{text}"
    );
    assert_eq!(told(&street, "needs you"), 1, "{text}");
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("you move next"), "{status}");
    street.answer("/page", 200, &"");
    let down = street.now;
    for minutes in [1, 1, 10] {
        street.step(minutes);
        let (code, text) = street.run(&[]);
        assert_eq!(code, 0, "{text}");
        let (_, status) = street.run(&["status"]);
        let over = (down + chrono::TimeDelta::minutes(29))
            .format("after %H:%M")
            .to_string();
        assert!(status.contains(&over), "{over}: {status}");
        assert!(
            status.contains("tick moves next") && !status.contains("you move next"),
            "{status}"
        );
    }
    street.step(20);
    street.run(&[]);
    let (_, status) = street.run(&["status"]);
    assert!(status.contains("site observe healthy"), "{status}");
    assert_eq!(told(&street, "over"), 1, "{:?}", street.mails());
}
