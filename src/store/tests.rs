use super::{
    testing::{at, lock, open_one, quiet, signature_row, store},
    *,
};
use crate::model::incident::IncidentOutcome;

#[test]
fn a_tick_is_one_transaction_that_reads_back() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let incident = store.incident(&id).unwrap().unwrap();
    assert_eq!(incident.opened_at, at(0));
    let sig = id.signature();
    assert_eq!(store.signature(&sig).unwrap().unwrap().count, 14);
    assert_eq!(store.sightings(&sig, at(-60)).unwrap().len(), 1);
    assert_eq!(store.due_incidents(at(0)).unwrap().len(), 1);
    assert_eq!(store.next_tick(at(1)).unwrap().as_str(), "20261129T030100Z-2");
}

#[test]
fn an_older_fence_cannot_write() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let first = store.claim(&id).unwrap().unwrap();
    assert!(store.claim(&id).unwrap().is_none(), "two holders of one incident");
    let old = Claim::new(id.clone(), first.fence, std::fs::File::open("/dev/null").unwrap());
    drop(first);
    let second = store.claim(&id).unwrap().unwrap();
    assert!(second.fence > old.fence);
    let error = store.close(&old, IncidentOutcome::Resolved, at(5)).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }));
    store.close(&second, IncidentOutcome::Resolved, at(5)).unwrap();
    assert!(store.open_incidents().unwrap().is_empty());
}

#[test]
fn evidence_of_a_repo_is_found_over_its_incidents_and_only_so_long() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let claim = store.claim(&id).unwrap().unwrap();
    for (minutes, verdict) in [(0, "old"), (10, "first"), (11, "second")] {
        let row = EvidenceRow {
            head: "a".repeat(40),
            kind: "flakes".to_owned(),
            verdict: verdict.to_owned(),
            digest: String::new(),
            detail: serde_json::json!(["tests.test_a.A.test"]),
            at: at(minutes),
        };
        store.add_evidence(&claim, &row).unwrap();
    }
    let repo = |name: &str| crate::model::Slot::parse(name).unwrap();
    let words = |repo_name: &str, limit: u32| -> Vec<String> {
        let rows = store.evidence_of(&repo(repo_name), "flakes", at(5), limit).unwrap();
        rows.into_iter().map(|row| row.verdict).collect()
    };
    assert_eq!(words("api", 9), ["second", "first"]);
    assert_eq!(words("api", 1), ["second"]);
    assert!(words("web", 9).is_empty());
    assert!(store.flaky_in_ci(&repo("api"), at(0), 9).unwrap().is_empty());
}

#[test]
fn a_flake_of_ci_is_known_by_its_test() {
    let (_dir, mut store) = store();
    let sig = crate::model::Signature::parse("00000000000000aa").unwrap();
    let flaky = SignatureRow {
        signed_text: Some("FLAKY tests.test_cart.Cart.test_total\nAssertionError: 1 != 2".to_owned()),
        ..signature_row(&sig, 1)
    };
    let sighting = Sighting {
        from: at(0),
        at: at(1),
        count: 1,
        release: None,
    };
    let lock = lock(&store);
    let tick = store.next_tick(at(0)).unwrap();
    let seen = [(flaky.clone(), sighting)];
    store
        .end_tick(
            &lock,
            &TickEnd {
                seen: &seen,
                ..quiet(&tick, 0)
            },
        )
        .unwrap();
    let of = |since| store.flaky_in_ci(&flaky.repo, since, 9).unwrap();
    assert_eq!(of(at(0)), ["tests.test_cart.Cart.test_total"]);
    assert!(of(at(2)).is_empty(), "seen too long ago");
}

#[test]
fn an_effect_is_intended_once_and_remembered() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let claim = store.claim(&id).unwrap().unwrap();
    let key = "push:x/1";
    assert_eq!(store.intend(&claim, key, "push", "", at(1)).unwrap(), Intent::Fresh);
    assert_eq!(
        store.intend(&claim, key, "push", "", at(2)).unwrap(),
        Intent::Open(at(1))
    );
    store.effect_refused(&claim, key, "no", at(2)).unwrap();
    assert_eq!(store.intend(&claim, key, "push", "", at(3)).unwrap(), Intent::Fresh);
    store
        .effect_done(&claim, key, &serde_json::json!("sha"), at(3))
        .unwrap();
    assert_eq!(
        store.intend(&claim, key, "push", "", at(4)).unwrap(),
        Intent::Done(serde_json::json!("sha"))
    );
}

#[test]
fn a_letter_waits_as_it_was_first_worded_until_it_is_sent_or_given_up() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let claim = store.claim(&id).unwrap().unwrap();
    for (key, n) in [("mail:x:needs-you", 1), ("mail:x:needs-you", 2), ("mail:x:merged", 3)] {
        let letter = serde_json::json!({ "n": n });
        store.post(&claim, key, &letter, at(n)).unwrap();
    }
    let first = |store: &Store| store.letters().unwrap().remove(0).1;
    assert_eq!(first(&store).result.unwrap()["n"], 1);
    assert!(store.open_effects().unwrap().is_empty());
    let done = serde_json::json!({ "message_id": "x" });
    store.effect_done(&claim, "mail:x:needs-you", &done, at(4)).unwrap();
    assert_eq!(first(&store).key, "mail:x:merged");
    store
        .letter_given_up(&claim, "mail:x:merged", "too old", &serde_json::Value::Null, at(5))
        .unwrap();
    assert!(store.letters().unwrap().is_empty());
    let again = serde_json::json!({ "n": 4 });
    store.post(&claim, "mail:x:merged", &again, at(6)).unwrap();
    assert!(store.letters().unwrap().is_empty(), "told once, or not at all");
}

#[test]
fn a_newer_or_damaged_or_lost_ledger_is_refused_and_left_alone() {
    let (dir, store) = store();
    store.conn.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    assert!(matches!(
        Store::open(dir.path()),
        Err(StoreError::Newer { found: 99, .. })
    ));

    let path = dir.path().join("tick.db");
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), vec![b'x'; 8192]);

    for file in ["tick.db", "tick.db-wal", "tick.db-shm"] {
        let _absent = std::fs::remove_file(dir.path().join(file));
    }
    std::fs::write(dir.path().join("incidents.jsonl"), "{}\n").unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Damaged { .. })));
    assert!(!path.exists());
}

#[test]
fn spend_counts_an_unsettled_reservation_as_spent() {
    let (_dir, mut store) = store();
    let id = open_one(&mut store);
    let claim = store.claim(&id).unwrap().unwrap();
    let run = store.reserve(&id, Some(&claim), "fix", "claude", 2.0, at(0)).unwrap();
    assert!((store.spent(&id, at(1)).unwrap().day_usd - 2.0).abs() < 1e-9);
    store.settle_spend(run, Some(0.25), at(1)).unwrap();
    let spent = store.spent(&id, at(1)).unwrap();
    assert!((spent.incident_usd - 0.25).abs() < 1e-9);
    assert_eq!(spent.day_runs, 1);
}

#[test]
fn a_lost_ledger_is_rebuilt_from_the_log_and_a_broken_log_rebuilds_nothing() {
    let (dir, mut store) = store();
    let id = open_one(&mut store);
    let claim = store.claim(&id).unwrap().unwrap();
    store.intend(&claim, "push:x/1", "push", "", at(1)).unwrap();
    store
        .effect_done(&claim, "push:x/1", &serde_json::json!({ "head": "x" }), at(2))
        .unwrap();
    let letter = serde_json::json!({ "subject": "s", "body": "b" });
    store.post(&claim, "mail:x:needs-you", &letter, at(2)).unwrap();
    store
        .letter_waits(&claim, "mail:x:needs-you", "no server", &letter, at(2))
        .unwrap();
    store.set_flag("pause", Some("why"), "me", at(2)).unwrap();
    store.print_audit().unwrap();
    drop((claim, store));
    let remove = || {
        for file in ["tick.db", "tick.db-wal", "tick.db-shm"] {
            let _absent = std::fs::remove_file(dir.path().join(file));
        }
    };
    assert!(Store::restore(dir.path()).is_err(), "a ledger stands");
    remove();
    let restored = Store::restore(dir.path()).unwrap();
    assert_eq!((restored.signatures, restored.incidents, restored.effects), (1, 1, 1));
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.incident(&id).unwrap().unwrap().opened_at, at(0));
    assert!(store.effect("push:x/1").unwrap().unwrap().is_done());
    let letters = store.letters().unwrap();
    assert_eq!(letters.len(), 1, "a message that waited waits on");
    assert_eq!(letters[0].1.outcome.as_deref(), Some("not sent: no server"));
    assert_eq!(letters[0].1.result.as_ref(), Some(&letter));
    assert_eq!(store.flag("pause").unwrap().as_deref(), Some("why"));
    assert!(matches!(store.verify_audit().unwrap(), Verified::Intact { .. }));
    drop(store);

    let log = dir.path().join("incidents.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("push", "pull", 1)).unwrap();
    remove();
    assert!(Store::restore(dir.path()).is_err(), "an edited log restores nothing");
    assert!(!dir.path().join("tick.db").exists());
}

#[test]
fn a_new_ledger_opened_by_many_at_once_is_made_once() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let together = std::sync::Barrier::new(8);
        let open = || {
            together.wait();
            Store::open(dir.path())
        };
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            for store in opened {
                store.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn ledgers_of_every_older_schema_are_brought_up_to_date() {
    for version in 0..schema::VERSION {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("tick.db")).unwrap();
        schema::migrate_to(&conn, version).unwrap();
        drop(conn);
        let store = Store::open(dir.path()).unwrap();
        let now: i64 = store
            .conn
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(now, schema::VERSION, "from {version}");
        assert!(store.open_incidents().unwrap().is_empty());
    }
}

#[test]
fn processes_that_print_the_audit_log_at_once_print_each_row_once() {
    let (dir, mut store) = store();
    for n in 0..50 {
        store.set_flag("pause", Some(&n.to_string()), "me", at(n)).unwrap();
    }
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| Store::open(dir.path()).unwrap().print_audit().unwrap());
        }
    });
    assert_eq!(store.verify_audit().unwrap(), Verified::Intact { rows: 50 });
}

/// The counter of an id is a guess of its process; two ticks of one guess are two rows.
#[test]
fn two_ticks_of_one_counter_are_two_rows() {
    let (_dir, mut store) = store();
    open_one(&mut store);
    let lock = lock(&store);
    let guessed = store.next_tick(at(1)).unwrap();
    for id in [guessed.following(), guessed] {
        let end = TickEnd {
            owed: &[("owed:x".to_owned(), "y".to_owned())],
            ..quiet(&id, 1)
        };
        store.end_tick(&lock, &end).unwrap();
    }
    assert_eq!(store.last_ticks(9).unwrap().len(), 3);
    assert_eq!(store.flag("owed:x").unwrap().as_deref(), Some("y"));
}
