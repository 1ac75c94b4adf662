//! `tick demo`, as somebody runs it who has the binary and nothing else: the recording, an own repository with an own
//! agent, an agent that gives up, and the real Claude CLI against a scripted model service.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::json;

use crate::{
    spine::shown,
    support::{lacks, path_variable, program, root, test_deps},
};

/// A place with a home of its own.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `tick demo` with this room as home and temporary directory; no file of it may stay.
    fn demo(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let tmp = self.path("tmp");
        fs::create_dir_all(&tmp).unwrap();
        let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tick"))
            .env_clear()
            .env("PATH", path_variable())
            .env("HOME", self.0.path())
            .env("TMPDIR", &tmp)
            .envs(env.iter().copied())
            .current_dir(self.0.path())
            .arg("demo")
            .args(args)
            .output()
            .unwrap();
        let left: Vec<_> = fs::read_dir(&tmp).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}\n{}", shown(&output));
        output
    }

    fn program(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The text has each of these, in this order, however its lines are broken.
fn in_order(text: &str, parts: &[&str]) {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = flat(text);
    let mut rest = whole.as_str();
    for part in parts {
        match rest.split_once(&flat(part)) {
            Some((_, after)) => rest = after,
            None => panic!("{part:?} does not come, or comes too early, in\n{text}"),
        }
    }
}

#[test]
fn the_demo_tells_the_whole_loop_and_ends_well() {
    let output = Room::new().demo(&[], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = said(&output);
    in_order(
        &text,
        &[
            "The agent is a recording",
            "shop 3.1.0 (",
            "tick 1   healthy     4 sources in ",
            "0 model calls",
            "tick 2   healthy ",
            "ada merges \"show the average discount\"; 3.2.0 (",
            "tick 3   UNHEALTHY   10 errors, cause ",
            "ZeroDivisionError in shop/discount.py:11, average_discount",
            "/orders/{id}, first seen ",
            "triage   bug in shop",
            "attempt 1 of 2",
            "REFUSED  an existing test is changed: tests/test_discount.py:21",
            "was    self.assertEqual(discount.total(order), 0)",
            "is     self.assertIsNotNone(discount.total(order))",
            "attempt 2 of 2",
            "proof    test_order_without_items, run by tick, not by the agent",
            "without the fix   RED ",
            "with the fix      GREEN ",
            "all tests ",
            "PR #2  fix/auto-",
            "audit    approve, bound to ",
            "CI success at ",
            ": test, lint (both required)",
            "merged by squash as ",
            "the landed tree is the tested tree",
            " is live",
            "0 errors in ",
            "RESOLVED: at the old rate ",
            "mail     1 sent: \"[acme/shop] fixed: ZeroDivisionError",
            "Done in ",
            "4 model calls, 1 patch refused, 1 merged, 1 mail.",
        ],
    );
    assert!(!text.contains('\u{1b}'), "no colour where nobody looks");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 60, "{text}");
}

#[test]
fn monitor_only_ends_at_a_draft() {
    let output = Room::new().demo(&["--monitor-only"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = said(&output);
    in_order(
        &text,
        &["draft PR #2", "audit    approve", "draft ready: ", "1 draft, 1 mail."],
    );
    assert!(!text.contains("merged by squash"), "{text}");
}

#[test]
fn an_agent_that_gives_up_ends_the_demo_badly() {
    let room = Room::new();
    let agent = room.program(
        "agent.py",
        &agent("print(json.dumps({'status': 'cannot-fix', 'reason': 'too hard'}))"),
    );
    let output = room.demo(&["--agent", &format!("command:{}", agent.display())], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    in_order(
        &said(&output),
        &[
            "The agent is /",
            "triage   bug",
            "too hard",
            "FAILED",
            "no fix was merged",
        ],
    );
}

#[test]
fn without_its_programs_the_demo_says_what_it_needs() {
    let room = Room::new();
    let output = room.demo(&[], &[("PATH", "/nonexistent")]);
    assert_eq!(output.status.code(), Some(75), "{}", shown(&output));
    assert!(shown(&output).contains("tick demo needs git"), "{}", shown(&output));
    assert!(output.stdout.is_empty());
    let output = room.demo(&["--repo", ".", "--test", "node --test"], &[]);
    assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
    assert!(shown(&output).contains("--repo needs --agent"), "{}", shown(&output));
}

/// A demo that is told to end while it runs.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the program has to be interrupted while it runs"
)]
fn an_interrupt_leaves_nothing_behind() {
    let room = Room::new();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tick"))
        .env_clear()
        .env("PATH", path_variable())
        .env("TMPDIR", room.0.path())
        .arg("demo")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = rustix::process::Pid::from_child(&child);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(
        lines.any(|line| line.contains("UNHEALTHY")),
        "the story did not get that far"
    );
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}\n{rest:?}");
    assert!(said.contains("nothing is left behind"), "{said}");
    assert!(
        !rest
            .iter()
            .any(|line| line.contains("Done in") || line.contains("FAILED")),
        "{rest:?}"
    );
    let left: Vec<_> = fs::read_dir(room.0.path())
        .unwrap()
        .flatten()
        .map(|e| e.path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(tick::demo::children::strays(room.0.path()), Vec::<String>::new());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program has to be killed while it runs")]
fn what_a_killed_demo_leaves_is_cleared_by_the_next() {
    let room = Room::new();
    let tmp = room.path("tmp");
    fs::create_dir(&tmp).unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tick"))
        .env_clear()
        .env("PATH", path_variable())
        .env("TMPDIR", &tmp)
        .arg("demo")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // In the middle of a tick.
    assert!(lines.any(|line| line.contains("UNHEALTHY")), "it did not get that far");
    child.kill().unwrap();
    child.wait().unwrap();
    let ticks = || {
        let strays = tick::demo::children::strays(&tmp);
        strays
            .into_iter()
            .filter(|line| line.contains("--ends-with-stdin"))
            .count()
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while ticks() > 0 {
        assert!(std::time::Instant::now() < deadline, "its tick goes on");
        std::thread::yield_now();
    }
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 1, "its world stays");
    // Somebody else's folder of such a name, and no world of a demo's.
    let other = tmp.join("tick-world-0123456789abcdef");
    fs::create_dir(&other).unwrap();
    let next = assert_cmd::Command::new(env!("CARGO_BIN_EXE_tick"))
        .env_clear()
        .env("PATH", path_variable())
        .env("TMPDIR", &tmp)
        .arg("demo")
        .output()
        .unwrap();
    let text = said(&next);
    assert_eq!(next.status.code(), Some(0), "{}", shown(&next));
    assert!(text.contains("cleared  1 world of demos that were killed"), "{text}");
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(left, [other]);
    assert_eq!(tick::demo::children::strays(&tmp), Vec::<String>::new());
}

#[test]
fn what_cannot_be_rehearsed_is_named_with_how_to_mend_it() {
    let room = Room::new();
    let agent = room.program("agent", "#!/bin/sh\nexit 1\n");
    let agent = format!("command:{}", agent.display());
    for name in ["empty", "plain"] {
        fs::create_dir(room.path(name)).unwrap();
    }
    let init = assert_cmd::Command::new("git")
        .args(["init", "-q", "-b", "main"])
        .arg(room.path("empty"))
        .output();
    assert!(init.unwrap().status.success());
    for (repo, test, parts) in [
        (
            "empty",
            "npm test",
            ["rehearse on", "has no commit on main", "commit your files"],
        ),
        (
            "plain",
            "npm test",
            ["rehearse on", "is no git repository", "holds .git"],
        ),
        (
            "empty",
            "cd tests && npm test",
            [
                "--test",
                "begins with cd, which only a shell knows",
                "npm --prefix web test",
            ],
        ),
        ("empty", "source x", ["--test", "begins with source", "without a shell"]),
        (
            "empty",
            "npm test | cat",
            ["--test", "needs a shell (an unquoted pipe)", "without a shell"],
        ),
        ("empty", "", ["--test", "is empty", "npm test"]),
    ] {
        let output = room.demo(&["--repo", repo, "--test", test, "--agent", &agent], &[]);
        let text = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
        for part in parts {
            assert!(text.contains(part), "{test}: {part}\n{text}");
        }
        assert!(!text.contains("http-backend") && !text.contains("--signal"), "{text}");
    }
}

/// An agent that finds every failure a bug, approves everything, and fixes as `fix` says.
fn agent(fix: &str) -> String {
    format!(
        r#"#!/usr/bin/env python3
import json, os, pathlib, sys
sys.stdin.read()
role, given = os.environ["TICK_ROLE"], json.load(open(os.environ["TICK_INPUT"]))
if role == "triage":
    print(json.dumps({{"incidents": [
        {{"signature": g["signature"], "verdict": "bug", "failure_type": "runtime", "repo": g["repo"],
          "root_cause": "a value may be missing", "suspected_files": [], "confidence": 0.8}} for g in given["groups"]]}}))
elif role == "audit":
    print(json.dumps({{"verdict": "approve", "head_sha": given["head_sha"], "reasons": ["read"]}}))
else:
    {fix}
"#
    )
}

const CART: &str = "export function total(cart) {\n  \
    const sum = cart.items.reduce((all, item) => all + item.price, 0);\n  return sum - cart.coupon.amount;\n}\n";

/// A small Node repository, committed.
fn node_repository(room: &Room, more: &[(&str, &str)]) -> PathBuf {
    let dir = room.path("cart");
    fs::create_dir_all(dir.join("test")).unwrap();
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../cart.mjs';\n\n\
        test('a coupon is taken off', () => {\n  assert.equal(total({ items: [{ price: 5 }], coupon: { amount: 2 } }), 3);\n});\n";
    let files = [
        ("cart.mjs", CART),
        ("package.json", "{\"name\": \"cart\"}\n"),
        ("test/cart.test.mjs", test),
    ];
    for (path, text) in files.iter().chain(more) {
        fs::write(dir.join(path), text).unwrap();
    }
    let who = ["-c", "user.name=ada", "-c", "user.email=ada@cart.example"];
    for args in [
        &["init", "--quiet", "-b", "trunk"][..],
        &["add", "."],
        &["commit", "--quiet", "-m", "cart"],
    ] {
        assert_cmd::Command::new("git")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(who)
            .args(args)
            .current_dir(&dir)
            .assert()
            .success();
    }
    dir
}

const NODE_FIX: &str = r#"cart = pathlib.Path("cart.mjs")
    cart.write_text(cart.read_text().replace("cart.coupon.amount", "(cart.coupon?.amount ?? 0)"))
    pathlib.Path("test/no-coupon.test.mjs").write_text("""import test from 'node:test';
import assert from 'node:assert';
import { total } from '../cart.mjs';

test('a cart without a coupon costs its items', () => {
  assert.equal(total({ items: [{ price: 5 }] }), 5);
});
""")
    print(json.dumps({"status": "fixed", "root_cause": "a cart may have no coupon", "summary": "asks for it", "tests": ["no-coupon"]}))"#;

/// Every file with its bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_repository_of_ones_own_is_rehearsed_on_a_clone() {
    if program("node").is_none() {
        return lacks("node");
    }
    let room = Room::new();
    let repo = node_repository(&room, &[]);
    let agent = room.program("agent.py", &agent(NODE_FIX));
    let signal = json!({
        "title": "TypeError: Cannot read properties of undefined (reading 'amount')",
        "message": "TypeError: Cannot read properties of undefined (reading 'amount')\n    at total (/app/cart.mjs:3:29)\n",
    });
    fs::write(room.path("signal.json"), signal.to_string()).unwrap();
    let before = files(&repo);
    let agent = format!("command:{}", agent.display());
    let args = [
        "--repo",
        "cart",
        "--test",
        "node --test",
        "--signal",
        "signal.json",
        "--agent",
        &agent,
    ];
    let output = room.demo(&args, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    in_order(
        &said(&output),
        &[
            "signal   TypeError: Cannot read properties of undefined (reading 'amount') (given)",
            "trunk at ",
            "tick 1   healthy     3 sources",
            "assumed: this world cannot run your app",
            "UNHEALTHY",
            "TypeError in cart.mjs:3, total",
            "proof    test/no-coupon.test.mjs > a cart without a coupon costs its items",
            "RED ",
            "GREEN ",
            "merged by squash as ",
            "the landed tree is the tested tree",
            "RESOLVED",
            "[rehearsal/cart] fixed: TypeError",
            "cart is as it was: ",
            "1 merged, 1 mail.",
        ],
    );
    assert!(before == files(&repo), "the user's own copy is byte-identical");
    holds_the_page(&said(&output));
}

/// docs/rehearsal.txt is such a run as it was printed: times and commits are of its own, the words and the cause are these.
fn holds_the_page(said: &str) {
    let page = fs::read_to_string(root().join("docs/rehearsal.txt")).unwrap();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (page, said) = (flat(&page), flat(said));
    let cause = |text: &str| {
        let (_, rest) = text.split_once(", cause ").expect("a cause is named");
        rest[..8].to_owned()
    };
    let id = cause(&said);
    assert_eq!(
        cause(&page),
        id,
        "docs/rehearsal.txt is of another version: record it anew"
    );
    for words in [format!("fix/auto-{id}"), format!("show {id}")] {
        assert!(page.contains(&words), "{words}");
    }
    // What the run says in words of its own stands there, too.
    for words in [
        "A rehearsal on a clone of",
        "(given)",
        "counts as live; its signal is not shown yet",
        "the signal begins, once a minute while this commit is live",
        "GREEN in 4 runs, then without it RED again",
        "the landed tree is the tested tree",
        "0 signals since the new commit is live",
        "RESOLVED: at the old rate",
        "5 ticks, 3 model calls, 0 patches refused, 1 merged, 1 mail.",
    ] {
        assert!(page.contains(words) && said.contains(words), "{words}");
    }
}

#[test]
fn a_test_that_fails_can_be_the_signal() {
    if program("node").is_none() {
        return lacks("node");
    }
    let room = Room::new();
    let red = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../cart.mjs';\n\n\
        test('no coupon', () => {\n  assert.equal(total({ items: [{ price: 5 }] }), 5);\n});\n";
    node_repository(&room, &[("test/none.test.mjs", red)]);
    let agent = room.program("agent.py", &agent(NODE_FIX));
    let agent = format!("command:{}", agent.display());
    let output = room.demo(&["--repo", "cart", "--test", "node --test", "--agent", &agent], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    in_order(
        &said(&output),
        &["(a test that fails)", "UNHEALTHY", "GREEN ", "RESOLVED"],
    );

    fs::remove_dir_all(room.path("cart")).unwrap();
    node_repository(&room, &[]);
    let output = room.demo(&["--repo", "cart", "--test", "node --test", "--agent", &agent], &[]);
    assert_eq!(output.status.code(), Some(64), "{}", shown(&output));
    assert!(shown(&output).contains("1 test and no failure"), "{}", shown(&output));
}

/// A model service that follows a script; it ends with this.
struct Model {
    process: std::process::Child,
    url: String,
}

impl Model {
    #[expect(
        clippy::disallowed_methods,
        reason = "the scripted model service is a program of the tests"
    )]
    fn start(room: &Room, script: &serde_json::Value) -> Self {
        let (file, port) = (room.path("model.json"), room.path("port"));
        fs::write(&file, script.to_string()).unwrap();
        let process = std::process::Command::new("python3")
            .arg(root().join("tests/tools/model_stub.py"))
            .args(["--once-idle", "300", "--script"])
            .arg(file)
            .arg("--port-file")
            .arg(&port)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = tick::adapters::clock::instant();
        let number = loop {
            match fs::read_to_string(&port) {
                Ok(text) if !text.trim().is_empty() => break text.trim().to_owned(),
                _ => assert!(started.elapsed().as_secs() < 60, "the model service did not start"),
            }
            std::thread::yield_now();
        };
        Self {
            process,
            url: format!("http://127.0.0.1:{number}"),
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// Directory with the CLI that `scripts/test` installs.
fn claude() -> Option<PathBuf> {
    let modules = test_deps().join("node_modules");
    ["@anthropic-ai/claude-code-linux-x64", ".bin"]
        .map(|dir| modules.join(dir))
        .into_iter()
        .find(|dir| dir.join("claude").is_file())
}

#[test]
fn the_real_claude_does_the_whole_repair() {
    let Some(dir) = claude() else {
        return lacks("the Claude CLI");
    };
    let room = Room::new();
    let answer = |reply: serde_json::Value| json!({"tools": [{"name": "StructuredOutput", "input": reply}]});
    let tool = |name: &str, input: serde_json::Value| json!({"tools": [{"name": name, "input": input}]});
    let test = fs::read_to_string(root().join("src/demo/shop/honest/tests/test_order_without_items.py")).unwrap();
    let old = "    return sum(percents) / len(percents)";
    let model = Model::start(
        &room,
        &json!({"turns": [], "after": "error", "routes": [
            {"name": "triage", "when": "You sort failures of a running product",
             "capture": {"signature": "one entry: \\W*([0-9a-f]{16})"},
             "turns": [answer(json!({"incidents": [{"signature": "${signature}", "verdict": "bug", "failure_type": "runtime",
                "repo": "shop", "root_cause": "an order may be empty", "suspected_files": ["shop/discount.py"],
                "confidence": 0.9}]})), {"text": "done"}]},
            {"name": "fix", "when": "You mend one defect", "capture": {"cwd": "Primary working directory: (\\S+)"}, "turns": [
                tool("Read", json!({"file_path": "${cwd}/shop/discount.py"})),
                tool("Edit", json!({"file_path": "${cwd}/shop/discount.py", "old_string": old,
                    "new_string": format!("    if not percents:\n        return 0\n{old}")})),
                tool("Write", json!({"file_path": "${cwd}/tests/test_order_without_items.py", "content": test})),
                answer(json!({"status": "fixed", "root_cause": "an order may be empty", "summary": "asks first",
                    "tests": ["test_order_without_items"]})),
                {"text": "done"}]},
            {"name": "audit", "when": "You judge one change", "capture": {"head": "The change, commit ([0-9a-f]{40})"},
             "turns": [answer(json!({"verdict": "approve", "head_sha": "${head}", "reasons": ["read"]})), {"text": "done"}]},
        ]}),
    );
    let path = format!("{}:{}", dir.display(), path_variable());
    let env = [
        ("PATH", path.as_str()),
        ("ANTHROPIC_BASE_URL", &model.url),
        ("ANTHROPIC_API_KEY", "not-a-real-key"),
    ];
    let output = room.demo(&["--agent", "claude"], &env);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    in_order(
        &said(&output),
        &[
            "The agent is claude",
            "UNHEALTHY",
            "triage   bug in shop: an order may be empty",
            "attempt 1 of ",
            "proof    test_order_without_items",
            "GREEN ",
            "audit    approve",
            "merged by squash as ",
            "RESOLVED",
            "3 model calls, 0 patches refused, 1 merged, 1 mail.",
        ],
    );
}
