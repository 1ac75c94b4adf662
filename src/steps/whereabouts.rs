//! Keeps which file of the repository a cause points at, once there is a mirror to ask, and shows it.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Ctx;
use crate::{
    adapters::git::Mirror,
    decide::whereabouts::{Whereabouts, whereabouts},
    model::{Sha, Signature, signal::Culprit},
    store::SignatureRow,
};

/// What was found for one path; another one of the same cause is not it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    said: String,
    found: Whereabouts,
}

fn flag(sig: &Signature) -> String {
    format!("place:{sig}")
}

/// Looks where the commit has the file that the cause's trace names.
pub(super) async fn settle(ctx: &Ctx, row: &SignatureRow, mirror: &Mirror, base: &Sha) -> Result<()> {
    let Some(culprit) = &row.culprit else {
        return Ok(());
    };
    let files = mirror.list(base).await?;
    let files = files.iter().filter_map(|entry| std::str::from_utf8(&entry.path).ok());
    let kept = Kept {
        said: culprit.file.clone(),
        found: whereabouts(&culprit.file, files),
    };
    let value = serde_json::to_string(&kept)?;
    let name = flag(&row.sig);
    let known = ctx.store().flag(&name)?;
    // The rule is that the repository has it so: then nothing needs to be kept.
    let needless = known.is_none() && kept.found == Whereabouts::AsSaid;
    if needless || known.as_ref() == Some(&value) {
        return Ok(());
    }
    ctx.store()
        .set_flag(&name, Some(&value), "tick", ctx.now())
        .context("keep where a cause's file is")
}

/// Where a cause is, as the repository names it; with words where it has no such file.
pub(super) fn shown(ctx: &Ctx, sig: &Signature, culprit: &Culprit) -> (Culprit, Option<String>) {
    let mut culprit = culprit.clone();
    // What cannot be read shows less, and is told elsewhere.
    let kept = ctx.store().flag(&flag(sig)).ok().flatten();
    let kept: Option<Kept> = kept.and_then(|text| serde_json::from_str(&text).ok());
    let found = kept.filter(|kept| kept.said == culprit.file).map(|kept| kept.found);
    let note = match found {
        None | Some(Whereabouts::AsSaid) => None,
        Some(Whereabouts::Is(file)) => {
            culprit.file = file;
            None
        }
        Some(Whereabouts::OneOf(n)) => Some(crate::render::title::one_of(n)),
        Some(Whereabouts::Nowhere) => Some(crate::render::title::NOT_THERE.to_owned()),
    };
    (culprit, note)
}
