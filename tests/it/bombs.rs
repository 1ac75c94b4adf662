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
            "health" => json!({"health": [{"url": url}]}),
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
