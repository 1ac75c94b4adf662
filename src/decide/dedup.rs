//! Ledger and signals: what is new, known, regressed or already handled; which symptom joins which cause.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{
    next::quiet_for,
    observation::{poisson_at_least, rate_per_hour},
};
use crate::{
    model::{
        Signature, Slot,
        incident::IncidentOutcome,
        signal::{Severity, SignalKind},
    },
    text::{count, named, were},
};

/// What the ledger knows of a signature that a signal carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub inventory: bool,
    pub ignored: bool,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    /// How much of the time in between nobody told of.
    #[serde(with = "super::facts::serial::seconds")]
    pub unwatched: TimeDelta,
    pub count: u64,
    /// When the first look saw it and how many events that look brought, where its source dates every batch back to
    /// the first event of all: how these were spread over the time before, nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_look: Option<FirstLook>,
    /// Looks of its source in a row that saw it, this one included.
    pub bad_ticks: u32,
    /// Looks among the last [`flap_looks`] that saw it, this one included.
    pub bad_lately: u32,
    /// Of the newest incident that it opened itself; 0 without any.
    pub generation: u32,
    /// Of a symptom: the outage that this look sees, unless it is older than what is kept in mind.
    #[serde(default)]
    pub outage: Option<Outage>,
    pub incident: Option<KnownIncident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLook {
    pub at: DateTime<Utc>,
    pub count: u64,
}

/// Looks in a row that saw a symptom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    pub since: DateTime<Utc>,
    /// The last sight of the one before.
    pub before: Option<DateTime<Utc>>,
    /// Outages that were believed, in the day before it.
    pub of_day: u32,
}

impl Outage {
    /// The outage that begins with the sight at `first`, of all sights in the order of their times. `fire_after`: looks in a row
    /// from which on one is believed.
    pub fn among(seen: &[DateTime<Utc>], first: usize, fire_after: u32) -> Option<Self> {
        let (since, earlier) = (*seen.get(first)?, &seen[..first]);
        // Looks come as often as two sights of it ever did.
        let between = seen.windows(2).map(|pair| pair[1] - pair[0]).min();
        let in_a_row = between.map_or(TimeDelta::zero(), |step| step * 3 / 2).max(quiet_for(0));
        let (mut of_day, mut looks, mut last) = (0, 0, None);
        for at in earlier.iter().filter(|at| since - **at <= TimeDelta::days(1)) {
            looks = match last {
                Some(last) if *at - last <= in_a_row => looks + 1,
                _ => 1,
            };
            of_day += u32::from(looks == fire_after.max(1));
            last = Some(*at);
        }
        Some(Self {
            since,
            before: earlier.last().copied(),
            of_day,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownIncident {
    /// It is another cause's incident, which this one joined as a symptom.
    pub joined: bool,
    pub outcome: Option<IncidentOutcome>,
    pub closed_at: Option<DateTime<Utc>>,
    /// It is open, and a person was told that it is theirs.
    pub with_person: bool,
    /// When the last message about it was written.
    #[serde(default)]
    pub told_at: Option<DateTime<Utc>>,
    /// Events an hour when it was told: a rise is one over that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_rate: Option<f64>,
}

/// One group of signals of one signature in this snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub signature: Signature,
    pub repo: Slot,
    pub kind: SignalKind,
    pub severity: Severity,
    pub count: u64,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    /// The source that reported it is looked at for the first time.
    pub first_sight: bool,
    /// Looks in a row before a symptom speaks for itself.
    #[serde(default = "bad_looks")]
    pub fire_after: u32,
}

/// Snapshots from before the owner could set it.
const fn bad_looks() -> u32 {
    BAD_LOOKS
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Standing {
    /// Opens an incident of this generation; the sentence says why.
    Open { generation: u32, why: String },
    /// Stood there at first sight: stored, listed once.
    Inventory,
    /// Has an incident, or a word of a person; nothing new to do.
    Handled,
    /// A person has it, or said no to it, and it is far more than it was: told once.
    Worse { why: String },
    /// A symptom that waits: it joins a cause of this slot, or opens after two bad ticks.
    Symptom,
    /// It would be told, but something holds it for now; see [`super::hold`].
    Held,
    /// Too mild to act on.
    Mild,
}

/// The key of a cause whose text's signature is another repo's key already.
pub fn key_in(text: &Signature, repo: &Slot) -> Signature {
    named(&format!("{text} in {repo}"))
}

/// A known entry comes back as news after this long.
pub const QUIET: TimeDelta = TimeDelta::days(7);
const RISE_FACTOR: f64 = 3.0;
/// Of what is known for less than a day.
const YOUNG_FACTOR: f64 = 10.0;
const A_DAY: TimeDelta = TimeDelta::days(1);
const RISE_P: f64 = 0.01;
/// Looks in a row before a symptom speaks for itself, where the owner says nothing else.
pub const BAD_LOOKS: u32 = 2;

/// What comes and goes is down when half of so many looks saw it.
pub const fn flap_looks(fire_after: u32) -> u32 {
    3 * fire_after
}

/// Why it opened, where that says more than that it is there: it was known before.
pub fn says_more(why: &str) -> bool {
    !(why.is_empty() || why == "new" || why.starts_with("seen ") || why == "down at first sight")
}

/// Events an hour in the busiest of some batches: first the time of the one before them, then time and count of each.
pub fn busiest(before: DateTime<Utc>, batches: &[(DateTime<Utc>, u64)]) -> Option<f64> {
    let mut last = before;
    let rates = batches.iter().map(|(at, count)| {
        let window = (*at - last).max(TimeDelta::minutes(15));
        last = *at;
        rate_per_hour(*count, window)
    });
    rates.reduce(f64::max)
}

/// Where a group stands. A probe that is down speaks at first sight too; everything else is inventory then.
pub fn standing(group: &Group, known: Option<&Known>) -> Standing {
    if group.severity < Severity::Error {
        return Standing::Mild;
    }
    let Some(known) = known else {
        return first_time(group);
    };
    if known.ignored {
        return Standing::Handled;
    }
    if let Some(incident) = &known.incident {
        return again(group, known, incident);
    }
    if known.inventory {
        return inventory(group, known);
    }
    if group.kind.is_symptom() && known.bad_ticks < group.fire_after {
        let looks = flap_looks(group.fire_after);
        let why = format!("seen in {} of the last {looks} looks", known.bad_lately);
        return open(group, known, &why);
    }
    if group.kind.is_symptom() {
        let why = match group.fire_after {
            0 | 1 => "seen by this look".to_owned(),
            2 => "seen in two looks in a row".to_owned(),
            looks => format!("seen in {looks} looks in a row"),
        };
        return open(group, known, &why);
    }
    open(group, known, "new")
}

/// A symptom waits for its second bad look in a row, or its third of a few; or for what the owner set.
fn open(group: &Group, known: &Known, why: &str) -> Standing {
    let comes_and_goes = known.bad_lately >= flap_looks(group.fire_after).div_ceil(2);
    if group.kind.is_symptom() && known.bad_ticks < group.fire_after && !comes_and_goes {
        return Standing::Symptom;
    }
    Standing::Open {
        generation: known.generation + 1,
        why: why.to_owned(),
    }
}

fn first_time(group: &Group) -> Standing {
    if group.kind.is_symptom() && group.first_sight {
        Standing::Open {
            generation: 1,
            why: "down at first sight".to_owned(),
        }
    } else if group.kind.is_symptom() && group.fire_after > 1 {
        Standing::Symptom
    } else if group.kind.is_symptom() {
        Standing::Open {
            generation: 1,
            why: "seen by this look".to_owned(),
        }
    } else if group.first_sight {
        Standing::Inventory
    } else {
        Standing::Open {
            generation: 1,
            why: "new".to_owned(),
        }
    }
}

/// It had an incident, which may be over. A verdict about another cause says nothing about a symptom that joined it.
fn again(group: &Group, known: &Known, incident: &KnownIncident) -> Standing {
    let Some(outcome) = incident.outcome else {
        if let Some(why) = unnamed(group, known, incident) {
            return Standing::Worse { why };
        }
        return if incident.with_person {
            worse(group, known)
        } else {
            Standing::Handled
        };
    };
    match outcome {
        IncidentOutcome::Resolved
        | IncidentOutcome::Unconfirmed
        | IncidentOutcome::Gone
        | IncidentOutcome::TakenBack => {
            if incident.closed_at.is_some_and(|closed| group.last_seen <= closed) {
                Standing::Handled
            } else if incident.joined {
                open(group, known, "still there when what it came with is over")
            } else {
                open(group, known, "it came back")
            }
        }
        IncidentOutcome::Unwatched => {
            if incident.closed_at.is_some_and(|closed| group.last_seen <= closed) {
                Standing::Handled
            } else if incident.joined {
                open(group, known, "still there when what it came with is over")
            } else {
                open(group, known, "still there now that it is looked at again")
            }
        }
        // Whoever may ignore it for a while is asked before this.
        IncidentOutcome::Ignored => open(
            group,
            known,
            "still there when the time was over in which it was ignored",
        ),
        IncidentOutcome::Declined | IncidentOutcome::Noise | IncidentOutcome::Escalated => {
            if incident.joined {
                open(group, known, "still there when what it came with is over")
            } else {
                worse(group, known)
            }
        }
    }
}

/// A page that went down after the last message about its incident stands in no message yet: it joined later, or was well in
/// between while something else kept the incident open. What comes and goes has to be well for longer each time.
fn unnamed(group: &Group, known: &Known, incident: &KnownIncident) -> Option<String> {
    let (outage, told) = (known.outage?, incident.told_at?);
    let believed = group.kind.is_symptom() && known.bad_ticks >= group.fire_after;
    if !believed || outage.since <= told {
        return None;
    }
    let first = incident.joined && outage.of_day == 0;
    let was_well = outage
        .before
        .is_none_or(|before| outage.since - before >= quiet_for(outage.of_day));
    if first && outage.before.is_none_or(|before| before > told) {
        Some("it went down after the message about the cause that it came with".to_owned())
    } else {
        was_well.then(|| "it is down again; the messages before are about outages that are over".to_owned())
    }
}

fn worse(group: &Group, known: &Known) -> Standing {
    match rise(group, known) {
        Some(rise) if !group.kind.is_symptom() => Standing::Worse {
            why: format!("it got worse: {}", rise.words(group)),
        },
        Some(_) | None => Standing::Handled,
    }
}

fn inventory(group: &Group, known: &Known) -> Standing {
    if group.first_seen - known.last_seen >= QUIET {
        return open(group, known, "known from first sight, back after seven quiet days");
    }
    if let Some(rise) = rise(group, known) {
        let why = format!("known from first sight, and rising: {}", rise.words(group));
        return open(group, known, &why);
    }
    Standing::Handled
}

/// Significantly more than before.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rise {
    /// How many events were to be expected.
    expected: f64,
    /// For how long it is known, where that is too short to have seen what a day brings.
    young: Option<TimeDelta>,
}

impl Rise {
    fn words(self, group: &Group) -> String {
        let known = self.young.map_or_else(String::new, |history| {
            let minutes = history.num_minutes();
            let minutes = u64::try_from(minutes).unwrap_or(0);
            let known = match minutes {
                0..120 => count(minutes, "minute"),
                _ => count(minutes / 60, "hour"),
            };
            format!(" by the {known} that it is known for; what a whole day brings is not known yet")
        });
        let (events, expected) = (count(group.count, "event"), were(self.expected));
        format!("{events} since the look before, {expected} to be expected{known}")
    }
}

/// Whether there are significantly more than before, and than when it was told. After a single look there is nothing to
/// compare with; of what is known for less than a day only far more counts, since it may come and go with the hours.
fn rise(group: &Group, known: &Known) -> Option<Rise> {
    let (from, count) = match known.first_look {
        Some(first) => (first.at, known.count.saturating_sub(first.count)),
        None => (known.first_seen, known.count),
    };
    if count == 0 {
        return None;
    }
    let history = (known.last_seen - from - known.unwatched).max(TimeDelta::minutes(15));
    let told = known.incident.as_ref().and_then(|incident| incident.told_rate);
    let before = rate_per_hour(count, history).max(told.unwrap_or(0.0));
    let young = (history < A_DAY).then_some(history);
    let factor = if young.is_some() { YOUNG_FACTOR } else { RISE_FACTOR };
    let window = (group.last_seen - known.last_seen).max(TimeDelta::minutes(15));
    let now = rate_per_hour(group.count, window);
    #[expect(clippy::cast_precision_loss, reason = "hours of at most some years")]
    let expected = before * window.num_seconds() as f64 / 3600.0;
    (now > factor * before && poisson_at_least(group.count, expected) <= RISE_P).then_some(Rise { expected, young })
}

#[cfg(test)]
mod tests;
