//! An effect that was begun and whose outcome nobody recorded: what this iteration's reads say about it. Without this a
//! merge of ours whose process died would look like a person's. Pure; sends nothing.

use super::{
    facts::{Facts, Seen, keys},
    next::{Action, Next},
};
use crate::model::{Sha, pull::PullState};

/// The first begun effect that has visibly happened.
pub(super) fn happened(facts: &Facts, seen: &Seen) -> Option<Action> {
    revert_merged(facts, seen).or_else(|| on_our_pull(facts, seen))
}

/// Effects that were begun and are not wanted any more, one a turn: a person has the pull request in their own hands, or
/// the incident is over. What became of them nobody has to know.
pub(super) fn leave(facts: &Facts, seen: &Seen, next: Next) -> Next {
    let left = match &next {
        Next::Done { .. } => facts.begun.iter().next(),
        Next::Act(_) | Next::Wait { .. } if in_other_hands(facts, seen) => {
            facts.begun.iter().find(|key| about_our_pull(key))
        }
        Next::Act(_) | Next::Wait { .. } => None,
    };
    match left {
        Some(key) => Next::Act(Action::GiveUp { key: key.clone() }),
        None => next,
    }
}

/// A person merged it, closed it, or pushed to its branch.
fn in_other_hands(facts: &Facts, seen: &Seen) -> bool {
    if facts.merge.as_ref().is_some_and(|merge| merge.by.is_some()) {
        return true;
    }
    let Some(pull) = seen.pull.as_ref().filter(|_| facts.merge.is_none()) else {
        return false;
    };
    match pull.state {
        PullState::Merged | PullState::Closed => pull.closed_by.as_ref().is_some_and(|by| *by != pull.author),
        PullState::Open => !super::next::head_is_ours(facts, pull),
    }
}

fn about_our_pull(key: &str) -> bool {
    const KINDS: [&str; 8] = ["push", "body", "comment", "label", "ready", "review", "close", "merge"];
    key.split(':').next().is_some_and(|kind| KINDS.contains(&kind))
}

fn settle(key: String, sha: Option<&Sha>, head: Option<&Sha>) -> Action {
    Action::Settle {
        key,
        sha: sha.cloned(),
        head: head.cloned(),
    }
}

fn on_our_pull(facts: &Facts, seen: &Seen) -> Option<Action> {
    let pull = seen.pull.as_ref()?;
    let begun = |key: String| facts.begun.contains(&key).then_some(key);
    let by_us = pull.closed_by.as_ref().is_none_or(|by| *by == pull.author);
    match pull.state {
        PullState::Merged if facts.merge.is_none() && by_us => {
            let key = begun(keys::merge(facts.id(), &pull.head_sha))?;
            Some(settle(key, Some(pull.merge_sha.as_ref()?), Some(&pull.head_sha)))
        }
        PullState::Closed if by_us => Some(settle(begun(keys::close_pull(facts.id()))?, None, None)),
        PullState::Open => {
            let ready = begun(keys::ready(facts.id())).filter(|_| !pull.draft);
            let label = || {
                let mut shown = pull.labels.iter();
                shown.find_map(|label| begun(keys::label(facts.id(), label)))
            };
            ready.or_else(label).map(|key| settle(key, None, None))
        }
        PullState::Merged | PullState::Closed => None,
    }
}

/// Whoever merged it: our change is taken back.
fn revert_merged(facts: &Facts, seen: &Seen) -> Option<Action> {
    let pull = seen.revert_pull.as_ref()?;
    let open = facts.revert.as_ref().is_some_and(|revert| revert.merged.is_none());
    match pull.state {
        PullState::Merged if open => {
            let key = keys::merge_revert(facts.id(), &pull.head_sha);
            Some(settle(key, Some(pull.merge_sha.as_ref()?), Some(&pull.head_sha)))
        }
        PullState::Merged | PullState::Closed | PullState::Open => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{facts_with_pull, id, open_pull};

    fn seen(change: impl FnOnce(&mut crate::model::pull::Pull)) -> Seen {
        let mut pull = open_pull();
        change(&mut pull);
        Seen {
            pull: Some(pull),
            ..Seen::default()
        }
    }

    fn merged_by(who: &str) -> Seen {
        seen(|pull| {
            pull.state = PullState::Merged;
            pull.merge_sha = Some(id('e'));
            pull.closed_by = Some(who.to_owned());
        })
    }

    #[test]
    fn a_merge_that_was_begun_and_is_by_us_is_ours() {
        let mut facts = facts_with_pull();
        assert_eq!(happened(&facts, &merged_by("tick-bot")), None, "never begun");
        let key = keys::merge(facts.id(), &id('a'));
        facts.begun.insert(key.clone());
        let settled = Action::Settle {
            key,
            sha: Some(id('e')),
            head: Some(id('a')),
        };
        assert_eq!(happened(&facts, &merged_by("tick-bot")), Some(settled));
        assert_eq!(happened(&facts, &merged_by("ada")), None, "a person was faster");
        let other_head = seen(|pull| {
            pull.state = PullState::Merged;
            pull.merge_sha = Some(id('e'));
            pull.head_sha = id('f');
        });
        assert_eq!(happened(&facts, &other_head), None);
    }

    #[test]
    fn closing_ready_and_label_settle_by_what_the_pull_shows() {
        let mut facts = facts_with_pull();
        let (close, ready, label) = (
            keys::close_pull(facts.id()),
            keys::ready(facts.id()),
            keys::label(facts.id(), "needs-human"),
        );
        let key_of = |action: Option<Action>| match action {
            Some(Action::Settle { key, .. }) => Some(key),
            _ => None,
        };
        let closed = seen(|pull| pull.state = PullState::Closed);
        let by_ada = seen(|pull| {
            pull.state = PullState::Closed;
            pull.closed_by = Some("ada".to_owned());
        });
        let draft = seen(|pull| pull.draft = true);
        let labelled = seen(|pull| {
            pull.draft = true;
            pull.labels = vec!["bug".to_owned(), "needs-human".to_owned()];
        });
        for seen in [&closed, &by_ada, &draft, &labelled] {
            assert_eq!(happened(&facts, seen), None, "nothing was begun");
        }
        facts.begun = [close.clone(), ready.clone(), label.clone()].into();
        assert_eq!(key_of(happened(&facts, &closed)), Some(close));
        assert_eq!(happened(&facts, &by_ada), None);
        assert_eq!(happened(&facts, &draft), None);
        assert_eq!(key_of(happened(&facts, &labelled)), Some(label));
        assert_eq!(key_of(happened(&facts, &seen(|_| {}))), Some(ready));
    }

    fn begun(keys: &[&str]) -> Facts {
        let mut facts = facts_with_pull();
        facts.begun = keys.iter().map(|key| (*key).to_owned()).collect();
        facts
    }

    fn wait() -> Next {
        Next::Wait {
            until: crate::decide::testing::at(10),
            why: "a person moves next".to_owned(),
        }
    }

    fn given_up(next: &Next) -> Option<&str> {
        match next {
            Next::Act(Action::GiveUp { key }) => Some(key),
            Next::Act(_) | Next::Wait { .. } | Next::Done { .. } => None,
        }
    }

    #[test]
    fn what_was_begun_on_a_pull_that_a_person_took_over_is_left() {
        let facts = begun(&["body:x:audited", "note:x", "review:x"]);
        let kept = seen(|_| {});
        assert_eq!(leave(&facts, &kept, wait()), wait(), "still ours");
        let theirs = [
            seen(|pull| pull.head_sha = id('f')),
            seen(|pull| {
                pull.state = PullState::Closed;
                pull.closed_by = Some("ada".to_owned());
            }),
            merged_by("ada"),
        ];
        for seen in theirs {
            assert_eq!(given_up(&leave(&facts, &seen, wait())), Some("body:x:audited"));
            assert_eq!(leave(&begun(&["note:x"]), &seen, wait()), wait());
        }
        assert_eq!(given_up(&leave(&facts, &merged_by("tick-bot"), wait())), None);
    }

    #[test]
    fn nothing_is_left_open_when_an_incident_is_over() {
        let over = || Next::Done {
            outcome: crate::model::incident::IncidentOutcome::Escalated,
        };
        let next = leave(&begun(&["push:x/1:aaaaaaa"]), &Seen::default(), over());
        assert_eq!(given_up(&next), Some("push:x/1:aaaaaaa"));
        assert_eq!(leave(&begun(&[]), &Seen::default(), over()), over());
    }
}
