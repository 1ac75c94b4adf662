//! What one look without configuration tells: pages and repositories, each with what is wrong, and what follows.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::page::{Page, count};
use crate::{
    decide::{
        past::{self, PastCause, Revert},
        rules::{Leave, leave},
    },
    model::{
        page::{Certificate, Domain, PageState, SeenPage},
        past::Past,
        pull::Rules,
    },
};

/// Causes of one repository that are shown; `--json` has all.
const MOST: usize = 10;
/// Looks that are named.
const MOST_LOOKS: usize = 3;
/// An answer that takes longer is called slow.
const SLOW_MS: u64 = 2000;
/// Days before an end that are told as soon.
const SOON_DAYS: i64 = 30;
/// Where texts begin below a page or a repository.
const COLUMN: usize = 15;

/// One repository.
#[derive(Debug, Clone, Serialize)]
pub struct SeenRepo {
    pub name: String,
    pub days: u32,
    pub past: Past,
    pub causes: Vec<PastCause>,
    /// What a merge needs there; none where it could not be read.
    pub rules: Option<Rules>,
    pub rules_unread: Option<String>,
    /// The highest rung without more equipment, and what the next one needs.
    pub rung: String,
    pub needs: Vec<String>,
}

/// Some user feels it, or will soon: what the gate would wake for.
pub fn is_bad(page: &SeenPage) -> bool {
    past::wakes(&page.signals)
}

pub fn is_blind(page: &SeenPage) -> bool {
    matches!(page.state, PageState::Blind(_))
}

impl SeenRepo {
    pub fn is_red(&self) -> bool {
        self.causes.iter().any(|cause| cause.red_now)
    }
}

pub fn page(seen: &SeenPage, now: DateTime<Utc>) -> String {
    let mut page = Page::default();
    page.paragraph(&verdict(seen));
    let ends = |at: DateTime<Utc>| until(at, now);
    let certificate = match &seen.certificate {
        Certificate::None => "none: it is served without TLS".to_owned(),
        Certificate::Until(at) => ends(*at),
        Certificate::Unknown => "not known: no connection got so far".to_owned(),
    };
    page.hanging("  certificate", COLUMN, &certificate);
    let domain = match &seen.domain {
        Domain::None => "none: an address or a name of this machine".to_owned(),
        Domain::Until { name, at } => format!("{name}, {}", ends(*at)),
        Domain::Unknown(why) => format!("not known: {why}"),
    };
    page.hanging("  domain", COLUMN, &domain);
    if is_bad(seen) {
        page.hanging("  model", COLUMN, "a tick would ask one about this");
    }
    page.finish()
}

fn verdict(seen: &SeenPage) -> String {
    let url = match &seen.sends_to {
        Some(to) => format!("{}, which sends its visitors to {to},", seen.url),
        None => seen.url.clone(),
    };
    let (status, ms) = (seen.status.unwrap_or_default(), seen.ms.unwrap_or_default());
    match &seen.state {
        PageState::Up if ms >= SLOW_MS => format!("{url} is slow: it answers {status} after {} ms.", thousands(ms)),
        PageState::Up => format!("{url} answers {status} in {} ms.", thousands(ms)),
        PageState::Down(what) => format!("{url} is down: {what} ({} of {} samples).", seen.samples, seen.samples),
        PageState::Blind(why) => format!("{url} cannot be judged: {why}."),
    }
}

fn until(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let (days, date) = ((at - now).num_days(), at.format("%Y-%m-%d"));
    let left = count(u64::try_from(days).unwrap_or(0), "day");
    if at <= now {
        format!("EXPIRED on {date}")
    } else if days < SOON_DAYS {
        format!("ends soon: {date}, in {left}")
    } else {
        format!("until {date}, {left}")
    }
}

pub fn repo(seen: &SeenRepo, now: DateTime<Utc>) -> String {
    let mut page = Page::default();
    head(&mut page, seen, now);
    for cause in seen.causes.iter().take(MOST) {
        page.blank();
        one(&mut page, cause, now);
    }
    if let Some(more) = seen.causes.len().checked_sub(MOST).filter(|more| *more > 0) {
        page.blank();
        page.line(format!("  and {}: --json lists them", count(more as u64, "more cause")));
    }
    page.blank();
    if !seen.past.runs.is_empty() {
        page.hanging("  model", COLUMN, &asked(seen, now));
    }
    // What could not even be found has none.
    if !seen.past.branch.is_empty() {
        page.hanging("  rules", COLUMN, &rules(seen));
        page.hanging("  here", COLUMN, &here(seen));
    }
    for what in unread(seen) {
        page.hanging("  not read", COLUMN, &what);
    }
    page.finish()
}

fn head(page: &mut Page, seen: &SeenRepo, now: DateTime<Utc>) {
    let Past { branch, runs, .. } = &seen.past;
    let red = runs.iter().filter(|run| !run.green).count();
    let since = seen
        .causes
        .iter()
        .filter(|cause| cause.red_now)
        .map(|cause| cause.since)
        .min();
    let name = &seen.name;
    page.paragraph(&match (since, runs.len(), seen.past.blind.is_empty()) {
        (Some(since), ..) => format!("{name}: {branch} is red since {}.", when(since, now)),
        (None, 0, false) => format!("{name}: its CI could not be read."),
        (None, 0, true) => format!("{name}: no workflow ran on {branch} in {} days.", seen.days),
        (None, ..) => format!("{name}: {branch} is green."),
    });
    if runs.is_empty() {
        return;
    }
    let span = span(seen, now);
    page.paragraph(&match (red, seen.causes.len()) {
        (0, 0) => format!("{} {span}, none of them red.", count(runs.len() as u64, "run")),
        (_, causes) => format!(
            "{red} of {} {span} were red, by {}{}.",
            count(runs.len() as u64, "run"),
            if seen.causes.iter().any(is_many) {
                "at least "
            } else {
                ""
            },
            count(causes as u64, "cause")
        ),
    });
}

fn one(page: &mut Page, cause: &PastCause, now: DateTime<Utc>) {
    let title = cause
        .title
        .split_once(": ")
        .map_or(cause.title.as_str(), |(_, title)| title);
    page.hanging(&format!("  {}", cause.signature.short()), 12, title);
    let mut line = |text: &str| page.hanging("", 12, text);
    line(&sight(cause, now));
    line(&woken(cause, now));
    if let Some(revert) = &cause.revert {
        for text in mended(revert) {
            line(&text);
        }
    }
}

/// It may be several causes: only the place is known to be one.
fn is_many(cause: &PastCause) -> bool {
    cause.by_place && cause.runs > 1
}

fn sight(cause: &PastCause, now: DateTime<Utc>) -> String {
    let (first, last) = (when(cause.first_seen, now), when(cause.last_seen, now));
    let runs = count(cause.runs, "run");
    let span = if cause.runs == 1 {
        format!("once, {last}")
    } else {
        format!("{runs}, first {first}, last {last}")
    };
    if is_many(cause) {
        let now = if cause.red_now { "red now" } else { "over" };
        let flaky = match &cause.flaky_at {
            Some(sha) => format!("; one was red and green at {}", sha.short()),
            None => String::new(),
        };
        return format!("{now}: {span}{flaky}; no log says why, so these may be several causes");
    }
    match (&cause.flaky_at, cause.red_now) {
        (Some(sha), true) => format!("flaky, and red now: red and green at {}; {span}", sha.short()),
        (Some(sha), false) => format!("flaky: red and green at {}, no commit in between; {span}", sha.short()),
        (None, true) => format!("red now: {span}"),
        (None, false) => format!("over: {span}"),
    }
}

fn woken(cause: &PastCause, now: DateTime<Utc>) -> String {
    match cause.woken.as_slice() {
        [] if cause.missed => "would have woken no model: it was over before the next look".to_owned(),
        [] => "would have woken no model: the gate sleeps through it".to_owned(),
        looks => {
            let shown: Vec<String> = looks.iter().take(MOST_LOOKS).map(|look| when(*look, now)).collect();
            let more = looks.len() - shown.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("would have woken a model: {}{more}", shown.join(", "))
        }
    }
}

/// What was measured, then the guess that follows from it.
fn mended(revert: &Revert) -> Vec<String> {
    let (commit, green) = (revert.commit.short(), revert.green_before.short());
    let title = revert
        .title
        .as_ref()
        .map(|title| format!(" \"{title}\""))
        .unwrap_or_default();
    let again = match &revert.green_again {
        Some(sha) => format!("green again at {}", sha.short()),
        None => "not green since".to_owned(),
    };
    let only = revert.landed == Some(1);
    let red = match revert.landed {
        Some(1) => format!("red at the next commit, {commit}{title}"),
        Some(n) => format!("red {n} commits later, at {commit}{title}"),
        None => format!("red at {commit}{title}, which need not be the next commit"),
    };
    let mut lines = vec![format!("green at {green}, {red}; {again}")];
    if only {
        let would = if revert.green_again.is_some() {
            "would have mended"
        } else {
            "would mend"
        };
        lines.push(format!("guess: taking back {commit} alone {would} it"));
    }
    lines
}

fn asked(seen: &SeenRepo, now: DateTime<Utc>) -> String {
    let looks = u64::try_from(past::asked(&seen.causes).len()).unwrap_or(u64::MAX);
    let span = span(seen, now);
    match (looks, seen.past.runs.iter().any(|run| run.unread)) {
        (0, false) => format!("would not have been asked {span} (a look every 15 min)"),
        (0, true) => format!("would not have been asked about what was read {span} (a look every 15 min)"),
        (n, unread) => {
            let least = if unread { "at least " } else { "" };
            let times = count(n, "time");
            format!("would have been asked {least}{times} {span} (a look every 15 min)")
        }
    }
}

fn span(seen: &SeenRepo, now: DateTime<Utc>) -> String {
    match seen.past.reaches_back_to {
        Some(at) => format!("since {}", when(at, now)),
        None => format!("in {} days", seen.days),
    }
}

fn rules(seen: &SeenRepo) -> String {
    let Some(rules) = &seen.rules else {
        let why = seen.rules_unread.as_deref().unwrap_or("they were not read");
        return format!("not known: {why}");
    };
    let names: Vec<&str> = rules.required_checks.iter().map(|check| check.name.as_str()).collect();
    let checks = if names.is_empty() {
        "no check is required, tick wants green ones anyway".to_owned()
    } else {
        format!("required: {}", names.join(", "))
    };
    let leaves = match leave(rules) {
        Leave::Merges => "they let tick merge by itself what it proved".to_owned(),
        Leave::Asks(what) => format!("tick may open a pull request and merges after {}", what.join(" and ")),
        Leave::Person(why) => format!("tick may open a pull request, a person merges: {why}"),
    };
    format!("{leaves}; {checks}")
}

fn here(seen: &SeenRepo) -> String {
    match seen.needs.as_slice() {
        [] => format!("{} is possible with what is set up here", seen.rung),
        needs => format!("{} is possible; for more: {}", seen.rung, needs.join(", ")),
    }
}

fn unread(seen: &SeenRepo) -> Vec<String> {
    let mut what = Vec::new();
    if seen.past.without_logs && !seen.causes.is_empty() {
        what.push(
            "logs, which the forge shows nobody without GITHUB_TOKEN: causes are told by job and step".to_owned(),
        );
    }
    let unread = seen.past.runs.iter().filter(|run| run.unread).count();
    if unread > 0 {
        let was = if unread == 1 { "was" } else { "were" };
        what.push(format!("why {} {was} red", count(unread as u64, "older run")));
    }
    if let Some(at) = seen.past.reaches_back_to {
        what.push(format!("runs before {}: there are too many", at.format("%Y-%m-%d")));
    }
    what.extend(seen.past.blind.iter().take(MOST_LOOKS).cloned());
    if let Some(more) = seen.past.blind.len().checked_sub(MOST_LOOKS).filter(|more| *more > 0) {
        what.push(format!("and {more} more"));
    }
    what
}

fn when(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if time.date_naive() == now.date_naive() {
        time.format("today %H:%M").to_string()
    } else {
        time.format("%m-%d %H:%M").to_string()
    }
}

fn thousands(n: u64) -> String {
    if n < 1000 {
        n.to_string()
    } else {
        format!("{},{:03}", n / 1000, n % 1000)
    }
}

pub fn saved(file: &str) -> String {
    format!("\nSaved: {file}\nNext: tick config check, then tick --observe\n")
}

#[cfg(test)]
#[path = "look_tests.rs"]
mod tests;
