//! A person's word, as facts in the store. A sign may always stop; nothing here merges or pushes anything.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Ctx, evidence::kind, look};
use crate::{
    adapters::host,
    decide::facts::Approved,
    exit::{Exit, Fault},
    model::{IncidentId, Sha, Signature, Slot, incident::IncidentOutcome},
    store::{Claim, NewIncident, SignatureRow, Store, TickLock, locks::Tried},
    text::Untrusted,
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

/// A slot of the config or, since one may have to be stopped whose config is gone, of the ledger.
fn slot_named(ctx: &Ctx, name: &str) -> Result<Slot> {
    let mut known: BTreeSet<Slot> = ctx.config.repos.keys().cloned().collect();
    known.extend(ctx.store().sources()?.into_iter().map(|source| source.repo));
    known.extend(ctx.store().open_incidents()?.into_iter().map(|incident| incident.repo));
    if let Some(slot) = known.iter().find(|slot| slot.as_str() == name) {
        return Ok(slot.clone());
    }
    let names: Vec<&str> = known.iter().map(Slot::as_str).collect();
    let fault = Fault::new(Exit::Usage, format!("no repo is called {name:?}"));
    Err(fault.advise(format!("there is: {}", names.join(", "))).into())
}

pub fn is_open(ctx: &Ctx, id: &IncidentId) -> Result<bool> {
    Ok(ctx
        .store()
        .incident(id)?
        .is_some_and(|incident| incident.outcome.is_none()))
}

/// A person's reason, as a line can show it. Without one nobody knows later why.
pub(super) fn reason(ctx: &Ctx, why: &str) -> Result<String> {
    let line = Untrusted::new(why.trim(), &ctx.redactor).line(300);
    if line.is_empty() {
        let fault = Fault::new(Exit::Usage, "--why is empty");
        return Err(fault
            .advise("say it for whoever wonders, for example --why \"database is moved\"")
            .into());
    }
    Ok(line)
}

/// Stops everything, or one repo, before its next mutation; a running agent within a second.
pub fn pause(ctx: &Ctx, repo: Option<&str>, why: &str) -> Result<()> {
    let slot = repo.map(|name| slot_named(ctx, name)).transpose()?;
    let by = host::user_at_host();
    let why = reason(ctx, why)?;
    let value = format!("{why}; by {by} since {}", ctx.now().format("%Y-%m-%d %H:%M UTC"));
    ctx.store()
        .set_flag(&flag_name(slot.as_ref()), Some(&value), &by, ctx.now())?;
    let file = sign(ctx, slot.as_ref());
    std::fs::write(&file, &value).with_context(|| format!("write {}", file.display()))?;
    ctx.store().print_audit()?;
    Ok(())
}

/// Ends a pause. Without a repo it also ends frozen merges and dropped autonomy. Says what it ended.
pub fn resume(ctx: &Ctx, repo: Option<&str>) -> Result<Vec<String>> {
    let by = host::user_at_host();
    if let Some(name) = repo {
        slot_named(ctx, name)?;
    }
    let flags = ctx.store().flags()?;
    let mut ended = Vec::new();
    for (name, value) in &flags {
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
        let whose = of.unwrap_or("everything");
        ended.push(match what {
            PAUSE => format!("the pause of {whose} ({value})"),
            "freeze" => format!("the freeze of all merges ({value})"),
            _ => format!("the fall back to drafts of {whose} ({value})"),
        });
    }
    ctx.store().print_audit()?;
    Ok(ended)
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
        .ok_or_else(|| Fault::new(Exit::CouldNot, format!("another process works on {id}")))
        .map_err(|fault| fault.advise("try again when it is done").into())
}

/// Opens an incident again. What stopped it is history; with `keep_branch` the head that a person pushed is judged.
pub async fn retry(ctx: &Ctx, id: &IncidentId, keep_branch: bool) -> Result<()> {
    let incident = ctx.store().incident(id)?.with_context(|| format!("no incident {id}"))?;
    let claim = claim(&mut ctx.store(), id)?;
    let by = host::user_at_host();
    // What cannot be kept is told before anything is written down.
    let kept = if keep_branch {
        Some(super::attempt::to_keep(ctx, &incident, &by).await?)
    } else {
        None
    };
    let said = json!({ "by": by, "keep_branch": keep_branch });
    ctx.record(&claim, None, kind::RETRY, "by a person", &said)?;
    if let Some(kept) = kept {
        kept.take_over(ctx, &claim)?;
    }
    if incident.outcome == Some(IncidentOutcome::Declined) {
        ctx.store().forget_pull(&claim, ctx.now())?;
    }
    not_ignored(ctx, &id.signature(), &by)?;
    ctx.store().reopen(&claim, &by, ctx.now())?;
    ctx.store().print_audit()?;
    Ok(())
}

/// Who wants it repaired does not want it ignored.
fn not_ignored(ctx: &Ctx, sig: &Signature, by: &str) -> Result<()> {
    let row = ctx.store().signature(sig)?;
    if row.is_some_and(|row| row.ignored_until.is_some_and(|until| until > ctx.now())) {
        ctx.store().ignore(sig, ctx.now(), "to be repaired", by, ctx.now())?;
    }
    Ok(())
}

/// What stood there at first sight, of repos that the config names, and has neither an incident nor a person's word:
/// the worst first, of equals the most frequent, then the newest.
pub fn known(ctx: &Ctx) -> Result<Vec<SignatureRow>> {
    let mut rows = Vec::new();
    let inventory = ctx.store().inventory()?;
    for row in inventory {
        let ignored = row.ignored_until.is_some_and(|until| until > ctx.now());
        if ctx.config.repo(&row.repo).is_some() && !ignored && ctx.store().incident_of(&row.sig)?.is_none() {
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.severity, row.count, row.last_seen)));
    Ok(rows)
}

/// Hands a known cause that never had an incident to repair.
pub fn adopt(ctx: &Ctx, row: &SignatureRow) -> Result<IncidentId> {
    let holder = ctx.holder();
    let lock = match TickLock::try_take(&ctx.state(), &holder)? {
        Tried::Held(lock) => lock,
        Tried::Busy(by) => {
            let fault = Fault::new(Exit::CouldNot, format!("a tick looks just now ({by})"));
            return Err(fault.advise("try again when it is done").into());
        }
    };
    let generation = ctx.store().generation(&row.sig)? + 1;
    let new = NewIncident {
        id: IncidentId::new(&row.sig, generation),
        repo: row.repo.clone(),
        signature: row.sig.clone(),
        why: format!("handed to repair by {}", host::user_at_host()),
    };
    not_ignored(ctx, &row.sig, &host::user_at_host())?;
    ctx.store().open_incident(&lock, &new, ctx.now())?;
    ctx.store().print_audit()?;
    Ok(new.id)
}

pub fn ignore(ctx: &Ctx, sig: &Signature, until: DateTime<Utc>, why: &str) -> Result<()> {
    let (why, by) = (reason(ctx, why)?, host::user_at_host());
    for sig in [sig.clone()].into_iter().chain(of_its_family(ctx, sig)?) {
        ctx.store().ignore(&sig, until, &why, &by, ctx.now())?;
    }
    ctx.store().print_audit()?;
    Ok(())
}

/// What is told with a cause in one message, as one of its kind, is meant with it.
fn of_its_family(ctx: &Ctx, sig: &Signature) -> Result<Vec<Signature>> {
    let row = ctx.store().signature(sig)?;
    let incident = ctx
        .store()
        .incident_of(sig)?
        .filter(|incident| incident.outcome.is_none());
    let (Some(row), Some(incident)) = (row, incident) else {
        return Ok(Vec::new());
    };
    let (joined, mut alike) = (ctx.store().symptoms(&incident.id)?, Vec::new());
    for other in joined {
        let other = ctx.store().signature(&other)?;
        let is_alike = |other: &SignatureRow| look::family(&row).is_some() && look::family(other) == look::family(&row);
        alike.extend(other.filter(is_alike).map(|other| other.sig));
    }
    Ok(alike)
}

/// Stands in for the human part of the evidence, for the head that is pushed now.
pub fn approve(ctx: &Ctx, id: &IncidentId) -> Result<Sha> {
    let incident = ctx.store().incident(id)?.with_context(|| format!("no incident {id}"))?;
    let facts = super::gather::facts(ctx, &incident)?;
    let Some(pushed) = &facts.pushed else {
        let fault = Fault::new(
            Exit::Usage,
            format!("incident {id} has no pushed head that could be approved yet"),
        );
        return Err(fault
            .advise(format!("where it stands: tick show {}", id.signature().short()))
            .into());
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
