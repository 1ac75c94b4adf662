//! The one way out over HTTP: deadline, size cap, host policy, bounded retry of safe calls. It decides nothing about
//! what an answer means; it never follows a redirect to a host that was not meant, nor takes a proxy from outside.

mod client;
mod error;
mod policy;
mod retry;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tls_tests;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use url::Url;

pub use error::{HttpError, HttpFailure, TlsFault};
pub use policy::Redirects;
pub use retry::{RetryPolicy, retry_after};

use crate::{adapters::clock, text::Redactor};

/// Redirects after which a chain counts as a loop.
const MAX_REDIRECTS: usize = 3;

/// Cheap to clone; all clones share one client and its connections.
#[derive(Clone)]
pub struct Http {
    inner: Arc<client::Clients>,
    redactor: Redactor,
}

pub struct Request<'a> {
    pub method: Method,
    pub url: &'a Url,
    /// Values that are secret are marked sensitive and never follow to another origin.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Option<Bytes>,
    /// For everything: waiting, redirects, body, retries.
    pub deadline: Duration,
    /// Largest body in decoded bytes.
    pub cap: usize,
    pub redirects: Redirects,
    /// Holds for GET, and for a POST that the policy knows to be a read.
    pub retry: RetryPolicy,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The stream was cut at the cap; only [`Http::stream`] leaves it so.
    pub truncated: bool,
    /// Where the answer came from in the end.
    pub url: Url,
    pub elapsed: Duration,
    /// Validity of the server's certificate, where there is one.
    pub not_before: Option<DateTime<Utc>>,
    pub not_after: Option<DateTime<Utc>>,
}

impl<'a> Request<'a> {
    /// A GET without body: 10 s, 1 MiB, redirects within the origin, one try.
    pub fn get(url: &'a Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: None,
            deadline: Duration::from_secs(10),
            cap: 1 << 20,
            redirects: Redirects::SameOrigin,
            retry: RetryPolicy::once(),
        }
    }
}

/// A header value that is kept out of logs and never follows to another origin.
pub fn secret_value(prefix: &str, secret: &SecretString) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose_secret())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// What is done with the body while it comes in.
enum Sink<'s> {
    /// Keep it; more than the cap is an error.
    Whole(Vec<u8>),
    /// Hand it on; the stream ends at the cap.
    Stream {
        sink: &'s mut (dyn FnMut(&[u8]) + Send),
        begun: bool,
    },
}

impl Sink<'_> {
    /// Something was handed on, which cannot be taken back.
    fn begun(&self) -> bool {
        match self {
            Sink::Whole(_) => false,
            Sink::Stream { begun, .. } => *begun,
        }
    }
}

impl Http {
    pub fn new(redactor: Redactor, allow_private_hosts: Vec<String>) -> Self {
        Self {
            inner: Arc::new(client::Clients::new(allow_private_hosts)),
            redactor,
        }
    }

    /// Trusts these authorities as well.
    #[cfg(test)]
    pub(crate) fn trusting(redactor: Redactor, roots: &[&'static [u8]]) -> Self {
        Self {
            inner: Arc::new(client::Clients::trusting(roots)),
            redactor,
        }
    }

    /// One call with its redirects and, for a read, its retries. Any status is an answer, not an error.
    pub async fn send(&self, request: Request<'_>) -> Result<Response, HttpError> {
        self.tried(&request, &mut Sink::Whole(Vec::new())).await
    }

    /// One call whose body is handed on in pieces, for logs that are too long to keep. Ends at the cap. Only the body of a
    /// good answer is handed on, and once a piece was there is no other try.
    pub async fn stream(
        &self,
        request: Request<'_>,
        sink: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Response, HttpError> {
        self.tried(&request, &mut Sink::Stream { sink, begun: false }).await
    }

    async fn tried(&self, request: &Request<'_>, sink: &mut Sink<'_>) -> Result<Response, HttpError> {
        let started = clock::instant();
        let until = Instant::from_std(started) + request.deadline;
        let tries = request.retry.tries(&request.method);
        let mut earlier: Vec<String> = Vec::new();
        loop {
            let result = self.once(request, until, sink).await;
            let made = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
            let wait = match &result {
                _ if made >= tries || sink.begun() => None,
                Ok(response) => request.retry.after_answer(response.status, &response.headers, made),
                Err(failure) => request.retry.after_failure(failure, made),
            };
            // A wait that would pass the deadline is not begun: what is known now is the answer.
            let wait = wait.filter(|wait| Instant::now() + *wait < until);
            let Some(wait) = wait else {
                return self.finish(result, request, earlier, started);
            };
            earlier.push(match &result {
                Ok(response) => format!("HTTP {}", response.status.as_u16()),
                Err(failure) => failure.to_string(),
            });
            tokio::time::sleep(wait).await;
        }
    }

    fn finish(
        &self,
        result: Result<Response, HttpFailure>,
        request: &Request<'_>,
        earlier: Vec<String>,
        started: std::time::Instant,
    ) -> Result<Response, HttpError> {
        match result {
            Ok(mut response) => {
                response.elapsed = started.elapsed();
                Ok(response)
            }
            Err(failure) => Err(HttpError {
                failure,
                attempted: self.redactor.redact(&describe(&request.method, request.url)),
                earlier,
            }),
        }
    }

    /// One try: the first request and up to three redirects.
    async fn once(&self, request: &Request<'_>, until: Instant, sink: &mut Sink<'_>) -> Result<Response, HttpFailure> {
        let mut url = request.url.clone();
        for hop in 0..=MAX_REDIRECTS {
            let may_follow = matches!(request.method, Method::GET | Method::HEAD);
            let mut answer = self.open(request, &url, until).await?;
            if !(may_follow && answer.status().is_redirection()) || request.redirects == Redirects::None {
                return read(&mut answer, url, request.cap, until, sink).await;
            }
            let Some(next) = policy::target(&url, answer.headers().get(header::LOCATION)) else {
                return read(&mut answer, url, request.cap, until, sink).await;
            };
            if hop == MAX_REDIRECTS {
                break;
            }
            url = policy::follow(request.url, &url, &next?, request.redirects)?;
        }
        Err(HttpFailure::RedirectLoop)
    }

    async fn open(&self, request: &Request<'_>, url: &Url, until: Instant) -> Result<reqwest::Response, HttpFailure> {
        self.inner.admit(request.url, url)?;
        let client = self.inner.client(url.scheme() == "https")?;
        let at_home = policy::same_origin(request.url, url);
        let mut builder = client.request(request.method.clone(), url.clone());
        for (name, value) in &request.headers {
            let private = value.is_sensitive() || name == header::AUTHORIZATION || name == header::COOKIE;
            if at_home || !private {
                builder = builder.header(name.clone(), value.clone());
            }
        }
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        match timeout_at(until, builder.send()).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(error::classify(&error)),
            Err(_) => Err(HttpFailure::ReadTimeout),
        }
    }
}

/// Reads the body through a counter of decoded bytes.
async fn read(
    answer: &mut reqwest::Response,
    url: Url,
    cap: usize,
    until: Instant,
    sink: &mut Sink<'_>,
) -> Result<Response, HttpFailure> {
    let mut seen = 0_usize;
    let mut truncated = false;
    let good = answer.status().is_success();
    if let Sink::Whole(kept) = sink {
        kept.clear();
    }
    loop {
        let piece = match timeout_at(until, answer.chunk()).await {
            Err(_) => return Err(HttpFailure::ReadTimeout),
            Ok(Err(error)) => return Err(error::classify_body(&error)),
            Ok(Ok(None)) => break,
            Ok(Ok(Some(piece))) => piece,
        };
        seen = seen.saturating_add(piece.len());
        match sink {
            Sink::Whole(_) if seen > cap => return Err(HttpFailure::TooLarge { cap }),
            Sink::Whole(kept) => kept.extend_from_slice(&piece),
            Sink::Stream { sink, begun } if good => {
                sink(&piece);
                *begun = true;
            }
            // What an error page says is in its status.
            Sink::Stream { .. } => {}
        }
        if seen > cap {
            truncated = true;
            break;
        }
    }
    let validity = client::validity(answer);
    Ok(Response {
        status: answer.status(),
        headers: std::mem::take(answer.headers_mut()),
        body: match sink {
            Sink::Whole(kept) => Bytes::from(std::mem::take(kept)),
            Sink::Stream { .. } => Bytes::new(),
        },
        truncated,
        url,
        elapsed: Duration::ZERO,
        not_before: validity.map(|(from, _)| from),
        not_after: validity.map(|(_, to)| to),
    })
}

/// Method, host and path; the query may hold anything and is left out.
fn describe(method: &Method, url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{method} {}://{host}{port}{}", url.scheme(), url.path())
}
