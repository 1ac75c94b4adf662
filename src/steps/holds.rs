//! What holds causes back now: silences of people, deployments that are under way.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Ctx, silence};
use crate::{
    decide::{
        dedup::{BAD_LOOKS, Outage},
        hold::{self, Deploying, Silence},
    },
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
    /// And since when it is under way.
    Deploying {
        since: DateTime<Utc>,
        until: DateTime<Utc>,
    },
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
                    let held = |until| Held::Deploying {
                        since: deploying.since,
                        until,
                    };
                    return Ok(deploying.until(now).map(held));
                }
            }
        }
        Ok(None)
    }
}

/// So far back outages are told apart.
const KEPT_IN_MIND: TimeDelta = TimeDelta::days(2);

/// The first of the looks in a row that saw it.
pub(super) fn down_since(ctx: &Ctx, row: &SignatureRow) -> Result<DateTime<Utc>> {
    let (seen, first) = run(ctx, row)?;
    Ok(seen.get(first.unwrap_or(0)).copied().unwrap_or(row.last_seen))
}

/// The looks in a row that saw it, and what was seen of it before; none where they began too long ago.
pub(super) fn outage(ctx: &Ctx, row: &SignatureRow) -> Result<Option<Outage>> {
    let (seen, first) = run(ctx, row)?;
    Ok(first.and_then(|first| Outage::among(&seen, first, row.fire_after.unwrap_or(BAD_LOOKS))))
}

/// Times at which it was seen, and which of them is the first of the looks in a row; none where that one is no longer among
/// them. The look that runs may not be stored yet.
fn run(ctx: &Ctx, row: &SignatureRow) -> Result<(Vec<DateTime<Utc>>, Option<usize>)> {
    let looks = usize::try_from(row.bad_ticks).unwrap_or(usize::MAX);
    let seen = ctx.store().sightings(&row.sig, row.last_seen - KEPT_IN_MIND)?;
    let seen = seen.into_iter().map(|sighting| sighting.from);
    // A clock that was ahead saw it at times that are still to come.
    let mut seen: Vec<DateTime<Utc>> = seen.filter(|at| *at <= ctx.now()).collect();
    if seen.last().is_none_or(|at| *at < row.last_seen) {
        seen.push(row.last_seen);
    }
    let first = seen.len().checked_sub(looks);
    Ok((seen, first))
}
