//! `patterns.json`: which lines are a cause, how bad it is, and when it counts. Reads the file, checks every pattern,
//! and gives all that is wrong with it at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use regex::bytes::Regex;
use serde::Deserialize;

use super::{
    Level,
    compiled::Compiled,
    expression::{self, Expression},
};
use crate::model::signal::Severity;

mod mend;

const MOST_PATTERNS: usize = 500;
const EXAMPLE: &str = r#"{"version": 1, "patterns": [{"id": "out-of-stock", "severity": "high", "kind": "runtime", "regex": "no stock left"}]}"#;
const SHIPPED: &str = include_str!("../../../collectors/patterns.json");
/// Priority of the owner's `detection.rpcErrRe`: above whatever is shipped.
const OWNERS: u8 = 90;

/// What a pattern is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// What keeps an agent from beginning.
    Preflight,
    Runtime,
    /// What a task needs and does not find.
    Lifecycle,
    /// No failure: the mark that an agent or a process started. Windows are counted from it.
    Start,
}

impl PatternKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Runtime => "runtime",
            Self::Lifecycle => "lifecycle",
            Self::Start => "start",
        }
    }
}

/// One pattern, checked.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub id: String,
    /// Code under which people know this alert, such as `A10`.
    pub alert: Option<String>,
    pub severity: Severity,
    pub kind: PatternKind,
    /// Of several patterns that match, the highest one names the cause.
    pub priority: u8,
    /// Counts only so many seconds from a start.
    pub within_seconds: Option<u32>,
    /// Counts only on lines of this level or a worse one; a line without a level passes.
    pub level: Option<Level>,
    /// Something that has to happen: once a target's log said it, it is expected again within so many minutes.
    pub expect_every_minutes: Option<u32>,
    /// Without one every line of the level matches.
    pub(super) regex: Option<Expression>,
    /// A line that this matches does not count.
    pub(super) except: Option<Expression>,
}

impl Pattern {
    /// Whether a text alone is one that it finds, whatever level and time it has.
    pub fn finds(&self, text: &str) -> bool {
        let matches = |expression: &Option<Expression>| expression.as_ref().map(|expression| expression.is_match(text));
        matches(&self.regex).unwrap_or(true) && !matches(&self.except).unwrap_or(false)
    }
}

/// Something that is wrong with a file of patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFault {
    /// Such as `patterns[3].regex`.
    pub at: String,
    /// A sentence without a full stop that quotes what was found.
    pub what: String,
    pub example: String,
}

/// The patterns of a home. Cheap to clone; compiled when a log is first read.
#[derive(Debug, Clone)]
pub struct Patterns {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    rpc_error: Option<String>,
    list: OnceLock<Vec<Pattern>>,
    compiled: OnceLock<Compiled>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    patterns: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    #[serde(default)]
    alert: Option<String>,
    #[serde(default)]
    regex: Option<String>,
    #[serde(default)]
    except: Option<String>,
    severity: RawSeverity,
    kind: PatternKind,
    #[serde(default = "middle")]
    priority: u8,
    #[serde(default)]
    window: Option<Window>,
    #[serde(default)]
    level: Option<Level>,
    #[serde(default)]
    expect_every_minutes: Option<u32>,
}

fn middle() -> u8 {
    50
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    within_seconds: u32,
    #[expect(dead_code, reason = "read for its check: there is one kind of beginning")]
    of: Beginning,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Beginning {
    Start,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSeverity {
    Critical,
    #[serde(alias = "error")]
    High,
    #[serde(alias = "warning")]
    Medium,
    #[serde(alias = "info")]
    Low,
}

impl From<RawSeverity> for Severity {
    fn from(raw: RawSeverity) -> Self {
        match raw {
            RawSeverity::Critical => Self::Critical,
            RawSeverity::High => Self::Error,
            RawSeverity::Medium => Self::Warning,
            RawSeverity::Low => Self::Info,
        }
    }
}

impl Patterns {
    /// The patterns in the binary, and the owner's for JSON-RPC errors where there is one. Read when a log is.
    pub fn shipped(rpc_error: Option<&str>) -> Self {
        Self::of(OnceLock::new(), rpc_error)
    }

    /// The patterns of a file. `rpc_error` was checked by [`pattern_fault`] before.
    pub fn parse(text: &str, rpc_error: Option<&str>) -> Result<Self, Vec<PatternFault>> {
        let list = with_owners(read(text, Trust::Checked)?, rpc_error);
        Ok(Self::of(OnceLock::from(list), rpc_error))
    }

    fn of(list: OnceLock<Vec<Pattern>>, rpc_error: Option<&str>) -> Self {
        Self {
            inner: Arc::new(Inner {
                rpc_error: rpc_error.map(str::to_owned),
                list,
                compiled: OnceLock::new(),
            }),
        }
    }

    pub fn list(&self) -> &[Pattern] {
        self.inner.list.get_or_init(|| {
            let shipped = read(SHIPPED, Trust::Tested).unwrap_or_default();
            with_owners(shipped, self.inner.rpc_error.as_deref())
        })
    }

    /// What has to be said again and again, in how many minutes. The shipped patterns expect nothing, and are not read for it.
    pub fn expected(&self) -> Vec<(&str, u32)> {
        let list = self.inner.list.get().map(Vec::as_slice).unwrap_or_default();
        let every = |pattern: &'_ Pattern| pattern.expect_every_minutes;
        list.iter()
            .filter_map(|pattern| Some((pattern.id.as_str(), every(pattern)?)))
            .collect()
    }

    pub(super) fn compiled(&self) -> &Compiled {
        self.inner.compiled.get_or_init(|| Compiled::new(self.list()))
    }
}

fn with_owners(mut list: Vec<Pattern>, rpc_error: Option<&str>) -> Vec<Pattern> {
    list.extend(rpc_error.map(|regex| Pattern {
        id: "rpc-error".to_owned(),
        alert: None,
        severity: Severity::Error,
        kind: PatternKind::Runtime,
        priority: OWNERS,
        within_seconds: None,
        level: None,
        expect_every_minutes: None,
        regex: Some(Expression::new(regex)),
        except: None,
    }));
    list
}

/// Whether the expressions of a file were judged before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The shipped file: a test judges it, so that no start has to.
    Tested,
    Checked,
}

fn read(text: &str, trust: Trust) -> Result<Vec<Pattern>, Vec<PatternFault>> {
    let fault = |what: String| {
        vec![PatternFault {
            at: String::new(),
            what,
            example: EXAMPLE.to_owned(),
        }]
    };
    let parsed = jsonc_parser::parse_to_ast(
        text,
        &jsonc_parser::CollectOptions::default(),
        &jsonc_parser::ParseOptions::default(),
    )
    .map_err(|error| fault(format!("is not JSON: {error}")))?;
    let value: serde_json::Value = parsed.value.map(Into::into).unwrap_or_default();
    if !value.is_object() {
        return Err(fault("is no object with a version and patterns".to_owned()));
    }
    let file: File =
        serde_json::from_value(value).map_err(|error| fault(format!("is no file of patterns: {error}")))?;
    if file.version != 1 {
        return Err(fault(format!(
            "has version {}, and this program reads version 1",
            file.version
        )));
    }
    if file.patterns.is_empty() {
        return Err(fault(
            "has no pattern, so that no line of any log would be an error; without the file the shipped ones count"
                .to_owned(),
        ));
    }
    if file.patterns.len() > MOST_PATTERNS {
        return Err(fault(format!(
            "has {} patterns, more than {MOST_PATTERNS}",
            file.patterns.len()
        )));
    }
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    let mut list = Vec::new();
    for (n, entry) in file.patterns.into_iter().enumerate() {
        let mut check = Check {
            n,
            trust,
            ids: &mut ids,
            faults: &mut faults,
        };
        list.extend(check.pattern(entry));
    }
    if faults.is_empty() { Ok(list) } else { Err(faults) }
}

/// Checks one entry of the file.
struct Check<'a> {
    n: usize,
    trust: Trust,
    ids: &'a mut BTreeSet<String>,
    faults: &'a mut Vec<PatternFault>,
}

impl Check<'_> {
    fn fault(&mut self, key: &str, what: String, example: &str) {
        let dot = if key.is_empty() { "" } else { "." };
        self.faults.push(PatternFault {
            at: format!("patterns[{}]{dot}{key}", self.n),
            what,
            example: example.to_owned(),
        });
    }

    fn pattern(&mut self, entry: serde_json::Value) -> Option<Pattern> {
        let before = self.faults.len();
        let raw = match Raw::deserialize(&entry) {
            Ok(raw) => raw,
            Err(error) => self.mended(entry, &error)?,
        };
        self.names(&raw);
        self.bounds(&raw);
        let regex = self.regex("regex", raw.regex.as_deref());
        let except = self.regex("except", raw.except.as_deref());
        (self.faults.len() == before).then(|| Pattern {
            id: raw.id,
            alert: raw.alert,
            severity: raw.severity.into(),
            kind: raw.kind,
            priority: raw.priority,
            within_seconds: raw.window.map(|window| window.within_seconds),
            level: raw.level,
            expect_every_minutes: raw.expect_every_minutes,
            regex,
            except,
        })
    }

    fn names(&mut self, raw: &Raw) {
        let plain = |text: &str, most: usize, extra: fn(u8) -> bool| {
            (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || extra(b))
        };
        if !plain(&raw.id, 40, |b| b.is_ascii_lowercase()) {
            let what = format!("{:?} is no name (lower-case letters, digits and -, at most 40)", raw.id);
            self.fault("id", what, "\"no-such-table\"");
        }
        if !self.ids.insert(raw.id.clone()) {
            self.fault("id", format!("{:?} stands twice", raw.id), "a name of its own");
        }
        if let Some(alert) = &raw.alert
            && !plain(alert, 16, |b| b.is_ascii_alphabetic())
        {
            self.fault(
                "alert",
                format!("{alert:?} is no code (letters, digits and -, at most 16)"),
                "\"A10\"",
            );
        }
    }

    fn bounds(&mut self, raw: &Raw) {
        if raw.priority > 100 {
            self.fault("priority", format!("{} is more than 100", raw.priority), "50");
        }
        if let Some(window) = &raw.window
            && !(1..=86_400).contains(&window.within_seconds)
        {
            let what = format!("{} is not between 1 and 86400", window.within_seconds);
            self.fault("window.within_seconds", what, "60");
        }
        if let Some(minutes) = raw.expect_every_minutes {
            if !(1..=50_000).contains(&minutes) {
                self.fault(
                    "expect_every_minutes",
                    format!("{minutes} is not between 1 and 50000"),
                    "1440",
                );
            }
            if raw.kind == PatternKind::Start {
                let what = "cannot be expected of a start, which is counted by nobody".to_owned();
                self.fault(
                    "expect_every_minutes",
                    what,
                    "\"kind\": \"runtime\", \"severity\": \"low\"",
                );
            }
        }
        let by_level = raw.level.is_some_and(|level| level >= Level::Error) && raw.kind != PatternKind::Start;
        if raw.regex.is_none() && !by_level {
            let what = "is missing; only a pattern with \"level\": \"error\" or \"fatal\" can do without".to_owned();
            self.fault("regex", what, "\"no such table\"");
        }
    }

    fn regex(&mut self, key: &str, text: Option<&str>) -> Option<Expression> {
        let text = text?;
        if self.trust == Trust::Checked
            && let Some(what) = pattern_fault(text)
        {
            self.fault(key, format!("{} {what}", quoted(text)), "\"no such table\"");
        }
        Some(Expression::new(text))
    }
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("\"{shown}{more}\"")
}

/// Lines of a program that is well.
const HEALTHY: [&str; 8] = [
    "GET /health 200 in 3 ms",
    "server listening on port 8080",
    "ok",
    "Connected to database shop",
    "worker-2: job 4711 done",
    "cache warm (412 entries)",
    "- - -",
    "Migration 0042 applied",
];

/// Why a pattern would match what it should not: nothing at all, or every line.
fn too_wide(text: &str, regex: &Regex) -> Option<&'static str> {
    let can_be_empty = expression::parse_hir(text).is_some_and(|hir| hir.properties().minimum_len() == Some(0));
    if can_be_empty || regex.is_match(b"") {
        return Some("matches the empty string");
    }
    let letters = HEALTHY
        .iter()
        .filter(|line| line.contains(|c: char| c.is_ascii_alphanumeric()));
    let mut all = letters.map(|line| regex.is_match(line.as_bytes()));
    all.all(|matches| matches).then_some("matches every line")
}

/// What is wrong with an expression, as the end of a sentence.
pub fn pattern_fault(text: &str) -> Option<String> {
    match expression::build(text) {
        Ok(regex) => too_wide(text, &regex).map(str::to_owned),
        Err(error) => Some(regex_fault(&error)),
    }
}

/// One line of the library's several: what is wrong, and at which column.
pub fn regex_fault(error: &regex::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    // The caret stands in the line before the reason, below the pattern, four spaces in.
    let caret = lines
        .iter()
        .position(|line| line.starts_with("error: "))
        .and_then(|n| lines.get(n.checked_sub(1)?));
    let column = caret.and_then(|line| line.find('^')).map(|at| at.saturating_sub(4) + 1);
    let reason = text
        .lines()
        .find_map(|line| line.strip_prefix("error: "))
        .map(str::to_owned);
    match (error, reason, column) {
        (regex::Error::CompiledTooBig(limit), _, _) => format!("is too large (more than {limit} bytes when compiled)"),
        (_, Some(reason), Some(column)) => format!("is not a regular expression: {reason}, column {column}"),
        (_, Some(reason), None) => format!("is not a regular expression: {reason}"),
        (_, None, _) => "is not a regular expression".to_owned(),
    }
}
