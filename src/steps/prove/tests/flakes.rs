//! Tests of the base that come and go, and additions that change what the tests around them say.

use super::*;

/// Each run in a tree has another result than the one before it there; where the new tests are it begins with a failure.
const SHAKY: (&str, &str) = (
    "tests/test_shaky.py",
    "import os, unittest\n\nclass Shaky(unittest.TestCase):\n    def test_turn(self):\n        runs = int(open('runs').read()) if os.path.exists('runs') else int(os.path.exists('tests/test_new.py'))\n        open('runs', 'w').write(str(runs + 1))\n        self.assertEqual(runs % 2, 0)\n",
);

#[tokio::test]
async fn a_flake_of_the_base_holds_no_fix_back() {
    let base = [SHOP, &[SHAKY]].concat();
    let test = python_test("self.assertEqual(average([]), 0)");
    let tests = [("tests/test_new.py", test.as_str())];
    let case = Case {
        base: &base,
        ..shop(&tests)
    };
    let proven = case.prove().await;
    graded(&proven, "flake", "proven");
    let again: Vec<usize> = proven.runs.base_again.iter().map(|again| again.suite.total()).collect();
    assert_eq!(again, [1, 1], "the test alone, until two runs differ");
    assert_eq!(
        proof::flakes_seen(&proven.runs),
        ["tests.test_shaky.Shaky.test_turn".to_owned()].into()
    );
}

#[tokio::test]
async fn an_addition_that_holds_up_the_tests_around_it_is_seen() {
    let (_, old) = SHOP[2];
    let added = "\nimport shop\nshop.average.__defaults__ = (0,)\n\nclass New(unittest.TestCase):\n    def test_empty(self): self.assertEqual(average([]), 0)\n";
    let honest =
        format!("{old}\nclass New(unittest.TestCase):\n    def test_empty(self): self.assertEqual(average([]), 0)\n");
    let props = format!("{old}{added}");
    // With this fix the old test needs what the addition does.
    let fix = [(
        "shop.py",
        "def average(order, more=1):\n    return sum(order) / len(order) + more if order else 0\n",
    )];
    let proven = Case {
        fix: &fix,
        ..shop(&[("tests/test_shop.py", &props)])
    }
    .prove()
    .await;
    graded(&proven, "props", "not-");
    let proven = shop(&[("tests/test_shop.py", &honest)]).prove().await;
    graded(&proven, "honest", "proven");
    assert_eq!(proven.runs.own.unwrap().total(), 1, "the old test of that file alone");
}

/// A test file of its own shares a process, or a folder, with the tests of the base.
#[tokio::test]
async fn a_new_file_that_holds_up_the_tests_of_others_is_seen() {
    let honest = python_test("self.assertEqual(average([]), 0)");
    // It breaks what the old test asks for.
    let fix = [("shop.py", "def average(order):\n    return 0\n")];
    let with = |before: &str, after: &str| format!("{before}\n{honest}\n{after}\n");
    let tricks = [
        with(
            "import tests.test_shop as other\nother.Old.test_two = lambda self: None",
            "",
        ),
        with(
            "import tests.test_shop as other\nsetattr(other.Old, 'test_two', lambda self: None)",
            "",
        ),
        with(
            "import tests.test_shop as other\nother.average = lambda order: sum(order) / len(order)",
            "",
        ),
        with(
            "",
            "def tearDownModule():\n    import tests.test_shop as other\n    other.average = lambda order: 3",
        ),
        with(
            "import pathlib\npathlib.Path('tests/test_shop.py').write_text('import unittest\\n')",
            "",
        ),
        with(
            "import pathlib\npathlib.Path('shop.py').write_text('def average(o): return sum(o) / len(o) if o else 0\\n')",
            "",
        ),
    ];
    for (n, file) in tricks.iter().enumerate() {
        // Before and behind the others in the alphabet.
        for path in ["tests/test_a.py", "tests/test_z.py"] {
            let proven = Case {
                fix: &fix,
                ..shop(&[(path, file)])
            }
            .prove()
            .await;
            let wrote = file.contains("write_text");
            let expected = if wrote { "unproven: were written" } else { "not-" };
            graded(&proven, &format!("{path} {n}"), expected);
        }
    }
    let proven = shop(&[("tests/test_a.py", &honest)]).prove().await;
    graded(&proven, "honest", "proven");
}
