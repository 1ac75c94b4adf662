//! Runs that were red and green on one commit: the same run again, or another run of the workflow.

use chrono::{DateTime, TimeDelta, Utc};

use super::{causes::Flake, wire::Run};

/// So long a flake is told after it was seen.
const FRESH: TimeDelta = TimeDelta::hours(24);

/// What may be a flake, and which run's attempt was red.
#[derive(Debug, Clone)]
pub(super) struct Suspect<'a> {
    pub(super) red: &'a Run,
    pub(super) flake: Flake,
}

/// A green run whose commit was red before. An earlier attempt may also have been called off; its jobs tell.
pub(super) fn of_green<'a>(run: &'a Run, all: &'a [Run], now: DateTime<Utc>) -> Option<Suspect<'a>> {
    if !run.is_green() || now - run.finished() > FRESH {
        return None;
    }
    let (red, red_attempt) = if run.attempt() > 1 {
        (run, run.attempt() - 1)
    } else {
        let red = others(run, all).find(|other| other.is_failing())?;
        (red, red.attempt())
    };
    Some(Suspect {
        red,
        flake: Flake {
            red_run: red.id,
            red_attempt,
            green_run: run.id,
            green_attempt: run.attempt(),
        },
    })
}

/// A red run whose commit was green in another run: it stays an error, and says so.
pub(super) fn of_red(run: &Run, all: &[Run]) -> Option<Flake> {
    let green = others(run, all).find(|other| other.is_green())?;
    Some(Flake {
        red_run: run.id,
        red_attempt: run.attempt(),
        green_run: green.id,
        green_attempt: green.attempt(),
    })
}

fn others<'a>(run: &'a Run, all: &'a [Run]) -> impl Iterator<Item = &'a Run> {
    all.iter()
        .filter(|other| other.id != run.id && other.workflow_id == run.workflow_id && other.head_sha == run.head_sha)
        .filter(|other| other.decides())
}
