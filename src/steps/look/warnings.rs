//! Warnings: what will break soon, or is not as usual. Each stands as a flag while it lasts and is told once; none is a signal,
//! so none wakes a model.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Serialize};

use super::group::Found;
use crate::{
    collect::{self, SourceKey},
    decide::{
        dedup::BAD_LOOKS,
        hold,
        trend::{self, Hour},
    },
    model::{
        Signature, Slot,
        signal::{Measure, MeasureKind, OutcomeKind, Severity, SignalKind, Snapshot},
    },
    render,
    steps::{Ctx, silence, title_line},
    store::{MeasureKey, SourceRow},
};

const PREFIX: &str = "warning:";
/// Marks of the last time at which a log said what is expected of it.
const LINE: &str = "said:";
/// When the trends were looked at last: once an hour, since they are made of hours.
const MARK: &str = "trends";
/// What asks one thing and counts no events.
const ASKING: [&str; 2] = ["health", "jsonrpc"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::steps) struct Warning {
    pub(in crate::steps) slot: Slot,
    pub(in crate::steps) target: String,
    pub(in crate::steps) title: String,
    pub(in crate::steps) since: DateTime<Utc>,
    /// The cause that it is about, where it is one that a probe sees.
    pub(in crate::steps) cause: Option<Signature>,
}

/// Those that stand, by the name of their flag.
pub(in crate::steps) fn standing(ctx: &Ctx) -> Result<BTreeMap<String, Warning>> {
    let flags = ctx.store().flags_like(PREFIX)?;
    let one = |(name, value): (String, String)| {
        let warning = serde_json::from_str(&value).with_context(|| format!("the flag {name} does not read back"))?;
        Ok((name, warning))
    };
    flags.into_iter().map(one).collect()
}

/// The numbers of this look, as the ledger keeps them.
pub(super) fn measures(snapshot: &Snapshot, told: &[(SourceKey, Measure)]) -> Vec<(MeasureKey, f64)> {
    let key = |repo: &Slot, target: &str, source: &str, name: String| MeasureKey {
        repo: repo.clone(),
        target: target.to_owned(),
        source: source.to_owned(),
        name,
    };
    let mut out: Vec<(MeasureKey, f64)> = told
        .iter()
        .map(|(source, measure)| {
            let name = name_of(measure.kind, &measure.name);
            (
                key(&source.repo, &source.target, &source.collector, name),
                measure.value,
            )
        })
        .collect();
    for outcome in &snapshot.collectors {
        let counts = !ASKING.contains(&outcome.name.as_str()) && !collect::is_of_repo(&outcome.name);
        if outcome.outcome != OutcomeKind::Ok || !counts {
            continue;
        }
        let of_source = snapshot.signals.iter().filter(|signal| {
            signal.repo == outcome.repo && signal.target == outcome.target && signal.source == outcome.name
        });
        let errors = of_source.filter(|signal| {
            signal.severity >= Severity::Error && matches!(signal.kind, SignalKind::Log | SignalKind::Exception)
        });
        #[expect(clippy::cast_precision_loss, reason = "a count of events")]
        let events = super::group::sum(errors) as f64;
        let name = name_of(MeasureKind::Events, &outcome.name);
        out.push((key(&outcome.repo, &outcome.target, &outcome.name, name), events));
    }
    out
}

fn name_of(kind: MeasureKind, name: &str) -> String {
    match kind {
        MeasureKind::Events => format!("events {name}"),
        MeasureKind::Latency => format!("latency {name}"),
        MeasureKind::Level { full } => format!("level/{full} {name}"),
    }
}

/// What a stored name says; none for one of another version.
fn kind_of(stored: &str) -> Option<(MeasureKind, &str)> {
    let (kind, name) = stored.split_once(' ')?;
    let kind = match kind {
        "events" => MeasureKind::Events,
        "latency" => MeasureKind::Latency,
        _ => MeasureKind::Level {
            full: kind.strip_prefix("level/")?.parse().ok()?,
        },
    };
    Some((kind, name))
}

/// Warnings that begin with this look, by the names of their flags. Those that are over are cleared away.
pub(super) fn warnings(
    ctx: &Ctx,
    snapshot: &Snapshot,
    found: &Found,
    sources: &[SourceRow],
) -> Result<Vec<(String, Warning)>> {
    let standing = standing(ctx)?;
    let silences = silence::holding(ctx)?;
    let mut now: BTreeMap<String, Warning> = BTreeMap::new();
    probes(ctx, found, &mut now);
    expected(ctx, snapshot, sources, &mut now)?;
    lines(ctx, snapshot, sources, &mut now)?;
    let trends_known = trends(ctx, &mut now)?;
    for (name, old) in &standing {
        let lasts = match &old.cause {
            Some(cause) => {
                let row = ctx.store().signature(cause)?;
                row.is_some_and(|row| row.severity == Severity::Warning && row.quiet_looks < super::OVER_LOOKS)
            }
            None if name.starts_with(&format!("{PREFIX}trend ")) && !trends_known => true,
            None => now.contains_key(name),
        };
        if !lasts {
            ctx.store().set_flag(name, None, "tick", ctx.now())?;
        } else if let Some(fresh) = now.get(name).filter(|fresh| fresh.title != old.title) {
            // The number is today's, and it stands since it was told.
            let same = Warning {
                title: fresh.title.clone(),
                ..old.clone()
            };
            let value = serde_json::to_string(&same)?;
            ctx.store().set_flag(name, Some(&value), "tick", ctx.now())?;
        }
    }
    let new = |(name, warning): &(String, Warning)| {
        !standing.contains_key(name) && hold::silence(&silences, &warning.slot, &warning.target, ctx.now()).is_none()
    };
    Ok(now.into_iter().filter(new).collect())
}

/// Certificates that end soon, answers that are too slow, plugins that warn: seen often enough to be believed.
fn probes(ctx: &Ctx, found: &Found, now: &mut BTreeMap<String, Warning>) {
    for (row, _) in &found.seen {
        let believed = row.bad_ticks >= row.fire_after.unwrap_or(BAD_LOOKS);
        if hold::is_probe(row.kind) && row.severity == Severity::Warning && believed {
            let warning = Warning {
                slot: row.repo.clone(),
                target: row.target.clone(),
                title: title_line(ctx, row),
                since: ctx.now(),
                cause: Some(row.sig.clone()),
            };
            now.insert(format!("{PREFIX}probe {}", row.sig), warning);
        }
    }
}

/// A source that always has something to tell, and has not.
fn expected(ctx: &Ctx, snapshot: &Snapshot, sources: &[SourceRow], now: &mut BTreeMap<String, Warning>) -> Result<()> {
    for repo in ctx.config.repos.values() {
        for target in &repo.targets {
            for declared in &target.declared {
                let Some(every) = declared.expect_every.and_then(|every| TimeDelta::from_std(every).ok()) else {
                    continue;
                };
                let name = format!("{}/{}/{}", repo.slot, target.name, declared.collector);
                let told = snapshot.signals.iter().any(|signal| {
                    signal.repo == repo.slot && signal.target == target.name && signal.source == declared.collector
                });
                let mark = format!("told:{name}");
                if told {
                    ctx.store().set_mark(&mark, ctx.now())?;
                    continue;
                }
                let source = sources.iter().find(|row| {
                    row.repo == repo.slot && row.target == target.name && row.collector == declared.collector
                });
                let last = ctx.store().flag(&mark)?.and_then(|at| at.parse::<DateTime<Utc>>().ok());
                let last = last.or_else(|| source.and_then(|row| row.first_ok_at));
                // Who cannot be read is blind, and says nothing about what happened.
                let reads = source.is_some_and(|row| row.cause.is_none());
                if let Some(last) = last.filter(|last| reads && trend::is_missed(*last, every, ctx.now())) {
                    let warning = Warning {
                        slot: repo.slot.clone(),
                        target: target.name.clone(),
                        title: render::warning::silent(&declared.collector, last, every.num_minutes()),
                        since: ctx.now(),
                        cause: None,
                    };
                    now.insert(format!("{PREFIX}silent {name}"), warning);
                }
            }
        }
    }
    Ok(())
}

/// Lines that a log said again and again, and says no more: a job that does not run.
fn lines(ctx: &Ctx, snapshot: &Snapshot, sources: &[SourceRow], now: &mut BTreeMap<String, Warning>) -> Result<()> {
    let patterns = ctx.config.patterns.expected();
    if patterns.is_empty() {
        return Ok(());
    }
    for signal in &snapshot.signals {
        let pattern = signal.evidence.get("pattern").and_then(|pattern| pattern.as_str());
        if let Some((id, _)) = patterns.iter().find(|(id, _)| Some(*id) == pattern) {
            let mark = format!("{LINE}{}/{}/{} {id}", signal.repo, signal.target, signal.source);
            ctx.store().set_mark(&mark, signal.last_seen)?;
        }
    }
    let flags = ctx.store().flags()?;
    for (name, value) in flags
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(LINE)?, value)))
    {
        let Some((place, id)) = name.rsplit_once(' ') else {
            continue;
        };
        let every = patterns
            .iter()
            .find(|(pattern, _)| *pattern == id)
            .map(|(_, minutes)| TimeDelta::minutes((*minutes).into()));
        // Who cannot be read is blind, and says nothing about what happened.
        let source = sources
            .iter()
            .find(|row| place == format!("{}/{}/{}", row.repo, row.target, row.collector));
        let last = value.parse::<DateTime<Utc>>().ok();
        let (Some(every), Some(source), Some(last)) = (every, source.filter(|row| row.cause.is_none()), last) else {
            continue;
        };
        if ctx.config.repo(&source.repo).is_some() && trend::is_missed(last, every, ctx.now()) {
            let what = format!("{id} in {}", source.collector);
            let warning = Warning {
                slot: source.repo.clone(),
                target: source.target.clone(),
                title: render::warning::unsaid(&what, last, every.num_minutes()),
                since: ctx.now(),
                cause: None,
            };
            now.insert(format!("{PREFIX}silent {name}"), warning);
        }
    }
    Ok(())
}

/// Once an hour. False when it was not looked at, so that what stands goes on.
fn trends(ctx: &Ctx, now: &mut BTreeMap<String, Warning>) -> Result<bool> {
    let at = ctx.now();
    let last = ctx
        .store()
        .flag(MARK)?
        .and_then(|mark| mark.parse::<DateTime<Utc>>().ok());
    if last.is_some_and(|last| last.date_naive() == at.date_naive() && last.hour() == at.hour()) {
        return Ok(false);
    }
    ctx.store().set_mark(MARK, at)?;
    let since = at - TimeDelta::days(trend::DAYS) - TimeDelta::hours(3);
    let hourly = ctx.store().hourly(since)?;
    for (key, rows) in hourly {
        let Some((kind, name)) = kind_of(&key.name) else {
            continue;
        };
        let hours: Vec<Hour> = rows
            .into_iter()
            .map(|row| Hour {
                hour: row.hour,
                n: row.n,
                total: row.total,
                points: row.points,
            })
            .collect();
        if let Some(found) = trend::trend(kind, &hours, at)
            && ctx.config.repo(&key.repo).is_some()
        {
            let warning = Warning {
                slot: key.repo.clone(),
                target: key.target.clone(),
                title: render::warning::trend(name, &found),
                since: at,
                cause: None,
            };
            let place = format!("{}/{}/{}", key.repo, key.target, key.source);
            now.insert(format!("{PREFIX}trend {place} {}", key.name), warning);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_name_says_what_was_measured() {
        for kind in [
            MeasureKind::Events,
            MeasureKind::Latency,
            MeasureKind::Level { full: 99.5 },
        ] {
            let stored = name_of(kind, "front page");
            assert_eq!(kind_of(&stored), Some((kind, "front page")), "{stored}");
        }
        assert_eq!(kind_of("level/x disk"), None);
        assert_eq!(kind_of("other disk"), None);
    }
}
