//! The run without the fix, repeated after runs with it.

use super::*;

#[tokio::test]
async fn a_red_that_comes_from_running_first_is_no_proof() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    // The source is what it was but for a comment; the test fails in whatever run comes first.
    let python = python_test(&format!(
        "there = os.path.exists({trace:?})\n        open({trace:?}, 'w').close()\n        self.assertTrue(there)"
    ));
    let python = [("tests/test_new.py", python.as_str())];
    let node = format!(
        "const fs = require('node:fs');\nrequire('node:test')('first', () => {{\n  const there = fs.existsSync({trace:?});\n  \
         fs.writeFileSync({trace:?}, '');\n  require('node:assert').ok(there);\n}});\n"
    );
    let cases = [
        Case {
            fix: &[(
                "shop.py",
                "def average(order):\n    return sum(order) / len(order)  # handled\n",
            )],
            ..shop(&python)
        },
        Case {
            command: "node --test",
            base: &[
                ("a.js", "exports.a = 1;\n"),
                ("test/old.test.js", "require('node:test')('old', () => {});\n"),
            ],
            tests: &[("test/new.test.js", &node)],
            fix: &[("a.js", "exports.a = 1; // handled\n")],
            exception: ("TypeError", "x"),
        },
    ];
    for case in cases {
        for when in RedAgain::ALL {
            let _absent_at_first = fs::remove_file(&trace);
            let Bench {
                dir: _dir,
                trees,
                mut request,
            } = case.lay();
            request.facts.red_again = when;
            let proven = prove(&plain, &kept, &trees, request).await.unwrap();
            graded(
                &proven,
                case.command,
                "not-red: passes: what it says depends on the runs before it",
            );
            assert!(proven.runs.red_fresh.is_some(), "only a fresh tree decides against it");
        }
    }
}

#[tokio::test]
async fn a_test_that_leaves_files_behind_is_judged_on_a_fresh_tree() {
    let littering = python_test("open('left', 'x').close()\n        self.assertEqual(average([]), 0)");
    let mut bench = shop(&[("tests/test_new.py", &littering)]).lay();
    bench.request.facts.alone_runs = 2;
    let proven = prove(&plain, &kept, &bench.trees, bench.request).await.unwrap();
    // Its own file is in its way in the run of the new files alone too, so the head is what refuses it there.
    graded(&proven, "littering", "not-green");
    let mut bench = shop(&[("tests/test_new.py", &littering)]).lay();
    bench.request.facts.alone_runs = 0;
    let proven = prove(&plain, &kept, &bench.trees, bench.request).await.unwrap();
    graded(&proven, "littering, never twice in one tree", "proven");
    assert!(proven.runs.red_fresh.is_some() && proven.proof.red_again);
}

#[tokio::test]
async fn a_failing_test_of_the_base_alone_is_repeated_alone() {
    let failing = python_test("self.assertEqual(average([]), 0)");
    let base = [SHOP, &[("tests/test_new.py", failing.as_str())]].concat();
    let case = Case {
        base: &base,
        ..shop(&[])
    };
    let proven = case.prove().await;
    graded(&proven, "witness a", "proven");
    assert_eq!(proven.proof.witness, Witness::A);
    assert_eq!(proven.runs.red_again.unwrap().total(), 1, "by its id");
}
