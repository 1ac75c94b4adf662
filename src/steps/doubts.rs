//! What speaks against a proof that holds: its new tests check nothing, or its change does nothing that the incident could
//! feel. Such a fix is for a person.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::{
    adapters::git::Mirror,
    decide::{
        guards::{self, FileChange, Kind, Kinds, Parts},
        proof::{self, IncidentFacts},
    },
    model::{
        Sha,
        evidence::{Proof, ProofGrade, Witness},
    },
};

/// The whole of what is delivered, as the fix leaves it.
pub(super) struct Product<'a> {
    pub(super) mirror: &'a Mirror,
    pub(super) head: &'a Sha,
}

/// New tests that only call the code show less than a proof is taken for.
pub(super) fn checks_something(found: &mut Proof, parts: &Parts) {
    let only_raises = found.witness == Witness::B && !found.is_by_assertion();
    let text = |change: &FileChange| {
        let new = change.new.as_ref()?;
        Some((change.shown(), String::from_utf8_lossy(&new.bytes).into_owned()))
    };
    let nothing = || {
        let texts: Vec<_> = parts.test_part.iter().filter_map(text).collect();
        guards::check_nothing(&parts.test_part, &found.witness_ids) || proof::calls_only(&texts, &found.witness_ids)
    };
    if only_raises && nothing() {
        proof::check_nothing(found);
    }
}

/// Marks a proof by new tests that check nothing, or whose change does nothing that the incident could feel.
pub(super) async fn of(
    product: &Product<'_>,
    incident: &IncidentFacts,
    parts: &Parts,
    found: &mut Proof,
) -> Result<()> {
    checks_something(found, parts);
    if found.grade != ProofGrade::Proven || found.witness != Witness::B {
        return Ok(());
    }
    if let Some(names) = guards::only_adds(&parts.source_part) {
        let names = product.unnamed(parts, names).await?;
        let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
        if !shown.is_empty() {
            proof::unused(found, &shown);
        }
    }
    let error = incident.exception.as_ref().map(|(kind, _)| kind.as_str());
    if guards::answers_with_an_error(parts, error) {
        proof::another_error(found);
    }
    if guards::looks_at_source(&parts.test_part) {
        proof::looks_at_source(found);
    }
    Ok(())
}

impl Product<'_> {
    /// All of these names, where no unchanged source of the head has any of them: what was missing may be called at last.
    async fn unnamed(&self, parts: &Parts, names: BTreeSet<String>) -> Result<BTreeSet<String>> {
        const LARGEST: u64 = 1 << 20;
        let changed: BTreeSet<&Vec<u8>> = parts.source_part.iter().map(|change| &change.path).collect();
        let entries = self.mirror.list(self.head).await?;
        let kinds = Kinds::new([])?;
        let is_test = |path: &[u8]| matches!(kinds.of(&guards::normal(path)), Kind::Test(_));
        let sources = entries
            .iter()
            .filter(|entry| entry.size.is_some_and(|size| size <= LARGEST))
            .filter(|entry| !changed.contains(&entry.path) && !is_test(&entry.path));
        for entry in sources {
            let bytes = self.mirror.blob(&entry.id).await?;
            let text = String::from_utf8_lossy(&bytes);
            if names.iter().any(|name| text.contains(name.as_str())) {
                return Ok(BTreeSet::new());
            }
        }
        Ok(names)
    }
}
