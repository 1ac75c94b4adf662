//! A small reader of Vercel's API: reads only, one project, each call with the team that owns it, pages up to a bound, a
//! cause for every refusal.

use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::super::{
    context::{Blind, Session},
    probe::check_json,
};
use crate::{
    adapters::http::{Redirects, Request, Response, RetryPolicy, secret_value},
    config::VercelProject,
};

/// Most bytes of one answer.
const CAP: usize = 16 << 20;
/// Most bytes of a stream that are handed on.
const STREAM_CAP: usize = 32 << 20;
/// As many entries as the API gives on one page.
pub(super) const PAGE: &str = "100";

pub(super) struct Reader<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) project: &'a VercelProject,
}

/// One page of a list, whatever it lists.
#[derive(Debug, Deserialize)]
struct Page<T> {
    #[serde(alias = "deployments", alias = "domains", alias = "envs")]
    items: Option<Vec<T>>,
    #[serde(default)]
    pagination: Option<Pagination>,
}

#[derive(Debug, Deserialize)]
struct Pagination {
    /// Milliseconds; the next page ends there.
    #[serde(default)]
    next: Option<serde_json::Number>,
}

impl Reader<'_> {
    /// An address below the API, with the team.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = below(&self.session.ctx.config.vercel.api, path);
        {
            let mut pairs = url.query_pairs_mut();
            pairs.extend_pairs(query);
            if let Some(team) = &self.project.team {
                let name = if team.starts_with("team_") { "teamId" } else { "slug" };
                pairs.append_pair(name, team);
            }
        }
        if url.query() == Some("") {
            url.set_query(None);
        }
        url
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url, what: &str) -> Result<T, Blind> {
        let body = self.body(url).await?;
        parse(&body, what)
    }

    /// The pages of a list, until `enough` of all that was read says so, and at most `most`.
    pub(super) async fn pages<T: DeserializeOwned>(
        &self,
        first: Url,
        most: usize,
        what: &str,
        enough: impl Fn(&[T]) -> bool,
    ) -> Result<Vec<T>, Blind> {
        let mut all: Vec<T> = Vec::new();
        let mut last: Option<u64> = None;
        let mut url = first.clone();
        for _ in 0..most {
            let body = self.body(&url).await?;
            let page: Page<T> = parse(&body, what)?;
            let Some(items) = page.items else {
                return Err(unlike(&body, what, "the answer holds no list of them"));
            };
            all.extend(items);
            let next = page.pagination.and_then(|pagination| pagination.next?.as_u64());
            let Some(next) = next.filter(|_| !enough(&all)) else {
                return Ok(all);
            };
            if last.is_some_and(|last| next >= last) {
                let why = format!("the pages of the {what} lead back to where they were");
                return Err(Blind::new("pages", why));
            }
            last = Some(next);
            url = first.clone();
            url.query_pairs_mut().append_pair("until", &next.to_string());
        }
        let why = format!("the list of {what} has more than {most} pages");
        Err(Blind::new("pages", why))
    }

    pub(super) async fn body(&self, url: &Url) -> Result<Vec<u8>, Blind> {
        let _permit = self.session.permit().await;
        let sent = self.session.ctx.http.send(self.request(url)).await;
        let response = sent.map_err(|error| Blind::new(error.cause(), self.session.line(&error.to_string(), 300)))?;
        if response.status != StatusCode::OK {
            return Err(self.refused(&response));
        }
        check_json(&response)?;
        Ok(response.body.to_vec())
    }

    /// What comes within a time of a stream that has no end, in pieces.
    pub(super) async fn listen(
        &self,
        url: &Url,
        within: std::time::Duration,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Blind> {
        let mut request = self.request(url);
        request.deadline = within;
        request.cap = STREAM_CAP;
        let _permit = self.session.permit().await;
        match self.session.ctx.http.stream(request, sink).await {
            Ok(response) if response.status == StatusCode::OK => Ok(()),
            Ok(response) => Err(self.refused(&response)),
            // That the time is over is how this ends.
            Err(error) if error.cause() == "timeout" => Ok(()),
            Err(error) => Err(Blind::new(error.cause(), self.session.line(&error.to_string(), 300))),
        }
    }

    fn request<'u>(&self, url: &'u Url) -> Request<'u> {
        let config = self.session.ctx.config;
        let mut request = Request::get(url);
        request.deadline = config.limits.collect_deadline;
        request.cap = CAP;
        request.redirects = Redirects::SameOrigin;
        request.retry = RetryPolicy::from_config(&config.retry);
        request.headers = vec![(header::ACCEPT, HeaderValue::from_static("application/json"))];
        let token = config.secrets.get("VERCEL_TOKEN");
        if let Some(value) = token.and_then(|token| secret_value("Bearer ", token)) {
            request.headers.push((header::AUTHORIZATION, value));
        }
        request
    }

    fn refused(&self, response: &Response) -> Blind {
        let code = response.status.as_u16();
        let fault: Refusal = serde_json::from_slice(&response.body).unwrap_or_default();
        let advice = match code {
            401 => "VERCEL_TOKEN is wrong or has expired; make a new one in the account's settings",
            403 if fault.error.invalid_token => {
                "VERCEL_TOKEN is wrong or has expired; make a new one in the account's settings"
            }
            402 => "the plan, or a payment that is due, does not allow it",
            403 => "VERCEL_TOKEN may not read this; check its scope, and that `team` names who owns the project",
            404 => "check `project` and `team`, and that VERCEL_TOKEN is of that team",
            410 => "Vercel no longer has this call",
            429 => "the rate limit is spent; it comes back by itself",
            _ => "Vercel has a problem of its own",
        };
        let cause = match code {
            429 => "rate-limited".to_owned(),
            _ => format!("http-{code}"),
        };
        let path = self.session.line(response.url.path(), 120);
        let said = match self.session.line(&fault.error.code, 60) {
            said if said.is_empty() => said,
            said => format!(" ({said})"),
        };
        Blind::new(cause, format!("GET {path}: HTTP {code}{said}: {advice}"))
    }
}

/// What Vercel says when it refuses.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: Fault,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fault {
    code: String,
    invalid_token: bool,
}

pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty();
        segments.extend(path);
    }
    url
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8], what: &str) -> Result<T, Blind> {
    serde_json::from_slice(body).map_err(|error| unlike(body, what, &error.to_string()))
}

/// An answer of another shape than it had, or a refusal under HTTP 200.
fn unlike(body: &[u8], what: &str, why: &str) -> Blind {
    let fault: Refusal = serde_json::from_slice(body).unwrap_or_default();
    let why = match fault.error.code.as_str() {
        "" => why.to_owned(),
        code => format!("refused ({code:.60})"),
    };
    Blind::new("shape", format!("the {what} of Vercel: {why}"))
}
