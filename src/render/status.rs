//! `tick status`: one line a repo, what is open with who moves next, what it cost, when the next look is.

use chrono::{DateTime, Utc};

use super::page::{Page, count, widest};
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
    /// The stop sign that holds: what, who set it and when.
    pub stopped: Option<String>,
    /// What it lacks for the rung that is configured.
    pub lacks: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoState {
    NeverLooked,
    Healthy,
    Unhealthy,
    /// A release of ours is under observation.
    Watching,
    Blind,
}

impl RepoState {
    pub const fn word(self) -> &'static str {
        match self {
            Self::NeverLooked => "new",
            Self::Healthy => "healthy",
            Self::Unhealthy => "UNHEALTHY",
            Self::Watching => "watching",
            Self::Blind => "BLIND",
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
        page.line(format!("Nothing is open. Spent today ${:.2}.{next}", view.spent_today));
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

/// Where `notify` names no channel.
pub fn no_channel(waiting: usize) -> String {
    let wait = match waiting {
        0 => String::new(),
        n => format!(" {} until there is one.", waits(n)),
    };
    format!("No message goes anywhere: no channel is configured.{wait} Mend: tick config explain notify")
}

/// Messages that could not be sent.
pub fn not_sent(n: usize, since: DateTime<Utc>, why: &str, now: DateTime<Utc>) -> String {
    format!(
        "{} since {}: {why}. Every tick tries again.",
        waits(n),
        time(since, now)
    )
}

fn waits(n: usize) -> String {
    format!("{} wait{}", count(n as u64, "message"), if n == 1 { "s" } else { "" })
}

/// `03:00`, with how long ago while that is under an hour, and the date on another day.
fn time(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let minutes = (now - at).num_minutes();
    if at.date_naive() != now.date_naive() {
        return at.format("%Y-%m-%d %H:%M").to_string();
    }
    match minutes {
        1..60 => format!("{} ({minutes} min ago)", at.format("%H:%M")),
        _ => at.format("%H:%M").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> DateTime<Utc> {
        format!("2026-11-29T{time}:00Z").parse().unwrap()
    }

    fn repo(slot: &str, mode: Mode, state: RepoState) -> RepoLine {
        RepoLine {
            slot: slot.into(),
            mode,
            state,
            looked: Some(at("03:00")),
            sources_read: 5,
            sources: 5,
            stopped: None,
            lacks: None,
        }
    }

    fn view() -> StatusView {
        StatusView {
            now: at("03:00"),
            repos: vec![
                repo("api", Mode::Active, RepoState::Healthy),
                repo("web", Mode::MonitorOnly, RepoState::Healthy),
            ],
            open: Vec::new(),
            spent_today: 0.0,
            limit_today: 5.0,
            spent_month: 2.07,
            next_look: Some(at("03:15")),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_quiet_day_is_three_lines() {
        insta::assert_snapshot!(status(&view()), @r"
        api  active        healthy  looked 03:00, 5 of 5 sources read
        web  monitor-only  healthy  looked 03:00, 5 of 5 sources read
        Nothing is open. Spent today $0.00. Next look 03:15.
        ");
    }

    #[test]
    fn each_open_thing_says_who_moves_next() {
        let mut view = view();
        view.now = at("03:06");
        view.repos[0].state = RepoState::Watching;
        view.repos[1].stopped = Some("issue #12 labelled tick:pause, set by ana at 02:10".into());
        view.open = vec![
            OpenLine {
                short: "7f3a91c0".into(),
                slot: "api".into(),
                title: "500 on POST /orders: panic in orders/total.rs:88".into(),
                stands: "fix merged 03:00 (PR #312, 91be77a), live 03:04".into(),
                mover: Mover::Tick,
                next: "resolved if quiet until 04:04, else taken back".into(),
            },
            OpenLine {
                short: "b04c11d2".into(),
                slot: "web".into(),
                title: "TypeError in payments/refund.ts:41".into(),
                stands: "draft PR #88, proof green; touches src/payments/ (sensitivePaths)".into(),
                mover: Mover::You,
                next: "merge or close PR #88, or tick approve b04c11d2".into(),
            },
        ];
        insta::assert_snapshot!(status(&view), @r"
        api  active        watching  looked 03:00 (6 min ago), 5 of 5 sources read
        web  monitor-only  healthy   looked 03:00 (6 min ago), 5 of 5 sources read
             stopped: issue #12 labelled tick:pause, set by ana at 02:10

        Open
          7f3a91c0  api  500 on POST /orders: panic in orders/total.rs:88
                         fix merged 03:00 (PR #312, 91be77a), live 03:04
                         tick moves next: resolved if quiet until 04:04, else taken back
          b04c11d2  web  TypeError in payments/refund.ts:41
                         draft PR #88, proof green; touches src/payments/
                         (sensitivePaths)
                         you move next: merge or close PR #88, or tick approve b04c11d2

        Budget    today $0.00 of $5.00, month $2.07
        Next      look 03:15
        ");
    }
}
