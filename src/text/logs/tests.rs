use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::*;
use crate::{model::signal::Severity, text::signature::usual};

const NOW: &str = "2026-11-29T03:00:20Z";
const STARTED: &str = "2026-11-29T03:00:00Z agent started\n";

fn now() -> DateTime<Utc> {
    NOW.parse().unwrap()
}

/// Compiled once for all tests.
static SHIPPED: LazyLock<Patterns> = LazyLock::new(|| Patterns::shipped(None));

fn reading() -> Reading {
    Reading::new(&SHIPPED, &Redactor::default(), now())
}

fn read(log: &str) -> Found {
    let mut reading = reading();
    reading.push(log.as_bytes());
    reading.finish()
}

#[derive(Deserialize)]
struct Example {
    pattern: String,
    hit: bool,
    text: String,
}

fn examples() -> Vec<Example> {
    let corpus = include_str!("../../../tests/corpus/patterns.jsonl");
    corpus.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_example_hits_or_misses_its_pattern() {
    let mut wrong = Vec::new();
    for Example { pattern, hit, text } in examples() {
        let start = pattern == "agent-start";
        let before = if start { "" } else { STARTED };
        let found = read(&format!("{before}{text}\n"));
        let named: Vec<&str> = found.causes.iter().map(|cause| cause.pattern.as_str()).collect();
        let hits = if start {
            found.started_at.is_some()
        } else {
            named.contains(&pattern.as_str())
        };
        if hits != hit {
            wrong.push(format!("{pattern} hit={hit} {named:?} {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_shipped_pattern_has_examples() {
    let mut counts: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for example in examples() {
        *counts.entry((example.pattern, example.hit)).or_default() += 1;
    }
    for pattern in Patterns::shipped(None).list() {
        for hit in [true, false] {
            let count = counts.remove(&(pattern.id.clone(), hit)).unwrap_or(0);
            assert!(count >= 4, "{} has {count} examples with hit={hit}", pattern.id);
        }
    }
    assert!(counts.is_empty(), "examples of no pattern: {counts:?}");
}

/// Pattern and count of each cause, in the order found.
fn named(found: &Found) -> Vec<(&str, u64)> {
    found
        .causes
        .iter()
        .map(|cause| (cause.pattern.as_str(), cause.count))
        .collect()
}

/// A log with a healthy line before and behind.
fn amid(text: &str) -> String {
    format!("2026-11-29T03:00:00Z INFO ready\n{text}\n2026-11-29T03:00:09Z INFO still here\n")
}

/// That a trace is one event, whose sample ends with a text, in each way of framing its lines.
#[track_caller]
fn one_event(trace: &str, ends: &str) {
    let framings: [&dyn Fn(&str) -> String; 5] = [
        &|line| line.to_owned(),
        &|line| format!("2026-11-29T03:00:05.123Z [err] {line}"),
        &|line| format!("api-1  | {line}\r"),
        &|line| serde_json::json!({"log": format!("{line}\n"), "stream": "stderr"}).to_string(),
        &|line| {
            serde_json::json!({"message": line, "severity": "error", "timestamp": "2026-11-29T03:00:05Z"}).to_string()
        },
    ];
    for (n, frame) in framings.iter().enumerate() {
        let lines: Vec<String> = trace.lines().map(frame).collect();
        let found = read(&amid(&lines.join("\n")));
        assert_eq!(
            (found.causes.len(), found.events),
            (1, 1),
            "framing {n}: {trace} {:#?}",
            found.causes
        );
        let sample = &found.causes[0].samples[0];
        assert!(sample.contains(ends), "framing {n}: {sample}");
        assert!(!sample.contains("still here"), "framing {n}: {sample}");
    }
}

#[test]
fn traces_of_all_languages_are_one_event() {
    one_event(
        "Traceback (most recent call last):\n  File \"/app/shop/cart.py\", line 9, in total\n    return items[0]\nIndexError: list index out of range",
        "IndexError",
    );
    one_event(
        "Traceback (most recent call last):\n  File \"/app/a.py\", line 9, in a\n    b()\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/app/c.py\", line 3, in c\n    raise V\nValueError: y",
        "ValueError",
    );
    one_event(
        "TypeError: Cannot read properties of undefined (reading 'total')\n    at total (/app/src/cart.js:31:9)\n    at async pay (/app/src/pay.js:7:1)\n  [cause]: Error: no cart\n      at load (/app/src/load.js:3:3)\n}",
        "load.js:3:3",
    );
    one_event(
        "/app/src/cart.js:31\n    throw new RangeError('no');\n    ^\n\nRangeError: no\n    at total (/app/src/cart.js:31:9)",
        "cart.js:31:9",
    );
    one_event(
        "java.lang.IllegalStateException: cart is closed\n\tat com.acme.Cart.add(Cart.java:17)\n\t... 12 more\nCaused by: java.io.IOException: gone\n\tat com.acme.Disk.read(Disk.java:3)\n\t... 9 more",
        "Disk.java:3",
    );
    one_event(
        "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.total(0x1, 0x2)\n\t/app/main.go:8 +0x1d\nmain.main()\n\t/app/main.go:3 +0x1d\nexit status 2",
        "main.go:3",
    );
    one_event(
        "thread 'main' panicked at src/cart.rs:41:17:\nindex out of bounds: the len is 3 but the index is 5\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/59807616/library/std/src/panicking.rs:645:5\n   1: cart::total\n             at ./src/cart.rs:41:17\nnote: run with `RUST_BACKTRACE=full` for a verbose backtrace.",
        "src/cart.rs:41",
    );
    one_event(
        "NoMethodError: undefined method `sum' for nil:NilClass\n\tfrom app/models/cart.rb:12:in `total'\napp/jobs/bill.rb:3:in `perform'",
        "bill.rb:3",
    );
    one_event(
        "Unhandled exception. System.InvalidOperationException: Sequence contains no elements\n ---> System.IO.IOException: gone\n   at Acme.Disk.Read() in /src/Disk.cs:line 3\n   --- End of inner exception stack trace ---\n   at Acme.Cart.Add() in /src/Cart.cs:line 17",
        "Cart.cs:line 17",
    );
}

#[test]
fn a_trace_is_titled_by_its_exception() {
    let trace = "Traceback (most recent call last):\n  File \"/app/a.py\", line 9, in a\n    b()\nKeyError: 'x'";
    let chained = format!(
        "{trace}\n\nDuring handling of the above exception, another exception occurred:\n\n\
         {}\nsecond line of it",
        trace.replace("KeyError: 'x'", "ValueError: no order")
    );
    for (trace, expected) in [(trace, "KeyError: 'x'"), (&chained, "ValueError: no order")] {
        let logged = format!("2026-11-29T03:00:05Z ERROR {trace}");
        let record =
            serde_json::json!({ "level": "error", "time": "2026-11-29T03:00:05Z", "message": trace }).to_string();
        let lines = trace.lines().map(|line| {
            serde_json::json!({ "log": format!("{line}\n"), "stream": "stderr", "time": "2026-11-29T03:00:05.1Z" })
                .to_string()
        });
        let wrapped = lines.collect::<Vec<_>>().join("\n");
        for log in [trace, &logged, &record, &wrapped] {
            let found = read(&amid(log));
            assert_eq!(found.causes[0].title, expected, "{log}");
        }
    }
}

#[test]
fn a_logged_exception_belongs_to_its_line() {
    let found = read(&amid(
        "2026-11-29T03:00:05Z ERROR order 17 failed\nTraceback (most recent call last):\n  File \"/app/a.py\", line 9, in a\n    b()\nKeyError: 'x'\n2026-11-29T03:00:06Z ERROR other",
    ));
    assert_eq!(named(&found), [("exception", 1), ("error-line", 1)]);
    assert_eq!(found.causes[0].title, "order 17 failed");
    assert!(found.causes[0].samples[0].ends_with("KeyError: 'x'"));
    assert_eq!(found.causes[0].first_seen.to_rfc3339(), "2026-11-29T03:00:05+00:00");
}

#[test]
fn lines_that_only_stand_together_stay_apart() {
    let found = read("ERROR a broke\nERROR b stuck\n\nERROR c fell\n  with detail\nERROR d: TypeError: x\n");
    assert_eq!(found.events, 5 - 1, "{:#?}", found.causes);
    assert!(
        found
            .causes
            .iter()
            .any(|cause| cause.samples[0].ends_with("with detail"))
    );
}

#[test]
fn however_the_bytes_are_cut_the_same_is_found() {
    let mut log = amid("x");
    for Example { text, .. } in examples() {
        log += &text;
        log += "\r\n\u{1b}[31mERROR\u{1b}[0m é \u{1f980} \u{1b}]0;title\u{7} \u{1b} ";
        log += "done\n";
    }
    let bytes = log.as_bytes();
    let whole = read(&log);
    assert!(whole.events > 100 && whole.lines > 400);
    for size in [1, 2, 3, 7, 64, 1000, 65_536] {
        let mut reading = reading();
        for piece in bytes.chunks(size) {
            reading.push(piece);
        }
        assert_eq!(reading.finish(), whole, "pieces of {size}");
    }
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_do_no_harm() {
    let mut reading = reading();
    reading.push(b"ERROR \xff\xfe\x00 \xc3broke\xf0\x9f\n");
    for _ in 0..200 {
        reading.push(&[b'x'; 10_000]);
    }
    reading.push(b" ERROR unseen\nERROR seen\n\xe2\x82");
    let found = reading.finish();
    assert_eq!(found.bytes, 2_000_046);
    assert_eq!(
        named(&found).iter().map(|(_, n)| n).sum::<u64>(),
        2,
        "{:#?}",
        found.causes
    );
}

#[test]
fn colours_do_not_hide_an_error() {
    let found = read("\u{1b}[1m\u{1b}[31mError\u{1b}[39m: connect\u{1b}[0m ECONN\u{1b}[1mREFUSED 10.0.0.1:80\n");
    assert_eq!(named(&found), [("connection-refused", 1)]);
    assert_eq!(found.causes[0].samples, ["Error: connect ECONNREFUSED 10.0.0.1:80"]);
}

#[test]
fn a_window_counts_from_the_last_start() {
    let line = |second: u32| {
        format!(
            "2026-11-29T02:{:02}:{:02}Z ERROR MCP server files failed to start\n",
            second / 60,
            second % 60
        )
    };
    let start = "2026-11-29T02:10:00Z INFO agent started\n";
    let patterns = |log: &str| {
        read(log)
            .causes
            .into_iter()
            .map(|cause| cause.pattern)
            .collect::<Vec<_>>()
    };
    assert_eq!(patterns(&line(600)), ["error-line"], "no start was seen");
    assert_eq!(patterns(&[start, &line(660)].concat()), ["tools-server"]);
    assert_eq!(patterns(&[start, &line(661)].concat()), ["error-line"]);
    assert_eq!(patterns(&[&line(599), start].concat()), ["error-line"]);
    // The same log read in two parts.
    let mut first = reading();
    first.push(start.as_bytes());
    let mut second = reading().started(first.finish().started_at);
    second.push(line(630).as_bytes());
    assert_eq!(second.finish().causes[0].alert.as_deref(), Some("A12"));
    // A log that is read from its beginning.
    let mut third = reading().whole();
    third.push(["2026-11-29T02:10:00Z INFO hello\n", &line(650)].concat().as_bytes());
    assert_eq!(third.finish().causes[0].alert.as_deref(), Some("A12"));
}

#[test]
fn levels_decide_what_a_line_is() {
    for (line, want) in [
        ("INFO retrying after request timed out", None),
        ("request timed out", Some("timeout")),
        ("WARN request timed out", Some("timeout")),
        ("DEBUG panic: x", None),
        (r#"{"level":30,"msg":"upstream timed out"}"#, None),
        (
            r#"{"level":"info","message":"Error: connect ECONNREFUSED 10.0.0.1:80"}"#,
            Some("connection-refused"),
        ),
    ] {
        let found = read(&format!("{line}\n"));
        assert_eq!(found.causes.first().map(|cause| cause.pattern.as_str()), want, "{line}");
    }
}

#[test]
fn secrets_leave_neither_samples_nor_templates() {
    let known = secrecy::SecretString::from("F4k3-f4k3-v4lu3-not-real");
    let redactor = Redactor::new(&[known]);
    let mut reading = Reading::new(&SHIPPED, &redactor, now());
    reading
        .push(b"ERROR login with F4k3-f4k3-v4lu3-not-real of jane@corp.example.org failed, password=hunter2hunter2\n");
    let found = format!("{:?}", reading.finish());
    for secret in ["F4k3", "jane@", "hunter2"] {
        assert!(!found.contains(secret), "{found}");
    }
}

#[test]
fn a_flood_is_bounded_and_a_worse_cause_finds_its_place() {
    let name = |n: usize| -> String {
        let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
        [letter(n), letter(n / 26), letter(n / 676)].iter().collect()
    };
    let mut reading = reading();
    let flood = MOST_CAUSES + 500;
    for n in 0..flood {
        reading.push(format!("ERROR module {}ish went wrong\n", name(n)).as_bytes());
    }
    reading.push(b"panic: assignment to entry in nil map\n");
    let found = reading.finish();
    assert_eq!(found.causes.len(), MOST_CAUSES);
    assert_eq!(found.causes[0].pattern, "panic");
    assert_eq!(
        found.overflow,
        Overflow {
            events: 501,
            severity: Some(Severity::Error)
        }
    );
    assert_eq!(found.events, flood as u64 + 1);
}

#[test]
fn two_or_three_samples_are_kept() {
    let lines: Vec<String> = (0..50)
        .map(|n| format!("2026-11-29T03:00:{:02}Z ERROR order {n} is lost\n", n % 20))
        .collect();
    let log = lines.concat();
    let found = read(&log);
    assert_eq!(named(&found), [("error-line", 50)]);
    let cause = &found.causes[0];
    assert_eq!(cause.samples.len(), 3);
    assert_eq!(cause.first_seen.to_rfc3339(), "2026-11-29T03:00:00+00:00");
    assert_eq!(cause.last_seen.to_rfc3339(), "2026-11-29T03:00:19+00:00");
}

#[test]
fn every_fault_of_a_file_is_named_at_once() {
    let faults = |text: &str| -> Vec<String> {
        let faults = Patterns::parse(text, None).unwrap_err();
        faults
            .iter()
            .map(|fault| format!("{}: {}", fault.at, fault.what))
            .collect()
    };
    let entry = |more: &str| {
        let severity = if more.contains("severity") {
            ""
        } else {
            r#""severity": "high","#
        };
        format!(r#"{{{severity} "kind": "runtime", {more}}}"#)
    };
    let file = |entries: &[String]| format!(r#"{{"version": 1, "patterns": [{}]}}"#, entries.join(","));
    let wrong = [
        r#""id": "a", "regex": "(open""#,
        r#""id": "b", "regex": "x*""#,
        r#""id": "c", "regex": "^""#,
        r#""id": "d", "regex": "[a-z]""#,
        r#""id": "e", "regex": ".+""#,
        r#""id": "a!", "regex": "boom""#,
        r#""id": "f", "regex": "boom", "priority": 101"#,
        r#""id": "g", "regex": "boom", "window": {"within_seconds": 0, "of": "start"}"#,
        r#""id": "h""#,
        r#""id": "i", "regex": "boom", "colour": "red""#,
        r#""id": "j", "regex": "(?:a{1000}){1000}""#,
        r#""id": "k", "regex": "boom", "except": "\\b""#,
        r#""id": "l", "regex": "boom""#,
        r#""id": "l", "regex": "boom", "alert": "A 1""#,
        r#""id": "m", "regex": "(a+)+\\1""#,
        r#""id": "n", "regex": ".*", "severity": "bad", "windoww": 1, "level": 3"#,
        r#""regex": ["boom"], "alert": "A 1""#,
        r#""id": 4, "regex": "boom", "window": {"within_seconds": 60}"#,
    ];
    let found = faults(&file(&wrong.map(entry)));
    insta::assert_snapshot!(found.join("\n"), @r#"
    patterns[0].regex: "(open" is not a regular expression: unclosed group, column 1
    patterns[1].regex: "x*" matches the empty string
    patterns[2].regex: "^" matches the empty string
    patterns[3].regex: "[a-z]" matches every line
    patterns[4].regex: ".+" matches every line
    patterns[5].id: "a!" is no name (lower-case letters, digits and -, at most 40)
    patterns[6].priority: 101 is more than 100
    patterns[7].window.within_seconds: 0 is not between 1 and 86400
    patterns[8].regex: is missing; only a pattern with "level": "error" or "fatal" can do without
    patterns[9].colour: is not a key of a pattern
    patterns[10].regex: "(?:a{1000}){1000}" is too large (more than 1048576 bytes when compiled)
    patterns[11].except: "\b" matches the empty string
    patterns[13].id: "l" stands twice
    patterns[13].alert: "A 1" is no code (letters, digits and -, at most 16)
    patterns[14].regex: "(a+)+\1" is not a regular expression: backreferences are not supported, column 6
    patterns[15].level: 3 is not one of trace, debug, info, warn, error, fatal
    patterns[15].severity: "bad" is not one of critical, high, medium, low
    patterns[15].windoww: is not a key of a pattern
    patterns[15].regex: ".*" matches the empty string
    patterns[16].regex: ["boom"] is not a text
    patterns[16].id: is missing
    patterns[16].alert: "A 1" is no code (letters, digits and -, at most 16)
    patterns[17].id: 4 is not a text
    patterns[17].window: {"within_seconds":60} is not an object of within_seconds and of
    "#);
    insta::assert_snapshot!(
        [
            faults("{"),
            faults("[]"),
            faults(r#"{"version": 2, "patterns": []}"#),
            faults(r#"{"version": 1, "patterns": []}"#),
        ]
        .concat()
        .join("\n"),
        @r"
    : is not JSON: Unterminated object on line 1 column 1
    : is no object with a version and patterns
    : has version 2, and this program reads version 1
    : has no pattern, so that no line of any log would be an error; without the file the shipped ones count
    "
    );
}

#[test]
fn an_owners_pattern_is_one_of_them() {
    let text = r#"{"version": 1, "patterns": [
        {"id": "digits", "regex": "^[0-9]{3} [A-Z]+$", "severity": "medium", "kind": "runtime"}, // no word in it
    ]}"#;
    let patterns = Patterns::parse(text, Some("execution reverted")).unwrap();
    let mut reading = Reading::new(&patterns, &Redactor::default(), now());
    reading.push(b"INFO call failed: execution reverted\n2026-11-29T03:00:00Z 404 GONE\n404 gone\n");
    let found = reading.finish();
    assert_eq!(named(&found), [("rpc-error", 1), ("digits", 1)]);
}

#[test]
fn healthy_lines_are_passed_over() {
    let healthy = "2026-11-29T03:00:00.123Z INFO api: GET /api/cart/17 200 12ms\n\
        {\"level\":30,\"time\":1795921200401,\"msg\":\"job 5d1c2c1e done in 41 ms\",\"status\":200}\n\
        time=2026-11-29T03:00:00Z level=info msg=\"cache warm\" size=412\n";
    assert_eq!(
        SHIPPED.compiled().search(false).lines(healthy.as_bytes()),
        Some(Vec::new())
    );
}

#[test]
fn the_shipped_patterns_stand_every_check() {
    let shipped = include_str!("../../../collectors/patterns.json");
    assert!(Patterns::parse(shipped, None).is_ok());
}

#[test]
fn a_sample_has_the_signature_of_its_cause() {
    for Example { text, .. } in examples() {
        for cause in read(&format!("{STARTED}{text}\n")).causes {
            let signed = signature(&cause.samples[0]);
            assert_eq!(signed.signature, cause.signature, "{:?} {text}", cause.samples);
        }
    }
}

#[test]
fn what_came_before_changes_no_signature() {
    let bodies = [
        "disk failed: ENOSPC",
        " disk failed: ENOSPC",
        "web-3 disk: ENOSPC",
        "17 failed: ENOSPC",
    ];
    let times = [
        "",
        "Nov 29 03:00:00",
        "2026-11-29T03:00:00Z",
        "2026-11-29 03:00:00,123",
        "2026-13-45T03:00:00Z",
        "29/Nov/2026:03:00:00 +0000",
        "Sun Nov 29 03:00:00 2026",
        "03:00:00.5",
        "3:00:00",
    ];
    let lines: Vec<String> = times
        .iter()
        .flat_map(|time| {
            bodies
                .iter()
                .flat_map(move |body| [format!("{time}{body}"), format!("{time} {body}")])
        })
        .collect();
    let signatures = |lines: &[&String]| -> BTreeMap<String, u64> {
        // A line between keeps them from being one event.
        let events: Vec<String> = lines.iter().map(|line| format!("03:00:01 INFO ok\n{line}\n")).collect();
        let log = events.concat();
        let causes = read(&log).causes.into_iter();
        causes.map(|cause| (cause.signature.to_string(), cause.count)).collect()
    };
    let mut apart = BTreeMap::new();
    for line in &lines {
        for (signature, count) in signatures(&[line]) {
            *apart.entry(signature).or_default() += count;
        }
    }
    let mut order: Vec<&String> = lines.iter().collect();
    assert_eq!(signatures(&order), apart);
    order.reverse();
    assert_eq!(signatures(&order), apart);
}

/// Other texts of the same usual spelling.
fn alike(text: &str, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let spelled = |text: &str| {
        let mut out = Vec::new();
        usual::write(text, &mut out);
        out
    };
    let (usual, mut text, mut found) = (spelled(text), text.to_owned(), Vec::new());
    let places: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter(|(_, b)| b.is_ascii_hexdigit())
        .map(|(at, _)| at)
        .collect();
    for _ in 0..6 {
        for at in &places {
            let other = &b"0123456789abcdef"[next(16)..][..1];
            let other = std::str::from_utf8(other).unwrap();
            let mut changed = text.clone();
            changed.replace_range(at..&(at + 1), other);
            if spelled(&changed) == usual {
                text = changed;
            }
        }
        found.push(text.clone());
    }
    found
}

/// Lines of the corpora, and some in which numbers stand where patterns look.
fn lines_with_numbers() -> Vec<String> {
    let more = [
        "ERROR os error 13 and os error 17",
        "ERROR connect to 10.0.3.7:8123 failed: errno = 111",
        "ERROR status code: 504 after 120ms",
        "ERROR got 4014 of dead0000beef in 12s",
        "ERROR mcp server returned 512 for 5d1c2c1e-1111-4222-8333-944445555666",
        "ERROR retries exhausted (17 of 17) for bad0bad0",
        "ERROR timeout of 3000 ms exceeded, order 71",
        r#"{"level":50,"time":1795921200000,"pid":71,"msg":"order 123456 is lost"}"#,
        r#"{"level":30,"time":1795921200000,"pid":71,"msg":"order 123456 timed out"}"#,
        "time=2026-11-29T03:00:00Z level=error msg=\"expected 3 tools, got 2\" span=0123456789abcdef",
    ];
    let examples = examples().into_iter().map(|example| example.text);
    let single = examples.filter(|text| !text.contains('\n') && text.bytes().any(|b| b.is_ascii_digit()));
    more.map(str::to_owned).into_iter().chain(single).collect()
}

#[test]
fn what_is_settled_for_one_text_is_so_for_all_of_its_spelling() {
    let (mut yes, mut no) = (0, 0);
    for (n, text) in lines_with_numbers().iter().enumerate() {
        let others = alike(text, n as u64);
        for pattern in SHIPPED.list() {
            for expression in pattern.regex.iter().chain(&pattern.except) {
                let Some(settled) = expression.settled(text, Some(&usual::spelled(text))) else {
                    continue;
                };
                *(if settled { &mut yes } else { &mut no }) += 1;
                for other in others.iter().chain([text]) {
                    assert_eq!(expression.is_match(other), settled, "{} {other}", pattern.id);
                }
            }
        }
    }
    assert!(yes > 20 && no > 500, "{yes} {no}");
}

#[test]
fn what_is_no_candidate_is_none_for_all_of_its_spelling() {
    let (compiled, mut passed_over) = (SHIPPED.compiled(), 0);
    for (n, text) in lines_with_numbers().iter().enumerate() {
        let tried: Vec<usize> = compiled.of_spelling(text).collect();
        for other in alike(text, n as u64).iter().chain([text]) {
            let candidates = compiled.search(false).candidates(other);
            let untried: Vec<usize> = compiled
                .by_priority(&candidates)
                .filter(|n| !tried.contains(n))
                .collect();
            assert!(untried.is_empty(), "{untried:?} {other}");
        }
        passed_over += SHIPPED.list().len() - tried.len();
    }
    assert!(passed_over > 1000, "{passed_over}");
}

#[test]
fn what_is_remembered_of_a_line_holds_for_all_of_its_spelling() {
    let all: Vec<Vec<String>> = lines_with_numbers()
        .iter()
        .enumerate()
        .map(|(n, text)| alike(text, n as u64))
        .collect();
    let told = |lines: &[&String]| -> BTreeMap<(String, String), u64> {
        let events: Vec<String> = lines.iter().map(|line| format!("03:00:01 INFO ok\n{line}\n")).collect();
        let causes = read(&events.concat()).causes.into_iter();
        causes
            .map(|cause| ((cause.signature.to_string(), cause.pattern), cause.count))
            .collect()
    };
    for lines in all.iter().take(120) {
        let mut apart = BTreeMap::new();
        for line in lines {
            for (cause, count) in told(&[line]) {
                *apart.entry(cause).or_default() += count;
            }
        }
        assert_eq!(told(&lines.iter().collect::<Vec<_>>()), apart, "{lines:?}");
    }
}

#[test]
fn a_line_that_is_spelled_alike_is_taken_apart_alike() {
    let times = [
        "",
        "2026-11-29T03:00:00.123Z ",
        "2026-13-45 23:59:59,999 [main] ",
        "[29/Nov/2026:13:00:00 +0100] ",
        "12/31/2026 10:00:00 ",
        "Nov 29 03:00:00 host app[17]: ",
        "<27>1 2026-11-29T03:00:00Z host app 17 ID47 - ",
        "E1129 03:00:00.123456       1 reflector.go:138] ",
        "[Sun Nov 29 03:00:00.123456 2026] [core:error] [pid 7] ",
        "api-1  | 24:00:00 2026-11-29_03:00:00 ",
        "test (20)\tRun tests\t2026-11-29T03:00:00.5Z ",
    ];
    let wrap = |body: &str| {
        let json = serde_json::to_string(body).unwrap();
        [
            format!(r#"{{"level":50,"time":1795921200000,"msg":{json}}}"#),
            format!(r#"{{"log":{json},"time":"2026-11-29T03:00:00.5Z"}}"#),
            format!("time=2026-11-29T03:00:00Z level=error ts=1795921200 msg={json}"),
            format!(r#"{{"lvl":"7","ts":{{"at":17}},"error":{json},"message":"17: no"}}"#),
        ]
    };
    let memo = RefCell::new(Memo::default());
    let (mut seen, mut remembered) = (0, 0);
    for (n, body) in lines_with_numbers().iter().enumerate() {
        let framed = times.iter().map(|time| [time, body.as_str()].concat());
        for line in framed.chain(wrap(body)) {
            for text in alike(&line, n as u64) {
                let again = memo.borrow_mut().line(&text, now());
                let (plain, _) = Line::read(&text, now());
                assert_eq!((again.marks, again.time), (plain.marks, plain.time), "{text}");
                seen += 1;
                remembered += usize::from(again.is_remembered());
                assert_eq!(again.text(), plain.text());
            }
        }
    }
    assert!(remembered * 3 > seen, "{remembered} of {seen}");
}

#[test]
fn candidates_are_the_lines_that_hold_a_word() {
    let words = [
        "refused",
        "no such",
        "ERROR",
        "",
        "all is well",
        "Timed out",
        "ärger \u{2028}",
    ];
    let compiled = SHIPPED.compiled();
    let mut text = String::new();
    for n in 0..400_usize {
        let line = [words[n * n % words.len()], " ", words[(n + n / 7) % words.len()]].concat();
        text.push_str(&line.repeat(n % 5));
        text.push_str(if n % 17 == 0 { " " } else { "\n" });
        for near_start in [false, true] {
            let ahead = Ahead::default();
            let (mut at, mut found) = (0, Vec::new());
            while let Some(hit) = ahead.next(compiled, near_start, &text, at) {
                found.push(text[..hit].matches('\n').count());
                at = text[hit..].find('\n').map_or(text.len(), |end| hit + end + 1);
            }
            let search = compiled.search(near_start);
            let holds = |line: &str| !search.candidates(line).is_empty();
            let lines = text.lines().enumerate().filter(|(_, line)| holds(line));
            assert_eq!(found, lines.map(|(n, _)| n).collect::<Vec<_>>(), "{n}");
        }
    }
}

#[test]
fn an_event_that_comes_again_is_counted_like_any_other() {
    let lines = |n: usize| format!("2026-11-29T03:00:{:02}Z ERROR order {} is lost\n", n % 20, n % 3);
    let log: String = (0..5000).map(lines).collect();
    let found = read(&log);
    assert_eq!(named(&found), [("error-line", 5000)]);
    let alone = read(&lines(0));
    assert_eq!(found.causes[0].signature, alone.causes[0].signature);
    assert_eq!(found.causes[0].samples.len(), 3);
}

#[test]
fn what_is_kept_of_a_log_is_bounded() {
    let mut reading = reading();
    let mut most = 0;
    for n in 0..400 {
        // Healthy lines, a line without end, a trace without end.
        let piece = match n % 3 {
            0 => "2026-11-29T03:00:00Z INFO ready\n".repeat(1000),
            1 => "x".repeat(40_000),
            _ => format!("\nTypeError: x\n{}", "    at total (/app/cart.js:3:1)\n".repeat(1000)),
        };
        reading.push(piece.as_bytes());
        most = most.max(reading.input.text().len());
    }
    assert!(most < 512 * 1024, "{most} bytes were kept");
    let found = reading.finish();
    assert!(
        found
            .causes
            .iter()
            .all(|cause| cause.samples.iter().all(|sample| sample.len() < 5000))
    );
}

#[test]
fn a_trace_goes_on_behind_lines_of_others() {
    let info = "2026-11-29T03:00:05Z INFO GET /health 200\n";
    let python = [
        "Traceback (most recent call last):\n",
        "  File \"/app/shop/cart.py\", line 9, in total\n",
        "    return items[0]\n",
        "IndexError: list index out of range\n",
    ];
    let whole = read(&amid(&python.concat()));
    for at in 1..python.len() {
        let mut lines = python.to_vec();
        lines.splice(at..at, [info, info]);
        let found = read(&amid(&lines.concat()));
        assert_eq!(found.causes, whole.causes, "behind line {at}");
        assert_eq!((found.events, found.lines), (1, whole.lines + 2));
    }
    // What follows a trace is none of it, even when it is indented.
    let found = read(&amid(
        &[
            "TypeError: x\n    at total (/app/cart.js:3:1)\n",
            info,
            "  Seq Scan on orders\n",
        ]
        .concat(),
    ));
    assert_eq!(
        found.causes[0].samples,
        ["TypeError: x\n    at total (/app/cart.js:3:1)"]
    );
    // A line in between that is a failure itself is no line of others.
    let broken = "2026-11-29T03:00:05Z ERROR order 17 is lost\n";
    let found = read(&amid(
        &[
            "TypeError: x\n    at total (/app/cart.js:3:1)\n",
            broken,
            "    at pay (/app/pay.js:3:1)\n",
        ]
        .concat(),
    ));
    assert_eq!(found.events, 2);
}
