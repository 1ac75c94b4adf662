//! An agent that looks for what it must not find, through the built program: keys in other processes, the owner's
//! files, services of the machine. And what the owner is told about how it was held.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;
use tick::demo::FORGE_TOKEN;

use crate::merges::prepared::{Prepared, Wants};

/// Looks around, writes what it found beside its honest fix, and keeps the contract.
const SPY: &str = r#"#!/usr/bin/env python3
import glob, json, os, pathlib, socket, sys
sys.stdin.read()
role, given = os.environ["TICK_ROLE"], json.load(open(os.environ["TICK_INPUT"]))
found = []
def look(what, act):
    try:
        if act(): found.append(what)
    except OSError: pass
for path in glob.glob("/proc/[0-9]*/environ"):
    look("keys of " + path, lambda: b"TOKEN_OF_TICK" in open(path, "rb").read())
    look("memory of " + path, lambda: int(path.split("/")[2]) == os.getppid() and open(path.replace("environ", "mem"), "rb"))
for path in ["HOME_OF_TICK/.env", "HOME_OF_TICK/config.json", "HOME_OF_TICK/state/tick.db", "OWN/.ssh/id", "/etc/shadow", "/root/.bashrc"]:
    look("file " + path, lambda: open(path, "rb").read(1))
for path in ["HOME_OF_TICK", "HOME_OF_TICK/state", "OWN", "/root", "/home", "/dev/shm", "/run", "/tmp"]:
    look("directory " + path, lambda: os.listdir(path) is not None)
look("a socket by path", lambda: socket.socket(socket.AF_UNIX))
print(json.dumps(found), file=sys.stderr)
if role == "triage":
    print(json.dumps({"incidents": [
        {"signature": g["signature"], "verdict": "bug", "failure_type": "runtime", "repo": g["repo"], "root_cause": "x",
         "suspected_files": [], "confidence": 0.8} for g in given["groups"]]}))
elif role == "audit":
    print(json.dumps({"verdict": "approve", "head_sha": given["head_sha"], "reasons": ["read"]}))
else:
    source = pathlib.Path("shop/discount.py")
    source.write_text(HONEST_SOURCE)
    pathlib.Path("tests/test_order_without_items.py").write_text(HONEST_TEST)
    print(json.dumps({"status": "fixed", "root_cause": "x", "summary": "y", "tests": []}))
"#;

#[test]
fn an_agent_finds_no_key_and_nothing_of_the_owners() {
    let room = tempfile::tempdir().unwrap();
    let own = room.path().join("owner");
    fs::create_dir_all(own.join(".ssh")).unwrap();
    fs::write(own.join(".ssh/id"), "not a real key").unwrap();
    let agent = room.path().join("agent.py");
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let prepared = Prepared::start(&Wants {
        config: json!({ "agents": {
            "triage": ["spy"], "fix": ["spy"], "audit": ["spy"],
            "define": { "spy": { "kind": "command", "program": agent, "billing": "plan" } },
        }}),
        ..Wants::default()
    });
    let text = SPY
        .replace("HOME_OF_TICK", &prepared.stage.home.display().to_string())
        .replace("TOKEN_OF_TICK", &FORGE_TOKEN[..17])
        .replace("OWN", &own.display().to_string())
        .replace(
            "HONEST_SOURCE",
            &quoted(include_str!("../../src/demo/shop/honest/shop/discount.py")),
        )
        .replace(
            "HONEST_TEST",
            &quoted(include_str!(
                "../../src/demo/shop/honest/tests/test_order_without_items.py"
            )),
        );
    fs::write(&agent, text).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    // The documented way to hand a token over, beside `.env`.
    let run = prepared.stage.tick_with(&["--json"], &[("GITHUB_TOKEN", FORGE_TOKEN)]);
    assert_eq!(run.status.code(), Some(0), "{}", crate::spine::shown(&run));
    prepared
        .merged_by_us()
        .unwrap_or_else(|| panic!("{}", crate::spine::shown(&run)));

    let transcripts: Vec<String> = fs::read_dir(prepared.stage.home.join("logs/agents"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert_eq!(transcripts.len(), 3, "triage, fix, audit");
    for transcript in &transcripts {
        assert!(transcript.lines().any(|line| line == "[]"), "{transcript}");
    }

    // What nothing holds is said where the owner looks.
    let open = "its network is open";
    let pull = prepared.pull();
    let agents = pull.body.lines().find(|line| line.contains("agent that wrote it"));
    assert!(
        agents.is_some_and(|line| line.contains(open) && line.contains("the auditor")),
        "{}",
        pull.body
    );
    let id = prepared
        .ask("SELECT id FROM incident WHERE repo = ?1", "shop")
        .remove(0);
    let shown = prepared.run(&["show", &id]).text;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        !shown.contains(": sandboxed") && !shown.contains("approve (sandboxed"),
        "{shown}"
    );
    assert!(shown.matches(open).count() >= 2, "{shown}");
    prepared.finish();
}
