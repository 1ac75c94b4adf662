//! Which of the causes that would open are explained by another one: the facts for `decide::parents`.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::Result;

use super::storm::Item;
use crate::{
    decide::parents::{self, Party},
    model::{IncidentId, Signature, Slot, signal::Signal},
    steps::Ctx,
    store::{SignatureRow, SourceRow},
    text::signature,
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

/// What it has in common with others that are one message.
pub(in crate::steps) fn family(row: &SignatureRow) -> Option<&str> {
    signature::family(row.signed_text.as_deref()?)
}

/// The key under which a look told of it as a change.
pub(in crate::steps) fn provider_key(row: &SignatureRow) -> Option<String> {
    let (provider, id) = parents::incident_of(row.signed_text.as_deref()?)?;
    Some(format!("{provider} {id}"))
}

/// Of the causes that would open, those that something else explains; true where they are of its family.
pub(super) fn explained(ctx: &Ctx, scene: &Scene<'_>, items: &[Item]) -> Result<BTreeMap<Signature, (Parent, bool)>> {
    let mut parents: Vec<(Parent, Party)> = items
        .iter()
        .filter(|item| item.new.is_some())
        .map(|item| (Parent::Wanted(item.row.sig.clone()), scene.party(&item.row)))
        .collect();
    let mut families = Families::default();
    let open = ctx.store().open_incidents()?;
    for incident in open {
        let mut sigs = ctx.store().symptoms(&incident.id)?;
        sigs.push(incident.id.signature());
        for sig in sigs {
            let row = ctx.store().signature(&sig)?;
            if let Some(row) = row.filter(|row| row.quiet_looks < super::OVER_LOOKS) {
                parents.push((Parent::Open(incident.id.clone()), scene.party(&row)));
                families.have(&row, Parent::Open(incident.id.clone()));
            }
        }
    }
    parents.retain(|(_, party)| parents::can_explain(party));
    let (names, parties): (Vec<Parent>, Vec<Party>) = parents.into_iter().unzip();
    families.lead(items);
    let one = |item: &Item| {
        let sig = item.row.sig.clone();
        match parents::root(&parties, &scene.party(&item.row)) {
            Some(root) => Some((sig, (names[root].clone(), false))),
            None => Some((sig, (families.of(&item.row)?, true))),
        }
    };
    Ok(items.iter().filter_map(one).collect())
}

/// Which of a family the others belong to: that which has an incident, or the worst of those that would open.
#[derive(Default)]
struct Families(BTreeMap<(Slot, String), Parent>);

impl Families {
    fn have(&mut self, row: &SignatureRow, parent: Parent) {
        if let Some(family) = family(row) {
            self.0.entry((row.repo.clone(), family.to_owned())).or_insert(parent);
        }
    }

    fn lead(&mut self, items: &[Item]) {
        let mut wanted: Vec<&SignatureRow> = items
            .iter()
            .filter(|item| item.new.is_some())
            .map(|item| &item.row)
            .collect();
        wanted.sort_by_key(|row| (Reverse(row.severity), row.first_seen, &row.title));
        for row in wanted {
            self.have(row, Parent::Wanted(row.sig.clone()));
        }
    }

    /// None for the one that leads.
    fn of(&self, row: &SignatureRow) -> Option<Parent> {
        let parent = self.0.get(&(row.repo.clone(), family(row)?.to_owned()))?;
        (*parent != Parent::Wanted(row.sig.clone())).then(|| parent.clone())
    }
}
