//! What the service allows in an hour, as it last said: kept with the source, so that the next tick waits instead of
//! burning what is left. Pure.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::api::LIMITED;
use crate::{
    adapters::http::{Response, retry_after},
    collect::context::Blind,
};

/// Calls of an ordinary look: with fewer left it is not begun. People use the same token.
const A_LOOK: u64 = 6;
/// No limit of the service lasts longer; what says so is not believed.
const LONGEST: TimeDelta = TimeDelta::hours(1);
/// After a refusal that does not say how long.
const UNSAID: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Limit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    /// When what is left grows again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<DateTime<Utc>>,
}

impl Limit {
    /// Nothing may be asked now.
    pub(super) fn spent(self, now: DateTime<Utc>) -> Option<Blind> {
        self.below(1, now)
    }

    /// Too little is left to begin a look.
    pub(super) fn too_little(self, now: DateTime<Utc>) -> Option<Blind> {
        self.below(A_LOOK, now)
    }

    fn below(self, needed: u64, now: DateTime<Utc>) -> Option<Blind> {
        let (left, until) = (self.left?, self.until?);
        // A clock that went back makes no wait longer than the service would.
        let waits = until > now && until - now <= LONGEST;
        (left < needed && waits).then(|| {
            let at = until.format("%H:%M:%S");
            let what = format!("{left} calls of this hour are left to the token; it is asked again after {at} UTC");
            Blind::new(LIMITED, what)
        })
    }

    /// After a refusal that came with HTTP 200 and without a number.
    pub(super) fn refused(self, now: DateTime<Utc>) -> Self {
        let known = self.until.filter(|until| *until > now && self.left == Some(0));
        Self {
            left: Some(0),
            until: Some(known.unwrap_or(now + UNSAID)),
        }
    }

    /// After an answer.
    pub(super) fn after(self, response: &Response, now: DateTime<Utc>) -> Self {
        let number = |name: &str| response.header(name).and_then(|text| text.trim().parse::<u64>().ok());
        let refused = response.status.as_u16() == 429;
        let waited = retry_after(&response.headers).and_then(|wait| TimeDelta::from_std(wait).ok());
        let reset = number("x-ratelimit-reset").and_then(|at| moment(at, now));
        let left = if refused {
            Some(0)
        } else {
            number("x-ratelimit-remaining")
        };
        let until = waited
            .filter(|_| refused)
            .map(|wait| now + wait)
            .or(reset)
            .or(refused.then(|| now + UNSAID));
        if left.is_none() && until.is_none() {
            return self;
        }
        Self {
            left,
            until: until.map(|until| until.min(now + LONGEST)),
        }
    }
}

/// Seconds or milliseconds since 1970, or seconds from now: each is in use.
fn moment(n: u64, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let n = i64::try_from(n).ok()?;
    match n {
        0..1_000_000_000 => now.checked_add_signed(TimeDelta::try_seconds(n)?),
        1_000_000_000..1_000_000_000_000 => DateTime::from_timestamp(n, 0),
        _ => DateTime::from_timestamp_millis(n),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::{HeaderMap, HeaderName, StatusCode};

    use super::*;

    fn now() -> DateTime<Utc> {
        "2026-11-29T03:00:00Z".parse().unwrap()
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> Response {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap>();
        Response {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: Bytes::new(),
            truncated: false,
            url: "https://railway.example/".parse().unwrap(),
            elapsed: Duration::ZERO,
            not_before: None,
            not_after: None,
        }
    }

    type Case<'a> = (u16, &'a [(&'a str, &'a str)], bool, Option<i64>);

    #[test]
    fn what_the_headers_say_decides_when_it_is_asked_again() {
        let at = now().timestamp();
        let soon = (at + 600).to_string();
        let millis = ((at + 600) * 1000).to_string();
        let far = (at + 1_000_000).to_string();
        let (left, reset, after) = ("x-ratelimit-remaining", "x-ratelimit-reset", "retry-after");
        // status, headers, too little for a look, waits so many seconds when it is spent
        let cases: &[Case<'_>] = &[
            (200, &[], false, None),
            (200, &[(left, "900"), (reset, &soon)], false, None),
            (200, &[(left, "3"), (reset, &soon)], true, None),
            (200, &[(left, "0"), (reset, &soon)], true, Some(600)),
            (200, &[(left, "0"), (reset, &millis)], true, Some(600)),
            (200, &[(left, "0"), (reset, "600")], true, Some(600)),
            (200, &[(left, "0"), (reset, &far)], true, Some(3600)),
            (200, &[(left, "0")], false, None),
            (200, &[(left, "many"), (reset, "soon")], false, None),
            (429, &[(after, "120"), (left, "0"), (reset, &soon)], true, Some(120)),
            (429, &[(reset, &soon)], true, Some(600)),
            (429, &[], true, Some(600)),
        ];
        for (status, headers, little, waits) in cases {
            let limit = Limit::default().after(&answer(*status, headers), now());
            assert_eq!(limit.too_little(now()).is_some(), *little, "{status} {headers:?}");
            assert_eq!(limit.spent(now()).is_some(), waits.is_some(), "{status} {headers:?}");
            if let Some(seconds) = waits {
                let end = now() + TimeDelta::seconds(*seconds);
                assert!(
                    limit.spent(end - TimeDelta::seconds(1)).is_some(),
                    "{status} {headers:?}"
                );
                assert!(limit.spent(end).is_none(), "{status} {headers:?}");
            }
        }
    }

    #[test]
    fn a_refusal_without_a_number_is_waited_out_and_moves_no_known_end() {
        let refused = Limit::default().refused(now());
        assert!(refused.spent(now() + TimeDelta::minutes(9)).is_some());
        assert!(refused.spent(now() + TimeDelta::minutes(10)).is_none());
        let known = Limit::default().after(&answer(429, &[("retry-after", "120")]), now());
        assert_eq!(known.refused(now()), known);
    }

    #[test]
    fn it_is_kept_between_looks_and_over_answers_that_say_nothing() {
        let limit = Limit::default().after(&answer(429, &[("retry-after", "120")]), now());
        let kept: Limit = serde_json::from_str(&serde_json::to_string(&limit).unwrap()).unwrap();
        assert_eq!(kept.after(&answer(200, &[]), now()), limit);
        assert!(kept.spent(now() - TimeDelta::days(2)).is_none(), "the clock went back");
    }
}
