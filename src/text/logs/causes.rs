//! What was found, by cause: counts, first and last sight, a few samples. Bounded, so that a flood of unlike errors
//! costs no memory; what finds no place is counted, and a worse cause takes the place of a milder one.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

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
    place: HashMap<Signature, usize>,
    pub(super) overflow: Overflow,
}

/// One event on its way into the table.
pub(super) struct Sighting<'a> {
    pub(super) signed: Signed,
    pub(super) pattern: &'a Pattern,
    /// As it stands in the log.
    pub(super) raw: &'a str,
    /// As it reads without framing.
    pub(super) title: &'a str,
    pub(super) at: DateTime<Utc>,
}

impl Causes {
    pub(super) fn add(&mut self, sighting: &Sighting<'_>, redactor: &Redactor) {
        match self.place_of(sighting) {
            Some(place) => self.list[place].seen(sighting.pattern, sighting.raw, sighting.at, redactor),
            None => self.overflow.add(1, sighting.pattern.severity),
        }
    }

    /// A cause that is in the table is seen once more; false where it is not there.
    pub(super) fn again(
        &mut self,
        signature: &Signature,
        pattern: &Pattern,
        raw: &str,
        at: DateTime<Utc>,
        redactor: &Redactor,
    ) -> bool {
        let Some(place) = self.place.get(signature) else {
            return false;
        };
        self.list[*place].seen(pattern, raw, at, redactor);
        true
    }

    fn place_of(&mut self, sighting: &Sighting<'_>) -> Option<usize> {
        let signature = &sighting.signed.signature;
        if let Some(place) = self.place.get(signature) {
            return Some(*place);
        }
        let place = if self.list.len() < MOST_CAUSES {
            self.list.len()
        } else {
            self.give_way(sighting.pattern.severity)?
        };
        self.place.insert(signature.clone(), place);
        let cause = Cause::new(sighting);
        match self.list.get_mut(place) {
            Some(slot) => *slot = cause,
            None => self.list.push(cause),
        }
        Some(place)
    }

    /// The place of the mildest and rarest cause, if it is milder than this.
    fn give_way(&mut self, severity: Severity) -> Option<usize> {
        let (place, cause) = self
            .list
            .iter()
            .enumerate()
            .filter(|(_, cause)| cause.severity < severity)
            .min_by_key(|(_, cause)| (cause.severity, cause.count))?;
        self.overflow.add(cause.count, cause.severity);
        self.place.remove(&cause.signature);
        Some(place)
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
    fn new(sighting: &Sighting<'_>) -> Self {
        let signed = &sighting.signed;
        let title = sighting.title;
        let mut cause = Self {
            signature: signed.signature.clone(),
            template: signed.template.clone(),
            label: signed.label,
            culprit: signed.culprit.clone(),
            pattern: String::new(),
            alert: None,
            severity: sighting.pattern.severity,
            kind: sighting.pattern.kind,
            title: title[..title.floor_char_boundary(LONGEST_SAMPLE)].to_owned(),
            count: 0,
            first_seen: sighting.at,
            last_seen: sighting.at,
            samples: Vec::new(),
        };
        cause.found_by(sighting.pattern);
        cause
    }

    fn seen(&mut self, pattern: &Pattern, raw: &str, at: DateTime<Utc>, redactor: &Redactor) {
        self.count += 1;
        self.first_seen = self.first_seen.min(at);
        self.last_seen = self.last_seen.max(at);
        if SAMPLED.contains(&self.count) {
            let sample = sample(raw, redactor);
            if !self.samples.contains(&sample) {
                self.samples.push(sample);
            }
        }
        if pattern.severity > self.severity {
            self.found_by(pattern);
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
