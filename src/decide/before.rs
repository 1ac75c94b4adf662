//! What changed before a cause was first seen, out of everything that sources told. What nobody tells of is said, so that
//! "nothing changed" is never a guess.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::{
    Sha,
    signal::{Change, ChangeKind},
};

/// How far back it is looked.
pub const WINDOW: TimeDelta = TimeDelta::hours(24);
/// What ends within this time after it is named too.
pub const AHEAD: TimeDelta = TimeDelta::days(14);
/// Clocks of sources differ by this much.
const SKEW: TimeDelta = TimeDelta::minutes(2);
/// Changes that are named one by one.
const MOST: usize = 5;

/// What is known around a cause.
#[derive(Debug, Clone)]
pub struct Around<'a> {
    /// When the cause began.
    pub began: DateTime<Utc>,
    /// What sources of its repo told, in any order.
    pub changes: &'a [Change],
    /// The kinds that sources of its repo told in full.
    pub watched: &'a BTreeSet<ChangeKind>,
    /// The release it was seen at, and the variables that this release reads first and that are not set.
    pub release: Option<&'a Sha>,
    pub unset: &'a [String],
}

/// What there is to say, in the order in which it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// Newest first.
    pub changes: Vec<Change>,
    /// How many more there were.
    pub more: usize,
    /// What ends soon, or ended.
    pub expiring: Vec<Change>,
    pub unset: Vec<String>,
    pub release: Option<Sha>,
    /// Kinds that nobody told for the whole time.
    pub unwatched: Vec<ChangeKind>,
}

/// Kinds of which it is worth a word that nobody tells of them.
pub const EXPECTED: [ChangeKind; 3] = [ChangeKind::Deployment, ChangeKind::Merge, ChangeKind::Variable];

/// Kinds that a look told for the whole day before it: what its collector says that it read, and releases where one is
/// seen now and was seen at each look of that day. What is down tells no release, and a new home knows no yesterday.
pub fn told(
    said: &BTreeSet<ChangeKind>,
    sees_release: bool,
    first_look: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> BTreeSet<ChangeKind> {
    let mut kinds = said.clone();
    let a_day = first_look.is_some_and(|first| now - first >= WINDOW);
    if sees_release && a_day {
        kinds.insert(ChangeKind::Deployment);
    }
    // A list names what is there: one that was removed shows only between two looks.
    if !a_day {
        kinds.remove(&ChangeKind::Variable);
    }
    kinds
}

/// Is it worth keeping? Neither what would be forgotten at once, nor what ends so late that no alert names it, nor a time
/// that cannot be.
pub fn is_kept(change: &Change, kept: TimeDelta, now: DateTime<Utc>) -> bool {
    let latest = match change.kind {
        ChangeKind::Expiry => now + AHEAD + WINDOW,
        ChangeKind::Deployment | ChangeKind::Merge | ChangeKind::Variable | ChangeKind::Provider => now + WINDOW,
    };
    change.at > now - kept && change.at <= latest
}

pub fn before(around: &Around<'_>) -> Before {
    let changes = between(around.changes, around.began - WINDOW, around.began + SKEW);
    let mut expiring: Vec<Change> = around
        .changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Expiry && change.at <= around.began + AHEAD)
        .cloned()
        .collect();
    expiring.sort();
    Before {
        more: changes.len().saturating_sub(MOST),
        changes: changes.into_iter().take(MOST).cloned().collect(),
        expiring,
        unset: around.unset.to_vec(),
        release: around.release.cloned(),
        unwatched: EXPECTED
            .into_iter()
            .filter(|kind| !around.watched.contains(kind))
            .collect(),
    }
}

/// Changes of that time, the newest first, each release and merge once.
fn between(changes: &[Change], from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<&Change> {
    let mut seen = BTreeSet::new();
    let mut changes: Vec<&Change> = changes
        .iter()
        .filter(|change| change.kind != ChangeKind::Expiry && change.at >= from && change.at <= to)
        .collect();
    // A platform knows better when a release began than a probe that noticed it.
    changes.sort_by_key(|change| (is_noticed(change), std::cmp::Reverse(change.at), change.key.clone()));
    changes.retain(|change| match &change.sha {
        Some(sha) => seen.insert((change.kind, sha.short().to_owned(), change.target.clone())),
        None => true,
    });
    changes.sort_by_key(|change| (std::cmp::Reverse(change.at), change.kind));
    changes
}

/// What changed since a cause was last seen and may have ended it, the newest first. A provider's incident ends nothing.
pub fn since(changes: &[Change], last_seen: DateTime<Utc>, now: DateTime<Utc>) -> Vec<&Change> {
    let mut changes = between(changes, last_seen, now);
    changes.retain(|change| change.kind != ChangeKind::Provider);
    changes.truncate(MOST);
    changes
}

/// The release that served a target then, where its going live was told.
pub fn serving<'a>(changes: &'a [Change], target: &str, at: DateTime<Utc>) -> Option<&'a Sha> {
    let live = |change: &&Change| change.kind == ChangeKind::Deployment && change.target == target && change.at <= at;
    let newest = changes
        .iter()
        .filter(live)
        .max_by_key(|change| (change.at, !is_noticed(change)));
    newest.and_then(|change| change.sha.as_ref())
}

/// Told by somebody who only saw that another release answers: its key is the commit itself.
pub fn is_noticed(change: &Change) -> bool {
    change.kind == ChangeKind::Deployment && change.sha.as_ref().is_some_and(|sha| sha.as_str() == change.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Slot;

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-11-29T05:10:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn sha(digit: char) -> Sha {
        Sha::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn change(kind: ChangeKind, minute: i64, key: &str, sha: Option<Sha>) -> Change {
        Change {
            at: at(minute),
            repo: Slot::parse("api").unwrap(),
            target: "api".to_owned(),
            source: "vercel".to_owned(),
            kind,
            key: key.to_owned(),
            what: String::new(),
            sha,
            url: None,
        }
    }

    fn around<'a>(changes: &'a [Change], watched: &'a BTreeSet<ChangeKind>) -> Around<'a> {
        Around {
            began: at(0),
            changes,
            watched,
            release: None,
            unset: &[],
        }
    }

    #[test]
    fn what_changed_in_the_day_before_is_named_newest_first() {
        let changes = [
            change(ChangeKind::Merge, -20, "m", Some(sha('a'))),
            change(ChangeKind::Deployment, -3, "d", Some(sha('a'))),
            change(ChangeKind::Variable, -60 * 25, "OLD", None),
            change(ChangeKind::Variable, 30, "LATER", None),
        ];
        let found = before(&around(&changes, &EXPECTED.into()));
        assert_eq!(found.changes, [changes[1].clone(), changes[0].clone()]);
        assert_eq!((found.more, found.unwatched), (0, vec![]));
    }

    #[test]
    fn one_release_is_named_once_with_the_time_of_who_knows_it() {
        let platform = change(ChangeKind::Deployment, -9, "dpl_1", Some(sha('a')));
        let mut noticed = change(ChangeKind::Deployment, -2, sha('a').as_str(), Some(sha('a')));
        noticed.source = "health".to_owned();
        for changes in [[platform.clone(), noticed.clone()], [noticed.clone(), platform.clone()]] {
            let found = before(&around(&changes, &EXPECTED.into()));
            assert_eq!(found.changes, std::slice::from_ref(&platform));
        }
    }

    #[test]
    fn a_page_that_is_down_and_a_new_home_tell_of_no_releases() {
        let none = BTreeSet::new();
        let releases = [ChangeKind::Deployment].into();
        assert_eq!(told(&none, true, Some(at(-60 * 24)), at(0)), releases);
        assert_eq!(told(&none, true, Some(at(-60 * 23)), at(0)), none, "a new home");
        assert_eq!(told(&none, false, Some(at(-60 * 48)), at(0)), none, "down");
        assert_eq!(told(&none, true, None, at(0)), none);
        assert_eq!(
            told(&releases, false, None, at(0)),
            releases,
            "a platform has a history"
        );
        let variables = BTreeSet::from([ChangeKind::Variable]);
        assert_eq!(
            told(&variables, true, Some(at(-15)), at(0)),
            none,
            "nobody knows what was removed before"
        );
        let both = BTreeSet::from([ChangeKind::Deployment, ChangeKind::Variable]);
        assert_eq!(told(&variables, true, Some(at(-60 * 24)), at(0)), both);
    }

    #[test]
    fn times_that_cannot_be_are_not_kept() {
        let kept = TimeDelta::days(14);
        let is = |kind, minute| is_kept(&change(kind, minute, "x", None), kept, at(0));
        assert!(is(ChangeKind::Merge, -60) && is(ChangeKind::Merge, 60) && is(ChangeKind::Expiry, 60 * 24 * 14));
        assert!(!is(ChangeKind::Merge, 60 * 48) && !is(ChangeKind::Merge, -60 * 24 * 14));
        assert!(!is(ChangeKind::Expiry, 60 * 24 * 365));
        let mut absurd = change(ChangeKind::Expiry, 0, "x", None);
        absurd.at = DateTime::<Utc>::MAX_UTC;
        assert!(!is_kept(&absurd, kept, at(0)));
    }

    #[test]
    fn what_nobody_tells_of_is_said() {
        let watched = [ChangeKind::Merge].into();
        let found = before(&around(&[], &watched));
        assert_eq!(found.unwatched, [ChangeKind::Deployment, ChangeKind::Variable]);
    }

    #[test]
    fn what_ends_soon_is_named_and_what_ends_in_a_year_is_not() {
        let changes = [
            change(ChangeKind::Expiry, 60 * 24 * 3, "api.example", None),
            change(ChangeKind::Expiry, 60 * 24 * 365, "far.example", None),
            change(ChangeKind::Expiry, -60, "GITHUB_TOKEN", None),
        ];
        let found = before(&around(&changes, &EXPECTED.into()));
        let keys: Vec<&str> = found.expiring.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["GITHUB_TOKEN", "api.example"]);
    }

    #[test]
    fn what_went_live_after_it_was_last_seen_may_have_ended_it_and_did_not_serve_when_it_began() {
        let changes = [
            change(ChangeKind::Deployment, -60, "dpl_1", Some(sha('a'))),
            change(ChangeKind::Deployment, 20, "dpl_2", Some(sha('b'))),
            change(ChangeKind::Provider, 21, "railway x", None),
            change(ChangeKind::Variable, 22, "DATABASE_URL", None),
        ];
        let ended: Vec<&str> = since(&changes, at(15), at(30)).iter().map(|c| c.key.as_str()).collect();
        assert_eq!(ended, ["DATABASE_URL", "dpl_2"]);
        let target = changes[0].target.clone();
        assert_eq!(serving(&changes, &target, at(0)), Some(&sha('a')));
        assert_eq!(serving(&changes, &target, at(25)), Some(&sha('b')));
        assert_eq!(serving(&changes, &target, at(-90)), None, "nobody told");
        assert_eq!(serving(&changes, "another", at(25)), None);
    }

    #[test]
    fn a_flood_of_changes_is_counted() {
        let many: Vec<Change> = (0..9)
            .map(|n| change(ChangeKind::Variable, -n, &format!("V{n}"), None))
            .collect();
        let found = before(&around(&many, &EXPECTED.into()));
        assert_eq!((found.changes.len(), found.more), (5, 4));
        assert_eq!(found.changes[0].key, "V0");
    }
}
