//! The way to the collectors and back: what the store knows of each source goes in, each source's row comes out.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    adapters::http::Http,
    collect::{self, CacheEntry, CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources},
    model::signal::{CollectorOutcome, OutcomeKind, Snapshot},
    steps::Ctx,
    store::{CachedReply, SourceRow},
};

/// Runs the collectors; gives back also the replies that later requests can be conditional on.
pub(super) async fn collect(
    ctx: &Ctx,
    known: &[SourceRow],
    deep: bool,
) -> Result<(Collected, BTreeMap<String, CachedReply>)> {
    let http = Http::new(ctx.redactor.clone(), ctx.config.allow_private_hosts.clone());
    let sources: Sources = known.iter().map(|row| (key_of(row), facts_of(row))).collect();
    let cache = HttpCache::new(
        ctx.store()
            .http_cache()?
            .into_iter()
            .map(|(key, r)| {
                let entry = CacheEntry {
                    etag: r.etag,
                    link: r.link,
                    body: r.body,
                };
                (key, entry)
            })
            .collect(),
    );
    let mut context = CollectContext::new(&ctx.config, &http, &ctx.redactor, ctx.clock, &sources, &cache);
    context.deep = deep;
    let collected = collect::collect(&context).await;
    let changed = cache
        .changed()
        .into_iter()
        .map(|(key, e)| {
            let reply = CachedReply {
                etag: e.etag,
                link: e.link,
                body: e.body,
            };
            (key, reply)
        })
        .collect();
    Ok((collected, changed))
}

fn key_of(row: &SourceRow) -> SourceKey {
    SourceKey {
        repo: row.repo.clone(),
        target: row.target.clone(),
        collector: row.collector.clone(),
    }
}

fn facts_of(row: &SourceRow) -> SourceFacts {
    SourceFacts {
        last_ok_at: row.last_ok_at,
        cursor: row.cursor.clone(),
    }
}

/// Each source's row after this look.
pub(super) fn rows(
    known: &[SourceRow],
    snapshot: &Snapshot,
    cursors: &BTreeMap<SourceKey, String>,
    started: DateTime<Utc>,
) -> Vec<SourceRow> {
    snapshot
        .collectors
        .iter()
        .filter(|outcome| outcome.outcome != OutcomeKind::Skipped)
        .map(|outcome| {
            let old = known
                .iter()
                .find(|row| row.repo == outcome.repo && row.target == outcome.target && row.collector == outcome.name);
            source(old, outcome, cursors.get(&SourceKey::of(outcome)), started)
        })
        .collect()
}

fn source(
    old: Option<&SourceRow>,
    outcome: &CollectorOutcome,
    cursor: Option<&String>,
    started: DateTime<Utc>,
) -> SourceRow {
    let ok = outcome.outcome == OutcomeKind::Ok;
    let cause = (!ok).then(|| outcome.cause.clone());
    let release = outcome
        .release_sha
        .clone()
        .or_else(|| old.and_then(|o| o.release.clone()));
    let same_release = old.is_some_and(|o| o.release == release);
    SourceRow {
        repo: outcome.repo.clone(),
        target: outcome.target.clone(),
        collector: outcome.name.clone(),
        first_ok_at: old.and_then(|o| o.first_ok_at).or(ok.then_some(started)),
        // The start of the look, so that what happens while it runs is read by the next one.
        last_ok_at: if ok {
            Some(started)
        } else {
            old.and_then(|o| o.last_ok_at)
        },
        last_look_at: Some(started),
        cursor: cursor.cloned().or_else(|| old.and_then(|o| o.cursor.clone())),
        // The same blindness however it fails.
        cause_since: cause
            .as_ref()
            .map(|_| old.and_then(|o| o.cause_since).unwrap_or(started)),
        cause,
        release_since: match (&release, same_release) {
            (None, _) => None,
            (Some(_), true) => old.and_then(|o| o.release_since),
            (Some(_), false) => Some(started),
        },
        release,
        // A look that was not good says nothing about it; the grace bounds how long that counts.
        deploying_since: if ok {
            outcome.deploying_since
        } else {
            outcome.deploying_since.or_else(|| old.and_then(|o| o.deploying_since))
        },
    }
}
