//! A person's answers: pause, resume, retry, ignore, approve. Each records who said it, on which host.

use std::io::Write;

use chrono::TimeDelta;
use clap::Args;

use super::{
    Global,
    tick::{self, Found},
};
use crate::{
    config::{Config, load::Purpose},
    exit::{Exit, Fault},
    steps::answers,
};

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// Only this repo; without it everything
    pub repo: Option<String>,
    /// Why, for the next person
    #[arg(long, default_value = "no reason given")]
    pub why: String,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Only this repo; without it everything, frozen merges included
    pub repo: Option<String>,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Incident, or the first digits of its cause
    pub id: String,
    /// Prove and audit the head that a person pushed, instead of starting over
    #[arg(long)]
    pub keep_branch: bool,
}

#[derive(Debug, Args)]
pub struct IgnoreArgs {
    /// Incident, or the first digits of its cause
    pub id: String,
    /// How long, such as 2h or 7d
    #[arg(long = "for", value_name = "TIME")]
    pub time: String,
    /// Why, for the next person
    #[arg(long)]
    pub why: String,
}

#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// Known causes, by their first digits: tick incidents --known lists them
    #[arg(value_name = "ID", required_unless_present = "top", conflicts_with = "top")]
    pub ids: Vec<String>,
    /// Those that matter most instead: the worst first, of equals the most frequent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub top: Option<u32>,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// Incident, or the first digits of its cause
    pub id: String,
}

pub fn pause(args: &PauseArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    answers::pause(&ctx, args.repo.as_deref(), &args.why)?;
    writeln!(
        out,
        "Paused: {}. Running agents end within a second; tick resume goes on.",
        args.repo.as_deref().unwrap_or("everything")
    )?;
    Ok(Exit::Ok)
}

pub fn resume(args: &ResumeArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let ended = answers::resume(&ctx, args.repo.as_deref())?;
    if ended.is_empty() {
        let whose = args.repo.as_deref().unwrap_or("tick");
        writeln!(out, "Nothing stopped {whose}.")?;
        return Ok(Exit::Ok);
    }
    for what in ended {
        writeln!(out, "Ended: {what}.")?;
    }
    writeln!(out, "The next tick goes on.")?;
    Ok(Exit::Ok)
}

impl RetryArgs {
    /// Only a branch that is kept has to be read from the forge.
    pub const fn purpose(&self) -> Purpose {
        if self.keep_branch { Purpose::Run } else { Purpose::Look }
    }
}

pub fn retry(args: &RetryArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let (id, how) = match tick::find(&ctx, &args.id)? {
        Found::Incident(id) => {
            super::runtime()?.block_on(answers::retry(&ctx, &id, args.keep_branch))?;
            (id, "open again")
        }
        Found::Cause(row) if args.keep_branch => {
            let fault = Fault::new(Exit::Usage, format!("cause {} has no branch to keep", row.sig.short()));
            return Err(fault.advise("without --keep-branch it is handed to repair").into());
        }
        Found::Cause(row) => (answers::adopt(&ctx, &row)?, "open"),
    };
    writeln!(out, "{id} is {how}; the next tick takes it up.")?;
    Ok(Exit::Ok)
}

pub fn adopt(args: &AdoptArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let mut rows = Vec::new();
    if let Some(top) = args.top {
        rows = answers::known(&ctx)?;
        rows.truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
    // One that cannot be adopted is told before any other is.
    for id in &args.ids {
        match tick::find(&ctx, id)? {
            Found::Cause(row) => rows.push(*row),
            Found::Incident(incident) => {
                let short = incident.signature().short().to_owned();
                let (how, advice) = if answers::is_open(&ctx, &incident)? {
                    ("an open incident", format!("where it stands: tick show {short}"))
                } else {
                    (
                        "an incident that is over",
                        format!("to open it again: tick retry {short}"),
                    )
                };
                let fault = Fault::new(Exit::Usage, format!("{id} has {how} already: {incident}"));
                return Err(fault.advise(advice).into());
            }
        }
    }
    if rows.is_empty() {
        writeln!(
            out,
            "No known cause waits: nothing that stood there at first sight has no incident."
        )?;
        return Ok(Exit::Ok);
    }
    for row in &rows {
        let id = answers::adopt(&ctx, row)?;
        writeln!(out, "{id} in {} is open; the next tick takes it up.", row.repo)?;
    }
    Ok(Exit::Ok)
}

pub fn ignore(args: &IgnoreArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let sig = match tick::find(&ctx, &args.id)? {
        Found::Incident(id) => id.signature(),
        Found::Cause(row) => row.sig,
    };
    let until = ctx.now() + span(&args.time, LONGEST, "365d")?;
    answers::ignore(&ctx, &sig, until, &args.why)?;
    writeln!(
        out,
        "Cause {} is ignored until {}. What is still there then is told again.",
        sig.short(),
        until.format("%Y-%m-%d %H:%M UTC")
    )?;
    Ok(Exit::Ok)
}

pub fn approve(args: &ApproveArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let id = tick::find_incident(&ctx, &args.id)?;
    let head = answers::approve(&ctx, &id)?;
    writeln!(
        out,
        "{id} is approved at {}. All other evidence must still hold.",
        head.short()
    )?;
    Ok(Exit::Ok)
}

/// Longer is no snooze; and a time that no calendar holds could not be read back.
const LONGEST: TimeDelta = TimeDelta::days(3650);

/// `90m`, `2h`, `7d`; `example` is one that is short enough.
pub(super) fn span(text: &str, longest: TimeDelta, example: &str) -> anyhow::Result<TimeDelta> {
    let wrong =
        || Fault::new(Exit::Usage, format!("--for {text:?} is not a time")).advise("for example --for 7d, 2h or 30m");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let delta = match unit {
        'm' => TimeDelta::try_minutes(number),
        'h' => TimeDelta::try_hours(number),
        'd' => TimeDelta::try_days(number),
        _ => None,
    };
    let delta = delta.filter(|d| *d > TimeDelta::zero()).ok_or_else(wrong)?;
    if delta > longest {
        let most = format!("--for {text:?} is longer than {} days", longest.num_days());
        let fault = Fault::new(Exit::Usage, most);
        return Err(fault.advise(format!("for example --for {example}")).into());
    }
    Ok(delta)
}
