//! `tick collect` through the real binary.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
};

use assert_cmd::Command;
use serde_json::{Value, json};

/// A service that is well: answers every request with the same JSON, until the test ends.
fn service() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            // A client without a descriptor left goes away early.
            let _ignored = stream.read(&mut request);
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"ok\":true}";
            let _ignored = stream.write_all(answer.as_bytes());
        }
    });
    port
}

fn home(config: &Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    dir
}

#[test]
fn a_healthy_service_is_one_good_outcome() {
    let url = format!("http://127.0.0.1:{}/health", service());
    let home = home(&json!({"repos": {"web": {"health": [{"url": url, "expect": {"jq": ".ok == true"}}]}}}));
    let done = Command::cargo_bin("tick")
        .unwrap()
        .args(["--home", home.path().to_str().unwrap(), "collect"])
        .output()
        .unwrap();
    let snapshot: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{snapshot}");
    assert_eq!(snapshot["signals"], json!([]));
    assert_eq!(snapshot["collectors"][0]["outcome"], "ok");
    assert_eq!(snapshot["collectors"][0]["items"], 1);
}

#[test]
fn a_collector_that_is_not_there_is_a_wrong_command_line() {
    let home = home(&json!({"repos": {"web": {"health": [{"url": "http://127.0.0.1:9/"}]}}}));
    let done = Command::cargo_bin("tick")
        .unwrap()
        .args(["--home", home.path().to_str().unwrap(), "collect", "--only", "nosuch"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&done.stderr).contains("health"));
}

/// With ever fewer descriptors something fails at some point. Whatever it is, the service is never called down.
#[test]
fn own_lack_of_descriptors_is_blindness_and_never_an_outage() {
    let url = format!("http://127.0.0.1:{}/health", service());
    let home = home(&json!({"repos": {"web": {"health": [{"url": url}]}}}));
    let mut seen = Vec::new();
    for limit in 4..20 {
        let line = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let binary = assert_cmd::cargo::cargo_bin("tick");
        let done = Command::new("sh")
            .args(["-c", &line])
            .arg(&binary)
            .args(["--home", home.path().to_str().unwrap(), "collect"])
            .output()
            .unwrap();
        let Ok(snapshot) = serde_json::from_slice::<Value>(&done.stdout) else {
            assert_ne!(done.status.code(), Some(0), "{limit}");
            continue;
        };
        assert_eq!(snapshot["signals"], json!([]), "{limit}: {snapshot}");
        let cause = snapshot["collectors"][0]["cause"].as_str().unwrap_or("").to_owned();
        assert_eq!(
            done.status.code(),
            Some(if cause.is_empty() { 0 } else { 3 }),
            "{limit}: {snapshot}"
        );
        seen.push(cause);
    }
    assert!(seen.iter().any(|cause| cause == "emfile"), "{seen:?}");
    assert!(seen.iter().any(String::is_empty), "{seen:?}");
}
