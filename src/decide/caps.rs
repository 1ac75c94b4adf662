//! How many causes may become incidents at once, in an hour and in a day. What is over the caps is not lost: it stays in the
//! ledger and opens later, the worst first.

use std::cmp::Reverse;

use crate::model::{
    Signature,
    signal::{Severity, SignalKind},
};

/// In one tick, whatever the owner allows in an hour: it is also what triage is asked about in one call.
pub const PER_TICK: u32 = 20;

/// The owner's caps, and what was opened already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    pub per_hour: u32,
    pub per_day: u32,
    pub opened_in_hour: u32,
    pub opened_in_day: u32,
}

/// A cause that would open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub signature: Signature,
    pub kind: SignalKind,
    pub severity: Severity,
    pub count: u64,
}

impl Caps {
    /// Incidents that may be opened now. Errors of any number hide no page that is down: such a one may use the caps again.
    fn room(self, is_down: bool) -> u32 {
        let times = if is_down { 2 } else { 1 };
        let hour = self.per_hour.saturating_mul(times).saturating_sub(self.opened_in_hour);
        let day = self.per_day.saturating_mul(times).saturating_sub(self.opened_in_day);
        hour.min(day).min(PER_TICK.saturating_mul(times))
    }
}

/// Those that may open now, by signature; the rest waits.
pub fn admit(mut candidates: Vec<Candidate>, caps: Caps) -> Vec<Signature> {
    candidates.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut admitted = Vec::new();
    for candidate in candidates {
        let opened = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
        let is_down = candidate.kind.is_symptom() && candidate.severity == Severity::Critical;
        if opened < caps.room(is_down) {
            admitted.push(candidate.signature);
        }
    }
    admitted
}

/// What users feel first, then the worst, the most frequent; at last by name, so that two looks agree.
fn order(candidate: &Candidate) -> (Reverse<Severity>, Reverse<bool>, Reverse<u64>, &Signature) {
    (
        Reverse(candidate.severity),
        Reverse(candidate.kind.is_symptom()),
        Reverse(candidate.count),
        &candidate.signature,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::named;

    fn storm(n: u64, kind: SignalKind, severity: Severity) -> Vec<Candidate> {
        (0..n)
            .map(|n| Candidate {
                signature: named(&format!("{kind:?} {n}")),
                kind,
                severity,
                count: n,
            })
            .collect()
    }

    const CAPS: Caps = Caps {
        per_hour: 20,
        per_day: 50,
        opened_in_hour: 0,
        opened_in_day: 0,
    };

    #[test]
    fn ten_thousand_causes_open_as_many_as_the_caps_allow_the_most_frequent_first() {
        let storm = storm(10_000, SignalKind::Exception, Severity::Error);
        let admitted = admit(storm.clone(), CAPS);
        assert_eq!(admitted.len(), 20);
        assert_eq!(admitted[0], named("Exception 9999"));
        let cases = [(19, 19, 1), (20, 20, 0), (0, 45, 5), (0, 50, 0), (99, 99, 0)];
        for (opened_in_hour, opened_in_day, expected) in cases {
            let caps = Caps {
                opened_in_hour,
                opened_in_day,
                ..CAPS
            };
            assert_eq!(admit(storm.clone(), caps).len(), expected, "{caps:?}");
        }
        let wide = Caps {
            per_hour: 1000,
            per_day: 1000,
            ..CAPS
        };
        assert_eq!(admit(storm, wide).len(), 20, "never more in one tick");
    }

    #[test]
    fn a_storm_of_errors_hides_no_page_that_is_down() {
        let spent = Caps {
            opened_in_hour: 20,
            opened_in_day: 20,
            ..CAPS
        };
        let mut all = storm(500, SignalKind::Exception, Severity::Critical);
        all.extend(storm(3, SignalKind::Health, Severity::Critical));
        let admitted = admit(all, spent);
        assert_eq!(admitted.len(), 3);
        assert!(admitted.contains(&named("Health 0")));
        assert_eq!(
            admit(storm(500, SignalKind::Health, Severity::Critical), CAPS).len(),
            40
        );
    }
}
