//! The way to the collectors and back: what the store knows of each source goes in, each source's row comes out.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    adapters::http::Http,
    collect::{self, CacheEntry, CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources},
    decide::{
        before,
        blindness::{self, Blindness},
        retention::KEPT,
    },
    model::{
        Sha,
        signal::{Change, ChangeKind, CollectorOutcome, OutcomeKind, REMOVED, Snapshot},
    },
    steps::Ctx,
    store::{CachedReply, SourceRow, TickLock},
};

/// The sources as the last look left them. What only has another name in the config now goes on under that one.
pub(super) fn known(ctx: &Ctx, lock: &TickLock) -> Result<Vec<SourceRow>> {
    let mut known = ctx.store().sources()?;
    let facts: Sources = known.iter().map(|row| (key_of(row), facts_of(row))).collect();
    for collect::Renamed { source, from, to } in collect::renamed(&ctx.config, &ctx.redactor, &facts) {
        let of = (&source.repo, source.target.as_str(), source.collector.as_str());
        ctx.store().rename_part(lock, of, &from, &to)?;
        for row in known.iter_mut().filter(|row| key_of(row) == source) {
            if let Some(blind) = row.blind.remove(&from) {
                row.blind.insert(to.clone(), blind);
            }
        }
    }
    Ok(known)
}

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
    let partly = outcome.outcome == OutcomeKind::Degraded && !outcome.blind_parts.is_empty();
    let was_read = old.is_some_and(|o| o.first_ok_at.is_some());
    let blind = blindness::carried(old.map(blindness_of), was_read, &outcome.blind_parts, started);
    let cause = (!ok).then(|| outcome.cause.clone());
    let release = outcome
        .release_sha
        .clone()
        .or_else(|| old.and_then(|o| o.release.clone()));
    let first_ok_at = old.and_then(|o| o.first_ok_at).or((ok || partly).then_some(started));
    let told = before::told(&outcome.told, outcome.release_sha.is_some(), first_ok_at, started);
    let same_release = old.is_some_and(|o| o.release == release);
    SourceRow {
        repo: outcome.repo.clone(),
        target: outcome.target.clone(),
        collector: outcome.name.clone(),
        first_ok_at,
        // The start of the look, so that what happens while it runs is read by the next one.
        last_ok_at: if ok {
            Some(started)
        } else {
            old.and_then(|o| o.last_ok_at)
        },
        last_look_at: Some(started),
        cursor: cursor.cloned().or_else(|| old.and_then(|o| o.cursor.clone())),
        // The same blindness however it fails.
        cause_since: cause.as_ref().map(|_| {
            let parts = blind.values().map(|part| part.since).min();
            parts.or(old.and_then(|o| o.cause_since)).unwrap_or(started)
        }),
        cause,
        release_since: match (&release, same_release) {
            (None, _) => None,
            (Some(_), true) => old.and_then(|o| o.release_since),
            (Some(_), false) => Some(started),
        },
        release,
        variables: outcome
            .variables
            .clone()
            .or_else(|| old.and_then(|o| o.variables.clone())),
        // Only what a look saw holds anything back.
        deploying_since: outcome.deploying_since,
        told,
        blind,
    }
}

/// What of it cannot be read.
pub(super) fn blindness_of(row: &SourceRow) -> Blindness<'_> {
    Blindness {
        whole: row.cause_since.zip(row.cause.as_deref()),
        parts: &row.blind,
    }
}

/// Changes that one look stores.
const MOST_CHANGES: usize = 500;

/// What changed by this look: what the collectors tell, and what the rows of sources show.
pub(super) fn changes(
    known: &[SourceRow],
    rows: &[SourceRow],
    told: Vec<Change>,
    started: DateTime<Utc>,
) -> Vec<Change> {
    let mut changes = told;
    changes.retain(|change| before::is_kept(change, KEPT, started));
    // No source fills the ledger, whatever it tells.
    changes.sort_by_key(|change| std::cmp::Reverse(change.at));
    changes.truncate(MOST_CHANGES);
    for row in rows {
        let old = known
            .iter()
            .find(|old| old.repo == row.repo && old.target == row.target && old.collector == row.collector);
        if let Some(old) = old {
            changes.extend(noticed(old, row));
        }
    }
    changes
}

/// What differs between two looks happened some time after the first.
fn noticed(old: &SourceRow, new: &SourceRow) -> Vec<Change> {
    let change = |kind, key: &str, what: &str, sha: Option<Sha>| Change {
        at: old.last_look_at.unwrap_or_default(),
        repo: new.repo.clone(),
        target: new.target.clone(),
        source: new.collector.clone(),
        kind,
        key: key.to_owned(),
        what: what.to_owned(),
        sha,
        url: None,
    };
    let mut changes = Vec::new();
    if let (Some(before), Some(now)) = (&old.release, &new.release)
        && before != now
    {
        changes.push(change(ChangeKind::Deployment, now.as_str(), "", Some(now.clone())));
    }
    if let (Some(before), Some(now)) = (&old.variables, &new.variables) {
        changes.extend(
            before
                .difference(now)
                .map(|name| change(ChangeKind::Variable, name, REMOVED, None)),
        );
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn row(release: char, variables: &[&str]) -> SourceRow {
        SourceRow {
            repo: "api".parse().unwrap(),
            target: "api".to_owned(),
            collector: "vercel".to_owned(),
            first_ok_at: None,
            last_ok_at: None,
            last_look_at: Some("2026-11-29T05:00:00Z".parse().unwrap()),
            cursor: None,
            cause: None,
            cause_since: None,
            release: Sha::parse(&release.to_string().repeat(40)).ok(),
            release_since: None,
            variables: Some(variables.iter().map(|&name| name.to_owned()).collect()),
            deploying_since: None,
            told: BTreeSet::new(),
            blind: BTreeMap::new(),
        }
    }

    #[test]
    fn a_release_and_a_variable_that_is_gone_are_noticed() {
        let started = "2026-11-29T05:15:00Z".parse().unwrap();
        let (old, new) = (row('a', &["A", "B"]), row('b', &["B", "C"]));
        let found = changes(
            std::slice::from_ref(&old),
            std::slice::from_ref(&new),
            Vec::new(),
            started,
        );
        let short: Vec<_> = found
            .iter()
            .map(|c| (c.kind, c.key.chars().next().unwrap(), c.what.as_str()))
            .collect();
        assert_eq!(
            short,
            [(ChangeKind::Deployment, 'b', ""), (ChangeKind::Variable, 'A', REMOVED)]
        );
        assert_eq!(found[0].at, old.last_look_at.unwrap(), "not before the last look");
        assert_eq!(changes(&[], &[new], Vec::new(), started), [], "first sight");
    }

    #[test]
    fn what_would_be_forgotten_at_once_is_not_stored() {
        let started: DateTime<Utc> = "2026-11-29T05:15:00Z".parse().unwrap();
        let mut told = noticed(&row('a', &[]), &row('b', &[]));
        told[0].at = started - KEPT;
        assert_eq!(changes(&[], &[], told, started), []);
    }
}
