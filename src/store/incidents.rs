//! Incidents with their attempts, evidence and decisions. Every write but the opening names a [`Claim`] and fails
//! on an older fence.

use std::io;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::{
    Claim, Result, Store, StoreError, TickLock, TxError, audit, from_json,
    locks::{self, Tried},
    parse_id, parse_opt_time, parse_time, time, to_json,
};
use crate::model::{
    AttemptId, IncidentId, RunId, Sha, Signature, Slot,
    incident::{Attempt, AttemptOutcome, Incident, IncidentOutcome},
};

/// An incident to open in the transaction of its tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewIncident {
    pub id: IncidentId,
    pub repo: Slot,
    pub signature: Signature,
    /// Why it opens: `new`, `regressed`, `known and rising`, `2 bad ticks`.
    pub why: String,
}

pub(super) fn open(tx: &Transaction<'_>, new: &NewIncident, at: DateTime<Utc>) -> Result<(), TxError> {
    if insert(tx, new, at)? {
        audit::record(tx, at, "incident-opened", new)?;
    }
    Ok(())
}

/// False when it stands there already.
pub(super) fn insert(tx: &Transaction<'_>, new: &NewIncident, at: DateTime<Utc>) -> Result<bool, TxError> {
    let opened = tx
        .prepare_cached(
            "INSERT INTO incident (id, repo, generation, opened_at, due_at, why) VALUES (?1, ?2, ?3, ?4, ?4, ?5)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute((
            new.id.as_str(),
            new.repo.as_str(),
            new.id.generation(),
            time(at),
            &new.why,
        ))?;
    if opened > 0 {
        tx.execute(
            "INSERT INTO incident_signature (sig, incident, role) VALUES (?1, ?2, 'primary') ON CONFLICT DO NOTHING",
            (new.signature.as_str(), new.id.as_str()),
        )?;
    }
    Ok(opened > 0)
}

pub(super) fn join(
    tx: &Transaction<'_>,
    incident: &IncidentId,
    sig: &Signature,
    at: DateTime<Utc>,
) -> Result<(), TxError> {
    let joined = tx.execute(
        "INSERT INTO incident_signature (sig, incident, role) VALUES (?1, ?2, 'symptom') ON CONFLICT DO NOTHING",
        (sig.as_str(), incident.as_str()),
    )?;
    if joined > 0 {
        let body = serde_json::json!({ "incident": incident, "signature": sig });
        audit::record(tx, at, "symptom-joined", &body)?;
    }
    Ok(())
}

impl Store {
    /// Opens an incident outside of a look: a person hands a known cause to repair.
    pub fn open_incident(&mut self, _lock: &TickLock, new: &NewIncident, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| open(tx, new, now))
    }

    /// Takes the incident's lock and raises its fence; none when another process has it.
    pub fn claim(&mut self, incident: &IncidentId) -> Result<Option<Claim>> {
        let note = format!("pid {}", std::process::id());
        let file = match locks::try_incident(&self.dir, incident, &note) {
            Ok(Tried::Held(file)) => file,
            Ok(Tried::Busy(_)) => return Ok(None),
            Err(error) => return Err(super::unusable(&self.dir.join("locks"), &error.to_string())),
        };
        let pid = std::process::id();
        let start = process_start(pid).unwrap_or_default();
        let fence = self.write(|tx| {
            Ok(tx.query_row(
                "INSERT INTO claim (incident, fence, pid, pid_start, run_id) VALUES (?1, 1, ?2, ?3, NULL)
                 ON CONFLICT (incident) DO UPDATE SET fence = fence + 1, pid = excluded.pid,
                     pid_start = excluded.pid_start
                 RETURNING fence",
                (incident.as_str(), pid, start),
                |row| row.get(0),
            )?)
        })?;
        Ok(Some(Claim::new(incident.clone(), fence, file)))
    }

    /// The run whose agent a crashed process may have left behind.
    pub fn running(&self, incident: &IncidentId) -> Result<Option<RunId>> {
        self.read(|conn| {
            let run: Option<Option<String>> = conn
                .query_row(
                    "SELECT run_id FROM claim WHERE incident = ?1",
                    [incident.as_str()],
                    |row| row.get(0),
                )
                .optional()?;
            run.flatten().map(|run| parse_id(&run)).transpose()
        })
    }

    /// Notes, before it starts, the run whose processes recovery has to end.
    pub fn set_running(&mut self, claim: &Claim, run: Option<&RunId>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "UPDATE claim SET run_id = ?2 WHERE incident = ?1",
                (claim.incident.as_str(), run.map(RunId::as_str)),
            )?;
            Ok(())
        })
    }

    pub fn incident(&self, id: &IncidentId) -> Result<Option<Incident>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("SELECT {INCIDENT_COLUMNS} FROM incident WHERE id = ?1"))?
                .query_row([id.as_str()], |row| Ok(incident_row(row)))
                .optional()?
                .transpose()
        })
    }

    /// Why it opened; empty for one that an older version opened.
    pub fn why_opened(&self, id: &IncidentId) -> Result<String> {
        self.read(|conn| {
            let why = conn
                .prepare_cached("SELECT why FROM incident WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            Ok(why.unwrap_or_default())
        })
    }

    /// Incidents that nobody closed, oldest first.
    pub fn open_incidents(&self) -> Result<Vec<Incident>> {
        self.incidents_where("closed_at IS NULL", [])
    }

    /// Open incidents that are due ([`Incident::is_due`]), oldest first.
    pub fn due_incidents(&self, now: DateTime<Utc>) -> Result<Vec<Incident>> {
        let latest = now + Incident::LONGEST_WAIT;
        let due = "closed_at IS NULL AND (due_at <= ?1 OR due_at > ?2)";
        self.incidents_where(due, [time(now), time(latest)])
    }

    /// The newest incidents, open or closed.
    pub fn recent_incidents(&self, limit: u32) -> Result<Vec<Incident>> {
        let mut all = self.incidents_where("1 = 1", [])?;
        all.reverse();
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    }

    fn incidents_where<const N: usize>(&self, condition: &str, params: [String; N]) -> Result<Vec<Incident>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT {INCIDENT_COLUMNS} FROM incident WHERE {condition} ORDER BY opened_at, id"
            ))?;
            let mut rows = statement.query(rusqlite::params_from_iter(params))?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(incident_row(row)?);
            }
            Ok(out)
        })
    }

    /// The newest incident of a signature, as primary or as a joined symptom.
    pub fn incident_of(&self, sig: &Signature) -> Result<Option<Incident>> {
        let id: Option<String> = self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT i.id FROM incident_signature s JOIN incident i ON i.id = s.incident
                     WHERE s.sig = ?1 ORDER BY i.closed_at IS NOT NULL, i.opened_at DESC, i.generation DESC LIMIT 1",
                )?
                .query_row([sig.as_str()], |row| row.get(0))
                .optional()?)
        })?;
        match id {
            None => Ok(None),
            Some(id) => {
                let id = IncidentId::parse(&id).map_err(|error| StoreError::Row {
                    what: "incident".to_owned(),
                    why: error.to_string(),
                })?;
                self.incident(&id)
            }
        }
    }

    /// Incidents that opened since then.
    pub fn opened_between(&self, since: DateTime<Utc>, until: DateTime<Utc>) -> Result<u32> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT count(*) FROM incident WHERE opened_at BETWEEN ?1 AND ?2")?
                .query_row([time(since), time(until)], |row| row.get(0))?)
        })
    }

    /// Incidents that a signature itself opened from then until then, both included.
    pub fn lives(&self, sig: &Signature, from: DateTime<Utc>, to: DateTime<Utc>) -> Result<u32> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT count(*) FROM incident
                     WHERE id >= ?1 || '-' AND id < ?1 || '.' AND opened_at >= ?2 AND opened_at <= ?3",
                )?
                .query_row((sig.as_str(), time(from), time(to)), |row| row.get(0))?)
        })
    }

    /// Of the incidents that a signature itself opened, the newest one's generation; 0 without any.
    pub fn generation(&self, sig: &Signature) -> Result<u32> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT coalesce(max(generation), 0) FROM incident WHERE id >= ?1 || '-' AND id < ?1 || '.'",
                )?
                .query_row([sig.as_str()], |row| row.get(0))?)
        })
    }

    /// Signatures that joined an incident as symptoms.
    pub fn symptoms(&self, id: &IncidentId) -> Result<Vec<Signature>> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT sig FROM incident_signature WHERE incident = ?1 AND role = 'symptom'")?;
            let mut rows = statement.query([id.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(parse_id(&row.get::<_, String>(0)?)?);
            }
            Ok(out)
        })
    }

    /// When this incident is looked at next, and why not earlier.
    pub fn set_due(&mut self, claim: &Claim, due: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "UPDATE incident SET due_at = ?2 WHERE id = ?1 AND closed_at IS NULL",
                (claim.incident.as_str(), time(due)),
            )?;
            Ok(())
        })
    }

    pub fn close(&mut self, claim: &Claim, outcome: IncidentOutcome, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            let closed = tx.execute(
                "UPDATE incident SET closed_at = ?2, outcome = ?3, due_at = NULL WHERE id = ?1 AND closed_at IS NULL",
                (claim.incident.as_str(), time(now), to_json("outcome", &outcome)?),
            )?;
            if closed > 0 {
                let body = serde_json::json!({ "incident": claim.incident, "outcome": outcome });
                audit::record(tx, now, "incident-closed", &body)?;
            }
            Ok(())
        })
    }

    /// A person's `tick retry`: the incident is open again, and what stopped it is history.
    pub fn reopen(&mut self, claim: &Claim, by: &str, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            tx.execute(
                "UPDATE incident SET closed_at = NULL, outcome = NULL, due_at = ?2 WHERE id = ?1",
                (claim.incident.as_str(), time(now)),
            )?;
            let body = serde_json::json!({ "incident": claim.incident, "by": by });
            audit::record(tx, now, "retry", &body)
        })
    }

    pub fn attempts(&self, id: &IncidentId) -> Result<Vec<Attempt>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT n, base, head, patch_id, started, ended, outcome, failure_sig, charged, agent, said
                 FROM attempt WHERE incident = ?1 ORDER BY n",
            )?;
            let mut rows = statement.query([id.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(attempt_row(id, row)?);
            }
            Ok(out)
        })
    }

    /// Stores an attempt as it stands now.
    pub fn put_attempt(&mut self, claim: &Claim, attempt: &Attempt, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            check_fence(tx, claim)?;
            upsert_attempt(tx, claim.incident.as_str(), attempt)?;
            audit::record(tx, now, "attempt", attempt)
        })
    }
}

pub(super) fn upsert_attempt(tx: &Transaction<'_>, incident: &str, attempt: &Attempt) -> Result<(), TxError> {
    let outcome = attempt
        .outcome
        .as_ref()
        .map(|o: &AttemptOutcome| to_json("attempt", o))
        .transpose()?;
    tx.execute(
                "INSERT INTO attempt (incident, n, base, head, patch_id, started, ended, outcome, failure_sig, charged, agent, said)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                 ON CONFLICT (incident, n) DO UPDATE SET base = excluded.base, head = excluded.head,
                     patch_id = excluded.patch_id, ended = excluded.ended, outcome = excluded.outcome,
                     failure_sig = excluded.failure_sig, charged = excluded.charged, agent = excluded.agent,
                     said = excluded.said",
                rusqlite::params![
                    incident,
                    attempt.n,
                    attempt.base.as_str(),
                    attempt.head.as_ref().map(Sha::as_str),
                    attempt.patch_id,
                    time(attempt.started),
                    attempt.ended.map(time),
                    outcome,
                    attempt.failure_sig,
                    attempt.charged,
                    attempt.agent,
                    attempt.said,
                ],
            )?;
    Ok(())
}

/// Fails when another process raised the fence since this claim was taken.
pub(super) fn check_fence(tx: &Transaction<'_>, claim: &Claim) -> Result<(), TxError> {
    let current: i64 = tx
        .prepare_cached("SELECT fence FROM claim WHERE incident = ?1")?
        .query_row([claim.incident.as_str()], |row| row.get(0))?;
    if current == claim.fence {
        Ok(())
    } else {
        Err(TxError::Store(StoreError::Fenced {
            incident: claim.incident.to_string(),
            fence: claim.fence,
        }))
    }
}

const INCIDENT_COLUMNS: &str = "id, repo, opened_at, due_at, closed_at, outcome";

fn incident_row(row: &Row<'_>) -> Result<Incident, TxError> {
    Ok(Incident {
        id: parse_id(&row.get::<_, String>(0)?)?,
        repo: parse_id(&row.get::<_, String>(1)?)?,
        opened_at: parse_time(&row.get::<_, String>(2)?)?,
        due_at: parse_opt_time(row.get(3)?)?,
        closed_at: parse_opt_time(row.get(4)?)?,
        outcome: row
            .get::<_, Option<String>>(5)?
            .map(|json| from_json("outcome", &json))
            .transpose()?,
    })
}

fn attempt_row(incident: &IncidentId, row: &Row<'_>) -> Result<Attempt, TxError> {
    let n: u32 = row.get(0)?;
    let sha = |text: Option<String>| text.map(|text| parse_id::<Sha>(&text)).transpose();
    Ok(Attempt {
        id: AttemptId::new(incident, n),
        n,
        base: parse_id(&row.get::<_, String>(1)?)?,
        head: sha(row.get(2)?)?,
        patch_id: row.get(3)?,
        started: parse_time(&row.get::<_, String>(4)?)?,
        ended: parse_opt_time(row.get(5)?)?,
        outcome: row
            .get::<_, Option<String>>(6)?
            .map(|json| from_json("attempt", &json))
            .transpose()?,
        failure_sig: row.get(7)?,
        charged: row.get(8)?,
        agent: row.get(9)?,
        said: row.get(10)?,
    })
}

/// Start time of a process in clock ticks since boot, from `/proc`; tells a reused pid from the one that was noted.
fn process_start(pid: u32) -> Option<String> {
    let stat = read_small(&format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may hold spaces; the start time is field 22.
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(19).map(str::to_owned)
}

fn read_small(path: &str) -> io::Result<String> {
    std::fs::read_to_string(path)
}
