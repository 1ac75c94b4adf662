//! What is kept, and for how long. Pure: names and times in, names out.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

/// Snapshots, run logs, transcripts, answers of conditional requests.
pub const KEPT: TimeDelta = TimeDelta::days(14);
/// A record of this many bytes is put aside and a new one begun.
pub const RECORD_BYTES: u64 = 16 << 20;
const EVERY: TimeDelta = TimeDelta::days(1);
/// A clock that jumps further than any holiday is not believed at once.
const LONGEST_ABSENCE: TimeDelta = TimeDelta::days(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    No,
    /// The clock may be wrong: the time is noted, and nothing is removed before it has stood for a day.
    Note,
    Yes,
}

/// Whether it is time to look for what is old, once a day.
pub fn due(last: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Due {
    let Some(last) = last else {
        return Due::Note;
    };
    let away = (now - last).abs();
    if away < EVERY {
        Due::No
    } else if away > LONGEST_ABSENCE || now < last {
        Due::Note
    } else {
        Due::Yes
    }
}

/// What a folder holds besides what never expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// `<tick>.json.zst`
    Signals,
    /// `run-<tick>.log`
    RunLogs,
    /// `<run>.log`, whose name tells no time.
    Transcripts,
}

/// Is this file of the folder's kind, and old? Its name tells when it was made, else its last change does.
pub fn is_old(folder: Folder, name: &str, changed: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    let made = match folder {
        Folder::Signals => name.strip_suffix(".json.zst").and_then(tick_time),
        Folder::RunLogs => name
            .strip_prefix("run-")
            .and_then(|rest| rest.strip_suffix(".log"))
            .and_then(tick_time),
        Folder::Transcripts => name.strip_suffix(".log").map(|_| changed),
    };
    made.is_some_and(|made| now - made > KEPT)
}

/// `20261129T030000Z-17`
fn tick_time(id: &str) -> Option<DateTime<Utc>> {
    let (second, counter) = id.split_once('-')?;
    counter.parse::<u64>().ok()?;
    let at = NaiveDateTime::parse_from_str(second, "%Y%m%dT%H%M%SZ").ok()?;
    Some(at.and_utc())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    const NOW: &str = "2026-11-29T03:00:00Z";

    #[test]
    fn only_old_files_of_the_folders_kind_expire() {
        let (now, long_ago) = (at(NOW), at("2026-01-01T00:00:00Z"));
        for (folder, name, old) in [
            (Folder::Signals, "20261101T030000Z-1.json.zst", true),
            (Folder::Signals, "20261115T025959Z-2.json.zst", true),
            (Folder::Signals, "20261115T030000Z-3.json.zst", false),
            (Folder::Signals, "20991129T030000Z-5.json.zst", false),
            (Folder::Signals, "latest.json", false),
            (Folder::Signals, "notes.txt", false),
            (Folder::Signals, "20261101T030000Z.json.zst", false),
            (Folder::Signals, "20261101T030000Z-x.json.zst", false),
            (Folder::Signals, "run-20261101T030000Z-1.log", false),
            (Folder::RunLogs, "run-20261101T030000Z-1.log", true),
            (Folder::RunLogs, "run-20261128T030000Z-9.log", false),
            (Folder::RunLogs, "run-now.log", false),
            (Folder::RunLogs, "20261101T030000Z-1.log", false),
            (Folder::Transcripts, "fix.7f3a91c07f3a91c0-1.1.x.log", true),
            (Folder::Transcripts, "mine.txt", false),
        ] {
            assert_eq!(is_old(folder, name, long_ago, now), old, "{name}");
        }
        assert!(!is_old(
            Folder::Transcripts,
            "fix.x.log",
            at("2026-11-20T00:00:00Z"),
            now
        ));
    }

    #[test]
    fn once_a_day_and_never_on_a_clock_that_jumped() {
        let after = |last: &str| due(Some(at(last)), at(NOW));
        assert_eq!(due(None, at(NOW)), Due::Note, "the first tick of a home");
        assert_eq!(after("2026-11-28T03:00:01Z"), Due::No);
        assert_eq!(after("2026-11-28T03:00:00Z"), Due::Yes);
        assert_eq!(after("2026-11-01T00:00:00Z"), Due::Yes, "a holiday");
        assert_eq!(after("2025-11-29T03:00:00Z"), Due::Note, "a year forward");
        assert_eq!(after("2027-11-29T03:00:00Z"), Due::Note, "a year back");
    }

    proptest! {
        /// What is younger than two weeks stays, whatever its name says.
        #[test]
        fn nothing_young_expires(name in ".{0,40}", age in 0i64..1_209_600) {
            let now = at(NOW);
            let changed = now - TimeDelta::seconds(age);
            prop_assert!(!is_old(Folder::Transcripts, &name, changed, now));
            let id = changed.format("%Y%m%dT%H%M%SZ");
            let snapshot = format!("{id}-1.json.zst");
            let log = format!("run-{id}-1.log");
            prop_assert!(!is_old(Folder::Signals, &snapshot, now, now));
            prop_assert!(!is_old(Folder::RunLogs, &log, now, now));
        }
    }
}
