//! The one way to write outside: intent row, look at the world if the intent was there already, effect, result row.
//! A crash at any point leaves either nothing, or an open intent that the next run settles by looking.

use std::fmt;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Ctx;
use crate::{
    model::Sha,
    store::{Claim, Intent},
    text::hex,
};

/// Every kind of outside write. Adding one does not compile until the kill matrix has its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    Rerun,
    Push,
    PushWitness,
    DropWitness,
    OpenPull,
    Body,
    Comment,
    Label,
    Ready,
    Review,
    ClosePull,
    Merge,
    Note,
    PushRevert,
    OpenRevert,
    MergeRevert,
    Mail,
}

impl EffectKind {
    pub const ALL: [Self; 17] = [
        Self::Rerun,
        Self::Push,
        Self::PushWitness,
        Self::DropWitness,
        Self::OpenPull,
        Self::Body,
        Self::Comment,
        Self::Label,
        Self::Ready,
        Self::Review,
        Self::ClosePull,
        Self::Merge,
        Self::Note,
        Self::PushRevert,
        Self::OpenRevert,
        Self::MergeRevert,
        Self::Mail,
    ];

    /// First part of every key of this kind.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Rerun => "rerun",
            Self::Push => "push",
            Self::PushWitness => "push_witness",
            Self::DropWitness => "drop_witness",
            Self::OpenPull => "open_pr",
            Self::Body => "body",
            Self::Comment => "comment",
            Self::Label => "label",
            Self::Ready => "ready",
            Self::Review => "review",
            Self::ClosePull => "close",
            Self::Merge => "merge",
            Self::Note => "note",
            Self::PushRevert => "push_revert",
            Self::OpenRevert => "revert_pr",
            Self::MergeRevert => "merge_revert",
            Self::Mail => "mail",
        }
    }
}

impl fmt::Display for EffectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix())
    }
}

/// The four points of an effect at which a test may end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    BeforeIntent,
    AfterIntent,
    AfterEffect,
    AfterRecord,
}

impl Phase {
    pub const ALL: [Self; 4] = [
        Self::BeforeIntent,
        Self::AfterIntent,
        Self::AfterEffect,
        Self::AfterRecord,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeIntent => "before-intent",
            Self::AfterIntent => "after-intent",
            Self::AfterEffect => "after-effect",
            Self::AfterRecord => "after-record",
        }
    }
}

/// `--crash-at KEYPREFIX:PHASE`, as given.
#[derive(Debug, Clone, Default)]
pub struct CrashPoints(Vec<(String, Phase)>);

impl CrashPoints {
    pub fn parse(points: &[String]) -> Result<Self, String> {
        points
            .iter()
            .map(|point| {
                let (prefix, phase) = point
                    .rsplit_once(':')
                    .ok_or_else(|| format!("{point:?} is not KEYPREFIX:PHASE"))?;
                let phase = Phase::ALL
                    .into_iter()
                    .find(|p| p.as_str() == phase)
                    .ok_or_else(|| format!("{phase:?} is not a phase; for example after-intent"))?;
                Ok((prefix.to_owned(), phase))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn at(&self, key: &str, phase: Phase) {
        if self
            .0
            .iter()
            .any(|(prefix, p)| *p == phase && key.starts_with(prefix.as_str()))
        {
            // In the run log before the end, for whoever asks where it was.
            tracing::warn!(key, phase = phase.as_str(), "ends itself here");
            let me = rustix::process::getpid();
            // Ends this process without any clean-up, which is the point; a failure would let the test fail.
            let _sent = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
    }
}

/// How an outside write ended, as the adapter saw it.
#[derive(Debug, Clone, PartialEq)]
pub enum Acted {
    Done(Value),
    /// The outside said no for now; nothing happened.
    Refused(String),
    /// It said no, and will again until a person changes something; nothing happened.
    Denied(String),
    /// The answer was lost: it may have happened.
    Unknown(String),
}

/// An outside write that did not come to its end: said no to, or unknown even after looking. Not a bug of ours.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unsettled {
    pub why: String,
    /// The same call will be answered the same until a person changes something.
    pub denied: bool,
}

/// How an effect stands after this call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Done(Value),
    Refused(String),
    Denied(String),
    /// Unknown even after looking; the next tick looks again.
    Open(String),
}

impl Effect {
    /// What came of it; `what` was attempted.
    pub fn done(self, what: &str) -> Result<Value> {
        let (why, denied) = match self {
            Self::Done(result) => return Ok(result),
            Self::Refused(why) | Self::Open(why) => (why, false),
            Self::Denied(why) => (why, true),
        };
        let why = format!("{what}: {why}");
        Err(Unsettled { why, denied }.into())
    }
}

/// One outside write under its key. `find` looks whether it has happened already, and must not write.
pub async fn effect(
    ctx: &Ctx,
    claim: &Claim,
    kind: EffectKind,
    key: &str,
    args: &impl Serialize,
    find: impl AsyncFn() -> Result<Option<Value>>,
    act: impl AsyncFn() -> Acted,
) -> Result<Effect> {
    debug_assert!(key.starts_with(kind.prefix()), "{key} is not a key of {kind}");
    ctx.crash.at(key, Phase::BeforeIntent);
    let digest = digest_of(args)?;
    let intent = ctx.store().intend(claim, key, kind.prefix(), &digest, ctx.now())?;
    ctx.crash.at(key, Phase::AfterIntent);
    match intent {
        Intent::Done(result) => return Ok(Effect::Done(result)),
        Intent::Open(_) => {
            if let Some(found) = find().await? {
                return record(ctx, claim, key, found);
            }
        }
        Intent::Fresh => {}
    }
    let acted = act().await;
    ctx.crash.at(key, Phase::AfterEffect);
    match acted {
        Acted::Done(result) => record(ctx, claim, key, result),
        Acted::Refused(why) => {
            ctx.store().effect_refused(claim, key, &why, ctx.now())?;
            Ok(Effect::Refused(why))
        }
        Acted::Denied(why) => {
            ctx.store().effect_refused(claim, key, &why, ctx.now())?;
            Ok(Effect::Denied(why))
        }
        Acted::Unknown(why) => match find().await? {
            Some(found) => record(ctx, claim, key, found),
            None => Ok(Effect::Open(why)),
        },
    }
}

/// Records that a begun effect has happened, as the outside shows it. Sends nothing.
pub(super) fn settle(ctx: &Ctx, claim: &Claim, key: &str, sha: Option<&Sha>, head: Option<&Sha>) -> Result<()> {
    let kind = key.split(':').next().unwrap_or_default();
    let found = json!({ "sha": sha, "head": head });
    // A person may have done it where nothing of ours was begun; the row needs its intent either way.
    let _known = ctx.store().intend(claim, key, kind, &digest_of(&found)?, ctx.now())?;
    tracing::info!(incident.id = %claim.incident, key, "found done");
    record(ctx, claim, key, found).map(drop)
}

/// Records that nobody waits for the outcome of a begun effect any more. Sends nothing.
pub(super) fn give_up(ctx: &Ctx, claim: &Claim, key: &str) -> Result<()> {
    tracing::info!(incident.id = %claim.incident, key, "given up");
    ctx.store()
        .effect_refused(claim, key, "not wanted any more, its outcome is not known", ctx.now())?;
    Ok(())
}

fn record(ctx: &Ctx, claim: &Claim, key: &str, result: Value) -> Result<Effect> {
    ctx.store().effect_done(claim, key, &result, ctx.now())?;
    ctx.crash.at(key, Phase::AfterRecord);
    Ok(Effect::Done(result))
}

fn digest_of(args: &impl Serialize) -> Result<String> {
    let bytes = serde_json::to_vec(args)?;
    Ok(hex(&Sha256::digest(&bytes)[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_points_are_parsed_from_the_right() {
        assert!(CrashPoints::parse(&["push:7f3a91c07f3a91c0-1/1:after-effect".to_owned()]).is_ok());
        assert!(CrashPoints::parse(&["push".to_owned()]).is_err());
        assert!(CrashPoints::parse(&["push:sometime".to_owned()]).is_err());
    }

    #[test]
    fn no_prefix_of_a_kind_is_ambiguous() {
        for a in EffectKind::ALL {
            for b in EffectKind::ALL {
                assert!(a == b || format!("{}:", a.prefix()) != format!("{}:", b.prefix()));
            }
        }
    }
}
