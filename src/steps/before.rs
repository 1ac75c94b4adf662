//! What changed before a cause, from the store; and, once a cause has a release, which variables that release reads first
//! and that are not set.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::{Ctx, evidence, evidence::kind, look};
use crate::{
    config::Repo,
    decide::{
        before::{self, AHEAD, Around, Before, WINDOW, before},
        guards::Kinds,
        variables::begins_to_read,
    },
    model::{IncidentId, Sha, Slot, signal::ChangeKind},
    render,
    store::{Claim, SignatureRow, SourceRow},
    text::Untrusted,
};

/// Text of a release's diff that is read for variables.
const DIFF_CAP: usize = 4 << 20;

/// Sentences about what changed before a cause that began then.
pub(super) fn sentences(
    ctx: &Ctx,
    row: &SignatureRow,
    incident: Option<&IncidentId>,
    began: DateTime<Utc>,
) -> Result<Vec<String>> {
    let found = around(ctx, row, incident, began)?;
    Ok(render::before::sentences(&found, ctx.now()))
}

fn around(ctx: &Ctx, row: &SignatureRow, incident: Option<&IncidentId>, began: DateTime<Utc>) -> Result<Before> {
    let mut changes = ctx.store().changes(&row.repo, began - WINDOW, began + AHEAD)?;
    // The incident of a provider is no change before itself.
    let own = look::provider_key(row);
    changes.retain(|change| change.kind != ChangeKind::Provider || Some(&change.key) != own.as_ref());
    let watched = watched(&ctx.store().sources()?, &row.repo);
    let unset = incident.map(|id| unset(ctx, id)).transpose()?.unwrap_or_default();
    Ok(before(&Around {
        began,
        changes: &changes,
        watched: &watched,
        release: row.releases.last(),
        unset: &unset,
    }))
}

/// What changed since a cause was last seen.
pub(super) fn since(ctx: &Ctx, row: &SignatureRow, last_seen: DateTime<Utc>) -> Result<Vec<String>> {
    let changes = ctx.store().changes(&row.repo, last_seen, ctx.now())?;
    Ok(render::before::since(
        &before::since(&changes, last_seen, ctx.now()),
        ctx.now(),
    ))
}

/// The release that served what a cause is about then, where anybody told.
pub(super) fn serving(ctx: &Ctx, row: &SignatureRow, at: DateTime<Utc>) -> Result<Option<Sha>> {
    let changes = ctx.store().changes(&row.repo, DateTime::UNIX_EPOCH, at)?;
    if let Some(sha) = before::serving(&changes, &row.target, at) {
        return Ok(Some(sha.clone()));
    }
    let sources = ctx.store().sources()?;
    let mut since_before = sources.into_iter().filter(|source| {
        source.repo == row.repo && source.target == row.target && source.release_since.is_some_and(|since| since <= at)
    });
    Ok(since_before.find_map(|source| source.release))
}

/// Kinds of changes that the last look of some source of a repo told in full.
fn watched(sources: &[SourceRow], repo: &Slot) -> BTreeSet<ChangeKind> {
    let of_repo = sources.iter().filter(|row| row.repo == *repo);
    of_repo.flat_map(|row| row.told.iter().copied()).collect()
}

fn unset(ctx: &Ctx, incident: &IncidentId) -> Result<Vec<String>> {
    let rows = ctx.store().evidence(incident)?;
    match rows.into_iter().rev().find(|row| row.kind == kind::VARIABLES) {
        Some(row) => serde_json::from_value(row.detail).context("evidence of variables does not read back"),
        None => Ok(Vec::new()),
    }
}

/// Compares the variables that the release of a cause reads first with those that are set, once an incident. What cannot be
/// read leaves no trace: it is a hint for people, never evidence.
pub(super) async fn find_unset(ctx: &Ctx, repo: &Repo, claim: &Claim, row: &SignatureRow) {
    if let Err(error) = compare(ctx, repo, claim, row).await {
        tracing::warn!(repo = %repo.slot, "compare the variables that the release reads with those that are set: {error:#}");
    }
}

async fn compare(ctx: &Ctx, repo: &Repo, claim: &Claim, row: &SignatureRow) -> Result<()> {
    let sources = ctx.store().sources()?;
    // A list from before a look that could not read it says nothing about what is set now.
    let known = watched(&sources, &repo.slot).contains(&ChangeKind::Variable);
    let of_repo = sources.iter().filter(|source| source.repo == repo.slot);
    let set: BTreeSet<&String> = of_repo
        .filter_map(|source| source.variables.as_ref())
        .flatten()
        .collect();
    let Some(release) = row.releases.last().filter(|_| known) else {
        return Ok(());
    };
    let told = ctx.store().evidence(&claim.incident)?;
    if told.iter().any(|e| e.kind == kind::VARIABLES) {
        return Ok(());
    }
    let Some(previous) = previous(ctx, row, release)? else {
        return Ok(());
    };
    // Triage fetched for the latest commits a moment ago; what is not there is not waited for.
    let mirror = ctx.mirror(repo).await?;
    let (Some(old), Some(new)) = (
        mirror.resolve(previous.as_str()).await?,
        mirror.resolve(release.as_str()).await?,
    ) else {
        return Ok(());
    };
    let diff = mirror.diff_text(&old, &new, DIFF_CAP).await?;
    let unset: Vec<String> = begins_to_read(&diff, &Kinds::new([])?)
        .into_iter()
        .filter(|name| !set.contains(name))
        .map(|name| Untrusted::new(&name, &ctx.redactor).line(100))
        .collect();
    let verdict = if unset.is_empty() {
        "all are set"
    } else {
        "not all are set"
    };
    let evidence = evidence::row(ctx, Some(release), kind::VARIABLES, verdict, &unset)?;
    ctx.store().add_evidence(claim, &evidence)?;
    Ok(())
}

/// The release that served before this one.
fn previous(ctx: &Ctx, row: &SignatureRow, release: &Sha) -> Result<Option<Sha>> {
    let far = DateTime::<Utc>::UNIX_EPOCH;
    let changes = ctx.store().changes(&row.repo, far, ctx.now())?;
    let mut releases = changes
        .into_iter()
        .filter(|change| change.kind == ChangeKind::Deployment)
        .filter_map(|change| change.sha)
        .skip_while(|sha| sha != release);
    Ok(releases.find(|sha| sha != release))
}
