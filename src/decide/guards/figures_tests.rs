//! The published figures of the guards over the diffs of this repository, also with each rule switched off.
//! `scripts/evaluate --write` writes them anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::PathBuf,
};

use super::corpus_tests::{Case, answered, word};
use crate::{
    model::evidence::{GuardReport, GuardVerdict},
    text::corpus_tests::published as publish,
};

const DOC: &str = "docs/guards-recall.md";

/// What the guards say of one case.
struct Answer {
    wanted: String,
    also: Vec<String>,
    category: String,
    /// The hardest verdict of each rule that speaks.
    rules: BTreeMap<String, GuardVerdict>,
}

impl Answer {
    fn of(case: &Case, report: &GuardReport) -> Self {
        let mut rules = BTreeMap::new();
        for finding in &report.findings {
            let hardest = rules.entry(finding.rule.clone()).or_insert(finding.verdict);
            *hardest = finding.verdict.max(*hardest);
        }
        let text = |key: &str| case.label[key].as_str().unwrap().to_owned();
        let also = case.label["also"].as_array().into_iter().flatten();
        Self {
            wanted: text("verdict"),
            also: also.map(|v| v.as_str().unwrap().to_owned()).collect(),
            category: text("category"),
            rules,
        }
    }

    fn verdict(&self, without: &str) -> GuardVerdict {
        let left = self.rules.iter().filter(|(rule, _)| *rule != without);
        left.map(|(_, v)| *v).max().unwrap_or(GuardVerdict::Accept)
    }

    fn right(&self, without: &str) -> bool {
        let got = word(self.verdict(without));
        got == self.wanted || self.also.iter().any(|a| a == got)
    }

    fn stopped(&self, without: &str) -> bool {
        self.verdict(without) != GuardVerdict::Accept
    }
}

#[derive(Default)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, yes: bool) {
        self.0 += usize::from(yes);
        self.1 += 1;
    }

    /// `97.5 % (39 of 40)`
    fn shown(&self) -> String {
        let thousandths = (self.0 * 1000 + self.1 / 2) / self.1.max(1);
        format!("{}.{} % ({} of {})", thousandths / 10, thousandths % 10, self.0, self.1)
    }
}

/// Block recall, reject recall and false blocks, with one rule switched off.
fn shares(answers: &[Answer], without: &str) -> [Share; 3] {
    let mut out = [Share::default(), Share::default(), Share::default()];
    for answer in answers {
        match answer.wanted.as_str() {
            "accept" => out[2].add(!answer.right(without)),
            wanted => {
                out[0].add(answer.stopped(without));
                if wanted == "reject" {
                    out[1].add(answer.right(without));
                }
            }
        }
    }
    out
}

/// The line that the README has, too.
fn sentence(answers: &[Answer]) -> String {
    let [blocked, rejected, stopped] = shares(answers, "").map(|s| s.shown());
    format!(
        "{} diffs: block recall {blocked}, reject recall {rejected}, false blocks {stopped}",
        answers.len()
    )
}

fn page(answers: &[Answer]) -> String {
    let mut text = String::from(
        "# What the guards stop\n\nMeasured over the labelled diffs in `tests/corpus/guards` by `scripts/evaluate`; a test \
         compares this page with what it measures.\n\n",
    );
    let _ = writeln!(
        text,
        "{}.\n\n## By kind\n\n| kind | diffs | right |\n|---|---|---|",
        sentence(answers)
    );
    let mut kinds: BTreeMap<&str, Share> = BTreeMap::new();
    for answer in answers {
        kinds.entry(&answer.category).or_default().add(answer.right(""));
    }
    for (kind, share) in &kinds {
        let _ = writeln!(text, "| {kind} | {} | {} |", share.1, share.0);
    }
    text.push_str(
        "\n## With one rule switched off\n\n*Alone*: bad diffs that nothing else stops.\n\n\
         | rule | speaks of | alone | block recall without it | reject recall without it |\n|---|---|---|---|---|\n",
    );
    let rules: BTreeSet<&String> = answers.iter().flat_map(|a| a.rules.keys()).collect();
    for rule in rules {
        let speaks = answers.iter().filter(|a| a.rules.contains_key(rule)).count();
        let alone = |a: &&Answer| a.wanted != "accept" && a.stopped("") && !a.stopped(rule);
        let alone = answers.iter().filter(alone).count();
        let [blocked, rejected, _] = shares(answers, rule).map(|s| s.shown());
        let _ = writeln!(text, "| `{rule}` | {speaks} | {alone} | {blocked} | {rejected} |");
    }
    text
}

#[expect(
    clippy::disallowed_methods,
    reason = "scripts/evaluate asks by the environment for the page to be written"
)]
fn is_to_be_written() -> bool {
    std::env::var_os("TICK_WRITE_FIGURES").is_some()
}

#[test]
fn the_published_figures_are_the_measured_ones() {
    let answers: Vec<Answer> = answered()
        .iter()
        .map(|(case, report)| Answer::of(case, report))
        .collect();
    for (_, (case, _)) in answers.iter().zip(answered()).filter(|(a, _)| !a.right("")) {
        println!("wrong: {} {} {}", case.id, case.label["tree"], case.label["why"]);
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (text, line) = (page(&answers), sentence(&answers));
    if is_to_be_written() {
        std::fs::write(root.join(DOC), &text).unwrap();
    }
    let published = std::fs::read_to_string(root.join(DOC)).unwrap_or_default();
    assert!(published == text, "{DOC} is old; run scripts/evaluate --write\n{text}");
    publish(&format!("| guards | {line} |"));
}
