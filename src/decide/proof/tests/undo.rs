//! One changed file undone, and proofs that are for a person all the same.

use super::*;
use crate::model::evidence::{UndoOutcome, Undone};

#[test]
fn an_undone_file_is_seen_by_a_test_that_fails() {
    let facts = facts();
    let head = suite("a=p | b=p | red=a:1 != 2");
    let of = |text: &str| undone(&facts, &head, &suite(text));
    let seen = UndoOutcome::Fails("b".to_owned());
    assert_eq!(of("a=p | b=a:1 != 2 | red=a:1 != 2"), seen);
    assert_eq!(
        of("a=p | b=e:ZeroDivisionError: division by zero"),
        seen,
        "the incident's own error"
    );
    assert_eq!(
        of("a=e:KeyError: x | b=a:1 != 2"),
        seen,
        "an assertion says more than an error"
    );
    assert_eq!(
        of("a=p | b=e:NameError: f"),
        UndoOutcome::Needed("b: NameError: f".to_owned())
    );
    assert_eq!(
        of("a=p | load=m: no name f"),
        UndoOutcome::Needed("m: no name f".to_owned())
    );
    assert_eq!(of("a=p | red=a:1 != 2"), UndoOutcome::Unseen, "red with the fix too");
    assert_eq!(
        of("a=p | new=a:1 != 2"),
        UndoOutcome::Unseen,
        "not among the tests of the head"
    );
    for text in ["", "unreadable=cut", "a=p | timeout=1"] {
        assert!(matches!(of(text), UndoOutcome::Unknown(_)), "{text}");
    }
}

#[test]
fn a_change_that_no_test_sees_and_tests_without_a_check_are_for_a_person() {
    let proven = || check(&facts(), &runs("a=p", "a=p | new=a:1 != 2", "a=p | new=p"), "proven");
    let with = |outcomes: &[UndoOutcome]| {
        let mut proof = proven();
        proof.undone = outcomes
            .iter()
            .map(|outcome| Undone {
                path: "a.py".to_owned(),
                outcome: outcome.clone(),
            })
            .collect();
        unseen(&mut proof);
        proof
    };
    let fails = UndoOutcome::Fails("new".to_owned());
    assert_eq!(
        with(&[fails.clone(), UndoOutcome::Needed("x".to_owned())]).for_person,
        None
    );
    let unseen = with(&[fails, UndoOutcome::Unseen]);
    assert_eq!(
        unseen.for_person.as_deref(),
        Some("no test fails when the change of a.py alone is undone")
    );
    assert!(
        unseen
            .not_proven
            .iter()
            .any(|sentence| sentence.starts_with("No test fails when"))
    );

    let mut idle = proven();
    check_nothing(&mut idle);
    assert!(idle.for_person.unwrap().contains("only that nothing is raised"));
    let mut red = check(&facts(), &runs("a=p", "a=p | new=p", "a=p | new=p"), "not-red");
    check_nothing(&mut red);
    assert_eq!(red.for_person, None, "it has a worse grade already");
}
