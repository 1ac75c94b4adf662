//! Workflow runs, jobs, logs and pull requests as the forge lists them.

use serde_json::json;

use super::*;
use crate::{
    adapters::http::testing::{Server, json as answer, path, reply},
    collect::{Collected, HttpCache, Sources, testing},
    config::Config,
    model::signal::Signal,
};

const SHA: &str = "3484a3fb816e0859fd6e1cea078d76385ff50625";

fn run_json(id: u64, workflow: u64, minute: u32, status: &str, conclusion: &str, event: &str) -> String {
    let conclusion = if conclusion.is_empty() {
        "null".to_owned()
    } else {
        format!("\"{conclusion}\"")
    };
    format!(
        r#"{{"id":{id},"name":"CI {workflow}","path":".github/workflows/ci.yml","workflow_id":{workflow},"event":"{event}","status":"{status}",
        "conclusion":{conclusion},"head_branch":"main","head_sha":"{SHA}","html_url":"https://forge.example/runs/{id}","run_attempt":1,
        "created_at":"2026-11-29T02:{minute:02}:00Z","run_started_at":"2026-11-29T02:{minute:02}:00Z","updated_at":"2026-11-29T02:{minute:02}:30Z"}}"#
    )
}

fn runs(list: &[String]) -> String {
    format!(
        r#"{{"total_count":{},"workflow_runs":[{}]}}"#,
        list.len(),
        list.join(",")
    )
}

fn config(server: &Server) -> Config {
    let mut config = testing::config(testing::target());
    config.github.api = server.url("/api/v3/");
    config.repos.values_mut().next().unwrap().github = Some(crate::model::RepoName::parse("acme/shop").unwrap());
    config
        .secrets
        .values
        .insert("GITHUB_TOKEN".to_owned(), "fake-token-not-real".into());
    config
}

fn outcome<'a>(collected: &'a Collected, name: &str) -> &'a crate::model::signal::CollectorOutcome {
    collected.collectors.iter().find(|c| c.name == name).unwrap()
}

const JOBS: &str = r#"{"total_count":2,"jobs":[
  {"id":77,"name":"test","conclusion":"failure","html_url":"https://forge.example/jobs/77",
   "steps":[{"name":"Set up job","conclusion":"success"},{"name":"Run unittest","conclusion":"failure"},{"name":"Post","conclusion":"skipped"}]},
  {"id":78,"name":"lint","conclusion":"success","steps":[]}]}"#;

const LOG: &str = r#"2026-11-29T02:10:00.0000000Z ##[group]Run python3 -m unittest
2026-11-29T02:10:01.0000000Z ======================================================================
2026-11-29T02:10:01.0000000Z FAIL: test_total (tests.test_cart.Cart)
2026-11-29T02:10:01.0000000Z ----------------------------------------------------------------------
2026-11-29T02:10:01.0000000Z Traceback (most recent call last):
2026-11-29T02:10:01.0000000Z   File "/home/runner/work/shop/shop/tests/test_cart.py", line 9, in test_total
2026-11-29T02:10:01.0000000Z     self.assertEqual(3, 4)
2026-11-29T02:10:01.0000000Z AssertionError: 3 != 4 with fake-token-not-real
2026-11-29T02:10:01.0000000Z ##[error]Process completed with exit code 1.
"#;

#[test]
fn a_red_branch_is_told_with_the_end_of_the_failing_step() {
    let storage = Server::start(|_| reply(200, &[], LOG));
    let log_at = storage.url("/signed").to_string();
    let list = runs(&[
        run_json(3, 1, 30, "in_progress", "", "push"),
        run_json(2, 1, 20, "completed", "failure", "push"),
        run_json(1, 1, 10, "completed", "success", "push"),
    ]);
    let server = Server::start(move |request| match path(request).split('?').next().unwrap() {
        "/api/v3/repos/acme/shop/actions/runs"
            if request.to_ascii_lowercase().contains("if-none-match: w/\"runs\"") =>
        {
            reply(304, &[], "")
        }
        "/api/v3/repos/acme/shop/actions/runs" => reply(200, &[("etag", "W/\"runs\"")], &list),
        "/api/v3/repos/acme/shop/actions/runs/2/jobs" => answer(JOBS),
        "/api/v3/repos/acme/shop/actions/jobs/77/logs" => reply(302, &[("location", &log_at)], ""),
        "/api/v3/repos/acme/shop/pulls" | "/api/v3/repos/acme/shop/commits" => answer("[]"),
        other => panic!("{other}"),
    });
    let config = config(&server);
    let cache = HttpCache::default();
    for round in 0..2 {
        let collected = testing::run_with(&config, &Sources::new(), &cache);
        assert!(!outcome(&collected, "actions").is_blind(), "{collected:?}");
        let [signal] = collected.signals.as_slice() else {
            panic!("{collected:?}")
        };
        assert_eq!(signal.title, "CI is red: CI 1 / test: tests.test_cart.Cart.test_total");
        assert_eq!(signal.release_sha.as_ref().unwrap().as_str(), SHA);
        assert!(
            signal
                .message
                .starts_with("tests.test_cart.Cart.test_total\nAssertionError: 3 != 4 with "),
            "{}",
            signal.message
        );
        assert!(!format!("{collected:?}").contains("fake-token-not-real"));
        assert_eq!(storage.seen().len(), 1, "round {round}: the log is read once");
    }
    assert!(
        !storage.seen()[0].contains("fake-token-not-real"),
        "the storage host gets no token"
    );
    assert!(server.seen()[0].contains("Bearer fake-token-not-real"));
    let kept = format!(
        "{:?}",
        cache
            .changed()
            .values()
            .map(|e| String::from_utf8_lossy(&e.body).into_owned())
            .collect::<Vec<_>>()
    );
    assert!(!kept.contains("fake-token-not-real"), "nothing unredacted is stored");
}

#[test]
fn the_newest_finished_run_of_a_workflow_decides() {
    let parsed = |list: &[String]| parse::<RunList>(runs(list).as_bytes(), "x").unwrap().workflow_runs;
    let red = |list: &[String]| {
        deciding(&parsed(list))
            .iter()
            .filter(|run| run.is_failing())
            .map(|run| run.id)
            .collect::<Vec<_>>()
    };
    let done = |id, workflow, minute, conclusion| run_json(id, workflow, minute, "completed", conclusion, "push");
    assert_eq!(
        red(&[done(1, 1, 10, "failure"), done(2, 1, 20, "success")]),
        Vec::<u64>::new()
    );
    assert_eq!(red(&[done(2, 1, 20, "failure"), done(1, 1, 10, "success")]), [2]);
    assert_eq!(
        red(&[
            done(1, 1, 10, "failure"),
            done(2, 1, 20, "cancelled"),
            done(3, 1, 30, "skipped")
        ]),
        [1]
    );
    assert_eq!(red(&[done(1, 1, 10, "failure"), done(2, 2, 20, "success")]), [1]);
    assert_eq!(
        red(&[done(1, 1, 10, "timed_out"), done(2, 2, 20, "startup_failure")]),
        [1, 2]
    );
    assert_eq!(
        red(&[run_json(1, 1, 10, "completed", "failure", "pull_request")]),
        Vec::<u64>::new()
    );
}

#[test]
fn refusals_of_the_forge_have_their_causes() {
    type Case = (u16, &'static [(&'static str, &'static str)], &'static str, &'static str);
    let cases: [Case; 8] = [
        (401, &[], "{}", "http-401"),
        (403, &[], "{}", "http-403"),
        (403, &[("x-ratelimit-remaining", "0")], "{}", "rate-limited"),
        (429, &[], "{}", "rate-limited"),
        (404, &[], "{}", "http-404"),
        (500, &[], "{}", "http-500"),
        (200, &[], "<html>", "html"),
        (200, &[], r#"{"workflow_runs": 5}"#, "shape"),
    ];
    for (status, headers, body, cause) in cases {
        let server = Server::start(move |_| reply(status, headers, body));
        let collected = testing::run(&config(&server));
        for name in ["actions", "pulls"] {
            let outcome = outcome(&collected, name);
            assert_eq!(
                (outcome.outcome, outcome.cause.as_str()),
                (OutcomeKind::Failed, cause),
                "{status} {body}"
            );
        }
        assert!(collected.signals.is_empty());
    }
}

#[test]
fn a_log_that_is_gone_leaves_the_place_as_identity() {
    let list = runs(&[run_json(2, 1, 20, "completed", "failure", "push")]);
    let server = Server::start(move |request| match path(request).split('?').next().unwrap() {
        "/api/v3/repos/acme/shop/actions/runs" => answer(&list),
        "/api/v3/repos/acme/shop/actions/runs/2/jobs" => answer(JOBS),
        "/api/v3/repos/acme/shop/actions/jobs/77/logs" | "/api/v3/repos/acme/shop/actions/runs/2/attempts/1/logs" => {
            reply(410, &[], "{}")
        }
        "/api/v3/repos/acme/shop/pulls" | "/api/v3/repos/acme/shop/commits" => answer("[]"),
        other => panic!("{other}"),
    });
    let collected = testing::run(&config(&server));
    assert!(!outcome(&collected, "actions").is_blind());
    assert_eq!(collected.signals.len(), 1);
}

#[test]
fn of_past_runs_a_log_that_is_gone_is_said() {
    let list = runs(&[
        run_json(4, 2, 40, "completed", "startup_failure", "push"),
        run_json(3, 2, 30, "completed", "timed_out", "push"),
        run_json(2, 1, 20, "completed", "failure", "push"),
        run_json(1, 1, 10, "completed", "failure", "push"),
    ]);
    let server = Server::start(move |request| match path(request).split('?').next().unwrap() {
        "/api/v3/repos/acme/shop/actions/runs" => answer(&list),
        "/api/v3/repos/acme/shop/actions/runs/1/jobs" | "/api/v3/repos/acme/shop/actions/runs/2/jobs" => answer(JOBS),
        jobs if jobs.ends_with("/jobs") => answer(r#"{"total_count":0,"jobs":[]}"#),
        logs if logs.ends_with("/logs") => reply(410, &[], "{}"),
        "/api/v3/repos/acme/shop/commits" => answer("[]"),
        other => panic!("{other}"),
    });
    let config = config(&server);
    let past = testing::look(&config, async |ctx| {
        let repo = config.repos.values().next().unwrap();
        history::read(ctx, repo, "2026-11-29T00:00:00Z".parse().unwrap()).await
    });
    let past = past.unwrap();
    assert_eq!(
        past.blind,
        ["why 2 runs were red: the logs are gone, which the forge keeps for a time; causes are told by job and step"]
    );
    let signals: Vec<_> = past.runs.iter().flat_map(|run| &run.signals).collect();
    let unread: Vec<_> = signals.iter().map(|s| s.evidence[Signal::UNREAD].as_str()).collect();
    assert_eq!(unread, [Some("gone"), Some("gone"), None, None]);
    assert_eq!(signals[2].title, "CI is red: CI 2 (timed out)");
    assert_eq!(signals[3].title, "CI is red: CI 2 (did not start)");
    assert_ne!(signals[2].signature, signals[3].signature);
}

#[test]
fn open_pulls_are_listed_over_pages_without_ours() {
    let pull = |number: u64, login: &str, kind: &str, head: &str| {
        format!(
            r#"{{"number":{number},"title":"Title {number}","draft":false,"user":{{"login":"{login}","type":"{kind}"}},
            "head":{{"ref":"{head}","repo":{{"full_name":"acme/shop"}}}},"updated_at":"2026-11-29T02:00:00Z"}}"#
        )
    };
    let first = format!(
        "[{},{}]",
        pull(1, "alice", "User", "feature"),
        pull(2, "me", "User", "fix/auto-7f3a91c0")
    );
    let second = format!("[{}]", pull(3, "dependabot[bot]", "Bot", "bump"));
    let server = Server::start(move |request| {
        let host = request
            .lines()
            .find_map(|l| l.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned))
            .unwrap();
        match path(request) {
            at if at.ends_with("page=2") => answer(&second),
            at if at.starts_with("/api/v3/repos/acme/shop/pulls") => {
                let link = format!("<http://{host}/api/v3/repositories/1/pulls?page=2>; rel=\"next\"");
                reply(200, &[("link", &link)], &first)
            }
            _ => answer(r#"{"workflow_runs":[]}"#),
        }
    });
    let collected = testing::run(&config(&server));
    let listed: Vec<(u64, bool)> = collected.open_pulls.iter().map(|p| (p.number.0, p.bot)).collect();
    assert_eq!(listed, [(1, false), (3, true)]);
}

/// A forge with one workflow: `list` is its runs, `jobs` the jobs of each path that is asked for, `log` every log.
fn forge(list: String, jobs: Vec<(&'static str, String)>, log: &'static str, commits: &'static str) -> Server {
    Server::start(move |request| {
        let at = path(request).split('?').next().unwrap();
        match at.strip_prefix("/api/v3/repos/acme/shop/").unwrap() {
            "actions/runs" => answer(&list),
            "pulls" => answer("[]"),
            "commits" => answer(commits),
            at if at.ends_with("/logs") => reply(200, &[], log),
            at => answer(
                &jobs
                    .iter()
                    .find(|(path, _)| *path == at)
                    .unwrap_or_else(|| panic!("{at}"))
                    .1,
            ),
        }
    })
}

fn jobs(names: &[&str]) -> String {
    let jobs: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!(
                r#"{{"id":{},"name":"{name}","conclusion":"failure","steps":[{{"name":"Run npm test","conclusion":"failure"}}]}}"#,
                at + 70
            )
        })
        .collect();
    format!(r#"{{"total_count":{},"jobs":[{}]}}"#, jobs.len(), jobs.join(","))
}

fn ci_signals(collected: &Collected) -> Vec<&Signal> {
    assert!(!outcome(collected, "actions").is_blind(), "{collected:?}");
    collected.signals.iter().filter(|s| s.source == "actions").collect()
}

#[test]
fn one_test_in_the_jobs_of_a_matrix_is_one_cause() {
    let list = runs(&[run_json(2, 1, 20, "completed", "failure", "push")]);
    let server = forge(
        list,
        vec![("actions/runs/2/jobs", jobs(&["test (20)", "test (22)"]))],
        "2026-11-29T02:10:00.0000000Z ##[group]Run npm test\n2026-11-29T02:10:00.0000000Z FAIL e2e/a.test.js\n\
         2026-11-29T02:10:00.0000000Z   ● cart › looks right\n2026-11-29T02:10:00.0000000Z     Expected image to match or be a close match to snapshot but was 1.2% different\n\
         2026-11-29T02:10:00.0000000Z       at Object.total (e2e/a.test.js:3:7)\n2026-11-29T02:10:00.0000000Z ##[error]Process completed with exit code 1.\n",
        "[]",
    );
    let collected = testing::run(&config(&server));
    let [signal] = ci_signals(&collected)[..] else {
        panic!("{collected:?}")
    };
    assert_eq!(
        signal.title,
        "CI is red: CI 1 / test (2 jobs): e2e/a.test.js › cart › looks right"
    );
    assert_eq!(signal.evidence["jobs"], json!(["test (20)", "test (22)"]));
    assert_eq!(signal.evidence["failure_type"], "visual");
    assert_eq!(signal.culprit.as_ref().unwrap().file, "e2e/a.test.js");
    assert_eq!(
        crate::text::signature(signal.signed_text()).signature,
        signal.signature,
        "what is stored leads to the same signature"
    );
}

#[test]
fn more_causes_than_are_told_are_counted() {
    let many: &'static str = (0..30)
        .fold("##[group]Run npx tsc\n".to_owned(), |log, n| {
            log + &format!(
                "src/{}.ts(1,1): error TS2307: no\n",
                char::from(b'a' + n % 26).to_string().repeat(usize::from(n) + 1)
            )
        })
        .leak();
    let list = runs(&[run_json(2, 1, 20, "completed", "failure", "push")]);
    let server = forge(list, vec![("actions/runs/2/jobs", jobs(&["build"]))], many, "[]");
    let collected = testing::run(&config(&server));
    let signals = ci_signals(&collected);
    assert_eq!(signals.len(), MOST_CAUSES);
    assert!(signals.iter().all(|signal| signal.evidence["left_out"] == 10));
}

#[test]
fn red_before_green_on_one_commit_is_a_flake_and_no_error() {
    use crate::model::signal::Severity;
    let again = |attempt: u64, conclusion: &str| {
        run_json(2, 1, 20, "completed", conclusion, "push")
            .replace("\"run_attempt\":1", &format!("\"run_attempt\":{attempt}"))
    };
    let seen = |list: &[String]| {
        let failed = vec![
            ("actions/runs/2/attempts/1/jobs", jobs(&["test"])),
            ("actions/runs/1/jobs", jobs(&["test"])),
            ("actions/runs/2/jobs", jobs(&["test"])),
        ];
        let server = forge(runs(list), failed, LOG, "[]");
        let collected = testing::run(&config(&server));
        let signals = ci_signals(&collected);
        assert_eq!(signals.len(), 1, "{collected:?}");
        (signals[0].clone(), signals[0].evidence["flake"].clone())
    };
    let (rerun, flake) = seen(&[again(2, "success")]);
    assert_eq!(rerun.severity, Severity::Warning);
    assert_eq!(rerun.title, "CI is flaky: CI 1 / test: tests.test_cart.Cart.test_total");
    assert_eq!(
        flake,
        json!({"sha": SHA, "red_run": 2, "red_attempt": 1, "green_run": 2, "green_attempt": 2})
    );
    // Another run of the workflow on the same commit says as much.
    let older = run_json(1, 1, 10, "completed", "failure", "push");
    let (other, flake) = seen(&[again(1, "success"), older]);
    assert_eq!((other.severity, &flake["red_run"]), (Severity::Warning, &json!(1)));
    assert_eq!(other.signature, rerun.signature);
    // Where the newest is red it is an error, of another name, and says that it was green.
    let older = run_json(1, 1, 10, "completed", "success", "push");
    let (red, flake) = seen(&[again(1, "failure"), older]);
    assert_eq!((red.severity, &flake["green_run"]), (Severity::Error, &json!(1)));
    assert!(red.title.starts_with(CI_IS_RED) && red.signature != rerun.signature);
}

#[test]
fn what_landed_within_a_day_is_a_change() {
    let commits = r#"[
      {"sha":"3484a3fb816e0859fd6e1cea078d76385ff50625","html_url":"https://forge.example/c/3","parents":[{"sha":"1484a3fb816e0859fd6e1cea078d76385ff50625"},{"sha":"2484a3fb816e0859fd6e1cea078d76385ff50625"}],
       "commit":{"message":"Show the average (fake-token-not-real)\n\nlong story","committer":{"date":"2026-11-29T02:00:00Z"}}},
      {"sha":"2484a3fb816e0859fd6e1cea078d76385ff50625","parents":[{"sha":"1484a3fb816e0859fd6e1cea078d76385ff50625"}],
       "commit":{"message":"part of it","committer":{"date":"2026-11-29T01:00:00Z"}}},
      {"sha":"1484a3fb816e0859fd6e1cea078d76385ff50625","parents":[],
       "commit":{"message":"two days ago","committer":{"date":"2026-11-27T01:00:00Z"}}}]"#;
    let server = forge(runs(&[]), Vec::new(), "", commits);
    let collected = testing::run(&config(&server));
    let [change] = &collected.changes[..] else {
        panic!("{collected:?}")
    };
    assert_eq!(change.kind, ChangeKind::Merge);
    assert_eq!(change.key, SHA);
    assert!(change.what.starts_with("Show the average (") && !change.what.contains("fake-token"));
    assert_eq!(change.url.as_deref(), Some("https://forge.example/c/3"));
}
