//! Which hosts and addresses a request may reach. Pure but for the resolver, whose checked answer is the one the
//! connection is made with, so that a name cannot point elsewhere between check and connect.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use http::HeaderValue;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::HttpFailure;

/// How far a redirect may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Not at all: the 3xx is the answer.
    None,
    /// Same host and port; `http` may become `https`.
    SameOrigin,
    /// Any public host, or the same host at another port; nothing private is sent there.
    Elsewhere,
}

/// The next address, if the answer names one.
pub(super) fn target(at: &Url, location: Option<&HeaderValue>) -> Option<Result<Url, HttpFailure>> {
    let location = location?;
    let parsed = location.to_str().ok().and_then(|text| at.join(text).ok());
    Some(parsed.ok_or(HttpFailure::RedirectDenied {
        to: "an address that cannot be read".to_owned(),
        why: "it is not a URL",
    }))
}

/// May a request that was configured for `start` go from `at` to `next`?
pub(super) fn follow(start: &Url, at: &Url, next: &Url, redirects: Redirects) -> Result<Url, HttpFailure> {
    let deny = |why| {
        let to: String = match next.host_str() {
            Some(host) => format!("{}://{host}", next.scheme()),
            None => format!("{}:", next.scheme()),
        };
        Err(HttpFailure::RedirectDenied {
            to: crate::text::clean(&to).chars().take(120).collect(),
            why,
        })
    };
    match (at.scheme(), next.scheme()) {
        ("http", "http" | "https") | ("https", "https") => {}
        ("https", "http") => return deny("it leaves TLS"),
        _ => return deny("the scheme is neither http nor https"),
    }
    if next.username() != "" || next.password().is_some() {
        return deny("it carries credentials");
    }
    let same_host = start.host() == next.host();
    let same_port = start.port_or_known_default() == next.port_or_known_default();
    let upgraded =
        start.scheme() == "http" && next.scheme() == "https" && start.port().is_none() && next.port().is_none();
    match redirects {
        Redirects::None => deny("redirects are not followed here"),
        Redirects::SameOrigin if same_host && (same_port || upgraded) => Ok(next.clone()),
        Redirects::SameOrigin if same_host => deny("it is another port"),
        Redirects::SameOrigin => deny("it is another host"),
        Redirects::Elsewhere => Ok(next.clone()),
    }
}

/// Same scheme, host and port: the only place where a secret header may be sent.
pub(super) fn same_origin(a: &Url, b: &Url) -> bool {
    let plain = a.scheme() == b.scheme() && a.port_or_known_default() == b.port_or_known_default();
    let upgraded = a.scheme() == "http" && b.scheme() == "https" && a.port().is_none() && b.port().is_none();
    a.host() == b.host() && (plain || upgraded)
}

/// Does this host name a private address by itself? Then configuring it is the permission.
pub(super) fn names_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => !is_public(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => !is_public(IpAddr::V6(ip)),
        Some(Host::Domain(name)) => is_localhost(name),
        None => true,
    }
}

pub(super) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// An address of the open internet: not loopback, private, link-local, shared, multicast, documentation or mapped
/// to one of these.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_broadcast()
        || ip.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b)))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let part = ip.segments();
    // Addresses that carry an IPv4 one inside: mapped, compatible, NAT64, 6to4.
    let carried = |hi: u16, lo: u16| {
        let [a, b] = hi.to_be_bytes();
        let [c, d] = lo.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    if part[..6] == [0, 0, 0, 0, 0, 0xffff] || part[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return carried(part[6], part[7]);
    }
    if part[..6] == [0; 6] {
        return false;
    }
    if part[0] == 0x2002 {
        return carried(part[1], part[2]);
    }
    !(ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_multicast()
        || (part[0] & 0xfe00) == 0xfc00
        || (part[0] & 0xffc0) == 0xfe80
        || (part[0] & 0xffc0) == 0xfec0
        || (part[0] == 0x2001 && part[1] == 0xdb8)
        || (part[0] == 0x64 && part[1] == 0xff9b))
}

/// The resolver's refusals, found again in the chain of sources of a failed request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Denied {
    #[error("the name does not resolve")]
    NoSuchName,
    #[error("no file descriptor left")]
    Emfile,
    #[error("the name resolves to {0}")]
    Private(IpAddr),
}

impl Denied {
    pub(super) fn failure(&self) -> HttpFailure {
        match self {
            Self::NoSuchName => HttpFailure::Dns,
            Self::Emfile => HttpFailure::Emfile,
            Self::Private(ip) => HttpFailure::AddressDenied(ip.to_string()),
        }
    }
}

/// Resolves a name and checks every address it gives.
pub(super) struct Checked {
    pub(super) allowed: Arc<Vec<String>>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = Arc::clone(&self.allowed);
        Box::pin(async move {
            let host = name.as_str().to_owned();
            if is_localhost(&host) {
                let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
                return Ok(Box::new(both.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs);
            }
            let found: Vec<SocketAddr> = match tokio::net::lookup_host((host.as_str(), 0)).await {
                Ok(found) => found.collect(),
                Err(error) if matches!(error.raw_os_error(), Some(23 | 24)) => return Err(Denied::Emfile.into()),
                Err(_) => return Err(Denied::NoSuchName.into()),
            };
            if found.is_empty() {
                return Err(Denied::NoSuchName.into());
            }
            judge_addresses(&host, &found, &allowed)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// One private address among the answers is enough to refuse the name.
fn judge_addresses(host: &str, found: &[SocketAddr], allowed: &[String]) -> Result<(), Denied> {
    if allowed.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    match found.iter().find(|address| !is_public(address.ip())) {
        Some(address) => Err(Denied::Private(address.ip())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn private_addresses_are_known_in_every_spelling() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001:db8::1",
            "64:ff9b:1::1",
            "fec0::1",
            "198.18.0.1",
            "192.0.0.1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://localhost./",
            "http://[::ffff:7f00:1]/",
        ] {
            assert!(names_private(&url(text)), "{text}");
        }
        assert!(!names_private(&url("http://example.com/")));
    }

    #[test]
    fn one_private_answer_refuses_the_name_unless_it_is_listed() {
        let both: Vec<SocketAddr> = vec!["8.8.8.8:0".parse().unwrap(), "10.0.0.1:0".parse().unwrap()];
        assert!(matches!(
            judge_addresses("api.example", &both, &[]),
            Err(Denied::Private(_))
        ));
        assert!(judge_addresses("api.example", &both, &["API.example".to_owned()]).is_ok());
        assert!(judge_addresses("api.example", &both[..1], &[]).is_ok());
    }

    #[test]
    fn redirects_stay_where_they_were_meant_to_go() {
        let check = |start: &str, next: &str, redirects, ok: bool| {
            let (start, next) = (url(start), url(next));
            assert_eq!(
                follow(&start, &start, &next, redirects).is_ok(),
                ok,
                "{start} -> {next} {redirects:?}"
            );
        };
        let same = Redirects::SameOrigin;
        check("http://a.example/x", "http://a.example/y", same, true);
        check("http://a.example/x", "https://a.example/x", same, true);
        check("https://a.example/x", "http://a.example/x", same, false);
        check("https://a.example/x", "https://b.example/x", same, false);
        check("http://a.example/", "http://a.example:8080/", same, false);
        check(
            "http://127.0.0.1:80/",
            "http://127.0.0.1:9999/latest/meta-data/",
            same,
            false,
        );
        check("http://a.example/", "file:///etc/hostname", same, false);
        check("http://a.example/", "http://2130706433:9/", same, false);
        check("http://a.example/", "http://[::ffff:7f00:1]:9/", same, false);
        check("https://a.example/", "https://u:p@a.example/", same, false);
        check(
            "https://a.example/",
            "https://store.example/log",
            Redirects::Elsewhere,
            true,
        );
        check(
            "https://a.example/",
            "http://store.example/log",
            Redirects::Elsewhere,
            false,
        );
        check("https://a.example/", "https://a.example/log", Redirects::None, false);
    }
}
