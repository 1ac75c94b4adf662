//! `tick status`: what is known now. A repo is healthy when its sources were read and the last look saw nothing wrong; an
//! incident that is closed, ignored or a person's hides nothing that is still there.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{mover, row, standing};
use crate::{
    collect::SourceKey,
    config::{MailBackend, Repo},
    decide::{
        hold,
        next::{SAYS_WHEN_OVER, quiet_for},
        rhythm,
    },
    model::{
        IncidentId, Signature, Slot,
        incident::{Incident, IncidentOutcome},
        signal::Severity,
    },
    render::{
        self,
        status::{Mover, Now, OpenLine, RepoLine, RepoState, SeenLine, StatusView},
    },
    steps::{
        Ctx, felt, gather,
        holds::{Held, Holds},
        look::provider,
        outbox, title_line,
    },
    store::{SignatureRow, SourceRow},
};

pub fn status(ctx: &Ctx) -> Result<StatusView> {
    let now = ctx.now();
    let open = ctx.store().open_incidents()?;
    let look = LastLook::read(ctx)?;
    let mut repos = Vec::new();
    for repo in ctx.config.repos.values() {
        repos.push(repo_line(ctx, repo, &look, &open)?);
    }
    let mut lines = Vec::new();
    for incident in &open {
        lines.push(open_line(ctx, incident)?);
    }
    let nobody = IncidentId::new(&crate::text::named("status"), 1);
    let spent = ctx.store().spent(&nobody, now)?;
    let mut notes = notes(ctx)?;
    let calm = |repo: &RepoLine| matches!(repo.state, RepoState::Healthy | RepoState::Known);
    if let Some(since) = look.overdue {
        notes.insert(0, render::status::not_looked(since, now));
    }
    if let Some(reasons) = look.gate.as_deref().and_then(|word| word.strip_prefix("wake: "))
        && repos.iter().all(calm)
    {
        notes.push(render::status::woke(reasons));
    }
    Ok(StatusView {
        now,
        repos,
        open: lines,
        spent_today: spent.day_usd,
        limit_today: ctx.config.limits.usd_per_day,
        spent_month: spent.month_usd,
        next_look: None,
        notes,
    })
}

/// What the last looks found, of the sources that the config still names.
struct LastLook {
    sources: Vec<SourceRow>,
    configured: BTreeSet<SourceKey>,
    seen: Vec<SignatureRow>,
    /// Probes and checks that warn.
    mild: Vec<SignatureRow>,
    gate: Option<String>,
    /// When it was, where the next one is overdue.
    overdue: Option<DateTime<Utc>>,
    holds: Holds,
}

impl LastLook {
    fn read(ctx: &Ctx) -> Result<Self> {
        let configured: BTreeSet<SourceKey> = ctx.watched.sources().cloned().collect();
        let key = |repo: &Slot, target: &str, collector: &str| SourceKey {
            repo: repo.clone(),
            target: target.to_owned(),
            collector: collector.to_owned(),
        };
        let mut sources = ctx.store().sources()?;
        let holds = Holds::read(ctx, &sources)?;
        sources.retain(|s| configured.contains(&key(&s.repo, &s.target, &s.collector)));
        let mut seen = ctx.store().current_causes()?;
        seen.retain(|row| ctx.unwatched(row).is_none());
        let (seen, mut mild): (Vec<_>, Vec<_>) = seen.into_iter().partition(|row| row.severity >= Severity::Error);
        mild.retain(|row| row.severity == Severity::Warning && hold::is_probe(row.kind));
        let ticks = ctx.store().last_ticks(rhythm::LOOKS)?;
        let looks: Vec<DateTime<Utc>> = ticks.iter().map(|tick| tick.started_at).collect();
        Ok(Self {
            sources,
            configured,
            seen,
            mild,
            gate: ticks.into_iter().next().and_then(|tick| tick.gate),
            overdue: rhythm::overdue(&looks, ctx.now()),
            holds,
        })
    }

    fn gate_faults(&self) -> bool {
        self.gate.as_ref().is_some_and(|word| word.starts_with("fault: "))
    }
}

fn repo_line(ctx: &Ctx, repo: &Repo, look: &LastLook, open: &[Incident]) -> Result<RepoLine> {
    let sources: Vec<&SourceRow> = look.sources.iter().filter(|s| s.repo == repo.slot).collect();
    let open: Vec<&Incident> = open.iter().filter(|i| i.repo == repo.slot).collect();
    let policy = ctx.policy(repo)?;
    let paused = [format!("pause:{}", repo.slot), "pause".to_owned()];
    let stopped = paused
        .iter()
        .find_map(|name| ctx.store().flag(name).transpose())
        .transpose()?;
    let mut seen = Vec::new();
    for row in look.seen.iter().filter(|row| row.repo == repo.slot) {
        if let Some(now) = how(ctx, look, row)? {
            seen.push(SeenLine {
                short: row.sig.short().to_owned(),
                title: title_line(ctx, row),
                now,
            });
        }
    }
    let mut watched = !open.is_empty();
    for incident in &open {
        watched &= gather::facts(ctx, incident)?.merge.is_some();
    }
    let state = if seen.iter().any(|line| !line.now.is_handled()) || (!open.is_empty() && !watched) {
        RepoState::Unhealthy
    } else if look.overdue.is_some() && !sources.is_empty() {
        RepoState::NotLooked
    } else if watched {
        RepoState::Watching
    } else if look.gate_faults() || sources.iter().any(|s| s.cause.is_some()) {
        RepoState::Blind
    } else if sources.is_empty() {
        RepoState::NeverLooked
    } else if seen.is_empty() {
        RepoState::Healthy
    } else {
        RepoState::Known
    };
    Ok(RepoLine {
        slot: repo.slot.to_string(),
        mode: policy.rung,
        state,
        looked: sources.iter().filter_map(|s| s.last_look_at).max(),
        sources_read: count(sources.iter().filter(|s| s.cause.is_none()).count()),
        sources: count(look.configured.iter().filter(|key| key.repo == repo.slot).count()),
        seen,
        notes: asides(ctx, repo, look)?,
        stopped,
        lacks: policy.missing.first().cloned(),
    })
}

/// What a person has silenced, and warnings that stand.
fn asides(ctx: &Ctx, repo: &Repo, look: &LastLook) -> Result<Vec<String>> {
    let silences = look.holds.silences.iter().filter(|silence| silence.slot == repo.slot);
    let mut notes: Vec<String> = silences.map(|s| render::silence::line(s, ctx.now())).collect();
    notes.extend(unread(ctx, repo, look));
    let warnings = crate::steps::look::warnings(ctx)?;
    // What a look warned of once is not told yet, and is not well either.
    let told: BTreeSet<&Signature> = warnings.values().filter_map(|warning| warning.cause.as_ref()).collect();
    let fresh = look
        .mild
        .iter()
        .filter(|row| row.repo == repo.slot && !told.contains(&row.sig));
    notes.extend(fresh.map(|row| render::warning::fresh(&title_line(ctx, row))));
    let own = warnings.values().filter(|warning| warning.slot == repo.slot);
    notes.extend(own.map(|warning| render::warning::line(&warning.title, warning.since, ctx.now())));
    Ok(notes)
}

/// Sources that the last look could not read.
fn unread(ctx: &Ctx, repo: &Repo, look: &LastLook) -> Option<String> {
    let sources = look.sources.iter().filter(|source| source.repo == repo.slot);
    let lines = sources.filter_map(|source| {
        let source_name = format!("{}/{}", source.collector, source.target);
        let parts: Vec<&str> = source.blind.keys().map(String::as_str).collect();
        let name = if parts.is_empty() {
            source_name
        } else {
            format!("{} of {source_name}", parts.join(" and "))
        };
        let cause = source.cause.clone()?;
        Some((name, cause, source.last_ok_at))
    });
    render::status::unread(&lines.collect::<Vec<_>>(), ctx.now())
}

/// What is open, or was seen by the last look and is nobody's word: a tick that leaves any of it is no healthy one.
pub fn unwell(ctx: &Ctx) -> Result<u64> {
    let mut n = ctx.store().open_incidents()?.len();
    let look = LastLook::read(ctx)?;
    for row in &look.seen {
        n += usize::from(how(ctx, &look, row)?.is_some_and(|now| !now.is_handled()));
    }
    Ok(count(n))
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Why something that the last look saw is no open incident; none where it is one.
fn how(ctx: &Ctx, look: &LastLook, row: &SignatureRow) -> Result<Option<Now>> {
    if let Some(until) = row.ignored_until.filter(|until| *until > ctx.now()) {
        return Ok(Some(Now::Ignored(until)));
    }
    let incident = ctx.store().incident_of(&row.sig)?;
    if incident.as_ref().is_none_or(|incident| incident.outcome.is_some()) {
        match look.holds.over(ctx, row, false)? {
            Some(Held::Silenced(until)) => return Ok(Some(Now::Silenced(until))),
            Some(Held::Deploying { until, .. }) => return Ok(Some(Now::Deploying(until))),
            None if row.waits_since.is_some() => return Ok(Some(Now::Waits)),
            None => {}
        }
    }
    let Some(incident) = incident else {
        return Ok(Some(if row.inventory { Now::FirstSight } else { Now::Once }));
    };
    Ok(match incident.outcome {
        // Another repo's incident does not stand below this one.
        None => (incident.repo != row.repo).then_some(Now::Explained),
        Some(_) if incident.id.signature() != row.sig => Some(Now::Once),
        Some(IncidentOutcome::Noise) => Some(Now::Noise),
        Some(IncidentOutcome::Declined) => Some(Now::Declined),
        Some(IncidentOutcome::TakenBack) => Some(Now::TakenBack),
        Some(IncidentOutcome::Escalated) => Some(Now::WithPerson),
        Some(
            IncidentOutcome::Resolved
            | IncidentOutcome::Unconfirmed
            | IncidentOutcome::Gone
            | IncidentOutcome::Ignored
            | IncidentOutcome::Unwatched,
        ) => Some(Now::Once),
    })
}

fn open_line(ctx: &Ctx, incident: &Incident) -> Result<OpenLine> {
    let row = row(ctx, incident)?;
    let (why, due) = standing(ctx, incident)?;
    let known = ctx.config.repo(&incident.repo).map(|_| gather::facts(ctx, incident));
    let facts = known.transpose()?;
    // Well again, and with nobody but tick.
    let well = facts.as_ref().filter(|facts| {
        facts.cause.quiet_looks > 0 && facts.pull.is_none() && facts.merge.is_none() && why.ends_with(SAYS_WHEN_OVER)
    });
    let over_at = well.map(|facts| facts.cause.last_seen + quiet_for(facts.cause.lives));
    let mover = if well.is_some() { Mover::Tick } else { mover(&why) };
    let looks = match due {
        _ if let Some(at) = over_at => render::status::over_after(at, ctx.now()),
        Some(due) if due > ctx.now() => format!("looked at again {}", due.format("%H:%M UTC")),
        Some(_) => "the next tick looks at it".to_owned(),
        None => String::new(),
    };
    let next = [yours(ctx, incident, mover, &why)?, looks];
    let next: Vec<String> = next.into_iter().filter(|words| !words.is_empty()).collect();
    let felt = felt::felt(ctx, incident, &row, false)?;
    let cause = facts.map(|facts| facts.cause);
    let quiet = cause.as_ref().is_some_and(|cause| cause.quiet_looks > 0);
    let lives = cause.map_or(1, |cause| cause.lives);
    let stands = [render::status::stands(&why)]
        .into_iter()
        .filter(|words| !words.is_empty());
    let stands = stands.chain(render::status::comes_and_goes(
        quiet.then_some(felt.last),
        lives,
        ctx.now(),
    ));
    Ok(OpenLine {
        short: incident.id.signature().short().to_owned(),
        slot: incident.repo.to_string(),
        title: felt.shown,
        mover,
        stands: stands.collect::<Vec<_>>().join("; "),
        notes: render::status::with_it(&felt.also, &felt.well, ctx.now()),
        next: next.join("; "),
    })
}

/// What a person can do about it; nothing where it is another's move.
fn yours(ctx: &Ctx, incident: &Incident, mover: Mover, why: &str) -> Result<String> {
    if mover != Mover::You {
        return Ok(String::new());
    }
    let short = incident.id.signature().short().to_owned();
    Ok(if why.starts_with("stopped") {
        "tick resume".to_owned()
    } else if ctx.config.repo(&incident.repo).is_none() {
        format!("put it back, or tick ignore {short}")
    } else {
        let facts = gather::facts(ctx, incident)?;
        if let Some(provider) = provider(&row(ctx, incident)?) {
            return Ok(format!("wait for {provider}"));
        }
        match (facts.pull, facts.merge, facts.revert.and_then(|r| r.merged)) {
            (_, Some(_), Some(_)) => "mend it yourself: our change is taken back".to_owned(),
            (_, Some(_), None) => "mend it yourself, or revert the merge".to_owned(),
            (Some(pull), None, _) => format!("merge or close PR {}, or tick approve {short}", pull.number),
            (None, None, _) if !ctx.asks_models(&incident.repo) => "mend it".to_owned(),
            (None, None, _) => format!("mend it, or tick retry {short}"),
        }
    })
}

/// Frozen merges, messages that wait, and effects whose outcome is not known.
fn notes(ctx: &Ctx) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if let Some(why) = ctx.store().flag("freeze")? {
        notes.push(format!("Merges are frozen: {why}. A person looks, then: tick resume"));
    }
    for (incident, effect) in ctx.store().open_effects()? {
        notes.push(format!(
            "The outcome of {} ({incident}) is not known since {}; the next tick looks.",
            effect.kind,
            effect.intended_at.format("%H:%M UTC")
        ));
    }
    notes.extend(unsent(ctx)?);
    Ok(notes)
}

/// Messages that nobody got yet, one sentence a reason.
fn unsent(ctx: &Ctx) -> Result<Vec<String>> {
    let letters = ctx.store().letters()?;
    if matches!(ctx.config.notify.mail, MailBackend::Off) {
        return Ok(vec![render::status::no_channel(letters.len())]);
    }
    let mut by_reason: BTreeMap<&str, (DateTime<Utc>, usize)> = BTreeMap::new();
    for (_, row) in &letters {
        let entry = by_reason.entry(outbox::why_not(row)).or_insert((row.intended_at, 0));
        *entry = (entry.0.min(row.intended_at), entry.1 + 1);
    }
    Ok(by_reason
        .into_iter()
        .map(|(why, (since, n))| render::status::not_sent(n, since, why, ctx.now()))
        .collect())
}
