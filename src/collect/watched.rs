//! What the config looks at: which sources, and of those that have several parts (probes, checks, files) which. And which of
//! them only got another name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    SourceFacts, SourceKey, Sources,
    context::Place,
    enabled,
    memory::{Memory, asked},
    part_name,
};
use crate::{config::Config, model::Slot, text::Redactor};

/// Sources of the config; the names of their parts, where those stand in the config.
#[derive(Debug, Default)]
pub struct Watched(BTreeMap<SourceKey, Option<BTreeSet<String>>>);

impl Watched {
    pub fn of(config: &Config, redactor: &Redactor) -> Self {
        let one = |place: &Place<'_>| {
            let named = |names: Vec<String>| names.iter().map(|name| part_name(redactor, name)).collect();
            (place.key(), parts(place).map(named))
        };
        Self(enabled(config).iter().map(|(place, _)| one(place)).collect())
    }

    /// What was seen by this part of this source can be seen by the next look, too.
    pub fn sees(&self, repo: &Slot, target: &str, collector: &str, part: Option<&str>) -> bool {
        let key = SourceKey {
            repo: repo.clone(),
            target: target.to_owned(),
            collector: collector.to_owned(),
        };
        match (self.0.get(&key), part) {
            (None, _) => false,
            (Some(Some(parts)), Some(part)) => parts.contains(part),
            (Some(_), _) => true,
        }
    }

    pub fn sources(&self) -> impl Iterator<Item = &SourceKey> {
        self.0.keys()
    }
}

/// Names of the parts of a source; none for one whose parts do not stand in the config.
fn parts(place: &Place<'_>) -> Option<Vec<String>> {
    let target = place.target;
    Some(match place.collector {
        "health" => target.health.iter().map(|probe| probe.name.clone()).collect(),
        "jsonrpc" => target.jsonrpc.iter().map(|probe| probe.name.clone()).collect(),
        "exec" => target.exec.iter().map(|check| check.name.clone()).collect(),
        "logs" => {
            let paths = target.logs.iter();
            paths.map(|path| path.to_string_lossy().into_owned()).collect()
        }
        "domains" => target.domains.clone(),
        _ => return None,
    })
}

/// A part of a source that has another name than at the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    pub source: SourceKey,
    pub from: String,
    pub to: String,
}

/// Probes and checks that ask what they asked before, by another name.
pub fn renamed(config: &Config, redactor: &Redactor, sources: &Sources) -> Vec<Renamed> {
    let mut all = Vec::new();
    for (place, _) in enabled(config) {
        let key = place.key();
        let asks = asked(&place);
        let cursor = sources
            .get(&key)
            .and_then(|facts: &SourceFacts| facts.cursor.as_deref());
        let Some(cursor) = cursor.filter(|_| !asks.is_empty()) else {
            continue;
        };
        let renamed = Memory::read(cursor).follow(&asks);
        all.extend(renamed.into_iter().map(|(from, to)| Renamed {
            source: key.clone(),
            from: part_name(redactor, &from),
            to: part_name(redactor, &to),
        }));
    }
    all
}
