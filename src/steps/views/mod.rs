//! What `status`, `incidents` and `show` put before a person, gathered from the store. Reads nothing outside.

mod status;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

pub use self::status::{status, unwell};
use super::{Ctx, before, evidence::kind, felt, gather};
use crate::{
    decide::{
        facts::{Facts, Policy},
        why::{self, Who},
    },
    model::{
        IncidentId, Mode, Slot,
        evidence::GuardReport,
        incident::{Incident, IncidentOutcome},
    },
    render::{
        self,
        incidents::{IncidentLine, KnownLine, ShowView, Unmet},
        status::Mover,
    },
    store::{EvidenceRow, SignatureRow},
    text::{Untrusted, short},
};

/// How an incident stands, by the last decision about it.
fn standing(ctx: &Ctx, incident: &Incident) -> Result<(String, Option<DateTime<Utc>>)> {
    if let Some(outcome) = incident.outcome {
        return Ok((outcome_words(outcome).to_owned(), None));
    }
    if ctx.config.repo(&incident.repo).is_none() {
        let why = format!("a person moves next: repo {} is no longer in the config", incident.repo);
        return Ok((why, None));
    }
    let last = ctx.store().decisions(&incident.id)?.into_iter().next_back();
    let why = last
        .as_ref()
        .and_then(|row| row.action.pointer("/wait/why"))
        .and_then(|why| why.as_str())
        .unwrap_or("not looked at yet")
        .to_owned();
    Ok((why, incident.due_at))
}

const fn outcome_words(outcome: IncidentOutcome) -> &'static str {
    match outcome {
        IncidentOutcome::Resolved => "fixed and confirmed",
        IncidentOutcome::Unconfirmed => "fixed, not confirmed",
        IncidentOutcome::TakenBack => "the fix was taken back",
        IncidentOutcome::Declined => "declined by a person",
        IncidentOutcome::Gone => "gone without a fix of ours",
        IncidentOutcome::Noise => "noise",
        IncidentOutcome::Ignored => "ignored by a person",
        IncidentOutcome::Unwatched => "no longer watched",
        IncidentOutcome::Escalated => "with a person",
    }
}

fn mover(why: &str) -> Mover {
    if why.contains("person moves next") || why.starts_with("stopped") {
        Mover::You
    } else if why.contains("CI moves next") || why.starts_with("running:") || why.starts_with("queued:") {
        Mover::Ci
    } else {
        Mover::Tick
    }
}

fn row(ctx: &Ctx, incident: &Incident) -> Result<SignatureRow> {
    ctx.store()
        .signature(&incident.id.signature())?
        .with_context(|| format!("incident {} has no signature row", incident.id))
}

pub fn incidents(ctx: &Ctx) -> Result<Vec<IncidentLine>> {
    let recent = ctx.store().recent_incidents(50)?;
    let mut lines = Vec::new();
    for incident in recent {
        let row = row(ctx, &incident)?;
        let (stands, _) = standing(ctx, &incident)?;
        lines.push(IncidentLine {
            short: incident.id.signature().short().to_owned(),
            slot: incident.repo.to_string(),
            title: crate::steps::title_line(ctx, &row),
            opened: incident.opened_at,
            stands,
            open: incident.closed_at.is_none(),
        });
    }
    Ok(lines)
}

/// The inventory as `tick adopt` takes it.
pub fn known(ctx: &Ctx) -> Result<Vec<KnownLine>> {
    let rows = super::answers::known(ctx)?;
    let titles = felt::titles(ctx, &rows);
    let line = |(row, title): (&SignatureRow, String)| KnownLine {
        short: row.sig.short().to_owned(),
        slot: row.repo.to_string(),
        title,
        count: row.count,
        last_seen: row.last_seen,
    };
    Ok(rows.iter().zip(titles).map(line).collect())
}

pub fn show(ctx: &Ctx, id: &IncidentId) -> Result<ShowView> {
    let incident = ctx.store().incident(id)?.with_context(|| format!("no incident {id}"))?;
    let row = row(ctx, &incident)?;
    let facts = gather::facts(ctx, &incident)?;
    let policy = match ctx.config.repo(&incident.repo) {
        Some(repo) => Some(ctx.policy(repo)?),
        None => None,
    };
    let untrusted = |text: &str| Untrusted::new(text, &ctx.redactor);
    let mut said = Vec::new();
    if let Some(triage) = &facts.triage {
        said.push(("triage".to_owned(), untrusted(&triage.root_cause)));
    }
    for attempt in facts.attempts.iter().filter(|a| !a.attempt.said.is_empty()) {
        let who = format!("attempt {} by {}", attempt.attempt.n, attempt.attempt.agent);
        said.push((who, untrusted(&attempt.attempt.said)));
    }
    let began = felt::life(ctx, &incident, &row)?.since;
    let (unmet_heading, unmet) = why_not(ctx, &incident, &facts, policy.as_ref())?;
    Ok(ShowView {
        id: id.to_string(),
        short: row.sig.short().to_owned(),
        slot: incident.repo.to_string(),
        title: crate::steps::title_line(ctx, &row),
        template: untrusted(&row.template).line(600),
        why_signature: why_signature(ctx, &row)?,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        count: row.count,
        culprit: crate::steps::culprit_line(ctx, &row),
        release: row.releases.last().map(|sha| sha.short().to_owned()),
        before: before::sentences(ctx, &row, Some(id), began)?,
        timeline: timeline(ctx, &incident, &facts)?,
        sample: row.samples.first().map(|s| untrusted(s)),
        said,
        unmet_heading,
        unmet,
    })
}

/// A cause that never had an incident.
pub fn show_cause(ctx: &Ctx, row: &SignatureRow) -> Result<ShowView> {
    let untrusted = |text: &str| Untrusted::new(text, &ctx.redactor);
    let now = match (row.ignored_until.filter(|until| *until > ctx.now()), row.inventory) {
        (Some(until), _) => format!("ignored until {}", until.format("%Y-%m-%d %H:%M UTC")),
        (None, true) => "stood there at first sight".to_owned(),
        (None, false) => "not seen often or badly enough for an incident".to_owned(),
    };
    let unmet = Unmet {
        condition: "no incident".to_owned(),
        value: now,
        who: "you".to_owned(),
        when: format!("tick adopt {} hands it to repair", row.sig.short()),
    };
    Ok(ShowView {
        id: "none; a cause that is known".to_owned(),
        short: row.sig.short().to_owned(),
        slot: row.repo.to_string(),
        title: crate::steps::title_line(ctx, row),
        template: untrusted(&row.template).line(600),
        why_signature: why_signature(ctx, row)?,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        count: row.count,
        culprit: crate::steps::culprit_line(ctx, row),
        release: row.releases.last().map(|sha| sha.short().to_owned()),
        before: before::sentences(ctx, row, None, row.first_seen)?,
        timeline: Vec::new(),
        sample: row.samples.first().map(|s| untrusted(s)),
        said: Vec::new(),
        unmet_heading: "Why nothing is done about it".to_owned(),
        unmet: vec![unmet],
    })
}

fn why_signature(ctx: &Ctx, row: &SignatureRow) -> Result<Vec<String>> {
    let mut lines = vec![
        format!("label {}, from {} of {}", row.label, row.source, row.target),
        "volatile parts (times, ids, addresses, counts) are masked; what is left is the cause".to_owned(),
    ];
    let same = ctx.store().causes(row.text_signature())?;
    let others = same.iter().filter(|other| other.sig != row.sig);
    lines.extend(others.map(|other| {
        let short = other.sig.short();
        format!("{} has the same error, as a cause of its own: {short}", other.repo)
    }));
    Ok(lines)
}

/// Every recorded fact of the incident, in time order.
fn timeline(ctx: &Ctx, incident: &Incident, facts: &Facts) -> Result<Vec<(DateTime<Utc>, String)>> {
    let opened = match ctx.store().why_opened(&incident.id)? {
        why if why.is_empty() => "opened".to_owned(),
        why => format!("opened: {why}"),
    };
    let mut lines = vec![(incident.opened_at, opened)];
    for attempt in &facts.attempts {
        let a = &attempt.attempt;
        lines.push((a.started, format!("attempt {} on base {}", a.n, a.base.short())));
        if let (Some(ended), Some(failure)) = (a.ended, attempt.failure()) {
            lines.push((
                ended,
                format!(
                    "attempt {} is over: {}",
                    a.n,
                    one_line(&ctx.redactor.redact(failure.sentence()))
                ),
            ));
        }
    }
    for row in ctx.store().evidence(&incident.id)? {
        let head = row.head.get(..7).map(|h| format!(" at {h}")).unwrap_or_default();
        let sandbox = row.detail.get("sandbox").and_then(|s| s.as_str());
        let sandbox = sandbox.map(|s| format!(" ({s})")).unwrap_or_default();
        let found = first_finding(&row)?;
        lines.push((
            row.at,
            format!("{}{head}: {}{found}{sandbox}", row.kind, one_line(&row.verdict)),
        ));
    }
    for effect in ctx.store().effects(&incident.id)?.into_values() {
        let outcome = effect.outcome.as_deref().unwrap_or("outcome not known");
        lines.push((
            effect.done_at.unwrap_or(effect.intended_at),
            format!("{}: {outcome}", effect.key),
        ));
    }
    if let (Some(at), Some(outcome)) = (incident.closed_at, incident.outcome) {
        lines.push((at, format!("closed: {}", outcome_words(outcome))));
    }
    lines.sort_by_key(|(at, _)| *at);
    Ok(lines)
}

/// The hardest finding of the guards.
fn first_finding(row: &EvidenceRow) -> Result<String> {
    if row.kind != kind::GUARDS {
        return Ok(String::new());
    }
    let report: GuardReport =
        serde_json::from_value(row.detail.clone()).context("evidence of the guards does not read back")?;
    let first = report.findings.iter().find(|f| f.verdict == report.verdict);
    Ok(first.map_or_else(String::new, |f| format!(", {} {}", f.rule, one_line(&f.sentence()))))
}

fn one_line(text: &str) -> String {
    short(text.lines().next().unwrap_or_default(), 160)
}

fn why_not(ctx: &Ctx, incident: &Incident, facts: &Facts, policy: Option<&Policy>) -> Result<(String, Vec<Unmet>)> {
    let Some(policy) = policy else {
        return Ok((
            "Why nothing happens: its repo is no longer in the config".to_owned(),
            Vec::new(),
        ));
    };
    let (stands, due) = standing(ctx, incident)?;
    let when = match due {
        None => "tick does not look again by itself".to_owned(),
        Some(due) if due <= ctx.now() => "the next tick looks".to_owned(),
        Some(due) => format!("looked at next {}", due.format("%Y-%m-%d %H:%M UTC")),
    };
    let heading = match (&facts.merge, incident.closed_at) {
        (_, Some(_)) => format!("Closed: {stands}. tick retry {} opens it again.", incident.id),
        (Some(_), None) => "Why it is not resolved yet".to_owned(),
        (None, None) if policy.rung < Mode::MonitorOnly => "Why it is not repaired".to_owned(),
        (None, None) => "Why it is not merged yet".to_owned(),
    };
    let conditions = why::not_merged(facts, policy);
    // What is among them already is not said twice.
    let said = conditions
        .iter()
        .any(|u| !u.value.is_empty() && stands.contains(&u.value));
    let mut unmet: Vec<Unmet> = conditions
        .into_iter()
        .map(|u| Unmet {
            condition: u.condition.to_owned(),
            value: one_line(&ctx.redactor.redact(&u.value)),
            who: match u.who {
                Who::Person => "you",
                Who::Ci => "CI",
                Who::Tick => "tick",
            }
            .to_owned(),
            when: when.clone(),
        })
        .collect();
    if incident.closed_at.is_none() && !said {
        unmet.push(Unmet {
            condition: "it waits".to_owned(),
            value: one_line(&ctx.redactor.redact(&render::status::stands(&stands))),
            who: match mover(&stands) {
                Mover::You => "you",
                Mover::Ci => "CI",
                Mover::Tick => "tick",
            }
            .to_owned(),
            when,
        });
    }
    Ok((heading, unmet))
}

/// Slots that a person named, or all of them.
pub fn slots(ctx: &Ctx, named: Option<&str>) -> Result<Vec<Option<Slot>>> {
    match named {
        None => Ok(vec![None]),
        Some(name) => {
            let slot = Slot::parse(name)?;
            anyhow::ensure!(ctx.config.repo(&slot).is_some(), "no repo {slot} in the config");
            Ok(vec![Some(slot)])
        }
    }
}
