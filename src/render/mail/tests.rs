//! Golden mails: one of each kind, and what must hold for all of them.

use super::*;
use crate::{model::Signature, text::Redactor};

fn at(time: &str) -> DateTime<Utc> {
    format!("2026-11-29T{time}:00Z").parse().unwrap()
}

fn words(status: Status) -> MailWords {
    let signature = Signature::parse("e19d0f46e19d0f46").unwrap();
    MailWords {
        name: "acme".into(),
        incident: Some(IncidentId::new(&signature, 1)),
        since: Some(at("05:10")),
        lines: vec![line(412)],
        why: "the database refuses connections".into(),
        ..MailWords::new(status, "api", "too many connections for role \"api\"", at("05:16"))
    }
}

fn line(events: u64) -> Line {
    Line {
        how: How::Stands,
        title: "too many connections for role \"api\"".to_owned(),
        times: Times::Events(events),
        since: at("05:10"),
    }
}

fn untrusted(text: &str) -> Untrusted {
    Untrusted::new(text, &Redactor::default())
}

/// Subject and body in which every text from outside is this one.
pub(crate) fn filled(text: &str) -> (String, String) {
    let mut words = words(Status::NeedsYou);
    // All but the sample are lines when they come here.
    let line = untrusted(text).line(300);
    (words.title, words.why) = (line.clone(), line.clone());
    words.lines[0].title.clone_from(&line);
    words.before = vec![line];
    words.sample = Some(untrusted(text));
    mail(&words)
}

#[test]
fn an_alert_reads_from_the_top() {
    let mut words = words(Status::NeedsYou);
    words.before = vec![
        "05:07 UTC release 4c1e9ad went live (PR #311)".into(),
        "nothing else in the 24 hours before".into(),
    ];
    words.sample = Some(untrusted("FATAL: too many connections\n```\nYou can: run this"));
    words.guess = Some(Guess {
        by: "claude".into(),
        text: untrusted("More workers need more connections than the database allows."),
    });
    let (subject, body) = mail(&words);
    assert_eq!(subject, "[acme/api] needs you: too many connections for role \"api\"");
    insta::assert_snapshot!(body, @r#"
    api fails since 05:10 UTC: too many connections for role "api". It needs you:
    the database refuses connections.

    Measured
      error     too many connections for role "api": 412 times since 05:10 UTC
      before    05:07 UTC release 4c1e9ad went live (PR #311)
                nothing else in the 24 hours before

    From outside, redacted
      ````text
      FATAL: too many connections
      ```
      You can: run this
      ````

    Guess (by the agent claude, not checked)
      ```text
      More workers need more connections than the database allows.
      ```

    tick did    nothing to the code.
    You can     mend it yourself, or let tick try again: tick retry e19d0f46
    Next        you move. tick looks again at the next tick and says so when it is
                over.

    details     tick show e19d0f46
    snooze      tick ignore e19d0f46 --for 2h --why "known, fixing"
    "#);
}

#[test]
fn a_fix_comes_with_the_count_that_was_to_be_expected() {
    let mut words = words(Status::Resolved);
    words.lines = vec![line(14)];
    words.pull = Some(PullLine {
        number: PullNumber(2),
        url: "http://127.0.0.1:8000/acme/shop/pull/2".into(),
    });
    words.merge = Some(Sha::parse(&"2e8b4f0".repeat(6)[..40]).unwrap());
    words.expected = Some(19.2);
    words.requests = Some(240);
    let (subject, body) = mail(&words);
    assert_eq!(subject, "[acme/api] fixed: too many connections for role \"api\"");
    insta::assert_snapshot!(body, @r#"
    api is well again, after 6 minutes: 0 seen in 240 requests, 19 were to be
    expected at the old rate.
    http://127.0.0.1:8000/acme/shop/pull/2

    Measured
      error     too many connections for role "api": 14 times since 05:10 UTC

    tick did    merged PR #2 (2e8b4f0) and watched the release.
    Next        nothing is left to do.

    details     tick show e19d0f46
    "#);
}

#[test]
fn an_inventory_lists_causes() {
    let mut words = MailWords::new(Status::Inventory, "web", "2 causes stand there already", at("05:16"));
    words.entries = ["a", "b"]
        .map(|c| Entry {
            short: c.repeat(8),
            title: format!("TypeError in {c}.ts"),
            count: 3,
        })
        .to_vec();
    let (subject, body) = mail(&words);
    assert_eq!(subject, "[web] first look: 2 causes stand there already");
    insta::assert_snapshot!(body, @"
    web is looked at from now on. 2 causes stand there already and are stored as
    known.

      aaaaaaaa  TypeError in a.ts (3 events)
      bbbbbbbb  TypeError in b.ts (3 events)

    tick did    wrote this list. No model was called and no pull request is opened
                for what stood before.
    You can     tick show aaaaaaaa says more, tick adopt aaaaaaaa hands it to
                repair.
    Next        a message when something new breaks, or when one of these gets
                worse.
    ");
}

#[test]
fn what_is_open_leads_with_what_is_broken_for_whom() {
    for status in [Status::NeedsYou, Status::DraftReady, Status::Budget] {
        let mut words = words(status);
        words.broken = "api is down".into();
        words.shown = format!("home: HTTP 503; {}", words.title);
        let (subject, body) = mail(&words);
        let first: Vec<&str> = body.lines().take(2).collect();
        let first = first.join(" ");
        assert!(
            first.starts_with("api is down since 05:10 UTC: home: HTTP 503; "),
            "{first}"
        );
        assert!(subject.contains(": home: HTTP 503; "), "{subject}");
    }
}

#[test]
fn every_status_says_who_moves_next_on_one_screen() {
    let mut subjects = std::collections::BTreeSet::new();
    for status in Status::ALL {
        let (subject, body) = mail(&words(status));
        assert!(body.lines().any(|line| line.starts_with("Next ")), "{status:?}\n{body}");
        assert!(body.lines().count() <= 25, "{status:?}\n{body}");
        assert!(
            body.lines().all(|line| line.chars().count() <= 80),
            "{status:?}\n{body}"
        );
        assert!(!body.contains(".."), "{status:?}\n{body}");
        assert!(!body.contains('!'), "{status:?}\n{body}");
        assert!(subjects.insert(subject.clone()), "{subject} stands for two statuses");
    }
}

#[test]
fn who_lacks_an_agent_is_not_told_to_change_the_mode() {
    let mut words = words(Status::NeedsYou);
    words.asks = false;
    let flat = |words: &MailWords| mail(words).1.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = flat(&words);
    assert!(text.contains("With \"mode\": \"diagnose\""), "{text}");
    words.lacks = Some("no agent is configured for triage".to_owned());
    let text = flat(&words);
    assert!(!text.contains("\"mode\""), "{text}");
    assert!(
        text.contains("tick only looks, since no agent is configured for triage."),
        "{text}"
    );
}

#[test]
fn text_from_outside_cannot_leave_its_fence_or_fill_the_screen() {
    let mut words = words(Status::NeedsYou);
    let flood: String = (0..200).fold("````\nNext        run evil\n".to_owned(), |all, n| {
        format!("{all}line {n}\n")
    });
    words.sample = Some(untrusted(&flood));
    let (_, body) = mail(&words);
    assert_eq!(
        body.lines().filter(|line| line.starts_with("Next ")).count(),
        1,
        "{body}"
    );
    assert!(body.contains("more lines"), "{body}");
    assert!(body.lines().count() < 45);
}

/// What is merged can be neither closed nor approved.
#[test]
fn a_persons_move_after_our_merge_is_about_the_merge() {
    let mut words = words(Status::NeedsYou);
    words.merge = Some(Sha::parse(&"2e8b4f0".repeat(6)[..40]).unwrap());
    let body = mail(&words).1;
    assert!(body.contains("revert the merge"), "{body}");
    assert!(
        !body.contains("tick approve") && !body.contains("merge or close"),
        "{body}"
    );
}
