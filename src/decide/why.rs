//! Why an incident is not merged or not repaired: each condition that does not hold, its value, and who can change it.
//! The same facts that `next` decides by, in the order in which it looks at them.

use super::{
    budget::{self, Budget},
    facts::{Facts, Landing, Policy},
    next,
};
use crate::{
    model::{
        Mode,
        evidence::{AuditVerdict, GuardVerdict, ProofGrade},
        incident::TriageVerdict,
    },
    text::times,
};

/// Who can change a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Person,
    Ci,
    Tick,
}

/// A condition that does not hold, said as what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub condition: &'static str,
    /// More about it; may be empty.
    pub value: String,
    pub who: Who,
}

fn unmet(condition: &'static str, value: impl Into<String>, who: Who) -> Unmet {
    Unmet {
        condition,
        value: value.into(),
        who,
    }
}

/// Everything that stands between this incident and a merged fix.
pub fn not_merged(facts: &Facts, policy: &Policy) -> Vec<Unmet> {
    let mut out = hindered(facts);
    if let Some(merge) = &facts.merge {
        after_merge(facts, merge, &mut out);
        return out;
    }
    if facts.rerun.end.is_none() && next::rerun_comes_first(facts, policy) {
        let (value, who) = match &facts.rerun.sent {
            Some((run, _)) => (format!("the failed jobs of run {} run again", run.id), Who::Ci),
            None => ("its failed jobs run again first".to_owned(), Who::Tick),
        };
        out.push(unmet(
            "it is not known yet whether CI is red again on the same commit",
            value,
            who,
        ));
        return out;
    }
    match facts.triage.as_ref().map(|t| t.verdict) {
        // Below this rung no model is asked, however often tick looks.
        None if policy.rung < Mode::Diagnose => out.push(unmet(
            "triage is not asked about the cause",
            policy
                .missing
                .first()
                .cloned()
                .unwrap_or_else(|| "the repo is on observe".to_owned()),
            Who::Person,
        )),
        None => out.push(unmet(
            "triage has not judged the cause yet",
            tried(facts.triage_failures),
            Who::Tick,
        )),
        Some(TriageVerdict::Bug) => {}
        Some(verdict) => out.push(unmet("triage does not call it a bug", verdict.word(), Who::Person)),
    }
    if policy.rung < Mode::Active {
        let why = policy.missing.first().cloned();
        let value = why.unwrap_or_else(|| format!("it is on {}", policy.rung.word()));
        out.push(unmet("tick does not merge here (mode active does)", value, Who::Person));
    }
    if let Some(paused) = &facts.paused {
        out.push(unmet(
            "a stop sign stands",
            format!("tick pause: {paused}"),
            Who::Person,
        ));
    }
    if let Some(frozen) = &facts.frozen {
        out.push(unmet("merges are frozen", frozen.clone(), Who::Person));
    }
    match facts.current() {
        None if policy.rung < Mode::MonitorOnly => {
            let why = format!("a repo on {} is not repaired", policy.rung.word());
            out.push(unmet("there is no patch", why, Who::Person));
        }
        None => out.push(unmet("there is no patch", "no attempt was made yet", Who::Tick)),
        Some(attempt) => match attempt.failure() {
            None => of_attempt(facts, attempt, &mut out),
            Some(failure) => {
                let last = matches!(budget::judge(facts, policy), Budget::Exhausted(_));
                let who = if last { Who::Person } else { Who::Tick };
                out.push(unmet("the newest attempt failed", failure.sentence(), who));
            }
        },
    }
    let over = facts.current().is_none_or(|a| a.failure().is_some());
    if over {
        match budget::judge(facts, policy) {
            Budget::Go { .. } => {}
            Budget::Wait(why) | Budget::Spent(why) => out.push(unmet("no attempt is made now", why, Who::Tick)),
            Budget::Exhausted(why) => out.push(unmet("no further attempt is made", why, Who::Person)),
        }
    }
    out
}

/// Nothing where nothing failed.
fn tried(failed: u32) -> String {
    match failed {
        0 => String::new(),
        n => format!("failed {}", times(n.into())),
    }
}

/// What the outside did not let through since the newest attempt began.
fn hindered(facts: &Facts) -> Vec<Unmet> {
    let now = format!("/{}", facts.current().map_or(0, |a| a.attempt.n));
    let standing = facts.hindered.iter().filter(|(key, _)| key.ends_with(&now));
    standing
        .map(|(_, hindered)| {
            let who = if hindered.denied { Who::Person } else { Who::Tick };
            let value = format!("{} (tried {})", hindered.why, times(hindered.times.into()));
            unmet("the outside does not let tick in", value, who)
        })
        .collect()
}

fn of_attempt(facts: &Facts, attempt: &super::facts::AttemptFacts, out: &mut Vec<Unmet>) {
    match attempt.guards.as_ref().map(|g| g.verdict) {
        Some(GuardVerdict::Accept) => {}
        Some(GuardVerdict::NeedsHuman) if facts.approved.is_some() => {}
        Some(GuardVerdict::NeedsHuman) => {
            let why = attempt.needs_person().unwrap_or_default();
            out.push(unmet("the guards ask for a person", why, Who::Person));
        }
        Some(GuardVerdict::Reject) => out.push(unmet("the guards refuse it", "", Who::Tick)),
        None => out.push(unmet("the guards have not judged it yet", "", Who::Tick)),
    }
    match attempt.proof.as_ref().map(|p| &p.grade) {
        Some(ProofGrade::Proven) => {}
        Some(ProofGrade::Unproven(why)) => out.push(unmet("it is not proven", why.clone(), Who::Person)),
        Some(ProofGrade::NotRed(why) | ProofGrade::NotGreen(why)) => {
            out.push(unmet("it is not proven", why.clone(), Who::Tick));
        }
        None => out.push(unmet("it is not proven yet", "", Who::Tick)),
    }
    match attempt.audit.as_ref().map(|a| a.verdict) {
        Some(AuditVerdict::Approve) => {}
        Some(AuditVerdict::Revise | AuditVerdict::Reject) => {
            out.push(unmet("the auditor does not approve", "", Who::Tick));
        }
        None => {
            let value = tried(attempt.audit_failures);
            out.push(unmet("the auditor has not judged it yet", value, Who::Tick));
        }
    }
    if facts.pull.is_none() {
        out.push(unmet("no pull request is open yet", "", Who::Tick));
    } else {
        out.push(unmet(
            "CI is not known to be green",
            "it is read freshly before the merge",
            Who::Ci,
        ));
    }
}

fn after_merge(facts: &Facts, merge: &super::facts::OurMerge, out: &mut Vec<Unmet>) {
    match merge.landed.as_ref().map(super::facts::Landed::verdict) {
        Some(Landing::AsTested | Landing::Raced) => {}
        Some(Landing::WrongTree) => out.push(unmet("the landed tree is not the tested tree", "", Who::Person)),
        None => out.push(unmet("the landed tree is not read yet", "", Who::Tick)),
    }
    if merge.live_at.is_none() {
        out.push(unmet("the release that carries it does not serve yet", "", Who::Tick));
        return;
    }
    if let Some(watch) = &facts.watch
        && merge.observed.is_none()
    {
        let value = format!("{} seen, {:.1} an hour before the merge", watch.seen, watch.rate_before);
        out.push(unmet("it is not quiet for long enough yet", value, Who::Tick));
    }
}
