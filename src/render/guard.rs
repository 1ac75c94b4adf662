//! The verdict of the guards as one JSON object.

use serde_json::{Value, json};

use crate::model::evidence::{Finding, GuardReport};

/// Verdict, the rule that decided, and every finding with what stood there and what would.
pub fn verdict(report: &GuardReport) -> Value {
    let hardest = report.findings.iter().find(|f| f.verdict == report.verdict);
    json!({
        "verdict": report.verdict,
        "category": hardest.map(|f| f.rule.as_str()),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "paths": report.paths,
        "added": report.added,
        "removed": report.removed,
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule,
        "verdict": finding.verdict,
        "path": finding.path,
        "line": finding.line,
        "was": finding.was,
        "is": finding.is,
        "why": finding.why,
    })
}
