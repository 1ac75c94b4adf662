//! A new version of the signature function knows the old causes: each keeps its key, its incidents and its history, and
//! is found by the names that its texts have now. So an upgrade opens nothing twice.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::{Row, Transaction};

use super::{Result, Store, TickLock, TxError, audit, from_json, parse_id};
use crate::model::{Signature, signal::SignalKind};

/// What signing anew changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Renewed {
    /// Causes that an older function had signed.
    pub causes: u64,
    /// Those of them whose text has another signature now.
    pub renamed: u64,
}

/// What of a cause matters here.
struct Old {
    sig: Signature,
    text_sig: Option<Signature>,
    repo: String,
    kind: SignalKind,
    texts: Vec<String>,
    version: i64,
}

impl Store {
    /// Signs the causes of older versions anew, once. Costs one look into an index when there are none.
    pub fn sign_anew(
        &mut self,
        _lock: &TickLock,
        version: u32,
        now: DateTime<Utc>,
        sign: impl Fn(&str) -> Signature,
    ) -> Result<Renewed> {
        let version = i64::from(version);
        if !self.has_older(version)? {
            return Ok(Renewed::default());
        }
        let old = self.in_order_of_claim()?;
        self.write(|tx| {
            let mut renewed = Renewed::default();
            let mut claimed = HashSet::new();
            for cause in &old {
                renew(tx, cause, version, &sign, &mut claimed, &mut renewed)?;
            }
            let body = serde_json::json!({
                "version": version, "causes": renewed.causes, "renamed": renewed.renamed,
            });
            audit::record(tx, now, "signed-anew", &body)?;
            Ok(renewed)
        })
    }

    fn has_older(&self, version: i64) -> Result<bool> {
        self.read(|conn| {
            let query = "SELECT EXISTS (SELECT 1 FROM signature WHERE version < ?1)";
            Ok(conn.prepare_cached(query)?.query_row([version], |row| row.get(0))?)
        })
    }

    /// Where two causes have one name from now on, the one with an open incident gets it, then the one seen last.
    fn in_order_of_claim(&self) -> Result<Vec<Old>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT sig, text_sig, repo, kind, samples, signed_text, version FROM signature
                 ORDER BY EXISTS (SELECT 1 FROM incident_signature s JOIN incident i ON i.id = s.incident
                                  WHERE s.sig = signature.sig AND i.closed_at IS NULL) DESC, last_seen DESC, sig",
            )?;
            let mut rows = statement.query([])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(old(row)?);
            }
            Ok(out)
        })
    }
}

fn old(row: &Row<'_>) -> Result<Old, TxError> {
    let signed_text: Option<String> = row.get(5)?;
    Ok(Old {
        sig: parse_id(&row.get::<_, String>(0)?)?,
        text_sig: row.get::<_, Option<String>>(1)?.map(|sig| parse_id(&sig)).transpose()?,
        repo: row.get(2)?,
        kind: from_json("kind", &row.get::<_, String>(3)?)?,
        texts: match signed_text {
            Some(text) => vec![text],
            None => from_json("samples", &row.get::<_, String>(4)?)?,
        },
        version: row.get(6)?,
    })
}

fn renew(
    tx: &Transaction<'_>,
    cause: &Old,
    version: i64,
    sign: &impl Fn(&str) -> Signature,
    claimed: &mut HashSet<(String, Signature)>,
    renewed: &mut Renewed,
) -> Result<(), TxError> {
    let current = cause.text_sig.as_ref().unwrap_or(&cause.sig);
    // A symptom has no text of its own, and its name is the same in every version.
    let mut names: Vec<Signature> = if cause.version >= version || cause.kind.is_symptom() {
        Vec::new()
    } else {
        cause.texts.iter().map(|text| sign(text)).collect()
    };
    // What was made of names, such as a step of CI without a log, is known by them in every version too.
    names.push(current.clone());
    let mut free = names
        .into_iter()
        .filter(|name| claimed.insert((cause.repo.clone(), name.clone())));
    let first = free.next();
    for other in free {
        tx.prepare_cached("INSERT INTO signature_name (name, repo, sig) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
            .execute((other.as_str(), &cause.repo, cause.sig.as_str()))?;
    }
    if cause.version >= version {
        return Ok(());
    }
    renewed.causes += 1;
    let name = first.as_ref().unwrap_or(current);
    renewed.renamed += u64::from(name != current);
    tx.prepare_cached("UPDATE signature SET version = ?2, text_sig = ?3 WHERE sig = ?1")?
        .execute((cause.sig.as_str(), version, (*name != cause.sig).then(|| name.as_str())))?;
    Ok(())
}

#[cfg(test)]
#[path = "renewal_tests.rs"]
mod tests;
