//! Groups the signals of a snapshot by cause and compares each with the ledger: known, to be opened, or a symptom of
//! another one.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    parents::{Scene, family},
    storm::{self, Item},
};
use crate::{
    decide::{
        dedup::{self, FirstLook, Group, Known, KnownIncident, Standing},
        facts::{Status, keys},
        hold, rhythm,
    },
    model::{
        IncidentId, Signature, Slot,
        checks::RedRun,
        incident::Incident,
        signal::{Severity, Signal, Snapshot, Stood, StoodHeld},
    },
    steps::{
        Ctx,
        effect::EffectKind,
        holds::{Held, Holds, outage},
    },
    store::{EffectRow, NewIncident, Sighting, SignatureRow, SourceRow},
    text::{self, signature},
};

/// Samples that the ledger keeps of a cause.
const SAMPLES: usize = 3;
/// Looks among which gaps are looked for: two days of the usual rhythm. An older gap weighs little.
const GAP_LOOKS: u32 = 200;
/// Events of the look that opens an incident may be so old.
const ONE_LOOK: TimeDelta = TimeDelta::hours(1);

/// What the grouping of a snapshot found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) seen: Vec<(SignatureRow, Sighting)>,
    pub(super) opened: Vec<NewIncident>,
    /// Causes that wait for their turn, since when; none = no longer.
    pub(super) waits: Vec<(Signature, Option<DateTime<Utc>>)>,
    pub(super) joined: Vec<(IncidentId, Signature)>,
    /// More of a family that has an incident already, or such as are back while it is open.
    pub(super) more: Vec<(IncidentId, Signature)>,
    pub(super) inventory: Vec<SignatureRow>,
    /// Incidents that a person has, or said no to, and why they have to hear of them again.
    pub(super) worse: Vec<(IncidentId, SignatureRow, String)>,
    /// How each cause was judged, for `tick replay`.
    pub(super) stood: Vec<Stood>,
}

/// How the sources stood before this look, and stand after it.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) before: &'a [SourceRow],
    pub(super) after: &'a [SourceRow],
}

impl Sources<'_> {
    /// A source that was not due says what it said last.
    fn now(&self) -> Vec<SourceRow> {
        let same =
            |a: &SourceRow, b: &SourceRow| a.repo == b.repo && a.target == b.target && a.collector == b.collector;
        let mut rows = self.after.to_vec();
        let skipped = self
            .before
            .iter()
            .filter(|old| !self.after.iter().any(|new| same(old, new)));
        rows.extend(skipped.cloned());
        rows
    }
}

pub(super) fn group(
    ctx: &Ctx,
    snapshot: &Snapshot,
    sources: Sources<'_>,
    woken: bool,
    found: &mut Found,
) -> Result<()> {
    let mut by_cause: BTreeMap<(&Slot, &Signature), Vec<&Signal>> = BTreeMap::new();
    for signal in &snapshot.signals {
        let cause = (&signal.repo, &signal.signature);
        by_cause.entry(cause).or_default().push(signal);
    }
    let mut items: Vec<Item> = Vec::new();
    let looks = ctx.store().last_ticks(GAP_LOOKS)?;
    let looks: Vec<_> = looks.iter().map(|tick| tick.started_at).collect();
    let gaps = rhythm::gaps(&looks);
    let now = sources.now();
    let holds = Holds::read(ctx, &now)?;
    for ((repo, text_sig), signals) in by_cause {
        let first_sight = signals.iter().all(|s| is_first_sight(sources.before, s));
        let old = ctx.store().cause(text_sig, repo)?;
        let key = match &old {
            Some(old) => old.sig.clone(),
            None => new_key(ctx, text_sig, repo, found)?,
        };
        let sig = &key;
        let row = row_of(ctx, key.clone(), &signals, old.as_ref());
        let group = group_of(&row, &signals, first_sight);
        let incident = ctx.store().incident_of(sig)?;
        let before = |old| before(ctx, old, &row, (incident.as_ref(), group.first_seen), &gaps);
        let facts = old.as_ref().map(before).transpose()?;
        let mut row = row;
        let mut standing = dedup::standing(&group, facts.as_ref());
        let held = holds.over(ctx, &row, first_sight)?;
        found.stood.push(Stood {
            group: serde_json::to_value(&group)?,
            known: serde_json::to_value(&facts)?,
            standing: serde_json::to_value(&standing)?,
            held: held.map(|held| match held {
                Held::Silenced(_) => StoodHeld::Silence,
                Held::Deploying { since, .. } => StoodHeld::Deployment(since),
            }),
        });
        if held.is_some() {
            standing = hold::held(standing);
        }
        match standing {
            Standing::Open { generation, why } if woken => {
                let new = NewIncident {
                    id: IncidentId::new(sig, generation),
                    repo: row.repo.clone(),
                    signature: sig.clone(),
                    why,
                };
                items.push(Item {
                    row: row.clone(),
                    new: Some(new),
                });
            }
            Standing::Inventory => {
                row.inventory = true;
                found.inventory.push(row.clone());
            }
            Standing::Worse { why } => {
                found.worse.extend(incident.map(|i| (i.id, row.clone(), why)));
            }
            Standing::Symptom => items.push(Item {
                row: row.clone(),
                new: None,
            }),
            Standing::Handled => found.more.extend(is_back(ctx, old.as_ref(), &row, incident)),
            Standing::Open { .. } | Standing::Held | Standing::Mild => {}
        }
        found.seen.push((row, sighting(&signals)));
    }
    storm::open(ctx, &Scene::new(&snapshot.signals, &now), items, found)
}

/// One of a family that was over while others kept the incident open.
fn is_back(
    ctx: &Ctx,
    old: Option<&SignatureRow>,
    row: &SignatureRow,
    incident: Option<Incident>,
) -> Option<(IncidentId, Signature)> {
    let was_over = old.is_some_and(|old| old.quiet_looks >= super::OVER_LOOKS);
    let ignored = row.ignored_until.is_some_and(|until| until > ctx.now());
    let incident = incident.filter(|incident| incident.outcome.is_none())?;
    (was_over && !ignored && family(row).is_some()).then(|| (incident.id, row.sig.clone()))
}

/// How much of the time in which a cause was seen nobody told of.
fn unwatched(ctx: &Ctx, old: &SignatureRow, gaps: &[(DateTime<Utc>, DateTime<Utc>)]) -> Result<TimeDelta> {
    let within = gaps.iter().map(|(from, to)| (*from, old.last_seen.min(*to)));
    let within: Vec<_> = within
        .filter(|(from, to)| *from >= old.first_seen && from < to)
        .collect();
    let Some(oldest) = within.iter().map(|(from, _)| *from).min() else {
        return Ok(TimeDelta::zero());
    };
    let told = ctx.store().sightings(&old.sig, oldest)?;
    let told: Vec<_> = told.iter().map(|sighting| sighting.from).collect();
    Ok(rhythm::unwatched(&within, &told))
}

/// The first look that saw it, where this batch is dated back to the first event of all.
fn first_look(ctx: &Ctx, old: &SignatureRow, batch_from: DateTime<Utc>) -> Result<Option<FirstLook>> {
    if batch_from > old.first_seen {
        return Ok(None);
    }
    let first = ctx.store().first_sighting(&old.sig)?;
    Ok(first.map(|batch| FirstLook {
        at: batch.at,
        count: batch.count,
    }))
}

/// Looks that saw it among the last few, with the one that runs.
fn bad_lately(ctx: &Ctx, sig: &Signature, fire_after: u32) -> Result<u32> {
    let looks = ctx
        .store()
        .last_ticks(dedup::flap_looks(fire_after).saturating_sub(1))?;
    let Some(oldest) = looks.last() else {
        return Ok(1);
    };
    let seen = ctx.store().sightings(sig, oldest.started_at)?.len();
    Ok(u32::try_from(seen).unwrap_or(u32::MAX).saturating_add(1))
}

/// What the ledger knew before this look; `row` is what it knows after it.
fn before(
    ctx: &Ctx,
    old: &SignatureRow,
    row: &SignatureRow,
    (incident, batch_from): (Option<&Incident>, DateTime<Utc>),
    gaps: &[(DateTime<Utc>, DateTime<Utc>)],
) -> Result<Known> {
    let generation = ctx.store().generation(&row.sig)?;
    Ok(Known {
        inventory: old.inventory,
        ignored: old.ignored_until.is_some_and(|until| until > ctx.now()),
        first_seen: old.first_seen,
        last_seen: old.last_seen,
        unwatched: unwatched(ctx, old, gaps)?,
        count: old.count,
        first_look: first_look(ctx, old, batch_from)?,
        bad_ticks: row.bad_ticks,
        bad_lately: if row.kind.is_symptom() {
            bad_lately(ctx, &row.sig, fire_after(row))?
        } else {
            row.bad_ticks
        },
        generation,
        outage: if row.kind.is_symptom() { outage(ctx, row)? } else { None },
        incident: incident.map(|i| known_incident(ctx, i, &row.sig)).transpose()?,
    })
}

fn known_incident(ctx: &Ctx, incident: &Incident, sig: &Signature) -> Result<KnownIncident> {
    let effects = ctx.store().effects(&incident.id)?;
    let posted = |status| {
        effects
            .get(&keys::mail(&incident.id, status))
            .is_some_and(EffectRow::is_posted)
    };
    // What a person let through is tick's again, until it is taken back.
    let merged = effects
        .values()
        .any(|row| row.kind == EffectKind::Merge.prefix() && row.is_done());
    let with_person = posted(Status::TakenBack) || (posted(Status::NeedsYou) && !merged);
    let told_at = effects
        .values()
        .filter(|row| row.is_posted())
        .map(|row| row.intended_at);
    // A clock that was ahead wrote times that are still to come: nothing that is seen now was before them.
    let past = |at: &DateTime<Utc>| *at <= ctx.now();
    let told_at = told_at.filter(past).max();
    Ok(KnownIncident {
        joined: incident.id.signature() != *sig,
        told_rate: told_rate(ctx, sig, incident.opened_at, told_at)?,
        told_at,
        outcome: incident.outcome,
        closed_at: incident.closed_at.filter(past),
        with_person,
    })
}

/// How often it was, at most, from the time when its incident opened until it was told.
fn told_rate(ctx: &Ctx, sig: &Signature, opened: DateTime<Utc>, told: Option<DateTime<Utc>>) -> Result<Option<f64>> {
    let Some(told) = told else { return Ok(None) };
    let seen = ctx.store().sightings(sig, opened - ONE_LOOK)?;
    let batches: Vec<_> = seen.iter().filter(|s| s.at <= told).map(|s| (s.at, s.count)).collect();
    let first = batches.first().map_or(opened, |(at, _)| *at);
    Ok(dedup::busiest(first, &batches))
}

/// A text's own signature, or, where another repo has that one, one that is made of both.
fn new_key(ctx: &Ctx, text_sig: &Signature, repo: &Slot, found: &Found) -> Result<Signature> {
    let taken = found.seen.iter().any(|(row, _)| row.sig == *text_sig) || ctx.store().signature(text_sig)?.is_some();
    Ok(if taken {
        dedup::key_in(text_sig, repo)
    } else {
        text_sig.clone()
    })
}

/// A symptom joins the cause of its slot that opened in this tick or the one before, else it opens by itself.
pub(super) fn join_symptoms(ctx: &Ctx, symptoms: Vec<Item>, found: &mut Found) -> Result<()> {
    if symptoms.is_empty() {
        return Ok(());
    }
    let recent = ctx.now() - TimeDelta::minutes(20);
    let open = ctx.store().open_incidents()?;
    for Item { row, new } in symptoms {
        let (sig, repo) = (row.sig, row.repo);
        let cause = found
            .opened
            .iter()
            .filter(|o| o.repo == repo)
            .map(|o| o.id.clone())
            .chain(
                open.iter()
                    .filter(|i| i.repo == repo && i.opened_at >= recent)
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

/// Bad looks in a row before a probe is told.
fn fire_after(row: &SignatureRow) -> u32 {
    row.fire_after.unwrap_or(dedup::BAD_LOOKS)
}

fn is_first_sight(known: &[SourceRow], signal: &Signal) -> bool {
    !known.iter().any(|row| {
        row.repo == signal.repo
            && row.target == signal.target
            && row.collector == signal.source
            && row.first_ok_at.is_some()
            && !signal
                .part()
                .and_then(|part| row.blind.get(part))
                .is_some_and(|blind| blind.never_read)
    })
}

fn group_of(row: &SignatureRow, signals: &[&Signal], first_sight: bool) -> Group {
    Group {
        signature: row.sig.clone(),
        repo: row.repo.clone(),
        kind: row.kind,
        severity: signals.iter().map(|s| s.severity).max().unwrap_or(Severity::Info),
        count: sum(signals.iter().copied()),
        first_seen: signals.iter().map(|s| s.first_seen).min().unwrap_or(row.first_seen),
        last_seen: signals.iter().map(|s| s.last_seen).max().unwrap_or(row.last_seen),
        first_sight,
        fire_after: fire_after(row),
    }
}

/// No source can make a number that does not fit.
pub(super) fn sum<'a>(signals: impl IntoIterator<Item = &'a Signal>) -> u64 {
    signals.into_iter().fold(0, |all, s| all.saturating_add(s.count))
}

/// The ledger's row after these signals. Those of one signature and repo are one cause, whatever their source.
fn row_of(ctx: &Ctx, sig: Signature, signals: &[&Signal], old: Option<&SignatureRow>) -> SignatureRow {
    let first = signals[0];
    let count = sum(signals.iter().copied());
    let last_seen = signals.iter().map(|s| s.last_seen).max().unwrap_or(first.last_seen);
    let mut releases: Vec<_> = old.map(|o| o.releases.clone()).unwrap_or_default();
    for sha in signals.iter().filter_map(|s| s.release_sha.clone()) {
        if !releases.contains(&sha) {
            releases.push(sha);
        }
    }
    // What is named and not signed by its text is told in the words of now.
    let follows = first.kind.is_symptom() || first.signed_text().starts_with(signature::EXACT);
    let samples = samples(signals, old, follows);
    let signed = old.is_none().then(|| text::sign(first.signed_text()));
    SignatureRow {
        text_sig: (sig != first.signature).then(|| first.signature.clone()),
        sig,
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
        title: match old {
            Some(old) if !follows => old.title.clone(),
            Some(_) | None => first.title.clone(),
        },
        culprit: old
            .and_then(|o| o.culprit.clone())
            .or_else(|| signals.iter().find_map(|s| s.culprit.clone())),
        samples,
        signed_text: old.map_or_else(
            || (first.signed_text() != first.message).then(|| first.signed_text().to_owned()),
            |o| o.signed_text.clone(),
        ),
        first_seen: old.map_or_else(
            || signals.iter().map(|s| s.first_seen).min().unwrap_or(first.first_seen),
            |o| o.first_seen,
        ),
        last_seen: old.map_or(last_seen, |o| ctx.past(o.last_seen).max(last_seen)),
        count: old.map_or(0, |o| o.count).saturating_add(count),
        releases,
        inventory: old.is_some_and(|o| o.inventory),
        bad_ticks: old.map_or(0, |o| o.bad_ticks).saturating_add(1),
        quiet_looks: 0,
        ignored_until: old.and_then(|o| o.ignored_until),
        ignored_why: old.and_then(|o| o.ignored_why.clone()),
        fire_after: first.looks(Signal::FIRE_AFTER),
        clear_after: first.looks(Signal::CLEAR_AFTER),
        waits_since: old.and_then(|o| o.waits_since),
        part: part_of(signals, old),
        red_run: newest_red_run(signals).or_else(|| old.and_then(|o| o.red_run.clone())),
    }
}

fn newest_red_run(signals: &[&Signal]) -> Option<RedRun> {
    signals
        .iter()
        .filter_map(|signal| signal.red_run())
        .max_by_key(|run| run.id)
}

/// The first texts of a cause, or the newest where each look may say it in other words.
fn samples(signals: &[&Signal], old: Option<&SignatureRow>, newest: bool) -> Vec<String> {
    let old = old.map(|old| old.samples.as_slice()).unwrap_or_default().iter();
    let new = signals.iter().map(|signal| &signal.message);
    let all: Vec<&String> = if newest {
        new.chain(old).collect()
    } else {
        old.chain(new).collect()
    };
    let mut have = BTreeSet::new();
    let unlike = all.into_iter().filter(|text| have.insert(text.as_str()));
    unlike.take(SAMPLES).cloned().collect()
}

/// The part of its source that sees it; none where it is seen by several, of which all have to be read until it is over.
fn part_of(signals: &[&Signal], old: Option<&SignatureRow>) -> Option<String> {
    let part = signals[0].part()?;
    let by_one = signals.iter().all(|signal| signal.part() == Some(part));
    let as_before = old.is_none_or(|old| old.part.as_deref() == Some(part) || old.quiet_looks >= super::OVER_LOOKS);
    (by_one && as_before).then(|| part.to_owned())
}

fn sighting(signals: &[&Signal]) -> Sighting {
    let first = signals[0];
    Sighting {
        from: signals.iter().map(|s| s.first_seen).min().unwrap_or(first.first_seen),
        at: signals.iter().map(|s| s.last_seen).max().unwrap_or(first.last_seen),
        count: sum(signals.iter().copied()),
        release: signals.iter().rev().find_map(|s| s.release_sha.clone()),
    }
}
