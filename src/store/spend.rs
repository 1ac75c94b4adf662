//! Money and agent runs, reserved before an agent starts and settled after it.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Claim, Result, Store, audit, incidents::check_fence, time};
use crate::model::IncidentId;

/// What was spent, counting a reservation that was never settled as spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spent {
    pub incident_usd: f64,
    pub day_usd: f64,
    pub month_usd: f64,
    pub day_runs: u32,
}

impl Store {
    pub fn spent(&self, incident: &IncidentId, now: DateTime<Utc>) -> Result<Spent> {
        let day = now.format("%Y-%m-%d").to_string();
        let month = now.format("%Y-%m").to_string();
        self.read(|conn| {
            let sum = |condition: &str, value: &str| -> rusqlite::Result<f64> {
                conn.prepare_cached(&format!(
                    "SELECT coalesce(sum(coalesce(spent, reserved)), 0.0) FROM spend WHERE {condition}"
                ))?
                .query_row([value], |row| row.get(0))
            };
            Ok(Spent {
                incident_usd: sum("incident = ?1", incident.as_str())?,
                day_usd: sum("at >= ?1", &day)?,
                month_usd: sum("at >= ?1", &month)?,
                day_runs: conn
                    .prepare_cached("SELECT count(*) FROM spend WHERE at >= ?1")?
                    .query_row([&day], |row| row.get(0))?,
            })
        })
    }

    /// Reserves a run's worst case. `claims` are the incidents it is for; the first carries the row.
    pub fn reserve(
        &mut self,
        incident: &IncidentId,
        claim: Option<&Claim>,
        role: &str,
        agent: &str,
        usd: f64,
        now: DateTime<Utc>,
    ) -> Result<i64> {
        self.write(|tx| {
            if let Some(claim) = claim {
                check_fence(tx, claim)?;
            }
            tx.execute(
                "INSERT INTO spend (incident, role, agent, reserved, at) VALUES (?1, ?2, ?3, ?4, ?5)",
                (incident.as_str(), role, agent, usd, time(now)),
            )?;
            let id = tx.last_insert_rowid();
            let body =
                serde_json::json!({ "id": id, "incident": incident, "role": role, "agent": agent, "reserved": usd });
            audit::record(tx, now, "agent-run", &body)?;
            Ok(id)
        })
    }

    /// What a run really cost; none leaves the reservation as its cost.
    pub fn settle_spend(&mut self, id: i64, usd: Option<f64>, now: DateTime<Utc>) -> Result<()> {
        let Some(usd) = usd else { return Ok(()) };
        self.write(|tx| {
            tx.execute("UPDATE spend SET spent = ?2 WHERE id = ?1", (id, usd))?;
            audit::record(tx, now, "agent-cost", &serde_json::json!({ "id": id, "usd": usd }))
        })
    }
}
