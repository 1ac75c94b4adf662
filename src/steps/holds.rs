//! What holds causes back now: silences of people, deployments that are under way.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Ctx, silence};
use crate::{
    decide::hold::{self, Deploying, Silence},
    model::Slot,
    store::{SignatureRow, SourceRow},
};

pub(super) struct Holds {
    pub(super) silences: Vec<Silence>,
    deploying: Vec<(Slot, String, Deploying)>,
}

/// Why a cause is held, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Silenced(DateTime<Utc>),
    Deploying(DateTime<Utc>),
}

impl Holds {
    /// `sources` as they stand after the look that counts.
    pub(super) fn read(ctx: &Ctx, sources: &[SourceRow]) -> Result<Self> {
        let mut deploying = Vec::new();
        for source in sources {
            let Some(since) = source.deploying_since else { continue };
            let repo = ctx.config.repo(&source.repo);
            let target = repo.and_then(|repo| repo.targets.iter().find(|target| target.name == source.target));
            let Some(target) = target else { continue };
            let grace = TimeDelta::from_std(target.deploy_grace).unwrap_or_default();
            let under_way = Deploying { since, grace };
            deploying.push((source.repo.clone(), source.target.clone(), under_way));
        }
        Ok(Self {
            silences: silence::holding(ctx)?,
            deploying,
        })
    }

    /// A person's silence comes first; what a target says when it is first looked at is held by nothing else.
    pub(super) fn over(&self, ctx: &Ctx, row: &SignatureRow, first_sight: bool) -> Result<Option<Held>> {
        let now = ctx.now();
        let silence = hold::silence(&self.silences, &row.repo, &row.target, now);
        if let Some(silence) = silence.filter(|_| hold::can_be_silenced(row.kind)) {
            return Ok(Some(Held::Silenced(silence.until)));
        }
        if first_sight {
            return Ok(None);
        }
        for (slot, target, deploying) in &self.deploying {
            if *slot == row.repo && *target == row.target && hold::is_probe(row.kind) {
                let down_since = down_since(ctx, row)?;
                if deploying.explains(row.kind, down_since, now) {
                    return Ok(deploying.until(now).map(Held::Deploying));
                }
            }
        }
        Ok(None)
    }
}

/// The first of the looks in a row that saw it, of which the one that runs may not be stored yet.
pub(super) fn down_since(ctx: &Ctx, row: &SignatureRow) -> Result<DateTime<Utc>> {
    let (seen, looks) = looks_that_saw(ctx, row)?;
    let first = seen.len().saturating_sub(looks);
    Ok(seen.get(first).copied().unwrap_or(row.last_seen))
}

/// The same; none where it is so long ago that nobody looked it up.
pub(super) fn known_down_since(ctx: &Ctx, row: &SignatureRow) -> Result<Option<DateTime<Utc>>> {
    let (seen, looks) = looks_that_saw(ctx, row)?;
    Ok(seen
        .len()
        .checked_sub(looks)
        .map(|first| seen.get(first).copied().unwrap_or(row.last_seen)))
}

/// Looks of a day that saw it, and how many of the last in a row did.
fn looks_that_saw(ctx: &Ctx, row: &SignatureRow) -> Result<(Vec<DateTime<Utc>>, usize)> {
    let looks = usize::try_from(row.bad_ticks).unwrap_or(usize::MAX);
    let mut seen: Vec<DateTime<Utc>> = ctx
        .store()
        .sightings(&row.sig, row.last_seen - TimeDelta::days(1))?
        .into_iter()
        .map(|sighting| sighting.from)
        .collect();
    if seen.last().is_none_or(|at| *at < row.last_seen) {
        seen.push(row.last_seen);
    }
    Ok((seen, looks))
}
