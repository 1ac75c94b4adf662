//! Lines of Railway's logs: which belong to a look, and what of each goes to the log engine. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

/// Attributes of a structured line that hold the trace of what it reports.
const TRACES: [&str; 8] = [
    "stack",
    "stack_trace",
    "stacktrace",
    "exception",
    "error.stack",
    "err.stack",
    "exception.stacktrace",
    "traceback",
];
/// Lines of a build that are kept where none says what failed, and where some do.
const LAST_LINES: usize = 15;
const FAILING_LINES: usize = 30;

#[derive(Debug, Deserialize)]
pub(super) struct RuntimeLogs {
    #[serde(rename = "environmentLogs")]
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BuildLogs {
    #[serde(rename = "buildLogs")]
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DeploymentLogs {
    #[serde(rename = "deploymentLogs")]
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HttpLogs {
    #[serde(rename = "httpLogs")]
    pub(super) lines: Vec<HttpLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Line {
    timestamp: String,
    pub(super) message: String,
    #[serde(default)]
    severity: Option<String>,
    #[serde(default)]
    attributes: Vec<Attribute>,
    #[serde(default)]
    tags: Option<Tags>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Attribute {
    key: String,
    /// JSON: a text stands in quotes.
    value: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tags {
    #[serde(default)]
    deployment_id: Option<String>,
    #[serde(default)]
    deployment_instance_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HttpLine {
    timestamp: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) http_status: u16,
    response_details: String,
    upstream_errors: String,
}

/// What is read page by page, newest first.
pub(super) trait Stamped: Clone + PartialEq {
    fn stamp(&self) -> &str;

    fn at(&self) -> Option<DateTime<Utc>> {
        self.stamp().parse().ok()
    }
}

impl Stamped for Line {
    fn stamp(&self) -> &str {
        &self.timestamp
    }
}

impl Stamped for HttpLine {
    fn stamp(&self) -> &str {
        &self.timestamp
    }
}

/// The entries of a look: everything after `since` up to `until`, each once, oldest first, put together from pages.
pub(super) struct Pages<T> {
    since: DateTime<Utc>,
    /// Where the next page ends.
    pub(super) until: DateTime<Utc>,
    found: Vec<(DateTime<Utc>, T)>,
    /// What was found that bears just this time: the next page has it, too.
    seam: Vec<T>,
}

/// What a page leaves to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    More,
    Done,
    /// There is more, but it cannot be asked for: a whole page bears one time.
    Stuck,
}

impl<T: Stamped> Pages<T> {
    pub(super) fn new(since: DateTime<Utc>, until: DateTime<Utc>) -> Self {
        Self {
            since,
            until,
            found: Vec::new(),
            seam: Vec::new(),
        }
    }

    /// Takes the entries of a page that was asked for up to `until`, at most `size` of them (the service may give one
    /// more). Entries without a time cannot be placed and are left out.
    pub(super) fn take(&mut self, page: Vec<T>, size: usize) -> Next {
        let full = page.len() >= size;
        let (since, until) = (self.since, self.until);
        let mut new: Vec<(DateTime<Utc>, T)> = page
            .into_iter()
            .filter_map(|entry| Some((entry.at()?, entry)))
            .collect();
        let oldest = new.iter().map(|(at, _)| *at).min();
        let is_new =
            |at: DateTime<Utc>, entry: &T| at > since && at <= until && (at != until || !self.seam.contains(entry));
        new.retain(|(at, entry)| is_new(*at, entry));
        self.found.append(&mut new);
        match oldest {
            Some(oldest) if oldest <= since => Next::Done,
            Some(oldest) if full && oldest < until => {
                self.until = oldest;
                let at_seam = self.found.iter().filter(|(at, _)| *at == oldest);
                self.seam = at_seam.map(|(_, entry)| entry.clone()).collect();
                Next::More
            }
            Some(_) if full => Next::Stuck,
            Some(_) | None => Next::Done,
        }
    }

    pub(super) fn into_entries(mut self) -> Vec<(DateTime<Utc>, T)> {
        self.found.sort_by_key(|(at, _)| *at);
        self.found
    }
}

/// What the engine is given of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: DateTime<Utc>,
    pub(super) level: &'static str,
    pub(super) text: String,
}

/// Lines by deployment (empty: unknown), those of one instance after each other, so that a trace of several lines stays
/// together.
pub(super) fn by_deployment(lines: Vec<(DateTime<Utc>, Line)>, stderr_is_error: bool) -> BTreeMap<String, Vec<Entry>> {
    let mut instances: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
    for (at, line) in lines {
        let tags = line.tags.clone().unwrap_or_default();
        let key = (
            tags.deployment_id.unwrap_or_default(),
            tags.deployment_instance_id.unwrap_or_default(),
        );
        let level = level(line.severity.as_deref(), stderr_is_error);
        let text = with_trace(line);
        instances.entry(key).or_default().push(Entry { at, level, text });
    }
    let mut all: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for ((deployment, _), entries) in instances {
        all.entry(deployment).or_default().extend(entries);
    }
    all
}

/// The words of the service begin alike, but for their length.
fn level(severity: Option<&str>, stderr_is_error: bool) -> &'static str {
    let word = severity.unwrap_or_default().to_ascii_lowercase();
    match word.get(..3).unwrap_or_default() {
        "err" if stderr_is_error => "error",
        "cri" | "fat" | "eme" | "ale" => "fatal",
        "war" => "warn",
        "inf" | "not" => "info",
        "deb" => "debug",
        "tra" => "trace",
        _ => "",
    }
}

fn with_trace(line: Line) -> String {
    let trace = line
        .attributes
        .iter()
        .filter(|attribute| TRACES.contains(&attribute.key.as_str()))
        .find_map(|attribute| match serde_json::from_str(&attribute.value).ok()? {
            Value::String(text) => Some(text),
            _ => None,
        });
    match trace {
        Some(trace) if !line.message.contains(trace.trim()) => format!("{}\n{trace}", line.message),
        Some(_) | None => line.message,
    }
}

impl HttpLine {
    /// What the edge says about it, if anything.
    pub(super) fn said(&self) -> String {
        let errors: Vec<Value> = serde_json::from_str(&self.upstream_errors).unwrap_or_default();
        let errors = errors.iter().filter_map(|error| match error {
            Value::String(text) => Some(text.clone()),
            Value::Object(fields) => fields.get("error").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        });
        let parts = std::iter::once(self.response_details.clone()).chain(errors);
        let mut said: Vec<String> = Vec::new();
        for part in parts.filter(|part| !part.trim().is_empty()) {
            if !said.contains(&part) {
                said.push(part);
            }
        }
        said.join("; ")
    }
}

/// The lines of a log that say why it failed, else its last ones.
pub(super) fn failing(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let tells = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        ["error", "failed", "fatal", "panic", "not found", "exception"]
            .iter()
            .any(|word| line.contains(word))
            && !["0 errors", "0 failed", "no errors"]
                .iter()
                .any(|calm| line.contains(calm))
    };
    let telling: Vec<&str> = lines.iter().filter(tells).copied().take(FAILING_LINES).collect();
    if telling.is_empty() {
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    } else {
        telling.join("\n")
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
