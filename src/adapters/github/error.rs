//! What a call to the forge can fail with, and how an answer becomes one of these. Outcomes that a caller handles
//! (merge refused, pull exists already) are variants of that method's own type, not errors.

use std::{fmt, time::Duration};

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::text::{Redactor, Untrusted};

/// Waits shorter than this are never worth it after a limit without a date.
const LIMIT_DEFAULT: Duration = Duration::from_mins(1);
const LIMIT_LONGEST: Duration = Duration::from_hours(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHubErrorKind {
    /// 401: the token is unknown, expired or revoked.
    Auth,
    /// 403 without a sign of a rate limit.
    Permission,
    /// Missing, or not visible to this token.
    NotFound,
    /// 410: expired, deleted or switched off.
    Gone,
    /// Primary or secondary limit; nothing should be sent before this much time has passed.
    RateLimited { wait: Duration },
    /// A status that this call does not expect (422, 409, a redirect of a write).
    Refused(u16),
    /// 5xx. A write may have happened.
    Server(u16),
    /// No answer: refused, DNS, TLS, timeout, cut off. A write may have happened.
    Network,
    /// An answer that is not what the documentation promises.
    Shape,
}

/// Text of `what` comes from outside: it is cleaned, redacted, one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct GitHubError {
    pub kind: GitHubErrorKind,
    /// Method and path, such as `GET /repos/acme/web/pulls/3`.
    pub attempt: String,
    pub what: String,
}

impl fmt::Display for GitHubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.attempt, self.what)?;
        match self.advice() {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

impl GitHubError {
    pub(super) fn new(kind: GitHubErrorKind, attempt: &str, what: impl Into<String>) -> Self {
        Self {
            kind,
            attempt: attempt.to_owned(),
            what: what.into(),
        }
    }

    pub(super) fn shape(attempt: &str, what: impl Into<String>) -> Self {
        Self::new(GitHubErrorKind::Shape, attempt, what)
    }

    /// How to mend it; empty where waiting is all there is.
    pub fn advice(&self) -> &'static str {
        match self.kind {
            GitHubErrorKind::Auth => "the token is unknown, expired or revoked: renew GITHUB_TOKEN",
            GitHubErrorKind::Permission => {
                "GITHUB_TOKEN lacks a right for this call: it needs contents and pull requests, read and write"
            }
            GitHubErrorKind::NotFound => "it is missing, or this token may not see it: check `github` in the config",
            _ => "",
        }
    }

    /// Stable short word for logs and collector outcomes.
    pub fn cause(&self) -> &'static str {
        match self.kind {
            GitHubErrorKind::Auth => "http-401",
            GitHubErrorKind::Permission => "http-403",
            GitHubErrorKind::NotFound => "http-404",
            GitHubErrorKind::Gone => "http-410",
            GitHubErrorKind::RateLimited { .. } => "rate-limit",
            GitHubErrorKind::Refused(_) => "refused-by-host",
            GitHubErrorKind::Server(_) => "http-5xx",
            GitHubErrorKind::Network => "network",
            GitHubErrorKind::Shape => "shape",
        }
    }

    /// Whether the outside may have done what was asked although no good answer came.
    pub fn outcome_unknown(&self) -> bool {
        match self.kind {
            GitHubErrorKind::Server(_) | GitHubErrorKind::Network | GitHubErrorKind::Shape => true,
            GitHubErrorKind::Auth
            | GitHubErrorKind::Permission
            | GitHubErrorKind::NotFound
            | GitHubErrorKind::Gone
            | GitHubErrorKind::RateLimited { .. }
            | GitHubErrorKind::Refused(_) => false,
        }
    }
}

/// The error for an answer whose status the caller did not expect.
pub(super) fn from_answer(
    attempt: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    redactor: &Redactor,
) -> GitHubError {
    let message = message_of(body);
    let kind = match status.as_u16() {
        401 => GitHubErrorKind::Auth,
        403 | 429 => match limit(status, headers, &message) {
            Some(wait) => GitHubErrorKind::RateLimited { wait },
            None => GitHubErrorKind::Permission,
        },
        404 => GitHubErrorKind::NotFound,
        410 => GitHubErrorKind::Gone,
        code @ 500..=599 => GitHubErrorKind::Server(code),
        code => GitHubErrorKind::Refused(code),
    };
    let said = Untrusted::new(&message, redactor).quoted(200);
    let what = match (&kind, said.is_empty()) {
        (GitHubErrorKind::RateLimited { wait }, _) => format!("rate limit, wait {} s", wait.as_secs()),
        (_, true) => format!("answered {}", status.as_u16()),
        (_, false) => format!("answered {}: {said}", status.as_u16()),
    };
    GitHubError::new(kind, attempt, what)
}

/// The host's own words: `message`, then what `errors` adds. Loose, since `errors` comes as strings or objects.
pub(super) fn message_of(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    let mut parts: Vec<String> = value["message"].as_str().map(str::to_owned).into_iter().collect();
    for error in value["errors"].as_array().into_iter().flatten().take(10) {
        match error {
            Value::String(text) => parts.push(text.clone()),
            other => {
                if let Some(text) = other["message"].as_str().or_else(|| other["code"].as_str()) {
                    let field = other["field"].as_str().map(|f| format!("{f}: ")).unwrap_or_default();
                    parts.push(format!("{field}{text}"));
                }
            }
        }
    }
    parts.join("; ")
}

/// How long to wait, when this 403 or 429 is a rate limit.
fn limit(status: StatusCode, headers: &HeaderMap, message: &str) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let bounded = |seconds: u64| Duration::from_secs(seconds).min(LIMIT_LONGEST);
    if let Some(seconds) = number("retry-after") {
        return Some(bounded(seconds.max(1)));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        // The reset is a date of the host's clock, so it is compared with the host's clock.
        let now = headers
            .get("date")
            .and_then(|d| d.to_str().ok())
            .and_then(|d| chrono::DateTime::parse_from_rfc2822(d).ok())
            .and_then(|d| u64::try_from(d.timestamp()).ok());
        return Some(match (number("x-ratelimit-reset"), now) {
            (Some(reset), Some(now)) => bounded(reset.saturating_sub(now).max(1)),
            _ => LIMIT_DEFAULT,
        });
    }
    let message = message.to_ascii_lowercase();
    let named = message.contains("secondary rate limit") || message.contains("rate limit exceeded");
    (named || status == StatusCode::TOO_MANY_REQUESTS).then_some(LIMIT_DEFAULT)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn check(status: u16, headers: &[(&'static str, &'static str)], body: &Value, expected: &GitHubErrorKind) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v)))
            .collect();
        let error = from_answer(
            "GET /x",
            StatusCode::from_u16(status).unwrap(),
            &headers,
            body.to_string().as_bytes(),
            &Redactor::default(),
        );
        assert_eq!(&error.kind, expected, "{error}");
    }

    #[test]
    fn a_403_is_a_limit_only_when_it_says_so() {
        use GitHubErrorKind::{Auth, Gone, NotFound, Permission, RateLimited, Refused, Server};
        let secs = |s| RateLimited {
            wait: Duration::from_secs(s),
        };
        let none = json!({"message": "Resource not accessible by personal access token"});
        check(401, &[], &json!({"message": "Bad credentials"}), &Auth);
        check(403, &[], &none, &Permission);
        check(403, &[("x-ratelimit-remaining", "4999")], &none, &Permission);
        check(403, &[("retry-after", "30")], &none, &secs(30));
        check(403, &[("x-ratelimit-remaining", "0")], &none, &secs(60));
        check(
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1796000090"),
                ("date", "Mon, 30 Nov 2026 00:53:20 GMT"),
            ],
            &none,
            &secs(90),
        );
        check(
            403,
            &[],
            &json!({"message": "You have exceeded a secondary rate limit. Please wait"}),
            &secs(60),
        );
        check(429, &[], &json!({}), &secs(60));
        check(429, &[("retry-after", "999999")], &json!({}), &secs(7200));
        check(404, &[], &json!({}), &NotFound);
        check(410, &[], &json!({}), &Gone);
        check(422, &[], &json!({}), &Refused(422));
        check(502, &[], &Value::Null, &Server(502));
    }

    #[test]
    fn messages_are_read_loosely() {
        let check = |body: Value, expected: &str| assert_eq!(message_of(body.to_string().as_bytes()), expected);
        check(json!({"message": "a", "errors": ["b", "c"]}), "a; b; c");
        check(
            json!({"message": "Validation Failed", "errors": [{"field": "color", "code": "invalid"}]}),
            "Validation Failed; color: invalid",
        );
        check(json!(["not an object"]), "");
        assert_eq!(message_of(b"<html>502</html>"), "");
    }
}
