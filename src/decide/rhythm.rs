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
    let mut pauses: Vec<TimeDelta> = looks.windows(2).map(|pair| pair[0] - pair[1]).collect();
    pauses.sort_unstable();
    let usual = pauses.get(pauses.len() / 2).copied().unwrap_or(SHORTEST);
    (now - last > usual.clamp(SHORTEST, LONGEST) * MISSED).then_some(last)
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
    fn a_few_looks_by_hand_change_no_rhythm() {
        let mut looks = every(60);
        looks.splice(0..1, [at(3), at(2), at(0)]);
        assert_eq!(overdue(&looks, at(170)), None);
    }
}
