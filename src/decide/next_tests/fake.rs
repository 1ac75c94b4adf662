//! A fake of the outside over facts in memory: `observe` reads it, `perform` changes facts and it. It decides nothing,
//! and replaces exactly these two: the seed of a simulator.

mod after;

use std::collections::VecDeque;

use chrono::{DateTime, TimeDelta, Utc};

use super::given::{at, audit, facts, guards, policy, proof, pull, sha, triage};
use crate::{
    decide::{
        facts::{
            AttemptFacts, CiWitness, Facts, Landed, Need, OurMerge, OurPull, OurRevert, Policy, Pushed, RerunEnd, Seen,
            Status, Watch, Witnessed, keys,
        },
        merge::Restores,
        next::{self, Action, Next},
    },
    model::{
        AttemptId, IncidentId, Mode, PullNumber, Sha, Signature,
        checks::{Check, CheckState, Checks, RedRun, RunSeen},
        evidence::{AuditVerdict, GuardVerdict, ProofGrade},
        incident::{Attempt, AttemptOutcome, IncidentOutcome, TriageVerdict},
        pull::{CommitInfo, Pull, PullState, Rules, StopSigns},
    },
};

/// What an attempt turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    Good,
    WeakTest,
    NotRed,
    Sensitive,
    Unproven,
    Rejected,
    Revise,
    CannotFix,
    Nothing,
    Overload,
    /// The auditor gives no usable answer.
    NoAudit,
}

/// How an incident came to rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rest {
    Waits(String),
    Done(IncidentOutcome),
}

#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the world")]
pub(super) struct Fake {
    pub(super) facts: Facts,
    pub(super) policy: Policy,
    pub(super) now: DateTime<Utc>,
    pub(super) made: VecDeque<Made>,
    pub(super) stop: StopSigns,
    pub(super) base: Sha,
    pub(super) pull: Option<Pull>,
    pub(super) revert: Option<Pull>,
    pub(super) rules: Rules,
    pub(super) ci: CheckState,
    pub(super) reran: Option<RunSeen>,
    /// The tests show the suspected commit to be the cause.
    pub(super) shown: bool,
    /// And it is a merge of ours.
    pub(super) ours: bool,
    /// CI begins with what is pushed.
    pub(super) ci_runs: bool,
    /// None: after the push.
    pub(super) ci_started: Option<DateTime<Utc>>,
    /// Landed tree, and parent; none: as asked for.
    pub(super) landed: Option<(Sha, Sha)>,
    pub(super) commit_missing: bool,
    pub(super) landed_tests: bool,
    pub(super) restores: Restores,
    /// The release that failed, which the default branch is ahead of.
    pub(super) failed_release: Option<Sha>,
    /// What was red there is not red on the default branch any more.
    pub(super) mended: bool,
    /// A person reverted our merge before tick did.
    pub(super) taken_back_by_hand: bool,
    pub(super) deploys: bool,
    /// Events of the cause since the merge serves.
    pub(super) seen: u64,
    pub(super) probe_down: u32,
    pub(super) conflicts: bool,
    pub(super) unreadable: bool,
    /// Names of the actions, in order.
    pub(super) trace: Vec<String>,
    pub(super) mails: Vec<Status>,
    next_sha: u32,
}

pub(super) fn name_of(action: &Action) -> String {
    let text = format!("{action:?}");
    text.split([' ', '(', '{']).next().unwrap().to_owned()
}

impl Fake {
    /// An incident that was just opened.
    pub(super) fn new(made: &[Made]) -> Self {
        let id = IncidentId::new(&Signature::parse("7f3a91c07f3a91c0").unwrap(), 1);
        Self {
            facts: facts(id),
            policy: policy(),
            now: at(0),
            made: made.iter().copied().collect(),
            stop: StopSigns::None,
            base: sha(1),
            pull: None,
            revert: None,
            rules: Rules {
                squash_allowed: true,
                ..Rules::default()
            },
            ci: CheckState::Success,
            reran: None,
            shown: true,
            ours: false,
            ci_runs: true,
            ci_started: None,
            landed: None,
            commit_missing: false,
            landed_tests: true,
            restores: Restores::SameTree,
            failed_release: None,
            mended: false,
            taken_back_by_hand: false,
            deploys: true,
            seen: 0,
            probe_down: 0,
            conflicts: false,
            unreadable: false,
            trace: Vec::new(),
            mails: Vec::new(),
            next_sha: 100,
        }
    }

    /// The same, with triage's word that it is a bug.
    pub(super) fn bug(made: &[Made]) -> Self {
        let mut fake = Self::new(made);
        fake.triaged(TriageVerdict::Bug);
        fake
    }

    pub(super) fn triaged(&mut self, verdict: TriageVerdict) {
        self.facts.triage = Some(triage(verdict));
    }

    /// One turn: facts, the reads that they want, the one next thing.
    pub(super) fn turn(&mut self) -> (Need, Seen, Next) {
        self.facts.source_ok_at = Some(self.now);
        self.facts.failed_release.clone_from(&self.failed_release);
        self.facts.cause.quiet_looks = if self.facts.cause.last_seen < self.now { 2 } else { 0 };
        if let Some(merge) = &self.facts.merge {
            self.facts.cause.release = self.deploys.then(|| merge.sha.clone());
            self.facts.watch = merge.live_at.map(|_| Watch {
                rate_before: 40.0,
                seen: self.seen,
                samples: if self.seen > 0 { 2 } else { 0 },
                requests: None,
                looked_until: self.now,
                others: Vec::new(),
                probe_down_samples: self.probe_down,
                probe_down: self.probe_down > 0,
            });
        }
        let need = next::need(&self.facts, &self.policy);
        let seen = self.observe(need);
        let next = next::next(&self.facts, &seen, &self.policy, self.now);
        (need, seen, next)
    }

    /// Acts until it waits or is done. `each` sees every turn before it is acted on.
    pub(super) fn rest_with(&mut self, each: &mut dyn FnMut(&Self, Need, &Seen, &Next)) -> Rest {
        for _ in 0..200 {
            let (need, seen, next) = self.turn();
            each(self, need, &seen, &next);
            match next {
                Next::Act(action) => {
                    self.trace.push(name_of(&action));
                    self.perform(&action);
                }
                Next::Wait { until, why } => {
                    assert!(until > self.now, "a wait that is over already: {why}");
                    return Rest::Waits(why);
                }
                Next::Done { outcome } => return Rest::Done(outcome),
            }
        }
        panic!("no rest in 200 turns: {:?}", self.trace);
    }

    pub(super) fn rest(&mut self) -> Rest {
        self.rest_with(&mut |_, _, _, _| {})
    }

    /// Rests, lets a quarter of an hour pass, and again, until it is done.
    pub(super) fn until_done(&mut self) -> IncidentOutcome {
        for _ in 0..40 {
            match self.rest() {
                Rest::Done(outcome) => return outcome,
                Rest::Waits(_) => self.now += TimeDelta::minutes(15),
            }
        }
        panic!("not done after ten hours: {:?}", self.trace);
    }

    pub(super) fn waits_for(&mut self, word: &str) {
        match self.rest() {
            Rest::Waits(why) => assert!(why.contains(word), "{why:?} does not say {word:?}"),
            Rest::Done(outcome) => panic!("done ({outcome:?}) where it should wait for {word}: {:?}", self.trace),
        }
        self.now += TimeDelta::minutes(15);
    }

    fn sha(&mut self) -> Sha {
        self.next_sha += 1;
        sha(self.next_sha)
    }

    pub(super) fn head(&self) -> Sha {
        self.facts.pushed.as_ref().unwrap().head.clone()
    }

    fn observe(&self, need: Need) -> Seen {
        let merge = self.facts.merge.as_ref();
        let checked = match &self.facts.revert {
            Some(revert) => revert.pushed.and(revert.head.clone()),
            None => self.facts.pushed.as_ref().map(|p| p.head.clone()),
        };
        let checked = if need.ci {
            self.facts.awaited_by_ci().filter(|_| self.ci_runs)
        } else {
            checked.filter(|_| need.checks)
        };
        let landed = merge
            .filter(|_| need.landed && !self.commit_missing)
            .map(|merge| CommitInfo {
                sha: merge.sha.clone(),
                tree: sha(0),
                parents: vec![sha(0)],
                message: String::new(),
            });
        Seen {
            stop: need.stop.then(|| self.stop.clone()),
            rules: need.rules.then(|| self.rules.clone()),
            base: need.base.then(|| self.base.clone()),
            rerun: self.reran.filter(|_| need.rerun),
            failed_release: self.failed_release.clone().filter(|_| need.failed_release),
            pull: self.pull.clone().filter(|_| need.pull && self.facts.pull.is_some()),
            checks: checked.map(|head| Checks {
                head,
                checks: vec![Check {
                    name: "test".to_owned(),
                    app_id: need.ci.then_some(1),
                    state: self.ci,
                    started_at: Some(self.ci_started.unwrap_or(self.now + TimeDelta::seconds(1))),
                    url: None,
                }],
                incomplete: None,
            }),
            landed_missing: need.landed && self.commit_missing,
            landed,
            revert_pull: self.revert.clone().filter(|_| need.revert_pull),
            base_branch: (need != Need::default()).then(|| "main".to_owned()),
            threads: None,
            unreadable: (self.unreadable && need != Need::default())
                .then(|| "the forge".to_owned())
                .into_iter()
                .collect(),
        }
    }

    fn newest(&mut self) -> &mut AttemptFacts {
        self.facts.attempts.last_mut().unwrap()
    }

    fn rerun(&mut self, run: &RedRun) {
        self.facts.rerun.sent = Some((run.clone(), self.now));
        self.facts.rerun.end = None;
    }

    fn reran(&mut self, end: &RerunEnd) {
        self.facts.rerun.reds += u32::from(*end == RerunEnd::Red);
        self.facts.rerun.end = Some(end.clone());
    }

    fn push(&mut self, head: &Sha) {
        let before = self.facts.pushed.take().map(|pushed| pushed.head);
        self.facts.pushed_before.extend(before);
        self.facts.pushed = Some(Pushed {
            head: head.clone(),
            at: self.now,
        });
        if let Some(pull) = &mut self.pull {
            pull.head_sha = head.clone();
        }
    }

    fn perform(&mut self, action: &Action) {
        let id = self.facts.incident.id.clone();
        match action {
            Action::Rerun { run, .. } => self.rerun(run),
            Action::Reran { end, .. } => self.reran(end),
            Action::Attempt { n, base } => self.attempt(*n, base),
            Action::Blame { n, base, commit } => self.blame(*n, base, commit),
            Action::Guards { .. } => self.guard(),
            Action::Prove { head, .. } => self.prove(head),
            Action::CiWitness { .. }
            | Action::PushWitness { .. }
            | Action::CiReport { .. }
            | Action::CiGrade { .. }
            | Action::CiUnproven { .. }
            | Action::DropWitness { .. } => self.by_ci(action),
            Action::Push { head, .. } => self.push(head),
            Action::OpenPull { head, draft, .. } => {
                self.facts.pull = Some(OurPull {
                    number: PullNumber(31),
                    url: String::new(),
                    draft: *draft,
                });
                self.pull = Some(pull(31, head.clone(), *draft));
            }
            Action::Audit { head, .. } => {
                if self.made[0] == Made::NoAudit {
                    return self.newest().audit_failures += 1;
                }
                let verdict = if self.made[0] == Made::Rejected {
                    AuditVerdict::Reject
                } else if self.made[0] == Made::Revise {
                    AuditVerdict::Revise
                } else {
                    AuditVerdict::Approve
                };
                self.newest().audit = Some(audit(verdict, head.clone()));
            }
            Action::Body { n, slot } => {
                let of = self.facts.attempts.iter().find(|a| a.attempt.n == *n);
                let told = of.and_then(AttemptFacts::head).cloned();
                assert_eq!(told, Some(self.head()), "the body is about the head that is shown");
                self.facts.done.insert(keys::body(&id, slot));
            }
            Action::Label { label } => {
                self.facts.done.insert(keys::label(&id, label));
                self.pull.as_mut().unwrap().labels.push(label.clone());
            }
            Action::RequestReview => drop(self.facts.done.insert(keys::review(&id))),
            Action::Ready => {
                self.facts.done.insert(keys::ready(&id));
                self.pull.as_mut().unwrap().draft = false;
            }
            Action::Rebase { onto, .. } => self.rebase(onto),
            Action::CiFailed { checks, .. } => self.newest().ci_failed = Some(checks.clone()),
            Action::Merge(proof) => {
                let landed = self.sha();
                self.merged(landed, proof.head().clone(), None);
                self.facts.merge.as_mut().unwrap().landed = None;
            }
            Action::Adopt { .. }
            | Action::Landed { .. }
            | Action::TestLanded { .. }
            | Action::Live { .. }
            | Action::Observed { .. } => self.after_merge(action),
            Action::Freeze { why } => self.facts.frozen = Some(why.clone()),
            Action::Note { .. }
            | Action::MakeRevert { .. }
            | Action::PushRevert { .. }
            | Action::OpenRevert { .. }
            | Action::RevertBody { .. }
            | Action::MergeRevert(_) => self.take_back(action),
            Action::DropAutonomy { .. } => {
                self.facts.done.insert(format!("autonomy:{id}"));
                self.policy.rung = Mode::MonitorOnly;
            }
            Action::Comment { slot, .. } => drop(self.facts.done.insert(keys::comment(&id, slot))),
            Action::ClosePull { .. } => {
                self.facts.done.insert(keys::close_pull(&id));
                self.pull.as_mut().unwrap().state = PullState::Closed;
            }
            Action::GiveUp { key } => drop(self.facts.begun.remove(key)),
            Action::Settle { .. } => panic!("nothing is begun and not recorded here"),
            Action::Tell { status, .. } => {
                assert!(self.facts.told.insert(*status), "{status:?} is told twice");
                self.mails.push(*status);
            }
        }
    }

    fn guard(&mut self) {
        let verdict = if self.made[0] == Made::WeakTest {
            GuardVerdict::Reject
        } else if self.made[0] == Made::Sensitive {
            GuardVerdict::NeedsHuman
        } else {
            GuardVerdict::Accept
        };
        let n = self.facts.attempts.len();
        let attempt = self.newest();
        attempt.guards = Some(guards(verdict));
        if verdict == GuardVerdict::Reject {
            attempt.attempt.failure_sig = Some(format!("{n}-{n}"));
        }
    }

    fn prove(&mut self, head: &Sha) {
        let replayed = self.newest().rebases > 0;
        let grade = if self.made[0] == Made::NotRed || (self.mended && replayed) {
            ProofGrade::NotRed("the new test passes on the base".to_owned())
        } else if self.made[0] == Made::Unproven {
            ProofGrade::Unproven("the runner is not known".to_owned())
        } else {
            ProofGrade::Proven
        };
        let base = self.newest().attempt.base.clone();
        self.newest().proof = Some(proof(base, head.clone(), grade));
    }

    fn attempt(&mut self, n: u32, base: &Sha) {
        if n > 1 {
            self.made.pop_front();
        }
        let made = *self.made.front().expect("the story foresees this attempt");
        let outcome = if made == Made::CannotFix {
            AttemptOutcome::CannotFix("it is a riddle".to_owned())
        } else if made == Made::Nothing {
            AttemptOutcome::NoChange
        } else if made == Made::Overload {
            AttemptOutcome::Infrastructure("overload".to_owned())
        } else {
            AttemptOutcome::Committed
        };
        let head = (outcome == AttemptOutcome::Committed).then(|| self.sha());
        let mut attempt = AttemptFacts::of(Attempt {
            id: AttemptId::new(self.facts.id(), n),
            n,
            base: base.clone(),
            head,
            patch_id: None,
            started: self.now,
            ended: Some(self.now),
            charged: made != Made::Overload,
            outcome: Some(outcome),
            failure_sig: None,
            agent: "recording".to_owned(),
            said: String::new(),
        });
        attempt.tree = Some(sha(900));
        self.facts.attempts.push(attempt);
        self.facts.last_attempt = n;
        self.facts.attempts_this_run += 1;
    }

    fn rebase(&mut self, onto: &Sha) {
        if self.conflicts {
            self.newest().attempt.outcome = Some(AttemptOutcome::Failed("conflict".to_owned()));
            return;
        }
        let head = self.sha();
        let attempt = self.newest();
        attempt.attempt.base = onto.clone();
        attempt.attempt.head = Some(head.clone());
        attempt.rebases += 1;
        attempt.guards = None;
        attempt.proof = None;
        (attempt.ci.witness, attempt.ci.red) = (None, false);
        attempt.audit = Some(audit(AuditVerdict::Approve, head));
    }
}
