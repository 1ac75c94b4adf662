//! What a title and a body may not hold, and how long they may be.

use super::*;

#[test]
fn a_title_is_made_of_names_only() {
    let title = |change: fn(&mut Parts), readers| {
        let mut p = parts();
        change(&mut p);
        with(&p, readers, MERGES, true, pr_title)
    };
    let team = |change: fn(&mut Parts)| title(change, Readers::Team);
    assert_eq!(
        team(|_| {}),
        "fix: ZeroDivisionError in shop/discount.py, average_discount"
    );
    assert_eq!(title(|_| {}, Readers::Strangers), "fix: a failure in shop/discount.py");
    assert_eq!(
        team(|p| p.error = "[skip ci] x".to_owned()),
        "fix: a failure in shop/discount.py, average_discount"
    );
    assert_eq!(
        team(|p| p.culprit.file = "app/[id]/page.tsx".to_owned()),
        "fix: ZeroDivisionError in page.tsx, average_discount"
    );
    assert_eq!(
        team(|p| {
            p.culprit.file = "GH-12".to_owned();
            p.change.paths = vec!["#1".to_owned()];
        }),
        "fix: ZeroDivisionError seen in production"
    );
    assert_eq!(squash_title("fix: x", PullNumber(12)), "fix: x (#12)");
}

#[test]
fn strangers_see_nothing_from_production() {
    let canary = "CANARY7";
    for (next, proven) in [(MERGES, true), (Next::Draft, true), (ASKS, true), (ASKS, false)] {
        // What a production signal or an agent's story carries; the rest is our own evidence.
        let hostile = inert::filled(canary);
        let red = hostile.proof.red;
        let reasons = hostile.audit.reasons;
        let ours = parts();
        let q = Parts {
            culprit: hostile.culprit,
            error: hostile.error,
            place: hostile.place,
            samples: hostile.samples,
            said: hostile.said,
            proof: Proof { red, ..ours.proof },
            audit: Audit { reasons, ..ours.audit },
            ..ours
        };
        let (title, body) = with(&q, Readers::Strangers, next, proven, |w| (pr_title(w), pr_body(w)));
        assert!(!body.contains(canary) && !title.contains(canary), "{title}\n{body}");
        assert!(body.contains("1,437 times"), "counts stay");
        let team = with(&q, Readers::Team, next, proven, pr_body);
        assert!(team.contains(canary), "the same texts are shown to the team");
    }
}

#[test]
fn a_body_fits_the_host() {
    let mut p = inert::filled("x");
    let long = "`".repeat(200_000);
    p.samples = vec![raw(&long), raw(&long), raw(&long)];
    p.said = raw(&long);
    p.proof.red = long.clone();
    p.audit.reasons = vec![long.clone(); 9];
    p.change.paths = vec![long.clone(); 5_000];
    p.proof.witness_ids = vec![long.clone(); 5_000];
    p.proof.not_proven = vec![long.clone(); 5_000];
    p.change.findings = vec![p.finding.clone(); 5_000];
    p.why = long;
    let body = with(&p, Readers::Team, MERGES, true, pr_body);
    assert!(body.chars().count() <= BODY_MOST, "{}", body.chars().count());
    assert!(Marker::find(&body).is_some());
    assert!(body.contains("tick:stop"), "how to stop it is never cut");
}

#[test]
fn what_takes_a_commit_back_says_which_and_that_no_agent_wrote_it() {
    let mut p = parts();
    p.takes_back = Some(sha('c'));
    with(&p, Readers::Team, ASKS, true, |words| {
        assert_eq!(
            pr_title(words),
            "revert ccccccc: ZeroDivisionError in shop/discount.py, average_discount"
        );
        let body = pr_body(words);
        for part in [
            "**What this proposes.** It takes `ccccccc` back: the tests are green at its parent and red at it.",
            "no agent wrote it",
            "Made without an agent, checked and opened by tick",
        ] {
            assert!(body.contains(part), "{part}\n{body}");
        }
        assert!(!body.contains("Patch by a coding agent"), "{body}");
    });
}
