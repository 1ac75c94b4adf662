//! `tick replay TICK`: judges a stored tick again, by today's code and configuration.

use std::io::Write;

use clap::Args;

use super::{Global, tick};
use crate::{config::Config, exit::Exit, render, steps::replay};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Tick, the first digits of its id, or `latest`
    pub tick: String,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &ReplayArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let replayed = super::runtime()?.block_on(replay::replay(&ctx, &args.tick))?;
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &replayed)?;
        writeln!(out)?;
    } else {
        out.write_all(render::replay::replay(&replayed).as_bytes())?;
    }
    Ok(Exit::Ok)
}
