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
        seen: Vec::new(),
        notes: Vec::new(),
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
fn what_cannot_be_read_is_named_with_its_cause_and_its_age() {
    let one = |name: &str, cause: &str, last: Option<DateTime<Utc>>| (name.to_owned(), cause.to_owned(), last);
    let two = [
        one("front of health/api", "html", Some(at("03:05"))),
        one("sentry/api", "http-401", None),
    ];
    assert_eq!(unread(&[], at("03:20")), None);
    assert_eq!(
        unread(&two, at("03:20")).unwrap(),
        "cannot be read: front of health/api (html, last read 03:05 (15 min ago)), sentry/api (http-401, never read yet)"
    );
    let many: Vec<_> = (0..5).map(|n| one(&format!("c{n}/api"), "timeout", None)).collect();
    assert!(unread(&many, at("03:20")).unwrap().ends_with("and 2 more"));
}

/// Nobody starts tick any more.
#[test]
fn what_was_healthy_long_ago_is_not_called_healthy() {
    let mut view = view();
    view.now = "2026-12-02T03:05:00Z".parse().unwrap();
    view.next_look = None;
    for repo in &mut view.repos {
        repo.state = RepoState::NotLooked;
    }
    view.notes = vec![not_looked(at("03:00"), view.now)];
    insta::assert_snapshot!(status(&view), @r"
    api  active        NOT LOOKED  since 2026-11-29 03:00 (3 days ago), 5 of 5 sources read
    web  monitor-only  NOT LOOKED  since 2026-11-29 03:00 (3 days ago), 5 of 5 sources read
    No look since 2026-11-29 03:00 (3 days ago), and one is overdue: what broke
    after that is not known. See that the scheduler runs tick; a look by hand: tick
    --observe
    Nothing was open. Spent today $0.00.
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
            notes: Vec::new(),
            short: "7f3a91c0".into(),
            slot: "api".into(),
            title: "500 on POST /orders: panic in orders/total.rs:88".into(),
            stands: "fix merged 03:00 (PR #312, 91be77a), live 03:04".into(),
            mover: Mover::Tick,
            next: "resolved if quiet until 04:04, else taken back".into(),
        },
        OpenLine {
            notes: Vec::new(),
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

#[test]
fn what_belongs_to_an_incident_is_named_with_it() {
    let at: DateTime<Utc> = "2026-11-29T03:00:00Z".parse().unwrap();
    let also: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).into();
    let well = [("stock: HTTP 500".to_owned(), at)];
    assert_eq!(
        with_it(&also, &well, at),
        [
            "with it: a; b; c and 1 more",
            "well again: stock: HTTP 500, last seen 03:00"
        ]
    );
    assert_eq!(with_it(&[], &[], at), Vec::<String>::new());
}
