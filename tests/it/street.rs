//! A small street: one server on loopback that plays error trackers, pages and a mail server that is away, and a home
//! that looks at it. For stories that need no forge and no repair; times are given, nothing waits.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
    process::Output,
    sync::{Arc, Mutex},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::{
    spine::{at, shown},
    support::tick,
};

/// Answers by path: status and body.
type Answers = Arc<Mutex<BTreeMap<String, (u16, String)>>>;

pub(crate) struct Street {
    answers: Answers,
    port: u16,
    home: tempfile::TempDir,
    pub(crate) now: DateTime<Utc>,
}

impl Street {
    /// A home whose config is made with the address of the server.
    pub(crate) fn new(config: impl FnOnce(&str) -> Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = Answers::default();
        let known = Arc::clone(&answers);
        // Ends with the test's process; it waits on a socket of its own and holds nothing else.
        drop(std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 8192];
                let Ok(n) = stream.read(&mut request) else { continue };
                let request = String::from_utf8_lossy(&request[..n]).into_owned();
                let path = request.split([' ', '?']).nth(1).unwrap_or_default();
                let (status, body) = known.lock().unwrap().get(path).cloned().unwrap_or((404, String::new()));
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _gone = stream.write_all((head + &body).as_bytes());
            }
        }));
        let street = Self {
            answers,
            port,
            home: tempfile::tempdir().unwrap(),
            now: at("2026-11-29T03:00:00Z"),
        };
        let config = config(&street.url(""));
        street.configure(&config);
        street
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    pub(crate) fn configure(&self, config: &Value) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.home().join("config.json");
        fs::write(&file, config.to_string()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn config(&self) -> Value {
        serde_json::from_slice(&fs::read(self.home().join("config.json")).unwrap()).unwrap()
    }

    pub(crate) fn env(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.home().join(".env");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn answer(&self, path: &str, status: u16, body: &impl ToString) {
        let mut answers = self.answers.lock().unwrap();
        answers.insert(path.to_owned(), (status, body.to_string()));
    }

    /// What the tracker below a path reports: `(message, count, minutes ago)`.
    pub(crate) fn errors(&self, tracker: &str, errors: &[(&str, u64, i64)]) {
        let list: Vec<Value> = errors
            .iter()
            .map(|(message, count, ago)| {
                let at = (self.now - TimeDelta::minutes(*ago)).to_rfc3339();
                json!({ "type": "ValueError", "message": message, "stack": null, "count": count,
                        "first_seen": at, "last_seen": at, "route": "/" })
            })
            .collect();
        self.report(tracker, &json!(list));
    }

    pub(crate) fn report(&self, tracker: &str, exceptions: &Value) {
        let body = json!({ "release": null, "requests": 100, "exceptions": exceptions });
        self.answer(&format!("{tracker}/api/exceptions"), 200, &body);
    }

    /// From now on this check of the owner's is fine, or critical.
    pub(crate) fn plugin(&self, name: &str, fine: bool) {
        use std::os::unix::fs::PermissionsExt;
        let (word, code) = if fine { ("OK", 0) } else { ("CRITICAL", 2) };
        let dir = self.home().join("collectors");
        fs::create_dir_all(&dir).unwrap();
        let said = format!("{} {word}", name.to_uppercase());
        fs::write(dir.join(name), format!("#!/bin/sh\necho '{said}'; exit {code}\n")).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn step(&mut self, minutes: i64) {
        self.now += TimeDelta::minutes(minutes);
    }

    pub(crate) fn tick(&self, args: &[&str]) -> Output {
        let now = self.now.to_rfc3339();
        tick(&self.home())
            .arg("--home")
            .arg(self.home())
            .args(["--now", &now])
            .args(args)
            .output()
            .unwrap()
    }

    /// Exit code, and all that was printed, as one line: where it wraps says nothing.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, String) {
        let output = self.tick(args);
        let words: Vec<String> = shown(&output).split_whitespace().map(str::to_owned).collect();
        (output.status.code().unwrap_or(-1), words.join(" "))
    }

    /// Every message so far, sorted by file name: the text with its headers.
    pub(crate) fn mails(&self) -> Vec<String> {
        let Ok(dir) = fs::read_dir(self.home().join("mail")) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = dir.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
    }
}

/// A repo that only its error tracker, below `path` of the street, is read of.
pub(crate) fn tracked(url: &str, path: &str) -> Value {
    json!({ "collectors": { "exceptions": { "values": { "url": format!("{url}{path}") } } } })
}
