//! Facts of one incident, read from the store's rows. Derives nothing that `decide` could.

mod watch;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;

use super::{
    Ctx,
    effect::EffectKind,
    evidence::kind,
    hindered::{self, Hindrance},
};
use crate::{
    decide::{
        facts::{
            AttemptFacts, Cause, ClassRecord, Facts, Hindered, OurMerge, OurPull, OurRevert, Pushed, Spend, Status,
            Unavailable, keys,
        },
        merge::Restores,
    },
    model::{
        IncidentId, PullNumber, Sha, Slot,
        incident::{Incident, IncidentOutcome, Triage},
    },
    store::{EffectRow, EvidenceRow, SignatureRow, SourceRow, Spent, Store},
};

/// Evidence of one incident with typed access.
struct Rows {
    evidence: Vec<EvidenceRow>,
}

impl Rows {
    fn last<T: DeserializeOwned>(&self, kind: &str, head: Option<&Sha>) -> Result<Option<(T, DateTime<Utc>)>> {
        self.evidence
            .iter()
            .rev()
            .find(|row| row.kind == kind && head.is_none_or(|head| row.head == head.as_str()))
            .map(|row| {
                let value = serde_json::from_value(row.detail.clone())
                    .with_context(|| format!("{kind} evidence does not read back"))?;
                Ok((value, row.at))
            })
            .transpose()
    }

    fn value<T: DeserializeOwned>(&self, kind: &str, head: Option<&Sha>) -> Result<Option<T>> {
        Ok(self.last(kind, head)?.map(|(value, _)| value))
    }

    fn word(&self, kind: &str, head: &Sha) -> String {
        let mut rows = self.evidence.iter().rev();
        let row = rows.find(|row| row.kind == kind && row.head == head.as_str());
        row.map(|row| row.verdict.clone()).unwrap_or_default()
    }

    /// All of a kind, oldest first.
    fn values<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>> {
        self.evidence
            .iter()
            .filter(|row| row.kind == kind)
            .map(|row| {
                serde_json::from_value(row.detail.clone())
                    .with_context(|| format!("{kind} evidence does not read back"))
            })
            .collect()
    }

    fn count(&self, kind: &str, head: Option<&Sha>) -> u32 {
        u32::try_from(self.of(kind, head).count()).unwrap_or(u32::MAX)
    }

    fn of(&self, kind: &str, head: Option<&Sha>) -> impl Iterator<Item = &EvidenceRow> {
        self.evidence
            .iter()
            .filter(move |row| row.kind == kind && head.is_none_or(|head| row.head == head.as_str()))
    }

    /// Answers of this kind that could not be used.
    fn failures(&self, kind: &str, head: Option<&Sha>) -> u32 {
        let unusable = self.of(kind, head).filter(|row| row.verdict != kind::UNAVAILABLE);
        u32::try_from(unusable.count()).unwrap_or(u32::MAX)
    }

    /// Questions of this kind that no agent could answer.
    fn unavailable(&self, kind: &str, head: Option<&Sha>) -> Unavailable {
        let mut out = Unavailable::default();
        for row in self.of(kind, head).filter(|row| row.verdict == kind::UNAVAILABLE) {
            out.times += 1;
            out.last = Some((row.at, row.detail.as_str().unwrap_or_default().to_owned()));
        }
        out
    }
}

/// Everything `decide` wants to know of an incident.
pub(super) fn facts(ctx: &Ctx, incident: &Incident) -> Result<Facts> {
    let store = ctx.store();
    let id = &incident.id;
    let rows = since_retry(store.evidence(id)?);
    let effects = store.effects(id)?;
    let row = store
        .signature(&id.signature())?
        .with_context(|| format!("incident {id} has no signature row"))?;
    let sources = store.sources()?;
    let release = release_of(&sources, &incident.repo);
    let merge = our_merge(&rows.rows, &effects, id)?;
    let spent = store.spent(id, ctx.now())?;
    let paused = [format!("pause:{}", incident.repo), "pause".to_owned()]
        .iter()
        .find_map(|name| store.flag(name).transpose())
        .transpose()?;
    let watch = match &merge {
        Some(merge) => watch::since_merge(&store, &row, &sources, merge, incident)?,
        None => None,
    };
    let elsewhere = match &merge {
        None => watch::since_release(&store, &row, &sources, incident)?,
        Some(_) => None,
    };
    let last_attempt = store.attempts(id)?.iter().map(|a| a.n).max().unwrap_or(0);
    let attempts = attempts(&store, id, &rows)?;
    Ok(Facts {
        incident: incident.clone(),
        cause: cause(&row, release),
        triage: rows.rows.value::<Triage>(kind::TRIAGE, None)?,
        triage_failures: rows.rows.failures(kind::TRIAGE_FAILED, None),
        triage_unavailable: rows.rows.unavailable(kind::TRIAGE_FAILED, None),
        last_attempt,
        attempts,
        pushed: pushed(&effects, id),
        pushed_before: pushed_before(&effects, id),
        pull: our_pull(&effects, id),
        past_pulls: past_pulls(&effects),
        revert: our_revert(&rows.rows, &effects, id)?,
        merge,
        told: told(&effects),
        done: done(&effects, &rows.rows, id),
        begun: effects
            .values()
            .filter(|row| row.outcome.is_none())
            .map(|row| row.key.clone())
            .collect(),
        refused: refused(&effects),
        hindered: hindrances(&rows.rows)?,
        approved: rows.rows.value(kind::APPROVED, None)?,
        paused,
        frozen: store.flag("freeze")?,
        spent_usd: spend(spent),
        record: record(&store, incident)?,
        other_open_pulls: other_open_pulls(&store, incident)?,
        attempts_this_run: ctx.attempts_made.get(),
        source_ok_at: source_ok(&sources, &row),
        watch,
        elsewhere,
    })
}

pub(super) const fn spend(spent: Spent) -> Spend {
    Spend {
        incident: spent.incident_usd,
        day: spent.day_usd,
        month: spent.month_usd,
        day_runs: spent.day_runs,
    }
}

struct SinceRetry {
    rows: Rows,
    retried_at: Option<DateTime<Utc>>,
}

/// A person's retry makes what came before it history; triage stays.
fn since_retry(evidence: Vec<EvidenceRow>) -> SinceRetry {
    let retried_at = evidence.iter().rev().find(|r| r.kind == kind::RETRY).map(|r| r.at);
    let evidence = evidence
        .into_iter()
        .filter(|row| row.kind == kind::TRIAGE || retried_at.is_none_or(|at| row.at >= at))
        .collect();
    SinceRetry {
        rows: Rows { evidence },
        retried_at,
    }
}

fn cause(row: &SignatureRow, release: Option<Sha>) -> Cause {
    Cause {
        signature: row.sig.clone(),
        title: row.title.clone(),
        label: row.label.clone(),
        kind: row.kind,
        severity: row.severity,
        culprit: row.culprit.clone(),
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        count: row.count,
        release,
        ignored_until: row.ignored_until,
    }
}

fn attempts(store: &Store, id: &IncidentId, rows: &SinceRetry) -> Result<Vec<AttemptFacts>> {
    store
        .attempts(id)?
        .into_iter()
        .filter(|attempt| rows.retried_at.is_none_or(|at| attempt.started >= at))
        .map(|attempt| {
            let head = attempt.head.clone();
            let rows = &rows.rows;
            let of = |kind: &str| head.as_ref().map_or(0, |head| rows.count(kind, Some(head)));
            Ok(AttemptFacts {
                tree: by_head(rows, kind::TREE, head.as_ref())?,
                sandbox: head
                    .as_ref()
                    .map(|head| rows.word(kind::TREE, head))
                    .unwrap_or_default(),
                rebases: of(kind::REBASED),
                guards: by_head(rows, kind::GUARDS, head.as_ref())?,
                proof: by_head(rows, kind::PROOF, head.as_ref())?,
                audit: by_head(rows, kind::AUDIT, head.as_ref())?,
                audit_failures: head
                    .as_ref()
                    .map_or(0, |head| rows.failures(kind::AUDIT_FAILED, Some(head))),
                audit_unavailable: head.as_ref().map_or_else(Unavailable::default, |head| {
                    rows.unavailable(kind::AUDIT_FAILED, Some(head))
                }),
                ci_failed: by_head(rows, kind::CI_FAILED, head.as_ref())?,
                attempt,
            })
        })
        .collect()
}

fn by_head<T: DeserializeOwned>(rows: &Rows, kind: &str, head: Option<&Sha>) -> Result<Option<T>> {
    match head {
        Some(head) => rows.value(kind, Some(head)),
        None => Ok(None),
    }
}

type Effects = BTreeMap<String, EffectRow>;

fn text_of(row: &EffectRow, field: &str) -> Option<String> {
    row.result.as_ref()?.get(field)?.as_str().map(str::to_owned)
}

fn sha_of(row: &EffectRow, field: &str) -> Option<Sha> {
    Sha::parse(&text_of(row, field)?).ok()
}

fn refused(effects: &Effects) -> BTreeMap<String, String> {
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
fn hindrances(rows: &Rows) -> Result<BTreeMap<String, Hindered>> {
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

fn pushed(effects: &Effects, id: &IncidentId) -> Option<Pushed> {
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

fn pushed_before(effects: &Effects, id: &IncidentId) -> BTreeSet<Sha> {
    effects
        .values()
        .filter(|row| row.is_done() && row.key.starts_with(&format!("push:{id}/")))
        .filter_map(|row| sha_of(row, "head"))
        .collect()
}

fn our_pull(effects: &Effects, id: &IncidentId) -> Option<OurPull> {
    let row = effects.get(&keys::open_pull(id)).filter(|row| row.is_done())?;
    let result = row.result.as_ref()?;
    Some(OurPull {
        number: PullNumber(result.get("number")?.as_u64()?),
        url: text_of(row, "url")?,
        draft: result.get("draft")?.as_bool()?,
    })
}

fn past_pulls(effects: &Effects) -> BTreeSet<PullNumber> {
    effects
        .values()
        .filter(|row| row.is_done() && row.kind == EffectKind::OpenPull.prefix() && row.key.starts_with("past:"))
        .filter_map(|row| Some(PullNumber(row.result.as_ref()?.get("number")?.as_u64()?)))
        .collect()
}

fn our_merge(rows: &Rows, effects: &Effects, id: &IncidentId) -> Result<Option<OurMerge>> {
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
pub(super) struct Adopted {
    pub(super) sha: Sha,
    pub(super) head: Sha,
    pub(super) by: String,
}

/// The revert commit, as stored.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Revert {
    /// None when it conflicts.
    pub(super) head: Option<Sha>,
    pub(super) base: Sha,
    pub(super) tree: Option<Sha>,
    pub(super) restores: Restores,
    /// Nothing of the merge is left on that base.
    #[serde(default)]
    pub(super) gone: bool,
}

fn our_revert(rows: &Rows, effects: &Effects, id: &IncidentId) -> Result<Option<OurRevert>> {
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

fn told(effects: &Effects) -> BTreeSet<Status> {
    effects
        .values()
        .filter(|row| row.kind == EffectKind::Mail.prefix() && row.is_posted())
        .filter_map(|row| Status::parse(row.key.rsplit(':').next()?))
        .collect()
}

fn done(effects: &Effects, rows: &Rows, id: &IncidentId) -> BTreeSet<String> {
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

/// How earlier fixes of this class in this repo ended.
fn record(store: &Store, incident: &Incident) -> Result<ClassRecord> {
    let mut record = ClassRecord::default();
    for other in store.recent_incidents(500)? {
        if other.repo != incident.repo || other.id == incident.id {
            continue;
        }
        match other.outcome {
            Some(IncidentOutcome::Resolved) if other.id != incident.id => record.merged += 1,
            Some(IncidentOutcome::TakenBack) => record.taken_back += 1,
            Some(_) | None => {}
        }
    }
    Ok(record)
}

fn other_open_pulls(store: &Store, incident: &Incident) -> Result<u32> {
    let mut n = 0;
    for other in store.open_incidents()? {
        if other.repo != incident.repo || other.id == incident.id {
            continue;
        }
        let effects = store.effects(&other.id)?;
        let merged = effects.values().any(|row| row.is_done() && row.kind == "merge");
        if our_pull(&effects, &other.id).is_some() && !merged {
            n += 1;
        }
    }
    Ok(n)
}

fn release_of(sources: &[SourceRow], repo: &Slot) -> Option<Sha> {
    newest_release(sources, repo).map(|(_, sha)| sha)
}

fn newest_release(sources: &[SourceRow], repo: &Slot) -> Option<(DateTime<Utc>, Sha)> {
    sources
        .iter()
        .filter(|s| s.repo == *repo)
        .filter_map(|s| Some((s.release_since?, s.release.clone()?)))
        .max()
}

fn source_ok(sources: &[SourceRow], row: &SignatureRow) -> Option<DateTime<Utc>> {
    sources
        .iter()
        .filter(|s| s.repo == row.repo && s.target == row.target && s.collector == row.source)
        .filter_map(|s| s.last_ok_at)
        .min()
}
