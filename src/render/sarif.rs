//! The verdict of the guards as SARIF 2.1.0, which forges and editors show at the lines.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use crate::model::evidence::{Finding, GuardReport, GuardVerdict};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub fn log(report: &GuardReport) -> Value {
    let ids: BTreeSet<&str> = report.findings.iter().map(|f| f.rule.as_str()).collect();
    let rules: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "name": name(id) })).collect();
    let results: Vec<Value> = report.findings.iter().map(|f| result(f, &ids)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tick guard",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": { "verdict": report.verdict },
        }],
    })
}

fn result(finding: &Finding, ids: &BTreeSet<&str>) -> Value {
    let level = match finding.verdict {
        GuardVerdict::Reject => "error",
        GuardVerdict::NeedsHuman => "warning",
        GuardVerdict::Accept => "note",
    };
    let mut text = finding.why.clone();
    for (word, line) in [("was", &finding.was), ("is", &finding.is)] {
        if !line.is_empty() {
            let _ = write!(text, "\n{word}: {line}");
        }
    }
    let mut value = json!({
        "ruleId": finding.rule,
        "ruleIndex": ids.iter().position(|id| *id == finding.rule),
        "level": level,
        "message": { "text": text },
    });
    if !finding.path.is_empty() {
        let mut place = json!({ "artifactLocation": { "uri": uri(&finding.path) } });
        if let Some(line) = finding.line {
            place["region"] = json!({ "startLine": line.max(1) });
        }
        value["locations"] = json!([{ "physicalLocation": place }]);
    }
    value
}

/// `skip-added` as `SkipAdded`.
fn name(id: &str) -> String {
    let word = |w: &str| {
        let mut chars = w.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    id.split('-').map(word).collect()
}

/// A path as a relative reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> GuardReport {
        let finding = |rule: &str, verdict, path: &str, line| Finding {
            rule: rule.to_owned(),
            verdict,
            path: path.to_owned(),
            line,
            was: "a".to_owned(),
            is: String::new(),
            why: "gone".to_owned(),
        };
        GuardReport {
            verdict: GuardVerdict::Reject,
            findings: vec![
                finding("skip-added", GuardVerdict::Reject, "a b/\u{e9}.py", Some(3)),
                finding("oversized", GuardVerdict::NeedsHuman, "", None),
            ],
            paths: vec![],
            added: 0,
            removed: 0,
        }
    }

    #[test]
    fn results_point_to_rules_and_lines() {
        let log = log(&report());
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][1]["name"], "SkipAdded");
        let first = &run["results"][0];
        assert_eq!(
            (first["ruleIndex"].as_u64(), first["level"].as_str()),
            (Some(1), Some("error"))
        );
        assert_eq!(first["message"]["text"], "gone\nwas: a");
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%A9.py");
        assert_eq!(place["region"]["startLine"], 3);
        assert!(run["results"][1].get("locations").is_none());
    }
}
