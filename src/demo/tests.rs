//! The whole world in small stories: the shop, its customers, the deployer, the tracker, the recorded agent.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{
    Act, CiJob, Fault, OwnRepo, Pace, Setup, Site, TRACKER_TOKEN, Which, World, WorldOptions,
    agent::{Given, Replace, Script, Step, demo_script, play},
    client,
    clock::millis,
};

fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

fn shop() -> World {
    let options = WorldOptions::shop(at("2026-11-29T03:00:00Z"));
    World::start(WorldOptions {
        pace: Pace::Assumed,
        ..options
    })
    .unwrap()
}

fn exceptions(world: &World, since: DateTime<Utc>) -> Value {
    let bearer = format!("Bearer {TRACKER_TOKEN}");
    let target = format!("/api/exceptions?since={}", millis(since));
    client::request(world.tracker_url(), "GET", &target, &[("Authorization", &bearer)], b"")
        .unwrap()
        .json()
}

fn health(world: &World) -> Value {
    client::get(world.app_url(), "/health").unwrap().json()
}

#[test]
fn the_bug_comes_with_a_release_and_goes_with_the_next() {
    let world = shop();
    let start = world.now();
    world.traffic(24).unwrap();
    let first = world.main_head().unwrap();
    assert_eq!(
        (&health(&world)["release"], &health(&world)["requests"]),
        (&json!(first), &json!(24))
    );
    let calm = exceptions(&world, start);
    assert_eq!(
        (calm["exceptions"].as_array().unwrap().len(), &calm["requests"]),
        (0, &json!(24))
    );

    world.ship_bug().unwrap();
    let bad = world.main_head().unwrap();
    world.traffic(24).unwrap();
    let broken = exceptions(&world, start);
    let one = &broken["exceptions"][0];
    assert_eq!(
        (&one["type"], &one["count"], &one["release"]),
        (&json!("ZeroDivisionError"), &json!(2), &json!(bad))
    );
    assert_eq!(one["route"], "/orders/{id}");
    let stack = one["stack"].as_str().unwrap();
    assert!(
        stack.contains("File \"shop/discount.py\", line 11, in average_discount"),
        "{stack}"
    );

    world.act(Act::FixOnMain);
    world.wait_deployed().unwrap();
    world.advance(Duration::from_mins(15));
    let since = world.now() - chrono::TimeDelta::minutes(1);
    world.traffic_over(240, Duration::from_mins(30)).unwrap();
    let quiet = exceptions(&world, since);
    assert_eq!(
        (quiet["exceptions"].as_array().unwrap().len(), &quiet["requests"]),
        (0, &json!(240))
    );
    assert!(world.now() >= at("2026-11-29T03:45:00Z"));
    assert_eq!(world.forge().pulls[0].title, "show the average discount");
    world.finish().unwrap();
}

#[test]
fn the_tracker_wants_its_token_and_the_app_can_be_spoilt() {
    let world = shop();
    assert_eq!(client::get(world.tracker_url(), "/api/exceptions").unwrap().status, 401);
    world.fault(Which::first("GET", "/health").on(Site::App).always(), Fault::Html);
    assert!(
        client::get(world.app_url(), "/health")
            .unwrap()
            .body
            .starts_with(b"<!doctype")
    );
    world.town().calm();
    assert_eq!(health(&world)["ok"], true);
    world.finish().unwrap();
}

#[test]
fn mail_that_nobody_read_fails_the_story() {
    let world = shop();
    std::fs::write(world.mail().dir().join("1.eml"), "Subject: hello\n\nbody\n").unwrap();
    let ended = world.finish().unwrap_err().to_string();
    assert!(ended.contains("mail nobody read: hello"), "{ended}");
}

#[test]
fn a_users_repository_is_only_read_and_its_signal_stands_until_another_commit_is_live() {
    let source = shop();
    let theirs = source.root().join("theirs");
    source
        .repo()
        .git(&["clone", "-q", ".", theirs.to_str().unwrap()], b"")
        .unwrap();
    let before = fingerprint(&theirs);
    let signal = json!({ "title": "TypeError", "message": "x is undefined", "evidence": { "stack": "at f (a.js:1)" } });
    let own = OwnRepo {
        path: theirs.clone(),
        test: vec![
            "python3".into(),
            "-m".into(),
            "unittest".into(),
            "discover".into(),
            "-s".into(),
            "tests".into(),
        ],
        signal: Some(signal),
    };
    let options = WorldOptions::own(at("2026-11-29T03:00:00Z"), own);
    let world = World::start(WorldOptions {
        pace: Pace::Free,
        ..options
    })
    .unwrap();
    let start = world.now() - chrono::TimeDelta::seconds(1);
    let base = world.main_head().unwrap();
    world.wait_for_ci(&base).unwrap();
    assert!(world.forge().jobs.iter().all(super::forge::Job::is_green));
    assert_eq!(
        exceptions(&world, start)["exceptions"],
        json!([]),
        "not before it is shown"
    );
    world.act(Act::ShowSignal);
    world.advance(Duration::from_mins(10));
    let shown = exceptions(&world, start);
    assert_eq!(
        (&shown["exceptions"][0]["type"], &shown["exceptions"][0]["count"]),
        (&json!("TypeError"), &json!(11))
    );
    world.act(Act::MoveBase);
    world.wait_deployed().unwrap();
    let moved = world.now();
    world.advance(Duration::from_mins(10));
    assert_eq!(exceptions(&world, moved)["exceptions"], json!([]));
    assert_eq!(fingerprint(&theirs), before, "byte-identical");
    world.finish().unwrap();
    source.finish().unwrap();
}

/// Every file below a directory with its bytes.
fn fingerprint(dir: &std::path::Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(fingerprint(&path));
        } else {
            files.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
    files
}

/// Plays one call in `dir`.
fn call(dir: &std::path::Path, script: &Script, role: &str, input: &Value) -> (u8, String) {
    let script_file = dir.join("script.json");
    let input_file = dir.join("input.json");
    std::fs::write(&script_file, serde_json::to_string(script).unwrap()).unwrap();
    std::fs::write(&input_file, input.to_string()).unwrap();
    let env = [("TICK_ROLE", role), ("TICK_INPUT", input_file.to_str().unwrap())];
    let given = Given {
        argv: vec!["tick".into()],
        env: env.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
        cwd: dir.to_owned(),
    };
    let mut out = Vec::new();
    let code = play(&script_file, &given, &mut &b"the prompt"[..], &mut out).unwrap();
    (code, String::from_utf8(out).unwrap())
}

#[test]
fn the_recording_answers_by_role_and_the_world_keeps_what_it_was_given() {
    let world = shop();
    let dir = world.root().join("agent");
    std::fs::create_dir(&dir).unwrap();
    let script = demo_script(world.forge_url());
    let group = json!({ "groups": [{ "signature": "c4d81e6fc4d81e6f", "repo": "shop" }] });
    let (code, reply) = call(&dir, &script, "triage", &group);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(
        (code, &reply["incidents"][0]["signature"]),
        (0, &json!("c4d81e6fc4d81e6f"))
    );
    let (_, audit) = call(&dir, &script, "audit", &json!({ "head_sha": "51d0c77" }));
    assert!(audit.contains("\"head_sha\":\"51d0c77\""), "{audit}");
    call(&dir, &script, "fix", &json!({ "attempt": 1 }));
    assert!(
        std::fs::read_to_string(dir.join("tests/test_discount.py"))
            .unwrap()
            .contains("assertIsNotNone")
    );
    call(&dir, &script, "fix", &json!({ "attempt": 2 }));
    assert!(dir.join("tests/test_order_without_items.py").exists());
    let records = world.town().records.all();
    assert_eq!(records.len(), 4);
    assert_eq!(
        (&records[0]["role"], &records[0]["prompt"]),
        (&json!("triage"), &json!("the prompt"))
    );
    assert_eq!(records[0]["env"], json!(["TICK_INPUT", "TICK_ROLE"]));
    world.finish().unwrap();
}

#[test]
fn a_recording_can_misbehave() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.py"), "x = 1\n").unwrap();
    let replace = Replace {
        path: "a.py".into(),
        from: "1".into(),
        to: "2".into(),
    };
    let step = Step {
        replace: vec![replace],
        flood: 5000,
        raw: Some("not json".into()),
        exit: 75,
        ..Step::default()
    };
    let script = Script {
        roles: BTreeMap::from([("fix".to_owned(), vec![step])]),
        world: None,
    };
    let (code, out) = call(dir.path(), &script, "fix", &json!({ "attempt": 3 }));
    assert_eq!((code, out.len()), (75, 5008));
    assert_eq!(std::fs::read_to_string(dir.path().join("a.py")).unwrap(), "x = 2\n");
}

#[test]
fn a_home_points_the_product_at_the_world() {
    let world = shop();
    let setup = Setup {
        config: json!({ "limits": { "diff_lines": 50 } }),
        ..Setup::new(PathBuf::from("/bin/tick"))
    };
    let home = world.tick_home(&setup).unwrap();
    let config: Value = serde_json::from_slice(&std::fs::read(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["repos"]["shop"]["git_url"], world.git_url());
    assert_eq!(
        (&config["mode"], &config["limits"]["diff_lines"]),
        (&json!("active"), &json!(50))
    );
    assert!(
        std::fs::read_to_string(home.join(".env"))
            .unwrap()
            .starts_with("GITHUB_TOKEN=world-")
    );
    world.finish().unwrap();
}

/// A merge at the end of a story starts CI once more; ending the world must not cut it short.
#[test]
fn the_world_waits_for_its_ci() {
    let done = tempfile::tempdir().unwrap();
    let mark = done.path().join("done");
    let work = format!(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(20_000_000))']); open({:?}, 'w')",
        mark.display().to_string()
    );
    let job = CiJob {
        name: "slow".to_owned(),
        report: None,
        commands: vec![["python3", "-c", &work].map(str::to_owned).to_vec()],
    };
    let world = World::start(WorldOptions {
        pace: Pace::Free,
        app: false,
        ci: vec![job],
        ..WorldOptions::shop(at("2026-11-29T03:00:00Z"))
    })
    .unwrap();
    world.act(Act::MoveBase);
    world.finish().unwrap();
    assert!(mark.exists(), "its CI was cut short");
}
