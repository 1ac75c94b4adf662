use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::*;

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
