//! The failed jobs of a red run, once more on the same commit, and what came of it.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Ctx,
    attempt::signature_row,
    effect::{Acted, Effect, EffectKind, Unsettled, effect},
    evidence::kind,
    flakes,
    hands::github_name,
    landing,
};
use crate::{
    adapters::github::RerunOutcome,
    decide::facts::{Facts, RerunEnd, keys},
    model::checks::RedRun,
    store::Claim,
};

pub(super) async fn rerun(ctx: &Ctx, claim: &Claim, facts: &Facts, run: &RedRun, why: &str) -> Result<()> {
    let name = github_name(ctx.repo(&facts.incident.repo)?)?;
    let github = ctx.github();
    let key = keys::rerun(facts.id(), run.id, run.attempt);
    // Another incident of the same run, or a person, may have been first: the run is not asked for twice.
    let find = async || -> Result<Option<Value>> {
        let is = github.run(name, run.id).await?;
        let begun = is.attempt > run.attempt || !is.state.has_ended();
        Ok(begun.then(|| json!({ "run": run })))
    };
    let act = async || {
        match find().await {
            Ok(None) => {}
            Ok(Some(begun)) => return Acted::Done(begun),
            Err(error) => return Acted::Unknown(format!("{error:#}")),
        }
        match github.rerun_failed(name, run.id).await {
            Ok(RerunOutcome::Begun) => Acted::Done(json!({ "run": run })),
            Ok(RerunOutcome::Refused(why)) => Acted::Refused(why),
            Err(error) => landing::acted(&error),
        }
    };
    match effect(ctx, claim, EffectKind::Rerun, &key, run, find, act).await? {
        Effect::Done(_) => {
            let said = format!(
                "rerun    the failed jobs of run {} at {}: {why}",
                run.id,
                run.sha.short()
            );
            ctx.say(Some(facts.id()), "rerun", [said]);
            Ok(())
        }
        // Not a reason to keep from the other remedies.
        Effect::Refused(why) | Effect::Denied(why) => reran(ctx, claim, facts, run, &RerunEnd::Nothing(why)),
        Effect::Open(why) => Err(Unsettled {
            why: format!("run the failed jobs of run {} again: {why}", run.id),
            denied: false,
        }
        .into()),
    }
}

pub(super) fn reran(ctx: &Ctx, claim: &Claim, facts: &Facts, run: &RedRun, end: &RerunEnd) -> Result<()> {
    let (word, said) = match end {
        RerunEnd::Green => ("green", "green: red and green on one commit".to_owned()),
        RerunEnd::Red => ("red", "red again".to_owned()),
        RerunEnd::Nothing(why) => ("nothing", format!("says nothing ({why})")),
    };
    if *end == RerunEnd::Green
        && let Some(test) = flakes::test_of(&signature_row(ctx, facts)?)
    {
        let seen = BTreeSet::from([test]);
        ctx.record(claim, Some(&run.sha), kind::FLAKES, "seen", &seen)?;
    }
    let said = format!("rerun    run {} at {}: {said}", run.id, run.sha.short());
    ctx.say(Some(facts.id()), "rerun", [said]);
    ctx.record(claim, Some(&run.sha), kind::RERUN, word, end)
}
