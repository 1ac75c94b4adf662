//! A repository whose tests need a service: the proof runs with it on a loopback of its own, and says so where it does
//! not come up.

use serde_json::{Value, json};
use tick::demo::{World, forge::Author, shop};

use crate::merges::prepared::{Prepared, Wants};

fn with_rates(world: &World) {
    let author = Author {
        name: "ada",
        at: world.now(),
    };
    let repo = world.repo();
    repo.commit("main", None, author, "ask a service for rates", &shop::rates())
        .unwrap();
}

fn config(licence: &str) -> Value {
    json!({ "repos": { "shop": {
        "services": [{ "start": ["python3 tools/rates.py 47821"], "ready": "tcp:47821", "ready_seconds": 30 }],
        "env": { "RATES": "127.0.0.1:47821", "RATES_LICENCE": licence },
    } } })
}

#[test]
fn tests_that_need_a_service_prove_a_fix() {
    let prepared = Prepared::start(&Wants {
        config: config("test"),
        world: with_rates,
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    let of_base = "SELECT detail FROM evidence WHERE kind = ?1";
    let suites = prepared.ask(of_base, "base-suite");
    let suite: Value = serde_json::from_str(&suites[0]).unwrap();
    let tests = suite["tests"].as_object().unwrap();
    let rates = tests
        .iter()
        .find(|(id, _)| id.contains("test_a_rate_is_known"))
        .unwrap();
    assert_eq!(rates.1[0]["status"], "pass", "{suite}");
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.assert_evidence(&prepared.pull().head_sha, &run.text);
    prepared.finish();
}

#[test]
fn a_service_that_does_not_come_up_is_told_and_nothing_is_merged() {
    let prepared = Prepared::start(&Wants {
        config: config("none"),
        world: with_rates,
        ..Wants::default()
    });
    let run = prepared.tick();
    assert!(prepared.merged_by_us().is_none(), "{}", run.text);
    let proofs = prepared.ask("SELECT detail FROM evidence WHERE kind = ?1", "proof");
    let why = "its service `python3 tools/rates.py 47821` ended with exit status: 1 before it was ready: rates: \
               RATES_LICENCE is not set";
    assert!(proofs[0].contains(why), "{}", proofs[0]);
    prepared.finish();
}
