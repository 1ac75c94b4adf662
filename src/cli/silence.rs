//! `tick silence`: maintenance that a person announces. Who said it, on which host, is recorded.

use std::io::Write;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;

use super::{Global, answers, tick};
use crate::{
    config::Config,
    decide::hold::Silence,
    exit::Exit,
    render,
    steps::silence::{begin, end, holding},
};

#[derive(Debug, Args)]
pub struct SilenceArgs {
    /// A repo of the config, one of its targets (repo/target), or a target's name alone
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub target: Option<String>,
    /// How long, such as 30m or 2h; 7 days at most
    #[arg(long = "for", value_name = "TIME", required_unless_present_any = ["list", "end"])]
    pub time: Option<String>,
    /// Why, for the next person
    #[arg(long, required_unless_present_any = ["list", "end"])]
    pub why: Option<String>,
    /// End it now
    #[arg(long, conflicts_with_all = ["time", "why", "list"])]
    pub end: bool,
    /// List what is silenced, until when, by whom
    #[arg(long, conflicts_with_all = ["time", "why"])]
    pub list: bool,
}

/// Longer is no maintenance: then `tick ignore` a cause, or take the target out of the config.
const LONGEST: TimeDelta = TimeDelta::days(7);

pub fn run(args: &SilenceArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let Some(target) = args.target.as_deref() else {
        out.write_all(render::silence::list(&holding(&ctx)?, ctx.now()).as_bytes())?;
        return Ok(Exit::Ok);
    };
    if args.end {
        let ended = end(&ctx, target)?;
        writeln!(
            out,
            "Ended: the silence over {}. What is still wrong is told by the next tick.",
            ended.name()
        )?;
        return Ok(Exit::Ok);
    }
    let span = answers::span(args.time.as_deref().unwrap_or_default(), LONGEST, "7d")?;
    let until: DateTime<Utc> = ctx.now() + span;
    let silence: Silence = begin(&ctx, target, until, args.why.as_deref().unwrap_or_default())?;
    writeln!(
        out,
        "Silenced: {} until {}. What it says is collected and shown; what is still wrong then is told. End it: tick silence {} --end",
        silence.name(),
        until.format("%Y-%m-%d %H:%M UTC"),
        silence.name()
    )?;
    Ok(Exit::Ok)
}
