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
    /// `done`, `refused: why` when the outside said no for certain; of a letter also `not sent: why` while it waits, and
    /// `given up: why`.
    pub outcome: Option<String>,
    pub result: Option<Value>,
}

impl EffectRow {
    pub fn is_done(&self) -> bool {
        self.outcome.as_deref() == Some("done")
    }

    /// A letter that stands ready: it is sent, waits to be sent, or was given up. None of them is written again.
    pub fn is_posted(&self) -> bool {
        self.is_done() || self.outcome.as_deref().is_some_and(|o| o.starts_with(GIVEN_UP)) || self.waits()
    }

    /// A letter that is not sent yet.
    pub fn waits(&self) -> bool {
        self.done_at.is_none() && self.result.is_some()
    }
}

const GIVEN_UP: &str = "given up: ";
const NOT_SENT: &str = "not sent: ";

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
        self.effects_where("outcome IS NULL AND result IS NULL")
    }

    fn effects_where(&self, condition: &str) -> Result<Vec<(IncidentId, EffectRow)>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT key, kind, intended_at, done_at, outcome, result, incident FROM effect WHERE {condition}"
            ))?;
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

    /// Puts a letter where every later tick finds it until it is sent. One that stands there already stays as it is.
    pub fn post(&mut self, claim: &Claim, key: &str, letter: &Value, now: DateTime<Utc>) -> Result<()> {
        if self.effect(key)?.is_some_and(|row| row.is_posted()) {
            return Ok(());
        }
        self.write(|tx| {
            check_fence(tx, claim)?;
            put_letter(tx, key, claim.incident.as_str(), claim.fence, &time(now), letter)?;
            let body = serde_json::json!({ "incident": claim.incident, "key": key, "kind": "mail", "letter": letter });
            audit::record(tx, now, "intent", &body)
        })
    }

    /// Letters that wait, oldest first.
    pub fn letters(&self) -> Result<Vec<(IncidentId, EffectRow)>> {
        self.effects_where("kind = 'mail' AND done_at IS NULL AND result IS NOT NULL ORDER BY intended_at, key")
    }

    /// A letter could not be sent: it waits on, as `letter` says it now.
    pub fn letter_waits(
        &mut self,
        claim: &Claim,
        key: &str,
        why: &str,
        letter: &Value,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let outcome = format!("{NOT_SENT}{why}");
        let known = self.effect(key)?;
        if known.is_some_and(|row| row.outcome.as_ref() == Some(&outcome) && row.result.as_ref() == Some(letter)) {
            return Ok(());
        }
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "UPDATE effect SET outcome = ?2, result = ?3, fence = ?4 WHERE key = ?1 AND done_at IS NULL",
                (key, &outcome, to_json("letter", letter)?, claim.fence),
            )?;
            let body = serde_json::json!({ "incident": claim.incident, "key": key, "outcome": outcome });
            audit::record(tx, now, "letter", &body)
        })
    }

    /// A letter is not tried any more.
    pub fn letter_given_up(
        &mut self,
        claim: &Claim,
        key: &str,
        why: &str,
        letter: &Value,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let kept = serde_json::json!({ "letter": letter });
        self.settle(claim, key, &format!("{GIVEN_UP}{why}"), &kept, now)
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

pub(super) fn put_letter(
    tx: &Transaction<'_>,
    key: &str,
    incident: &str,
    fence: i64,
    at: &str,
    letter: &Value,
) -> Result<(), TxError> {
    tx.execute(
        "INSERT INTO effect (key, incident, fence, kind, args_digest, intended_at, result)
         VALUES (?1, ?2, ?3, 'mail', '', ?4, ?5)
         ON CONFLICT (key) DO UPDATE SET fence = excluded.fence, intended_at = excluded.intended_at, done_at = NULL,
             outcome = NULL, result = excluded.result",
        (key, incident, fence, at, to_json("letter", letter)?),
    )?;
    Ok(())
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
