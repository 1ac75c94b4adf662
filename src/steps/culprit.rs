//! The one commit that CI became red with: whether the tests show it to be the cause, and its revert as an attempt that no
//! agent made.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{Ctx, attempt, evidence::kind, flakes, judge, whereabouts};
use crate::{
    adapters::git::{Mirror, Replay},
    decide::{
        facts::{Culprit, Facts, REVERT},
        proof,
    },
    model::{
        AttemptId, Sha,
        incident::{Attempt, AttemptOutcome},
    },
    store::Claim,
};

/// Parent green, commit red; the revert itself is judged and proven like every attempt.
pub(super) async fn blame(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, base: &Sha, commit: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    whereabouts::settle(ctx, &attempt::signature_row(ctx, facts)?, &mirror, base).await?;
    let mut culprit = Culprit {
        commit: commit.clone(),
        ours: ctx.store().merged_by_us(&repo.slot)?.contains(commit),
        brought: BTreeSet::new(),
        not: None,
    };
    let tree = match taken_back(&mirror, base, commit).await? {
        Ok((parent, tree)) => match shown(ctx, claim, facts, base, (&parent, commit)).await? {
            Ok(brought) => {
                culprit.brought = brought;
                Ok(tree)
            }
            Err(why) => Err(why),
        },
        Err(why) => Err(why),
    };
    let tree = match tree {
        Ok(tree) => tree,
        Err(why) => {
            let said = format!("culprit  not shown to be {}: {why}", commit.short());
            ctx.say(Some(facts.id()), "culprit", [said]);
            culprit.not = Some(why);
            return ctx.record(claim, None, kind::CULPRIT, "not shown", &culprit);
        }
    };
    let said = format!("culprit  {}: its parent is green, it is red", commit.short());
    ctx.say(Some(facts.id()), "culprit", [said]);
    let message = format!(
        "Take back {}\n\nCause {} began with it.",
        commit.short(),
        facts.cause.signature.short()
    );
    let parents = attempt::parents(facts, &mirror, base).await?;
    let head = mirror.commit_tree(&tree, &parents, &message).await?;
    ctx.record(claim, Some(&head), kind::CULPRIT, "shown", &culprit)?;
    ctx.record(claim, Some(&head), kind::TREE, "", &tree)?;
    let attempt = Attempt {
        id: AttemptId::new(facts.id(), n),
        n,
        base: base.clone(),
        patch_id: Some(mirror.patch_id(base, &head).await?),
        head: Some(head),
        started: ctx.now(),
        ended: Some(ctx.now()),
        outcome: Some(AttemptOutcome::Committed),
        failure_sig: None,
        charged: true,
        agent: REVERT.to_owned(),
        said: String::new(),
    };
    ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    Ok(())
}

/// The commit's parent, and the tree of the default branch without it; or why there is none.
async fn taken_back(mirror: &Mirror, base: &Sha, commit: &Sha) -> Result<Result<(Sha, Sha), String>> {
    let known = mirror.resolve(commit.as_str()).await?.is_some();
    if !known || (commit != base && !mirror.is_ancestor(commit, base).await?) {
        return Ok(Err("it is not on the default branch any more".to_owned()));
    }
    let Some(parent) = mirror.parents(commit).await?.into_iter().next() else {
        return Ok(Err("it is the first commit".to_owned()));
    };
    Ok(match mirror.revert(commit, base).await? {
        Replay::Conflict(paths) => Err(format!("later commits changed the same lines of {}", paths.join(", "))),
        Replay::Clean { tree } if mirror.tree_of(base).await? == tree => {
            Err("nothing of it is left on the default branch".to_owned())
        }
        Replay::Clean { tree } => Ok((parent, tree)),
    })
}

/// The tests that came with the commit, where those of its parent, its own and the default branch's show it to be the cause.
async fn shown(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    base: &Sha,
    (parent, commit): (&Sha, &Sha),
) -> Result<Result<BTreeSet<String>, String>> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let incident = judge::incident_facts(&attempt::signature_row(ctx, facts)?);
    let known = flakes::known(ctx, repo)?;
    let with = judge::suite_at(ctx, claim, facts, commit, "culprit").await?;
    if let Err(why) = proof::red_at(&incident, &known, &with) {
        return Ok(Err(why));
    }
    let now = if base == commit {
        with.clone()
    } else {
        judge::suite_at(ctx, claim, facts, base, "culprit").await?
    };
    if now.unreadable.is_none() && !now.timed_out {
        ctx.record(claim, Some(base), kind::BASE_SUITE, &flakes::input(repo)?, &now)?;
    }
    let before = judge::suite_at(ctx, claim, facts, parent, "culprit").await?;
    Ok(proof::culprit(&incident, &known, [&before, &with, &now]))
}
