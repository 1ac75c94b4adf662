//! What will break soon, from numbers kept by the hour: more errors than at this hour of other days, slower answers, something
//! that fills up. Each is a warning: told once, and no model is woken for it.

use chrono::{DateTime, TimeDelta, Timelike, Utc};

use super::observation::poisson_at_least;
use crate::model::signal::MeasureKind as Kind;

/// What was measured of one thing within an hour.
#[derive(Debug, Clone, PartialEq)]
pub struct Hour {
    pub hour: DateTime<Utc>,
    /// Looks.
    pub n: u32,
    /// Sum over the looks.
    pub total: f64,
    /// Single values, the newest last; some of them where there were many.
    pub points: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Trend {
    Rate { seen: f64, expected: f64 },
    Slow { now_ms: f64, usual_ms: f64 },
    Fills { at: DateTime<Utc>, level: f64, full: f64 },
}

/// Days of the baseline.
pub const DAYS: i64 = 7;
/// Days that must have been looked at before one is called unusual.
const FEWEST_DAYS: usize = 3;
const RATE_FACTOR: f64 = 3.0;
const RATE_FEWEST: f64 = 10.0;
const RATE_P: f64 = 1e-4;
const SLOW_FACTOR: f64 = 1.5;
const SLOW_MS: f64 = 50.0;
const SLOW_P: f64 = 1e-3;
/// Quantile of the baseline that values are compared with.
const SLOW_QUANTILE: f64 = 0.9;
const SLOW_FEWEST: usize = 4;
const BASE_FEWEST: usize = 20;
/// How far ahead something that fills up is told.
const AHEAD: TimeDelta = TimeDelta::days(3);
const FIT_HOURS: i64 = 72;
const FIT_FEWEST: usize = 6;
/// A day and an hour: what is emptied every night fills up on every day, and is never full.
const FIT_SPAN_HOURS: f64 = 25.0;
const FIT_R2: f64 = 0.8;

/// What the hours say; `hours` in any order, those of the future are left out.
pub fn trend(kind: Kind, hours: &[Hour], now: DateTime<Utc>) -> Option<Trend> {
    match kind {
        Kind::Events => rate(hours, now),
        Kind::Latency => slow(hours, now),
        Kind::Level { full } => fills(hours, full, now),
    }
}

/// This hour and the one before.
fn is_recent(hour: &Hour, now: DateTime<Utc>) -> bool {
    hour.hour <= now && now - hour.hour < TimeDelta::hours(2)
}

/// The same two hours of the day, on one of the days before.
fn is_baseline(hour: &Hour, now: DateTime<Utc>) -> bool {
    let back = now - hour.hour;
    let same = |ago: i64| (now - TimeDelta::hours(ago)).hour() == hour.hour.hour();
    back >= TimeDelta::hours(20) && back < TimeDelta::days(DAYS) + TimeDelta::hours(2) && (same(0) || same(1))
}

fn days(hours: &[&Hour]) -> usize {
    let days: std::collections::BTreeSet<_> = hours.iter().map(|hour| hour.hour.date_naive()).collect();
    days.len()
}

fn rate(hours: &[Hour], now: DateTime<Utc>) -> Option<Trend> {
    let (recent, base) = split(hours, now);
    let sum = |list: &[&Hour]| -> (f64, f64) {
        let looks: u32 = list.iter().map(|hour| hour.n).sum();
        (f64::from(looks), list.iter().map(|hour| hour.total).sum())
    };
    let ((looks, seen), (base_looks, base_seen)) = (sum(&recent), sum(&base));
    if days(&base) < FEWEST_DAYS || base_looks < 1.0 {
        return None;
    }
    // One more than was seen, so that nothing at all before makes no rate of zero.
    let expected = (base_seen + 1.0) / base_looks * looks;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of events"
    )]
    let count = seen.max(0.0) as u64;
    let more = seen >= RATE_FEWEST && seen > RATE_FACTOR * expected && poisson_at_least(count, expected) <= RATE_P;
    more.then_some(Trend::Rate { seen, expected })
}

fn split(hours: &[Hour], now: DateTime<Utc>) -> (Vec<&Hour>, Vec<&Hour>) {
    (
        hours.iter().filter(|hour| is_recent(hour, now)).collect(),
        hours.iter().filter(|hour| is_baseline(hour, now)).collect(),
    )
}

/// Compares by rank and not by mean: a single outlier moves nothing.
fn slow(hours: &[Hour], now: DateTime<Utc>) -> Option<Trend> {
    let (recent, base) = split(hours, now);
    let points = |list: &[&Hour]| -> Vec<f64> {
        let mut all: Vec<f64> = list.iter().flat_map(|hour| hour.points.iter().copied()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (values, usual) = (points(&recent), points(&base));
    if values.len() < SLOW_FEWEST || usual.len() < BASE_FEWEST || days(&base) < FEWEST_DAYS {
        return None;
    }
    let limit = quantile(&usual, SLOW_QUANTILE);
    let above = values.iter().filter(|value| **value > limit).count();
    let (now_ms, usual_ms) = (quantile(&values, 0.5), quantile(&usual, 0.5));
    let far = now_ms >= SLOW_FACTOR * usual_ms && now_ms - usual_ms >= SLOW_MS;
    let chance = binomial_at_least(above, values.len(), 1.0 - SLOW_QUANTILE);
    (far && chance <= SLOW_P).then_some(Trend::Slow { now_ms, usual_ms })
}

/// Of sorted values, at least one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index among some thousand values"
)]
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = (q * (sorted.len() - 1) as f64).round() as usize;
    sorted[at.min(sorted.len() - 1)]
}

/// The chance of at least `k` of `n`, each with chance `p`.
fn binomial_at_least(k: usize, n: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        #[expect(clippy::cast_precision_loss, reason = "some dozen samples")]
        let ratio = (n - i) as f64 / (i + 1) as f64;
        term *= ratio * p / (1.0 - p);
    }
    1.0 - below
}

/// A straight line through the levels of the last days, where it fits well enough to be believed.
fn fills(hours: &[Hour], full: f64, now: DateTime<Utc>) -> Option<Trend> {
    #[expect(clippy::cast_precision_loss, reason = "minutes of some days")]
    let at = |hour: &Hour| (hour.hour - now).num_minutes() as f64 / 60.0;
    let mut points: Vec<(f64, f64)> = hours
        .iter()
        .filter(|hour| hour.n > 0 && hour.hour <= now && now - hour.hour <= TimeDelta::hours(FIT_HOURS))
        .map(|hour| (at(hour), hour.total / f64::from(hour.n)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (newest, level) = *points.last()?;
    let span = newest - points.first()?.0;
    if points.len() < FIT_FEWEST || span < FIT_SPAN_HOURS || level >= full {
        return None;
    }
    let (slope, r2) = line(&points)?;
    let left = (full - level) / slope;
    if slope <= 0.0 || r2 < FIT_R2 || !left.is_finite() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the next line")]
    let left = TimeDelta::minutes((left * 60.0).min(1e9) as i64);
    (left <= AHEAD).then_some(Trend::Fills {
        at: now + left,
        level,
        full,
    })
}

/// Slope and share of the spread that the line explains.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "some dozen hours")]
    let n = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mx, y - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (xx > 0.0 && yy > 0.0).then(|| (xy / xx, xy * xy / (xx * yy)))
}

/// Something that happens regularly did not for half as long again, and a quarter of an hour for a late look.
pub fn is_missed(last: DateTime<Utc>, every: TimeDelta, now: DateTime<Utc>) -> bool {
    now - last > every + (every / 2).max(TimeDelta::minutes(15))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-11-29T14:40:00Z".parse().unwrap()
    }

    /// `ago` hours before this hour: four looks with these values.
    fn hour(ago: i64, values: [f64; 4]) -> Hour {
        Hour {
            hour: "2026-11-29T14:00:00Z".parse::<DateTime<Utc>>().unwrap() - TimeDelta::hours(ago),
            n: 4,
            total: values.iter().sum(),
            points: values.to_vec(),
        }
    }

    /// Fourteen days, each hour with values by its hour of the day.
    fn fortnight(values: impl Fn(u32) -> [f64; 4]) -> Vec<Hour> {
        let mut all: Vec<Hour> = (0..14 * 24).map(|ago| hour(ago, [0.0; 4])).collect();
        for hour in &mut all {
            let of = values(hour.hour.hour());
            (hour.total, hour.points) = (of.iter().sum(), of.to_vec());
        }
        all
    }

    #[test]
    fn errors_are_compared_with_the_same_hour_of_other_days() {
        let busy = |hour: u32| if hour == 14 || hour == 13 { [5.0; 4] } else { [0.0; 4] };
        assert_eq!(
            trend(Kind::Events, &fortnight(busy), now()),
            None,
            "it is always busy at noon"
        );
        let mut storm = fortnight(|_| [1.0, 0.0, 0.0, 0.0]);
        storm[0] = hour(0, [10.0; 4]);
        let found = trend(Kind::Events, &storm, now());
        assert!(
            matches!(found, Some(Trend::Rate { seen, expected }) if seen > 40.0 && expected < 3.0),
            "{found:?}"
        );
        assert_eq!(
            trend(Kind::Events, &storm[..30], now()),
            None,
            "a single day is no baseline"
        );
        let mut few = fortnight(|_| [0.0; 4]);
        few[0] = hour(0, [2.0; 4]);
        assert_eq!(trend(Kind::Events, &few, now()), None, "eight events are no storm");
        few[0] = hour(0, [5.0; 4]);
        assert!(
            trend(Kind::Events, &few, now()).is_some(),
            "twenty where there never was one"
        );
    }

    #[test]
    fn an_outlier_makes_nothing_slow_and_a_shift_does() {
        let usual = |_| [100.0, 110.0, 90.0, 120.0];
        let mut hours = fortnight(usual);
        assert_eq!(trend(Kind::Latency, &hours, now()), None);
        hours[0] = hour(0, [5000.0, 100.0, 100.0, 110.0]);
        assert_eq!(trend(Kind::Latency, &hours, now()), None);
        hours[0] = hour(0, [300.0, 320.0, 310.0, 305.0]);
        hours[1] = hour(1, [300.0, 290.0, 310.0, 305.0]);
        let found = trend(Kind::Latency, &hours, now());
        assert!(
            matches!(found, Some(Trend::Slow { now_ms, usual_ms }) if now_ms > 299.0 && usual_ms < 111.0),
            "{found:?}"
        );
        hours[0] = hour(0, [130.0; 4]);
        hours[1] = hour(1, [130.0; 4]);
        assert_eq!(trend(Kind::Latency, &hours, now()), None, "above all, and no matter");
    }

    #[test]
    fn what_fills_up_is_told_three_days_before() {
        let filling = |from: f64, per_hour: f64| -> Vec<Hour> {
            (0..48_i32)
                .map(|ago| {
                    let level = from - f64::from(ago) * per_hour;
                    hour(ago.into(), [level; 4])
                })
                .collect()
        };
        let kind = Kind::Level { full: 100.0 };
        let found = trend(kind, &filling(80.0, 0.5), now());
        let Some(Trend::Fills { at, level, .. }) = found else {
            panic!("{found:?}")
        };
        assert!((level - 80.0).abs() < 1e-6);
        assert_eq!((at - now()).num_hours(), 40);
        for (from, per_hour) in [(80.0, 0.1), (80.0, 0.0), (80.0, -1.0), (100.0, 1.0)] {
            assert_eq!(trend(kind, &filling(from, per_hour), now()), None, "{from} {per_hour}");
        }
        let sawtooth: Vec<Hour> = (0..48)
            .map(|ago| hour(ago, [80.0 - f64::from(u32::try_from(ago % 6).unwrap()) * 10.0; 4]))
            .collect();
        assert_eq!(trend(kind, &sawtooth, now()), None, "no line");
        assert_eq!(trend(kind, &filling(80.0, 0.5)[..4], now()), None, "too few");
        assert_eq!(
            trend(kind, &filling(80.0, 0.5)[..25], now()),
            None,
            "no day was seen yet"
        );
        // A quota of every day, looked at from any hour on.
        for hours in 6..72 {
            for first in 0..24 {
                let quota: Vec<Hour> = (0..hours)
                    .map(|ago| {
                        hour(
                            ago,
                            [500.0 + f64::from(u32::try_from((first + hours - ago) % 24).unwrap()) * 10.0; 4],
                        )
                    })
                    .collect();
                let found = trend(Kind::Level { full: 1000.0 }, &quota, now());
                assert_eq!(found, None, "{hours} hours, from {first}");
            }
        }
    }

    #[test]
    fn a_thing_is_missed_after_half_as_long_again() {
        let hour = TimeDelta::hours(1);
        assert!(!is_missed(now() - TimeDelta::minutes(90), hour, now()));
        assert!(is_missed(now() - TimeDelta::minutes(91), hour, now()));
        assert!(!is_missed(now() - TimeDelta::minutes(20), TimeDelta::minutes(5), now()));
    }
}
