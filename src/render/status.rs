//! `tick status`: one line a repo, what is open with who moves next, what it cost, when the next look is.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{
    page::{Page, count, widest},
    title,
};
use crate::config::Mode;

/// Plain facts; the caller fills it from the store.
#[derive(Debug, Clone)]
pub struct StatusView {
    pub now: DateTime<Utc>,
    pub repos: Vec<RepoLine>,
    pub open: Vec<OpenLine>,
    pub spent_today: f64,
    pub limit_today: f64,
    pub spent_month: f64,
    /// When the scheduler comes next, where that is known.
    pub next_look: Option<DateTime<Utc>>,
    /// What a person has to know beside: frozen merges, messages whose fate is unknown, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoLine {
    pub slot: String,
    pub mode: Mode,
    pub state: RepoState,
    pub looked: Option<DateTime<Utc>>,
    pub sources_read: u64,
    pub sources: u64,
    /// What the last look saw and that is no open incident.
    pub seen: Vec<SeenLine>,
    /// What a person has silenced, and warnings that stand, one sentence each.
    pub notes: Vec<String>,
    /// The stop sign that holds: what, who set it and when.
    pub stopped: Option<String>,
    /// What it lacks for the rung that is configured.
    pub lacks: Option<String>,
}

/// A cause that the last look saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenLine {
    pub short: String,
    pub title: String,
    pub now: Now,
}

/// Why it is no open incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Now {
    /// The next look decides.
    Once,
    WithPerson,
    TakenBack,
    /// A deployment is under way until then at most.
    Deploying(DateTime<Utc>),
    /// Part of an incident of another repo that is open.
    Explained,
    /// More causes than the caps let open.
    Waits,
    Ignored(DateTime<Utc>),
    Silenced(DateTime<Utc>),
    Declined,
    Noise,
    FirstSight,
}

impl Now {
    /// A person or a rule has said that nothing is to be done about it.
    pub const fn is_handled(self) -> bool {
        match self {
            Self::Once | Self::WithPerson | Self::TakenBack | Self::Deploying(_) | Self::Explained | Self::Waits => {
                false
            }
            Self::Ignored(_) | Self::Silenced(_) | Self::Declined | Self::Noise | Self::FirstSight => true,
        }
    }

    fn words(self, now: DateTime<Utc>) -> String {
        match self {
            Self::Once => "seen by the last look; opens when the next one sees it too".to_owned(),
            Self::WithPerson => "with a person; tick does nothing more".to_owned(),
            Self::TakenBack => "its fix was taken back; with a person".to_owned(),
            Self::Deploying(until) => format!(
                "held while a deployment is under way, until {} at most",
                time(until, now)
            ),
            Self::Explained => "explained by an incident of the provider, which is open".to_owned(),
            Self::Waits => {
                "wait for their turn, more broke than opens at once (limits.new_incidents_per_hour)".to_owned()
            }
            Self::Ignored(until) => format!("ignored until {}", time(until, now)),
            Self::Silenced(until) => format!("silenced until {}", time(until, now)),
            Self::Declined => "declined by a person".to_owned(),
            Self::Noise => "judged to be noise".to_owned(),
            Self::FirstSight => "stood there at first sight".to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoState {
    NeverLooked,
    Healthy,
    /// Something is wrong, and all of it is known: ignored, declined, noise, or there since the first look.
    Known,
    Unhealthy,
    /// A release of ours is under observation.
    Watching,
    Blind,
    /// The last look was fine, and the next one is overdue.
    NotLooked,
}

impl RepoState {
    pub const fn word(self) -> &'static str {
        match self {
            Self::NeverLooked => "new",
            Self::Healthy => "healthy",
            Self::Known => "known",
            Self::Unhealthy => "UNHEALTHY",
            Self::Watching => "watching",
            Self::Blind => "BLIND",
            Self::NotLooked => "NOT LOOKED",
        }
    }
}

/// Who moves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    You,
    Tick,
    Ci,
}

impl Mover {
    pub const fn words(self) -> &'static str {
        match self {
            Self::You => "you move next",
            Self::Tick => "tick moves next",
            Self::Ci => "CI moves next",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLine {
    /// The first eight digits of the signature.
    pub short: String,
    pub slot: String,
    /// The cause, from our own template, one line.
    pub title: String,
    /// Where it stands: `draft PR #88, proof green`.
    pub stands: String,
    /// What else of it is there, and what is well again.
    pub notes: Vec<String>,
    pub mover: Mover,
    /// What happens then.
    pub next: String,
}

pub fn status(view: &StatusView) -> String {
    let mut page = Page::default();
    if view.repos.is_empty() {
        page.line("No repos are configured; a tick looks at nothing.");
    }
    let slots = widest(view.repos.iter().map(|repo| repo.slot.as_str()));
    let modes = widest(view.repos.iter().map(|repo| repo.mode.word()));
    let states = widest(view.repos.iter().map(|repo| repo.state.word()));
    for repo in &view.repos {
        let looked = match repo.looked {
            Some(at) if repo.state == RepoState::NotLooked => format!("since {}", time(at, view.now)),
            Some(at) => format!("looked {}", time(at, view.now)),
            None => "not looked yet".to_owned(),
        };
        page.line(format!(
            "{:slots$}  {:modes$}  {:states$}  {looked}, {} of {} read",
            repo.slot,
            repo.mode.word(),
            repo.state.word(),
            repo.sources_read,
            count(repo.sources, "source"),
        ));
        for note in repo
            .stopped
            .iter()
            .map(|sign| format!("stopped: {sign}"))
            .chain(repo.notes.iter().cloned())
            .chain(seen(&repo.seen, view.now))
            .chain(repo.lacks.clone())
        {
            page.hanging("", slots + 2, &note);
        }
    }
    for note in &view.notes {
        page.paragraph(note);
    }
    let money = format!(
        "today ${:.2} of ${:.2}, month ${:.2}",
        view.spent_today, view.limit_today, view.spent_month
    );
    let next = view
        .next_look
        .map(|at| format!(" Next look {}.", time(at, view.now)))
        .unwrap_or_default();
    if view.open.is_empty() {
        let waits = view.repos.iter().flat_map(|repo| &repo.seen);
        let open = match waits.filter(|line| !line.now.is_handled()).count() {
            0 if view.repos.iter().any(|repo| repo.state == RepoState::NotLooked) => "Nothing was open",
            0 => "Nothing is open",
            _ => "No incident is open",
        };
        page.line(format!("{open}. Spent today ${:.2}.{next}", view.spent_today));
        return page.finish();
    }
    page.blank();
    page.line("Open");
    let open_slots = widest(view.open.iter().map(|line| line.slot.as_str()));
    for line in &view.open {
        let column = 2 + 8 + 2 + open_slots + 2;
        page.hanging(
            &format!("  {:8}  {:open_slots$}", line.short, line.slot),
            column,
            &line.title,
        );
        page.hanging("", column, &line.stands);
        for note in &line.notes {
            page.hanging("", column, note);
        }
        page.hanging("", column, &format!("{}: {}", line.mover.words(), line.next));
    }
    page.blank();
    page.hanging("Budget", 10, &money);
    if view.next_look.is_some() {
        page.hanging(
            "Next",
            10,
            next.trim().trim_start_matches("Next ").trim_end_matches('.'),
        );
    }
    page.finish()
}

/// Letters of what somebody outside said.
const SAID: usize = 200;
/// At most this many causes of one kind by name.
const NAMED: usize = 3;

/// One line a kind: what needs somebody first.
fn seen(lines: &[SeenLine], now: DateTime<Utc>) -> Vec<String> {
    let mut by_kind: BTreeMap<Now, Vec<&SeenLine>> = BTreeMap::new();
    for line in lines {
        by_kind.entry(line.now).or_default().push(line);
    }
    let one = |(kind, lines): (Now, Vec<&SeenLine>)| {
        let named = lines
            .iter()
            .take(NAMED)
            .map(|line| format!("{} {}", line.short, line.title));
        let named: Vec<String> = named.collect();
        let more = match lines.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        format!("{}: {}{more}", kind.words(now), named.join(", "))
    };
    by_kind.into_iter().map(one).collect()
}

/// What the last look could not read: name, cause, and when it was read last.
pub fn unread(sources: &[(String, String, Option<DateTime<Utc>>)], now: DateTime<Utc>) -> Option<String> {
    let one = |(name, cause, last): &(String, String, Option<DateTime<Utc>>)| match last {
        Some(last) => format!("{name} ({cause}, last read {})", time(*last, now)),
        None => format!("{name} ({cause}, never read yet)"),
    };
    let named: Vec<String> = sources.iter().take(NAMED).map(one).collect();
    let more = match sources.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (!named.is_empty()).then(|| format!("cannot be read: {}{more}", named.join(", ")))
}

/// Why nobody looks at it any more: `front of health/shop is not in the config any more`.
pub fn not_in_config(part: Option<&str>, source: &str, target: &str) -> String {
    let of = part.map(|part| format!("{part} of ")).unwrap_or_default();
    format!("{of}{source}/{target} is not in the config any more")
}

/// Where an incident stands, without the words about who moves next, which stand beside it.
pub fn stands(why: &str) -> String {
    let cut = ["; a person moves next", "; tick moves next", "; CI moves next"];
    let end = cut
        .iter()
        .filter_map(|words| why.find(words))
        .min()
        .unwrap_or(why.len());
    let movers = ["a person moves next: ", "tick moves next: ", "CI moves next: "];
    let told = movers.iter().find_map(|words| why[..end].strip_prefix(words));
    told.unwrap_or(&why[..end]).to_owned()
}

/// What else belongs to an open incident: what is there beside what its title names, and what is well again.
pub fn with_it(also: &[String], well: &[(String, DateTime<Utc>)], now: DateTime<Utc>) -> Vec<String> {
    let list = |named: Vec<String>, all: usize| match all.saturating_sub(NAMED) {
        0 => named.join("; "),
        n => format!("{} and {n} more", named.join("; ")),
    };
    let mut notes = Vec::new();
    if !also.is_empty() {
        let named = also.iter().take(NAMED).cloned().collect();
        notes.push(format!("with it: {}", list(named, also.len())));
    }
    if !well.is_empty() {
        let one = |(title, last): &(String, DateTime<Utc>)| format!("{title}, last seen {}", time(*last, now));
        let named = well.iter().take(NAMED).map(one).collect();
        notes.push(format!("well again: {}", list(named, well.len())));
    }
    notes
}

/// That it is not there at this moment, and how often it was over and back within a day.
pub fn comes_and_goes(last: Option<DateTime<Utc>>, lives: u32, now: DateTime<Utc>) -> Vec<String> {
    let last = last.map(|at| format!("last seen {}", time(at, now)));
    let lives = (lives > 1).then(|| format!("it comes and goes: time {lives} within a day"));
    last.into_iter().chain(lives).collect()
}

/// When something that is well again is over.
pub fn over_after(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at > now {
        format!("it is well; over with a look after {} that sees it so", time(at, now))
    } else {
        "it is well; over with the next look that sees it so".to_owned()
    }
}

/// Where `notify` names no channel.
pub fn no_channel(waiting: usize) -> String {
    let wait = match waiting {
        0 => String::new(),
        n => format!(" {} until there is one.", waits(n)),
    };
    format!("No message goes anywhere: no channel is configured.{wait} Mend: tick config explain notify")
}

/// Messages that could not be sent; `why` is what the server said.
pub fn not_sent(n: usize, since: DateTime<Utc>, why: &str, now: DateTime<Utc>) -> String {
    format!(
        "{} since {}: {}. Every tick tries again.",
        waits(n),
        time(since, now),
        title::said(why, SAID)
    )
}

fn waits(n: usize) -> String {
    format!("{} wait{}", count(n as u64, "message"), if n == 1 { "s" } else { "" })
}

/// Why the gate woke though all is known: some of its reasons.
pub fn woke(reasons: &str) -> String {
    let all: Vec<String> = reasons.split("; ").map(|reason| title::said(reason, SAID)).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    format!(
        "The gate woke at the last look: {}{more}.",
        all[..all.len().min(NAMED)].join("; ")
    )
}

/// Nobody starts tick, so nothing that is said is news.
pub fn not_looked(since: DateTime<Utc>, now: DateTime<Utc>) -> String {
    format!(
        "No look since {}, and one is overdue: what broke after that is not known. See that the scheduler runs tick; \
         a look by hand: tick --observe",
        time(since, now)
    )
}

/// `03:00`, with how long ago, and the date on another day.
pub(super) fn time(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let shown = if at.date_naive() == now.date_naive() {
        at.format("%H:%M")
    } else {
        at.format("%Y-%m-%d %H:%M")
    };
    let minutes = (now - at).num_minutes();
    let ago = match minutes {
        ..1 => return shown.to_string(),
        1..120 => format!("{minutes} min"),
        120..2880 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    };
    format!("{shown} ({ago} ago)")
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
