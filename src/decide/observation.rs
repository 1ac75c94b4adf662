//! The time after a merge: what was to be expected, what was seen, and whether things got worse.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::facts::{OtherRate, Watch};
use crate::model::Sha;

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
    // Nothing is well again while a page is down, whoever took it down.
    if watch.seen == 0 && !watch.probe_down && watched >= shortest && expected >= ENOUGH_EXPECTED {
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

/// What one look brought of a cause: its events' first and last time, how many, and the release they name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub from: DateTime<Utc>,
    pub at: DateTime<Utc>,
    pub count: u64,
    pub release: Option<Sha>,
}

/// Where "before" ends and "since" begins.
#[derive(Debug, Clone, Copy)]
pub struct Split<'a> {
    /// Of the merge, or of the release where nobody merged for us.
    pub at: DateTime<Utc>,
    pub release: &'a Sha,
    pub live_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// Events an hour.
    pub rate_before: f64,
    pub since: u64,
    /// Looks that saw some since.
    pub samples: u32,
}

/// So long what began under the old release may still fail by it.
const DRAIN: TimeDelta = TimeDelta::minutes(5);

/// Counts before and since. `watched_until` is the last look before the split: its silence counts, what nobody watched does not.
pub fn counted(batches: &[Batch], split: &Split<'_>, watched_until: Option<DateTime<Utc>>) -> Counted {
    let before: Vec<_> = batches.iter().filter(|b| b.at <= split.at).collect();
    let events = before.iter().fold(0_u64, |all, b| all.saturating_add(b.count));
    let first = before.first().map_or(split.at, |b| b.from);
    let last = before.last().map_or(split.at, |b| b.at);
    let last = watched_until.map_or(last, |looked| last.max(looked.min(split.at)));
    let since: Vec<u64> = batches
        .iter()
        .filter(|b| b.at > split.live_at)
        .enumerate()
        .map(|(nth, batch)| since_live(batches, split, nth, batch))
        .filter(|count| *count > 0)
        .collect();
    Counted {
        rate_before: rate_per_hour(events, last - first),
        since: since.iter().fold(0, |all, count| all.saturating_add(*count)),
        samples: u32::try_from(since.len()).unwrap_or(u32::MAX),
    }
}

/// How many events of a batch that ends after the release began to serve are to be held against it.
fn since_live(batches: &[Batch], split: &Split<'_>, nth: usize, batch: &Batch) -> u64 {
    if let Some(release) = &batch.release {
        let old = |b: &Batch| b.at <= split.live_at && b.release.as_ref() == Some(release);
        if release == split.release {
            return batch.count;
        }
        // Instances of an older release end their work. A newer one carries the merge.
        if batches.iter().any(old) {
            return 0;
        }
    }
    if batch.from >= split.live_at || nth > 0 {
        // A source may name the first event of all, not of the batch: then every batch begins before.
        return batch.count;
    }
    // At least its last event came since, if that is no late end of work that began before.
    u64::from(batch.at > split.live_at + DRAIN)
}

/// Looks in a row since the release serves in which a probe is down, if this outage began after the merge.
pub fn outage_samples(bad_looks: u32, since_merge: &[Batch], live_at: DateTime<Utc>) -> u32 {
    let row = usize::try_from(bad_looks).unwrap_or(usize::MAX);
    if bad_looks == 0 || since_merge.len() < row {
        return 0;
    }
    let present = &since_merge[since_merge.len() - row..];
    u32::try_from(present.iter().filter(|b| b.at >= live_at).count()).unwrap_or(u32::MAX)
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
            probe_down: false,
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
        let mut down = watch(40.0, 0, 60);
        assert!(matches!(judge(&down, 60), Observed::Gone { .. }));
        down.probe_down = true;
        assert!(
            matches!(judge(&down, 60), Observed::Watching { .. }),
            "an outage that began before the merge is none of ours, and nothing is well"
        );
    }

    fn batch(from: i64, at: i64, count: u64, release: Option<char>) -> Batch {
        Batch {
            from: t(from),
            at: t(at),
            count,
            release: release.map(sha),
        }
    }

    fn sha(digit: char) -> Sha {
        Sha::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn count(batches: &[Batch], watched_until: i64) -> Counted {
        let split = Split {
            at: t(-30),
            release: &sha('b'),
            live_at: t(0),
        };
        counted(batches, &split, Some(t(watched_until)))
    }

    #[test]
    fn events_since_a_release_are_those_that_are_its_own() {
        let since = |batches: &[Batch]| (count(batches, -30).since, count(batches, -30).samples);
        assert_eq!(since(&[batch(-90, -80, 5, None), batch(1, 4, 3, None)]), (3, 1));
        assert_eq!(
            since(&[batch(-14, 1, 9, None)]),
            (0, 0),
            "what began before ends a little later"
        );
        assert_eq!(
            since(&[batch(-900, 14, 9, None)]),
            (1, 1),
            "its last event did come since"
        );
        // A tracker that tells when the issue was first seen, at each look.
        let standing = [
            batch(-900, -1, 9, None),
            batch(-900, 14, 9, None),
            batch(-900, 29, 9, None),
        ];
        assert_eq!(since(&standing), (10, 2));
        let old = [batch(-60, -1, 9, Some('a')), batch(1, 9, 9, Some('a'))];
        assert_eq!(since(&old), (0, 0), "an older release still serves somebody");
        assert_eq!(since(&[batch(-1, 9, 9, Some('b'))]), (9, 1));
        let newer = [batch(-60, -1, 9, Some('a')), batch(1, 9, 9, Some('c'))];
        assert_eq!(since(&newer), (9, 1), "a release after ours carries the merge");
    }

    #[test]
    fn silence_before_the_merge_counts_as_far_as_it_was_watched() {
        let events = [batch(-630, -570, 10, None)];
        assert!((count(&events, -570).rate_before - 10.0).abs() < 0.01);
        assert!((count(&events, -30).rate_before - 1.0).abs() < 0.01);
        assert!(
            (count(&events, 500).rate_before - 1.0).abs() < 0.01,
            "never past the split"
        );
    }

    #[test]
    fn an_outage_is_ours_if_it_began_after_the_merge() {
        let looks = [batch(-15, -15, 1, None), batch(0, 0, 1, None), batch(15, 15, 1, None)];
        assert_eq!(outage_samples(0, &looks, t(0)), 0);
        assert_eq!(outage_samples(3, &looks, t(0)), 2, "two looks since it serves");
        assert_eq!(outage_samples(4, &looks, t(0)), 0, "down before the merge");
        assert_eq!(outage_samples(1, &looks, t(0)), 1, "up in between");
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
