//! What users have of an incident, before what caused it: which of the things that belong to it is the worst, since when, and
//! what was measured of each.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Ctx, holds::down_since, look, title_line};
use crate::{
    collect::CI_IS_RED,
    model::{IncidentId, incident::Incident, signal::SignalKind},
    render::{
        mail::{How, Line, Times, broken},
        title::quoted,
    },
    store::{Sighting, SignatureRow},
    text::Untrusted,
};

/// Things that are measured one by one, and titles that are named in a line.
const LINES: usize = 12;
const NAMED: usize = 3;
/// Between two sights of one outage there is no more time than this.
const ONE_OUTAGE: TimeDelta = TimeDelta::hours(1);
/// What is seen by one look and not by the next differs by so much.
const ONE_LOOK: TimeDelta = TimeDelta::minutes(10);

pub(super) struct Felt {
    /// `shop is down`.
    pub(super) broken: String,
    /// Since when that is so.
    pub(super) since: DateTime<Utc>,
    /// `home: HTTP 500; ValueError in cart.py:3`.
    pub(super) shown: String,
    /// What was measured of each thing that belongs to it, what is felt first.
    pub(super) lines: Vec<Line>,
    /// Things of which no line stands there.
    pub(super) more: usize,
    /// What else is there and is not named by what shows it.
    pub(super) also: Vec<String>,
    /// What belongs to it and is well again, and when it was seen last.
    pub(super) well: Vec<(String, DateTime<Utc>)>,
    /// The texts of what is felt, the worst first, and of the cause.
    pub(super) samples: Vec<String>,
    /// The last look or event that showed any of it.
    pub(super) last: DateTime<Utc>,
}

/// One thing that belongs to an incident.
struct Part {
    row: SignatureRow,
    title: String,
    since: DateTime<Utc>,
    line: Line,
    last: DateTime<Utc>,
}

/// A page that is down comes before the error that came with it. Of an incident that is `over` all that was seen while it
/// was open is told, else only what is there.
pub(super) fn felt(ctx: &Ctx, incident: &Incident, row: &SignatureRow, over: bool) -> Result<Felt> {
    let cause = part(ctx, incident, row.clone())?;
    let (mut worse, mut also, mut well) = (Vec::new(), Vec::new(), Vec::new());
    let joined = ctx.store().symptoms(&incident.id)?;
    for sig in joined {
        let symptom = ctx.store().signature(&sig)?;
        let Some(symptom) = symptom else { continue };
        let watched = ctx.unwatched(&symptom).is_none();
        let counts = (symptom.bad_ticks > 0 && watched) || (over && symptom.last_seen >= incident.opened_at);
        if !counts {
            let was_there = symptom.last_seen >= incident.opened_at - ONE_OUTAGE;
            if watched && was_there && symptom.quiet_looks >= look::OVER_LOOKS && !is_alike(&symptom, row) {
                well.push((title_line(ctx, &symptom), symptom.last_seen));
            }
            continue;
        }
        let is_worse = symptom.severity > row.severity;
        let symptom = part(ctx, incident, symptom)?;
        if is_worse {
            worse.push(symptom);
        } else {
            also.push(symptom);
        }
    }
    // A page that is well again is not what is broken, where another one still is.
    let is_well = !over && (row.kind.is_symptom() || look::family(row).is_some()) && row.bad_ticks == 0;
    if is_well && worse.is_empty() {
        std::mem::swap(&mut worse, &mut also);
    }
    worse.sort_by_key(|part| (std::cmp::Reverse(part.row.severity), part.since));
    let lead = worse.first().unwrap_or(&cause);
    let mut felt = Felt {
        broken: what_is_broken(&lead.row),
        since: lead.since,
        shown: String::new(),
        lines: Vec::new(),
        more: 0,
        also: Vec::new(),
        well,
        samples: Vec::new(),
        last: cause.last,
    };
    let titles: Vec<String> = worse.iter().map(|part| part.title.clone()).collect();
    felt.shown = some_of(&titles);
    if !is_well || worse.is_empty() {
        let own = cause.title.trim_start_matches(CI_IS_RED);
        let alike = also.iter().filter(|part| is_alike(&part.row, row)).count();
        let own = match alike {
            0 => own.to_owned(),
            n => format!("{own} and {n} more of its kind"),
        };
        felt.shown = if titles.is_empty() {
            own
        } else {
            format!("{}; {own}", felt.shown)
        };
    }
    let beside = also
        .iter()
        .filter(|part| part.row.bad_ticks > 0 && !is_alike(&part.row, row));
    felt.also = beside.map(|part| part.title.clone()).collect();
    if is_well && cause.row.quiet_looks >= look::OVER_LOOKS && look::family(row).is_none() && !worse.is_empty() {
        felt.well.push((cause.title.clone(), cause.row.last_seen));
    }
    // Which release did not come to serve, and which does, stands in no other line.
    let deploys = also.iter().filter(|part| part.row.kind == SignalKind::Deploy);
    let samples = worse.iter().chain(deploys).chain([&cause]);
    felt.samples = samples.filter_map(|part| part.row.samples.first().cloned()).collect();
    let parts: Vec<Part> = worse.into_iter().chain([cause]).chain(also).collect();
    let last = parts.iter().map(|part| part.last).max().unwrap_or(felt.last);
    for mut part in parts {
        part.line.how = how(ctx, &part, over.then_some(last));
        felt.last = felt.last.max(part.last);
        if over {
            felt.since = felt.since.min(part.since);
        }
        felt.lines.push(part.line);
    }
    felt.more = felt.lines.len().saturating_sub(LINES);
    felt.lines.truncate(LINES);
    Ok(felt)
}

/// What each of several causes is called; those of one name are told apart by their text.
pub(super) fn titles(ctx: &Ctx, rows: &[SignatureRow]) -> Vec<String> {
    let titles: Vec<String> = rows.iter().map(|row| title_line(ctx, row)).collect();
    let one = |(n, row): (usize, &SignatureRow)| {
        let title = &titles[n];
        let twice = titles.iter().filter(|other| *other == title).count() > 1;
        let said = row
            .samples
            .first()
            .and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
        match said.filter(|_| twice) {
            Some(said) => {
                let class = title.split(' ').next().unwrap_or_default();
                let said = said.strip_prefix(class).unwrap_or(said).trim_start_matches([':', ' ']);
                Untrusted::new(&format!("{title}: {}", quoted(said)), &ctx.redactor).line(200)
            }
            None => title.clone(),
        }
    };
    rows.iter().enumerate().map(one).collect()
}

/// `a; b; c and 9 more`.
pub(super) fn some_of(titles: &[String]) -> String {
    let named = titles.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    match titles.len().saturating_sub(NAMED) {
        0 => named,
        n => format!("{named} and {n} more"),
    }
}

/// Where all is over: only what was over before the rest is told as that.
fn how(ctx: &Ctx, part: &Part, over: Option<DateTime<Utc>>) -> How {
    let before_the_rest = over.is_none_or(|last| last - part.last >= ONE_LOOK);
    if ctx.unwatched(&part.row).is_some() {
        How::Unwatched
    } else if part.row.quiet_looks >= look::OVER_LOOKS && before_the_rest {
        How::Well(part.last)
    } else {
        How::Stands
    }
}

fn is_alike(row: &SignatureRow, cause: &SignatureRow) -> bool {
    let family = look::family(cause);
    family.is_some() && look::family(row) == family
}

/// What was measured of one of them.
pub(super) fn line(ctx: &Ctx, incident: &Incident, row: &SignatureRow) -> Result<Line> {
    Ok(part(ctx, incident, row.clone())?.line)
}

fn part(ctx: &Ctx, incident: &Incident, row: SignatureRow) -> Result<Part> {
    let life = life(ctx, incident, &row)?;
    let title = title_line(ctx, &row);
    // What stands is counted in looks, what happens in events.
    let times = if stands(row.kind) && life.count == life.looks {
        Times::Looks(life.looks)
    } else {
        Times::Events(life.count)
    };
    Ok(Part {
        line: Line {
            title: title.clone(),
            times,
            since: life.since,
            how: How::Stands,
        },
        title,
        since: life.since,
        last: life.last,
        row,
    })
}

/// It is there or not, and no event: a look that sees it is a sight of it, whenever its source dates it.
const fn stands(kind: SignalKind) -> bool {
    match kind {
        SignalKind::Health | SignalKind::Probe | SignalKind::Deploy | SignalKind::Ci | SignalKind::Alert => true,
        SignalKind::Log | SignalKind::Exception | SignalKind::Session | SignalKind::Task => false,
    }
}

/// What is broken: the repo, or one of its several targets.
pub(super) fn place(row: &SignatureRow) -> String {
    if row.target == row.repo.as_str() {
        row.repo.to_string()
    } else {
        format!("{}/{}", row.repo, row.target)
    }
}

/// `shop is down`, of one cause.
pub(super) fn what_is_broken(row: &SignatureRow) -> String {
    let place = place(row);
    match look::provider(row) {
        Some(provider) => format!("{place} depends on what {provider} serves, which has an incident"),
        // What a program of the owner's looks at may be anything.
        None if row.source == "exec" && row.kind.is_symptom() => format!("a check of {place} fails"),
        None => broken(&place, of_kind(row), row.severity),
    }
}

/// A build that a platform makes is part of a deployment; nobody looked at the default branch.
fn of_kind(row: &SignatureRow) -> SignalKind {
    match row.kind {
        SignalKind::Ci if row.source != "actions" => SignalKind::Deploy,
        kind => kind,
    }
}

/// One life of a cause: since it is there, without what was before it was over last time.
pub(super) struct Life {
    pub(super) since: DateTime<Utc>,
    pub(super) last: DateTime<Utc>,
    pub(super) count: u64,
    looks: u64,
}

pub(super) fn life(ctx: &Ctx, incident: &Incident, row: &SignatureRow) -> Result<Life> {
    let before = match incident.id.generation() {
        0 | 1 => None,
        n => ctx
            .store()
            .incident(&IncidentId::new(&incident.id.signature(), n - 1))?,
    };
    let over = before.and_then(|before| before.closed_at);
    let mut since = over.map_or(row.first_seen, |over| over.max(row.first_seen));
    if is_dated_by_looks(row.kind) {
        let outage = outage_since(ctx, incident, row)?;
        since = over.map_or(outage, |over| over.max(outage));
    }
    let seen = ctx.store().sightings(&row.sig, since)?;
    if over.is_some() && !is_dated_by_looks(row.kind) {
        since = seen.first().map_or(since, |first| first.from.max(since));
    }
    let looked = if stands(row.kind) {
        ctx.store().last_look(&row.sig)?
    } else {
        None
    };
    let whole = over.is_none() && !is_dated_by_looks(row.kind);
    Ok(Life {
        since,
        last: looked.unwrap_or(row.last_seen).max(row.last_seen),
        count: if whole {
            row.count
        } else {
            seen.iter().fold(0, |all, s| all.saturating_add(s.count))
        },
        looks: u64::try_from(seen.len()).unwrap_or(u64::MAX),
    })
}

/// The first sight of what is named by its place says nothing: it may have failed once, days ago.
const fn is_dated_by_looks(kind: SignalKind) -> bool {
    matches!(kind, SignalKind::Health | SignalKind::Probe | SignalKind::Deploy)
}

/// When the outage began for which the incident is open: the first of the looks in a row that see it, or, where it is well
/// again, the first of those that saw it around the time when the incident opened.
fn outage_since(ctx: &Ctx, incident: &Incident, row: &SignatureRow) -> Result<DateTime<Utc>> {
    if row.bad_ticks > 0 {
        return down_since(ctx, row);
    }
    let seen = ctx
        .store()
        .sightings(&row.sig, incident.opened_at - TimeDelta::days(1))?;
    let (before, after): (Vec<&Sighting>, Vec<&Sighting>) = seen.iter().partition(|s| s.from <= incident.opened_at);
    let mut since = match (before.last(), after.first()) {
        (Some(last), _) if last.from >= incident.opened_at - ONE_OUTAGE => last.from,
        (_, Some(first)) => first.from,
        (Some(last), None) => last.from,
        (None, None) => return Ok(row.last_seen),
    };
    for sighting in before.iter().rev() {
        if since - sighting.from <= ONE_OUTAGE {
            since = since.min(sighting.from);
        }
    }
    Ok(since)
}
