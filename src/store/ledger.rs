//! What was seen: ticks, sources, flags, the conditional-request cache. Causes are in `causes.rs`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::{
    Result, Sighting, SignatureRow, Store, TickLock, TxError, audit,
    causes::put_signature,
    changes::{forget_changes, kind_word, parse_kind, put_change},
    from_json,
    hourly::{MeasureKey, forget_measures, put_measure},
    incidents::NewIncident,
    parse_id, parse_opt_time, parse_time, time, to_json,
};
use crate::model::{
    IncidentId, Sha, Signature, Slot, TickId,
    signal::{BlindSince, Change, ChangeKind},
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
    /// Why it cannot be read now; and since when it cannot, for whatever cause.
    pub cause: Option<String>,
    pub cause_since: Option<DateTime<Utc>>,
    pub release: Option<Sha>,
    pub release_since: Option<DateTime<Utc>>,
    /// Names of the variables that were set on its platform at the last look that told them.
    pub variables: Option<BTreeSet<String>>,
    /// A deployment of the target was under way at the last look, since then.
    pub deploying_since: Option<DateTime<Utc>>,
    /// Kinds of changes that the last look read for the whole of the day before it.
    pub told: BTreeSet<ChangeKind>,
    /// Its parts (probes, checks, files) that the last look could not read; empty where that cannot be told apart.
    pub blind: BTreeMap<String, BlindSince>,
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
            super::causes::count_quiet(tx, end.sources)?;
            for (row, seen) in end.seen {
                put_signature(tx, end.id, end.started_at, row, seen)?;
            }
            for opened in end.opened {
                super::incidents::open(tx, opened, end.started_at)?;
            }
            for (incident, sig) in end.left {
                super::incidents::leave(tx, incident, sig, end.started_at)?;
            }
            for (incident, sig) in end.joined {
                super::incidents::join(tx, incident, sig, end.started_at)?;
            }
            for (key, value) in end.measures {
                put_measure(tx, key, *value, end.started_at)?;
            }
            for (sig, since) in end.waits {
                super::causes::put_wait(tx, sig, *since)?;
            }
            for (name, value) in end.owed {
                put_flag(tx, name, Some(value), "tick", end.started_at)?;
            }
            for change in end.changes {
                put_change(tx, change)?;
            }
            for (key, reply) in end.http_cache {
                put_http_cache(tx, key, reply, end.started_at)?;
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

    /// What the gate said in a tick, and the digest of the snapshot that it was asked about.
    pub fn gate_of(&self, tick: &TickId) -> Result<Option<(String, String)>> {
        self.read(|conn| {
            let found = conn
                .prepare("SELECT coalesce(gate, ''), coalesce(snapshot_digest, '') FROM tick WHERE id = ?1")?
                .query_row([tick.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found)
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

    /// When the last tick before this time looked.
    pub fn last_look_before(&self, at: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
        self.read(|conn| {
            let sql = "SELECT started_at FROM tick WHERE started_at <= ?1 ORDER BY counter DESC LIMIT 1";
            let found: Option<String> = conn
                .prepare_cached(sql)?
                .query_row([time(at)], |row| row.get(0))
                .optional()?;
            found.map(|text| parse_time(&text)).transpose()
        })
    }

    pub fn sources(&self) -> Result<Vec<SourceRow>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT repo, target, collector, first_ok_at, last_ok_at, last_look_at, cursor, cause, cause_since,
                        release, release_since, variables, deploying_since, told, blind FROM source",
            )?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(source_row(row)?);
            }
            Ok(out)
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

    /// Flags whose names begin so, by name.
    pub fn flags_like(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        self.read(|conn| {
            let mut statement = conn
                .prepare_cached("SELECT name, value FROM flag WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name")?;
            let rows = statement.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Sets (or, with none, removes) a flag: `pause`, `pause:<slot>`, `freeze`, `autonomy:<slot>`, `silence:<target>`, `owed:…`.
    pub fn set_flag(&mut self, name: &str, value: Option<&str>, by: &str, now: DateTime<Utc>) -> Result<()> {
        self.write(|tx| put_flag(tx, name, value, by, now))
    }

    /// A time to remember. No audit record: it says nothing that anybody decided.
    pub fn set_mark(&mut self, name: &str, at: DateTime<Utc>) -> Result<()> {
        self.write(|tx| put_mark(tx, name, at))
    }

    /// Notes when it was last looked for what is old, and forgets answers and changes from before `before`.
    pub fn housekept(&mut self, _lock: &TickLock, mark: &str, now: DateTime<Utc>, before: DateTime<Utc>) -> Result<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM http_cache WHERE at < ?1", [time(before)])?;
            forget_changes(tx, before)?;
            forget_measures(tx, before)?;
            put_mark(tx, mark, now)
        })
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
    /// Symptoms that do not belong to the incident any more.
    pub left: &'a [(IncidentId, Signature)],
    /// Numbers that this look took.
    pub measures: &'a [(MeasureKey, f64)],
    /// Causes that wait for their turn from this look on, or whose waiting is over.
    pub waits: &'a [(Signature, Option<DateTime<Utc>>)],
    /// Flags that say what has to be told about this look, each with what it takes to tell it. They stand until it is.
    pub owed: &'a [(String, String)],
    pub http_cache: &'a BTreeMap<String, CachedReply>,
    /// What changed; may hold what earlier ticks told already.
    pub changes: &'a [Change],
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

fn put_mark(tx: &Transaction<'_>, name: &str, at: DateTime<Utc>) -> Result<(), TxError> {
    tx.execute(
        "INSERT INTO flag (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, time(at)),
    )?;
    Ok(())
}

/// A reply that a conditional request can be answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedReply {
    pub etag: String,
    pub link: Option<String>,
    pub body: Vec<u8>,
}

fn put_http_cache(tx: &Transaction<'_>, key: &str, reply: &CachedReply, at: DateTime<Utc>) -> Result<(), TxError> {
    tx.prepare_cached(
        "INSERT INTO http_cache (key, etag, link, body, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (key) DO UPDATE SET etag = excluded.etag, link = excluded.link, body = excluded.body,
             at = excluded.at",
    )?
    .execute((key, &reply.etag, &reply.link, &reply.body, time(at)))?;
    Ok(())
}

fn put_source(tx: &Transaction<'_>, source: &SourceRow) -> Result<(), TxError> {
    let opt = |at: Option<DateTime<Utc>>| at.map(time);
    tx.prepare_cached(
        "INSERT INTO source (repo, target, collector, first_ok_at, last_ok_at, last_look_at, cursor, cause, cause_since,
             release, release_since, variables, deploying_since, told, blind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         ON CONFLICT (repo, target, collector) DO UPDATE SET first_ok_at = excluded.first_ok_at,
             last_ok_at = excluded.last_ok_at, last_look_at = excluded.last_look_at, cursor = excluded.cursor,
             cause = excluded.cause, cause_since = excluded.cause_since, release = excluded.release,
             release_since = excluded.release_since, variables = excluded.variables,
             deploying_since = excluded.deploying_since, told = excluded.told,
             blind = excluded.blind",
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
        source.variables.as_ref().map(|names| names.iter().map(String::as_str).collect::<Vec<_>>().join("\n")),
        opt(source.deploying_since),
        source.told.iter().copied().map(kind_word).collect::<Vec<_>>().join(" "),
        if source.blind.is_empty() { String::new() } else { to_json("blind parts", &source.blind)? },
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
        variables: row
            .get::<_, Option<String>>(11)?
            .map(|names| names.lines().map(str::to_owned).collect()),
        deploying_since: parse_opt_time(row.get(12)?)?,
        told: row
            .get::<_, String>(13)?
            .split_whitespace()
            .map(parse_kind)
            .collect::<Result<_, TxError>>()?,
        blind: match row.get::<_, String>(14)?.as_str() {
            "" => BTreeMap::new(),
            blind => from_json("blind parts", blind)?,
        },
    })
}
