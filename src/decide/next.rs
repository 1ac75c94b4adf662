//! The state machine: facts and the reads of this iteration in, the one next thing out. Total and pure; the stage is
//! derived from facts each time, never stored.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{
    budget::{self, Budget},
    checks::{self, CheckSet},
    elsewhere::{self, Mended},
    facts::{AttemptFacts, Facts, Landing, Need, OurMerge, Policy, Seen, Status, keys},
    merge::{self, Bound, Evidence, MergeFacts, MergeProof, MergeVerdict, WaitsOn},
    observation::{self, Observed},
    settle,
};
use crate::model::{
    Mode, Sha,
    evidence::AuditVerdict,
    incident::{FailureType, IncidentOutcome, TriageVerdict},
    pull::{Pull, PullState, StopSigns},
};

/// One thing to do. Each variant is one arm of `perform`, and at most one outside write.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Let an agent try on this base.
    Attempt {
        n: u32,
        of: u32,
        base: Sha,
    },
    Guards {
        n: u32,
        head: Sha,
    },
    Prove {
        n: u32,
        head: Sha,
    },
    Push {
        n: u32,
        head: Sha,
    },
    OpenPull {
        n: u32,
        head: Sha,
        draft: bool,
    },
    Audit {
        n: u32,
        head: Sha,
    },
    /// The PR's body says what holds now; `slot` names the state it describes.
    Body {
        n: u32,
        slot: String,
    },
    Label {
        label: String,
    },
    RequestReview,
    Ready,
    /// Replay the patch onto the moved base.
    Rebase {
        n: u32,
        onto: Sha,
    },
    /// Blocking checks failed on the pushed head.
    CiFailed {
        n: u32,
        head: Sha,
        checks: Vec<String>,
    },
    Merge(MergeProof),
    /// A person merged our PR: observe it like our own.
    Adopt {
        sha: Sha,
        by: Option<String>,
    },
    Landed {
        sha: Sha,
    },
    /// Run the test commands on the landed commit.
    TestLanded {
        sha: Sha,
    },
    /// The host wrote another tree: no merges until a person resumes.
    Freeze {
        why: String,
    },
    Live {
        sha: Sha,
    },
    Observed {
        sha: Sha,
        verdict: String,
    },
    /// Incident note, before anything is taken back.
    Note {
        why: String,
    },
    MakeRevert {
        sha: Sha,
    },
    PushRevert {
        head: Sha,
    },
    OpenRevert {
        head: Sha,
    },
    MergeRevert(MergeProof),
    /// The repo goes back to drafts.
    DropAutonomy {
        why: String,
    },
    Comment {
        slot: String,
        text: String,
    },
    ClosePull {
        why: String,
    },
    /// An effect of ours that was begun turned out to have happened: record it, send nothing.
    Settle {
        key: String,
        sha: Option<Sha>,
        head: Option<Sha>,
    },
    Tell {
        status: Status,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    Act(Action),
    /// Nothing can be done before `until`; the sentence says who moves next.
    Wait {
        until: DateTime<Utc>,
        why: String,
    },
    Done {
        outcome: IncidentOutcome,
    },
}

/// Where an incident stands. A function of facts; only this file names stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ended,
    Untriaged,
    /// Not for code: told, and watched until it is over.
    Told,
    /// An attempt has to be made.
    Repair,
    /// The newest attempt's head is being judged, before anything is pushed.
    Judge,
    /// Its head is to be pushed, or its PR opened.
    Publish,
    /// The PR stands.
    Pull,
    Merged,
    TakingBack,
}

fn stage(facts: &Facts, policy: &Policy) -> Stage {
    if facts.incident.closed_at.is_some() {
        return Stage::Ended;
    }
    if facts.revert.is_some() {
        return Stage::TakingBack;
    }
    if facts.merge.is_some() {
        return Stage::Merged;
    }
    let Some(triage) = &facts.triage else {
        return Stage::Untriaged;
    };
    if triage.verdict != TriageVerdict::Bug || policy.rung < Mode::MonitorOnly {
        return Stage::Told;
    }
    let Some(attempt) = facts.current() else {
        return Stage::Repair;
    };
    if attempt.failure().is_some() {
        return if facts.pull.is_some() && !may_try_again(facts, policy) {
            Stage::Pull
        } else {
            Stage::Repair
        };
    }
    if attempt.guards.is_none() || attempt.proof.is_none() {
        return Stage::Judge;
    }
    let pushed = facts.pushed.as_ref().map(|p| &p.head);
    if facts.pull.is_none() || pushed != attempt.head() {
        return Stage::Publish;
    }
    Stage::Pull
}

fn may_try_again(facts: &Facts, policy: &Policy) -> bool {
    match budget::judge(facts, policy) {
        Budget::Go { .. } | Budget::Wait(_) | Budget::Spent(_) => true,
        Budget::Exhausted(_) => false,
    }
}

/// The outside reads that this stage wants.
pub fn need(facts: &Facts, policy: &Policy) -> Need {
    let nothing = Need::default();
    let with_pull = facts.pull.is_some();
    match stage(facts, policy) {
        Stage::Ended | Stage::Untriaged | Stage::Told => nothing,
        Stage::Repair => Need {
            stop: true,
            base: true,
            pull: with_pull,
            ..nothing
        },
        Stage::Judge => Need {
            pull: with_pull,
            ..nothing
        },
        Stage::Publish => Need {
            stop: true,
            rules: true,
            base: true,
            pull: with_pull,
            ..nothing
        },
        Stage::Pull => Need {
            stop: true,
            rules: true,
            base: true,
            pull: true,
            checks: true,
            ..nothing
        },
        Stage::Merged => Need {
            landed: facts.merge.as_ref().is_some_and(|m| m.landed.is_none()),
            ..nothing
        },
        Stage::TakingBack => Need {
            stop: true,
            rules: true,
            base: true,
            checks: true,
            revert_pull: true,
            ..nothing
        },
    }
}

/// The next tick looks again: due at once, but not within this process.
fn next_tick(now: DateTime<Utc>, why: impl Into<String>) -> Next {
    Next::Wait {
        until: now + TimeDelta::minutes(1),
        why: why.into(),
    }
}

const fn done(outcome: IncidentOutcome) -> Next {
    Next::Done { outcome }
}

fn tell_then(facts: &Facts, status: Status, why: &str, then: impl FnOnce() -> Next) -> Next {
    if facts.told.contains(&status) {
        then()
    } else {
        Next::Act(Action::Tell {
            status,
            why: why.to_owned(),
        })
    }
}

/// The one next step of an incident.
pub fn next(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    if let Some(outcome) = facts.incident.outcome {
        return done(outcome);
    }
    if facts.merge.is_none() && facts.cause.ignored_until.is_some_and(|until| until > now) {
        return done(IncidentOutcome::Ignored);
    }
    if let Some(what) = seen.unreadable.first() {
        return next_tick(now, format!("could not read {what}; looked at again by the next tick"));
    }
    if let Some(action) = settle::happened(facts, seen) {
        return Next::Act(action);
    }
    if let Some(next) = person_moved(facts, seen, now) {
        return next;
    }
    if let Some(close) = elsewhere::close(facts, seen, policy, now) {
        return stopped(seen, now).unwrap_or(close);
    }
    match stage(facts, policy) {
        Stage::Ended => done(IncidentOutcome::Escalated),
        Stage::Untriaged => untriaged(facts, policy, now),
        Stage::Told => told(facts, policy, now),
        Stage::Repair => repair(facts, seen, policy, now),
        Stage::Judge => judge(facts),
        Stage::Publish => publish(facts, seen, policy, now),
        Stage::Pull => pull(facts, seen, policy, now),
        Stage::Merged => merged(facts, seen, policy, now),
        Stage::TakingBack => take_back(facts, seen, policy, now),
    }
}

/// What a person did to our PR outranks everything that tick wanted.
fn person_moved(facts: &Facts, seen: &Seen, now: DateTime<Utc>) -> Option<Next> {
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
            let ours = facts.pushed.as_ref().map(|p| &p.head);
            // A person's head that `tick retry --keep-branch` made an attempt of is judged like ours.
            let kept = facts.current().and_then(AttemptFacts::head);
            if ours == Some(&pull.head_sha) || kept == Some(&pull.head_sha) {
                None
            } else if facts.pushed_before.contains(&pull.head_sha) {
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

fn untriaged(facts: &Facts, policy: &Policy, now: DateTime<Utc>) -> Next {
    if policy.rung < Mode::Diagnose || facts.triage_failures >= 3 {
        let why = if policy.rung < Mode::Diagnose {
            "no model may be asked for this repo".to_owned()
        } else {
            format!("triage gave no usable answer {} times", facts.triage_failures)
        };
        return tell_then(facts, Status::NeedsYou, &why, || watch_until_over(facts, now));
    }
    next_tick(now, "triage has not answered yet; tick moves next")
}

fn told(facts: &Facts, policy: &Policy, now: DateTime<Utc>) -> Next {
    let verdict = facts.triage.as_ref().map_or(TriageVerdict::NeedsHuman, |t| t.verdict);
    let why = match verdict {
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
    tell_then(facts, Status::NeedsYou, why, || watch_until_over(facts, now))
}

/// Told and not repaired: over once its source was read twice in full without it.
fn watch_until_over(facts: &Facts, now: DateTime<Utc>) -> Next {
    let quiet = facts
        .source_ok_at
        .is_some_and(|ok| ok - facts.cause.last_seen >= TimeDelta::minutes(29));
    if quiet {
        return tell_then(facts, Status::Resolved, "it is over without a change of ours", || {
            done(IncidentOutcome::Gone)
        });
    }
    Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: "a person moves next; tick says when it is over".to_owned(),
    }
}

fn stopped(seen: &Seen, now: DateTime<Utc>) -> Option<Next> {
    let why = match seen.stop.as_ref()? {
        StopSigns::None => return None,
        StopSigns::Stopped(signs) => signs.iter().map(|s| s.what.as_str()).collect::<Vec<_>>().join(", "),
        StopSigns::Unreadable(why) => format!("stop signs cannot be read ({why}), which counts as stopped"),
    };
    Some(next_tick(now, format!("stopped: {why}")))
}

fn repair(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    if facts.failure_type() == FailureType::Health && facts.record.merged > 0 {
        return escalate(
            facts,
            seen,
            "a health failure after our own deployment is rolled back, never patched",
            now,
        );
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
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
        Budget::Go { n, of } => {
            if facts.pull.is_none() && facts.other_open_pulls >= policy.open_pulls_per_repo {
                let why = format!(
                    "{} pull requests of ours are open; a person moves next",
                    facts.other_open_pulls
                );
                return next_tick(now, why);
            }
            match &seen.base {
                Some(base) => Next::Act(Action::Attempt {
                    n,
                    of,
                    base: base.clone(),
                }),
                None => next_tick(now, "the default branch has no commit yet"),
            }
        }
    }
}

fn tomorrow(now: DateTime<Utc>) -> DateTime<Utc> {
    let next = now.date_naive() + chrono::Days::new(1);
    next.and_time(chrono::NaiveTime::MIN).and_utc()
}

/// Hands the incident to a person: the PR says so, one message. Without an open PR it is closed until `tick retry`.
fn escalate(facts: &Facts, seen: &Seen, why: &str, now: DateTime<Utc>) -> Next {
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
            return done(IncidentOutcome::Escalated);
        }
        // What the person does with the open pull request is still to be seen.
        Next::Wait {
            until: now + TimeDelta::minutes(10),
            why: format!("a person moves next: merge or close it, or tick retry ({why})"),
        }
    })
}

const NEEDS_HUMAN: &str = "needs-human";

fn act_once(facts: &Facts, key: &str, action: impl FnOnce() -> Action) -> Option<Next> {
    (!facts.done.contains(key)).then(|| Next::Act(action()))
}

fn judge(facts: &Facts) -> Next {
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

fn publish(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
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
        // The branch is not where we left it: it is somebody else's, and trying again would not change that.
        if let Some(why) = facts.refused.get(&keys::push(&attempt.attempt.id, &head)) {
            return escalate(facts, seen, &format!("the host refused the push: {why}"), now);
        }
        return Next::Act(Action::Push { n, head });
    }
    let draft = policy.rung < Mode::Active || attempt.needs_person().is_some();
    Next::Act(Action::OpenPull { n, head, draft })
}

fn pull(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let Some(attempt) = facts.current() else {
        return done(IncidentOutcome::Escalated);
    };
    if let Some(failure) = attempt.failure() {
        return escalate(facts, seen, failure.sentence(), now);
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let Some(head) = attempt.head().cloned() else {
        return done(IncidentOutcome::Escalated);
    };
    let n = attempt.attempt.n;
    if attempt.audit.is_none() {
        return if attempt.audit_failures >= 3 {
            escalate(facts, seen, "the auditor gave no usable answer three times", now)
        } else if let Some(why) = out_of_runs(facts, policy) {
            tell_then(facts, Status::Budget, &why, || Next::Wait {
                until: tomorrow(now),
                why: format!("budget: {why}"),
            })
        } else {
            Next::Act(Action::Audit { n, head })
        };
    }
    if let Some(next) = act_once(
        facts,
        &keys::body(facts.id(), &format!("audited-{}", head.short())),
        || Action::Body {
            n,
            slot: format!("audited-{}", head.short()),
        },
    ) {
        return next;
    }
    let approved = facts.approved.is_some() || approved_by_review(seen, &head);
    if let Some(why) = attempt.needs_person()
        && !approved
    {
        return waits_for_person(facts, &why, now);
    }
    if policy.rung < Mode::Active {
        return tell_then(facts, Status::DraftReady, "the draft is proven and audited", || {
            Next::Wait {
                until: now + TimeDelta::minutes(10),
                why: "a person moves next: merge or close the draft".to_owned(),
            }
        });
    }
    to_merge(facts, seen, policy, now, attempt)
}

fn out_of_runs(facts: &Facts, policy: &Policy) -> Option<String> {
    (facts.spent_usd.day_runs >= policy.agent_runs_per_day)
        .then(|| format!("{} agent runs today, the limit", facts.spent_usd.day_runs))
}

fn approved_by_review(seen: &Seen, head: &Sha) -> bool {
    seen.pull.as_ref().is_some_and(|pull| {
        pull.reviews.iter().any(|review| {
            review.state == crate::model::pull::ReviewState::Approved
                && review.author_may_write
                && review.commit.as_ref() == Some(head)
        })
    })
}

fn waits_for_person(facts: &Facts, why: &str, now: DateTime<Utc>) -> Next {
    if let Some(next) = act_once(facts, &keys::label(facts.id(), NEEDS_HUMAN), || Action::Label {
        label: NEEDS_HUMAN.to_owned(),
    }) {
        return next;
    }
    tell_then(facts, Status::NeedsYou, why, || Next::Wait {
        until: now + TimeDelta::minutes(10),
        why: format!("a person moves next: merge, close, or tick approve ({why})"),
    })
}

fn to_merge(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>, attempt: &AttemptFacts) -> Next {
    let n = attempt.attempt.n;
    let (Some(head), Some(tree), Some(pull)) = (attempt.head(), &attempt.tree, &seen.pull) else {
        return next_tick(now, "the head or the pull request is unknown");
    };
    let checks = check_set(facts, seen, policy, head);
    if let CheckSet::Failed(names) = &checks.verdict {
        return Next::Act(Action::CiFailed {
            n,
            head: checks.head,
            checks: names.clone(),
        });
    }
    let evidence = Evidence::Fix {
        guards: bound(attempt, attempt.guards.as_ref().map(|g| g.verdict)),
        proof: attempt.proof.as_ref(),
        audit: attempt.audit.as_ref(),
    };
    let moved = seen.base.clone().filter(|base| *base != attempt.attempt.base);
    let candidate = Candidate {
        pull,
        head,
        tree,
        base: &attempt.attempt.base,
        evidence,
        checks,
    };
    let verdict = judge_merge(facts, seen, policy, &candidate);
    match verdict {
        MergeVerdict::Merge(proof) => Next::Act(Action::Merge(proof)),
        MergeVerdict::Wait { on: WaitsOn::Ready, .. } => act_once(facts, &keys::ready(facts.id()), || Action::Ready)
            .unwrap_or_else(|| next_tick(now, "a person moves next: the pull request was made a draft again")),
        MergeVerdict::Wait {
            on: WaitsOn::Person,
            why,
        } => asks_person(facts, seen, &why, now),
        MergeVerdict::Wait {
            on: WaitsOn::Ci | WaitsOn::Host,
            why,
        } => next_tick(now, why),
        MergeVerdict::NeedsPerson(why) => waits_for_person(facts, &why, now),
        MergeVerdict::StartOver(why) => match moved {
            Some(_) if attempt.rebases >= 3 => escalate(facts, seen, "the base moves faster than the tests", now),
            Some(onto) => Next::Act(Action::Rebase { n, onto }),
            None => next_tick(now, why),
        },
        MergeVerdict::Drop(why) => escalate(facts, seen, &why, now),
    }
}

/// Where the repository's rules ask for a review, one is requested, once.
fn asks_person(facts: &Facts, seen: &Seen, why: &str, now: DateTime<Utc>) -> Next {
    let wanted = seen
        .rules
        .as_ref()
        .is_some_and(|rules| rules.required_approvals > 0 || rules.code_owner_review);
    if wanted && let Some(next) = act_once(facts, &keys::review(facts.id()), || Action::RequestReview) {
        return next;
    }
    next_tick(now, format!("a person moves next: {why}"))
}

/// What a merge is asked for: our PR at one head, with what speaks for it.
struct Candidate<'a> {
    pull: &'a Pull,
    head: &'a Sha,
    tree: &'a Sha,
    base: &'a Sha,
    evidence: Evidence<'a>,
    checks: Bound<CheckSet>,
}

fn judge_merge(facts: &Facts, seen: &Seen, policy: &Policy, of: &Candidate<'_>) -> MergeVerdict {
    let (Some(rules), Some(stop), Some(branch)) = (&seen.rules, &seen.stop, &seen.base_branch) else {
        return MergeVerdict::Wait {
            on: WaitsOn::Host,
            why: "rules or stop signs were not read".to_owned(),
        };
    };
    merge::judge(&MergeFacts {
        mode: policy.rung,
        pull: of.pull,
        base_branch: branch,
        our_head: of.head,
        tested_base: of.base,
        base_now: seen.base.as_ref(),
        landing_tree: of.tree,
        evidence: of.evidence.clone(),
        checks: of.checks.clone(),
        rules,
        unresolved_threads: seen.threads,
        stop,
        frozen: facts.frozen.as_deref(),
        approved: facts.approved.as_ref().map(|a| &a.head),
    })
}

fn bound<V>(attempt: &AttemptFacts, verdict: Option<V>) -> Option<Bound<V>> {
    Some(Bound {
        head: attempt.head()?.clone(),
        verdict: verdict?,
    })
}

/// The check set of the head that it was read for; what was not read is unknown.
fn check_set(facts: &Facts, seen: &Seen, policy: &Policy, head: &Sha) -> Bound<CheckSet> {
    let pushed_at = match &facts.revert {
        Some(revert) => revert.pushed,
        // A person's head was there before we looked: whatever ran on it ran on this very commit.
        None if facts.current().is_some_and(AttemptFacts::is_a_persons) => Some(DateTime::<Utc>::MIN_UTC),
        None => facts.pushed.as_ref().map(|p| p.at),
    };
    match (&seen.checks, &seen.rules, pushed_at) {
        (Some(read), Some(rules), Some(at)) => Bound {
            head: read.head.clone(),
            verdict: checks::check_set(read, rules, policy.nonblocking.as_ref(), &policy.may_skip, at),
        },
        _ => Bound {
            head: head.clone(),
            verdict: CheckSet::Unknown("checks or rules were not read".to_owned()),
        },
    }
}

fn merged(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let Some(merge) = &facts.merge else {
        return done(IncidentOutcome::Escalated);
    };
    let Some(landed) = &merge.landed else {
        return if seen.landed.is_some() {
            Next::Act(Action::Landed { sha: merge.sha.clone() })
        } else if seen.landed_missing && now - merge.at >= TimeDelta::minutes(10) {
            let sha = merge.sha.short();
            freeze(
                facts,
                &format!("the host said that it merged {sha}, and there is no such commit"),
            )
        } else {
            next_tick(now, "the landed commit cannot be seen yet")
        };
    };
    match (landed.verdict(), merge.landed_tests) {
        (Landing::WrongTree, _) => {
            let why = format!(
                "the host landed tree {} where {} was tested",
                landed.tree.short(),
                landed.expected_tree.short()
            );
            return freeze(facts, &why);
        }
        (Landing::Raced, None) => return Next::Act(Action::TestLanded { sha: merge.sha.clone() }),
        (Landing::Raced, Some(false)) => {
            let why = "something else landed first, and the tests fail on the two together".to_owned();
            return begin_take_back(facts, policy, merge, why);
        }
        (Landing::Raced, Some(true)) | (Landing::AsTested, _) => {}
    }
    observe(facts, policy, merge, now)
}

/// The host did something else than it was asked: nothing is merged until a person resumes.
fn freeze(facts: &Facts, why: &str) -> Next {
    if facts.frozen.is_none() && !facts.told.contains(&Status::Frozen) {
        return Next::Act(Action::Freeze { why: why.to_owned() });
    }
    tell_then(facts, Status::Frozen, why, || done(IncidentOutcome::Escalated))
}

fn observe(facts: &Facts, policy: &Policy, merge: &OurMerge, now: DateTime<Utc>) -> Next {
    let (Some(live_at), Some(watch)) = (merge.live_at, &facts.watch) else {
        return not_live(facts, policy, merge, now);
    };
    let record = |verdict: String| Action::Observed {
        sha: merge.sha.clone(),
        verdict,
    };
    match observation::observe(watch, live_at, policy.observe_min, now) {
        Observed::Watching { expected, until } => Next::Wait {
            // Worse is noticed at once, not when the time is over.
            until: until.min(now + TimeDelta::minutes(10)).max(now + TimeDelta::minutes(1)),
            why: format!("tick moves next: {} seen, {expected:.0} expected so far", watch.seen),
        },
        Observed::Gone { expected } => once_observed(merge, || record(format!("0 seen, {expected:.0} expected")))
            .unwrap_or_else(|| {
                tell_then(
                    facts,
                    Status::Resolved,
                    &format!("0 seen, {expected:.0} expected"),
                    || done(IncidentOutcome::Resolved),
                )
            }),
        Observed::Unconfirmed { expected } => {
            let why = format!("0 seen in 7 days, but only {expected:.1} were to be expected");
            tell_then(facts, Status::Unconfirmed, &why, || done(IncidentOutcome::Unconfirmed))
        }
        Observed::Still { seen, expected } => {
            let why = format!("still there after the merge: {seen} seen, {expected:.0} expected at the old rate");
            once_observed(merge, || record(why.clone()))
                .unwrap_or_else(|| tell_then(facts, Status::NeedsYou, &why, || done(IncidentOutcome::Escalated)))
        }
        Observed::Worse { why } => begin_take_back(facts, policy, merge, why),
    }
}

fn once_observed(merge: &OurMerge, action: impl FnOnce() -> Action) -> Option<Next> {
    merge.observed.is_none().then(|| Next::Act(action()))
}

/// Without a probe that tells the release, a merge counts as live a quarter of an hour later, and says so.
fn not_live(facts: &Facts, policy: &Policy, merge: &OurMerge, now: DateTime<Utc>) -> Next {
    let waited = now - merge.at;
    if merge.live_at.is_none() {
        let serves = facts.cause.release.is_some() && facts.cause.release.as_ref() == Some(&merge.sha);
        if serves || (!policy.release_known && waited >= TimeDelta::minutes(15)) {
            return Next::Act(Action::Live { sha: merge.sha.clone() });
        }
    }
    if waited >= TimeDelta::hours(2) {
        return tell_then(facts, Status::Merged, "merged, but not live after two hours", || {
            next_tick(now, "waiting for the release that carries the merge; a person may look")
        });
    }
    next_tick(now, "waiting for the release that carries the merge")
}

fn begin_take_back(facts: &Facts, policy: &Policy, merge: &OurMerge, why: String) -> Next {
    if merge.by.is_some() || !policy.rollback_own || policy.rung < Mode::Active {
        let why = format!("{why}; tick does not take this back by itself");
        return tell_then(facts, Status::NeedsYou, &why, || done(IncidentOutcome::Escalated));
    }
    Next::Act(Action::Note { why })
}

fn take_back(facts: &Facts, seen: &Seen, policy: &Policy, now: DateTime<Utc>) -> Next {
    let (Some(revert), Some(merge)) = (&facts.revert, &facts.merge) else {
        return done(IncidentOutcome::Escalated);
    };
    if revert.merged.is_some() {
        let key = format!("autonomy:{}", facts.id());
        if !facts.done.contains(&key) {
            return Next::Act(Action::DropAutonomy {
                why: revert.why.clone(),
            });
        }
        return tell_then(facts, Status::TakenBack, &revert.why, || {
            done(IncidentOutcome::TakenBack)
        });
    }
    if let Some(stop) = stopped(seen, now) {
        return stop;
    }
    let by_hand = |why: &str| tell_then(facts, Status::NeedsYou, why, || done(IncidentOutcome::Escalated));
    let Some(head) = &revert.head else {
        return if facts.done.contains(&format!("revert-tried:{}", facts.id())) {
            by_hand("the merge makes things worse and does not revert cleanly")
        } else {
            Next::Act(Action::MakeRevert { sha: merge.sha.clone() })
        };
    };
    if revert.restores == merge::Restores::No {
        return by_hand("the merge makes things worse, and its revert fails the tests");
    }
    if revert.pushed.is_none() {
        if let Some(why) = facts.refused.get(&keys::push_revert(facts.id())) {
            return by_hand(&format!("the host refused the push of the revert: {why}"));
        }
        return Next::Act(Action::PushRevert { head: head.clone() });
    }
    let (Some(pull), Some(base), Some(tree)) = (&seen.revert_pull, &revert.base, &revert.tree) else {
        return Next::Act(Action::OpenRevert { head: head.clone() });
    };
    let checks = check_set(facts, seen, policy, head);
    if let CheckSet::Failed(names) = &checks.verdict {
        return by_hand(&format!("the revert of our merge fails CI: {}", names.join(", ")));
    }
    let verdict = judge_merge(
        facts,
        seen,
        policy,
        &Candidate {
            pull,
            head,
            tree,
            base,
            evidence: Evidence::Revert {
                restores: Some(Bound {
                    head: head.clone(),
                    verdict: revert.restores,
                }),
            },
            checks,
        },
    );
    match verdict {
        MergeVerdict::Merge(proof) => Next::Act(Action::MergeRevert(proof)),
        MergeVerdict::Wait { why, .. } => next_tick(now, format!("the revert waits: {why}")),
        MergeVerdict::StartOver(why) => by_hand(&format!("the revert no longer fits: {why}")),
        MergeVerdict::NeedsPerson(why) | MergeVerdict::Drop(why) => by_hand(&why),
    }
}

/// The audit's verdict as a word, for reports.
pub const fn audit_word(verdict: AuditVerdict) -> &'static str {
    match verdict {
        AuditVerdict::Approve => "approve",
        AuditVerdict::Revise => "revise",
        AuditVerdict::Reject => "reject",
    }
}
