//! A proof that CI computes, step by step: the witness's commit, its branch, what the runs kept, the grade. Each step
//! leaves a row, and the next tick goes on from there.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    Ctx,
    diff::file_changes,
    doubts::{self, Product},
    effect::{Acted, EffectKind, Unsettled, effect},
    evidence::kind,
    hands::github_name,
    judge::{attempt_of, conclude, edit, proof_facts},
    publish::push_commit,
    undo,
};
use crate::{
    adapters::{
        git::{FileEdit, Mirror, Push},
        github::GitHubErrorKind,
        suite,
    },
    decide::{
        facts::{AttemptFacts, CiWitness, Facts, keys},
        guards::{self, GuardPolicy, Parts},
        next::ci_says,
        proof::{self, Runs},
    },
    model::{
        Sha,
        evidence::{ProofGrade, Suite},
    },
    store::Claim,
};

async fn parts_of(mirror: &Mirror, attempt: &AttemptFacts, head: &Sha) -> Result<Parts> {
    let changes = file_changes(mirror, &attempt.attempt.base, head).await?;
    let kinds = GuardPolicy::new(std::iter::empty(), 0, 0)?.kinds;
    Ok(guards::split(&changes, &kinds))
}

/// The base with nothing but the diff's tests.
pub(super) async fn witness(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let attempt = attempt_of(facts, n)?;
    let mirror = ctx.mirror(ctx.repo(&facts.incident.repo)?).await?;
    let parts = parts_of(&mirror, attempt, head).await?;
    let commit = if parts.test_part.is_empty() {
        None
    } else {
        let edits: Vec<FileEdit> = parts.test_part.iter().map(edit).collect();
        let message = format!("Tests of cause {} without its fix", facts.cause.signature.short());
        Some(mirror.commit_edits(&attempt.attempt.base, &edits, &message).await?)
    };
    let word = if commit.is_some() {
        "new tests"
    } else {
        "the base alone"
    };
    ctx.record(claim, Some(head), kind::CI_WITNESS, word, &CiWitness { commit })
}

pub(super) async fn push(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, sha: &Sha) -> Result<()> {
    let key = keys::push_witness(&attempt_of(facts, n)?.attempt.id, sha);
    let branch = facts.id().witness_branch();
    push_commit(ctx, claim, facts, EffectKind::PushWitness, &key, sha, &branch).await
}

/// Reads what the finished runs of a commit kept. That they kept nothing is an answer, too.
pub(super) async fn report(ctx: &Ctx, claim: &Claim, facts: &Facts, sha: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let suite = match ctx.github().junit_reports(github_name(repo)?, sha).await {
        Ok(reports) => suite::read_reports(&reports, &ctx.redactor),
        Err(error) if error.kind == GitHubErrorKind::Permission => Suite {
            unreadable: Some("this token may not read the artifacts of workflow runs (Actions: read)".to_owned()),
            ..Suite::default()
        },
        Err(error) => return Err(error.into()),
    };
    let word = if suite.unreadable.is_some() { "missing" } else { "read" };
    ctx.say(
        Some(facts.id()),
        "ci",
        [format!(
            "report   of CI at {}: {word}, {} results",
            sha.short(),
            suite.total()
        )],
    );
    ctx.record(claim, Some(sha), kind::CI_REPORT, word, &suite)
}

/// Judges the reports. Without that of the fix it is only asked whether the witness is red.
pub(super) async fn grade(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let attempt = attempt_of(facts, n)?;
    let mirror = ctx.mirror(repo).await?;
    let parts = parts_of(&mirror, attempt, head).await?;
    let witness = attempt.ci.witness.as_ref().and_then(|witness| witness.commit.as_ref());
    let rows = ctx.store().evidence(facts.id())?;
    let report = |sha: &Sha| -> Result<Option<Suite>> {
        let row = rows
            .iter()
            .rev()
            .find(|row| row.kind == kind::CI_REPORT && row.head == sha.as_str());
        let suite = row.map(|row| serde_json::from_value(row.detail.clone()));
        suite.transpose().context("read a report of CI")
    };
    let runs = Runs {
        base: report(&attempt.attempt.base)?,
        red: witness.map(&report).transpose()?.flatten(),
        head: report(head)?,
        ..Runs::default()
    };
    let known = proof_facts(ctx, facts, repo, attempt, head, &parts)?;
    let Some(mut proof) = proof::by_ci(&known, &runs) else {
        let red = witness.unwrap_or(&attempt.attempt.base);
        ctx.say(Some(facts.id()), "ci", [format!("red      in CI at {}", red.short())]);
        return ctx.record(claim, Some(head), kind::CI_RED, "red", &red);
    };
    if proof.grade == ProofGrade::Proven {
        proof.undone = undo::by_witness(&parts, &proof.witness_ids).unwrap_or_else(|| undo::not_tried(&parts));
        proof::unseen(&mut proof);
        let product = Product { mirror: &mirror, head };
        doubts::of(&product, &known.incident, &parts, &mut proof).await?;
    }
    conclude(ctx, claim, facts, attempt, &proof)
}

/// CI gave no answer that a proof could be computed from.
pub(super) async fn unproven(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha, why: &str) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let attempt = attempt_of(facts, n)?;
    let mirror = ctx.mirror(repo).await?;
    let parts = parts_of(&mirror, attempt, head).await?;
    let known = proof_facts(ctx, facts, repo, attempt, head, &parts)?;
    conclude(ctx, claim, facts, attempt, &proof::unproven(&known, why))
}

/// What CI says of a commit that landed, where nothing can be run here. Until it has spoken that is tried again.
pub(super) async fn landed(ctx: &Ctx, facts: &Facts, sha: &Sha) -> Result<(bool, String)> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let read = ctx.github().checks(github_name(repo)?, sha).await?;
    match ci_says(&read) {
        Some(true) => Ok((true, "CI is green on it".to_owned())),
        Some(false) => Ok((false, "CI is red on it".to_owned())),
        None => Err(Unsettled {
            why: format!("CI has not judged the landed commit {} yet", sha.short()),
            denied: false,
        }
        .into()),
    }
}

/// Takes the witness's branch away, where it is still as we pushed it.
pub(super) async fn drop_branch(ctx: &Ctx, claim: &Claim, facts: &Facts, pushed: &str, sha: &Sha) -> Result<()> {
    let mirror = ctx.mirror(ctx.repo(&facts.incident.repo)?).await?;
    let branch = facts.id().witness_branch();
    let gone = json!({ "branch": branch });
    // What somebody else put there is theirs.
    let find = async || -> Result<Option<Value>> {
        Ok((mirror.ls_remote(&branch).await?.as_ref() != Some(sha)).then(|| gone.clone()))
    };
    let act = async || match mirror.delete_witness(&branch, sha).await {
        Ok(Push::Done) => Acted::Done(gone.clone()),
        Ok(Push::Refused(_, said)) => match find().await {
            Ok(Some(gone)) => Acted::Done(gone),
            Ok(None) => Acted::Denied(said),
            Err(error) => Acted::Unknown(error.to_string()),
        },
        Ok(Push::Unknown(why)) => Acted::Unknown(why),
        Err(error) => Acted::Unknown(error.to_string()),
    };
    let key = keys::drop_witness(pushed);
    let ended = effect(ctx, claim, EffectKind::DropWitness, &key, &sha, find, act).await?;
    ended.done(&format!("delete {branch}")).map(drop)
}
