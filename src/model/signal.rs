//! What collectors see: signals, and the snapshot that holds all signals of one tick.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{PullNumber, Sha, Signature, Slot, TickId, checks::RedRun};

/// Version of the snapshot's JSON. A reader refuses a newer one.
pub const SNAPSHOT_SCHEMA: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalKind {
    Health,
    Probe,
    Log,
    Exception,
    Ci,
    Deploy,
    Session,
    Task,
    Alert,
}

impl SignalKind {
    /// Probe, deploy and rate signals are symptoms: they join the cause that explains them
    /// instead of being one, where a text signature of the same slot exists.
    pub fn is_symptom(self) -> bool {
        match self {
            Self::Health | Self::Probe | Self::Deploy => true,
            Self::Log | Self::Exception | Self::Ci | Self::Session | Self::Task | Self::Alert => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

/// The first place in the application's own code that a text points at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// One normalised observation. `title` and `message` are cleaned and redacted already, and still untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// Collector that saw it, such as `health` or `alertmanager`.
    pub source: String,
    pub repo: Slot,
    /// What was observed within the repo; equals the slot for a repo with one target.
    pub target: String,
    pub kind: SignalKind,
    pub severity: Severity,
    pub title: String,
    pub message: String,
    pub signature: Signature,
    /// Events since the last look of this source (not a running total).
    pub count: u64,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_sha: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// Source-specific facts (status code, failing step, labels), redacted.
    #[serde(default)]
    pub evidence: serde_json::Value,
}

impl Signal {
    /// The part of `evidence` that holds the text which was signed, where that is not the message.
    pub const SIGNED: &str = "signed";

    /// Parts of `evidence` with what the owner set for a probe: bad looks in a row before it is told, good ones before it is
    /// over.
    pub const FIRE_AFTER: &str = "fire_after";
    pub const CLEAR_AFTER: &str = "clear_after";

    /// The part of `evidence` that says why the log was not read which would tell the cause, such as `gone`: what is alike is
    /// the place alone.
    pub const UNREAD: &str = "unread";

    /// The part of `evidence` that names the probe, check or file which saw it, where its source has several.
    pub const PART: &str = "part";

    /// The part of `evidence` with the host that a probe asks.
    pub const HOST: &str = "host";

    /// The probe, check or file that saw it.
    pub fn part(&self) -> Option<&str> {
        self.evidence.get(Self::PART)?.as_str()
    }

    /// A number of looks that `evidence` holds.
    pub fn looks(&self, name: &str) -> Option<u32> {
        let looks = self.evidence.get(name)?.as_u64()?;
        u32::try_from(looks).ok()
    }

    /// The red run of the forge's CI that it tells of.
    pub fn red_run(&self) -> Option<RedRun> {
        // Another source's numbers are not the forge's.
        if self.kind != SignalKind::Ci || self.source != "actions" || self.severity < Severity::Error {
            return None;
        }
        let word = self.evidence.get("conclusion").and_then(serde_json::Value::as_str);
        Some(RedRun {
            id: self.evidence.get("run")?.as_u64()?,
            attempt: self.evidence.get("attempt")?.as_u64()?,
            sha: self.release_sha.clone()?,
            conclusion: word.unwrap_or_default().to_owned(),
            green_too: self.evidence.get("flake").is_some(),
        })
    }

    /// A probe found nobody served.
    pub fn is_outage(&self) -> bool {
        matches!(self.kind, SignalKind::Health | SignalKind::Probe) && self.severity == Severity::Critical
    }

    /// The text whose signature this is.
    pub fn signed_text(&self) -> &str {
        let other = self.evidence.get(Self::SIGNED).and_then(serde_json::Value::as_str);
        other.unwrap_or(&self.message)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    /// Everything that was asked for was read.
    Ok,
    /// Part of it could not be read; what came is kept and the tick is blind for the rest.
    Degraded,
    /// Nothing could be read.
    Failed,
    /// Not due, or not configured; says nothing about health.
    Skipped,
}

/// How one collector fared on one target: the difference between "nothing wrong" and "nothing seen".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectorOutcome {
    pub name: String,
    pub repo: Slot,
    pub target: String,
    pub outcome: OutcomeKind,
    pub ms: u64,
    pub items: u64,
    /// Stable short cause for a failure (`refused`, `http-401`, `html`, `truncated`, `timeout`, `emfile` …), else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// One sentence for people: what was attempted and how to mend it; redacted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The release that serves, where the source tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_sha: Option<Sha>,
    /// Requests the target served since the last look, where the source tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// A deployment of this target is under way since then, where the source tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploying_since: Option<DateTime<Utc>>,
    /// Kinds of changes that this look read for the whole of the last day.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<ChangeKind>,
    /// Names of the variables that are set on the platform now, where the source tells them; never values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeSet<String>>,
    /// Probes, checks or files of it that could not be read; empty where that cannot be told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blind_parts: Vec<BlindPart>,
    /// Age in seconds of the last good look, when this one was not good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind_seconds: Option<u64>,
}

/// One of several things that a source reads, and why it could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindPart {
    pub name: String,
    pub cause: String,
    pub detail: String,
}

/// How such a part has been blind over several looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindSince {
    pub since: DateTime<Utc>,
    pub cause: String,
    /// No look has read it yet: what it says first stood there before.
    #[serde(default)]
    pub never_read: bool,
}

impl CollectorOutcome {
    /// Not all that was asked for could be read.
    pub fn is_blind(&self) -> bool {
        matches!(self.outcome, OutcomeKind::Degraded | OutcomeKind::Failed)
    }
}

/// A number that a look took, for trends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What of the source it is: a probe, a disk. Cleaned and redacted.
    pub name: String,
    pub kind: MeasureKind,
    pub value: f64,
}

/// What kind of number it is decides which question is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureKind {
    /// Events since the look before.
    Events,
    /// Milliseconds until the answer.
    Latency,
    /// How full something is, and at which level it is full.
    Level { full: f64 },
}

/// Something that changed in production, or in what it stands on. Never the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Change {
    pub at: DateTime<Utc>,
    pub repo: Slot,
    pub target: String,
    /// Collector that saw it.
    pub source: String,
    pub kind: ChangeKind,
    /// What the source calls it (the id of a deployment, the SHA of a merge, the name of a variable or host): one change
    /// (source, kind, key and time) is stored once, however many looks see it.
    pub key: String,
    /// One line for people, cleaned and redacted.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// `what` of a variable that is no longer there.
pub const REMOVED: &str = "removed";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// A release began to serve.
    Deployment,
    /// Something landed on the default branch.
    Merge,
    /// A variable of the platform was set, changed or removed; by its name alone.
    Variable,
    /// A certificate, domain or token that ends soon, or ended.
    Expiry,
    /// The provider says that it has, or had, an incident.
    Provider,
}

/// An open pull request of a person, for dedup and for the digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenPull {
    pub repo: Slot,
    pub number: PullNumber,
    pub title: String,
    pub author: String,
    pub draft: bool,
    pub bot: bool,
    pub head_ref: String,
    pub updated_at: DateTime<Utc>,
}

/// What the ledger knew of a cause when a look judged it, and the judgement: enough to judge again. In words of JSON, since what
/// another version wrote is compared and not understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stood {
    pub group: serde_json::Value,
    #[serde(default)]
    pub known: serde_json::Value,
    pub standing: serde_json::Value,
    /// What held it back then: `silence`, or a `deployment` and since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<StoodHeld>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoodHeld {
    Silence,
    Deployment(DateTime<Utc>),
}

/// Everything one tick saw, as written to `signals/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: u32,
    pub tick: TickId,
    pub started_at: DateTime<Utc>,
    pub deep: bool,
    pub signals: Vec<Signal>,
    pub collectors: Vec<CollectorOutcome>,
    pub open_pulls: Vec<OpenPull>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Version of the rules by which the texts were signed; 0 where it was not written down.
    #[serde(default)]
    pub signed_by: u32,
    /// How each cause was judged; only in snapshots that are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stood: Vec<Stood>,
}

impl Snapshot {
    /// Collectors that could not read all they were asked to.
    pub fn blind(&self) -> impl Iterator<Item = &CollectorOutcome> {
        self.collectors.iter().filter(|c| c.is_blind())
    }
}
