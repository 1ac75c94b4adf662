//! May this head be merged now? The only place that builds a [`MergeProof`], from reads of this very iteration. What
//! is missing, unreadable or about another commit is never taken for a yes.

use serde::{Deserialize, Serialize};

use super::checks::CheckSet;
use crate::model::{
    Mode, PullNumber, Sha,
    evidence::{Audit, AuditVerdict, GuardVerdict, Proof, ProofGrade, Witness},
    pull::{Pull, PullState, ReviewState, Rules, StopSigns},
};

/// A verdict about one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound<V> {
    pub head: Sha,
    pub verdict: V,
}

/// What speaks for the head. When a patch was replayed unchanged onto a moved base, the caller records the audit that
/// stands under the new head.
#[derive(Debug, Clone)]
pub enum Evidence<'a> {
    Fix {
        guards: Option<Bound<GuardVerdict>>,
        proof: Option<&'a Proof>,
        audit: Option<&'a Audit>,
    },
    /// Taking our own merge back.
    Revert { restores: Option<Bound<Restores>> },
}

/// What is known of the tree of a revert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restores {
    /// It is the tree from before the merge.
    SameTree,
    /// Later commits stand; the revert applied cleanly and the test commands pass.
    AppliedAndPasses,
    No,
}

impl Restores {
    pub const fn words(self) -> &'static str {
        match self {
            Self::SameTree => "the tree is the one before the merge",
            Self::AppliedAndPasses => "later commits stand, and the tests pass",
            Self::No => "it does not restore what was there",
        }
    }
}

#[derive(Debug, Clone)]
pub struct MergeFacts<'a> {
    pub mode: Mode,
    /// Read right before this decision.
    pub pull: &'a Pull,
    /// The branch that may receive it.
    pub base_branch: &'a str,
    /// What this program pushed last.
    pub our_head: &'a Sha,
    pub tested_base: &'a Sha,
    /// None when it could not be read.
    pub base_now: Option<&'a Sha>,
    /// The tree that must stand on the base after a squash onto `tested_base`.
    pub landing_tree: &'a Sha,
    pub evidence: Evidence<'a>,
    /// With the head they were read for.
    pub checks: Bound<CheckSet>,
    pub rules: &'a Rules,
    /// Open review threads; only needed where the rules ask for resolution.
    pub unresolved_threads: Option<u32>,
    pub stop: &'a StopSigns,
    /// Why merges are frozen.
    pub frozen: Option<&'a str>,
    /// The head for which somebody said `tick approve`.
    pub approved: Option<&'a Sha>,
}

/// All of it holds for one head. The merge call takes its arguments from here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeProof {
    pull: PullNumber,
    head: Sha,
    base: Sha,
    base_branch: String,
    tree: Sha,
}

impl MergeProof {
    pub fn pull(&self) -> PullNumber {
        self.pull
    }

    /// Sent with the merge, so that the host refuses another one.
    pub fn head(&self) -> &Sha {
        &self.head
    }

    /// The parent the landed commit should have.
    pub fn base(&self) -> &Sha {
        &self.base
    }

    pub fn base_branch(&self) -> &str {
        &self.base_branch
    }

    /// The tree the landed commit should have.
    pub fn tree(&self) -> &Sha {
        &self.tree
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeVerdict {
    Merge(MergeProof),
    /// Normal waiting: who moves next, and why.
    Wait {
        on: WaitsOn,
        why: String,
    },
    /// Becomes a person's.
    NeedsPerson(String),
    /// This head is never merged.
    Drop(String),
    /// Evidence is missing, or is about another head or base: gather it again.
    StartOver(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsOn {
    Person,
    Ci,
    /// The host could not be read; the next tick looks again.
    Host,
    /// Nothing else is missing, but it is a draft: mark it ready.
    Ready,
}

/// Stops outrank everything; then whose head it is, what speaks for it, CI, and what the repository asks for.
pub fn judge(facts: &MergeFacts<'_>) -> MergeVerdict {
    let steps = [
        still_open,
        not_stopped,
        ours,
        evidence_holds,
        base_stands,
        ci_says_yes,
        may_merge,
        is_ready,
        rules_are_met,
    ];
    for step in steps {
        if let Err(verdict) = step(facts) {
            return verdict;
        }
    }
    MergeVerdict::Merge(MergeProof {
        pull: facts.pull.number,
        head: facts.our_head.clone(),
        base: facts.tested_base.clone(),
        base_branch: facts.base_branch.to_owned(),
        tree: facts.landing_tree.clone(),
    })
}

type Step = Result<(), MergeVerdict>;

fn wait(on: WaitsOn, why: impl Into<String>) -> Step {
    Err(MergeVerdict::Wait { on, why: why.into() })
}

fn start_over(why: impl Into<String>) -> Step {
    Err(MergeVerdict::StartOver(why.into()))
}

fn needs_person(why: impl Into<String>) -> Step {
    Err(MergeVerdict::NeedsPerson(why.into()))
}

fn drop_it(why: impl Into<String>) -> Step {
    Err(MergeVerdict::Drop(why.into()))
}

fn still_open(facts: &MergeFacts<'_>) -> Step {
    match facts.pull.state {
        PullState::Open => Ok(()),
        PullState::Closed => drop_it("the pull request is closed"),
        PullState::Merged => drop_it("the pull request is merged already"),
    }
}

fn not_stopped(facts: &MergeFacts<'_>) -> Step {
    match facts.stop {
        StopSigns::None => {}
        StopSigns::Stopped(signs) => {
            let named: Vec<&str> = signs.iter().map(|s| s.what.as_str()).collect();
            return wait(WaitsOn::Person, format!("stopped: {}", named.join(", ")));
        }
        StopSigns::Unreadable(why) => return wait(WaitsOn::Host, format!("stop signs could not be read: {why}")),
    }
    // The same label as this very read of the pull request shows it: it may be newer than the signs.
    if facts.pull.labels.iter().any(|l| l.eq_ignore_ascii_case("tick:stop")) {
        return wait(
            WaitsOn::Person,
            format!("stopped: label tick:stop on {}", facts.pull.number),
        );
    }
    match facts.frozen {
        None => Ok(()),
        Some(why) => wait(WaitsOn::Person, format!("merges are frozen: {why}")),
    }
}

fn ours(facts: &MergeFacts<'_>) -> Step {
    if &facts.pull.head_sha != facts.our_head {
        return needs_person(format!(
            "somebody pushed {} to the branch, so it is theirs now",
            facts.pull.head_sha.short()
        ));
    }
    if facts.pull.base_ref != facts.base_branch {
        return needs_person("somebody pointed the pull request at another base branch");
    }
    Ok(())
}

fn evidence_holds(facts: &MergeFacts<'_>) -> Step {
    match &facts.evidence {
        Evidence::Fix { guards, proof, audit } => {
            guards_accept(facts, guards.as_ref())?;
            proof_holds(facts, *proof)?;
            audit_approves(facts, *audit)
        }
        Evidence::Revert { restores: None } => start_over("the revert was not checked yet"),
        Evidence::Revert { restores: Some(found) } => {
            same_head("the revert was checked", &found.head, facts)?;
            match found.verdict {
                Restores::SameTree | Restores::AppliedAndPasses => Ok(()),
                Restores::No => needs_person("the revert does not restore what was there before"),
            }
        }
    }
}

fn same_head(what: &str, head: &Sha, facts: &MergeFacts<'_>) -> Step {
    if head == facts.our_head {
        return Ok(());
    }
    start_over(format!(
        "{what} at {}, the head is {}",
        head.short(),
        facts.our_head.short()
    ))
}

fn guards_accept(facts: &MergeFacts<'_>, guards: Option<&Bound<GuardVerdict>>) -> Step {
    let Some(guards) = guards else {
        return start_over("the guards have not judged this head");
    };
    same_head("the guards judged", &guards.head, facts)?;
    match guards.verdict {
        GuardVerdict::Accept => Ok(()),
        GuardVerdict::NeedsHuman if person_approves(facts) => Ok(()),
        GuardVerdict::NeedsHuman => needs_person("the guards ask for a person"),
        GuardVerdict::Reject => drop_it("the guards reject it"),
    }
}

fn proof_holds(facts: &MergeFacts<'_>, proof: Option<&Proof>) -> Step {
    let Some(proof) = proof else {
        return start_over("nothing is proven about this head");
    };
    same_head("the proof was made", &proof.head, facts)?;
    if &proof.base != facts.tested_base {
        return start_over(format!(
            "the proof was made on base {}, tested was {}",
            proof.base.short(),
            facts.tested_base.short()
        ));
    }
    let approved = person_approves(facts);
    match (&proof.grade, proof.witness) {
        (ProofGrade::Proven, Witness::A | Witness::B) => match &proof.for_person {
            Some(why) if !approved => needs_person(why.clone()),
            Some(_) | None => Ok(()),
        },
        (ProofGrade::Proven, Witness::C) | (ProofGrade::Unproven(_), Witness::A | Witness::B | Witness::C)
            if approved =>
        {
            Ok(())
        }
        (ProofGrade::Proven, Witness::C) => needs_person("no test shows the failure"),
        (ProofGrade::Unproven(why), Witness::A | Witness::B | Witness::C) => needs_person(format!("unproven: {why}")),
        (ProofGrade::NotRed(why), Witness::A | Witness::B | Witness::C) => {
            drop_it(format!("the test is not red: {why}"))
        }
        (ProofGrade::NotGreen(why), Witness::A | Witness::B | Witness::C) => {
            drop_it(format!("the head does not pass: {why}"))
        }
    }
}

fn audit_approves(facts: &MergeFacts<'_>, audit: Option<&Audit>) -> Step {
    let Some(audit) = audit else {
        return start_over("nobody has audited this head");
    };
    same_head("the audit was made", &audit.head, facts)?;
    match audit.verdict {
        AuditVerdict::Approve => Ok(()),
        AuditVerdict::Revise => start_over("the auditor asks for a revision"),
        AuditVerdict::Reject => drop_it("the auditor rejects it"),
    }
}

/// `tick approve`, or an approving review of somebody with write access, for this very head.
fn person_approves(facts: &MergeFacts<'_>) -> bool {
    facts.approved == Some(facts.our_head) || approvals(facts) > 0
}

fn approvals(facts: &MergeFacts<'_>) -> usize {
    let counts = |r: &&crate::model::pull::Review| {
        r.state == ReviewState::Approved && r.author_may_write && r.commit.as_ref() == Some(facts.our_head)
    };
    facts.pull.reviews.iter().filter(counts).count()
}

fn base_stands(facts: &MergeFacts<'_>) -> Step {
    let Some(now) = facts.base_now else {
        return wait(WaitsOn::Host, "the base branch could not be read");
    };
    if now != facts.tested_base {
        return start_over(format!(
            "the base moved from {} to {}",
            facts.tested_base.short(),
            now.short()
        ));
    }
    // The one state, beside `draft`, in which the host's own view decides.
    if facts.pull.mergeable_state == "dirty" {
        return start_over("the host sees a conflict with the base");
    }
    Ok(())
}

fn ci_says_yes(facts: &MergeFacts<'_>) -> Step {
    same_head("the checks were read", &facts.checks.head, facts)?;
    match &facts.checks.verdict {
        CheckSet::Success { names: _, ignored: _ } => Ok(()),
        CheckSet::Pending(why) => wait(WaitsOn::Ci, why.clone()),
        CheckSet::Failed(names) => drop_it(format!("CI says no: {}", names.join(", "))),
        CheckSet::Unknown(why) => wait(WaitsOn::Person, format!("CI can not be judged: {why}")),
    }
}

fn may_merge(facts: &MergeFacts<'_>) -> Step {
    match facts.mode {
        Mode::Active => Ok(()),
        Mode::Observe | Mode::Diagnose | Mode::MonitorOnly => wait(
            WaitsOn::Person,
            "tick does not merge in this mode; a person merges or closes it",
        ),
    }
}

fn is_ready(facts: &MergeFacts<'_>) -> Step {
    if !facts.rules.squash_allowed {
        return needs_person("the repository does not allow squash merges");
    }
    if facts.pull.draft || facts.pull.mergeable_state == "draft" {
        return wait(WaitsOn::Ready, "it is a draft");
    }
    Ok(())
}

/// Where the repository asks for a person, waiting for one is normal.
fn rules_are_met(facts: &MergeFacts<'_>) -> Step {
    let rules = facts.rules;
    if let Some(part) = &rules.unread {
        return wait(WaitsOn::Person, format!("could not read {part}; a person merges"));
    }
    let objector = facts
        .pull
        .reviews
        .iter()
        .find(|r| r.state == ReviewState::ChangesRequested);
    if let Some(review) = objector {
        return wait(WaitsOn::Person, format!("{} asked for changes", review.author));
    }
    let (have, want) = (
        approvals(facts),
        rules.required_approvals.max(u32::from(rules.code_owner_review)),
    );
    if u32::try_from(have).unwrap_or(u32::MAX) < want {
        let who = if rules.code_owner_review {
            " of a code owner"
        } else {
            ""
        };
        return wait(
            WaitsOn::Person,
            format!("a review{who} is required at this commit ({have} of {want})"),
        );
    }
    // Who owns which file is the host's knowledge. Where it still calls the pull request blocked, the approval that is
    // there need not be an owner's; a token that may pass by the rules would merge it all the same.
    if rules.code_owner_review && facts.pull.mergeable_state == "blocked" {
        return wait(
            WaitsOn::Person,
            "the host calls it blocked: the approval of a code owner may be missing",
        );
    }
    if rules.conversation_resolution {
        match facts.unresolved_threads {
            None => return wait(WaitsOn::Host, "review threads could not be read"),
            Some(0) => {}
            Some(n) => return wait(WaitsOn::Person, format!("{n} review threads are not resolved")),
        }
    }
    if rules.merge_queue {
        return wait(
            WaitsOn::Person,
            "the repository merges through a queue; a person puts it there",
        );
    }
    if !rules.required_deployments.is_empty() {
        let names = rules.required_deployments.join(", ");
        return wait(
            WaitsOn::Person,
            format!("a deployment is required first ({names}); a person merges"),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
