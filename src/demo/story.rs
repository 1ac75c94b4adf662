//! The story that `tick demo` tells: the product as a child process, tick after tick at the world's time, and what
//! came of it. Every figure is read from the product's report, its snapshot, or the world; nothing is assumed.

use std::{path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{act::Act, client, forge::Pull, world::World};
use crate::{
    decide::facts::Landing,
    model::{
        IncidentId,
        report::{Event, Report},
    },
    render::{
        demo::{self as words, Sight, Sum},
        story as told,
    },
    store::snapshots,
};

/// Between two ticks, as a scheduler would have it.
const QUARTER: Duration = Duration::from_mins(15);
/// Customers before the bug, with the bug, and between two later ticks.
const QUIET: u32 = 24;
const BUSY: u32 = 120;

/// One thing to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Something that happened now.
    Step(Vec<String>),
    /// Further lines of it.
    More(Vec<String>),
    Gap,
}

/// How the product is started, and what has to come of it.
#[derive(Debug, Clone)]
pub struct Stage {
    pub program: PathBuf,
    pub home: PathBuf,
    /// Variables that the agent's program needs.
    pub env: Vec<(String, String)>,
    /// The agent is the recording, so every step is known beforehand.
    pub recording: bool,
    pub monitor_only: bool,
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Played {
    pub sum: Sum,
    /// Ticks before the bug that found nothing and called no model.
    pub healthy: u32,
    pub cause: Option<String>,
    pub proven: bool,
    pub resolved: bool,
    /// The product handed over to a person, or closed the incident in another way.
    pub ended: Option<String>,
    mails: bool,
}

pub struct Story<'a> {
    world: &'a World,
    stage: Stage,
    tell: &'a mut dyn FnMut(Told),
    played: Played,
    /// Number of the tick that runs, until its first line was told.
    label: Option<u32>,
}

/// How one process ended.
struct Ticked {
    exit: Option<i32>,
    report: Report,
}

impl<'a> Story<'a> {
    pub fn new(world: &'a World, stage: Stage, tell: &'a mut dyn FnMut(Told)) -> Self {
        Self {
            world,
            stage,
            tell,
            played: Played::default(),
            label: None,
        }
    }

    pub const fn played(&self) -> &Played {
        &self.played
    }

    /// The shop, from green to green.
    pub fn shop(&mut self) -> Result<()> {
        self.world.traffic(QUIET)?;
        let live = self.release()?;
        self.step(format!(
            "shop {live} is live; {QUIET} requests by customers, {} errors",
            self.errors()
        ));
        for _ in 0..2 {
            self.calm()?;
            self.pass_time()?;
        }
        self.world.ship_bug()?;
        let bug = self
            .world
            .forge()
            .pulls
            .first()
            .cloned()
            .context("the bug has a pull request")?;
        (self.tell)(Told::Gap);
        let live = self.release()?;
        self.step(format!("{} merges \"{}\"; {live} goes live", bug.author, bug.title));
        self.world.traffic_over(BUSY, Duration::from_mins(10))?;
        let failed = self.errors();
        (self.tell)(Told::More(vec![format!("{failed} of the next {BUSY} requests fail")]));
        (self.tell)(Told::Gap);
        self.repair()
    }

    /// A clone of somebody's repository: one empty look, then the signal shows.
    pub fn own(&mut self) -> Result<()> {
        let head = self.world.main_head()?;
        let branch = self.world.town().forge.branch.clone();
        self.step(format!(
            "{branch} at {} counts as live; its signal is not shown yet",
            short(&head)
        ));
        self.calm()?;
        self.world.advance(QUARTER);
        self.world.act(Act::ShowSignal);
        self.world.advance(Duration::from_mins(10));
        (self.tell)(Told::Gap);
        self.step("the signal begins, once a minute while this commit is live".to_owned());
        (self.tell)(Told::More(vec![
            "assumed: this world cannot run your app, so the signal ends with the next commit".to_owned(),
        ]));
        (self.tell)(Told::Gap);
        self.repair()
    }

    /// Ticks until the story is over, one way or the other.
    fn repair(&mut self) -> Result<()> {
        let most = if self.stage.recording { 12 } else { 40 };
        for _ in 0..most {
            let ticked = self.tick()?;
            let (n, report) = (self.played.sum.ticks, &ticked.report);
            let line = match report.waiting.first() {
                Some(waiting) => Some(words::waiting(n, &waiting.why, report.models_called)),
                None if is_healthy(&ticked) => Some(words::healthy(n, report.sources, report.collect_ms, 0)),
                None => None,
            };
            if let Some(line) = line {
                self.step(line);
            }
            match ticked.exit {
                Some(0) => {}
                Some(code) => self.played.ended = Some(format!("a tick ended with {code}: {}", meaning(code))),
                None => bail!("a tick was killed"),
            }
            let drafted = self.stage.monitor_only && self.played.mails;
            if self.played.ended.is_some() || self.played.resolved || drafted {
                return Ok(());
            }
            let head = self.pull().filter(|p| p.open).map(|p| p.head_sha);
            if let Some(head) = head {
                self.world.wait_for_ci(&head)?;
            }
            self.world.wait_deployed()?;
            self.pass_time()?;
        }
        self.played.ended = Some(format!("after {} ticks there was no end", self.played.sum.ticks));
        Ok(())
    }

    fn pass_time(&self) -> Result<()> {
        self.world.advance(QUARTER);
        if self.world.town().options.runs_app() {
            let requests = if self.played.cause.is_some() { BUSY } else { QUIET };
            self.world.traffic_over(requests, Duration::from_mins(5))?;
        }
        Ok(())
    }

    /// A tick that has nothing to find.
    fn calm(&mut self) -> Result<()> {
        let ticked = self.tick()?;
        if is_healthy(&ticked) {
            self.played.healthy += 1;
            let (n, report) = (self.played.sum.ticks, &ticked.report);
            self.step(words::healthy(
                n,
                report.sources,
                report.collect_ms,
                report.models_called,
            ));
        }
        Ok(())
    }

    /// One process of the product, told as it goes.
    fn tick(&mut self) -> Result<Ticked> {
        self.played.sum.ticks += 1;
        self.label = Some(self.played.sum.ticks);
        let world = self.world;
        let children = &world.town().children;
        let mut command = children.command(path(&self.stage.program)?, world.root());
        command
            .args([
                "--home",
                path(&self.stage.home)?,
                "--now",
                &world.now().to_rfc3339(),
                "--events",
                "--ends-with-stdin",
            ])
            // Held open by us, so that it does not outlive us however we end.
            .stdin(Stdio::piped())
            .envs(self.stage.env.iter().map(|(name, value)| (name, value)));
        let mut report = None;
        let (status, said) = children.lines("tick", command, |line| {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            if value.get("what").is_some() {
                if let Ok(event) = serde_json::from_value(value) {
                    self.event(&event);
                }
            } else if let Ok(whole) = serde_json::from_value::<Report>(value) {
                report = Some(whole);
            }
        })?;
        let Some(report) = report else {
            bail!("the tick gave no report ({status}); it said:\n{}", said.trim());
        };
        self.played.sum.models += report.models_called;
        for blind in &report.blind {
            self.step(format!("blind: {blind}"));
        }
        if let Some(fault) = &report.gate_fault {
            self.step(format!("the gate gives no answer: {fault}"));
        }
        Ok(Ticked {
            exit: status.code(),
            report,
        })
    }

    fn event(&mut self, event: &Event) {
        let mut lines = event.lines.clone();
        let first = lines.first().cloned().unwrap_or_default();
        match event.what.as_str() {
            "opened" => return self.opened(event),
            "guards" | "proof" if first.contains("REFUSED") => self.played.sum.refused += 1,
            "proof" => self.played.proven |= lines.iter().any(|line| line.contains("GREEN")),
            // The pull request says the same; later pushes stand alone.
            "push" if self.pull().is_none() => return,
            "pull" => self.played.sum.drafts += u32::from(first.starts_with("draft")),
            "merge" => {
                if let Some(line) = self.checks_that_ran() {
                    lines[0] = line;
                }
            }
            "landed" if first == told::landed(Landing::AsTested) => return (self.tell)(Told::More(lines)),
            "observed" => lines = self.observed(&first),
            "mail" => self.played.mails = true,
            "closed" if first == "resolved" => {
                self.played.resolved = true;
                return;
            }
            "closed" => self.played.ended = Some(format!("the incident was closed as {first}")),
            _ => {}
        }
        self.lines(lines);
    }

    /// Count, cause, place and route come from the snapshot that the product wrote.
    fn opened(&mut self, event: &Event) {
        let Some(incident) = &event.incident else { return };
        let sight = self.sight(incident, event).unwrap_or_default();
        self.label = None;
        self.played.cause.get_or_insert(sight.cause.clone());
        self.step_lines(words::unhealthy(&sight));
    }

    fn sight(&self, incident: &IncidentId, event: &Event) -> Result<Sight> {
        let snapshot = snapshots::read(&self.stage.home.join("signals").join(snapshots::LATEST))?;
        let signals: Vec<_> = snapshot
            .signals
            .iter()
            .filter(|s| s.signature == incident.signature())
            .collect();
        let first = signals.first().context("the cause is in the snapshot")?;
        let history = self.world.town().deployer.history();
        let seen = signals.iter().map(|s| s.first_seen).min();
        let live = history.iter().rev().find(|r| seen.is_some_and(|seen| r.since <= seen));
        let release = live.map(|live| self.name_of(&live.sha));
        Ok(Sight {
            tick: self.played.sum.ticks,
            cause: incident.signature().short().to_owned(),
            events: signals.iter().map(|s| s.count).sum(),
            title: event.lines.get(1).cloned().unwrap_or_default(),
            route: first.evidence["route"].as_str().map(str::to_owned),
            // The signal of a foreign repository begins when the story wants it.
            after: live
                .zip(seen)
                .filter(|_| self.world.town().options.runs_app())
                .map(|(live, seen)| (seen - live.since).num_seconds()),
            release,
        })
    }

    /// What the forge says of the checks of the merged head.
    fn checks_that_ran(&self) -> Option<String> {
        let pull = self.pull()?;
        let forge = self.world.forge();
        let green = |name: &&String| {
            let mut jobs = forge.jobs.iter().filter(|j| j.sha == pull.head_sha && j.name == **name);
            jobs.any(|j| j.conclusion.as_deref() == Some("success"))
        };
        let required = &forge.settings.required_checks;
        let names: Vec<&str> = required.iter().filter(green).map(String::as_str).collect();
        (names.len() == required.len()).then(|| words::checks(short(&pull.head_sha), &names))
    }

    /// The product's verdict after its watch, with the requests that the release itself counted.
    fn observed(&self, verdict: &str) -> Vec<String> {
        let expected = verdict
            .strip_prefix("0 seen, ")
            .and_then(|rest| rest.strip_suffix(" expected"));
        let Some(expected) = expected else {
            return vec![format!("watched: {verdict}")];
        };
        let requests = self.health("/requests").and_then(|n| n.as_u64());
        let quiet = match requests {
            Some(n) => format!("0 errors in {n} requests to the new release"),
            None => "0 signals since the new commit is live (assumed: your app does not run here)".to_owned(),
        };
        vec![
            quiet,
            format!("RESOLVED: at the old rate {expected} were to be expected"),
        ]
    }

    fn lines(&mut self, mut lines: Vec<String>) {
        if let (Some(first), Some(n)) = (lines.first_mut(), self.label.take()) {
            *first = format!("tick {n}   {first}");
        }
        self.step_lines(lines);
    }

    fn step(&mut self, line: String) {
        self.step_lines(vec![line]);
    }

    fn step_lines(&mut self, lines: Vec<String>) {
        (self.tell)(Told::Step(lines));
    }

    /// Errors that the tracker got so far.
    fn errors(&self) -> usize {
        self.world.town().tracker.totals().0
    }

    fn health(&self, pointer: &str) -> Option<Value> {
        if !self.world.town().options.runs_app() {
            return None;
        }
        let answer = client::get(self.world.app_url(), "/health").ok()?;
        answer.json().pointer(pointer).cloned()
    }

    /// `3.2.0 (b7f967c)`, as the running app says it.
    fn release(&self) -> Result<String> {
        let live = self.world.town().deployer.live().context("nothing is live")?;
        Ok(self.name_of(&live))
    }

    fn name_of(&self, sha: &str) -> String {
        // The app that answers is the newest release; an older one is known by its commit only.
        let answers = self.world.town().deployer.live().as_deref() == Some(sha);
        let version = self.health("/version").filter(|_| answers);
        let version = version.and_then(|v| v.as_str().map(str::to_owned));
        match version {
            Some(version) => format!("{version} ({})", short(sha)),
            None => short(sha).to_owned(),
        }
    }

    /// The product's newest pull request.
    fn pull(&self) -> Option<Pull> {
        let forge = self.world.forge();
        forge
            .pulls
            .iter()
            .rev()
            .find(|p| p.head.starts_with("fix/auto-"))
            .cloned()
    }

    /// Counts what is left to count and says what did not happen although it had to.
    pub fn verdict(&mut self) -> Result<Vec<String>> {
        let mails = self.world.mail().take()?;
        self.played.sum.mails = mails.len() as u64;
        let pull = self.pull();
        let merge = pull.as_ref().and_then(|p| p.merge_sha.clone());
        self.played.sum.merged = u32::from(merge.is_some());
        let played = &self.played;
        let mut missing = Vec::new();
        let mut demand = |holds: bool, what: String| {
            if !holds {
                missing.push(what);
            }
        };
        let calm = if self.world.town().options.runs_app() { 2 } else { 1 };
        demand(
            played.healthy == calm,
            format!(
                "{} of {calm} ticks before the bug were healthy without a model call",
                played.healthy
            ),
        );
        demand(played.cause.is_some(), "the cause was not found".to_owned());
        if self.stage.recording {
            demand(
                played.sum.refused == 1,
                format!(
                    "{} patches were refused; the recording brings one that weakens a test",
                    played.sum.refused
                ),
            );
            demand(
                played.sum.mails == 1,
                format!("{} mails were sent instead of 1", played.sum.mails),
            );
        } else {
            demand(played.sum.mails > 0, "no mail was sent".to_owned());
        }
        demand(
            played.proven,
            "no fix was proven (red without it, green with it)".to_owned(),
        );
        if self.stage.monitor_only {
            demand(
                pull.as_ref().is_some_and(|p| p.draft && p.open),
                "there is no open draft pull request".to_owned(),
            );
            demand(
                merge.is_none(),
                "something was merged, and monitor-only never merges".to_owned(),
            );
        } else {
            demand(merge.is_some(), "no fix was merged".to_owned());
            if let (Some(pull), Some(merge)) = (&pull, &merge) {
                let same = self.tree(merge)? == self.tree(&pull.head_sha)?;
                demand(
                    same,
                    format!("the tree of {} is not the one that was tested", short(merge)),
                );
            }
            demand(played.resolved, "the incident was not resolved".to_owned());
        }
        if let Some(why) = played.ended.clone().filter(|_| !missing.is_empty()) {
            missing.push(why);
        }
        Ok(missing)
    }

    /// What git itself says, whatever the product said.
    fn tree(&self, commit: &str) -> Result<String> {
        let (_, facts) = self
            .world
            .repo()
            .facts(commit)?
            .with_context(|| format!("{commit} is not in the forge"))?;
        ensure!(!facts.tree.is_empty(), "{commit} has no tree");
        Ok(facts.tree)
    }
}

/// Nothing was wrong, nothing was due, no model was called.
fn is_healthy(ticked: &Ticked) -> bool {
    let report = &ticked.report;
    let quiet = report.events.is_empty() && report.signals == 0 && report.waiting.is_empty();
    ticked.exit == Some(0) && quiet && report.models_called == 0
}

fn path(path: &std::path::Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

fn meaning(code: i32) -> &'static str {
    let known = crate::exit::Exit::ALL
        .into_iter()
        .find(|exit| i32::from(exit.code()) == code);
    known.map_or("unknown", crate::exit::Exit::meaning)
}
