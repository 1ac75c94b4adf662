//! Ten megabytes that inflate to ten gigabytes, at every kind of read: the program stays small and says what it met.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    process::Stdio,
};

use flate2::{Compress, Compression, FlushCompress};
use serde_json::{Value, json};

use crate::support::path_variable;

const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Mebibytes of blanks.
const LENGTH: usize = 10 * 1024;

/// A piece of a stream that stands for a mebibyte of blanks wherever it is put.
fn block() -> Vec<u8> {
    let mut block = Vec::with_capacity(1 << 16);
    let mut deflate = Compress::new(Compression::best(), false);
    let blanks = vec![b' '; 1 << 20];
    deflate.compress_vec(&blanks, &mut block, FlushCompress::Full).unwrap();
    block
}

const SHA: &str = "3484a3fb816e0859fd6e1cea078d76385ff50625";

/// An archive with one log that inflates to ten gigabytes, whatever size it declares.
fn archive(declared: u32) -> Vec<u8> {
    let block = block();
    // A stream ends with an empty piece.
    let packed = u32::try_from(LENGTH * block.len() + 2).unwrap();
    let name = b"0_test.txt";
    let about = |offset: Option<u32>| {
        let number = |n: u32| n.to_le_bytes().to_vec();
        let short = |n: u16| n.to_le_bytes().to_vec();
        let mut head = match offset {
            None => b"PK\x03\x04".to_vec(),
            Some(_) => [&b"PK\x01\x02"[..], &[20, 0]].concat(),
        };
        // Version, flags, deflated, no time, no checksum, sizes.
        head.extend(
            [
                short(20),
                short(0),
                short(8),
                number(0),
                number(0),
                number(packed),
                number(declared),
            ]
            .concat(),
        );
        head.extend([short(u16::try_from(name.len()).unwrap()), short(0)].concat());
        if let Some(offset) = offset {
            head.extend([short(0), short(0), short(0), number(0), number(offset)].concat());
        }
        head.extend(name);
        head
    };
    let mut zip = about(None);
    zip.extend(block.repeat(LENGTH));
    zip.extend([3, 0]);
    let start = u32::try_from(zip.len()).unwrap();
    let central = about(Some(0));
    zip.extend(&central);
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(u32::try_from(central.len()).unwrap().to_le_bytes());
    zip.extend(start.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// A forge whose newest run is red, and whose log is this archive, or this text.
fn forge(log: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = json!({"id": 5, "name": "CI", "path": ".github/workflows/ci.yml", "workflow_id": 1, "event": "push",
        "status": "completed", "conclusion": "failure", "head_branch": "main", "head_sha": SHA, "run_attempt": 1,
        "html_url": "https://forge.example/runs/5", "created_at": "2026-11-29T02:00:00Z",
        "run_started_at": "2026-11-29T02:00:00Z", "updated_at": "2026-11-29T02:01:00Z"});
    let job = json!({"id": 77, "name": "test", "conclusion": "failure", "html_url": "https://forge.example/jobs/77",
        "steps": [{"name": "Run tests", "conclusion": "failure"}]});
    let runs = json!({"total_count": 1, "workflow_runs": [run]}).to_string();
    let jobs = json!({"total_count": 1, "jobs": [job]}).to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..n]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let (status, body) = if path.contains("/attempts/1/logs") {
                (200, &log[..])
            } else if path.ends_with("/jobs/77/logs") {
                (404, &b"{}"[..])
            } else if path.contains("/jobs") {
                (200, jobs.as_bytes())
            } else if path.contains("/actions/runs") {
                (200, runs.as_bytes())
            } else {
                (200, &b"[]"[..])
            };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    port
}

#[test]
fn a_log_of_ten_gigabytes_in_an_archive_costs_no_memory() {
    if cfg!(not(target_os = "linux")) {
        println!("skipped (optional): the peak of memory is read from /proc");
        return;
    }
    let look = |log: Vec<u8>| {
        let api = format!("http://127.0.0.1:{}", forge(log));
        let config = json!({"mode": "observe", "retry": {"attempts": 1}, "github": {"api": api},
            "repos": {"shop": {"github": "acme/shop", "branch": "main"}}});
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.json"), config.to_string()).unwrap();
        let (peak, snapshot) = collect(home.path());
        let told = snapshot["signals"].as_array().unwrap();
        assert!(
            told.iter().any(|signal| signal["kind"] == "ci"),
            "it is red: {snapshot:#}"
        );
        (peak, snapshot["collectors"].to_string())
    };
    let log = b"##[group]Run make test\nAssertionError: 3 != 4\n##[error]Process completed with exit code 2.\n";
    let (plain, _) = look(log.to_vec());
    // It says so of itself, and is read up to the cap; it lies, and is refused where the lie shows.
    for (declared, said) in [(u32::MAX - 1, None), (1000, Some("larger than its declared"))] {
        let bomb = archive(declared);
        assert!(bomb.len() < 12 << 20);
        let (peak, told) = look(bomb);
        assert_eq!(told.contains("cannot be read"), said.is_some(), "{told}");
        assert!(told.contains(said.unwrap_or_default()), "{told}");
        let rise = peak.saturating_sub(plain) >> 10;
        assert!(plain > 0 && rise <= 64, "{rise} MiB more than {} MiB", plain >> 10);
        println!("{rise} MiB more than {} MiB", plain >> 10);
    }
}

/// Answers what is plain by its path, and everything whose path holds `bomb` with the bomb.
fn service() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let block = block();
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..n]).into_owned();
            let start = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            // The client goes away in the middle of it.
            let _ignored = if head.contains("bomb") {
                write!(stream, "{start}content-encoding: gzip\r\n\r\n")
                    .and_then(|()| stream.write_all(&HEAD))
                    .and_then(|()| (0..LENGTH).try_for_each(|_| stream.write_all(&block)))
            } else {
                let body = if head.contains("/rpc") {
                    r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#
                } else {
                    "[]"
                };
                write!(stream, "{start}content-length: {}\r\n\r\n{body}", body.len())
            };
        }
    });
    port
}

/// Peak of memory in KiB, and the snapshot.
#[expect(clippy::disallowed_methods, reason = "its memory is looked at while it runs")]
fn collect(home: &Path) -> (u64, Value) {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tick"))
        .args(["--home", home.to_str().unwrap(), "collect"])
        .env_clear()
        .env("PATH", path_variable())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| text)
    });
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let now = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let text = reader.join().unwrap().unwrap();
    (peak, serde_json::from_slice(&text).unwrap())
}

#[test]
fn ten_gigabytes_in_ten_megabytes_cost_no_memory() {
    if cfg!(not(target_os = "linux")) {
        println!("skipped (optional): the peak of memory is read from /proc");
        return;
    }
    let port = service();
    let look = |kind: &str, path: &str| {
        let url = format!("http://127.0.0.1:{port}{path}");
        let repo = match kind {
            "health" => json!({"health": [{"url": url, "expect": {"contains": "ok"}}]}),
            "jsonrpc" => json!({"jsonrpc": [{"url": url, "method": "x"}]}),
            "pulls" => json!({"github": "acme/shop", "branch": "main"}),
            declared => json!({"collectors": {declared: {"values": {"url": url}}}}),
        };
        let config =
            json!({"mode": "observe", "retry": {"attempts": 1}, "github": {"api": url}, "repos": {"shop": repo}});
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("config.json"), config.to_string()).unwrap();
        collect(home.path())
    };
    for kind in ["health", "jsonrpc", "pulls", "alertmanager", "statuspage"] {
        let (plain, _) = look(kind, "/rpc");
        let (peak, snapshot) = look(kind, "/bomb");
        let outcome = &snapshot["collectors"][0];
        assert_eq!(outcome["cause"], "too-large", "{kind}: {outcome}");
        let rise = peak.saturating_sub(plain) >> 10;
        assert!(
            plain > 0 && rise <= 64,
            "{kind}: {rise} MiB more than {} MiB",
            plain >> 10
        );
    }
}
