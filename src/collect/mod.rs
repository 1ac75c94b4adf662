//! Looks at production and CI: one table of collectors, all that are due at once, each with its own deadline and its
//! own outcome. A collector that fails never hides another, and what could not be read is said, never guessed.

mod actions;
mod context;
mod declared;
mod declared_fetch;
mod declared_spec;
mod deploys;
mod domains;
mod exec;
#[doc(hidden)]
pub mod fuzz;
mod github;
mod health;
mod health_rules;
mod jsonrpc;
mod log_rotation;
mod log_scan;
mod logs;
#[cfg(test)]
mod matrix;
mod memory;
mod offline;
mod page;
mod paging;
mod plausible;
mod probe;
mod pulls;
mod railway;
mod rdap;
mod report;
mod requests;
#[cfg(test)]
mod testing;
mod vercel;
mod watched;

use std::pin::Pin;

use chrono::{DateTime, Utc};

use futures_util::future::{Either, join_all, select};

pub use actions::CI_IS_RED;
pub use context::{CacheEntry, CollectContext, Collected, HttpCache, SourceFacts, SourceKey, Sources};
pub use declared::{Shipped, check, shipped};
pub use page::pages;
pub use requests::GATEWAY;
pub use watched::{Renamed, Watched, renamed};

use context::{Piece, Place, Session};

use crate::{
    config::{Config, DeclaredUse, Repo, Target},
    model::past::Past,
    model::signal::{CollectorOutcome, Signal},
    text::{Redactor, Untrusted},
};

type Job<'a> = Pin<Box<dyn Future<Output = Piece> + 'a>>;

/// One collector that is built in.
struct Collector {
    name: &'static str,
    /// What of the config switches it on.
    enabled: fn(&Repo, &Target) -> bool,
    collect: for<'a> fn(&'a Session<'a>, Place<'a>) -> Job<'a>,
    scope: Scope,
    /// Its requests are those of users: they wake what sleeps.
    probes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Once for each target.
    Target,
    /// Once for each repo, under the name of its slot.
    Repo,
}

static TABLE: [Collector; 9] = [
    Collector {
        name: "health",
        enabled: |_, target| !target.health.is_empty(),
        collect: |session, place| Box::pin(health::collect(session, place)),
        probes: true,
        scope: Scope::Target,
    },
    Collector {
        name: "jsonrpc",
        enabled: |_, target| !target.jsonrpc.is_empty(),
        collect: |session, place| Box::pin(jsonrpc::collect(session, place)),
        probes: true,
        scope: Scope::Target,
    },
    Collector {
        name: "logs",
        enabled: |_, target| !target.logs.is_empty(),
        collect: |session, place| Box::pin(logs::collect(session, place)),
        probes: false,
        scope: Scope::Target,
    },
    Collector {
        name: "railway",
        enabled: |_, target| target.railway.is_some(),
        collect: |session, place| Box::pin(railway::collect(session, place)),
        probes: false,
        scope: Scope::Target,
    },
    Collector {
        name: "exec",
        enabled: |_, target| !target.exec.is_empty(),
        collect: |session, place| Box::pin(exec::collect(session, place)),
        probes: false,
        scope: Scope::Target,
    },
    Collector {
        name: "vercel",
        enabled: |_, target| target.vercel.is_some(),
        collect: |session, place| Box::pin(vercel::collect(session, place)),
        probes: false,
        scope: Scope::Target,
    },
    Collector {
        name: "domains",
        enabled: |_, target| !target.domains.is_empty(),
        collect: |session, place| Box::pin(domains::collect(session, place)),
        probes: false,
        scope: Scope::Target,
    },
    Collector {
        name: "actions",
        enabled: |repo, _| repo.github.is_some(),
        collect: |session, place| Box::pin(actions::collect(session, place)),
        probes: false,
        scope: Scope::Repo,
    },
    Collector {
        name: "pulls",
        enabled: |repo, _| repo.github.is_some(),
        collect: |session, place| Box::pin(pulls::collect(session, place)),
        probes: false,
        scope: Scope::Repo,
    },
];

/// How one source is read.
#[derive(Clone, Copy)]
enum Reader<'a> {
    BuiltIn(&'static Collector),
    Declared(&'a DeclaredUse),
}

/// Every source that the config enables.
fn enabled(config: &Config) -> Vec<(Place<'_>, Reader<'_>)> {
    let mut sources = Vec::new();
    for repo in config.repos.values() {
        for (index, target) in repo.targets.iter().enumerate() {
            for collector in &TABLE {
                let once = collector.scope == Scope::Target || index == 0;
                if once && (collector.enabled)(repo, target) {
                    let name = match collector.scope {
                        Scope::Target => target.name.as_str(),
                        Scope::Repo => repo.slot.as_str(),
                    };
                    let place = Place::new(collector.name, repo, target, name);
                    sources.push((place, Reader::BuiltIn(collector)));
                }
            }
            for declared in &target.declared {
                let place = Place::new(&declared.collector, repo, target, &target.name);
                sources.push((place, Reader::Declared(declared)));
            }
        }
    }
    sources
}

/// Name and text of every query that Railway is asked, to be held against its published schema.
#[cfg(test)]
pub(crate) fn railway_queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    railway::api::ALL.iter().map(|query| (query.name, query.text))
}

/// It says how the repository fares (CI, pull requests), not what production does.
pub fn is_of_repo(collector: &str) -> bool {
    TABLE
        .iter()
        .any(|row| row.name == collector && row.scope == Scope::Repo)
}

/// Names of the collectors that the config enables, each once.
pub fn names(config: &Config) -> Vec<&str> {
    let mut names: Vec<&str> = enabled(config).iter().map(|(place, _)| place.collector).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A probe, check or file as outcomes and signals name it.
fn part_name(redactor: &Redactor, name: &str) -> String {
    Untrusted::new(name, redactor).line(200)
}

/// The runs of CI of a repo since then; none for a slot without a repository on the forge.
pub async fn past(ctx: &CollectContext<'_>, repo: &Repo, since: DateTime<Utc>) -> Option<Past> {
    actions::history::read(ctx, repo, since).await
}

/// Runs every collector that the config enables, all at once.
pub async fn collect(ctx: &CollectContext<'_>) -> Collected {
    let started = crate::adapters::clock::instant();
    let session = Session::new(ctx);
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for (place, reader) in enabled(ctx.config) {
        if ctx.wants(place.collector) {
            let job: Job<'_> = match reader {
                Reader::BuiltIn(collector) => (collector.collect)(&session, place),
                Reader::Declared(declared) => Box::pin(declared::collect(&session, place, declared)),
            };
            jobs.push(bounded(&session, job, place));
        }
    }
    let mut pieces = match select(join_all(jobs), std::pin::pin!(session.prepare())).await {
        Either::Left((pieces, _)) => pieces,
        Either::Right(((), jobs)) => jobs.await,
    };
    let left = ctx.config.limits.collect_deadline.saturating_sub(started.elapsed());
    if let Ok(Some(again)) = tokio::time::timeout(left, wake(&session, &pieces)).await {
        for piece in again {
            let key = SourceKey::of(&piece.outcome);
            if let Some(old) = pieces.iter_mut().find(|old| SourceKey::of(&old.outcome) == key) {
                *old = piece;
            }
        }
    }
    offline::judge(&mut pieces);
    gather(ctx, pieces)
}

/// What a platform put to sleep was woken by the probes that found it down: they ask once more before it is called down.
async fn wake<'a>(session: &'a Session<'a>, pieces: &[Piece]) -> Option<Vec<Piece>> {
    let asleep = |place: &Place<'_>| {
        let here = |outcome: &CollectorOutcome| outcome.repo == place.repo.slot && outcome.target == place.name;
        pieces.iter().any(|piece| piece.asleep && here(&piece.outcome))
    };
    let down = |place: &Place<'_>| {
        let its = pieces.iter().find(|piece| SourceKey::of(&piece.outcome) == place.key());
        its.is_some_and(|piece| piece.signals.iter().any(Signal::is_outage))
    };
    let again: Vec<Job<'a>> = enabled(session.ctx.config)
        .into_iter()
        .filter(|(place, _)| asleep(place) && down(place))
        .filter_map(|(place, reader)| match reader {
            Reader::BuiltIn(probe) if probe.probes => Some(bounded(session, (probe.collect)(session, place), place)),
            Reader::BuiltIn(_) | Reader::Declared(_) => None,
        })
        .collect();
    if again.is_empty() {
        return None;
    }
    tokio::time::sleep(session.ctx.waking).await;
    Some(join_all(again).await)
}

/// The collector's own deadline; what is not done by then has failed.
fn bounded<'a>(session: &'a Session<'a>, job: Job<'a>, place: Place<'a>) -> Job<'a> {
    Box::pin(async move {
        let started = crate::adapters::clock::instant();
        let mut piece = match tokio::time::timeout(session.ctx.config.limits.collect_deadline, job).await {
            Ok(piece) => piece,
            Err(_) => place.failed("timeout", "it was not done within the deadline of the collection"),
        };
        piece.outcome.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        piece
    })
}

fn gather(ctx: &CollectContext<'_>, pieces: Vec<Piece>) -> Collected {
    let mut collected = Collected::default();
    for mut piece in pieces {
        let key = SourceKey::of(&piece.outcome);
        let facts = ctx.sources.get(&key);
        if piece.outcome.is_blind() {
            piece.outcome.blind_seconds = facts
                .and_then(|facts| facts.last_ok_at)
                .map(|last| u64::try_from((ctx.now - last).num_seconds()).unwrap_or(0));
        }
        let measures = piece.measures.drain(..).map(|measure| (key.clone(), measure));
        collected.measures.extend(measures);
        if let Some(cursor) = piece.cursor {
            collected.cursors.insert(key, cursor);
        }
        let now = ctx.clock.now().max(ctx.now);
        for signal in &mut piece.signals {
            plausible::bring(signal, now);
        }
        collected.signals.append(&mut piece.signals);
        collected.open_pulls.append(&mut piece.open_pulls);
        collected.changes.append(&mut piece.changes);
        collected.collectors.push(piece.outcome);
    }
    collected
}
