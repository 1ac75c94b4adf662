//! `fixer-touched-tests` for whole files, data and configuration.

use super::touched_tests::{findings, passes, refused};

#[test]
fn whole_files() {
    for path in [
        "tests/test_total.py",
        "web/a.test.ts",
        "relay/testdata/a.json",
        "web/__snapshots__/a.snap",
        "pytest.ini",
        ".github/workflows/ci.yml",
    ] {
        assert_ne!(findings(path, Some("x"), None), [], "{path}");
    }
    assert_eq!(findings("src/a.py", Some("x"), None), []);
    assert_eq!(
        findings("tests/test_new.py", None, Some("def test_a():\n    assert 1\n")),
        []
    );
    assert_eq!(
        findings("tests/fixtures/new.json", None, Some("{\"skip\": 1, \"only\": 2}")),
        []
    );
    assert_ne!(findings("web/new.test.js", None, Some("it.only('x', () => {});\n")), []);
    for path in [
        "pytest.ini",
        "jest.config.js",
        "tests/conftest.cfg/tox.ini",
        "sitecustomize.py",
    ] {
        assert_ne!(findings(path, None, Some("x")), [], "{path}");
    }
    assert_ne!(
        findings(
            "tests/conftest.py",
            None,
            Some("def pytest_collection_modifyitems(items):\n    items[:] = []\n")
        ),
        []
    );
    assert_eq!(
        findings(
            "tests/conftest.py",
            None,
            Some("import pytest\n\n\n@pytest.fixture\ndef basket():\n    return []\n")
        ),
        []
    );
}

#[test]
fn snapshots_and_fixtures_grow_only() {
    let snap = "// Jest\n\nexports[`a 1`] = `\n<p>x</p>\n`;\n";
    passes(
        "web/__snapshots__/a.snap",
        snap,
        &format!("{snap}\nexports[`b 1`] = `\n<i/>\n`;\n"),
    );
    refused(
        "web/__snapshots__/a.snap",
        snap,
        &snap.replace("<p>x", "<p>y"),
        "exports[`a 1`] = `",
        "another content",
    );
    refused("core/tests/snapshots/a.snap", "a\n", "b\n", "", "another content");

    let json = "{\"rows\": [{\"n\": 1}], \"k\": 2}";
    passes(
        "testdata/a.json",
        json,
        "{\"k\": 2, \"rows\": [{\"n\": 1}, {\"n\": 2}], \"new\": null}",
    );
    refused("testdata/a.json", json, "{\"k\": 3, \"rows\": [{\"n\": 1}]}", "", "");
    refused("testdata/a.json", json, "{\"k\": 2, \"rows\": [{\"n\": 5}]}", "", "");
    passes("tests/data/a.csv", "a,1\nb,2\n", "a,1\nc,3\nb,2\n");
    refused("tests/data/a.csv", "a,1\nb,2\n", "a,1\nb,3\n", "b,2", "b,3");
    passes(
        "tests/data/a.yaml",
        "a: 1\nb:\n  - x\n",
        "a: 1\nb:\n  - x\n  - y\nc: 3\n",
    );
    refused("tests/data/a.yaml", "a: 1\n", "a: 1\na: 2\n", "", "a: 2");
    refused("tests/run.sh", "pytest\n", "pytest\nexit 0\n", "", "exit 0");
}

#[test]
fn runner_ci_and_manifests() {
    let ci = "jobs:\n  test:\n    steps:\n      - run: pytest\n";
    refused(
        ".github/workflows/ci.yml",
        ci,
        &ci.replace("pytest", "pytest || true"),
        "- run: pytest",
        "- run: pytest || true",
    );
    assert_ne!(
        findings(
            ".github/workflows/ci.yml",
            Some(ci),
            Some(&format!("{ci}    continue-on-error: true\n"))
        ),
        []
    );
    passes(".github/workflows/ci.yml", ci, &format!("# a note\n{ci}"));
    refused(
        "vitest.config.ts",
        "export default { retry: 0 };\n",
        "export default { retry: 5 };\n",
        "export default { retry: 0 };",
        "export default { retry: 5 };",
    );
    refused(
        "pytest.ini",
        "[pytest]\naddopts = -q\n",
        "[pytest]\naddopts = -q --deselect x\n",
        "addopts = -q",
        "addopts = -q --deselect x",
    );

    let package = "{\"scripts\": {\"test\": \"vitest run\"}, \"dependencies\": {\"a\": \"1\"}}";
    refused(
        "package.json",
        package,
        &package.replace("vitest run", "true"),
        "{\"test\":\"vitest run\"}",
        "{\"test\":\"true\"}",
    );
    passes("package.json", package, &package.replace("\"1\"", "\"2\""));
    let project = "[project]\nname = \"a\"\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
    assert_ne!(
        findings("pyproject.toml", Some(project), Some(&project.replace("-q", "-q -k x"))),
        []
    );
    assert_ne!(
        findings(
            "pyproject.toml",
            Some("[project]\n"),
            Some("[project]\n[tool.pytest.ini_options]\nx = 1\n")
        ),
        []
    );
    passes("pyproject.toml", project, &project.replace("\"a\"", "\"b\""));
}
