//! Facts from a real ledger.

use serde_json::json;

use super::*;
use crate::{
    model::{
        AttemptId, Signature, Slot,
        incident::{Attempt, AttemptOutcome, FailureType, TriageVerdict},
    },
    store::testing::{at, open, store},
};

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

fn put(store: &mut Store, id: &IncidentId, head: &str, kind: &str, detail: &impl serde::Serialize) {
    let claim = store.claim(id).unwrap().unwrap();
    let row = EvidenceRow {
        head: head.to_owned(),
        kind: kind.to_owned(),
        verdict: String::new(),
        digest: String::new(),
        detail: json!(detail),
        at: at(1),
    };
    store.add_evidence(&claim, &row).unwrap();
}

fn triage(sig: &Signature, failure_type: FailureType) -> Triage {
    Triage {
        signature: sig.clone(),
        verdict: TriageVerdict::Bug,
        failure_type,
        repo: Slot::parse("api").unwrap(),
        root_cause: String::new(),
        suspected_files: Vec::new(),
        confidence: 0.9,
        same_as: None,
    }
}

/// An incident of a class that ended like this.
fn ended(store: &mut Store, sig: &str, class: FailureType, outcome: IncidentOutcome) {
    let id = open(store, sig);
    let word = triage(&id.signature(), class);
    put(store, &id, "", kind::TRIAGE, &word);
    let claim = store.claim(&id).unwrap().unwrap();
    store.close(&claim, outcome, at(2)).unwrap();
}

#[test]
fn the_record_of_a_class_counts_that_class_alone() {
    let (_dir, mut store) = store();
    for n in 1..=5 {
        ended(
            &mut store,
            &format!("{n:016x}"),
            FailureType::Unit,
            IncidentOutcome::Resolved,
        );
    }
    ended(
        &mut store,
        &format!("{:016x}", 6),
        FailureType::Runtime,
        IncidentOutcome::Resolved,
    );
    ended(
        &mut store,
        &format!("{:016x}", 7),
        FailureType::Runtime,
        IncidentOutcome::TakenBack,
    );
    ended(
        &mut store,
        &format!("{:016x}", 8),
        FailureType::Unit,
        IncidentOutcome::Gone,
    );
    let id = open(&mut store, &format!("{:016x}", 9));
    let incident = store.incident(&id).unwrap().unwrap();
    let of = |class: FailureType| {
        let word = triage(&id.signature(), class);
        let record = record(&store, &incident, Some(&word)).unwrap();
        (record.merged, record.taken_back)
    };
    assert_eq!(of(FailureType::Unit), (5, 0));
    assert_eq!(of(FailureType::Runtime), (1, 1));
    assert_eq!(of(FailureType::Build), (0, 0));
    assert_eq!(record(&store, &incident, None).unwrap(), ClassRecord::default());
}

#[test]
fn a_rebase_that_is_recorded_twice_is_one() {
    let (_dir, mut store) = store();
    let id = open(&mut store, "7f3a91c07f3a91c0");
    let attempt = Attempt {
        id: AttemptId::new(&id, 1),
        n: 1,
        base: sha('b'),
        head: Some(sha('d')),
        patch_id: None,
        started: at(0),
        ended: Some(at(1)),
        outcome: Some(AttemptOutcome::Committed),
        failure_sig: None,
        charged: true,
        agent: "recording".to_owned(),
        said: String::new(),
    };
    let claim = store.claim(&id).unwrap().unwrap();
    store.put_attempt(&claim, &attempt, at(1)).unwrap();
    drop(claim);
    // The process died before the attempt named the new head, and the next one did it all again.
    for (head, times) in [('c', 1), ('d', 2), ('d', 2)] {
        let (from, onto) = (sha('a'), sha('b'));
        put(
            &mut store,
            &id,
            sha(head).as_str(),
            kind::REBASED,
            &Rebased { from, onto, times },
        );
    }
    let rows = since_retry(store.evidence(&id).unwrap());
    let facts = attempts(&store, &id, &rows).unwrap();
    assert_eq!(facts[0].rebases, 2);
}
