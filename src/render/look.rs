//! What one look without configuration tells: pages and repositories, each with what is wrong, and what follows.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    decide::past::PastCause,
    model::{Sha, past::Past, pull::Rules},
};

/// Causes of one repository that are shown; `--json` has all.
const MOST: usize = 12;

/// One page.
#[derive(Debug, Clone, Serialize)]
pub struct SeenPage {
    pub url: String,
    /// None: nobody answered, and `why` says it.
    pub status: Option<u16>,
    pub why: String,
    pub ms: u64,
    pub redirects_to: Option<String>,
    pub certificate_until: Option<DateTime<Utc>>,
    /// None where no registry told it.
    pub domain_until: Option<DateTime<Utc>>,
}

/// One repository.
#[derive(Debug, Clone, Serialize)]
pub struct SeenRepo {
    pub name: String,
    pub days: u32,
    pub past: Past,
    pub causes: Vec<PastCause>,
    /// What a merge needs there; the reason where it could not be read.
    pub rules: Result<Rules, String>,
    /// The highest rung without more equipment, and what the next one needs.
    pub rung: String,
    pub needs: Vec<String>,
}

impl SeenPage {
    pub fn is_bad(&self) -> bool {
        self.status.is_none_or(|status| status >= 400)
    }
}

impl SeenRepo {
    pub fn is_red(&self) -> bool {
        self.causes.iter().any(|cause| cause.red_now)
    }
}

pub fn page(page: &SeenPage, now: DateTime<Utc>) -> String {
    let mut text = String::new();
    let _ = match page.status {
        Some(status) if page.is_bad() => writeln!(text, "{} is broken: it answers {status}.", page.url),
        Some(status) => writeln!(text, "{} answers {status} in {} ms.", page.url, page.ms),
        None => writeln!(text, "{} does not answer: {}.", page.url, page.why),
    };
    if let Some(to) = &page.redirects_to {
        let _ = writeln!(text, "  redirects    to {to}");
    }
    let certificate = match page.certificate_until {
        Some(until) => until_text(until, now),
        None if page.url.starts_with("http://") => "none: the page is served without TLS".to_owned(),
        None => "not known".to_owned(),
    };
    let domain = page
        .domain_until
        .map_or_else(|| "not known".to_owned(), |until| until_text(until, now));
    let _ = writeln!(text, "  certificate  {certificate}\n  domain       {domain}");
    text
}

fn until_text(until: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let days = (until - now).num_days();
    let date = until.format("%Y-%m-%d");
    if until <= now {
        format!("expired on {date}")
    } else {
        format!("until {date}, {days} days")
    }
}

pub fn repo(repo: &SeenRepo, now: DateTime<Utc>) -> String {
    let mut text = String::new();
    let red = repo.past.runs.iter().filter(|run| !run.green).count();
    let runs = repo.past.runs.len();
    let branch = &repo.past.branch;
    let _ = match (repo.is_red(), runs, repo.past.blind.is_empty()) {
        (_, 0, false) => writeln!(text, "{}: CI could not be read.", repo.name),
        (_, 0, true) => writeln!(text, "{}: no run on {branch} in {} days.", repo.name, repo.days),
        (true, ..) => writeln!(text, "{}: {branch} is red.", repo.name),
        (false, ..) => writeln!(text, "{}: {branch} is green.", repo.name),
    };
    if runs > 0 {
        let causes = repo.causes.len();
        let _ = writeln!(
            text,
            "{red} of {runs} runs in {} days were red, by {}.",
            repo.days,
            counted(causes, "cause")
        );
    }
    for cause in repo.causes.iter().take(MOST) {
        text.push_str(&one(cause, now));
    }
    if let Some(more) = repo.causes.len().checked_sub(MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "\n  and {more} more: --json lists them");
    }
    text.push_str(&follows(repo));
    text
}

fn one(cause: &PastCause, now: DateTime<Utc>) -> String {
    let short = cause.signature.short();
    let title = cause
        .title
        .split_once(": ")
        .map_or(cause.title.as_str(), |(_, title)| title);
    let state = match (cause.red_now, &cause.flaky_at) {
        (_, Some(sha)) => format!("flaky: red and green at {}", sha.short()),
        (true, None) => "red now".to_owned(),
        (false, None) => "over".to_owned(),
    };
    let mut text = format!("\n  {short}  {title}\n");
    let (first, last) = (at(cause.first_seen, now), at(cause.last_seen, now));
    let runs = counted(usize::try_from(cause.runs).unwrap_or(usize::MAX), "run");
    let _ = writeln!(text, "            {state}; {runs}, first {first}, last {last}");
    if let Some(revert) = &cause.revert {
        let (commit, before) = (revert.commit.short(), revert.green_before.short());
        let again = match &revert.green_again {
            Some(sha) => format!("green again with {}", Sha::short(sha)),
            None => "not green since".to_owned(),
        };
        let _ = writeln!(text, "            green at {before}, red with {commit}, {again}");
        let _ = writeln!(
            text,
            "            taking back {commit} alone would have mended it (guess)"
        );
    }
    text
}

fn at(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if time.date_naive() == now.date_naive() {
        time.format("today %H:%M").to_string()
    } else {
        time.format("%m-%d %H:%M").to_string()
    }
}

fn counted(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

fn follows(repo: &SeenRepo) -> String {
    let mut text = String::new();
    let woken: u64 = repo.causes.iter().map(|cause| cause.woken).sum();
    let times = counted(usize::try_from(woken).unwrap_or(usize::MAX), "time");
    let _ = writeln!(
        text,
        "\n  model     would have been asked {times} in {} days",
        repo.days
    );
    let _ = writeln!(text, "  rules     {}", rules(&repo.rules));
    let needs = if repo.needs.is_empty() {
        String::new()
    } else {
        format!("; more needs: {}", repo.needs.join(", "))
    };
    let _ = writeln!(text, "  tick may  {}{needs}", repo.rung);
    let unread = repo.past.runs.iter().filter(|run| run.unread).count();
    if unread > 0 {
        let _ = writeln!(
            text,
            "  not read  why {} were red: only the newest are read",
            counted(unread, "run")
        );
    }
    for why in repo.past.blind.iter().take(3) {
        let _ = writeln!(text, "  not read  {why}");
    }
    text
}

fn rules(rules: &Result<Rules, String>) -> String {
    let rules = match rules {
        Ok(rules) => rules,
        Err(why) => return format!("not known: {why}"),
    };
    let mut parts = Vec::new();
    let checks = rules.required_checks.len();
    if checks > 0 {
        let names: Vec<&str> = rules.required_checks.iter().map(|check| check.name.as_str()).collect();
        parts.push(format!("{} required ({})", counted(checks, "check"), names.join(", ")));
    }
    if rules.required_approvals > 0 {
        parts.push(format!(
            "{} by a person",
            counted(rules.required_approvals as usize, "approval")
        ));
    }
    let flags = [
        (rules.code_owner_review, "a code owner's review"),
        (rules.conversation_resolution, "resolved threads"),
        (rules.signed_commits, "signed commits"),
        (rules.linear_history, "linear history"),
        (rules.merge_queue, "a merge queue"),
        (!rules.required_deployments.is_empty(), "deployments"),
        (!rules.squash_allowed, "no squash merge, so tick merges nothing"),
        (
            rules.unread.is_some(),
            "a part that this token may not read, so tick merges nothing",
        ),
    ];
    parts.extend(
        flags
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, what)| (*what).to_owned()),
    );
    if parts.is_empty() {
        return "none: a merge needs nothing there; tick waits for green checks anyway".to_owned();
    }
    parts.join(", ")
}

pub fn saved(file: &str) -> String {
    format!("\nSaved as {file}. Next: tick config check, then tick --observe\n")
}
