use super::*;
use crate::model::Sha;

const ALL: [CheckState; 12] = [
    CheckState::Queued,
    CheckState::InProgress,
    CheckState::Success,
    CheckState::Failure,
    CheckState::Neutral,
    CheckState::Cancelled,
    CheckState::Skipped,
    CheckState::TimedOut,
    CheckState::ActionRequired,
    CheckState::Stale,
    CheckState::StartupFailure,
    CheckState::Unknown,
];

fn at(minute: u32) -> DateTime<Utc> {
    format!("2026-11-29T03:{minute:02}:00Z").parse().unwrap()
}

fn check(name: &str, app_id: Option<u64>, state: CheckState, minute: u32) -> Check {
    Check {
        name: name.to_owned(),
        app_id,
        state,
        started_at: Some(at(minute)),
        url: None,
    }
}

fn required(names: &[(&str, Option<u64>)]) -> Rules {
    Rules {
        required_checks: names
            .iter()
            .map(|(name, app_id)| RequiredCheck {
                name: (*name).to_owned(),
                app_id: *app_id,
            })
            .collect(),
        ..Rules::default()
    }
}

fn judge(checks: Vec<Check>, rules: &Rules) -> CheckSet {
    judge_with(checks, rules, None, &[])
}

fn judge_with(checks: Vec<Check>, rules: &Rules, nonblocking: Option<&str>, may_skip: &[&str]) -> CheckSet {
    let checks = Checks {
        head: Sha::parse(&"a".repeat(40)).unwrap(),
        checks,
        incomplete: None,
    };
    let may_skip: Vec<String> = may_skip.iter().map(|s| (*s).to_owned()).collect();
    let nonblocking = nonblocking.map(|re| Regex::new(re).unwrap());
    check_set(&checks, rules, nonblocking.as_ref(), &may_skip, at(10))
}

fn is_success(set: &CheckSet) -> bool {
    matches!(set, CheckSet::Success { .. })
}

/// Every state x required or not x named in `maySkip` or not, beside one check that is fine.
#[test]
fn table_of_every_state() {
    for state in ALL {
        for is_required in [true, false] {
            for skippable in [true, false] {
                let names: &[(&str, Option<u64>)] = if is_required {
                    &[("good", None), ("x", None)]
                } else {
                    &[("good", None)]
                };
                let may_skip: &[&str] = if skippable { &["x"] } else { &[] };
                let checks = vec![
                    check("good", Some(1), CheckState::Success, 11),
                    check("x", Some(1), state, 11),
                ];
                let set = judge_with(checks, &required(names), None, may_skip);
                let fine = state == CheckState::Success
                    || (state == CheckState::Skipped && (!is_required || skippable))
                    || (state == CheckState::Neutral && !is_required);
                let case = format!("{state:?} required={is_required} skippable={skippable}: {set:?}");
                assert_eq!(is_success(&set), fine, "{case}");
                let no = matches!(
                    state,
                    CheckState::Failure | CheckState::TimedOut | CheckState::StartupFailure
                );
                assert_eq!(matches!(set, CheckSet::Failed(_)), no, "{case}");
                let wait = matches!(
                    state,
                    CheckState::Queued | CheckState::InProgress | CheckState::ActionRequired
                );
                assert_eq!(matches!(set, CheckSet::Pending(_)), wait, "{case}");
            }
        }
    }
}

/// The same states where the required check itself is missing: never a success.
#[test]
fn table_of_a_missing_required_check() {
    for state in ALL {
        let set = judge(vec![check("other", None, state, 11)], &required(&[("ci", None)]));
        assert!(!is_success(&set), "{state:?}: {set:?}");
    }
    let missing = judge(
        vec![check("other", None, CheckState::Success, 11)],
        &required(&[("ci", Some(7))]),
    );
    assert_eq!(
        missing,
        CheckSet::Pending("required and not started: ci (of app 7)".to_owned())
    );
}

#[test]
fn no_checks_are_not_green() {
    assert!(matches!(judge(vec![], &Rules::default()), CheckSet::Pending(_)));
    let skipped = vec![
        check("a", None, CheckState::Skipped, 11),
        check("b", None, CheckState::Neutral, 11),
    ];
    assert!(matches!(judge(skipped, &Rules::default()), CheckSet::Pending(_)));
    let ignored = vec![check("preview", None, CheckState::Success, 11)];
    assert!(!is_success(&judge_with(
        ignored,
        &Rules::default(),
        Some("^preview$"),
        &[]
    )));
}

#[test]
fn a_success_from_before_the_push_is_about_something_else() {
    for (minute, fresh) in [(8, false), (9, false), (10, true), (11, true)] {
        let set = judge(vec![check("ci", None, CheckState::Success, minute)], &Rules::default());
        assert_eq!(is_success(&set), fresh, "started at minute {minute}: {set:?}");
    }
    let mut undated = check("ci", None, CheckState::Success, 11);
    undated.started_at = None;
    assert!(!is_success(&judge(vec![undated], &Rules::default())));
}

#[test]
fn an_app_is_answered_by_that_app_only() {
    let rules = required(&[("ci", Some(7))]);
    let other = check("ci", Some(8), CheckState::Success, 11);
    let status = check("ci", None, CheckState::Success, 11);
    assert!(!is_success(&judge(vec![other.clone(), status], &rules)));
    assert!(is_success(&judge(
        vec![other, check("ci", Some(7), CheckState::Success, 11)],
        &rules
    )));
    let bad_namesake = vec![
        check("ci", Some(7), CheckState::Success, 11),
        check("ci", Some(8), CheckState::Failure, 11),
    ];
    assert!(
        !is_success(&judge(bad_namesake, &rules)),
        "the namesake is judged as any other check"
    );
}

#[test]
fn a_name_that_is_check_and_status_must_pass_as_both() {
    let rules = required(&[("ci", None)]);
    for (run, status, green) in [
        (CheckState::Success, CheckState::Success, true),
        (CheckState::Success, CheckState::InProgress, false),
        (CheckState::Failure, CheckState::Success, false),
        (CheckState::Success, CheckState::Neutral, false),
    ] {
        let set = judge(
            vec![check("ci", Some(7), run, 11), check("ci", None, status, 11)],
            &rules,
        );
        assert_eq!(is_success(&set), green, "{run:?} and {status:?}: {set:?}");
    }
}

#[test]
fn the_newest_of_a_name_and_app_counts() {
    let old_red = vec![
        check("ci", Some(7), CheckState::Failure, 11),
        check("ci", Some(7), CheckState::Success, 12),
    ];
    assert!(is_success(&judge(old_red, &Rules::default())));
    let new_red = vec![
        check("ci", Some(7), CheckState::Success, 11),
        check("ci", Some(7), CheckState::Failure, 12),
    ];
    assert!(!is_success(&judge(new_red, &Rules::default())));
    let both = vec![
        check("ci", Some(7), CheckState::Failure, 11),
        check("ci", Some(7), CheckState::Success, 11),
    ];
    assert!(
        !is_success(&judge(both, &Rules::default())),
        "started together: the worse one"
    );
    for state in [CheckState::Queued, CheckState::Failure] {
        let mut undated = check("ci", Some(7), state, 0);
        undated.started_at = None;
        let green = check("ci", Some(7), CheckState::Success, 12);
        assert!(
            !is_success(&judge(vec![undated, green], &Rules::default())),
            "{state:?} without a start"
        );
    }
    let mut undated = check("ci", Some(7), CheckState::Success, 0);
    undated.started_at = None;
    let red = check("ci", Some(7), CheckState::Failure, 12);
    assert!(
        !is_success(&judge(vec![undated, red], &Rules::default())),
        "an undated yes outranks nothing"
    );
}

#[test]
fn nonblocking_checks_are_listed_and_never_shield_a_required_one() {
    let checks = || {
        vec![
            check("ci", None, CheckState::Success, 11),
            check("e2e", None, CheckState::Failure, 11),
        ]
    };
    let set = judge_with(checks(), &required(&[("ci", None)]), Some("e2e"), &[]);
    assert_eq!(
        set,
        CheckSet::Success {
            names: vec!["ci".to_owned()],
            ignored: vec!["e2e".to_owned()]
        }
    );
    let set = judge_with(checks(), &required(&[("ci", None), ("e2e", None)]), Some("."), &[]);
    assert_eq!(set, CheckSet::Failed(vec!["e2e".to_owned()]));
}

#[test]
fn what_was_not_read_is_unknown_but_a_no_stands() {
    let incomplete = |state| {
        let checks = Checks {
            head: Sha::parse(&"a".repeat(40)).unwrap(),
            checks: vec![check("ci", None, state, 11)],
            incomplete: Some("403".to_owned()),
        };
        check_set(&checks, &Rules::default(), None, &[], at(10))
    };
    assert_eq!(incomplete(CheckState::Success), CheckSet::Unknown("403".to_owned()));
    assert_eq!(incomplete(CheckState::Failure), CheckSet::Failed(vec!["ci".to_owned()]));
}
