//! Facts that the tables and stories of this folder start from.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};

use super::facts::{AttemptFacts, Cause, ClassRecord, Facts, OurPull, Policy, Pushed, Rerun, Spend, Unavailable};
use crate::model::{
    AttemptId, IncidentId, Mode, PullNumber, Sha, Signature, Slot,
    incident::{Attempt, AttemptOutcome, Incident},
    pull::{Pull, PullState},
    signal::{Severity, SignalKind},
};

pub(super) fn at(minutes: i64) -> DateTime<Utc> {
    let start = DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z").unwrap();
    start.to_utc() + TimeDelta::minutes(minutes)
}

/// A commit id of one repeated digit.
pub(super) fn id(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

pub(super) fn incident_id() -> IncidentId {
    IncidentId::new(&Signature::parse("7f3a91c07f3a91c0").unwrap(), 1)
}

/// An incident that was just opened, and nothing else.
pub(super) fn facts(id: IncidentId) -> Facts {
    Facts {
        failed_release: None,
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
            clear_after: 2,
            lives: 1,
            quiet_looks: 0,
            unwatched: None,
            is_down: false,
            security: None,
            red_run: None,
            flaky_before: false,
            points_at_code: true,
            suspect: None,
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
        witness: None,
        rerun: Rerun::default(),
        culprit: None,
        pushed_before: BTreeSet::new(),
        past_pulls: BTreeSet::new(),
        pull: None,
        merge: None,
        revert: None,
        told: BTreeSet::new(),
        done: BTreeSet::new(),
        begun: BTreeSet::new(),
        refused: BTreeMap::new(),
        hindered: BTreeMap::new(),
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

/// Head `a` on base `b`.
pub(super) fn facts_with_pull() -> Facts {
    let id_of = incident_id();
    let attempt = Attempt {
        id: AttemptId::new(&id_of, 1),
        n: 1,
        base: id('b'),
        head: Some(id('a')),
        patch_id: None,
        started: at(-20),
        ended: Some(at(-10)),
        outcome: Some(AttemptOutcome::Committed),
        failure_sig: None,
        charged: true,
        agent: "recording".to_owned(),
        said: String::new(),
    };
    let opened = facts(id_of);
    Facts {
        incident: Incident {
            opened_at: at(-30),
            ..opened.incident
        },
        last_attempt: 1,
        attempts: vec![AttemptFacts::of(attempt)],
        pushed: Some(Pushed {
            head: id('a'),
            at: at(-9),
        }),
        pull: Some(OurPull {
            number: PullNumber(1),
            url: String::new(),
            draft: false,
        }),
        ..opened
    }
}

/// What the forge shows of it.
pub(super) fn open_pull() -> Pull {
    Pull {
        head_ref: incident_id().branch(),
        ..pull(1, id('a'), false)
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

pub(super) fn policy() -> Policy {
    Policy {
        rung: Mode::Active,
        missing: Vec::new(),
        usd_per_incident: 5.0,
        usd_per_day: 20.0,
        usd_per_month: 200.0,
        usd_per_run: 1.0,
        agent_runs_per_day: 50,
        retries_per_run: 2,
        open_pulls_per_repo: 2,
        rollback_own: true,
        observe_min: TimeDelta::minutes(30),
        may_skip: Vec::new(),
        nonblocking: None,
        release_known: true,
        by_ci: false,
        reruns: true,
    }
}
