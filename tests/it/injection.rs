//! Hostile texts through the built program: each arrives where its case says, and what the program then wrote, called and
//! decided is looked at. Cases of our own always, the larger public ones where they lie beside the checkout.

mod sinks;

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    street::{Street, tracked},
    support::{root, shared},
};
use sinks::Sinks;

pub(crate) const CANARY: &str = "canary-fake-Q7w8E9r0T1y2U3i4";
const HEAD: &str = "3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201";
/// Texts of one look, so that no limit of new causes keeps any of them back.
const BATCH: usize = 10;

/// What a hostile text would have to do to be noticed.
struct Traps {
    room: tempfile::TempDir,
    listener: TcpListener,
}

impl Traps {
    fn set() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self {
            room: tempfile::tempdir().unwrap(),
            listener,
        }
    }

    /// The text with its placeholders filled.
    fn arm(&self, text: &str) -> String {
        use base64::Engine as _;
        let base64 = base64::engine::general_purpose::STANDARD.encode(CANARY);
        let hex = hex(CANARY);
        let port = self.listener.local_addr().unwrap().port().to_string();
        let reversed: String = CANARY.chars().rev().collect();
        let mut text = text.to_owned();
        for (name, value) in [
            ("{{SENTINEL}}", self.room.path().join("sentinel").to_str().unwrap()),
            ("{{FORBIDDEN_PORT}}", &port),
            ("{{FENCE_BEGIN}}", "<<<untrusted 0011223344556677"),
            ("{{FENCE_END}}", "untrusted 0011223344556677>>>"),
            ("{{PREV_FENCE_END}}", "untrusted 8899aabbccddeeff>>>"),
            ("{{HEAD_SHA}}", HEAD),
            ("{{HEAD_SHA_SHORT}}", &HEAD[..8]),
            ("{{OTHER_SHA}}", &"0".repeat(40)),
            ("{{CANARY}}", CANARY),
            ("{{CANARY_B64}}", &base64),
            ("{{CANARY_HEX}}", &hex),
            ("{{CANARY_REVERSED}}", &reversed),
            ("{{CANARY_REQUEST}}", ""),
        ] {
            text = text.replace(name, value);
        }
        repeated(text)
    }

    fn assert_untouched(&self, what: &str) {
        let left: Vec<_> = fs::read_dir(self.room.path()).unwrap().collect();
        assert!(left.is_empty(), "{what}: {left:?}");
        let reached = self.listener.accept();
        assert!(reached.is_err(), "{what}: the forbidden port was called");
    }
}

fn hex(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut hex, byte| {
        let _infallible = write!(hex, "{byte:02x}");
        hex
    })
}

/// `{{REPEAT:n:piece}}` of a text, with the number in the place of `%d`.
fn repeated(mut text: String) -> String {
    while let Some(start) = text.find("{{REPEAT:") {
        let end = start + text[start..].find("}}").unwrap();
        let (times, piece) = text[start + 9..end].split_once(':').unwrap();
        let times = times.parse::<usize>().unwrap().min(20_000);
        let all: String = (0..times).map(|n| piece.replace("%d", &n.to_string())).collect();
        text.replace_range(start..end + 2, &all);
    }
    text
}

/// Every case that must hold here, ours first.
fn cases() -> Vec<Value> {
    let own = fs::read_to_string(root().join("tests/corpus/injection.jsonl")).unwrap();
    let public = shared("bench/injection/payloads.jsonl").unwrap_or_default();
    let due = |case: &Value| {
        let place = case["where"].as_str().unwrap();
        case["strength"] != "should" && !place.starts_with("repo_file:") && place != "session_jsonl"
    };
    let all = own
        .lines()
        .chain(public.lines())
        .map(|line| serde_json::from_str(line).unwrap());
    all.filter(due).collect()
}

/// Cases of these places, each with its text.
fn of<'a>(traps: &Traps, cases: &'a [Value], places: &[&str]) -> Vec<(&'a str, &'a Value, String)> {
    let there = |case: &&Value| places.contains(&case["where"].as_str().unwrap());
    let text = |case: &Value| {
        case["payload"].as_str().map_or_else(
            // Bytes that are no text reach the program where bytes can; here they are what a reader makes of them.
            || String::from_utf8_lossy(&sinks::base64(case["payload_b64"].as_str().unwrap())).into_owned(),
            |text| traps.arm(text),
        )
    };
    let found = cases.iter().filter(there);
    found
        .map(|case| (case["id"].as_str().unwrap(), case, text(case)))
        .collect()
}

/// Places whose text is no answer, program or pattern of its own, and so can stand in any field.
const FIELDS: [&str; 25] = [
    "log",
    "page",
    "name",
    "stable",
    "vercel_log",
    "railway_log",
    "ci_log",
    "sentry_title",
    "sentry_culprit",
    "sentry_stack_frame",
    "sentry_breadcrumb",
    "sentry_tag",
    "health_header",
    "test_name",
    "branch_name",
    "pr_title",
    "pr_body",
    "pr_comment",
    "issue_body",
    "file_name",
    "symlink",
    "commit_message",
    "commit_author",
    "agent_output:fixer",
    "agent_output:audit",
];

fn street(more: impl FnOnce(&str) -> Value) -> Street {
    let street = Street::new(|url| {
        let mut config = json!({ "repos": { "shop": tracked(url, "/shop") }, "notify": { "file": "mail" },
                                 "retry": { "attempts": 1, "seconds": 0 } });
        let (Value::Object(config), Value::Object(more)) = (&mut config, more(url)) else {
            unreachable!()
        };
        config.extend(more);
        json!(config)
    });
    street.env(&format!("GITHUB_TOKEN={CANARY}\n"));
    street.errors("/shop", &[]);
    street
}

#[test]
fn in_all_that_is_written_they_are_text() {
    let (traps, all) = (Traps::set(), cases());
    let texts = of(&traps, &all, &FIELDS);
    assert!(texts.len() >= 75, "{}", texts.len());
    let mut street = street(|url| {
        json!({ "github": { "api": url }, "repos": {
            "shop": tracked(url, "/shop"), "forge": { "github": "acme/forge", "branch": "main" } } })
    });
    for (path, body) in [
        ("pulls", "[]"),
        ("commits", "[]"),
        ("actions/runs", r#"{"total_count":0,"workflow_runs":[]}"#),
    ] {
        street.answer(&format!("/repos/acme/forge/{path}"), 200, &body);
    }
    let mut sinks = Sinks::default();
    sinks.said(&street.tick(&[]));
    for batch in texts.chunks(BATCH) {
        street.step(24 * 60);
        let at = street.now.to_rfc3339();
        let errors: Vec<Value> = batch.iter().map(|(_, _, text)| json!({
            "type": "ValueError", "message": text, "stack": format!("ValueError: {text}\n  at {text} (src/{text}:3:1)"),
            "count": 2, "first_seen": at, "last_seen": at, "route": text,
        })).collect();
        street.report("/shop", &json!(errors));
        let pulls: Vec<Value> = batch.iter().enumerate().map(|(n, (_, _, text))| json!({
            "number": n + 1, "title": text, "body": text, "draft": false, "user": { "login": text, "type": "User" },
            "head": { "ref": text, "sha": HEAD, "repo": { "full_name": "acme/forge" } }, "updated_at": at,
        })).collect();
        street.answer("/repos/acme/forge/pulls", 200, &json!(pulls));
        let started = tick::adapters::clock::instant();
        let done = street.tick(&[]);
        assert!(started.elapsed() < Duration::from_mins(1));
        assert!(
            matches!(done.status.code(), Some(0 | 1)),
            "{}",
            crate::spine::shown(&done)
        );
        sinks.said(&done);
        sinks.snapshot(&street.home());
    }
    for verb in [
        &["status"][..],
        &["incidents"],
        &["incidents", "--known"],
        &["incidents", "--json"],
        &["status", "--json"],
    ] {
        sinks.said(&street.tick(verb));
    }
    sinks.files(&street.home());
    let written = sinks.words();
    let arrived = |text: &str| sinks::words(text).any(|word| written.contains(word));
    let found = texts.iter().filter(|(_, _, text)| arrived(text)).count();
    assert!(found > texts.len() / 2, "only {found} of {} arrived", texts.len());
    sinks.assert_harmless();
    traps.assert_untouched("a look");
    println!("{} hostile texts in {} places", texts.len(), sinks.len());
}

/// What a look decides: whether something wakes or blinds it, and how grave the gravest is.
fn decided(street: &Street) -> (Option<i32>, Value) {
    let collected = street.tick(&["collect"]);
    let snapshot: Value = serde_json::from_slice(&collected.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", crate::spine::shown(&collected)));
    let file = street.home().join("signals");
    fs::create_dir_all(&file).unwrap();
    fs::write(file.join("latest.json"), snapshot.to_string()).unwrap();
    let grave = |word: &str| {
        snapshot["signals"]
            .as_array()
            .unwrap()
            .iter()
            .any(|signal| signal["severity"] == word)
    };
    let gravest = ["critical", "error", "warning", "info"]
        .into_iter()
        .find(|word| grave(word));
    (street.tick(&["gate"]).status.code(), json!(gravest))
}

#[test]
fn a_decision_is_the_one_of_harmless_text() {
    let (traps, all) = (Traps::set(), cases());
    let street = street(|_| json!({}));
    let mut seen = 0;
    let places = |case: &Value| {
        case["props"]
            .as_array()
            .is_some_and(|props| props.contains(&json!("decision_unchanged")))
    };
    for (id, case, text) in of(&traps, &all, &FIELDS) {
        if !places(case) {
            continue;
        }
        let decide = |text: &str| {
            street.errors("/shop", &[(text, 2, 1)]);
            decided(&street)
        };
        let control = traps.arm(case["control"].as_str().unwrap());
        assert_eq!(decide(&text), decide(&control), "{id}");
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
    traps.assert_untouched("a decision");
}

#[test]
fn an_answer_never_talks_itself_healthy() {
    let (traps, all) = (Traps::set(), cases());
    let street = street(|url| {
        json!({ "repos": { "shop": {
            "health": [{ "url": format!("{url}/health"), "expect": { "jq": ".status == \"ok\"" } }],
            "jsonrpc": [{ "url": format!("{url}/rpc"), "method": "eth_blockNumber" }] } } })
    });
    let good_rpc = r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#;
    let mut seen = 0;
    for (id, case, text) in of(&traps, &all, &["health_body", "rpc_error"]) {
        let decide = |text: &str| {
            let is_rpc = case["where"] == "rpc_error";
            let (health, rpc) = if is_rpc {
                (r#"{"status":"ok"}"#, text)
            } else {
                (text, good_rpc)
            };
            street.answer("/health", 200, &health);
            street.answer("/rpc", 200, &rpc);
            decided(&street)
        };
        let (code, _) = decide(&text);
        let is_healthy = code == Some(0);
        let (control, _) = decide(&traps.arm(case["control"].as_str().unwrap_or("[]")));
        assert_eq!(is_healthy, control == Some(0), "{id}: {code:?} and {control:?}");
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
    traps.assert_untouched("an answer");
}

/// A server that sends every caller somewhere else.
fn sends_to(place: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    drop(std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _asked = stream.read(&mut [0; 4096]);
            let _gone = stream.write_all(answer.as_bytes());
        }
    }));
    port
}

#[test]
fn nobody_is_led_elsewhere() {
    let (traps, all) = (Traps::set(), cases());
    let redirects = of(&traps, &all, &["health_redirect"]);
    assert!(redirects.len() >= 3);
    for (id, _, place) in redirects {
        let port = sends_to(&place);
        let street =
            street(|_| json!({ "repos": { "shop": { "health": [{ "url": format!("http://127.0.0.1:{port}/") }] } } }));
        let (code, _) = decided(&street);
        assert_ne!(code, Some(0), "{id}");
        traps.assert_untouched(id);
    }
}

#[test]
fn a_gate_stays_a_gate() {
    let (traps, all) = (Traps::set(), cases());
    let street = street(|_| json!({}));
    let gate = street.home().join("collectors/gate.jq");
    fs::create_dir(gate.parent().unwrap()).unwrap();
    decided(&street);
    let programs = of(&traps, &all, &["gate_filter"]);
    assert!(programs.len() >= 3);
    for (id, _, program) in programs {
        fs::write(&gate, program).unwrap();
        let started = tick::adapters::clock::instant();
        let done = street.tick(&["gate"]);
        let reply: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(
            (done.status.code(), reply["fault"].is_string()),
            (Some(3), true),
            "{id}: {reply}"
        );
        assert!(started.elapsed() < Duration::from_secs(10), "{id}");
        // A look meets the same fault, tells a person, and leaves the lock free for the next.
        for _ in 0..2 {
            let done = street.tick(&["--observe"]);
            let text = crate::spine::shown(&done);
            assert!(matches!(done.status.code(), Some(1 | 3)), "{id}: {text}");
            assert!(!text.contains(CANARY), "{id}");
        }
    }
    traps.assert_untouched("a gate");
}

#[test]
fn a_pattern_ends() {
    let (traps, all) = (Traps::set(), cases());
    let street = street(|_| json!({}));
    let mut config = street.config();
    let patterns = of(&traps, &all, &["config_regex"]);
    assert!(patterns.len() >= 3);
    for (id, _, pattern) in patterns {
        config["detection"] = json!({ "rpcErrRe": pattern });
        street.configure(&config);
        let started = tick::adapters::clock::instant();
        let done = street.tick(&["config", "check"]);
        let text = crate::spine::shown(&done);
        match done.status.code() {
            Some(78) => assert!(text.contains("detection.rpcErrRe"), "{id}: {text}"),
            Some(0) => {
                let log = street.home().join("x.log");
                fs::write(&log, "x".repeat(50_000)).unwrap();
                assert_eq!(
                    street.tick(&["logs", log.to_str().unwrap()]).status.code(),
                    Some(0),
                    "{id}"
                );
            }
            other => panic!("{id}: {other:?} {text}"),
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{id}");
    }
}

/// Everything below a directory, as paths that begin there.
pub(crate) fn below(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all
}
