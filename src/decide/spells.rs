//! What comes and goes: of one blindness or warning two messages within a day, a third that says so, and then none before it was
//! quiet for a day.

use chrono::{DateTime, TimeDelta, Utc};

/// The one that is told as the last.
const FLAPS: usize = 3;
const DAY: TimeDelta = TimeDelta::days(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Told,
    /// It is told with the words that it comes and goes.
    Flaps,
    Silent,
}

/// The newest spells of the day, with this one; one more than the last that is told is as good as many. Once it comes and goes
/// all are kept until it was quiet for a day.
pub fn noted(mut spells: Vec<DateTime<Utc>>, since: DateTime<Utc>, now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    spells.retain(|at| *at <= now);
    let recent = |at: &DateTime<Utc>| since - *at < DAY;
    if spells.len() < FLAPS || !spells.last().is_some_and(recent) {
        spells.retain(recent);
    }
    if !spells.contains(&since) {
        spells.push(since);
    }
    let more = spells.len().saturating_sub(FLAPS + 1);
    spells.split_off(more)
}

/// Whether the newest of so many spells is told.
pub const fn turn(spells: usize) -> Turn {
    match spells {
        0..FLAPS => Turn::Told,
        FLAPS => Turn::Flaps,
        _ => Turn::Silent,
    }
}

/// The last message about it said that it comes and goes, and that nothing more follows.
pub fn flaps(spells: &[DateTime<Utc>], now: DateTime<Utc>) -> bool {
    spells.len() >= FLAPS && spells.last().is_some_and(|last| now - *last < DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minutes)
    }

    #[test]
    fn the_third_within_a_day_says_so_and_the_next_wait_for_a_quiet_day() {
        use Turn::{Flaps, Silent, Told};
        let mut spells = Vec::new();
        let mut turns = Vec::new();
        for hour in [0, 2, 4, 6, 20, 30, 40, 60, 90, 91] {
            let since = at(hour * 60);
            // It lasts for two looks.
            for minute in [0, 15] {
                spells = noted(spells, since, since + TimeDelta::minutes(minute));
            }
            turns.push(turn(spells.len()));
        }
        assert_eq!(
            turns,
            [Told, Told, Flaps, Silent, Silent, Silent, Silent, Silent, Told, Told]
        );
    }
}
