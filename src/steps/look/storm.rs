//! What of the causes that would open becomes an incident now, under the owner's caps. The rest waits in the ledger: a
//! person is told once that it does, and later looks open it, the worst first.

use std::collections::BTreeSet;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::group::{Found, Symptom, join_symptoms};
use crate::{
    decide::caps::{self, Candidate, Caps},
    model::{IncidentId, Mode, Signature},
    steps::Ctx,
    store::{NewIncident, SignatureRow},
};

/// For as long what waits may still open; the ledger keeps it for ever.
const LONGEST: TimeDelta = TimeDelta::days(1);

/// Causes that would open, before anybody asked whether they may.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) causes: Vec<NewIncident>,
    pub(super) symptoms: Vec<Symptom>,
    pub(super) candidates: Vec<Candidate>,
}

impl Wanted {
    pub(super) fn add(&mut self, row: &SignatureRow, new: NewIncident) {
        self.candidates.push(Candidate {
            signature: row.sig.clone(),
            kind: row.kind,
            severity: row.severity,
            count: row.count,
        });
        if row.kind.is_symptom() {
            self.symptoms.push(Symptom::new(row, Some(new)));
        } else {
            self.causes.push(new);
        }
    }
}

/// Opens what may open, joins symptoms to it, and notes what waits.
pub(super) fn open(ctx: &Ctx, mut wanted: Wanted, found: &mut Found) -> Result<()> {
    let waited = waiting(ctx, &mut wanted, found)?;
    let admitted: BTreeSet<Signature> = if wanted.candidates.is_empty() {
        BTreeSet::new()
    } else {
        caps::admit(std::mem::take(&mut wanted.candidates), caps_of(ctx)?)
            .into_iter()
            .collect()
    };
    let mut wait = Vec::new();
    for new in wanted.causes {
        if admitted.contains(&new.signature) {
            found.opened.push(new);
        } else {
            wait.push(new.signature);
        }
    }
    for symptom in &mut wanted.symptoms {
        if let Some(new) = symptom.new.take_if(|new| !admitted.contains(&new.signature)) {
            wait.push(new.signature);
        }
    }
    join_symptoms(ctx, wanted.symptoms, found)?;
    let joined: BTreeSet<&Signature> = found.joined.iter().map(|(_, sig)| sig).collect();
    wait.retain(|sig| !joined.contains(sig));
    for sig in waited {
        if !wait.contains(&sig) {
            found.waits.push((sig, None));
        }
    }
    for sig in wait {
        let since = ctx.store().signature(&sig)?.and_then(|row| row.waits_since);
        found.waits.push((sig, Some(since.unwrap_or_else(|| ctx.now()))));
    }
    Ok(())
}

fn caps_of(ctx: &Ctx) -> Result<Caps> {
    let now = ctx.now();
    Ok(Caps {
        per_hour: ctx.config.limits.new_incidents_per_hour,
        per_day: ctx.config.limits.new_incidents_per_day,
        opened_in_hour: ctx.store().opened_since(now - TimeDelta::hours(1))?,
        opened_in_day: ctx.store().opened_since(now - TimeDelta::days(1))?,
    })
}

/// Adds what waits and was not seen by this look. Gives back all that waited before it.
fn waiting(ctx: &Ctx, wanted: &mut Wanted, found: &Found) -> Result<Vec<Signature>> {
    let waiting = ctx.store().waiting()?;
    let seen: BTreeSet<&Signature> = found.seen.iter().map(|(row, _)| &row.sig).collect();
    let mut all = Vec::new();
    for row in waiting {
        all.push(row.sig.clone());
        if seen.contains(&row.sig) || !still_wanted(ctx, &row)? {
            continue;
        }
        let generation = ctx.store().generation(&row.sig)? + 1;
        let new = NewIncident {
            id: IncidentId::new(&row.sig, generation),
            repo: row.repo.clone(),
            signature: row.sig.clone(),
            why: "it waited for its turn".to_owned(),
        };
        wanted.add(&row, new);
    }
    Ok(all)
}

/// What is over by itself is opened only where somebody would repair it.
fn still_wanted(ctx: &Ctx, row: &SignatureRow) -> Result<bool> {
    let is_old = row
        .waits_since
        .is_none_or(|since: DateTime<Utc>| since + LONGEST < ctx.now());
    let ignored = row.ignored_until.is_some_and(|until| until > ctx.now());
    let has_incident = ctx
        .store()
        .incident_of(&row.sig)?
        .is_some_and(|incident| incident.outcome.is_none());
    let Some(repo) = ctx.config.repo(&row.repo) else {
        return Ok(false);
    };
    if is_old || ignored || has_incident {
        return Ok(false);
    }
    if row.quiet_looks < super::OVER_LOOKS {
        return Ok(true);
    }
    Ok(!row.kind.is_symptom() && ctx.policy(repo)?.rung >= Mode::MonitorOnly)
}
