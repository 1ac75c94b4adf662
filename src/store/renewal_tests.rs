use super::*;
use crate::{
    model::{IncidentId, Slot, TickId},
    store::{
        NewIncident, Sighting, SignatureRow, TickEnd,
        testing::{at, lock, quiet, signature_row, store},
    },
    text,
};

/// A next version whose rules drop what stands in brackets, so that some causes become one and others are renamed.
fn next_version(text: &str) -> Signature {
    let bare: String = text
        .split('(')
        .map(|part| part.split_once(')').map_or(part, |(_, rest)| rest))
        .collect();
    text::signature(&format!("next: {bare}")).signature
}

const NEXT: u32 = text::signature::VERSION + 1;

fn cause(text: &str, minute: i64) -> SignatureRow {
    let mut row = signature_row(&text::signature(text).signature, 1);
    row.samples = vec![text.to_owned()];
    row.last_seen = at(minute);
    row
}

fn write(store: &mut Store, rows: &[SignatureRow], opened: &[NewIncident]) {
    let lock = lock(store);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            let seen = Sighting {
                from: at(0),
                at: row.last_seen,
                count: 1,
                release: None,
            };
            (row.clone(), seen)
        })
        .collect();
    let id = TickId::new("20261129T030000Z", 1);
    let end = TickEnd {
        gate: "wake",
        seen: &seen,
        opened,
        ..quiet(&id, 0)
    };
    store.end_tick(&lock, &end).unwrap();
}

fn incident(row: &SignatureRow) -> NewIncident {
    NewIncident {
        id: IncidentId::new(&row.sig, 1),
        repo: row.repo.clone(),
        signature: row.sig.clone(),
        why: "new".to_owned(),
    }
}

fn found(store: &Store, text: &str) -> Option<Signature> {
    let slot = Slot::parse("api").unwrap();
    store.cause(&next_version(text), &slot).unwrap().map(|row| row.sig)
}

#[test]
fn an_upgrade_knows_the_causes_that_stand_there() {
    let (_dir, mut store) = store();
    let row = cause("KeyError: 'vat'", 1);
    write(&mut store, std::slice::from_ref(&row), &[incident(&row)]);
    assert_eq!(found(&store, "KeyError: 'vat'"), None);

    let lock = lock(&store);
    let renewed = store.sign_anew(&lock, NEXT, at(2), next_version).unwrap();
    assert_eq!(renewed, Renewed { causes: 1, renamed: 1 });
    assert_eq!(found(&store, "KeyError: 'vat'"), Some(row.sig.clone()));
    let known = store.signature(&row.sig).unwrap().unwrap();
    assert_eq!(known.text_signature(), &next_version("KeyError: 'vat'"));
    // The incident is where it was, under the name that branches and letters carry.
    assert_eq!(
        store.incident_of(&row.sig).unwrap().unwrap().id,
        IncidentId::new(&row.sig, 1)
    );

    let again = store.sign_anew(&lock, NEXT, at(3), next_version).unwrap();
    assert_eq!(again, Renewed::default());
}

#[test]
fn of_two_causes_that_become_one_the_open_one_is_known() {
    let (_dir, mut store) = store();
    let (open, newer) = (cause("boom (alpha) in cart", 1), cause("boom (beta) in cart", 9));
    write(&mut store, &[open.clone(), newer.clone()], &[incident(&open)]);
    let lock = lock(&store);
    let renewed = store.sign_anew(&lock, NEXT, at(10), next_version).unwrap();
    assert_eq!(renewed.causes, 2);
    assert_eq!(found(&store, "boom (gamma) in cart"), Some(open.sig));
    assert!(store.signature(&newer.sig).unwrap().is_some());
}

#[test]
fn a_cause_that_falls_apart_is_known_by_each_of_its_samples() {
    let (_dir, mut store) = store();
    let mut row = cause("one way to say it", 1);
    row.samples.push("another way to say it".to_owned());
    write(&mut store, std::slice::from_ref(&row), &[]);
    let lock = lock(&store);
    store.sign_anew(&lock, NEXT, at(2), next_version).unwrap();
    for text in &row.samples {
        assert_eq!(found(&store, text), Some(row.sig.clone()), "{text}");
    }
}

#[test]
fn what_was_signed_counts_and_not_what_is_shown() {
    let (_dir, mut store) = store();
    let mut row = cause("alert: disk is full", 1);
    row.samples = vec!["see the runbook".to_owned()];
    row.signed_text = Some("alert: disk is full".to_owned());
    let mut probe = cause("probe", 2);
    probe.kind = SignalKind::Health;
    write(&mut store, &[row.clone(), probe.clone()], &[]);
    let lock = lock(&store);
    store.sign_anew(&lock, NEXT, at(3), next_version).unwrap();
    assert_eq!(found(&store, "alert: disk is full"), Some(row.sig));
    assert_eq!(found(&store, "see the runbook"), None);
    // A probe's name does not depend on the rules.
    let slot = Slot::parse("api").unwrap();
    assert_eq!(
        store.cause(&probe.sig, &slot).unwrap().map(|row| row.sig),
        Some(probe.sig)
    );
}

#[test]
fn the_ledger_of_today_needs_nothing() {
    let (_dir, mut store) = store();
    write(&mut store, &[cause("KeyError: 'vat'", 1)], &[]);
    let lock = lock(&store);
    let sign = |text: &str| text::signature(text).signature;
    let renewed = store.sign_anew(&lock, text::signature::VERSION, at(2), sign).unwrap();
    assert_eq!(renewed, Renewed::default());
}
