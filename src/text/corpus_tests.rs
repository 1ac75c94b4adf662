//! Runs the rules of this module over collected texts: the corpus of this repository always, larger public ones
//! where they lie beside the checkout (else the test says "skipped").

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
};

use serde_json::Value;

use super::{
    Redactor, Untrusted, clean,
    fence::{Nonce, code_block, fence},
    inert, signature,
};

pub(crate) fn own(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(name);
    rows(&std::fs::read_to_string(path).unwrap())
}

fn rows(text: &str) -> Vec<Value> {
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    rows
}

/// A file that lies beside the checkout, where it does.
#[expect(
    clippy::disallowed_methods,
    reason = "only tests look for the larger corpora, whose place may be given"
)]
pub(crate) fn shared(path: &str) -> Option<String> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TICK_SHARED").map_or(beside, PathBuf::from);
    let found = std::fs::read_to_string(shared.join(path)).ok();
    if found.is_none() {
        println!("skipped (optional): no {path}");
    }
    found
}

/// A row of the table of figures: printed for `scripts/evaluate`, and the README has to have it.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts/evaluate asks by the environment for what is to be published"
)]
pub(crate) fn published(row: &str) {
    println!("{row}");
    if std::env::var_os("TICK_WRITE_FIGURES").is_some() {
        return;
    }
    let readme = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    assert!(
        readme.contains(row),
        "README.md is old; run scripts/evaluate --write\n{row}"
    );
}

fn bench(path: &str) -> Option<String> {
    shared(&format!("bench/{path}"))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

#[test]
fn own_causes() {
    let mut by_cause: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in own("causes.jsonl") {
        let signed = signature(text(&row, "text"));
        if let Some(label) = row["label"].as_str() {
            assert_eq!(signed.label, label, "{row}");
        }
        let culprit = signed.culprit.map(|c| c.file);
        assert_eq!(culprit.as_deref(), row["culprit"].as_str(), "{row}");
        by_cause
            .entry(text(&row, "cause").to_owned())
            .or_default()
            .insert(signed.template);
    }
    for (cause, templates) in &by_cause {
        assert_eq!(templates.len(), 1, "{cause}: {templates:#?}");
    }
    let distinct: BTreeSet<_> = by_cause.values().flatten().collect();
    assert_eq!(distinct.len(), by_cause.len());
}

#[test]
fn own_redactions() {
    for row in own("redact.jsonl") {
        assert_eq!(Redactor::default().redact(text(&row, "text")), text(&row, "redacted"));
    }
}

#[test]
fn own_hostile_texts() {
    for row in own("hostile.jsonl") {
        is_harmless(text(&row, "text"));
    }
}

/// Every place that untrusted text may stand in keeps its shape.
fn is_harmless(raw: &str) {
    let untrusted = Untrusted::new(raw, &Redactor::default());
    let inner = untrusted.analyse();
    assert!(
        !inner.chars().any(|c| c.is_control() && c != '\n' && c != '\t'),
        "{inner:?}"
    );
    let selector = |c: char| c == '\u{fe0e}' || c == '\u{fe0f}';
    assert!(
        !inner.chars().any(|c| clean::is_invisible(c) && !selector(c)),
        "{inner:?}"
    );

    let nonce = Nonce::new(&[0xa7; 8]);
    let fenced = fence(&untrusted, &nonce);
    assert_eq!(fenced.matches(nonce.as_str()).count(), 2);
    let marker = |line: &str| line.contains("untrusted") && (line.contains("<<<") || line.contains(">>>"));
    assert_eq!(fenced.lines().filter(|line| marker(line)).count(), 2, "{fenced}");

    let block = code_block(&untrusted);
    let ticks = block.len() - block.trim_start_matches('`').len();
    let closing = "`".repeat(ticks);
    let closers = block
        .lines()
        .skip(1)
        .filter(|line| line.trim_start().starts_with(&closing));
    assert_eq!(closers.count(), 1, "{block}");

    for line in [
        inert::markdown_line(&untrusted, 500),
        inert::commit_line(&untrusted, 500),
    ] {
        assert!(
            !line.contains('\n') && !line.to_ascii_lowercase().contains("[skip ci]"),
            "{line}"
        );
    }
    assert!(!inert::commit_line(&untrusted, 500).contains(['@']));
    assert!(!inert::header_value(&untrusted, 900).contains(['\r', '\n']));
    for line in [inert::console_line(&untrusted, 500), untrusted.line(500)] {
        let start = line.trim_start();
        assert!(
            !start.starts_with("::") && !line.contains("##[") && !line.contains("##vso["),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }
    let json = serde_json::to_string(&untrusted).unwrap();
    assert!(!json.contains('\n'));
    assert_eq!(serde_json::from_str::<Untrusted>(&json).unwrap(), untrusted);
}

#[test]
fn hostile_payloads() {
    let Some(payloads) = bench("injection/payloads.jsonl") else {
        return;
    };
    let mut seen = 0;
    for row in rows(&payloads) {
        let Some(payload) = row["payload"].as_str() else {
            continue;
        };
        let payload = filled(payload);
        is_harmless(&payload);
        seen += 1;
        let stable = row["props"].as_array().unwrap().iter().any(|p| p == "dedup_stable");
        if let (true, Some(control)) = (stable, row["control"].as_str()) {
            assert_eq!(
                signature(&payload).signature,
                signature(&filled(control)).signature,
                "{}",
                row["id"]
            );
        }
    }
    assert!(seen > 50);
}

/// The placeholders of the payloads that matter here.
fn filled(payload: &str) -> String {
    let text = payload
        .replace("{{FENCE_BEGIN}}", "<<<untrusted 0011223344556677")
        .replace("{{FENCE_END}}", "untrusted 0011223344556677>>>")
        .replace("{{PREV_FENCE_END}}", "untrusted 8899aabbccddeeff>>>");
    repeated(text)
}

/// `{{REPEAT:n:piece}}` of a payload, with the number in the place of `%d`.
pub(crate) fn repeated(mut text: String) -> String {
    while let Some(start) = text.find("{{REPEAT:") {
        let end = start + text[start..].find("}}").unwrap();
        let (times, piece) = text[start + 9..end].split_once(':').unwrap();
        let times = times.parse::<usize>().unwrap().min(20_000);
        let repeated: Vec<String> = (0..times).map(|n| piece.replace("%d", &n.to_string())).collect();
        text.replace_range(start..end + 2, &repeated.concat());
    }
    text
}

#[test]
fn secrets_go_and_look_alikes_stay() {
    let (Some(positive), Some(near)) = (bench("secrets/positive.jsonl"), bench("secrets/near_miss.jsonl")) else {
        return;
    };
    let redactor = Redactor::default();
    for row in rows(&positive) {
        let parts: Vec<&str> = row["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_str().unwrap())
            .collect();
        let line = text(&row, "line").replace("{{S}}", &parts.concat());
        let out = redactor.redact(&clean(&line));
        for index in row["must_vanish"].as_array().unwrap() {
            let part = parts[usize::try_from(index.as_u64().unwrap()).unwrap()].as_bytes();
            let survives = part
                .windows(8.min(part.len()))
                .any(|w| out.contains(std::str::from_utf8(w).unwrap()));
            assert!(!survives, "{}: {out}", row["format"]);
        }
    }
    for row in rows(&near) {
        assert_eq!(redactor.redact(&clean(text(&row, "line"))), text(&row, "line"));
    }
}

#[test]
fn application_errors() {
    let (Some(cases), Some(truth)) = (bench("errors/cases.jsonl"), bench("errors/truth.jsonl")) else {
        return;
    };
    let mut groups: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut holders: HashMap<String, BTreeSet<String>> = HashMap::new();
    let (mut labelled, mut total) = (0, 0);
    for (case, truth) in rows(&cases).iter().zip(rows(&truth)) {
        let signed = signature(text(case, "text"));
        let (group, signature) = (text(&truth, "group").to_owned(), signed.signature.to_string());
        groups.entry(group.clone()).or_default().insert(signature.clone());
        holders.entry(signature).or_default().insert(group);
        let also = truth["label_alt"].as_array().unwrap();
        labelled += usize::from(truth["label"] == signed.label || also.iter().any(|l| l == signed.label));
        total += 1;
    }
    let mixed = holders.values().filter(|groups| groups.len() > 1).count();
    let split = groups.values().filter(|signatures| signatures.len() > 1).count();
    println!(
        "{} groups, {split} split, {mixed} mixed, {labelled}/{total} labelled",
        groups.len()
    );
    assert_eq!(mixed, 0);
    assert!(split * 20 <= groups.len());
    assert!(labelled * 10 >= total * 9);
}

/// Groups that are exactly one event count as right (FGA); pairs of lines in one group that are of one event say how
/// rarely two events are merged.
#[test]
fn log_lines_are_grouped_by_their_event() {
    let names = [
        "Android",
        "BGL",
        "HDFS",
        "HPC",
        "Linux",
        "OpenSSH",
        "OpenStack",
        "Spark",
    ];
    let (mut fga, mut precision) = (0.0, 0.0);
    for name in names {
        let (Some(log), Some(truth)) = (
            bench(&format!("signatures/{name}.log")),
            bench(&format!("signatures/{name}.truth")),
        ) else {
            return;
        };
        let lines: Vec<(&str, &str)> = log.lines().zip(truth.lines()).collect();
        let (right, same) = score(&lines);
        println!("{name}: FGA {right:.3}, pair precision {same:.4}");
        fga += right;
        precision += same;
    }
    let sets = f64::from(u8::try_from(names.len()).unwrap());
    println!("mean: FGA {:.3}, pair precision {:.4}", fga / sets, precision / sets);
    assert!(fga / sets >= 0.85 && precision / sets >= 0.99);
}

fn score(lines: &[(&str, &str)]) -> (f64, f64) {
    let mut joint: HashMap<(String, &str), u32> = HashMap::new();
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut events: HashMap<&str, u32> = HashMap::new();
    for (line, event) in lines {
        let template = signature::template(line);
        *joint.entry((template.clone(), event)).or_default() += 1;
        *groups.entry(template).or_default() += 1;
        *events.entry(event).or_default() += 1;
    }
    let right = joint
        .iter()
        .filter(|((group, event), n)| groups[group] == **n && events[event] == **n)
        .count();
    let pairs = |n: &u32| f64::from(*n) * f64::from(n - 1) / 2.0;
    let (same, all): (f64, f64) = (joint.values().map(pairs).sum(), groups.values().map(pairs).sum());
    let count = |n: usize| f64::from(u32::try_from(n).unwrap());
    (
        2.0 * count(right) / (count(groups.len()) + count(events.len())),
        same / all,
    )
}

/// One line or one record of JSON: the same function, so the same answer.
#[test]
fn every_way_in_gives_the_same_signature() {
    for name in ["Android", "Linux"] {
        let Some(log) = bench(&format!("signatures/{name}.log")) else {
            return;
        };
        for line in log.lines().step_by(20) {
            let signed = signature(line);
            assert_eq!(signed.template, signature::template(line));
            assert_eq!(signed, signature(&format!("{line}\n")));
        }
    }
}

/// A value that the process holds, as a log may show it.
fn encoded(encoding: &str, value: &str) -> Option<String> {
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine as _};
    let every = |n: usize, between: &str| {
        let chars: Vec<char> = value.chars().collect();
        let pieces: Vec<String> = chars.chunks(n).map(|piece| piece.iter().collect()).collect();
        pieces.join(between)
    };
    let of_each = |one: fn(char) -> String| value.chars().map(one).collect::<Vec<_>>();
    Some(match encoding {
        "raw" => value.to_owned(),
        "base64" => BASE64_STANDARD.encode(value),
        "base64_offset1" => BASE64_STANDARD.encode(format!("x{value}")),
        "base64_offset2" => BASE64_STANDARD.encode(format!("xx{value}")),
        "base64url" => BASE64_URL_SAFE.encode(value),
        "hex" => super::hex(value.as_bytes()),
        "hex_upper" => super::hex(value.as_bytes()).to_uppercase(),
        "percent" => of_each(|c| format!("%{:02X}", u32::from(c))).concat(),
        "json_unicode_escape" => of_each(|c| format!("\\u{:04x}", u32::from(c))).concat(),
        "html_entities" => of_each(|c| format!("&#{};", u32::from(c))).concat(),
        "drop_first_7" => value[7..].to_owned(),
        "drop_last_4" => value[..value.len() - 4].to_owned(),
        "ansi_split" => every(5, "\u{1b}[0m"),
        "newline_split_76" => format!("{}\n{}", &value[..value.len() / 2], &value[value.len() / 2..]),
        "reversed" => value.chars().rev().collect(),
        "spaced" => every(1, " "),
        "rot13" => value.chars().map(rot13).collect(),
        "char_codes" => of_each(|c| u32::from(c).to_string()).join(" "),
        "lowercase" => value.to_lowercase(),
        // Packed and then encoded: only shown by the corpus, never asked for.
        "gzip_base64" => return None,
        other => panic!("an encoding that nobody wrote: {other}"),
    })
}

fn rot13(c: char) -> char {
    let turned = |first: u8| char::from((u8::try_from(c).unwrap() - first + 13) % 26 + first);
    match c {
        'a'..='z' => turned(b'a'),
        'A'..='Z' => turned(b'A'),
        c => c,
    }
}

#[test]
fn what_the_process_holds_goes_in_every_encoding() {
    let Some(known) = bench("secrets/known_values.jsonl") else {
        return;
    };
    let mut gone: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in rows(&known) {
        let parts: Vec<&str> = row["parts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let value = parts.concat();
        let Some(leak) = encoded(text(&row, "encoding"), &value) else {
            continue;
        };
        let redactor = Redactor::new([&value.into()]);
        let out = redactor.redact(&clean(&format!("step 3 failed: got [{leak}] from upstream")));
        let core: Vec<char> = leak.chars().collect();
        let core = &core[2..core.len() - 2];
        let survives = core
            .windows(8.min(core.len()))
            .any(|w| out.contains(&w.iter().collect::<String>()));
        let tally = gone.entry(text(&row, "strength").to_owned()).or_default();
        tally.0 += usize::from(!survives);
        tally.1 += 1;
        assert!(
            !survives || text(&row, "strength") != "must",
            "{}: {out}",
            row["encoding"]
        );
        assert!(
            out.starts_with("step 3 failed: got ") && out.ends_with(" from upstream"),
            "{out}"
        );
    }
    let all = [("must".to_owned(), (42, 42)), ("should".to_owned(), (15, 15))];
    assert_eq!(gone, BTreeMap::from(all));
}
