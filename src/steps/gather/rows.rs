//! Evidence of one incident with typed access.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;

use crate::{decide::facts::Unavailable, model::Sha, steps::evidence::kind, store::EvidenceRow};

pub(super) struct Rows {
    pub(super) evidence: Vec<EvidenceRow>,
}

impl Rows {
    pub(super) fn last<T: DeserializeOwned>(
        &self,
        kind: &str,
        head: Option<&Sha>,
    ) -> Result<Option<(T, DateTime<Utc>)>> {
        self.evidence
            .iter()
            .rev()
            .find(|row| row.kind == kind && head.is_none_or(|head| row.head == head.as_str()))
            .map(|row| {
                let value = serde_json::from_value(row.detail.clone())
                    .with_context(|| format!("{kind} evidence does not read back"))?;
                Ok((value, row.at))
            })
            .transpose()
    }

    pub(super) fn value<T: DeserializeOwned>(&self, kind: &str, head: Option<&Sha>) -> Result<Option<T>> {
        Ok(self.last(kind, head)?.map(|(value, _)| value))
    }

    pub(super) fn word(&self, kind: &str, head: &Sha) -> String {
        let mut rows = self.evidence.iter().rev();
        let row = rows.find(|row| row.kind == kind && row.head == head.as_str());
        row.map(|row| row.verdict.clone()).unwrap_or_default()
    }

    /// All of a kind, oldest first.
    pub(super) fn values<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>> {
        self.evidence
            .iter()
            .filter(|row| row.kind == kind)
            .map(|row| {
                serde_json::from_value(row.detail.clone())
                    .with_context(|| format!("{kind} evidence does not read back"))
            })
            .collect()
    }

    pub(super) fn count(&self, kind: &str, head: Option<&Sha>) -> u32 {
        u32::try_from(self.of(kind, head).count()).unwrap_or(u32::MAX)
    }

    /// Commits of which there is one.
    pub(super) fn heads(&self, kind: &str) -> BTreeSet<Sha> {
        let heads = self.of(kind, None).map(|row| Sha::parse(&row.head));
        heads.filter_map(Result::ok).collect()
    }

    pub(super) fn of(&self, kind: &str, head: Option<&Sha>) -> impl Iterator<Item = &EvidenceRow> {
        self.evidence
            .iter()
            .filter(move |row| row.kind == kind && head.is_none_or(|head| row.head == head.as_str()))
    }

    /// Answers of this kind that could not be used.
    pub(super) fn failures(&self, kind: &str, head: Option<&Sha>) -> u32 {
        let unusable = self.of(kind, head).filter(|row| row.verdict != kind::UNAVAILABLE);
        u32::try_from(unusable.count()).unwrap_or(u32::MAX)
    }

    /// Questions of this kind that no agent could answer.
    pub(super) fn unavailable(&self, kind: &str, head: Option<&Sha>) -> Unavailable {
        let mut out = Unavailable::default();
        for row in self.of(kind, head).filter(|row| row.verdict == kind::UNAVAILABLE) {
            out.times += 1;
            out.last = Some((row.at, row.detail.as_str().unwrap_or_default().to_owned()));
        }
        out
    }
}
