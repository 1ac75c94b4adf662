//! What the configuration of today says about what a stored look saw, and the look as it would be by it.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    config::{Patience, Target},
    decide::{
        again::{self, Again, Line, Page, Today},
        dedup::{Group, key_in},
        facts::Facts,
        hold::{self, Deploying, Silence},
    },
    model::{
        Signature,
        signal::{Signal, SignalKind, Snapshot, StoodHeld},
    },
    render::replay::{Difference, Judged},
    steps::Ctx,
    store::SignatureRow,
};

/// A stored look, and what is left of it today.
pub(super) struct Rejudged {
    pub(super) then: Snapshot,
    pub(super) now: Snapshot,
    /// For each signal of then what it is now.
    again: Vec<Again>,
    silences: Vec<Silence>,
}

impl Rejudged {
    pub(super) fn new(ctx: &Ctx, then: Snapshot) -> anyhow::Result<Self> {
        let again: Vec<Again> = then.signals.iter().map(|s| again::again(s, &today(ctx, s))).collect();
        let mut now = then.clone();
        now.signals = then
            .signals
            .iter()
            .zip(&again)
            .filter_map(|(signal, again)| match again {
                Again::Same => Some(signal.clone()),
                Again::Gone(_) => None,
                Again::Severity(severity, _) => Some(Signal {
                    severity: *severity,
                    ..signal.clone()
                }),
            })
            .collect();
        Ok(Self {
            then,
            now,
            again,
            silences: crate::steps::silence::holding(ctx)?,
        })
    }

    /// What is made otherwise of single signals.
    pub(super) fn signals(&self) -> Judged {
        let mut judged = Judged::default();
        for (signal, again) in self.then.signals.iter().zip(&self.again) {
            let (now, why) = match again {
                Again::Same => {
                    judged.same += 1;
                    continue;
                }
                Again::Gone(why) => ("nothing", why),
                Again::Severity(severity, why) => (again::word_of(*severity), why),
            };
            let then = again::word_of(signal.severity).to_owned();
            let what = format!("signal {} in {}", signal.signature.short(), signal.repo);
            judged
                .differ
                .push((what, Difference::new(then, now.to_owned()).because(why)));
        }
        judged
    }

    /// The first reason why a cause, or any of them, is seen otherwise.
    pub(super) fn why(&self, of: impl Fn(&Signal) -> bool) -> Option<&str> {
        let both = self.then.signals.iter().zip(&self.again);
        both.filter(|(signal, _)| of(signal))
            .find_map(|(_, again)| match again {
                Again::Same => None,
                Again::Gone(why) | Again::Severity(_, why) => Some(why.as_str()),
            })
    }

    /// A group as today's configuration makes it, and why where that is another one; none where nothing is left of it.
    pub(super) fn group(&self, ctx: &Ctx, group: &Group) -> (Option<Group>, Option<String>) {
        let of_group =
            |signal: &Signal| signal.repo == group.repo && names(ctx, signal).any(|name| name == group.signature);
        let then: Vec<&Signal> = self.then.signals.iter().filter(|s| of_group(s)).collect();
        let left: Vec<&Signal> = self.now.signals.iter().filter(|s| of_group(s)).collect();
        let why = self.why(of_group).map(str::to_owned);
        let mut now = group.clone();
        if left.is_empty() && !then.is_empty() {
            return (None, why);
        }
        if why.is_some() {
            now.severity = left.iter().map(|s| s.severity).max().unwrap_or(group.severity);
            let gone = then.iter().map(|s| s.count).sum::<u64>() - left.iter().map(|s| s.count).sum::<u64>();
            now.count = group.count.saturating_sub(gone);
        }
        let patience = then.first().and_then(|signal| patience(ctx, signal));
        let (Some(patience), true) = (patience, group.kind.is_symptom()) else {
            return (Some(now), why);
        };
        now.fire_after = patience.fire_after;
        let other = now.fire_after != group.fire_after;
        (
            Some(now),
            why.or_else(|| other.then(|| format!("its fire_after is {}", patience.fire_after))),
        )
    }

    /// Why a cause is held back by what holds today, where it is.
    pub(super) fn holds(&self, ctx: &Ctx, group: &Group, then: Option<&StoodHeld>) -> Option<String> {
        let of_group = |signal: &&Signal| signal.repo == group.repo && names(ctx, signal).any(|n| n == group.signature);
        let signal = self.then.signals.iter().find(of_group)?;
        let silence = hold::silence(&self.silences, &group.repo, &signal.target, ctx.now());
        if let Some(silence) = silence.filter(|_| hold::can_be_silenced(group.kind)) {
            return Some(format!(
                "{} is silenced until {}",
                silence.name(),
                silence.until.format("%Y-%m-%d %H:%M UTC")
            ));
        }
        let Some(StoodHeld::Deployment(since)) = then else {
            return None;
        };
        let deploying = Deploying {
            since: *since,
            grace: TimeDelta::from_std(target(ctx, signal)?.deploy_grace).unwrap_or_default(),
        };
        let until: DateTime<Utc> = deploying.until(self.then.started_at)?;
        Some(format!("a deployment explains it until {}", until.format("%H:%M UTC")))
    }
}

/// The names under which the ledger may have what a signal tells of.
fn names(ctx: &Ctx, signal: &Signal) -> impl Iterator<Item = Signature> {
    let known = ctx.store().cause(&signal.signature, &signal.repo);
    let known = known.ok().flatten().map(|row| row.sig);
    [signal.signature.clone(), key_in(&signal.signature, &signal.repo)]
        .into_iter()
        .chain(known)
}

/// The facts of a turn, with what is set today for what they tell of.
pub(super) fn facts(ctx: &Ctx, facts: &Facts) -> anyhow::Result<Facts> {
    let mut now = facts.clone();
    let Some(row) = ctx.store().signature(&facts.incident.id.signature())? else {
        return Ok(now);
    };
    now.cause.unwatched = ctx.unwatched(&row);
    if now.cause.unwatched.is_some() {
        now.cause.quiet_looks = u32::MAX;
    }
    if let Some(patience) = patience_of(ctx, &row) {
        now.cause.clear_after = patience.clear_after;
    }
    Ok(now)
}

fn today(ctx: &Ctx, signal: &Signal) -> Today {
    let (source, part) = (&signal.source, signal.part());
    let sees = ctx.watched.sees(&signal.repo, &signal.target, source, part);
    Today {
        unwatched: (!sees).then(|| crate::render::status::not_in_config(part, source, &signal.target)),
        page: page(ctx, signal),
        line: line(ctx, signal),
    }
}

fn page(ctx: &Ctx, signal: &Signal) -> Option<Page> {
    let part = signal.part().filter(|_| signal.source == "health")?;
    let probe = target(ctx, signal)?.health.iter().find(|probe| probe.name == part)?;
    Some(Page {
        status: probe.status.clone(),
        longest_ms: probe
            .max_latency
            .map(|most| u64::try_from(most.as_millis()).unwrap_or(u64::MAX)),
    })
}

fn line(ctx: &Ctx, signal: &Signal) -> Option<Line> {
    let then = signal.evidence.get("pattern")?.as_str()?;
    if signal.kind != SignalKind::Log {
        return None;
    }
    let list = ctx.config.patterns.list();
    let mut finds: Vec<_> = list.iter().filter(|pattern| pattern.finds(&signal.message)).collect();
    finds.sort_by_key(|pattern| (pattern.id != then, std::cmp::Reverse(pattern.priority)));
    let of_text_alone = |id: &str, window: Option<u32>| id == then || window.is_none();
    let found = finds
        .into_iter()
        .find(|pattern| of_text_alone(&pattern.id, pattern.within_seconds));
    Some(Line {
        then: then.to_owned(),
        is_there: list.iter().any(|pattern| pattern.id == then),
        found: found.map(|pattern| (pattern.id.clone(), pattern.severity)),
    })
}

fn patience(ctx: &Ctx, signal: &Signal) -> Option<Patience> {
    named_patience(target(ctx, signal)?, &signal.source, signal.part()?)
}

fn patience_of(ctx: &Ctx, row: &SignatureRow) -> Option<Patience> {
    let repo = ctx.config.repo(&row.repo)?;
    let target = repo.targets.iter().find(|target| target.name == row.target)?;
    named_patience(target, &row.source, row.part.as_deref()?)
}

fn named_patience(target: &Target, source: &str, part: &str) -> Option<Patience> {
    match source {
        "health" => target.health.iter().find(|p| p.name == part).map(|p| p.patience),
        "jsonrpc" => target.jsonrpc.iter().find(|p| p.name == part).map(|p| p.patience),
        _ => None,
    }
}

fn target<'a>(ctx: &'a Ctx, signal: &Signal) -> Option<&'a Target> {
    let repo = ctx.config.repo(&signal.repo)?;
    repo.targets.iter().find(|target| target.name == signal.target)
}
