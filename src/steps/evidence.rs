//! Evidence rows: what was judged, of which head, with which verdict; hashed, audited, never changed.

use anyhow::Result;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Ctx;
use crate::{
    model::Sha,
    store::{Claim, EvidenceRow},
};

/// Kinds of evidence rows. A row's kind is one of these and nothing else.
pub mod kind {
    pub const TRIAGE: &str = "triage";
    pub const TRIAGE_FAILED: &str = "triage-failed";
    pub const RETRY: &str = "retry";
    pub const TREE: &str = "tree";
    pub const GUARDS: &str = "guards";
    pub const PROOF: &str = "proof";
    pub const BASE_SUITE: &str = "base-suite";
    pub const AUDIT: &str = "audit";
    pub const AUDIT_FAILED: &str = "audit-failed";
    pub const REBASED: &str = "rebased";
    pub const CI_FAILED: &str = "ci-failed";
    pub const APPROVED: &str = "approved";
    pub const ADOPTED: &str = "adopted";
    pub const LANDED: &str = "landed";
    pub const LANDED_TESTS: &str = "landed-tests";
    pub const LIVE: &str = "live";
    pub const OBSERVED: &str = "observed";
    pub const REVERT: &str = "revert";
    pub const AUTONOMY: &str = "autonomy";
}

impl Ctx {
    /// Stores one piece of evidence under the claim.
    pub(super) fn record(
        &self,
        claim: &Claim,
        head: Option<&Sha>,
        kind: &str,
        verdict: &str,
        detail: &impl Serialize,
    ) -> Result<()> {
        let row = row(self, head, kind, verdict, detail)?;
        self.store().add_evidence(claim, &row)?;
        Ok(())
    }
}

pub(super) fn row(
    ctx: &Ctx,
    head: Option<&Sha>,
    kind: &str,
    verdict: &str,
    detail: &impl Serialize,
) -> Result<EvidenceRow> {
    let detail = serde_json::to_value(detail)?;
    Ok(EvidenceRow {
        head: head.map(|head| head.as_str().to_owned()).unwrap_or_default(),
        kind: kind.to_owned(),
        verdict: verdict.to_owned(),
        digest: digest_of(&detail)?,
        detail,
        at: ctx.now(),
    })
}

/// SHA-256 of a value's JSON.
pub(super) fn digest_of(value: &impl Serialize) -> Result<String> {
    let bytes = serde_json::to_vec(value)?;
    Ok(Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect())
}
