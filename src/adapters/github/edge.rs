//! The one seam to the wire for the GitHub client: headers, deadline, size cap, bounded retry of reads. It knows
//! nothing about pulls or checks. A write is sent once, whatever comes back.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::{GitHubError, GitHubErrorKind, from_answer};
use crate::{
    adapters::http::{Http, HttpError, HttpFailure, Redirects, Request, RetryPolicy, secret_value},
    text::{Redactor, Untrusted},
};

const DEADLINE: Duration = Duration::from_secs(20);
const CAP: usize = 4 * 1024 * 1024;
const ARCHIVE_CAP: usize = 32 * 1024 * 1024;

/// One answer, whatever its status.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) attempt: String,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

pub(super) struct Edge {
    http: Http,
    api: Url,
    token: Option<SecretString>,
    pub(super) redactor: Redactor,
    /// For reads: also what a limit asks for is waited for, when it fits the deadline.
    pub(super) retry: RetryPolicy,
}

impl Edge {
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    pub(super) fn new(http: Http, api: Url, token: Option<SecretString>, redactor: Redactor) -> Self {
        Self {
            http,
            api,
            token,
            redactor,
            retry: RetryPolicy {
                attempts: 3,
                first: Duration::from_millis(200),
                multiplier: 2.0,
                random_factor: 0.5,
                posts: false,
            },
        }
    }

    /// A URL below the API's base; every segment is encoded, so that a name can not leave its place.
    pub(super) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// The GraphQL address that belongs to this API: a sibling of `v3` on a server of one's own.
    pub(super) fn graphql(&self) -> Url {
        let mut url = self.api.clone();
        let own_server = url.path().trim_end_matches('/').ends_with("/v3");
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
            if own_server {
                path.pop();
            }
            path.push("graphql");
        }
        url
    }

    /// A read. Repeated on a lost answer, a 5xx or a short limit; a renamed repository is followed on its own host.
    pub(super) async fn get(&self, url: &Url) -> Result<Reply, GitHubError> {
        self.call(Method::GET, url, None).await
    }

    /// A read of an archive, which lies on another host: the token does not go there.
    pub(super) async fn archive(&self, url: &Url) -> Result<Reply, GitHubError> {
        self.ask(Method::GET, url, None, Redirects::Elsewhere, ARCHIVE_CAP)
            .await
    }

    /// A write. Never repeated: the answer may be lost although the effect stands.
    pub(super) async fn write(&self, method: Method, url: &Url, body: &Value) -> Result<Reply, GitHubError> {
        self.call(method, url, Some(body)).await
    }

    async fn call(&self, method: Method, url: &Url, body: Option<&Value>) -> Result<Reply, GitHubError> {
        self.ask(method, url, body, Redirects::SameOrigin, CAP).await
    }

    async fn ask(
        &self,
        method: Method,
        url: &Url,
        body: Option<&Value>,
        redirects: Redirects,
        cap: usize,
    ) -> Result<Reply, GitHubError> {
        let attempt = format!("{method} {}", url.path());
        let answer = self
            .http
            .send(Request {
                method,
                headers: self.headers(url, body.is_some(), &attempt)?,
                body: body.map(|b| Bytes::from(b.to_string())),
                deadline: DEADLINE,
                cap,
                redirects,
                retry: self.retry,
                url,
            })
            .await
            .map_err(|e| failed(&attempt, &e))?;
        Ok(Reply {
            attempt,
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        })
    }

    fn headers(
        &self,
        url: &Url,
        with_body: bool,
        attempt: &str,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, GitHubError> {
        let fixed = HeaderValue::from_static;
        let mut headers = vec![
            (header::ACCEPT, fixed("application/vnd.github+json")),
            (HeaderName::from_static("x-github-api-version"), fixed("2022-11-28")),
        ];
        if with_body {
            headers.push((header::CONTENT_TYPE, fixed("application/json")));
        }
        // The token goes to the configured API alone, whatever a `Link` header says.
        if let Some(token) = self.token.as_ref().filter(|_| url.origin() == self.api.origin()) {
            let value = secret_value("Bearer ", token).ok_or_else(|| {
                GitHubError::new(
                    GitHubErrorKind::Auth,
                    attempt,
                    "the token holds characters no header may carry",
                )
            })?;
            headers.push((header::AUTHORIZATION, value));
        }
        Ok(headers)
    }

    pub(super) fn api(&self) -> &Url {
        &self.api
    }

    /// Text from outside as it may be kept: cleaned and redacted.
    pub(super) fn text(&self, raw: &str) -> String {
        Untrusted::new(raw, &self.redactor).analyse().to_owned()
    }

    /// The same as one short line, for messages.
    pub(super) fn line(&self, raw: &str) -> String {
        Untrusted::new(raw, &self.redactor).line(200)
    }

    /// The host's own words within a sentence of ours.
    pub(super) fn quoted(&self, raw: &str) -> String {
        Untrusted::new(raw, &self.redactor).quoted(200)
    }
}

impl Reply {
    pub(super) fn error(&self, edge: &Edge) -> GitHubError {
        from_answer(&self.attempt, self.status, &self.headers, &self.body, &edge.redactor)
    }

    /// Nothing but the status matters.
    pub(super) fn done(&self, edge: &Edge) -> Result<(), GitHubError> {
        if self.status.is_success() {
            Ok(())
        } else {
            Err(self.error(edge))
        }
    }

    /// The body as `T`, when the status is one of the 2xx.
    pub(super) fn json<T: DeserializeOwned>(&self, edge: &Edge) -> Result<T, GitHubError> {
        self.done(edge)?;
        serde_json::from_slice(&self.body).map_err(|e| {
            let start: String = String::from_utf8_lossy(&self.body).chars().take(80).collect();
            GitHubError::shape(
                &self.attempt,
                format!(
                    "the answer is not as documented ({e}); it starts {:?}",
                    edge.line(&start)
                ),
            )
        })
    }
}

/// A body that is too large and a redirect that leads away are answers of a wrong shape; all else is no answer.
fn failed(attempt: &str, error: &HttpError) -> GitHubError {
    let kind = match &error.failure {
        HttpFailure::TooLarge { .. } | HttpFailure::RedirectDenied { .. } | HttpFailure::RedirectLoop => {
            GitHubErrorKind::Shape
        }
        _ => GitHubErrorKind::Network,
    };
    GitHubError::new(kind, attempt, error.failure.to_string())
}
