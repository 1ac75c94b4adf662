//! What was seen of a cause before and since a release: the counts behind "gone", "still there" and "worse".

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Rows, newest_release, source_ok};
use crate::{
    decide::{
        facts::{Elsewhere, OtherRate, OurMerge, Watch},
        observation::{Batch, Counted, Split, counted, outage_samples},
    },
    model::{Sha, Signature, evidence::GuardReport, incident::Incident, signal::Severity},
    steps::evidence::kind,
    store::{Sighting, SignatureRow, SourceRow, Store},
};

/// Rates before the merge and counts since the release that carries it serves.
pub(super) fn since_merge(
    store: &Store,
    row: &SignatureRow,
    sources: &[SourceRow],
    merge: &OurMerge,
    incident: &Incident,
) -> Result<Option<Watch>> {
    let (Some(live_at), Some(looked_until)) = (merge.live_at, source_ok(sources, row)) else {
        return Ok(None);
    };
    let split = Split {
        at: merge.at,
        release: &merge.sha,
        live_at,
    };
    let of_cause = seen_of(store, &row.sig, &split)?;
    let changed = changed_by(store, incident, &merge.head)?;
    let mut others = Vec::new();
    for other in store.all_signatures()? {
        if other.repo != incident.repo || other.sig == row.sig || other.last_seen < live_at || other.kind.is_symptom() {
            continue;
        }
        let seen = seen_of(store, &other.sig, &split)?;
        others.push(OtherRate {
            signature: other.sig.clone(),
            rate_before: seen.rate_before,
            seen: seen.since,
            new: other.first_seen >= merge.at,
            in_our_diff: other
                .culprit
                .as_ref()
                .is_some_and(|c| changed.iter().any(|path| is_file(&c.file, path))),
            samples: seen.samples,
        });
    }
    let (probe_down_samples, probe_down) = probes(store, incident, &split)?;
    Ok(Some(Watch {
        rate_before: of_cause.rate_before,
        seen: of_cause.since,
        samples: of_cause.samples,
        requests: None,
        looked_until,
        others,
        probe_down_samples,
        probe_down,
    }))
}

/// Files that the merged head changed, as its guards saw them.
fn changed_by(store: &Store, incident: &Incident, head: &Sha) -> Result<Vec<String>> {
    let rows = Rows {
        evidence: store.evidence(&incident.id)?,
    };
    let change: Option<GuardReport> = rows.value(kind::GUARDS, Some(head))?;
    Ok(change.map(|change| change.paths).unwrap_or_default())
}

/// Does a frame's file name this path of the repository? A frame may carry the directory it was deployed to.
fn is_file(frame: &str, path: &str) -> bool {
    let frame = frame.trim_start_matches("./");
    frame == path || frame.strip_suffix(path).is_some_and(|before| before.ends_with('/'))
}

/// The cause since the newest release began to serve. Whether that release matters, `decide` says.
pub(super) fn since_release(
    store: &Store,
    row: &SignatureRow,
    sources: &[SourceRow],
    incident: &Incident,
) -> Result<Option<Elsewhere>> {
    let (Some((live_at, release)), Some(looked_until)) =
        (newest_release(sources, &incident.repo), source_ok(sources, row))
    else {
        return Ok(None);
    };
    let split = Split {
        at: live_at,
        release: &release,
        live_at,
    };
    let seen = seen_of(store, &row.sig, &split)?;
    Ok(Some(Elsewhere {
        live_at,
        watch: Watch {
            rate_before: seen.rate_before,
            seen: seen.since,
            samples: seen.samples,
            requests: None,
            looked_until,
            others: Vec::new(),
            probe_down_samples: 0,
            probe_down: probes(store, incident, &split)?.1,
        },
        release,
    }))
}

fn seen_of(store: &Store, sig: &Signature, split: &Split<'_>) -> Result<Counted> {
    let batches = batches(store, sig, split.at - TimeDelta::days(7))?;
    Ok(counted(&batches, split, store.last_look_before(split.at)?))
}

fn batches(store: &Store, sig: &Signature, since: DateTime<Utc>) -> Result<Vec<Batch>> {
    let sightings = store.sightings(sig, since)?.into_iter();
    let batch = |s: Sighting| Batch {
        from: s.from,
        at: s.at,
        count: s.count,
        release: s.release,
    };
    Ok(sightings.map(batch).collect())
}

/// In how many samples in a row a probe is down that was up before the merge, and whether any is down.
fn probes(store: &Store, incident: &Incident, split: &Split<'_>) -> Result<(u32, bool)> {
    let mut worst = 0;
    let mut down = false;
    for row in store.all_signatures()? {
        // A certificate that ends soon, or a slow answer, is no outage.
        if row.repo != incident.repo
            || !row.kind.is_symptom()
            || row.bad_ticks == 0
            || row.severity < Severity::Critical
        {
            continue;
        }
        down = true;
        let looks = batches(store, &row.sig, split.at)?;
        worst = worst.max(outage_samples(row.bad_ticks, &looks, split.live_at));
    }
    Ok((worst, down))
}
