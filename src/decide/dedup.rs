//! Ledger and signals: what is new, known, regressed or already handled; which symptom joins which cause.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::observation::{poisson_at_least, rate_per_hour};
use crate::{
    model::{
        Signature, Slot,
        incident::IncidentOutcome,
        signal::{Severity, SignalKind},
    },
    text::named,
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
    /// Of a symptom: the first of the looks in a row that saw it.
    #[serde(default)]
    pub down_since: Option<DateTime<Utc>>,
    pub incident: Option<KnownIncident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLook {
    pub at: DateTime<Utc>,
    pub count: u64,
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
const QUIET: TimeDelta = TimeDelta::days(7);
const RISE_FACTOR: f64 = 3.0;
const RISE_P: f64 = 0.01;
/// Looks in a row before a symptom speaks for itself, where the owner says nothing else.
pub const BAD_LOOKS: u32 = 2;

/// What comes and goes is down when half of so many looks saw it.
pub const fn flap_looks(fire_after: u32) -> u32 {
    3 * fire_after
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

/// A page that went down after the last message about the incident that it joined stands in no message yet.
fn unnamed(group: &Group, known: &Known, incident: &KnownIncident) -> Option<String> {
    let (down, told) = (known.down_since?, incident.told_at?);
    let believed = known.bad_ticks >= group.fire_after;
    (incident.joined && group.kind.is_symptom() && believed && down > told)
        .then(|| "it went down after the message about the cause that it came with".to_owned())
}

fn worse(group: &Group, known: &Known) -> Standing {
    match rise(group, known) {
        Some(expected) if !group.kind.is_symptom() => Standing::Worse {
            why: format!(
                "it got worse: {} events since the look before, {expected:.0} were to be expected",
                group.count
            ),
        },
        Some(_) | None => Standing::Handled,
    }
}

fn inventory(group: &Group, known: &Known) -> Standing {
    if group.first_seen - known.last_seen >= QUIET {
        return open(group, known, "known from first sight, back after seven quiet days");
    }
    if rise(group, known).is_some() {
        return open(group, known, "known from first sight, and rising");
    }
    Standing::Handled
}

/// How many events were to be expected, where there are significantly more. After a single look there is nothing to
/// compare with.
fn rise(group: &Group, known: &Known) -> Option<f64> {
    let (from, count) = match known.first_look {
        Some(first) => (first.at, known.count.saturating_sub(first.count)),
        None => (known.first_seen, known.count),
    };
    if count == 0 {
        return None;
    }
    let history = (known.last_seen - from - known.unwatched).max(TimeDelta::minutes(15));
    let before = rate_per_hour(count, history);
    let window = (group.last_seen - known.last_seen).max(TimeDelta::minutes(15));
    let now = rate_per_hour(group.count, window);
    #[expect(clippy::cast_precision_loss, reason = "hours of at most some years")]
    let expected = before * window.num_seconds() as f64 / 3600.0;
    (now > RISE_FACTOR * before && poisson_at_least(group.count, expected) <= RISE_P).then_some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(minutes: i64) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z")
            .unwrap()
            .with_timezone(&Utc)
            + TimeDelta::minutes(minutes)
    }

    fn group(kind: SignalKind, first_sight: bool) -> Group {
        Group {
            signature: Signature::parse("7f3a91c07f3a91c0").unwrap(),
            repo: Slot::parse("api").unwrap(),
            kind,
            severity: Severity::Error,
            count: 5,
            first_seen: t(0),
            last_seen: t(1),
            first_sight,
            fire_after: BAD_LOOKS,
        }
    }

    fn known(incident: Option<(u32, Option<IncidentOutcome>)>) -> Known {
        Known {
            inventory: false,
            ignored: false,
            first_seen: t(-60),
            last_seen: t(-15),
            unwatched: TimeDelta::zero(),
            count: 5,
            first_look: None,
            bad_ticks: 1,
            bad_lately: 1,
            generation: incident.map_or(0, |(generation, _)| generation),
            down_since: None,
            incident: incident.map(|(_, outcome)| KnownIncident {
                joined: false,
                outcome,
                closed_at: outcome.map(|_| t(-5)),
                with_person: false,
                told_at: None,
            }),
        }
    }

    #[test]
    fn a_page_that_goes_down_after_the_message_about_what_it_joined_is_told() {
        let mut facts = known(Some((1, None)));
        let joined = facts.incident.as_mut().unwrap();
        (joined.joined, joined.told_at) = (true, Some(t(-20)));
        (facts.bad_ticks, facts.down_since) = (2, Some(t(-15)));
        let page = group(SignalKind::Health, false);
        let is_told = |known: &Known| matches!(standing(&page, Some(known)), Standing::Worse { .. });
        assert!(is_told(&facts));
        let unlike = |change: fn(&mut Known)| {
            let mut other = facts.clone();
            change(&mut other);
            !is_told(&other)
        };
        assert!(unlike(|known| known.bad_ticks = 1), "not believed yet");
        assert!(unlike(|known| known.down_since = Some(t(-21))), "the message named it");
        assert!(
            unlike(|known| known.incident.as_mut().unwrap().told_at = None),
            "the first message will"
        );
        assert!(
            unlike(|known| known.incident.as_mut().unwrap().joined = false),
            "its own incident"
        );
    }

    #[test]
    fn one_text_has_a_key_of_its_own_in_each_repo() {
        let text = Signature::parse("7f3a91c07f3a91c0").unwrap();
        let [web, api] = ["web", "api"].map(|slot| key_in(&text, &Slot::parse(slot).unwrap()));
        assert!(web != api && web != text && web.short() != api.short());
        assert_eq!(web, key_in(&text, &Slot::parse("web").unwrap()));
    }

    #[test]
    fn first_sight_is_an_inventory_and_later_sights_are_news() {
        assert_eq!(standing(&group(SignalKind::Exception, true), None), Standing::Inventory);
        assert!(matches!(
            standing(&group(SignalKind::Exception, false), None),
            Standing::Open { generation: 1, .. }
        ));
    }

    #[test]
    fn a_symptom_needs_two_looks() {
        assert_eq!(standing(&group(SignalKind::Health, false), None), Standing::Symptom);
        let mut seen = known(None);
        assert_eq!(
            standing(&group(SignalKind::Health, false), Some(&seen)),
            Standing::Symptom
        );
        seen.bad_ticks = 2;
        assert!(matches!(
            standing(&group(SignalKind::Health, false), Some(&seen)),
            Standing::Open { .. }
        ));
        // What is down when it is first looked at is told at once.
        let first = standing(&group(SignalKind::Health, true), None);
        assert!(matches!(first, Standing::Open { generation: 1, .. }), "{first:?}");
    }

    #[test]
    fn the_owner_says_how_many_looks_a_probe_is_given() {
        let mut probe = group(SignalKind::Health, false);
        probe.fire_after = 1;
        assert!(matches!(standing(&probe, None), Standing::Open { .. }));
        probe.fire_after = 5;
        let mut seen = known(None);
        for (bad_ticks, bad_lately, opens) in [(4, 7, false), (5, 5, true), (1, 7, false), (1, 8, true)] {
            (seen.bad_ticks, seen.bad_lately) = (bad_ticks, bad_lately);
            let is = standing(&probe, Some(&seen));
            assert_eq!(
                matches!(is, Standing::Open { .. }),
                opens,
                "{bad_ticks} {bad_lately} {is:?}"
            );
        }
        let text = group(SignalKind::Exception, false);
        assert!(
            matches!(standing(&text, None), Standing::Open { .. }),
            "no probe, no patience"
        );
    }

    #[test]
    fn a_page_that_fails_at_every_second_look_is_down() {
        let probe = group(SignalKind::Health, false);
        for before in [None, Some((1, Some(IncidentOutcome::Gone)))] {
            let mut flaps = known(before);
            flaps.bad_lately = 2;
            assert_eq!(standing(&probe, Some(&flaps)), Standing::Symptom);
            flaps.bad_lately = 3;
            assert!(matches!(standing(&probe, Some(&flaps)), Standing::Open { .. }));
        }
    }

    #[test]
    fn a_verdict_about_another_cause_silences_no_probe() {
        let probe = group(SignalKind::Health, false);
        let open = Standing::Open {
            generation: 1,
            why: "still there when what it came with is over".to_owned(),
        };
        for outcome in [
            IncidentOutcome::Noise,
            IncidentOutcome::Declined,
            IncidentOutcome::Escalated,
            IncidentOutcome::TakenBack,
            IncidentOutcome::Resolved,
        ] {
            let mut joined = known(Some((0, Some(outcome))));
            joined.incident.as_mut().unwrap().joined = true;
            assert_eq!(standing(&probe, Some(&joined)), Standing::Symptom, "{outcome:?}");
            joined.bad_ticks = 7;
            assert_eq!(standing(&probe, Some(&joined)), open, "{outcome:?}");
            joined.incident.as_mut().unwrap().outcome = None;
            assert_eq!(standing(&probe, Some(&joined)), Standing::Handled);
        }
    }

    #[test]
    fn what_a_person_has_or_declined_is_told_again_when_it_is_far_more() {
        let calm = group(SignalKind::Exception, false);
        let mut storm = calm.clone();
        storm.count = 5000;
        let mut open = known(Some((1, None)));
        open.incident.as_mut().unwrap().with_person = true;
        let declined = known(Some((1, Some(IncidentOutcome::Declined))));
        for entry in [&open, &declined] {
            assert_eq!(standing(&calm, Some(entry)), Standing::Handled);
            assert!(matches!(standing(&storm, Some(entry)), Standing::Worse { .. }));
        }
        open.incident.as_mut().unwrap().with_person = false;
        assert_eq!(standing(&storm, Some(&open)), Standing::Handled, "tick is at it");
    }

    /// Ten events a look for an hour, a day without looks, ten events in the look after it, ten in this one.
    #[test]
    fn a_day_on_which_nobody_looked_makes_nothing_worse() {
        let mut entry = known(Some((1, Some(IncidentOutcome::Declined))));
        entry.first_seen = t(-15 - 1440 - 60);
        entry.count = 50;
        let mut same = group(SignalKind::Exception, false);
        same.count = 10;
        let worse = |entry: &Known| matches!(standing(&same, Some(entry)), Standing::Worse { .. });
        assert!(worse(&entry));
        entry.unwatched = TimeDelta::minutes(1439);
        assert!(!worse(&entry));
    }

    /// An alert that fires for weeks, three issues that stand since long: the same at every look.
    #[test]
    fn what_its_source_dates_back_each_time_does_not_get_worse_by_that() {
        let weeks = t(-30 * 1440);
        let mut entry = known(Some((1, Some(IncidentOutcome::Declined))));
        (entry.first_seen, entry.last_seen, entry.count) = (weeks, t(-15), 3);
        let mut same = group(SignalKind::Alert, false);
        (same.first_seen, same.last_seen, same.count) = (weeks, t(0), 3);
        let worse = |group: &Group, entry: &Known| matches!(standing(group, Some(entry)), Standing::Worse { .. });
        assert!(worse(&same, &entry), "spread over the weeks it would be a rise");
        entry.first_look = Some(FirstLook { at: t(-15), count: 3 });
        assert!(!worse(&same, &entry), "one look is no rate");
        (entry.first_look, entry.count) = (Some(FirstLook { at: t(-60), count: 3 }), 12);
        assert!(!worse(&same, &entry), "three a look, as before");
        same.count = 40;
        assert!(worse(&same, &entry));
        let mut listed = known(None);
        (listed.inventory, listed.first_seen, listed.last_seen, listed.count) = (true, weeks, t(-15), 3);
        listed.first_look = Some(FirstLook { at: t(-15), count: 3 });
        same.count = 3;
        assert_eq!(standing(&same, Some(&listed)), Standing::Handled);
    }

    #[test]
    fn what_was_ignored_for_a_while_is_news_again_when_the_time_is_over() {
        let mut seen = known(Some((1, Some(IncidentOutcome::Ignored))));
        seen.ignored = true;
        let group = group(SignalKind::Exception, false);
        assert_eq!(standing(&group, Some(&seen)), Standing::Handled);
        seen.ignored = false;
        assert!(matches!(
            standing(&group, Some(&seen)),
            Standing::Open { generation: 2, .. }
        ));
    }

    #[test]
    fn a_persons_no_is_final_and_a_regression_is_a_new_generation() {
        let group = group(SignalKind::Exception, false);
        for outcome in [IncidentOutcome::Declined, IncidentOutcome::Escalated] {
            assert_eq!(
                standing(&group, Some(&known(Some((1, Some(outcome)))))),
                Standing::Handled
            );
        }
        assert_eq!(standing(&group, Some(&known(Some((1, None))))), Standing::Handled);
        assert!(matches!(
            standing(&group, Some(&known(Some((1, Some(IncidentOutcome::Resolved)))))),
            Standing::Open { generation: 2, .. }
        ));
    }

    #[test]
    fn a_known_entry_opens_when_it_rises_or_returns() {
        let mut entry = known(None);
        entry.inventory = true;
        entry.first_seen = t(-1440);
        entry.count = 400;
        assert_eq!(
            standing(&group(SignalKind::Exception, false), Some(&entry)),
            Standing::Handled
        );
        let mut storm = group(SignalKind::Exception, false);
        storm.count = 200;
        assert!(matches!(standing(&storm, Some(&entry)), Standing::Open { .. }));
        entry.last_seen = t(-8 * 1440);
        assert!(matches!(
            standing(&group(SignalKind::Exception, false), Some(&entry)),
            Standing::Open { .. }
        ));
    }
}
