//! What stands around the tests of a repository: a service on a loopback of its own, and what a setup made. Where one
//! does not come up, that is said.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

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

/// What the tests import is not in the repository: the setup fetches it from a host of packages.
const FETCH: &str = "
import os, pathlib, sys, urllib.request
rates = urllib.request.urlopen(sys.argv[1], timeout=20).read().decode()
pathlib.Path('vendor').mkdir()
pathlib.Path('vendor/rates.py').write_text(rates)
pathlib.Path(os.environ['HOME'], 'licence').write_text('paid')
";
const FETCHED: &str = "
import pathlib
import unittest

from vendor import rates


class FetchedTest(unittest.TestCase):
    def test_a_package_is_there(self):
        self.assertEqual(rates.USD, 108)
        self.assertEqual(pathlib.Path.home().joinpath('licence').read_text(), 'paid')
        # Each run has a copy of its own.
        self.assertFalse(pathlib.Path('vendor/was-here').exists())
        self.assertFalse(pathlib.Path.home().joinpath('was-here').exists())
        pathlib.Path('vendor/was-here').touch()
        pathlib.Path.home().joinpath('was-here').touch()
";

fn with_packages(world: &World) {
    let author = Author {
        name: "ada",
        at: world.now(),
    };
    let file = |path: &str, text: &str| (path.to_owned(), Some(text.as_bytes().to_vec()));
    let files = [
        file("tools/fetch.py", FETCH),
        file("tests/test_fetched.py", FETCHED),
        file("requirements.txt", "rates==1\n"),
        file(".gitignore", "__pycache__/\nvendor/\n"),
    ];
    let repo = world.repo();
    repo.commit("main", None, author, "fetch rates", &files).unwrap();
}

/// A host of packages that counts what it is asked for.
struct Packages {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Packages {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // Ends with the process of the tests.
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let mut head = [0; 4096];
                let _read = client.read(&mut head);
                count.fetch_add(1, Ordering::SeqCst);
                let _gone =
                    client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nUSD = 108");
            }
        });
        Self { port, asked }
    }

    fn config(&self, hosts: &[String]) -> Value {
        let fetch = format!("python3 tools/fetch.py http://127.0.0.1:{}/rates", self.port);
        json!({ "repos": { "shop": { "setup": [fetch], "setup_hosts": hosts } } })
    }
}

#[test]
fn a_setup_runs_once_on_the_base_and_is_copied_into_every_tree() {
    let packages = Packages::start();
    let prepared = Prepared::start(&Wants {
        config: packages.config(&[format!("127.0.0.1:{}", packages.port)]),
        world: with_packages,
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    prepared.assert_evidence(&prepared.pull().head_sha, &run.text);
    assert_eq!(packages.asked.load(Ordering::SeqCst), 1, "{}", run.text);
    let suites = prepared.ask("SELECT detail FROM evidence WHERE kind = ?1", "base-suite");
    let suite: Value = serde_json::from_str(&suites[0]).unwrap();
    let tests = suite["tests"].as_object().unwrap();
    let fetched = tests
        .iter()
        .find(|(id, _)| id.contains("test_a_package_is_there"))
        .unwrap();
    assert_eq!(fetched.1[0]["status"], "pass", "{suite}");
    prepared.finish();
}

#[test]
fn a_setup_that_fails_is_told_before_any_agent_is_asked() {
    let packages = Packages::start();
    let prepared = Prepared::start(&Wants {
        config: packages.config(&[]),
        world: with_packages,
        ..Wants::default()
    });
    let run = prepared.tick();
    run.waits_for("failed on the base: exit 1");
    run.waits_for("403");
    assert_eq!(packages.asked.load(Ordering::SeqCst), 0, "{}", run.text);
    let attempts = prepared.ask("SELECT CAST(n AS TEXT) FROM attempt WHERE n > ?1", "0");
    assert!(attempts.is_empty(), "{attempts:?}");
    prepared.finish();
}
