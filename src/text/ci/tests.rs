//! Each reader on what its runner really prints, for tests written for this purpose.

use super::*;

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("logs/", $name, ".log"))
    };
}

/// Test, first line of what it said, and the culprit.
fn told(runner: &str, log: &str) -> Vec<String> {
    let failures = read(log);
    assert!(failures.iter().all(|failure| failure.runner == runner), "{failures:?}");
    failures
        .iter()
        .map(|failure| {
            let first = failure.message.lines().next().unwrap_or_default();
            let culprit = failure.sign().culprit;
            let culprit = culprit.map_or_else(String::new, |c| match c.line {
                Some(line) => format!("{}:{line}", c.file),
                None => c.file,
            });
            format!("{} | {first} | {culprit}", failure.test)
        })
        .collect()
}

#[test]
fn pytest_in_every_style_of_traceback() {
    let full = [
        "tests/test_cart.py::test_db | RuntimeError: no db | tests/test_cart.py:8",
        "tests/test_cart.py::test_adds | AssertionError: sum | tests/test_cart.py:4",
        "tests/test_cart.py::test_rates[1] | AssertionError: assert {'a': 1, 'b': 2} == {'a': 3, 'b': 2} | tests/test_cart.py:6",
        "tests/test_cart.py::test_rates[2] | AssertionError: assert {'a': 2, 'b': 2} == {'a': 3, 'b': 2} | tests/test_cart.py:6",
        "tests/test_cart.py::TestCart::test_empty | IndexError: list index out of range | shop/cart.py:2",
        "tests/test_cart.py::TestCart::test_sub | AssertionError: 1 != 3 : three | tests/test_cart.py:14",
    ];
    assert_eq!(told("pytest", log!("pytest-long")), full);
    assert_eq!(told("pytest", log!("pytest-short")), full);
    let names = |log| read(log).into_iter().map(|failure| failure.test).collect::<Vec<_>>();
    assert_eq!(names(log!("pytest-line")), names(log!("pytest-long")));
    assert_eq!(
        told("pytest", log!("pytest-collect")),
        ["tests/test_broken.py | ModuleNotFoundError: No module named 'nope' | tests/test_broken.py:1"]
    );
}

#[test]
fn unittest_with_docstrings_and_parts_of_tests() {
    assert_eq!(
        told("unittest", log!("unittest")),
        [
            "tests.test_u.Cart.test_empty | IndexError: list index out of range | shop/cart.py:2",
            "test_broken | ModuleNotFoundError: No module named 'nope' | tests/test_broken.py:1",
            "tests.test_u.Cart.test_sub | AssertionError: 1 != 3 | tests/test_u.py:10",
            "tests.test_u.Cart.test_sum | AssertionError: 4 != 5 : sum | tests/test_u.py:7",
        ]
    );
}

#[test]
fn rust_tests_have_one_name_whichever_runner_ran_them() {
    let by_cargo = told("cargo test", log!("cargo"));
    assert_eq!(
        by_cargo,
        [
            "shop::tests::adds | panic: assertion `left == right` failed: sum | src/lib.rs:8",
            "shop::tests::empty | panic: index out of bounds: the len is 0 but the index is 0 | src/lib.rs:4",
            "shop::tests::errs | Error: \"no\" | ",
            "shop::tests::should | note: test did not panic as expected at src/lib.rs:11:32 | src/lib.rs:11",
            "doc src/lib.rs - total | panic: assertion `left == right` failed | src/lib.rs:5",
        ]
    );
    let mut by_nextest = told("nextest", log!("nextest"));
    by_nextest.sort();
    assert_eq!(by_nextest, by_cargo[..4]);
    let signed = |log, test: &str| read(log).into_iter().find(|f| f.test == test).unwrap().sign().signature;
    for test in ["shop::tests::adds", "shop::tests::empty"] {
        assert_eq!(signed(log!("cargo"), test), signed(log!("nextest"), test));
    }
    assert_eq!(
        told("rustc", log!("rustc")),
        ["src/lib.rs E0308 | error[E0308]: mismatched types | src/lib.rs:13"]
    );
}

#[test]
fn nextest_programs_and_what_passed_on_a_retry() {
    let log = "  Nextest run ID 1 with nextest profile: ci
        TRY 1 FAIL [   0.005s] (1/3) shop-api::bin/serve tests::starts
  stderr ───

    thread 'tests::starts' panicked at src/main.rs:3:5:
    no port

   TRY 2 PASS [   0.004s] (1/3) shop-api::bin/serve tests::starts
     TIMEOUT [  60.005s] (2/3) shop-api::flow waits
  stdout ───
    still waiting

     Summary [  60.4s] 3 tests run: 2 passed (1 flaky), 1 timed out, 0 skipped
       FLAKY 2/3 [   0.004s] (1/3) shop-api::bin/serve tests::starts
     TIMEOUT [  60.005s] (2/3) shop-api::flow waits
";
    assert_eq!(told("nextest", log), ["flow::waits | still waiting | "]);
}

#[test]
fn go_tests_before_and_behind_their_output() {
    let failures = read(log!("go"));
    let told: Vec<String> = failures
        .iter()
        .map(|f| {
            format!(
                "{} | {} | {}",
                f.runner,
                f.test,
                f.message.lines().next().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "go build | example.org/acme/shop/store | undefined: openDB",
            "go test | example.org/acme/shop/cart.TestTotal/adds_2_items | total([2 2]) = 4, want 5",
            "go test | example.org/acme/shop/cart.TestTotal/is_empty | total([]) = 1, want 0",
            "go test | example.org/acme/shop/cart.TestVerbose | said before the result",
            "go test | example.org/acme/shop/cart.TestEmpty | panic: runtime error: index out of range [0] with length 0 [recovered]",
        ]
    );
    let culprit = failures[4].sign().culprit.unwrap();
    assert_eq!((culprit.file.as_str(), culprit.line), ("cart/cart.go", Some(9)));
}

#[test]
fn the_runners_of_javascript() {
    let undefined = "TypeError: Cannot read properties of undefined (reading 'price')";
    assert_eq!(
        told("jest", log!("jest")),
        [
            "test/cart.test.js › cart › adds 2 items | expect(received).toBe(expected) // Object.is equality | test/cart.test.js:3",
            &format!("test/cart.test.js › cart › is empty | {undefined} | src/cart.js:1"),
            "test/broken.test.js | Cannot find module './nope' from 'test/broken.test.js' | test/broken.test.js:1",
        ]
    );
    assert_eq!(
        told("vitest", log!("vitest"))[1..],
        [
            "vt/cart.test.ts > cart > adds 2 items | AssertionError: expected 4 to be 5 // Object.is equality | vt/cart.test.ts:3".to_owned(),
            format!("vt/cart.test.ts > cart > is empty | {undefined} | src/cart.js:1"),
        ]
    );
    assert_eq!(
        told("mocha", log!("mocha"))[1..],
        [
            format!("cart > is empty | {undefined} | src/cart.js:1"),
            "cart > is slow | Error: Timeout of 20ms exceeded. For async tests and hooks, ensure \"done()\" is called; if returning a Promise, ensure it resolves. (/home/runner/work/shop/shop/mt/cart.js) | mt/cart.js".to_owned(),
            "cart > hook > \"before all\" hook for \"x\" | Error: no db | mt/cart.js:4".to_owned(),
        ]
    );
    let tap = told("node:test", log!("node-tap"));
    assert_eq!(
        tap,
        [
            "nt/cart.test.js > cart > adds 2 items | AssertionError: Expected values to be strictly equal: | nt/cart.test.js:2",
            &format!("nt/cart.test.js > cart > is empty | {undefined} | src/cart.js:1"),
            "nt/cart.test.js > plain | boom | nt/cart.test.js:3",
        ]
    );
    let spec = told("node:test", log!("node-spec"));
    assert_eq!(
        (spec.len(), spec[2].as_str()),
        (3, "nt/cart.test.js > plain | Error: boom | nt/cart.test.js:3")
    );
}

#[test]
fn tests_of_vitest_that_failed_alike_share_what_was_said() {
    let log = " FAIL  |web| src/a.test.ts > one\n FAIL  |web| src/a.test.ts > two\nError: no db\n ❯ src/db.ts:4:9\n⎯⎯⎯⎯⎯⎯[1/1]⎯";
    assert_eq!(
        told("vitest", log),
        [
            "src/a.test.ts > one | Error: no db | src/db.ts:4",
            "src/a.test.ts > two | Error: no db | src/db.ts:4",
        ]
    );
}

#[test]
fn playwright_without_projects_and_without_what_passed_again() {
    let log = log!("playwright");
    assert_eq!(
        told("playwright", log),
        [
            "e2e/login.spec.ts › login › shows the cart | Error: expect(received).toBe(expected) // Object.is equality | e2e/login.spec.ts:3",
            "e2e/login.spec.ts › login › looks right | Error: expect(page).toHaveScreenshot(expected) failed | e2e/login.spec.ts:4",
        ]
    );
    let classes: Vec<Class> = read(log).iter().map(|failure| failure.class).collect();
    assert_eq!(classes, [Class::E2e, Class::Visual]);
    let flaky = "  1) [web] › a.spec.ts:3:3 › shows ─────\n\n    Error: once\n\n  1 flaky\n    [web] › a.spec.ts:3:3 › shows ───\n  4 passed (2.2s)\n";
    assert!(read(flaky).is_empty());
}

#[test]
fn compilers_linters_and_images() {
    let types = [
        "src/a.ts TS2307 | TS2307: Cannot find module './nope' or its corresponding type declarations. | src/a.ts:1",
        "src/a.ts TS2322 | TS2322: Type 'string' is not assignable to type 'number'. | src/a.ts:2",
        "src/a.ts TS2339 | TS2339: Property 'b' does not exist on type '{ a: number; }'. | src/a.ts:3",
    ];
    assert_eq!(told("tsc", log!("tsc")), types);
    assert_eq!(told("tsc", log!("tsc-pretty")), types);
    assert_eq!(
        told("eslint", log!("eslint")),
        [
            "src/x.js no-undef | 'b' is not defined (no-undef) | src/x.js:1",
            "src/x.js eqeqeq | Expected '===' and instead saw '==' (eqeqeq) | src/x.js:1",
            "src/y.js parse | Parsing error: Unexpected token = | src/y.js:1",
        ]
    );
    let [image] = read(log!("docker")).try_into().unwrap();
    assert_eq!(image.test, "[builder 4/6] RUN npm ci");
    assert!(
        image.message.ends_with("npm error Missing: left@2.0.0 from lock file"),
        "{}",
        image.message
    );
    let classic = "Step 3/9 : RUN make\n ---> Running in 0123456789ab\nmake: *** No rule to make target 'all'.  Stop.\nThe command '/bin/sh -c make' returned a non-zero code: 2\n";
    assert_eq!(told("docker build", classic).len(), 1);
}

#[test]
fn tests_that_ran_while_an_image_was_built_are_found() {
    let lines: Vec<String> = log!("pytest-short")
        .lines()
        .map(|line| format!("#12 4.512 {line}"))
        .collect();
    let inside = lines.join("\n");
    assert_eq!(told("pytest", &inside), told("pytest", log!("pytest-short")));
}

/// Nothing of what went well, and nothing of texts that only look alike, is a failure.
#[test]
fn what_is_no_failure_is_none() {
    for log in [
        "",
        "PASS test/cart.test.js\n  ● Console\n\n    console.log\n      FAIL of a kind\n\nTests:       2 passed, 2 total",
        "ok  \texample.org/acme/shop\t0.1s\n--- PASS: TestTotal (0.00s)",
        "test tests::adds ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "  1) first read the manual\n  2) then the code",
        "not ok 1 - a line that no TAP stream holds",
        "========= FAILURE is not an option =========\n____ neither is this ____",
        "error: this is said by some other tool\n  --> and not followed by a place",
        "warning: unused variable: `x`\n --> src/lib.rs:3:5",
        "src/a.js\n  1:9  warning  'b' is not defined  no-undef",
    ] {
        assert_eq!(read(log), [], "{log}");
    }
}

#[test]
fn the_same_failure_has_one_signature_wherever_it_ran() {
    let elsewhere = log!("pytest-long").replace("tests/test_cart.py:4:", "tests/test_cart.py:19:");
    let colours = log!("pytest-long")
        .replace("E   ", "\u{1b}[1m\u{1b}[31mE   ")
        .replace(" seconds", "\u{1b}[0m");
    let signed = |log: &str| {
        read(log)
            .iter()
            .map(|f| f.sign().signature.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(signed(&elsewhere), signed(log!("pytest-long")));
    assert_eq!(signed(&colours), signed(log!("pytest-long")));
    let all: HashSet<String> = signed(log!("pytest-long")).into_iter().collect();
    assert_eq!(all.len(), 5, "two of one parametrised test are one cause");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(raw in "(\\PC|\n|FAIL|ERROR|--- |not ok 1 - |  1\\) |E   |=+ FAILURES =+\n|TAP version 13\n|error: x\n){0,60}") {
        for failure in read(&raw) {
            failure.sign();
        }
    }
}

#[test]
fn checkers_of_python_have_one_name_in_every_form() {
    let mypy = "shop/cart.py:3: error: Unsupported operand types for + (\"int\" and \"str\")  [operator]\n\
                shop/cart.py:9:5: error: Name \"totl\" is not defined  [name-defined]\n\
                shop/cart.py:9: note: see the manual\nFound 2 errors in 1 file (checked 3 source files)\n";
    assert_eq!(
        told("mypy", mypy),
        [
            "shop/cart.py operator | Unsupported operand types for + (\"int\" and \"str\") [operator] | shop/cart.py:3",
            "shop/cart.py name-defined | Name \"totl\" is not defined [name-defined] | shop/cart.py:9",
        ]
    );
    let short =
        "shop/cart.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.\n";
    let long = "F401 [*] `os` imported but unused\n --> shop/cart.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\n\nFound 1 error.\n";
    let expected = ["shop/cart.py F401 | F401 `os` imported but unused | shop/cart.py:1"];
    assert_eq!(told("ruff", short), expected);
    assert_eq!(told("ruff", long), expected);
    assert_eq!(read(short)[0].sign().signature, read(long)[0].sign().signature);
    let twice = "src/a.ts(3,5): error TS2322: one.\nsrc/a.ts(9,5): error TS2322: two.\n";
    assert_eq!((read(twice).len(), checked(twice).len()), (1, 2));
}
