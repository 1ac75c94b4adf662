//! Events of `go test`, read and asked for.

use super::*;

const STDERR: &str = "# acme/later [acme/later.test]\nlater/b_test.go:3:28: undefined: c\n# acme/more\nno\n";

fn told(lines: &[&str]) -> Result<Vec<String>, String> {
    let Told { readout, ended, .. } = parse(lines.join("\n").as_bytes(), STDERR.as_bytes())?;
    let tests = readout.tests.iter().map(|(id, r)| {
        let mark = if r.by_assertion { "!" } else { "" };
        format!("{id} {:?}{mark} {}", r.status, r.message).trim_end().to_owned()
    });
    let loads = readout.load_errors.iter().map(|error| format!("load {error}"));
    let ended = ended.iter().map(|ended| format!("ended after {:?}", ended.ran));
    Ok(tests.chain(loads).chain(ended).collect())
}

#[test]
fn events_become_results() {
    let lines = [
        r#"{"Time":"2026-11-01T10:00:00Z","Action":"start","Package":"acme/shop"}"#,
        r#"{"Action":"run","Package":"acme/shop","Test":"TestOk"}"#,
        r#"{"Action":"output","Package":"acme/shop","Test":"TestOk","Output":"=== RUN   TestOk\n"}"#,
        r#"{"Action":"pass","Package":"acme/shop","Test":"TestOk","Elapsed":0}"#,
        r#"{"Action":"run","Package":"acme/shop","Test":"TestHalf"}"#,
        r#"{"Action":"run","Package":"acme/shop","Test":"TestHalf/odd"}"#,
        r#"{"Action":"output","Package":"acme/shop","Test":"TestHalf/odd","Output":"    cart_test.go:12: got 1, want 2\n"}"#,
        r#"{"Action":"output","Package":"acme/shop","Test":"TestHalf/odd","Output":"--- FAIL: TestHalf/odd (0.00s)\n"}"#,
        r#"{"Action":"fail","Package":"acme/shop","Test":"TestHalf/odd","Elapsed":0}"#,
        r#"{"Action":"fail","Package":"acme/shop","Test":"TestHalf","Elapsed":0}"#,
        r#"{"Action":"run","Package":"acme/shop","Test":"TestHelper"}"#,
        r#"{"Action":"output","Package":"acme/shop","Test":"TestHelper","Output":"    helper.go:3: no\n"}"#,
        r#"{"Action":"fail","Package":"acme/shop","Test":"TestHelper","Elapsed":0}"#,
        r#"{"Action":"run","Package":"acme/shop","Test":"TestLater"}"#,
        r#"{"Action":"output","Package":"acme/shop","Test":"TestLater","Output":"    cart_test.go:20: later\n"}"#,
        r#"{"Action":"skip","Package":"acme/shop","Test":"TestLater","Elapsed":0}"#,
        r#"{"Action":"fail","Package":"acme/shop","Elapsed":0.1}"#,
        r##"{"ImportPath":"acme/new [acme/new.test]","Action":"build-output","Output":"# acme/new [acme/new.test]\n"}"##,
        r#"{"ImportPath":"acme/new [acme/new.test]","Action":"build-output","Output":"new/a_test.go:3:2: undefined: x\n"}"#,
        r#"{"ImportPath":"acme/new [acme/new.test]","Action":"build-fail"}"#,
        r#"{"Action":"fail","Package":"acme/new","Elapsed":0,"FailedBuild":"acme/new [acme/new.test]"}"#,
    ];
    assert_eq!(
        told(&lines).unwrap(),
        [
            "acme/shop > TestOk Pass",
            "acme/shop > TestHalf/odd Fail! got 1, want 2",
            "acme/shop > TestHalf Pass",
            "acme/shop > TestHelper Error no",
            "acme/shop > TestLater Skip later",
            "load acme/new: new/a_test.go:3:2: undefined: x",
        ]
    );
}

/// Go says until 1.24 what the compiler has to say on standard error.
#[test]
fn a_package_that_is_not_built_is_a_load_error() {
    let event = r#"{"Action":"output","Package":"acme/later","Output":"FAIL\tacme/later [build failed]\n"}"#;
    for line in [
        "FAIL\tacme/later [build failed]",
        event,
        "FAIL\tacme/later [setup failed]",
    ] {
        assert_eq!(
            told(&[line, "FAIL"]).unwrap(),
            ["load acme/later: later/b_test.go:3:28: undefined: c"],
            "{line}"
        );
    }
}

#[test]
fn a_panic_is_the_error_of_its_test_and_leaves_the_others_to_be_run() {
    let output = |test: &str, text: &str| {
        let line = serde_json::json!({ "Action": "output", "Package": "acme/shop", "Test": test, "Output": text });
        line.to_string()
    };
    let event = |action: &str, test: &str| {
        serde_json::json!({ "Action": action, "Package": "acme/shop", "Test": test }).to_string()
    };
    let crash = |frame: &str| {
        vec![
            event("run", "TestOk"),
            event("pass", "TestOk"),
            event("run", "TestSlow"),
            event("run", "TestCrash"),
            output("TestCrash", "--- FAIL: TestCrash (0.00s)\n"),
            output(
                "TestCrash",
                "panic: runtime error: index out of range [0] with length 0 [recovered]\n",
            ),
            output("TestCrash", "\n"),
            output("TestCrash", "goroutine 19 [running]:\n"),
            output("TestCrash", &format!("{frame}(0xc000096680?)\n")),
            event("fail", "TestCrash"),
            // Closed by the go command, not by itself.
            event("fail", "TestSlow"),
            event("fail", ""),
        ]
    };
    let read = |lines: Vec<String>| parse(lines.join("\n").as_bytes(), b"").unwrap();
    let of = |told: &Told| told.readout.tests.last().unwrap().1.clone();
    for frame in [
        "acme/shop.TestCrash",
        "acme/shop_test.TestCrash",
        "acme/shop.TestCrash.func1",
    ] {
        let told = read(crash(frame));
        let result = of(&told);
        assert_eq!(
            result.message,
            "panic: runtime error: index out of range [0] with length 0"
        );
        assert!(result.inside && !result.by_assertion && result.status == TestStatus::Error);
        let ran: BTreeSet<String> = ["TestCrash", "TestOk"].map(str::to_owned).into();
        let crashed: BTreeSet<String> = ["TestCrash".to_owned()].into();
        let package = "acme/shop".to_owned();
        let gone = crashed.clone();
        assert_eq!(
            told.ended,
            [Ended {
                package,
                ran,
                crashed,
                gone
            }]
        );
    }
    assert!(!of(&read(crash("acme/shop.TestCrashed"))).inside, "another function");
}

#[test]
fn a_crash_that_is_no_test_s_makes_the_run_unreadable() {
    let run = r#"{"Action":"run","Package":"acme/shop","Test":"TestCrash"}"#;
    let panic = r#"{"Action":"output","Package":"acme/shop","Output":"panic: late\n"}"#;
    for lines in [&[run][..], &[panic], &[run, panic]] {
        assert!(told(lines).unwrap_err().contains("ended before all of them had run"));
    }
    assert!(told(&["ok acme/shop"]).unwrap_err().contains("no event"));
}

#[test]
fn a_library_of_assertions_says_it_below_the_place() {
    let lines = [
        r#"{"Action":"run","Package":"a","Test":"TestSum"}"#,
        r#"{"Action":"output","Package":"a","Test":"TestSum","Output":"    sum_test.go:12: \n        \tError Trace:\t/w/sum_test.go:12\n        \tError:      \tNot equal: 1\n"}"#,
        r#"{"Action":"fail","Package":"a","Test":"TestSum"}"#,
    ];
    assert_eq!(told(&lines).unwrap(), ["a > TestSum Fail! Error:      \tNot equal: 1"]);
}

#[test]
fn a_command_says_its_events_and_goes_on() {
    let line = |text: &str| shell_words::split(text).unwrap();
    let read = |text: &str| Command::read(&line(text));
    let args = |text: &str| read(text).unwrap().args("'at-end'", None).join(" ");
    let exec = "-exec=/bin/sh 'at-end'";
    assert_eq!(
        args("test -race -failfast -tags slow ./... -args -x y"),
        format!("test -json -count=1 {exec} -race -tags slow ./... -args -x y")
    );
    assert_eq!(args("test -count 2"), format!("test -json {exec} -count 2"));
    for text in ["build", "test -c", "test --exec=sudo ./...", "vet"] {
        assert!(read(text).is_err(), "{text}");
    }
    let only = Only {
        files: vec!["shop/a_test.go".to_owned()],
        ids: vec!["acme/shop > TestA/b".to_owned(), "acme/shop > TestC".to_owned()],
    };
    assert_eq!(
        read("test ./...").unwrap().args("'at-end'", Some(&only)).join(" "),
        format!("test -json -count=1 {exec} -run=^(TestA|TestC)$ acme/shop")
    );
}

#[test]
fn what_a_crash_left_is_run_without_it() {
    let read = |text: &str| Command::read(&shell_words::split(text).unwrap()).unwrap();
    let ended = Ended {
        package: "acme/shop".to_owned(),
        ran: ["TestCrash".to_owned()].into(),
        ..Ended::default()
    };
    let names = read("test -race ./...").names(&ended).unwrap().join(" ");
    assert_eq!(names, "test -json -count=1 -race -list=. acme/shop");
    assert_eq!(read("test -run=A ./...").names(&ended), None);
    let listed = ["TestCrash", "TestA", "ExampleB", "ok  \tacme/shop\t0.1s", "Benchmark"];
    let listed =
        listed.map(|name| serde_json::json!({ "Action": "output", "Output": format!("{name}\n") }).to_string());
    let rest = read("test ./...").rest("at-end", &ended, listed.join("\n").as_bytes());
    assert!(rest.unwrap().join(" ").ends_with("-run=^(ExampleB|TestA)$ acme/shop"));
    let whole = r#"{"Action":"output","Output":"TestCrash\n"}"#;
    assert_eq!(read("test ./...").rest("at-end", &ended, whole.as_bytes()), None);
}

#[test]
fn a_path_is_one_word_whatever_it_is_called() {
    for (path, word) in [
        ("/a b", "'/a b'"),
        ("/it's", "\"/it's\""),
        ("/a\"b", "'/a\"b'"),
        ("/a\\b", "'/a\\b'"),
    ] {
        assert_eq!(quoted(path).unwrap(), word);
    }
    assert!(quoted("/it's \"a\"").is_err());
}
