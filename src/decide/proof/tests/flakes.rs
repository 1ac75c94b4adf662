//! Tests that come and go by themselves.

use super::*;

fn again(ids: &[&str], said: &str) -> Again {
    Again {
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        suite: suite(said),
    }
}

#[track_caller]
fn reruns(facts: &Facts, runs: &Runs, ids: &[&str]) {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    assert_eq!(plan(facts, runs), Next::Run(Run::BaseAgain, ids));
}

#[test]
fn what_changes_by_itself_at_the_base_counts_neither_way() {
    let all = runs(
        "old=p | shaky=p",
        "old=p | shaky=a:late | new=a:x",
        "old=p | shaky=p | new=p",
    );
    reruns(&facts(), &all, &["shaky"]);
    let with = |said: &[&str]| Runs {
        base_again: said.iter().map(|said| again(&["shaky"], said)).collect(),
        ..all.clone()
    };
    // One run more is no second result: the test ran without the others this time.
    reruns(&facts(), &with(&["shaky=a:late"]), &["shaky"]);
    let proof = check(&facts(), &with(&["shaky=a:late", "shaky=p"]), "proven");
    let left_out =
        "Tests that gave two results on one and the same commit without the change count neither way: shaky.";
    assert!(proof.not_proven.iter().any(|s| s == left_out), "{:?}", proof.not_proven);
    for steady in ["shaky=p", "shaky=a:late"] {
        let why = "not-red: shaky, a test of the base, gives another result when only the new tests are added";
        check(&facts(), &with(&[steady; 4]), why);
    }
}

#[test]
fn a_head_that_comes_and_goes_is_excused_by_the_base_alone() {
    let mut all = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    all.head_again = Some(suite("old=a:late | new=p"));
    reruns(&facts(), &all, &["old"]);
    all.base_again = vec![again(&["old"], "old=p"); 4];
    check(&facts(), &all, "not-green: old is flaky");
    all.base_again[2] = again(&["old"], "old=a:late");
    check(&facts(), &all, "proven");
    // A new test has no such excuse.
    all = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    all.head_again = Some(suite("old=p | new=a:late"));
    check(&facts(), &all, "not-green: new is flaky");
}

#[test]
fn what_is_known_already_costs_no_run() {
    let known = Facts {
        flakes: ["shaky".to_owned()].into(),
        ..facts()
    };
    let all = runs(
        "old=p | shaky=p",
        "old=p | shaky=a:late | new=a:x",
        "old=p | shaky=a:late | new=p",
    );
    let proof = check(&known, &all, "proven");
    assert!(proof.not_proven.iter().any(|s| s.contains("neither way: shaky")));
    let broken = runs(
        "old=p | shaky=p",
        "old=p | shaky=p | new=a:x",
        "old=a:x | shaky=p | new=p",
    );
    reruns(&known, &broken, &["old"]);
    // Where single tests cannot be run, and where too many changed to flake together, nothing runs again.
    let whole = Facts {
        selects: false,
        ..facts()
    };
    check(&whole, &broken, "not-green: old, a test of the base, fails");
    let many = |code: &str| (0..21).map(|n| format!("t{n}={code}")).collect::<Vec<_>>().join(" | ");
    let (pass, fail) = (many("p"), many("a:x"));
    let storm = runs(&pass, &format!("{pass} | new=a:x"), &format!("{fail} | new=p"));
    check(&facts(), &storm, "not-green: a test of the base, fails with the fix");
}

#[test]
fn a_witness_is_no_flake() {
    let known = Facts {
        flakes: ["new".to_owned()].into(),
        ..facts()
    };
    check(
        &known,
        &runs("old=p", "old=p | new=a:x", "old=p | new=p"),
        "not-red: no new test ran",
    );
}
