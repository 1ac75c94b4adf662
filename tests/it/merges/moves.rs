//! The forge moves between any two calls of the run that would merge: somebody pushes, the base moves, a check turns red,
//! a reviewer objects, a sign says stop, the pull request is closed.

use tick::demo::{Act, Which};

use super::prepared::{Prepared, Run, Wants};

fn acts() -> Vec<Act> {
    let check = |name: &str| Act::Check {
        name: name.to_owned(),
        conclusion: "failure".to_owned(),
    };
    vec![
        Act::MoveHead,
        Act::MoveBase,
        check("test"),
        check("extra"),
        Act::Review {
            login: "bob".to_owned(),
            state: "CHANGES_REQUESTED".to_owned(),
            body: "not like this".to_owned(),
        },
        Act::Label {
            name: "tick:stop".to_owned(),
        },
        Act::OpenIssue {
            label: "tick:pause".to_owned(),
        },
        Act::ClosePull {
            login: "ada".to_owned(),
        },
    ]
}

/// Nothing between the read and the write could have shown it: how many calls lie between the two at most.
const WINDOW: usize = 2;

fn reads(act: &Act, request: &str) -> bool {
    let get = request.strip_prefix("GET ").unwrap_or_default();
    match act {
        Act::Check { .. } => get.ends_with("/check-runs"),
        Act::Review { .. } => get.ends_with("/reviews"),
        Act::Label { .. } => get.rsplit('/').nth(1) == Some("pulls"),
        Act::OpenIssue { .. } => get.ends_with("/issues"),
        _ => false,
    }
}

fn is_write(request: &str) -> bool {
    let (method, path) = request.split_once(' ').unwrap();
    method != "GET" && !path.ends_with("/graphql") && !path.ends_with("git-upload-pack")
}

#[test]
fn the_forge_moves_between_any_two_calls() {
    let prepared = Prepared::before_merge(&Wants::default());
    let head = prepared.pull().head_sha;
    let calm = prepared.repair();
    let put = calm.merge_at().unwrap_or_else(|| panic!("{}", calm.text));
    assert_eq!(calm.code, Some(0), "{}", calm.text);
    println!("{} calls before the merge: {:#?}", put, calm.requests);
    for act in acts() {
        let last_read = calm.requests[..put].iter().rposition(|r| reads(&act, r));
        if matches!(act, Act::Label { .. } | Act::OpenIssue { .. }) {
            let last = last_read.expect("the sign is read before the merge");
            assert!(
                put - last <= WINDOW,
                "{act:?} is read {} calls before the merge",
                put - last
            );
        }
        for n in 1..=put {
            prepared.restore();
            prepared
                .world()
                .after(Which::any(u32::try_from(n).unwrap()), act.clone());
            let run = prepared.repair();
            judge(&prepared, &head, &act, n, &run);
        }
    }
    prepared.finish();
}

/// `n` counts from 1: the act was done when the `n`-th call had been worked on, before its answer was sent.
fn judge(prepared: &Prepared, head: &str, act: &Act, n: usize, run: &Run) {
    let context = format!("{act:?} after call {n}\n{:#?}\n{}", run.requests, run.text);
    assert!(matches!(run.code, Some(0 | 1)), "{context}");
    let seen_before = |write: usize| (n..write).any(|i| reads(act, &run.requests[i]));
    for (at, request) in run.requests.iter().enumerate().skip(n) {
        if is_write(request) && matches!(act, Act::Label { .. } | Act::OpenIssue { .. }) {
            assert!(!seen_before(at), "{request} after a stop sign was read\n{context}");
        }
    }
    let Some(merged) = prepared.merged_by_us() else {
        return;
    };
    let put = run.merge_at().expect("somebody else cannot be us");
    let merged_head = prepared.pull().head_sha;
    prepared.assert_evidence(&merged_head, &context);
    // A red check is answered by another attempt; that head may be merged, this one never.
    if matches!(act, Act::Check { .. }) && merged_head != head && run.merge_at().is_some_and(|put| put > n) {
        return;
    }
    match act {
        Act::Check { name, .. } if name == "test" => panic!("merged on a red required check\n{context}"),
        Act::MoveHead | Act::ClosePull { .. } => panic!("merged all the same\n{context}"),
        Act::MoveBase => {
            let landed = prepared.ask(
                "SELECT verdict FROM evidence WHERE kind = 'landed' AND head = ?1",
                &merged,
            );
            let tested = prepared.ask(
                "SELECT verdict FROM evidence WHERE kind = 'landed-tests' AND head = ?1",
                &merged,
            );
            let noticed = landed == ["the landed tree is the tested tree"]
                || (landed == ["something else landed first; the tree is as expected for it"] && tested.len() == 1);
            assert!(noticed, "landed {landed:?}, tested {tested:?}\n{context}");
        }
        _ => assert!(!seen_before(put), "merged although it was read\n{context}"),
    }
}
