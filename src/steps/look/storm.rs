//! What of the causes that would open becomes an incident now: not what another one explains, and no more than the owner's
//! caps allow. The rest waits in the ledger: a person is told once that it does, and later looks open it, the worst first.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    group::{Found, join_symptoms},
    parents::{self, Parent, Scene},
};
use crate::{
    decide::{
        caps::{self, Candidate, Caps},
        parents::order,
    },
    model::{IncidentId, Mode, Signature},
    steps::Ctx,
    store::{NewIncident, SignatureRow},
};

/// For as long what waits may still open; the ledger keeps it for ever.
const LONGEST: TimeDelta = TimeDelta::days(1);

/// A cause that would open, before anybody asked whether it may, or a symptom that is not yet believed.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) row: SignatureRow,
    /// The incident that it opens where nothing explains it.
    pub(super) new: Option<NewIncident>,
}

/// Opens what may open, joins what is explained to its explanation, and notes what waits.
pub(super) fn open(ctx: &Ctx, scene: &Scene<'_>, mut items: Vec<Item>, found: &mut Found) -> Result<()> {
    let waited = waiting(ctx, &mut items, found)?;
    // So that a deployment gives its name to the pages that fail with it, and a host to what is asked of it.
    items.sort_by_key(|item| order(item.row.kind));
    let explained = if items.is_empty() {
        BTreeMap::new()
    } else {
        parents::explained(ctx, scene, &items)?
    };
    let admitted = admitted(ctx, &items, &explained)?;
    let mut wait = BTreeSet::new();
    let (mut symptoms, mut children) = (Vec::new(), Vec::new());
    for mut item in items {
        let sig = item.row.sig.clone();
        match explained.get(&sig) {
            Some((Parent::Open(id), of_family)) => {
                if *of_family {
                    found.more.push((id.clone(), sig.clone()));
                }
                found.joined.push((id.clone(), sig));
                continue;
            }
            Some((Parent::Wanted(root), _)) => {
                children.push((sig, root.clone()));
                continue;
            }
            None => {}
        }
        if item.new.is_some() && !admitted.contains(&sig) {
            item.new = None;
            wait.insert(sig);
        }
        match item.new {
            _ if item.row.kind.is_symptom() => symptoms.push(item),
            Some(new) => found.opened.push(new),
            None => {}
        }
    }
    join_symptoms(ctx, symptoms, found)?;
    // What explains one of them may be explained itself.
    for last in [false, true] {
        for (sig, root) in std::mem::take(&mut children) {
            match where_is(found, &root) {
                Some(id) => found.joined.push((id, sig)),
                None if !last => children.push((sig, root)),
                // What explains it waits itself.
                None => drop(wait.insert(sig)),
            }
        }
    }
    note(ctx, found, waited, wait)
}

/// The incident that a cause opened, or joined, by this look.
fn where_is(found: &Found, sig: &Signature) -> Option<IncidentId> {
    let opened = found.opened.iter().find(|new| new.signature == *sig);
    let joined = || found.joined.iter().find(|(_, joined)| joined == sig);
    opened
        .map(|new| new.id.clone())
        .or_else(|| joined().map(|(id, _)| id.clone()))
}

/// The causes that may open.
fn admitted(ctx: &Ctx, items: &[Item], explained: &BTreeMap<Signature, (Parent, bool)>) -> Result<BTreeSet<Signature>> {
    let own = |item: &&Item| item.new.is_some() && !explained.contains_key(&item.row.sig);
    let candidate = |item: &Item| Candidate {
        signature: item.row.sig.clone(),
        kind: item.row.kind,
        severity: item.row.severity,
        count: item.row.count,
    };
    let candidates: Vec<Candidate> = items.iter().filter(own).map(candidate).collect();
    if candidates.is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(caps::admit(candidates, caps_of(ctx)?).into_iter().collect())
}

fn caps_of(ctx: &Ctx) -> Result<Caps> {
    let now = ctx.now();
    let store = ctx.store();
    Ok(Caps {
        per_hour: ctx.config.limits.new_incidents_per_hour,
        per_day: ctx.config.limits.new_incidents_per_day,
        opened_in_hour: store.opened_between(now - TimeDelta::hours(1), now)?,
        opened_in_day: store.opened_between(now - TimeDelta::days(1), now)?,
    })
}

/// What waits from now on and did not before, and what waits no longer.
fn note(ctx: &Ctx, found: &mut Found, waited: Vec<Signature>, mut wait: BTreeSet<Signature>) -> Result<()> {
    for (_, joined) in &found.joined {
        wait.remove(joined);
    }
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

/// Adds what waits and was not seen by this look. Gives back all that waited before it.
fn waiting(ctx: &Ctx, items: &mut Vec<Item>, found: &Found) -> Result<Vec<Signature>> {
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
        items.push(Item { row, new: Some(new) });
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
