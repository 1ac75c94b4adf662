//! What a collector remembers of its probes between ticks: what each asks, so that one which only gets another name is known
//! as the same, and of those with an interval or a request counter when they were asked last. Kept as the cursor of its source.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::context::{Place, Session};
use crate::text::named;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    #[serde(default)]
    probes: BTreeMap<String, Remembered>,
    /// Of each probe of the config, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    asks: BTreeMap<String, Asked>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Asked {
    /// A hash: an address may hold what nobody should read.
    what: String,
    /// By what its causes are known, where that is not its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was: Option<String>,
}

/// Names of the probes or checks of a place, and what each of them asks.
pub(super) fn asked<'a>(place: &Place<'a>) -> Vec<(&'a str, String)> {
    let hash = |parts: &[&str]| named(&parts.join("\0")).to_string();
    let target = place.target;
    match place.collector {
        "health" => {
            let probes = target.health.iter();
            probes.map(|p| (p.name.as_str(), hash(&[p.url.as_str()]))).collect()
        }
        "jsonrpc" => {
            let call = |p: &crate::config::JsonRpcProbe| hash(&[p.url.as_str(), &p.method, &p.params.to_string()]);
            target.jsonrpc.iter().map(|p| (p.name.as_str(), call(p))).collect()
        }
        "exec" => {
            let run = |check: &crate::config::ExecCheck| {
                let program = check.program.to_string_lossy();
                let mut parts = vec![program.as_ref()];
                parts.extend(check.args.iter().map(String::as_str));
                hash(&parts)
            };
            target
                .exec
                .iter()
                .map(|check| (check.name.as_str(), run(check)))
                .collect()
        }
        _ => Vec::new(),
    }
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
        let cursor = facts.and_then(|facts| facts.cursor.as_deref());
        let mut memory = cursor.map(Self::read).unwrap_or_default();
        memory.follow(&asked(place));
        memory
    }

    pub(super) fn read(cursor: &str) -> Self {
        serde_json::from_str(cursor).unwrap_or_default()
    }

    /// Takes over the probes that the config has now, and gives back old and new name of those that ask what one asked that is
    /// there no more. Where several could be meant, none is.
    pub(super) fn follow(&mut self, now: &[(&str, String)]) -> Vec<(String, String)> {
        let old = std::mem::take(&mut self.asks);
        let gone: Vec<(&String, &Asked)> = old
            .iter()
            .filter(|(name, _)| !now.iter().any(|(now, _)| now == name))
            .collect();
        let new: Vec<&(&str, String)> = now.iter().filter(|(name, _)| !old.contains_key(*name)).collect();
        let mut renamed = Vec::new();
        for (name, what) in now {
            let before = old.get(*name).or_else(|| {
                let mut fits = gone.iter().filter(|(_, asked)| asked.what == *what);
                let (from, asked) = fits.next()?;
                let alone = fits.next().is_none() && new.iter().filter(|(_, other)| other == what).count() == 1;
                alone.then(|| {
                    renamed.push(((*from).clone(), (*name).to_owned()));
                    *asked
                })
            });
            let from = renamed
                .last()
                .filter(|(_, to)| to == name)
                .map(|(from, _)| from.clone());
            let was = before.and_then(|asked| asked.was.clone()).or(from);
            let asked = Asked {
                what: what.clone(),
                was: was.filter(|was| was != name),
            };
            self.asks.insert((*name).to_owned(), asked);
        }
        for (from, to) in &renamed {
            if let Some(known) = self.probes.remove(from) {
                self.probes.insert(to.clone(), known);
            }
        }
        self.tell_apart();
        renamed
    }

    /// A new probe may have the name that another one had first.
    fn tell_apart(&mut self) {
        let taken: Vec<String> = self.asks.values().filter_map(|asked| asked.was.clone()).collect();
        for (name, asked) in &mut self.asks {
            if asked.was.is_none() && taken.contains(name) {
                asked.was = Some(format!("{name} {}", asked.what));
            }
        }
    }

    /// By what the causes of a probe are known: the first name that it had.
    pub(super) fn known_as<'a>(&'a self, probe: &'a str) -> &'a str {
        let asked = self.asks.get(probe);
        asked.and_then(|asked| asked.was.as_deref()).unwrap_or(probe)
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
        if self.probes.is_empty() && self.asks.is_empty() {
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
    fn one_that_asks_the_same_by_another_name_is_the_same_probe() {
        let check = |steps: &[&[(&str, &str)]], expected: &[(&str, &str)]| {
            let mut memory = Memory::default();
            for step in steps {
                let now: Vec<(&str, String)> = step.iter().map(|(name, what)| (*name, (*what).to_owned())).collect();
                memory.follow(&now);
                memory = Memory::read(&memory.write().unwrap());
            }
            let known: Vec<(&str, &str)> = memory
                .asks
                .keys()
                .map(|name| (name.as_str(), memory.known_as(name)))
                .collect();
            assert_eq!(known, expected, "{steps:?}");
        };
        check(&[&[("a", "1")], &[("b", "1")]], &[("b", "a")]);
        check(&[&[("a", "1")], &[("b", "1")], &[("c", "1")]], &[("c", "a")]);
        check(&[&[("a", "1")], &[("b", "1")], &[("a", "1")]], &[("a", "a")]);
        check(&[&[("a", "1")], &[("b", "2")]], &[("b", "b")]);
        check(&[&[("a", "1")], &[("a", "2")]], &[("a", "a")]);
        check(&[&[("a", "1")], &[("a", "1"), ("b", "1")]], &[("a", "a"), ("b", "b")]);
        check(&[&[("a", "1")], &[("b", "1"), ("c", "1")]], &[("b", "b"), ("c", "c")]);
        check(&[&[("a", "1"), ("b", "1")], &[("c", "1")]], &[("c", "c")]);
        check(
            &[&[("a", "1"), ("b", "2")], &[("a", "2"), ("b", "1")]],
            &[("a", "a"), ("b", "b")],
        );
        check(
            &[&[("a", "1")], &[("b", "1")], &[("a", "2"), ("b", "1")]],
            &[("a", "a 2"), ("b", "a")],
        );
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
