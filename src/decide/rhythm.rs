//! How often tick is started, by its looks so far: nothing tells a program when its scheduler means to start it next.

use chrono::{DateTime, TimeDelta, Utc};

/// Looks that the rhythm is taken from.
pub const LOOKS: u32 = 10;
/// A look by hand in between makes no shorter rhythm, a holiday no longer one.
const SHORTEST: TimeDelta = TimeDelta::minutes(15);
const LONGEST: TimeDelta = TimeDelta::days(1);
/// Usual pauses that may pass without a look.
const MISSED: i32 = 3;

/// When the last look was, where the next one is overdue. `looks`: when they began, newest first.
pub fn overdue(looks: &[DateTime<Utc>], now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let last = *looks.first()?;
    (now - last > longest(looks)).then_some(last)
}

/// Times in which tick was not started although it should have been. `looks` as above.
pub fn gaps(looks: &[DateTime<Utc>]) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
    let longest = longest(looks);
    let pauses = looks.windows(2).map(|pair| (pair[1], pair[0]));
    pauses.filter(|(from, to)| *to - *from > longest).collect()
}

/// How much of the gaps nobody told of: a source that keeps what happens tells of it from its first event on.
/// `told`: the first events of each later batch.
pub fn unwatched(gaps: &[(DateTime<Utc>, DateTime<Utc>)], told: &[DateTime<Utc>]) -> TimeDelta {
    let one = |(from, to): &(DateTime<Utc>, DateTime<Utc>)| {
        let first = told.iter().filter(|at| *at > from).min();
        *first.unwrap_or(to).min(to) - *from
    };
    gaps.iter().map(one).sum()
}

/// No pause between two looks is longer, unless one did not happen.
fn longest(looks: &[DateTime<Utc>]) -> TimeDelta {
    let mut pauses: Vec<TimeDelta> = looks.windows(2).map(|pair| pair[0] - pair[1]).collect();
    pauses.sort_unstable();
    let usual = pauses.get(pauses.len() / 2).copied().unwrap_or(SHORTEST);
    usual.clamp(SHORTEST, LONGEST) * MISSED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::at;

    /// A look every so many minutes, up to minute 0.
    fn every(minutes: i64) -> Vec<DateTime<Utc>> {
        (0..10).map(|n| at(-n * minutes)).collect()
    }

    #[test]
    fn a_look_is_overdue_when_three_should_have_been() {
        for (minutes, usual) in [(5, 15), (15, 15), (60, 60), (7 * 1440, 1440)] {
            let looks = every(minutes);
            assert_eq!(overdue(&looks, at(3 * usual)), None, "every {minutes} min");
            assert_eq!(overdue(&looks, at(3 * usual + 1)), Some(at(0)), "every {minutes} min");
        }
        assert_eq!(overdue(&[at(0)], at(3 * 1440)), Some(at(0)), "also after a single look");
        assert_eq!(overdue(&[], at(0)), None);
        assert_eq!(overdue(&every(15), at(-60)), None, "a clock that was set back");
    }

    #[test]
    fn a_day_without_a_look_is_a_gap_from_which_a_source_tells_what_it_keeps() {
        let mut looks = every(15);
        looks.splice(0..0, [at(1455), at(1440)]);
        let gaps = gaps(&looks);
        assert_eq!(gaps, [(at(0), at(1440))]);
        let minutes = |told: &[DateTime<Utc>]| unwatched(&gaps, told).num_minutes();
        assert_eq!(minutes(&[at(1439), at(1450)]), 1439, "only what is new");
        assert_eq!(minutes(&[at(-2), at(3), at(1450)]), 3, "all since the last look");
        assert_eq!(minutes(&[at(1450)]), 1440);
        assert_eq!(minutes(&[]), 1440);
    }

    #[test]
    fn a_few_looks_by_hand_change_no_rhythm() {
        let mut looks = every(60);
        looks.splice(0..1, [at(3), at(2), at(0)]);
        assert_eq!(overdue(&looks, at(170)), None);
    }
}
