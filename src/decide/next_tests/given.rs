//! Plain values that the stories start from.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    decide::facts::{Cause, ClassRecord, Facts, Policy, Spend, Unavailable},
    model::{
        IncidentId, Mode, PullNumber, Sha, Signature, Slot,
        evidence::{Audit, AuditVerdict, Counts, Finding, GuardReport, GuardVerdict, Proof, ProofGrade, Witness},
        incident::{FailureType, Incident, Triage, TriageVerdict},
        pull::{Pull, PullState, Review, ReviewState},
        signal::{Severity, SignalKind},
    },
};

pub(super) fn at(minutes: i64) -> DateTime<Utc> {
    let start = DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z").unwrap();
    start.to_utc() + TimeDelta::minutes(minutes)
}

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

pub(super) fn facts(id: IncidentId) -> Facts {
    Facts {
        cause: Cause {
            signature: id.signature(),
            title: "ZeroDivisionError: division by zero".to_owned(),
            label: "bug".to_owned(),
            kind: SignalKind::Exception,
            severity: Severity::Error,
            culprit: None,
            first_seen: at(-60),
            last_seen: at(-1),
            count: 60,
            release: None,
            ignored_until: None,
            quiet_looks: 0,
        },
        incident: Incident {
            id,
            repo: Slot::parse("shop").unwrap(),
            opened_at: at(0),
            due_at: Some(at(0)),
            closed_at: None,
            outcome: None,
        },
        triage: None,
        triage_failures: 0,
        triage_unavailable: Unavailable::default(),
        last_attempt: 0,
        attempts: Vec::new(),
        pushed: None,
        pushed_before: BTreeSet::new(),
        past_pulls: BTreeSet::new(),
        pull: None,
        merge: None,
        revert: None,
        told: BTreeSet::new(),
        done: BTreeSet::new(),
        begun: BTreeSet::new(),
        refused: std::collections::BTreeMap::new(),
        hindered: std::collections::BTreeMap::new(),
        approved: None,
        paused: None,
        frozen: None,
        spent_usd: Spend::default(),
        record: ClassRecord::default(),
        ours_serves: false,
        other_open_pulls: 0,
        attempts_this_run: 0,
        source_ok_at: None,
        watch: None,
        elsewhere: None,
    }
}

pub(super) fn policy() -> Policy {
    Policy {
        rung: Mode::Active,
        missing: Vec::new(),
        usd_per_incident: 5.0,
        usd_per_day: 20.0,
        usd_per_month: 200.0,
        usd_per_run: 1.0,
        agent_runs_per_day: 50,
        retries_per_run: 10,
        open_pulls_per_repo: 2,
        rollback_own: true,
        observe_min: TimeDelta::minutes(30),
        may_skip: Vec::new(),
        nonblocking: None,
        release_known: true,
    }
}

pub(super) fn pull(number: u64, head: Sha, draft: bool) -> Pull {
    Pull {
        number: PullNumber(number),
        node_id: String::new(),
        url: String::new(),
        state: PullState::Open,
        draft,
        title: String::new(),
        body: String::new(),
        head_ref: String::new(),
        head_sha: head,
        base_ref: "main".to_owned(),
        labels: Vec::new(),
        mergeable_state: "clean".to_owned(),
        merge_sha: None,
        closed_by: None,
        author: "tick-bot".to_owned(),
        reviews: Vec::new(),
        requested_reviewers: Vec::new(),
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
        by_assertion: true,
        green_runs: 2,
        red_again: true,
        base_counts: Counts::default(),
        head_counts: Counts::default(),
        commands: Vec::new(),
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
