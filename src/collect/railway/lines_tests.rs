use chrono::TimeDelta;
use serde_json::json;

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(second)
}

fn line(second: i64, message: &str) -> Line {
    let line = json!({ "timestamp": at(second), "message": message, "severity": "info", "tags": null });
    serde_json::from_value(line).unwrap()
}

/// Pages of three entries of a log, as the service gives them: the latest up to a time.
fn paged(log: &[Line], since: i64, until: i64) -> (Vec<String>, Next) {
    let mut pages = Pages::new(at(since), at(until));
    loop {
        let within: Vec<&Line> = log.iter().filter(|line| line.at() <= Some(pages.until)).collect();
        let page = within[within.len().saturating_sub(3)..]
            .iter()
            .map(|line| (*line).clone())
            .collect();
        let next = pages.take(page, 3);
        if next != Next::More {
            let entries = pages.into_entries().into_iter();
            return (entries.map(|(_, line)| line.message).collect(), next);
        }
    }
}

#[test]
fn every_line_of_a_look_is_read_once() {
    let log: Vec<Line> = (0..10).map(|n| line(n, &format!("l{n}"))).collect();
    let names = |range: std::ops::RangeInclusive<i64>| range.map(|n| format!("l{n}")).collect::<Vec<_>>();
    assert_eq!(paged(&log, -1, 9), (names(0..=9), Next::Done));
    // What the look before has read is left out, what is younger is left to the next.
    assert_eq!(paged(&log, 3, 7), (names(4..=7), Next::Done));
    assert_eq!(paged(&log, 9, 20), (Vec::new(), Next::Done));
    assert_eq!(paged(&[], 0, 20), (Vec::new(), Next::Done));
}

#[test]
fn lines_of_one_time_are_kept_over_the_seam_of_two_pages() {
    let log = [line(1, "a"), line(2, "b"), line(3, "c"), line(3, "d"), line(4, "e")];
    let (found, next) = paged(&log, 0, 9);
    assert_eq!((found.join(""), next), ("abcde".to_owned(), Next::Done));
    // More of one time than a page holds cannot all be asked for.
    let flood: Vec<Line> = (0..5).map(|n| line(3, &format!("l{n}"))).collect();
    let (found, next) = paged(&flood, 0, 3);
    assert_eq!((found.len(), next), (3, Next::Stuck));
}

#[test]
fn one_more_than_was_asked_for_and_a_line_without_a_time_do_no_harm() {
    let mut pages = Pages::new(at(0), at(9));
    let mut broken = line(5, "x");
    broken.timestamp = "now".to_owned();
    let page = vec![line(1, "a"), line(2, "b"), line(3, "c"), broken];
    assert_eq!(pages.take(page, 3), Next::More);
    assert_eq!(pages.until, at(1));
    assert_eq!(pages.take(vec![line(1, "a")], 3), Next::Done);
    assert_eq!(pages.into_entries().len(), 3);
}

#[test]
fn levels_are_told_by_how_they_begin() {
    for (severity, expected) in [
        ("err", "error"),
        ("error", "error"),
        ("ERROR", "error"),
        ("warn", "warn"),
        ("warning", "warn"),
        ("info", "info"),
        ("critical", "fatal"),
        ("debug", "debug"),
        ("", ""),
        ("é", ""),
    ] {
        assert_eq!(level(Some(severity), true), expected, "{severity}");
    }
    assert_eq!(level(None, true), "");
    assert_eq!(
        level(Some("error"), false),
        "",
        "where a program writes everything to stderr"
    );
}

#[test]
fn lines_of_one_instance_stay_together_and_bring_their_trace() {
    let tagged = |second: i64, instance: &str, message: &str| {
        let tags = json!({ "deploymentId": "d", "deploymentInstanceId": instance });
        let stack = json!([{ "key": "stack", "value": "\"Error: x\\n    at f (a.js:1:2)\"" }]);
        let line = json!({
            "timestamp": at(second), "message": message, "severity": "error", "attributes": stack, "tags": tags,
        });
        (at(second), serde_json::from_value::<Line>(line).unwrap())
    };
    let lines = vec![
        tagged(1, "one", "a"),
        tagged(2, "two", "b"),
        tagged(3, "one", "c"),
        (at(4), line(4, "d")),
    ];
    let found = by_deployment(lines, true);
    let texts = |id: &str| {
        found[id]
            .iter()
            .map(|entry| entry.text.lines().next().unwrap())
            .collect::<String>()
    };
    assert_eq!((texts("d"), texts("")), ("acb".to_owned(), "d".to_owned()));
    assert_eq!(found["d"][0].text, "a\nError: x\n    at f (a.js:1:2)");
}

#[test]
fn the_lines_of_a_build_that_say_why_are_kept() {
    let log = "step 1\nfound 0 errors\nsrc/a.ts(1,2): error TS2322: no\nstep 2\nBuild failed";
    assert_eq!(failing(log), "src/a.ts(1,2): error TS2322: no\nBuild failed");
    let calm: Vec<String> = (0..40).map(|n| format!("step {n}")).collect();
    assert_eq!(failing(&calm.join("\n")).lines().count(), 15);
    assert_eq!(failing(""), "");
}

#[test]
fn what_the_edge_says_is_put_together() {
    let said = |details: &str, errors: &str| {
        let line = json!({
            "timestamp": at(0), "method": "GET", "path": "/", "httpStatus": 502,
            "responseDetails": details, "upstreamErrors": errors,
        });
        serde_json::from_value::<HttpLine>(line).unwrap().said()
    };
    assert_eq!(said("connection refused", "[]"), "connection refused");
    let errors = "[{\"error\": \"dial timeout\", \"deploymentInstanceID\": \"x\"}, \"reset\"]";
    assert_eq!(said("", errors), "dial timeout; reset");
    assert_eq!(said("", "no JSON"), "");
}
