//! Asks an agent about causes that nobody has judged yet: one call a repo, under the triage lock. A reply is parsed
//! strictly; what it says is a guess about the cause, and a verdict that routes, never one that merges.

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Ctx, advance,
    agents::{Question, ask, nonce, prompts},
    evidence::{self, kind},
    gather,
};
use crate::{
    adapters::agents::{AgentOutcome, Role},
    config::Repo,
    decide::{budget, facts::Facts, verdict},
    model::{Mode, Signature, incident::Incident, incident::Triage},
    render::prompt::{TriageContext, TriageGroup},
    store::{SignatureRow, TriageLock, locks::Tried},
    text::Untrusted,
};

/// Causes put before triage in one call.
const GROUPS: usize = 8;

/// Triages every open incident that is due and has no verdict yet.
pub async fn triage(ctx: &Ctx) -> Result<()> {
    if untriaged(ctx)?.is_empty() {
        return Ok(());
    }
    let note = format!("pid {}, since {}", std::process::id(), ctx.now().format("%H:%M:%S"));
    let state = ctx.state();
    let _lock = match TriageLock::try_take(&state, &note).context("take the triage lock")? {
        Tried::Held(lock) => lock,
        Tried::Busy(by) => {
            tracing::info!("another process triages ({by})");
            return Ok(());
        }
    };
    // Once more under the lock: another process may have asked about the same causes a moment ago.
    let todo = untriaged(ctx)?;
    for repo in ctx.config.repos.values() {
        let of_repo: Vec<_> = todo.iter().filter(|(incident, _)| incident.repo == repo.slot).collect();
        let policy = ctx.policy(repo)?;
        if policy.rung < Mode::Diagnose {
            continue;
        }
        for batch in of_repo.chunks(GROUPS) {
            if batch[0].1.paused.is_some() {
                continue;
            }
            // Read afresh: the call before this one was a run too.
            let spent = ctx.store().spent(&batch[0].0.id, ctx.now())?;
            if let Some(why) = budget::used_up(gather::spend(spent), &policy) {
                tracing::warn!(repo = %repo.slot, "no triage: {why}");
                continue;
            }
            ask_about(ctx, repo, batch).await?;
        }
    }
    Ok(())
}

fn untriaged(ctx: &Ctx) -> Result<Vec<(Incident, Facts)>> {
    let due = ctx.store().due_incidents(ctx.now())?;
    let mut todo = Vec::new();
    for incident in due {
        let facts = gather::facts(ctx, &incident)?;
        let later = facts.triage_unavailable.again_at().is_some_and(|at| at > ctx.now());
        if facts.triage.is_none() && facts.triage_failures < 3 && !later && !facts.triage_unavailable.is_final() {
            todo.push((incident, facts));
        }
    }
    Ok(todo)
}

async fn ask_about(ctx: &Ctx, repo: &Repo, batch: &[&(Incident, Facts)]) -> Result<()> {
    let mut rows = Vec::new();
    for (incident, _) in batch {
        let sig = incident.id.signature();
        let row = ctx.store().signature(&sig)?;
        rows.push(row.with_context(|| format!("signature {sig} is gone from the store"))?);
    }
    // Its claim carries the run while the agent runs, so that whoever comes after a kill can end it.
    let Some(claim) = ctx.store().claim(&batch[0].0.id)? else {
        return Ok(());
    };
    advance::recover(ctx, &claim)?;
    let commits = commits(ctx, repo).await;
    let context = TriageContext {
        repo: repo.slot.clone(),
        groups: rows.iter().map(|row| group(ctx, row)).collect(),
        commits,
    };
    let prompt = prompts(ctx)?.triage(&context, &nonce()?)?;
    let groups: Vec<_> = rows
        .iter()
        .map(|row| json!({ "signature": row.sig, "repo": row.repo, "title": row.title, "count": row.count, "samples": row.samples }))
        .collect();
    let dir = ctx.config.home.state.join("triage");
    super::private_dir(&dir)?;
    let answer = ask(
        ctx,
        Question {
            role: Role::Triage,
            incident: &batch[0].0.id,
            claim: Some(&claim),
            prompt,
            input: json!({ "repo": repo.slot, "groups": groups }),
            cwd: &dir,
            read: Vec::new(),
            commands: &[],
            name: format!("triage.{}.{}", repo.slot, ctx.tick),
            deadline: ctx.config.limits.attempt_wall.min(std::time::Duration::from_mins(10)),
        },
    )
    .await?;
    drop(claim);
    let asked: Vec<Signature> = rows.iter().map(|row| row.sig.clone()).collect();
    let verdicts = match answer.outcome {
        AgentOutcome::Reply(reply) => {
            verdict::parse_triage(&reply, &asked, &repo.slot).map_err(|e| ("failed", e.to_string()))
        }
        AgentOutcome::Failed(why) => Err(("failed", why)),
        AgentOutcome::Infrastructure(why) => Err((kind::UNAVAILABLE, why)),
        // A stop sign ended it, which says nothing about the causes.
        AgentOutcome::Interrupted => return Ok(()),
    };
    store(ctx, batch, &verdicts)
}

/// The verdict of the evidence row that says so, and why there is none.
type NoVerdict = (&'static str, String);

fn store(ctx: &Ctx, batch: &[&(Incident, Facts)], verdicts: &Result<Vec<Triage>, NoVerdict>) -> Result<()> {
    for (incident, _) in batch {
        let Some(claim) = ctx.store().claim(&incident.id)? else {
            continue;
        };
        let own = verdicts
            .as_ref()
            .map(|all| all.iter().find(|t| t.signature == incident.id.signature()));
        let row = match own {
            Ok(Some(triage)) => {
                let word = serde_json::to_value(triage.verdict)?;
                let word = word.as_str().unwrap_or_default().to_owned();
                ctx.say(
                    Some(&incident.id),
                    "triage",
                    [format!(
                        "triage   {word} in {}: {}",
                        incident.repo,
                        first_line(&triage.root_cause)
                    )],
                );
                evidence::row(ctx, None, kind::TRIAGE, &word, triage)?
            }
            Ok(None) => evidence::row(
                ctx,
                None,
                kind::TRIAGE_FAILED,
                "left out",
                &"it was left out of the reply",
            )?,
            Err((word, why)) => {
                ctx.say(Some(&incident.id), "triage", [format!("triage   no verdict: {why}")]);
                evidence::row(ctx, None, kind::TRIAGE_FAILED, word, why)?
            }
        };
        ctx.store().add_evidence(&claim, &row)?;
    }
    Ok(())
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(100).collect()
}

fn group(ctx: &Ctx, row: &SignatureRow) -> TriageGroup {
    let untrusted = |text: &str| Untrusted::new(text, &ctx.redactor);
    TriageGroup {
        signature: row.sig.clone(),
        kind: row.kind,
        count: row.count,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        template: untrusted(&row.template),
        culprit: row.culprit.as_ref().map(|c| untrusted(&super::culprit_line(c))),
        samples: row.samples.iter().map(|s| untrusted(s)).collect(),
        before: row
            .releases
            .last()
            .map(|sha| untrusted(&format!("release {} was live", sha.short())))
            .into_iter()
            .collect(),
    }
}

/// Latest commits of the default branch; a repository that cannot be read leaves the list empty.
async fn commits(ctx: &Ctx, repo: &Repo) -> Vec<Untrusted> {
    let read = async || -> Result<Vec<Untrusted>> {
        let (_, branch) = ctx.repo_info(repo).await?;
        let mirror = ctx.mirror(repo).await?;
        mirror.fetch().await?;
        let Some(head) = mirror.resolve(&format!("refs/heads/{branch}")).await? else {
            return Ok(Vec::new());
        };
        let log = mirror.log(None, &head, 10).await?;
        Ok(log
            .iter()
            .map(|c| Untrusted::new(&format!("{} {}", c.sha.short(), c.subject.line(120)), &ctx.redactor))
            .collect())
    };
    if repo.github.is_none() {
        return Vec::new();
    }
    read().await.unwrap_or_else(|error| {
        tracing::warn!(repo = %repo.slot, "the latest commits could not be read: {error:#}");
        Vec::new()
    })
}
