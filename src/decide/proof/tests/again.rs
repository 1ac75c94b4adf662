//! The run without the fix, repeated after runs with it.

use super::*;

#[test]
fn a_witness_that_is_red_only_because_it_runs_first_is_none() {
    let base = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    let with = |again: &str, fresh: Option<&str>| Runs {
        red_again: Some(suite(again)),
        red_fresh: fresh.map(suite),
        ..base.clone()
    };
    let whole = "old=p | new=a:x";
    for doubt in [
        "new=p",
        "",
        "new=s",
        "new=e:TypeError: y",
        "unreadable=noise",
        "timeout=",
    ] {
        assert_eq!(
            plan(&facts(), &with(doubt, None)),
            Next::Run(Run::RedFresh, Vec::new()),
            "{doubt}"
        );
        assert!(check(&facts(), &with(doubt, Some(whole)), "proven").red_again);
    }
    for (fresh, why) in [
        (
            "old=p | new=p",
            "not-red: once more without the fix, new passes: what it says depends on the runs before it",
        ),
        ("old=p", "not-red: new does not run"),
        ("old=p | new=s", "not-red: new is skipped"),
        ("old=p | new=e:TypeError: y", "not-red: new fails by TypeError: y"),
        ("unreadable=noise", "unproven: noise"),
    ] {
        assert!(!check(&facts(), &with("new=p", Some(fresh)), why).red_again);
    }
}

#[test]
fn when_the_red_run_is_repeated_is_not_known_beforehand() {
    let all = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    for (when, before) in [
        (RedAgain::AfterHead, Run::OwnTests),
        (RedAgain::AfterHeadAgain, Run::Alone),
    ] {
        let facts = Facts {
            red_again: when,
            ..facts()
        };
        let mut made = Runs {
            red_again: None,
            alone: Vec::new(),
            ..all.clone()
        };
        if when == RedAgain::AfterHead {
            made.head_again = None;
            made.own = None;
        }
        let ids = vec!["new".to_owned()];
        assert_eq!(plan(&facts, &made), Next::Run(Run::RedAgain, ids));
        made.red_again.clone_from(&all.red_again);
        assert!(matches!(plan(&facts, &made), Next::Run(run, _) if run == before));
        made.own.clone_from(&all.own);
        made.alone.clone_from(&all.alone);
        check(&facts, &made, "proven");
        made.red_again = Some(suite("new=p"));
        made.red_fresh = Some(suite("old=p | new=p"));
        check(&facts, &made, "not-red: depends on the runs before it");
    }
}
