//! What a collector remembers of its probes between ticks: only of those with an interval or a request counter.
//! Kept as the cursor of its source.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::context::{Place, Session};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    #[serde(default)]
    probes: BTreeMap<String, Remembered>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Remembered {
    at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    served: Option<u64>,
    /// Looks that the next ticks take whatever its interval: it was not as it should be, or is only just again.
    #[serde(default, skip_serializing_if = "is_zero")]
    close: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(n: &u8) -> bool {
    *n == 0
}

impl Memory {
    /// A cursor that cannot be read is an empty memory: everything is due, nothing is counted twice.
    pub(super) fn recall(session: &Session<'_>, place: &Place<'_>) -> Self {
        let facts = session.ctx.sources.get(&place.key());
        facts
            .and_then(|facts| facts.cursor.as_deref())
            .and_then(|cursor| serde_json::from_str(cursor).ok())
            .unwrap_or_default()
    }

    pub(super) fn due(&self, probe: &str, every: Option<Duration>, now: DateTime<Utc>) -> bool {
        let known = self.probes.get(probe);
        known.is_some_and(|known| known.close > 0) || is_due(every, known.map(|known| known.at), now)
    }

    /// Notes a look; gives how much was served since the one before, where both are known.
    /// `down`: how many good looks it takes until it is over.
    pub(super) fn note(
        &mut self,
        probe: &str,
        now: DateTime<Utc>,
        down: Option<u32>,
        served: Option<u64>,
    ) -> Option<u64> {
        let old = self.probes.get(probe);
        let before = old.and_then(|known| known.served);
        let close = down.map_or_else(
            || old.map_or(0, |known| known.close.saturating_sub(1)),
            |looks| u8::try_from(looks).unwrap_or(u8::MAX),
        );
        let known = Remembered {
            at: now,
            served: served.or(before),
            close,
        };
        self.probes.insert(probe.to_owned(), known);
        let (before, served) = (before?, served?);
        // A counter that went back was restarted: all it shows is new.
        Some(served.checked_sub(before).unwrap_or(served))
    }

    pub(super) fn write(&self) -> Option<String> {
        if self.probes.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }
}

/// Due a little early rather than a tick late.
pub(super) fn is_due(every: Option<Duration>, last: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    let (Some(every), Some(last)) = (every, last) else {
        return true;
    };
    let every = TimeDelta::from_std(every).unwrap_or(TimeDelta::MAX);
    now - last + TimeDelta::seconds(60).min(every / 10) >= every
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2026-11-29T03:{minute:02}:00Z").parse().unwrap()
    }

    #[test]
    fn a_probe_is_due_when_its_time_has_come() {
        let every = Some(Duration::from_mins(30));
        assert!(is_due(None, Some(at(0)), at(1)));
        assert!(is_due(every, None, at(1)));
        assert!(!is_due(every, Some(at(0)), at(15)));
        assert!(is_due(every, Some(at(0)), at(29)));
        assert!(is_due(every, Some(at(0)), at(45)));
        assert!(!is_due(every, Some(at(45)), at(0)), "the clock went back");
    }

    #[test]
    fn what_is_down_is_looked_at_by_every_tick_until_it_was_up_twice() {
        let every = Some(Duration::from_hours(1));
        let mut memory = Memory::default();
        let mut looked = Vec::new();
        for minute in (0..60).step_by(5) {
            if memory.due("a", every, at(minute)) {
                looked.push(minute);
                memory.note("a", at(minute), (minute < 15).then_some(2), None);
            }
            memory = serde_json::from_str(&memory.write().unwrap()).unwrap();
        }
        assert_eq!(looked, [0, 5, 10, 15, 20]);
    }

    #[test]
    fn requests_are_counted_between_looks_and_over_restarts() {
        let mut memory = Memory::default();
        assert_eq!(memory.note("a", at(0), None, Some(100)), None);
        assert_eq!(memory.note("a", at(15), None, Some(160)), Some(60));
        assert_eq!(memory.note("a", at(30), None, None), None);
        let mut memory: Memory = serde_json::from_str(&memory.write().unwrap()).unwrap();
        assert_eq!(memory.note("a", at(45), None, Some(20)), Some(20));
    }
}
