//! What the runs of some days say: which causes were red and when, which would have woken a model, and which one commit
//! brought one and would have mended it when taken back.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::{
    dedup::{BAD_LOOKS, Group, Known, KnownIncident, Standing, standing},
    gate::{self, GateResult},
};
use crate::model::{
    Sha, Signature, TickId,
    incident::IncidentOutcome,
    past::{Past, PastRun},
    signal::{SNAPSHOT_SCHEMA, Signal, Snapshot},
};

/// Minutes between two looks, as the shipped timers have it; they look at whole quarters of an hour.
const EVERY: TimeDelta = TimeDelta::minutes(15);

/// One cause over the whole time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastCause {
    pub signature: Signature,
    pub title: String,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    /// When it began the last time.
    pub since: DateTime<Utc>,
    /// Runs that were red by it.
    pub runs: u64,
    /// The newest run of its workflow has it.
    pub red_now: bool,
    /// No log said why: what is alike is the place alone, and these may be several causes.
    pub by_place: bool,
    /// Red and green on one commit: nothing changed in between.
    pub flaky_at: Option<Sha>,
    /// The looks at which a tick would have asked a model about it.
    pub woken: Vec<DateTime<Utc>>,
    /// It would have woken one, had a look come while it was the newest.
    pub missed: bool,
    pub revert: Option<Revert>,
}

/// Green before, red with this commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Revert {
    pub commit: Sha,
    /// Its first line, where it is known.
    pub title: Option<String>,
    pub green_before: Sha,
    /// Commits that landed from the green one to this; with 1 it is this very one that brought the cause.
    pub landed: Option<usize>,
    /// The first commit after it that was green again.
    pub green_again: Option<Sha>,
}

/// The causes: what is red now first, then the newest.
pub fn causes(past: &Past) -> Vec<PastCause> {
    let mut causes: BTreeMap<&Signature, PastCause> = BTreeMap::new();
    for (at, run) in past.runs.iter().enumerate() {
        for signal in &run.signals {
            let known = causes.get(&signal.signature);
            let over = over_since(past, at, &signal.signature);
            let opens = opens(signal, known, over);
            let cause = causes.entry(&signal.signature).or_insert_with(|| new(signal));
            if over.is_some() {
                cause.since = signal.first_seen;
            }
            cause.last_seen = cause.last_seen.max(signal.last_seen);
            cause.red_now = !run.green && later(past, at).next().is_none();
            cause.by_place |= signal.evidence.get(Signal::UNREAD).is_some();
            if signal.evidence.get("flake").is_some() {
                cause.flaky_at = Some(run.sha.clone());
            }
            // The green run of a flake tells of one that was counted, unless it is the same run again.
            cause.runs += u64::from(!run.green || cause.runs == 0);
            if opens {
                match look_at(run, later(past, at).next()) {
                    Some(look) => cause.woken.push(look),
                    None => cause.missed = true,
                }
            }
            if let Some(revert) = revert(past, at, &signal.signature) {
                cause.revert = Some(revert);
            }
        }
    }
    let mut causes: Vec<PastCause> = causes.into_values().collect();
    for cause in &mut causes {
        // What was also green on its commit is not that commit's; of runs that are alike by their place alone another one may be.
        let flaky = |commit: &Sha| match &cause.flaky_at {
            Some(at) => !cause.by_place || at == commit,
            None => false,
        };
        let kept = cause.revert.clone().filter(|revert| !flaky(&revert.commit));
        cause.revert = kept;
    }
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.red_now, cause.last_seen)));
    causes
}

/// The looks that would have asked a model: one asks once about everything that is new in a repo.
pub fn asked(causes: &[PastCause]) -> BTreeSet<DateTime<Utc>> {
    causes.iter().flat_map(|cause| cause.woken.iter().copied()).collect()
}

/// Does the gate that is shipped wake for this?
pub fn wakes(signals: &[Signal]) -> bool {
    let snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA,
        tick: TickId::new("look", 1),
        started_at: DateTime::UNIX_EPOCH,
        deep: false,
        signals: signals.to_vec(),
        collectors: Vec::new(),
        open_pulls: Vec::new(),
        changes: Vec::new(),
        signed_by: crate::text::signature::VERSION,
        stood: Vec::new(),
    };
    match gate::shipped(&snapshot) {
        GateResult::Wake(_) => true,
        GateResult::Quiet | GateResult::Fault(_) => false,
    }
}

fn new(signal: &Signal) -> PastCause {
    PastCause {
        signature: signal.signature.clone(),
        title: signal.title.clone(),
        first_seen: signal.first_seen,
        last_seen: signal.last_seen,
        since: signal.first_seen,
        runs: 0,
        red_now: false,
        by_place: false,
        flaky_at: None,
        woken: Vec::new(),
        missed: false,
        revert: None,
    }
}

/// The first look at which this run was the newest of its workflow.
fn look_at(run: &PastRun, next: Option<&PastRun>) -> Option<DateTime<Utc>> {
    let every = EVERY.num_seconds();
    let second = run.finished.timestamp();
    let look = DateTime::from_timestamp(second + (every - second.rem_euclid(every)) % every, 0)?;
    next.is_none_or(|next| look < next.finished).then_some(look)
}

/// What the ledger and the gate would have said: the same rules that a tick asks.
fn opens(signal: &Signal, known: Option<&PastCause>, over: Option<DateTime<Utc>>) -> bool {
    let group = Group {
        signature: signal.signature.clone(),
        repo: signal.repo.clone(),
        kind: signal.kind,
        severity: signal.severity,
        count: signal.count,
        first_seen: signal.first_seen,
        last_seen: signal.last_seen,
        first_sight: false,
        fire_after: BAD_LOOKS,
    };
    let known = known.map(|cause| Known {
        inventory: false,
        ignored: false,
        first_seen: cause.first_seen,
        last_seen: cause.last_seen,
        unwatched: TimeDelta::zero(),
        count: cause.runs,
        first_look: None,
        bad_ticks: 1,
        bad_lately: 1,
        outage: None,
        generation: u32::try_from(cause.woken.len()).unwrap_or(u32::MAX),
        incident: (!cause.woken.is_empty()).then_some(KnownIncident {
            joined: false,
            outcome: over.map(|_| IncidentOutcome::Gone),
            closed_at: over,
            with_person: false,
            told_at: None,
            told_rate: None,
        }),
    });
    matches!(standing(&group, known.as_ref()), Standing::Open { .. }) && wakes(std::slice::from_ref(signal))
}

/// When its workflow was green between its last red sight and this run.
fn over_since(past: &Past, at: usize, signature: &Signature) -> Option<DateTime<Utc>> {
    let since_red = before(past, at).take_while(|other| other.green || !has(other, signature));
    since_red.filter(|other| other.green).map(|other| other.finished).next()
}

fn has(run: &PastRun, signature: &Signature) -> bool {
    run.signals.iter().any(|signal| signal.signature == *signature)
}

/// Runs of the same workflow, the newest first.
fn before(past: &Past, at: usize) -> impl Iterator<Item = &PastRun> {
    let workflow = past.runs[at].workflow;
    past.runs[..at]
        .iter()
        .rev()
        .filter(move |other| other.workflow == workflow)
}

/// Runs of the same workflow, the oldest first.
fn later(past: &Past, at: usize) -> impl Iterator<Item = &PastRun> {
    let workflow = past.runs[at].workflow;
    past.runs[at + 1..]
        .iter()
        .filter(move |other| other.workflow == workflow)
}

/// The run before is green on another commit, this one brought the cause.
fn revert(past: &Past, at: usize, signature: &Signature) -> Option<Revert> {
    let run = &past.runs[at];
    let before = before(past, at).next()?;
    if run.green || !before.green || before.sha == run.sha {
        return None;
    }
    let again = later(past, at).find(|other| other.green && other.sha != run.sha && !has(other, signature));
    let position = |sha: &Sha| past.landed.iter().position(|commit| commit.sha == *sha);
    let at = position(&run.sha);
    Some(Revert {
        commit: run.sha.clone(),
        title: at.map(|at| past.landed[at].title.clone()),
        green_before: before.sha.clone(),
        landed: at
            .zip(position(&before.sha))
            .and_then(|(red, green)| green.checked_sub(red)),
        green_again: again.map(|run| run.sha.clone()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{
        past::Landed,
        signal::{Severity, SignalKind},
    };

    fn sha(n: u8) -> Sha {
        Sha::parse(&format!("{n:02x}").repeat(20)).unwrap()
    }

    fn at(minute: i64) -> DateTime<Utc> {
        "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
    }

    fn run(minute: i64, commit: u8, cause: Option<&str>) -> PastRun {
        let at = at(minute);
        let signal = |name: &str| Signal {
            source: "actions".to_owned(),
            repo: "shop".parse().unwrap(),
            target: "shop".to_owned(),
            kind: SignalKind::Ci,
            severity: Severity::Error,
            title: name.to_owned(),
            message: String::new(),
            signature: crate::text::named(name),
            count: 1,
            first_seen: at,
            last_seen: at,
            release_sha: None,
            url: None,
            culprit: None,
            evidence: json!({}),
        };
        PastRun {
            workflow: 1,
            sha: sha(commit),
            started: at,
            finished: at,
            green: cause.is_none(),
            signals: cause.map(signal).into_iter().collect(),
            unread: false,
        }
    }

    fn flaky(mut run: PastRun) -> PastRun {
        run.signals[0].evidence = json!({ "flake": {} });
        run.signals[0].severity = Severity::Warning;
        run
    }

    /// The commits landed in the order of their numbers.
    fn past(runs: Vec<PastRun>) -> Past {
        let landed = (1..=9).rev().map(|n| Landed {
            sha: sha(n),
            title: format!("change {n}"),
        });
        Past {
            runs,
            landed: landed.collect(),
            ..Past::default()
        }
    }

    fn one(runs: Vec<PastRun>) -> PastCause {
        let [cause] = causes(&past(runs)).try_into().unwrap();
        cause
    }

    #[test]
    fn a_cause_wakes_once_and_again_when_it_came_back() {
        let cause = one(vec![
            run(0, 1, None),
            run(20, 2, Some("a")),
            run(40, 3, Some("a")),
            run(60, 4, None),
            run(80, 6, Some("a")),
        ]);
        assert_eq!((cause.runs, cause.red_now), (3, true));
        assert_eq!(
            (cause.since, cause.woken.as_slice()),
            (at(80), [at(30), at(90)].as_slice())
        );
        assert_eq!(asked(&[cause.clone(), cause.clone()]).len(), 2, "one call about both");
        let revert = cause.revert.unwrap();
        assert_eq!(
            (revert.commit, revert.green_before, revert.landed, revert.green_again),
            (sha(6), sha(4), Some(2), None)
        );
        assert_eq!(revert.title.as_deref(), Some("change 6"));
    }

    #[test]
    fn what_no_look_met_woke_nobody() {
        let cause = one(vec![run(1, 1, None), run(2, 2, Some("a")), run(9, 3, None)]);
        assert!(cause.woken.is_empty() && cause.missed);
        let revert = cause.revert.unwrap();
        assert_eq!((revert.landed, revert.green_again), (Some(1), Some(sha(3))));
        let exact = one(vec![run(15, 2, Some("a")), run(16, 3, None)]);
        assert_eq!(exact.woken, [at(15)], "a look at that very minute");
    }

    #[test]
    fn the_gate_decides_and_a_warning_wakes_nobody() {
        let cause = one(vec![run(0, 1, None), flaky(run(20, 2, Some("a")))]);
        assert!(cause.woken.is_empty() && !cause.missed);
        assert!(wakes(&run(0, 1, Some("a")).signals) && !wakes(&[]));
        assert!(!wakes(&flaky(run(0, 1, Some("a"))).signals));
    }

    #[test]
    fn what_was_red_already_or_is_a_flake_is_no_commits() {
        let first = one(vec![run(0, 1, Some("a")), run(1, 2, None)]);
        assert!(first.revert.is_none() && !first.red_now);
        let mut green_again = flaky(run(20, 2, Some("a")));
        green_again.green = true;
        let found = one(vec![run(0, 1, None), run(1, 2, Some("a")), green_again]);
        assert!(found.revert.is_none() && found.flaky_at == Some(sha(2)) && !found.red_now);
        assert_eq!((found.runs, found.woken), (1, vec![at(15)]), "nobody knew then");
        let mut rerun = flaky(run(20, 2, Some("a")));
        rerun.green = true;
        let again = one(vec![run(1, 2, Some("a")), rerun, run(40, 3, Some("a"))]);
        assert_eq!(
            (again.since, again.woken),
            (at(40), vec![at(15), at(45)]),
            "green ended it"
        );
        let same = run(1, 1, Some("a"));
        assert!(one(vec![run(0, 1, None), same]).revert.is_none());
    }

    #[test]
    fn what_is_alike_by_its_place_alone_is_marked_and_one_flake_says_nothing_of_the_others() {
        let unread = |mut run: PastRun| {
            run.signals[0].evidence[Signal::UNREAD] = json!("gone");
            run
        };
        let cause = one(vec![
            unread(flaky(run(0, 1, Some("a")))),
            run(20, 2, None),
            unread(run(40, 3, Some("a"))),
        ]);
        assert!(cause.by_place && cause.flaky_at == Some(sha(1)));
        assert_eq!(cause.revert.map(|revert| revert.commit), Some(sha(3)));
        let read = one(vec![
            flaky(run(0, 1, Some("a"))),
            run(20, 2, None),
            run(40, 3, Some("a")),
        ]);
        assert!(!read.by_place && read.revert.is_none());
    }

    #[test]
    fn commits_that_are_not_known_are_not_counted() {
        let mut unknown = past(vec![run(0, 1, None), run(20, 2, Some("a"))]);
        unknown.landed.clear();
        let revert = causes(&unknown).remove(0).revert.unwrap();
        assert_eq!((revert.landed, revert.title), (None, None));
    }
}
