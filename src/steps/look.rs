//! The first half of a tick, under its lock: collect, snapshot, gate, group by signature, open incidents. All that it
//! learns goes into the store in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::{Ctx, gate, tell};
use crate::{
    adapters::http::Http,
    collect::{self, CacheEntry, CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources},
    decide::{
        dedup::{self, Group, Known, KnownIncident, Standing},
        facts::Status,
        gate::GateResult,
    },
    model::{
        IncidentId, Signature, Slot,
        signal::{CollectorOutcome, OutcomeKind, SNAPSHOT_SCHEMA, Severity, Signal, Snapshot},
    },
    render::mail::{Entry, MailWords},
    store::{CachedReply, NewIncident, Sighting, SignatureRow, SourceRow, TickEnd, TickLock, snapshots},
    text,
};

/// Samples that the ledger keeps of a cause.
const SAMPLES: usize = 3;
/// Causes that may become incidents in one tick; the rest stays in the ledger and is seen again.
pub(super) const OPENED: usize = 20;

/// What the second half and the report need to know.
#[derive(Debug)]
pub struct Looked {
    pub snapshot: Snapshot,
    pub gate: GateResult,
    pub opened: Vec<NewIncident>,
    pub sources: Vec<SourceRow>,
}

/// Looks once. Nothing outside is written.
pub async fn look(ctx: &Ctx, lock: &TickLock, deep: bool) -> Result<Looked> {
    let started = ctx.now();
    let known = ctx.store().sources()?;
    let (collected, cache) = collect(ctx, &known, deep).await?;
    let snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA,
        tick: ctx.tick.clone(),
        started_at: started,
        deep,
        signals: collected.signals,
        collectors: collected.collectors,
        open_pulls: collected.open_pulls,
    };
    let encoded = snapshots::encode(&snapshot)?;
    let signals = &ctx.config.home.signals;
    snapshots::write_latest(signals, &encoded)
        .with_context(|| format!("write the snapshot to {}", signals.display()))?;
    let gate = gate::gate(&ctx.config, &snapshot).await;
    let sources = sources(&known, &snapshot, &collected.cursors, started);
    let mut found = Found::default();
    let woken = matches!(gate, GateResult::Wake(_));
    if woken || !snapshot.signals.is_empty() {
        group(ctx, &snapshot, &known, woken, &mut found)?;
    }
    if woken || snapshot.blind().next().is_some() {
        snapshots::archive(signals, &ctx.tick, &encoded).context("keep the snapshot")?;
        snapshots::sweep(signals, started, chrono::TimeDelta::days(14)).context("remove old snapshots")?;
    }
    ctx.store().end_tick(
        lock,
        &TickEnd {
            id: &ctx.tick,
            started_at: started,
            ended_at: ctx.now(),
            deep,
            gate: &gate_word(&gate),
            snapshot_digest: &encoded.digest,
            config_digest: &super::evidence::digest_of(&ctx.config.digests)?,
            sources: &sources,
            seen: &found.seen,
            opened: &found.opened,
            joined: &found.joined,
            owed: &owed(ctx, &found.inventory),
            http_cache: &cache,
        },
    )?;
    report(ctx, &snapshot, &gate, &found);
    Ok(Looked {
        snapshot,
        gate,
        opened: found.opened,
        sources,
    })
}

async fn collect(ctx: &Ctx, known: &[SourceRow], deep: bool) -> Result<(Collected, BTreeMap<String, CachedReply>)> {
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

fn gate_word(gate: &GateResult) -> String {
    match gate {
        GateResult::Quiet => "quiet".to_owned(),
        GateResult::Wake(reasons) => format!("wake: {}", reasons.join("; ")),
        GateResult::Fault(why) => format!("fault: {why}"),
    }
}

/// Each source's row after this look.
fn sources(
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
    let same_cause = old.is_some_and(|o| o.cause == cause);
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
        cause_since: match (&cause, same_cause) {
            (None, _) => None,
            (Some(_), true) => old.and_then(|o| o.cause_since),
            (Some(_), false) => Some(started),
        },
        cause,
        release_since: match (&release, same_release) {
            (None, _) => None,
            (Some(_), true) => old.and_then(|o| o.release_since),
            (Some(_), false) => Some(started),
        },
        release,
    }
}

/// What the grouping of a snapshot found.
#[derive(Debug, Default)]
struct Found {
    seen: Vec<(SignatureRow, Sighting)>,
    opened: Vec<NewIncident>,
    joined: Vec<(IncidentId, Signature)>,
    inventory: Vec<SignatureRow>,
}

fn group(ctx: &Ctx, snapshot: &Snapshot, known: &[SourceRow], woken: bool, found: &mut Found) -> Result<()> {
    let mut by_signature: BTreeMap<&Signature, Vec<&Signal>> = BTreeMap::new();
    for signal in &snapshot.signals {
        by_signature.entry(&signal.signature).or_default().push(signal);
    }
    let mut symptoms = Vec::new();
    for (sig, signals) in by_signature {
        let first_sight = signals.iter().all(|s| is_first_sight(known, s));
        let old = ctx.store().signature(sig)?;
        let row = row_of(&signals, old.as_ref());
        let group = group_of(&row, &signals, first_sight);
        let incident = ctx.store().incident_of(sig)?;
        let facts = old.as_ref().map(|old| Known {
            inventory: old.inventory,
            ignored: old.ignored_until.is_some_and(|until| until > ctx.now()),
            first_seen: old.first_seen,
            last_seen: old.last_seen,
            count: old.count,
            bad_ticks: row.bad_ticks,
            incident: incident.map(|i| KnownIncident {
                id: i.id,
                outcome: i.outcome,
                closed_at: i.closed_at,
            }),
        });
        let mut row = row;
        match dedup::standing(&group, facts.as_ref()) {
            Standing::Open { generation, why } if woken && found.opened.len() < OPENED => {
                let new = NewIncident {
                    id: IncidentId::new(sig, generation),
                    repo: row.repo.clone(),
                    signature: sig.clone(),
                    why,
                };
                if row.kind.is_symptom() {
                    symptoms.push((sig.clone(), row.repo.clone(), Some(new)));
                } else {
                    found.opened.push(new);
                }
            }
            Standing::Inventory => {
                row.inventory = true;
                found.inventory.push(row.clone());
            }
            Standing::Symptom => symptoms.push((sig.clone(), row.repo.clone(), None)),
            Standing::Open { .. } | Standing::Handled | Standing::Mild => {}
        }
        found.seen.push((row, sighting(&signals)));
    }
    join_symptoms(ctx, symptoms, found)
}

/// A symptom joins the cause of its slot that opened in this tick or the one before, else it opens by itself.
fn join_symptoms(ctx: &Ctx, symptoms: Vec<(Signature, Slot, Option<NewIncident>)>, found: &mut Found) -> Result<()> {
    if symptoms.is_empty() {
        return Ok(());
    }
    let recent = ctx.now() - chrono::TimeDelta::minutes(20);
    let open = ctx.store().open_incidents()?;
    for (sig, slot, new) in symptoms {
        let cause = found
            .opened
            .iter()
            .filter(|o| o.repo == slot)
            .map(|o| o.id.clone())
            .chain(
                open.iter()
                    .filter(|i| i.repo == slot && i.opened_at >= recent)
                    .map(|i| i.id.clone()),
            )
            .find(|id| id.signature() != sig);
        match (cause, new) {
            (Some(cause), _) => found.joined.push((cause, sig)),
            (None, Some(new)) => found.opened.push(new),
            (None, None) => {}
        }
    }
    Ok(())
}

fn is_first_sight(known: &[SourceRow], signal: &Signal) -> bool {
    !known.iter().any(|row| {
        row.repo == signal.repo
            && row.target == signal.target
            && row.collector == signal.source
            && row.first_ok_at.is_some()
    })
}

fn group_of(row: &SignatureRow, signals: &[&Signal], first_sight: bool) -> Group {
    Group {
        signature: row.sig.clone(),
        repo: row.repo.clone(),
        kind: row.kind,
        severity: signals.iter().map(|s| s.severity).max().unwrap_or(Severity::Info),
        count: signals.iter().map(|s| s.count).sum(),
        first_seen: signals.iter().map(|s| s.first_seen).min().unwrap_or(row.first_seen),
        last_seen: signals.iter().map(|s| s.last_seen).max().unwrap_or(row.last_seen),
        first_sight,
    }
}

/// The ledger's row after these signals. Signals of one signature are one cause, whatever their source.
fn row_of(signals: &[&Signal], old: Option<&SignatureRow>) -> SignatureRow {
    let first = signals[0];
    let count: u64 = signals.iter().map(|s| s.count).sum();
    let last_seen = signals.iter().map(|s| s.last_seen).max().unwrap_or(first.last_seen);
    let mut releases: Vec<_> = old.map(|o| o.releases.clone()).unwrap_or_default();
    for sha in signals.iter().filter_map(|s| s.release_sha.clone()) {
        if !releases.contains(&sha) {
            releases.push(sha);
        }
    }
    let mut samples: Vec<String> = old.map(|o| o.samples.clone()).unwrap_or_default();
    let mut have: BTreeSet<String> = samples.iter().cloned().collect();
    for signal in signals {
        if samples.len() < SAMPLES && have.insert(signal.message.clone()) {
            samples.push(signal.message.clone());
        }
    }
    let signed = old.is_none().then(|| text::signature(&first.message));
    SignatureRow {
        sig: first.signature.clone(),
        repo: first.repo.clone(),
        target: first.target.clone(),
        source: first.source.clone(),
        template: old.map_or_else(
            || signed.as_ref().map(|s| s.template.clone()).unwrap_or_default(),
            |o| o.template.clone(),
        ),
        label: old.map_or_else(
            || signed.as_ref().map(|s| s.label.to_owned()).unwrap_or_default(),
            |o| o.label.clone(),
        ),
        kind: first.kind,
        severity: signals.iter().map(|s| s.severity).max().unwrap_or(first.severity),
        title: old.map_or_else(|| first.title.clone(), |o| o.title.clone()),
        culprit: old
            .and_then(|o| o.culprit.clone())
            .or_else(|| signals.iter().find_map(|s| s.culprit.clone())),
        samples,
        first_seen: old.map_or_else(
            || signals.iter().map(|s| s.first_seen).min().unwrap_or(first.first_seen),
            |o| o.first_seen,
        ),
        last_seen: old.map_or(last_seen, |o| o.last_seen.max(last_seen)),
        count: old.map_or(0, |o| o.count) + count,
        releases,
        inventory: old.is_some_and(|o| o.inventory),
        bad_ticks: old.map_or(0, |o| o.bad_ticks) + 1,
        ignored_until: old.and_then(|o| o.ignored_until),
        ignored_why: old.and_then(|o| o.ignored_why.clone()),
    }
}

fn sighting(signals: &[&Signal]) -> Sighting {
    let first = signals[0];
    Sighting {
        from: signals.iter().map(|s| s.first_seen).min().unwrap_or(first.first_seen),
        at: signals.iter().map(|s| s.last_seen).max().unwrap_or(first.last_seen),
        count: signals.iter().map(|s| s.count).sum(),
        release: signals.iter().rev().find_map(|s| s.release_sha.clone()),
    }
}

fn report(ctx: &Ctx, snapshot: &Snapshot, gate: &GateResult, found: &Found) {
    let mut report = ctx.report();
    report.signals = snapshot.signals.iter().map(|s| s.count).sum();
    report.sources = u64::try_from(
        snapshot
            .collectors
            .iter()
            .filter(|c| c.outcome != OutcomeKind::Skipped)
            .count(),
    )
    .unwrap_or(0);
    report.collect_ms = snapshot.collectors.iter().map(|c| c.ms).max().unwrap_or(0);
    report.blind = snapshot
        .blind()
        .map(|c| format!("{}/{}: {} ({})", c.name, c.target, c.detail, c.cause))
        .collect();
    if let GateResult::Fault(why) = gate {
        report.gate_fault = Some(why.clone());
    }
    drop(report);
    for new in &found.opened {
        let row = found
            .seen
            .iter()
            .find(|(row, _)| row.sig == new.signature)
            .map(|(row, _)| row);
        let mut lines = vec![format!("cause {} in {} ({})", new.signature.short(), new.repo, new.why)];
        if let Some(row) = row {
            lines.push(super::title_line(ctx, row));
            lines.push(format!(
                "{} events, first seen {}",
                row.count,
                row.first_seen.format("%H:%M:%S UTC")
            ));
        }
        ctx.say(Some(&new.id), "opened", lines);
    }
}

/// Messages about the look itself: what stood there at first sight, blindness and its end, a gate that is broken.
pub async fn tell_about_look(ctx: &Ctx, looked: &Looked, before: &[SourceRow]) -> Result<()> {
    inventory(ctx).await?;
    for source in &looked.sources {
        let old = before
            .iter()
            .find(|b| b.repo == source.repo && b.target == source.target && b.collector == source.collector);
        blindness(ctx, looked, source, old).await?;
    }
    if let GateResult::Fault(why) = &looked.gate {
        let mut words = MailWords::new(Status::GateFault, "gate", "the gate gives no answer", ctx.now());
        words.name.clone_from(&ctx.config.notify.name);
        words.why.clone_from(why);
        tell::tell_about(ctx, &format!("gate fault {why}"), &words).await?;
    }
    Ok(())
}

const OWED: &str = "owed:inventory:";

/// What stood there at first sight is owed a message from the transaction on that records it: no later look finds it
/// again.
fn owed(ctx: &Ctx, inventory: &[SignatureRow]) -> Vec<(String, String)> {
    let mut by_repo: BTreeMap<&Slot, Vec<&str>> = BTreeMap::new();
    for row in inventory {
        by_repo.entry(&row.repo).or_default().push(row.sig.as_str());
    }
    by_repo
        .into_iter()
        .map(|(repo, sigs)| (format!("{OWED}{repo}:{}", ctx.tick), sigs.join(" ")))
        .collect()
}

async fn inventory(ctx: &Ctx) -> Result<()> {
    let flags = ctx.store().flags()?;
    for (name, sigs) in &flags {
        let Some((repo, tick)) = name.strip_prefix(OWED).and_then(|rest| rest.rsplit_once(':')) else {
            continue;
        };
        let mut words = MailWords::new(Status::Inventory, repo, "what stood there at first sight", ctx.now());
        words.name.clone_from(&ctx.config.notify.name);
        for sig in sigs.split(' ') {
            let row = ctx.store().signature(&Signature::parse(sig)?)?;
            words.entries.extend(row.map(|row| Entry {
                short: row.sig.short().to_owned(),
                title: super::title_line(ctx, &row),
                count: row.count,
            }));
        }
        if tell::tell_about(ctx, &format!("inventory {repo} {tick}"), &words).await? {
            ctx.store().set_flag(name, None, "tick", ctx.now())?;
        }
    }
    Ok(())
}

/// Told when a second look in a row fails by the same cause, and once more when the source is read again.
async fn blindness(ctx: &Ctx, looked: &Looked, source: &SourceRow, old: Option<&SourceRow>) -> Result<()> {
    let name = format!("{}/{}", source.collector, source.target);
    let about = |cause: &str, since: DateTime<Utc>| {
        format!("blind {} {name} {cause} {}", source.repo, since.timestamp_millis())
    };
    let words = |status: Status, title: String| {
        let mut words = MailWords::new(status, &name, &title, ctx.now());
        words.name.clone_from(&ctx.config.notify.name);
        words
    };
    if let (Some(cause), Some(since)) = (&source.cause, source.cause_since) {
        if since < looked.snapshot.started_at {
            let detail = looked
                .snapshot
                .collectors
                .iter()
                .find(|c| c.repo == source.repo && c.target == source.target && c.name == source.collector)
                .map(|c| c.detail.clone())
                .unwrap_or_default();
            let mut words = words(Status::Blind, format!("{name} cannot be read ({cause})"));
            words.since = Some(since);
            words.why = detail;
            tell::tell_about(ctx, &about(cause, since), &words).await?;
        }
        return Ok(());
    }
    if let Some((cause, since)) = old.and_then(|o| Some((o.cause.clone()?, o.cause_since?))) {
        let key = crate::decide::facts::keys::mail(
            &IncidentId::new(&tell::about_signature(&about(&cause, since)), 1),
            Status::Blind,
        );
        if ctx.store().effect(&key)?.is_some_and(|row| row.is_posted()) {
            let mut words = words(Status::SeeingAgain, format!("{name} is read again"));
            words.since = Some(since);
            tell::tell_about(ctx, &about(&cause, since), &words).await?;
        }
    }
    Ok(())
}
