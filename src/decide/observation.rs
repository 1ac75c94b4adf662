//! The time after a merge: what was to be expected, what was seen, and whether things got worse.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::facts::{OtherRate, Watch};

/// At least this many events were to be expected before silence means anything.
const ENOUGH_EXPECTED: f64 = 3.0;
const LONGEST: TimeDelta = TimeDelta::days(7);
/// A rate is worse above this factor, and only with this little chance of being luck.
const WORSE_FACTOR: f64 = 3.0;
const WORSE_P: f64 = 0.01;
const SAMPLES: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Observed {
    /// Not enough time or traffic yet; the earliest time it can be decided.
    Watching {
        expected: f64,
        until: DateTime<Utc>,
    },
    /// Nothing was seen although enough was to be expected.
    Gone {
        expected: f64,
    },
    /// Seven days without enough to expect: no success, no failure.
    Unconfirmed {
        expected: f64,
    },
    /// Still there, not worse.
    Still {
        seen: u64,
        expected: f64,
    },
    Worse {
        why: String,
    },
}

/// Judges what was seen since `live_at`.
pub fn observe(watch: &Watch, live_at: DateTime<Utc>, shortest: TimeDelta, now: DateTime<Utc>) -> Observed {
    let watched = (watch.looked_until - live_at).max(TimeDelta::zero());
    let hours = hours(watched);
    let expected = watch.rate_before * hours;
    if let Some(why) = worse(watch, hours) {
        return Observed::Worse { why };
    }
    if watch.seen > 0 && watched >= shortest {
        return Observed::Still {
            seen: watch.seen,
            expected,
        };
    }
    if watch.seen == 0 && watched >= shortest && expected >= ENOUGH_EXPECTED {
        return Observed::Gone { expected };
    }
    if now - live_at >= LONGEST {
        return Observed::Unconfirmed { expected };
    }
    Observed::Watching {
        expected,
        until: live_at + needed(watch.rate_before, shortest),
    }
}

/// How long it takes at this rate until silence means something.
fn needed(rate: f64, shortest: TimeDelta) -> TimeDelta {
    if rate <= 0.0 {
        return LONGEST;
    }
    #[expect(clippy::cast_possible_truncation, reason = "bounded by seven days right after")]
    let seconds = (ENOUGH_EXPECTED / rate * 3600.0).ceil().min(7.0 * 86_400.0) as i64;
    TimeDelta::seconds(seconds).max(shortest).min(LONGEST)
}

fn worse(watch: &Watch, hours: f64) -> Option<String> {
    if watch.probe_down_samples >= SAMPLES {
        return Some("a probe that was up before the merge is down".to_owned());
    }
    let of_cause = OtherRate {
        // The cause itself may get worse like any other signature.
        signature: crate::model::Signature::parse("0000000000000000").ok()?,
        rate_before: watch.rate_before,
        seen: watch.seen,
        new: false,
        in_our_diff: false,
        samples: watch.samples,
    };
    if risen(&of_cause, hours) {
        return Some(format!(
            "the same error is {:.1} times as frequent as before the merge",
            ratio(&of_cause, hours)
        ));
    }
    watch.others.iter().find_map(|other| {
        if other.samples < SAMPLES {
            None
        } else if other.new && other.in_our_diff {
            Some(format!(
                "a new error {} begins in a file of the change",
                other.signature.short()
            ))
        } else if !other.new && risen(other, hours) {
            Some(format!(
                "error {} is {:.1} times as frequent as before the merge",
                other.signature.short(),
                ratio(other, hours)
            ))
        } else {
            None
        }
    })
}

fn risen(rate: &OtherRate, hours: f64) -> bool {
    let expected = rate.rate_before * hours;
    rate.samples >= SAMPLES
        && count(rate.seen) > WORSE_FACTOR * expected
        && poisson_at_least(rate.seen, expected) <= WORSE_P
}

fn ratio(rate: &OtherRate, hours: f64) -> f64 {
    count(rate.seen) / (rate.rate_before * hours).max(f64::MIN_POSITIVE)
}

/// Chance of at least `seen` events where `expected` are to be expected.
pub fn poisson_at_least(seen: u64, expected: f64) -> f64 {
    if seen == 0 {
        return 1.0;
    }
    if expected <= 0.0 {
        return 0.0;
    }
    // In logarithms, so that large counts neither overflow nor vanish.
    let mut log_term = -expected;
    let mut below = log_term.exp();
    for k in 1..seen.min(100_000) {
        log_term += expected.ln() - count(k).ln();
        below += log_term.exp();
    }
    (1.0 - below).clamp(0.0, 1.0)
}

/// Events an hour, over at least a quarter of an hour: one event in one second is no rate.
pub fn rate_per_hour(events: u64, over: TimeDelta) -> f64 {
    count(events) / hours(over.max(TimeDelta::minutes(15)))
}

fn hours(delta: TimeDelta) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "seconds of at most some years")]
    let seconds = delta.num_seconds() as f64;
    seconds / 3600.0
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn count(events: u64) -> f64 {
    events as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Signature;

    fn t(minutes: i64) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z")
            .unwrap()
            .with_timezone(&Utc)
            + TimeDelta::minutes(minutes)
    }

    fn watch(rate: f64, seen: u64, until: i64) -> Watch {
        Watch {
            rate_before: rate,
            seen,
            samples: 2,
            requests: None,
            looked_until: t(until),
            others: vec![],
            probe_down_samples: 0,
        }
    }

    fn judge(watch: &Watch, now: i64) -> Observed {
        observe(watch, t(0), TimeDelta::minutes(30), t(now))
    }

    #[test]
    fn silence_counts_only_once_three_events_were_to_be_expected() {
        assert!(
            matches!(judge(&watch(40.0, 0, 10), 10), Observed::Watching { .. }),
            "too early"
        );
        assert!(matches!(judge(&watch(40.0, 0, 30), 30), Observed::Gone { expected } if expected > 19.0));
        assert!(
            matches!(judge(&watch(1.0, 0, 60), 60), Observed::Watching { .. }),
            "one expected is not enough"
        );
        assert!(matches!(judge(&watch(1.0, 0, 180), 180), Observed::Gone { .. }));
        assert!(matches!(
            judge(&watch(0.001, 0, 7 * 1440), 7 * 1440),
            Observed::Unconfirmed { .. }
        ));
    }

    #[test]
    fn blind_time_is_not_quiet() {
        assert!(matches!(judge(&watch(40.0, 0, 5), 600), Observed::Watching { .. }));
    }

    #[test]
    fn still_there_and_worse_differ() {
        assert!(matches!(
            judge(&watch(40.0, 15, 30), 30),
            Observed::Still { seen: 15, .. }
        ));
        assert!(matches!(judge(&watch(4.0, 30, 30), 30), Observed::Worse { .. }));
        let mut once = watch(4.0, 30, 10);
        once.samples = 1;
        assert!(
            matches!(judge(&once, 10), Observed::Watching { .. }),
            "one look may be a burst of the old release"
        );
        let mut down = watch(40.0, 0, 10);
        down.probe_down_samples = 1;
        assert!(
            matches!(judge(&down, 10), Observed::Watching { .. }),
            "one sample is a hiccup"
        );
        down.probe_down_samples = 2;
        assert!(matches!(judge(&down, 10), Observed::Worse { .. }));
    }

    #[test]
    fn a_new_error_counts_when_it_begins_in_our_diff() {
        let mut w = watch(40.0, 0, 10);
        w.others.push(OtherRate {
            signature: Signature::parse("7f3a91c07f3a91c0").unwrap(),
            rate_before: 0.0,
            seen: 2,
            new: true,
            in_our_diff: false,
            samples: 2,
        });
        assert!(matches!(judge(&w, 10), Observed::Watching { .. }));
        w.others[0].in_our_diff = true;
        assert!(matches!(judge(&w, 10), Observed::Worse { .. }));
    }

    #[test]
    fn poisson_tail_is_a_probability() {
        assert!((poisson_at_least(1, 1.0) - 0.632).abs() < 0.001);
        assert!(poisson_at_least(10, 1.0) < 1e-6);
        assert!(poisson_at_least(1000, 1000.0) > 0.4);
        assert!((poisson_at_least(0, 5.0) - 1.0).abs() < f64::EPSILON);
    }
}
