//! The base's own tests on the head's source.

use super::*;

const OLD: &str = "tests.test_shop.Old.test_two";

fn all() -> Runs {
    let (base, other) = (
        format!("{OLD}=p | tests.test_b.B.test=p"),
        "tests.test_shop.Old.test_new",
    );
    runs(&base, &format!("{base} | {other}=a:x"), &format!("{base} | {other}=p"))
}

#[test]
fn they_pass_without_the_new_tests_beside_them() {
    let with = |said: &str| Runs {
        own: Some(suite(&format!("tests.test_b.B.test=p | {said}"))),
        ..all()
    };
    let none = Runs { own: None, ..all() };
    assert_eq!(plan(&facts(), &none), Next::Run(Run::OwnTests, Vec::new()));
    check(&facts(), &with(&format!("{OLD}=p")), "proven");
    let skipped = with(&format!("{OLD}=s"));
    let Next::Run(Run::BaseAgain, ids) = plan(&facts(), &skipped) else {
        panic!("it may come and go");
    };
    assert_eq!(ids, [OLD]);
    let why = format!(
        "not-green: the base's own tests, on the head's source, do not hold: {OLD}, a test of the base, is skipped"
    );
    check(&facts(), &skipped, &why);
    for (said, why) in [
        ("other=p", "not-green: does not run"),
        (
            "load=tests.test_shop: ImportError: x",
            "not-green: cannot be loaded any more",
        ),
        ("timeout=", "not-green: did not end in time"),
        ("unreadable=noise", "unproven: could not be read: noise"),
    ] {
        check(&facts(), &with(said), why);
    }
}

/// What only the new tests made pass is no pass.
#[test]
fn they_pass_for_the_same_reason_in_both() {
    let mut made = runs(
        "old=p | broken=a:y",
        "old=p | broken=a:y | new=a:x",
        "old=p | broken=p | new=p",
    );
    check(&facts(), &made, "proven");
    made.own = Some(suite("old=p | broken=a:y"));
    check(
        &facts(),
        &made,
        "not-green: broken gives another result when the new tests do not run beside it",
    );
    // A table of the base that the diff made longer has more results with it.
    let mut longer = runs("t=p", "t=p | t=a:x", "t=p | t=p");
    longer.own = Some(suite("t=p"));
    check(&facts(), &longer, "proven");
}

#[test]
fn a_base_without_tests_has_none_of_its_own() {
    let mut made = runs("", "new=a:x", "new=p");
    made.own = Some(suite(""));
    check(&facts(), &made, "proven");
}

#[test]
fn the_whole_head_runs_again_where_the_new_tests_do_not_run_alone() {
    let mut made = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    made.head_again = None;
    check(&facts(), &made, "proven");
    made.alone = vec![suite("")];
    assert_eq!(plan(&facts(), &made), Next::Run(Run::HeadAgain, Vec::new()));
    // One of two ran alone.
    let mut two = runs("old=p", "old=p | new=a:x | more=a:x", "old=p | new=p | more=p");
    two.head_again = None;
    two.alone = vec![suite("new=p")];
    assert_eq!(plan(&facts(), &two), Next::Run(Run::HeadAgain, Vec::new()));
    made.alone = Vec::new();
    let cannot = Facts {
        selects: false,
        ..facts()
    };
    assert_eq!(plan(&cannot, &made), Next::Run(Run::HeadAgain, Vec::new()));
}
