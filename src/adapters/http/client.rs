//! The two lazily made clients behind [`super::Http`]: one without trust anchors for plain HTTP, which costs nothing
//! to start, and one with them, made when the first `https` address is called.

use std::{sync::Arc, sync::OnceLock, time::Duration};

use chrono::{DateTime, Utc};
use reqwest::{Client, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer};
use url::{Host, Url};

use super::{HttpFailure, policy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Clients {
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
    allowed: Arc<Vec<String>>,
    /// Authorities that are trusted beside the usual ones; only tests have any.
    own_roots: Vec<CertificateDer<'static>>,
}

impl Clients {
    pub(super) fn new(allowed: Vec<String>) -> Self {
        Self {
            plain: OnceLock::new(),
            tls: OnceLock::new(),
            allowed: Arc::new(allowed),
            own_roots: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn trusting(roots: &[&'static [u8]]) -> Self {
        let mut clients = Self::new(Vec::new());
        clients.own_roots = roots.iter().map(|root| CertificateDer::from(*root)).collect();
        clients
    }

    pub(super) fn client(&self, tls: bool) -> Result<&Client, HttpFailure> {
        let cell = if tls { &self.tls } else { &self.plain };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = self.build(tls)?;
        Ok(cell.get_or_init(|| client))
    }

    #[expect(clippy::disallowed_methods, reason = "the one HTTP client of this program")]
    fn build(&self, tls: bool) -> Result<Client, HttpFailure> {
        let broken = |what: String| HttpFailure::Protocol(format!("the HTTP client cannot be made: {what}"));
        let mut roots = RootCertStore::empty();
        if tls {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            roots.add_parsable_certificates(self.own_roots.iter().cloned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| broken(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Client::builder()
            .tls_backend_preconfigured(config)
            .tls_info(tls)
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            // Every call has a deadline of its own, so a dead connection need not be found by the kernel; five system
            // calls a connection less.
            .tcp_keepalive(None)
            .tcp_user_timeout(None)
            .user_agent(concat!("tick/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(policy::Checked {
                allowed: Arc::clone(&self.allowed),
            }))
            .build()
            .map_err(|error| broken(error.to_string()))
    }

    /// May `url` be called on behalf of the configured `start`? Names are judged again when they are resolved.
    pub(super) fn admit(&self, start: &Url, url: &Url) -> Result<(), HttpFailure> {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(HttpFailure::Protocol(
                "only http and https addresses can be called".to_owned(),
            ));
        }
        let same_host = start.host() == url.host();
        if same_host || !policy::names_private(url) {
            return Ok(());
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(ip)) => ip.to_string(),
            Some(Host::Ipv6(ip)) => ip.to_string(),
            None => String::new(),
        };
        if self.allowed.iter().any(|name| name.eq_ignore_ascii_case(&host)) {
            return Ok(());
        }
        Err(HttpFailure::RedirectDenied {
            to: host,
            why: "it is a private address",
        })
    }
}

/// From and until when the server's certificate is valid.
pub(super) fn validity(answer: &reqwest::Response) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let info = answer.extensions().get::<reqwest::tls::TlsInfo>()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(info.peer_certificate()?).ok()?;
    let at = |time: x509_parser::time::ASN1Time| DateTime::from_timestamp(time.timestamp(), 0);
    let validity = certificate.validity();
    Some((at(validity.not_before)?, at(validity.not_after)?))
}
