//! What an attempt is made on, when the default branch is ahead of the release that failed.

use tick::demo::Act;

use super::prepared::{Prepared, Run, Wants};

fn words(run: &Run, what: &str) -> Vec<String> {
    let events = run.report["events"].as_array().into_iter().flatten();
    let of = events.filter(|e| e["what"] == what);
    of.flat_map(|e| e["lines"].as_array().into_iter().flatten())
        .filter_map(|line| line.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn the_first_attempt_stands_on_the_release_that_failed() {
    let prepared = Prepared::start(&Wants::default());
    let released = prepared.world().main_head().unwrap();
    prepared.world().act(Act::MoveBase);
    let ahead = prepared.world().main_head().unwrap();
    assert_ne!(released, ahead);
    let run = prepared.tick();
    let attempt = words(&run, "attempt");
    assert!(attempt[0].contains(&released[..7]), "{attempt:?}");
    let rebase = words(&run, "rebase");
    assert!(
        rebase.len() == 1 && rebase[0].contains(&ahead[..7]),
        "{rebase:?}\n{}",
        run.text
    );
    let merged = prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.assert_evidence(&prepared.pull().head_sha, &run.text);
    let landed = "SELECT verdict FROM evidence WHERE kind = 'landed' AND head = ?1";
    assert_eq!(prepared.ask(landed, &merged), ["the landed tree is the tested tree"]);
    prepared.finish();
}

#[test]
fn what_the_default_branch_mended_gets_no_patch() {
    let prepared = Prepared::start(&Wants::default());
    prepared.world().act(Act::FixOnMain);
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    run.waits_for("no longer fails by it");
    assert_eq!(prepared.pulls_of_ours(), 0, "nobody sees a pull request for it");
    prepared.world().wait_deployed().unwrap();
    for _ in 0..4 {
        prepared.stage.step(15);
        let run = prepared.tick();
        assert_eq!(run.code, Some(0), "{}", run.text);
    }
    let subjects = prepared.subjects();
    assert!(subjects.len() == 1 && subjects[0].contains("over"), "{subjects:?}");
    let outcome = prepared.ask("SELECT outcome FROM incident WHERE repo = ?1", "shop");
    assert!(outcome[0].contains("gone"), "{outcome:?}");
    assert_eq!(prepared.pulls_of_ours(), 0);
    prepared.finish();
}
