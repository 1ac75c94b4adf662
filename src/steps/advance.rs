//! Moves incidents as far as they can go now: facts, the outside reads that their stage wants, the one next action,
//! its record; until it waits or is done.

use anyhow::{Context, Result};
use chrono::TimeDelta;
use serde_json::json;

use super::{Ctx, felt, gather, hindered, observe, perform};
use crate::{
    decide::{
        facts::{Facts, Policy, Seen},
        next::{self, Next},
    },
    model::{
        incident::{Incident, IncidentOutcome},
        report::Waiting,
    },
    store::{Claim, DecisionRow},
};

/// Turns of one incident in one process. A state machine that needs more is wrong.
const TURNS: u32 = 200;

/// Advances every incident that is due, oldest first. One that fails does not hide the next.
pub async fn advance_all(ctx: &Ctx, only: Option<&crate::model::IncidentId>) -> Result<()> {
    let due = ctx.store().due_incidents(ctx.now())?;
    let mut failed = Vec::new();
    for incident in due {
        if only.is_some_and(|only| *only != incident.id) {
            continue;
        }
        if let Err(error) = Box::pin(advance(ctx, &incident)).await {
            tracing::error!(incident.id = %incident.id, "advancing failed: {error:#}");
            failed.push(error.context(format!("incident {}", incident.id)));
        }
    }
    super::housekeeping::mirrors(ctx).await?;
    ctx.store().print_audit()?;
    match failed.into_iter().next() {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

async fn advance(ctx: &Ctx, incident: &Incident) -> Result<()> {
    let claim = ctx.store().claim(&incident.id)?;
    let Some(claim) = claim else {
        tracing::info!(incident.id = %incident.id, "another process repairs it");
        return Ok(());
    };
    // Another process may have moved it between the list and the claim.
    let now = ctx.now();
    let due = ctx.store().incident(&incident.id)?;
    if !due.is_some_and(|i| i.is_due(now)) {
        return Ok(());
    }
    recover(ctx, &claim)?;
    if ctx.config.repo(&incident.repo).is_none() {
        let row = ctx.store().signature(&incident.id.signature())?;
        if row.is_some_and(|row| row.ignored_until.is_some_and(|until| until > now)) {
            return Ok(ctx.store().close(&claim, IncidentOutcome::Ignored, now)?);
        }
        return without_repo(ctx, &claim, incident);
    }
    for turn in 1..=TURNS {
        let (facts, seen, policy) = look(ctx, incident).await?;
        // The record has the very time that was decided by.
        let now = ctx.now();
        let next = next::next(&facts, &seen, &policy, now);
        let by = json!({ "facts": facts, "seen": seen, "policy": policy, "now": now });
        record(ctx, &claim, turn, by, &next, &policy)?;
        match next {
            Next::Act(action) => {
                let done = perform::perform(ctx, &claim, &facts, &seen, &action).await;
                match done {
                    Ok(()) => hindered::passed(ctx, &claim, &facts, &action)?,
                    Err(error) if hindered::remember(ctx, &claim, &facts, &action, &error)? => {}
                    Err(error) => return Err(error.context(format!("failed to {}", next::name(&action)))),
                }
            }
            Next::Wait { until, why } => {
                ctx.store().set_due(&claim, until)?;
                return waits(ctx, incident, why);
            }
            Next::Done { outcome } => {
                ctx.store().close(&claim, outcome, ctx.now())?;
                ctx.say(
                    Some(&incident.id),
                    "closed",
                    [json!(outcome).as_str().unwrap_or_default().to_owned()],
                );
                return Ok(());
            }
        }
    }
    anyhow::bail!("incident {} took {TURNS} turns without coming to rest", incident.id)
}

/// The owner took the repo out of the config, or gave its slot another name: nothing may be done for it, and nothing
/// of it is lost.
fn without_repo(ctx: &Ctx, claim: &Claim, incident: &Incident) -> Result<()> {
    ctx.store().set_due(claim, ctx.now() + TimeDelta::hours(1))?;
    let why = format!(
        "repo {} is no longer in the config: put it back under this name, or end this with tick ignore {}",
        incident.repo,
        incident.id.signature().short()
    );
    waits(ctx, incident, why)
}

fn waits(ctx: &Ctx, incident: &Incident, why: String) -> Result<()> {
    let row = ctx.store().signature(&incident.id.signature())?;
    let felt = row.map(|row| felt::felt(ctx, incident, &row, false)).transpose()?;
    let waiting = Waiting {
        incident: incident.id.clone(),
        repo: incident.repo.clone(),
        title: felt.map(|felt| felt.shown).unwrap_or_default(),
        why,
    };
    ctx.report().waiting.push(waiting);
    Ok(())
}

/// The first action of each due incident, without doing or writing anything.
pub async fn plan(ctx: &Ctx) -> Result<Vec<(Incident, Next)>> {
    let due = ctx.store().due_incidents(ctx.now())?;
    let mut plans = Vec::new();
    for incident in due {
        if ctx.config.repo(&incident.repo).is_none() {
            continue;
        }
        let (facts, seen, policy) = look(ctx, &incident).await?;
        let next = next::next(&facts, &seen, &policy, ctx.now());
        plans.push((incident, next));
    }
    Ok(plans)
}

/// Facts, reads and policy of one turn.
pub async fn look(ctx: &Ctx, incident: &Incident) -> Result<(Facts, Seen, Policy)> {
    // Read again: this very process may have changed it.
    let incident = ctx
        .store()
        .incident(&incident.id)?
        .with_context(|| format!("incident {} is gone from the store", incident.id))?;
    let repo = ctx.repo(&incident.repo)?;
    let policy = ctx.policy(repo)?;
    let facts = gather::facts(ctx, &incident)?;
    let need = next::need(&facts, &policy);
    let seen = observe::observe(ctx, repo, &facts, need).await;
    Ok((facts, seen, policy))
}

/// Ends what a killed process of ours left running for this incident.
pub(super) fn recover(ctx: &Ctx, claim: &Claim) -> Result<()> {
    let running = ctx.store().running(&claim.incident)?;
    if let Some(run) = running {
        let ended = crate::adapters::process::end_leftovers(&run);
        tracing::warn!(incident.id = %claim.incident, run.id = %run, ended, "ended what an interrupted run left behind");
        ctx.store().set_running(claim, None)?;
    }
    // Also one that died before its agent was noted: nobody else can be at it while we hold the claim.
    super::attempt::interrupted(ctx, claim)
}

fn record(ctx: &Ctx, claim: &Claim, turn: u32, by: serde_json::Value, next: &Next, policy: &Policy) -> Result<()> {
    let row = DecisionRow {
        tick: ctx.tick.clone(),
        turn,
        facts: by,
        action: serde_json::to_value(next)?,
    };
    ctx.store()
        .put_decision(claim, &row, &super::evidence::digest_of(policy)?)?;
    Ok(())
}
