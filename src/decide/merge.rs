//! Whether a pull request of ours may be merged now. A [`MergeProof`] can be built only here, from reads of this very
//! iteration, and the merge call takes nothing else.

use serde::Serialize;

use super::{
    checks::{self, CheckSet},
    facts::{AttemptFacts, Facts, OurRevert, Policy, Seen},
};
use crate::model::{
    PullNumber, Sha,
    evidence::{AuditVerdict, GuardVerdict, ProofGrade},
    pull::{Pull, PullState, ReviewState, Rules, StopSigns},
};

/// Says that one head of one pull request may be merged. The fields are private: nobody else can make one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeProof {
    pull: PullNumber,
    head: Sha,
    base: Sha,
    /// Names of the blocking checks that were green.
    checks: Vec<String>,
}

impl MergeProof {
    pub fn pull(&self) -> PullNumber {
        self.pull
    }
    pub fn head(&self) -> &Sha {
        &self.head
    }
    /// The base that the tests ran on.
    pub fn base(&self) -> &Sha {
        &self.base
    }
    pub fn checks(&self) -> &[String] {
        &self.checks
    }
}

/// The same for the revert of our own merge, whose evidence is its tree and CI alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RevertProof {
    pull: PullNumber,
    head: Sha,
}

impl RevertProof {
    pub fn pull(&self) -> PullNumber {
        self.pull
    }
    pub fn head(&self) -> &Sha {
        &self.head
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum MergeVerdict<P = MergeProof> {
    Merge(P),
    /// The base moved since the tests ran: replay onto it.
    BaseMoved {
        onto: Sha,
    },
    ChecksFailed {
        head: Sha,
        checks: Vec<String>,
    },
    /// The repository's rules ask for a person's review: a normal state.
    AskReview(String),
    Wait(String),
    NeedsPerson(String),
}

/// What a merge is judged by; every field was read in this iteration or is bound to the head.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeFacts<'a> {
    pub stop: Option<&'a StopSigns>,
    pub frozen: Option<&'a str>,
    pub pull: Option<&'a Pull>,
    pub rules: Option<&'a Rules>,
    pub base_now: Option<&'a Sha>,
    pub attempt: &'a AttemptFacts,
    pub pushed: Option<&'a Sha>,
    pub checks: CheckSet,
    /// A person with write access stood in for the human part.
    pub approved_by_person: bool,
}

pub fn facts<'a>(facts: &'a Facts, seen: &'a Seen, policy: &Policy, attempt: &'a AttemptFacts) -> MergeFacts<'a> {
    let pushed = facts.pushed.as_ref();
    let checks = match (&seen.checks, &seen.rules, pushed) {
        (Some(checks), Some(rules), Some(pushed)) => {
            checks::check_set(checks, rules, policy.nonblocking.as_ref(), &policy.may_skip, pushed.at)
        }
        _ => CheckSet::Unknown("checks or rules were not read".to_owned()),
    };
    MergeFacts {
        stop: seen.stop.as_ref(),
        frozen: facts.frozen.as_deref(),
        pull: seen.pull.as_ref(),
        rules: seen.rules.as_ref(),
        base_now: seen.base.as_ref(),
        attempt,
        pushed: pushed.map(|p| &p.head),
        checks,
        approved_by_person: facts.approved.is_some(),
    }
}

/// Judges a merge. Anything that is unknown is not a yes.
pub fn judge(facts: &MergeFacts<'_>) -> MergeVerdict {
    let wait = |why: &str| MergeVerdict::Wait(why.to_owned());
    if let Some(why) = facts.frozen {
        return MergeVerdict::Wait(format!("merges are frozen: {why}"));
    }
    match facts.stop {
        Some(StopSigns::None) => {}
        Some(StopSigns::Stopped(_) | StopSigns::Unreadable(_)) | None => return wait("stopped"),
    }
    let (Some(pull), Some(rules), Some(base_now)) = (facts.pull, facts.rules, facts.base_now) else {
        return wait("the pull request, the rules or the base could not be read");
    };
    let Some(head) = bound_head(facts, pull) else {
        return wait("the head that was proven and audited is not the head of the pull request");
    };
    if let Some(verdict) = person(facts, pull, rules) {
        return verdict;
    }
    match &facts.checks {
        CheckSet::Failed(checks) => {
            return MergeVerdict::ChecksFailed {
                head: head.clone(),
                checks: checks.clone(),
            };
        }
        CheckSet::Pending(why) | CheckSet::Unknown(why) => return MergeVerdict::Wait(format!("CI moves next: {why}")),
        CheckSet::Success { .. } => {}
    }
    if *base_now != facts.attempt.attempt.base {
        return MergeVerdict::BaseMoved { onto: base_now.clone() };
    }
    let CheckSet::Success { names, .. } = &facts.checks else {
        return wait("the check set is not green");
    };
    MergeVerdict::Merge(MergeProof {
        pull: pull.number,
        head: head.clone(),
        base: base_now.clone(),
        checks: names.clone(),
    })
}

/// The one head that guards, proof and audit are all bound to, that we pushed, and that the PR shows now.
fn bound_head<'a>(facts: &MergeFacts<'a>, pull: &Pull) -> Option<&'a Sha> {
    let attempt = facts.attempt;
    let head = attempt.head()?;
    let guards = attempt.guards.as_ref()?;
    let proof = attempt.proof.as_ref()?;
    let audit = attempt.audit.as_ref()?;
    let guards_ok = match guards.verdict {
        GuardVerdict::Accept => true,
        GuardVerdict::NeedsHuman => facts.approved_by_person || approved_by_review(pull, head),
        GuardVerdict::Reject => false,
    };
    let proof_ok = match proof.grade {
        ProofGrade::Proven => true,
        ProofGrade::Unproven(_) => facts.approved_by_person || approved_by_review(pull, head),
        ProofGrade::NotRed(_) | ProofGrade::NotGreen(_) => false,
    };
    let bound = guards_ok
        && proof_ok
        && proof.head == *head
        && proof.base == attempt.attempt.base
        && audit.verdict == AuditVerdict::Approve
        && audit.head == *head
        && facts.pushed == Some(head)
        && pull.head_sha == *head
        && pull.state == PullState::Open;
    bound.then_some(head)
}

fn approved_by_review(pull: &Pull, head: &Sha) -> bool {
    pull.reviews
        .iter()
        .any(|r| r.state == ReviewState::Approved && r.author_may_write && r.commit.as_ref() == Some(head))
}

/// Where the repository asks for a person, or a person spoke.
fn person(facts: &MergeFacts<'_>, pull: &Pull, rules: &Rules) -> Option<MergeVerdict> {
    let wait = |why: String| Some(MergeVerdict::Wait(why));
    if pull.draft {
        return wait("the pull request is still a draft".to_owned());
    }
    if pull.mergeable_state == "dirty" {
        return facts.base_now.map(|onto| {
            if *onto == facts.attempt.attempt.base {
                MergeVerdict::Wait("the host reports a conflict".to_owned())
            } else {
                MergeVerdict::BaseMoved { onto: onto.clone() }
            }
        });
    }
    if let Some(review) = pull.reviews.iter().find(|r| r.state == ReviewState::ChangesRequested) {
        return wait(format!("{} requests changes; a person moves next", review.author));
    }
    let unsupported = [
        (rules.merge_queue, "the repository merges through a queue"),
        (rules.signed_commits, "the repository demands signed commits"),
        (!rules.squash_allowed, "the repository does not allow squash merges"),
        (
            !rules.required_deployments.is_empty(),
            "the repository demands a deployment first",
        ),
    ];
    if let Some((_, why)) = unsupported.iter().find(|(holds, _)| *holds) {
        return Some(MergeVerdict::NeedsPerson((*why).to_owned()));
    }
    let approvals = pull
        .reviews
        .iter()
        .filter(|r| r.state == ReviewState::Approved && r.author_may_write && r.commit.as_ref() == facts.attempt.head())
        .count();
    let wanted = rules.required_approvals.max(u32::from(rules.code_owner_review));
    if u32::try_from(approvals).unwrap_or(u32::MAX) < wanted {
        return Some(MergeVerdict::AskReview(format!(
            "the repository asks for {wanted} approving review{}",
            if wanted == 1 { "" } else { "s" }
        )));
    }
    None
}

/// What a revert is judged by.
#[derive(Debug, Clone)]
pub struct RevertFacts<'a> {
    pub revert: &'a OurRevert,
    pub stop: Option<&'a StopSigns>,
    pub pull: &'a Pull,
    pub rules: Option<&'a Rules>,
    pub checks: CheckSet,
}

pub fn revert_facts<'a>(
    _facts: &'a Facts,
    revert: &'a OurRevert,
    seen: &'a Seen,
    policy: &Policy,
    pull: &'a Pull,
) -> RevertFacts<'a> {
    let checks = match (&seen.checks, &seen.rules, revert.pushed) {
        (Some(checks), Some(rules), Some(at)) => {
            checks::check_set(checks, rules, policy.nonblocking.as_ref(), &policy.may_skip, at)
        }
        _ => CheckSet::Unknown("checks or rules were not read".to_owned()),
    };
    RevertFacts {
        revert,
        stop: seen.stop.as_ref(),
        pull,
        rules: seen.rules.as_ref(),
        checks,
    }
}

/// Judges the merge of a revert: its tree was shown safe when it was made; the check set must be green.
pub fn judge_revert(facts: &RevertFacts<'_>) -> MergeVerdict<RevertProof> {
    match facts.stop {
        Some(StopSigns::None) => {}
        Some(StopSigns::Stopped(_) | StopSigns::Unreadable(_)) | None => {
            return MergeVerdict::Wait("stopped".to_owned());
        }
    }
    let Some(head) = &facts.revert.head else {
        return MergeVerdict::Wait("there is no revert commit".to_owned());
    };
    if facts.pull.state == PullState::Closed {
        return MergeVerdict::NeedsPerson("a person closed the revert of our merge".to_owned());
    }
    if facts.pull.head_sha != *head || !facts.revert.safe {
        return MergeVerdict::NeedsPerson("the head of the revert is not the one we made".to_owned());
    }
    match &facts.checks {
        CheckSet::Failed(checks) => MergeVerdict::ChecksFailed {
            head: head.clone(),
            checks: checks.clone(),
        },
        CheckSet::Pending(why) | CheckSet::Unknown(why) => MergeVerdict::Wait(format!("CI moves next: {why}")),
        CheckSet::Success { .. } => {
            let wanted = facts
                .rules
                .map_or(1, |r| r.required_approvals.max(u32::from(r.code_owner_review)));
            let approvals = facts
                .pull
                .reviews
                .iter()
                .filter(|r| r.state == ReviewState::Approved && r.author_may_write && r.commit.as_ref() == Some(head))
                .count();
            if u32::try_from(approvals).unwrap_or(u32::MAX) < wanted {
                return MergeVerdict::AskReview("the repository asks for a review of the revert".to_owned());
            }
            MergeVerdict::Merge(RevertProof {
                pull: facts.pull.number,
                head: head.clone(),
            })
        }
    }
}
