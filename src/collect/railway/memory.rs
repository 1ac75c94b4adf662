//! What is remembered of a service between looks: the cursor of its source.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::limit::Limit;
use crate::{
    collect::context::{Place, Session},
    config::RailwayUse,
};

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    #[serde(default)]
    pub(super) limit: Limit,
    /// What the config asked for, and the ids that it stands for.
    #[serde(default)]
    asked: String,
    #[serde(default)]
    ids: Option<Ids>,
    /// Up to where each log was read.
    #[serde(default)]
    pub(super) logs: Option<DateTime<Utc>>,
    #[serde(default)]
    pub(super) requests: Option<DateTime<Utc>>,
    /// When each deployment was first seen to serve.
    #[serde(default)]
    pub(super) live: BTreeMap<String, DateTime<Utc>>,
}

/// What names a service in an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ids {
    pub(super) project: String,
    pub(super) environment: String,
    pub(super) service: String,
}

impl Memory {
    /// A cursor that cannot be read is an empty memory. Of another service nothing but the limit holds.
    pub(super) fn recall(session: &Session<'_>, place: &Place<'_>, used: &RailwayUse, variable: &str) -> Self {
        let facts = session.ctx.sources.get(&place.key());
        let known: Self = facts
            .and_then(|facts| serde_json::from_str(facts.cursor.as_deref()?).ok())
            .unwrap_or_default();
        let (project, environment) = (used.project.as_deref(), used.environment.as_deref());
        let asked = [
            project.unwrap_or_default(),
            environment.unwrap_or_default(),
            &used.service,
            variable,
        ]
        .join("\n");
        if known.asked == asked {
            return known;
        }
        Self {
            limit: known.limit,
            asked,
            ..Self::default()
        }
    }

    pub(super) fn ids(&self) -> Option<Ids> {
        self.ids.clone()
    }

    pub(super) fn found(&mut self, ids: &Ids) {
        self.ids = Some(ids.clone());
    }

    /// They are asked for anew: something of them was removed or made again under its old name.
    pub(super) fn forget_ids(&mut self) {
        self.ids = None;
    }

    pub(super) fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}
