//! What the runs of some days say: which causes were red and when, which would have woken a model, and which one commit
//! brought one and would have mended it when taken back.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::dedup::{Group, Known, KnownIncident, Standing, standing};
use crate::model::{
    Sha, Signature,
    incident::IncidentOutcome,
    past::{Past, PastRun},
    signal::{Severity, Signal},
};

/// One cause over the whole time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastCause {
    pub signature: Signature,
    pub title: String,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    pub runs: u64,
    /// The newest run of its workflow has it.
    pub red_now: bool,
    /// Red and green on one commit: nothing changed in between.
    pub flaky_at: Option<Sha>,
    /// How often a tick would have asked a model about it.
    pub woken: u64,
    pub revert: Option<Revert>,
}

/// Green before, red with this commit: taking it back mends what it brought.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Revert {
    pub commit: Sha,
    pub green_before: Sha,
    /// The first green commit after it.
    pub green_again: Option<Sha>,
}

/// The causes, newest first.
pub fn causes(past: &Past) -> Vec<PastCause> {
    let mut causes: BTreeMap<&Signature, PastCause> = BTreeMap::new();
    for (at, run) in past.runs.iter().enumerate() {
        for signal in &run.signals {
            let known = causes.get(&signal.signature);
            let opens = opens(signal, known, over_since(past, at, &signal.signature));
            let cause = causes.entry(&signal.signature).or_insert_with(|| PastCause {
                signature: signal.signature.clone(),
                title: signal.title.clone(),
                first_seen: signal.first_seen,
                last_seen: signal.last_seen,
                runs: 0,
                red_now: false,
                flaky_at: None,
                woken: 0,
                revert: revert(past, at, &signal.signature),
            });
            cause.runs += 1;
            cause.last_seen = cause.last_seen.max(signal.last_seen);
            cause.woken += u64::from(opens);
            cause.red_now = !run.green && !later(past, at).any(|_| true);
            if signal.evidence.get("flake").is_some() {
                cause.flaky_at = Some(run.sha.clone());
            }
        }
    }
    let mut causes: Vec<PastCause> = causes.into_values().collect();
    for cause in &mut causes {
        // What was also green on its commit is not that commit's.
        cause.revert = cause.revert.take().filter(|_| cause.flaky_at.is_none());
    }
    causes.sort_by_key(|cause| std::cmp::Reverse((cause.red_now, cause.last_seen)));
    causes
}

/// What the ledger would have said: the same rules that a tick asks.
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
    };
    let known = known.map(|cause| Known {
        inventory: false,
        ignored: false,
        first_seen: cause.first_seen,
        last_seen: cause.last_seen,
        unwatched: TimeDelta::zero(),
        count: cause.runs,
        bad_ticks: 1,
        bad_lately: 1,
        generation: u32::try_from(cause.woken).unwrap_or(u32::MAX),
        incident: (cause.woken > 0).then_some(KnownIncident {
            joined: false,
            outcome: over.map(|_| IncidentOutcome::Gone),
            closed_at: over,
            with_person: false,
        }),
    });
    signal.severity >= Severity::Error && matches!(standing(&group, known.as_ref()), Standing::Open { .. })
}

/// When its workflow was green between its last sight and this run.
fn over_since(past: &Past, at: usize, signature: &Signature) -> Option<DateTime<Utc>> {
    let run = &past.runs[at];
    let before = past.runs[..at]
        .iter()
        .rev()
        .filter(|other| other.workflow == run.workflow);
    let until_seen = before.take_while(|other| !other.signals.iter().any(|s| s.signature == *signature));
    until_seen
        .filter(|other| other.green)
        .map(|other| other.finished)
        .next()
}

fn later(past: &Past, at: usize) -> impl Iterator<Item = &PastRun> {
    let workflow = past.runs[at].workflow;
    past.runs[at + 1..]
        .iter()
        .filter(move |other| other.workflow == workflow)
}

/// The run before is green on another commit, this one brought the cause.
fn revert(past: &Past, at: usize, signature: &Signature) -> Option<Revert> {
    let run = &past.runs[at];
    let before = past.runs[..at]
        .iter()
        .rev()
        .find(|other| other.workflow == run.workflow)?;
    if run.green || !before.green || before.sha == run.sha {
        return None;
    }
    let has = |other: &PastRun| other.signals.iter().any(|s| s.signature == *signature);
    let again = later(past, at).find(|other| !has(other) && other.green && other.sha != run.sha);
    Some(Revert {
        commit: run.sha.clone(),
        green_before: before.sha.clone(),
        green_again: again.map(|run| run.sha.clone()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::signal::SignalKind;

    fn sha(n: u8) -> Sha {
        Sha::parse(&format!("{n:02x}").repeat(20)).unwrap()
    }

    fn run(minute: i64, commit: u8, cause: Option<&str>) -> PastRun {
        let at = "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute);
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

    fn past(runs: Vec<PastRun>) -> Past {
        Past {
            runs,
            ..Past::default()
        }
    }

    #[test]
    fn a_cause_wakes_once_and_again_when_it_came_back() {
        let runs = vec![
            run(0, 1, None),
            run(1, 2, Some("a")),
            run(2, 3, Some("a")),
            run(3, 4, None),
            run(4, 5, Some("a")),
        ];
        let [cause] = causes(&past(runs)).try_into().unwrap();
        assert_eq!((cause.runs, cause.woken, cause.red_now), (3, 2, true));
        let revert = cause.revert.unwrap();
        assert_eq!(
            (revert.commit, revert.green_before, revert.green_again),
            (sha(2), sha(1), Some(sha(4)))
        );
    }

    #[test]
    fn what_was_red_already_or_is_a_flake_is_no_commits() {
        let first = causes(&past(vec![run(0, 1, Some("a")), run(1, 2, None)]));
        assert!(first[0].revert.is_none() && !first[0].red_now);
        let mut flaky = run(1, 2, Some("a"));
        flaky.signals[0].evidence = json!({ "flake": {} });
        let found = causes(&past(vec![run(0, 1, None), flaky]));
        assert!(found[0].revert.is_none() && found[0].flaky_at == Some(sha(2)));
        let mut same = run(1, 1, Some("a"));
        same.green = false;
        assert!(causes(&past(vec![run(0, 1, None), same]))[0].revert.is_none());
    }
}
