//! Ledgers with an incident in them, for tests of everything that reads one.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{NewIncident, Sighting, SignatureRow, Store, TickEnd, TickLock, locks::Tried};
use crate::model::{
    IncidentId, Signature, Slot, TickId,
    signal::{Severity, SignalKind},
};

pub(crate) fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z")
        .unwrap()
        .with_timezone(&Utc)
        + TimeDelta::minutes(minutes)
}

pub(crate) fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

pub(crate) fn signature_row(sig: &Signature, count: u64) -> SignatureRow {
    SignatureRow {
        sig: sig.clone(),
        text_sig: None,
        repo: Slot::parse("api").unwrap(),
        target: "api".to_owned(),
        source: "exceptions".to_owned(),
        template: "ZeroDivisionError".to_owned(),
        label: "bug".to_owned(),
        kind: SignalKind::Exception,
        severity: Severity::Error,
        title: "ZeroDivisionError".to_owned(),
        culprit: None,
        samples: vec![],
        signed_text: None,
        first_seen: at(0),
        last_seen: at(1),
        count,
        releases: vec![],
        inventory: false,
        bad_ticks: 1,
        quiet_looks: 0,
        ignored_until: None,
        ignored_why: None,
        fire_after: None,
        clear_after: None,
        waits_since: None,
        part: None,
        red_run: None,
    }
}

/// A lock of before may be held for a moment more: a child that another test starts has a copy of it until it is
/// the program that it was started for.
pub(crate) fn lock(store: &Store) -> TickLock {
    for _ in 0..100_000 {
        match TickLock::try_take(store.dir(), "test").unwrap() {
            Tried::Held(lock) => return lock,
            Tried::Busy(_) => std::thread::yield_now(),
        }
    }
    panic!("the lock of {} stays held", store.dir().display());
}

/// The end of a tick that saw nothing.
pub(crate) fn quiet(id: &TickId, minutes: i64) -> TickEnd<'_> {
    static NO_REPLIES: BTreeMap<String, super::CachedReply> = BTreeMap::new();
    TickEnd {
        id,
        started_at: at(minutes),
        ended_at: at(minutes),
        deep: false,
        gate: "quiet",
        snapshot_digest: "",
        config_digest: "",
        sources: &[],
        seen: &[],
        opened: &[],
        joined: &[],
        left: &[],
        waits: &[],
        measures: &[],
        owed: &[],
        http_cache: &NO_REPLIES,
        changes: &[],
    }
}

/// One incident of the repo `api`.
pub(crate) fn open_one(store: &mut Store) -> IncidentId {
    open(store, "7f3a91c07f3a91c0")
}

pub(crate) fn open(store: &mut Store, sig: &str) -> IncidentId {
    let sig = Signature::parse(sig).unwrap();
    let id = IncidentId::new(&sig, 1);
    let lock = lock(store);
    let tick = store.next_tick(at(0)).unwrap();
    store
        .end_tick(
            &lock,
            &TickEnd {
                gate: "wake",
                seen: &[(
                    signature_row(&sig, 14),
                    Sighting {
                        from: at(0),
                        at: at(1),
                        count: 14,
                        release: None,
                    },
                )],
                opened: &[NewIncident {
                    id: id.clone(),
                    repo: Slot::parse("api").unwrap(),
                    signature: sig,
                    why: "new".to_owned(),
                }],
                ..quiet(&tick, 0)
            },
        )
        .unwrap();
    id
}
