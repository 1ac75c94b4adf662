//! Causes: a signature in a repo, what was seen of it and when.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction};
use serde::{Deserialize, Serialize};

use super::{
    Result, SourceRow, Store, TickLock, TxError, audit, from_json, parse_id, parse_opt_time, parse_time, time, to_json,
};
use crate::model::{
    Sha, Signature, Slot, TickId,
    checks::RedRun,
    signal::{Culprit, Severity, SignalKind},
};

/// What the ledger knows of a cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignatureRow {
    /// The cause's own key.
    pub sig: Signature,
    /// The signature of its text, where another repo has that one as its key already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_sig: Option<Signature>,
    pub repo: Slot,
    pub target: String,
    /// Collector that reported it last.
    pub source: String,
    pub template: String,
    pub label: String,
    pub kind: SignalKind,
    pub severity: Severity,
    pub title: String,
    pub culprit: Option<Culprit>,
    /// Two or three redacted samples.
    pub samples: Vec<String>,
    /// The text that was signed, where the samples are other ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_text: Option<String>,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub count: u64,
    pub releases: Vec<Sha>,
    /// Stood there when its source was looked at for the first time.
    pub inventory: bool,
    /// Looks of its source in a row that saw it; what a symptom needs before it opens an incident.
    pub bad_ticks: u32,
    /// Looks in a row that read its source in full without it, counted up to 9.
    #[serde(default)]
    pub quiet_looks: u32,
    pub ignored_until: Option<DateTime<Utc>>,
    pub ignored_why: Option<String>,
    /// What the owner set for a probe: bad looks before it is told, good ones before it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fire_after: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_after: Option<u32>,
    /// It would have become an incident then, but more did than the caps allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<DateTime<Utc>>,
    /// The probe, check or file of its source that sees it, where it is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The newest red run of CI that showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red_run: Option<RedRun>,
}

impl SignatureRow {
    /// The signature of its text, as signals and `tick signature` have it.
    pub fn text_signature(&self) -> &Signature {
        self.text_sig.as_ref().unwrap_or(&self.sig)
    }
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

impl Store {
    pub fn signature(&self, sig: &Signature) -> Result<Option<SignatureRow>> {
        Ok(self.signatures_where("sig = ?1", [sig.as_str()])?.pop())
    }

    /// Causes that the last look of their source saw, newest first.
    pub fn current_causes(&self) -> Result<Vec<SignatureRow>> {
        self.signatures_where("quiet_looks < 9 AND bad_ticks > 0 ORDER BY last_seen DESC", [])
    }

    /// What a repo knows of a text's signature. After a change of the rules a cause is known by the name that its text
    /// has now, then by those of its other samples, then by its key.
    pub fn cause(&self, text: &Signature, repo: &Slot) -> Result<Option<SignatureRow>> {
        let of = "(sig = ?1 OR text_sig = ?1 OR sig = (SELECT n.sig FROM signature_name n WHERE n.name = ?1 AND n.repo = ?2))
             AND repo = ?2
             ORDER BY CASE WHEN text_sig IS ?1 THEN 2 WHEN sig IS ?1 THEN 0 ELSE 1 END";
        Ok(self.signatures_where(of, [text.as_str(), repo.as_str()])?.pop())
    }

    /// Causes whose key starts with a prefix: what a person types after `tick show`.
    pub fn signatures_like(&self, prefix: &str, limit: u32) -> Result<Vec<SignatureRow>> {
        self.signatures_where(
            "sig >= ?1 AND sig < ?1 || 'g' ORDER BY last_seen DESC LIMIT ?2",
            (prefix, limit),
        )
    }

    /// The causes of all repos whose text has this signature.
    pub fn causes(&self, text: &Signature) -> Result<Vec<SignatureRow>> {
        self.signatures_where("sig = ?1 OR text_sig = ?1 ORDER BY repo", [text.as_str()])
    }

    /// Causes that wait for their turn to become incidents.
    pub fn waiting(&self) -> Result<Vec<SignatureRow>> {
        self.signatures_where("waits_since IS NOT NULL ORDER BY waits_since, sig", [])
    }

    /// What stood there when its source was looked at for the first time.
    pub fn inventory(&self) -> Result<Vec<SignatureRow>> {
        self.signatures_where("inventory = 1 ORDER BY first_seen, sig", [])
    }

    /// Tests that CI saw red and green on one commit since then, newest first, as it names them.
    pub fn flaky_in_ci(&self, repo: &Slot, since: DateTime<Utc>, limit: u32) -> Result<Vec<String>> {
        let rows = self.signatures_where(
            "repo = ?1 AND last_seen >= ?2 AND signed_text LIKE 'FLAKY %' ORDER BY last_seen DESC LIMIT ?3",
            (repo.as_str(), time(since), limit),
        )?;
        let signed = rows.into_iter().filter_map(|row| row.signed_text);
        let names = signed.filter_map(|text| {
            let first = text.lines().next()?;
            first.strip_prefix("FLAKY ").map(str::to_owned)
        });
        Ok(names.collect())
    }

    /// All signatures, oldest first: the ledger as `tick ledger export` prints it.
    pub fn all_signatures(&self) -> Result<Vec<SignatureRow>> {
        self.signatures_where("1 = 1 ORDER BY first_seen, sig", [])
    }

    fn signatures_where(&self, condition: &str, params: impl rusqlite::Params) -> Result<Vec<SignatureRow>> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {SIGNATURE_COLUMNS} FROM signature WHERE {condition}"))?;
            let mut rows = statement.query(params)?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(signature_row(row)?);
            }
            Ok(out)
        })
    }

    pub fn sightings(&self, sig: &Signature, since: DateTime<Utc>) -> Result<Vec<Sighting>> {
        self.sightings_up_to(sig, since, -1)
    }

    /// The oldest one that is kept.
    pub fn first_sighting(&self, sig: &Signature) -> Result<Option<Sighting>> {
        Ok(self.sightings_up_to(sig, DateTime::UNIX_EPOCH, 1)?.pop())
    }

    /// When the last look began that saw it.
    pub fn last_look(&self, sig: &Signature) -> Result<Option<DateTime<Utc>>> {
        self.read(|conn| {
            let query = "SELECT max(t.started_at) FROM sighting s JOIN tick t ON t.id = s.tick WHERE s.sig = ?1";
            let at: Option<String> = conn
                .prepare_cached(query)?
                .query_row([sig.as_str()], |row| row.get(0))?;
            parse_opt_time(at)
        })
    }

    /// At most so many, the oldest first; a negative number is no limit.
    fn sightings_up_to(&self, sig: &Signature, since: DateTime<Utc>, most: i64) -> Result<Vec<Sighting>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT at, count, release, since FROM sighting WHERE sig = ?1 AND at >= ?2 ORDER BY at LIMIT ?3",
            )?;
            let mut rows = statement.query((sig.as_str(), time(since), most))?;
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

    /// A probe or check has another name from now on.
    pub fn rename_part(
        &mut self,
        _lock: &TickLock,
        (repo, target, source): (&Slot, &str, &str),
        from: &str,
        to: &str,
    ) -> Result<()> {
        self.write(|tx| {
            let sql = "UPDATE signature SET part = ?5 WHERE repo = ?1 AND target = ?2 AND source = ?3 AND part = ?4";
            tx.execute(sql, (repo.as_str(), target, source, from, to))?;
            Ok(())
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
}

/// A source that was read in full was read without each of its causes; those that it showed are written after this. A source
/// that was blind, or not due, says nothing about them; one that is blind in some of its parts says it about the others.
pub(super) fn count_quiet(tx: &Transaction<'_>, sources: &[SourceRow]) -> Result<(), TxError> {
    let says_something = |source: &&SourceRow| source.cause.is_none() || !source.blind.is_empty();
    for source in sources.iter().filter(says_something) {
        let blind: Vec<&String> = source.blind.keys().collect();
        tx.prepare_cached(
            "UPDATE signature SET bad_ticks = 0, quiet_looks = quiet_looks + 1
             WHERE repo = ?1 AND target = ?2 AND source = ?3 AND quiet_looks < 9
               AND (?4 OR (part IS NOT NULL AND part NOT IN (SELECT value FROM json_each(?5))))",
        )?
        .execute((
            source.repo.as_str(),
            &source.target,
            &source.collector,
            source.cause.is_none(),
            to_json("blind parts", &blind)?,
        ))?;
    }
    Ok(())
}

/// Since when a cause waits for its turn; none = it does not wait any more.
pub(super) fn put_wait(tx: &Transaction<'_>, sig: &Signature, since: Option<DateTime<Utc>>) -> Result<(), TxError> {
    tx.prepare_cached("UPDATE signature SET waits_since = ?2 WHERE sig = ?1")?
        .execute((sig.as_str(), since.map(time)))?;
    Ok(())
}

/// The row, the sighting, and an audit row when the signature is new.
pub(super) fn put_signature(
    tx: &Transaction<'_>,
    tick: &TickId,
    now: DateTime<Utc>,
    row: &SignatureRow,
    seen: &Sighting,
) -> Result<(), TxError> {
    let fresh = upsert_signature(tx, row, i64::from(crate::text::signature::VERSION))?;
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
     severity, title, culprit, samples, inventory, bad_ticks, ignored_until, ignored_why, source, text_sig, \
     quiet_looks, signed_text, fire_after, clear_after, waits_since, part, red_run";

/// `version` is that of the function that signed its text.
pub(super) fn upsert_signature(tx: &Transaction<'_>, row: &SignatureRow, version: i64) -> Result<bool, TxError> {
    let fresh = tx
        .prepare_cached("SELECT 1 FROM signature WHERE sig = ?1")?
        .query_row([row.sig.as_str()], |_| Ok(()))
        .optional()?
        .is_none();
    let culprit = row.culprit.as_ref().map(|c| to_json("culprit", c)).transpose()?;
    let red_run = row.red_run.as_ref().map(|run| to_json("red run", run)).transpose()?;
    tx.prepare_cached(
        "INSERT INTO signature (sig, version, template, label, repo, first_seen, last_seen, count, releases, target,
             kind, severity, title, culprit, samples, inventory, bad_ticks, source, text_sig, quiet_looks, signed_text,
             fire_after, clear_after, part, red_run)
         VALUES (:sig, :version, :template, :label, :repo, :first_seen, :last_seen, :count, :releases, :target,
             :kind, :severity, :title, :culprit, :samples, :inventory, :bad_ticks, :source, :text_sig, :quiet_looks,
             :signed_text, :fire_after, :clear_after, :part, :red_run)
         ON CONFLICT (sig) DO UPDATE SET last_seen = excluded.last_seen, count = excluded.count,
             releases = excluded.releases, severity = excluded.severity, samples = excluded.samples,
             inventory = excluded.inventory, bad_ticks = excluded.bad_ticks, quiet_looks = excluded.quiet_looks,
             title = excluded.title, target = excluded.target, source = excluded.source,
             fire_after = excluded.fire_after, clear_after = excluded.clear_after, part = excluded.part,
             red_run = excluded.red_run",
    )?
    .execute(rusqlite::named_params! {
        ":sig": row.sig.as_str(),
        ":version": version,
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
        ":quiet_looks": row.quiet_looks,
        ":text_sig": row.text_sig.as_ref().map(Signature::as_str),
        ":signed_text": row.signed_text,
        ":fire_after": row.fire_after,
        ":clear_after": row.clear_after,
        ":part": row.part,
        ":red_run": red_run,
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
        quiet_looks: row.get(20)?,
        text_sig: row
            .get::<_, Option<String>>(19)?
            .map(|sig| parse_id(&sig))
            .transpose()?,
        signed_text: row.get(21)?,
        fire_after: row.get(22)?,
        clear_after: row.get(23)?,
        waits_since: parse_opt_time(row.get(24)?)?,
        part: row.get(25)?,
        red_run: row
            .get::<_, Option<String>>(26)?
            .map(|json| from_json("red run", &json))
            .transpose()?,
    })
}
