//! What was seen of a cause before and since a release: the counts behind "gone", "still there" and "worse".

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Rows, newest_release, source_ok};
use crate::{
    decide::{
        facts::{Elsewhere, OtherRate, OurMerge, Watch},
        observation::rate_per_hour,
    },
    model::{Sha, Signature, evidence::GuardReport, incident::Incident},
    steps::evidence::kind,
    store::{SignatureRow, SourceRow, Store},
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
            seen: seen.after,
            new: other.first_seen >= merge.at,
            in_our_diff: other
                .culprit
                .as_ref()
                .is_some_and(|c| changed.iter().any(|path| is_file(&c.file, path))),
            samples: seen.samples,
        });
    }
    Ok(Some(Watch {
        rate_before: of_cause.rate_before,
        seen: of_cause.after,
        samples: of_cause.samples,
        requests: None,
        looked_until,
        others,
        probe_down_samples: probe_down(store, incident, live_at)?,
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
            seen: seen.after,
            samples: seen.samples,
            requests: None,
            looked_until,
            others: Vec::new(),
            probe_down_samples: 0,
        },
        release,
    }))
}

struct SeenOf {
    rate_before: f64,
    after: u64,
    samples: u32,
}

/// Where before ends and after begins.
struct Split<'a> {
    at: DateTime<Utc>,
    release: &'a Sha,
    live_at: DateTime<Utc>,
}

fn seen_of(store: &Store, sig: &Signature, split: &Split<'_>) -> Result<SeenOf> {
    let sightings = store.sightings(sig, split.at - TimeDelta::days(7))?;
    let before: Vec<_> = sightings.iter().filter(|s| s.at <= split.at).collect();
    let events = before.iter().map(|s| s.count).sum();
    let first = before.first().map_or(split.at, |s| s.from);
    let last = before.last().map_or(split.at, |s| s.at);
    // Until the last look before the merge: the silence between that look and the merge was not watched.
    let rate_before = rate_per_hour(events, last - first);
    let after: Vec<_> = sightings
        .iter()
        .filter(|s| match &s.release {
            Some(release) => release == split.release && s.at > split.live_at,
            None => s.from >= split.live_at,
        })
        .collect();
    Ok(SeenOf {
        rate_before,
        after: after.iter().map(|s| s.count).sum(),
        samples: u32::try_from(after.len()).unwrap_or(u32::MAX),
    })
}

/// Samples in a row in which a probe that is down now has been down since the release serves.
fn probe_down(store: &Store, incident: &Incident, live_at: DateTime<Utc>) -> Result<u32> {
    let mut worst = 0;
    for row in store.all_signatures()? {
        if row.repo == incident.repo && row.kind.is_symptom() && row.bad_ticks > 0 && row.first_seen >= live_at {
            worst = worst.max(row.bad_ticks);
        }
    }
    Ok(worst)
}
