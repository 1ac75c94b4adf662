//! What a decision looks at: facts from the store, what this iteration read outside, and the policy. Plain data;
//! the little behaviour here derives one fact from another.

mod cause;
mod ci;
mod culprit;
pub mod keys;
mod landed;
pub(super) mod serial;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use self::{
    cause::{Cause, FLAPS},
    ci::{ByCi, CiWitness, Rerun, RerunEnd, Witnessed},
    culprit::{Culprit, REVERT},
    landed::{Landed, Landing},
};
use super::merge::Restores;
pub use crate::model::report::Status;
use crate::model::{
    IncidentId, Mode, PullNumber, Sha, Signature,
    checks::{Checks, RunSeen},
    evidence::{Audit, AuditVerdict, Finding, GuardReport, GuardVerdict, Proof, ProofGrade},
    incident::{Attempt, AttemptOutcome, FailureType, Incident, Triage},
    pull::{CommitInfo, Pull, Rules, StopSigns},
};

/// Everything the store knows about one incident. Stage is a function of this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub incident: Incident,
    pub cause: Cause,
    /// The newest release in which the cause was seen.
    pub failed_release: Option<Sha>,
    pub triage: Option<Triage>,
    /// Triage calls that gave no usable answer.
    pub triage_failures: u32,
    pub triage_unavailable: Unavailable,
    /// Number of the newest attempt ever, also before a retry.
    pub last_attempt: u32,
    /// Since the last `tick retry`, oldest first.
    pub attempts: Vec<AttemptFacts>,
    /// The head that our branch was last pushed to.
    pub pushed: Option<Pushed>,
    /// The witness that stands on a branch of its own for CI.
    #[serde(default)]
    pub witness: Option<Witnessed>,
    #[serde(default)]
    pub rerun: Rerun,
    /// What the tests around the suspected commit showed.
    #[serde(default)]
    pub culprit: Option<Culprit>,
    /// Heads that it was pushed to before: a host that lags may still show one of them.
    pub pushed_before: BTreeSet<Sha>,
    pub pull: Option<OurPull>,
    /// Pull requests that a person closed before they said `tick retry`: none of them is ours to go on with.
    pub past_pulls: BTreeSet<PullNumber>,
    pub merge: Option<OurMerge>,
    pub revert: Option<OurRevert>,
    /// Messages that were sent (or, for a lost answer, taken as sent).
    pub told: BTreeSet<Status>,
    /// Other effects that are done, by key.
    pub done: BTreeSet<String>,
    /// Effects that were begun and whose outcome is not recorded, by key.
    pub begun: BTreeSet<String>,
    /// Effects that the outside said no to for certain, by key, with its words.
    pub refused: BTreeMap<String, String>,
    /// What the outside does not let through, since the last `tick retry`, by [`super::next::hindered_key`].
    pub hindered: BTreeMap<String, Hindered>,
    /// A person's `tick approve`: who, and for which head.
    pub approved: Option<Approved>,
    /// Local `tick pause`: what it says.
    pub paused: Option<String>,
    /// Merges are frozen since a host fault: why.
    pub frozen: Option<String>,
    pub spent_usd: Spend,
    /// Fixes of this failure class in this repo: merged, and taken back.
    pub record: ClassRecord,
    /// The release that serves is a merge of ours.
    pub ours_serves: bool,
    /// Open PRs of ours in this repo, this incident's own not counted.
    pub other_open_pulls: u32,
    /// Agent attempts made in this process, over all incidents.
    pub attempts_this_run: u32,
    /// Last look at the source that reported the cause which was read in full.
    pub source_ok_at: Option<DateTime<Utc>>,
    /// Rates and probes since the merge went live, for the observation.
    pub watch: Option<Watch>,
    /// The same about a release that is not ours, for a cause that somebody else may have mended.
    pub elsewhere: Option<Elsewhere>,
}

/// An action that the outside did not let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hindered {
    pub times: u32,
    /// It will say no again until a person changes something.
    pub denied: bool,
    /// Of the last time, in the outside's words where it had any.
    pub why: String,
    pub last: DateTime<Utc>,
}

/// What was seen since a release began to serve in which the cause was never seen before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Elsewhere {
    pub release: Sha,
    pub live_at: DateTime<Utc>,
    pub watch: Watch,
}

/// One attempt with what was computed about its current head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptFacts {
    pub attempt: Attempt,
    /// Tree of its head: what has to land on its base.
    pub tree: Option<Sha>,
    /// What held its agent: `sandboxed`, or `not sandboxed: …`.
    pub sandbox: String,
    /// Times its head was replayed onto a moved base.
    pub rebases: u32,
    pub guards: Option<GuardReport>,
    pub proof: Option<Proof>,
    pub audit: Option<Audit>,
    /// Audit calls on this head that gave no usable answer.
    pub audit_failures: u32,
    pub audit_unavailable: Unavailable,
    /// Blocking checks that failed on its pushed head.
    #[serde(default)]
    pub ci: ByCi,
    pub ci_failed: Option<Vec<String>>,
    /// The commit that it takes back.
    #[serde(default)]
    pub takes_back: Option<Culprit>,
}

/// Runs that an agent could not make: overloaded, out of quota, not logged in, hung. They say nothing about the cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    pub times: u32,
    /// When the newest of them ended, and what it ended with.
    pub last: Option<(DateTime<Utc>, String)>,
}

/// Why an attempt is over without a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    NoHead(String),
    Guards(String),
    Proof(String),
    Audit(String),
    Revise(String),
    Ci(String),
}

impl Failure {
    pub fn sentence(&self) -> &str {
        match self {
            Self::NoHead(why)
            | Self::Guards(why)
            | Self::Proof(why)
            | Self::Audit(why)
            | Self::Revise(why)
            | Self::Ci(why) => why,
        }
    }
}

impl AttemptFacts {
    /// An attempt about whose head nothing is known yet.
    pub fn of(attempt: Attempt) -> Self {
        Self {
            attempt,
            tree: None,
            sandbox: String::new(),
            rebases: 0,
            guards: None,
            proof: None,
            audit: None,
            audit_failures: 0,
            audit_unavailable: Unavailable::default(),
            ci: ByCi::default(),
            ci_failed: None,
            takes_back: None,
        }
    }

    pub fn head(&self) -> Option<&Sha> {
        self.attempt.head.as_ref()
    }

    /// A head that a person pushed and asked to be judged: nobody's budget pays for it.
    pub fn is_a_persons(&self) -> bool {
        self.attempt.outcome == Some(AttemptOutcome::Committed) && !self.attempt.charged
    }

    /// Made by no agent, so no agent's budget pays for it.
    pub fn is_a_revert(&self) -> bool {
        self.attempt.agent == REVERT
    }

    /// The first thing that ended this attempt, in the order in which evidence is gathered.
    pub fn failure(&self) -> Option<Failure> {
        match &self.attempt.outcome {
            None | Some(AttemptOutcome::Committed) => {}
            Some(AttemptOutcome::NoChange) => return Some(Failure::NoHead("the agent changed nothing".to_owned())),
            Some(
                AttemptOutcome::CannotFix(why)
                | AttemptOutcome::Refused(why)
                | AttemptOutcome::Infrastructure(why)
                | AttemptOutcome::Failed(why)
                | AttemptOutcome::Interrupted(why),
            ) => return Some(Failure::NoHead(why.clone())),
        }
        if let Some(guards) = &self.guards
            && guards.verdict == GuardVerdict::Reject
        {
            return Some(Failure::Guards(refusal(guards)));
        }
        if let Some(proof) = &self.proof {
            match &proof.grade {
                ProofGrade::NotRed(why) | ProofGrade::NotGreen(why) => return Some(Failure::Proof(why.clone())),
                ProofGrade::Proven | ProofGrade::Unproven(_) => {}
            }
        }
        if let Some(audit) = &self.audit {
            match audit.verdict {
                AuditVerdict::Approve => {}
                AuditVerdict::Revise => return Some(Failure::Revise(audit.reasons.join("; "))),
                AuditVerdict::Reject => return Some(Failure::Audit(audit.reasons.join("; "))),
            }
        }
        self.ci_failed
            .as_ref()
            .map(|names| Failure::Ci(format!("CI failed: {}", names.join(", "))))
    }

    /// Why only a person may merge this head, if so.
    pub fn needs_person(&self) -> Option<String> {
        if self.takes_back.as_ref().is_some_and(|culprit| !culprit.ours) {
            return Some("it takes back a commit of a person's".to_owned());
        }
        if let Some(guards) = &self.guards
            && guards.verdict == GuardVerdict::NeedsHuman
        {
            let finding = guards.findings.iter().find(|f| f.verdict == GuardVerdict::NeedsHuman);
            return Some(finding.map_or_else(|| "the guards ask for a person".to_owned(), Finding::sentence));
        }
        match &self.proof.as_ref()?.grade {
            ProofGrade::Unproven(why) => Some(format!("not proven: {why}")),
            ProofGrade::Proven => self.proof.as_ref().and_then(|proof| proof.for_person.clone()),
            ProofGrade::NotRed(_) | ProofGrade::NotGreen(_) => None,
        }
    }
}

/// What the guards refused: the first finding in full, and how many more there are.
fn refusal(guards: &GuardReport) -> String {
    let mut refusing = guards.findings.iter().filter(|f| f.verdict == GuardVerdict::Reject);
    let Some(first) = refusing.next() else {
        return "refused by the guards".to_owned();
    };
    let more = match refusing.count() {
        0 => String::new(),
        1 => " (and one finding more)".to_owned(),
        n => format!(" (and {n} findings more)"),
    };
    format!("{} in {}{more}", first.rule, first.sentence())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    pub by: String,
    pub head: Sha,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    pub head: Sha,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurPull {
    pub number: PullNumber,
    pub url: String,
    pub draft: bool,
}

/// A merge of our PR, by us or by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurMerge {
    pub sha: Sha,
    pub head: Sha,
    pub at: DateTime<Utc>,
    /// The person who merged it, when it was not us.
    pub by: Option<String>,
    pub landed: Option<Landed>,
    /// The test commands on the landed commit, run when its parent is not the tested base.
    pub landed_tests: Option<bool>,
    /// When the release that carries it began to serve.
    pub live_at: Option<DateTime<Utc>>,
    /// The verdict of the observation, once recorded.
    pub observed: Option<String>,
}

/// Taking our own merge back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurRevert {
    pub why: String,
    pub note: bool,
    /// The revert commit and what makes it safe to merge; none when it conflicts.
    pub head: Option<Sha>,
    /// Heads that it had on earlier bases, oldest first.
    pub earlier: Vec<Sha>,
    pub base: Option<Sha>,
    pub tree: Option<Sha>,
    pub restores: Restores,
    /// The default branch holds nothing of the merge any more: a person took it back.
    pub gone: bool,
    /// When this head was pushed.
    pub pushed: Option<DateTime<Utc>>,
    pub pull: Option<PullNumber>,
    pub merged: Option<Sha>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    pub incident: f64,
    pub day: f64,
    pub month: f64,
    pub day_runs: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRecord {
    pub merged: u32,
    pub taken_back: u32,
}

/// What was seen since the release with our merge began to serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Events an hour before the merge.
    pub rate_before: f64,
    /// Events of the cause by the new release.
    pub seen: u64,
    /// Looks that saw it there.
    pub samples: u32,
    /// Requests served since then, where a source tells it.
    pub requests: Option<u64>,
    /// The last look at the source that was read in full; blindness is not quiet.
    pub looked_until: DateTime<Utc>,
    pub others: Vec<OtherRate>,
    /// A probe that was up before the merge is down in this many samples in a row.
    pub probe_down_samples: u32,
    /// A probe of the repo is down, since whenever.
    pub probe_down: bool,
}

/// Another error signature of the same repo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherRate {
    pub signature: Signature,
    pub rate_before: f64,
    pub seen: u64,
    /// Not known before the merge.
    pub new: bool,
    /// Its first frame is in a file of our diff.
    pub in_our_diff: bool,
    /// Samples in a row in which it was seen.
    pub samples: u32,
}

/// The outside reads that a stage wants. Nothing else is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each read is wanted or not, independently")]
pub struct Need {
    pub stop: bool,
    pub rules: bool,
    pub base: bool,
    pub pull: bool,
    /// Checks of our pushed head, or of the revert's.
    pub checks: bool,
    /// Checks of the commit that a proof by CI waits for.
    pub ci: bool,
    /// The run whose failed jobs run again.
    #[serde(default)]
    pub rerun: bool,
    /// Whether the default branch holds the release that failed.
    pub failed_release: bool,
    /// The commit that the merge made.
    pub landed: bool,
    pub revert_pull: bool,
}

/// What this very iteration read outside. A read that was not wanted is none; one that failed is in `unreadable`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub stop: Option<StopSigns>,
    pub rules: Option<Rules>,
    /// Head of the default branch.
    pub base: Option<Sha>,
    /// The release that failed, where the default branch holds it.
    pub failed_release: Option<Sha>,
    pub pull: Option<Pull>,
    pub checks: Option<Checks>,
    #[serde(default)]
    pub rerun: Option<RunSeen>,
    pub landed: Option<CommitInfo>,
    /// The host knows no commit by the name that it gave to our merge.
    pub landed_missing: bool,
    pub revert_pull: Option<Pull>,
    /// The branch that may receive a merge.
    pub base_branch: Option<String>,
    /// Open review threads, where the rules ask for their resolution.
    pub threads: Option<u32>,
    pub unreadable: Vec<String>,
}

/// The owner's settings as far as decisions need them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a leave of the owner's, independently"
)]
pub struct Policy {
    /// The highest rung the repo is allowed and equipped for.
    pub rung: Mode,
    /// What keeps it from the configured rung, for every report.
    pub missing: Vec<String>,
    pub usd_per_incident: f64,
    pub usd_per_day: f64,
    pub usd_per_month: f64,
    /// Worst case of one agent run.
    pub usd_per_run: f64,
    pub agent_runs_per_day: u32,
    pub retries_per_run: u32,
    pub open_pulls_per_repo: u32,
    pub rollback_own: bool,
    #[serde(with = "serial::seconds")]
    pub observe_min: chrono::TimeDelta,
    pub may_skip: Vec<String>,
    #[serde(with = "serial::pattern")]
    pub nonblocking: Option<regex::Regex>,
    /// The repo's release can be read (a probe tells its SHA).
    pub release_known: bool,
    /// CI computes the proof.
    #[serde(default)]
    pub by_ci: bool,
    /// Failed jobs of CI may be run once more.
    #[serde(default)]
    pub reruns: bool,
}

impl Facts {
    pub fn id(&self) -> &IncidentId {
        &self.incident.id
    }

    pub fn current(&self) -> Option<&AttemptFacts> {
        self.attempts.last()
    }

    /// The commit whose runs a proof by CI waits for.
    pub fn awaited_by_ci(&self) -> Option<Sha> {
        super::next::awaited_by_ci(self)
    }

    pub fn failure_type(&self) -> FailureType {
        self.triage.as_ref().map_or(FailureType::Runtime, |t| t.failure_type)
    }
}
