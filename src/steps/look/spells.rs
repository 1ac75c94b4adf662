//! What comes and goes: of one blindness or warning two messages within a day, a third that says so, and then none before it was
//! quiet for a day.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use crate::steps::Ctx;

const PREFIX: &str = "spells:";
/// The one that is told as the last.
const FLAPS: usize = 3;
const DAY: TimeDelta = TimeDelta::days(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Told,
    /// It is told with the words that it comes and goes.
    Flaps,
    Silent,
}

/// Which turn of this thing it is that began then, and the flag that remembers it.
pub(super) fn note(ctx: &Ctx, what: &str, since: DateTime<Utc>) -> Result<(Turn, (String, String))> {
    let name = format!("{PREFIX}{what}");
    let spells = noted(read(ctx, &name)?, since, ctx.now());
    Ok((turn(spells.len()), (name, serde_json::to_string(&spells)?)))
}

/// The last message about it said that it comes and goes, and that nothing more follows.
pub(super) fn flaps(ctx: &Ctx, what: &str) -> Result<bool> {
    let spells = read(ctx, &format!("{PREFIX}{what}"))?;
    Ok(spells.len() >= FLAPS && spells.last().is_some_and(|last| ctx.now() - *last < DAY))
}

fn read(ctx: &Ctx, name: &str) -> Result<Vec<DateTime<Utc>>> {
    let kept = ctx.store().flag(name)?;
    // One that cannot be read is told once more than it need be.
    Ok(kept
        .and_then(|kept| serde_json::from_str(&kept).ok())
        .unwrap_or_default())
}

/// The newest spells of the day, with this one; one more than the last that is told is as good as many. Once it comes and goes
/// all are kept until it was quiet for a day.
fn noted(mut spells: Vec<DateTime<Utc>>, since: DateTime<Utc>, now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
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

const fn turn(spells: usize) -> Turn {
    match spells {
        0..FLAPS => Turn::Told,
        FLAPS => Turn::Flaps,
        _ => Turn::Silent,
    }
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
