//! What collectors are given and what they give back. The caller loads and stores; nothing here touches a file.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    time::Duration,
};

use chrono::{DateTime, Utc};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    adapters::{clock::Clock, gate_child, http::Http},
    config::{Config, Repo, Target},
    model::{
        Slot,
        signal::{BlindPart, Change, ChangeKind, CollectorOutcome, Measure, OpenPull, OutcomeKind, Signal},
    },
    text::{Redactor, clean, jq},
};

/// Names one source in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceKey {
    pub repo: Slot,
    pub target: String,
    pub collector: String,
}

impl SourceKey {
    pub fn of(outcome: &CollectorOutcome) -> Self {
        Self {
            repo: outcome.repo.clone(),
            target: outcome.target.clone(),
            collector: outcome.name.clone(),
        }
    }
}

/// What is known of a source from earlier ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFacts {
    pub last_ok_at: Option<DateTime<Utc>>,
    /// Opaque text that the collector wrote itself.
    pub cursor: Option<String>,
}

pub type Sources = BTreeMap<SourceKey, SourceFacts>;

/// Answers kept for conditional requests. Loaded and stored by the caller.
#[derive(Debug, Default)]
pub struct HttpCache {
    entries: RefCell<BTreeMap<String, CacheEntry>>,
    changed: RefCell<BTreeMap<String, CacheEntry>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    pub etag: String,
    pub link: Option<String>,
    pub body: Vec<u8>,
}

impl HttpCache {
    pub fn new(entries: BTreeMap<String, CacheEntry>) -> Self {
        Self {
            entries: RefCell::new(entries),
            changed: RefCell::default(),
        }
    }

    pub fn get(&self, key: &str) -> Option<CacheEntry> {
        self.entries.borrow().get(key).cloned()
    }

    pub fn put(&self, key: &str, entry: CacheEntry) {
        self.entries.borrow_mut().insert(key.to_owned(), entry.clone());
        self.changed.borrow_mut().insert(key.to_owned(), entry);
    }

    /// What was added or replaced since it was made.
    pub fn changed(&self) -> BTreeMap<String, CacheEntry> {
        self.changed.borrow().clone()
    }
}

/// All that one collection depends on.
pub struct CollectContext<'a> {
    pub config: &'a Config,
    pub http: &'a Http,
    pub redactor: &'a Redactor,
    pub clock: Clock,
    /// Start of the tick.
    pub now: DateTime<Utc>,
    /// Wider look-back.
    pub deep: bool,
    /// Only the collector of this name.
    pub only: Option<&'a str>,
    pub sources: &'a Sources,
    pub cache: &'a HttpCache,
    /// Waits before a failing probe is sampled again.
    pub resample: [Duration; 2],
    /// Wait before what its platform had put to sleep is asked once more.
    pub waking: Duration,
}

impl<'a> CollectContext<'a> {
    pub fn new(
        config: &'a Config,
        http: &'a Http,
        redactor: &'a Redactor,
        clock: Clock,
        sources: &'a Sources,
        cache: &'a HttpCache,
    ) -> Self {
        Self {
            config,
            http,
            redactor,
            clock,
            now: clock.now(),
            deep: false,
            only: None,
            sources,
            cache,
            resample: [Duration::from_secs(2), Duration::from_secs(3)],
            waking: Duration::from_secs(15),
        }
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_none_or(|only| only == name)
    }
}

/// Everything one collection saw, and what the caller stores for the next.
#[derive(Debug, Default)]
pub struct Collected {
    pub signals: Vec<Signal>,
    pub collectors: Vec<CollectorOutcome>,
    pub open_pulls: Vec<OpenPull>,
    pub changes: Vec<Change>,
    /// Numbers for trends, by source.
    pub measures: Vec<(SourceKey, Measure)>,
    /// New cursors of the sources that keep one.
    pub cursors: BTreeMap<SourceKey, String>,
}

/// What one collector runs with: the context and what all of them share.
pub(super) struct Session<'a> {
    pub(super) ctx: &'a CollectContext<'a>,
    permits: Semaphore,
    programs: RefCell<HashMap<String, Ready>>,
}

/// How a program of the owner's is run.
#[derive(Clone)]
enum Ready {
    Here(Rc<jq::Program>),
    Child,
}

/// Descriptors that are left to everything that is not a request.
const SPARE_DESCRIPTORS: u64 = 40;

/// By then every request that can be sent at once has been.
const REQUESTS_ARE_OUT: Duration = Duration::from_millis(3);

impl<'a> Session<'a> {
    pub(super) fn new(ctx: &'a CollectContext<'a>) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .map_or(usize::MAX, |n| {
                usize::try_from(n.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(usize::MAX)
            });
        let permits = ctx
            .config
            .limits
            .concurrency
            .min(limit)
            .clamp(1, Semaphore::MAX_PERMITS);
        Self {
            ctx,
            permits: Semaphore::new(permits),
            programs: RefCell::default(),
        }
    }

    /// A place among the requests that run at once.
    pub(super) async fn permit(&self) -> SemaphorePermit<'_> {
        self.permits.acquire().await.expect("the semaphore is never closed")
    }

    /// Runs a jq program: here when it is shipped or cannot loop, else in a limited child.
    pub(super) async fn jq(
        &self,
        program: &str,
        shipped: bool,
        input: &[u8],
    ) -> Result<Vec<serde_json::Value>, String> {
        match self.ready(program, shipped)? {
            Ready::Here(program) => program.run(input).map_err(|fault| fault.to_string()),
            Ready::Child => gate_child::run(program, input, self.ctx.config.limits.gate_deadline).await,
        }
    }

    fn ready(&self, program: &str, shipped: bool) -> Result<Ready, String> {
        if let Some(ready) = self.programs.borrow().get(program) {
            return Ok(ready.clone());
        }
        let ready = if shipped || jq::plain(program) {
            Ready::Here(Rc::new(
                jq::Program::compile(program).map_err(|fault| fault.to_string())?,
            ))
        } else {
            Ready::Child
        };
        self.programs.borrow_mut().insert(program.to_owned(), ready.clone());
        Ok(ready)
    }

    /// Makes what the answers will need while they are awaited: compiled programs, the tables of the redactor. What is
    /// wrong with a program is said where it is used.
    pub(super) async fn prepare(&self) {
        tokio::time::sleep(REQUESTS_ARE_OUT).await;
        for target in self.ctx.config.repos.values().flat_map(|repo| &repo.targets) {
            let health = target.health.iter().flat_map(|p| [&p.jq, &p.release, &p.requests]);
            let rpc = target.jsonrpc.iter().map(|p| &p.jq);
            let levels = target.health.iter().flat_map(|p| &p.levels).map(|level| &level.jq);
            for program in health.chain(rpc).flatten().chain(levels) {
                let _ready = self.ready(program, false);
            }
        }
        self.line("-", 1);
    }

    /// Outside text for a stored field: cleaned, redacted, one line, at most `max` characters.
    pub(super) fn line(&self, text: &str, max: usize) -> String {
        crate::text::Untrusted::new(text, self.ctx.redactor).line(max)
    }

    /// As [`Self::line`], the value of a field of outside data.
    pub(super) fn field(&self, name: &str, value: &str, max: usize) -> String {
        self.line(&self.ctx.redactor.redact_field(name, value), max)
    }

    /// Outside text of several lines: cleaned, redacted, at most `max` characters.
    pub(super) fn text(&self, text: &str, max: usize) -> String {
        let text = self.ctx.redactor.redact(&clean(text));
        match text.char_indices().nth(max) {
            None => text,
            Some((at, _)) => format!("{}…", &text[..at]),
        }
    }
}

/// Where a collector looks.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) collector: &'a str,
    pub(super) repo: &'a Repo,
    pub(super) target: &'a Target,
    /// The target's name as it stands in signals and outcomes.
    pub(super) name: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn new(collector: &'a str, repo: &'a Repo, target: &'a Target, name: &'a str) -> Self {
        Self {
            collector,
            repo,
            target,
            name,
        }
    }

    pub(super) fn key(&self) -> SourceKey {
        SourceKey {
            repo: self.repo.slot.clone(),
            target: self.name.to_owned(),
            collector: self.collector.to_owned(),
        }
    }

    pub(super) fn piece(&self, outcome: OutcomeKind) -> Piece {
        Piece {
            outcome: CollectorOutcome {
                name: self.collector.to_owned(),
                repo: self.repo.slot.clone(),
                target: self.name.to_owned(),
                outcome,
                ms: 0,
                items: 0,
                cause: String::new(),
                detail: String::new(),
                release_sha: None,
                requests: None,
                deploying_since: None,
                told: BTreeSet::new(),
                variables: None,
                blind_parts: Vec::new(),
                blind_seconds: None,
            },
            signals: Vec::new(),
            open_pulls: Vec::new(),
            changes: Vec::new(),
            measures: Vec::new(),
            cursor: None,
            reached: Vec::new(),
            asleep: false,
        }
    }

    /// A `token`, or the `certificate` of a host, that ends then.
    pub(super) fn expiry(&self, what: &str, key: &str, at: DateTime<Utc>) -> Change {
        Change {
            at,
            repo: self.repo.slot.clone(),
            target: self.name.to_owned(),
            source: self.collector.to_owned(),
            kind: ChangeKind::Expiry,
            key: key.to_owned(),
            what: what.to_owned(),
            sha: None,
            url: None,
        }
    }

    pub(super) fn failed(&self, cause: &str, detail: &str) -> Piece {
        let mut piece = self.piece(OutcomeKind::Failed);
        cause.clone_into(&mut piece.outcome.cause);
        detail.clone_into(&mut piece.outcome.detail);
        piece
    }
}

/// What one collector brought back.
pub(super) struct Piece {
    pub(super) outcome: CollectorOutcome,
    pub(super) signals: Vec<Signal>,
    pub(super) open_pulls: Vec<OpenPull>,
    /// What changed since about the last look; what was told before may be told again.
    pub(super) changes: Vec<Change>,
    /// Numbers for trends.
    pub(super) measures: Vec<Measure>,
    pub(super) cursor: Option<String>,
    /// How far each probe got, to tell an outage from a network of our own that is gone.
    pub(super) reached: Vec<Reached>,
    /// What this target runs was put to sleep by its platform, and wakes when somebody asks.
    pub(super) asleep: bool,
}

/// What one probe says about the network between it and us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) host: String,
    pub(super) way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Somebody answered, be it with a refusal.
    Open,
    /// The name did not resolve.
    Unnamed,
    /// No connection came about.
    Unreached,
}

/// Part of a source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blind {
    /// The probe, check or file that it is, where the source has several.
    pub(super) part: Option<String>,
    pub(super) cause: String,
    pub(super) detail: String,
}

impl Blind {
    pub(super) fn new(cause: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            part: None,
            cause: cause.into(),
            detail: detail.into(),
        }
    }

    pub(super) fn of(self, part: impl Into<String>) -> Self {
        Self {
            part: Some(part.into()),
            ..self
        }
    }

    fn as_part(&self) -> Option<BlindPart> {
        Some(BlindPart {
            name: self.part.clone()?,
            cause: self.cause.clone(),
            detail: self.detail.clone(),
        })
    }
}

impl Piece {
    /// Sets the outcome from what was read and what was not.
    pub(super) fn settle(&mut self, read: usize, blind: &[Blind]) {
        self.outcome.items = u64::try_from(read).unwrap_or(u64::MAX);
        let Some(first) = blind.first() else {
            self.outcome.outcome = OutcomeKind::Ok;
            return;
        };
        self.outcome.outcome = if read == 0 {
            OutcomeKind::Failed
        } else {
            OutcomeKind::Degraded
        };
        let parts: Option<Vec<BlindPart>> = blind.iter().map(Blind::as_part).collect();
        self.outcome.blind_parts = parts.unwrap_or_default();
        first.cause.clone_into(&mut self.outcome.cause);
        let shown: Vec<&str> = blind.iter().take(5).map(|b| b.detail.as_str()).collect();
        self.outcome.detail = shown.join("; ");
        if blind.len() > shown.len() {
            let more = format!("; and {} more", blind.len() - shown.len());
            self.outcome.detail.push_str(&more);
        }
    }
}
