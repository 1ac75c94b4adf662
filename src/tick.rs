//! The page: one tick, from its lock to its report. No loops over API pages, no strings, no retries; each line is one
//! verb, and its file tells the rest.

use anyhow::Result;

use crate::{
    exit::Exit,
    steps::{Ctx, advance, look, triage},
    store::{TickLock, locks::Tried},
};

/// How much of a tick is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Look, then repair what is due.
    Whole,
    /// Look only: no agent, no repair.
    Observe,
    /// Repair what is due, without a look.
    Repair,
}

/// One tick. Another process that holds the lock is an outcome, not an error.
pub async fn tick(ctx: &Ctx, scope: Scope, deep: bool) -> Result<Exit> {
    if scope != Scope::Repair {
        match TickLock::try_take(&ctx.state(), &ctx.holder())? {
            Tried::Held(lock) => look(ctx, &lock, deep).await?,
            Tried::Busy(by) => ctx.busy(by),
        }
    }
    if scope != Scope::Observe {
        repair(ctx, None).await?;
    }
    ctx.finish()
}

/// Collect, snapshot, gate, group; then say what only the look itself can say.
async fn look(ctx: &Ctx, lock: &TickLock, deep: bool) -> Result<()> {
    let before = ctx.store().sources()?;
    let looked = look::look(ctx, lock, deep).await?;
    look::tell_about_look(ctx, &looked, &before).await
}

/// Triage what is new, then advance every incident that is due, oldest first.
pub async fn repair(ctx: &Ctx, only: Option<&crate::model::IncidentId>) -> Result<()> {
    if ctx.nothing_due()? {
        return Ok(());
    }
    triage::triage(ctx).await?;
    advance::advance_all(ctx, only).await
}
