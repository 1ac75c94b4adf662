//! The verdict of the guards as SARIF 2.1.0, which forges and editors show at the lines.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Value, json};

use crate::model::evidence::{Finding, GuardReport, GuardVerdict};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub fn log(report: &GuardReport) -> Value {
    let ids: BTreeSet<&str> = report.findings.iter().map(|f| f.rule.as_str()).collect();
    let rules: Vec<Value> = ids.iter().map(|id| rule(id, report)).collect();
    // What stands for the diff as a whole is shown at its first file: code scanning takes no result without a place.
    let whole = report.paths.first().map_or(".", String::as_str);
    let results: Vec<Value> = report.findings.iter().map(|f| result(f, &ids, whole)).collect();
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

/// A rule with the texts that code scanning shows beside its results.
fn rule(id: &str, report: &GuardReport) -> Value {
    let said = report.findings.iter().find(|f| f.rule == id);
    let why = said.map_or(id, |f| f.why.as_str());
    let hardest = report.findings.iter().filter(|f| f.rule == id).map(|f| f.verdict).max();
    json!({
        "id": id,
        "name": name(id),
        "shortDescription": { "text": id.replace('-', " ") },
        "fullDescription": { "text": format!("A change that may weaken what judges it: {why}") },
        "help": { "text": "Undo the change, or let a person decide about it." },
        "defaultConfiguration": { "level": hardest.map_or("warning", level) },
        "properties": { "tags": ["guard"], "precision": "high" },
    })
}

fn level(verdict: GuardVerdict) -> &'static str {
    match verdict {
        GuardVerdict::Reject => "error",
        GuardVerdict::NeedsHuman => "warning",
        GuardVerdict::Accept => "note",
    }
}

fn result(finding: &Finding, ids: &BTreeSet<&str>, whole: &str) -> Value {
    let mut text = finding.why.clone();
    for (word, line) in [("was", &finding.was), ("is", &finding.is)] {
        if !line.is_empty() {
            let _ = write!(text, "\n{word}: {line}");
        }
    }
    let mut value = json!({
        "ruleId": finding.rule,
        "ruleIndex": ids.iter().position(|id| *id == finding.rule),
        "level": level(finding.verdict),
        "message": { "text": text },
    });
    let path = if finding.path.is_empty() { whole } else { &finding.path };
    value["locations"] = json!([{ "physicalLocation": {
        "artifactLocation": { "uri": uri(path) },
        "region": { "startLine": finding.line.unwrap_or(1).max(1) },
    } }]);
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
            paths: vec!["src/z.rs".to_owned()],
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
        // What has no path of its own stands at the first file of the diff.
        let whole = &run["results"][1]["locations"][0]["physicalLocation"];
        assert_eq!(whole["artifactLocation"]["uri"], "src/z.rs");
        assert_eq!(whole["region"]["startLine"], 1);
    }

    /// `scripts/guard-parts` fetches the published schema; the built program is tested with it, too.
    #[test]
    fn the_published_schema_accepts_it() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/.test-deps/guard/sarif-2.1.0.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            println!("skipped: the schema of SARIF is missing");
            return;
        };
        let schema = serde_json::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors = |value: &Value| -> Vec<String> { validator.iter_errors(value).map(|e| e.to_string()).collect() };
        let nothing = GuardReport {
            verdict: GuardVerdict::Accept,
            findings: vec![],
            ..report()
        };
        for report in [report(), nothing] {
            assert_eq!(errors(&log(&report)), Vec::<String>::new());
        }
        // The schema refuses what is none.
        let mut wrong = log(&report());
        wrong["runs"][0]["results"][0]["level"] = json!("fatal");
        assert!(!errors(&wrong).is_empty());
    }

    /// What code scanning needs beyond the schema.
    #[test]
    fn code_scanning_takes_it() {
        let log = log(&report());
        let run = &log["runs"][0];
        for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
            for text in ["shortDescription", "fullDescription", "help"] {
                assert!(rule[text]["text"].as_str().is_some_and(|t| !t.is_empty()), "{rule}");
            }
        }
        for result in run["results"].as_array().unwrap() {
            let place = &result["locations"][0]["physicalLocation"];
            assert!(place["region"]["startLine"].as_u64() >= Some(1), "{result}");
            assert!(
                place["artifactLocation"]["uri"]
                    .as_str()
                    .is_some_and(|u| !u.starts_with('/'))
            );
        }
    }
}
