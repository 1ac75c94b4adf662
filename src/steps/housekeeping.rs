//! What is old is removed, once a day: snapshots, run logs, transcripts, answers of conditional requests; the record is
//! put aside when it is large. A tick in between pays for reading one row. What fails is tried again the next day, and
//! is no reason to end a tick.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use chrono::DateTime;

use super::Ctx;
use crate::{
    config::Repo,
    decide::retention::{self, Due, Folder, KEPT, RECORD_BYTES},
    model::Sha,
    store::{TickLock, files},
};

const MARK: &str = "housekept";

/// Under the lock of a look.
pub fn daily(ctx: &Ctx, lock: &TickLock) -> Result<()> {
    let due = due(ctx, MARK)?;
    if due == Due::No {
        return Ok(());
    }
    let now = ctx.now();
    if due == Due::Yes {
        let home = &ctx.config.home;
        for (folder, dir) in [
            (Folder::Signals, home.signals.clone()),
            (Folder::RunLogs, home.logs.clone()),
            (Folder::Transcripts, home.logs.join("agents")),
        ] {
            if let Err(error) = remove_old(ctx, folder, &dir) {
                tracing::warn!("remove what is old in {}: {error}", dir.display());
            }
        }
        if let Err(error) = ctx.store().rotate_audit(RECORD_BYTES) {
            tracing::warn!("put the record aside: {error}");
        }
    }
    // A clock that jumped says nothing about what is old.
    let before = if due == Due::Yes {
        now - KEPT
    } else {
        DateTime::UNIX_EPOCH
    };
    ctx.store().housekept(lock, MARK, now, before)?;
    Ok(())
}

fn due(ctx: &Ctx, mark: &str) -> Result<Due> {
    let last = ctx.store().flag(mark)?;
    let last = last.and_then(|at| at.parse().ok());
    Ok(retention::due(last, ctx.now()))
}

fn remove_old(ctx: &Ctx, folder: Folder, dir: &Path) -> std::io::Result<()> {
    for (name, changed) in files::list(dir)? {
        if retention::is_old(folder, &name, changed, ctx.now()) {
            files::remove(dir, &name)?;
        }
    }
    Ok(())
}

/// Commits of ours that no incident needs any more are let go, so that a mirror does not grow for ever. Part of repair:
/// a healthy tick starts no child.
pub(super) async fn mirrors(ctx: &Ctx) -> Result<()> {
    for repo in ctx.config.repos.values().filter(|repo| repo.github.is_some()) {
        let mark = format!("{MARK}:{}", repo.slot);
        let due = due(ctx, &mark)?;
        if due == Due::No {
            continue;
        }
        if due == Due::Yes
            && let Err(error) = let_go(ctx, repo).await
        {
            tracing::warn!(repo = %repo.slot, "let commits of ended incidents go: {error:#}");
        }
        ctx.store().set_mark(&mark, ctx.now())?;
    }
    Ok(())
}

async fn let_go(ctx: &Ctx, repo: &Repo) -> Result<()> {
    let needed: BTreeSet<Sha> = ctx.store().commits_needed(&repo.slot, ctx.now() - KEPT)?;
    let mirror = ctx.mirror(repo).await?;
    let kept = mirror.kept().await?;
    let gone: Vec<Sha> = kept.into_iter().filter(|sha| !needed.contains(sha)).collect();
    mirror.let_go(&gone).await?;
    tracing::info!(repo = %repo.slot, commits = gone.len(), "let commits of ended incidents go");
    Ok(())
}
