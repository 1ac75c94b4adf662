//! One attempt: a worktree from our own mirror, an agent that edits it, our own walk of the tree into a commit. What the
//! agent says is kept as said; what it made is judged later, on git objects.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Ctx,
    agents::{Answer, Question, ask, nonce, prompts},
    evidence::kind,
    ground::Ground,
    whereabouts,
};
use crate::{
    adapters::{
        agents::{AgentOutcome, Role},
        git::{self, Mirror, WalkLimits, Walked},
    },
    config::Repo,
    decide::{
        budget,
        facts::{AttemptFacts, Facts},
        verdict::{self, FixReply},
    },
    exit::{Exit, Fault},
    model::{
        AttemptId, Sha,
        incident::{self, Attempt, AttemptOutcome, Incident},
    },
    render::prompt::{Earlier, FixContext},
    store::{Claim, SignatureRow},
    text::Untrusted,
};

/// Lets an agent try on `base`, and records what came of it.
pub(super) async fn attempt(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, base: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    // Before the attempt begins: a forge that cannot be reached costs none.
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    whereabouts::settle(ctx, &signature_row(ctx, facts)?, &mirror, base).await?;
    // What the tests stand on, before any code of an agent exists: where it cannot be made no agent is asked.
    drop(Ground::lay(ctx, claim, repo, &mirror, base).await?);
    let mut attempt = Attempt {
        id: AttemptId::new(facts.id(), n),
        n,
        base: base.clone(),
        head: None,
        patch_id: None,
        started: ctx.now(),
        ended: None,
        outcome: None,
        failure_sig: None,
        charged: true,
        agent: String::new(),
        said: String::new(),
    };
    ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    ctx.attempts_made.set(ctx.attempts_made.get() + 1);
    ctx.say(
        Some(facts.id()),
        "attempt",
        [format!("{}, worktree at {}", budget::place_of(facts, n), base.short())],
    );
    let dir = ctx.config.home.state.join("worktrees").join(attempt.id.file_name());
    let result = work(ctx, claim, facts, &mirror, &mut attempt, &dir).await;
    git::sweep(&dir).context("remove the worktree of an attempt")?;
    let outcome = result?;
    attempt.charged = charged(&outcome);
    attempt.outcome = Some(outcome);
    attempt.ended = Some(ctx.now());
    ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    if let Some(failure) = &attempt.outcome
        && !matches!(failure, AttemptOutcome::Committed)
    {
        let why = AttemptFacts::of(attempt.clone()).failure();
        let why = why.map(|f| f.sentence().to_owned()).unwrap_or_default();
        ctx.say(Some(facts.id()), "attempt", [format!("ended without a patch: {why}")]);
    }
    Ok(())
}

/// Hangs, overload and stop signs cost the incident nothing; a broken contract does.
const fn charged(outcome: &AttemptOutcome) -> bool {
    match outcome {
        AttemptOutcome::Infrastructure(_) | AttemptOutcome::Interrupted(_) => false,
        AttemptOutcome::Committed
        | AttemptOutcome::CannotFix(_)
        | AttemptOutcome::NoChange
        | AttemptOutcome::Refused(_)
        | AttemptOutcome::Failed(_) => true,
    }
}

async fn work(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    mirror: &Mirror,
    attempt: &mut Attempt,
    dir: &Path,
) -> Result<AttemptOutcome> {
    let repo = ctx.repo(&facts.incident.repo)?;
    git::sweep(dir).context("remove the worktree of an earlier run")?;
    let paths = mirror.worktree(&attempt.base, dir).await?;
    let answer = ask_fixer(ctx, claim, facts, repo, attempt, &paths.tree, mirror.objects()).await?;
    attempt.agent.clone_from(&answer.agent);
    let reply = match answer.outcome {
        AgentOutcome::Reply(reply) => reply,
        AgentOutcome::Infrastructure(why) => return Ok(AttemptOutcome::Infrastructure(why)),
        AgentOutcome::Failed(why) => return Ok(AttemptOutcome::Failed(why)),
        AgentOutcome::Interrupted => return Ok(AttemptOutcome::Interrupted("a stop sign".to_owned())),
    };
    match verdict::parse_fix(&reply) {
        Err(error) => return Ok(AttemptOutcome::Failed(format!("its reply was refused: {error}"))),
        Ok(FixReply::CannotFix { reason }) => return Ok(AttemptOutcome::CannotFix(reason)),
        Ok(FixReply::Fixed {
            root_cause, summary, ..
        }) => attempt.said = incident::said(&root_cause, &summary),
    }
    commit(ctx, claim, facts, attempt, mirror, &paths.tree, &answer.sandbox).await
}

/// A later attempt is a commit on top of what was pushed: squash makes one of it, and nothing is ever forced.
async fn commit(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    attempt: &mut Attempt,
    mirror: &Mirror,
    tree: &Path,
    sandbox: &str,
) -> Result<AttemptOutcome> {
    let parents = parents(facts, mirror, &attempt.base).await?;
    let message = format!(
        "Attempt {} at cause {}\n\nWritten by {}, committed by tick.",
        attempt.n,
        facts.cause.signature.short(),
        attempt.agent
    );
    let limits = WalkLimits {
        time: time_left(ctx, attempt),
        ..WalkLimits::default()
    };
    let walked = mirror
        .commit_walk_within(&attempt.base, tree, &parents, &message, limits)
        .await?;
    Ok(match walked {
        Walked::NoChange => AttemptOutcome::NoChange,
        Walked::Refused(why) => AttemptOutcome::Refused(why),
        Walked::Commit { sha, tree } => {
            attempt.patch_id = Some(mirror.patch_id(&attempt.base, &sha).await?);
            ctx.record(claim, Some(&sha), kind::TREE, sandbox, &tree)?;
            attempt.head = Some(sha);
            AttemptOutcome::Committed
        }
    })
}

/// What is left of the attempt; a fixer that took all of it still gets its tree read.
fn time_left(ctx: &Ctx, attempt: &Attempt) -> Duration {
    let gone = (ctx.now() - attempt.started).to_std().unwrap_or_default();
    let left = ctx.config.limits.attempt_wall.saturating_sub(gone);
    left.max(Duration::from_mins(1))
}

/// The base alone for a first push; the pushed head, and the base when it moved, from then on.
pub(super) async fn parents(facts: &Facts, mirror: &Mirror, base: &Sha) -> Result<Vec<Sha>> {
    let Some(pushed) = &facts.pushed else {
        return Ok(vec![base.clone()]);
    };
    on_top(mirror, &pushed.head, base).await
}

/// What was pushed, and the base where it is not in that yet.
pub(super) async fn on_top(mirror: &Mirror, pushed: &Sha, base: &Sha) -> Result<Vec<Sha>> {
    let mut parents = vec![pushed.clone()];
    if !mirror.is_ancestor(base, pushed).await? {
        parents.push(base.clone());
    }
    Ok(parents)
}

async fn ask_fixer(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    repo: &Repo,
    attempt: &Attempt,
    tree: &Path,
    objects: PathBuf,
) -> Result<Answer> {
    let row = signature_row(ctx, facts)?;
    let untrusted = |text: &str| Untrusted::new(text, &ctx.redactor);
    let earlier: Vec<Earlier> = facts.attempts.iter().filter_map(|a| earlier(ctx, a)).collect();
    let context = FixContext {
        repo: repo.slot.clone(),
        incident: facts.id().clone(),
        attempt: attempt.n,
        failure_type: facts.failure_type(),
        base: attempt.base.clone(),
        template: untrusted(&row.template),
        culprit: super::culprit_line(ctx, &row).map(|place| untrusted(&place)),
        guess: facts.triage.as_ref().map(|t| untrusted(&t.root_cause)),
        suspected_files: facts
            .triage
            .iter()
            .flat_map(|t| t.suspected_files.iter().map(|f| untrusted(f)))
            .collect(),
        samples: row.samples.iter().map(|s| untrusted(s)).collect(),
        earlier: earlier.clone(),
        commands: repo.test.iter().map(|c| c.text.clone()).collect(),
    };
    let prompt = prompts(ctx)?.fix(&context, &nonce()?)?;
    let input = json!({
        "incident": { "id": facts.id(), "signature": facts.cause.signature, "title": row.title, "samples": row.samples },
        "repo": repo.slot,
        "attempt": attempt.n,
        "earlier": earlier.iter().map(|e| json!({ "attempt": e.attempt, "why": e.why.line(2000) })).collect::<Vec<_>>(),
    });
    ask(
        ctx,
        Question {
            role: Role::Fix,
            incident: facts.id(),
            claim: Some(claim),
            prompt,
            input,
            cwd: tree,
            // Its git directory borrows the base's objects.
            read: vec![objects],
            commands: &repo.test,
            name: format!("fix.{}", attempt.id.file_name()),
            deadline: ctx.config.limits.attempt_wall,
        },
    )
    .await
}

fn earlier(ctx: &Ctx, attempt: &AttemptFacts) -> Option<Earlier> {
    let failure = attempt.failure()?;
    let findings = attempt
        .guards
        .iter()
        .flat_map(|g| &g.findings)
        .map(|f| {
            let text = format!("{} {}\nwas {}\nis {}", f.rule, f.sentence(), f.was, f.is);
            Untrusted::new(&text, &ctx.redactor)
        })
        .collect();
    Some(Earlier {
        attempt: attempt.attempt.n,
        why: Untrusted::new(failure.sentence(), &ctx.redactor),
        findings,
    })
}

pub(super) fn signature_row(ctx: &Ctx, facts: &Facts) -> Result<SignatureRow> {
    ctx.store()
        .signature(&facts.cause.signature)?
        .with_context(|| format!("signature {} is gone from the store", facts.cause.signature))
}

/// A person's head on our branch, which becomes the attempt to judge: it is proven and audited like one of an agent.
pub(super) struct Kept {
    tree: Sha,
    attempt: Attempt,
}

/// Finds that head. Reads only.
pub(super) async fn to_keep(ctx: &Ctx, incident: &Incident, by: &str) -> Result<Kept> {
    let usage = |message: String| Fault::new(Exit::Usage, message);
    let repo = ctx.repo(&incident.repo)?;
    if repo.github.is_none() {
        let fault = usage(format!("repo {} has no GitHub repository, so no branch", repo.slot));
        return Err(fault.advise("without --keep-branch the next tick starts over").into());
    }
    let branch = incident.id.branch();
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    let head = mirror.resolve(&format!("refs/heads/{branch}")).await?;
    let head = head.ok_or_else(|| usage(format!("there is no branch {branch} to keep")))?;
    let (_, default) = ctx.repo_info(repo).await?;
    let default = mirror.resolve(&format!("refs/heads/{default}")).await?;
    let attempts = ctx.store().attempts(&incident.id)?;
    let mut bases: Vec<Sha> = default.into_iter().collect();
    bases.extend(attempts.iter().rev().map(|a| a.base.clone()));
    let mut base = None;
    for candidate in bases {
        if mirror.is_ancestor(&candidate, &head).await? {
            base = Some(candidate);
            break;
        }
    }
    let base = base.ok_or_else(|| {
        usage(format!("{branch} is built on no commit that tick knows")).advise("rebase it onto the default branch")
    })?;
    let n = attempts.iter().map(|a| a.n).max().unwrap_or(0) + 1;
    Ok(Kept {
        tree: mirror.tree_of(&head).await?,
        attempt: Attempt {
            id: AttemptId::new(&incident.id, n),
            n,
            patch_id: Some(mirror.patch_id(&base, &head).await?),
            base,
            head: Some(head),
            started: ctx.now(),
            ended: Some(ctx.now()),
            outcome: Some(AttemptOutcome::Committed),
            failure_sig: None,
            charged: false,
            agent: by.to_owned(),
            said: String::new(),
        },
    })
}

impl Kept {
    pub(super) fn take_over(mut self, ctx: &Ctx, claim: &Claim) -> Result<()> {
        ctx.record(claim, self.attempt.head.as_ref(), kind::TREE, "a person's", &self.tree)?;
        // It begins with the retry, after everything that is history.
        self.attempt.started = ctx.now();
        self.attempt.ended = Some(ctx.now());
        ctx.store().put_attempt(claim, &self.attempt, ctx.now())?;
        Ok(())
    }
}

/// Closes the attempt that a killed process left running. It is not charged.
pub(super) fn interrupted(ctx: &Ctx, claim: &Claim) -> Result<()> {
    let attempts = ctx.store().attempts(&claim.incident)?;
    for mut attempt in attempts.into_iter().filter(|a| a.outcome.is_none()) {
        attempt.outcome = Some(AttemptOutcome::Interrupted(
            "the process that ran it was killed".to_owned(),
        ));
        attempt.charged = false;
        attempt.ended = Some(ctx.now());
        ctx.store().put_attempt(claim, &attempt, ctx.now())?;
    }
    Ok(())
}
