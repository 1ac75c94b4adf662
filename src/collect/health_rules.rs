//! What an answer of a probed endpoint means: up, down, or not to be judged. Pure; one table of decisions for health
//! probes, which JSON-RPC probes share for everything below the protocol.
//!
//! Down is what a user of the service would feel. Blind is what only says that we could not look.

use http::StatusCode;

use super::context::{Blind, Way};
use crate::adapters::http::HttpFailure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Up,
    Down(Down),
    Blind(Blind),
}

/// A failing probe, in words that do not change from one sample to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Down {
    /// In which way it fails, in one word; never a latency or text of the body.
    pub(super) class: String,
    pub(super) what: String,
    pub(super) kind: DownKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DownKind {
    /// Nobody is served.
    Outage,
    /// Answers, but not as it should.
    Degraded,
}

impl Down {
    /// What makes two failures of one probe the same cause. An outage is one, whichever way it shows from look to look.
    pub(super) fn cause(&self) -> &'static str {
        match self.class.as_str() {
            "latency" => "slow",
            "tls-expiry" | "tls-expires-soon" => "certificate",
            _ => "down",
        }
    }

    pub(super) fn outage(class: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            what: what.into(),
            kind: DownKind::Outage,
        }
    }

    pub(super) fn degraded(class: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            kind: DownKind::Degraded,
            ..Self::outage(class, what)
        }
    }
}

/// A call without an answer.
pub(super) fn judge_failure(failure: &HttpFailure) -> Verdict {
    let down = |class: &str| Verdict::Down(Down::outage(class, failure.to_string()));
    let blind = || Verdict::Blind(Blind::new(failure.cause(), failure.to_string()));
    match failure {
        HttpFailure::Dns => down("dns"),
        HttpFailure::Refused => down("connect_refused"),
        HttpFailure::ConnectTimeout | HttpFailure::Unreachable => down("connect_timeout"),
        HttpFailure::Tls(_) => down("tls"),
        HttpFailure::ReadTimeout => down("read_timeout"),
        HttpFailure::Reset => down("reset"),
        HttpFailure::AddressDenied(_)
        | HttpFailure::TooLarge { .. }
        | HttpFailure::Truncated
        | HttpFailure::RedirectDenied { .. }
        | HttpFailure::RedirectLoop
        | HttpFailure::Emfile
        | HttpFailure::Protocol(_) => blind(),
    }
}

/// The status line of an answer; none = the body decides.
pub(super) fn judge_status(status: StatusCode, accepted: &[u16]) -> Option<Verdict> {
    let code = status.as_u16();
    if accepted.contains(&code) {
        return None;
    }
    Some(match code {
        // Whether users get more than this, and what was to be read, is not known.
        429 => Verdict::Blind(Blind::new(
            "rate-limited",
            "HTTP 429: the service limits our calls; look less often (every_minutes), or let the probe through",
        )),
        401 | 403 | 407 => Verdict::Blind(Blind::new(
            format!("http-{code}"),
            format!("HTTP {code}: the probe needs a credential; set its headers in the config"),
        )),
        _ => Verdict::Down(Down::outage(format!("status:{code}"), format!("HTTP {code}"))),
    })
}

/// What a sample says about the network between it and us.
pub(super) fn way(failure: Option<&HttpFailure>) -> Way {
    match failure {
        Some(HttpFailure::Dns) => Way::Unnamed,
        Some(HttpFailure::ConnectTimeout | HttpFailure::Unreachable) => Way::Unreached,
        _ => Way::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::http::HttpFailure as F;

    fn word(verdict: &Verdict) -> String {
        match verdict {
            Verdict::Up => "up".to_owned(),
            Verdict::Down(down) => format!("down {}", down.class),
            Verdict::Blind(blind) => format!("blind {}", blind.cause),
        }
    }

    #[test]
    fn every_failure_has_its_meaning() {
        let cases = [
            (F::Dns, "down dns"),
            (F::Refused, "down connect_refused"),
            (F::ConnectTimeout, "down connect_timeout"),
            (F::Unreachable, "down connect_timeout"),
            (F::Tls(crate::adapters::http::TlsFault::Expired), "down tls"),
            (F::ReadTimeout, "down read_timeout"),
            (F::Reset, "down reset"),
            (F::AddressDenied("10.0.0.1".to_owned()), "blind address-denied"),
            (F::TooLarge { cap: 1 }, "blind too-large"),
            (F::Truncated, "blind truncated"),
            (F::RedirectLoop, "blind redirect-loop"),
            (
                F::RedirectDenied {
                    to: "x".to_owned(),
                    why: "y",
                },
                "blind redirect-denied",
            ),
            (F::Emfile, "blind emfile"),
            (F::Protocol("x".to_owned()), "blind protocol"),
        ];
        for (failure, expected) in cases {
            assert_eq!(word(&judge_failure(&failure)), expected, "{failure:?}");
        }
    }

    #[test]
    fn every_status_has_its_meaning() {
        let accepted: Vec<u16> = (200..=299).collect();
        let cases = [
            (200, None),
            (204, None),
            (301, Some("down status:301")),
            (401, Some("blind http-401")),
            (403, Some("blind http-403")),
            (404, Some("down status:404")),
            (429, Some("blind rate-limited")),
            (500, Some("down status:500")),
            (503, Some("down status:503")),
        ];
        for (code, expected) in cases {
            let verdict = judge_status(StatusCode::from_u16(code).unwrap(), &accepted);
            assert_eq!(verdict.as_ref().map(word).as_deref(), expected, "{code}");
        }
        assert_eq!(
            judge_status(StatusCode::UNAUTHORIZED, &[401]),
            None,
            "a 401 may be what is wanted"
        );
    }
}
