//! The audit log: rows written in the transaction of the change they record, each hashed over the one before.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Result, Store, TxError, time, to_json};

/// Hash before the first row.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One line of `incidents.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    pub seq: i64,
    pub at: String,
    pub kind: String,
    pub body: Value,
    pub prev: String,
    pub hash: String,
}

/// What `tick audit verify` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    Intact {
        rows: i64,
    },
    /// The first row at which the chain breaks, and how.
    Broken {
        seq: i64,
        why: String,
    },
}

fn hash_of(seq: i64, at: &str, kind: &str, body: &str, prev: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [prev, &seq.to_string(), at, kind, body] {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    crate::text::hex(&hasher.finalize())
}

/// Appends one row inside the transaction of the change it records.
pub(super) fn record<T: Serialize>(
    tx: &Transaction<'_>,
    at: DateTime<Utc>,
    kind: &str,
    body: &T,
) -> Result<(), TxError> {
    let last: Option<(i64, String)> = tx
        .query_row("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let (seq, prev) = last.map_or((1, GENESIS.to_owned()), |(seq, hash)| (seq + 1, hash));
    let at = time(at);
    // Through a `Value`, whose maps are sorted: the bytes that are hashed do not depend on a struct's field order.
    let value = serde_json::to_value(body).map_err(|error| super::row_error("audit", &error.to_string()))?;
    let body = to_json("audit", &value)?;
    let hash = hash_of(seq, &at, kind, &body, &prev);
    tx.prepare_cached("INSERT INTO audit (seq, at, kind, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute((seq, &at, kind, &body, &prev, &hash))?;
    Ok(())
}

impl Store {
    /// Rows after a sequence number, oldest first.
    pub fn audit_rows(&self, after: i64) -> Result<Vec<AuditRow>> {
        self.read(|conn| {
            let mut statement =
                conn.prepare("SELECT seq, at, kind, body, prev, hash FROM audit WHERE seq > ?1 ORDER BY seq")?;
            let rows = statement.query_map([after], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get::<_, String>(3)?,
                    row.get(4)?,
                    row.get(5)?,
                ))
            })?;
            rows.map(|row| {
                let (seq, at, kind, body, prev, hash) = row?;
                Ok(AuditRow {
                    seq,
                    at,
                    kind,
                    body: super::from_json("audit", &body)?,
                    prev,
                    hash,
                })
            })
            .collect()
        })
    }

    /// Checks every row's hash and link, and that the print says the same.
    pub fn verify_audit(&self) -> Result<Verified> {
        let rows = self.audit_rows(0)?;
        let verified = verify_chain(&rows);
        if let Verified::Broken { .. } = verified {
            return Ok(verified);
        }
        Ok(self.verify_print(&rows).unwrap_or(verified))
    }
}

/// Checks sequence, links and hashes of rows from wherever they come.
pub(super) fn verify_chain(rows: &[AuditRow]) -> Verified {
    let mut prev = GENESIS.to_owned();
    for (index, row) in rows.iter().enumerate() {
        let seq = i64::try_from(index).unwrap_or(i64::MAX) + 1;
        let body = row.body.to_string();
        let why = if row.seq != seq {
            format!("row {} stands where row {seq} belongs", row.seq)
        } else if row.prev != prev {
            "it does not link to the row before".to_owned()
        } else if hash_of(row.seq, &row.at, &row.kind, &body, &row.prev) != row.hash {
            "its content does not match its hash".to_owned()
        } else {
            prev.clone_from(&row.hash);
            continue;
        };
        return Verified::Broken { seq, why };
    }
    Verified::Intact {
        rows: i64::try_from(rows.len()).unwrap_or(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{at, store};

    #[test]
    fn rows_chain_and_the_print_follows() {
        let (dir, mut store) = store();
        for n in 0..3 {
            store
                .write(|tx| record(tx, at(0), "test", &serde_json::json!({ "n": n })))
                .unwrap();
        }
        store.print_audit().unwrap();
        store.print_audit().unwrap();
        let text = std::fs::read_to_string(dir.path().join("incidents.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(store.verify_audit().unwrap(), Verified::Intact { rows: 3 });
    }

    #[test]
    fn a_torn_tail_is_cut_and_printed_again() {
        let (dir, mut store) = store();
        store.write(|tx| record(tx, at(0), "test", &1)).unwrap();
        store.write(|tx| record(tx, at(0), "test", &2)).unwrap();
        store.print_audit().unwrap();
        let path = dir.path().join("incidents.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        store.print_audit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn an_edit_is_found_at_its_place() {
        let (_dir, mut store) = store();
        for n in 0..3 {
            store.write(|tx| record(tx, at(0), "test", &n)).unwrap();
        }
        store.print_audit().unwrap();
        store
            .conn
            .execute("UPDATE audit SET body = '7' WHERE seq = 2", [])
            .unwrap();
        match store.verify_audit().unwrap() {
            Verified::Broken { seq, .. } => assert_eq!(seq, 2),
            Verified::Intact { .. } => panic!("an edited row went unnoticed"),
        }
    }
}
