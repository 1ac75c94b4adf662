//! The auditor: a fresh read-only agent that sees one head, and whose verdict is bound to it.

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Ctx,
    agents::{Question, ask, nonce, prompts},
    attempt::signature_row,
    evidence::kind,
    judge::attempt_of,
};
use crate::{
    adapters::{
        agents::{AgentOutcome, Role},
        git,
    },
    decide::{facts::Facts, next::audit_word, verdict},
    model::{Sha, evidence::GuardReport},
    render::{self, prompt::AuditContext},
    store::Claim,
    text::Untrusted,
};

/// A fresh read-only agent sees diff, incident and proof; not the fixer's story.
pub(super) async fn audit(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let attempt = attempt_of(facts, n)?;
    let mirror = ctx.mirror(repo).await?;
    let proof = attempt.proof.as_ref().context("nothing is proven about this head")?;
    let row = signature_row(ctx, facts)?;
    let untrusted = |text: &str| Untrusted::new(text, &ctx.redactor);
    let diff = mirror.diff_text(&attempt.attempt.base, head, 1 << 20).await?;
    let proof_text = render::story::proof(proof).join("\n");
    let context = AuditContext {
        repo: repo.slot.clone(),
        incident: facts.id().clone(),
        head: head.clone(),
        template: untrusted(&row.template),
        samples: row.samples.iter().map(|s| untrusted(s)).collect(),
        diff: untrusted(&diff),
        proof: untrusted(&proof_text),
        findings: findings(ctx, attempt.guards.as_ref()),
    };
    let dir = super::fresh_dir(ctx, "audits", &attempt.attempt.id.file_name())?;
    let tree = dir.join("tree");
    mirror.checkout(head, &tree).await?;
    let input = json!({
        "incident": { "id": facts.id(), "signature": facts.cause.signature, "title": row.title },
        "head_sha": head,
        "diff": context.diff.analyse(),
        "proof": proof_text,
    });
    let prompt = prompts(ctx)?.audit(&context, &nonce()?)?;
    let answer = ask(
        ctx,
        Question {
            role: Role::Audit,
            incident: facts.id(),
            claim: Some(claim),
            prompt,
            input,
            cwd: &tree,
            read: Vec::new(),
            commands: &[],
            name: format!("audit.{}", attempt.attempt.id.file_name()),
            deadline: ctx.config.limits.attempt_wall,
        },
    )
    .await;
    git::sweep(&dir)?;
    let answer = answer?;
    let failed = |why: String| -> Result<()> {
        ctx.record(claim, Some(head), kind::AUDIT_FAILED, "no usable answer", &why)?;
        ctx.say(Some(facts.id()), "audit", [format!("audit    no verdict: {why}")]);
        Ok(())
    };
    match answer.outcome {
        AgentOutcome::Reply(reply) => match verdict::parse_audit(&reply, head, &answer.agent, &answer.sandbox) {
            Ok(audit) => {
                let word = audit_word(audit.verdict);
                ctx.record(claim, Some(head), kind::AUDIT, word, &audit)?;
                ctx.say(
                    Some(facts.id()),
                    "audit",
                    [format!("audit    {word}, bound to {}", head.short())],
                );
                Ok(())
            }
            Err(error) => failed(format!("its reply was refused: {error}")),
        },
        AgentOutcome::Failed(why) => failed(why),
        AgentOutcome::Infrastructure(why) => {
            ctx.record(claim, Some(head), kind::AUDIT_FAILED, kind::UNAVAILABLE, &why)?;
            ctx.say(Some(facts.id()), "audit", [format!("audit    not made: {why}")]);
            Ok(())
        }
        // A stop sign ended it, which says nothing about the head; the next turn reads the sign.
        AgentOutcome::Interrupted => Ok(()),
    }
}

fn findings(ctx: &Ctx, guards: Option<&GuardReport>) -> Vec<Untrusted> {
    guards
        .iter()
        .flat_map(|g| &g.findings)
        .map(|f| Untrusted::new(&format!("{} {}", f.rule, f.sentence()), &ctx.redactor))
        .collect()
}
