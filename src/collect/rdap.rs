//! When the registration of a domain ends. IANA's list says which registry answers for a name (RFC 9224), the registry
//! says until when the name is registered (RFC 9083). What nobody tells is not known; it is never guessed.

use chrono::{DateTime, Utc};
use http::{HeaderValue, header};
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::{Host, Url};

use super::{
    context::{Blind, Session},
    probe::check_json,
};
use crate::{
    adapters::http::{Redirects, Request, Response},
    model::page::Domain,
};

/// Names below a registry's suffix that are asked for: `example.co.uk` is the second one below `uk`.
const MOST_NAMES: usize = 2;

/// Who answers for which names; the list is read once, when the first name wants it.
pub(super) struct Registries<'a> {
    session: &'a Session<'a>,
    read: OnceCell<Result<Vec<Registry>, Blind>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Registry {
    suffixes: Vec<String>,
    base: Url,
}

impl<'a> Registries<'a> {
    pub(super) fn new(session: &'a Session<'a>) -> Self {
        Self {
            session,
            read: OnceCell::new(),
        }
    }

    pub(super) async fn until(&self, page: &Url) -> Domain {
        let Some(Host::Domain(host)) = page.host() else {
            return Domain::None;
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if !host.contains('.') {
            return Domain::None;
        }
        match self.ends(&host).await {
            Ok((name, at)) => Domain::Until {
                name: self.session.line(&name, 100),
                at,
            },
            Err(why) => Domain::Unknown(self.session.line(&why.detail, 200)),
        }
    }

    /// The registered name that this host stands under, and when its registration ends.
    pub(super) async fn ends(&self, host: &str) -> Result<(String, DateTime<Utc>), Blind> {
        let list = self.read.get_or_init(|| self.registries()).await.as_ref();
        let registries = list.map_err(Clone::clone)?;
        let (base, names) =
            responsible(registries, host).ok_or_else(|| Blind::new("no-registry", "no registry is listed for it"))?;
        for name in names {
            let url = base
                .join(&format!("domain/{name}"))
                .map_err(|_| Blind::new("no-registry", "the registry's address is none"))?;
            let answer = self.get(&url).await.map_err(|why| within("its registry", why))?;
            match answer.status.as_u16() {
                200 => {
                    let ends = ends(&answer.body).map_err(|why| within("its registry", why))?;
                    let unsaid = || Blind::new("shape", "its registry does not say until when");
                    return Ok((name, ends.ok_or_else(unsaid)?));
                }
                404 => {}
                429 => {
                    let what = "its registry limits our calls (HTTP 429)";
                    return Err(Blind::new("rate-limited", what));
                }
                code => {
                    let what = format!("its registry answers HTTP {code}");
                    return Err(Blind::new(format!("http-{code}"), what));
                }
            }
        }
        Err(Blind::new("http-404", "its registry knows no such name"))
    }

    async fn registries(&self) -> Result<Vec<Registry>, Blind> {
        let unread = |why: Blind| within("the list of registries", why);
        let answer = self.get(&self.session.ctx.config.registries).await.map_err(unread)?;
        match answer.status.as_u16() {
            200 => listed(&answer.body).map_err(unread),
            429 => Err(unread(Blind::new("rate-limited", "HTTP 429"))),
            code => Err(unread(Blind::new(format!("http-{code}"), format!("HTTP {code}")))),
        }
    }

    async fn get(&self, url: &Url) -> Result<Response, Blind> {
        let _permit = self.session.permit().await;
        let mut request = Request::get(url);
        request.redirects = Redirects::Elsewhere;
        request.headers.push((
            header::ACCEPT,
            HeaderValue::from_static("application/rdap+json, application/json"),
        ));
        let sent = self.session.ctx.http.send(request).await;
        let answer = sent.map_err(|error| Blind::new(error.failure.cause(), error.failure.to_string()))?;
        if answer.status.as_u16() == 200 {
            check_json(&answer)?;
        }
        Ok(answer)
    }
}

fn within(what: &str, why: Blind) -> Blind {
    Blind::new(why.cause, format!("{what}: {}", why.detail))
}

/// IANA's list: which suffixes, and which addresses answer for them.
fn listed(body: &[u8]) -> Result<Vec<Registry>, Blind> {
    #[derive(Deserialize)]
    struct List {
        services: Vec<Vec<Vec<String>>>,
    }
    let list: List = parse(body)?;
    let registry = |service: Vec<Vec<String>>| {
        let [suffixes, addresses, ..] = service.try_into().unwrap_or_else(|_| [Vec::new(), Vec::new()]);
        let addresses: Vec<Url> = addresses.iter().filter_map(|text| Url::parse(text).ok()).collect();
        let safe = addresses.iter().find(|url| url.scheme() == "https");
        let base = safe.or(addresses.first())?.clone();
        let suffixes = suffixes.iter().map(|suffix| suffix.to_ascii_lowercase()).collect();
        Some(Registry { suffixes, base })
    };
    Ok(list.services.into_iter().filter_map(registry).collect())
}

/// The registry of the longest suffix of this name, and the names below it that may be registered there, shortest first.
fn responsible(registries: &[Registry], host: &str) -> Option<(Url, Vec<String>)> {
    let labels: Vec<&str> = host.split('.').collect();
    for from in 1..labels.len() {
        let suffix = labels[from..].join(".");
        if let Some(registry) = registries.iter().find(|registry| registry.suffixes.contains(&suffix)) {
            let names = (0..from).rev().take(MOST_NAMES);
            let names = names.map(|start| labels[start..].join(".")).collect();
            return Some((registry.base.clone(), names));
        }
    }
    None
}

/// The end of a registration, where the registry tells it.
fn ends(body: &[u8]) -> Result<Option<DateTime<Utc>>, Blind> {
    #[derive(Deserialize)]
    struct Domain {
        #[serde(default)]
        events: Vec<Event>,
    }
    #[derive(Deserialize)]
    struct Event {
        #[serde(default, rename = "eventAction")]
        action: String,
        #[serde(default, rename = "eventDate")]
        date: String,
    }
    let domain: Domain = parse(body)?;
    let mut ends = domain
        .events
        .iter()
        .filter(|event| event.action.eq_ignore_ascii_case("expiration"));
    Ok(ends.find_map(|event| moment(&event.date)))
}

/// Registries write offsets with and without a colon.
fn moment(text: &str) -> Option<DateTime<Utc>> {
    let read = DateTime::parse_from_rfc3339(text);
    let read = read.or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"));
    read.ok().map(|at| at.to_utc())
}

fn parse<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Blind> {
    serde_json::from_slice(body).map_err(|_| Blind::new("shape", "the answer has another shape"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{ "version": "1.0", "services": [
        [["com", "net"], ["http://plain.example/", "https://registry.example/com/v1/"]],
        [["UK"], ["https://uk.example/"]],
        [["co.uk"], ["https://co-uk.example/"]],
        [["broken"]], [["nowhere"], ["not a url"]]
    ] }"#;

    #[test]
    fn the_longest_suffix_names_the_registry() {
        let registries = listed(LIST.as_bytes()).unwrap();
        let of = |host: &str| responsible(&registries, host).map(|(base, names)| format!("{base} {}", names.join(" ")));
        assert_eq!(
            of("api.eu.shop.com").as_deref(),
            Some("https://registry.example/com/v1/ shop.com eu.shop.com")
        );
        assert_eq!(
            of("shop.org.uk").as_deref(),
            Some("https://uk.example/ org.uk shop.org.uk")
        );
        assert_eq!(
            of("www.shop.co.uk").as_deref(),
            Some("https://co-uk.example/ shop.co.uk www.shop.co.uk")
        );
        for host in ["shop.example", "com", "shop.nowhere", "shop.broken", ""] {
            assert_eq!(of(host), None, "{host}");
        }
        for wrong in ["", "<html>", "{}", "[]", r#"{ "services": 1 }"#] {
            assert!(listed(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_end_is_what_the_registry_says() {
        let said = |events: &str| ends(format!(r#"{{ "events": {events} }}"#).as_bytes());
        let end = |date: &str| {
            said(&format!(
                r#"[{{ "eventAction": "registration", "eventDate": "2001-01-01T00:00:00Z" }},
                    {{ "eventAction": "expiration", "eventDate": "{date}" }}]"#
            ))
            .unwrap()
            .map(|at| at.to_rfc3339())
        };
        let wanted = Some("2027-08-13T04:00:00+00:00");
        for date in [
            "2027-08-13T04:00:00Z",
            "2027-08-13T06:00:00+02:00",
            "2027-08-13T06:00:00+0200",
        ] {
            assert_eq!(end(date).as_deref(), wanted, "{date}");
        }
        assert!(end("2027-08-13T04:00:00.123Z").is_some());
        assert_eq!(end("soon"), None);
        assert_eq!(said("[]"), Ok(None));
        assert!(ends(b"{}").unwrap().is_none());
        assert!(ends(b"<html>").is_err() && said("[1]").is_err());
    }
}
