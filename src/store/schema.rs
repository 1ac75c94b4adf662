//! Tables and migrations. Columns may grow; keys may not change, since a second store implements the same ones.

use rusqlite::{Connection, TransactionBehavior};

pub(super) const VERSION: i64 = 11;

/// Brings a database to [`VERSION`], one committed step at a time. Which step is next is read under the write lock:
/// several processes may open a new home at once.
pub(super) fn migrate(conn: &Connection) -> rusqlite::Result<()> {
    migrate_to(conn, VERSION)
}

pub(super) fn migrate_to(conn: &Connection, version: i64) -> rusqlite::Result<()> {
    loop {
        let tx = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        let done: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let step = usize::try_from(done).ok().and_then(|done| STEPS.get(done));
        let Some(step) = step.filter(|_| done < version) else {
            return Ok(());
        };
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", done + 1)?;
        tx.commit()?;
    }
}

const STEPS: [&str; 11] = [V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11];

const V1: &str = "
CREATE TABLE tick (
  id TEXT PRIMARY KEY, counter INTEGER NOT NULL UNIQUE, started_at TEXT NOT NULL, ended_at TEXT,
  deep INTEGER NOT NULL, gate TEXT, exit INTEGER, models INTEGER NOT NULL DEFAULT 0,
  snapshot_digest TEXT, config_digest TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE signature (
  sig TEXT PRIMARY KEY, version INTEGER NOT NULL, template TEXT NOT NULL, label TEXT NOT NULL, repo TEXT NOT NULL,
  first_seen TEXT NOT NULL, last_seen TEXT NOT NULL, count INTEGER NOT NULL, releases TEXT NOT NULL,
  target TEXT NOT NULL, kind TEXT NOT NULL, severity TEXT NOT NULL, title TEXT NOT NULL, culprit TEXT,
  samples TEXT NOT NULL, inventory INTEGER NOT NULL DEFAULT 0, bad_ticks INTEGER NOT NULL DEFAULT 0,
  ignored_until TEXT, ignored_why TEXT, source TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX signature_bad ON signature (sig) WHERE bad_ticks > 0;
CREATE TABLE sighting (
  sig TEXT NOT NULL, tick TEXT NOT NULL, at TEXT NOT NULL, since TEXT NOT NULL, count INTEGER NOT NULL, release TEXT,
  PRIMARY KEY (sig, at, tick)
) STRICT, WITHOUT ROWID;
CREATE TABLE incident (
  id TEXT PRIMARY KEY, repo TEXT NOT NULL, generation INTEGER NOT NULL, opened_at TEXT NOT NULL,
  due_at TEXT, closed_at TEXT, outcome TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX incident_due ON incident (due_at) WHERE closed_at IS NULL;
CREATE TABLE incident_signature (
  sig TEXT NOT NULL, incident TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN ('primary', 'symptom')),
  PRIMARY KEY (incident, sig)
) STRICT, WITHOUT ROWID;
CREATE INDEX incident_signature_sig ON incident_signature (sig);
CREATE TABLE attempt (
  incident TEXT NOT NULL, n INTEGER NOT NULL, base TEXT NOT NULL, head TEXT, patch_id TEXT, started TEXT NOT NULL,
  ended TEXT, outcome TEXT, failure_sig TEXT, charged INTEGER NOT NULL, agent TEXT NOT NULL, said TEXT NOT NULL,
  PRIMARY KEY (incident, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE evidence (
  id INTEGER PRIMARY KEY, incident TEXT NOT NULL, head TEXT NOT NULL, kind TEXT NOT NULL, verdict TEXT NOT NULL,
  digest TEXT NOT NULL, detail TEXT NOT NULL, at TEXT NOT NULL
) STRICT;
CREATE INDEX evidence_incident ON evidence (incident, kind);
CREATE TABLE effect (
  key TEXT PRIMARY KEY, incident TEXT NOT NULL, fence INTEGER NOT NULL, kind TEXT NOT NULL, args_digest TEXT NOT NULL,
  intended_at TEXT NOT NULL, done_at TEXT, outcome TEXT, result TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_incident ON effect (incident);
CREATE TABLE claim (
  incident TEXT PRIMARY KEY, fence INTEGER NOT NULL, pid INTEGER NOT NULL, pid_start TEXT NOT NULL, run_id TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE source (
  repo TEXT NOT NULL, target TEXT NOT NULL, collector TEXT NOT NULL, first_ok_at TEXT, last_ok_at TEXT,
  last_look_at TEXT, cursor TEXT, cause TEXT, cause_since TEXT, release TEXT, release_since TEXT,
  PRIMARY KEY (repo, target, collector)
) STRICT, WITHOUT ROWID;
CREATE TABLE spend (
  id INTEGER PRIMARY KEY, incident TEXT NOT NULL, role TEXT NOT NULL, agent TEXT NOT NULL,
  reserved REAL NOT NULL, spent REAL, at TEXT NOT NULL
) STRICT;
CREATE INDEX spend_at ON spend (at);
CREATE TABLE decision (
  tick TEXT NOT NULL, incident TEXT NOT NULL, turn INTEGER NOT NULL, facts TEXT NOT NULL, action TEXT NOT NULL,
  policy_digest TEXT NOT NULL, PRIMARY KEY (incident, tick, turn)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE TABLE flag (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE http_cache (
  key TEXT PRIMARY KEY, etag TEXT NOT NULL, link TEXT, body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Letters that wait are looked for in every tick.
const V2: &str = "
CREATE INDEX effect_unsent ON effect (intended_at) WHERE kind = 'mail' AND done_at IS NULL;
";

/// One text may be a cause in several repos. The key of the first is the text's own signature, `sig` of the others is made of
/// text and repo; `text_sig` says then what the text's is. No key changes, and a ledger of a million causes is not rewritten.
const V3: &str = "
ALTER TABLE signature ADD COLUMN text_sig TEXT;
CREATE INDEX signature_text ON signature (text_sig, repo) WHERE text_sig IS NOT NULL;
";

/// Looks in a row in which the source of a cause was read in full without it, counted up to 9. What an older ledger closed
/// counts as long over, what is open begins anew; few rows are ever below 9, so the index stays small.
const V4: &str = "
ALTER TABLE signature ADD COLUMN quiet_looks INTEGER NOT NULL DEFAULT 9;
UPDATE signature SET quiet_looks = 0 WHERE bad_ticks > 0 OR sig IN (
  SELECT s.sig FROM incident_signature s JOIN incident i ON i.id = s.incident WHERE i.closed_at IS NULL);
CREATE INDEX signature_quiet ON signature (repo, target, source) WHERE quiet_looks < 9;
";

/// What a cause's text is signed by when the rules change, and the other names that its samples have then.
const V5: &str = "
ALTER TABLE signature ADD COLUMN signed_text TEXT;
CREATE INDEX signature_version ON signature (version);
CREATE TABLE signature_name (
  name TEXT NOT NULL, repo TEXT NOT NULL, sig TEXT NOT NULL, PRIMARY KEY (name, repo)
) STRICT, WITHOUT ROWID;
";

/// Answers of conditional requests are forgotten in time.
const V6: &str = "
ALTER TABLE http_cache ADD COLUMN at TEXT NOT NULL DEFAULT '';
";

/// What changed before a cause: releases, merges, variables by name, what expires. What a source told last of variables and of
/// a deployment that is under way.
const V7: &str = "
CREATE TABLE change (
  repo TEXT NOT NULL, target TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, at TEXT NOT NULL,
  what TEXT NOT NULL, sha TEXT, url TEXT, PRIMARY KEY (repo, target, source, kind, key, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX change_at ON change (repo, at);
ALTER TABLE source ADD COLUMN variables TEXT;
ALTER TABLE source ADD COLUMN deploying_since TEXT;
ALTER TABLE source ADD COLUMN told TEXT NOT NULL DEFAULT '';
";

/// Storms: what waits for its turn, how long a probe is given, deployments under way. Trends: numbers by the hour.
const V8: &str = "
ALTER TABLE signature ADD COLUMN waits_since TEXT;
ALTER TABLE signature ADD COLUMN fire_after INTEGER;
ALTER TABLE signature ADD COLUMN clear_after INTEGER;
CREATE INDEX signature_waits ON signature (waits_since) WHERE waits_since IS NOT NULL;
CREATE INDEX incident_opened ON incident (opened_at);
CREATE TABLE hourly (
  repo TEXT NOT NULL, target TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, hour TEXT NOT NULL,
  n INTEGER NOT NULL, total REAL NOT NULL, points TEXT NOT NULL, PRIMARY KEY (repo, target, source, name, hour)
) STRICT, WITHOUT ROWID;
";

/// What cannot be read, by probe, check or file of a source.
const V9: &str = "
ALTER TABLE signature ADD COLUMN part TEXT;
ALTER TABLE source ADD COLUMN blind TEXT NOT NULL DEFAULT '';
";

/// Why an incident opened: of what was known before that is news.
const V11: &str = "
ALTER TABLE incident ADD COLUMN why TEXT NOT NULL DEFAULT '';
";

/// Which run of CI showed a cause last.
const V10: &str = "
ALTER TABLE signature ADD COLUMN red_run TEXT;
";
