//! What a stranger reads, word for word.

use serde_json::json;

use super::*;
use crate::model::{
    Sha,
    past::PastRun,
    pull::RequiredCheck,
    signal::{Severity, Signal, SignalKind},
};

fn at(text: &str) -> DateTime<Utc> {
    format!("2026-11-{text}:00Z").parse().unwrap()
}

fn now() -> DateTime<Utc> {
    at("29T12:00")
}

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

fn seen() -> SeenPage {
    SeenPage {
        url: "https://shop.example/".to_owned(),
        sends_to: None,
        state: PageState::Up,
        status: Some(200),
        ms: Some(84),
        samples: 1,
        certificate: Certificate::Until(at("30T00:00") + chrono::TimeDelta::days(62)),
        domain: Domain::Until {
            name: "shop.example".to_owned(),
            at: at("30T00:00") + chrono::TimeDelta::days(300),
        },
        signals: Vec::new(),
    }
}

fn down() -> Signal {
    Signal {
        source: "health".to_owned(),
        repo: "shop".parse().unwrap(),
        target: "shop".to_owned(),
        kind: SignalKind::Health,
        severity: Severity::Critical,
        title: "shop: HTTP 503".to_owned(),
        message: String::new(),
        signature: crate::text::named("down"),
        count: 1,
        first_seen: now(),
        last_seen: now(),
        release_sha: None,
        url: None,
        culprit: None,
        evidence: json!({}),
    }
}

#[test]
fn a_page_that_is_well() {
    insta::assert_snapshot!(page(&seen(), now()), @r#"
    https://shop.example/ answers 200 in 84 ms.
      certificate  until 2027-01-31, 62 days
      domain       shop.example, until 2027-09-26, 300 days
    "#);
}

#[test]
fn a_page_that_is_slow_and_sends_elsewhere_and_ends_soon() {
    let slow = SeenPage {
        sends_to: Some("https://www.shop.example/".to_owned()),
        ms: Some(4210),
        certificate: Certificate::Until(at("28T00:00")),
        domain: Domain::Until {
            name: "shop.example".to_owned(),
            at: at("30T18:00"),
        },
        ..seen()
    };
    insta::assert_snapshot!(page(&slow, now()), @r#"
    https://shop.example/, which sends its visitors to https://www.shop.example/, is
    slow: it answers 200 after 4,210 ms.
      certificate  EXPIRED on 2026-11-28
      domain       shop.example, ends soon: 2026-11-30, in 1 day
    "#);
}

#[test]
fn a_page_that_is_down() {
    let broken = SeenPage {
        url: "http://127.0.0.1:8080/health".to_owned(),
        state: PageState::Down("HTTP 503".to_owned()),
        status: Some(503),
        samples: 3,
        certificate: Certificate::None,
        domain: Domain::None,
        signals: vec![down()],
        ..seen()
    };
    insta::assert_snapshot!(page(&broken, now()), @r#"
    http://127.0.0.1:8080/health is down: HTTP 503 (3 of 3 samples).
      certificate  none: it is served without TLS
      domain       none: an address or a name of this machine
      model        a tick would ask one about this
    "#);
}

#[test]
fn a_page_that_cannot_be_judged() {
    let unknown = SeenPage {
        state: PageState::Blind("HTTP 429: the service limits our calls".to_owned()),
        status: Some(429),
        certificate: Certificate::Unknown,
        domain: Domain::Unknown("its registry limits our calls (HTTP 429)".to_owned()),
        ..seen()
    };
    insta::assert_snapshot!(page(&unknown, now()), @r#"
    https://shop.example/ cannot be judged: HTTP 429: the service limits our calls.
      certificate  not known: no connection got so far
      domain       not known: its registry limits our calls (HTTP 429)
    "#);
}

fn run(green: bool, unread: bool) -> PastRun {
    PastRun {
        workflow: 1,
        sha: sha('a'),
        started: now(),
        finished: now(),
        green,
        signals: Vec::new(),
        unread,
    }
}

fn cause(title: &str) -> PastCause {
    PastCause {
        signature: crate::text::named(title),
        title: format!("CI is red: {title}"),
        first_seen: at("12T03:01"),
        last_seen: at("12T09:01"),
        since: at("12T03:01"),
        runs: 3,
        red_now: false,
        by_place: false,
        flaky_at: None,
        woken: vec![at("12T03:15")],
        missed: false,
        revert: None,
    }
}

fn revert(landed: Option<usize>, green_again: Option<Sha>) -> Revert {
    Revert {
        commit: sha('b'),
        title: Some("show the average discount (#12)".to_owned()),
        green_before: sha('a'),
        landed,
        green_again,
    }
}

fn some() -> SeenRepo {
    let red = PastCause {
        first_seen: at("20T08:00"),
        last_seen: at("29T10:20"),
        since: at("29T10:00"),
        red_now: true,
        woken: vec![at("20T08:15"), at("22T01:00"), at("25T02:30"), at("29T10:15")],
        revert: Some(revert(Some(1), None)),
        ..cause("CI / test: cart total is zero without items")
    };
    let over = PastCause {
        revert: Some(revert(Some(4), Some(sha('c')))),
        ..cause("CI / lint / Run lint")
    };
    let flaky = PastCause {
        runs: 1,
        flaky_at: Some(sha('d')),
        woken: Vec::new(),
        ..cause("CI / test: clock moves")
    };
    SeenRepo {
        name: "acme/shop".to_owned(),
        days: 30,
        past: Past {
            branch: "main".to_owned(),
            runs: vec![run(true, false), run(false, false), run(false, false)],
            ..Past::default()
        },
        causes: vec![red, over, flaky],
        rules: Some(Rules {
            squash_allowed: true,
            required_approvals: 1,
            required_checks: ["lint", "test"]
                .map(|name| RequiredCheck {
                    name: name.to_owned(),
                    app_id: None,
                })
                .into(),
            ..Rules::default()
        }),
        rules_unread: None,
        rung: "observe".to_owned(),
        needs: vec!["no agent is configured for triage".to_owned()],
    }
}

#[test]
fn a_repository_that_is_red() {
    insta::assert_snapshot!(repo(&some(), now()), @r#"
    acme/shop: main is red since today 10:00.
    2 of 3 runs in 30 days were red, by 3 causes.

      1e150341  CI / test: cart total is zero without items
                red now: 3 runs, first 11-20 08:00, last today 10:20
                would have woken a model: 11-20 08:15, 11-22 01:00, 11-25 02:30 and
                1 more
                green at aaaaaaa, red at the next commit, bbbbbbb "show the average
                discount (#12)"; not green since
                guess: taking back bbbbbbb alone would mend it

      a4380a1d  CI / lint / Run lint
                over: 3 runs, first 11-12 03:01, last 11-12 09:01
                would have woken a model: 11-12 03:15
                green at aaaaaaa, red 4 commits later, at bbbbbbb "show the average
                discount (#12)"; green again at ccccccc

      781a0e96  CI / test: clock moves
                flaky: red and green at ddddddd, no commit in between; once, 11-12
                09:01
                would have woken no model: the gate sleeps through it

      model        would have been asked 5 times in 30 days (a look every 15 min)
      rules        tick may open a pull request and merges after an approving
                   review; required: lint, test
      here         observe is possible; for more: no agent is configured for triage
    "#);
}

#[test]
fn runs_without_a_log_are_not_called_one_cause() {
    let mut seen = some();
    seen.causes = vec![PastCause {
        by_place: true,
        red_now: true,
        flaky_at: Some(sha('b')),
        ..cause("CI / test / Run tests")
    }];
    let text = repo(&seen, now());
    assert!(text.contains("were red, by at least 1 cause."), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words.join(" ").contains(
            "red now: 3 runs, first 11-12 03:01, last 11-12 09:01; one was red and green at bbbbbbb; no log says why, so \
             these may be several causes"
        ),
        "{text}"
    );
    seen.causes[0].runs = 1;
    assert!(repo(&seen, now()).contains("were red, by 1 cause."));
}

#[test]
fn a_repository_of_which_much_could_not_be_read() {
    let mut seen = some();
    seen.causes = vec![PastCause {
        missed: true,
        woken: Vec::new(),
        revert: Some(revert(None, Some(sha('c')))),
        ..cause("CI / test / Run test")
    }];
    seen.past.runs.push(run(false, true));
    seen.past.reaches_back_to = Some(at("10T00:00"));
    seen.past.without_logs = true;
    let refused = |what: &str| format!("GET /repos/acme/shop/{what}: HTTP 500: the forge has a problem of its own");
    seen.past.blind = ["commits", "actions/1", "actions/2", "actions/3"].map(refused).into();
    seen.rules = None;
    seen.rules_unread = Some("read the repository: HTTP 500".to_owned());
    insta::assert_snapshot!(repo(&seen, now()), @r#"
    acme/shop: main is green.
    3 of 4 runs since 11-10 00:00 were red, by 1 cause.

      ef6f5d72  CI / test / Run test
                over: 3 runs, first 11-12 03:01, last 11-12 09:01
                would have woken no model: it was over before the next look
                green at aaaaaaa, red at bbbbbbb "show the average discount (#12)",
                which need not be the next commit; green again at ccccccc

      model        would not have been asked about what was read since 11-10 00:00
                   (a look every 15 min)
      rules        not known: read the repository: HTTP 500
      here         observe is possible; for more: no agent is configured for triage
      not read     logs, which the forge shows nobody without GITHUB_TOKEN: causes
                   are told by job and step
      not read     why 1 older run was red
      not read     runs before 2026-11-10: there are too many
      not read     GET /repos/acme/shop/commits: HTTP 500: the forge has a problem
                   of its own
      not read     GET /repos/acme/shop/actions/1: HTTP 500: the forge has a problem
                   of its own
      not read     GET /repos/acme/shop/actions/2: HTTP 500: the forge has a problem
                   of its own
      not read     and 1 more
    "#);
}

#[test]
fn a_repository_that_is_green_or_does_not_run_or_is_not_there() {
    let mut seen = some();
    seen.causes.clear();
    seen.past.runs.truncate(1);
    seen.rules.as_mut().unwrap().required_approvals = 0;
    seen.needs.clear();
    let green = repo(&seen, now());
    seen.past.runs.clear();
    seen.rules.as_mut().unwrap().merge_queue = true;
    let still = repo(&seen, now());
    seen.past = Past {
        blind: vec!["GET /repos/acme/shop: HTTP 404: no public repository has this name".to_owned()],
        ..Past::default()
    };
    let absent = repo(&seen, now());
    insta::assert_snapshot!(format!("{green}\n{still}\n{absent}"), @r#"
    acme/shop: main is green.
    1 run in 30 days, none of them red.

      model        would not have been asked in 30 days (a look every 15 min)
      rules        they let tick merge by itself what it proved; required: lint,
                   test
      here         observe is possible with what is set up here

    acme/shop: no workflow ran on main in 30 days.

      rules        tick may open a pull request, a person merges: it merges through
                   a queue; required: lint, test
      here         observe is possible with what is set up here

    acme/shop: its CI could not be read.

      not read     GET /repos/acme/shop: HTTP 404: no public repository has this
                   name
    "#);
}
