//! What can go wrong on the way to an answer, each with one stable short cause. Messages name what was attempted.

use std::{error::Error, io};

use super::policy::Denied;

/// A call that gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{attempted}: {failure}{}", tries(.earlier))]
pub struct HttpError {
    pub failure: HttpFailure,
    /// Method and address, redacted.
    pub attempted: String,
    /// Why each earlier try failed, oldest first.
    pub earlier: Vec<String>,
}

impl HttpError {
    pub fn cause(&self) -> &'static str {
        self.failure.cause()
    }
}

fn tries(earlier: &[String]) -> String {
    if earlier.is_empty() {
        return String::new();
    }
    format!(" (tries before: {})", earlier.join(", "))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpFailure {
    #[error("nothing listens there (connection refused)")]
    Refused,
    #[error("the connection was cut before an answer")]
    Reset,
    #[error("the network has no way there")]
    Unreachable,
    #[error("no connection within the connect timeout")]
    ConnectTimeout,
    #[error("the name does not resolve")]
    Dns,
    #[error("the name resolves to a private address ({0}); list the host in allow_private_hosts if that is meant")]
    AddressDenied(String),
    #[error("TLS: {0}")]
    Tls(TlsFault),
    #[error("no complete answer within the deadline")]
    ReadTimeout,
    #[error("the body is larger than {cap} bytes")]
    TooLarge { cap: usize },
    #[error("the answer ends in the middle")]
    Truncated,
    #[error("redirect to {to} is not followed: {why}")]
    RedirectDenied { to: String, why: &'static str },
    #[error("more than three redirects")]
    RedirectLoop,
    #[error("this process has no file descriptor left; raise the limit (ulimit -n)")]
    Emfile,
    #[error("{0}")]
    Protocol(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    #[error("the certificate has expired")]
    Expired,
    #[error("the certificate is not valid yet")]
    NotYetValid,
    #[error("the certificate is for another name")]
    WrongName,
    #[error("the certificate's issuer is not trusted")]
    UnknownIssuer,
    #[error("the handshake failed")]
    Handshake,
}

impl HttpFailure {
    /// Stable: outcomes, signatures and messages are keyed by it.
    pub const fn cause(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect-timeout",
            Self::Dns => "dns",
            Self::AddressDenied(_) => "address-denied",
            Self::Tls(_) => "tls",
            Self::ReadTimeout => "timeout",
            Self::TooLarge { .. } => "too-large",
            Self::Truncated => "truncated",
            Self::RedirectDenied { .. } => "redirect-denied",
            Self::RedirectLoop => "redirect-loop",
            Self::Emfile => "emfile",
            Self::Protocol(_) => "protocol",
        }
    }
}

/// Reads the chain of sources; reqwest's own categories are too coarse to branch on.
pub(super) fn classify(error: &reqwest::Error) -> HttpFailure {
    let mut timed_out = error.is_timeout();
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    let mut last = String::new();
    while let Some(cause) = source {
        if let Some(denied) = cause.downcast_ref::<Denied>() {
            return denied.failure();
        }
        if let Some(tls) = find_tls(cause) {
            return HttpFailure::Tls(tls);
        }
        if let Some(found) = cause.downcast_ref::<io::Error>() {
            if let Some(failure) = from_io(found) {
                return failure;
            }
            timed_out |= found.kind() == io::ErrorKind::TimedOut;
        }
        last = cause.to_string();
        source = beneath(cause);
    }
    if error.is_connect() && timed_out {
        HttpFailure::ConnectTimeout
    } else if timed_out {
        HttpFailure::ReadTimeout
    } else if cut_short(&last) {
        HttpFailure::Reset
    } else {
        HttpFailure::Protocol(format!("not an HTTP answer: {last}"))
    }
}

/// As [`classify`], once the head has arrived: a cut connection is then a cut body.
pub(super) fn classify_body(error: &reqwest::Error) -> HttpFailure {
    match classify(error) {
        HttpFailure::Reset | HttpFailure::Protocol(_) => HttpFailure::Truncated,
        other => other,
    }
}

fn from_io(error: &io::Error) -> Option<HttpFailure> {
    // EMFILE and ENFILE have no kind of their own.
    if matches!(error.raw_os_error(), Some(23 | 24)) {
        return Some(HttpFailure::Emfile);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(HttpFailure::Refused),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Some(HttpFailure::Reset)
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable | io::ErrorKind::AddrNotAvailable => {
            Some(HttpFailure::Unreachable)
        }
        io::ErrorKind::UnexpectedEof => Some(HttpFailure::Reset),
        _ => None,
    }
}

/// The error inside this one. What an `io::Error` wraps is not its source but the source's own place.
fn beneath<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}

fn find_tls(cause: &(dyn Error + 'static)) -> Option<TlsFault> {
    let tls = cause.downcast_ref::<rustls::Error>()?;
    Some(match tls {
        rustls::Error::InvalidCertificate(certificate) => {
            use rustls::CertificateError as C;
            match certificate {
                C::Expired | C::ExpiredContext { .. } => TlsFault::Expired,
                C::NotValidYet | C::NotValidYetContext { .. } => TlsFault::NotYetValid,
                C::NotValidForName | C::NotValidForNameContext { .. } => TlsFault::WrongName,
                C::UnknownIssuer => TlsFault::UnknownIssuer,
                _ => TlsFault::Handshake,
            }
        }
        _ => TlsFault::Handshake,
    })
}

fn cut_short(text: &str) -> bool {
    text.contains("before message completed") || text.contains("before message length reached")
}
