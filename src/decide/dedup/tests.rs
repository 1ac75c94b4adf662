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
        outage: None,
        incident: incident.map(|(_, outcome)| KnownIncident {
            joined: false,
            outcome,
            closed_at: outcome.map(|_| t(-5)),
            with_person: false,
            told_at: None,
            told_rate: None,
        }),
    }
}

#[test]
fn a_page_that_goes_down_after_the_message_about_what_it_joined_is_told() {
    let mut facts = known(Some((1, None)));
    let joined = facts.incident.as_mut().unwrap();
    (joined.joined, joined.told_at) = (true, Some(t(-20)));
    (facts.bad_ticks, facts.outage) = (2, Some(outage(-15, None, 0)));
    let page = group(SignalKind::Health, false);
    let is_told = |known: &Known| matches!(standing(&page, Some(known)), Standing::Worse { .. });
    assert!(is_told(&facts));
    let unlike = |change: fn(&mut Known)| {
        let mut other = facts.clone();
        change(&mut other);
        !is_told(&other)
    };
    assert!(unlike(|known| known.bad_ticks = 1), "not believed yet");
    assert!(
        unlike(|known| known.outage = Some(outage(-21, None, 0))),
        "the message named it"
    );
    assert!(unlike(|known| known.outage = None), "it lasts for days");
    assert!(
        unlike(|known| known.incident.as_mut().unwrap().told_at = None),
        "the first message will"
    );
}

fn outage(since: i64, before: Option<i64>, of_day: u32) -> Outage {
    let (since, before) = (t(since), before.map(t));
    Outage { since, before, of_day }
}

#[test]
fn outages_of_a_day_are_those_that_were_believed() {
    let seen: Vec<_> = [-3000, -600, -585, -300, -200, -185, -170, -15, 0].map(t).into();
    let found = |first: usize, fire_after: u32| Outage::among(&seen, first, fire_after);
    assert_eq!(found(7, 2), Some(outage(-15, Some(-170), 2)), "one look is none");
    assert_eq!(found(7, 1), Some(outage(-15, Some(-170), 3)));
    assert_eq!(found(7, 4), Some(outage(-15, Some(-170), 0)));
    assert_eq!(found(0, 2), Some(outage(-3000, None, 0)));
    assert_eq!(found(9, 2), None);
}

#[test]
fn a_page_that_was_well_while_its_incident_stayed_open_is_told_when_it_is_down_again() {
    let page = group(SignalKind::Probe, false);
    for joined in [false, true] {
        let told = |before: i64, of_day: u32| {
            let mut facts = known(Some((1, None)));
            let incident = facts.incident.as_mut().unwrap();
            (incident.joined, incident.told_at) = (joined, Some(t(-3000)));
            (facts.bad_ticks, facts.outage) = (2, Some(outage(-15, Some(-15 - before), of_day)));
            matches!(standing(&page, Some(&facts)), Standing::Worse { .. })
        };
        for (before, of_day, expected) in [
            (2000, 0, true),
            (45, 1, true),
            (15, 1, false),
            (45, 2, false),
            (75, 2, true),
            (600, 3, false),
            (1500, 3, true),
        ] {
            assert_eq!(
                told(before, of_day),
                expected,
                "joined {joined}, well for {before}, {of_day} of the day"
            );
        }
    }
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
    same.count = 60;
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

/// Ten events a look, then two hundred at each: told once, with the number; more than that is told again.
#[test]
fn a_rise_is_told_once_and_once_more_when_it_rises_further() {
    let mut entry = known(None);
    (entry.inventory, entry.first_seen, entry.count) = (true, t(-2 * 1440), 1900);
    let mut storm = group(SignalKind::Exception, false);
    storm.count = 200;
    let Standing::Open { why, .. } = standing(&storm, Some(&entry)) else {
        panic!("a rise opens");
    };
    assert_eq!(
        why,
        "known from first sight, and rising: 200 events since the look before, 11 were to be expected"
    );
    assert!(says_more(&why) && !says_more("new") && !says_more("seen in two looks in a row"));

    entry.incident = known(Some((1, None))).incident;
    let told = entry.incident.as_mut().unwrap();
    (told.with_person, told.told_rate) = (true, busiest(t(-15), &[(t(1), 200)]));
    entry.count += 200;
    assert_eq!(standing(&storm, Some(&entry)), Standing::Handled, "as it was told");
    storm.count = 900;
    assert!(matches!(standing(&storm, Some(&entry)), Standing::Worse { .. }));
}

#[test]
fn what_is_known_for_less_than_a_day_has_to_rise_far_and_that_is_said() {
    let mut entry = known(None);
    (entry.inventory, entry.first_seen, entry.count) = (true, t(-15 - 180), 36);
    let mut more = group(SignalKind::Exception, false);
    more.count = 20;
    assert_eq!(standing(&more, Some(&entry)), Standing::Handled, "six times as much");
    more.count = 60;
    let Standing::Open { why, .. } = standing(&more, Some(&entry)) else {
        panic!("a rise opens");
    };
    assert!(
        why.ends_with("by the 3 hours that it is known for; what a whole day brings is not known yet"),
        "{why}"
    );
    entry.first_seen = t(-15 - 1440);
    entry.count = 36 * 8;
    more.count = 20;
    assert!(
        matches!(standing(&more, Some(&entry)), Standing::Open { .. }),
        "after a day it is a rise"
    );
}
