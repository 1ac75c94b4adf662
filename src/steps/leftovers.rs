//! What a killed process left of its runs: worktrees, trees of proofs and audits, private directories of agents. Each name
//! holds the incident that it belongs to, and whoever holds that incident's lock is the only one who may be at work there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{Ctx, advance};
use crate::{adapters::git, model::IncidentId};

const PLACES: [&str; 4] = ["worktrees", "proofs", "audits", "runs"];

/// Removes what nobody works in any more. What cannot be removed now keeps nothing back, and is tried again.
pub fn sweep(ctx: &Ctx) {
    for (incident, dirs) in found(&ctx.config.home.state) {
        if let Err(error) = sweep_of(ctx, &incident, &dirs) {
            tracing::warn!(incident.id = %incident, "what a killed run left behind stays: {error:#}");
        }
    }
}

fn sweep_of(ctx: &Ctx, incident: &IncidentId, dirs: &[PathBuf]) -> Result<()> {
    let Some(claim) = ctx.store().claim(incident)? else {
        return Ok(());
    };
    // Its processes first: they could still write.
    advance::recover(ctx, &claim)?;
    for dir in dirs {
        git::sweep(dir).with_context(|| format!("remove {}", dir.display()))?;
    }
    Ok(())
}

fn found(state: &Path) -> BTreeMap<IncidentId, Vec<PathBuf>> {
    let mut found: BTreeMap<IncidentId, Vec<PathBuf>> = BTreeMap::new();
    for place in PLACES {
        // A place that does not exist was never used.
        let entries = std::fs::read_dir(state.join(place)).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.split('.').find_map(|part| IncidentId::parse(part).ok()));
            if let Some(owner) = owner {
                found.entry(owner).or_default().push(entry.path());
            }
        }
    }
    found
}
