//! The world as its users see it: started from options, driven by a story, and checked at the end for anything that
//! was left behind.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{
    act::Act,
    children::{Children, end_strays, strays},
    ci::{self, CiJob, Pace},
    client,
    clock::WorldClock,
    deploy::{self, until},
    faults::{Fault, Site, Which},
    forge::{BareRepo, CiRun, JobRun, Model, Pull, again, enter},
    ground::{make_forge, make_root},
    left::Held,
    mailbox::Mailbox,
    serve::{Bound, Servers},
    shop,
    town::{Parts, Town},
    tracker::Tracker,
};

/// Tokens of the world. They open nothing but the world.
pub const FORGE_TOKEN: &str = "world-forge-token-not-a-secret";
pub const TRACKER_TOKEN: &str = "world-tracker-token-not-a-secret";

#[derive(Debug, Clone)]
pub struct WorldOptions {
    /// Where the world's calendar starts.
    pub now: DateTime<Utc>,
    /// A new directory that the world makes and owns; None: a temporary one.
    pub root: Option<PathBuf>,
    pub pace: Pace,
    /// What CI runs; each name is a required check.
    pub ci: Vec<CiJob>,
    pub owner: String,
    pub name: String,
    /// Another repository instead of the sample shop.
    pub repo: Option<OwnRepo>,
    /// False: no app is started, a release is only a row. For stories about the forge alone.
    pub app: bool,
    /// The directory stays when the world ends.
    pub keep: bool,
}

/// A repository of the user, rehearsed on a clone. The clone's source is only read.
#[derive(Debug, Clone)]
pub struct OwnRepo {
    pub path: PathBuf,
    /// The test command, which CI runs too.
    pub test: Vec<String>,
    /// A signal of production, as the product writes signals; missing fields are filled in.
    pub signal: Option<Value>,
}

impl WorldOptions {
    /// The sample shop, CI with `test` and `lint`.
    pub fn shop(now: DateTime<Utc>) -> Self {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let lint = "python3 -m compileall -q -f shop tests";
        let job = |name: &str, command: &str| CiJob {
            name: name.to_owned(),
            commands: vec![words(command)],
            report: None,
        };
        Self {
            now,
            root: None,
            pace: Pace::Held,
            ci: vec![job("test", shop::TEST), job("lint", lint)],
            owner: "acme".to_owned(),
            name: "shop".to_owned(),
            repo: None,
            app: true,
            keep: false,
        }
    }

    /// A clone of somebody's own repository; its app does not run here.
    pub fn own(now: DateTime<Utc>, own: OwnRepo) -> Self {
        let name = own.path.canonicalize().ok();
        let name = name
            .as_deref()
            .and_then(Path::file_name)
            .and_then(|n| n.to_str())
            .unwrap_or("repository");
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '-'
            }
        };
        Self {
            ci: vec![CiJob {
                name: "test".to_owned(),
                commands: vec![own.test.clone()],
                report: None,
            }],
            owner: "rehearsal".to_owned(),
            name: name.trim_start_matches('-').chars().map(plain).collect(),
            repo: Some(own),
            app: false,
            ..Self::shop(now)
        }
    }

    /// The product's name for the repository.
    pub fn slot(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        };
        let name: String = self.name.chars().map(plain).take(40).collect();
        name.trim_matches('-').to_owned()
    }

    pub fn runs_app(&self) -> bool {
        self.app && self.repo.is_none()
    }
}

/// A running world. It runs on threads of its own, so a caller may block.
pub struct World {
    town: Arc<Town>,
    mailbox: Mailbox,
    servers: Option<Servers>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// Ends after everything else: until then the world is in use.
    _held: Option<Held>,
}

impl World {
    pub fn start(options: WorldOptions) -> Result<Self> {
        let (root, held) = make_root(&options)?;
        let made = held.is_some().then(|| root.clone());
        let world = Self::start_in(options, root, held);
        if let (Err(_), Some(root)) = (&world, made) {
            // What could not be started is of no use to anybody.
            let _best_effort = std::fs::remove_dir_all(root);
        }
        world
    }

    fn start_in(options: WorldOptions, root: PathBuf, held: Option<Held>) -> Result<Self> {
        let bound = Bound::new()?;
        let children = Arc::new(Children::new(root.join("home")));
        for dir in ["home", "ci", "releases", "git"] {
            std::fs::create_dir_all(root.join(dir))?;
        }
        let clock = WorldClock::start(options.now);
        let forge = make_forge(&options, &root, &children, &bound, clock.now())?;
        let mailbox = Mailbox::new(root.join("mail"))?;
        let (town, work) = Town::new(Parts {
            app_url: bound.url(Site::App)?,
            tracker_url: bound.url(Site::Tracker)?,
            railway_url: bound.url(Site::Railway)?,
            vercel_url: bound.url(Site::Vercel)?,
            services_url: bound.url(Site::Services)?,
            tracker: Tracker::new(TRACKER_TOKEN.to_owned()),
            options,
            root,
            clock,
            children,
            forge,
        });
        let town = Arc::new(town);
        let servers = Servers::start(bound, &town)?;
        let mut workers = Vec::new();
        let (of_ci, of_deploys) = (Arc::clone(&town), Arc::clone(&town));
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name.into()).spawn(work);
        workers.push(spawn("ci", Box::new(move || ci::work(&of_ci, &work.ci)))?);
        workers.push(spawn(
            "deployer",
            Box::new(move || deploy::work(&of_deploys, &work.deploys)),
        )?);
        let world = Self {
            town,
            mailbox,
            servers: Some(servers),
            workers: Mutex::new(workers),
            _held: held,
        };
        world.settle()?;
        Ok(world)
    }

    /// The first release goes live. The shop was green before the story begins; a repository of the user is tested.
    fn settle(&self) -> Result<()> {
        let head = self.town.main_head()?;
        deploy::deploy(&self.town, &head)?;
        let own = self.town.options.repo.as_ref();
        // Without a signal of its own, the rehearsal begins with a test that fails: CI has not looked at it yet.
        if own.is_none_or(|own| own.signal.is_some()) {
            let (branch, green) = (&self.town.forge.branch, own.is_none());
            ci::queue(&self.town, &mut self.town.forge.model(), branch, &head, green);
        }
        if let Some(signal) = own.and_then(|own| own.signal.as_ref()) {
            self.town.tracker.plant(signal, &head);
        }
        Ok(())
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.town.clock.now()
    }

    pub fn advance(&self, by: Duration) {
        self.town.clock.advance(by);
    }

    /// A directory of the world's own, for the product's home and the like.
    pub fn root(&self) -> &Path {
        &self.town.root
    }

    /// The pull requests as people see them, each in a file of the root.
    pub fn write_pulls(&self) -> std::io::Result<Vec<PathBuf>> {
        let dir = self.root().join("pulls");
        std::fs::create_dir_all(&dir)?;
        let write = |pull: &Pull| {
            let path = dir.join(format!("{}.md", pull.number));
            std::fs::write(&path, format!("# {}\n\n{}\n", pull.title, pull.body)).map(|()| path)
        };
        self.forge().pulls.iter().map(write).collect()
    }

    pub fn forge_url(&self) -> &str {
        &self.town.forge.api
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        self.town.forge.full_name()
    }

    pub fn git_url(&self) -> String {
        self.town.forge.clone_url()
    }

    pub fn app_url(&self) -> &str {
        &self.town.app_url
    }

    pub fn tracker_url(&self) -> &str {
        &self.town.tracker_url
    }

    /// Address of the deployer's API, in the shape of Railway's.
    pub fn railway_api(&self) -> String {
        format!("{}/graphql/v2", self.town.railway_url)
    }

    /// The deployer, in the shape of Vercel's API and of its web pages.
    pub fn vercel_url(&self) -> &str {
        &self.town.vercel_url
    }

    /// Alerts, status pages and a node.
    pub fn services_url(&self) -> &str {
        &self.town.services_url
    }

    pub fn mail(&self) -> &Mailbox {
        &self.mailbox
    }

    /// Everything that the servers and people share: event log, replies, requests, agents' records, releases.
    pub fn town(&self) -> &Town {
        &self.town
    }

    pub fn repo(&self) -> &BareRepo {
        &self.town.forge.repo
    }

    /// What the forge knows; held while the value lives, so keep it short.
    pub fn forge(&self) -> std::sync::MutexGuard<'_, Model> {
        self.town.forge.model()
    }

    pub fn fault(&self, which: Which, fault: Fault) {
        self.town.fault(which, fault);
    }

    pub fn after(&self, which: Which, act: Act) {
        self.town.after(which, act);
    }

    pub fn act(&self, act: Act) {
        self.town.act(act);
    }

    /// A run of CI that has been; gives its number.
    pub fn ci_ran(&self, run: &CiRun) -> Result<u64> {
        enter(&self.town, run)
    }

    /// One more attempt of it.
    pub fn ci_ran_again(&self, run: u64, jobs: &[JobRun]) -> Result<()> {
        again(&self.town, run, jobs)
    }

    /// Commit on the default branch.
    pub fn main_head(&self) -> Result<String> {
        self.town.main_head()
    }

    /// Real requests of customers, at this moment.
    pub fn traffic(&self, requests: u32) -> Result<()> {
        shop::traffic(&self.town, requests, Duration::ZERO)
    }

    /// The same, spread over some of the world's time, which passes.
    pub fn traffic_over(&self, requests: u32, span: Duration) -> Result<()> {
        shop::traffic(&self.town, requests, span)
    }

    /// A person merges the change that brings the bug; returns when it serves.
    pub fn ship_bug(&self) -> Result<()> {
        self.act(Act::ShipBug);
        self.wait_deployed()
    }

    /// Takes a signal that stands while the present commit is deployed; `Act::ShowSignal` begins it.
    pub fn plant(&self, signal: &Value) -> Result<()> {
        self.town.tracker.plant(signal, &self.town.main_head()?);
        Ok(())
    }

    /// Waits until the default branch's head serves.
    pub fn wait_deployed(&self) -> Result<()> {
        let head = self.town.main_head()?;
        until("the release to go live", Duration::from_mins(1), || {
            Ok(self.town.deployer.live().as_deref() == Some(&head))
        })
    }

    /// Looks at the commit's checks like a person who waits, until every one is done.
    pub fn wait_for_ci(&self, sha: &str) -> Result<()> {
        let target = format!("/repos/{}/commits/{sha}/check-runs", self.town.forge.full_name());
        let token = format!("Bearer {FORGE_TOKEN}");
        let headers = [
            ("Authorization", token.as_str()),
            ("User-Agent", "a-person"),
            ("X-World", "looks"),
        ];
        until("CI to end", Duration::from_mins(10), || {
            let runs = client::request(self.forge_url(), "GET", &target, &headers, b"")?.json();
            let runs = runs["check_runs"]
                .as_array()
                .context("the forge lists check runs")?
                .clone();
            Ok(!runs.is_empty() && runs.iter().all(|run| run["status"] == "completed"))
        })
    }

    /// Ends the world. An error names everything that was left, with the log of what happened.
    pub fn finish(mut self) -> Result<()> {
        // A merge at the end of a story has its own CI, which nobody reads any more; to end it would leave its children.
        let idle = until("CI to end", Duration::from_mins(10), || Ok(self.town.ci_is_idle()));
        let mut wrong = self.town.log.errors();
        wrong.extend(idle.err().map(|error| error.to_string()));
        let unread = self.mailbox.unread()?;
        wrong.extend(unread.iter().map(|mail| format!("mail nobody read: {}", mail.subject)));
        self.stop();
        wrong.extend(
            strays(&self.town.root)
                .iter()
                .map(|p| format!("a process still runs in the world: {p}")),
        );
        if wrong.is_empty() {
            return Ok(());
        }
        bail!(
            "the world ended badly:\n- {}\n\n{}",
            wrong.join("\n- "),
            self.town.log.print()
        );
    }

    /// For a program that is told to end while the story runs: every child is ended and the directory removed. The
    /// world is of no use after that.
    pub fn abandon(&self) {
        self.town.children.close();
        self.town.children.end_all();
        end_strays(&self.town.root);
        if !self.town.options.keep {
            self.remove_root();
        }
    }

    /// Somebody who was just ended may still have had a file in the making.
    fn remove_root(&self) {
        for _ in 0..20 {
            if std::fs::remove_dir_all(&self.town.root).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn stop(&mut self) {
        self.town.children.close();
        self.town.close_queues();
        drop(self.servers.take());
        for worker in std::mem::take(&mut *self.workers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)) {
            let _panicked = worker.join();
        }
        self.town.children.end_all();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop();
        if !self.town.options.keep {
            self.remove_root();
        }
    }
}
