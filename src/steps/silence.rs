//! `tick silence`: a person works at a target, and what it says meanwhile is collected, shown and not told. Each silence is
//! a flag in the store; its setting and its end are records of the audit log.

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};

use super::{Ctx, answers};
use crate::{
    adapters::host,
    decide::hold::Silence,
    exit::{Exit, Fault},
    model::Slot,
    text,
};

const PREFIX: &str = "silence:";

fn flag_name(silence: &Silence) -> String {
    format!("{PREFIX}{}", silence.name())
}

/// Every silence that stands, also one whose time is over and that no tick has cleared away yet.
pub(super) fn all(ctx: &Ctx) -> Result<Vec<Silence>> {
    let flags = ctx.store().flags_like(PREFIX)?;
    let one = |(name, value): (String, String)| {
        serde_json::from_str(&value).with_context(|| format!("the flag {name} does not read back"))
    };
    flags.into_iter().map(one).collect()
}

/// Those that hold now, the first to end first.
pub fn holding(ctx: &Ctx) -> Result<Vec<Silence>> {
    let mut silences = all(ctx)?;
    silences.retain(|silence| silence.holds(ctx.now()));
    silences.sort_by_key(|silence| silence.until);
    Ok(silences)
}

/// From now on until then. A later word about the same target replaces an earlier one.
pub fn begin(ctx: &Ctx, name: &str, until: DateTime<Utc>, why: &str) -> Result<Silence> {
    let (slot, target) = named(ctx, name)?;
    let silence = Silence {
        slot,
        target,
        since: ctx.now(),
        until,
        by: host::user_at_host(),
        why: answers::reason(ctx, why)?,
    };
    let value = serde_json::to_string(&silence)?;
    ctx.store()
        .set_flag(&flag_name(&silence), Some(&value), &silence.by, ctx.now())?;
    ctx.store().print_audit()?;
    Ok(silence)
}

/// Ends one before its time.
pub fn end(ctx: &Ctx, name: &str) -> Result<Silence> {
    let holding = holding(ctx)?;
    let found = match holding.iter().find(|silence| silence.name() == name) {
        Some(found) => Some(found.clone()),
        None => match named(ctx, name) {
            Ok((slot, target)) => holding
                .iter()
                .find(|silence| silence.slot == slot && silence.target == target)
                .cloned(),
            Err(error) => return Err(error),
        },
    };
    let Some(silence) = found else {
        let fault = Fault::new(Exit::Usage, format!("{name} is not silenced"));
        return Err(fault.advise("what is: tick silence --list").into());
    };
    ctx.store()
        .set_flag(&flag_name(&silence), None, &host::user_at_host(), ctx.now())?;
    ctx.store().print_audit()?;
    Ok(silence)
}

/// Those whose time is over are cleared away by the next look, which tells what is still there.
pub(super) fn clear(ctx: &Ctx) -> Result<()> {
    let now = ctx.now();
    for silence in all(ctx)?.iter().filter(|silence| !silence.holds(now)) {
        ctx.store().set_flag(&flag_name(silence), None, "tick", now)?;
    }
    Ok(())
}

/// `SLOT`, `SLOT/TARGET`, or a target's name alone where only one repo has it.
fn named(ctx: &Ctx, name: &str) -> Result<(Slot, Option<String>)> {
    let mut names: Vec<String> = Vec::new();
    let mut alone: Vec<(Slot, String)> = Vec::new();
    for repo in ctx.config.repos.values() {
        names.push(repo.slot.to_string());
        if repo.slot.as_str() == name {
            return Ok((repo.slot.clone(), None));
        }
        for target in repo.targets.iter().filter(|target| target.name != repo.slot.as_str()) {
            let whole = format!("{}/{}", repo.slot, target.name);
            if whole == name {
                return Ok((repo.slot.clone(), Some(target.name.clone())));
            }
            if target.name == name {
                alone.push((repo.slot.clone(), target.name.clone()));
            }
            names.push(whole);
        }
    }
    if let [(slot, target)] = alone.as_slice() {
        return Ok((slot.clone(), Some(target.clone())));
    }
    if !alone.is_empty() {
        let which: Vec<String> = alone.iter().map(|(slot, target)| format!("{slot}/{target}")).collect();
        let fault = Fault::new(Exit::Usage, format!("several repos have a target {name:?}"));
        return Err(fault.advise(format!("name one: {}", which.join(", "))).into());
    }
    let fault = Fault::new(Exit::Usage, format!("no repo or target is called {name:?}"));
    let advice = match text::nearest(name, &names.iter().map(String::as_str).collect::<Vec<_>>()) {
        Some(near) => format!("did you mean {near}? There is: {}", names.join(", ")),
        None => format!("there is: {}", names.join(", ")),
    };
    Err(fault.advise(advice).into())
}
