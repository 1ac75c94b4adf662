//! When the outside does not let us in: said at once where waiting cannot mend it, tried again with a bound where it can.

use tick::demo::{Fault, Which};

use crate::merges::prepared::{Prepared, Wants};

fn pushes() -> Which {
    Which::first("POST", "*/git-receive-pack").always()
}

fn sent(prepared: &Prepared) -> usize {
    let requests = prepared.world().town().requests();
    requests
        .iter()
        .filter(|r| r.starts_with("POST ") && r.ends_with("/git-receive-pack"))
        .count()
}

fn outcome(prepared: &Prepared) -> String {
    let sql = "SELECT coalesce(outcome, 'open') FROM incident WHERE repo = ?1";
    prepared.ask(sql, "shop").remove(0)
}

/// One message that says how to mend it.
fn told(prepared: &Prepared, words: &[&str]) {
    let mails = prepared.world().mail().take().unwrap();
    assert_eq!(mails.len(), 1, "{mails:?}");
    let text = mails[0].body.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(mails[0].subject.contains("needs you"), "{:?}", mails[0]);
    for word in words {
        assert!(text.contains(word), "the mail does not say {word:?}\n{text}");
    }
}

/// The same, the incident is a person's, and nothing is tried again until they say so; it stays open, since its end is to be told too.
fn told_and_left_to_a_person(prepared: &Prepared, words: &[&str]) {
    told(prepared, words);
    assert_eq!(outcome(prepared), "open");
    let before = sent(prepared);
    prepared.stage.step(15);
    let run = prepared.tick();
    assert_eq!((run.code, sent(prepared)), (Some(0), before), "{}", run.text);
    assert!(prepared.subjects().is_empty());
}

#[test]
fn a_push_without_rights_is_told_at_once_with_how_to_mend_it() {
    for code in [401, 403] {
        let prepared = Prepared::start(&Wants::default());
        let fault = Fault::Status { code, performed: false };
        prepared.world().fault(pushes(), fault);
        let run = prepared.tick();
        assert_eq!((run.code, sent(&prepared)), (Some(1), 1), "{}", run.text);
        told_and_left_to_a_person(&prepared, &["GITHUB_TOKEN", "contents: read and write", "tick retry"]);

        // The person gave the right and said so.
        prepared.world().town().calm();
        let id = prepared
            .ask("SELECT id FROM incident WHERE repo = ?1", "shop")
            .remove(0);
        let said = prepared.run(&["retry", &id]);
        assert_eq!(said.code, Some(0), "{}", said.text);
        let run = prepared.tick();
        prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
        prepared.finish();
    }
}

/// Two homes that push the same commit at once: the slower one is refused although the branch is where it wanted it.
#[test]
fn a_refused_push_whose_commit_is_there_is_done() {
    let prepared = Prepared::start(&Wants::default());
    let mut once = pushes();
    once.times = 1;
    let fault = Fault::Status {
        code: 403,
        performed: true,
    };
    prepared.world().fault(once, fault);
    let run = prepared.tick();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    assert!(prepared.subjects().is_empty());
    prepared.finish();
}

#[test]
fn a_protected_branch_is_told_at_once_with_how_to_mend_it() {
    let prepared = Prepared::start(&Wants::default());
    // What git says of a ref that may not be written: the same line that a protected branch answers with.
    let hidden = ["config", "receive.hideRefs", "refs/heads/fix"];
    prepared.world().repo().git(&hidden, b"").unwrap();
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    told_and_left_to_a_person(&prepared, &["fix/auto-*", "rule", "tick retry"]);
    prepared.finish();
}

#[test]
fn a_push_that_does_not_arrive_is_tried_again_and_goes_on() {
    let prepared = Prepared::start(&Wants::default());
    let mut twice = pushes();
    twice.times = 2;
    let fault = Fault::Status {
        code: 503,
        performed: false,
    };
    prepared.world().fault(twice, fault);
    for tries in 1..=2 {
        let run = prepared.tick();
        assert_eq!((run.code, sent(&prepared)), (Some(0), tries), "{}", run.text);
        run.waits_for(&format!("tried {tries} of 5"));
        prepared.stage.step(15);
    }
    let run = prepared.tick();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    assert!(prepared.subjects().is_empty());
    let id = prepared
        .ask("SELECT id FROM incident WHERE repo = ?1", "shop")
        .remove(0);
    let shown = prepared.run(&["show", &id]);
    assert!(shown.text.contains("hindered: let through"), "{}", shown.text);
    assert!(
        !shown.text.contains("the outside does not let tick in"),
        "{}",
        shown.text
    );
    prepared.finish();
}

#[test]
fn a_push_that_never_arrives_is_told_and_goes_on_when_the_host_is_back() {
    let prepared = Prepared::start(&Wants::default());
    let fault = Fault::Status {
        code: 503,
        performed: false,
    };
    prepared.world().fault(pushes(), fault);
    let mut codes = Vec::new();
    while codes.last() != Some(&1) && codes.len() < 12 {
        let run = prepared.tick();
        codes.push(run.code.unwrap());
        prepared.stage.step(15);
    }
    assert_eq!((codes.last(), sent(&prepared)), (Some(&1), 5), "{codes:?}");
    assert!(codes.iter().rev().skip(1).all(|code| *code == 0), "{codes:?}");
    told(&prepared, &["503", "5 times", "tick retry"]);

    // Hourly from now on, and silently.
    let run = prepared.tick();
    assert_eq!((run.code, sent(&prepared)), (Some(0), 5), "{}", run.text);
    prepared.world().town().calm();
    prepared.stage.step(45);
    let run = prepared.tick();
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    assert!(prepared.subjects().is_empty());
    prepared.finish();
}

/// The pull request may not be opened, though the branch could be pushed: no bug of ours, and not tried for ever.
#[test]
fn a_pull_request_that_may_not_be_opened_is_told_at_once() {
    let prepared = Prepared::start(&Wants::default());
    let open = Which::first("POST", "/repos/*/pulls").always();
    prepared.world().fault(
        open,
        Fault::Status {
            code: 403,
            performed: false,
        },
    );
    let run = prepared.tick();
    assert_eq!(run.code, Some(1), "{}", run.text);
    told_and_left_to_a_person(&prepared, &["GITHUB_TOKEN", "pull requests", "tick retry"]);
    prepared.finish();
}
