//! What the rules of this module get right over the texts of this repository. `scripts/evaluate` prints the figures, and
//! the README has to quote them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Redactor, clean, corpus_tests::own, corpus_tests::published, signature};

/// `97.5 % (39 of 40)`.
fn share(right: usize, all: usize) -> String {
    let thousandths = (right * 1000 + all / 2) / all.max(1);
    format!("{}.{} % ({right} of {all})", thousandths / 10, thousandths % 10)
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

/// Whether two paths name one file: the shorter is the end of the longer.
fn is_same_file(found: &str, wanted: &str) -> bool {
    let ends = |long: &str, short: &str| long == short || long.ends_with(&["/", short].concat());
    ends(found, wanted) || (found.contains('/') && ends(wanted, found))
}

#[derive(Default)]
struct Errors {
    texts: usize,
    strict: usize,
    lenient: usize,
    bugs_called_noise: usize,
    wanted_culprits: usize,
    named_culprits: usize,
    right_culprits: usize,
    /// Cause to signatures, and back.
    signatures: BTreeMap<String, BTreeSet<String>>,
    causes: BTreeMap<String, BTreeSet<String>>,
    families: BTreeMap<String, BTreeSet<String>>,
}

impl Errors {
    fn measure(rows: &[Value]) -> Self {
        let mut all = Self::default();
        for row in rows {
            all.add(row);
        }
        all
    }

    fn add(&mut self, row: &Value) {
        let signed = signature(text(row, "text"));
        let (cause, name) = (text(row, "cause").to_owned(), signed.signature.to_string());
        self.families
            .entry(text(row, "family").to_owned())
            .or_default()
            .insert(cause.clone());
        self.signatures.entry(cause.clone()).or_default().insert(name.clone());
        self.causes.entry(name).or_default().insert(cause.clone());
        self.texts += 1;
        let strict = row["label"] == signed.label;
        let also = row["also"].as_array().unwrap().iter().any(|l| l == signed.label);
        self.strict += usize::from(strict);
        self.lenient += usize::from(strict || also);
        self.bugs_called_noise += usize::from(row["label"] == "bug" && signed.label == "noise" && !also);
        let found = signed.culprit.map(|culprit| culprit.file);
        let wanted = row["culprit"].as_str();
        let right = match (&found, wanted) {
            (Some(found), Some(wanted)) => is_same_file(found, wanted),
            _ => false,
        };
        self.wanted_culprits += usize::from(wanted.is_some());
        self.named_culprits += usize::from(found.is_some());
        self.right_culprits += usize::from(right);
        if !strict && !also {
            println!("wrong label {}: {cause} {}", signed.label, row["label"]);
        }
        if wanted.is_some() && !right || wanted.is_none() && found.is_some() {
            println!("wrong culprit {found:?}: {cause} {wanted:?}");
        }
    }

    /// Signatures that hold exactly the texts of one cause.
    fn right_groups(&self) -> usize {
        let alone = |cause: &String| self.signatures[cause].len() == 1;
        let one = |causes: &BTreeSet<String>| causes.len() == 1 && causes.iter().all(alone);
        self.causes.values().filter(|causes| one(causes)).count()
    }

    fn merged_near_misses(&self) -> (usize, usize) {
        let (mut merged, mut all) = (0, 0);
        for causes in self.families.values() {
            for (at, one) in causes.iter().enumerate() {
                for other in causes.iter().skip(at + 1) {
                    all += 1;
                    merged += usize::from(!self.signatures[one].is_disjoint(&self.signatures[other]));
                }
            }
        }
        (merged, all)
    }

    fn row(&self) -> String {
        let right = self.right_groups();
        // The harmonic mean of right groups over signatures and over causes.
        let grouped = share(2 * right, self.causes.len() + self.signatures.len());
        let mixed = self.causes.values().filter(|causes| causes.len() > 1).count();
        let (merged, near) = self.merged_near_misses();
        format!(
            "| errors | {} texts of {} causes: grouping F1 {grouped}, signatures of two causes {mixed}, near misses merged \
             {merged} of {near}, label {}, with the second choice {}, bugs called noise {}, culprit found {}, and right \
             where named {} |",
            self.texts,
            self.signatures.len(),
            share(self.strict, self.texts),
            share(self.lenient, self.texts),
            self.bugs_called_noise,
            share(self.right_culprits, self.wanted_culprits),
            share(self.right_culprits, self.named_culprits),
        )
    }
}

#[test]
fn errors_are_grouped_as_published() {
    let rows = own("errors.jsonl");
    let all = Errors::measure(&rows);
    for (cause, signatures) in &all.signatures {
        if signatures.len() > 1 {
            println!("split: {cause}");
        }
    }
    published(&all.row());
    assert!(all.texts >= 150 && all.signatures.len() >= 70);
    assert!(all.causes.values().all(|causes| causes.len() == 1));
    assert_eq!(all.bugs_called_noise, 0);
}

/// What may not be left of a line: of each such part no eight characters in a row.
fn leaks(row: &Value, parts: &[&str], out: &str) -> bool {
    row["must_vanish"].as_array().unwrap().iter().any(|index| {
        let part = parts[usize::try_from(index.as_u64().unwrap()).unwrap()];
        part.as_bytes()
            .windows(8)
            .any(|window| out.contains(std::str::from_utf8(window).unwrap()))
    })
}

/// What stands around a secret is left, except for a few characters next to it.
fn keeps_context(line: &str, out: &str) -> bool {
    let (before, behind) = line.split_once("{{S}}").unwrap();
    let (before, behind) = (clean(before), clean(behind));
    let before = &before[..before.floor_char_boundary(before.len().saturating_sub(20))];
    out.contains(before) && out.contains(behind.get(4..).unwrap_or_default())
}

#[test]
fn secrets_go_as_published() {
    let redactor = Redactor::default();
    let (mut removed, mut cut) = (0, 0);
    let rows = own("secrets.jsonl");
    let mut formats: BTreeMap<&str, bool> = BTreeMap::new();
    for row in &rows {
        let parts: Vec<&str> = row["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_str().unwrap())
            .collect();
        let out = redactor.redact(&clean(&text(row, "line").replace("{{S}}", &parts.concat())));
        let (gone, kept) = (!leaks(row, &parts, &out), keeps_context(text(row, "line"), &out));
        removed += usize::from(gone);
        cut += usize::from(!kept);
        *formats.entry(text(row, "format")).or_insert(true) &= gone;
        if !gone || !kept {
            println!("wrong: {} {out}", row["format"]);
        }
    }
    let near = own("lookalikes.jsonl");
    let changed = near
        .iter()
        .filter(|row| redactor.redact(text(row, "line")) != text(row, "line"));
    let changed = changed.inspect(|row| println!("changed: {}", row["line"])).count();
    let whole = formats.values().filter(|gone| **gone).count();
    published(&format!(
        "| secrets | formats removed {}, lines {}, lines that lost their context {cut}, look-alikes changed {changed} of {} |",
        share(whole, formats.len()),
        share(removed, rows.len()),
        near.len(),
    ));
    assert!(rows.len() >= 60 && near.len() >= 60);
}
