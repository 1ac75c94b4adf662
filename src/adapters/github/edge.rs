//! The one seam to the wire for the GitHub client: headers, deadline, size cap, bounded retry of reads. It knows
//! nothing about pulls or checks. A write is sent once, whatever comes back.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::{GitHubError, GitHubErrorKind, from_answer};
use crate::text::{Redactor, Untrusted};

const DEADLINE: Duration = Duration::from_secs(20);
const CAP: usize = 4 * 1024 * 1024;
const READS: u32 = 3;
const REDIRECTS: usize = 3;
/// A read that is told to wait longer than this is given up: the next tick is not far.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One answer, whatever its status.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) attempt: String,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

pub(super) struct Edge {
    client: reqwest::Client,
    api: Url,
    token: Option<SecretString>,
    pub(super) redactor: Redactor,
    /// Pause before the first repeated read; each further one is longer by as much.
    pub(super) backoff: Duration,
}

/// What a plain read outside the API (a log's storage) may bring.
pub(super) struct Tail {
    pub(super) status: StatusCode,
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

impl Edge {
    #[expect(
        clippy::disallowed_methods,
        reason = "one client for this edge: deadline, cap and hosts are checked below"
    )]
    pub(super) fn new(api: Url, token: Option<SecretString>, redactor: Redactor) -> Result<Self, GitHubError> {
        // Fails when a provider is installed already, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|e| GitHubError::new(GitHubErrorKind::Network, "set up the HTTP client", e.to_string()))?;
        Ok(Self {
            client,
            api,
            token,
            redactor,
            backoff: Duration::from_millis(200),
        })
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

    /// A read. Repeated on a lost answer, a 5xx or a short rate limit, within one deadline.
    pub(super) async fn get(&self, url: &Url) -> Result<Reply, GitHubError> {
        let attempt = attempt(&Method::GET, url);
        match tokio::time::timeout(DEADLINE, self.read(url, &attempt)).await {
            Ok(result) => result,
            Err(_) => Err(timed_out(&attempt)),
        }
    }

    /// A write. Never repeated: the answer may be lost although the effect stands.
    pub(super) async fn write(&self, method: Method, url: &Url, body: &Value) -> Result<Reply, GitHubError> {
        let attempt = attempt(&method, url);
        match tokio::time::timeout(DEADLINE, self.once(method, url, Some(body), &attempt)).await {
            Ok(result) => result,
            Err(_) => Err(timed_out(&attempt)),
        }
    }

    async fn read(&self, url: &Url, attempt: &str) -> Result<Reply, GitHubError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let result = self.follow(url, attempt).await;
            let pause = match &result {
                Ok(reply) => self.pause_before_retry(reply, tries),
                Err(e) if e.kind == GitHubErrorKind::Network => Some(self.backoff * tries),
                Err(_) => None,
            };
            match pause {
                Some(pause) if tries < READS && pause <= LONGEST_PAUSE => {
                    tracing::debug!(attempt, tries, pause_ms = pause.as_millis(), "reading again");
                    tokio::time::sleep(pause).await;
                }
                _ => return result,
            }
        }
    }

    fn pause_before_retry(&self, reply: &Reply, tries: u32) -> Option<Duration> {
        if reply.status.is_server_error() {
            return Some(self.backoff * tries);
        }
        if !matches!(reply.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
            return None;
        }
        match reply.error(self).kind {
            GitHubErrorKind::RateLimited { wait } => Some(wait),
            _ => None,
        }
    }

    /// Renamed repositories answer with a redirect; it is followed for reads, on the API's own host only.
    async fn follow(&self, url: &Url, attempt: &str) -> Result<Reply, GitHubError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let reply = self.once(Method::GET, &url, None, attempt).await?;
            let Some(next) = reply.location(&url) else {
                return Ok(reply);
            };
            if next.origin() != self.api.origin() {
                return Ok(reply);
            }
            url = next;
        }
        Err(GitHubError::shape(attempt, "redirects go round in a circle"))
    }

    async fn once(&self, method: Method, url: &Url, body: Option<&Value>, attempt: &str) -> Result<Reply, GitHubError> {
        let mut request = self
            .client
            .request(method, url.clone())
            .header(header::ACCEPT, "application/vnd.github+json")
            .header(header::USER_AGENT, concat!("tick/", env!("CARGO_PKG_VERSION")))
            .header("x-github-api-version", "2022-11-28");
        // The token goes to the configured API alone, whatever a `Link` header says.
        if let Some(token) = self.token.as_ref().filter(|_| url.origin() == self.api.origin()) {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())).map_err(|_| {
                GitHubError::new(
                    GitHubErrorKind::Auth,
                    attempt,
                    "the token holds characters no header may carry",
                )
            })?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        if let Some(body) = body {
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string());
        }
        let mut response = request.send().await.map_err(|e| network(attempt, e))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| network(attempt, e))? {
            if bytes.len() + chunk.len() > CAP {
                return Err(GitHubError::shape(
                    attempt,
                    format!("the answer is longer than {CAP} bytes"),
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Reply {
            attempt: attempt.to_owned(),
            status,
            headers,
            body: bytes.freeze(),
        })
    }

    /// The last `keep` bytes of a document on another host, read without any credential.
    pub(super) async fn tail(&self, url: &Url, keep: usize, most: usize) -> Result<Tail, GitHubError> {
        let attempt = format!("GET {}", url.host_str().unwrap_or("a storage host"));
        let read = async {
            let mut response = self
                .client
                .get(url.clone())
                .send()
                .await
                .map_err(|e| network(&attempt, e))?;
            let status = response.status();
            let (mut bytes, mut seen) = (Vec::new(), 0);
            while let Some(chunk) = response.chunk().await.map_err(|e| network(&attempt, e))? {
                seen += chunk.len();
                if seen > most {
                    return Err(GitHubError::shape(&attempt, format!("longer than {most} bytes")));
                }
                bytes.extend_from_slice(&chunk);
                if bytes.len() > 2 * keep {
                    bytes.drain(..bytes.len() - keep);
                }
            }
            let start = bytes.len().saturating_sub(keep);
            bytes.drain(..start);
            let cut = seen > bytes.len();
            Ok(Tail { status, bytes, cut })
        };
        match tokio::time::timeout(DEADLINE, read).await {
            Ok(result) => result,
            Err(_) => Err(timed_out(&attempt)),
        }
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
}

impl Reply {
    pub(super) fn error(&self, edge: &Edge) -> GitHubError {
        from_answer(&self.attempt, self.status, &self.headers, &self.body, &edge.redactor)
    }

    /// The body as `T`, when the status is one of the 2xx.
    pub(super) fn json<T: DeserializeOwned>(&self, edge: &Edge) -> Result<T, GitHubError> {
        if !self.status.is_success() {
            return Err(self.error(edge));
        }
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

    pub(super) fn location(&self, base: &Url) -> Option<Url> {
        if !matches!(self.status.as_u16(), 301 | 302 | 307 | 308) {
            return None;
        }
        base.join(self.headers.get(header::LOCATION)?.to_str().ok()?).ok()
    }
}

fn attempt(method: &Method, url: &Url) -> String {
    format!("{method} {}", url.path())
}

fn timed_out(attempt: &str) -> GitHubError {
    GitHubError::new(
        GitHubErrorKind::Network,
        attempt,
        format!("no whole answer within {} s", DEADLINE.as_secs()),
    )
}

fn network(attempt: &str, error: reqwest::Error) -> GitHubError {
    let mut what = if error.is_connect() {
        "could not connect"
    } else if error.is_timeout() {
        "timed out"
    } else {
        "the answer was cut off"
    }
    .to_owned();
    // The innermost cause carries the reason ("connection refused"); the outer ones repeat the URL.
    let mut source: Option<&dyn std::error::Error> = Some(&error.without_url());
    let mut inner = String::new();
    while let Some(e) = source {
        inner = e.to_string();
        source = e.source();
    }
    what.push_str(": ");
    what.push_str(&inner);
    GitHubError::new(GitHubErrorKind::Network, attempt, what)
}
