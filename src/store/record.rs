//! How earlier incidents of a repo ended: what autonomy is earned by.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Result, Store, from_json, parse_id, time};
use crate::model::{IncidentId, Sha, Slot, incident::IncidentOutcome};

/// An incident that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub id: IncidentId,
    pub outcome: IncidentOutcome,
    pub triage: Option<Value>,
}

impl Store {
    /// Incidents of a repo that are over, with triage's last word on each.
    pub fn ended(&self, repo: &Slot) -> Result<Vec<Ended>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id, outcome,
                     (SELECT detail FROM evidence WHERE incident = i.id AND kind = 'triage' ORDER BY evidence.id DESC LIMIT 1)
                 FROM incident i WHERE repo = ?1 AND closed_at IS NOT NULL",
            )?;
            let mut rows = statement.query([repo.as_str()])?;
            let mut out = Vec::new();
            while let Some(row) = rows.next()? {
                out.push(Ended {
                    id: parse_id(&row.get::<_, String>(0)?)?,
                    outcome: from_json("outcome", &row.get::<_, String>(1)?)?,
                    triage: row
                        .get::<_, Option<String>>(2)?
                        .map(|json| from_json("triage", &json))
                        .transpose()?,
                });
            }
            Ok(out)
        })
    }

    /// Commits that an incident of the repo is about which is open, or ended after `since`.
    pub fn commits_needed(&self, repo: &Slot, since: DateTime<Utc>) -> Result<BTreeSet<Sha>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "WITH wanted AS (SELECT id FROM incident WHERE repo = ?1 AND (closed_at IS NULL OR closed_at >= ?2))
                 SELECT base FROM attempt WHERE incident IN wanted
                 UNION SELECT head FROM attempt WHERE incident IN wanted AND head IS NOT NULL
                 UNION SELECT head FROM evidence WHERE incident IN wanted AND head <> ''",
            )?;
            let mut rows = statement.query((repo.as_str(), time(since)))?;
            let mut out = BTreeSet::new();
            while let Some(row) = rows.next()? {
                out.extend(Sha::parse(&row.get::<_, String>(0)?).ok());
            }
            Ok(out)
        })
    }

    /// Commits that merges of ours made in a repo.
    pub fn merged_by_us(&self, repo: &Slot) -> Result<BTreeSet<Sha>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT e.result FROM effect e JOIN incident i ON e.incident = i.id
                 WHERE i.repo = ?1 AND e.kind = 'merge' AND e.outcome = 'done'",
            )?;
            let mut rows = statement.query([repo.as_str()])?;
            let mut out = BTreeSet::new();
            while let Some(row) = rows.next()? {
                let result: Value = from_json("effect", &row.get::<_, String>(0)?)?;
                out.extend(result["sha"].as_str().and_then(|sha| Sha::parse(sha).ok()));
            }
            Ok(out)
        })
    }
}
