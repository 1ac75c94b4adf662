//! Facts that follow from what was done outside: effects by key, and evidence about their results.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::rows::Rows;
use crate::{
    decide::{
        facts::{Hindered, OurMerge, OurPull, OurRevert, Pushed, Rerun, RerunEnd, Status, Witnessed, keys},
        merge::Restores,
    },
    model::{IncidentId, PullNumber, Sha, checks::RedRun},
    steps::{
        effect::EffectKind,
        evidence::kind,
        hindered::{self, Hindrance},
    },
    store::EffectRow,
};

pub(super) type Effects = BTreeMap<String, EffectRow>;

pub(super) fn text_of(row: &EffectRow, field: &str) -> Option<String> {
    row.result.as_ref()?.get(field)?.as_str().map(str::to_owned)
}

pub(super) fn sha_of(row: &EffectRow, field: &str) -> Option<Sha> {
    Sha::parse(&text_of(row, field)?).ok()
}

pub(super) fn refused(effects: &Effects) -> BTreeMap<String, String> {
    effects
        .values()
        .filter_map(|row| {
            Some((
                row.key.clone(),
                row.outcome.as_ref()?.strip_prefix("refused: ")?.to_owned(),
            ))
        })
        .collect()
}

/// Counted by action, with what was said the last time.
pub(super) fn hindrances(rows: &Rows) -> Result<BTreeMap<String, Hindered>> {
    let mut out: BTreeMap<String, Hindered> = BTreeMap::new();
    for row in rows.evidence.iter().filter(|row| row.kind == kind::HINDERED) {
        let Hindrance { action, denied, why } =
            serde_json::from_value(row.detail.clone()).context("hindered evidence does not read back")?;
        if row.verdict == hindered::PASSED {
            out.remove(&action);
            continue;
        }
        let times = out.get(&action).map_or(0, |old| old.times) + 1;
        let last = row.at;
        out.insert(
            action,
            Hindered {
                times,
                denied,
                why,
                last,
            },
        );
    }
    Ok(out)
}

pub(super) fn pushed(effects: &Effects, id: &IncidentId) -> Option<Pushed> {
    effects
        .values()
        .filter(|row| row.is_done() && row.key.starts_with(&format!("push:{id}/")))
        .max_by_key(|row| row.done_at)
        .and_then(|row| {
            Some(Pushed {
                head: sha_of(row, "head")?,
                at: row.intended_at,
            })
        })
}

pub(super) fn pushed_before(effects: &Effects, id: &IncidentId) -> BTreeSet<Sha> {
    effects
        .values()
        .filter(|row| row.is_done() && row.key.starts_with(&format!("push:{id}/")))
        .filter_map(|row| sha_of(row, "head"))
        .collect()
}

/// The newest witness that was pushed and not dropped.
pub(super) fn witness(effects: &Effects, id: &IncidentId) -> Option<Witnessed> {
    let stands = |row: &&EffectRow| {
        let dropped = effects.get(&keys::drop_witness(&row.key));
        row.is_done() && !dropped.is_some_and(EffectRow::is_done)
    };
    let pushed = effects
        .values()
        .filter(|row| row.key.starts_with(&format!("push_witness:{id}/")))
        .filter(stands)
        .max_by_key(|row| row.done_at)?;
    Some(Witnessed {
        key: pushed.key.clone(),
        head: sha_of(pushed, "head")?,
        at: pushed.intended_at,
    })
}

/// The newest run whose failed jobs were asked for again, and what came of it.
pub(super) fn rerun(rows: &Rows, effects: &Effects, id: &IncidentId) -> Result<Rerun> {
    let mine = format!("rerun:{id}:");
    let all = || {
        effects
            .values()
            .filter(|row| row.is_done() && row.key.starts_with(&mine))
    };
    let sent = all().max_by_key(|row| row.done_at);
    let ends: Vec<RerunEnd> = rows.values(kind::RERUN)?;
    let waits = ends.len() < all().count();
    let run = sent.and_then(|row| row.result.as_ref()?.get("run").cloned());
    let run = run.map(serde_json::from_value::<RedRun>).transpose();
    Ok(Rerun {
        sent: run
            .context("read the run that was run again")?
            .zip(sent.map(|row| row.intended_at)),
        reds: u32::try_from(ends.iter().filter(|end| **end == RerunEnd::Red).count()).unwrap_or(u32::MAX),
        end: ends.into_iter().next_back().filter(|_| !waits),
    })
}

pub(super) fn our_pull(effects: &Effects, id: &IncidentId) -> Option<OurPull> {
    let row = effects.get(&keys::open_pull(id)).filter(|row| row.is_done())?;
    let result = row.result.as_ref()?;
    Some(OurPull {
        number: PullNumber(result.get("number")?.as_u64()?),
        url: text_of(row, "url")?,
        draft: result.get("draft")?.as_bool()?,
    })
}

pub(super) fn past_pulls(effects: &Effects) -> BTreeSet<PullNumber> {
    effects
        .values()
        .filter(|row| row.is_done() && row.kind == EffectKind::OpenPull.prefix() && row.key.starts_with("past:"))
        .filter_map(|row| Some(PullNumber(row.result.as_ref()?.get("number")?.as_u64()?)))
        .collect()
}

pub(super) fn our_merge(rows: &Rows, effects: &Effects, id: &IncidentId) -> Result<Option<OurMerge>> {
    let by_us = effects
        .values()
        .find(|row| row.is_done() && row.key.starts_with(&format!("merge:{id}:")))
        .and_then(|row| Some((sha_of(row, "sha")?, sha_of(row, "head")?, row.done_at?, None)));
    let adopted = rows
        .last::<Adopted>(kind::ADOPTED, None)?
        .map(|(adopted, at)| (adopted.sha, adopted.head, at, Some(adopted.by)));
    let Some((sha, head, at, by)) = by_us.or(adopted) else {
        return Ok(None);
    };
    Ok(Some(OurMerge {
        landed: rows.value(kind::LANDED, Some(&sha))?,
        landed_tests: rows.value(kind::LANDED_TESTS, Some(&sha))?,
        live_at: rows.value(kind::LIVE, Some(&sha))?,
        observed: rows.value(kind::OBSERVED, Some(&sha))?,
        sha,
        head,
        at,
        by,
    }))
}

/// A person's merge of our PR, as stored.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(in crate::steps) struct Adopted {
    pub(in crate::steps) sha: Sha,
    pub(in crate::steps) head: Sha,
    pub(in crate::steps) by: String,
}

/// The revert commit, as stored.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(in crate::steps) struct Revert {
    /// None when it conflicts.
    pub(in crate::steps) head: Option<Sha>,
    pub(in crate::steps) base: Sha,
    pub(in crate::steps) tree: Option<Sha>,
    pub(in crate::steps) restores: Restores,
    /// Nothing of the merge is left on that base.
    #[serde(default)]
    pub(in crate::steps) gone: bool,
}

pub(super) fn our_revert(rows: &Rows, effects: &Effects, id: &IncidentId) -> Result<Option<OurRevert>> {
    let Some(note) = effects.get(&keys::note(id)).filter(|row| row.is_done()) else {
        return Ok(None);
    };
    let mut made: Vec<Revert> = rows.values(kind::REVERT)?;
    let last = made.pop();
    let done = |prefix: &str| {
        effects
            .values()
            .find(|row| row.is_done() && row.key.starts_with(&format!("{prefix}:{id}")))
    };
    let head = last.as_ref().and_then(|m| m.head.clone());
    let pushed = head.as_ref().and_then(|head| effects.get(&keys::push_revert(id, head)));
    Ok(Some(OurRevert {
        why: text_of(note, "why").unwrap_or_default(),
        note: true,
        earlier: made.into_iter().filter_map(|m| m.head).collect(),
        base: last.as_ref().map(|m| m.base.clone()),
        tree: last.as_ref().and_then(|m| m.tree.clone()),
        restores: last.as_ref().map_or(Restores::No, |m| m.restores),
        gone: last.is_some_and(|m| m.gone),
        pushed: pushed.filter(|row| row.is_done()).map(|row| row.intended_at),
        pull: done("revert_pr").and_then(|row| Some(PullNumber(row.result.as_ref()?.get("number")?.as_u64()?))),
        merged: done("merge_revert").and_then(|row| sha_of(row, "sha")),
        head,
    }))
}

pub(super) fn told(effects: &Effects) -> BTreeSet<Status> {
    effects
        .values()
        .filter(|row| row.kind == EffectKind::Mail.prefix() && row.is_posted())
        .filter_map(|row| Status::parse(row.key.rsplit(':').next()?))
        .collect()
}

pub(super) fn done(effects: &Effects, rows: &Rows, id: &IncidentId) -> BTreeSet<String> {
    let mut done: BTreeSet<String> = effects
        .values()
        .filter(|row| row.is_done())
        .map(|row| row.key.clone())
        .collect();
    if rows.count(kind::AUTONOMY, None) > 0 {
        done.insert(format!("autonomy:{id}"));
    }
    if rows.count(kind::REVERT, None) > 0 {
        done.insert(format!("revert-tried:{id}"));
    }
    done
}
