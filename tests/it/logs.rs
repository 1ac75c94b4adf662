//! `tick logs` and the patterns of a home, through the program.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::tick;

const LOG: &str = "2026-11-29T03:00:00Z INFO agent started\n\
    2026-11-29T03:00:05Z ERROR tool inventory mismatch: declared 14, available 12\n\
    2026-11-29T03:00:06Z ERROR order 17 failed\nTraceback (most recent call last):\n\
    \x20 File \"/app/shop/cart.py\", line 9, in total\n    return items[0]\nIndexError: list index out of range\n";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(home: &Path, arguments: &[&str], input: &str) -> Ran {
    let output = tick(home)
        .args(["--home", home.to_str().unwrap(), "--now", "2026-11-29T03:10:00Z"])
        .args(arguments)
        .write_stdin(input)
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_log_from_standard_input_or_files_is_read_without_a_configuration() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(home.path(), &["logs"], LOG);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("2 causes in 2 events (7 lines read, "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("A10 tool-inventory"), "{}", ran.out);
    let file = home.path().join("app.log");
    fs::write(&file, LOG).unwrap();
    let twice = ["logs", "--json", file.to_str().unwrap(), "-"];
    let found: Value = serde_json::from_str(&run(home.path(), &twice, LOG).out).unwrap();
    assert_eq!((&found["lines"], &found["events"]), (&14.into(), &4.into()));
    let causes = found["causes"].as_array().unwrap();
    let trace = causes.iter().find(|cause| cause["pattern"] == "exception").unwrap();
    assert_eq!((&trace["count"], &trace["culprit"]["line"]), (&2.into(), &9.into()));
    // One cause, whoever asks.
    let signature = run(home.path(), &["signature", "--jsonl"], &{
        let text = trace["samples"][0].as_str().unwrap();
        serde_json::json!({"id": 1, "text": text}).to_string()
    });
    let signed: Value = serde_json::from_str(&signature.out).unwrap();
    assert_eq!(signed["signature"], trace["signature"]);
    // It looks, and writes nothing.
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(home.path(), &["logs", "nosuch.log"], "");
    assert_eq!(ran.code, 64);
    assert!(ran.err.contains("nosuch.log"), "{}", ran.err);
}

#[test]
fn the_patterns_of_the_home_win_and_are_checked_with_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("collectors")).unwrap();
    fs::write(at("config.json"), r#"{"detection": {"rpcErrRe": "reverted"}}"#).unwrap();
    let own = r#"{"version": 1, "patterns": [
        {"id": "agents", "regex": "agent started", "severity": "critical", "kind": "runtime", "alert": "Z1"}]}"#;
    fs::write(at("collectors/patterns.json"), own).unwrap();
    let ran = run(home.path(), &["logs"], &[LOG, "call reverted\n"].concat());
    assert!(ran.out.starts_with("2 causes in 2 events"), "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("Z1 agents") && ran.out.contains("rpc-error"),
        "{}",
        ran.out
    );

    fs::write(
        at("config.json"),
        r#"{"detection": {"rpcErrRe": "x*"}, "limits": {"diff_lines": 0}}"#,
    )
    .unwrap();
    let wrong = r#"{"version": 1, "patterns": [
        {"id": "open", "regex": "(boom", "severity": "high", "kind": "runtime"},
        {"id": "all", "regex": ".*", "severity": "high", "kind": "runtime"}]}"#;
    fs::write(at("collectors/patterns.json"), wrong).unwrap();
    for verb in [&["config", "check"][..], &["logs"], &[]] {
        let ran = run(home.path(), verb, "");
        assert_eq!(ran.code, 78, "{verb:?}");
        for part in [
            "config.json has 4 problems; nothing was run",
            "limits.diff_lines",
            "collectors/patterns.json.patterns[0].regex",
            "\"(boom\" is not a regular expression",
            "collectors/patterns.json.patterns[1].regex",
            "\".*\" matches the empty string",
            "detection.rpcErrRe",
            "\"x*\" matches the empty string",
        ] {
            assert!(ran.err.contains(part), "{verb:?} does not say {part}: {}", ran.err);
        }
    }
    let own = at("collectors/patterns.json");
    let elsewhere = tempfile::tempdir().unwrap();
    let ran = run(elsewhere.path(), &["logs", "--patterns", own.to_str().unwrap()], "");
    assert_eq!(ran.code, 78);
    assert!(ran.err.contains("patterns[1].regex"), "{}", ran.err);
}
