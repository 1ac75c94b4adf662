//! A small reader of the forge's API for collectors: conditional requests, paging by `Link`, causes for every refusal.
//! It reads only; whatever writes to the forge is elsewhere.

use std::cell::Cell;

use chrono::{DateTime, Utc};
use http::{HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    context::{Blind, CacheEntry, Session},
    paging::Walk,
    probe::check_json,
};
use crate::{
    adapters::http::{Redirects, Request, Response, RetryPolicy, secret_value},
    config::Repo,
    model::RepoName,
};

/// Most bytes of one page.
const CAP: usize = 16 << 20;
/// Most bytes of a log that are streamed through.
const LOG_CAP: usize = 128 << 20;
const ACCEPT: &str = "application/vnd.github+json";

pub(super) struct Reader<'a> {
    session: &'a Session<'a>,
    pub(super) repo: &'a RepoName,
    /// The forge shows nobody a log without a token, and counts the question: whoever knows that does not ask.
    pub(super) shows_logs: bool,
    token_ends: Cell<Option<DateTime<Utc>>>,
}

/// One page as bytes, and where the next one is.
pub(super) struct Page {
    pub(super) body: Vec<u8>,
    pub(super) next: Option<Url>,
}

impl<'a> Reader<'a> {
    /// None for a slot without a repository on the forge.
    pub(super) fn new(session: &'a Session<'a>, repo: &'a Repo) -> Option<Self> {
        Some(Self {
            session,
            repo: repo.github.as_ref()?,
            shows_logs: true,
            token_ends: Cell::new(None),
        })
    }

    /// When the token ends, where a reply said so.
    pub(super) fn token_ends(&self) -> Option<DateTime<Utc>> {
        self.token_ends.get()
    }

    /// An address below `/repos/OWNER/NAME`.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.session.ctx.config.github.api.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            segments.extend(["repos", self.repo.owner(), self.repo.name()]);
            segments.extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// At most `most` pages, each handed to `read`.
    pub(super) async fn pages(
        &self,
        first: Url,
        most: usize,
        mut read: impl FnMut(&[u8]) -> Result<(), Blind>,
    ) -> Result<(), Blind> {
        let mut walk = Walk::new(first);
        for n in 1..=most {
            let Some(url) = walk.next() else { break };
            let page = self.page(&url).await?;
            read(&page.body)?;
            if n < most {
                walk.step(&page.body, page.next)?;
            }
        }
        Ok(())
    }

    pub(super) async fn page(&self, url: &Url) -> Result<Page, Blind> {
        let key = self.cache_key(url);
        let cached = self.session.ctx.cache.get(&key);
        let mut request = self.request(url);
        if let Some(known) = &cached
            && let Ok(tag) = HeaderValue::from_str(&known.etag)
        {
            request.headers.push((header::IF_NONE_MATCH, tag));
        }
        let response = self.send(request).await?;
        if let (StatusCode::NOT_MODIFIED, Some(known)) = (response.status, cached) {
            // A 304 carries no useful Link of its own.
            let next = known.link.as_deref().and_then(next_link);
            return Ok(Page { body: known.body, next });
        }
        if response.status != StatusCode::OK {
            return Err(self.refused(&response));
        }
        check_json(&response)?;
        let link = response.header("link").map(str::to_owned);
        if let Some(etag) = response.header("etag") {
            let entry = CacheEntry {
                etag: etag.to_owned(),
                link: link.clone(),
                body: response.body.to_vec(),
            };
            self.session.ctx.cache.put(&key, entry);
        }
        Ok(Page {
            next: link.as_deref().and_then(next_link),
            body: response.body.to_vec(),
        })
    }

    /// A log behind a redirect to a storage host that does not get our token, handed on in pieces.
    pub(super) async fn log(&self, url: &Url, sink: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Log, Blind> {
        let mut request = self.request(url);
        request.redirects = Redirects::Elsewhere;
        request.cap = LOG_CAP;
        let _permit = self.session.permit().await;
        let response = self
            .session
            .ctx
            .http
            .stream(request, sink)
            .await
            .map_err(|error| Blind::new(error.cause(), self.session.line(&error.to_string(), 300)))?;
        let page = response
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"));
        match response.status {
            StatusCode::OK if page => Err(Blind::new("html", "the log is a page, not a log")),
            StatusCode::OK if response.truncated => {
                let why = format!("the log is longer than {} MiB, its end was not read", LOG_CAP >> 20);
                Err(Blind::new("too-large", why))
            }
            StatusCode::OK => Ok(Log::Read),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Log::Gone),
            _ => Err(self.refused(&response)),
        }
    }

    fn request<'u>(&self, url: &'u Url) -> Request<'u> {
        let config = self.session.ctx.config;
        let mut request = Request::get(url);
        request.deadline = config.limits.collect_deadline;
        request.cap = CAP;
        request.retry = RetryPolicy::from_config(&config.retry);
        request.headers = vec![
            (header::ACCEPT, HeaderValue::from_static(ACCEPT)),
            (
                HeaderName::from_static("x-github-api-version"),
                HeaderValue::from_static("2022-11-28"),
            ),
        ];
        if let Some(value) = config.secrets.github().and_then(|token| secret_value("Bearer ", token)) {
            request.headers.push((header::AUTHORIZATION, value));
        }
        request
    }

    async fn send(&self, request: Request<'_>) -> Result<Response, Blind> {
        let _permit = self.session.permit().await;
        let sent = self.session.ctx.http.send(request).await;
        let response = sent.map_err(|error| Blind::new(error.cause(), self.session.line(&error.to_string(), 300)))?;
        let ends = response.header("github-authentication-token-expiration");
        self.token_ends.set(ends.and_then(parse_end).or(self.token_ends.get()));
        Ok(response)
    }

    fn refused(&self, response: &Response) -> Blind {
        let code = response.status.as_u16();
        let spent = response.header("x-ratelimit-remaining") == Some("0");
        let limited = code == 429 || (code == 403 && (spent || response.header("retry-after").is_some()));
        let advice = advice(code, limited, self.has_token());
        let cause = if limited {
            "rate-limited".to_owned()
        } else {
            format!("http-{code}")
        };
        let path = self.session.line(response.url.path(), 120);
        Blind::new(cause, format!("GET {path}: HTTP {code}: {advice}"))
    }

    /// Without one the forge shows what is public, no logs, and few pages an hour.
    pub(super) fn has_token(&self) -> bool {
        self.session.ctx.config.secrets.github().is_some()
    }

    /// The entity tag depends on the token and on what was asked for.
    fn cache_key(&self, url: &Url) -> String {
        let mut hash = Sha256::new();
        if let Some(token) = self.session.ctx.config.secrets.github() {
            hash.update(secrecy::ExposeSecret::expose_secret(token).as_bytes());
        }
        hash.update([0]);
        hash.update(ACCEPT);
        hash.update([0]);
        hash.update(url.as_str());
        crate::text::hex(&hash.finalize())
    }
}

fn advice(code: u16, limited: bool, has_token: bool) -> &'static str {
    match (code, has_token) {
        _ if limited && has_token => "the rate limit of the token is spent; it comes back by itself",
        _ if limited => "the rate limit of calls without a token is spent; set GITHUB_TOKEN, or try again in an hour",
        (401, true) => "check GITHUB_TOKEN",
        (403, true) => "GITHUB_TOKEN lacks the right to read this",
        (404, true) => "check the repository's name, and that GITHUB_TOKEN may see it",
        (401 | 403, false) => "it cannot be read without GITHUB_TOKEN",
        (404, false) => "no public repository has this name; a private one needs GITHUB_TOKEN",
        _ => "the forge has a problem of its own",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    Read,
    /// Expired, deleted, or the job has not ended.
    Gone,
}

/// `2026-12-07 19:07:53 UTC`, or with an offset instead of the zone's name.
fn parse_end(text: &str) -> Option<DateTime<Utc>> {
    let zone = text.trim().replace("UTC", "+0000");
    let at = DateTime::parse_from_str(&zone, "%Y-%m-%d %H:%M:%S %z").ok()?;
    Some(at.with_timezone(&Utc))
}

/// The address with `rel="next"` in a `Link` header.
pub(super) fn next_link(link: &str) -> Option<Url> {
    link.split('<').find_map(|part| {
        let (address, parameters) = part.split_once('>')?;
        let says = |what: &[&str]| parameters.split([';', ',']).any(|p| what.contains(&p.trim()));
        // Some services always name a next page, and say beside it whether there is anything on it.
        let is_next = says(&[r#"rel="next""#, "rel=next"]) && !says(&[r#"results="false""#]);
        is_next.then(|| Url::parse(address).ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_in_either_form() {
        let at = |text: &str| parse_end(text).map(|at| at.to_rfc3339());
        assert_eq!(
            at("2026-12-07 19:07:53 UTC").as_deref(),
            Some("2026-12-07T19:07:53+00:00")
        );
        assert_eq!(
            at("2026-12-07 19:07:53 -0700").as_deref(),
            Some("2026-12-08T02:07:53+00:00")
        );
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn the_next_page_is_what_the_header_says() {
        let link = r#"<https://api.example/repositories/1/x?page=1>; rel="prev", <https://api.example/repositories/1/x?page=3>; rel="next""#;
        assert_eq!(next_link(link).unwrap().query(), Some("page=3"));
        assert_eq!(next_link(r#"<https://api.example/x?page=1>; rel="last""#), None);
        assert_eq!(next_link("garbage"), None);
        let more = r#"<https://x.example/l?q=[a,b]&cursor=0:0:1>; rel="previous"; results="false"; cursor="0:0:1", <https://x.example/l?q=[a,b]&cursor=0:100:0>; rel="next"; results="true"; cursor="0:100:0""#;
        assert_eq!(next_link(more).unwrap().query(), Some("q=[a,b]&cursor=0:100:0"));
        assert_eq!(next_link(&more.replace("true", "false")), None);
        assert_eq!(next_link(r#"<not a url>; rel="next""#), None);
    }
}
