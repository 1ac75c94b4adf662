//! A red run of CI that nothing speaks against but what CI runs on: its failed jobs run again on the same commit, once, and
//! no model is asked before they have.

use tick::demo::{
    Act, Fault, Which,
    forge::{CiRun, JobRun},
};

use super::prepared::{Prepared, Run, Wants};
use crate::support::read;

/// As the ledger writes an outcome.
const GONE: &str = "\"gone\"";
const RESET: &str = "npm error code ECONNRESET\nnpm error network read ECONNRESET\n";

fn red(job: &JobRun) -> Prepared {
    let prepared = Prepared::calm(&Wants::default());
    let run = CiRun {
        workflow: "Nightly".to_owned(),
        sha: prepared.world().main_head().unwrap(),
        attempts: vec![vec![job.clone()]],
    };
    prepared.world().ci_ran(&run).unwrap();
    prepared
}

fn install() -> JobRun {
    JobRun::new("install", "npm ci", false, RESET)
}

fn reruns(run: &Run) -> usize {
    let asked = run.requests.iter();
    asked.filter(|request| request.ends_with("/rerun-failed-jobs")).count()
}

fn models(run: &Run) -> u64 {
    run.report["models_called"].as_u64().unwrap_or_default()
}

fn ended(prepared: &Prepared) -> Vec<String> {
    prepared.ask("SELECT verdict || ' ' || detail FROM evidence WHERE kind = ?1", "rerun")
}

fn outcomes(prepared: &Prepared) -> Vec<String> {
    prepared.ask("SELECT coalesce(outcome, 'open') FROM incident WHERE repo = ?1", "shop")
}

/// Ticks until the jobs have ended; gives the last one.
fn until_ended(prepared: &Prepared) -> Run {
    let first = prepared.tick();
    assert_eq!(
        (first.code, models(&first), reruns(&first)),
        (Some(0), 0, 1),
        "{}",
        first.text
    );
    first.waits_for("CI moves next: the failed jobs of run");
    for _ in 0..6 {
        prepared.stage.step(15);
        let run = prepared.tick();
        assert_eq!(reruns(&run), 0, "{}", run.text);
        if !ended(prepared).is_empty() {
            return run;
        }
        assert_eq!(models(&run), 0, "{}", run.text);
    }
    panic!("{}", prepared.tick().text);
}

#[test]
fn green_on_a_rerun_is_a_flake_that_costs_no_model_and_no_mail() {
    let prepared = red(&install());
    let run = until_ended(&prepared);
    assert_eq!((run.code, models(&run)), (Some(0), 0), "{}", run.text);
    assert!(ended(&prepared)[0].starts_with("green"), "{:?}", ended(&prepared));
    assert_eq!(outcomes(&prepared), [GONE], "{}", run.text);
    for _ in 0..2 {
        prepared.stage.step(15);
        let run = prepared.tick();
        assert_eq!((run.code, models(&run), reruns(&run)), (Some(0), 0, 0), "{}", run.text);
    }
    assert_eq!(outcomes(&prepared), [GONE]);
    assert!(prepared.subjects().is_empty(), "nobody had heard of it");
    prepared.finish();
}

#[test]
fn red_again_is_a_cause_like_any_other() {
    let prepared = red(&install());
    prepared.world().forge().settings.reruns_green = false;
    until_ended(&prepared);
    assert!(ended(&prepared)[0].starts_with("red"), "{:?}", ended(&prepared));
    let mut asked = 0;
    for _ in 0..3 {
        prepared.stage.step(15);
        let run = prepared.tick();
        asked += models(&run);
        assert_eq!(reruns(&run), 0, "{}", run.text);
    }
    assert!(asked > 0, "triage sees it");
    prepared.finish();
}

#[test]
fn what_the_host_does_not_run_again_goes_on_at_once() {
    let prepared = red(&install());
    prepared.world().fault(
        Which::first("POST", "*/rerun-failed-jobs"),
        Fault::Status {
            code: 403,
            performed: false,
        },
    );
    let run = prepared.tick();
    assert_eq!(reruns(&run), 1, "{}", run.text);
    assert!(ended(&prepared)[0].starts_with("nothing"), "{:?}", ended(&prepared));
    prepared.stage.step(15);
    let run = prepared.tick();
    assert!(models(&run) > 0 && reruns(&run) == 0, "{}", run.text);
    prepared.finish();
}

#[test]
fn an_older_commit_is_never_run_again() {
    let prepared = red(&install());
    let run = prepared.run(&["--observe", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared.world().act(Act::MoveBase);
    let run = prepared.repair();
    assert_eq!((reruns(&run), models(&run)), (0, 0), "{}", run.text);
    assert!(
        ended(&prepared)[0].contains("another commit now"),
        "{:?}",
        ended(&prepared)
    );
    prepared.finish();
}

#[test]
fn a_failed_test_is_evidence_of_the_code() {
    let log = read("src/text/ci/logs/unittest.log");
    let prepared = red(&JobRun::new("unit", "python3 -m unittest", false, &log));
    let run = prepared.tick();
    assert!(models(&run) > 0 && reruns(&run) == 0, "{}", run.text);
    prepared.finish();
}
