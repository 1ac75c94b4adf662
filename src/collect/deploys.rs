//! What deployments mean, whatever platform says them: who serves, whether one is under way, whether the newest for
//! production failed, and what changed. A platform's collector brings its own words into [`Deployment`], and reads the
//! build log of the one that [`Standing::failed`] names.
//!
//! ```text
//! let standing = Standing::of(&list, now);
//! let lines = match standing.failed() { Some(bad) => the failing lines of its build, None => String::new() };
//! standing.tell(session, &place, &lines, &mut piece);
//! ```

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::context::{Piece, Place, Session};
use crate::{
    model::{
        Sha,
        signal::{Change, ChangeKind, Severity, Signal, SignalKind},
    },
    text::{named, signature},
};

/// No platform builds for longer; what is still under way then waits for something that does not come.
const STUCK: TimeDelta = TimeDelta::minutes(60);
const LONGEST_TEXT: usize = 4000;
/// What changed before that explains nothing any more, and is not kept either.
pub(super) const RECENT: TimeDelta = TimeDelta::days(14);

/// One deployment, in words that all platforms share. Its texts are as the platform gave them: neither cleaned nor
/// redacted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deployment {
    pub(super) id: String,
    pub(super) state: State,
    /// Meant for the people who use it; a preview of a branch is not.
    pub(super) production: bool,
    pub(super) sha: Option<Sha>,
    /// What it brings, such as the first line of its commit.
    pub(super) subject: String,
    pub(super) created: DateTime<Utc>,
    /// When it came to its state, where the platform tells it.
    pub(super) ended: Option<DateTime<Utc>>,
    /// When it last began to serve production; never, for most previews and for what failed before. Has to be the same
    /// in every look, until it begins to serve anew.
    pub(super) live_since: Option<DateTime<Utc>>,
    /// Where a person looks at it.
    pub(super) url: Option<String>,
    /// What the platform says about a failure: its code, and its sentence.
    pub(super) code: String,
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It waits, builds or starts.
    UnderWay,
    /// It can serve, asleep or awake.
    Ready,
    /// It never came to serve: build, check or start failed.
    Failed,
    /// It served, and its process died.
    Crashed,
    /// Called off, skipped or replaced: says nothing about the next one.
    Over,
    /// It was there and was taken away.
    Removed,
}

/// What is wrong with the deployments of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Failed,
    Crashed,
    Stuck,
    /// What was there is removed, and nothing came in its place.
    Gone,
}

impl Trouble {
    const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::Stuck => "stuck",
            Self::Gone => "gone",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Failed => "the newest production deployment failed",
            Self::Crashed => "the production deployment crashed",
            Self::Stuck => "a production deployment does not come to an end",
            Self::Gone => "no deployment serves production any more",
        }
    }
}

/// How the production deployments of one target stand.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Standing<'d> {
    live: Option<&'d Deployment>,
    trouble: Option<(Trouble, &'d Deployment)>,
    deploying_since: Option<DateTime<Utc>>,
    /// Those that began to serve.
    served: Vec<&'d Deployment>,
    /// Nothing of the list is missing or unreadable.
    whole: bool,
    now: DateTime<Utc>,
}

impl<'d> Standing<'d> {
    /// From the newest deployments of a target, in any order.
    pub(super) fn of(list: &'d [Deployment], now: DateTime<Utc>) -> Self {
        let production: Vec<&Deployment> = list.iter().filter(|one| one.production).collect();
        let served: Vec<&Deployment> = production
            .iter()
            .copied()
            .filter(|one| one.live_since.is_some())
            .collect();
        let live = served
            .iter()
            .copied()
            .filter(|one| matches!(one.state, State::Ready | State::Crashed))
            .max_by_key(|one| (one.live_since, one.created));
        let newest = production
            .iter()
            .copied()
            .filter(|one| !matches!(one.state, State::UnderWay | State::Over | State::Removed))
            .max_by_key(|one| one.created);
        // What was begun before what serves was overtaken by it.
        let under_way = production
            .iter()
            .copied()
            .filter(|one| one.state == State::UnderWay && live.is_none_or(|live| one.created > live.created));
        let begun = under_way.min_by_key(|one| one.created);
        let stuck = begun.filter(|one| now - one.created >= STUCK);
        let crashed = live.filter(|one| one.state == State::Crashed);
        let failed = newest.filter(|one| one.state == State::Failed);
        let removed = production
            .iter()
            .copied()
            .filter(|one| one.state == State::Removed || one.live_since.is_some())
            .max_by_key(|one| one.created);
        let gone = removed.filter(|_| live.is_none() && begun.is_none());
        let trouble = [
            (Trouble::Crashed, crashed),
            (Trouble::Failed, failed),
            (Trouble::Stuck, stuck),
            (Trouble::Gone, gone),
        ];
        Self {
            live: live.filter(|one| one.state == State::Ready),
            trouble: trouble
                .into_iter()
                .find_map(|(trouble, one)| one.map(|one| (trouble, one))),
            // What is stuck holds no alarm back.
            deploying_since: begun.filter(|_| stuck.is_none()).map(|one| one.created),
            served,
            whole: true,
            now,
        }
    }

    /// What cannot be read of the list may be what changed.
    #[must_use]
    pub(super) fn whole(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// The one that serves.
    pub(super) fn live(&self) -> Option<&'d Deployment> {
        self.live
    }

    /// The one whose build log says what went wrong.
    pub(super) fn failed(&self) -> Option<&'d Deployment> {
        self.trouble
            .filter(|(trouble, _)| *trouble == Trouble::Failed)
            .map(|(_, one)| one)
    }

    /// Brings it into the piece: the release that serves, whether another one is under way, what changed, and what is
    /// wrong. `failing` are the lines of the build that say why, as the platform gave them; empty where there are none.
    pub(super) fn tell(&self, session: &Session<'_>, place: &Place<'_>, failing: &str, piece: &mut Piece) {
        piece.outcome.release_sha = self.live.and_then(|live| live.sha.clone());
        piece.outcome.deploying_since = self.deploying_since;
        if self.whole {
            piece.outcome.told.insert(ChangeKind::Deployment);
        }
        let recent = self
            .served
            .iter()
            .filter(|one| one.live_since >= Some(self.now - RECENT));
        piece
            .changes
            .extend(recent.filter_map(|one| change(session, place, one)));
        let Some((trouble, one)) = self.trouble else { return };
        piece.signals.push(self.symptom(session, place, trouble, one));
        if trouble == Trouble::Failed && !failing.trim().is_empty() {
            piece.signals.push(cause(session, place, one, failing));
        }
    }

    fn symptom(&self, session: &Session<'_>, place: &Place<'_>, trouble: Trouble, one: &Deployment) -> Signal {
        let word = trouble.word();
        let at = match trouble {
            // One failure, however often it is looked at.
            Trouble::Failed => one.ended.unwrap_or(one.created),
            Trouble::Crashed | Trouble::Stuck | Trouble::Gone => self.now,
        };
        let why = [one.why.as_str(), one.code.as_str()]
            .into_iter()
            .find(|text| !text.is_empty());
        let said = why.map(|why| format!(": {why}")).unwrap_or_default();
        let serves = match self.live.and_then(|live| live.sha.as_ref()) {
            Some(sha) => format!("; {} serves", sha.short()),
            None => String::new(),
        };
        let message = format!("{}{}{said}{serves}", trouble.title(), named_by(one));
        Signal {
            severity: match trouble {
                Trouble::Crashed | Trouble::Gone => Severity::Critical,
                Trouble::Failed if self.live.is_none() => Severity::Critical,
                Trouble::Failed | Trouble::Stuck => Severity::Error,
            },
            title: trouble.title().to_owned(),
            message: session.text(&message, LONGEST_TEXT),
            signature: named(&format!("deploy:{}:{}:{word}", place.repo.slot, place.name)),
            first_seen: match trouble {
                // When it was taken away no platform says for certain.
                Trouble::Gone => one.ended.filter(|ended| Some(*ended) > one.live_since).unwrap_or(at),
                Trouble::Crashed | Trouble::Failed | Trouble::Stuck => one.ended.unwrap_or(one.created),
            }
            .min(at),
            last_seen: at,
            evidence: json!({
                "deployment": session.line(&one.id, 80),
                "state": word,
                "code": session.line(&one.code, 80),
                "serving": self.live.map(|live| session.line(&live.id, 80)),
            }),
            ..signal(session, place, one, SignalKind::Deploy)
        }
    }
}

/// The failing lines of a build: a cause of its own, which the same error in CI shares, and which the symptom joins.
fn cause(session: &Session<'_>, place: &Place<'_>, one: &Deployment, failing: &str) -> Signal {
    let text = session.text(failing, LONGEST_TEXT);
    let signed = signature(&text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Signal {
        title: session.line(&format!("the build fails: {}", first.trim()), 200),
        signature: signed.signature,
        culprit: signed.culprit,
        message: text,
        evidence: json!({ "deployment": session.line(&one.id, 80) }),
        ..signal(session, place, one, SignalKind::Ci)
    }
}

fn signal(session: &Session<'_>, place: &Place<'_>, one: &Deployment, kind: SignalKind) -> Signal {
    let at = one.ended.unwrap_or(one.created);
    Signal {
        source: place.collector.to_owned(),
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        kind,
        severity: Severity::Error,
        title: String::new(),
        message: String::new(),
        signature: named(""),
        count: 1,
        first_seen: at,
        last_seen: at,
        release_sha: one.sha.clone(),
        url: one.url.as_deref().map(|url| session.line(url, 300)),
        culprit: None,
        evidence: serde_json::Value::Null,
    }
}

/// What began to serve, once for each time it did.
fn change(session: &Session<'_>, place: &Place<'_>, one: &Deployment) -> Option<Change> {
    let at = one.live_since?;
    Some(Change {
        at,
        repo: place.repo.slot.clone(),
        target: place.name.to_owned(),
        source: place.collector.to_owned(),
        kind: ChangeKind::Deployment,
        key: session.line(&one.id, 120),
        what: session.line(&format!("a deployment went live{}", named_by(one)), 200),
        sha: one.sha.clone(),
        url: one.url.as_deref().map(|url| session.line(url, 300)),
    })
}

/// ` (0123456, what its commit says)`.
fn named_by(one: &Deployment) -> String {
    let subject = one.subject.lines().next().unwrap_or_default().trim();
    let parts = [one.sha.as_ref().map_or("", Sha::short), subject];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if said.is_empty() {
        String::new()
    } else {
        format!(" ({})", said.join(", "))
    }
}

#[cfg(test)]
#[path = "deploys_tests.rs"]
mod tests;
