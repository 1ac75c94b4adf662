//! From a green PR to a landed commit and the time after it: replay onto a moved base, the merge call, what really
//! landed, when it began to serve.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    Ctx, attempt, by_ci,
    effect::{Acted, EffectKind, effect},
    evidence::kind,
    gather::{Adopted, Rebased},
    hands::github_name,
    hindered,
    judge::{self, attempt_of},
};
use crate::{
    adapters::{
        git::Replay,
        github::{GitHubError, MergeOutcome},
    },
    decide::{
        facts::{Facts, Landed, Seen, keys},
        merge::MergeProof,
    },
    model::{Sha, evidence::Audit, pull::PullState},
    render::{self, pr},
    store::Claim,
};

/// Replays the patch onto the new base. The same patch keeps its audit; guards and tests run again on the new head.
pub(super) async fn rebase(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, onto: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let old = attempt_of(facts, n)?;
    let head = old.head().context("the attempt has no head")?;
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    let mut attempt = old.attempt.clone();
    let tree = match mirror.replay(&old.attempt.base, head, onto).await? {
        Replay::Clean { tree } => tree,
        Replay::Conflict(paths) => {
            let why = format!("conflicts with the moved base in {}", paths.join(", "));
            return fail(ctx, claim, facts, attempt, &why);
        }
    };
    let parents = attempt::parents(facts, &mirror, onto).await?;
    let message = format!(
        "Attempt {n} at cause {} on {}",
        facts.cause.signature.short(),
        onto.short()
    );
    let new_head = mirror.commit_tree(&tree, &parents, &message).await?;
    let patch_id = mirror.patch_id(onto, &new_head).await?;
    if Some(&patch_id) != attempt.patch_id.as_ref() {
        return fail(ctx, claim, facts, attempt, "is another patch on the moved base");
    }
    let rebased = Rebased {
        from: head.clone(),
        onto: onto.clone(),
        times: old.rebases + 1,
    };
    ctx.record(claim, Some(&new_head), kind::REBASED, "clean", &rebased)?;
    // The same agent's work, held as it was.
    ctx.record(claim, Some(&new_head), kind::TREE, &old.sandbox, &tree)?;
    if let Some(audit) = &old.audit {
        let carried = Audit {
            head: new_head.clone(),
            ..audit.clone()
        };
        ctx.record(claim, Some(&new_head), kind::AUDIT, "carried: same patch-id", &carried)?;
    }
    attempt.base = onto.clone();
    attempt.head = Some(new_head.clone());
    ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    ctx.say(
        Some(facts.id()),
        "rebase",
        [format!(
            "the base moved to {}; same patch, now at {}",
            onto.short(),
            new_head.short()
        )],
    );
    Ok(())
}

fn fail(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    mut attempt: crate::model::incident::Attempt,
    why: &str,
) -> Result<()> {
    attempt.outcome = Some(crate::model::incident::AttemptOutcome::Failed(format!(
        "its patch {why}"
    )));
    ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    ctx.say(Some(facts.id()), "rebase", [format!("the patch {why}")]);
    Ok(())
}

pub(super) fn ci_failed(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha, checks: &[String]) -> Result<()> {
    ctx.record(claim, Some(head), kind::CI_FAILED, "failed", &checks)?;
    let attempt = attempt_of(facts, n)?;
    judge::remember_failure(ctx, claim, attempt, "ci", &checks.join(","))?;
    ctx.say(
        Some(facts.id()),
        "ci",
        [format!("CI failed at {}: {}", head.short(), checks.join(", "))],
    );
    Ok(())
}

/// The one irreversible call. It takes its arguments from the proof and from nothing else.
pub(super) async fn merge(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, proof: &MergeProof) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let title = pr::squash_title(&super::publish::title_of(ctx, facts, seen)?, proof.pull());
    let n = facts.current().map_or(1, |a| a.attempt.n);
    let message = pr::squash_message(facts.id(), proof.head(), n);
    let key = keys::merge(facts.id(), proof.head());
    let merged = |sha: &Sha| json!({ "sha": sha, "head": proof.head(), "base": proof.base(), "tree": proof.tree() });
    let find = async || -> Result<Option<Value>> {
        let pull = github.pull(name, proof.pull()).await?;
        Ok(match (pull.state, pull.merge_sha) {
            (PullState::Merged, Some(sha)) if pull.head_sha == *proof.head() => Some(merged(&sha)),
            _ => None,
        })
    };
    let act = async || match github.merge(name, proof.pull(), proof.head(), &title, &message).await {
        Ok(MergeOutcome::Merged(sha)) => Acted::Done(merged(&sha)),
        Ok(MergeOutcome::AlreadyMerged) => Acted::Unknown("the pull request is merged already".to_owned()),
        Ok(MergeOutcome::Unknown(why)) => Acted::Unknown(why),
        Ok(MergeOutcome::HeadMoved) => Acted::Refused("the head moved".to_owned()),
        Ok(MergeOutcome::BaseMoved) => Acted::Refused("the base moved".to_owned()),
        Ok(MergeOutcome::Blocked(why)) => Acted::Refused(why),
        Ok(MergeOutcome::Config(why) | MergeOutcome::Forbidden(why)) => Acted::Denied(why),
        Err(error) => acted(&error),
    };
    let ended = effect(ctx, claim, EffectKind::Merge, &key, proof, find, act).await?;
    let result = ended.done(&format!("merge {}", proof.pull()))?;
    let sha = result.get("sha").and_then(Value::as_str).unwrap_or_default();
    ctx.say(
        Some(facts.id()),
        "merge",
        [
            format!("CI success at {}: {}", proof.head().short(), "the check set is green"),
            format!("merged by squash as {}", sha.get(..7).unwrap_or(sha)),
        ],
    );
    Ok(())
}

/// A failed write: certain when the host answered, unknown when the answer was lost.
pub(super) fn acted(error: &GitHubError) -> Acted {
    if error.outcome_unknown() {
        Acted::Unknown(error.to_string())
    } else if hindered::denied(error) {
        Acted::Denied(error.to_string())
    } else {
        Acted::Refused(error.to_string())
    }
}

/// A person merged our PR: it is observed like a merge of ours.
pub(super) fn adopt(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, sha: &Sha, by: Option<&str>) -> Result<()> {
    let head = seen
        .pull
        .as_ref()
        .map(|pull| pull.head_sha.clone())
        .context("the pull request was not read")?;
    let by = by.unwrap_or("a person").to_owned();
    ctx.say(
        Some(facts.id()),
        "adopt",
        [format!("{by} merged our pull request as {}", sha.short())],
    );
    let adopted = Adopted {
        sha: sha.clone(),
        head,
        by,
    };
    ctx.record(claim, Some(sha), kind::ADOPTED, "merged by a person", &adopted)
}

/// Compares what landed with what was tested.
pub(super) async fn landed(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, sha: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let commit = seen.landed.as_ref().context("the landed commit was not read")?;
    let merge = facts.merge.as_ref().context("nothing was merged")?;
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    let parent = commit
        .parents
        .first()
        .context("the landed commit has no parent")?
        .clone();
    let tested_base = facts
        .attempts
        .iter()
        .find(|a| a.head() == Some(&merge.head))
        .map_or_else(|| parent.clone(), |a| a.attempt.base.clone());
    // For another parent than the tested base the expected tree is the patch replayed onto that parent.
    let expected_tree = match mirror.replay(&tested_base, &merge.head, &parent).await? {
        Replay::Clean { tree } => tree,
        Replay::Conflict(_) => mirror.tree_of(&merge.head).await?,
    };
    // The commit as git holds it, not only as the API tells it.
    let tree = match mirror.resolve(sha.as_str()).await? {
        Some(_) => mirror.tree_of(sha).await?,
        None => commit.tree.clone(),
    };
    let landed = Landed {
        tree,
        parent,
        expected_tree,
        tested_base,
    };
    let verdict = landed.verdict();
    ctx.record(claim, Some(sha), kind::LANDED, render::story::landed(verdict), &landed)?;
    ctx.say(Some(facts.id()), "landed", [render::story::landed(verdict).to_owned()]);
    Ok(())
}

/// Something else landed first: the test commands decide on the two together.
pub(super) async fn test_landed(ctx: &Ctx, claim: &Claim, facts: &Facts, sha: &Sha) -> Result<()> {
    let (passes, detail) = if ctx.repo(&facts.incident.repo)?.test.is_empty() {
        by_ci::landed(ctx, facts, sha).await?
    } else {
        judge::tests_pass(ctx, claim, facts, sha).await?
    };
    ctx.record(claim, Some(sha), kind::LANDED_TESTS, &detail, &passes)?;
    ctx.say(
        Some(facts.id()),
        "landed",
        [format!("tests on the landed commit {}: {detail}", sha.short())],
    );
    Ok(())
}

/// No merges in this home until a person says `tick resume`.
pub(super) fn freeze(ctx: &Ctx, facts: &Facts, why: &str) -> Result<()> {
    let by = format!("incident {}", facts.id());
    ctx.store().set_flag("freeze", Some(why), &by, ctx.now())?;
    ctx.say(Some(facts.id()), "freeze", [format!("merges are frozen: {why}")]);
    Ok(())
}

pub(super) fn live(ctx: &Ctx, claim: &Claim, facts: &Facts, sha: &Sha) -> Result<()> {
    let since = ctx
        .store()
        .sources()?
        .into_iter()
        .filter(|s| s.repo == facts.incident.repo && s.release.as_ref() == Some(sha))
        .filter_map(|s| s.release_since)
        .min();
    let how = if since.is_some() { "read" } else { "assumed" };
    let at = since.unwrap_or_else(|| ctx.now());
    ctx.record(claim, Some(sha), kind::LIVE, how, &at)?;
    ctx.say(Some(facts.id()), "live", [format!("{} is live ({how})", sha.short())]);
    Ok(())
}

pub(super) fn observed(ctx: &Ctx, claim: &Claim, facts: &Facts, sha: &Sha, verdict: &str) -> Result<()> {
    ctx.record(claim, Some(sha), kind::OBSERVED, verdict, &verdict)?;
    ctx.say(Some(facts.id()), "observed", [verdict.to_owned()]);
    Ok(())
}
