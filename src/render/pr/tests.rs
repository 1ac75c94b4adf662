pub(crate) mod inert;
mod limits;

use super::{sheet::BODY_MOST, *};
use crate::{model::evidence::Witness, text::Redactor};

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

/// Owned parts of a page, so that a test changes one of them, or fills all with one hostile text.
struct Parts {
    incident: IncidentId,
    head: Sha,
    base: Sha,
    culprit: Culprit,
    error: String,
    place: String,
    samples: Vec<Untrusted>,
    change: GuardReport,
    proof: Proof,
    audit: Audit,
    takes_back: Option<Sha>,
    author: String,
    said: Untrusted,
    finding: Finding,
    why: String,
    asks: Vec<String>,
    ignored: Vec<String>,
}

fn raw(text: &str) -> Untrusted {
    Untrusted::new(text, &Redactor::default())
}

fn parts() -> Parts {
    let finding = Finding {
        rule: "fixer-touched-tests".to_owned(),
        verdict: GuardVerdict::Reject,
        path: "tests/test_discount.py".to_owned(),
        line: Some(22),
        was: "assert total(order) == 0".to_owned(),
        is: "assert total(order) is not None".to_owned(),
        why: "a test line was changed".to_owned(),
    };
    Parts {
        incident: IncidentId::parse("c4d81e6fc4d81e6f-1").unwrap(),
        head: sha('5'),
        base: sha('9'),
        culprit: Culprit {
            file: "shop/discount.py".to_owned(),
            line: Some(14),
            function: Some("average_discount".to_owned()),
        },
        error: "ZeroDivisionError".to_owned(),
        place: "GET /orders/{id}".to_owned(),
        samples: vec![raw("Traceback\nZeroDivisionError: division by zero")],
        change: GuardReport {
            verdict: GuardVerdict::Accept,
            findings: Vec::new(),
            paths: vec!["shop/discount.py".to_owned(), "tests/test_empty.py".to_owned()],
            added: 14,
            removed: 1,
        },
        proof: Proof {
            base: sha('9'),
            head: sha('5'),
            grade: ProofGrade::Proven,
            witness: Witness::B,
            witness_ids: vec!["tests.test_empty.T.test_order_without_items".to_owned()],
            red: "AssertionError: 500 != 200".to_owned(),
            green_runs: 3,
            red_again: true,
            undone: Vec::new(),
            reached: None,
            for_person: None,
            base_counts: Counts {
                pass: 30,
                ..Counts::default()
            },
            head_counts: Counts {
                pass: 31,
                skip: 1,
                ..Counts::default()
            },
            commands: vec!["python3 -m unittest".to_owned()],
            source: vec!["shop/discount.py".to_owned()],
            not_proven: vec!["Whether stored orders are right.".to_owned()],
            sandbox: "sandboxed".to_owned(),
            digest: String::new(),
        },
        audit: Audit {
            verdict: AuditVerdict::Approve,
            head: sha('5'),
            agent: "codex".to_owned(),
            reasons: vec!["small and to the point".to_owned()],
            sandbox: "sandboxed".to_owned(),
        },
        takes_back: None,
        author: "claude".to_owned(),
        said: raw("The average of nothing was taken."),
        finding,
        why: "the patch changes an existing test".to_owned(),
        asks: Vec::new(),
        ignored: Vec::new(),
    }
}

fn with<R>(p: &Parts, readers: Readers, next: Next<'_>, proven: bool, use_it: impl FnOnce(&PrWords<'_>) -> R) -> R {
    let tried = [Tried {
        n: 1,
        why: &p.why,
        finding: Some(&p.finding),
    }];
    use_it(&PrWords {
        readers,
        next,
        incident: &p.incident,
        head: &p.head,
        base: &p.base,
        broke: Broke {
            error: Some(&p.error),
            culprit: Some(&p.culprit),
            not_there: None,
            place: Some(&p.place),
            count: 1437,
            requests: Some(20_104),
            since: "2026-11-29T02:43:07Z".parse().unwrap(),
            until: "2026-11-29T03:00:00Z".parse().unwrap(),
            release: Some(&p.base),
            samples: &p.samples,
        },
        change: &p.change,
        proof: proven.then_some(&p.proof),
        audit: proven.then_some(&p.audit),
        takes_back: p.takes_back.as_ref(),
        author: &p.author,
        held: "not sandboxed: its network is open",
        said: Some(&p.said),
        tried: &tried,
        nth: "attempt 2 of 2",
        usd: Some(0.734),
        asks: &p.asks,
        ignored_checks: &p.ignored,
    })
}

const MERGES: Next<'static> = Next::Merges {
    watch: Duration::from_hours(1),
};
const ASKS: Next<'static> = Next::NeedsPerson {
    why: "it touches a sensitive path",
    question: "Is an empty order allowed at all?",
};

#[test]
fn an_active_body() {
    let body = with(&parts(), Readers::Team, MERGES, true, pr_body);
    insta::assert_snapshot!(body, @r#"
    <!-- tick:incident=c4d81e6fc4d81e6f-1 head=5555555555555555555555555555555555555555 -->

    **What broke.** `ZeroDivisionError` in `shop/discount.py:14`, met at `GET /orders/{id}`: 1,437 times in 20,104 requests, first 2026-11-29 02:43 UTC and last 2026-11-29 03:00 UTC. Release `9999999` was live.

    **What this changes.** 2 files, +14 −1: `shop/discount.py`, `tests/test_empty.py`.

    | proof, computed by tick at `5555555` on base `9999999` | without the fix | with the fix |
    |---|---|---|
    | test `tests.test_empty.T.test_order_without_items` | **fails** by assertion: `AssertionError: 500 != 200`, and again after the fix ran | **passes**, 3 of 3 |
    | all tests | 30 pass | 31 pass, 1 skipped |
    | guards (size, tests, paths, secrets) | – | accept, 0 findings |
    | audit by `codex`; the author was `claude` | – | approve |

    **Not proven.** Whether stored orders are right.

    <details><summary>Proof output and how to repeat it (2 commands)</summary>

    With the fix:

    ```text
    git fetch origin fix/auto-c4d81e6f && git switch --detach 5555555555555555555555555555555555555555 && python3 -m unittest
    ```

    Then without it:

    ```text
    git restore --source 9999999999999999999999999999999999999999 -- shop/discount.py && python3 -m unittest
    ```

    </details>

    **Tried before.**

    - attempt 1: the patch changes an existing test, `fixer-touched-tests` `tests/test_discount.py:22`

    <details><summary>Error, redacted</summary>

    ```text
    Traceback
    ZeroDivisionError: division by zero
    ```

    </details>

    <details><summary>What was refused</summary>

    ```text
    tests/test_discount.py:22
      was  assert total(order) == 0
      is   assert total(order) is not None
    ```

    </details>

    <details><summary>What the auditor said (not evidence)</summary>

    ```text
    small and to the point
    ```

    </details>

    <details><summary>What the agent said (not evidence)</summary>

    ```text
    The average of nothing was taken.
    ```

    </details>

    **What happens next.** When the checks are green, tick squash-merges exactly `5555555`, watches the release for at least an hour, and takes it back if errors rise.
    To stop it, close this pull request, push to the branch, or add the label `tick:stop`. Closing is a no: this cause gets no second pull request until `tick retry c4d81e6fc4d81e6f-1`.

    The tests and the auditor ran sandboxed.
    The agent that wrote it ran not sandboxed: its network is open.
    Patch by a coding agent (`claude`), checked and opened by tick, an unattended maintainer · incident `c4d81e6fc4d81e6f-1` · attempt 2 of 2 · $0.73
    "#);
}

#[test]
fn a_red_run_is_told_as_it_was() {
    let mut p = parts();
    let line = |p: &Parts| {
        let body = with(p, Readers::Team, ASKS, true, pr_body);
        let line = body
            .lines()
            .find(|line| line.starts_with("| test `"))
            .map(str::to_owned);
        line.unwrap()
    };
    assert!(line(&p).contains("**fails** by assertion"));
    p.proof.not_proven = vec![crate::model::evidence::NOT_ASSERTED.to_owned()];
    assert!(line(&p).contains("**fails** with the incident's error"), "{}", line(&p));
}

#[test]
fn a_body_that_needs_a_person() {
    let mut p = parts();
    p.change.verdict = GuardVerdict::NeedsHuman;
    p.change.findings = vec![Finding {
        rule: "sensitive-path".to_owned(),
        verdict: GuardVerdict::NeedsHuman,
        path: "shop/payments/refund.py".to_owned(),
        line: None,
        was: String::new(),
        is: String::new(),
        why: "listed as sensitive".to_owned(),
    }];
    let body = with(&p, Readers::Team, ASKS, true, pr_body);
    insta::assert_snapshot!(body, @r#"
    <!-- tick:incident=c4d81e6fc4d81e6f-1 head=5555555555555555555555555555555555555555 -->

    **Needs you: it touches a sensitive path.**

    **What broke.** `ZeroDivisionError` in `shop/discount.py:14`, met at `GET /orders/{id}`: 1,437 times in 20,104 requests, first 2026-11-29 02:43 UTC and last 2026-11-29 03:00 UTC. Release `9999999` was live.

    **What this proposes.** 2 files, +14 −1: `shop/discount.py`, `tests/test_empty.py`.

    | proof, computed by tick at `5555555` on base `9999999` | without the fix | with the fix |
    |---|---|---|
    | test `tests.test_empty.T.test_order_without_items` | **fails** by assertion: `AssertionError: 500 != 200`, and again after the fix ran | **passes**, 3 of 3 |
    | all tests | 30 pass | 31 pass, 1 skipped |
    | guards (size, tests, paths, secrets) | – | needs a person, 1 finding |
    | audit by `codex`; the author was `claude` | – | approve |

    **What the guards saw.**

    - `sensitive-path` `shop/payments/refund.py`: listed as sensitive

    **Not proven.** Whether stored orders are right.

    <details><summary>Proof output and how to repeat it (2 commands)</summary>

    With the fix:

    ```text
    git fetch origin fix/auto-c4d81e6f && git switch --detach 5555555555555555555555555555555555555555 && python3 -m unittest
    ```

    Then without it:

    ```text
    git restore --source 9999999999999999999999999999999999999999 -- shop/discount.py && python3 -m unittest
    ```

    </details>

    **The decision that is yours.** Is an empty order allowed at all?

    **Tried before.**

    - attempt 1: the patch changes an existing test, `fixer-touched-tests` `tests/test_discount.py:22`

    <details><summary>Error, redacted</summary>

    ```text
    Traceback
    ZeroDivisionError: division by zero
    ```

    </details>

    <details><summary>What was refused</summary>

    ```text
    tests/test_discount.py:22
      was  assert total(order) == 0
      is   assert total(order) is not None
    ```

    </details>

    <details><summary>What the auditor said (not evidence)</summary>

    ```text
    small and to the point
    ```

    </details>

    <details><summary>What the agent said (not evidence)</summary>

    ```text
    The average of nothing was taken.
    ```

    </details>

    **You can** merge it as it is · push your own change (the branch is yours from then on) · say `tick approve c4d81e6fc4d81e6f-1` (tick merges when the checks are green) · close it (no second pull request).

    The tests and the auditor ran sandboxed.
    The agent that wrote it ran not sandboxed: its network is open.
    Patch by a coding agent (`claude`), checked and opened by tick, an unattended maintainer · incident `c4d81e6fc4d81e6f-1` · attempt 2 of 2 · $0.73
    "#);
}

#[test]
fn a_body_after_the_last_attempt_tells_the_attempts() {
    let body = with(&parts(), Readers::Team, ASKS, false, pr_body);
    insta::assert_snapshot!(body, @r#"
    <!-- tick:incident=c4d81e6fc4d81e6f-1 head=5555555555555555555555555555555555555555 -->

    **Needs you: it touches a sensitive path.**

    **What broke.** `ZeroDivisionError` in `shop/discount.py:14`, met at `GET /orders/{id}`: 1,437 times in 20,104 requests, first 2026-11-29 02:43 UTC and last 2026-11-29 03:00 UTC. Release `9999999` was live.

    **What this proposes.** 2 files, +14 −1: `shop/discount.py`, `tests/test_empty.py`.

    | attempt | what became of it | where |
    |---|---|---|
    | 1 | the patch changes an existing test | `fixer-touched-tests` `tests/test_discount.py:22` |

    **The decision that is yours.** Is an empty order allowed at all?

    <details><summary>Error, redacted</summary>

    ```text
    Traceback
    ZeroDivisionError: division by zero
    ```

    </details>

    <details><summary>What was refused</summary>

    ```text
    tests/test_discount.py:22
      was  assert total(order) == 0
      is   assert total(order) is not None
    ```

    </details>

    <details><summary>What the agent said (not evidence)</summary>

    ```text
    The average of nothing was taken.
    ```

    </details>

    **You can** merge it as it is · push your own change (the branch is yours from then on) · say `tick approve c4d81e6fc4d81e6f-1` (tick merges when the checks are green) · close it (no second pull request).

    The agent that wrote it ran not sandboxed: its network is open.
    Patch by a coding agent (`claude`), checked and opened by tick, an unattended maintainer · incident `c4d81e6fc4d81e6f-1` · attempt 2 of 2 · $0.73
    "#);
}

#[test]
fn a_draft_says_that_nothing_happens() {
    let body = with(&parts(), Readers::Team, Next::Draft, true, pr_body);
    assert!(body.contains("**What happens next.** Nothing, until you merge or close it."));
    assert!(body.contains("**What this proposes.**"));
    assert!(!body.contains("squash-merges"));
}

#[test]
fn a_revert_body() {
    let p = parts();
    let (head, merge) = (sha('7'), sha('2'));
    let revert = RevertWords {
        incident: &p.incident,
        head: &head,
        merge: &merge,
        pull: PullNumber(2),
        why: "2 probes are down that were up before the merge.",
        same_tree: true,
        merges: true,
    };
    assert_eq!(revert_title(&revert), "revert: 2222222 (#2) made it worse");
    insta::assert_snapshot!(revert_body(&revert), @r#"
    <!-- tick:incident=c4d81e6fc4d81e6f-1 head=7777777777777777777777777777777777777777 reverts=2222222222222222222222222222222222222222 -->

    **What this takes back.** `2222222` of #2, merged by tick for incident `c4d81e6fc4d81e6f-1`.

    **Why.** 2 probes are down that were up before the merge.

    **Evidence.** The tree is exactly the one from before that merge.

    **What happens next.** When the checks are green it is squash-merged. tick does not try to repair this cause again by itself; it is yours now.

    Made by tick, an unattended maintainer; no agent took part.
    "#);
}
