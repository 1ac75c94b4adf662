//! Effects: one row for each outside write, made before it happens and completed after it. An open row says that
//! the outcome is unknown, and the world is looked at before anything is repeated.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Claim, Result, Store, TxError, audit, from_json, incidents::check_fence, parse_id, parse_opt_time, parse_time,
    time, to_json,
};
use crate::model::IncidentId;

/// One row of `effect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRow {
    pub key: String,
    pub kind: String,
    pub intended_at: DateTime<Utc>,
    pub done_at: Option<DateTime<Utc>>,
    /// `done`, or `refused: why` when the outside said no for certain.
    pub outcome: Option<String>,
    pub result: Option<Value>,
}

impl EffectRow {
    pub fn is_done(&self) -> bool {
        self.outcome.as_deref() == Some("done")
    }
}

/// What stood in the store when an effect was intended.
#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    /// Nothing: it has never been tried (or was refused for certain).
    Fresh,
    /// It was tried and its outcome was not recorded: look at the world first.
    Open(DateTime<Utc>),
    /// It is done; this is what came of it.
    Done(Value),
}

impl Store {
    pub fn effects(&self, incident: &IncidentId) -> Result<BTreeMap<String, EffectRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT key, kind, intended_at, done_at, outcome, result FROM effect WHERE incident = ?1",
            )?;
            let mut rows = statement.query([incident.as_str()])?;
            let mut out = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let row = effect_row(row)?;
                out.insert(row.key.clone(), row);
            }
            Ok(out)
        })
    }

    /// Effects whose outcome is unknown, over all incidents.
    pub fn open_effects(&self) -> Result<Vec<(IncidentId, EffectRow)>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT key, kind, intended_at, done_at, outcome, result, incident FROM effect WHERE outcome IS NULL",
            )?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push((parse_id(&row.get::<_, String>(6)?)?, effect_row(row)?));
            }
            Ok(out)
        })
    }

    /// What is already known about an effect, without intending it.
    pub fn effect(&self, key: &str) -> Result<Option<EffectRow>> {
        self.read(|conn| {
            conn.prepare_cached("SELECT key, kind, intended_at, done_at, outcome, result FROM effect WHERE key = ?1")?
                .query_row([key], |row| Ok(effect_row(row)))
                .optional()?
                .transpose()
        })
    }

    /// Writes the intent of an effect, durable before the effect may begin.
    pub fn intend(
        &mut self,
        claim: &Claim,
        key: &str,
        kind: &str,
        args_digest: &str,
        now: DateTime<Utc>,
    ) -> Result<Intent> {
        let known = self.effect(key)?;
        match known {
            Some(row) if row.is_done() => return Ok(Intent::Done(row.result.unwrap_or(Value::Null))),
            Some(row) if row.outcome.is_none() => return Ok(Intent::Open(row.intended_at)),
            Some(_) | None => {}
        }
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "INSERT INTO effect (key, incident, fence, kind, args_digest, intended_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (key) DO UPDATE SET fence = excluded.fence, args_digest = excluded.args_digest,
                     intended_at = excluded.intended_at, done_at = NULL, outcome = NULL, result = NULL",
                (key, claim.incident.as_str(), claim.fence, kind, args_digest, time(now)),
            )?;
            let body = serde_json::json!({ "incident": claim.incident, "key": key, "kind": kind });
            audit::record(tx, now, "intent", &body)
        })?;
        Ok(Intent::Fresh)
    }

    /// Records that an effect is done and what came of it.
    pub fn effect_done(&mut self, claim: &Claim, key: &str, result: &Value, now: DateTime<Utc>) -> Result<()> {
        self.settle(claim, key, "done", result, now)
    }

    /// Records that the outside refused for certain: nothing happened, and it may be tried again.
    pub fn effect_refused(&mut self, claim: &Claim, key: &str, why: &str, now: DateTime<Utc>) -> Result<()> {
        self.settle(claim, key, &format!("refused: {why}"), &Value::Null, now)
    }

    /// What was done to a pull request that a person closed is history under other keys: the next one is a new one.
    pub fn forget_pull(&mut self, claim: &Claim, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            forget_pull(tx, claim.incident.as_str(), &time(now))?;
            audit::record(
                tx,
                now,
                "pull-forgotten",
                &serde_json::json!({ "incident": claim.incident }),
            )
        })
    }

    fn settle(&mut self, claim: &Claim, key: &str, outcome: &str, result: &Value, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "UPDATE effect SET done_at = ?2, outcome = ?3, result = ?4, fence = ?5 WHERE key = ?1",
                (key, time(now), outcome, to_json("effect", result)?, claim.fence),
            )?;
            let body =
                serde_json::json!({ "incident": claim.incident, "key": key, "outcome": outcome, "result": result });
            audit::record(tx, now, "effect", &body)
        })
    }
}

pub(super) fn forget_pull(tx: &Transaction<'_>, incident: &str, at: &str) -> Result<(), TxError> {
    tx.execute(
        "UPDATE effect SET key = 'past:' || ?2 || ':' || key WHERE incident = ?1
         AND kind IN ('open_pr', 'body', 'comment', 'label', 'ready', 'review', 'close') AND key NOT LIKE 'past:%'",
        (incident, at),
    )?;
    Ok(())
}

fn effect_row(row: &Row<'_>) -> Result<EffectRow, TxError> {
    Ok(EffectRow {
        key: row.get(0)?,
        kind: row.get(1)?,
        intended_at: parse_time(&row.get::<_, String>(2)?)?,
        done_at: parse_opt_time(row.get(3)?)?,
        outcome: row.get(4)?,
        result: row
            .get::<_, Option<String>>(5)?
            .map(|json| from_json("effect", &json))
            .transpose()?,
    })
}
