//! The flags that remember when a blindness or a warning began, for `decide::spells`.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    decide::spells::{self, Turn},
    steps::Ctx,
};

const PREFIX: &str = "spells:";

/// Which turn of this thing it is that began then, and the flag that remembers it.
pub(super) fn note(ctx: &Ctx, what: &str, since: DateTime<Utc>) -> Result<(Turn, (String, String))> {
    let name = format!("{PREFIX}{what}");
    let spells = spells::noted(read(ctx, &name)?, since, ctx.now());
    Ok((spells::turn(spells.len()), (name, serde_json::to_string(&spells)?)))
}

/// The last message about it said that it comes and goes, and that nothing more follows.
pub(super) fn flaps(ctx: &Ctx, what: &str) -> Result<bool> {
    Ok(spells::flaps(&read(ctx, &format!("{PREFIX}{what}"))?, ctx.now()))
}

fn read(ctx: &Ctx, name: &str) -> Result<Vec<DateTime<Utc>>> {
    let Some(kept) = ctx.store().flag(name)? else {
        return Ok(Vec::new());
    };
    Ok(serde_json::from_str(&kept).unwrap_or_else(|error| {
        tracing::warn!(
            flag = name,
            "what it holds cannot be read ({error}): told once more than it need be"
        );
        Vec::new()
    }))
}
