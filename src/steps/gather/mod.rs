//! Facts of one incident, read from the store's rows. Derives nothing that `decide` could.

mod effects;
mod rows;
mod watch;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;

pub(super) use self::effects::{Adopted, Revert};
use self::{
    effects::{
        done, hindrances, our_merge, our_pull, our_revert, past_pulls, pushed, pushed_before, refused, rerun, told,
        witness,
    },
    rows::Rows,
};
use super::{Ctx, evidence::kind, flakes, look};
use crate::{
    decide::{
        dedup::BAD_LOOKS,
        facts::{AttemptFacts, ByCi, Cause, ClassRecord, Culprit, Facts, REVERT, Spend, Unavailable},
        security,
    },
    model::{
        IncidentId, Sha, Slot,
        incident::{Incident, IncidentOutcome, Triage},
    },
    store::{EvidenceRow, SignatureRow, SourceRow, Spent, Store},
};

/// Good looks in a row before a cause is over, where the owner says nothing else.
const CLEAR_LOOKS: u32 = 2;

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
    let known_flaky = flakes::in_ci(&store, &row, ctx.now())?;
    let triage = rows.rows.value::<Triage>(kind::TRIAGE, None)?;
    let record = record(&store, incident, triage.as_ref())?;
    Ok(Facts {
        incident: incident.clone(),
        failed_release: row.releases.last().cloned(),
        cause: Cause {
            flaky_before: known_flaky,
            suspect: suspect(&store, incident, &row)?,
            ..cause(
                ctx,
                &row,
                release.clone(),
                &symptoms(&store, id)?,
                store.lives(
                    &row.sig,
                    incident.opened_at - chrono::TimeDelta::days(1),
                    incident.opened_at,
                )?,
            )
        },
        triage_failures: rows.rows.failures(kind::TRIAGE_FAILED, None),
        triage_unavailable: rows.rows.unavailable(kind::TRIAGE_FAILED, None),
        last_attempt,
        attempts,
        triage,
        pushed: pushed(&effects, id),
        witness: witness(&effects, id),
        rerun: rerun(&rows.rows, &effects, id)?,
        culprit: rows.rows.value(kind::CULPRIT, None)?,
        pushed_before: pushed_before(&effects, id),
        pull: our_pull(&effects, id),
        past_pulls: past_pulls(&effects),
        revert: our_revert(&rows.rows, &effects, id)?,
        merge,
        told: told(&effects),
        done: done(&effects, &rows.rows, id),
        begun: effects
            .values()
            .filter(|row| row.outcome.is_none() && !row.waits())
            .map(|row| row.key.clone())
            .collect(),
        refused: refused(&effects),
        hindered: hindrances(&rows.rows)?,
        approved: rows.rows.value(kind::APPROVED, None)?,
        paused,
        frozen: store.flag("freeze")?,
        spent_usd: spend(spent),
        record,
        ours_serves: match &release {
            Some(release) => store.merged_by_us(&incident.repo)?.contains(release),
            None => false,
        },
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

/// The commit at which the forge's CI showed it first since it was last over. Only what its text names can be looked for in
/// the results of tests.
fn suspect(store: &Store, incident: &Incident, row: &SignatureRow) -> Result<Option<Sha>> {
    if row.red_run.is_none() || row.signed_text.is_none() {
        return Ok(None);
    }
    let last = match incident.id.generation() {
        0 | 1 => None,
        n => store.incident(&IncidentId::new(&incident.id.signature(), n - 1))?,
    };
    let over = last.and_then(|last| last.closed_at).unwrap_or(DateTime::UNIX_EPOCH);
    let seen = store.sightings(&row.sig, over)?;
    Ok(seen.into_iter().find_map(|seen| seen.release))
}

fn symptoms(store: &Store, id: &IncidentId) -> Result<Vec<SignatureRow>> {
    let mut rows = Vec::new();
    for sig in store.symptoms(id)? {
        rows.extend(store.signature(&sig)?);
    }
    Ok(rows)
}

fn cause(ctx: &Ctx, row: &SignatureRow, release: Option<Sha>, symptoms: &[SignatureRow], lives: u32) -> Cause {
    let unwatched = ctx.unwatched(row);
    // Of what is not looked at any more nothing is known.
    let symptoms: Vec<&SignatureRow> = symptoms.iter().filter(|s| ctx.unwatched(s).is_none()).collect();
    let down = |symptom: &&SignatureRow| {
        symptom.kind.is_symptom() && symptom.bad_ticks >= symptom.fire_after.unwrap_or(BAD_LOOKS)
    };
    Cause {
        signature: row.sig.clone(),
        title: row.title.clone(),
        label: row.label.clone(),
        kind: row.kind,
        severity: row.severity,
        culprit: row.culprit.clone(),
        first_seen: row.first_seen,
        last_seen: ctx.past(row.last_seen),
        count: row.count,
        release,
        ignored_until: row.ignored_until,
        // It is not over while a symptom of it is there. What a provider's incident explained opens by itself then.
        quiet_looks: symptoms
            .iter()
            .filter(|_| look::provider(row).is_none())
            .map(|s| s.quiet_looks)
            .fold(unwatched.as_ref().map_or(row.quiet_looks, |_| u32::MAX), u32::min),
        clear_after: row.clear_after.unwrap_or(CLEAR_LOOKS),
        lives,
        is_down: row.kind.is_symptom() || symptoms.iter().any(down),
        unwatched,
        security: security(row).map(str::to_owned),
        red_run: row.red_run.clone(),
        flaky_before: false,
        points_at_code: row.signed_text.is_some() || row.culprit.is_some(),
        suspect: None,
    }
}

fn security(row: &SignatureRow) -> Option<&'static str> {
    let texts = [&row.title, &row.template]
        .into_iter()
        .chain(&row.signed_text)
        .chain(&row.samples);
    security::smell(texts.map(String::as_str))
}

fn attempts(store: &Store, id: &IncidentId, rows: &SinceRetry) -> Result<Vec<AttemptFacts>> {
    let culprit = rows.rows.value::<Culprit>(kind::CULPRIT, None)?;
    store
        .attempts(id)?
        .into_iter()
        .filter(|attempt| rows.retried_at.is_none_or(|at| attempt.started >= at))
        .map(|attempt| {
            let head = attempt.head.clone();
            let rows = &rows.rows;
            Ok(AttemptFacts {
                tree: by_head(rows, kind::TREE, head.as_ref())?,
                sandbox: head
                    .as_ref()
                    .map(|head| rows.word(kind::TREE, head))
                    .unwrap_or_default(),
                rebases: by_head::<Rebased>(rows, kind::REBASED, head.as_ref())?.map_or(0, |r| r.times),
                guards: by_head(rows, kind::GUARDS, head.as_ref())?,
                proof: by_head(rows, kind::PROOF, head.as_ref())?,
                audit: by_head(rows, kind::AUDIT, head.as_ref())?,
                audit_failures: head
                    .as_ref()
                    .map_or(0, |head| rows.failures(kind::AUDIT_FAILED, Some(head))),
                audit_unavailable: head.as_ref().map_or_else(Unavailable::default, |head| {
                    rows.unavailable(kind::AUDIT_FAILED, Some(head))
                }),
                ci: ByCi {
                    witness: by_head(rows, kind::CI_WITNESS, head.as_ref())?,
                    reports: rows.heads(kind::CI_REPORT),
                    red: head
                        .as_ref()
                        .is_some_and(|head| rows.count(kind::CI_RED, Some(head)) > 0),
                },
                ci_failed: by_head(rows, kind::CI_FAILED, head.as_ref())?,
                takes_back: (attempt.agent == REVERT).then(|| culprit.clone()).flatten(),
                attempt,
            })
        })
        .collect()
}

/// A replay onto a moved base, as stored with the head that it made.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Rebased {
    pub(super) from: Sha,
    pub(super) onto: Sha,
    /// The how manieth of this attempt. A process that dies before the attempt names the new head stores it twice.
    pub(super) times: u32,
}

fn by_head<T: DeserializeOwned>(rows: &Rows, kind: &str, head: Option<&Sha>) -> Result<Option<T>> {
    match head {
        Some(head) => rows.value(kind, Some(head)),
        None => Ok(None),
    }
}

/// How earlier fixes of this class in this repo ended.
fn record(store: &Store, incident: &Incident, triage: Option<&Triage>) -> Result<ClassRecord> {
    let mut record = ClassRecord::default();
    let Some(class) = triage.map(|t| t.failure_type) else {
        return Ok(record);
    };
    for ended in store.ended(&incident.repo)? {
        let same = ended.triage.and_then(|t| serde_json::from_value::<Triage>(t).ok());
        if ended.id == incident.id || same.is_none_or(|t| t.failure_type != class) {
            continue;
        }
        match ended.outcome {
            IncidentOutcome::Resolved => record.merged += 1,
            IncidentOutcome::TakenBack => record.taken_back += 1,
            IncidentOutcome::Unconfirmed
            | IncidentOutcome::Declined
            | IncidentOutcome::Gone
            | IncidentOutcome::Noise
            | IncidentOutcome::Ignored
            | IncidentOutcome::Unwatched
            | IncidentOutcome::Escalated => {}
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

/// When what reports it was last read in full: the source, or of one that is blind in parts the part.
fn source_ok(sources: &[SourceRow], row: &SignatureRow) -> Option<DateTime<Utc>> {
    let part_is_read = |source: &SourceRow| {
        let part = row.part.as_ref().filter(|_| !source.blind.is_empty());
        part.is_some_and(|part| !source.blind.contains_key(part))
    };
    sources
        .iter()
        .filter(|s| s.repo == row.repo && s.target == row.target && s.collector == row.source)
        .filter_map(|s| if part_is_read(s) { s.last_look_at } else { s.last_ok_at })
        .min()
}

#[cfg(test)]
mod tests;
