//! What `tick replay` prints: what a stored tick decided, and where today's code or configuration would decide otherwise.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::{
    page::{Page, count},
    plan,
};
use crate::{model::signal::Snapshot, text::short};

/// Differences that are shown of one part.
const MOST: usize = 20;
const LONGEST: usize = 200;
const COLUMN: usize = 13;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    pub tick: String,
    pub at: DateTime<Utc>,
    /// Only the latest look: how it judged each cause is not kept with it.
    pub latest: bool,
    pub signals: usize,
    pub sources: usize,
    /// Sources that could not be read then.
    pub blind: Vec<String>,
    /// The snapshot is the one that the gate was asked about; none where that cannot be told.
    pub genuine: Option<bool>,
    pub gate_then: String,
    pub gate: Option<Difference>,
    /// What today's settings make of the single signals.
    pub seen: Judged,
    pub signatures: Judged,
    pub causes: Judged,
    pub turns: Judged,
}

/// What was judged again.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Judged {
    pub same: usize,
    pub differ: Vec<(String, Difference)>,
    /// Written by another version in a form that this one does not read.
    pub unreadable: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub then: String,
    pub now: String,
    /// What makes it, where that is known.
    pub by: Option<String>,
}

impl Difference {
    pub fn new(then: String, now: String) -> Self {
        Self { then, now, by: None }
    }

    #[must_use]
    pub fn because(mut self, by: &str) -> Self {
        self.by = Some(by.to_owned());
        self
    }
}

impl Replay {
    pub fn new(snapshot: &Snapshot, latest: bool) -> Self {
        Self {
            tick: snapshot.tick.to_string(),
            at: snapshot.started_at,
            latest,
            signals: snapshot.signals.len(),
            sources: snapshot.collectors.len(),
            blind: snapshot
                .blind()
                .map(|c| format!("{}/{} ({})", c.name, c.target, c.cause))
                .collect(),
            genuine: None,
            gate_then: String::new(),
            gate: None,
            seen: Judged::default(),
            signatures: Judged::default(),
            causes: Judged::default(),
            turns: Judged::default(),
        }
    }

    fn differences(&self) -> usize {
        let parts = [&self.seen, &self.signatures, &self.causes, &self.turns];
        usize::from(self.gate.is_some()) + parts.iter().map(|part| part.differ.len()).sum::<usize>()
    }
}

pub fn replay(replay: &Replay) -> String {
    let mut page = Page::default();
    let at = replay.at.format("%Y-%m-%d %H:%M:%S UTC");
    let verdict = match replay.differences() {
        0 => "today it would decide the same".to_owned(),
        n => format!("today it would decide otherwise in {}", count(n as u64, "place")),
    };
    page.paragraph(&format!("Tick {} of {at}: {verdict}.", replay.tick));
    page.blank();
    page.hanging("Snapshot", COLUMN, &snapshot(replay));
    let gate = match &replay.gate {
        None if replay.gate_then.is_empty() => "what it said then is not recorded".to_owned(),
        None => format!("the same: {}", cut(&replay.gate_then)),
        Some(differs) if replay.gate_then.is_empty() => format!("not recorded then; now {}", cut(&differs.now)),
        Some(differs) => format!("then {}; now {}{}", cut(&differs.then), cut(&differs.now), by(differs)),
    };
    page.hanging("Gate", COLUMN, &gate);
    part(&mut page, "Signals", "signal", &replay.seen);
    part(&mut page, "Signatures", "signal", &replay.signatures);
    part(&mut page, "Causes", "cause", &replay.causes);
    part(&mut page, "Decisions", "turn", &replay.turns);
    page.blank();
    page.line("Not seen by the recorder");
    for what in unseen(replay) {
        page.hanging("  -", 4, &what);
    }
    page.finish()
}

fn snapshot(replay: &Replay) -> String {
    let genuine = match replay.genuine {
        Some(true) => "as it was recorded",
        Some(false) => "NOT as it was recorded: it was changed, or written by another version",
        None => "no digest of it is recorded",
    };
    format!(
        "{} from {}, {genuine}",
        count(replay.signals as u64, "signal"),
        count(replay.sources as u64, "source")
    )
}

fn part(page: &mut Page, label: &str, noun: &str, judged: &Judged) {
    let all = judged.same + judged.differ.len();
    let mut text = match (all, judged.differ.len()) {
        (0, _) => format!("no {noun} to judge"),
        (_, 0) => format!("{}, the same", count(all as u64, noun)),
        (_, n) => format!("{n} of {} otherwise", count(all as u64, noun)),
    };
    if judged.unreadable > 0 {
        let n = count(judged.unreadable as u64, noun);
        let _ = write!(text, "; {n} of another version, not judged");
    }
    page.hanging(label, COLUMN, &text);
    for (what, differs) in judged.differ.iter().take(MOST) {
        let text = format!("{what}: then {}; now {}{}", differs.then, differs.now, by(differs));
        page.hanging("", COLUMN, &text);
    }
    if judged.differ.len() > MOST {
        page.hanging("", COLUMN, &format!("and {} more", judged.differ.len() - MOST));
    }
}

fn by(differs: &Difference) -> String {
    differs.by.as_ref().map(|by| format!(" (by {by})")).unwrap_or_default()
}

/// What a replay cannot know.
fn unseen(replay: &Replay) -> Vec<String> {
    let mut unseen: Vec<String> = replay
        .blind
        .iter()
        .map(|source| format!("{source} could not be read then"))
        .collect();
    if replay.latest {
        unseen.push("how each cause was judged: that is kept with ticks that woke or were blind".to_owned());
    }
    unseen.push("what agents answered and tests printed: a turn is judged by what was stored of them".to_owned());
    unseen.push(
        "what a source left out: only what it told stands in the snapshot, so what was well then, or in no pattern, is not judged by stricter settings of today"
            .to_owned(),
    );
    unseen.push(
        "the answers of declared collectors: what their programs make of them today is not judged, nor are the caps on new incidents"
            .to_owned(),
    );
    unseen
}

/// A decision in a few words.
pub fn shown(value: &Value) -> String {
    let only = value.as_object().and_then(|map| map.iter().next());
    let text = match only {
        None => plan::words(value).to_lowercase(),
        Some((key, inner)) => {
            let said = inner
                .get("why")
                .or_else(|| inner.get("outcome"))
                .and_then(Value::as_str);
            match (key.as_str(), said) {
                ("act", _) => plan::words(inner),
                (_, Some(said)) => format!("{} ({said})", key.to_lowercase()),
                (_, None) => plan::words(value),
            }
        }
    };
    cut(&text)
}

fn cut(text: &str) -> String {
    short(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Replay {
        Replay {
            tick: "20261129T031500Z-17".to_owned(),
            at: "2026-11-29T03:15:00Z".parse().unwrap(),
            latest: false,
            signals: 3,
            sources: 2,
            blind: vec!["sentry/api (http-401)".to_owned()],
            genuine: Some(true),
            gate_then: "wake: api/api: home is down".to_owned(),
            gate: None,
            seen: Judged {
                same: 3,
                ..Judged::default()
            },
            signatures: Judged {
                same: 3,
                ..Judged::default()
            },
            causes: Judged::default(),
            turns: Judged::default(),
        }
    }

    #[test]
    fn a_tick_that_would_decide_the_same() {
        insta::assert_snapshot!(replay(&sample()), @r#"
        Tick 20261129T031500Z-17 of 2026-11-29 03:15:00 UTC: today it would decide the
        same.

        Snapshot     3 signals from 2 sources, as it was recorded
        Gate         the same: wake: api/api: home is down
        Signals      3 signals, the same
        Signatures   3 signals, the same
        Causes       no cause to judge
        Decisions    no turn to judge

        Not seen by the recorder
          - sentry/api (http-401) could not be read then
          - what agents answered and tests printed: a turn is judged by what was stored
            of them
          - what a source left out: only what it told stands in the snapshot, so what
            was well then, or in no pattern, is not judged by stricter settings of today
          - the answers of declared collectors: what their programs make of them today
            is not judged, nor are the caps on new incidents
        "#);
    }

    #[test]
    fn a_tick_that_would_decide_otherwise_says_where_and_by_what() {
        let mut other = sample();
        other.gate = Some(Difference::new(other.gate_then.clone(), "quiet".to_owned()));
        let then = serde_json::json!({ "act": { "merge": { "head": "4c1e9ad" } } });
        let now = serde_json::json!({ "wait": { "until": "2026-11-29T04:00:00Z", "why": "CI moves next" } });
        let differs = Difference::new(shown(&then), shown(&now)).because("today's configuration");
        other.turns.differ = vec![("incident 7f3a91c07f3a91c0-1 turn 3".to_owned(), differs)];
        other.causes.unreadable = 1;
        other.genuine = Some(false);
        insta::assert_snapshot!(replay(&other), @r#"
        Tick 20261129T031500Z-17 of 2026-11-29 03:15:00 UTC: today it would decide
        otherwise in 2 places.

        Snapshot     3 signals from 2 sources, NOT as it was recorded: it was changed,
                     or written by another version
        Gate         then wake: api/api: home is down; now quiet
        Signals      3 signals, the same
        Signatures   3 signals, the same
        Causes       no cause to judge; 1 cause of another version, not judged
        Decisions    1 of 1 turn otherwise
                     incident 7f3a91c07f3a91c0-1 turn 3: then merge {"head":"4c1e9ad"};
                     now wait (CI moves next) (by today's configuration)

        Not seen by the recorder
          - sentry/api (http-401) could not be read then
          - what agents answered and tests printed: a turn is judged by what was stored
            of them
          - what a source left out: only what it told stands in the snapshot, so what
            was well then, or in no pattern, is not judged by stricter settings of today
          - the answers of declared collectors: what their programs make of them today
            is not judged, nor are the caps on new incidents
        "#);
    }
}
