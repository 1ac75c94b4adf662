//! Judges a stored tick again, by today's code and configuration: gate, signatures, standing of each cause, and every turn
//! of every incident. Reads the home, writes nothing, asks nobody.

mod today;

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use self::today::Rejudged;
use super::{Ctx, gate, look::gate_word};
use crate::{
    decide::{
        dedup::{self, Group, Known, Standing},
        facts::{Facts, Policy, Seen},
        hold, next,
    },
    exit::{Exit, Fault},
    model::signal::{Snapshot, Stood, StoodHeld},
    render::replay::{Difference, Judged, Replay, shown},
    store::{
        DecisionRow, files,
        snapshots::{self, LATEST},
    },
    text,
};

const CONFIG: &str = "today's configuration";
/// Ticks that are named when one is not there.
const NAMED: usize = 8;

/// The tick of this id, of an id that begins so, or the `latest`.
pub async fn replay(ctx: &Ctx, named: &str) -> Result<Replay> {
    let (file, snapshot) = stored(ctx, named)?;
    let mut replay = Replay::new(&snapshot, file.file_name().is_some_and(|name| name == LATEST));
    let recorded = ctx.store().gate_of(&snapshot.tick)?;
    let (then, digest) = recorded.unwrap_or_default();
    replay.genuine = is_genuine(&snapshot, &digest)?;
    replay.signatures = signatures(&snapshot);
    let tick = snapshot.tick.clone();
    let rejudged = Rejudged::new(ctx, snapshot)?;
    replay.seen = rejudged.signals();
    let now = gate_word(&gate::gate(&ctx.config, &rejudged.now).await);
    if then != now {
        let by_gate = gate_word(&gate::gate(&ctx.config, &rejudged.then).await) == now;
        let differs = Difference::new(then.clone(), now);
        replay.gate = Some(match rejudged.why(|_| true).filter(|_| !by_gate) {
            Some(why) => differs.because(why),
            None => differs.because("today's gate"),
        });
    }
    replay.gate_then = then;
    replay.causes = judge_all(rejudged.then.stood.iter().map(|stood| again(ctx, &rejudged, stood)));
    let turns = ctx.store().decisions_of(&tick)?;
    let mut judged = Vec::new();
    for (id, row) in &turns {
        judged.push((format!("incident {id} turn {}", row.turn), turn(ctx, row)?));
    }
    replay.turns = judge_all(judged.into_iter());
    Ok(replay)
}

fn stored(ctx: &Ctx, named: &str) -> Result<(PathBuf, Snapshot)> {
    let dir = &ctx.config.home.signals;
    let latest = dir.join(LATEST);
    let read = |file: PathBuf| -> Result<(PathBuf, Snapshot)> {
        let snapshot = snapshots::read(&file).map_err(|error| {
            let fault = Fault::new(Exit::CouldNot, format!("read the snapshot {}: {error}", file.display()));
            fault.advise("a snapshot that was edited or written by a newer tick cannot be replayed")
        })?;
        Ok((file, snapshot))
    };
    if named == "latest" && latest.exists() {
        let (file, snapshot) = read(latest)?;
        // What is kept of a tick also says how each cause was judged.
        let kept = dir.join(format!("{}.json.zst", snapshot.tick));
        if let Ok((file, full)) = read(kept) {
            let mut plain = full.clone();
            plain.stood.clear();
            if plain == snapshot {
                return Ok((file, full));
            }
        }
        return Ok((file, snapshot));
    }
    let kept = files::list(dir).with_context(|| format!("list {}", dir.display()))?;
    let mut ids: Vec<String> = kept
        .into_iter()
        .filter_map(|(name, _)| name.strip_suffix(".json.zst").map(str::to_owned))
        .collect();
    ids.sort();
    let fits: Vec<&String> = ids.iter().filter(|id| id.starts_with(named)).collect();
    let exact = fits.iter().copied().find(|id| *id == named);
    if let Some(id) = exact.or_else(|| (fits.len() == 1).then(|| fits[0])) {
        return read(dir.join(format!("{id}.json.zst")));
    }
    // The last look is kept whatever it saw.
    if fits.is_empty()
        && let Ok((file, snapshot)) = read(latest)
        && snapshot.tick.as_str().starts_with(named)
    {
        return Ok((file, snapshot));
    }
    Err(missing(named, &fits, &ids).into())
}

fn missing(named: &str, fits: &[&String], kept: &[String]) -> Fault {
    let fault = if fits.is_empty() {
        Fault::new(Exit::Usage, format!("there is no snapshot of a tick {named:?}"))
            .advise("kept for 14 days are those of ticks that woke or were blind, and the latest")
    } else {
        Fault::new(Exit::Usage, format!("{named:?} begins the ids of {} ticks", fits.len()))
    };
    let last: Vec<&str> = kept.iter().rev().take(NAMED).map(String::as_str).collect();
    if last.is_empty() {
        fault
    } else {
        fault.advise(format!("kept are, newest first: {}", last.join(", ")))
    }
}

/// Is it, without what was added when it was kept, what the gate was asked about? None where no digest was recorded.
fn is_genuine(snapshot: &Snapshot, digest: &str) -> Result<Option<bool>> {
    if digest.is_empty() {
        return Ok(None);
    }
    let mut plain = snapshot.clone();
    plain.stood.clear();
    Ok(Some(snapshots::encode(&plain)?.digest == digest))
}

/// Texts are signed anew only where the rules are others: what is stored of a long text is a part of it.
fn signatures(snapshot: &Snapshot) -> Judged {
    let mut judged = Judged::default();
    if snapshot.signed_by == text::signature::VERSION {
        judged.same = snapshot.signals.len();
        return judged;
    }
    for signal in &snapshot.signals {
        let now = text::sign(signal.signed_text()).signature;
        if signal.kind.is_symptom() || now == signal.signature {
            judged.same += 1;
        } else {
            let what = format!("a text in {}", signal.repo);
            let (then, now) = (signal.signature.short().to_owned(), now.short().to_owned());
            judged.differ.push((what, Difference::new(then, now)));
        }
    }
    judged
}

/// None: what is stored was written by another version, and cannot be judged.
type Again = Option<Option<Difference>>;

fn judge_all(all: impl Iterator<Item = (String, Again)>) -> Judged {
    let mut judged = Judged::default();
    for (what, again) in all {
        match again {
            None => judged.unreadable += 1,
            Some(None) => judged.same += 1,
            Some(Some(difference)) => judged.differ.push((what, difference)),
        }
    }
    judged
}

fn again(ctx: &Ctx, rejudged: &Rejudged, stood: &Stood) -> (String, Again) {
    let text = |key: &str| {
        let value = stood.group.get(key).and_then(Value::as_str);
        value.unwrap_or("?").chars().take(16).collect::<String>()
    };
    let what = format!(
        "cause {} in {}",
        text("signature").get(..8).unwrap_or("?"),
        text("repo")
    );
    let group: Option<Group> = read(&stood.group);
    let known: Option<Option<Known>> = read(&stood.known);
    let again = group
        .zip(known)
        .map(|(group, known)| standing(ctx, rejudged, stood, &group, known.as_ref()));
    (what, again)
}

/// By today's code, with the settings of then; else by those of today, with what is held back now.
fn standing(ctx: &Ctx, rejudged: &Rejudged, stood: &Stood, group: &Group, known: Option<&Known>) -> Option<Difference> {
    let word = |standing: &Standing| serde_json::to_value(standing).unwrap_or_default();
    let by_code = dedup::standing(group, known);
    if let Some(differs) = differs(&stood.standing, &word(&by_code)) {
        return Some(differs.because("today's code"));
    }
    let held = |standing: Standing, is_held: bool| if is_held { hold::held(standing) } else { standing };
    let then = held(by_code, stood.held.is_some());
    let (group, why) = rejudged.group(ctx, group);
    let Some(group) = group else {
        let now = Value::String("nothing: no signal is left of it".to_owned());
        return differs(&word(&then), &now).map(|differs| differs.because(why.as_deref().unwrap_or(CONFIG)));
    };
    let holds = rejudged.holds(ctx, &group, stood.held.as_ref());
    let now = held(dedup::standing(&group, known), holds.is_some());
    let why = holds.or(why).or_else(|| {
        let ended = stood.held.as_ref()?;
        Some(match ended {
            StoodHeld::Silence => "no silence is over it".to_owned(),
            StoodHeld::Deployment(_) => "its deploy_grace_minutes".to_owned(),
        })
    });
    differs(&word(&then), &word(&now)).map(|differs| differs.because(why.as_deref().unwrap_or(CONFIG)))
}

/// What a turn was decided by.
#[derive(Deserialize)]
struct Recorded {
    facts: Facts,
    seen: Seen,
    policy: Policy,
    now: chrono::DateTime<chrono::Utc>,
}

/// By today's code, with the policy of then and with the one that the configuration makes now.
fn turn(ctx: &Ctx, row: &DecisionRow) -> Result<Again> {
    let Some(recorded) = read::<Recorded>(&row.facts) else {
        return Ok(None);
    };
    let decide = |facts: &Facts, policy: &Policy| {
        let next = next::next(facts, &recorded.seen, policy, recorded.now);
        serde_json::to_value(next).unwrap_or_default()
    };
    let code = differs(&row.action, &decide(&recorded.facts, &recorded.policy));
    if code.is_some() {
        return Ok(Some(code.map(|difference| difference.because("today's code"))));
    }
    let now = match ctx.config.repo(&recorded.facts.incident.repo) {
        Some(repo) => decide(&today::facts(ctx, &recorded.facts)?, &ctx.policy(repo)?),
        None => Value::String("nothing: its repo is not in the configuration".to_owned()),
    };
    let config = differs(&row.action, &now);
    Ok(Some(config.map(|difference| difference.because(CONFIG))))
}

fn differs(then: &Value, now: &Value) -> Option<Difference> {
    (then != now).then(|| Difference::new(shown(then), shown(now)))
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}
