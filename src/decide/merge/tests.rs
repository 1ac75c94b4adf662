mod any;

use super::*;
use crate::model::{
    evidence::Counts,
    pull::{Review, StopSign},
};

fn id(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

/// Owned facts, so that a case changes one thing.
#[derive(Debug, Clone)]
struct Case {
    mode: Mode,
    pull: Pull,
    our_head: Sha,
    tested_base: Sha,
    base_now: Option<Sha>,
    is_revert: bool,
    restores: Option<Bound<Restores>>,
    guards: Option<Bound<GuardVerdict>>,
    proof: Option<Proof>,
    audit: Option<Audit>,
    checks: Bound<CheckSet>,
    rules: Rules,
    threads: Option<u32>,
    stop: StopSigns,
    frozen: Option<String>,
    approved: Option<Sha>,
}

fn review(state: ReviewState, commit: char, may_write: bool) -> Review {
    Review {
        author: "ann".to_owned(),
        state,
        commit: Some(id(commit)),
        body: String::new(),
        submitted_at: None,
        author_may_write: may_write,
    }
}

fn proof(grade: ProofGrade, witness: Witness) -> Proof {
    Proof {
        base: id('b'),
        head: id('a'),
        grade,
        witness,
        witness_ids: Vec::new(),
        red: String::new(),
        green_runs: 3,
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

fn green() -> CheckSet {
    CheckSet::Success {
        names: vec!["ci".to_owned()],
        ignored: Vec::new(),
    }
}

fn good() -> Case {
    Case {
        mode: Mode::Active,
        pull: Pull {
            number: PullNumber(3),
            node_id: "PR_x".to_owned(),
            url: String::new(),
            state: PullState::Open,
            draft: false,
            title: String::new(),
            body: String::new(),
            head_ref: "fix/auto-7f3a91c0".to_owned(),
            head_sha: id('a'),
            base_ref: "main".to_owned(),
            labels: Vec::new(),
            mergeable_state: "blocked".to_owned(),
            merge_sha: None,
            closed_by: None,
            author: "tick-bot".to_owned(),
            reviews: Vec::new(),
            requested_reviewers: Vec::new(),
        },
        our_head: id('a'),
        tested_base: id('b'),
        base_now: Some(id('b')),
        is_revert: false,
        restores: None,
        guards: Some(Bound {
            head: id('a'),
            verdict: GuardVerdict::Accept,
        }),
        proof: Some(proof(ProofGrade::Proven, Witness::B)),
        audit: Some(Audit {
            verdict: AuditVerdict::Approve,
            head: id('a'),
            agent: "x".to_owned(),
            reasons: Vec::new(),
            sandbox: String::new(),
        }),
        checks: Bound {
            head: id('a'),
            verdict: green(),
        },
        rules: Rules {
            squash_allowed: true,
            ..Rules::default()
        },
        threads: None,
        stop: StopSigns::None,
        frozen: None,
        approved: None,
    }
}

fn verdict(case: &Case) -> MergeVerdict {
    let evidence = if case.is_revert {
        Evidence::Revert {
            restores: case.restores.clone(),
        }
    } else {
        Evidence::Fix {
            guards: case.guards.clone(),
            proof: case.proof.as_ref(),
            audit: case.audit.as_ref(),
        }
    };
    judge(&MergeFacts {
        mode: case.mode,
        pull: &case.pull,
        base_branch: "main",
        our_head: &case.our_head,
        tested_base: &case.tested_base,
        base_now: case.base_now.as_ref(),
        landing_tree: &id('d'),
        evidence,
        checks: case.checks.clone(),
        rules: &case.rules,
        unresolved_threads: case.threads,
        stop: &case.stop,
        frozen: case.frozen.as_deref(),
        approved: case.approved.as_ref(),
    })
}

fn kind(verdict: &MergeVerdict) -> &'static str {
    match verdict {
        MergeVerdict::Merge(_) => "merge",
        MergeVerdict::Wait {
            on: WaitsOn::Person, ..
        } => "wait person",
        MergeVerdict::Wait { on: WaitsOn::Ci, .. } => "wait ci",
        MergeVerdict::Wait { on: WaitsOn::Host, .. } => "wait host",
        MergeVerdict::Wait { on: WaitsOn::Ready, .. } => "ready",
        MergeVerdict::NeedsPerson(_) => "person",
        MergeVerdict::Drop(_) => "drop",
        MergeVerdict::StartOver(_) => "over",
    }
}

fn check(expected: &str, change: impl FnOnce(&mut Case)) {
    let mut case = good();
    change(&mut case);
    let verdict = verdict(&case);
    assert_eq!(kind(&verdict), expected, "{verdict:?}");
}

#[test]
fn a_whole_set_of_evidence_merges_exactly_what_was_judged() {
    let MergeVerdict::Merge(proof) = verdict(&good()) else {
        panic!("nothing is missing")
    };
    assert_eq!(
        (proof.pull(), proof.head(), proof.base()),
        (PullNumber(3), &id('a'), &id('b'))
    );
    assert_eq!((proof.tree(), proof.base_branch()), (&id('d'), "main"));
}

#[test]
fn the_pull_must_be_open_and_ours() {
    check("drop", |c| c.pull.state = PullState::Closed);
    check("drop", |c| c.pull.state = PullState::Merged);
    check("person", |c| c.pull.head_sha = id('e'));
    check("person", |c| c.pull.base_ref = "release".to_owned());
    check("over", |c| c.pull.mergeable_state = "dirty".to_owned());
    check("ready", |c| c.pull.draft = true);
    check("ready", |c| c.pull.mergeable_state = "draft".to_owned());
    for state in ["clean", "unstable", "behind", "unknown", "a new word"] {
        check("merge", |c| c.pull.mergeable_state = state.to_owned());
    }
}

#[test]
fn any_stop_sign_stops_and_unreadable_is_stopped() {
    let sign = StopSign {
        what: "tick pause".to_owned(),
        by: None,
        since: None,
    };
    check("wait person", |c| c.stop = StopSigns::Stopped(vec![sign]));
    check("wait host", |c| c.stop = StopSigns::Unreadable("500".to_owned()));
    check("wait person", |c| c.pull.labels = vec!["Tick:Stop".to_owned()]);
    check("wait person", |c| c.frozen = Some("wrong tree".to_owned()));
    for mode in [Mode::Observe, Mode::Diagnose, Mode::MonitorOnly] {
        check("wait person", |c| c.mode = mode);
    }
}

#[test]
fn evidence_is_whole_and_about_this_head() {
    check("over", |c| c.guards = None);
    check("over", |c| c.proof = None);
    check("over", |c| c.audit = None);
    check("over", |c| c.guards.as_mut().unwrap().head = id('e'));
    check("over", |c| c.proof.as_mut().unwrap().head = id('e'));
    check("over", |c| c.proof.as_mut().unwrap().base = id('e'));
    check("over", |c| c.audit.as_mut().unwrap().head = id('e'));
    check("over", |c| c.checks.head = id('e'));
    check("over", |c| c.base_now = Some(id('e')));
    check("wait host", |c| c.base_now = None);
    check("person", |c| {
        c.guards.as_mut().unwrap().verdict = GuardVerdict::NeedsHuman;
    });
    check("drop", |c| c.guards.as_mut().unwrap().verdict = GuardVerdict::Reject);
    check("over", |c| c.audit.as_mut().unwrap().verdict = AuditVerdict::Revise);
    check("drop", |c| c.audit.as_mut().unwrap().verdict = AuditVerdict::Reject);
    check("merge", |c| c.proof = Some(proof(ProofGrade::Proven, Witness::A)));
    check("person", |c| c.proof = Some(proof(ProofGrade::Proven, Witness::C)));
    check("person", |c| {
        c.proof = Some(proof(ProofGrade::Unproven("runner".to_owned()), Witness::B));
    });
    check("drop", |c| {
        c.proof = Some(proof(ProofGrade::NotRed("x".to_owned()), Witness::B));
    });
    check("drop", |c| {
        c.proof = Some(proof(ProofGrade::NotGreen("x".to_owned()), Witness::B));
    });
}

#[test]
fn ci_decides_by_the_check_set() {
    check("wait ci", |c| c.checks.verdict = CheckSet::Pending("ci".to_owned()));
    check("drop", |c| c.checks.verdict = CheckSet::Failed(vec!["ci".to_owned()]));
    check("wait person", |c| {
        c.checks.verdict = CheckSet::Unknown("403".to_owned());
    });
}

#[test]
fn a_person_stands_in_for_the_human_part_only() {
    let human = |c: &mut Case| c.guards.as_mut().unwrap().verdict = GuardVerdict::NeedsHuman;
    check("merge", |c| {
        human(c);
        c.approved = Some(id('a'));
    });
    check("merge", |c| {
        human(c);
        c.pull.reviews = vec![review(ReviewState::Approved, 'a', true)];
    });
    check("person", |c| {
        human(c);
        c.approved = Some(id('e'));
    });
    check("person", |c| {
        human(c);
        c.pull.reviews = vec![review(ReviewState::Approved, 'e', true)];
    });
    check("person", |c| {
        human(c);
        c.pull.reviews = vec![review(ReviewState::Approved, 'a', false)];
    });
    check("merge", |c| {
        c.proof = Some(proof(ProofGrade::Unproven("runner".to_owned()), Witness::C));
        c.approved = Some(id('a'));
    });
    let approved = |change: fn(&mut Case)| {
        move |c: &mut Case| {
            c.approved = Some(id('a'));
            change(c);
        }
    };
    check(
        "drop",
        approved(|c| c.guards.as_mut().unwrap().verdict = GuardVerdict::Reject),
    );
    check(
        "drop",
        approved(|c| c.proof = Some(proof(ProofGrade::NotGreen("x".to_owned()), Witness::B))),
    );
    check(
        "drop",
        approved(|c| c.audit.as_mut().unwrap().verdict = AuditVerdict::Reject),
    );
    check("over", approved(|c| c.audit = None));
    check(
        "wait ci",
        approved(|c| c.checks.verdict = CheckSet::Pending("ci".to_owned())),
    );
    check("wait person", approved(|c| c.rules.required_approvals = 1));
    check("wait person", approved(|c| c.mode = Mode::MonitorOnly));
}

#[test]
fn rules_of_the_repository_outrank() {
    check("wait person", |c| c.rules.required_approvals = 1);
    check("wait person", |c| c.rules.code_owner_review = true);
    for (state, expected) in [("blocked", "wait person"), ("clean", "merge")] {
        check(expected, |c| {
            c.rules.code_owner_review = true;
            c.pull.reviews = vec![review(ReviewState::Approved, 'a', true)];
            c.pull.mergeable_state = state.to_owned();
        });
    }
    check("wait person", |c| {
        c.rules.required_approvals = 2;
        c.pull.reviews = vec![review(ReviewState::Approved, 'a', true)];
    });
    check("merge", |c| {
        c.rules.required_approvals = 1;
        c.pull.reviews = vec![review(ReviewState::Approved, 'a', true)];
    });
    check("wait person", |c| {
        c.rules.required_approvals = 1;
        c.pull.reviews = vec![review(ReviewState::Approved, 'e', true)];
    });
    check("wait person", |c| {
        c.pull.reviews = vec![review(ReviewState::ChangesRequested, 'e', false)];
    });
    check("merge", |c| {
        c.pull.reviews = vec![review(ReviewState::Dismissed, 'a', true)];
    });
    check("wait host", |c| c.rules.conversation_resolution = true);
    check("wait person", |c| {
        c.rules.conversation_resolution = true;
        c.threads = Some(1);
    });
    check("merge", |c| {
        c.rules.conversation_resolution = true;
        c.threads = Some(0);
    });
    check("wait person", |c| c.rules.merge_queue = true);
    check("wait person", |c| {
        c.rules.required_deployments = vec!["staging".to_owned()];
    });
    check("wait person", |c| c.rules.unread = Some("the protection".to_owned()));
    check("person", |c| c.rules.squash_allowed = false);
    check("merge", |c| c.rules.linear_history = true);
    check("ready", |c| {
        c.rules.required_approvals = 1;
        c.pull.draft = true;
    });
}

#[test]
fn a_revert_needs_its_tree_and_ci_but_no_audit() {
    let revert = |verdict: Option<(char, Restores)>| {
        move |c: &mut Case| {
            (c.guards, c.proof, c.audit) = (None, None, None);
            c.is_revert = true;
            c.restores = verdict.map(|(head, verdict)| Bound {
                head: id(head),
                verdict,
            });
        }
    };
    check("merge", revert(Some(('a', Restores::SameTree))));
    check("merge", revert(Some(('a', Restores::AppliedAndPasses))));
    check("person", revert(Some(('a', Restores::No))));
    check("over", revert(Some(('e', Restores::SameTree))));
    check("over", revert(None));
    check("wait ci", |c| {
        revert(Some(('a', Restores::SameTree)))(c);
        c.checks.verdict = CheckSet::Pending("ci".to_owned());
    });
}
