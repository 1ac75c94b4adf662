//! When a safe call is tried again. Pure: the waiting itself is in `mod.rs`, and only within the deadline.

use std::time::Duration;

use chrono::DateTime;
use http::{HeaderMap, Method, StatusCode, header};

use super::HttpFailure;

/// Longest wait that is taken from a server; a longer one means: not in this tick.
const LONGEST: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Tries in all; 1 is no retry.
    pub attempts: u32,
    pub first: Duration,
    pub multiplier: f64,
    /// Each wait is drawn from `1 ± this` of its length.
    pub random_factor: f64,
    /// Also a POST is tried again.
    pub posts: bool,
}

impl RetryPolicy {
    pub const fn once() -> Self {
        Self {
            attempts: 1,
            first: Duration::ZERO,
            multiplier: 1.0,
            random_factor: 0.0,
            posts: false,
        }
    }

    /// For a POST that only reads, such as a query of GraphQL: to ask twice does nothing twice. Never for anything else.
    #[must_use]
    pub const fn of_reads_by_post(self) -> Self {
        Self { posts: true, ..self }
    }

    /// How often a call with this method is made at most.
    pub(super) fn tries(&self, method: &Method) -> u32 {
        if method == Method::GET || (self.posts && method == Method::POST) {
            self.attempts.max(1)
        } else {
            1
        }
    }

    pub fn from_config(retry: &crate::config::Retry) -> Self {
        Self {
            attempts: retry.attempts,
            first: retry.first,
            multiplier: retry.multiplier,
            random_factor: retry.random_factor,
            posts: false,
        }
    }

    /// The wait before the next try after this answer; none = the answer stands.
    pub(super) fn after_answer(&self, status: StatusCode, headers: &HeaderMap, made: u32) -> Option<Duration> {
        let limited = status == StatusCode::FORBIDDEN && headers.contains_key(header::RETRY_AFTER);
        let transient = limited || matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504);
        // Nothing is left for this hour, and nobody says how long to wait: to ask again would only burn what comes next.
        let spent = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0");
        if !transient || (spent && !headers.contains_key(header::RETRY_AFTER)) {
            return None;
        }
        Some(retry_after(headers).unwrap_or_else(|| self.wait(made, jitter())))
    }

    pub(super) fn after_failure(&self, failure: &HttpFailure, made: u32) -> Option<Duration> {
        match failure {
            HttpFailure::Refused
            | HttpFailure::Reset
            | HttpFailure::Unreachable
            | HttpFailure::ConnectTimeout
            | HttpFailure::Dns
            | HttpFailure::Truncated
            | HttpFailure::ReadTimeout => Some(self.wait(made, jitter())),
            HttpFailure::AddressDenied(_)
            | HttpFailure::Tls(_)
            | HttpFailure::TooLarge { .. }
            | HttpFailure::RedirectDenied { .. }
            | HttpFailure::RedirectLoop
            | HttpFailure::Emfile
            | HttpFailure::Protocol(_) => None,
        }
    }

    /// `random` is in 0..1.
    fn wait(&self, made: u32, random: f64) -> Duration {
        let grown = self.first.as_secs_f64()
            * self
                .multiplier
                .powi(i32::try_from(made.saturating_sub(1)).unwrap_or(30));
        let spread = 1.0 + self.random_factor * (2.0 * random - 1.0);
        Duration::try_from_secs_f64((grown * spread).clamp(0.0, LONGEST.as_secs_f64())).unwrap_or(LONGEST)
    }
}

fn jitter() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX)
}

/// `Retry-After` in seconds, or as a date measured against the answer's own `Date`. Absurd values are a day or nothing.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let value = text(header::RETRY_AFTER)?;
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        let seconds = value.parse::<u64>().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let then = DateTime::parse_from_rfc2822(value).ok()?;
    let sent = DateTime::parse_from_rfc2822(text(header::DATE)?).ok()?;
    let wait = (then - sent).to_std().unwrap_or(Duration::ZERO);
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_every_form() {
        let date = "Sun, 29 Nov 2026 15:00:00 GMT";
        let cases = [
            ("3", Some(3)),
            ("0", Some(0)),
            ("1000000000", Some(86400)),
            ("99999999999999999999999", Some(86400)),
            ("-5", None),
            ("soon", None),
            ("", None),
            ("Sun, 29 Nov 2026 15:00:07 GMT", Some(7)),
            ("Sun, 29 Nov 2026 14:00:00 GMT", Some(0)),
        ];
        for (value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, value.parse().unwrap());
            headers.insert(header::DATE, date.parse().unwrap());
            assert_eq!(retry_after(&headers).map(|d| d.as_secs()), expected, "{value:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn waits_grow_and_stay_in_their_spread() {
        let policy = RetryPolicy {
            attempts: 5,
            first: Duration::from_secs(10),
            multiplier: 2.0,
            random_factor: 0.5,
            posts: false,
        };
        assert_eq!(policy.wait(1, 0.5), Duration::from_secs(10));
        assert_eq!(policy.wait(3, 0.5), Duration::from_secs(40));
        assert_eq!(policy.wait(1, 0.0), Duration::from_secs(5));
        assert_eq!(policy.wait(1, 1.0), Duration::from_secs(15));
        assert_eq!(policy.wait(60, 1.0), LONGEST);
        assert!(
            policy
                .after_answer(StatusCode::NOT_FOUND, &HeaderMap::new(), 1)
                .is_none()
        );
        assert!(
            policy
                .after_answer(StatusCode::BAD_GATEWAY, &HeaderMap::new(), 1)
                .is_some()
        );
        assert!(policy.after_failure(&HttpFailure::Emfile, 1).is_none());
    }

    #[test]
    fn only_reads_are_repeated() {
        let policy = RetryPolicy {
            attempts: 3,
            ..RetryPolicy::once()
        };
        let tries = |policy: RetryPolicy| [Method::GET, Method::POST, Method::PUT].map(|method| policy.tries(&method));
        assert_eq!(tries(policy), [3, 1, 1]);
        assert_eq!(tries(policy.of_reads_by_post()), [3, 3, 1]);
    }

    #[test]
    fn a_spent_limit_is_not_asked_again() {
        let policy = RetryPolicy::once();
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
        let limited = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(policy.after_answer(limited, &headers, 1), None);
        headers.insert(header::RETRY_AFTER, "2".parse().unwrap());
        assert_eq!(policy.after_answer(limited, &headers, 1), Some(Duration::from_secs(2)));
    }
}
