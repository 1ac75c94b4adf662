//! What stands word by word on both sides: found by what is equal, so that a test is not held against every other.

use std::collections::{BTreeMap, VecDeque};

use super::{
    super::{
        Case, Role,
        cover::{Cover, covers},
        words::Strength,
    },
    Compare,
};

/// Checks of the base times those of the head, where none stands word by word in its test.
const MOST: usize = 250_000;

/// What is equal on both sides of a pair: its file, its name or the last part of that, its body.
type Key<'c> = (Option<usize>, &'c [String], &'c str);
type Way = for<'c> fn(usize, &'c Case) -> Option<Key<'c>>;

fn last_of(name: &[String]) -> &[String] {
    &name[name.len().saturating_sub(1)..]
}

impl Compare<'_> {
    /// The same test on both sides: by file and name, by body, by name elsewhere.
    pub(super) fn pair(&mut self) {
        let ways: [Way; 5] = [
            |file, case| Some((Some(file), case.name.as_slice(), "")),
            |_, case| (!case.body.is_empty()).then(|| (None, last_of(&case.name), case.body.as_str())),
            |_, case| (!case.body.is_empty()).then(|| (None, Default::default(), case.body.as_str())),
            |_, case| {
                let named = case.name.last().is_some_and(|l| !l.is_empty());
                named.then_some((None, case.name.as_slice(), ""))
            },
            // Its suite has another name, or none any more.
            |file, case| (!case.name.is_empty()).then(|| (Some(file), last_of(&case.name), "")),
        ];
        for way in ways {
            let mut free: BTreeMap<(Role, Key<'_>), VecDeque<usize>> = BTreeMap::new();
            for (n, new) in self.new.iter().enumerate().filter(|(_, new)| !new.paired) {
                if let Some(key) = way(new.file, &new.case) {
                    free.entry((new.case.role, key)).or_default().push_back(n);
                }
            }
            let mut pairs = Vec::new();
            for (o, old) in self.old.iter().enumerate().filter(|(_, old)| old.pair.is_none()) {
                let key = way(old.file, &old.case).map(|key| (old.case.role, key));
                let found = key.and_then(|key| free.get_mut(&key)).and_then(VecDeque::pop_front);
                pairs.extend(found.map(|n| (o, n)));
            }
            drop(free);
            for (o, n) in pairs {
                self.old[o].pair = Some(n);
                self.new[n].paired = true;
            }
        }
    }

    /// Word by word in its pair.
    pub(super) fn place_exactly(&mut self, o: usize, n: usize) {
        let (old, new) = (&mut self.old[o], &mut self.new[n]);
        let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, other) in new.case.checks.iter().enumerate() {
            alike.entry(other.flat.as_str()).or_default().push(i);
        }
        for (at, check) in old.case.checks.iter().enumerate() {
            if check.strength == Strength::Nothing {
                continue;
            }
            let fits =
                |i: &usize| new.room[*i] > 0 && covers(check, &new.case.checks[*i], &new.case.all) == Cover::Same;
            let found = alike
                .get(check.flat.as_str())
                .and_then(|all| all.iter().copied().find(fits));
            if let Some(i) = found {
                new.room[i] = new.room[i].saturating_sub(check.listed.len().max(1));
                old.stands[at] = Some((n, i));
            }
        }
    }

    /// Checks that can fail and have no place in the head yet.
    pub(super) fn unplaced(&self, o: usize) -> usize {
        let old = &self.old[o];
        let checks = old.stands.iter().zip(&old.case.checks);
        checks
            .filter(|(at, check)| at.is_none() && check.strength > Strength::Nothing)
            .count()
    }

    /// What is left would be held against every check of the head.
    pub(super) fn is_too_much(&self) -> bool {
        let left: usize = (0..self.old.len()).map(|o| self.unplaced(o)).sum();
        let checks: usize = self.new.iter().map(|n| n.case.checks.len()).sum();
        left.saturating_mul(checks) > MOST
    }
}
