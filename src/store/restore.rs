//! Rebuilds a lost ledger from the printed audit log: a person's act, and only where no ledger stands. The chain is
//! checked first; a broken one restores nothing.

use std::path::Path;

use rusqlite::Transaction;
use serde_json::Value;

use super::{
    AuditRow, NewIncident, Result, SignatureRow, Store, StoreError, TxError, Verified, audit, causes, effects,
    evidence, from_json, incidents, parse_time, to_json,
};
use crate::model::incident::Attempt;

/// What was brought back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    pub signatures: u64,
    pub incidents: u64,
    pub effects: u64,
}

impl Store {
    /// Makes a new ledger from `incidents.jsonl`. Refused while a ledger stands, or when the log is broken.
    pub fn restore(dir: &Path) -> Result<Restored> {
        let path = dir.join("tick.db");
        if path.exists() {
            return Err(StoreError::Unusable {
                path,
                why: "a ledger stands there; move it aside first (tick.db, tick.db-wal, tick.db-shm)".to_owned(),
            });
        }
        let log = dir.join("incidents.jsonl");
        let text = super::print::read(dir)?;
        if text.is_empty() {
            return Err(super::unusable(&log, "it holds no record"));
        }
        let rows = records(&text);
        if let Verified::Broken { seq, why } = audit::verify_chain(&rows) {
            return Err(StoreError::Damaged {
                path: log,
                why: format!("record {seq}: {why}"),
            });
        }
        // Beside the final name until it is whole: a crash leaves no half ledger under it.
        let work = dir.join("restoring");
        let _stale = std::fs::remove_dir_all(&work);
        std::fs::create_dir(&work).map_err(|error| super::unusable(&work, &error.to_string()))?;
        let mut store = Self::open(&work)?;
        let restored = store.write(|tx| replay(tx, &rows))?;
        store
            .conn
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")
            .map_err(|error| store.fail(&error))?;
        drop(store);
        std::fs::rename(work.join("tick.db"), &path).map_err(|error| super::unusable(&path, &error.to_string()))?;
        let _empty = std::fs::remove_dir_all(&work);
        Ok(restored)
    }
}

/// The records of a printed log: up to the first line that is none.
fn records(text: &str) -> Vec<AuditRow> {
    // A torn last line is what a crash leaves; anything else that does not parse breaks the chain.
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

/// The reading of a printed log, for the fuzzer.
#[doc(hidden)]
pub fn fuzz_records(text: &str) {
    drop(audit::verify_chain(&records(text)));
}

fn replay(tx: &Transaction<'_>, rows: &[AuditRow]) -> Result<Restored, TxError> {
    let mut restored = Restored::default();
    for row in rows {
        one(tx, row, &mut restored)?;
        tx.execute(
            "INSERT INTO audit (seq, at, kind, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (row.seq, &row.at, &row.kind, row.body.to_string(), &row.prev, &row.hash),
        )?;
    }
    Ok(restored)
}

fn text<'a>(body: &'a Value, field: &str) -> &'a str {
    body.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// What one record says of the ledger. Audit rows of the replay itself are not written: they are the input.
fn one(tx: &Transaction<'_>, row: &AuditRow, restored: &mut Restored) -> Result<(), TxError> {
    let body = &row.body;
    match row.kind.as_str() {
        "signature" => {
            let signature: SignatureRow = from_json("signature", &body.to_string())?;
            // The log does not say which function signed it, so the next tick signs it anew.
            causes::upsert_signature(tx, &signature, 0)?;
            restored.signatures += 1;
        }
        "incident-opened" => {
            let new: NewIncident = from_json("incident", &body.to_string())?;
            incidents::insert(tx, &new, parse_time(&row.at)?)?;
            restored.incidents += 1;
        }
        "incident-closed" => {
            let outcome = body.get("outcome").cloned().unwrap_or_default();
            tx.execute(
                "UPDATE incident SET closed_at = ?2, outcome = ?3, due_at = NULL WHERE id = ?1",
                (text(body, "incident"), &row.at, to_json("outcome", &outcome)?),
            )?;
        }
        "retry" => {
            tx.execute(
                "UPDATE incident SET closed_at = NULL, outcome = NULL, due_at = ?2 WHERE id = ?1",
                (text(body, "incident"), &row.at),
            )?;
        }
        "attempt" => {
            let attempt: Attempt = from_json("attempt", &body.to_string())?;
            let incident = attempt.id.as_str().split('/').next().unwrap_or_default().to_owned();
            incidents::upsert_attempt(tx, &incident, &attempt)?;
        }
        "evidence" => {
            let evidence = from_json(
                "evidence",
                &body.get("evidence").cloned().unwrap_or_default().to_string(),
            )?;
            evidence::insert_evidence(tx, text(body, "incident"), &evidence)?;
        }
        "intent" | "letter" | "effect" => effect(tx, row, restored)?,
        "pull-forgotten" => effects::forget_pull(tx, text(body, "incident"), &row.at)?,
        "flag" => {
            let name = text(body, "name");
            match body.get("value").and_then(Value::as_str) {
                Some(value) => tx.execute(
                    "INSERT INTO flag (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (name, value),
                )?,
                None => tx.execute("DELETE FROM flag WHERE name = ?1", [name])?,
            };
        }
        "ignore" => {
            tx.execute(
                "UPDATE signature SET ignored_until = ?2, ignored_why = ?3 WHERE sig = ?1",
                (text(body, "signature"), text(body, "until"), text(body, "why")),
            )?;
        }
        "agent-run" => {
            tx.execute(
                "INSERT INTO spend (id, incident, role, agent, reserved, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                (
                    body.get("id").and_then(Value::as_i64),
                    text(body, "incident"),
                    text(body, "role"),
                    text(body, "agent"),
                    body.get("reserved").and_then(Value::as_f64),
                    &row.at,
                ),
            )?;
        }
        "agent-cost" => {
            tx.execute(
                "UPDATE spend SET spent = ?2 WHERE id = ?1",
                (
                    body.get("id").and_then(Value::as_i64),
                    body.get("usd").and_then(Value::as_f64),
                ),
            )?;
        }
        "symptom-joined" => {
            tx.execute(
                "INSERT INTO incident_signature (sig, incident, role) VALUES (?1, ?2, 'symptom') ON CONFLICT DO NOTHING",
                (text(body, "signature"), text(body, "incident")),
            )?;
        }
        "symptom-left" => {
            tx.execute(incidents::LEAVE, (text(body, "signature"), text(body, "incident")))?;
        }
        // A kind of a newer tick: its row is kept in the log, and says nothing to this one.
        _ => {}
    }
    Ok(())
}

/// A letter is worded in its intent; what became of it is written after.
fn effect(tx: &Transaction<'_>, row: &AuditRow, restored: &mut Restored) -> Result<(), TxError> {
    let body = &row.body;
    let (key, incident) = (text(body, "key"), text(body, "incident"));
    match (row.kind.as_str(), body.get("letter")) {
        ("intent", Some(letter)) => effects::put_letter(tx, key, incident, 0, &row.at, letter)?,
        ("intent", None) => {
            tx.execute(
                "INSERT INTO effect (key, incident, fence, kind, args_digest, intended_at) VALUES (?1, ?2, 0, ?3, '', ?4)
                 ON CONFLICT (key) DO UPDATE SET intended_at = excluded.intended_at, outcome = NULL, done_at = NULL",
                (key, incident, text(body, "kind"), &row.at),
            )?;
        }
        ("letter", _) => {
            let outcome = text(body, "outcome");
            tx.execute("UPDATE effect SET outcome = ?2 WHERE key = ?1", (key, outcome))?;
        }
        _ => {
            let result = body.get("result").cloned().unwrap_or_default();
            tx.execute(
                "UPDATE effect SET done_at = ?2, outcome = ?3, result = ?4 WHERE key = ?1",
                (key, &row.at, text(body, "outcome"), result.to_string()),
            )?;
            restored.effects += 1;
        }
    }
    Ok(())
}
