//! The deployer: what lands on the default branch goes live behind one stable address. Knows every release and since
//! when it serves.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, mpsc::Receiver},
    time::Duration,
};

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{
    client,
    serve::{Call, Reply},
    town::Town,
};

#[derive(Debug, Default)]
pub struct Deployer {
    inner: Mutex<Live>,
}

#[derive(Debug, Default)]
struct Live {
    backend: Option<String>,
    releases: Vec<Release>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Release {
    pub sha: String,
    pub since: DateTime<Utc>,
}

impl Deployer {
    /// Oldest first; the last one serves.
    pub fn history(&self) -> Vec<Release> {
        self.lock().releases.clone()
    }

    pub fn live(&self) -> Option<String> {
        self.lock().releases.last().map(|r| r.sha.clone())
    }

    /// Hands one request to the running app.
    pub(super) fn forward(&self, call: &Call) -> Reply {
        let backend = self.lock().backend.clone();
        let query = if call.query.is_empty() {
            String::new()
        } else {
            format!("?{}", call.query)
        };
        let target = format!("{}{query}", call.path);
        let answer = backend.map(|base| client::request(&base, &call.method, &target, &[], &call.body));
        match answer {
            Some(Ok(answer)) => {
                let kind = answer.header("content-type").unwrap_or("text/plain").to_owned();
                Reply {
                    status: answer.status,
                    headers: vec![("content-type".into(), kind)],
                    body: answer.body,
                }
            }
            Some(Err(_)) | None => Reply::text(502, "no release serves"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works until the world ends the queue. A release that does not start leaves the old one live.
pub(super) fn work(town: &Town, queue: &Receiver<String>) {
    while let Ok(sha) = queue.recv() {
        if town.children.is_closing() {
            return;
        }
        // Only the newest of several that wait.
        let sha = queue.try_iter().last().unwrap_or(sha);
        match deploy(town, &sha) {
            Ok(()) => town
                .log
                .add(town.clock.now(), "deployer", format!("{} is live", &sha[..7])),
            Err(error) => town.log.add(
                town.clock.now(),
                "deployer",
                format!("{} did not start: {error:#}", &sha[..7]),
            ),
        }
    }
}

pub(super) fn deploy(town: &Town, sha: &str) -> Result<()> {
    let backend = if town.options.runs_app() {
        Some(start(town, sha)?)
    } else {
        None
    };
    let old = {
        let mut live = town.deployer.lock();
        let since = town.clock.now();
        live.backend = backend;
        live.releases.push(Release {
            sha: sha.to_owned(),
            since,
        });
        live.releases.iter().rev().nth(1).map(|r| r.sha.clone())
    };
    if let Some(old) = old.filter(|old| old != sha) {
        town.children.end(&old);
    }
    Ok(())
}

/// Starts the app of one commit and gives back its own address.
fn start(town: &Town, sha: &str) -> Result<String> {
    let dir = town.root.join("releases").join(sha);
    if !dir.exists() {
        town.forge.repo.checkout(sha, &dir)?;
    }
    let mut command = town.children.command("python3", &dir);
    command
        .args(["-m", "shop"])
        .env("SHOP_RELEASE", sha)
        .env("SHOP_TRACKER", format!("{}/api/events", town.tracker_url));
    let port = town.children.serve(sha, command)?;
    let base = format!("http://127.0.0.1:{port}");
    client::get(&base, "/health")?;
    Ok(base)
}

/// Waits for something real that takes a moment (a CI job, a release), but not for ever.
pub(super) fn until(what: &str, most: Duration, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let started = crate::adapters::clock::instant();
    while !holds()? {
        anyhow::ensure!(started.elapsed() < most, "waited {most:?} for {what} in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
