//! Gather facts, ask `decide`, apply the answer. Each step records what it did before the next begins, and can be
//! repeated after a crash at any point.

pub mod advance;
pub mod effect;
mod gather;
pub mod prove;
pub mod report;

use std::{
    cell::{Cell, RefCell, RefMut},
    path::PathBuf,
};

use chrono::{DateTime, Utc};

use crate::{
    adapters::clock::Clock,
    config::{Config, Repo},
    model::{Slot, TickId},
    steps::{effect::CrashPoints, report::Report},
    store::Store,
    text::Redactor,
};

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
        Self {
            config,
            clock,
            redactor,
            tick,
            crash,
            store: RefCell::new(store),
            report: RefCell::new(Report::default()),
            attempts_made: Cell::new(0),
        }
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
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

    pub fn state(&self) -> PathBuf {
        self.config.home.state.clone()
    }
}
