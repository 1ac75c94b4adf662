//! Settings of the base against those of the head, each with the direction of its key.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    commands::{commands, options},
    keys::{Trend, is_computed, plain, severity, trend, weight},
    known,
    read::Setting,
};
use crate::{decide::guards::Hit, model::evidence::GuardVerdict};

pub(super) const RULE: &str = "gate-weakened";
const CHANGED: &str = "gate-changed";

/// What a change of a file's settings comes to.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) hits: Vec<Hit>,
}

impl Judged {
    pub(super) fn weaker(&mut self, why: impl Into<String>, line: u32, was: &str, is: &str) {
        let hit = Hit::new(RULE, GuardVerdict::Reject, why.into())
            .at(line.max(1))
            .change(was, is);
        self.hits.push(hit);
    }

    pub(super) fn unknown(&mut self, why: &str, line: u32, was: &str, is: &str) {
        let hit = Hit::new(CHANGED, GuardVerdict::NeedsHuman, why.to_owned());
        self.hits.push(hit.at(line.max(1)).change(was, is));
    }
}

type Groups<'s> = BTreeMap<Vec<String>, Vec<&'s Setting>>;

/// Settings by their path, lists as one.
fn groups(settings: &[Setting]) -> Groups<'_> {
    let mut out = Groups::new();
    for setting in settings {
        let mut path = setting.path.clone();
        if setting.is_element() {
            path.pop();
        }
        out.entry(path).or_default().push(setting);
    }
    out
}

/// The file that is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'n> {
    pub(super) name: &'n str,
    /// Every change counts which is not known to be harmless.
    pub(super) strict: bool,
    /// The file was there.
    pub(super) stood: bool,
}

impl Place<'_> {
    /// What nobody knows the direction of is a person's.
    fn denies(self, path: &[String]) -> bool {
        let tool = known::tool(self.name, path).filter(|_| self.stood || self.strict);
        (self.strict || tool.is_some()) && !tool.is_some_and(|t| known::is_harmless(t, path))
    }

    fn fewer(self, path: &[String], settings: &[&Setting]) -> bool {
        let all: Vec<&str> = settings.iter().map(|s| s.value.as_str()).collect();
        known::tool(self.name, path).is_some_and(|tool| known::is_fewer(tool, path, &all.join(" ")))
    }
}

/// A list without elements.
const NONE: &str = "[]";

pub(super) fn settings(old: &[Setting], new: &[Setting], place: Place<'_>, out: &mut Judged) {
    let full = |s: &&Setting| s.value != NONE || s.is_element();
    let old: Vec<Setting> = old.iter().filter(full).cloned().collect();
    let was = groups(&old);
    let new: Vec<Setting> = {
        let empty = |s: &Setting| s.value == NONE && !s.is_element();
        let had = |s: &Setting| was.contains_key(&s.path) || any_below(&was, &s.path);
        new.iter().filter(|s| !empty(s) || !had(s)).cloned().collect()
    };
    let (old, new) = (old.as_slice(), new.as_slice());
    let is = groups(new);
    let moved = moved_elements(&was, &is);
    let as_many = hooks(&is) >= hooks(&was);
    for (path, before) in &was {
        match is.get(path) {
            Some(after) => changed(path, before, after, place, out),
            None if moved.contains(path) => {}
            None if as_many && is_hook(path) => {
                out.unknown(
                    "a hook takes the place of another",
                    before[0].line,
                    &before[0].shown(),
                    "",
                );
            }
            None => removed(path, before, place, out),
        }
    }
    for (path, after) in &is {
        if !was.contains_key(path) {
            added(path, after, &was, place, out);
        }
    }
    commands(old, new, out);
}

/// Entries of a list of maps that only stand under another name now.
fn moved_elements<'s>(was: &'s Groups<'_>, is: &Groups<'_>) -> BTreeSet<&'s Vec<String>> {
    let bare = |path: &[String]| -> Vec<String> {
        path.iter()
            .map(|p| if p.starts_with('[') { "[]".to_owned() } else { p.clone() })
            .collect()
    };
    let entry = |path: &[String], settings: &[&Setting]| -> (Vec<String>, Vec<String>) {
        (bare(path), settings.iter().map(|s| s.value.clone()).collect())
    };
    let fresh = is.iter().filter(|(path, _)| !was.contains_key(*path));
    let fresh: BTreeSet<_> = fresh.map(|(path, settings)| entry(path, settings)).collect();
    let left = was.iter().filter(|(path, _)| !is.contains_key(*path));
    left.filter(|(path, settings)| fresh.contains(&entry(path, settings)))
        .map(|(path, _)| path)
        .collect()
}

/// A group stands below these keys, and not at them alone.
fn any_below(groups: &Groups<'_>, keys: &[String]) -> bool {
    let at_or_below = groups
        .range(keys.to_vec()..)
        .take_while(|(path, _)| path.starts_with(keys));
    at_or_below.take(2).any(|(path, _)| path.len() > keys.len())
}

fn is_hook(path: &[String]) -> bool {
    path.last().is_some_and(|k| k == "id") && path.iter().any(|k| k == "hooks")
}

/// Where there are as many as before, one takes the place of another.
fn hooks(groups: &Groups<'_>) -> usize {
    groups.keys().filter(|path| is_hook(path)).count()
}

fn value<'s>(settings: &[&'s Setting]) -> &'s str {
    settings.first().map_or("", |s| s.value.as_str())
}

fn number(text: &str) -> Option<f64> {
    let bare: String = text
        .chars()
        .filter(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
        .collect();
    let unit = if text.trim_end().ends_with('m') { 60.0 } else { 1.0 };
    bare.parse::<f64>().ok().map(|n| n * unit)
}

fn on(text: &str) -> bool {
    matches!(
        text.to_lowercase().as_str(),
        "true" | "yes" | "1" | "on" | "error" | "all"
    ) || text.contains("${{")
        || is_computed(text)
}

pub(super) fn key_of(path: &[String]) -> String {
    let named: Vec<&str> = path.iter().map(String::as_str).collect();
    named.join(".")
}

fn of(path: &[String], values: &[&Setting]) -> Trend {
    let element = values.first().is_some_and(|s| s.is_element());
    let mut full = path.to_vec();
    if element {
        full.push("[]".to_owned());
    }
    trend(&full, value(values))
}

fn changed(path: &[String], before: &[&Setting], after: &[&Setting], place: Place<'_>, out: &mut Judged) {
    let values = |list: &[&Setting]| -> Vec<String> { list.iter().map(|s| s.value.clone()).collect() };
    if values(before) == values(after) {
        return;
    }
    let first = after[0];
    let (was, is) = (value(before), value(after));
    let (was_shown, is_shown) = (before[0].shown(), first.shown());
    let name = key_of(path);
    let kind = of(path, before);
    if place.fewer(path, after) {
        return out.weaker(fewer(&name), first.line, &was_shown, &is_shown);
    }
    let mut weaker = |why: String| out.weaker(why, first.line, &was_shown, &is_shown);
    match kind {
        Trend::Limit if is_unlimited(path, is) => weaker(format!("{name} has no limit any more")),
        Trend::Bar => match (number(was), number(is)) {
            (Some(a), Some(b)) if b >= a => {}
            _ => weaker(format!("the bar {name} is lower")),
        },
        Trend::Limit | Trend::Repeats => match (number(was), number(is)) {
            (Some(a), Some(b)) if b <= a => {}
            _ => weaker(format!("{name} allows more than before")),
        },
        Trend::On if on(was) && !on(is) => weaker(format!("{name} is switched off")),
        Trend::Off if !on(was) && on(is) => weaker(format!("{name} is switched on")),
        Trend::Severity => {
            let rank = |list: &[&Setting]| list.first().and_then(|s| severity(&s.value));
            if rank(after) < rank(before) {
                weaker(format!("{name} is reported less severely"));
            } else {
                arguments(path, before, after, out);
            }
        }
        Trend::Weight if weight(is) > weight(was) || weight(is).is_none() => {
            weaker(format!("{name} lets more findings pass"));
        }
        Trend::LeftOut | Trend::TakenIn => elements(path, kind, before, after, out),
        Trend::Condition => weaker(format!("{name} is another condition")),
        Trend::Options => options(&name, before, after, out),
        Trend::SetUp => out.unknown("what the tests run with changes", first.line, &was_shown, &is_shown),
        Trend::Unknown if place.denies(path) => {
            out.unknown(
                "a setting changes whose meaning is not known",
                first.line,
                &was_shown,
                &is_shown,
            );
        }
        Trend::Shell if stops(was) && !stops(is) => weaker(format!("{name} goes on after a failure")),
        Trend::Shell | Trend::Check | Trend::On | Trend::Off | Trend::Command | Trend::Weight | Trend::Unknown => {}
    }
}

/// `bash {0}` runs line after line whatever fails; a name alone stands for a shell that stops.
fn stops(shell: &str) -> bool {
    !shell.contains("{0}") || shell.split_whitespace().any(|w| w.starts_with('-') && w.contains('e'))
}

fn elements(path: &[String], kind: Trend, before: &[&Setting], after: &[&Setting], out: &mut Judged) {
    let name = key_of(path);
    let values = |list: &[&Setting]| -> BTreeSet<String> { list.iter().map(|s| s.value.clone()).collect() };
    let (had, has) = (values(before), values(after));
    let lost = before.iter().find(|b| !has.contains(&b.value));
    let gained = after.iter().find(|a| !had.contains(&a.value));
    let line = after.first().map_or(1, |s| s.line);
    let shown = |s: Option<&&Setting>| s.map(|s| s.shown()).unwrap_or_default();
    // Beside warnings that are errors.
    let strict = before.iter().any(|s| s.value.starts_with("error"));
    let warned = after
        .iter()
        .find(|s| strict && !had.contains(&s.value) && !s.value.starts_with("error"));
    if let Some(new) = warned.filter(|_| path.last().is_some_and(|k| plain(k) == "filterwarnings")) {
        return out.weaker(format!("{name} lets a warning pass"), new.line, "", &new.shown());
    }
    // What a pattern takes out again.
    let taken_out = gained.filter(|s| s.value.starts_with('!') && path.len() > 1);
    if let (Trend::TakenIn, Some(new)) = (kind, taken_out) {
        return out.weaker(format!("{name} leaves out more"), new.line, "", &new.shown());
    }
    match (kind, lost, gained) {
        (Trend::LeftOut, _, Some(new)) => {
            out.weaker(format!("{name} leaves out more"), new.line, "", &new.shown());
        }
        (Trend::TakenIn, Some(old), new) => {
            out.weaker(format!("{name} takes in less"), line, &old.shown(), &shown(new));
        }
        _ => {}
    }
}

fn removed(path: &[String], before: &[&Setting], place: Place<'_>, out: &mut Judged) {
    let name = key_of(path);
    let was = value(before);
    let shown = before[0].shown();
    let mut weaker = |why: String| out.weaker(why, before[0].line, &shown, "");
    match of(path, before) {
        Trend::Bar => weaker(format!("the bar {name} is gone")),
        Trend::On if on(was) => weaker(format!("{name} is gone")),
        Trend::Check => weaker(format!("{name} is not looked for any more")),
        // Without it the middle one counts.
        Trend::Weight if weight(was) == Some(1) => weaker(format!("{name} is gone")),
        Trend::Severity if severity(was).is_some_and(|s| s > 0) => weaker(format!("{name} is not reported any more")),
        Trend::TakenIn => weaker(format!("{name} is gone")),
        Trend::Options => options(&name, before, &[], out),
        Trend::SetUp | Trend::Limit => out.unknown("a setting of the runner is gone", before[0].line, &shown, ""),
        Trend::Unknown if path.last().is_some_and(|k| k == "uses") && checks_something(was) => {
            weaker(format!("{was} is not run any more"));
        }
        // An exception of mypy goes with the modules that it was for; what it said is looked at by itself.
        Trend::Unknown if path.last().is_some_and(|k| k == "module") && path.iter().any(|k| k == "overrides") => {}
        Trend::Unknown if place.denies(path) => {
            out.unknown(
                "a setting is gone whose meaning is not known",
                before[0].line,
                &shown,
                "",
            );
        }
        _ => {}
    }
}

fn added(path: &[String], after: &[&Setting], was: &Groups<'_>, place: Place<'_>, out: &mut Judged) {
    let name = key_of(path);
    let is = value(after);
    let first = after[0];
    let shown = first.shown();
    // What is new as a whole cannot weaken what was there.
    let above = &path[..path.len().saturating_sub(1)];
    // A step of one line that became a map was there as well.
    let parent = path.len() < 2 || any_below(was, above) || was.contains_key(above);
    if place.fewer(path, after) && (parent || place.stood) {
        return out.weaker(fewer(&name), first.line, "", &shown);
    }
    let empty = is == NONE;
    let conditioned = parent || rules_of(path).is_some_and(|job| was.contains_key(job) || any_below(was, job));
    let mut weaker = |why: String| out.weaker(why, first.line, "", &shown);
    match of(path, after) {
        Trend::LeftOut if empty => {}
        Trend::Limit if is_unlimited(path, is) => weaker(format!("{name} takes the limit away")),
        Trend::Off if on(is) && (parent || is_top(path) || stood_before(path, was)) => {
            weaker(format!("{name} is switched on"));
        }
        Trend::On if !on(is) && (parent || is_top(path)) => weaker(format!("{name} is switched off")),
        Trend::Repeats if number(is).is_some_and(|n| n > 0.0) => weaker(format!("{name} repeats what fails")),
        Trend::Severity if severity(is) == Some(0) => weaker(format!("{name} is switched off")),
        Trend::LeftOut => weaker(format!("{name} leaves something out")),
        Trend::Condition if (conditioned || is_of_all(path)) && !is_always(is) => {
            weaker(format!("{name} makes it run only where a condition holds"));
        }
        Trend::Limit if is_findings(path) && number(is).is_some_and(|n| n > 0.0) => {
            weaker(format!("{name} allows findings"));
        }
        Trend::TakenIn
            if parent && path.last().is_some_and(|k| k == "stages") && after.iter().all(|s| s.value == "manual") =>
        {
            weaker(format!("{name} makes it run by hand only"));
        }
        Trend::TakenIn if parent && (is_filter(path) || is_pattern(path) && !is.contains('*')) => {
            weaker(format!("{name} makes it run for less"));
        }
        Trend::TakenIn
            if !known::adds_only(path)
                && (place.strict && parent || place.denies(path) && place.stood && is_new(path, was, place)) =>
        {
            out.unknown("what is taken in is another list", first.line, "", &shown);
        }
        Trend::Options if parent || !name.starts_with("tasks") => options(&name, &[], after, out),
        Trend::SetUp => out.unknown("what the tests run with changes", first.line, "", &shown),
        Trend::Shell if !stops(is) => weaker(format!("{name} goes on after a failure")),
        Trend::Unknown | Trend::Limit if place.stood && place.denies(path) && is_new(path, was, place) => {
            out.unknown("a setting is new whose meaning is not known", first.line, "", &shown);
        }
        _ => {}
    }
}

fn fewer(name: &str) -> String {
    format!("{name} makes less run or less count")
}

/// A time that never comes.
fn is_unlimited(path: &[String], value: &str) -> bool {
    let timeout = path
        .iter()
        .rev()
        .find(|k| !k.starts_with('['))
        .is_some_and(|k| plain(k).ends_with("timeout"));
    timeout && (number(value).is_some_and(|n| n.abs() < f64::EPSILON) || matches!(value, "false" | "Infinity"))
}

/// The key is new in something that stood. A rule, a task or a hook that is new as a whole takes nothing away.
fn is_new(path: &[String], was: &Groups<'_>, place: Place<'_>) -> bool {
    if known::tool(place.name, path).is_none() {
        return false;
    }
    let stood = |upto: usize| was.contains_key(&path[..upto]) || any_below(was, &path[..upto]);
    let Some(first) = (1..=path.len()).find(|n| !stood(*n)) else {
        return true;
    };
    if known::tool(place.name, path) == Some("tasks") {
        return first == path.len();
    }
    let above = path[..first - 1].iter().rev().find(|k| !k.starts_with('['));
    let check = path[first - 1].starts_with("module:") || path[first - 1].starts_with("rule:");
    let whole = first < path.len() && (check || above.is_some_and(|k| plain(k) == "rules"));
    !whole
}

/// What a rule of a linter is given beside its severity: `["error", 300]`.
fn arguments(path: &[String], before: &[&Setting], after: &[&Setting], out: &mut Judged) {
    let rest = |list: &[&Setting]| -> Vec<String> { list.iter().skip(1).map(|s| s.value.clone()).collect() };
    let (had, has) = (rest(before), rest(after));
    if had == has || had.is_empty() {
        return;
    }
    let (line, shown) = (after[0].line, |l: &[String]| l.join(", "));
    let rule = path.last().map(|k| plain(k)).unwrap_or_default();
    let limit = rule.starts_with("max") || rule.contains("complexity");
    match (had.first().and_then(|v| number(v)), has.first().and_then(|v| number(v))) {
        (Some(a), Some(b)) if limit && b <= a => {}
        (Some(_), Some(_)) if limit => {
            let why = format!("{} allows more than before", key_of(path));
            out.weaker(why, line, &shown(&had), &shown(&has));
        }
        _ => out.unknown("a rule is asked in another way", line, &shown(&had), &shown(&has)),
    }
}

/// A filter that needs no neighbour: it holds for the tests that are there. (An example or a program of its own may need
/// a feature.)
fn is_of_all(path: &[String]) -> bool {
    let last = path.iter().rev().find(|k| !k.starts_with('[')).map(|k| plain(k));
    match last.as_deref() {
        Some("defaultfilter") => true,
        Some("requiredfeatures") => path.first().is_some_and(|k| k == "test"),
        _ => false,
    }
}

/// Something of the same task or job was there.
fn stood_before(path: &[String], was: &Groups<'_>) -> bool {
    any_below(was, &path[..2])
}

/// An action of somebody else whose name says that it checks.
fn checks_something(action: &str) -> bool {
    let words = [
        "lint", "test", "check", "deny", "audit", "scan", "codeql", "sonar", "cover", "codecov", "clippy", "format",
        "trivy", "snyk", "semgrep", "leaks", "review", "verify", "security",
    ];
    let lower = action.to_lowercase();
    !lower.contains("actions/checkout") && words.iter().any(|w| lower.contains(w))
}

/// A section of its own, where the product's default was.
fn is_top(path: &[String]) -> bool {
    path.len() <= 4
}

fn is_always(condition: &str) -> bool {
    let bare = condition.trim_start_matches("${{").trim_end_matches("}}").trim();
    matches!(
        bare,
        "always()" | "!cancelled()" | "success()" | "always" | "true" | "success() || failure()"
    )
}

fn is_findings(path: &[String]) -> bool {
    path.last().is_some_and(|k| {
        let k = plain(k);
        k.starts_with("max") || k.contains("allowed") || k == "threshold"
    })
}

/// Filters of a trigger.
fn is_filter(path: &[String]) -> bool {
    let keys: Vec<String> = path.iter().map(|p| plain(p)).collect();
    let last = keys.last().map(String::as_str);
    keys.iter().any(|k| k == "on") && matches!(last, Some("paths" | "branches" | "types" | "tags"))
        || matches!(last, Some("testregex" | "testnamepattern" | "onlychanged"))
}

/// The job whose rules these are.
fn rules_of(path: &[String]) -> Option<&[String]> {
    let at = path
        .iter()
        .position(|k| matches!(k.as_str(), "rules" | "only" | "except"))?;
    path.get(..at).filter(|job| !job.is_empty())
}

/// Names that tests must have: one name leaves out all others.
fn is_pattern(path: &[String]) -> bool {
    let last = path.last().map(|k| plain(k)).unwrap_or_default();
    matches!(last.as_str(), "testmatch")
}
