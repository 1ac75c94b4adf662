use super::*;
use crate::{model::Signature, text};

mod again;
mod checks;
mod flakes;
mod own;
mod undo;
mod written;

/// A suite in short: `id=p` passes, `s` skips, `a:MESSAGE` fails by assertion, `e:KIND: MESSAGE` is an error inside
/// the test, `o:KIND: MESSAGE` one outside it (set-up, deadline). Ids may repeat.
fn suite(text: &str) -> Suite {
    let mut suite = Suite {
        digest: text.to_owned(),
        sandbox: "sandboxed".to_owned(),
        ..Suite::default()
    };
    for entry in text.split(" | ").filter(|entry| !entry.is_empty()) {
        let (id, what) = entry.split_once('=').unwrap();
        if id == "load" {
            suite.load_errors.push(what.to_owned());
        } else if id == "unreadable" {
            suite.unreadable = Some(what.to_owned());
        } else if id == "timeout" {
            suite.timed_out = true;
        } else {
            suite.tests.entry(id.to_owned()).or_default().push(result(what));
        }
    }
    suite
}

fn result(what: &str) -> TestResult {
    let (code, said) = what.split_once(':').unwrap_or((what, ""));
    let bad = |status, by_assertion, inside| TestResult {
        by_assertion,
        inside,
        kind: said.split_once(": ").map_or(said, |(kind, _)| kind).to_owned(),
        message: said.to_owned(),
        ..TestResult::of(status)
    };
    match code {
        "p" => TestResult::of(TestStatus::Pass),
        "s" => TestResult::of(TestStatus::Skip),
        "a" => bad(TestStatus::Fail, true, true),
        "e" => bad(TestStatus::Error, false, true),
        "o" => bad(TestStatus::Error, false, false),
        other => panic!("unknown code {other}"),
    }
}

fn facts() -> Facts {
    Facts {
        base: Sha::parse(&"a".repeat(40)).unwrap(),
        head: Sha::parse(&"b".repeat(40)).unwrap(),
        incident: IncidentFacts {
            signature: Signature::parse("7f3a91c07f3a91c0").unwrap(),
            exception: Some(("ZeroDivisionError".to_owned(), "division by zero".to_owned())),
            title: "ZeroDivisionError: division by zero".to_owned(),
        },
        has_test_part: true,
        selects: true,
        flakes: BTreeSet::new(),
        commands: vec!["python3 -m unittest".to_owned()],
        source: vec!["shop.py".to_owned()],
        alone_runs: 1,
        red_again: RedAgain::AtTheEnd,
    }
}

fn runs(base: &str, red: &str, head: &str) -> Runs {
    Runs {
        base: Some(suite(base)),
        red: Some(suite(red)),
        head: Some(suite(head)),
        head_again: Some(suite(head)),
        alone: vec![suite(head)],
        red_again: Some(suite(red)),
        red_fresh: None,
        base_again: Vec::new(),
        own: Some(own(&suite(base), suite(head))),
    }
}

/// What the head says where none of the new tests is.
fn own(base: &Suite, head: Suite) -> Suite {
    let mut own = head;
    own.tests.retain(|id, _| base.tests.contains_key(id));
    for (id, results) in &mut own.tests {
        results.truncate(base.tests[id].len());
    }
    own
}

fn word(proof: &Proof) -> String {
    match &proof.grade {
        ProofGrade::Proven => "proven".to_owned(),
        ProofGrade::Unproven(why) => format!("unproven: {why}"),
        ProofGrade::NotRed(why) => format!("not-red: {why}"),
        ProofGrade::NotGreen(why) => format!("not-green: {why}"),
    }
}

/// The runs of tests that do not change by themselves: the base says the same each time it is asked.
fn steady(facts: &Facts, runs: &Runs) -> Runs {
    let mut runs = runs.clone();
    while let Next::Run(Run::BaseAgain, ids) = plan(facts, &runs) {
        let suite = runs.base.clone().unwrap();
        runs.base_again.push(Again { ids, suite });
    }
    runs
}

#[track_caller]
fn check(facts: &Facts, runs: &Runs, expected: &str) -> Proof {
    let proof = grade(facts, &steady(facts, runs));
    let word = word(&proof);
    let (grade, why) = expected.split_once(": ").unwrap_or((expected, ""));
    assert!(
        word.starts_with(grade) && word.contains(why),
        "{word}\nexpected {expected}"
    );
    proof
}

#[test]
fn a_regression_test_proves_a_fix() {
    let runs = runs("old=p", "old=p | new=a:AssertionError: 500 != 200", "old=p | new=p");
    let proof = check(&facts(), &runs, "proven");
    assert_eq!(proof.witness, Witness::B);
    assert_eq!(proof.witness_ids, ["new"]);
    assert_eq!(proof.red, "assertion: 500 != 200");
    assert_eq!(proof.green_runs, 3);
    assert_eq!((proof.base_counts.pass, proof.head_counts.pass), (1, 2));
    // A check that fails is not the crash itself, and the page says so.
    let [_, other] = proof.not_proven.as_slice() else {
        panic!("{:?}", proof.not_proven);
    };
    assert!(other.contains("not fail by the incident's own error"), "{other}");
    let crash = check(
        &facts(),
        &self::runs("old=p", "old=p | new=a:ZeroDivisionError was raised", "old=p | new=p"),
        "proven",
    );
    assert_eq!(crash.not_proven.len(), 1, "{:?}", crash.not_proven);
}

#[test]
fn ten_fake_reds() {
    let head = "old=p | new=p";
    let cases = [
        (
            "import error",
            "old=p",
            "old=p | load=test_new: ImportError: cannot import name 'safe'",
            head,
            "not-red: cannot even be loaded",
        ),
        ("zero tests", "old=p", "", head, "not-red: no test ran"),
        (
            "another test's failure",
            "old=p",
            "old=a:AssertionError: 1 != 2 | new=p",
            head,
            "not-red: old, a test of the base, gives another result",
        ),
        ("skip", "old=p", "old=p | new=s", head, "not-red: new is skipped"),
        ("empty file", "old=p", "old=p", "old=p", "not-red: no new test ran"),
        (
            "wrong exception",
            "old=p",
            "old=p | new=e:TypeError: division by zero",
            head,
            "not-red: TypeError",
        ),
        (
            "failed setup",
            "old=p",
            "old=p | new=o:ZeroDivisionError: division by zero",
            head,
            "not-red: outside its own body",
        ),
        ("timeout", "old=p", "timeout=", head, "not-red: did not end in time"),
        (
            "already red at the base",
            "old=p | new=a:AssertionError: 1 != 2",
            "old=p | new=a:AssertionError: 1 != 2",
            head,
            "not-red: no new test ran",
        ),
    ];
    for (name, base, red, head, expected) in cases {
        let proof = grade(&facts(), &steady(&facts(), &runs(base, red, head)));
        let word = word(&proof);
        let (grade, why) = expected.split_once(": ").unwrap();
        assert!(word.starts_with(grade) && word.contains(why), "{name}: {word}");
        assert!(proof.witness_ids.is_empty() && proof.green_runs == 0, "{name}");
    }
    // The tenth shows only in the head's two runs.
    let mut flaky = runs("old=p", "old=p | new=a:AssertionError: x", head);
    flaky.head_again = Some(suite("old=p | new=a:AssertionError: x"));
    check(&facts(), &flaky, "not-green: new is flaky");
}

#[test]
fn the_incidents_own_error_is_red_and_said_so() {
    for error in [
        "e:ZeroDivisionError: division by zero",
        "e:builtins.ZeroDivisionError: division by zero",
    ] {
        let runs = runs("old=p", &format!("old=p | new={error}"), "old=p | new=p");
        let proof = check(&facts(), &runs, "proven");
        assert!(
            proof.not_proven.iter().any(|s| s.contains("not with an assertion")),
            "{:?}",
            proof.not_proven
        );
    }
    let other = runs(
        "old=p",
        "old=p | new=e:ZeroDivisionError: float modulo",
        "old=p | new=p",
    );
    check(&facts(), &other, "not-red: ZeroDivisionError: float modulo");
}

#[test]
fn the_signature_or_the_title_can_name_the_incident() {
    let mut facts = facts();
    facts.incident.exception = None;
    let runs = runs(
        "old=p",
        "old=p | new=e:ZeroDivisionError: division by zero",
        "old=p | new=p",
    );
    check(&facts, &runs, "proven");
    facts.incident.title = "GET /orders answers 500".to_owned();
    check(&facts, &runs, "not-red");
    facts.incident.signature = text::signature("ZeroDivisionError: division by zero").signature;
    check(&facts, &runs, "proven");
}

#[test]
fn a_test_of_the_base_that_fails_like_the_incident_needs_no_new_test() {
    let mut facts = facts();
    facts.has_test_part = false;
    let base = "old=p | known=e:ZeroDivisionError: division by zero";
    let mut runs = runs(base, "", "old=p | known=p");
    runs.red = None;
    runs.alone.clear();
    runs.red_again = Some(suite("known=e:ZeroDivisionError: division by zero"));
    let proof = check(&facts, &runs, "proven");
    assert_eq!((proof.witness, proof.green_runs), (Witness::A, 2));
    assert_eq!(proof.witness_ids, ["known"]);

    runs.head = Some(suite(base));
    runs.head_again = Some(suite(base));
    check(&facts, &runs, "not-green: known still fails with the fix");

    runs.base = Some(suite("old=p | known=a:AssertionError: 1 != 2"));
    let proof = check(&facts, &runs, "not-red: adds no test");
    assert_eq!(proof.witness, Witness::C);
}

#[test]
fn an_idle_new_test_is_named_and_carries_nothing() {
    let mixed = runs("old=p", "old=p | idle=p | new=a:x", "old=p | idle=p | new=p");
    let proof = check(&facts(), &mixed, "proven");
    assert_eq!(proof.witness_ids, ["new"]);
    assert!(
        proof
            .not_proven
            .iter()
            .any(|s| s.contains("show nothing about it: idle"))
    );
    check(
        &facts(),
        &runs("old=p", "old=p | idle=p", "old=p | idle=p"),
        "not-red: prove nothing: idle",
    );

    let base = "known=e:ZeroDivisionError: division by zero";
    let known = runs(base, &format!("{base} | idle=p"), "known=p | idle=p");
    let proof = check(&facts(), &known, "proven");
    assert_eq!(proof.witness, Witness::A);
    assert!(
        proof.not_proven.iter().any(|s| s.contains("add nothing to this proof")),
        "{:?}",
        proof.not_proven
    );
}

#[test]
fn a_test_around_a_red_subtest_is_not_called_idle() {
    let head = "old=p | rows=p | rows (1)=p";
    let proof = check(
        &facts(),
        &runs("old=p", "old=p | rows=p | rows (1)=a:x", head),
        "proven",
    );
    let idle = proof
        .not_proven
        .iter()
        .any(|said| said.starts_with("New tests that pass"));
    assert!(!idle, "{:?}", proof.not_proven);
}

#[test]
fn a_failure_of_the_base_that_vanishes_by_itself_is_no_witness() {
    let base = "known=e:ZeroDivisionError: division by zero";
    check(
        &facts(),
        &runs(base, "known=p | new=p", "known=p | new=p"),
        "not-red: known",
    );
}

#[test]
fn what_cannot_be_read_is_unproven_whichever_run_it_is() {
    let good = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    for run in 0..5 {
        let mut runs = good.clone();
        let bad = suite("unreadable=no known runner");
        match run {
            0 => runs.base = Some(bad),
            1 => runs.red = Some(bad),
            2 => runs.head = Some(bad),
            3 => runs.head_again = Some(bad),
            _ => runs.alone = vec![bad],
        }
        check(&facts(), &runs, "unproven: no known runner");
    }
    let mut slow = good;
    slow.base = Some(suite("timeout="));
    check(&facts(), &slow, "unproven: the base did not end in time");
}

#[test]
fn nothing_of_the_base_may_get_worse() {
    let cases = [
        ("new=p", "not-green: old, a test of the base, does not run"),
        ("old=s | new=p", "not-green: old, a test of the base, is skipped"),
        (
            "old=a:y | new=p",
            "not-green: old, a test of the base, fails with the fix: y",
        ),
        ("old=p | new=a:x", "not-green: new still fails with the fix: x"),
        ("old=p | new=s", "not-green: new is skipped"),
        ("old=p", "not-green: new does not run"),
        ("old=p | new=p | more=a:z", "not-green: more, new, fails"),
        ("old=p | new=p | more=s", "not-green: more, new, is skipped"),
        (
            "old=p | new=p | load=m: SyntaxError",
            "not-green: cannot be loaded any more: m",
        ),
        ("timeout=", "not-green: did not end in time"),
        ("", "not-green: no test of the head ran"),
    ];
    for (head, expected) in cases {
        check(&facts(), &runs("old=p", "old=p | new=a:x", head), expected);
    }
}

#[test]
fn failures_of_before_count_neither_way() {
    let red = "old=p | sad=a:q | off=s | new=a:x";
    let still = runs("old=p | sad=a:q | off=s", red, "old=p | sad=e:other | off=s | new=p");
    let proof = check(&facts(), &still, "proven");
    assert!(
        proof
            .not_proven
            .iter()
            .any(|s| s == "Failing before the change and after it, counted neither way: sad."),
        "{:?}",
        proof.not_proven
    );
    check(
        &facts(),
        &runs("old=p | sad=a:q | off=s", red, "old=p | sad=p | off=p | new=p"),
        "proven",
    );
    check(
        &facts(),
        &runs("old=p | sad=a:q | off=s", red, "old=p | sad=s | off=s | new=p"),
        "not-green: sad, a test of the base, is skipped",
    );
    let load = runs(
        "old=p | load=m: X",
        "old=p | load=m: Y | new=a:x",
        "old=p | load=m: Z | new=p",
    );
    check(&facts(), &load, "proven");
}

#[test]
fn ids_that_repeat_are_counted() {
    let grown = runs("row=p | row=p", "row=p | row=p | row=a:x", "row=p | row=p | row=p");
    let proof = check(&facts(), &grown, "proven");
    assert_eq!(proof.witness_ids, ["row"]);
    check(
        &facts(),
        &runs("row=p | row=p", "row=p | row=a:x", "row=p | row=p"),
        "not-red: row",
    );
    check(
        &facts(),
        &runs("row=p | row=p", "row=p | row=p | row=a:x", "row=p"),
        "not-green",
    );
}

#[test]
fn the_new_tests_have_to_pass_alone() {
    let mut runs = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    runs.alone = vec![suite("new=a:x")];
    check(
        &facts(),
        &runs,
        "not-green: new still fails when the new tests run alone",
    );
    runs.alone = vec![suite("")];
    let proof = check(&facts(), &runs, "proven");
    assert_eq!(proof.green_runs, 2);
    assert!(proof.not_proven.iter().any(|s| s.contains("could not select them")));
}

#[test]
fn runs_are_asked_for_in_order_and_only_while_they_matter() {
    let all = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    let mut made = Runs::default();
    let next = |made: &Runs| match plan(&facts(), made) {
        Next::Run(run, _) => Some(run),
        Next::Graded(_) => None,
    };
    assert_eq!(next(&made), Some(Run::Base));
    made.base = all.base;
    assert_eq!(next(&made), Some(Run::Red));
    let mut not_red = made.clone();
    not_red.red = Some(suite("old=p | new=p"));
    assert_eq!(next(&not_red), None, "a head cannot mend a test that is not red");
    made.red = all.red;
    assert_eq!(next(&made), Some(Run::Head));
    made.head = all.head;
    assert_eq!(next(&made), Some(Run::OwnTests));
    made.own = all.own;
    assert_eq!(plan(&facts(), &made), Next::Run(Run::Alone, vec!["new".to_owned()]));
    made.alone = all.alone;
    assert_eq!(plan(&facts(), &made), Next::Run(Run::RedAgain, vec!["new".to_owned()]));
    made.red_again = all.red_again;
    assert_eq!(next(&made), None);
}

#[test]
fn the_weakest_sandbox_is_shown_and_every_run_is_in_the_digest() {
    let mut runs = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    let before = grade(&facts(), &runs);
    runs.alone[0].sandbox = "not sandboxed: no Landlock".to_owned();
    runs.alone[0].digest = "other".to_owned();
    let after = grade(&facts(), &runs);
    assert_eq!(before.sandbox, "sandboxed");
    assert_eq!(after.sandbox, "not sandboxed: no Landlock");
    assert_ne!(before.digest, after.digest);
}

#[test]
fn a_landed_commit_is_held_to_what_stood_before_it() {
    let before = suite("a=p | b=a:x | load=tests.old: ImportError: x");
    for (after, good, said) in [
        (
            "a=p | b=a:x | load=tests.old: ImportError: y",
            true,
            "1 pass, 1 fail, 0 of them new; 1 could not be loaded before either",
        ),
        ("a=p | b=p | c=p", true, "3 pass, 0 fail, 0 of them new"),
        ("b=p", true, "1 pass, 0 fail"),
        ("a=e:KeyError: k | b=p", false, "1 pass, 1 fail, 1 of them new: a"),
        ("a=p | b=p | c=a:new", false, "2 pass, 1 fail, 1 of them new: c"),
        (
            "a=p | load=tests.new: ImportError: x",
            false,
            "something cannot be loaded any more: tests.new",
        ),
        ("load=tests.old: ImportError: x", false, "no test ran"),
        ("unreadable=noise", false, "could not be read: noise"),
        ("a=p | timeout=", false, "did not end in time"),
    ] {
        let (passes, text) = as_good_as(&before, &suite(after), &BTreeSet::new());
        assert!(passes == good && text.contains(said), "{after}: {passes} {text}");
    }
    assert!(
        !as_good_as(&Suite::default(), &suite("a=p | load=tests.old: x"), &BTreeSet::new()).0,
        "nothing is known of before"
    );
}
