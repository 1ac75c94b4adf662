//! `tick collect`: one look at every source, printed as a snapshot. Stores nothing.

use std::io::Write;

use chrono::SubsecRound;
use clap::Args;

use crate::{
    adapters::{clock::Clock, http::Http},
    collect::{self, CollectContext, HttpCache, Sources},
    config::Config,
    exit::{Exit, Fault},
    model::{
        TickId,
        signal::{SNAPSHOT_SCHEMA, Snapshot},
    },
    text::{self, Redactor},
};

#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Only the collector of this name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Wider look-back
    #[arg(long)]
    deep: bool,
}

pub fn run(args: &CollectArgs, config: &Config, clock: Clock, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(only) = &args.only {
        let names = collect::names(config);
        if !names.contains(&only.as_str()) {
            let fault = Fault::new(Exit::Usage, format!("no collector {only:?} is switched on"));
            return Err(fault.advise(format!("switched on are: {}", names.join(", "))).into());
        }
    }
    let redactor = Redactor::new(config.secrets.values.values());
    let http = Http::new(redactor.clone(), config.allow_private_hosts.clone());
    let (sources, cache) = (Sources::new(), HttpCache::default());
    let mut ctx = CollectContext::new(config, &http, &redactor, clock, &sources, &cache);
    ctx.only = args.only.as_deref();
    ctx.deep = args.deep;
    let collected = super::runtime()?.block_on(collect::collect(&ctx));
    let started_at = ctx.now.trunc_subsecs(0);
    let snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA,
        tick: TickId::new(&started_at.format("%Y%m%dT%H%M%SZ").to_string(), 0),
        started_at,
        deep: args.deep,
        signals: collected.signals,
        collectors: collected.collectors,
        open_pulls: collected.open_pulls,
        changes: collected.changes,
        signed_by: text::signature::VERSION,
        stood: Vec::new(),
    };
    serde_json::to_writer_pretty(&mut *out, &snapshot)?;
    writeln!(out)?;
    let blind = snapshot.blind().next().is_some();
    Ok(if blind { Exit::Blind } else { Exit::Ok })
}
