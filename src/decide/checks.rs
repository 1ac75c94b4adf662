//! The check set: whether CI says yes about one commit. A required check must succeed; every other one may be skipped
//! or neutral; nothing that is missing, stale or not understood counts as yes.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use regex::Regex;

use crate::model::{
    checks::{Check, CheckState, Checks},
    pull::{RequiredCheck, Rules},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckSet {
    Success {
        /// The checks that said yes, sorted.
        names: Vec<String>,
        /// Matched by `ciNonblockingRe`: listed for people, not judged.
        ignored: Vec<String>,
    },
    /// Something is still to come: what.
    Pending(String),
    /// Checks that said no, sorted.
    Failed(Vec<String>),
    /// Can not be judged: why.
    Unknown(String),
}

/// What one check amounts to, once it is known whether it is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Say {
    Yes,
    /// Fine, but proves nothing (skipped, neutral).
    Fine,
    Wait,
    No,
    Unclear,
}

/// How far the host's clock may be behind ours. The head is our own fresh commit, so what ran on it ran after its push;
/// without this a clock of ours that is some seconds fast would keep every success from counting.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::seconds(30);

/// `pushed_at` is when this very head was pushed: a success that started earlier is about something else.
pub fn check_set(
    checks: &Checks,
    rules: &Rules,
    nonblocking: Option<&Regex>,
    may_skip: &[String],
    pushed_at: DateTime<Utc>,
) -> CheckSet {
    let newest = newest(&checks.checks);
    let mut tally = Tally::default();
    for required in &rules.required_checks {
        let candidates: Vec<&Check> = newest.iter().copied().filter(|c| answers(c, required)).collect();
        if candidates.is_empty() {
            tally.missing.push(shown(required));
        }
        for check in candidates {
            tally.add(check, required_say(check, may_skip), pushed_at);
        }
    }
    let mut ignored = Vec::new();
    for check in &newest {
        if rules.required_checks.iter().any(|r| answers(check, r)) {
            continue;
        }
        if nonblocking.is_some_and(|re| re.is_match(&check.name)) {
            ignored.push(check.name.clone());
            continue;
        }
        tally.add(check, other_say(check.state), pushed_at);
    }
    ignored.sort();
    ignored.dedup();
    tally.verdict(checks, ignored)
}

#[derive(Default)]
struct Tally {
    yes: Vec<String>,
    fresh_yes: bool,
    waiting: Vec<String>,
    missing: Vec<String>,
    no: Vec<String>,
    unclear: Vec<String>,
}

impl Tally {
    fn add(&mut self, check: &Check, say: Say, pushed_at: DateTime<Utc>) {
        let name = check.name.clone();
        match say {
            Say::Yes => {
                self.fresh_yes |= check.started_at.is_some_and(|at| at + CLOCKS_DIFFER > pushed_at);
                self.yes.push(name);
            }
            Say::Fine => {}
            Say::Wait => self.waiting.push(name),
            Say::No => self.no.push(name),
            Say::Unclear => self.unclear.push(format!("{name} ({})", word(check.state))),
        }
    }

    /// A clear no outranks everything, since waiting would not change it.
    fn verdict(mut self, checks: &Checks, ignored: Vec<String>) -> CheckSet {
        for names in [
            &mut self.yes,
            &mut self.waiting,
            &mut self.missing,
            &mut self.no,
            &mut self.unclear,
        ] {
            names.sort();
            names.dedup();
        }
        if !self.no.is_empty() {
            return CheckSet::Failed(self.no);
        }
        if let Some(why) = &checks.incomplete {
            return CheckSet::Unknown(why.clone());
        }
        if !self.unclear.is_empty() {
            return CheckSet::Unknown(format!("neither yes nor no: {}", self.unclear.join(", ")));
        }
        if !self.waiting.is_empty() {
            return CheckSet::Pending(format!("running: {}", self.waiting.join(", ")));
        }
        if !self.missing.is_empty() {
            return CheckSet::Pending(format!("required and not started: {}", self.missing.join(", ")));
        }
        if self.yes.is_empty() {
            return CheckSet::Pending("no check has succeeded for this commit".to_owned());
        }
        if !self.fresh_yes {
            return CheckSet::Pending(
                "no success started after the push (is the clock of this machine right?)".to_owned(),
            );
        }
        CheckSet::Success {
            names: self.yes,
            ignored,
        }
    }
}

/// One entry a name and app: the last started one; of two that started together the worse one stands.
fn newest(checks: &[Check]) -> Vec<&Check> {
    let mut by_source: BTreeMap<(&str, Option<u64>), &Check> = BTreeMap::new();
    for check in checks {
        let key = (check.name.as_str(), check.app_id);
        let replaces = by_source.get(&key).is_none_or(|known| rank(check) > rank(known));
        if replaces {
            by_source.insert(key, check);
        }
    }
    by_source.into_values().collect()
}

/// Without a start there is no order in time: then what is not good outranks the rest, and a yes outranks nothing.
fn rank(check: &Check) -> (bool, Option<DateTime<Utc>>, u8) {
    let badness = match other_say(check.state) {
        Say::Yes => 0,
        Say::Fine => 1,
        Say::Wait => 2,
        Say::Unclear => 3,
        Say::No => 4,
    };
    (check.started_at.is_none() && badness >= 2, check.started_at, badness)
}

/// A requirement with an app is answered by that app only; without one, by every check and status of the name.
fn answers(check: &Check, required: &RequiredCheck) -> bool {
    check.name == required.name && (required.app_id.is_none() || check.app_id == required.app_id)
}

/// Only a clear no ends an attempt. Cancelled, or neutral where success is demanded, is neither yes nor no.
fn required_say(check: &Check, may_skip: &[String]) -> Say {
    match check.state {
        CheckState::Skipped if may_skip.contains(&check.name) => Say::Fine,
        CheckState::Skipped | CheckState::Neutral => Say::Unclear,
        CheckState::Success
        | CheckState::Queued
        | CheckState::InProgress
        | CheckState::ActionRequired
        | CheckState::Failure
        | CheckState::TimedOut
        | CheckState::StartupFailure
        | CheckState::Cancelled
        | CheckState::Stale
        | CheckState::Unknown => other_say(check.state),
    }
}

fn other_say(state: CheckState) -> Say {
    match state {
        CheckState::Success => Say::Yes,
        CheckState::Skipped | CheckState::Neutral => Say::Fine,
        CheckState::Queued | CheckState::InProgress | CheckState::ActionRequired => Say::Wait,
        CheckState::Failure | CheckState::TimedOut | CheckState::StartupFailure => Say::No,
        CheckState::Cancelled | CheckState::Stale | CheckState::Unknown => Say::Unclear,
    }
}

fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Queued => "queued",
        CheckState::InProgress => "running",
        CheckState::Success => "success",
        CheckState::Failure => "failure",
        CheckState::Neutral => "neutral",
        CheckState::Cancelled => "cancelled",
        CheckState::Skipped => "skipped",
        CheckState::TimedOut => "timed out",
        CheckState::ActionRequired => "waits for an action",
        CheckState::Stale => "stale",
        CheckState::StartupFailure => "failed to start",
        CheckState::Unknown => "unknown",
    }
}

fn shown(required: &RequiredCheck) -> String {
    match required.app_id {
        Some(app) => format!("{} (of app {app})", required.name),
        None => required.name.clone(),
    }
}

#[cfg(test)]
mod tests;
