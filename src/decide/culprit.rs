//! What guards say of a diff that takes a commit back. The tests that it takes along were the commit's: whether they may go is
//! a person's matter, and no cheat. All else counts as in any diff.

use crate::model::evidence::{GuardReport, GuardVerdict};

const ABOUT_TESTS: [&str; 10] = [
    "assertion-loosened",
    "assertion-removed",
    "expectation-rewritten",
    "fixer-touched-tests",
    "focus-added",
    "skip-added",
    "snapshot-rewritten",
    "test-deleted",
    "test-tagged",
    "test-uncollected",
];

pub fn ask_a_person(report: &mut GuardReport) {
    for finding in &mut report.findings {
        if ABOUT_TESTS.contains(&finding.rule.as_str()) {
            finding.verdict = finding.verdict.min(GuardVerdict::NeedsHuman);
        }
    }
    let hardest = report.findings.iter().map(|finding| finding.verdict).max();
    report.verdict = hardest.unwrap_or(GuardVerdict::Accept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::Finding;

    fn judged(rules: &[&str]) -> GuardVerdict {
        let findings = rules.iter().map(|rule| Finding {
            rule: (*rule).to_owned(),
            verdict: GuardVerdict::Reject,
            path: "tests/test_cart.py".to_owned(),
            line: None,
            was: String::new(),
            is: String::new(),
            why: String::new(),
        });
        let mut report = GuardReport {
            verdict: GuardVerdict::Reject,
            findings: findings.collect(),
            paths: Vec::new(),
            added: 0,
            removed: 9,
        };
        ask_a_person(&mut report);
        report.verdict
    }

    #[test]
    fn only_what_is_about_tests_is_a_persons() {
        assert_eq!(
            judged(&["test-deleted", "fixer-touched-tests"]),
            GuardVerdict::NeedsHuman
        );
        assert_eq!(judged(&["test-deleted", "secret"]), GuardVerdict::Reject);
        assert_eq!(judged(&["runs-by-itself"]), GuardVerdict::Reject);
        assert_eq!(judged(&[]), GuardVerdict::Accept);
    }
}
