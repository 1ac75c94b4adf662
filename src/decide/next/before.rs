//! From the first look to a pull request: triage's word, attempts and their budget, the newest head, what a person did.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Action, NEEDS_HUMAN, Next, act_once, done, next_tick, pause, stopped, tell_then, tomorrow};
use crate::{
    decide::{
        budget::{self, Budget},
        elsewhere::{self, Mended},
        facts::{AttemptFacts, Elsewhere, FLAPS, Facts, Policy, Seen, Status, keys},
    },
    model::{
        Mode,
        evidence::ProofGrade,
        incident::{FailureType, IncidentOutcome, TriageVerdict},
        pull::{Pull, PullState},
        signal::SignalKind,
    },
    text::times,
};

/// What a person did to our PR outranks everything that tick wanted.
pub(super) fn person_moved(facts: &Facts, seen: &Seen, now: DateTime<Utc>) -> Option<Next> {
    if facts.merge.is_some() {
        return None;
    }
    let pull = seen.pull.as_ref()?;
    match pull.state {
        PullState::Merged => {
            let sha = pull.merge_sha.clone()?;
            Some(Next::Act(Action::Adopt {
                sha,
                by: pull.closed_by.clone(),
            }))
        }
        PullState::Closed => Some(if facts.done.contains(&keys::close_pull(facts.id())) {
            tell_then(facts, Status::Resolved, "it is mended on the default branch", || {
                done(IncidentOutcome::Gone)
            })
        } else {
            tell_then(
                facts,
                Status::Declined,
                "a person closed the pull request without merging it",
                || done(IncidentOutcome::Declined),
            )
        }),
        PullState::Open => {
            if shows_our_head(facts, pull) {
                None
            } else if head_is_ours(facts, pull) {
                Some(next_tick(now, "the forge still shows an earlier head of ours"))
            } else {
                Some(tell_then(
                    facts,
                    Status::NeedsYou,
                    "a person pushed to the branch; it is theirs now and the evidence is void",
                    || Next::Wait {
                        until: now + TimeDelta::minutes(15),
                        why: "a person moves next: the branch is theirs; tick retry --keep-branch proves their head"
                            .to_owned(),
                    },
                ))
            }
        }
    }
}

fn shows_our_head(facts: &Facts, pull: &Pull) -> bool {
    let ours = facts.pushed.as_ref().map(|p| &p.head);
    // A person's head that `tick retry --keep-branch` made an attempt of is judged like ours.
    let kept = facts.current().and_then(AttemptFacts::head);
    ours == Some(&pull.head_sha) || kept == Some(&pull.head_sha)
}

/// The head that the pull request shows is one that we pushed, now or before.
pub(in crate::decide) fn head_is_ours(facts: &Facts, pull: &Pull) -> bool {
    shows_our_head(facts, pull) || facts.pushed_before.contains(&pull.head_sha)
}

pub(super) fn untriaged(facts: &Facts, policy: &Policy, now: DateTime<Utc>) -> Next {
    if policy.rung < Mode::Diagnose || facts.triage_failures >= 3 {
        let why = if policy.rung < Mode::Diagnose {
            "no model may be asked for this repo".to_owned()
        } else {
            format!("triage gave no usable answer {}", times(facts.triage_failures.into()))
        };
        return tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, &why, now));
    }
    if facts.triage_unavailable.is_final() {
        let why = facts.triage_unavailable.sentence("triage");
        return tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, &why, now));
    }
    if let Some(next) = unasked(facts, policy, now) {
        return next;
    }
    let wait = || {
        pause(facts, &facts.triage_unavailable, "triage", now)
            .unwrap_or_else(|| next_tick(now, "triage has not answered yet; tick moves next"))
    };
    if !facts.cause.is_down && !facts.told.contains(&Status::NeedsYou) {
        return wait();
    }
    // Triage adds a guess; that users are without the service needs none.
    let why = match facts.triage_unavailable.times {
        0 => "its cause is not known, triage has not answered yet".to_owned(),
        _ => format!(
            "its cause is not known, {}",
            facts.triage_unavailable.sentence("triage")
        ),
    };
    tell_then(facts, Status::NeedsYou, &why, || {
        over(facts, IncidentOutcome::Gone).unwrap_or_else(wait)
    })
}

/// No agent may be asked now. That keeps nobody from hearing what is broken, and when it is over.
fn unasked(facts: &Facts, policy: &Policy, now: DateTime<Utc>) -> Option<Next> {
    let (status, why, then) = if let Some(paused) = &facts.paused {
        let why = format!("stopped: tick pause ({paused}), so no agent is asked about it");
        (Status::NeedsYou, why.clone(), why)
    } else {
        let why = budget::used_up(facts.spent_usd, policy)?;
        let then = format!("budget: {why}; tick moves next when a new day begins");
        (Status::Budget, format!("no agent is asked about it, {why}"), then)
    };
    let wait = || Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: then,
    };
    Some(tell_then(facts, status, &why, || {
        over(facts, IncidentOutcome::Gone).unwrap_or_else(wait)
    }))
}

pub(super) fn told(facts: &Facts, policy: &Policy, now: DateTime<Utc>) -> Next {
    // Whatever triage made of it: no text talks tick out of telling.
    if let Some(what) = &facts.cause.security {
        let why =
            format!("it smells of security ({what}), so only you are told and no branch or pull request shows it");
        return tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, &why, now));
    }
    let verdict = facts.triage.as_ref().map_or(TriageVerdict::NeedsHuman, |t| t.verdict);
    let why = match verdict {
        // No word of a model hides that a probe is down.
        TriageVerdict::Noise if facts.cause.kind.is_symptom() => {
            "triage calls it noise, but a probe that is down is never that"
        }
        TriageVerdict::Noise => return done(IncidentOutcome::Noise),
        TriageVerdict::Infrastructure => "this is infrastructure, not code",
        TriageVerdict::Auth => "credentials or rights, not code",
        TriageVerdict::Config => "a setting, not code",
        TriageVerdict::NeedsHuman => "triage asks for a person",
        TriageVerdict::Bug => match policy.missing.first() {
            Some(missing) => missing,
            None => "this repo is set to diagnose",
        },
    };
    tell_then(facts, Status::NeedsYou, why, || watch_until_over(facts, why, now))
}

/// Why something is over that no change of ours mended, also where one was merged.
pub const OVER: &str = "it is over without a change of ours";

/// Told and not repaired: watched until it is over.
pub(super) fn watch_until_over(facts: &Facts, why: &str, now: DateTime<Utc>) -> Next {
    until_over(facts, why, now, IncidentOutcome::Gone)
}

/// The same, with how it ends.
pub(super) fn until_over(facts: &Facts, why: &str, now: DateTime<Utc>, outcome: IncidentOutcome) -> Next {
    over(facts, outcome).unwrap_or_else(|| Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: format!("{why}; a person moves next, {SAYS_WHEN_OVER}"),
    })
}

/// The end of why something waits that a person has and tick watches.
pub const SAYS_WHEN_OVER: &str = "and tick says when it is over";

/// For how long it has to be quiet. What came back within the day is given longer each time, so that what comes and goes is
/// one open incident and not a message for each turn: of one cause at most two are over within a day.
pub fn quiet_for(lives: u32) -> TimeDelta {
    match lives {
        0 | 1 => TimeDelta::minutes(29),
        2 => TimeDelta::hours(1),
        FLAPS.. => TimeDelta::days(1),
    }
}

/// Over once its source was read twice (or as often as the owner set) in full without it, and its symptoms' too, and no
/// page is down after a merge.
fn over(facts: &Facts, outcome: IncidentOutcome) -> Option<Next> {
    let long = facts
        .source_ok_at
        .is_some_and(|ok| ok - facts.cause.last_seen >= quiet_for(facts.cause.lives));
    let up = facts.watch.as_ref().is_none_or(|watch| !watch.probe_down);
    (long && up && facts.cause.unwatched.is_none() && facts.cause.quiet_looks >= facts.cause.clear_after)
        .then(|| tell_then(facts, Status::Resolved, OVER, || done(outcome)))
}

/// What nobody looks at any more can never be seen to be over: it ends, where no work on it is under way and what came with it
/// is not there any more. Who never heard of it hears nothing.
pub(super) fn unwatched(facts: &Facts) -> Option<Next> {
    let why = facts.cause.unwatched.as_ref()?;
    let has_work = facts.pull.is_some()
        || facts.merge.is_some()
        || facts.pushed.is_some()
        || facts.current().is_some_and(|attempt| attempt.failure().is_none());
    if has_work || facts.cause.quiet_looks < facts.cause.clear_after {
        return None;
    }
    let end = || done(IncidentOutcome::Unwatched);
    Some(if facts.told.is_empty() {
        end()
    } else {
        tell_then(facts, Status::Unwatched, why, end)
    })
}

pub(super) fn repair(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    // A page or probe that is down is one whatever triage makes of it.
    let is_down = matches!(facts.cause.kind, SignalKind::Health | SignalKind::Probe);
    let is_health = is_down || facts.failure_type() == FailureType::Health;
    if is_health && facts.ours_serves {
        return escalate(
            facts,
            seen,
            "a health failure after our own deployment is rolled back, never patched",
            now,
        );
    }
    // Our own rollback may have brought it back, or somebody else did.
    if is_down && facts.cause.quiet_looks > 0 && facts.pull.is_none() {
        return over(facts, IncidentOutcome::Gone)
            .unwrap_or_else(|| next_tick(now, "it is up again, and nothing is tried while it is; tick moves next"));
    }
    if let Some(stop) = stopped(seen, now) {
        // What stops tick stops no alarm.
        return if facts.cause.kind.is_symptom() {
            let why = "tick is stopped and does nothing about it";
            tell_then(facts, Status::NeedsYou, why, || {
                over(facts, IncidentOutcome::Gone).unwrap_or(stop)
            })
        } else {
            stop
        };
    }
    if let Some(next) = mended_and_not_live(facts, now) {
        return next;
    }
    if let Mended::Perhaps { until } = elsewhere::mended(facts, seen, policy, now) {
        return Next::Wait {
            until: until.max(now + TimeDelta::minutes(1)),
            why: "tick moves next: somebody may have mended it on the default branch".to_owned(),
        };
    }
    if budget::revisions(&facts.attempts) > 1 {
        return escalate(facts, seen, "the auditor asked for a second revision", now);
    }
    match budget::judge(facts, policy) {
        Budget::Exhausted(why) => escalate(facts, seen, &why, now),
        Budget::Spent(why) => tell_then(facts, Status::Budget, &why, || Next::Wait {
            until: tomorrow(now),
            why: format!("budget: {why}; tick moves next when a new day begins"),
        }),
        Budget::Wait(why) => next_tick(now, why),
        Budget::Go { n } => {
            if let Some(blame) = culprit(facts, seen, policy, n) {
                return blame;
            }
            if let Some(wait) = pause(facts, &budget::unavailable(facts), "the agent", now) {
                return wait;
            }
            if facts.pull.is_none() && facts.other_open_pulls >= policy.open_pulls_per_repo {
                let why = format!(
                    "{} pull requests of ours are open; a person moves next",
                    facts.other_open_pulls
                );
                return next_tick(now, why);
            }
            // The first attempt is made where it failed: lines of a trace are right there.
            match seen.failed_release.as_ref().or(seen.base.as_ref()) {
                Some(base) => Next::Act(Action::Attempt { n, base: base.clone() }),
                None => next_tick(now, "the default branch has no commit yet"),
            }
        }
    }
}

/// Before an agent is asked: the one commit with which CI became red, if the tests show that it is the cause. Where they
/// cannot run here nothing can be shown.
fn culprit(facts: &Facts, seen: &Seen, policy: &Policy, n: u32) -> Option<Next> {
    let commit = facts.cause.suspect.clone()?;
    let asked = facts.culprit.as_ref().is_some_and(|found| found.not.is_some());
    let untouched = facts.attempts.is_empty() && facts.pull.is_none() && !asked;
    let room = facts.other_open_pulls < policy.open_pulls_per_repo;
    let base = seen.base.clone()?;
    (untouched && room && !policy.by_ci).then_some(Next::Act(Action::Blame { n, base, commit }))
}

/// How long a mended default branch may go without a release before a person hears of it.
const UNRELEASED: TimeDelta = TimeDelta::days(1);

/// Red where it failed, and not red once the same patch stood on the default branch: somebody mended it there. Until a
/// release of that shows it, nothing else is tried; a release that still shows the failure is an answer, too.
fn mended_and_not_live(facts: &Facts, now: DateTime<Utc>) -> Option<Next> {
    let attempt = facts.current().filter(|a| a.rebases > 0 && facts.pull.is_none())?;
    let ProofGrade::NotRed(_) = attempt.proof.as_ref()?.grade else {
        return None;
    };
    let base = attempt.attempt.base.short();
    let since = attempt.attempt.ended.unwrap_or(attempt.attempt.started);
    let of_base = |e: &&Elsewhere| e.release == attempt.attempt.base || e.live_at >= since;
    let live = facts.elsewhere.as_ref().filter(of_base);
    if live.is_some_and(|e| e.watch.seen > 0) {
        return None;
    }
    let quiet = facts
        .source_ok_at
        .is_some_and(|ok| ok - facts.cause.last_seen >= TimeDelta::minutes(29));
    if live.is_some() && quiet {
        let why = format!("the default branch at {base} mended it");
        return Some(tell_then(facts, Status::Resolved, &why, || done(IncidentOutcome::Gone)));
    }
    let why = format!("the default branch at {base} no longer fails by it");
    let wait = |why: &str| Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: format!("{why}; tick moves next when a release of it serves"),
    };
    if now - since < UNRELEASED {
        return Some(wait(&why));
    }
    let why = format!("{why}, and no release of it serves");
    Some(tell_then(facts, Status::NeedsYou, &why, || {
        if now - since < TimeDelta::days(7) {
            wait(&why)
        } else {
            done(IncidentOutcome::Escalated)
        }
    }))
}

/// Hands the incident to a person: the PR says so, one message. It stays open until it is over: what is broken is not less
/// so because a person has it.
pub(super) fn escalate(facts: &Facts, seen: &Seen, why: &str, now: DateTime<Utc>) -> Next {
    if facts.pull.is_some() {
        if let Some(stop) = stopped(seen, now) {
            return stop;
        }
        if let Some(next) = act_once(facts, &keys::label(facts.id(), NEEDS_HUMAN), || Action::Label {
            label: NEEDS_HUMAN.to_owned(),
        }) {
            return next;
        }
        // The head that the pull request shows; a later attempt may have none, or one that was never pushed.
        let shown = facts.pushed.as_ref().map(|p| &p.head);
        let shown = facts.attempts.iter().rfind(|a| a.head().is_some() && a.head() == shown);
        if let Some(n) = shown.map(|a| a.attempt.n)
            && let Some(next) = act_once(facts, &keys::body(facts.id(), "escalated"), || Action::Body {
                n,
                slot: "escalated".to_owned(),
            })
        {
            return next;
        }
    }
    tell_then(facts, Status::NeedsYou, why, || {
        if facts.pull.is_none() {
            return watch_until_over(facts, why, now);
        }
        // What the person does with the open pull request is still to be seen.
        Next::Wait {
            until: now + TimeDelta::minutes(10),
            why: format!("a person moves next: merge or close it, or tick retry ({why})"),
        }
    })
}

pub(super) fn judge(facts: &Facts) -> Next {
    let Some((attempt, head)) = facts.current().and_then(|a| Some((a, a.head()?.clone()))) else {
        return done(IncidentOutcome::Escalated);
    };
    let n = attempt.attempt.n;
    if attempt.guards.is_none() {
        Next::Act(Action::Guards { n, head })
    } else {
        Next::Act(Action::Prove { n, head })
    }
}

pub(super) fn publish(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let Some((attempt, head)) = facts.current().and_then(|a| Some((a, a.head()?.clone()))) else {
        return done(IncidentOutcome::Escalated);
    };
    let n = attempt.attempt.n;
    if facts.pushed.as_ref().map(|p| &p.head) != Some(&head) {
        if facts.pull.is_none() && facts.other_open_pulls >= policy.open_pulls_per_repo {
            return next_tick(
                now,
                "as many pull requests of ours as allowed are open; a person moves next",
            );
        }
        // Made on the release that failed, or overtaken meanwhile: compared with the default branch before anybody sees it.
        if let Some(base) = &seen.base
            && facts.pushed.is_none()
            && attempt.rebases == 0
            && *base != attempt.attempt.base
        {
            return Next::Act(Action::Rebase { n, onto: base.clone() });
        }
        // The branch is not where we left it: it is somebody else's, and trying again would not change that.
        if let Some(why) = facts.refused.get(&keys::push(&attempt.attempt.id, &head)) {
            return escalate(facts, seen, &format!("the host refused the push: {why}"), now);
        }
        return Next::Act(Action::Push { n, head });
    }
    let draft = policy.rung < Mode::Active || attempt.needs_person().is_some();
    Next::Act(Action::OpenPull { n, head, draft })
}
