//! The page: one tick, from its lock to its report. No loops over API pages, no strings, no retries; each line is one
//! verb, and its file tells the rest.

use anyhow::Result;

use crate::{
    exit::Exit,
    steps::{Ctx, advance, heartbeat, housekeeping, leftovers, look, outbox, triage},
    store::{TickLock, locks::Tried},
};

/// How much of a tick is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Look, then repair what is due.
    Whole,
    /// Look only: no agent, no repair.
    Observe,
}

/// One tick. Another process that holds the lock is an outcome, not an error. A part that fails hides none of the
/// others: what is open is advanced and messages are sent whatever became of the look, and the first error is told.
pub async fn tick(ctx: &Ctx, scope: Scope, deep: bool) -> Result<Exit> {
    let looked = look(ctx, deep).await;
    let repaired = match scope {
        Scope::Observe => Ok(()),
        Scope::Whole => repair(ctx, None).await,
    };
    let delivered = outbox::deliver(ctx).await;
    looked.and(repaired).and(delivered)?;
    let exit = ctx.finish()?;
    if ctx.report().busy.is_none() {
        heartbeat::beat(ctx).await;
    }
    Ok(exit)
}

/// Repair without a look.
pub async fn repair_alone(ctx: &Ctx, only: Option<&crate::model::IncidentId>) -> Result<Exit> {
    let repaired = repair(ctx, only).await;
    let delivered = outbox::deliver(ctx).await;
    repaired.and(delivered)?;
    ctx.finish()
}

/// Collect, snapshot, gate, group; then say what only the look itself can say, and once a day remove what is old.
async fn look(ctx: &Ctx, deep: bool) -> Result<()> {
    match TickLock::try_take(&ctx.state(), &ctx.holder())? {
        Tried::Busy(by) => {
            ctx.busy(by);
            Ok(())
        }
        Tried::Held(lock) => {
            ctx.report().looked = true;
            look::look(ctx, &lock, deep).await?;
            look::tell_owed(ctx).await?;
            housekeeping::daily(ctx, &lock)
        }
    }
}

/// Clear away what was killed, triage what is new, then advance every incident that is due, oldest first.
async fn repair(ctx: &Ctx, only: Option<&crate::model::IncidentId>) -> Result<()> {
    if ctx.nothing_due()? {
        return Ok(());
    }
    leftovers::sweep(ctx);
    let triaged = triage::triage(ctx).await;
    let advanced = advance::advance_all(ctx, only).await;
    triaged.and(advanced)
}
