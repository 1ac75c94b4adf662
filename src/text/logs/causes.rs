//! What was found, by cause: counts, first and last sight, a few samples. Bounded, so that a flood of unlike errors
//! costs no memory; what finds no place is counted, and a worse cause takes the place of a milder one.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};
use foldhash::fast::RandomState;

use super::{Pattern, PatternKind};
use crate::{
    model::{
        Signature,
        signal::{Culprit, Severity},
    },
    text::{Redactor, Signed, Untrusted, clean},
};

/// Causes that one reading tells apart.
pub const MOST_CAUSES: usize = 1000;
/// Sightings that are kept as samples: the first, and two that came much later.
const SAMPLED: [u64; 3] = [1, 2, 20];
/// Longest sample, in bytes.
const LONGEST_SAMPLE: usize = 4096;
const LONGEST_TITLE: usize = 200;

/// One cause in a log. Texts are cleaned and redacted, and still untrusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub signature: Signature,
    pub template: String,
    /// `bug`, `noise`, `infrastructure`, `auth` or `config`.
    pub label: &'static str,
    pub culprit: Option<Culprit>,
    /// Name of the pattern that found it.
    pub pattern: String,
    pub alert: Option<String>,
    pub severity: Severity,
    pub kind: PatternKind,
    /// The line that says most, for people.
    pub title: String,
    pub count: u64,
    pub first_seen: DateTime<Utc>,
    pub last_seen: DateTime<Utc>,
    /// Two or three of its texts.
    pub samples: Vec<String>,
}

/// What found no place among the causes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    pub events: u64,
    /// The worst of them.
    pub severity: Option<Severity>,
}

#[derive(Debug, Default)]
pub(super) struct Causes {
    list: Vec<Cause>,
    /// The template of each.
    templates: Vec<Arc<str>>,
    /// By template: texts have one signature exactly when they have one.
    place: HashMap<Arc<str>, usize, RandomState>,
    pub(super) overflow: Overflow,
}

/// One event on its way into the table.
pub(super) struct Seen<'a> {
    pub(super) pattern: &'a Pattern,
    /// As it stands in the log.
    pub(super) raw: &'a str,
    pub(super) at: DateTime<Utc>,
}

impl Causes {
    /// A cause that is in the table is seen once more: gives its place.
    pub(super) fn again(&mut self, template: &str, seen: &Seen<'_>, redactor: &Redactor) -> Option<usize> {
        let place = *self.place.get(template)?;
        self.list[place].seen(seen, redactor);
        Some(place)
    }

    /// The same where it is at the place where it was; false where another one stands there.
    pub(super) fn again_at(&mut self, place: usize, template: &Arc<str>, seen: &Seen<'_>, redactor: &Redactor) -> bool {
        let same = self
            .templates
            .get(place)
            .is_some_and(|known| Arc::ptr_eq(known, template));
        if same {
            self.list[place].seen(seen, redactor);
        }
        same
    }

    /// Whether a new cause finds a place; one that does not is counted.
    pub(super) fn has_room(&mut self, severity: Severity) -> bool {
        let room = self.list.len() < MOST_CAUSES || self.list.iter().any(|cause| cause.severity < severity);
        if !room {
            self.overflow.add(1, severity);
        }
        room
    }

    /// A cause that is not in the table, where there is room.
    pub(super) fn add(
        &mut self,
        template: Arc<str>,
        signed: Signed,
        title: &str,
        seen: &Seen<'_>,
        redactor: &Redactor,
    ) {
        let mut cause = Cause::new(signed, title, seen);
        cause.seen(seen, redactor);
        if self.list.len() < MOST_CAUSES {
            self.templates.push(template.clone());
            self.place.insert(template, self.list.len());
            self.list.push(cause);
        } else if let Some(place) = self.mildest(cause.severity) {
            let gone = std::mem::replace(&mut self.list[place], cause);
            self.overflow.add(gone.count, gone.severity);
            self.place.remove(gone.template.as_str());
            self.templates[place] = template.clone();
            self.place.insert(template, place);
        }
    }

    /// The place of the mildest and rarest cause that is milder than this.
    fn mildest(&self, severity: Severity) -> Option<usize> {
        let milder = self
            .list
            .iter()
            .enumerate()
            .filter(|(_, cause)| cause.severity < severity);
        Some(milder.min_by_key(|(_, cause)| (cause.severity, cause.count))?.0)
    }

    /// Worst first, then the most frequent.
    pub(super) fn finish(mut self, redactor: &Redactor) -> (Vec<Cause>, Overflow) {
        for cause in &mut self.list {
            cause.title = Untrusted::new(&cause.title, redactor).line(LONGEST_TITLE);
        }
        self.list.sort_by(|a, b| {
            let rank = |cause: &Cause| (std::cmp::Reverse((cause.severity, cause.count)), cause.first_seen);
            rank(a).cmp(&rank(b)).then_with(|| a.signature.cmp(&b.signature))
        });
        (self.list, self.overflow)
    }
}

impl Cause {
    fn new(signed: Signed, title: &str, seen: &Seen<'_>) -> Self {
        let mut cause = Self {
            signature: signed.signature,
            template: signed.template,
            label: signed.label,
            culprit: signed.culprit,
            pattern: String::new(),
            alert: None,
            severity: seen.pattern.severity,
            kind: seen.pattern.kind,
            title: title[..title.floor_char_boundary(LONGEST_SAMPLE)].to_owned(),
            count: 0,
            first_seen: seen.at,
            last_seen: seen.at,
            samples: Vec::new(),
        };
        cause.found_by(seen.pattern);
        cause
    }

    fn seen(&mut self, seen: &Seen<'_>, redactor: &Redactor) {
        self.count += 1;
        self.first_seen = self.first_seen.min(seen.at);
        self.last_seen = self.last_seen.max(seen.at);
        if SAMPLED.contains(&self.count) {
            let sample = sample(seen.raw, redactor);
            if !self.samples.contains(&sample) {
                self.samples.push(sample);
            }
        }
        if seen.pattern.severity > self.severity {
            self.found_by(seen.pattern);
        }
    }

    fn found_by(&mut self, pattern: &Pattern) {
        pattern.id.clone_into(&mut self.pattern);
        self.alert.clone_from(&pattern.alert);
        self.severity = pattern.severity;
        self.kind = pattern.kind;
    }
}

impl Overflow {
    fn add(&mut self, events: u64, severity: Severity) {
        self.events += events;
        self.severity = self.severity.max(Some(severity));
    }
}

fn sample(raw: &str, redactor: &Redactor) -> String {
    // Redacted before it is cut: half a secret has no known shape.
    let mut text = redactor.redact(&clean(raw));
    if text.len() > LONGEST_SAMPLE {
        text.truncate(text.floor_char_boundary(LONGEST_SAMPLE));
        text.push('…');
    }
    text
}
