//! Red runs of CI through the built program: which job, step and test failed, whatever runner printed it and however the
//! forge keeps the log, and what was red and green on one commit.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tick::demo::forge::{CiRun, JobRun};

use crate::{spine::Stage, support::read};

/// Job, command, and the log of its runner.
type Ran = (&'static str, &'static str, &'static str);

const WEB: &[Ran] = &[
    ("jest", "npx jest --ci", "jest"),
    ("vitest", "npx vitest run", "vitest"),
    ("node", "node --test", "node-spec"),
    ("mocha", "npx mocha", "mocha"),
    ("e2e", "npx playwright test", "playwright"),
];
const SERVICES: &[Ran] = &[
    ("pytest", "pytest -q", "pytest-short"),
    ("unittest", "python3 -m unittest", "unittest"),
    ("cargo", "cargo test --locked", "cargo"),
    ("nextest", "cargo nextest run", "nextest"),
    ("go", "go test ./...", "go"),
];
const BUILD: &[Ran] = &[
    ("types", "npx tsc --noEmit", "tsc"),
    ("lint", "npx eslint .", "eslint"),
    ("image", "docker build .", "docker"),
    ("rust", "cargo build", "rustc"),
];

fn stage() -> Stage {
    let stage = Stage::platform(
        ("UNUSED_TOKEN", "fake-token-not-real"),
        |_| json!({ "retry": { "attempts": 1, "seconds": 0 } }),
    );
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    stage
}

fn failed(job: &str, command: &str, log: &str) -> JobRun {
    JobRun::new(job, command, false, &read(&format!("src/text/ci/logs/{log}.log")))
}

impl Stage {
    fn ran(&self, workflow: &str, attempts: Vec<Vec<JobRun>>) -> u64 {
        let (workflow, sha) = (workflow.to_owned(), self.world.main_head().unwrap());
        let run = CiRun {
            workflow,
            sha,
            attempts,
        };
        self.world.ci_ran(&run).unwrap()
    }

    /// What a look tells of CI.
    fn red(&self) -> Vec<Value> {
        let (code, snapshot, text) = self.json(&["collect", "--only", "actions"]);
        assert_eq!(code, Some(0), "{text}");
        snapshot["signals"].as_array().unwrap().clone()
    }
}

/// Where it failed, by whose word, what, and whose code.
fn line(signal: &Value) -> String {
    let word = |of: &Value| of.as_str().unwrap_or("-").to_owned();
    let evidence = &signal["evidence"];
    let place = ["workflow", "job", "step"].map(|key| word(&evidence[key])).join(" / ");
    let culprit = match (&signal["culprit"]["file"], &signal["culprit"]["line"]) {
        (Value::String(file), Value::Number(line)) => format!("{file}:{line}"),
        (file, _) => word(file),
    };
    let said = word(&signal["message"]);
    let said: String = said.lines().nth(1).unwrap_or_default().chars().take(60).collect();
    let found = ["runner", "failure_type", "test"]
        .map(|key| word(&evidence[key]))
        .join(" | ");
    format!("{place} | {found} | {said} | {culprit}")
}

fn lines(signals: &[Value]) -> BTreeSet<String> {
    signals.iter().map(line).collect()
}

/// Nothing of what the host puts around a job's output.
fn has_no_framing(signal: &Value) {
    let message = signal["message"].as_str().unwrap();
    for mark in [
        "##[",
        "2026-11-29T",
        "shell: /usr/bin/bash",
        "CI: true",
        "\u{1b}",
        "[36;1m",
        "Post job",
        "orphan",
        "Syncing",
    ] {
        assert!(!message.contains(mark), "{mark:?} is in {message}");
    }
}

#[test]
fn each_runner_is_read_out_of_the_log_of_its_job() {
    let stage = stage();
    let all = [("Web", WEB), ("Services", SERVICES), ("Build", BUILD)];
    let enter = |archived: bool| {
        for (workflow, jobs) in all {
            let jobs = jobs.iter().map(|(job, command, log)| JobRun {
                archived,
                ..failed(job, command, log)
            });
            stage.ran(workflow, vec![jobs.collect()]);
        }
    };
    enter(false);
    let plain = stage.red();
    plain.iter().for_each(has_no_framing);
    let told = lines(&plain);
    insta::assert_snapshot!(told.iter().cloned().collect::<Vec<_>>().join("\n"), @r#"
    Build / image / Run docker build . | docker build | build | [builder 4/6] RUN npm ci | process "/bin/sh -c npm ci" did not complete successfully: e | -
    Build / lint / Run npx eslint . | eslint | build | src/x.js eqeqeq | Expected '===' and instead saw '==' (eqeqeq) | src/x.js:1
    Build / lint / Run npx eslint . | eslint | build | src/x.js no-undef | 'b' is not defined (no-undef) | src/x.js:1
    Build / lint / Run npx eslint . | eslint | build | src/y.js parse | Parsing error: Unexpected token = | src/y.js:1
    Build / rust / Run cargo build | rustc | build | src/lib.rs E0308 | error[E0308]: mismatched types | src/lib.rs:13
    Build / types / Run npx tsc --noEmit | tsc | build | src/a.ts TS2307 | TS2307: Cannot find module './nope' or its corresponding typ | src/a.ts:1
    Build / types / Run npx tsc --noEmit | tsc | build | src/a.ts TS2322 | TS2322: Type 'string' is not assignable to type 'number'. | src/a.ts:2
    Build / types / Run npx tsc --noEmit | tsc | build | src/a.ts TS2339 | TS2339: Property 'b' does not exist on type '{ a: number; }' | src/a.ts:3
    Services / cargo / Run cargo test --locked | cargo test | unit | doc src/lib.rs - total | panic: assertion `left == right` failed | src/lib.rs:5
    Services / cargo / Run cargo test --locked | cargo test | unit | shop::tests::adds | panic: assertion `left == right` failed: sum | src/lib.rs:8
    Services / cargo / Run cargo test --locked | cargo test | unit | shop::tests::empty | panic: index out of bounds: the len is 0 but the index is 0 | src/lib.rs:4
    Services / cargo / Run cargo test --locked | cargo test | unit | shop::tests::errs | Error: "no" | -
    Services / cargo / Run cargo test --locked | cargo test | unit | shop::tests::should | note: test did not panic as expected at src/lib.rs:11:32 | src/lib.rs:11
    Services / go / Run go test ./... | go build | build | example.org/acme/shop/store | undefined: openDB | store/sql.go:14
    Services / go / Run go test ./... | go test | unit | example.org/acme/shop/cart.TestEmpty | panic: runtime error: index out of range [0] with length 0 [ | cart/cart.go:9
    Services / go / Run go test ./... | go test | unit | example.org/acme/shop/cart.TestTotal/adds_2_items | total([2 2]) = 4, want 5 | cart_test.go:19
    Services / go / Run go test ./... | go test | unit | example.org/acme/shop/cart.TestTotal/is_empty | total([]) = 1, want 0 | cart_test.go:19
    Services / go / Run go test ./... | go test | unit | example.org/acme/shop/cart.TestVerbose | said before the result | cart_test.go:31
    Services / pytest / Run pytest -q | pytest | unit | tests/test_cart.py::TestCart::test_empty | IndexError: list index out of range | shop/cart.py:2
    Services / pytest / Run pytest -q | pytest | unit | tests/test_cart.py::TestCart::test_sub | AssertionError: 1 != 3 : three | tests/test_cart.py:14
    Services / pytest / Run pytest -q | pytest | unit | tests/test_cart.py::test_adds | AssertionError: sum | tests/test_cart.py:4
    Services / pytest / Run pytest -q | pytest | unit | tests/test_cart.py::test_db | RuntimeError: no db | tests/test_cart.py:8
    Services / pytest / Run pytest -q | pytest | unit | tests/test_cart.py::test_rates[1] | AssertionError: assert {'a': 1, 'b': 2} == {'a': 3, 'b': 2} | tests/test_cart.py:6
    Services / unittest / Run python3 -m unittest | unittest | unit | test_broken | ModuleNotFoundError: No module named 'nope' | tests/test_broken.py:1
    Services / unittest / Run python3 -m unittest | unittest | unit | tests.test_u.Cart.test_empty | IndexError: list index out of range | shop/cart.py:2
    Services / unittest / Run python3 -m unittest | unittest | unit | tests.test_u.Cart.test_sub | AssertionError: 1 != 3 | tests/test_u.py:10
    Services / unittest / Run python3 -m unittest | unittest | unit | tests.test_u.Cart.test_sum | AssertionError: 4 != 5 : sum | tests/test_u.py:7
    Web / e2e / Run npx playwright test | playwright | e2e | e2e/login.spec.ts › login › shows the cart | Error: expect(received).toBe(expected) // Object.is equality | e2e/login.spec.ts:3
    Web / e2e / Run npx playwright test | playwright | visual | e2e/login.spec.ts › login › looks right | Error: expect(page).toHaveScreenshot(expected) failed | e2e/login.spec.ts:4
    Web / jest / Run npx jest --ci | jest | unit | test/broken.test.js | Cannot find module './nope' from 'test/broken.test.js' | test/broken.test.js:1
    Web / jest / Run npx jest --ci | jest | unit | test/cart.test.js › cart › adds 2 items | expect(received).toBe(expected) // Object.is equality | test/cart.test.js:3
    Web / jest / Run npx jest --ci | jest | unit | test/cart.test.js › cart › is empty | TypeError: Cannot read properties of undefined (reading 'pri | src/cart.js:1
    Web / mocha / Run npx mocha | mocha | unit | cart > adds 2 items | AssertionError [ERR_ASSERTION]: Expected values to be strict | mt/cart.js:2
    Web / mocha / Run npx mocha | mocha | unit | cart > hook > "before all" hook for "x" | Error: no db | mt/cart.js:4
    Web / mocha / Run npx mocha | mocha | unit | cart > is empty | TypeError: Cannot read properties of undefined (reading 'pri | src/cart.js:1
    Web / mocha / Run npx mocha | mocha | unit | cart > is slow | Error: Timeout of 20ms exceeded. For async tests and hooks,  | mt/cart.js
    Web / node / Run node --test | node:test | unit | nt/cart.test.js > adds 2 items | AssertionError [ERR_ASSERTION]: Expected values to be strict | nt/cart.test.js:2
    Web / node / Run node --test | node:test | unit | nt/cart.test.js > is empty | TypeError [Error]: Cannot read properties of undefined (read | src/cart.js:1
    Web / node / Run node --test | node:test | unit | nt/cart.test.js > plain | Error: boom | nt/cart.test.js:3
    Web / vitest / Run npx vitest run | vitest | unit | vt/broken.test.ts | Error: Cannot find module './nope' imported from '/home/runn | vt/broken.test.ts:1
    Web / vitest / Run npx vitest run | vitest | unit | vt/cart.test.ts > cart > adds 2 items | AssertionError: expected 4 to be 5 // Object.is equality | vt/cart.test.ts:3
    Web / vitest / Run npx vitest run | vitest | unit | vt/cart.test.ts > cart > is empty | TypeError: Cannot read properties of undefined (reading 'pri | src/cart.js:1
    "#);
    // Later runs, of which only the archives are left, say the same.
    stage.step(15);
    enter(true);
    assert_eq!(lines(&stage.red()), told);
    stage.world.finish().unwrap();
}

#[test]
fn a_job_of_which_no_reader_knows_anything_is_told_by_its_output_alone() {
    let stage = stage();
    let output = "cp index.html /srv/www\ncp: cannot create regular file '/srv/www': Permission denied\nmake: *** [Makefile:3: deploy] Error 1\n";
    stage.ran("Deploy", vec![vec![JobRun::new("site", "make deploy", false, output)]]);
    let signals = stage.red();
    let [signal] = signals.as_slice() else {
        panic!("{signals:#?}")
    };
    has_no_framing(signal);
    assert_eq!(signal["title"], "CI is red: Deploy / site / Run make deploy");
    assert_eq!(signal["message"].as_str().unwrap().trim(), output.trim());
    stage.world.finish().unwrap();
}

#[test]
fn a_test_that_is_green_when_it_runs_again_is_a_flake_with_its_evidence() {
    let stage = stage();
    let red = || vec![failed("unit", "npx jest --ci", "jest")];
    let green = || vec![JobRun::new("unit", "npx jest --ci", true, "PASS test/cart.test.js\n")];
    let run = stage.ran("Web", vec![red(), green()]);
    let signals = stage.red();
    assert_eq!(signals.len(), 3, "{signals:#?}");
    let sha = stage.world.main_head().unwrap();
    for signal in &signals {
        has_no_framing(signal);
        assert!(
            signal["title"]
                .as_str()
                .unwrap()
                .starts_with("CI is flaky: Web / unit: test/"),
            "{signal}"
        );
        assert_eq!(signal["severity"], "warning");
        let evidence = json!({ "sha": sha, "red_run": run, "red_attempt": 1, "green_run": run, "green_attempt": 2 });
        assert_eq!(signal["evidence"]["flake"], evidence);
    }
    let (code, report, text) = stage.json(&["--json"]);
    assert_eq!((code, report["models_called"].as_u64()), (Some(0), Some(0)), "{text}");
    assert!(
        stage.world.mail().take().unwrap().is_empty(),
        "nobody is told of a flake at once"
    );
    stage.world.finish().unwrap();
}

/// Red: told once, with job and test. Run again and green: over, and what it was is known.
#[test]
fn red_is_told_and_green_on_a_rerun_ends_it() {
    let stage = stage();
    let output = read("src/text/ci/logs/pytest-collect.log");
    let job = || JobRun::new("unit", "pytest -q", false, &output);
    let run = stage.ran("Services", vec![vec![job()]]);
    let (_, report, text) = stage.json(&["--json"]);
    let opened = report["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["what"] == "opened");
    assert_eq!(opened.count(), 1, "{text}");
    let mails = stage.world.mail().take().unwrap();
    assert!(
        mails.len() == 1 && mails[0].subject.contains("tests/test_broken.py"),
        "{mails:?}"
    );
    stage.step(15);
    let green = JobRun::new("unit", "pytest -q", true, "2 passed in 0.02s\n");
    stage.world.ci_ran_again(run, &[green]).unwrap();
    let signals = stage.red();
    assert_eq!(signals.len(), 1, "{signals:#?}");
    assert_eq!(signals[0]["evidence"]["flake"]["green_attempt"], 2);
    let mut told = Vec::new();
    for _ in 0..3 {
        let (_, _, text) = stage.json(&["--json"]);
        told.extend(
            stage
                .world
                .mail()
                .take()
                .unwrap()
                .into_iter()
                .map(|mail| (mail.subject, text.clone())),
        );
        stage.step(15);
    }
    assert!(told.len() == 1 && told[0].0.contains("over"), "{told:?}");
    let (_, _, status) = stage.json(&["status"]);
    assert!(status.contains("Nothing is open"), "{status}");
    stage.world.finish().unwrap();
}
