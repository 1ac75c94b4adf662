//! Any set of facts against the contract, restated.

use proptest::prelude::*;

use super::*;

/// One change out of many, each of which breaks or keeps the set; the oracle below restates the contract by itself.
fn any_case() -> impl Strategy<Value = Case> {
    let head = || prop_oneof![8 => Just('a'), 1 => Just('e')].prop_map(id);
    let base = || prop_oneof![8 => Just('b'), 1 => Just('f')].prop_map(id);
    let rarely = || prop_oneof![9 => Just(false), 1 => Just(true)];
    let grade = prop_oneof![
        8 => Just(ProofGrade::Proven),
        1 => Just(ProofGrade::Unproven(String::new())),
        1 => Just(ProofGrade::NotRed(String::new())),
        1 => Just(ProofGrade::NotGreen(String::new())),
    ];
    let guard = prop_oneof![
        8 => Just(GuardVerdict::Accept), 2 => Just(GuardVerdict::NeedsHuman), 1 => Just(GuardVerdict::Reject)];
    let audit = prop_oneof![
        8 => Just(AuditVerdict::Approve), 1 => Just(AuditVerdict::Revise), 1 => Just(AuditVerdict::Reject)];
    let checks = prop_oneof![
        8 => Just(green()),
        1 => Just(CheckSet::Pending(String::new())),
        1 => Just(CheckSet::Failed(vec![])),
        1 => Just(CheckSet::Unknown(String::new())),
    ];
    let mode = prop_oneof![8 => Just(Mode::Active), 1 => Just(Mode::MonitorOnly)];
    let stop = prop_oneof![
        8 => Just(StopSigns::None), 1 => Just(StopSigns::Stopped(vec![])),
        1 => Just(StopSigns::Unreadable(String::new()))];
    let state = prop_oneof![9 => Just(PullState::Open), 1 => Just(PullState::Closed), 1 => Just(PullState::Merged)];
    let a_review = (
        prop_oneof![
            Just(ReviewState::Approved),
            Just(ReviewState::ChangesRequested),
            Just(ReviewState::Commented)
        ],
        prop_oneof![4 => Just('a'), 1 => Just('e')],
        prop::bool::weighted(0.7),
    );
    let reviews = prop::collection::vec(a_review, 0..3);
    let shas = (
        head(),
        head(),
        head(),
        head(),
        head(),
        base(),
        prop::option::weighted(0.9, base()),
        base(),
    );
    let verdicts = (guard, grade, audit, checks);
    let present = (rarely(), rarely(), rarely());
    let around = (
        mode,
        stop,
        state,
        reviews,
        rarely(),
        rarely(),
        rarely(),
        prop::option::weighted(0.3, head()),
    );
    let rules = (0..2_u32, rarely(), rarely(), rarely());
    (shas, verdicts, present, around, rules).prop_map(|(shas, verdicts, gone, around, rules)| {
        let mut case = good();
        (case.our_head, case.pull.head_sha) = (shas.0, shas.1);
        (case.tested_base, case.base_now) = (shas.5, shas.6);
        let mut the_proof = proof(verdicts.1, Witness::B);
        (the_proof.head, the_proof.base) = (shas.3, shas.7);
        case.guards = (!gone.0).then_some(Bound {
            head: shas.2,
            verdict: verdicts.0,
        });
        case.proof = (!gone.1).then_some(the_proof);
        case.audit.as_mut().unwrap().head = shas.4.clone();
        case.audit.as_mut().unwrap().verdict = verdicts.2;
        if gone.2 {
            case.audit = None;
        }
        case.checks = Bound {
            head: shas.4,
            verdict: verdicts.3,
        };
        (case.mode, case.stop, case.pull.state) = (around.0, around.1, around.2);
        case.pull.reviews = around.3.into_iter().map(|(s, c, w)| review(s, c, w)).collect();
        case.pull.draft = around.4;
        case.frozen = around.5.then(String::new);
        case.rules.squash_allowed = !around.6;
        case.approved = around.7;
        case.rules.required_approvals = rules.0;
        (case.rules.merge_queue, case.rules.code_owner_review) = (rules.1, rules.2);
        case.rules.unread = rules.3.then(String::new);
        case
    })
}

fn all_hold(c: &Case) -> bool {
    let h = &c.pull.head_sha;
    let (Some(guards), Some(proof), Some(audit)) = (&c.guards, &c.proof, &c.audit) else {
        return false;
    };
    let approving =
        |r: &&Review| r.state == ReviewState::Approved && r.author_may_write && r.commit.as_ref() == Some(h);
    let approvals = c.pull.reviews.iter().filter(approving).count();
    let person = approvals > 0 || c.approved.as_ref() == Some(h);
    let want = c.rules.required_approvals.max(u32::from(c.rules.code_owner_review)) as usize;
    let one_head = [&c.our_head, &guards.head, &proof.head, &audit.head, &c.checks.head]
        .iter()
        .all(|s| *s == h);
    let one_base = c.base_now.as_ref() == Some(&c.tested_base) && proof.base == c.tested_base;
    let accepted = guards.verdict == GuardVerdict::Accept || (guards.verdict == GuardVerdict::NeedsHuman && person);
    let proven = match &proof.grade {
        ProofGrade::Proven => true,
        ProofGrade::Unproven(_) => person,
        ProofGrade::NotRed(_) | ProofGrade::NotGreen(_) => false,
    };
    let objected = c.pull.reviews.iter().any(|r| r.state == ReviewState::ChangesRequested);
    let calm = c.stop == StopSigns::None && c.frozen.is_none() && c.mode == Mode::Active;
    let open = c.pull.state == PullState::Open && !c.pull.draft;
    let repository = c.rules.squash_allowed && !c.rules.merge_queue && c.rules.unread.is_none() && approvals >= want;
    let owners = !c.rules.code_owner_review || c.pull.mergeable_state != "blocked";
    let evidence = owners && accepted && proven && audit.verdict == AuditVerdict::Approve;
    one_head && one_base && evidence && c.checks.verdict == green() && calm && open && repository && !objected
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_proof_exists_only_when_all_of_it_holds(case in any_case()) {
        let verdict = verdict(&case);
        prop_assert_eq!(matches!(verdict, MergeVerdict::Merge(_)), all_hold(&case), "{:?} for {:?}", verdict, case);
    }
}
