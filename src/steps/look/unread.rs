//! Messages about a source that cannot be read, and about its end.

use anyhow::Result;

use super::{
    messages::{Flags, Owed, in_turn},
    sources::blindness_of,
};
use crate::{
    decide::{
        blindness::{Spell, reminders},
        facts::Status,
    },
    model::signal::{BlindPart, CollectorOutcome, Snapshot},
    steps::Ctx,
    store::SourceRow,
};
use chrono::{DateTime, Utc};

/// The same blindness is one message, however long it lasts and in however many ways it shows.
fn about_blindness(source: &SourceRow, since: DateTime<Utc>) -> String {
    let (repo, name) = (&source.repo, name(source));
    format!("blind {repo} {name} {}", since.timestamp_millis())
}

fn name(source: &SourceRow) -> String {
    format!("{}/{}", source.collector, source.target)
}

/// Due when a second look in a row fails, by whatever cause; and again when it lasts.
pub(super) fn blind(ctx: &Ctx, snapshot: &Snapshot, source: &SourceRow, flags: &mut Flags) -> Result<Vec<Owed>> {
    let same = |c: &&CollectorOutcome| c.repo == source.repo && c.target == source.target && c.name == source.collector;
    let outcome = snapshot.collectors.iter().find(same);
    let mut due = Vec::new();
    for spell in blindness_of(source).spells() {
        if spell.since >= snapshot.started_at {
            continue;
        }
        let what = which(source, &spell);
        let names: Vec<String> = spell.parts.clone();
        let owed = |about: String, title: String| Owed {
            since: Some(spell.since),
            names: if names.len() > SHOWN { names.clone() } else { Vec::new() },
            why: outcome.map(|outcome| details(outcome, &spell)).unwrap_or_default(),
            ..Owed::new(Status::Blind, about, &what, title)
        };
        let about = about_blindness(source, spell.since);
        let title = |still: &str| format!("it {still}cannot be read ({})", spell.cause);
        // Of messages that are due at once the newest says all.
        match reminders(spell.since, ctx.now()) {
            0 => {
                let first = owed(about, title(""));
                if !first.known(ctx)? {
                    due.extend(in_turn(ctx, &what, spell.since, first, flags)?);
                }
            }
            n => due.push(owed(format!("{about} reminder {n}"), title("still "))),
        }
    }
    Ok(due)
}

/// Why the parts of a spell cannot be read.
fn details(outcome: &CollectorOutcome, spell: &Spell) -> String {
    let of_spell = |part: &&BlindPart| spell.parts.contains(&part.name);
    let details: Vec<&str> = outcome
        .blind_parts
        .iter()
        .filter(of_spell)
        .map(|part| part.detail.as_str())
        .collect();
    if details.is_empty() {
        outcome.detail.clone()
    } else {
        details.into_iter().take(SHOWN).collect::<Vec<_>>().join("; ")
    }
}

/// Parts that a message names.
const SHOWN: usize = 5;

/// `exec/shop`, or `disk and db of exec/shop`.
fn which(source: &SourceRow, spell: &Spell) -> String {
    let mut parts: Vec<&str> = spell.parts.iter().take(SHOWN).map(String::as_str).collect();
    let more = format!("{} more", spell.parts.len() - parts.len());
    if spell.parts.len() > parts.len() {
        parts.push(&more);
    }
    match parts.split_last() {
        None => name(source),
        Some((one, [])) => format!("{one} of {}", name(source)),
        Some((last, others)) => format!("{} and {last} of {}", others.join(", "), name(source)),
    }
}

pub(super) fn seeing_again(ctx: &Ctx, source: &SourceRow, old: Option<&SourceRow>) -> Vec<Owed> {
    let Some(old) = old else { return Vec::new() };
    let again = |spell: Spell| {
        let what = which(source, &spell);
        let title = "it is read again".to_owned();
        Owed {
            since: Some(spell.since),
            ..Owed::new(Status::SeeingAgain, about_blindness(source, spell.since), &what, title)
        }
    };
    let ended = blindness_of(source).ended(&blindness_of(old));
    let read = |mut spell: Spell| {
        let had_parts = !spell.parts.is_empty();
        // What is not in the config any more is not read again.
        let sees = |part: &String| {
            ctx.watched
                .sees(&source.repo, &source.target, &source.collector, Some(part))
        };
        spell.parts.retain(sees);
        (!had_parts || !spell.parts.is_empty()).then_some(spell)
    };
    ended.into_iter().filter_map(read).map(again).collect()
}
