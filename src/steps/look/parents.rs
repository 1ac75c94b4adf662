//! Which of the causes that would open are explained by another one: the facts for `decide::parents`.

use std::collections::BTreeMap;

use anyhow::Result;

use super::storm::Item;
use crate::{
    decide::parents::{self, Party},
    model::{IncidentId, Signature, Slot, signal::Signal},
    steps::Ctx,
    store::{SignatureRow, SourceRow},
};

/// Sources that mean that the repo stands on GitHub.
const GITHUB: [&str; 2] = ["actions", "pulls"];

/// What explains a cause: an incident that is open, or another cause of this look that would open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent {
    Open(IncidentId),
    Wanted(Signature),
}

/// What this look knows of hosts and providers.
pub(super) struct Scene<'a> {
    hosts: BTreeMap<(&'a Slot, &'a Signature), &'a str>,
    sources: &'a [SourceRow],
}

impl<'a> Scene<'a> {
    pub(super) fn new(signals: &'a [Signal], sources: &'a [SourceRow]) -> Self {
        let host = |signal: &'a Signal| {
            let host = signal.evidence.get(Signal::HOST)?.as_str()?;
            Some(((&signal.repo, &signal.signature), host))
        };
        Self {
            hosts: signals.iter().filter_map(host).collect(),
            sources,
        }
    }

    fn party(&self, row: &SignatureRow) -> Party {
        let host = self.hosts.get(&(&row.repo, row.text_signature()));
        Party {
            repo: row.repo.clone(),
            target: row.target.clone(),
            kind: row.kind,
            label: row.label.clone(),
            provider: provider(row).map(str::to_owned),
            host: host.map(|host| (*host).to_owned()),
            uses: self.uses(row),
        }
    }

    fn uses(&self, row: &SignatureRow) -> Vec<String> {
        let of_target = |source: &&SourceRow| source.repo == row.repo && source.target == row.target;
        let mut uses: Vec<String> = self
            .sources
            .iter()
            .filter(of_target)
            .map(|s| s.collector.clone())
            .collect();
        let on_github = |source: &SourceRow| source.repo == row.repo && GITHUB.contains(&source.collector.as_str());
        if self.sources.iter().any(on_github) {
            uses.push("github".to_owned());
        }
        uses
    }
}

/// The provider that a cause is an incident of.
pub(in crate::steps) fn provider(row: &SignatureRow) -> Option<&str> {
    parents::provider_of(row.signed_text.as_deref()?)
}

/// The key under which a look told of it as a change.
pub(in crate::steps) fn provider_key(row: &SignatureRow) -> Option<String> {
    let (provider, id) = parents::incident_of(row.signed_text.as_deref()?)?;
    Some(format!("{provider} {id}"))
}

/// Of the causes that would open, those that something else explains.
pub(super) fn explained(ctx: &Ctx, scene: &Scene<'_>, items: &[Item]) -> Result<BTreeMap<Signature, Parent>> {
    let mut parents: Vec<(Parent, Party)> = items
        .iter()
        .filter(|item| item.new.is_some())
        .map(|item| (Parent::Wanted(item.row.sig.clone()), scene.party(&item.row)))
        .collect();
    let open = ctx.store().open_incidents()?;
    for incident in open {
        let mut sigs = ctx.store().symptoms(&incident.id)?;
        sigs.push(incident.id.signature());
        for sig in sigs {
            let row = ctx.store().signature(&sig)?;
            if let Some(row) = row.filter(|row| row.quiet_looks < super::OVER_LOOKS) {
                parents.push((Parent::Open(incident.id.clone()), scene.party(&row)));
            }
        }
    }
    parents.retain(|(_, party)| parents::can_explain(party));
    let (names, parties): (Vec<Parent>, Vec<Party>) = parents.into_iter().unzip();
    let one = |item: &Item| {
        let root = parents::root(&parties, &scene.party(&item.row))?;
        Some((item.row.sig.clone(), names[root].clone()))
    };
    Ok(items.iter().filter_map(one).collect())
}
