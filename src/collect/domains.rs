//! When the names end under which users come, as the registries of these names say. A registry is asked once a day, after a
//! failure once an hour; in between what it said last holds.

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    context::{Blind, Piece, Place, Session},
    memory::is_due,
    probe,
    rdap::Registries,
};
use crate::{
    model::signal::{OutcomeKind, Severity, Signal, SignalKind},
    text::named,
};

const EVERY: Duration = Duration::from_hours(24);
const AGAIN: Duration = Duration::from_hours(1);
/// A domain that is not renewed by itself is told from here on, and is urgent from there on.
const ENDS_SOON: TimeDelta = TimeDelta::days(30);
const ENDS_NOW: TimeDelta = TimeDelta::days(7);

/// The cursor of the source: what was said of each name.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    names: BTreeMap<String, Known>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    asked: DateTime<Utc>,
    /// What the registry said last; it outlives an answer that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<DateTime<Utc>>,
    /// Cause and words of why it did not tell when it was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unread: Option<(String, String)>,
}

impl Known {
    fn is_due(&self, now: DateTime<Utc>) -> bool {
        let every = if self.unread.is_some() { AGAIN } else { EVERY };
        // A clock that went back must not silence a source for as long.
        self.asked > now || is_due(Some(every), Some(self.asked), now)
    }
}

pub(super) async fn collect(session: &Session<'_>, place: Place<'_>) -> Piece {
    let now = session.ctx.now;
    let mut old = recall(session, &place);
    let registries = Registries::new(session);
    let mut kept = Kept::default();
    for name in &place.target.domains {
        let known = match old.names.remove(name) {
            Some(known) if !known.is_due(now) => known,
            before => ask(session, &registries, name, before).await,
        };
        kept.names.insert(name.clone(), known);
    }
    let mut piece = place.piece(OutcomeKind::Ok);
    let mut blind = Vec::new();
    for (name, known) in &kept.names {
        if let Some(end) = known.ends {
            let before = piece.signals.len();
            tell(&mut piece, &place, now, name, end, false);
            for signal in &mut piece.signals[before..] {
                signal.evidence[Signal::PART] = probe::part(session, name).into();
            }
        }
        if let Some((cause, detail)) = &known.unread {
            blind.push(Blind::new(cause, format!("{name}: {detail}")).of(probe::part(session, name)));
        }
    }
    piece.settle(kept.names.len() - blind.len(), &blind);
    piece.cursor = serde_json::to_string(&kept).ok();
    piece
}

/// A cursor that cannot be read is an empty one: every name is asked for.
fn recall(session: &Session<'_>, place: &Place<'_>) -> Kept {
    let facts = session.ctx.sources.get(&place.key());
    let cursor = facts.and_then(|facts| facts.cursor.as_deref());
    cursor
        .and_then(|cursor| serde_json::from_str(cursor).ok())
        .unwrap_or_default()
}

async fn ask(session: &Session<'_>, registries: &Registries<'_>, name: &str, before: Option<Known>) -> Known {
    let (ends, unread) = match registries.ends(name).await {
        Ok((_, ends)) => (Some(ends), None),
        Err(why) => {
            let unread = (why.cause, session.line(&why.detail, 200));
            (before.and_then(|known| known.ends), Some(unread))
        }
    };
    Known {
        asked: session.ctx.now,
        ends,
        unread,
    }
}

/// Tells of a domain that ends soon, or has ended.
pub(super) fn tell(
    piece: &mut Piece,
    place: &Place<'_>,
    now: DateTime<Utc>,
    name: &str,
    end: DateTime<Utc>,
    renews: bool,
) {
    let Some(severity) = how_bad(end, renews, now) else {
        return;
    };
    let verb = if end <= now { "expired" } else { "expires" };
    let title = format!("the domain {name} {verb} on {}", end.format("%Y-%m-%d"));
    piece.changes.push(place.expiry("domain", name, end));
    piece.signals.push(alert(place, now, name, "expiry", severity, title));
}

/// One that renews itself is no matter until it has ended all the same.
fn how_bad(end: DateTime<Utc>, renews: bool, now: DateTime<Utc>) -> Option<Severity> {
    let left = end - now;
    let told = if renews { TimeDelta::zero() } else { ENDS_SOON };
    let severity = if left <= TimeDelta::zero() {
        Severity::Critical
    } else if left <= ENDS_NOW {
        Severity::Error
    } else {
        Severity::Warning
    };
    (left <= told).then_some(severity)
}

/// What is wrong with a domain, in one word and in a sentence.
pub(super) fn alert(
    place: &Place<'_>,
    now: DateTime<Utc>,
    name: &str,
    class: &str,
    severity: Severity,
    title: String,
) -> Signal {
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind: SignalKind::Alert,
        severity,
        message: title.clone(),
        title,
        // Whoever tells of it: it is one cause.
        signature: named(&format!("domain:{}:{}:{name}:{class}", place.repo.slot, place.name)),
        count: 1,
        first_seen: now,
        last_seen: now,
        release_sha: None,
        url: None,
        culprit: None,
        evidence: json!({ "domain": name, "class": class }),
    }
}

#[cfg(test)]
#[path = "domains_tests.rs"]
mod tests;
