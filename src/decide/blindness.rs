//! How long a source cannot be read, in all of it or in some of its parts (probes, checks, files), and what of that is told.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::signal::{BlindPart, BlindSince};

/// How a source stands after a look.
#[derive(Debug, Clone, Copy)]
pub struct Blindness<'a> {
    /// Nothing of it could be read, or not all, since then.
    pub whole: Option<(DateTime<Utc>, &'a str)>,
    /// Where it can be told apart: what could not.
    pub parts: &'a BTreeMap<String, BlindSince>,
}

/// What became blind in one look: one message, and one when all of it is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spell {
    pub since: DateTime<Utc>,
    pub cause: String,
    /// None = the source itself.
    pub parts: Vec<String>,
}

impl Blindness<'_> {
    pub fn spells(&self) -> Vec<Spell> {
        if self.parts.is_empty() {
            let whole = |(since, cause): (DateTime<Utc>, &str)| Spell {
                since,
                cause: cause.to_owned(),
                parts: Vec::new(),
            };
            return self.whole.map(whole).into_iter().collect();
        }
        let mut spells: BTreeMap<DateTime<Utc>, Spell> = BTreeMap::new();
        for (name, blind) in self.parts {
            let spell = spells.entry(blind.since).or_insert_with(|| Spell {
                since: blind.since,
                cause: blind.cause.clone(),
                parts: Vec::new(),
            });
            spell.parts.push(name.clone());
        }
        spells.into_values().collect()
    }

    /// Spells that are over. Where nothing can be told apart any more, none is.
    pub fn ended(&self, before: &Self) -> Vec<Spell> {
        if self.whole.is_some() && self.parts.is_empty() {
            return Vec::new();
        }
        let still: BTreeSet<DateTime<Utc>> = self.spells().iter().map(|spell| spell.since).collect();
        let mut ended = before.spells();
        ended.retain(|spell| !still.contains(&spell.since));
        ended
    }
}

/// The parts that are blind after a look. A part goes on as it was, however it fails now, also where the look before could
/// not tell the parts apart.
pub fn carried(
    before: Option<Blindness<'_>>,
    was_read: bool,
    parts: &[BlindPart],
    started: DateTime<Utc>,
) -> BTreeMap<String, BlindSince> {
    let one = |part: &BlindPart| {
        let old = before.and_then(|before| before.parts.get(&part.name));
        let whole = before
            .filter(|before| before.parts.is_empty())
            .and_then(|before| before.whole);
        let blind = BlindSince {
            since: old
                .map(|old| old.since)
                .or(whole.map(|(since, _)| since))
                .unwrap_or(started),
            cause: part.cause.clone(),
            never_read: old.map_or(!was_read, |old| old.never_read),
        };
        (part.name.clone(), blind)
    };
    parts.iter().map(one).collect()
}

/// After so long it is told again: a message can be overlooked, and nobody sees what is not seen.
const REMINDERS: [TimeDelta; 2] = [TimeDelta::days(1), TimeDelta::days(7)];

/// How many times a blindness that lasts has to have been told again.
pub fn reminders(since: DateTime<Utc>, now: DateTime<Utc>) -> usize {
    REMINDERS.iter().filter(|after| now - since >= **after).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::at;

    fn part(name: &str) -> BlindPart {
        BlindPart {
            name: name.to_owned(),
            cause: "unknown".to_owned(),
            detail: String::new(),
        }
    }

    /// Since when each part is blind, look by look: none = the look could not tell, empty = all was read.
    fn follow(looks: &[Option<&[&str]>]) -> Vec<Vec<(i64, String)>> {
        let mut parts = BTreeMap::new();
        let mut whole: Option<DateTime<Utc>> = None;
        let mut said = Vec::new();
        for (minute, look) in (0..).zip(looks) {
            let old_parts = std::mem::take(&mut parts);
            let old_whole = whole;
            let before = Blindness {
                whole: old_whole.map(|since| (since, "x")),
                parts: &old_parts,
            };
            let blind: Vec<BlindPart> = look.unwrap_or_default().iter().map(|name| part(name)).collect();
            parts = carried(Some(before), true, &blind, at(minute));
            let is_blind = look.is_none_or(|parts| !parts.is_empty());
            whole = is_blind.then(|| old_whole.unwrap_or(at(minute)));
            let now = Blindness {
                whole: whole.map(|since| (since, "x")),
                parts: &parts,
            };
            let word = |spell: &Spell| ((spell.since - at(0)).num_minutes(), spell.parts.join("+"));
            let mut told: Vec<_> = now.spells().iter().map(word).collect();
            told.extend(
                now.ended(&before)
                    .iter()
                    .map(|spell| (word(spell).0, format!("{} again", word(spell).1))),
            );
            said.push(told);
        }
        said
    }

    fn check(looks: &[Option<&[&str]>], expected: &[&[(i64, &str)]]) {
        let said = follow(looks);
        let said: Vec<Vec<(i64, &str)>> = said
            .iter()
            .map(|look| look.iter().map(|(since, word)| (*since, word.as_str())).collect())
            .collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn each_part_has_its_own_beginning_and_end() {
        check(
            &[Some(&["db"]), Some(&["db", "disk"]), Some(&["disk"]), Some(&[])],
            &[
                &[(0, "db")],
                &[(0, "db"), (1, "disk")],
                &[(1, "disk"), (0, "db again")],
                &[(1, "disk again")],
            ],
        );
    }

    #[test]
    fn what_fails_together_is_one_spell_until_all_of_it_is_read() {
        check(
            &[Some(&["a", "b"]), Some(&["b"]), Some(&[])],
            &[&[(0, "a+b")], &[(0, "b")], &[(0, "b again")]],
        );
    }

    #[test]
    fn a_look_that_cannot_tell_ends_nothing_and_its_beginning_is_that_of_its_parts() {
        check(
            &[None, Some(&["a"]), Some(&[])],
            &[&[(0, "")], &[(0, "a")], &[(0, "a again")]],
        );
        check(
            &[Some(&["a"]), None, Some(&[])],
            &[&[(0, "a")], &[(0, "")], &[(0, " again")]],
        );
        check(&[Some(&[]), Some(&[])], &[&[], &[]]);
    }

    #[test]
    fn what_was_never_read_stays_so_until_it_is() {
        let first = carried(None, false, &[part("a")], at(0));
        assert!(first["a"].never_read);
        let before = Blindness {
            whole: Some((at(0), "x")),
            parts: &first,
        };
        let then = carried(Some(before), true, &[part("a"), part("b")], at(1));
        assert!(then["a"].never_read && !then["b"].never_read);
    }

    #[test]
    fn it_is_told_again_after_a_day_and_after_a_week() {
        let hours = |h: i64| reminders(at(0), at(h * 60));
        assert_eq!(
            [hours(1), hours(23), hours(24), hours(167), hours(168), hours(2000)],
            [0, 0, 1, 1, 2, 2]
        );
    }
}
