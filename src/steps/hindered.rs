//! Which failures of an action are the outside's and no bug: they are facts, and `decide` says when to try again and
//! when to tell a person.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Ctx, effect::Unsettled, evidence::kind, ground::NotReady};
use crate::{
    adapters::{
        git::{GitError, GitErrorKind},
        github::{GitHubError, GitHubErrorKind},
    },
    decide::{
        facts::Facts,
        next::{Action, hindered_key},
    },
    store::Claim,
};

/// One time that the outside did not let an action through, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Hindrance {
    pub(super) action: String,
    pub(super) denied: bool,
    pub(super) why: String,
}

/// Verdict of the row that ends a count: the action went through.
pub(super) const PASSED: &str = "let through";

/// An action that was hindered before has been done: the next hindrance is a first one again.
pub(super) fn passed(ctx: &Ctx, claim: &Claim, facts: &Facts, action: &Action) -> Result<()> {
    let action = hindered_key(facts, action);
    if !facts.hindered.contains_key(&action) {
        return Ok(());
    }
    let passed = Hindrance {
        action,
        denied: false,
        why: String::new(),
    };
    ctx.record(claim, None, kind::HINDERED, PASSED, &passed)
}

/// Stores that the outside stopped this action. False: it did not, and the error is another.
pub(super) fn remember(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    action: &Action,
    error: &anyhow::Error,
) -> Result<bool> {
    let Some((why, denied)) = error.chain().find_map(outside) else {
        return Ok(false);
    };
    tracing::warn!(incident.id = %claim.incident, denied, "{why}");
    let hindrance = Hindrance {
        action: hindered_key(facts, action),
        denied,
        why,
    };
    let verdict = if denied { "denied" } else { "to be tried again" };
    ctx.record(claim, None, kind::HINDERED, verdict, &hindrance)?;
    Ok(true)
}

/// What the outside said, and whether waiting cannot change it.
fn outside(cause: &(dyn std::error::Error + 'static)) -> Option<(String, bool)> {
    if let Some(unsettled) = cause.downcast_ref::<Unsettled>() {
        return Some((unsettled.why.clone(), unsettled.denied));
    }
    if let Some(not_ready) = cause.downcast_ref::<NotReady>() {
        return Some((not_ready.to_string(), false));
    }
    if let Some(error) = cause.downcast_ref::<GitHubError>() {
        return Some((error.to_string(), denied(error)));
    }
    let error = cause.downcast_ref::<GitError>().filter(|error| error.remote)?;
    let denied = matches!(error.kind, GitErrorKind::Auth | GitErrorKind::NotFound);
    Some((error.to_string(), denied))
}

/// The host will answer the same until a person changes something.
pub(super) const fn denied(error: &GitHubError) -> bool {
    match error.kind {
        GitHubErrorKind::Auth | GitHubErrorKind::Permission | GitHubErrorKind::NotFound | GitHubErrorKind::Gone => true,
        GitHubErrorKind::RateLimited { .. }
        | GitHubErrorKind::Refused(_)
        | GitHubErrorKind::Server(_)
        | GitHubErrorKind::Network
        | GitHubErrorKind::Shape => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outside_is_waited_for() {
        let of = |error: &anyhow::Error| error.chain().find_map(outside);
        let lost = Unsettled {
            why: "push: no answer".to_owned(),
            denied: false,
        };
        let wrapped = anyhow::Error::new(lost).context("failed to push");
        assert_eq!(of(&wrapped), Some(("push: no answer".to_owned(), false)));
        assert_eq!(of(&anyhow::anyhow!("attempt 3 is not in the store")), None);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(of(&anyhow::Error::new(full)), None);
    }
}
