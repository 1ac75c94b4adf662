//! What was seen: ticks, signatures, sightings, sources, flags, the conditional-request cache.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::{
    Result, Store, TickLock, TxError, audit, from_json, incidents::NewIncident, parse_id, parse_opt_time, parse_time,
    time, to_json,
};
use crate::model::{
    IncidentId, Sha, Signature, Slot, TickId,
    signal::{Culprit, Severity, SignalKind},
};

/// One row of `tick`.
#[derive(Debug, Clone, PartialEq)]
pub struct TickRow {
    pub id: TickId,
    pub started_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    pub gate: Option<String>,
    pub exit: Option<u8>,
    pub models: u32,
}

/// What the ledger knows of a cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignatureRow {
    pub sig: Signature,
    pub repo: Slot,
    pub target: String,
    /// Collector that reported it first.
    pub source: String,
    pub template: String,
    pub label: String,
    pub kind: SignalKind,
    pub severity: Severity,
    pub title: String,
    pub culprit: Option<Culprit>,
    /// Two or three redacted samples.
    pub samples: Vec<String>,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub count: u64,
    pub releases: Vec<Sha>,
    /// Stood there when its source was looked at for the first time.
    pub inventory: bool,
    /// Ticks in a row that saw it; what a symptom needs before it opens an incident.
    pub bad_ticks: u32,
    pub ignored_until: Option<DateTime<Utc>>,
    pub ignored_why: Option<String>,
}

/// Events of one signature between two looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sighting {
    /// The first and the last event of the batch.
    pub from: DateTime<Utc>,
    pub at: DateTime<Utc>,
    pub count: u64,
    pub release: Option<Sha>,
}

/// What is known of one source: repo, target and collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceRow {
    pub repo: Slot,
    pub target: String,
    pub collector: String,
    pub first_ok_at: Option<DateTime<Utc>>,
    pub last_ok_at: Option<DateTime<Utc>>,
    pub last_look_at: Option<DateTime<Utc>>,
    pub cursor: Option<String>,
    /// Why it cannot be read now, and since when.
    pub cause: Option<String>,
    pub cause_since: Option<DateTime<Utc>>,
    pub release: Option<Sha>,
    pub release_since: Option<DateTime<Utc>>,
}

impl Store {
    /// Number of the next tick; the id is written when the tick ends, so that a healthy one costs one transaction.
    pub fn next_tick(&self, now: DateTime<Utc>) -> Result<TickId> {
        self.read(|conn| {
            let counter: i64 =
                conn.query_row("SELECT coalesce(max(counter), 0) + 1 FROM tick", [], |row| row.get(0))?;
            Ok(TickId::new(
                &now.format("%Y%m%dT%H%M%SZ").to_string(),
                counter.unsigned_abs(),
            ))
        })
    }

    /// Records a tick's end: the row, and what each source said, in one transaction.
    pub fn end_tick(&mut self, _lock: &TickLock, end: &TickEnd<'_>) -> Result<()> {
        self.write(|tx| {
            // The counter orders the rows; the id was chosen before, maybe by several processes at once.
            tx.prepare_cached(
                "INSERT INTO tick (id, counter, started_at, ended_at, deep, gate, snapshot_digest, config_digest)
                 SELECT ?1, coalesce(max(counter), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM tick",
            )?
            .execute((
                end.id.as_str(),
                time(end.started_at),
                time(end.ended_at),
                end.deep,
                end.gate,
                end.snapshot_digest,
                end.config_digest,
            ))?;
            for source in end.sources {
                put_source(tx, source)?;
            }
            tx.prepare_cached("UPDATE signature SET bad_ticks = 0 WHERE bad_ticks > 0")?
                .execute([])?;
            for (row, seen) in end.seen {
                put_signature(tx, end.id, end.started_at, row, seen)?;
            }
            for opened in end.opened {
                super::incidents::open(tx, opened, end.started_at)?;
            }
            for (incident, sig) in end.joined {
                super::incidents::join(tx, incident, sig, end.started_at)?;
            }
            for (name, value) in end.owed {
                put_flag(tx, name, Some(value), "tick", end.started_at)?;
            }
            for (key, reply) in end.http_cache {
                put_http_cache(tx, key, reply)?;
            }
            Ok(())
        })
    }

    /// Adds how the process ended and how many models it called to the row of its tick.
    pub fn finish_tick(&mut self, id: &TickId, exit: u8, models: u32) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE tick SET exit = ?2, models = models + ?3 WHERE id = ?1",
                (id.as_str(), exit, models),
            )?;
            Ok(())
        })
    }

    pub fn last_ticks(&self, limit: u32) -> Result<Vec<TickRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT id, started_at, ended_at, gate, exit, models FROM tick ORDER BY counter DESC LIMIT ?1",
            )?;
            let mut rows = statement.query([limit])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(TickRow {
                    id: parse_id(&row.get::<_, String>(0)?)?,
                    started_at: parse_time(&row.get::<_, String>(1)?)?,
                    ended_at: parse_opt_time(row.get(2)?)?,
                    gate: row.get(3)?,
                    exit: row.get(4)?,
                    models: row.get(5)?,
                });
            }
            Ok(out)
        })
    }

    pub fn sources(&self) -> Result<Vec<SourceRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT repo, target, collector, first_ok_at, last_ok_at, last_look_at, cursor, cause, cause_since,
                        release, release_since FROM source",
            )?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(source_row(row)?);
            }
            Ok(out)
        })
    }

    pub fn signature(&self, sig: &Signature) -> Result<Option<SignatureRow>> {
        self.read(|conn| {
            conn.prepare_cached(&format!("SELECT {SIGNATURE_COLUMNS} FROM signature WHERE sig = ?1"))?
                .query_row([sig.as_str()], |row| Ok(signature_row(row)))
                .optional()?
                .transpose()
        })
    }

    /// Signatures whose text starts with a prefix: what a person types after `tick show`.
    pub fn signatures_like(&self, prefix: &str, limit: u32) -> Result<Vec<SignatureRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare(&format!(
                "SELECT {SIGNATURE_COLUMNS} FROM signature WHERE sig >= ?1 AND sig < ?1 || 'g' ORDER BY last_seen DESC LIMIT ?2"
            ))?;
            let mut rows = statement.query((prefix, limit))?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(signature_row(row)?);
            }
            Ok(out)
        })
    }

    /// All signatures, oldest first: the ledger as `tick ledger export` prints it.
    pub fn all_signatures(&self) -> Result<Vec<SignatureRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare(&format!(
                "SELECT {SIGNATURE_COLUMNS} FROM signature ORDER BY first_seen, sig"
            ))?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(signature_row(row)?);
            }
            Ok(out)
        })
    }

    pub fn sightings(&self, sig: &Signature, since: DateTime<Utc>) -> Result<Vec<Sighting>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT at, count, release, since FROM sighting WHERE sig = ?1 AND at >= ?2 ORDER BY at",
            )?;
            let mut rows = statement.query((sig.as_str(), time(since)))?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(Sighting {
                    at: parse_time(&row.get::<_, String>(0)?)?,
                    count: row.get::<_, i64>(1)?.unsigned_abs(),
                    release: row.get::<_, Option<String>>(2)?.map(|sha| parse_id(&sha)).transpose()?,
                    from: parse_time(&row.get::<_, String>(3)?)?,
                });
            }
            Ok(out)
        })
    }

    /// A person's word on a cause; `until` in the past ends it.
    pub fn ignore(
        &mut self,
        sig: &Signature,
        until: DateTime<Utc>,
        why: &str,
        by: &str,
        now: DateTime<Utc>,
    ) -> Result<()> {
        self.write(|tx| {
            tx.execute(
                "UPDATE signature SET ignored_until = ?2, ignored_why = ?3 WHERE sig = ?1",
                (sig.as_str(), time(until), why),
            )?;
            let body = serde_json::json!({ "signature": sig, "until": time(until), "why": why, "by": by });
            audit::record(tx, now, "ignore", &body)
        })
    }

    pub fn flag(&self, name: &str) -> Result<Option<String>> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT value FROM flag WHERE name = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?)
        })
    }

    pub fn flags(&self) -> Result<BTreeMap<String, String>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached("SELECT name, value FROM flag")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Sets (or, with none, removes) a flag: `pause`, `pause:<slot>`, `freeze`, `autonomy:<slot>`, `owed:…`.
    pub fn set_flag(&mut self, name: &str, value: Option<&str>, by: &str, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| put_flag(tx, name, value, by, now))
    }

    /// Entity tags and bodies of conditional requests, by cache key.
    pub fn http_cache(&self) -> Result<BTreeMap<String, CachedReply>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached("SELECT key, etag, link, body FROM http_cache")?;
            let rows = statement.query_map([], |row| {
                Ok((
                    row.get(0)?,
                    CachedReply {
                        etag: row.get(1)?,
                        link: row.get(2)?,
                        body: row.get(3)?,
                    },
                ))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// What [`Store::end_tick`] writes.
#[derive(Debug)]
pub struct TickEnd<'a> {
    pub id: &'a TickId,
    pub started_at: DateTime<Utc>,
    pub ended_at: DateTime<Utc>,
    pub deep: bool,
    /// `quiet`, `wake: …` or `fault: …`.
    pub gate: &'a str,
    pub snapshot_digest: &'a str,
    pub config_digest: &'a str,
    pub sources: &'a [SourceRow],
    /// Every signature of the snapshot, as it stands after this tick, with what was seen of it.
    pub seen: &'a [(SignatureRow, Sighting)],
    pub opened: &'a [NewIncident],
    /// Symptoms that join the incident of the cause that explains them.
    pub joined: &'a [(IncidentId, Signature)],
    /// Flags that say what has to be told about this look, each with what it takes to tell it. They stand until it is.
    pub owed: &'a [(String, String)],
    pub http_cache: &'a BTreeMap<String, CachedReply>,
}

fn put_flag(
    tx: &Transaction<'_>,
    name: &str,
    value: Option<&str>,
    by: &str,
    now: DateTime<Utc>,
) -> Result<(), TxError> {
    match value {
        Some(value) => tx.execute(
            "INSERT INTO flag (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )?,
        None => tx.execute("DELETE FROM flag WHERE name = ?1", [name])?,
    };
    let body = serde_json::json!({ "name": name, "value": value, "by": by });
    audit::record(tx, now, "flag", &body)
}

/// A reply that a conditional request can be answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedReply {
    pub etag: String,
    pub link: Option<String>,
    pub body: Vec<u8>,
}

fn put_http_cache(tx: &Transaction<'_>, key: &str, reply: &CachedReply) -> Result<(), TxError> {
    tx.prepare_cached(
        "INSERT INTO http_cache (key, etag, link, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (key) DO UPDATE SET etag = excluded.etag, link = excluded.link, body = excluded.body",
    )?
    .execute((key, &reply.etag, &reply.link, &reply.body))?;
    Ok(())
}

/// The row, the sighting, and an audit row when the signature is new.
fn put_signature(
    tx: &Transaction<'_>,
    tick: &TickId,
    now: DateTime<Utc>,
    row: &SignatureRow,
    seen: &Sighting,
) -> Result<(), TxError> {
    let fresh = upsert_signature(tx, row)?;
    tx.prepare_cached(
        "INSERT INTO sighting (sig, tick, at, since, count, release) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (sig, at, tick) DO UPDATE SET count = count + excluded.count",
    )?
    .execute((
        row.sig.as_str(),
        tick.as_str(),
        time(seen.at),
        time(seen.from),
        i64::try_from(seen.count).unwrap_or(i64::MAX),
        seen.release.as_ref().map(Sha::as_str),
    ))?;
    if fresh {
        audit::record(tx, now, "signature", row)?;
    }
    Ok(())
}

const SIGNATURE_COLUMNS: &str = "sig, template, label, repo, first_seen, last_seen, count, releases, target, kind, \
     severity, title, culprit, samples, inventory, bad_ticks, ignored_until, ignored_why, source";

/// Version of the signature function whose results the ledger holds.
const SIGNATURE_VERSION: i64 = 1;

pub(super) fn upsert_signature(tx: &Transaction<'_>, row: &SignatureRow) -> Result<bool, TxError> {
    let fresh = tx
        .prepare_cached("SELECT 1 FROM signature WHERE sig = ?1")?
        .query_row([row.sig.as_str()], |_| Ok(()))
        .optional()?
        .is_none();
    let culprit = row.culprit.as_ref().map(|c| to_json("culprit", c)).transpose()?;
    tx.prepare_cached(
        "INSERT INTO signature (sig, version, template, label, repo, first_seen, last_seen, count, releases, target,
             kind, severity, title, culprit, samples, inventory, bad_ticks, source)
         VALUES (:sig, :version, :template, :label, :repo, :first_seen, :last_seen, :count, :releases, :target,
             :kind, :severity, :title, :culprit, :samples, :inventory, :bad_ticks, :source)
         ON CONFLICT (sig) DO UPDATE SET last_seen = excluded.last_seen, count = excluded.count,
             releases = excluded.releases, severity = excluded.severity, samples = excluded.samples,
             inventory = excluded.inventory, bad_ticks = excluded.bad_ticks",
    )?
    .execute(rusqlite::named_params! {
        ":sig": row.sig.as_str(),
        ":version": SIGNATURE_VERSION,
        ":template": row.template,
        ":label": row.label,
        ":repo": row.repo.as_str(),
        ":first_seen": time(row.first_seen),
        ":last_seen": time(row.last_seen),
        ":count": i64::try_from(row.count).unwrap_or(i64::MAX),
        ":releases": to_json("releases", &row.releases)?,
        ":target": row.target,
        ":kind": to_json("kind", &row.kind)?,
        ":severity": to_json("severity", &row.severity)?,
        ":title": row.title,
        ":culprit": culprit,
        ":samples": to_json("samples", &row.samples)?,
        ":inventory": row.inventory,
        ":bad_ticks": row.bad_ticks,
        ":source": row.source,
    })?;
    Ok(fresh)
}

fn signature_row(row: &Row<'_>) -> Result<SignatureRow, TxError> {
    let text = |index: usize| row.get::<_, String>(index);
    Ok(SignatureRow {
        sig: parse_id(&text(0)?)?,
        template: text(1)?,
        label: text(2)?,
        repo: parse_id(&text(3)?)?,
        first_seen: parse_time(&text(4)?)?,
        last_seen: parse_time(&text(5)?)?,
        count: row.get::<_, i64>(6)?.unsigned_abs(),
        releases: from_json("releases", &text(7)?)?,
        target: text(8)?,
        kind: from_json("kind", &text(9)?)?,
        severity: from_json("severity", &text(10)?)?,
        title: text(11)?,
        culprit: row
            .get::<_, Option<String>>(12)?
            .map(|json| from_json("culprit", &json))
            .transpose()?,
        samples: from_json("samples", &text(13)?)?,
        inventory: row.get(14)?,
        bad_ticks: row.get(15)?,
        ignored_until: parse_opt_time(row.get(16)?)?,
        ignored_why: row.get(17)?,
        source: row.get(18)?,
    })
}

fn put_source(tx: &Transaction<'_>, source: &SourceRow) -> Result<(), TxError> {
    let opt = |at: Option<DateTime<Utc>>| at.map(time);
    tx.prepare_cached(
        "INSERT INTO source (repo, target, collector, first_ok_at, last_ok_at, last_look_at, cursor, cause, cause_since,
             release, release_since)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (repo, target, collector) DO UPDATE SET first_ok_at = excluded.first_ok_at,
             last_ok_at = excluded.last_ok_at, last_look_at = excluded.last_look_at, cursor = excluded.cursor,
             cause = excluded.cause, cause_since = excluded.cause_since, release = excluded.release,
             release_since = excluded.release_since",
    )?
    .execute(rusqlite::params![
        source.repo.as_str(),
        source.target,
        source.collector,
        opt(source.first_ok_at),
        opt(source.last_ok_at),
        opt(source.last_look_at),
        source.cursor,
        source.cause,
        opt(source.cause_since),
        source.release.as_ref().map(Sha::as_str),
        opt(source.release_since),
    ])?;
    Ok(())
}

fn source_row(row: &Row<'_>) -> Result<SourceRow, TxError> {
    Ok(SourceRow {
        repo: parse_id(&row.get::<_, String>(0)?)?,
        target: row.get(1)?,
        collector: row.get(2)?,
        first_ok_at: parse_opt_time(row.get(3)?)?,
        last_ok_at: parse_opt_time(row.get(4)?)?,
        last_look_at: parse_opt_time(row.get(5)?)?,
        cursor: row.get(6)?,
        cause: row.get(7)?,
        cause_since: parse_opt_time(row.get(8)?)?,
        release: row.get::<_, Option<String>>(9)?.map(|sha| parse_id(&sha)).transpose()?,
        release_since: parse_opt_time(row.get(10)?)?,
    })
}
