//! Large diffs. Each ends at once where the work grows with the diff, and takes minutes where it grows with its square.

use super::{Diff, FileChange, GuardPolicy, Side, judge};
use crate::{
    model::evidence::{GuardReport, GuardVerdict},
    text::Redactor,
};

fn change(path: &str, old: Option<String>, new: Option<String>) -> FileChange {
    let side = |text: String| Side {
        mode: 0o100_644,
        bytes: text.into_bytes(),
    };
    FileChange {
        path: path.as_bytes().to_vec(),
        old: old.map(side),
        new: new.map(side),
    }
}

fn judged(changes: Vec<FileChange>) -> GuardReport {
    let policy = GuardPolicy::anybody([]).unwrap();
    judge(&Diff::of(changes), &policy, &Redactor::default())
}

fn has(report: &GuardReport, rule: &str) -> bool {
    report.findings.iter().any(|f| f.rule == rule)
}

fn each(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

#[test]
fn many_new_files() {
    let file = |i: usize| change(&format!("d{i}/f{i}.py"), None, Some(format!("x = {i}\n")));
    let report = judged((0..4_000).map(file).collect());
    assert!(!has(&report, "too-large"));
    assert!(
        report.findings.iter().all(|f| f.path.is_empty()),
        "{:?}",
        report.findings
    );
}

#[test]
fn more_files_than_are_read_are_a_persons() {
    let file = |i: usize| change(&format!("f{i}.txt"), None, Some(format!("{i}\n")));
    let report = judged((0..5_001).map(file).collect());
    let finding = report.findings.iter().find(|f| f.rule == "too-large").unwrap();
    assert_eq!(report.verdict, GuardVerdict::NeedsHuman);
    assert_eq!(
        finding.why,
        "5001 changed files, at most 5000 are read as code; a person has to judge them"
    );
}

#[test]
fn many_tests_that_move() {
    let text = |i: usize| format!("def test_{i}():\n    assert f({i}) == {i}\n");
    let gone = (0..1_000).map(|i| change(&format!("a/test_{i}.py"), Some(text(i)), None));
    let new = (0..1_000).map(|i| change(&format!("b/test_{i}.py"), None, Some(text(i))));
    let report = judged(gone.chain(new).collect());
    assert!(report.verdict < GuardVerdict::Reject, "{:?}", report.findings);
}

#[test]
fn many_scripts_in_one_line() {
    let scripts = |name: &str| {
        format!(
            "{{\"scripts\":{{{}\"z\":\"z\"}}}}",
            each(2_000, |i| format!("\"{name}{i}\":\"{name} {i}\","))
        )
    };
    let report = judged(vec![change("package.json", Some(scripts("a")), Some(scripts("b")))]);
    assert!(has(&report, "gate-weakened"), "{:?}", report.findings);
}

#[test]
fn many_checks_in_another_order() {
    let test = |lines: String| Some(format!("def test_a():\n{lines}"));
    let check = |i: usize| format!("    assert f({i}) == {i}\n");
    let turned = each(1_500, |i| check(1_499 - i));
    let report = judged(vec![change("tests/test_a.py", test(each(1_500, check)), test(turned))]);
    assert!(!has(&report, "too-large"), "{:?}", report.findings);
    assert!(!has(&report, "assertion-removed"), "{:?}", report.findings);
}

#[test]
fn many_branches_beside_many_tests() {
    let branches = each(700, |i| format!("elif a == {i}:\n    x = {i}\n"));
    let source = format!("if a == -1:\n    x = 0\n{branches}");
    let tests = each(700, |i| format!("def test_{i}():\n    assert f({i}) == {i}\n"));
    let report = judged(vec![
        change("src/a.py", Some("x = 1\n".to_owned()), Some(source)),
        change("tests/test_a.py", None, Some(tests)),
    ]);
    assert!(has(&report, "special-cased"), "{:?}", report.findings);
}
