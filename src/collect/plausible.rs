//! What a source says about times and numbers is data from outside: what cannot be is brought to what can. Pure.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::signal::Signal;

/// More events than this of one cause in one look is no count.
const MOST_EVENTS: u64 = 1_000_000_000;
/// An event that is older is no event of this service.
const OLDEST: TimeDelta = TimeDelta::days(3653);

/// Nothing was seen after now, nothing first after it was last, and nothing in another age.
pub(super) fn bring(signal: &mut Signal, now: DateTime<Utc>) {
    signal.count = signal.count.min(MOST_EVENTS);
    let can_be = (now - OLDEST)..=now;
    if !can_be.contains(&signal.last_seen) {
        signal.last_seen = now;
    }
    if signal.first_seen > signal.last_seen || !can_be.contains(&signal.first_seen) {
        signal.first_seen = signal.last_seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::signal::{Severity, SignalKind},
        text::named,
    };

    fn signal(count: u64, first: &str, last: &str) -> Signal {
        Signal {
            source: "exceptions".to_owned(),
            repo: "shop".parse().unwrap(),
            target: "shop".to_owned(),
            kind: SignalKind::Exception,
            severity: Severity::Error,
            title: String::new(),
            message: String::new(),
            signature: named("x"),
            count,
            first_seen: first.parse().unwrap(),
            last_seen: last.parse().unwrap(),
            release_sha: None,
            url: None,
            culprit: None,
            evidence: serde_json::Value::Null,
        }
    }

    fn check(count: u64, first: &str, last: &str, expected: (u64, &str, &str)) {
        let mut it = signal(count, first, last);
        bring(&mut it, "2026-11-29T03:00:00Z".parse().unwrap());
        let want = signal(expected.0, expected.1, expected.2);
        assert_eq!(it, want, "{count} {first} {last}");
    }

    #[test]
    fn what_cannot_be_is_brought_to_what_can() {
        let (old, late, now) = ("2026-11-01T00:00:00Z", "2026-11-29T02:59:00Z", "2026-11-29T03:00:00Z");
        check(3, old, late, (3, old, late));
        check(u64::MAX, old, late, (MOST_EVENTS, old, late));
        check(1, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", (1, now, now));
        check(1, late, old, (1, old, old));
        check(1, "1970-01-01T00:00:00Z", late, (1, late, late));
        check(1, old, "2026-11-29T03:00:01Z", (1, old, now));
    }
}
