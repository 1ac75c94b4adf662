//! The forge as a client sees it: over HTTP, and with a real git.

mod tour;

use std::path::PathBuf;

use base64::Engine as _;
use chrono::DateTime;
use serde_json::{Value, json};

use crate::demo::{
    Act, FORGE_TOKEN, Fault, Pace, Which, World, WorldOptions,
    client::{self, Answer},
};

/// A world with a forge and git, whose CI is green at once.
fn quiet() -> World {
    start(Pace::Assumed)
}

fn start(pace: Pace) -> World {
    let now = DateTime::parse_from_rfc3339("2026-11-29T03:00:00Z").unwrap().to_utc();
    World::start(WorldOptions {
        pace,
        app: false,
        ..WorldOptions::shop(now)
    })
    .unwrap()
}

fn call(world: &World, method: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {FORGE_TOKEN}");
    let headers = [("Authorization", bearer.as_str()), ("User-Agent", "test")];
    client::request(world.forge_url(), method, path, &headers, body.to_string().as_bytes()).unwrap()
}

fn api(world: &World, method: &str, rest: &str, body: &Value) -> Answer {
    call(world, method, &format!("/repos/acme/shop{rest}"), body)
}

fn get(world: &World, rest: &str) -> Answer {
    api(world, "GET", rest, &Value::Null)
}

/// Clones with a real git, commits one file and pushes the branch; gives back whether the push worked.
fn push(world: &World, branch: &str, file: &str, token: &str) -> bool {
    let dir = world.root().join("clone").join(branch.replace('/', "-"));
    if !dir.exists() {
        assert!(git(
            world,
            &PathBuf::from("/"),
            token,
            &["clone", "-q", &world.git_url(), dir.to_str().unwrap()]
        ));
        assert!(git(world, &dir, token, &["checkout", "-q", "-b", branch]));
    }
    std::fs::write(dir.join(file), "text\n").unwrap();
    assert!(git(world, &dir, token, &["add", "."]));
    let who = ["-c", "user.name=t", "-c", "user.email=t@t.example"];
    assert!(git(
        world,
        &dir,
        token,
        &[&who[..], &["commit", "-q", "-m", file]].concat()
    ));
    git(world, &dir, token, &["push", "-q", "origin", branch])
}

fn git(world: &World, dir: &std::path::Path, token: &str, args: &[&str]) -> bool {
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
    let children = &world.town().children;
    let mut command = children.command("git", dir);
    command
        .args(args)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "http.extraHeader")
        .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {basic}"));
    children.output(command, b"").unwrap().status.success()
}

/// A pull from `fix/auto-1`, with its number and head.
fn open(world: &World) -> (u64, String) {
    assert!(push(world, "fix/auto-1", "fix.txt", FORGE_TOKEN));
    let new = json!({ "title": "fix", "body": "why", "head": "fix/auto-1", "base": "main" });
    let opened = api(world, "POST", "/pulls", &new);
    assert_eq!(opened.status, 201, "{}", opened.json());
    let pull = opened.json();
    (
        pull["number"].as_u64().unwrap(),
        pull["head"]["sha"].as_str().unwrap().to_owned(),
    )
}

fn merge(world: &World, number: u64, sha: &str) -> Answer {
    let body = json!({ "merge_method": "squash", "sha": sha, "commit_title": "fix (#1)", "commit_message": "why" });
    api(world, "PUT", &format!("/pulls/{number}/merge"), &body)
}

fn states(world: &World, sha: &str) -> Vec<(String, String)> {
    let runs = get(world, &format!("/commits/{sha}/check-runs")).json();
    let text = |v: &Value| v.as_str().unwrap_or("none").to_owned();
    runs["check_runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (text(&r["name"]), text(&r["status"])))
        .collect()
}

#[test]
fn nothing_is_told_without_the_token() {
    let world = quiet();
    let none = client::request(
        world.forge_url(),
        "GET",
        "/repos/acme/shop",
        &[("User-Agent", "t")],
        b"",
    )
    .unwrap();
    assert_eq!(none.status, 401);
    assert_eq!(none.json()["message"], "Bad credentials");
    let clone = world.root().join("stolen");
    assert!(!git(
        &world,
        world.root(),
        "wrong",
        &["clone", "-q", &world.git_url(), clone.to_str().unwrap()]
    ));
    assert_eq!(get(&world, "").json()["default_branch"], "main");
    world.finish().unwrap();
}

#[test]
fn a_squash_is_one_commit_on_the_base_with_the_tree_of_the_branch() {
    let world = quiet();
    let base = world.main_head().unwrap();
    let (number, head) = open(&world);
    let merged = merge(&world, number, &head);
    assert_eq!(merged.status, 200, "{}", merged.json());
    let sha = merged.json()["sha"].as_str().unwrap().to_owned();
    assert_eq!(world.main_head().unwrap(), sha);
    let commit = get(&world, &format!("/commits/{sha}")).json();
    assert_eq!(commit["parents"][0]["sha"], *base);
    assert_eq!(commit["commit"]["message"], "fix (#1)\n\nwhy");
    let of_head = get(&world, &format!("/commits/{head}")).json();
    assert_eq!(commit["commit"]["tree"]["sha"], of_head["commit"]["tree"]["sha"]);
    let pull = get(&world, &format!("/pulls/{number}")).json();
    assert_eq!(
        (&pull["merged"], &pull["merge_commit_sha"]),
        (&json!(true), &json!(sha))
    );
    assert_eq!(merge(&world, number, &head).status, 405, "merged already");
    world.finish().unwrap();
}

#[test]
fn a_merge_is_refused_in_the_words_of_the_host() {
    let world = start(Pace::Held);
    let (number, head) = open(&world);
    let stale = merge(&world, number, "0123456789012345678901234567890123456789");
    assert_eq!(stale.status, 409);
    let pending = merge(&world, number, &head);
    assert_eq!(pending.status, 405);
    assert!(
        pending.json()["message"]
            .as_str()
            .unwrap()
            .contains("Required status check")
    );
    world.wait_for_ci(&head).unwrap();
    world.act(Act::Check {
        name: "test".into(),
        conclusion: "failure".into(),
    });
    assert_eq!(merge(&world, number, &head).status, 405);
    world.act(Act::Check {
        name: "test".into(),
        conclusion: "success".into(),
    });
    world.forge().pull(number).unwrap().draft = true;
    assert_eq!(
        merge(&world, number, &head).json()["message"],
        "Pull Request is still a draft"
    );
    let ready = json!({
        "query": "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }",
        "variables": { "id": format!("PR_{number}") },
    });
    let ready = call(&world, "POST", "/graphql", &ready).json();
    assert_eq!(
        ready["data"]["markPullRequestReadyForReview"]["pullRequest"]["isDraft"],
        false
    );
    world.act(Act::MoveHead);
    assert_eq!(merge(&world, number, &head).status, 409, "a person pushed");
    world.finish().unwrap();
}

#[test]
fn every_stage_of_ci_is_seen_by_a_read() {
    let world = start(Pace::Held);
    assert!(push(&world, "fix/auto-1", "fix.txt", FORGE_TOKEN));
    let sha = world.repo().head("fix/auto-1").unwrap().unwrap();
    let all = |word: &str| {
        vec![
            ("lint".to_owned(), word.to_owned()),
            ("test".to_owned(), word.to_owned()),
        ]
    };
    assert_eq!(states(&world, &sha), all("queued"));
    assert_eq!(states(&world, &sha), all("in_progress"));
    world.wait_for_ci(&sha).unwrap();
    let runs = get(&world, &format!("/commits/{sha}/check-runs")).json();
    assert!(
        runs["check_runs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|r| r["conclusion"] == "success"),
        "{runs}"
    );
    let jobs = get(&world, "/actions/runs?branch=fix/auto-1").json();
    assert_eq!(jobs["workflow_runs"][0]["conclusion"], "success");
    world.finish().unwrap();
}

#[test]
fn a_failing_test_fails_in_ci_and_its_log_is_behind_a_redirect() {
    let world = start(Pace::Free);
    let broken = (
        "tests/test_broken.py".to_owned(),
        Some(b"raise RuntimeError('no')\n".to_vec()),
    );
    let (at, head) = (world.now(), world.main_head().unwrap());
    let author = super::Author { name: "ada", at };
    let before = world.repo().heads().unwrap();
    world
        .repo()
        .commit("broken", Some(&head), author, "broken", &[broken])
        .unwrap();
    let after = world.repo().heads().unwrap();
    world
        .town()
        .pushed(&mut world.forge(), &before, &after, super::By::Person)
        .unwrap();
    let sha = &after["broken"];
    world.wait_for_ci(sha).unwrap();
    let runs = get(&world, "/actions/runs?branch=broken&status=failure").json();
    let run = runs["workflow_runs"][0]["id"].as_u64().unwrap();
    let jobs = get(&world, &format!("/actions/runs/{run}/jobs")).json();
    let failed = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|j| j["conclusion"] == "failure")
        .unwrap()
        .clone();
    assert_eq!(failed["name"], "test");
    let moved = get(&world, &format!("/actions/jobs/{}/logs", failed["id"]));
    assert_eq!(moved.status, 302);
    let path = moved
        .header("location")
        .unwrap()
        .strip_prefix(world.forge_url())
        .unwrap()
        .to_owned();
    let log = client::get(world.forge_url(), &path).unwrap();
    assert!(String::from_utf8_lossy(&log.body).contains("RuntimeError: no"));
    world.finish().unwrap();
}

#[test]
fn a_lost_answer_did_its_work() {
    let world = quiet();
    assert!(push(&world, "fix/auto-1", "fix.txt", FORGE_TOKEN));
    world.fault(Which::first("POST", "*/pulls"), Fault::LostAnswer);
    let new = json!({ "title": "fix", "body": "", "head": "fix/auto-1", "base": "main" }).to_string();
    let bearer = format!("Bearer {FORGE_TOKEN}");
    let headers = [("Authorization", bearer.as_str()), ("User-Agent", "t")];
    let lost = client::request(
        world.forge_url(),
        "POST",
        "/repos/acme/shop/pulls",
        &headers,
        new.as_bytes(),
    );
    assert!(lost.is_err(), "not a byte came: {lost:?}");
    let list = get(&world, "/pulls?state=all&head=acme:fix/auto-1").json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    let again = api(&world, "POST", "/pulls", &serde_json::from_str(&new).unwrap());
    assert_eq!(again.status, 422);
    assert!(
        again.json()["errors"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("A pull request already exists")
    );
    world.finish().unwrap();
}

#[test]
fn a_push_whose_answer_is_lost_still_moved_the_branch() {
    let world = quiet();
    world.fault(Which::first("POST", "*/git-receive-pack"), Fault::LostAnswer);
    assert!(
        !push(&world, "fix/auto-1", "fix.txt", FORGE_TOKEN),
        "git says that it failed"
    );
    assert!(world.repo().head("fix/auto-1").unwrap().is_some());
    world.finish().unwrap();
}

#[test]
fn people_merge_drafts_and_take_merges_back() {
    let world = quiet();
    let before = world.main_head().unwrap();
    let (number, _) = open(&world);
    world.forge().pull(number).unwrap().draft = true;
    world.act(Act::MergePull { login: "ada".into() });
    let merged = get(&world, &format!("/pulls/{number}")).json();
    assert_eq!(
        (&merged["merged"], &merged["merged_by"]["login"]),
        (&json!(true), &json!("ada"))
    );
    world.act(Act::RevertLast);
    let now = world.repo().facts("main").unwrap().unwrap().1;
    assert_eq!(now.tree, world.repo().facts(&before).unwrap().unwrap().1.tree);
    assert!(now.message.contains(merged["merge_commit_sha"].as_str().unwrap()));
    world.finish().unwrap();
}

#[test]
fn wrong_merges_look_like_merges() {
    for (fault, tree_kept, parent_kept) in [(Fault::WrongTree, false, true), (Fault::WrongParent, false, false)] {
        let world = quiet();
        let base = world.main_head().unwrap();
        let (number, head) = open(&world);
        let wanted = world.repo().facts(&head).unwrap().unwrap().1.tree;
        world.fault(Which::first("PUT", "*/merge"), fault);
        let sha = merge(&world, number, &head).json()["sha"].as_str().unwrap().to_owned();
        let landed = world.repo().facts(&sha).unwrap().unwrap().1;
        assert_eq!(
            (landed.tree == wanted, landed.parents[0] == base),
            (tree_kept, parent_kept)
        );
        world.finish().unwrap();
    }
    let world = quiet();
    let base = world.main_head().unwrap();
    let (number, head) = open(&world);
    world.fault(Which::first("PUT", "*/merge"), Fault::MergedWithoutCommit);
    assert_eq!(merge(&world, number, &head).json()["merged"], true);
    assert_eq!(world.main_head().unwrap(), base);
    world.finish().unwrap();
}

#[test]
fn spoilt_answers_are_spoilt_and_then_over() {
    let world = quiet();
    let broken = [
        (
            Fault::Status {
                code: 502,
                performed: false,
            },
            502,
        ),
        (Fault::Html, 200),
        (Fault::TruncatedJson, 200),
        (Fault::RedirectLoop, 302),
    ];
    for (fault, status) in broken {
        world.fault(Which::first("GET", "*/shop"), fault.clone());
        let spoilt = get(&world, "");
        assert_eq!(spoilt.status, status, "{fault:?}");
        assert_ne!(spoilt.json()["default_branch"], "main", "{fault:?}");
        assert_eq!(get(&world, "").json()["default_branch"], "main");
    }
    world.finish().unwrap();
}

#[test]
fn people_act_between_two_calls() {
    let world = quiet();
    let (number, head) = open(&world);
    world.after(Which::first("GET", "*/pulls/*"), Act::ClosePull { login: "ada".into() });
    assert_eq!(get(&world, &format!("/pulls/{number}")).json()["state"], "open");
    assert_eq!(get(&world, &format!("/pulls/{number}")).json()["state"], "closed");
    assert_eq!(merge(&world, number, &head).status, 405);
    world.act(Act::OpenIssue {
        label: "tick:pause".into(),
    });
    let found = get(&world, "/issues?labels=tick:pause&state=open").json();
    assert_eq!(found.as_array().unwrap().len(), 1);
    world.act(Act::Issues { on: false });
    assert_eq!(get(&world, "/issues?labels=tick:pause").status, 410);
    let act = json!({ "act": { "label": { "name": "tick:stop" } } });
    assert_eq!(call(&world, "POST", "/__world/act", &act).status, 200);
    let labels = get(&world, &format!("/issues/{number}/labels")).json();
    assert_eq!(labels[0]["name"], "tick:stop");
    world.finish().unwrap();
}

#[test]
fn an_unplanned_request_fails_the_story_by_name() {
    let world = quiet();
    assert_eq!(get(&world, "/stargazers").status, 501);
    let ended = world.finish().unwrap_err().to_string();
    assert!(
        ended.contains("no route for GET /repos/acme/shop/stargazers"),
        "{ended}"
    );
}

#[test]
fn what_the_token_must_never_do_fails_the_story() {
    let world = quiet();
    let dir = world.root().join("clone-main");
    assert!(git(
        &world,
        world.root(),
        FORGE_TOKEN,
        &["clone", "-q", &world.git_url(), dir.to_str().unwrap()]
    ));
    std::fs::write(dir.join("x"), "x").unwrap();
    assert!(git(&world, &dir, FORGE_TOKEN, &["add", "."]));
    let who = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.example",
        "commit",
        "-q",
        "-m",
        "x",
    ];
    assert!(git(&world, &dir, FORGE_TOKEN, &who));
    assert!(git(&world, &dir, FORGE_TOKEN, &["push", "-q", "origin", "main"]));
    let ended = world.finish().unwrap_err().to_string();
    assert!(ended.contains("pushed to the default branch"), "{ended}");
}

#[test]
fn lists_have_pages_and_reads_have_entity_tags() {
    let world = quiet();
    for _ in 0..3 {
        world.act(Act::OpenIssue { label: "bug".into() });
    }
    let first = get(&world, "/issues?per_page=2");
    assert_eq!(first.json().as_array().unwrap().len(), 2);
    let link = first.header("link").unwrap().to_owned();
    let next = link
        .strip_prefix('<')
        .unwrap()
        .split_once('>')
        .unwrap()
        .0
        .strip_prefix(world.forge_url())
        .unwrap();
    let second = call(&world, "GET", next, &Value::Null);
    assert_eq!(second.json().as_array().unwrap().len(), 1);
    assert!(second.header("link").is_none());
    let tag = first.header("etag").unwrap().to_owned();
    let bearer = format!("Bearer {FORGE_TOKEN}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("User-Agent", "t"),
        ("If-None-Match", tag.as_str()),
    ];
    let same = client::request(
        world.forge_url(),
        "GET",
        "/repos/acme/shop/issues?per_page=2",
        &headers,
        b"",
    )
    .unwrap();
    assert_eq!((same.status, same.body.len()), (304, 0));
    world.finish().unwrap();
}
