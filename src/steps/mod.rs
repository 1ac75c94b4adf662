//! Gather facts, ask `decide`, apply the answer. Each step records what it did before the next begins, and can be
//! repeated after a crash at any point.

pub mod advance;
mod agents;
pub mod answers;
mod attempt;
mod audit;
mod before;
mod by_ci;
pub mod check;
mod culprit;
mod diff;
mod doubts;
pub mod effect;
mod evidence;
mod felt;
mod flakes;
pub mod gate;
mod gather;
mod ground;
pub mod guard;
mod hands;
pub mod heartbeat;
mod hindered;
mod holds;
pub mod housekeeping;
mod judge;
mod landing;
pub mod leftovers;
pub mod look;
mod observe;
pub mod outbox;
mod perform;
pub mod prove;
mod publish;
mod reach;
pub mod replay;
pub mod report;
mod rerun;
pub mod silence;
mod stamps;
mod take_back;
mod tell;
pub mod triage;
mod undo;
pub mod views;
mod whereabouts;

pub use hands::equipped;

use std::{
    cell::{Cell, RefCell, RefMut},
    path::{Path, PathBuf},
};

use anyhow::Context;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    adapters::{clock::Clock, git},
    collect::{GATEWAY, Watched},
    config::{Config, Repo},
    exit::Exit,
    model::{
        IncidentId, Slot, TickId,
        report::{Event, Report},
        signal::{Culprit, SignalKind},
    },
    render::{self, title},
    steps::effect::CrashPoints,
    store::{SignatureRow, Store},
    text::{OwnPlaces, Redactor, Untrusted},
};

/// Is told each event as it happens.
pub type Listener = Box<dyn Fn(&Event)>;

/// What every step of one process works with. The store is borrowed for single calls only, never over an await.
pub struct Ctx {
    pub config: Config,
    pub clock: Clock,
    pub redactor: Redactor,
    pub tick: TickId,
    pub crash: CrashPoints,
    store: RefCell<Store>,
    report: RefCell<Report>,
    attempts_made: Cell<u32>,
    hands: hands::Hands,
    tried: RefCell<outbox::Tried>,
    watched: Watched,
    /// Told each event as it happens, for a terminal.
    listener: Option<Listener>,
}

impl Ctx {
    pub fn new(
        config: Config,
        clock: Clock,
        redactor: Redactor,
        tick: TickId,
        store: Store,
        crash: CrashPoints,
    ) -> Self {
        let watched = Watched::of(&config, &redactor);
        let redactor = redactor.with_own(own_places(&config.home.state));
        Self {
            config,
            clock,
            redactor,
            tick,
            crash,
            store: RefCell::new(store),
            report: RefCell::new(Report::default()),
            attempts_made: Cell::new(0),
            hands: hands::Hands::default(),
            tried: RefCell::default(),
            watched,
            listener: None,
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// A time of the ledger. One that is well ahead of now was written by a clock that was, and says only that it was before today.
    pub(crate) fn past(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        let now = self.now();
        if at > now + TimeDelta::hours(1) {
            now - TimeDelta::days(1)
        } else {
            at
        }
    }

    pub fn store(&self) -> RefMut<'_, Store> {
        self.store.borrow_mut()
    }

    pub fn report(&self) -> RefMut<'_, Report> {
        self.report.borrow_mut()
    }

    pub fn repo(&self, slot: &Slot) -> anyhow::Result<&Repo> {
        self.config
            .repo(slot)
            .ok_or_else(|| anyhow::anyhow!("repo {slot} is no longer in the config"))
    }

    /// Why the next look cannot see a cause, whether or not it is there: what saw it is not in the config any more.
    fn unwatched(&self, row: &SignatureRow) -> Option<String> {
        let part = row.part.as_deref();
        let sees = self.watched.sees(&row.repo, &row.target, &row.source, part);
        (!sees).then(|| render::status::not_in_config(part, &row.source, &row.target))
    }

    pub fn state(&self) -> PathBuf {
        self.config.home.state.clone()
    }

    /// Who holds the lock, for the person who wonders.
    pub fn holder(&self) -> String {
        format!(
            "pid {}, since {}",
            std::process::id(),
            self.now().format("%Y-%m-%d %H:%M:%S UTC")
        )
    }

    /// Another tick has the lock: said here and at the end, and this one goes on with what is due.
    pub fn busy(&self, by: String) {
        tracing::info!("{}", render::story::busy(&by));
        self.report().busy = Some(by);
    }

    /// The second half of a healthy tick: nothing to do, nothing started.
    pub fn nothing_due(&self) -> anyhow::Result<bool> {
        Ok(self.store().due_incidents(self.now())?.is_empty())
    }

    /// Stores how this process ended.
    pub fn finish(&self) -> anyhow::Result<Exit> {
        let unwell = views::unwell(self)?;
        self.report().unwell = unwell;
        let (exit, models, events) = {
            let report = self.report();
            (report::exit(&report), report.models_called, report.events.len())
        };
        if events > 0 || exit != Exit::Ok {
            self.store().finish_tick(&self.tick, exit.code(), models)?;
            self.store().print_audit()?;
        }
        let report = self.report();
        tracing::info!(
            sources = report.sources,
            signals = report.signals,
            models,
            duration_ms = u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
            "tick {}: {}",
            self.tick,
            render::story::ended(&report, exit)
        );
        Ok(exit)
    }

    #[must_use]
    pub fn with_listener(mut self, listener: Option<Listener>) -> Self {
        self.listener = listener;
        self
    }

    /// Adds a line to the story of this process.
    pub fn say(&self, incident: Option<&IncidentId>, what: &str, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().map(|line| self.redactor.redact(&line)).collect();
        tracing::info!(
            incident.id = incident.map(IncidentId::as_str),
            "{what}: {}",
            lines.join("; ")
        );
        let event = Event {
            ms: u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
            incident: incident.cloned(),
            what: what.to_owned(),
            lines,
        };
        if let Some(listener) = &self.listener {
            listener(&event);
        }
        self.report().events.push(event);
    }
}

/// `discount.py:14, average_discount`, where the repository has it.
fn culprit_line(ctx: &Ctx, row: &SignatureRow) -> Option<String> {
    let (culprit, note) = whereabouts::shown(ctx, &row.sig, row.culprit.as_ref()?);
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    Some(format!("{}{note}", place_line(&culprit)))
}

fn place_line(culprit: &Culprit) -> String {
    let line = culprit.line.map(|n| format!(":{n}")).unwrap_or_default();
    let function = culprit.function.as_ref().map(|f| format!(", {f}")).unwrap_or_default();
    format!("{}{line}{function}", culprit.file)
}

/// The cause in one line, from our own template: class of the error, and where. What a probe or a red run is called are
/// words of ours and names of the owner's; every other title is text from outside, of which the class is taken, or a
/// quotation.
fn title_line(ctx: &Ctx, row: &SignatureRow) -> String {
    let ours = match row.source.as_str() {
        "health" | "jsonrpc" => row.kind.is_symptom(),
        "actions" => row.kind == SignalKind::Ci,
        "railway" | "vercel" => row.kind == SignalKind::Deploy || row.title.starts_with(GATEWAY),
        _ => false,
    };
    if ours {
        return Untrusted::new(&row.title, &ctx.redactor).line(120);
    }
    if let Some(provider) = look::provider(row) {
        let name = row.title.strip_prefix(&format!("{provider}: ")).unwrap_or(&row.title);
        let title = format!("{provider} reports an incident: {}", title::quoted(name));
        return Untrusted::new(&title, &ctx.redactor).line(120);
    }
    let class = title::called(&row.title);
    let place = culprit_line(ctx, row)
        .map(|place| format!(" in {place}"))
        .unwrap_or_default();
    Untrusted::new(&format!("{class}{place}"), &ctx.redactor).line(120)
}

/// The state by the path that we use, and by the one that programs in it see.
fn own_places(state: &Path) -> OwnPlaces {
    let real = state.canonicalize().ok();
    let paths = [Some(state), real.as_deref()];
    OwnPlaces::new(paths.into_iter().flatten().filter_map(Path::to_str))
}

/// A directory that only its owner can look into.
fn private_dir(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("make the directory {}", path.display()))
}

/// A directory of our own for one run, without what an ended one left there.
fn fresh_dir(ctx: &Ctx, room: &str, name: &str) -> anyhow::Result<PathBuf> {
    let dir = ctx.config.home.state.join(room).join(name);
    git::sweep(&dir).context("remove what an earlier run left")?;
    private_dir(&dir)?;
    Ok(dir)
}
