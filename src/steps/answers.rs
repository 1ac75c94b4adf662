//! A person's word, as facts in the store. A sign may always stop; nothing here merges or pushes anything.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Ctx, evidence::kind};
use crate::{
    adapters::host,
    decide::facts::Approved,
    model::{IncidentId, Sha, Signature, Slot, incident::IncidentOutcome},
    store::{Claim, Store},
};

const PAUSE: &str = "pause";

fn flag_name(slot: Option<&Slot>) -> String {
    slot.map_or_else(|| PAUSE.to_owned(), |slot| format!("{PAUSE}:{slot}"))
}

/// The file that running processes look at; the flag in the store is what counts.
pub(super) fn sign(ctx: &Ctx, slot: Option<&Slot>) -> PathBuf {
    let name = slot.map_or_else(|| "paused".to_owned(), |slot| format!("paused.{slot}"));
    ctx.config.home.state.join(name)
}

/// Stops everything, or one repo, before its next mutation; a running agent within a second.
pub fn pause(ctx: &Ctx, repo: Option<&str>, why: &str) -> Result<()> {
    let slot = repo.map(Slot::parse).transpose()?;
    let by = host::user_at_host();
    let value = format!("{why}; by {by} since {}", ctx.now().format("%Y-%m-%d %H:%M UTC"));
    ctx.store()
        .set_flag(&flag_name(slot.as_ref()), Some(&value), &by, ctx.now())?;
    let file = sign(ctx, slot.as_ref());
    std::fs::write(&file, &value).with_context(|| format!("write {}", file.display()))?;
    ctx.store().print_audit()?;
    Ok(())
}

/// Ends a pause. Without a repo it also ends frozen merges and dropped autonomy.
pub fn resume(ctx: &Ctx, repo: Option<&str>) -> Result<()> {
    let by = host::user_at_host();
    let flags = ctx.store().flags()?;
    for name in flags.keys() {
        let (what, of) = name
            .split_once(':')
            .map_or((name.as_str(), None), |(what, of)| (what, Some(of)));
        let ends = match repo {
            None => matches!(what, PAUSE | "freeze" | "autonomy"),
            Some(repo) => matches!(what, PAUSE | "autonomy") && of == Some(repo),
        };
        if !ends {
            continue;
        }
        ctx.store().set_flag(name, None, &by, ctx.now())?;
        if what == PAUSE {
            remove(&sign(ctx, of.map(Slot::parse).transpose()?.as_ref()))?;
        }
    }
    ctx.store().print_audit()?;
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", file.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn claim(store: &mut Store, id: &IncidentId) -> Result<Claim> {
    store
        .claim(id)?
        .with_context(|| format!("another process works on {id}; try again when it is done"))
}

/// Opens an incident again. What stopped it is history; with `keep_branch` the head that a person pushed is judged.
pub async fn retry(ctx: &Ctx, id: &IncidentId, keep_branch: bool) -> Result<()> {
    let incident = ctx.store().incident(id)?.with_context(|| format!("no incident {id}"))?;
    let claim = claim(&mut ctx.store(), id)?;
    let by = host::user_at_host();
    ctx.record(
        &claim,
        None,
        kind::RETRY,
        "by a person",
        &json!({ "by": by, "keep_branch": keep_branch }),
    )?;
    if keep_branch {
        super::attempt::take_over(ctx, &claim, &incident, &by).await?;
    }
    if incident.outcome == Some(IncidentOutcome::Declined) {
        ctx.store().forget_pull(&claim, ctx.now())?;
    }
    ctx.store().reopen(&claim, &by, ctx.now())?;
    ctx.store().print_audit()?;
    Ok(())
}

pub fn ignore(ctx: &Ctx, sig: &Signature, until: DateTime<Utc>, why: &str) -> Result<()> {
    ctx.store().ignore(sig, until, why, &host::user_at_host(), ctx.now())?;
    ctx.store().print_audit()?;
    Ok(())
}

/// Stands in for the human part of the evidence, for the head that is pushed now.
pub fn approve(ctx: &Ctx, id: &IncidentId) -> Result<Sha> {
    let incident = ctx.store().incident(id)?.with_context(|| format!("no incident {id}"))?;
    let facts = super::gather::facts(ctx, &incident)?;
    let Some(pushed) = &facts.pushed else {
        bail!("incident {id} has no pushed head that could be approved yet");
    };
    let claim = claim(&mut ctx.store(), id)?;
    let approved = Approved {
        by: host::user_at_host(),
        head: pushed.head.clone(),
    };
    ctx.record(&claim, Some(&pushed.head), kind::APPROVED, "by a person", &approved)?;
    ctx.store().set_due(&claim, ctx.now())?;
    ctx.store().print_audit()?;
    Ok(pushed.head.clone())
}
