//! Messages about a look itself, which belong to no incident: what stood there at first sight, blindness and its end, a
//! gate that is broken. Each is owed from the transaction on that records the look, since no later look may find it
//! again, and stands as a flag until its letter is written.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{
    more, spells,
    unread::{blind, seeing_again},
    warnings::Warning,
};
use crate::{
    collect,
    decide::{
        dedup,
        facts::{Status, keys},
        gate::GateResult,
        hold,
        spells::Turn,
    },
    model::{
        IncidentId, Signature, Slot,
        signal::{SignalKind, Snapshot},
    },
    render::mail::{self, Entry, MailWords},
    steps::{
        Ctx, before,
        felt::{self, place},
        holds::down_since,
        silence, tell, title_line,
    },
    store::{Sighting, SignatureRow, SourceRow},
    text::{Untrusted, count, signature},
};

const OWED: &str = "owed:";

/// A message that is due, with what it takes to write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Owed {
    pub(super) status: Status,
    /// What makes it one message: the same words are told once.
    pub(super) about: String,
    pub(super) slot: String,
    pub(super) title: String,
    pub(super) since: Option<DateTime<Utc>>,
    pub(super) why: String,
    /// What an inventory lists, or a storm.
    pub(super) causes: Vec<Signature>,
    /// Causes that wait, listed or not.
    #[serde(default)]
    pub(super) count: u64,
    /// `shop is down`; none = it fails.
    #[serde(default)]
    pub(super) broken: Option<String>,
    /// What it is about, where that is an incident.
    #[serde(default)]
    pub(super) incident: Option<IncidentId>,
    /// The cause of it that is told.
    #[serde(default)]
    pub(super) cause: Option<Signature>,
    /// Everything that cannot be read, where the title names only some.
    #[serde(default)]
    pub(super) names: Vec<String>,
}

impl Owed {
    pub(super) fn new(status: Status, about: String, slot: &str, title: String) -> Self {
        Self {
            status,
            about,
            slot: slot.to_owned(),
            title,
            since: None,
            why: String::new(),
            causes: Vec::new(),
            count: 0,
            broken: None,
            incident: None,
            cause: None,
            names: Vec::new(),
        }
    }

    fn key(&self) -> String {
        keys::mail(&tell::about_id(&self.about), self.status)
    }

    /// Told already, or owed by an earlier look.
    pub(super) fn known(&self, ctx: &Ctx) -> Result<bool> {
        let key = self.key();
        let posted = ctx.store().effect(&key)?.is_some_and(|row| row.is_posted());
        Ok(posted || ctx.store().flag(&format!("{OWED}{key}"))?.is_some())
    }

    fn words(&self, ctx: &Ctx) -> Result<MailWords> {
        let mut words = MailWords::new(self.status, &self.slot, &self.title, ctx.now());
        words.name.clone_from(&ctx.config.notify.name);
        words.since = self.since;
        if matches!(self.status, Status::Blind | Status::GateFault) {
            words.sample = (!self.why.is_empty()).then(|| Untrusted::new(&self.why, &ctx.redactor));
        } else {
            words.why.clone_from(&self.why);
        }
        words.count = self.count;
        if let Some(broken) = &self.broken {
            words.broken.clone_from(broken);
        }
        words.incident.clone_from(&self.incident);
        self.measured(ctx, &mut words)?;
        let mut rows = Vec::new();
        for sig in &self.causes {
            rows.extend(ctx.store().signature(sig)?);
        }
        let titles = felt::titles(ctx, &rows);
        words.entries = rows
            .iter()
            .zip(titles)
            .map(|(row, title)| Entry {
                short: row.sig.short().to_owned(),
                title,
                count: row.count,
            })
            .collect();
        if !self.names.is_empty() {
            words.measured.push(("unread".to_owned(), self.names.join(", ")));
        }
        Ok(words)
    }

    /// What was seen of the cause that is told.
    fn measured(&self, ctx: &Ctx, words: &mut MailWords) -> Result<()> {
        let (Some(sig), Some(id)) = (&self.cause, &self.incident) else {
            return Ok(());
        };
        let row = ctx.store().signature(sig)?;
        let incident = ctx.store().incident(id)?;
        let (Some(row), Some(incident)) = (row, incident) else {
            return Ok(());
        };
        words.lines = vec![felt::line(ctx, &incident, &row)?];
        words.sample = row.samples.first().map(|text| Untrusted::new(text, &ctx.redactor));
        words.before = before::sentences(ctx, &row, Some(&incident.id), self.since.unwrap_or(row.first_seen))?;
        Ok(())
    }
}

/// What the messages are made from: how the sources stood before this look and stand after it.
pub(super) struct Seen<'a> {
    pub(super) before: &'a [SourceRow],
    pub(super) sources: &'a [SourceRow],
    pub(super) snapshot: &'a Snapshot,
    /// Causes that this look saw.
    pub(super) rows: &'a [(SignatureRow, Sighting)],
    pub(super) gate: &'a GateResult,
    pub(super) inventory: &'a [SignatureRow],
    pub(super) worse: &'a [(IncidentId, SignatureRow, String)],
    /// What joined the incident of its family, or is back in it.
    pub(super) more: &'a [(IncidentId, Signature)],
    pub(super) waits: &'a [(Signature, Option<DateTime<Utc>>)],
    /// Warnings that begin with this look, by the names of their flags.
    pub(super) warnings: &'a [(String, Warning)],
}

/// Names and values of flags.
pub(super) type Flags = Vec<(String, String)>;

/// Flags for the messages that this look found to be due, and that nobody was told before.
pub(super) fn owed(ctx: &Ctx, seen: &Seen<'_>) -> Result<Flags> {
    let silences = silence::all(ctx)?;
    let mut due = inventory(ctx, seen.inventory);
    for worse in seen.worse {
        due.push(got_worse(ctx, worse)?);
    }
    let more = more::more(ctx, seen.more, &seen.rows.iter().map(|(row, _)| &row.sig).collect())?;
    for (incident, sigs) in &more.due {
        due.extend(further(ctx, seen, incident, sigs));
    }
    let mut flags = more.flags;
    for source in seen.sources {
        let old = seen
            .before
            .iter()
            .find(|b| b.repo == source.repo && b.target == source.target && b.collector == source.collector);
        let silenced = hold::silence(&silences, &source.repo, &source.target, ctx.now()).is_some();
        if !silenced || collect::is_of_repo(&source.collector) {
            due.extend(blind(ctx, seen.snapshot, source, &mut flags)?);
        }
        // Only who was told that it is blind is told that it sees again.
        for over in seeing_again(ctx, source, old) {
            let told = Owed::new(Status::Blind, over.about.clone(), "", String::new()).known(ctx)?;
            if told && !spells::flaps(ctx, &over.slot)? {
                due.push(over);
            }
        }
    }
    if let GateResult::Fault(why) = seen.gate {
        due.extend(gate_fault(ctx, why)?);
    }
    for (name, warning) in seen.warnings {
        flags.push((name.clone(), serde_json::to_string(warning)?));
        due.extend(begins(ctx, name, warning, &mut flags)?);
    }
    if let Some(storm) = overflow(ctx, seen)? {
        due.push(storm);
        flags.push((STORM.to_owned(), ctx.now().to_rfc3339()));
    }
    for owed in due {
        if !owed.known(ctx)? {
            let value = ctx.redactor.redact(&serde_json::to_string(&owed)?);
            flags.push((format!("{OWED}{}", owed.key()), value));
        }
    }
    Ok(flags)
}

/// One message a repo.
fn inventory(ctx: &Ctx, found: &[SignatureRow]) -> Vec<Owed> {
    let mut by_repo: BTreeMap<&Slot, Vec<&SignatureRow>> = BTreeMap::new();
    let mut found: Vec<&SignatureRow> = found.iter().collect();
    // A workflow that nobody runs any more says nothing about today.
    let red = |row: &SignatureRow| {
        row.kind == SignalKind::Ci && row.source == "actions" && ctx.now() - row.last_seen < dedup::QUIET
    };
    found.sort_by_key(|row| (!red(row), Reverse(row.count), &row.sig));
    for row in found {
        by_repo.entry(&row.repo).or_default().push(row);
    }
    let one = |(repo, rows): (&Slot, Vec<&SignatureRow>)| {
        let red: Vec<String> = rows
            .iter()
            .filter(|row| red(row))
            .map(|row| title_line(ctx, row).trim_start_matches(collect::CI_IS_RED).to_owned())
            .collect();
        let (title, why) = if red.is_empty() {
            ("what stood there at first sight".to_owned(), String::new())
        } else {
            let branch = felt::what_is_broken(rows[0]);
            let title = "the default branch is red, and what else stood there".to_owned();
            (title, format!("{branch}: {}", felt::some_of(&red)))
        };
        Owed {
            causes: rows.iter().map(|row| row.sig.clone()).collect(),
            why,
            ..Owed::new(
                Status::Inventory,
                format!("inventory {repo} {}", ctx.tick),
                repo.as_str(),
                title,
            )
        }
    };
    by_repo.into_iter().map(one).collect()
}

/// Once as long as it lasts.
fn begins(ctx: &Ctx, name: &str, warning: &Warning, flags: &mut Flags) -> Result<Option<Owed>> {
    let about = format!("{name} {}", warning.since.timestamp());
    let owed = Owed::new(Status::Warning, about, warning.slot.as_str(), warning.title.clone());
    in_turn(ctx, name, warning.since, owed, flags)
}

/// The message where it is one of the first within a day; the last of them says that it comes and goes.
pub(super) fn in_turn(
    ctx: &Ctx,
    what: &str,
    since: DateTime<Utc>,
    owed: Owed,
    flags: &mut Flags,
) -> Result<Option<Owed>> {
    let (turn, flag) = spells::note(ctx, what, since)?;
    flags.push(flag);
    Ok(match turn {
        Turn::Told => Some(owed),
        Turn::Flaps => Some(Owed {
            title: format!(
                "{} (comes and goes; not told again before a day without it)",
                owed.title
            ),
            ..owed
        }),
        Turn::Silent => None,
    })
}

/// When it was last told that causes wait for their turn.
const STORM: &str = "storm-told";
/// Causes that the message about them lists.
const LISTED: usize = 30;

/// What waits from this look on, in one message a day.
fn overflow(ctx: &Ctx, seen: &Seen<'_>) -> Result<Option<Owed>> {
    let waiting: BTreeSet<&Signature> = seen
        .waits
        .iter()
        .filter_map(|(sig, since)| since.map(|_| sig))
        .collect();
    if waiting.is_empty() {
        return Ok(None);
    }
    let told = ctx.store().flag(STORM)?;
    let told: Option<DateTime<Utc>> = told.and_then(|at| at.parse().ok());
    if told.is_some_and(|at| at <= ctx.now() && ctx.now() - at < TimeDelta::days(1)) {
        return Ok(None);
    }
    let mut rows: Vec<&SignatureRow> = seen.rows.iter().map(|(row, _)| row).collect();
    rows.retain(|row| waiting.contains(&row.sig));
    rows.sort_by_key(|row| (Reverse(row.severity), Reverse(row.count), &row.sig));
    let repos: BTreeSet<&Slot> = rows.iter().map(|row| &row.repo).collect();
    let slot = match repos.first() {
        Some(slot) if repos.len() == 1 => slot.to_string(),
        _ => format!("{} repos", repos.len()),
    };
    let limits = &ctx.config.limits;
    let (hour, day) = (limits.new_incidents_per_hour, limits.new_incidents_per_day);
    Ok(Some(Owed {
        causes: rows.iter().take(LISTED).map(|row| row.sig.clone()).collect(),
        why: format!(
            "The caps are {} in an hour and {day} in a day",
            count(hour.into(), "new incident")
        ),
        count: u64::try_from(waiting.len()).unwrap_or(u64::MAX),
        ..Owed::new(
            Status::Overflow,
            format!("storm {}", ctx.tick),
            &slot,
            mail::waiting(u64::try_from(waiting.len()).unwrap_or(u64::MAX)),
        )
    }))
}

/// Once an incident; of a symptom once an outage.
fn got_worse(ctx: &Ctx, (incident, row, why): &(IncidentId, SignatureRow, String)) -> Result<Owed> {
    let title = title_line(ctx, row);
    let (about, since) = if row.kind.is_symptom() {
        let since = down_since(ctx, row)?;
        (format!("worse {incident} {} {}", row.sig, since.timestamp()), since)
    } else {
        (format!("worse {incident}"), row.first_seen)
    };
    Ok(Owed {
        since: Some(since),
        why: why.clone(),
        broken: Some(felt::what_is_broken(row)),
        incident: Some(incident.clone()),
        cause: Some(row.sig.clone()),
        ..Owed::new(Status::NeedsYou, about, &place(row), title)
    })
}

/// More of the family of an incident, in one message.
fn further(ctx: &Ctx, seen: &Seen<'_>, incident: &IncidentId, sigs: &BTreeSet<Signature>) -> Option<Owed> {
    let joined = |row: &&SignatureRow| sigs.contains(&row.sig);
    let mut rows: Vec<&SignatureRow> = seen.rows.iter().map(|(row, _)| row).filter(joined).collect();
    rows.sort_by_key(|row| (Reverse(row.severity), &row.title));
    let first = *rows.first()?;
    let titles: Vec<String> = rows.iter().map(|row| title_line(ctx, row)).collect();
    let n = match rows.len() {
        1 => "1 more".to_owned(),
        n => format!("{n} more"),
    };
    Some(Owed {
        since: rows.iter().map(|row| row.first_seen).max(),
        why: format!("{n} of its kind, beside what was told before"),
        causes: rows.iter().take(LISTED).map(|row| row.sig.clone()).collect(),
        broken: Some(felt::what_is_broken(first)),
        incident: Some(incident.clone()),
        ..Owed::new(
            Status::NeedsYou,
            format!("more {incident} {}", ctx.tick),
            &place(first),
            felt::some_of(&titles),
        )
    })
}

/// Due when the look before this one had an answer; the same cause at most once a day, however often it comes and goes.
fn gate_fault(ctx: &Ctx, why: &str) -> Result<Option<Owed>> {
    let last = ctx.store().last_ticks(1)?.into_iter().next();
    if last
        .and_then(|tick| tick.gate)
        .is_some_and(|word| word.starts_with(super::FAULT))
    {
        return Ok(None);
    }
    // What a program says about its input changes with the input: the signature does not.
    let cause = signature(why).signature;
    let about = format!("gate fault {cause} {}", ctx.now().date_naive());
    let title = "the gate gives no answer".to_owned();
    Ok(Some(Owed {
        why: why.to_owned(),
        ..Owed::new(Status::GateFault, about, "gate", title)
    }))
}

/// Writes the letters that are owed, from this look or an earlier one.
pub async fn tell_owed(ctx: &Ctx) -> Result<()> {
    let flags = ctx.store().flags()?;
    for (name, value) in flags.iter().filter(|(name, _)| name.starts_with(OWED)) {
        let Ok(owed) = serde_json::from_str::<Owed>(value) else {
            tracing::warn!(flag = name, "an owed message cannot be read and is dropped");
            ctx.store().set_flag(name, None, "tick", ctx.now())?;
            continue;
        };
        // Unless another process is at it: then it stays for that one.
        if tell::tell_about(ctx, &owed.about, &owed.words(ctx)?).await? {
            ctx.store().set_flag(name, None, "tick", ctx.now())?;
        }
    }
    Ok(())
}
