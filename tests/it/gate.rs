//! Edited gates through the real binary: a program that misbehaves is a gate fault within its deadline, never a
//! quiet gate, and it learns nothing about the process that started it.

use std::{fs, path::Path, time::Duration};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home with a config and one snapshot with an error in it.
fn home() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), "{}").unwrap();
    fs::create_dir(dir.path().join("collectors")).unwrap();
    fs::create_dir(dir.path().join("signals")).unwrap();
    let signal = |title: &str, severity: &str| {
        json!({"source": "health", "repo": "web", "target": "web", "kind": "health", "severity": severity,
               "title": title, "message": "HTTP 503", "signature": "7f3a91c07f3a91c0", "count": 1,
               "first_seen": "2026-11-29T03:00:00Z", "last_seen": "2026-11-29T03:00:00Z", "evidence": {}})
    };
    let snapshot = json!({"schema": 1, "tick": "20261129T030000Z-1", "started_at": "2026-11-29T03:00:00Z", "deep": false,
        "signals": [signal("front: HTTP 503", "critical"), signal("slow", "warning")], "collectors": [], "open_pulls": []});
    fs::write(dir.path().join("signals/latest.json"), snapshot.to_string()).unwrap();
    dir
}

/// Exit code and reply of `tick gate` with this program in the home.
fn gate(home: &Path, program: Option<&str>) -> (i32, Value) {
    if let Some(program) = program {
        fs::write(home.join("collectors/gate.jq"), program).unwrap();
    }
    let done = Command::cargo_bin("tick")
        .unwrap()
        .args(["--home", home.to_str().unwrap(), "gate"])
        .env("TICK_TEST_CANARY", "fake-secret-not-real")
        .output()
        .unwrap();
    let reply =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)));
    (done.status.code().unwrap(), reply)
}

#[test]
fn the_shipped_gate_and_an_edited_one_answer() {
    let home = home();
    assert_eq!(
        gate(home.path(), None),
        (
            10,
            json!({"wake": true, "reasons": ["web/web: front: HTTP 503"], "blind": []})
        )
    );
    let own = r#"[.signals[] | select(.severity == "warning") | .title] | {wake: (length > 0), reasons: .}"#;
    assert_eq!(
        gate(home.path(), Some(own)),
        (10, json!({"wake": true, "reasons": ["slow"], "blind": []}))
    );
    let deaf = "# never\n{wake: false, reasons: []}";
    assert_eq!(
        gate(home.path(), Some(deaf)),
        (0, json!({"wake": false, "reasons": [], "blind": []}))
    );
}

#[test]
fn hostile_programs_are_gate_faults_within_two_seconds() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let programs = [
        ("ends the process", "halt"),
        ("ends the process with a message", "\"healthy\" | halt_error(0)"),
        ("never ends", "def f: f; f"),
        ("never ends, with results", "repeat({wake: false, reasons: []})"),
        ("never ends, without results", "first(repeat(.) | select(false))"),
        (
            "waits for a bound that never comes",
            "[limit(1e18; repeat(1))] | {wake: false, reasons: []}",
        ),
        ("eats memory", "def grow: . + . | grow; [range(1000)] | grow"),
        (
            "makes a huge text",
            "reduce range(60) as $i (\"xxxxxxxx\"; . + .) | {wake: false, reasons: [.]}",
        ),
        (
            "makes a huge text by repetition",
            "\"x\" * 1e12 | {wake: false, reasons: [.]}",
        ),
        ("overflows the stack", "def f: 1 + f; f"),
        (
            "overflows the stack in its data",
            "reduce range(1000000) as $i (0; [.]) | {wake: false, reasons: [tojson]}",
        ),
        ("overflows the parser", &deep),
        ("reads the environment", "env | {wake: false, reasons: [tojson]}"),
        (
            "reads the environment by variable",
            "{wake: false, reasons: [$ENV.TICK_TEST_CANARY]}",
        ),
        ("reads more input", "[inputs] | {wake: false, reasons: []}"),
        (
            "writes to the log",
            ". as $x | \"x\" | stderr | {wake: false, reasons: []}",
        ),
        ("imports", "import \"collectors/a\" as a; {wake: false, reasons: []}"),
        ("reads the clock", "{wake: false, reasons: [now | tostring]}"),
        ("gives nothing", "empty"),
        (
            "gives two answers",
            "{wake: false, reasons: []}, {wake: false, reasons: []}",
        ),
        ("gives another shape", "{wake: \"no\", reasons: []}"),
        (
            "gives more than the shape",
            "{wake: false, reasons: [], signals: .signals}",
        ),
        ("fails", "error(\"no\")"),
        ("fails in the data", ".signals.x"),
        ("does not compile", "{wake: false, reasons: ["),
        ("is empty", ""),
    ];
    let home = home();
    for (name, program) in programs {
        let started = tick::adapters::clock::instant();
        let (code, reply) = gate(home.path(), Some(program));
        let took = started.elapsed();
        assert_eq!(code, 3, "{name}: {reply}");
        assert!(reply["fault"].is_string(), "{name}: {reply}");
        assert!(took < Duration::from_secs(4), "{name}: {took:?}");
        assert!(!reply.to_string().contains("not-real"), "{name}: {reply}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_is_not_quiet() {
    let home = home();
    for text in ["", "{}", "{\"schema\": 99}", "[1"] {
        fs::write(home.path().join("signals/latest.json"), text).unwrap();
        let done = Command::cargo_bin("tick")
            .unwrap()
            .args(["--home", home.path().to_str().unwrap(), "gate"])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(3), "{text:?}");
    }
}
