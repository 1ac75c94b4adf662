//! Workflow runs, jobs, logs and pull requests as the forge lists them.

use super::*;
use crate::{
    adapters::http::testing::{Server, json as answer, path, reply},
    collect::{Collected, HttpCache, Sources, testing},
    config::Config,
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

const LOG: &str = "2026-11-29T02:10:00.0000000Z ##[group]Run python3 -m unittest
2026-11-29T02:10:01.0000000Z FAIL: test_total (tests.test_cart.Cart)
2026-11-29T02:10:01.0000000Z AssertionError: 3 != 4 with fake-token-not-real
2026-11-29T02:10:01.0000000Z ##[error]Process completed with exit code 1.
";

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
        "/api/v3/repos/acme/shop/pulls" => answer("[]"),
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
        assert_eq!(signal.title, "CI is red: CI 1 / test / Run unittest");
        assert_eq!(signal.release_sha.as_ref().unwrap().as_str(), SHA);
        assert!(signal.message.starts_with("FAIL: test_total"), "{}", signal.message);
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
        deciding(parsed(list))
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
        "/api/v3/repos/acme/shop/actions/jobs/77/logs" => reply(410, &[], "{}"),
        "/api/v3/repos/acme/shop/pulls" => answer("[]"),
        other => panic!("{other}"),
    });
    let collected = testing::run(&config(&server));
    assert!(!outcome(&collected, "actions").is_blind());
    assert_eq!(collected.signals.len(), 1);
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
