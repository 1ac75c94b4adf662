//! `tick`, `tick --observe`, `tick --dry-run` and `tick repair`: opens the home, runs the page, prints its story.

use std::{
    io::{ErrorKind, IsTerminal, Write},
    path::Path,
};

use chrono::{DateTime, Utc};
use clap::Args;

use super::Global;
use crate::{
    config::{Config, Home},
    exit::{Exit, Fault},
    model::{IncidentId, TickId, report::Event},
    render,
    steps::{Ctx, Listener, advance, effect::CrashPoints},
    store::{SignatureRow, Store, StoreError},
    telemetry::Telemetry,
    text::Redactor,
    tick::{Scope, repair_alone, tick},
};

/// Flags of a bare `tick`.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct TickArgs {
    /// Look back wider, as once an hour
    #[arg(long)]
    pub deep: bool,
    /// Look only: start no agent, repair nothing, and leave it to `tick repair` to tell what newly needs you
    #[arg(long)]
    pub observe: bool,
    /// Print what would be done next, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Print each event as a line of JSON as it happens, then the report as one more
    #[arg(long, hide = true)]
    pub events: bool,
}

impl TickArgs {
    /// A flag that only means something without a verb.
    pub fn first(&self) -> Option<&'static str> {
        let flags = [
            (self.deep, "--deep"),
            (self.observe, "--observe"),
            (self.dry_run, "--dry-run"),
            (self.json, "--json"),
            (self.events, "--events"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

#[derive(Debug, Clone, Args)]
pub struct RepairArgs {
    /// Only this incident
    #[arg(long, value_name = "ID")]
    pub incident: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &TickArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.dry_run {
        return dry_run(global, config, out);
    }
    let scope = if args.observe { Scope::Observe } else { Scope::Whole };
    if args.events {
        let ctx = context(global, config, Some(Box::new(|event: &Event| stream(event))))?;
        let exit = super::runtime()?.block_on(tick(&ctx, scope, args.deep))?;
        stream(&*ctx.report());
        return Ok(exit);
    }
    let (ctx, lines) = open(global, config, args.json)?;
    let exit = super::runtime()?.block_on(tick(&ctx, scope, args.deep))?;
    let said = tell(&ctx, exit, args.json, lines, out).and_then(|()| {
        // A scheduler's look that found something says so, since it tells nobody.
        let untold = render::story::untold(&ctx.report()).filter(|_| args.observe && !args.json);
        Ok(out.write_all(untold.unwrap_or_default().as_bytes())?)
    });
    told(said, exit)
}

/// A reader that went away is no reason to lose how the tick ended.
fn told(written: anyhow::Result<()>, exit: Exit) -> anyhow::Result<Exit> {
    match written {
        Err(error) if !super::is_closed_pipe(error.as_ref()) => Err(error),
        Ok(()) | Err(_) => Ok(exit),
    }
}

pub fn run_repair(args: &RepairArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (ctx, lines) = open(global, config, args.json)?;
    let only = args
        .incident
        .as_deref()
        .map(|text| find_incident(&ctx, text))
        .transpose()?;
    let exit = super::runtime()?.block_on(async { repair_alone(&ctx, only.as_ref()).await })?;
    told(tell(&ctx, exit, args.json, lines, out), exit)
}

/// The first action of each due incident. Reads, and writes nothing.
fn dry_run(global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = looking(global, config)?;
    let plans = super::runtime()?.block_on(advance::plan(&ctx))?;
    if plans.is_empty() {
        writeln!(out, "Nothing is due.")?;
    }
    for (incident, next) in plans {
        writeln!(out, "{}  {}", incident.id, render::plan::next(&next))?;
    }
    Ok(Exit::Ok)
}

/// What a person named.
pub(super) enum Found {
    Incident(IncidentId),
    /// A cause that never had an incident.
    Cause(Box<SignatureRow>),
}

/// An incident by its id, or a cause by its first digits: then its newest incident, where it has one.
pub(super) fn find(ctx: &Ctx, text: &str) -> anyhow::Result<Found> {
    let usage = |message: String| {
        let fault = Fault::new(Exit::Usage, message);
        fault.advise("tick incidents lists what was opened, tick incidents --known what stood there at first sight")
    };
    if let Ok(id) = IncidentId::parse(text) {
        return match ctx.store().incident(&id)? {
            Some(_) => Ok(Found::Incident(id)),
            None => Err(usage(format!("there is no incident {id}")).into()),
        };
    }
    let text = text.trim().to_ascii_lowercase();
    if text.len() < 4 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(usage(format!(
            "{text:?} is neither an incident nor the first digits of a cause"
        ))
        .into());
    }
    let rows = ctx.store().signatures_like(&text, 5)?;
    match rows.as_slice() {
        [row] => Ok(match ctx.store().incident_of(&row.sig)? {
            Some(incident) => Found::Incident(incident.id),
            None => Found::Cause(Box::new(row.clone())),
        }),
        [] => Err(usage(format!("nothing is known under {text:?}")).into()),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|row| format!("{} in {}", row.sig, row.repo))
                .collect();
            let fault = usage(format!("{text:?} names several causes; give more digits"));
            Err(fault.advise(names.join(", ")).into())
        }
    }
}

/// For verbs that are about incidents only.
pub(super) fn find_incident(ctx: &Ctx, text: &str) -> anyhow::Result<IncidentId> {
    match find(ctx, text)? {
        Found::Incident(id) => Ok(id),
        Found::Cause(row) => {
            let short = row.sig.short();
            let fault = Fault::new(Exit::Usage, format!("cause {short} has no incident"));
            Err(fault.advise(format!("hand it to repair: tick adopt {short}")).into())
        }
    }
}

/// A terminal is told the story as it happens; a scheduler's healthy tick prints nothing.
fn open(global: &Global, config: Config, json: bool) -> anyhow::Result<(Ctx, bool)> {
    let lines = std::io::stdout().is_terminal() && !json;
    let listener: Option<Listener> = lines.then(|| {
        Box::new(|event: &Event| {
            let mut out = std::io::stdout().lock();
            // A closed terminal is no reason to stop a repair.
            let _closed = out.write_all(render::story::event(event).as_bytes());
        }) as Listener
    });
    Ok((context(global, config, listener)?, lines))
}

pub(super) fn context(global: &Global, config: Config, listener: Option<Listener>) -> anyhow::Result<Ctx> {
    made(global, config, true).map(|ctx| ctx.with_listener(listener))
}

/// For verbs that are no tick: they have no run log, and use up no tick id.
pub(super) fn looking(global: &Global, config: Config) -> anyhow::Result<Ctx> {
    made(global, config, false)
}

fn made(global: &Global, config: Config, is_tick: bool) -> anyhow::Result<Ctx> {
    let clock = global.clock();
    let crash =
        CrashPoints::parse(&global.crash_at).map_err(|why| Fault::new(Exit::Usage, format!("--crash-at {why}")))?;
    let redactor = Redactor::new(config.secrets.values.values());
    let (store, note) = opened(&config.home, is_tick)?;
    let env = crate::config::env::Environment::of_process();
    let stderr = crate::telemetry::Stderr::choose(std::io::stderr().is_terminal(), &env);
    let telemetry = crate::telemetry::start(clock, stderr);
    telemetry.redact_with(redactor.clone());
    if let Some(note) = note {
        tracing::warn!("{note}");
    }
    let id = if is_tick {
        begin(&store, &telemetry, &config.home.logs, clock.now())?
    } else {
        store.next_tick(clock.now()).map_err(Fault::from)?
    };
    Ok(Ctx::new(config, clock, redactor, id, store, crash))
}

/// The ledger. What only looks needs no disk that can be written: then the note says what could not be done.
fn opened(home: &Home, is_tick: bool) -> Result<(Store, Option<String>), Fault> {
    let (fault, for_the_disk) = match home.prepare() {
        Err(fault) => {
            let for_the_disk = fault.exit == Exit::CouldNot;
            (fault, for_the_disk)
        }
        Ok(()) => match Store::open(&home.state) {
            Ok(store) => return Ok((store, None)),
            Err(error) => {
                let for_the_disk = matches!(error, StoreError::Unusable { .. });
                (Fault::from(error), for_the_disk)
            }
        },
    };
    if is_tick || !for_the_disk {
        return Err(fault);
    }
    match Store::open_to_read(&home.state) {
        Ok((store, whole)) => Ok((store, Some(render::fault::only_read(&fault.message, whole)))),
        Err(_) => Err(fault),
    }
}

/// A tick's id is its own from the moment its run log is made: of several processes that start at once, and after one
/// that died before it wrote anything else, only one can make the file.
fn begin(store: &Store, telemetry: &Telemetry, logs: &Path, now: DateTime<Utc>) -> anyhow::Result<TickId> {
    let mut id = store.next_tick(now).map_err(Fault::from)?;
    loop {
        let log = logs.join(format!("run-{id}.log"));
        match telemetry.open_run_log(&log, id.as_str()) {
            Ok(()) => return Ok(id),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => id = id.following(),
            Err(error) => {
                let what = format!("open the run log {}: {error}", log.display());
                return Err(Fault::new(Exit::CouldNot, what).into());
            }
        }
    }
}

/// One line of JSON, at once. A reader that went away is no reason to stop a repair.
fn stream(what: &impl serde::Serialize) {
    if let Ok(line) = serde_json::to_string(what) {
        let mut out = std::io::stdout().lock();
        let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

fn tell(ctx: &Ctx, exit: Exit, json: bool, lines: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let report = ctx.report();
    if json {
        serde_json::to_writer_pretty(&mut *out, &*report)?;
        writeln!(out)?;
    } else if lines || exit != Exit::Ok || !report.unsent.is_empty() || report.busy.is_some() {
        out.write_all(render::story::summary(&report, exit).as_bytes())?;
    }
    Ok(())
}
