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
