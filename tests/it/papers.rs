//! What the papers say is what the program does: exit codes, keys of the configuration, dependencies, licences.

use std::collections::BTreeSet;

use tick::{config::schema, exit::Exit};

use crate::support::read;

/// First cell of each row of the tables below a heading, with backticks removed.
fn first_cells(text: &str, heading: &str) -> Vec<String> {
    rows(text, heading).into_iter().map(|row| row[0].clone()).collect()
}

fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim_start_matches('#').trim() != heading || !line.starts_with('#'));
    assert!(lines.next().is_some(), "no heading {heading:?}");
    lines
        .take_while(|line| !line.starts_with('#'))
        .filter(|line| line.starts_with('|'))
        .map(|line| {
            line.trim_matches('|')
                .split(" | ")
                .map(|cell| cell.trim().replace('`', ""))
                .collect()
        })
        .filter(|row: &Vec<String>| !row[0].starts_with("---") && !row[0].starts_with(":-"))
        .skip(1)
        .collect()
}

#[test]
fn the_readme_has_every_exit_code_with_its_meaning() {
    let table = rows(&read("README.md"), "Exit codes");
    let expected: Vec<(String, String)> = Exit::ALL
        .iter()
        .map(|exit| (exit.code().to_string(), exit.meaning().to_owned()))
        .collect();
    let found: Vec<(String, String)> = table.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_readme_has_every_key_of_the_configuration_and_no_other() {
    let all = schema::all_keys();
    // A section is explained by its keys, a target by the repo's own.
    let is_section = |key: &str| {
        key != "repos.*.targets"
            && all
                .iter()
                .any(|k| k.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '['])))
    };
    let wanted = all
        .iter()
        .filter(|key| !is_section(key) && !key.starts_with("repos.*.targets.*."));
    let in_schema: BTreeSet<String> = wanted.cloned().collect();
    let in_readme: BTreeSet<String> = first_cells(&read("README.md"), "Configuration").into_iter().collect();
    let missing: Vec<&String> = in_schema.difference(&in_readme).collect();
    let unknown: Vec<&String> = in_readme.difference(&in_schema).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "missing {missing:?}, unknown {unknown:?}"
    );
}

#[test]
fn every_dependency_has_its_reason_and_no_other_stands_there() {
    let manifest = read("Cargo.toml");
    let mut section = "";
    let mut in_manifest = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.trim_end_matches(']').ends_with("dependencies")
            && let Some((name, _)) = line.split_once('=')
        {
            in_manifest.insert(name.trim().to_owned());
        }
    }
    let mut in_docs = BTreeSet::new();
    for row in rows(&read("docs/ARCHITECTURE.md"), "Dependencies") {
        assert!(row[1].len() > 20, "{}: a reason is a sentence", row[0]);
        in_docs.extend(row[0].split(", ").map(str::to_owned));
    }
    assert_eq!(in_docs, in_manifest);
}

#[test]
fn the_licences_are_there_in_full() {
    assert!(read("LICENSE-MIT").contains("Permission is hereby granted, free of charge"));
    let apache = read("LICENSE-APACHE");
    assert!(apache.contains("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"));
    assert!(apache.contains("END OF TERMS AND CONDITIONS"));
}

#[test]
fn workflows_pin_every_action_by_hash() {
    let workflow = read(".github/workflows/ci.yml");
    let uses: Vec<&str> = workflow
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "))
        .collect();
    assert!(!uses.is_empty());
    for action in uses {
        let hash = action
            .split_once('@')
            .map_or("", |(_, version)| version.split_whitespace().next().unwrap_or(""));
        assert!(
            hash.len() == 40 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
            "{action} is not pinned"
        );
    }
}

/// Every field stands there with its name, in the table of its struct.
#[test]
fn the_form_of_snapshots_is_documented_in_full() {
    use tick::model::{
        Sha, TickId,
        signal::{
            BlindPart, Change, ChangeKind, CollectorOutcome, Culprit, OutcomeKind, SNAPSHOT_SCHEMA, Severity, Signal,
            SignalKind, Snapshot, Stood,
        },
    };
    let at: chrono::DateTime<chrono::Utc> = "2026-11-29T03:00:00Z".parse().unwrap();
    let sha = Sha::parse(&"a".repeat(40)).ok();
    let text = || Some(String::from("x"));
    // Literals without a rest: a new field does not compile here before it is written down there.
    let snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA,
        tick: TickId::new("20261129T030000Z", 1),
        started_at: at,
        deep: false,
        signals: vec![Signal {
            source: "health".into(),
            repo: "web".parse().unwrap(),
            target: "web".into(),
            kind: SignalKind::Health,
            severity: Severity::Error,
            title: "x".into(),
            message: "x".into(),
            signature: "7f3a91c07f3a91c0".parse().unwrap(),
            count: 1,
            first_seen: at,
            last_seen: at,
            release_sha: sha.clone(),
            url: text(),
            culprit: Some(Culprit {
                file: "x.py".into(),
                line: Some(1),
                function: text(),
            }),
            evidence: serde_json::json!({}),
        }],
        collectors: vec![CollectorOutcome {
            name: "health".into(),
            repo: "web".parse().unwrap(),
            target: "web".into(),
            outcome: OutcomeKind::Failed,
            ms: 1,
            items: 0,
            cause: "html".into(),
            detail: "x".into(),
            release_sha: sha.clone(),
            requests: Some(1),
            deploying_since: Some(at),
            told: [ChangeKind::Merge].into(),
            variables: Some([String::from("A")].into()),
            blind_parts: vec![BlindPart {
                name: "x".into(),
                cause: "html".into(),
                detail: "x".into(),
            }],
            blind_seconds: Some(1),
        }],
        open_pulls: Vec::new(),
        changes: vec![Change {
            at,
            repo: "web".parse().unwrap(),
            target: "web".into(),
            source: "vercel".into(),
            kind: ChangeKind::Merge,
            key: "x".into(),
            what: "x".into(),
            sha,
            url: text(),
        }],
        signed_by: 1,
        stood: vec![Stood {
            held: None,
            group: serde_json::json!({}),
            known: serde_json::json!({}),
            standing: serde_json::json!({}),
        }],
    };
    let json = serde_json::to_value(&snapshot).unwrap();
    let page = read("docs/SNAPSHOT.md");
    for (heading, part) in [
        ("Snapshot", &json),
        ("Signal", &json["signals"][0]),
        ("Collector", &json["collectors"][0]),
        ("Change", &json["changes"][0]),
    ] {
        let cells = first_cells(&page, heading).join(" ");
        let named: BTreeSet<&str> = cells
            .split([' ', ',', '(', ')'])
            .filter(|word| !word.is_empty())
            .collect();
        let fields: BTreeSet<&str> = part.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(named, fields, "{heading}");
    }
}

/// The example runs as it stands, and each of its answers has the form that the page links.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the page's own program is run as its reader runs it"
)]
fn the_example_of_an_agent_answers_in_every_role() {
    let Some(python) = crate::support::program("python3") else {
        return crate::support::lacks("python3");
    };
    let page = read("docs/AGENTS-CONTRACT.md");
    let (_, rest) = page.split_once("```python\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("agent.py"), program).unwrap();
    let head = "3f9c2b7d1e0a4856b9c3d2e1f0a7b6c5d4e3f201";
    let asked = serde_json::json!({ "groups": [{ "signature": "7f3a91c07f3a91c0", "repo": "web" }], "head_sha": head });
    std::fs::write(at("input.json"), asked.to_string()).unwrap();
    for role in ["triage", "fix", "audit"] {
        let form = format!("prompts/schemas/{role}.json");
        assert!(page.contains(&format!("(../{form})")), "{form} is not linked");
        let output = std::process::Command::new(&python)
            .arg(at("agent.py"))
            .env("TICK_ROLE", role)
            .env("TICK_INPUT", at("input.json"))
            .output()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{role}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
        let schema = serde_json::from_str(&read(&form)).unwrap();
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&answer)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{role}");
    }
}
