//! One arm an action, and at most one outside write an arm. Returns facts through the store; decides nothing.

use anyhow::Result;

use super::{Ctx, attempt, audit, by_ci, culprit, effect, judge, landing, publish, rerun, take_back, tell};
use crate::{
    decide::{
        facts::{Facts, Seen},
        next::Action,
    },
    store::Claim,
};

pub(super) async fn perform(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, action: &Action) -> Result<()> {
    match action {
        Action::Rerun { run, why } => rerun::rerun(ctx, claim, facts, run, why).await,
        Action::Reran { run, end } => rerun::reran(ctx, claim, facts, run, end),
        Action::Attempt { n, base } => attempt::attempt(ctx, claim, facts, *n, base).await,
        Action::Blame { n, base, commit } => culprit::blame(ctx, claim, facts, *n, base, commit).await,
        Action::Guards { n, head } => judge::guards(ctx, claim, facts, *n, head).await,
        Action::Prove { n, head } => judge::prove(ctx, claim, facts, *n, head).await,
        Action::Audit { n, head } => audit::audit(ctx, claim, facts, *n, head).await,
        Action::CiWitness { n, head } => by_ci::witness(ctx, claim, facts, *n, head).await,
        Action::PushWitness { n, sha } => by_ci::push(ctx, claim, facts, *n, sha).await,
        Action::CiReport { n: _, sha } => by_ci::report(ctx, claim, facts, sha).await,
        Action::CiGrade { n, head } => by_ci::grade(ctx, claim, facts, *n, head).await,
        Action::CiUnproven { n, head, why } => by_ci::unproven(ctx, claim, facts, *n, head, why).await,
        Action::DropWitness { key, sha } => by_ci::drop_branch(ctx, claim, facts, key, sha).await,
        Action::Push { n, head } => publish::push(ctx, claim, facts, *n, head).await,
        Action::OpenPull { n, head, draft } => publish::open(ctx, claim, facts, seen, *n, head, *draft).await,
        Action::Body { n, slot } => publish::body(ctx, claim, facts, seen, *n, slot).await,
        Action::Label { label } => publish::label(ctx, claim, facts, label).await,
        Action::RequestReview => publish::request_review(ctx, claim, facts).await,
        Action::Ready => publish::ready(ctx, claim, facts, seen).await,
        Action::Comment { slot, text } => publish::comment(ctx, claim, facts, slot, text).await,
        Action::ClosePull { why } => publish::close(ctx, claim, facts, why).await,
        Action::Rebase { n, onto } => landing::rebase(ctx, claim, facts, *n, onto).await,
        Action::CiFailed { n, head, checks } => landing::ci_failed(ctx, claim, facts, *n, head, checks),
        Action::Merge(proof) => landing::merge(ctx, claim, facts, seen, proof).await,
        Action::Adopt { sha, by } => landing::adopt(ctx, claim, facts, seen, sha, by.as_deref()),
        Action::Landed { sha } => landing::landed(ctx, claim, facts, seen, sha).await,
        Action::TestLanded { sha } => landing::test_landed(ctx, claim, facts, sha).await,
        Action::Freeze { why } => landing::freeze(ctx, facts, why),
        Action::Live { sha } => landing::live(ctx, claim, facts, sha),
        Action::Observed { sha, verdict } => landing::observed(ctx, claim, facts, sha, verdict),
        Action::Note { why } => take_back::note(ctx, claim, facts, why).await,
        Action::MakeRevert { sha } => take_back::make(ctx, claim, facts, seen, sha).await,
        Action::PushRevert { head } => take_back::push(ctx, claim, facts, head).await,
        Action::OpenRevert { head } => take_back::open(ctx, claim, facts, seen, head).await,
        Action::RevertBody { head } => take_back::body(ctx, claim, facts, head).await,
        Action::MergeRevert(proof) => take_back::merge(ctx, claim, facts, proof).await,
        Action::DropAutonomy { why } => take_back::drop_autonomy(ctx, claim, facts, why),
        Action::Settle { key, sha, head } => effect::settle(ctx, claim, key, sha.as_ref(), head.as_ref()),
        Action::GiveUp { key } => effect::give_up(ctx, claim, key),
        Action::Tell { status, why } => tell::tell(ctx, claim, facts, seen, *status, why).await,
    }
}
