//! The first half of a tick, under its lock: collect, snapshot, gate, group by signature, open incidents. All that it
//! learns goes into the store in one transaction.

mod group;
mod messages;
mod more;
mod parents;
mod sources;
mod spells;
mod storm;
mod unread;
mod warnings;

use anyhow::{Context, Result};

use self::group::{Found, Sources, group};
pub use self::messages::tell_owed;
pub(super) use self::{
    parents::{family, provider, provider_key},
    warnings::standing as warnings,
};
use super::{Ctx, gate};
use crate::{
    decide::gate::GateResult,
    model::signal::{OutcomeKind, SNAPSHOT_SCHEMA, Snapshot},
    store::{TickEnd, TickLock, snapshots},
    text,
};

/// Looks once. Nothing outside is written.
pub async fn look(ctx: &Ctx, lock: &TickLock, deep: bool) -> Result<()> {
    let started = ctx.now();
    let known = sources::known(ctx, lock)?;
    let (collected, cache) = sources::collect(ctx, &known, deep).await?;
    let mut snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA,
        tick: ctx.tick.clone(),
        started_at: started,
        deep,
        signals: collected.signals,
        collectors: collected.collectors,
        open_pulls: collected.open_pulls,
        changes: collected.changes,
        signed_by: text::signature::VERSION,
        stood: Vec::new(),
    };
    sign_anew(ctx, lock)?;
    let sources = sources::rows(&known, &snapshot, &collected.cursors, started);
    snapshot.changes = sources::changes(&known, &sources, std::mem::take(&mut snapshot.changes), started);
    let encoded = snapshots::encode(&snapshot)?;
    let signals = &ctx.config.home.signals;
    snapshots::write_latest(signals, &encoded)
        .with_context(|| format!("write the snapshot to {}", signals.display()))?;
    let gate = gate::gate(&ctx.config, &snapshot).await;
    let mut found = Found::default();
    let woken = matches!(gate, GateResult::Wake(_));
    super::silence::clear(ctx)?;
    if woken || !snapshot.signals.is_empty() || !ctx.store().waiting()?.is_empty() {
        let both = Sources {
            before: &known,
            after: &sources,
        };
        group(ctx, &snapshot, both, woken, &mut found)?;
    }
    if woken || snapshot.blind().next().is_some() {
        snapshot.stood = std::mem::take(&mut found.stood);
        let kept = snapshots::encode(&snapshot)?;
        snapshots::archive(signals, &ctx.tick, &kept).context("keep the snapshot")?;
    }
    let begun = warnings::warnings(ctx, &snapshot, &found, &sources)?;
    let measures = warnings::measures(&snapshot, &collected.measures);
    let owed = messages::owed(
        ctx,
        &messages::Seen {
            before: &known,
            sources: &sources,
            snapshot: &snapshot,
            rows: &found.seen,
            gate: &gate,
            inventory: &found.inventory,
            worse: &found.worse,
            more: &found.more,
            waits: &found.waits,
            warnings: &begun,
        },
    )?;
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
            measures: &measures,
            waits: &found.waits,
            owed: &owed,
            http_cache: &cache,
            changes: &snapshot.changes,
        },
    )?;
    report(ctx, &snapshot, &gate, &found);
    Ok(())
}

/// After an upgrade that reads texts by other rules, the known causes get the names that their texts have now.
fn sign_anew(ctx: &Ctx, lock: &TickLock) -> Result<()> {
    let sign = |text: &str| text::sign(text).signature;
    let renewed = ctx
        .store()
        .sign_anew(lock, text::signature::VERSION, ctx.now(), sign)
        .context("sign the known causes anew")?;
    if renewed.causes > 0 {
        tracing::info!(
            causes = renewed.causes,
            renamed = renewed.renamed,
            version = text::signature::VERSION,
            "known causes are signed by the rules of this version"
        );
    }
    Ok(())
}

/// Full looks without it after which a cause that nobody repairs is taken for over.
pub(super) const OVER_LOOKS: u32 = 2;

/// How a tick's row begins when its gate gave no answer.
const FAULT: &str = "fault: ";

/// The gate's answer as a tick's row holds it.
pub(super) fn gate_word(gate: &GateResult) -> String {
    match gate {
        GateResult::Quiet => "quiet".to_owned(),
        GateResult::Wake(reasons) => format!("wake: {}", reasons.join("; ")),
        GateResult::Fault(why) => format!("{FAULT}{why}"),
    }
}

fn report(ctx: &Ctx, snapshot: &Snapshot, gate: &GateResult, found: &Found) {
    let mut report = ctx.report();
    report.signals = group::sum(&snapshot.signals);
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
                "{}, first seen {}",
                text::count(row.count, "event"),
                row.first_seen.format("%H:%M:%S UTC")
            ));
        }
        ctx.say(Some(&new.id), "opened", lines);
    }
}
