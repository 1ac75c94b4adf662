//! One agent run for a role: money reserved before it starts, its run noted so that a crash can be mended, the next
//! agent of the list tried when one cannot work.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Ctx, answers, gather};
use crate::{
    adapters::{
        agents::{self, AgentCall, AgentOutcome, Role},
        process::{self, StopFlag},
    },
    config::{Agent, Billing, CommandLine},
    decide::budget,
    exit::{Exit, Fault},
    model::{IncidentId, RunId, Slot},
    render::prompt::PromptSet,
    store::Claim,
};

/// What is asked of an agent.
pub(super) struct Question<'a> {
    pub(super) role: Role,
    pub(super) incident: &'a IncidentId,
    /// None for triage, which asks about several incidents at once under a lock of its own.
    pub(super) claim: Option<&'a Claim>,
    pub(super) prompt: String,
    pub(super) input: Value,
    pub(super) cwd: &'a Path,
    /// What it may read beside that and its tools.
    pub(super) read: Vec<PathBuf>,
    pub(super) commands: &'a [CommandLine],
    /// Part of the run id and of the transcript's name.
    pub(super) name: String,
    pub(super) deadline: Duration,
}

/// What came of it, and who answered.
pub(super) struct Answer {
    pub(super) outcome: AgentOutcome,
    pub(super) agent: String,
    pub(super) sandbox: String,
}

/// Asks the agents of a role in order until one could work.
pub(super) async fn ask(ctx: &Ctx, question: Question<'_>) -> Result<Answer> {
    let names = match question.role {
        Role::Triage => &ctx.config.agents.triage,
        Role::Fix => &ctx.config.agents.fix,
        Role::Audit => &ctx.config.agents.audit,
    };
    let mut last = None;
    for name in names {
        let agent = ctx
            .config
            .agents
            .defined
            .get(name)
            .with_context(|| format!("agent {name} is not defined in the config"))?;
        // Every agent after the first is a run that nobody has judged yet.
        if last.is_some()
            && let Some(why) = used_up(ctx, question.incident)?
        {
            tracing::warn!(agent.name = %agent.name, "not asked: {why}");
            break;
        }
        let answer = run(ctx, &question, agent).await?;
        let could_not = matches!(answer.outcome, AgentOutcome::Infrastructure(_));
        last = Some(answer);
        if !could_not {
            break;
        }
    }
    last.with_context(|| format!("no agent is configured for {}", question.role.name()))
}

fn used_up(ctx: &Ctx, incident: &IncidentId) -> Result<Option<String>> {
    let spent = ctx.store().spent(incident, ctx.now())?;
    let slot = ctx.store().incident(incident)?.map(|incident| incident.repo);
    let Some(repo) = slot.and_then(|slot| ctx.config.repo(&slot)) else {
        return Ok(None);
    };
    Ok(budget::used_up(gather::spend(spent), &ctx.policy(repo)?))
}

async fn run(ctx: &Ctx, question: &Question<'_>, agent: &Agent) -> Result<Answer> {
    let worst = match agent.billing {
        Billing::Metered => agent.usd_per_run.unwrap_or(0.0),
        Billing::Plan => 0.0,
    };
    let role = question.role.name();
    let spend = ctx
        .store()
        .reserve(question.incident, question.claim, role, &agent.name, worst, ctx.now())?;
    // Fresh, because what carries the mark is killed in the end: the same cause in another home is not ours to end.
    let fresh = nonce()?;
    let run_id = format!("{}.{spend}.{}", question.name, fresh.as_str());
    let run_id = RunId::parse(&run_id).context("name an agent run")?;
    if let Some(claim) = question.claim {
        ctx.store().set_running(claim, Some(&run_id))?;
    }
    let slot = ctx.store().incident(question.incident)?.map(|incident| incident.repo);
    ctx.report().models_called += 1;
    let transcript = ctx.config.home.logs.join("agents").join(format!("{run_id}.log"));
    let scratch = ctx.config.home.state.join("runs");
    super::private_dir(&scratch)?;
    super::private_dir(&ctx.config.home.logs.join("agents"))?;
    let done = agents::run_agent(AgentCall {
        role: question.role,
        agent,
        prompt: question.prompt.clone(),
        input: question.input.clone(),
        schema: agents::schema(question.role),
        cwd: question.cwd,
        commands: question.commands,
        toolchain_env: &ctx.config.toolchain_env,
        scratch: &scratch,
        read: ctx.tools().into_iter().chain(question.read.iter().cloned()).collect(),
        hide: ctx.own_places(),
        run_id: run_id.clone(),
        deadline: question.deadline,
        stop: Some(paused_flag(ctx, slot.as_ref())),
        transcript,
        redactor: &ctx.redactor,
    })
    .await;
    if let Some(claim) = question.claim {
        ctx.store().set_running(claim, None)?;
    }
    ctx.store().settle_spend(spend, done.usd, ctx.now())?;
    tracing::info!(agent.role = role, agent.name = %agent.name, duration_ms = done.wall.as_millis(), "agent run ended");
    Ok(Answer {
        outcome: done.outcome,
        agent: agent.name.clone(),
        sandbox: done.sandbox,
    })
}

impl Ctx {
    /// What children may read for the sake of their tools.
    pub(super) fn tools(&self) -> Vec<PathBuf> {
        let config = &self.config;
        let chains = config.toolchain_env.iter().map(|(_, dir)| PathBuf::from(dir));
        chains.chain(config.readable.iter().cloned()).collect()
    }

    /// What no child may read, whatever leads there: configuration, secrets, ledger, clones, logs.
    pub(super) fn own_places(&self) -> Vec<PathBuf> {
        let home = &self.config.home;
        [&home.root, &home.state, &home.logs, &home.signals]
            .map(Clone::clone)
            .into()
    }
}

/// A running agent is ended within a second of `tick pause`, which leaves one of these files.
pub(super) fn paused_flag(ctx: &Ctx, slot: Option<&Slot>) -> StopFlag {
    let everything = answers::sign(ctx, None);
    let this_repo = slot.map(|slot| answers::sign(ctx, Some(slot)));
    StopFlag::new(move || everything.exists() || this_repo.as_ref().is_some_and(|path| path.exists()))
}

/// A fresh nonce for the fences of one prompt.
pub(super) fn nonce() -> Result<crate::text::fence::Nonce> {
    process::random_nonce()
}

/// The owner's prompts, or the shipped ones.
pub(super) fn prompts(ctx: &Ctx) -> Result<PromptSet> {
    let set = agents::prompt_overrides(&ctx.config.home.prompts).and_then(|own| PromptSet::with(&own));
    set.map_err(|error| {
        Fault::new(Exit::Config, format!("{error:#}"))
            .advise(
                "mend the template in prompts/, or remove it to use the one in the program; then: tick config check",
            )
            .into()
    })
}
