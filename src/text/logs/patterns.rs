//! `patterns.json`: which lines are a cause, how bad it is, and when it counts. Reads the file, checks every pattern,
//! and gives all that is wrong with it at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::{Level, literals};
use crate::model::signal::Severity;

/// Compiled size of one pattern, and of all together.
const ONE_PATTERN: usize = 1 << 20;
const ALL_PATTERNS: usize = 32 << 20;
const MOST_PATTERNS: usize = 500;
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
    regex: Option<String>,
    /// A line that this matches does not count.
    pub(super) except: Option<Regex>,
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
    list: Vec<Pattern>,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
pub(super) struct Compiled {
    set: RegexSet,
    /// Pattern of each expression in the set.
    of: Vec<usize>,
    /// Patterns that match by level alone.
    by_level: Vec<usize>,
    /// Candidates for the patterns that always count.
    pub(super) always: Search,
    /// Candidates for those that count near a start as well.
    pub(super) near_start: Search,
    /// The longest window of any pattern, in seconds.
    pub(super) longest_window: u32,
    /// Some pattern asks where a line begins, so that framing before it matters.
    pub(super) anchored: bool,
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
    /// The patterns in the binary, and the owner's for JSON-RPC errors where there is one.
    pub fn shipped(rpc_error: Option<&str>) -> Self {
        let list = read(SHIPPED).unwrap_or_default();
        debug_assert!(!list.is_empty(), "the shipped patterns are read by a test");
        Self::of(list, rpc_error)
    }

    /// The patterns of a file. `rpc_error` was checked by [`regex_fault`] before.
    pub fn parse(text: &str, rpc_error: Option<&str>) -> Result<Self, Vec<PatternFault>> {
        let patterns = Self::of(read(text)?, rpc_error);
        match patterns
            .inner
            .compiled
            .set(compile(&patterns.inner.list).map_err(|error| vec![too_much(&error)])?)
        {
            Ok(()) | Err(_) => Ok(patterns),
        }
    }

    fn of(mut list: Vec<Pattern>, rpc_error: Option<&str>) -> Self {
        list.extend(rpc_error.map(|regex| Pattern {
            id: "rpc-error".to_owned(),
            alert: None,
            severity: Severity::Error,
            kind: PatternKind::Runtime,
            priority: OWNERS,
            within_seconds: None,
            level: None,
            regex: Some(regex.to_owned()),
            except: None,
        }));
        Self {
            inner: Arc::new(Inner {
                list,
                compiled: OnceLock::new(),
            }),
        }
    }

    pub fn list(&self) -> &[Pattern] {
        &self.inner.list
    }

    pub(super) fn compiled(&self) -> &Compiled {
        self.inner.compiled.get_or_init(|| {
            compile(&self.inner.list).unwrap_or_else(|_| Compiled {
                set: RegexSet::empty(),
                of: Vec::new(),
                by_level: Vec::new(),
                always: Search::EachLine,
                near_start: Search::EachLine,
                longest_window: 0,
                anchored: false,
            })
        })
    }
}

impl Compiled {
    /// Patterns whose expression matches a text, in the order of the file.
    pub(super) fn matches(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        self.set.matches(text).into_iter().map(|n| self.of[n])
    }

    pub(super) fn by_level(&self) -> &[usize] {
        &self.by_level
    }
}

fn compile(list: &[Pattern]) -> Result<Compiled, regex::Error> {
    let with_regex = || {
        list.iter()
            .enumerate()
            .filter_map(|(n, p)| Some((n, p.regex.as_deref()?)))
    };
    let set = RegexSetBuilder::new(with_regex().map(|(_, regex)| regex))
        .unicode(false)
        .multi_line(true)
        .size_limit(ALL_PATTERNS)
        .build()?;
    let by_level: Vec<usize> = list
        .iter()
        .enumerate()
        .filter(|(_, pattern)| pattern.regex.is_none())
        .map(|(n, _)| n)
        .collect();
    let mut near_start = Words::default();
    let mut always = Words::default();
    let mut anchored = false;
    for (n, regex) in with_regex() {
        let hir = parse_hir(regex);
        anchored |= hir.as_ref().is_none_or(begins_a_line);
        let words = hir.and_then(|hir| literals::required(&hir));
        if list[n].within_seconds.is_none() {
            always.add(words.clone());
        }
        near_start.add(words);
    }
    if !by_level.is_empty() {
        let words = Level::WORDS_FROM_ERROR.map(str::to_owned).to_vec();
        always.add(Some(words.clone()));
        near_start.add(Some(words));
    }
    Ok(Compiled {
        set,
        of: with_regex().map(|(n, _)| n).collect(),
        by_level,
        always: always.search(),
        near_start: near_start.search(),
        longest_window: list
            .iter()
            .filter_map(|pattern| pattern.within_seconds)
            .max()
            .unwrap_or(0),
        anchored,
    })
}

/// How candidates are found in a log.
#[derive(Debug)]
pub(super) enum Search {
    /// By words of which one stands in each of them.
    Words(Box<aho_corasick::AhoCorasick>),
    /// Some pattern has no such word: each line is one.
    EachLine,
}

/// The words of several patterns; None as soon as one of them has none.
struct Words(Option<Vec<String>>);

impl Default for Words {
    fn default() -> Self {
        Self(Some(Vec::new()))
    }
}

impl Words {
    fn add(&mut self, words: Option<Vec<String>>) {
        self.0 = self.0.take().zip(words).map(|(all, words)| [all, words].concat());
    }

    fn search(self) -> Search {
        let built = self.0.and_then(|words| {
            aho_corasick::AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(aho_corasick::AhoCorasickKind::DFA))
                .build(literals::least(words))
                .ok()
        });
        built.map_or(Search::EachLine, |words| Search::Words(Box::new(words)))
    }
}

impl Search {
    /// Where the next candidate is, at or behind a place.
    pub(super) fn next(&self, text: &str, at: usize) -> Option<usize> {
        match self {
            Self::Words(words) => Some(words.find(aho_corasick::Input::new(text).range(at..))?.start()),
            Self::EachLine => (at < text.len()).then_some(at),
        }
    }
}

fn begins_a_line(hir: &regex_syntax::hir::Hir) -> bool {
    use regex_syntax::hir::Look;
    let looks = hir.properties().look_set();
    [Look::Start, Look::StartLF, Look::StartCRLF]
        .into_iter()
        .any(|look| looks.contains(look))
}

fn parse_hir(regex: &str) -> Option<regex_syntax::hir::Hir> {
    regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(regex)
        .ok()
}

fn build(regex: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(regex)
        .unicode(false)
        .multi_line(true)
        .size_limit(ONE_PATTERN)
        .build()
}

fn read(text: &str) -> Result<Vec<Pattern>, Vec<PatternFault>> {
    let fault = |what: String| {
        vec![PatternFault {
            at: String::new(),
            what,
            example: r#"{"version": 1, "patterns": []}"#.to_owned(),
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
        const ENTRY: &str =
            r#"{"id": "no-such-table", "regex": "no such table", "severity": "high", "kind": "runtime"}"#;
        let raw: Raw = match serde_json::from_value(entry) {
            Ok(raw) => raw,
            Err(error) => {
                self.fault("", error.to_string(), ENTRY);
                return None;
            }
        };
        let before = self.faults.len();
        self.names(&raw);
        self.bounds(&raw);
        self.regex("regex", raw.regex.as_deref());
        let except = self.regex("except", raw.except.as_deref());
        (self.faults.len() == before).then(|| Pattern {
            id: raw.id,
            alert: raw.alert,
            severity: raw.severity.into(),
            kind: raw.kind,
            priority: raw.priority,
            within_seconds: raw.window.map(|window| window.within_seconds),
            level: raw.level,
            regex: raw.regex,
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
        let by_level = raw.level.is_some_and(|level| level >= Level::Error) && raw.kind != PatternKind::Start;
        if raw.regex.is_none() && !by_level {
            let what = "is missing; only a pattern with \"level\": \"error\" or \"fatal\" can do without".to_owned();
            self.fault("regex", what, "\"no such table\"");
        }
    }

    fn regex(&mut self, key: &str, text: Option<&str>) -> Option<Regex> {
        let text = text?;
        match build(text) {
            Ok(regex) => {
                if let Some(what) = too_wide(text, &regex) {
                    self.fault(key, format!("{} {what}", quoted(text)), "\"no such table\"");
                }
                Some(regex)
            }
            Err(error) => {
                self.fault(
                    key,
                    format!("{} {}", quoted(text), regex_fault(&error)),
                    "\"no such table\"",
                );
                None
            }
        }
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
    let can_be_empty = parse_hir(text).is_some_and(|hir| hir.properties().minimum_len() == Some(0));
    if can_be_empty || regex.is_match(b"") {
        return Some("matches the empty string");
    }
    let letters = HEALTHY
        .iter()
        .filter(|line| line.contains(|c: char| c.is_ascii_alphanumeric()));
    let mut all = letters.map(|line| regex.is_match(line.as_bytes()));
    all.all(|matches| matches).then_some("matches every line")
}

/// What is wrong with a pattern that the owner wrote elsewhere, `detection.rpcErrRe`.
pub fn pattern_fault(text: &str) -> Option<String> {
    match build(text) {
        Ok(regex) => too_wide(text, &regex).map(str::to_owned),
        Err(error) => Some(regex_fault(&error)),
    }
}

fn too_much(error: &regex::Error) -> PatternFault {
    PatternFault {
        at: "patterns".to_owned(),
        what: format!("together: {}", regex_fault(error)),
        example: "fewer, or shorter ones".to_owned(),
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
