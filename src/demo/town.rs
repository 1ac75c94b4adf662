//! Everything the world's threads share. Servers, CI, the deployer and the people all work on this one value.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    act::Act,
    agent::Records,
    children::Children,
    ci,
    clock::WorldClock,
    control,
    deploy::Deployer,
    faults::{Fault, Rules, Site, Which},
    forge::{Author, By, Forge, Model},
    log::Log,
    railway::Railway,
    serve::{Call, Reply, spoil},
    services::Services,
    tracker::Tracker,
    vercel::Vercel,
    world::WorldOptions,
};

pub struct Town {
    pub options: WorldOptions,
    pub root: PathBuf,
    pub clock: WorldClock,
    pub log: Log,
    pub children: Arc<Children>,
    pub forge: Forge,
    pub tracker: Tracker,
    pub deployer: Deployer,
    pub railway: Railway,
    pub records: Records,
    pub(super) app_url: String,
    pub(super) tracker_url: String,
    pub(super) railway_url: String,
    pub vercel: Vercel,
    pub(super) vercel_url: String,
    pub services: Services,
    pub(super) services_url: String,
    faults: Mutex<Rules<Fault>>,
    acts: Mutex<Rules<Act>>,
    requests: Mutex<Vec<String>>,
    queues: Mutex<Option<Queues>>,
    /// CI jobs that were queued and have not ended.
    ci_jobs: AtomicUsize,
}

/// Dropping them ends the workers.
struct Queues {
    ci: Sender<ci::Task>,
    deploys: Sender<String>,
}

/// The other ends, for the two worker threads.
pub(super) struct Work {
    pub ci: Receiver<ci::Task>,
    pub deploys: Receiver<String>,
}

/// The parts that are made one by one before the town stands.
pub(super) struct Parts {
    pub options: WorldOptions,
    pub root: PathBuf,
    pub clock: WorldClock,
    pub children: Arc<Children>,
    pub forge: Forge,
    pub tracker: Tracker,
    pub app_url: String,
    pub tracker_url: String,
    pub railway_url: String,
    pub vercel_url: String,
    pub services_url: String,
}

impl Town {
    pub(super) fn new(parts: Parts) -> (Self, Work) {
        let (ci, ci_end) = channel();
        let (deploys, deploys_end) = channel();
        let town = Self {
            options: parts.options,
            root: parts.root,
            clock: parts.clock,
            log: Log::default(),
            children: parts.children,
            forge: parts.forge,
            tracker: parts.tracker,
            deployer: Deployer::default(),
            railway: Railway::default(),
            records: Records::default(),
            app_url: parts.app_url,
            tracker_url: parts.tracker_url,
            railway_url: parts.railway_url,
            vercel: Vercel::default(),
            vercel_url: parts.vercel_url,
            services: Services::default(),
            services_url: parts.services_url,
            faults: Mutex::default(),
            acts: Mutex::default(),
            requests: Mutex::default(),
            queues: Mutex::new(Some(Queues { ci, deploys })),
            ci_jobs: AtomicUsize::new(0),
        };
        let work = Work {
            ci: ci_end,
            deploys: deploys_end,
        };
        (town, work)
    }

    pub fn fault(&self, which: Which, fault: Fault) {
        lock(&self.faults).add(which, fault);
    }

    /// What people do right after a request that fits, before its answer is sent.
    pub fn after(&self, which: Which, act: Act) {
        lock(&self.acts).add(which, act);
    }

    /// Takes back every fault and every act that is still to come.
    pub fn calm(&self) {
        lock(&self.faults).clear();
        lock(&self.acts).clear();
    }

    /// `METHOD path` of every request so far, the sample app's and the control calls left out.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.requests).clone()
    }

    pub(super) fn faults_for(&self, call: &Call) -> Vec<Fault> {
        if control::is_control(call) || is_onlooker(call) {
            return Vec::new();
        }
        if call.site != Site::App {
            lock(&self.requests).push(format!("{} {}", call.method, call.path));
        }
        let faults = lock(&self.faults).due(call.site, &call.method, &call.path);
        for fault in &faults {
            self.log.add(
                self.clock.now(),
                "fault",
                format!("{} {}: {fault:?}", call.method, call.path),
            );
        }
        faults
    }

    pub(super) fn answer(&self, call: &Call, faults: &[Fault]) -> Reply {
        if control::is_control(call) {
            return control::answer(self, call);
        }
        let refused_before = faults.iter().any(|f| {
            matches!(
                f,
                Fault::Status { performed: false, .. }
                    | Fault::Limited { .. }
                    | Fault::OtherShape
                    | Fault::NoBody
                    | Fault::Html
                    | Fault::RedirectLoop
                    | Fault::RedirectTo { .. }
            )
        });
        let reply = if refused_before {
            Reply::empty(200)
        } else {
            match call.site {
                Site::Forge => self.forge.answer(self, call, faults),
                Site::Tracker => self.tracker.answer(self, call),
                Site::Railway => self.railway.answer(self, call),
                Site::Vercel => self.vercel.answer(self, call),
                Site::Services => self.services.answer(self, call),
                Site::App => self.deployer.forward(call),
            }
        };
        if !is_onlooker(call) {
            let due = lock(&self.acts).due(call.site, &call.method, &call.path);
            for act in due {
                self.act(act);
            }
        }
        spoil(reply, call, faults)
    }

    /// Performs an act now; what goes wrong is an error of the story.
    pub fn act(&self, act: Act) {
        let what = format!("{act:?}");
        self.log.add(self.clock.now(), "person", &what);
        if let Err(error) = super::act::perform(self, act) {
            self.log.error(self.clock.now(), "person", format!("{what}: {error:#}"));
        }
    }

    /// Called after branches may have moved: pulls follow their heads, CI and the deployer get their work.
    pub(super) fn pushed(
        &self,
        model: &mut Model,
        before: &BTreeMap<String, String>,
        after: &BTreeMap<String, String>,
        by: By,
    ) -> Result<()> {
        let now = self.clock.now();
        for (branch, sha) in after.iter().filter(|(branch, sha)| before.get(*branch) != Some(sha)) {
            self.log
                .add(now, "git", format!("{branch} is now {} ({by:?})", &sha[..7]));
            if by == By::Token {
                self.watch_push(branch, before.get(branch), sha)?;
            }
            for pull in model.pulls.iter_mut().filter(|p| p.open && p.head == *branch) {
                pull.head_before = std::mem::replace(&mut pull.head_sha, sha.clone());
                pull.updated = now;
            }
            ci::queue(self, model, branch, sha, false);
            if *branch == self.forge.branch {
                self.queue_deploy(sha);
            }
        }
        for branch in before.keys().filter(|branch| !after.contains_key(*branch)) {
            self.log.add(now, "git", format!("{branch} was deleted ({by:?})"));
        }
        Ok(())
    }

    /// The product may only add to branches of its own.
    fn watch_push(&self, branch: &str, old: Option<&String>, new: &str) -> Result<()> {
        let now = self.clock.now();
        if *branch == self.forge.branch {
            self.log.error(now, "git", "the token pushed to the default branch");
        }
        if let Some(old) = old
            && !self.forge.repo.is_ancestor(old, new)?
        {
            self.log
                .error(now, "git", format!("the token forced {branch} from {old} to {new}"));
        }
        Ok(())
    }

    /// One small commit of a person on a branch.
    pub(super) fn person_commits(&self, model: &mut Model, branch: &str, message: &str) -> Result<String> {
        let before = self.forge.repo.heads()?;
        let at = self.clock.now();
        let file = format!("notes/{}.md", model.next_id());
        let text = format!("{message}\n").into_bytes();
        let author = Author { name: "ada", at };
        let sha = self
            .forge
            .repo
            .commit(branch, None, author, message, &[(file, Some(text))])?;
        self.pushed(model, &before, &self.forge.repo.heads()?, By::Person)?;
        Ok(sha)
    }

    pub(super) fn queue_ci(&self, task: ci::Task) {
        if let Some(queues) = lock(&self.queues).as_ref() {
            self.ci_jobs.fetch_add(1, Ordering::SeqCst);
            // The worker ends only after this sender.
            let _sent = queues.ci.send(task);
        }
    }

    pub(super) fn ci_job_ended(&self) {
        self.ci_jobs.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn ci_is_idle(&self) -> bool {
        self.ci_jobs.load(Ordering::SeqCst) == 0
    }

    pub(super) fn queue_deploy(&self, sha: &str) {
        if let Some(queues) = lock(&self.queues).as_ref() {
            let _sent = queues.deploys.send(sha.to_owned());
        }
    }

    pub(super) fn close_queues(&self) {
        drop(lock(&self.queues).take());
    }

    /// The default branch's present commit.
    pub fn main_head(&self) -> Result<String> {
        self.forge
            .repo
            .head(&self.forge.branch)?
            .context("the default branch exists")
    }

    /// Everything, as JSON, for tests in other processes.
    pub fn state(&self) -> serde_json::Value {
        let model = self.forge.model();
        json!({
            "now": super::clock::millis(self.clock.now()),
            "main": self.main_head().ok(),
            "heads": self.forge.repo.heads().unwrap_or_default(),
            "live": self.deployer.history(),
            "forge": *model,
            "requests": self.requests(),
            "errors": self.log.errors(),
            "log": self.log.print(),
        })
    }
}

/// Somebody who only looks, on behalf of the story: counted nowhere, spoilt by nothing.
fn is_onlooker(call: &Call) -> bool {
    call.header("x-world").is_some()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
