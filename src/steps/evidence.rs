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
pub(super) mod kind {
    pub(crate) const TRIAGE: &str = "triage";
    /// Names of variables that the release reads first and that are not set.
    pub(crate) const VARIABLES: &str = "variables";
    pub(crate) const TRIAGE_FAILED: &str = "triage-failed";
    pub(crate) const RETRY: &str = "retry";
    pub(crate) const TREE: &str = "tree";
    pub(crate) const GUARDS: &str = "guards";
    pub(crate) const PROOF: &str = "proof";
    /// Results of a base; the verdict names what was run.
    pub(crate) const BASE_SUITE: &str = "base-suite";
    /// Tests of a base that gave two results on it.
    pub(crate) const FLAKES: &str = "flakes";
    /// What came of the failed jobs that ran again, or why they did not.
    pub(crate) const RERUN: &str = "rerun";
    /// What the tests around the suspected commit showed.
    pub(crate) const CULPRIT: &str = "culprit";
    /// The commit that CI has to see red, for one head.
    pub(crate) const CI_WITNESS: &str = "ci-witness";
    /// What the runs of a commit kept.
    pub(crate) const CI_REPORT: &str = "ci-report";
    /// The witness of a head was red.
    pub(crate) const CI_RED: &str = "ci-red";
    pub(crate) const AUDIT: &str = "audit";
    pub(crate) const AUDIT_FAILED: &str = "audit-failed";
    pub(crate) const REBASED: &str = "rebased";
    pub(crate) const CI_FAILED: &str = "ci-failed";
    pub(crate) const APPROVED: &str = "approved";
    pub(crate) const ADOPTED: &str = "adopted";
    pub(crate) const LANDED: &str = "landed";
    pub(crate) const LANDED_TESTS: &str = "landed-tests";
    pub(crate) const LIVE: &str = "live";
    pub(crate) const OBSERVED: &str = "observed";
    pub(crate) const REVERT: &str = "revert";
    pub(crate) const HINDERED: &str = "hindered";
    /// Verdict of a triage or audit that no agent could make.
    pub(crate) const UNAVAILABLE: &str = "unavailable";
    pub(crate) const AUTONOMY: &str = "autonomy";
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
    Ok(crate::text::hex(&Sha256::digest(&bytes)))
}
