//! Somebody else mended it on the default branch: our own pull request is closed with one sentence, once enough silence
//! says so. Pure; until then nothing more is tried at it.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    facts::{Facts, Policy, Seen, keys},
    next::{Action, Next},
    observation::{self, Observed},
};

/// Slot of the comment that says why the pull request is closed.
const SLOT: &str = "fixed-elsewhere";

/// Shortest silence that counts.
const SHORTEST: TimeDelta = TimeDelta::minutes(30);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mended {
    No,
    /// Not seen in that release so far; too early to tell.
    Perhaps {
        until: DateTime<Utc>,
    },
    Yes {
        expected: f64,
    },
}

/// Is the cause gone in a release of the default branch that holds nothing of ours?
pub(super) fn mended(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Mended {
    let (Some(elsewhere), Some(base), Some(attempt)) = (&facts.elsewhere, &seen.base, facts.current()) else {
        return Mended::No;
    };
    let moved = *base != attempt.attempt.base;
    if facts.pull.is_none() || facts.merge.is_some() || !moved || elsewhere.release != *base {
        return Mended::No;
    }
    let shortest = policy.observe_min.max(SHORTEST);
    match observation::observe(&elsewhere.watch, elsewhere.live_at, shortest, now) {
        Observed::Gone { expected } => Mended::Yes { expected },
        Observed::Watching { until, .. } if elsewhere.watch.seen == 0 => Mended::Perhaps { until },
        Observed::Watching { .. } | Observed::Unconfirmed { .. } | Observed::Still { .. } | Observed::Worse { .. } => {
            Mended::No
        }
    }
}

/// First the sentence, then the closing.
pub(super) fn close(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Option<Next> {
    let Mended::Yes { expected } = mended(facts, seen, policy, now) else {
        return None;
    };
    let base = seen.base.as_ref()?;
    let why = format!(
        "Closed: the default branch at {} no longer shows this failure (0 seen, {expected:.0} expected).",
        base.short()
    );
    if !facts.done.contains(&keys::comment(facts.id(), SLOT)) {
        return Some(Next::Act(Action::Comment {
            slot: SLOT.to_owned(),
            text: why,
        }));
    }
    (!facts.done.contains(&keys::close_pull(facts.id()))).then_some(Next::Act(Action::ClosePull { why }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{
        facts::{Elsewhere, Watch},
        testing::{at, facts_with_pull, id, policy},
    };

    fn case(change: impl FnOnce(&mut Facts, &mut Seen)) -> Mended {
        let mut facts = facts_with_pull();
        let mut seen = Seen {
            base: Some(id('c')),
            ..Seen::default()
        };
        facts.elsewhere = Some(Elsewhere {
            release: id('c'),
            live_at: at(0),
            watch: Watch {
                rate_before: 60.0,
                seen: 0,
                samples: 0,
                requests: None,
                looked_until: at(31),
                others: Vec::new(),
                probe_down_samples: 0,
                probe_down: false,
            },
        });
        change(&mut facts, &mut seen);
        mended(&facts, &seen, &policy(), at(31))
    }

    fn watch(facts: &mut Facts) -> &mut Watch {
        &mut facts.elsewhere.as_mut().unwrap().watch
    }

    #[test]
    fn gone_only_after_enough_silence_in_a_release_of_the_moved_base() {
        assert!(matches!(case(|_, _| {}), Mended::Yes { expected } if expected > 30.0));
        assert_eq!(case(|_, seen| seen.base = Some(id('b'))), Mended::No, "the tested base");
        assert_eq!(
            case(|_, seen| seen.base = Some(id('d'))),
            Mended::No,
            "not deployed yet"
        );
        assert_eq!(case(|_, seen| seen.base = None), Mended::No);
        assert_eq!(case(|facts, _| facts.pull = None), Mended::No);
        assert_eq!(case(|facts, _| facts.elsewhere = None), Mended::No);
        assert!(matches!(
            case(|facts, _| watch(facts).looked_until = at(29)),
            Mended::Perhaps { .. }
        ));
        assert!(
            matches!(case(|facts, _| watch(facts).rate_before = 2.0), Mended::Perhaps { .. }),
            "one was to be expected, which is not enough"
        );
        assert_eq!(case(|facts, _| watch(facts).seen = 1), Mended::No);
    }

    #[test]
    fn the_sentence_comes_before_the_closing() {
        let mut facts = facts_with_pull();
        let seen = Seen {
            base: Some(id('c')),
            ..Seen::default()
        };
        facts.elsewhere = Some(Elsewhere {
            release: id('c'),
            live_at: at(0),
            watch: Watch {
                rate_before: 60.0,
                seen: 0,
                samples: 0,
                requests: None,
                looked_until: at(40),
                others: Vec::new(),
                probe_down_samples: 0,
                probe_down: false,
            },
        });
        let next = |facts: &Facts| close(facts, &seen, &policy(), at(40));
        assert!(matches!(next(&facts), Some(Next::Act(Action::Comment { .. }))));
        facts.done.insert(keys::comment(facts.id(), SLOT));
        assert!(matches!(next(&facts), Some(Next::Act(Action::ClosePull { .. }))));
        facts.done.insert(keys::close_pull(facts.id()));
        assert_eq!(next(&facts), None, "a person opened it again");
    }
}
