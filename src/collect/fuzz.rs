//! The readers of answers, as functions over bytes, for the fuzzer. Nothing of the product calls them.

use std::{cell::RefCell, collections::HashMap, time::Duration};

use super::{actions, declared, declared_spec::Spec, github, jsonrpc, pulls, railway, report::Report, vercel};
use crate::{
    config::{JsonRpcProbe, Patience},
    text::{jq::Program, json},
};

pub fn actions_log(bytes: &[u8]) {
    actions::fuzz_log(bytes);
}

pub fn pulls(bytes: &[u8]) {
    pulls::fuzz(bytes);
}

pub fn runs(bytes: &[u8]) {
    actions::fuzz(bytes);
}

pub fn jsonrpc(bytes: &[u8]) {
    let probe = JsonRpcProbe {
        name: "node".to_owned(),
        url: "http://127.0.0.1:1/".parse().expect("a constant URL"),
        every: None,
        patience: Patience::default(),
        timeout: Duration::from_secs(1),
        method: "getHealth".to_owned(),
        params: serde_json::json!([]),
        jq: None,
        reference: None,
        max_lag: None,
        headers: Vec::new(),
    };
    jsonrpc::fuzz(bytes, &probe);
}

thread_local! {
    static PROGRAMS: RefCell<HashMap<&'static str, Program>> = RefCell::default();
}

/// The program of a shipped collector over an answer, and the reading of what it gives.
pub fn declared(name: &'static str, bytes: &[u8]) {
    if json::check(bytes).is_err() {
        return;
    }
    let results = PROGRAMS.with_borrow_mut(|programs| {
        let program = programs.entry(name).or_insert_with(|| {
            let shipped = declared::shipped().iter().find(|shipped| shipped.name == name);
            Program::compile(shipped.expect("a shipped collector").program).expect("a shipped program compiles")
        });
        program.run(bytes)
    });
    for result in results.into_iter().flatten() {
        drop(Report::read(result));
    }
}

pub fn railway(bytes: &[u8]) {
    // As of every answer, only what is strict JSON is looked at.
    if json::check(bytes).is_ok() {
        railway::fuzz(bytes);
    }
}

pub fn vercel(bytes: &[u8]) {
    vercel::fuzz(bytes);
}

pub fn request_file(bytes: &[u8]) {
    drop(Spec::parse(&String::from_utf8_lossy(bytes)));
}

pub fn link(bytes: &[u8]) {
    drop(github::next_link(&String::from_utf8_lossy(bytes)));
}

pub fn signals(bytes: &[u8]) {
    if let Ok(value) = json::parse(bytes) {
        drop(Report::read(value));
    }
}
