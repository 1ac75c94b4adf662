//! `signature(text)`: stable identity of a cause. Deterministic, stateless, linear time; no source, kind or order
//! goes into it, so that a log line, a tracker's event and a CI trace of one exception are one cause.

mod frames;
mod label;
mod lines;
mod mask;

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::model::{Signature, signal::Culprit};
use frames::Frame;
use lines::{Language, Line};

/// Part of every hash: a change of the rules gives new signatures knowingly.
const VERSION: &str = "v1:";
/// What comes later in a text repeats or elaborates.
const MOST_MESSAGES: usize = 12;

/// A text's signature with what it was computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Signed {
    pub signature: Signature,
    /// Readable form with the volatile parts masked.
    pub template: String,
    /// `bug`, `noise`, `infrastructure`, `auth` or `config`.
    pub label: &'static str,
    pub culprit: Option<Culprit>,
}

/// The signature of a text; escapes in it do not matter.
pub fn signature(text: &str) -> Signed {
    let lines = lines::read(&super::clean(text));
    let top = top_frame(&lines);
    let template = template(&lines, top);
    let culprit = match top {
        Some(frame) => Some(frame.clone()),
        None => lines.iter().find_map(|line| match line {
            Line::Message(message) => frames::named(message),
            Line::Frame(..) => None,
        }),
    };
    Signed {
        signature: hash(&[&template]),
        label: label::label(&template),
        template,
        culprit,
    }
}

/// What stops the attempts at one incident: the failing test, what it said, and which files the attempt changed.
pub fn failure_signature<P: AsRef<str>>(test: &str, message: &str, paths: &[P]) -> String {
    let message = template(&lines::read(&super::clean(message)), None);
    let mut paths: Vec<&str> = paths.iter().map(AsRef::as_ref).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut parts = vec![test, message.as_str()];
    parts.extend(paths);
    hash(&parts).to_string()
}

/// The first frame in the application's own code; Python prints the innermost call last.
fn top_frame(lines: &[Line]) -> Option<&Culprit> {
    let own = |line| match line {
        &Line::Frame(Frame::Own(ref culprit), language) => Some((culprit, language)),
        _ => None,
    };
    let first = lines.iter().find_map(own)?;
    match first.1 {
        Language::Other => Some(first.0),
        Language::Python => lines.iter().rev().find_map(own).map(|(culprit, _)| culprit),
    }
}

fn template(lines: &[Line], top: Option<&Culprit>) -> String {
    let mut seen = HashSet::new();
    let mut parts: Vec<String> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Message(message) => Some(mask::mask(message)),
            Line::Frame(..) => None,
        })
        .filter(|message| seen.insert(message.clone()))
        .take(MOST_MESSAGES)
        .collect();
    if let Some(culprit) = top {
        let function = culprit
            .function
            .as_deref()
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        parts.push(format!("at {}{function}", mask::mask(&culprit.file)));
    }
    parts.join("\n")
}

fn hash(parts: &[&str]) -> Signature {
    let mut digest = Sha256::new();
    digest.update(VERSION);
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let hex: String = digest.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    Signature::parse(&hex).expect("eight bytes are 16 hex digits")
}
