//! Numbers by the hour, for trends: one row for each thing that is measured and hour, kept as long as snapshots.

use std::collections::BTreeMap;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use rusqlite::Transaction;

use super::{Result, Store, TxError, parse_id, parse_time, time};
use crate::model::Slot;

/// Single values that are kept of one hour; the sum counts all.
const POINTS: u32 = 12;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasureKey {
    pub repo: Slot,
    pub target: String,
    pub source: String,
    pub name: String,
}

/// One hour of it.
#[derive(Debug, Clone, PartialEq)]
pub struct HourRow {
    pub hour: DateTime<Utc>,
    pub n: u32,
    pub total: f64,
    pub points: Vec<f64>,
}

impl Store {
    /// Every measured hour since then, the oldest first.
    pub fn hourly(&self, since: DateTime<Utc>) -> Result<BTreeMap<MeasureKey, Vec<HourRow>>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT repo, target, source, name, hour, n, total, points FROM hourly WHERE hour >= ?1 ORDER BY hour",
            )?;
            let mut rows = statement.query([time(since)])?;
            let mut out: BTreeMap<MeasureKey, Vec<HourRow>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let key = MeasureKey {
                    repo: parse_id(&row.get::<_, String>(0)?)?,
                    target: row.get(1)?,
                    source: row.get(2)?,
                    name: row.get(3)?,
                };
                let points: String = row.get(7)?;
                out.entry(key).or_default().push(HourRow {
                    hour: parse_time(&row.get::<_, String>(4)?)?,
                    n: row.get(5)?,
                    total: row.get(6)?,
                    points: points.split(',').filter_map(|point| point.parse().ok()).collect(),
                });
            }
            Ok(out)
        })
    }
}

pub(super) fn put_measure(
    tx: &Transaction<'_>,
    key: &MeasureKey,
    value: f64,
    at: DateTime<Utc>,
) -> Result<(), TxError> {
    if !value.is_finite() {
        return Ok(());
    }
    let hour = at.duration_trunc(TimeDelta::hours(1)).unwrap_or(at);
    tx.prepare_cached(
        "INSERT INTO hourly (repo, target, source, name, hour, n, total, points) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)
         ON CONFLICT DO UPDATE SET n = n + 1, total = total + excluded.total,
             points = CASE WHEN n < ?8 THEN points || ',' || excluded.points ELSE points END",
    )?
    .execute(rusqlite::params![
        key.repo.as_str(),
        key.target,
        key.source,
        key.name,
        time(hour),
        value,
        value.to_string(),
        POINTS,
    ])?;
    Ok(())
}

pub(super) fn forget_measures(tx: &Transaction<'_>, before: DateTime<Utc>) -> Result<(), TxError> {
    tx.execute("DELETE FROM hourly WHERE hour < ?1", [time(before)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{at, lock, store};

    #[test]
    fn values_of_an_hour_are_one_row_and_old_ones_are_forgotten() {
        let (_dir, mut store) = store();
        let key = MeasureKey {
            repo: Slot::parse("api").unwrap(),
            target: "api".to_owned(),
            source: "health".to_owned(),
            name: "latency front".to_owned(),
        };
        store
            .write(|tx| {
                for minute in 0..20 {
                    put_measure(tx, &key, f64::from(minute), at(minute.into()))?;
                }
                put_measure(tx, &key, f64::NAN, at(70))?;
                put_measure(tx, &key, 5.0, at(70))
            })
            .unwrap();
        let hours = store.hourly(at(-60)).unwrap();
        let shape: Vec<_> = hours[&key].iter().map(|h| (h.n, h.total, h.points.len())).collect();
        assert_eq!(shape, [(20, 190.0, 12), (1, 5.0, 1)]);
        let lock = lock(&store);
        store.housekept(&lock, "housekept", at(80), at(59)).unwrap();
        assert_eq!(store.hourly(at(-60)).unwrap()[&key].len(), 1);
    }
}
