//! What was judged of an incident's heads, and what was decided turn by turn. Rows are added and never changed.

use chrono::{DateTime, Utc};
use rusqlite::{Row, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Claim, Result, Store, TxError, audit, from_json, incidents::check_fence, parse_id, parse_time, time, to_json,
};
use crate::model::{IncidentId, Slot, TickId};

/// One piece of evidence: what was judged, of which head, with which verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// Empty where it speaks of the incident and not of a commit.
    pub head: String,
    pub kind: String,
    pub verdict: String,
    pub digest: String,
    pub detail: Value,
    pub at: DateTime<Utc>,
}

/// One turn of `advance`: the facts it saw and what it decided, for replay and `why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRow {
    pub tick: TickId,
    pub turn: u32,
    pub facts: Value,
    pub action: Value,
}

impl Store {
    /// All evidence of an incident, oldest first.
    pub fn evidence(&self, id: &IncidentId) -> Result<Vec<EvidenceRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT head, kind, verdict, digest, detail, at FROM evidence WHERE incident = ?1 ORDER BY id",
            )?;
            let mut rows = statement.query([id.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(evidence_row(row)?);
            }
            Ok(out)
        })
    }

    /// Evidence of one kind about any incident of a repo since then, newest first.
    pub fn evidence_of(&self, repo: &Slot, kind: &str, since: DateTime<Utc>, limit: u32) -> Result<Vec<EvidenceRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT e.head, e.kind, e.verdict, e.digest, e.detail, e.at FROM evidence e
                 JOIN incident i ON i.id = e.incident
                 WHERE i.repo = ?1 AND e.kind = ?2 AND e.at >= ?3 ORDER BY e.id DESC LIMIT ?4",
            )?;
            let mut rows = statement.query((repo.as_str(), kind, time(since), limit))?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(evidence_row(row)?);
            }
            Ok(out)
        })
    }

    pub fn add_evidence(&mut self, claim: &Claim, row: &EvidenceRow) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            insert_evidence(tx, claim.incident.as_str(), row)?;
            let body = serde_json::json!({ "incident": claim.incident, "evidence": row });
            audit::record(tx, row.at, "evidence", &body)
        })
    }

    pub fn decisions(&self, id: &IncidentId) -> Result<Vec<DecisionRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT d.tick, d.turn, d.facts, d.action FROM decision d LEFT JOIN tick t ON t.id = d.tick
                 WHERE d.incident = ?1 ORDER BY t.counter, d.turn",
            )?;
            let mut rows = statement.query([id.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(DecisionRow {
                    tick: parse_id(&row.get::<_, String>(0)?)?,
                    turn: row.get(1)?,
                    facts: from_json("decision", &row.get::<_, String>(2)?)?,
                    action: from_json("decision", &row.get::<_, String>(3)?)?,
                });
            }
            Ok(out)
        })
    }

    /// Every turn that one tick took, in the order of incidents and turns.
    pub fn decisions_of(&self, tick: &TickId) -> Result<Vec<(IncidentId, DecisionRow)>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT incident, turn, facts, action FROM decision WHERE tick = ?1 ORDER BY incident, turn",
            )?;
            let mut rows = statement.query([tick.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                let decision = DecisionRow {
                    tick: tick.clone(),
                    turn: row.get(1)?,
                    facts: from_json("decision", &row.get::<_, String>(2)?)?,
                    action: from_json("decision", &row.get::<_, String>(3)?)?,
                };
                out.push((parse_id(&row.get::<_, String>(0)?)?, decision));
            }
            Ok(out)
        })
    }

    /// Records one turn. Several processes may take turns within one tick: the turn number is the next free one.
    pub fn put_decision(&mut self, claim: &Claim, row: &DecisionRow, policy_digest: &str) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "INSERT INTO decision (tick, incident, turn, facts, action, policy_digest)
                 SELECT ?1, ?2, coalesce(max(turn), 0) + 1, ?3, ?4, ?5 FROM decision WHERE incident = ?2 AND tick = ?1",
                (
                    row.tick.as_str(),
                    claim.incident.as_str(),
                    to_json("decision", &row.facts)?,
                    to_json("decision", &row.action)?,
                    policy_digest,
                ),
            )?;
            Ok(())
        })
    }
}

fn evidence_row(row: &Row<'_>) -> Result<EvidenceRow, TxError> {
    Ok(EvidenceRow {
        head: row.get(0)?,
        kind: row.get(1)?,
        verdict: row.get(2)?,
        digest: row.get(3)?,
        detail: from_json("evidence", &row.get::<_, String>(4)?)?,
        at: parse_time(&row.get::<_, String>(5)?)?,
    })
}

pub(super) fn insert_evidence(tx: &Transaction<'_>, incident: &str, row: &EvidenceRow) -> Result<(), TxError> {
    tx.execute(
        "INSERT INTO evidence (incident, head, kind, verdict, digest, detail, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            incident,
            &row.head,
            &row.kind,
            &row.verdict,
            &row.digest,
            to_json("evidence", &row.detail)?,
            time(row.at),
        ),
    )?;
    Ok(())
}
