//! Programs of the owner's as a source, through the built program: the plugins that Debian ships, and programs that
//! misbehave.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use serde_json::{Value, json};

use crate::support::{CLOSED_PORT, lacks, path_variable, tick};

const PLUGINS: &str = "/usr/lib/nagios/plugins";

/// A home with these checks, and its `collectors` directory.
fn home(checks: &Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = json!({"mode": "observe", "repos": {"shop": {"exec": checks}}});
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    fs::create_dir(dir.path().join("collectors")).unwrap();
    dir
}

fn script(home: &Path, name: &str, text: &str) {
    let file = home.join("collectors").join(name);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The snapshot of one collection, and its exit code.
fn collect(home: &Path) -> (Value, Option<i32>) {
    let done = tick(home)
        .env("SHOP_DB_PASSWORD", "fake-pass-not-real-0123")
        .args(["--home", home.to_str().unwrap(), "collect"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    let snapshot = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    (snapshot, done.status.code())
}

/// Check, severity, title of each signal.
fn told(snapshot: &Value) -> Vec<(&str, &str, &str)> {
    let signals = snapshot["signals"].as_array().unwrap();
    signals
        .iter()
        .map(|signal| {
            (
                signal["evidence"]["check"].as_str().unwrap(),
                signal["severity"].as_str().unwrap(),
                signal["title"].as_str().unwrap(),
            )
        })
        .collect()
}

/// Answers `/` with 200 and everything else with 500 until the test ends.
fn web() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let status = if request[..n].starts_with(b"GET / ") {
                "200 OK"
            } else {
                "500 Broken"
            };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
            // Some of the plugins only connect.
            let _ignored = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn the_plugins_of_debian_say_what_is_wrong() {
    if !Path::new(PLUGINS).join("check_http").is_file() {
        lacks("monitoring-plugins");
        return;
    }
    let (port, closed) = (web().to_string(), CLOSED_PORT.to_string());
    let checks = json!({
        "tcp-up": {"program": "check_tcp", "args": ["-H", "127.0.0.1", "-p", port]},
        "tcp-down": {"program": "check_tcp", "args": ["-H", "127.0.0.1", "-p", closed]},
        "web-up": {"program": "check_http", "args": ["-I", "127.0.0.1", "-p", port, "-u", "/"]},
        "web-down": {"program": "check_http", "args": ["-I", "127.0.0.1", "-p", port, "-u", "/cart"]},
        "disk-room": {"program": "check_disk", "args": ["-w", "0%", "-c", "0%", "-p", "/usr"]},
        "disk-full": {"program": "check_disk", "args": ["-w", "100%", "-c", "0%", "-p", "/usr"]},
        "procs": {"program": "check_procs", "args": ["-c", "1000000:"]},
        "load": {"program": "check_load", "args": ["-w", "10000,10000,10000", "-c", "20000,20000,20000"]},
        "age": {"program": "check_file_age", "args": ["-f", "/no/such/file"]},
        "path": {"program": "check_disk", "args": ["-w", "10%", "-c", "5%", "-p", "/no/such/path"]},
        "unknown": {"program": "check_dummy", "args": ["3", "cannot tell"]},
    });
    let home = home(&checks);
    for name in [
        "check_tcp",
        "check_http",
        "check_disk",
        "check_procs",
        "check_load",
        "check_file_age",
        "check_dummy",
    ] {
        symlink(Path::new(PLUGINS).join(name), home.path().join("collectors").join(name)).unwrap();
    }
    let (snapshot, code) = collect(home.path());
    let signals = told(&snapshot);
    let found: Vec<(&str, &str)> = signals.iter().map(|(check, severity, _)| (*check, *severity)).collect();
    let outcome = &snapshot["collectors"][0];
    assert_eq!(
        found,
        [
            ("age", "critical"),
            ("disk-full", "warning"),
            ("path", "critical"),
            ("procs", "critical"),
            ("tcp-down", "critical"),
            ("web-down", "critical"),
        ],
        "{snapshot:#}"
    );
    assert!(signals[5].2.contains("500"), "{signals:?}");
    let metrics = snapshot["signals"][1]["evidence"]["metrics"].as_object().unwrap();
    assert!(
        metrics.values().any(|value| value.as_str().unwrap().ends_with('B')),
        "{metrics:?}"
    );
    assert_eq!(
        (&outcome["outcome"], &outcome["cause"]),
        (&json!("degraded"), &json!("unknown"))
    );
    assert!(
        outcome["detail"]
            .as_str()
            .unwrap()
            .contains("unknown: UNKNOWN: cannot tell"),
        "{outcome}"
    );
    assert_eq!(code, Some(3), "what a check could not tell is blindness");
    // Again: the same causes under the same names.
    let (again, _) = collect(home.path());
    let signatures = |snapshot: &Value| -> Vec<Value> {
        snapshot["signals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["signature"].clone())
            .collect()
    };
    assert_eq!(signatures(&snapshot), signatures(&again));
}

#[test]
fn a_program_reports_signals_and_changes_with_its_key_and_without_ours() {
    let checks = json!({"queue": {"program": "queue.sh", "output": "signals", "args": ["a b", "$HOME"],
        "env": {"PGPASSWORD": "SHOP_DB_PASSWORD"}}});
    let home = home(&checks);
    fs::write(home.path().join(".env"), "GITHUB_TOKEN=fake-token-not-real-456\n").unwrap();
    fs::set_permissions(home.path().join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(home.path().join("collectors/words.txt"), "from a file of its own").unwrap();
    let text = r#"#!/bin/sh
dir=$(dirname "$0")
touch here || exit 9
(cat "$dir/../.env") 2>/dev/null && exit 8
env | grep -q GITHUB && exit 7
printf '[{"title": "jobs wait %s %s", "message": "key %s, %s", "severity": "warning", "count": 3, "evidence":
  {"n": 1, "route": "/cart", "password": "fake0Fake1", "user.name": "ada", "otp": 482913, "cookie": "sid=fake0Fake1"}}]' \
    "$1" "$2" "$PGPASSWORD" "$(cat "$dir/words.txt")"
"#;
    script(home.path(), "queue.sh", text);
    let (snapshot, code) = collect(home.path());
    let signal = &snapshot["signals"][0];
    assert_eq!(
        told(&snapshot),
        [("queue", "warning", "jobs wait a b $HOME")],
        "{snapshot:#}"
    );
    let message = signal["message"].as_str().unwrap();
    assert!(
        message.contains("from a file of its own") && !message.contains("fake-pass"),
        "{message}"
    );
    assert_eq!(
        (&signal["source"], &signal["kind"], &signal["count"]),
        (&json!("exec"), &json!("alert"), &json!(3))
    );
    let fields = json!({ "n": 1, "route": "/cart", "password": "[redacted:key]", "user.name": "[redacted:user]",
        "otp": "[redacted:user]", "cookie": "sid=[redacted:cookie]" });
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(signal["evidence"][name], *value, "{name}");
    }
    assert_eq!(code, Some(0));

    script(
        home.path(),
        "queue.sh",
        r#"#!/bin/sh
echo '{"signals": [], "requests": 7, "changes": [{"at": "2026-11-29T03:00:00Z", "kind": "deployment", "key": "d1", "what": "release 5"}]}'
"#,
    );
    let (snapshot, _) = collect(home.path());
    assert_eq!(snapshot["changes"][0]["what"], "release 5", "{snapshot:#}");
    assert_eq!(snapshot["collectors"][0]["requests"], 7);
}

#[test]
fn a_program_that_misbehaves_is_ended_and_named_and_hides_nothing() {
    let checks = json!({
        "hangs": {"program": "hangs.sh", "timeout_seconds": 1},
        "leaves": {"program": "leaves.sh"},
        "floods": {"program": "floods.sh", "output": "signals"},
        "dies": {"program": "dies.sh"},
        "crashes": {"program": "crashes.sh"},
        "words": {"program": "words.sh", "output": "signals"},
        "works": {"program": "works.sh"},
    });
    let home = home(&checks);
    for (name, text) in [
        ("hangs.sh", "trap '' TERM; sleep 300 & sleep 300"),
        (
            "leaves.sh",
            "setsid sleep 300 >/dev/null 2>&1 & echo \"left $!\"; exit 1",
        ),
        ("floods.sh", "exec yes '[]'"),
        ("dies.sh", "kill -SEGV $$"),
        ("crashes.sh", "echo 'no such table' >&2; exit 1"),
        ("words.sh", "echo '<html>'"),
        ("works.sh", "echo 'WARNING - 3 late'; exit 1"),
    ] {
        script(home.path(), name, &format!("#!/bin/sh\n{text}\n"));
    }
    let (snapshot, code) = collect(home.path());
    let outcome = &snapshot["collectors"][0];
    let detail = outcome["detail"].as_str().unwrap();
    for part in [
        "crashes: it ended with exit 1 and printed nothing: no such table",
        "dies: it was ended by signal 11",
        "floods: it wrote more than",
        "hangs: it was not done after 1 s and was ended",
        "words: the body is a page, not JSON",
    ] {
        assert!(detail.contains(part), "{part} is not in {detail}");
    }
    assert_eq!(outcome["outcome"], "degraded");
    assert_eq!(code, Some(3));
    let signals = told(&snapshot);
    assert_eq!(signals.len(), 2, "{signals:?}");
    assert_eq!(signals[1], ("works", "warning", "works: WARNING - 3 late"));
    let left = signals[0].2.rsplit(' ').next().unwrap();
    if cfg!(target_os = "linux") {
        assert!(!Path::new("/proc").join(left).exists(), "process {left} is still there");
    }
}

/// A package that is removed or upgraded must not end the look at everything else.
#[test]
fn a_program_that_is_gone_makes_its_check_blind_and_no_other() {
    let home = home(
        &json!({"disk": {"program": "check.sh"}, "queue": {"program": "queue.sh"}, "late": {"program": "late.sh"}}),
    );
    script(home.path(), "queue.sh", "#!/bin/sh\necho 'WARNING - 3 late'; exit 1\n");
    script(home.path(), "late.sh", "#!/bin/sh\necho OK\n");
    let late = home.path().join("collectors/late.sh");
    fs::set_permissions(late, fs::Permissions::from_mode(0o644)).unwrap();
    let (snapshot, code) = collect(home.path());
    let outcome = &snapshot["collectors"][0];
    let detail = outcome["detail"].as_str().unwrap();
    assert_eq!((code, &outcome["outcome"]), (Some(3), &json!("degraded")), "{detail}");
    assert!(
        detail.contains("disk: ") && detail.contains("late: ") && !detail.contains("queue: "),
        "{detail}"
    );
    assert_eq!(told(&snapshot), [("queue", "warning", "queue: WARNING - 3 late")]);
    let done = tick(home.path())
        .args(["--home", home.path().to_str().unwrap(), "config", "check"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "collectors/check.sh cannot be read",
        "collectors/late.sh is not executable: chmod u+x ",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is killed while it runs")]
fn what_a_killed_look_left_is_removed_by_the_next_one() {
    let home = home(&json!({"waits": {"program": "waits.sh"}}));
    let rooms = tempfile::tempdir().unwrap();
    let names = || -> Vec<_> {
        let entries = fs::read_dir(rooms.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    // It says by a file that it runs, and ends with what started it.
    script(home.path(), "waits.sh", "#!/bin/sh\ntouch here\nexec sleep 300\n");
    let mut looks = std::process::Command::new(env!("CARGO_BIN_EXE_tick"))
        .args(["--home", home.path().to_str().unwrap(), "collect"])
        .env_clear()
        .env("PATH", path_variable())
        .env("TMPDIR", rooms.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let started = tick::adapters::clock::instant();
    while !names().first().is_some_and(|room| room.join("here").exists()) {
        assert!(started.elapsed().as_secs() < 60, "it does not start");
        std::thread::yield_now();
    }
    looks.kill().unwrap();
    looks.wait().unwrap();
    assert_eq!(names().len(), 1);
    script(home.path(), "waits.sh", "#!/bin/sh\necho OK\n");
    let done = tick(home.path())
        .env("TMPDIR", rooms.path())
        .args(["--home", home.path().to_str().unwrap(), "--observe"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(names(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_others_could_change_is_not_started() {
    let check = |prepare: &dyn Fn(&Path), part: &str| {
        let home = home(&json!({"disk": {"program": "check.sh"}}));
        prepare(home.path());
        let done = tick(home.path())
            .args(["--home", home.path().to_str().unwrap(), "collect"])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(78));
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(told.contains(part), "{part} is not in {told}");
    };
    let mode = |file: &Path, mode: u32| fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    check(
        &|home| {
            script(home, "check.sh", "#!/bin/sh\necho OK\n");
            mode(&home.join("collectors/check.sh"), 0o777);
        },
        "may be written by others",
    );
    check(
        &|home| {
            let shared = home.join("shared");
            fs::create_dir(&shared).unwrap();
            fs::write(shared.join("tool"), "#!/bin/sh\necho OK\n").unwrap();
            mode(&shared.join("tool"), 0o755);
            mode(&shared, 0o777);
            symlink(shared.join("tool"), home.join("collectors/check.sh")).unwrap();
        },
        "may be written by others",
    );
}
