//! What a checker finds at the base is a witness, and a new finding speaks against a fix.

use super::*;

const TEXT: &str = "FAIL src/a.ts TS2322\nTS2322: no number\n    at f (src/a.ts:3:1)";

/// A run of tsc with these findings: `path rule` pairs, the incident's own where it is `src/a.ts TS2322`.
fn tsc(found: &[&str]) -> Suite {
    let mut suite = suite(if found.is_empty() { "tsc=p" } else { "tsc=a:x" });
    suite.checks.insert("tsc".to_owned());
    for finding in found {
        let own = *finding == "src/a.ts TS2322";
        let result = TestResult {
            inside: true,
            trace: if own {
                TEXT.to_owned()
            } else {
                format!("FAIL {finding}")
            },
            message: finding.to_owned().to_owned(),
            ..TestResult::of(TestStatus::Fail)
        };
        suite.tests.entry(format!("tsc: {finding}")).or_default().push(result);
    }
    suite
}

fn broken_build() -> Facts {
    Facts {
        incident: IncidentFacts::of(text::signature(TEXT).signature, "CI is red", "CI is red"),
        has_test_part: false,
        ..facts()
    }
}

fn of(base: &[&str], head: &[&str]) -> Runs {
    Runs {
        base: Some(tsc(base)),
        head: Some(tsc(head)),
        head_again: Some(tsc(head)),
        red_again: Some(tsc(base)),
        ..Runs::default()
    }
}

#[test]
fn a_build_that_fails_at_the_base_needs_no_test() {
    let proof = check(&broken_build(), &of(&["src/a.ts TS2322"], &[]), "proven");
    assert_eq!(
        (proof.witness, proof.witness_ids.as_slice()),
        (Witness::A, &["tsc: src/a.ts TS2322".to_owned()][..])
    );
    assert_eq!(proof.red, "src/a.ts TS2322");
    let other = &["src/a.ts TS2322", "src/b.ts TS7006"];
    let proof = check(&broken_build(), &of(other, &["src/b.ts TS7006"]), "proven");
    assert!(
        proof
            .not_proven
            .iter()
            .any(|s| s.contains("counted neither way: tsc, tsc: src/b.ts TS7006"))
    );
}

#[test]
fn what_a_checker_finds_anew_or_still_is_not_green() {
    let own = &["src/a.ts TS2322"];
    check(
        &broken_build(),
        &of(own, own),
        "not-green: tsc: src/a.ts TS2322 still fails with the fix",
    );
    let worse = of(own, &["src/b.ts TS7006"]);
    check(
        &broken_build(),
        &worse,
        "not-green: tsc: src/b.ts TS7006, new, fails with the fix",
    );
    let twice = &["src/b.ts TS7006", "src/b.ts TS7006"];
    let one_more = of(&["src/a.ts TS2322", "src/b.ts TS7006"], twice);
    check(
        &broken_build(),
        &one_more,
        "not-green: tsc: src/b.ts TS7006, a test of the base, fails with the fix",
    );
    // Another finding than the incident's is no witness.
    check(&broken_build(), &of(&["src/b.ts TS7006"], &[]), "not-red: adds no test");
    // A checker that did not run says nothing of what it would have found.
    let mut silent = of(own, &[]);
    for suite in [&mut silent.head, &mut silent.head_again].into_iter().flatten() {
        suite.checks.clear();
    }
    check(&broken_build(), &silent, "not-green: does not run with the fix");
}
