//! Tests of a repo that are known to change their results by themselves: shown by two results on one commit, in our own
//! runs of a base or in CI's runs of the default branch. Known for a month after that, and only so many.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Ctx,
    evidence::{digest_of, kind},
};
use crate::{
    config::Repo,
    decide::proof::{self, Runs},
    model::{Sha, evidence::Suite},
    store::{Claim, SignatureRow, Store},
};

const KNOWN_FOR: TimeDelta = TimeDelta::days(30);
/// Newest rows that are looked at.
const ROWS: u32 = 200;
const BASES: u32 = 20;
/// Tests of one repo that are left out of judgements, the newest first. A suite with more of them proves little.
const MOST: usize = 100;

/// What was run: equal names stand for equal commands in an equal environment.
pub(super) fn input(repo: &Repo) -> Result<String> {
    let commands: Vec<&str> = repo.test.iter().map(|command| command.text.as_str()).collect();
    let setup: Vec<&str> = repo.setup.iter().map(|command| command.text.as_str()).collect();
    Ok(format!("run {}", &digest_of(&(commands, setup, &repo.test_env))?[..12]))
}

pub(super) fn known(ctx: &Ctx, repo: &Repo) -> Result<BTreeSet<String>> {
    let since = ctx.now() - KNOWN_FOR;
    let store = ctx.store();
    let mut found: Vec<String> = Vec::new();
    for row in store.evidence_of(&repo.slot, kind::FLAKES, since, ROWS)? {
        found.extend(serde_json::from_value::<BTreeSet<String>>(row.detail).context("read the flakes of a base")?);
    }
    found.extend(store.flaky_in_ci(&repo.slot, since, ROWS)?);
    let mut bases: BTreeMap<(String, String), Vec<Suite>> = BTreeMap::new();
    for row in store.evidence_of(&repo.slot, kind::BASE_SUITE, since, BASES)? {
        let suite = serde_json::from_value(row.detail).context("read the results of a base")?;
        bases.entry((row.head, row.verdict)).or_default().push(suite);
    }
    found.extend(bases.values().flat_map(proof::flaky));
    let mut known = BTreeSet::new();
    for id in found {
        if known.len() == MOST {
            tracing::warn!(repo = %repo.slot, "more than {MOST} tests change by themselves");
            break;
        }
        known.insert(id);
    }
    Ok(known)
}

/// The failed test that a cause of CI is about.
pub(super) fn test_of(row: &SignatureRow) -> Option<&str> {
    row.signed_text.as_ref()?.lines().next()?.strip_prefix("FAIL ")
}

/// Whether CI showed the test of this cause red and green on one commit before.
pub(super) fn in_ci(store: &Store, row: &SignatureRow, now: DateTime<Utc>) -> Result<bool> {
    let Some(test) = test_of(row) else {
        return Ok(false);
    };
    let known = store.flaky_in_ci(&row.repo, now - KNOWN_FOR, ROWS)?;
    Ok(known.iter().any(|known| known == test))
}

/// Keeps what the runs of one proof showed about the base.
pub(super) fn remember(ctx: &Ctx, claim: &Claim, base: &Sha, runs: &Runs) -> Result<()> {
    let seen = proof::flakes_seen(runs);
    if seen.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = seen.iter().map(String::as_str).collect();
    let said = format!("flaky    two results on {}: {}", base.short(), names.join(", "));
    ctx.say(Some(&claim.incident), "flakes", [said]);
    ctx.record(claim, Some(base), kind::FLAKES, "seen", &seen)
}
