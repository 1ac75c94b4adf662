//! Whether another attempt may be made: attempts per failure type, failure signatures that repeat, money, runs.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::facts::{AttemptFacts, Facts, Failure, Policy, Spend, Unavailable};
use crate::{
    model::incident::{AttemptOutcome, FailureType},
    text::times,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Budget {
    /// The number of the run; [`place_of`] says which attempt that is.
    Go { n: u32 },
    /// Not now; the sentence says what has to pass first. Does not end the incident.
    Wait(String),
    /// Money or agent runs are used up for now: told once, tried again when a new day or month begins.
    Spent(String),
    /// No further attempt in this generation.
    Exhausted(String),
}

/// Attempts a failure type gets, and how often the same failure signature may be seen.
pub const fn limits_of(failure: FailureType) -> (u32, u32) {
    match failure {
        FailureType::Unit | FailureType::AgentTask | FailureType::Visual => (3, 2),
        FailureType::Runtime => (2, 2),
        FailureType::E2e => (2, 3),
        FailureType::Build | FailureType::Deploy => (2, 1),
        FailureType::Migration => (1, 1),
        FailureType::Health => (0, 0),
    }
}

/// Every class of every repo starts with this cap; five merged fixes with none taken back lift it.
const FIRST_CAP: u32 = 2;
const EARNED_AFTER: u32 = 5;
/// Runs that an agent could not make are bounded too: at the pauses below this is about a day.
const UNAVAILABLE_CAP: u32 = 24;
/// Minutes until an agent that could not work is asked again; the last one repeats.
const PAUSES: [i64; 4] = [5, 15, 30, 60];
/// Such runs after which a person hears of it.
const UNAVAILABLE_TOLD: u32 = 3;

impl Unavailable {
    /// When an agent is asked again.
    pub fn again_at(&self) -> Option<DateTime<Utc>> {
        let (at, _) = self.last.as_ref()?;
        let pause = PAUSES[usize::try_from(self.times).unwrap_or(usize::MAX).clamp(1, PAUSES.len()) - 1];
        Some(*at + TimeDelta::minutes(pause))
    }

    /// It has gone on for long enough that a person should know.
    pub const fn is_told(&self) -> bool {
        self.times >= UNAVAILABLE_TOLD
    }

    /// It has gone on for so long that it is a person's.
    pub const fn is_final(&self) -> bool {
        self.times >= UNAVAILABLE_CAP
    }

    pub fn sentence(&self, who: &str) -> String {
        let why = self.last.as_ref().map_or("", |(_, why)| why.as_str());
        format!("{who} could not work {}: {why}", times(self.times.into()))
    }
}

/// Attempts that no agent could make.
pub fn unavailable(facts: &Facts) -> Unavailable {
    let mut out = Unavailable::default();
    for attempt in &facts.attempts {
        if let Some(AttemptOutcome::Infrastructure(why)) = &attempt.attempt.outcome {
            out.times += 1;
            let at = attempt.attempt.ended.unwrap_or(attempt.attempt.started);
            out.last = Some((at, why.clone()));
        }
    }
    out
}

/// Attempts that this incident gets in all.
pub fn allowed(facts: &Facts) -> u32 {
    let (column, _) = limits_of(facts.failure_type());
    if facts.record.merged >= EARNED_AFTER && facts.record.taken_back == 0 {
        column
    } else {
        column.min(FIRST_CAP)
    }
}

/// Attempts before run `n` that count against the budget: runs in which no agent could work do not.
pub fn charged_before(facts: &Facts, n: u32) -> u32 {
    let charged = facts
        .attempts
        .iter()
        .filter(|a| a.attempt.charged && !a.is_a_revert() && a.attempt.n < n);
    u32::try_from(charged.count()).unwrap_or(u32::MAX)
}

/// Whether run `n` is the last that the incident gets, where it comes to nothing.
pub fn is_last(facts: &Facts, n: u32) -> bool {
    charged_before(facts, n) + 1 >= allowed(facts)
}

/// What run `n` is: its place within the budget, and its own number where that is another one.
pub fn place_of(facts: &Facts, n: u32) -> String {
    let place = charged_before(facts, n) + 1;
    let place = format!("attempt {place} of {}", allowed(facts).max(place));
    match facts
        .attempts
        .iter()
        .filter(|a| a.attempt.n < n && !a.is_a_revert())
        .count()
    {
        earlier if earlier == usize::try_from(charged_before(facts, n)).unwrap_or(usize::MAX) => place,
        earlier => format!("{place}, agent run {}", earlier + 1),
    }
}

pub fn judge(facts: &Facts, policy: &Policy) -> Budget {
    let of = allowed(facts);
    let charged = charged_before(facts, u32::MAX);
    if let Some(why) = repeated(facts) {
        return Budget::Exhausted(why);
    }
    if charged >= of {
        return Budget::Exhausted(format!("{charged} of {of} attempts are used"));
    }
    let unavailable = unavailable(facts);
    if unavailable.is_final() {
        return Budget::Exhausted(unavailable.sentence("the agent"));
    }
    if let Some(why) = said_no(facts) {
        return Budget::Exhausted(why);
    }
    if let Some(why) = used_up(facts.spent_usd, policy) {
        return Budget::Spent(why);
    }
    if facts.attempts_this_run >= policy.retries_per_run {
        return Budget::Wait(format!(
            "as many attempts were made in this run as allowed ({})",
            policy.retries_per_run
        ));
    }
    Budget::Go {
        n: facts.last_attempt + 1,
    }
}

/// Agent runs or money that are used up for now. Judged before every run, whatever its role.
pub fn used_up(spent: Spend, policy: &Policy) -> Option<String> {
    let over = |used: f64, limit: f64, what: &str| {
        (used + policy.usd_per_run > limit).then(|| format!("{what}: ${used:.2} of ${limit:.2} are used"))
    };
    if spent.day_runs >= policy.agent_runs_per_day {
        return Some(format!("{} agent runs today, the limit", spent.day_runs));
    }
    over(spent.incident, policy.usd_per_incident, "this incident")
        .or_else(|| over(spent.day, policy.usd_per_day, "today"))
        .or_else(|| over(spent.month, policy.usd_per_month, "this month"))
}

/// The same failure as often as its type allows. A failure signature is `<test and message>-<with paths>`: the
/// same test and message under other paths is let through once more.
fn repeated(facts: &Facts) -> Option<String> {
    let (_, stop_at) = limits_of(facts.failure_type());
    let stop_at = usize::try_from(stop_at.max(2)).unwrap_or(2);
    let failed: Vec<Failed<'_>> = facts
        .attempts
        .iter()
        .filter_map(|a| {
            let full = a.attempt.failure_sig.as_deref()?;
            Some(Failed {
                full,
                short: full.split('-').next().unwrap_or(full),
                patch: a.attempt.patch_id.as_deref(),
            })
        })
        .collect();
    let group = |same: &dyn Fn(&Failed<'_>) -> bool| failed.iter().filter(|one| same(one)).collect::<Vec<_>>();
    let again = failed.iter().find_map(|one| {
        let paths = group(&|other| other.full == one.full);
        let message = group(&|other| other.short == one.short);
        (paths.len() >= stop_at)
            .then_some(paths)
            .or_else(|| (message.len() > stop_at).then_some(message))
    })?;
    Some(again_after(&again).to_owned())
}

/// A failure of an attempt: its signature, that without paths, and the patch that it was about.
struct Failed<'a> {
    full: &'a str,
    short: &'a str,
    patch: Option<&'a str>,
}

/// Whether it was the same patch each time is said only where each is known.
fn again_after(failed: &[&Failed<'_>]) -> &'static str {
    let mut patches: Vec<Option<&str>> = failed.iter().map(|one| one.patch).collect();
    patches.sort_unstable();
    patches.dedup();
    match patches.as_slice() {
        [Some(_)] => "the same patch was made again, and failed as before",
        several if several.contains(&None) => "the same failure was seen again",
        _ => "the same failure was seen again after another patch",
    }
}

/// The agent's honest no is taken: it is not asked the same thing again.
fn said_no(facts: &Facts) -> Option<String> {
    facts.attempts.iter().find_map(|a| match &a.attempt.outcome {
        Some(AttemptOutcome::CannotFix(why)) => Some(format!("the agent says it cannot fix this: {why}")),
        Some(
            AttemptOutcome::Committed
            | AttemptOutcome::NoChange
            | AttemptOutcome::Refused(_)
            | AttemptOutcome::Infrastructure(_)
            | AttemptOutcome::Failed(_)
            | AttemptOutcome::Interrupted(_),
        )
        | None => None,
    })
}

/// Rounds in which the auditor asked for a change: one is allowed.
pub fn revisions(attempts: &[AttemptFacts]) -> usize {
    attempts
        .iter()
        .filter(|a| matches!(a.failure(), Some(Failure::Revise(_))))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::facts_with_pull;

    #[test]
    fn another_patch_is_said_only_of_another_patch() {
        let mut facts = facts_with_pull();
        let one = facts.attempts[0].clone();
        let mut said = |patches: [Option<&str>; 2]| {
            let attempts = patches.iter().zip(1..).map(|(patch, n)| {
                let mut attempt = one.clone();
                attempt.attempt.n = n;
                attempt.attempt.failure_sig = Some("0a-0b".to_owned());
                attempt.attempt.patch_id = patch.map(str::to_owned);
                attempt
            });
            facts.attempts = attempts.collect();
            repeated(&facts).unwrap()
        };
        assert_eq!(
            said([Some("1"), Some("1")]),
            "the same patch was made again, and failed as before"
        );
        assert_eq!(
            said([Some("1"), Some("2")]),
            "the same failure was seen again after another patch"
        );
        assert_eq!(said([None, Some("1")]), "the same failure was seen again");
    }

    #[test]
    fn runs_that_nobody_pays_for_are_no_attempts() {
        let mut facts = facts_with_pull();
        let one = facts.attempts[0].clone();
        assert_eq!(place_of(&facts, 1), "attempt 1 of 2");
        assert_eq!(place_of(&facts, 2), "attempt 2 of 2");
        assert_eq!((is_last(&facts, 1), is_last(&facts, 2)), (false, true));
        facts.attempts = (1..=6)
            .map(|n| {
                let mut run = one.clone();
                run.attempt.n = n;
                run.attempt.charged = n == 6;
                run
            })
            .collect();
        assert_eq!(place_of(&facts, 1), "attempt 1 of 2");
        assert_eq!(place_of(&facts, 6), "attempt 1 of 2, agent run 6");
        assert_eq!((is_last(&facts, 6), is_last(&facts, 7)), (false, true));
        assert_eq!(place_of(&facts, 7), "attempt 2 of 2, agent run 7");
    }
}
