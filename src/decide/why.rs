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

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub condition: &'static str,
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
        out.push(unmet("CI is red again on the same commit", value, who));
        return out;
    }
    match facts.triage.as_ref().map(|t| t.verdict) {
        // Below this rung no model is asked, however often tick looks.
        None if policy.rung < Mode::Diagnose => out.push(unmet(
            "triage has judged the cause",
            policy
                .missing
                .first()
                .cloned()
                .unwrap_or_else(|| "the repo is on observe".to_owned()),
            Who::Person,
        )),
        None => out.push(unmet(
            "triage has judged the cause",
            format!("not yet, {} failed tries", facts.triage_failures),
            Who::Tick,
        )),
        Some(TriageVerdict::Bug) => {}
        Some(verdict) => out.push(unmet(
            "triage calls it a bug",
            format!("{verdict:?}").to_lowercase(),
            Who::Person,
        )),
    }
    if policy.rung < Mode::Active {
        let why = policy.missing.first().cloned();
        let value = why.unwrap_or_else(|| format!("it is on {:?}", policy.rung).to_lowercase());
        out.push(unmet("the repo may merge by itself (mode active)", value, Who::Person));
    }
    if let Some(paused) = &facts.paused {
        out.push(unmet("no stop sign", format!("tick pause: {paused}"), Who::Person));
    }
    if let Some(frozen) = &facts.frozen {
        out.push(unmet("merges are not frozen", frozen.clone(), Who::Person));
    }
    match facts.current() {
        None if policy.rung < Mode::MonitorOnly => {
            let why = format!("a repo on {} is not repaired", policy.rung.word());
            out.push(unmet("a patch exists", why, Who::Person));
        }
        None => out.push(unmet("a patch exists", "no attempt was made yet", Who::Tick)),
        Some(attempt) => of_attempt(facts, attempt, &mut out),
    }
    let over = facts.current().is_none_or(|a| a.failure().is_some());
    if over {
        match budget::judge(facts, policy) {
            Budget::Go { .. } => {}
            Budget::Wait(why) => out.push(unmet("another attempt may be made", why, Who::Tick)),
            Budget::Spent(why) | Budget::Exhausted(why) => {
                out.push(unmet("another attempt may be made", why, Who::Person));
            }
        }
    }
    out
}

/// What the outside did not let through since the newest attempt began.
fn hindered(facts: &Facts) -> Vec<Unmet> {
    let now = format!("/{}", facts.current().map_or(0, |a| a.attempt.n));
    let standing = facts.hindered.iter().filter(|(key, _)| key.ends_with(&now));
    standing
        .map(|(_, hindered)| {
            let who = if hindered.denied { Who::Person } else { Who::Tick };
            let value = format!("{} (tried {})", hindered.why, times(hindered.times.into()));
            unmet("the outside lets tick in", value, who)
        })
        .collect()
}

fn of_attempt(facts: &Facts, attempt: &super::facts::AttemptFacts, out: &mut Vec<Unmet>) {
    if let Some(failure) = attempt.failure() {
        out.push(unmet("the newest attempt stands", failure.sentence(), Who::Tick));
        return;
    }
    match attempt.guards.as_ref().map(|g| g.verdict) {
        Some(GuardVerdict::Accept) => {}
        Some(GuardVerdict::NeedsHuman) if facts.approved.is_some() => {}
        Some(GuardVerdict::NeedsHuman) => {
            let why = attempt.needs_person().unwrap_or_default();
            out.push(unmet("the guards accept", why, Who::Person));
        }
        Some(GuardVerdict::Reject) => out.push(unmet("the guards accept", "rejected", Who::Tick)),
        None => out.push(unmet("the guards accept", "not judged yet", Who::Tick)),
    }
    match attempt.proof.as_ref().map(|p| &p.grade) {
        Some(ProofGrade::Proven) => {}
        Some(ProofGrade::Unproven(why)) => out.push(unmet("red without, green with the fix", why.clone(), Who::Person)),
        Some(ProofGrade::NotRed(why) | ProofGrade::NotGreen(why)) => {
            out.push(unmet("red without, green with the fix", why.clone(), Who::Tick));
        }
        None => out.push(unmet("red without, green with the fix", "not run yet", Who::Tick)),
    }
    match attempt.audit.as_ref().map(|a| a.verdict) {
        Some(AuditVerdict::Approve) => {}
        Some(AuditVerdict::Revise | AuditVerdict::Reject) => out.push(unmet("the auditor approves", "no", Who::Tick)),
        None => {
            let value = format!("not asked yet, {} failed tries", attempt.audit_failures);
            out.push(unmet("the auditor approves", value, Who::Tick));
        }
    }
    if facts.pull.is_none() {
        out.push(unmet("a pull request is open", "none yet", Who::Tick));
    } else {
        out.push(unmet(
            "the check set is green",
            "read freshly before the merge",
            Who::Ci,
        ));
    }
}

fn after_merge(facts: &Facts, merge: &super::facts::OurMerge, out: &mut Vec<Unmet>) {
    match merge.landed.as_ref().map(super::facts::Landed::verdict) {
        Some(Landing::AsTested | Landing::Raced) => {}
        Some(Landing::WrongTree) => out.push(unmet(
            "the landed tree is the tested tree",
            "it is another",
            Who::Person,
        )),
        None => out.push(unmet("the landed tree is the tested tree", "not read yet", Who::Tick)),
    }
    if merge.live_at.is_none() {
        out.push(unmet("the release that carries it serves", "not yet", Who::Tick));
        return;
    }
    if let Some(watch) = &facts.watch
        && merge.observed.is_none()
    {
        let value = format!("{} seen, {:.1} an hour before the merge", watch.seen, watch.rate_before);
        out.push(unmet("enough time without the error", value, Who::Tick));
    }
}
