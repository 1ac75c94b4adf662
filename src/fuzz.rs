//! What reads text that others wrote, each as one function over bytes: for the fuzzer of `fuzz/`, and for the tests here,
//! which run the same functions over seeds and their mutations. An entry panics where the reader breaks a promise.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path, sync::LazyLock};

use crate::{
    adapters::{agents, git, suite},
    collect,
    config::{Home, env, env::Environment, load},
    decide::{
        gate,
        guards::{self, Diff, GuardPolicy, patch},
        verdict,
    },
    model::{Sha, Slot, signal::Snapshot},
    render::pr::Marker,
    store,
    text::{
        Redactor, Untrusted, clean,
        fence::{Nonce, code_block, fence},
        jq, json,
        logs::{Patterns, Reading},
        nagios, signature,
    },
};

/// A reader under test.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Texts that it reads to the end.
    pub seeds: &'static [&'static str],
}

macro_rules! targets {
    ($($name:ident: $run:expr, [$($seed:expr),* $(,)?];)*) => {
        pub static TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            run: $run,
            seeds: &[$($seed),*],
        }),*];

        #[cfg(test)]
        mod each {
            $(#[test]
            fn $name() {
                super::tests::mutate(stringify!($name));
            })*
        }
    };
}

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

const SNAPSHOT: &str = r#"{"schema":1,"tick":"20261129T030000Z-0","started_at":"2026-11-29T03:00:00Z","deep":false,"signals":[
  {"source":"health","repo":"web","target":"web","kind":"health","severity":"critical","title":"front: HTTP 503","message":"GET /: HTTP 503",
   "signature":"7f3a91c07f3a91c0","count":1,"first_seen":"2026-11-29T03:00:00Z","last_seen":"2026-11-29T03:00:00Z","evidence":{"status":503}}],
  "collectors":[{"name":"health","repo":"web","target":"web","outcome":"ok","ms":12,"items":1}],"open_pulls":[],
  "changes":[{"at":"2026-11-29T02:00:00Z","repo":"web","target":"web","source":"vercel","kind":"deployment","key":"d1","what":"a release"}]}"#;

const CONFIG: &str = r#"{ // what is watched
  "mode": "observe", "repos": { "web": { "github": "acme/web", "test": ["npm test"], "health": [{ "url": "https://acme.example/health",
  "expect": { "status": [200], "jq": ".ok == true" }, "every_minutes": 5 }], "jsonrpc": [{ "url": "https://rpc.acme.example", "method": "x" }],
  "logs": [{ "path": "/var/log/a.log" }], "collectors": { "alertmanager": { "values": { "url": "https://a.example" } } } } },
  "limits": { "usd_per_day": 2.5, "diff_lines": 100 }, "notify": { "file": "mail" }, }"#;

const LEDGER: &str = r#"{"seq":1,"at":"2026-11-29T03:00:00Z","kind":"signature","body":{"sig":"7f3a91c07f3a91c0","repo":"web"},"prev":"","hash":"00"}
{"seq":2,"at":"2026-11-29T03:00:01Z","kind":"incident","body":{"id":"7f3a91c07f3a91c0-1"},"prev":"00","hash":"01"}
"#;

const TRIAGE: &str = r#"[{"signature":"7f3a91c07f3a91c0","verdict":"bug","failure_type":"runtime","repo":"web","same_as":null,
  "severity":"high","summary":"totals are wrong","confidence":0.8}]"#;
const FIX: &str =
    r#"{"status":"fixed","root_cause":"a sum starts at one","tests":["tests/test_cart.py::test_total"],"risk":"low"}"#;
const AUDIT: &str = r#"{"verdict":"approve","head_sha":"3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201","reasons":["the diff mends the cause"]}"#;

const DIFF: &str = "diff --git a/src/cart.py b/src/cart.py\nindex 83db48f..bf269f4 100644\n--- a/src/cart.py\n+++ b/src/cart.py\n\
@@ -1,3 +1,3 @@\n def total(items):\n-    return 1 + sum(items)\n+    return sum(items)\n \n\
diff --git a/tests/test_cart.py b/tests/test_cart.py\nnew file mode 100644\nindex 0000000..e69de29\n--- /dev/null\n+++ b/tests/test_cart.py\n\
@@ -0,0 +1,2 @@\n+def test_total():\n+    assert total([1]) == 1\n\\ No newline at end of file\n\
diff --git a/old name.txt b/new.txt\nsimilarity index 95%\nrename from old name.txt\nrename to new.txt\n";
const BINARY: &str = "diff --git a/a.bin b/a.bin\nindex 83db48f..bf269f4 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n";

const LOG: &str = "2026-11-29T03:00:00Z INFO agent started\n2026-11-29T03:00:01Z ERROR tools server: connection refused\n\
Traceback (most recent call last):\n  File \"app/cart.py\", line 12, in total\nKeyError: 'total'\n\
{\"level\":\"error\",\"msg\":\"timeout after 3000 ms\",\"time\":\"2026-11-29T03:00:02Z\"}\n\
level=error msg=\"no space left on device\" path=/var/lib\n<11>1 2026-11-29T03:00:03Z host app 12 - - panic: nil map\n";
const TRACE: &str = "TypeError: Cannot read properties of undefined (reading 'id')\n    at total (/app/src/cart.ts:12:7)\n    at async run (/app/node_modules/x/i.js:1:2)\n\
Caused by: java.lang.IllegalStateException: id 4f1c2d3e-0000-4000-8000-1234567890ab\n\tat com.acme.Cart.total(Cart.java:12)\n";
const SECRETS: &str = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl\npassword=hunter2 mail ann@acme.example from 10.1.2.3\n\
postgres://user:pass@db.acme.example/x?token=abc card 4111 1111 1111 1111 AKIAIOSFODNN7EXAMPLE known-value-not-real-77\n";
const PATTERNS: &str = r#"{ "version": 1, "patterns": [ { "id": "no-such-table", "regex": "(?i)no such table", "severity": "high", "kind": "runtime",
  "except": "0 rows", "priority": 10, "window": { "within_seconds": 60, "of": "start" } } ] }"#;
const ACTIONS_LOG: &str = "2026-11-29T02:10:00.0000000Z ##[group]Run make test\n2026-11-29T02:10:01.0000000Z \u{1b}[31mFAIL\u{1b}[0m tests/a.test.ts\n\
2026-11-29T02:10:01.0000000Z AssertionError: 3 != 4\n2026-11-29T02:10:01.0000000Z ##[error]Process completed with exit code 2.\n";
const JUNIT: &str = r#"<?xml version="1.0"?><testsuites><testsuite name="a" tests="2"><testcase classname="a.B" name="c" time="0.1"/>
<testcase classname="a.B" name="d"><failure message="3 != 4" type="AssertionError">at B.java:12 &lt;x&gt; <![CDATA[ y ]]></failure></testcase></testsuite></testsuites>"#;
const CARGO: &str = "\nrunning 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n\n---- a::c stdout ----\n\nthread 'a::c' panicked at src/lib.rs:3:5:\n\
assertion `left == right` failed\n  left: 1\n right: 2\n\nfailures:\n    a::c\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
const GO: &str = "{\"Action\":\"run\",\"Package\":\"a/b\",\"Test\":\"TestX\"}\n{\"Action\":\"output\",\"Package\":\"a/b\",\"Test\":\"TestX\",\"Output\":\"x_test.go:3: 1 != 2\\n\"}\n\
{\"Action\":\"fail\",\"Package\":\"a/b\",\"Test\":\"TestX\",\"Elapsed\":0}\n{\"Action\":\"fail\",\"Package\":\"a/b\",\"Elapsed\":0}\n";
const PULLS: &str = r#"[{"number":7,"title":"Mend","draft":false,"user":{"login":"ann","type":"User"},"head":{"ref":"cart","repo":{"full_name":"acme/shop"}},"updated_at":"2026-11-29T02:00:00Z"}]"#;
const RUNS: &str = r#"{"workflow_runs":[{"id":5,"name":"CI","workflow_id":1,"event":"push","status":"completed","conclusion":"failure","head_sha":"3484a3fb816e0859fd6e1cea078d76385ff50625","created_at":"2026-11-29T02:00:00Z"}]}"#;
const JOBS: &str =
    r#"{"jobs":[{"id":77,"name":"test","conclusion":"failure","steps":[{"name":"Run","conclusion":"failure"}]}]}"#;
const ISSUE: &str = r#"{"item":{"id":"41","shortId":"A-1","title":"KeyError: 'total'","level":"error","count":"3","firstSeen":"2026-11-29T02:50:00Z",
"lastSeen":"2026-11-29T02:58:00Z","metadata":{"type":"KeyError","value":"x"}},"detail":{"platform":"python","entries":[{"type":"exception","data":{"values":[
{"type":"KeyError","value":"x","stacktrace":{"frames":[{"filename":"a.py","lineNo":1,"function":"f","inApp":true}]}}]}}]}}"#;
const ALERTS: &str = r#"[{"labels":{"alertname":"A","severity":"critical"},"annotations":{"summary":"s"},"startsAt":"2026-11-29T02:00:00Z","status":{"state":"active"}}]"#;
const STATUS: &str = r#"{"values":{"provider":"acme","components":"API"},"answer":{"page":{"name":"Acme"},"incidents":[{"id":"a1","name":"n","status":"identified",
"impact":"major","started_at":"2026-11-29T02:05:00Z","components":[{"name":"API"}],"incident_updates":[{"body":"b"}]}]}}"#;
const EXCEPTIONS: &str = r#"{"release":null,"requests":4,"exceptions":[{"type":"E","message":"m","stack":"s","count":1,"release":null,"first_seen":"2026-11-29T02:00:00Z","last_seen":"2026-11-29T02:00:00Z","route":"/"}]}"#;
const PROJECT: &str = r#"{"id":"prj_x","name":"shop","accountId":"team_x","targets":{"production":{"id":"dpl_a"}},"lastAliasRequest":null}"#;
const DEPLOYMENT: &str = r#"{"uid":"dpl_a","name":"shop","url":"shop-a.vercel.app","created":1764380000000,"createdAt":1764380000000,"ready":1764380060000,
"readyState":"READY","readySubstate":"PROMOTED","target":"production","aliasError":null,"meta":{"githubCommitSha":"3484a3fb816e0859fd6e1cea078d76385ff50625"}}"#;
const BUILD: &str = r#"[{"type":"stderr","created":1764380000000,"payload":{"text":"Error: Command exited with 1","level":"error"}},{"type":"stdout","created":1,"text":"ok"}]"#;
const RUNTIME: &str = "{\"level\":\"error\",\"message\":\"TypeError: x\",\"timestampInMs\":1764380000000,\"rowId\":\"a\"}\n{\"source\":\"delimiter\"}\n";
const SERVICE: &str = r#"{"serviceInstance":{"cronSchedule":null,"activeDeployments":[{"id":"d1"}]},"deployments":{"edges":[{"node":{"id":"d1","status":"SUCCESS",
"createdAt":"2026-11-29T02:00:00Z","statusUpdatedAt":"2026-11-29T02:01:00Z","canRollback":false,"deploymentStopped":false,"url":null,"staticUrl":"a.example","meta":{"commitHash":"3484a3fb816e0859fd6e1cea078d76385ff50625"}}}]}}"#;
const EVENTS: &str = r#"{"deploymentEvents":{"edges":[{"node":{"step":"BUILD_IMAGE","completedAt":null,"payload":{"error":"no","reason":"why"}}}]}}"#;
const VARIABLES: &str = r#"{"environment":{"variables":{"edges":[{"node":{"name":"A","serviceId":"s","updatedAt":"2026-11-29T02:00:00Z"}},{"node":{"name":"A","serviceId":null,"updatedAt":"2026-11-29T02:00:00Z"}}],
"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}"#;
const LINES: &str = r#"{"environmentLogs":[{"timestamp":"2024-10-04T00:00:00Z","message":"x","severity":"error","attributes":[{"key":"stack","value":"\"Error: x\""}],"tags":{"deploymentId":"d","deploymentInstanceId":"i"}}]}"#;
const FAILED_REQUESTS: &str = r#"{"httpLogs":[{"timestamp":"2026-11-29T02:00:00Z","method":"GET","path":"/","httpStatus":502,"responseDetails":"refused","upstreamErrors":"[{\"error\":\"x\"}]","totalDuration":1}]}"#;
const BUILD_LOG: &str =
    r#"{"buildLogs":[{"timestamp":"2026-11-29T02:00:00Z","message":"error: no such module","severity":"info"}]}"#;
const SIGNALS: &str = r#"{"release_sha":"3484a3fb816e0859fd6e1cea078d76385ff50625","requests":3,"signals":[{"title":"t","message":"m","kind":"alert","severity":"warning",
"count":2,"first_seen":"2026-11-29T02:00:00Z","url":"https://a.example","evidence":{"n":1}}],"changes":[{"at":"2026-11-29T02:00:00Z","kind":"provider","key":"k","what":"w"}]}"#;
const NAGIOS: &str =
    "DISK WARNING - 8% | /=2643MB;5948;5958;0;5968 'a b'=1e3ms\n/ 15272 MB\nmore | /boot=68MB\nU=U x=0,5\n";
const RESULT: &str = "{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":\"assistant\"}\n\
{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":3,\"total_cost_usd\":0.02,\"structured_output\":{\"status\":\"fixed\"}}\n";

targets! {
    snapshot: snapshot, [SNAPSHOT];
    config: config, [CONFIG, "{}", "[1"];
    dotenv: dotenv, ["A=b\n# c\nD='e f'\nG=\"h\"\n"];
    ledger_export: |bytes| store::fuzz_records(&text(bytes)), [LEDGER];
    triage_reply: triage, [TRIAGE];
    fix_reply: fix, [FIX];
    audit_verdict: audit, [AUDIT];
    agent_output: agents::fuzz, [RESULT, FIX];
    diff: diff, [DIFF, BINARY];
    guards: judged, [DIFF];
    cleaner: cleaner, [LOG, SECRETS, "a\u{202e}b\u{1b}[31mc\r\nd\u{0}e"];
    redactor: redactor, [SECRETS, LOG];
    fences: fences, [LOG, "<<<untrusted 00\nx\nuntrusted 00>>> ```"];
    signatures: signatures, [TRACE, LOG, "HTTP 503 from 10.0.0.1:8080 after 31 ms"];
    log_engine: log_engine, [LOG, TRACE];
    patterns: |bytes| drop(Patterns::parse(&text(bytes), None)), [PATTERNS];
    actions_log: collect::fuzz::actions_log, [ACTIONS_LOG];
    api_pulls: collect::fuzz::pulls, [PULLS];
    api_runs: collect::fuzz::runs, [RUNS, JOBS];
    api_jsonrpc: collect::fuzz::jsonrpc, [r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#];
    api_sentry: |bytes| collect::fuzz::declared("sentry", bytes), [ISSUE];
    api_alertmanager: |bytes| collect::fuzz::declared("alertmanager", bytes), [ALERTS];
    api_statuspage: |bytes| collect::fuzz::declared("statuspage", bytes), [STATUS];
    api_exceptions: |bytes| collect::fuzz::declared("exceptions", bytes), [EXCEPTIONS];
    api_railway: collect::fuzz::railway, [SERVICE, EVENTS, VARIABLES, LINES, FAILED_REQUESTS, BUILD_LOG];
    api_vercel: collect::fuzz::vercel, [PROJECT, DEPLOYMENT, BUILD, RUNTIME];
    request_file: collect::fuzz::request_file, [include_str!("../collectors/sentry.json"), include_str!("../collectors/statuspage.json")];
    link_header: collect::fuzz::link, [r#"<https://api.example/x?page=3>; rel="next"; results="true", <https://api.example/x>; rel="prev""#];
    exec_signals: collect::fuzz::signals, [SIGNALS, "[]"];
    nagios: |bytes| drop(nagios::read(bytes)), [NAGIOS];
    json: strict_json, [SNAPSHOT, "\u{feff}[1e5,\"\\ud83d\\ude00\"]"];
    jq_program: jq_program, [".ok == true and (.a[0] | length > 2)", include_str!("../collectors/gate.jq")];
    gate_results: gate_results, [r#"[{"wake":true,"reasons":["a"]}]"#];
    junit: suite::fuzz_junit, [JUNIT];
    test_output: suite::fuzz_output, [CARGO, GO];
    git_output: git::fuzz, ["100644 blob 83db48f84ec878fbfb30b46d16630e944e34f205\tx\0", ":100644 100644 83db48f84ec878fbfb30b46d16630e944e34f205 bf269f4bf269f4bf269f4bf269f4bf269f4bf269f4 M\0a\0"];
    markers: |bytes| drop(Marker::find(&text(bytes))), ["x <!-- tick: fix 7f3a91c07f3a91c0-1 3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201 --> y"];
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn snapshot(bytes: &[u8]) {
    if let Ok(snapshot) = serde_json::from_slice::<Snapshot>(bytes) {
        let _judged = gate::shipped(&snapshot);
        let written = serde_json::to_vec(&snapshot).expect("what was read can be written");
        let again: Snapshot = serde_json::from_slice(&written).expect("what was written can be read");
        assert_eq!(again, snapshot);
    }
}

fn config(bytes: &[u8]) {
    let home = Home::at(Path::new("/nonexistent/tick-fuzz"));
    drop(load::from_text(&text(bytes), &home, &Environment::default()));
}

fn dotenv(bytes: &[u8]) {
    if let Ok(values) = env::parse_dotenv(&text(bytes)) {
        assert!(values.keys().all(|name| env::is_name(name)));
    }
}

fn triage(bytes: &[u8]) {
    let asked = ["7f3a91c07f3a91c0".parse().expect("a signature")];
    let slot = Slot::parse("web").expect("a slot");
    if let Ok(reply) = verdict::parse_reply(bytes) {
        drop(verdict::parse_triage(&reply, &asked, &slot));
    }
}

fn fix(bytes: &[u8]) {
    if let Ok(reply) = verdict::parse_reply(bytes) {
        drop(verdict::parse_fix(&reply));
    }
}

fn audit(bytes: &[u8]) {
    let head = Sha::parse("3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201").expect("a commit");
    if let Ok(reply) = verdict::parse_reply(bytes)
        && let Ok(audit) = verdict::parse_audit(&reply, &head, "auditor", "sandboxed")
    {
        assert_eq!(audit.head, head, "an audit is of the head that was shown");
    }
}

fn changes(bytes: &[u8]) -> Option<Vec<guards::FileChange>> {
    let patches = patch::parse(bytes).ok()?;
    drop(patch::base_paths(&patches));
    Some(patch::apply(&patches, &BTreeMap::new()).changes)
}

fn diff(bytes: &[u8]) {
    drop(changes(bytes));
}

fn judged(bytes: &[u8]) {
    static POLICY: LazyLock<GuardPolicy> = LazyLock::new(|| GuardPolicy::anybody([]).expect("no globs"));
    if let Some(changes) = changes(bytes) {
        drop(guards::judge(&Diff::of(changes), &POLICY, redaction()));
    }
}

fn cleaner(bytes: &[u8]) {
    let once = clean(&text(bytes));
    assert_eq!(clean(&once), once, "cleaned is clean");
    assert!(!once.contains('\u{1b}'));
}

const KNOWN: &str = "known-value-not-real-77";

fn redaction() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(&[KNOWN.into()]));
    &REDACTOR
}

fn redactor(bytes: &[u8]) {
    let told = redaction().redact(&text(bytes));
    assert!(!told.contains(KNOWN), "a known value stands in {told:?}");
}

fn fences(bytes: &[u8]) {
    let nonce = Nonce::new(&[7; 16]);
    let text = Untrusted::new(&text(bytes), redaction());
    let fenced = fence(&text, &nonce);
    assert_eq!(
        fenced.matches(nonce.as_str()).count(),
        2,
        "the nonce stands in both markers and nowhere else"
    );
    drop(code_block(&text));
    assert!(!text.line(80).contains('\n'));
}

fn signatures(bytes: &[u8]) {
    let text = text(bytes);
    let signed = signature(&text);
    assert_eq!(signed.signature, signature(&text).signature);
}

fn log_engine(bytes: &[u8]) {
    static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns::shipped(None));
    let now = "2026-11-29T03:00:00Z".parse().expect("a time");
    let read = |parts: &[&[u8]]| {
        let mut reading = Reading::new(&PATTERNS, redaction(), now);
        for part in parts {
            reading.push(part);
        }
        reading.finish().causes.len()
    };
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    assert_eq!(
        read(&[bytes]),
        read(&[head, tail]),
        "it does not matter how a log comes in"
    );
}

fn strict_json(bytes: &[u8]) {
    if json::check(bytes).is_ok() {
        drop(json::parse(bytes));
    } else {
        assert!(json::one_object(bytes).is_err());
    }
}

fn jq_program(bytes: &[u8]) {
    let code = text(bytes);
    let plain = jq::plain(&code);
    if let Ok(program) = jq::Program::compile(&code)
        && plain
    {
        drop(program.run(br#"{"ok":true,"a":["abc",1,null],"b":{"c":-1.5}}"#));
    }
}

fn gate_results(bytes: &[u8]) {
    drop(gate::judge(
        serde_json::from_slice(bytes).map_err(|error| error.to_string()),
    ));
}
