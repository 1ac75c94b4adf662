//! More of a family that has an incident already: one alert on further hosts. A person hears of each of them, and of all that
//! come within an hour in one message.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    model::{IncidentId, Signature},
    steps::Ctx,
    store::EffectRow,
};

/// Between two such messages about one incident: an hour, whatever a tick takes.
const BETWEEN: TimeDelta = TimeDelta::minutes(55);
const PREFIX: &str = "more:";

/// What is to be told of an incident, as its flag holds it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Untold {
    told: Option<DateTime<Utc>>,
    sigs: BTreeSet<Signature>,
}

/// What this look makes of it.
#[derive(Debug, Default)]
pub(super) struct More {
    pub(super) flags: Vec<(String, String)>,
    /// To be told now.
    pub(super) due: Vec<(IncidentId, BTreeSet<Signature>)>,
}

/// `new` joined by this look; `seen` are the causes that this look saw.
pub(super) fn more(ctx: &Ctx, new: &[(IncidentId, Signature)], seen: &BTreeSet<&Signature>) -> Result<More> {
    let mut all: BTreeMap<IncidentId, Untold> = BTreeMap::new();
    let flags = ctx.store().flags()?;
    for (name, value) in &flags {
        let Some(id) = name.strip_prefix(PREFIX).and_then(|id| IncidentId::parse(id).ok()) else {
            continue;
        };
        let open = ctx
            .store()
            .incident(&id)?
            .is_some_and(|incident| incident.outcome.is_none());
        if open {
            let untold = match serde_json::from_str(value) {
                Ok(untold) => untold,
                Err(error) => {
                    tracing::warn!(
                        flag = name,
                        "what it holds cannot be read ({error}): what stands is told once more"
                    );
                    all_of(ctx, &id)?
                }
            };
            all.insert(id, untold);
        } else {
            ctx.store().set_flag(name, None, "tick", ctx.now())?;
        }
    }
    for (id, sig) in new {
        all.entry(id.clone()).or_default().sigs.insert(sig.clone());
    }
    let mut found = More::default();
    for (id, mut untold) in all {
        // Before the first message nothing is missing in it: that one names all that is there.
        if !is_told(ctx, &id)? {
            continue;
        }
        let mut still = BTreeSet::new();
        for sig in untold.sigs {
            // A look that could not read its source says nothing about it.
            let stands = ctx.store().signature(&sig)?.is_some_and(|row| row.bad_ticks > 0);
            if stands || seen.contains(&sig) {
                still.insert(sig);
            }
        }
        untold.sigs = still;
        let due = untold.told.is_none_or(|at| ctx.now() - at >= BETWEEN);
        if due && !untold.sigs.is_empty() {
            untold.told = Some(ctx.now());
            found.due.push((id.clone(), std::mem::take(&mut untold.sigs)));
        }
        found
            .flags
            .push((format!("{PREFIX}{id}"), serde_json::to_string(&untold)?));
    }
    Ok(found)
}

/// Whatever joined it: nobody knows any more what of it was told.
fn all_of(ctx: &Ctx, id: &IncidentId) -> Result<Untold> {
    Ok(Untold {
        told: None,
        sigs: ctx.store().symptoms(id)?.into_iter().collect(),
    })
}

fn is_told(ctx: &Ctx, id: &IncidentId) -> Result<bool> {
    let effects = ctx.store().effects(id)?;
    Ok(effects.values().any(EffectRow::is_posted))
}
