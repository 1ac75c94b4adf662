//! What Vercel answers, and what it means in the words that all platforms share. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::{
    context::Blind,
    deploys::{Deployment, State},
};
use crate::model::Sha;

/// Milliseconds since the epoch, as every time of Vercel's.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(from)?;
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of this age fit")]
    let whole = number.and_then(|n| n.as_i64().or_else(|| n.as_f64().map(|n| n as i64)));
    Ok(whole.and_then(DateTime::from_timestamp_millis))
}

/// The project, as far as it is needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Project {
    pub(super) id: String,
    /// Who owns it: a team or a person.
    pub(super) account_id: String,
    #[serde(default)]
    targets: Option<BTreeMap<String, Option<Serving>>>,
    #[serde(default)]
    last_alias_request: Option<AliasRequest>,
}

#[derive(Debug, Deserialize)]
struct Serving {
    id: String,
}

/// The last time that a person, or tick, said which deployment serves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AliasRequest {
    to_deployment_id: String,
    job_status: String,
    #[serde(default, deserialize_with = "time")]
    requested_at: Option<DateTime<Utc>>,
}

impl Project {
    /// The deployment that serves production, where the project tells it.
    pub(super) fn live(&self) -> Option<&str> {
        let serving = self.targets.as_ref()?.get("production")?.as_ref()?;
        Some(serving.id.as_str())
    }

    /// When the deployment was chosen to serve, if that was the last choice.
    fn chosen(&self, id: &str) -> Option<DateTime<Utc>> {
        let request = self.last_alias_request.as_ref()?;
        let done = request.to_deployment_id == id && request.job_status == "succeeded";
        request.requested_at.filter(|_| done)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    pub(super) uid: String,
    #[serde(default, deserialize_with = "time")]
    created: Option<DateTime<Utc>>,
    #[serde(default, deserialize_with = "time")]
    created_at: Option<DateTime<Utc>>,
    #[serde(default, deserialize_with = "time")]
    ready: Option<DateTime<Utc>>,
    #[serde(default)]
    ready_state: Option<String>,
    #[serde(default)]
    ready_substate: Option<String>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    error_code: Option<String>,
    #[serde(default)]
    error_message: Option<String>,
    #[serde(default)]
    checks_conclusion: Option<String>,
    #[serde(default)]
    alias_error: Option<AliasError>,
    #[serde(default)]
    inspector_url: Option<String>,
    #[serde(default)]
    meta: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct AliasError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Listed {
    pub(super) fn is_built(&self) -> bool {
        self.ready_state.as_deref() == Some("READY")
    }

    /// In the words that all platforms share. A state that Vercel has added since is no word for anything.
    pub(super) fn read(self, project: &Project) -> Result<Deployment, Blind> {
        let unreadable = |what: String| Blind::new("shape", format!("the deployment {}: {what}", self.uid));
        let created = self.created.or(self.created_at);
        let created = created.ok_or_else(|| unreadable("it has no time".to_owned()))?;
        let substate = self.ready_substate.as_deref();
        let refused = self.checks_conclusion.as_deref() == Some("failed") || self.alias_error.is_some();
        let promoted = substate == Some("PROMOTED");
        let state = match self.ready_state.as_deref().unwrap_or_default() {
            "QUEUED" | "INITIALIZING" | "BUILDING" => State::UnderWay,
            "READY" if substate == Some("ROLLING") => State::UnderWay,
            "READY" if refused && !promoted => State::Failed,
            "READY" => State::Ready,
            "ERROR" => State::Failed,
            "CANCELED" | "DELETED" | "BLOCKED" => State::Over,
            other => return Err(unreadable(format!("its state {other:?} is not known here"))),
        };
        let serves = match project.live() {
            Some(live) => live == self.uid,
            None => false,
        };
        let live_since = (state == State::Ready && (serves || promoted))
            .then(|| project.chosen(&self.uid).or(self.ready).unwrap_or(created));
        let (code, why) = match (self.error_code, self.error_message, self.alias_error) {
            (None, None, Some(alias)) => (alias.code, alias.message),
            (None, None, None) if state == State::Failed => (
                "CHECKS_FAILED".to_owned(),
                "the checks of the deployment failed".to_owned(),
            ),
            (code, why, _) => (code.unwrap_or_default(), why.unwrap_or_default()),
        };
        let said = |name: &str| self.meta.get(name).and_then(Value::as_str);
        let git = |what: &str| {
            ["github", "gitlab", "bitbucket"]
                .iter()
                .find_map(|host| said(&format!("{host}{what}")))
        };
        Ok(Deployment {
            state,
            production: self.target.as_deref() == Some("production"),
            sha: git("CommitSha").and_then(|sha| Sha::parse(sha).ok()),
            subject: git("CommitMessage").unwrap_or_default().to_owned(),
            created,
            ended: self.ready,
            live_since,
            url: self.inspector_url,
            code,
            why,
            id: self.uid,
        })
    }
}

/// A variable, without its value: that is not even taken out of the answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variable {
    pub(super) key: String,
    #[serde(default)]
    target: Targets,
    #[serde(default, deserialize_with = "time")]
    pub(super) created_at: Option<DateTime<Utc>>,
    #[serde(default, deserialize_with = "time")]
    pub(super) updated_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Targets {
    One(String),
    Many(Vec<String>),
}

impl Default for Targets {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Variable {
    /// Production reads it.
    pub(super) fn is_of_production(&self) -> bool {
        match &self.target {
            Targets::One(target) => target == "production",
            Targets::Many(targets) => targets.iter().any(|target| target == "production"),
        }
    }
}

/// A domain that a project serves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectDomain {
    pub(super) name: String,
    pub(super) apex_name: String,
    #[serde(default)]
    pub(super) verified: Option<bool>,
}

/// A domain of the account, with when it ends where it was bought through Vercel.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountDomain {
    pub(super) name: String,
    #[serde(default, deserialize_with = "time")]
    pub(super) expires_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub(super) renew: Option<bool>,
}
