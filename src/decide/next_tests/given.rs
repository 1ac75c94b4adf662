//! Plain values that the stories start from.

pub(super) use crate::decide::testing::{at, facts, pull};
use crate::{
    decide::{facts::Policy, testing},
    model::{
        Sha, Signature, Slot,
        evidence::{Audit, AuditVerdict, Counts, Finding, GuardReport, GuardVerdict, Proof, ProofGrade, Witness},
        incident::{FailureType, Triage, TriageVerdict},
        pull::{Review, ReviewState},
    },
};

pub(super) fn sha(n: u32) -> Sha {
    Sha::parse(&format!("{n:07x}{n:033x}")).unwrap()
}

pub(super) fn review(who: &str, may_write: bool, state: ReviewState, commit: &Sha) -> Review {
    Review {
        author: who.to_owned(),
        state,
        commit: Some(commit.clone()),
        body: String::new(),
        submitted_at: None,
        author_may_write: may_write,
    }
}

pub(super) fn triage(verdict: TriageVerdict) -> Triage {
    Triage {
        signature: Signature::parse("7f3a91c07f3a91c0").unwrap(),
        verdict,
        failure_type: FailureType::Runtime,
        repo: Slot::parse("shop").unwrap(),
        root_cause: String::new(),
        suspected_files: Vec::new(),
        confidence: 0.9,
        same_as: None,
    }
}

pub(super) fn policy() -> Policy {
    Policy {
        retries_per_run: 10,
        ..testing::policy()
    }
}

pub(super) fn guards(verdict: GuardVerdict) -> GuardReport {
    let finding = Finding {
        rule: "a-rule".to_owned(),
        verdict,
        path: "shop/discount.py".to_owned(),
        line: None,
        was: String::new(),
        is: String::new(),
        why: "a finding".to_owned(),
    };
    GuardReport {
        verdict,
        findings: if verdict == GuardVerdict::Accept {
            Vec::new()
        } else {
            vec![finding]
        },
        paths: vec!["shop/discount.py".to_owned()],
        added: 2,
        removed: 1,
    }
}

pub(super) fn proof(base: Sha, head: Sha, grade: ProofGrade) -> Proof {
    Proof {
        base,
        head,
        grade,
        witness: Witness::B,
        witness_ids: Vec::new(),
        red: String::new(),
        green_runs: 2,
        red_again: true,
        undone: Vec::new(),
        reached: None,
        for_person: None,
        base_counts: Counts::default(),
        head_counts: Counts::default(),
        commands: Vec::new(),
        source: Vec::new(),
        not_proven: Vec::new(),
        sandbox: "sandboxed".to_owned(),
        digest: String::new(),
    }
}

pub(super) fn audit(verdict: AuditVerdict, head: Sha) -> Audit {
    Audit {
        verdict,
        head,
        agent: "recording".to_owned(),
        reasons: vec!["because".to_owned()],
        sandbox: "sandboxed".to_owned(),
    }
}
