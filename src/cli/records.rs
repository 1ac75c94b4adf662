//! `tick status`, `incidents`, `show`, `audit verify`, `ledger export|restore`: looks at the store, prints.

use std::io::Write;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{
    Global,
    tick::{self, Found},
};
use crate::{
    config::Config,
    exit::{Exit, Fault},
    render,
    steps::{outbox, views},
    store::{Store, Verified},
};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Incident, or the first digits of its cause
    pub id: String,
    /// Its messages, as they were sent or as they wait
    #[arg(long)]
    pub sent: bool,
}

#[derive(Debug, Args)]
pub struct IncidentsArgs {
    /// The inventory: causes that stood there at first sight and that nothing is done about, worst first
    #[arg(long)]
    pub known: bool,
}

#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Check the hash chain of the audit log
    Verify,
}

#[derive(Debug, Subcommand)]
pub enum LedgerVerb {
    /// Print every known cause as JSON
    Export,
    /// Rebuild a lost ledger from the audit log
    Restore,
}

pub fn status(global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    out.write_all(render::status::status(&views::status(&ctx)?).as_bytes())?;
    Ok(Exit::Ok)
}

pub fn incidents(args: &IncidentsArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    if args.known {
        out.write_all(render::incidents::known(&views::known(&ctx)?, ctx.now()).as_bytes())?;
        return Ok(Exit::Ok);
    }
    out.write_all(render::incidents::incidents(&views::incidents(&ctx)?).as_bytes())?;
    Ok(Exit::Ok)
}

pub fn show(args: &ShowArgs, global: &Global, config: Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let ctx = tick::looking(global, config)?;
    let view = match tick::find(&ctx, &args.id)? {
        Found::Incident(id) if args.sent => {
            out.write_all(render::incidents::letters(&outbox::letters(&ctx, &id)?).as_bytes())?;
            return Ok(Exit::Ok);
        }
        Found::Incident(id) => views::show(&ctx, &id)?,
        Found::Cause(row) => views::show_cause(&ctx, &row)?,
    };
    out.write_all(render::incidents::show(&view).as_bytes())?;
    Ok(Exit::Ok)
}

pub fn audit(verb: &AuditVerb, config: &Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match verb {
        AuditVerb::Verify => {
            config.home.prepare()?;
            let store = Store::open(&config.home.state).map_err(Fault::from)?;
            match store.verify_audit().map_err(Fault::from)? {
                Verified::Intact { rows } => {
                    writeln!(
                        out,
                        "The audit log is intact: {rows} records, each linked to the one before."
                    )?;
                    Ok(Exit::Ok)
                }
                Verified::Broken { seq, why } => {
                    writeln!(out, "The audit log breaks at record {seq}: {why}.")?;
                    Ok(Exit::NeedsHuman)
                }
            }
        }
    }
}

pub fn ledger(verb: &LedgerVerb, config: &Config, out: &mut dyn Write) -> anyhow::Result<Exit> {
    config.home.prepare()?;
    match verb {
        LedgerVerb::Export => {
            let store = Store::open(&config.home.state).map_err(Fault::from)?;
            serde_json::to_writer_pretty(&mut *out, &store.all_signatures().map_err(Fault::from)?)?;
            writeln!(out)?;
            Ok(Exit::Ok)
        }
        LedgerVerb::Restore => {
            let restored = Store::restore(&config.home.state).context("restore the ledger")?;
            writeln!(
                out,
                "Restored from the audit log: {} causes, {} incidents, {} effects. Look at it with tick incidents.",
                restored.signatures, restored.incidents, restored.effects
            )?;
            Ok(Exit::Ok)
        }
    }
}
