//! Parts of a prompt that repeat: lists, samples, earlier attempts. Each value from outside is fenced on its own.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Earlier, FixContext, TriageGroup};
use crate::text::{
    Redactor, Untrusted,
    fence::{Nonce, fence},
    times,
};

/// Longest single sample, in characters.
const SAMPLE: usize = 3_000;
/// Longest line-like value.
const SHORT: usize = 600;
/// Longest report.
const LONG: usize = 20_000;
const SAMPLES: usize = 3;
const ITEMS: usize = 30;

/// Fences of one prompt.
pub(super) struct Fences<'a>(pub(super) &'a Nonce);

impl Fences<'_> {
    pub(super) fn whole(&self, text: &Untrusted) -> String {
        fence(text, self.0)
    }

    pub(super) fn short(&self, text: &Untrusted) -> String {
        fence(&cut(text, SHORT), self.0)
    }

    pub(super) fn long(&self, text: &Untrusted) -> String {
        fence(&cut(text, LONG), self.0)
    }

    /// One line each, in one fence.
    pub(super) fn list(&self, items: &[Untrusted], none: &str) -> String {
        if items.is_empty() {
            return none.to_owned();
        }
        let mut lines: Vec<String> = items.iter().take(ITEMS).map(|item| item.line(SHORT)).collect();
        if items.len() > ITEMS {
            lines.push(format!("({} more)", items.len() - ITEMS));
        }
        self.whole(&plain(&lines.join("\n")))
    }

    pub(super) fn samples(&self, samples: &[Untrusted]) -> String {
        if samples.is_empty() {
            return "No sample was kept.".to_owned();
        }
        let fenced: Vec<String> = samples
            .iter()
            .take(SAMPLES)
            .map(|sample| fence(&cut(sample, SAMPLE), self.0))
            .collect();
        fenced.join("\n\n")
    }

    pub(super) fn groups(&self, groups: &[TriageGroup]) -> String {
        let texts: Vec<String> = groups.iter().map(|group| self.group(group)).collect();
        texts.join("\n\n")
    }

    fn group(&self, group: &TriageGroup) -> String {
        let mut text = format!(
            "## {}\n\nKind {}, seen {} from {} to {}.\n\n{}",
            group.signature,
            word(&group.kind),
            times(group.count),
            group.first_seen.to_rfc3339(),
            group.last_seen.to_rfc3339(),
            self.short(&group.template),
        );
        if let Some(culprit) = &group.culprit {
            self.part(
                &mut text,
                "First place in the code of the product:",
                &self.short(culprit),
            );
        }
        self.part(&mut text, "Samples:", &self.samples(&group.samples));
        if !group.before.is_empty() {
            self.part(&mut text, "What is known around it:", &self.list(&group.before, ""));
        }
        text
    }

    pub(super) fn cause(&self, context: &FixContext) -> String {
        let mut text = self.short(&context.template);
        if let Some(culprit) = &context.culprit {
            self.part(
                &mut text,
                "First place in the code of the product:",
                &self.short(culprit),
            );
        }
        if let Some(guess) = &context.guess {
            self.part(&mut text, "A guess at the cause, to be checked:", &self.short(guess));
        }
        if !context.suspected_files.is_empty() {
            let files = self.list(&context.suspected_files, "");
            self.part(&mut text, "Files that may hold it, by the same guess:", &files);
        }
        text
    }

    pub(super) fn earlier(&self, earlier: &[Earlier]) -> String {
        if earlier.is_empty() {
            return "None.".to_owned();
        }
        let texts: Vec<String> = earlier
            .iter()
            .map(|one| {
                let mut text = format!("Attempt {} did not hold:\n\n{}", one.attempt, self.long(&one.why));
                if !one.findings.is_empty() {
                    self.part(&mut text, "Found in it:", &self.list(&one.findings, ""));
                }
                text
            })
            .collect();
        texts.join("\n\n")
    }

    #[expect(clippy::unused_self, reason = "reads as one of the parts of these fences")]
    fn part(&self, text: &mut String, title: &str, block: &str) {
        // Writing to a string cannot fail.
        let _written = write!(text, "\n\n{title}\n\n{block}");
    }
}

/// Beginning and end of a text that is too long.
fn cut(text: &Untrusted, most: usize) -> Untrusted {
    let all = text.analyse();
    let count = all.chars().count();
    if count <= most {
        return text.clone();
    }
    let head: String = all.chars().take(most / 4 * 3).collect();
    let tail: String = all.chars().skip(count - most / 4).collect();
    plain(&format!("{head}\n[{} characters left out]\n{tail}", count - most))
}

/// Text that is made of cleaned and redacted parts.
pub(super) fn plain(text: &str) -> Untrusted {
    Untrusted::new(text, &Redactor::default())
}

/// The word that stands for a value in JSON.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
