//! The base's own tests on the head's source.

use super::*;

fn touching() -> Facts {
    Facts {
        touched: vec!["tests/test_shop.py".to_owned()],
        ..facts()
    }
}

const OLD: &str = "tests.test_shop.Old.test_two";

fn all() -> Runs {
    let (base, other) = (
        format!("{OLD}=p | tests.test_b.B.test=p"),
        "tests.test_shop.Old.test_new",
    );
    runs(&base, &format!("{base} | {other}=a:x"), &format!("{base} | {other}=p"))
}

#[test]
fn they_run_where_the_diff_adds_to_a_file_of_theirs() {
    check(&facts(), &all(), "proven");
    assert_eq!(
        plan(&touching(), &all()),
        Next::Run(Run::OwnTests, vec![OLD.to_owned()])
    );
    let with = |said: &str| Runs {
        own: Some(suite(said)),
        ..all()
    };
    check(&touching(), &with(&format!("{OLD}=p")), "proven");
    let skipped = with(&format!("{OLD}=s"));
    let Next::Run(Run::BaseAgain, ids) = plan(&touching(), &skipped) else {
        panic!("it may come and go");
    };
    assert_eq!(ids, [OLD]);
    let why = format!(
        "not-green: the base's own tests, on the head's source, do not hold: {OLD}, a test of the base, is skipped"
    );
    check(&touching(), &skipped, &why);
    for (said, why) in [
        ("", "not-green: does not run"),
        (
            "load=tests.test_shop: ImportError: x",
            "not-green: cannot be loaded any more",
        ),
        ("timeout=", "not-green: did not end in time"),
        ("unreadable=noise", "unproven: could not be read: noise"),
    ] {
        check(&touching(), &with(said), why);
    }
}

#[test]
fn names_that_do_not_tell_files_mean_all_of_them() {
    let facts = Facts {
        touched: vec!["src/cart_test.go".to_owned()],
        ..facts()
    };
    let all = runs(
        "shop > TestA=p",
        "shop > TestA=p | shop > TestB=a:x",
        "shop > TestA=p | shop > TestB=p",
    );
    assert_eq!(
        plan(&facts, &all),
        Next::Run(Run::OwnTests, vec!["shop > TestA".to_owned()])
    );
}
