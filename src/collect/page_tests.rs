//! One look at pages: well, down, elsewhere, behind good and bad certificates, below domains that end.

use std::time::Duration;

use chrono::TimeDelta;

use super::*;
use crate::{
    adapters::{
        clock::Clock,
        http::{
            Http,
            testing::{CA, EXPIRED, GOOD, Reply, Server, json as answer, path, reply, serve_tls},
        },
    },
    collect::{HttpCache, Sources, testing},
    model::{page::Domain, signal::Severity},
    text::Redactor,
};

fn nowhere() -> Url {
    "http://127.0.0.1:1/dns.json".parse().unwrap()
}

/// Looks at this page on a morning; the certificates of the tests are trusted.
fn look(url: Url, registries: Url) -> SeenPage {
    let mut target = testing::target();
    target.health = vec![testing::probe(url)];
    let mut config = testing::config(target);
    config.registries = registries;
    let redactor = Redactor::default();
    let http = Http::trusting(redactor.clone(), &[CA]);
    let clock = Clock::start(Some(testing::NOW.parse().unwrap()));
    let (sources, cache) = (Sources::new(), HttpCache::default());
    let mut ctx = CollectContext::new(&config, &http, &redactor, clock, &sources, &cache);
    ctx.resample = [Duration::ZERO; 2];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let pages = runtime.block_on(pages(&ctx));
    pages.into_values().next().unwrap()
}

fn site() -> Server {
    Server::start(|request| match path(request).split('?').next().unwrap() {
        "/ok" => reply(200, &[], "hello"),
        "/long" => reply(200, &[], &"<p>much</p>".repeat(50_000)),
        "/500" => reply(500, &[], ""),
        "/429" => reply(429, &[], ""),
        "/private" => reply(302, &[("location", "http://169.254.169.254/latest/meta-data/")], ""),
        other => panic!("{other}"),
    })
}

#[test]
fn what_users_feel_is_said_and_the_rest_is_not_judged() {
    let site = site();
    let at = |path: &str| look(site.url(path), nowhere());
    let ok = at("/ok?key=secret");
    assert_eq!((&ok.state, ok.status, ok.samples), (&PageState::Up, Some(200), 1));
    assert!(ok.url.ends_with("/ok") && ok.certificate == Certificate::None && ok.signals.is_empty());
    assert_eq!(at("/long").state, PageState::Up);
    let down = at("/500");
    assert_eq!(
        (&down.state, down.samples),
        (&PageState::Down("HTTP 500".to_owned()), 3)
    );
    assert_eq!(down.signals[0].severity, Severity::Critical);
    for (path, says) in [("/429", "429"), ("/private", "169.254.169.254")] {
        let PageState::Blind(why) = at(path).state else {
            panic!("{path}")
        };
        assert!(why.contains(says), "{why}");
    }
    let refused = look("http://127.0.0.1:1/".parse().unwrap(), nowhere());
    assert!(matches!(refused.state, PageState::Down(why) if why.contains("refused")));
}

#[test]
fn visitors_are_followed_and_their_query_is_nobodys_business() {
    let site = site();
    let to = site.url("/ok?session=1");
    let door = Server::start(move |_| reply(302, &[("location", to.as_str())], ""));
    let seen = look(door.url("/"), nowhere());
    assert_eq!(
        (seen.state, seen.sends_to),
        (PageState::Up, Some(site.url("/ok").to_string()))
    );
}

#[test]
fn a_name_that_nobody_knows_may_be_our_own_network() {
    let seen = look("http://shop.invalid/".parse().unwrap(), nowhere());
    assert!(
        matches!(&seen.state, PageState::Blind(why) if why.contains("offline")),
        "{seen:?}"
    );
    assert!(seen.signals.is_empty());
}

#[test]
fn certificates_are_read_and_bad_ones_are_an_outage() {
    let good = look(serve_tls(GOOD), nowhere());
    let Certificate::Until(at) = good.certificate else {
        panic!("{good:?}")
    };
    assert_eq!(
        (at.to_rfc3339().as_str(), good.state),
        ("2120-01-01T00:00:00+00:00", PageState::Up)
    );
    let expired = look(serve_tls(EXPIRED), nowhere());
    assert!(
        matches!(&expired.state, PageState::Down(why) if why.contains("expired")),
        "{expired:?}"
    );
    assert_eq!(expired.certificate, Certificate::Unknown);
}

/// A list of registries and one registry, which answers for names below `localhost`.
fn registry(answers: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| match path(request) {
        "/dns.json" => {
            let host = request
                .lines()
                .find_map(|line| line.strip_prefix("host: "))
                .unwrap_or_default();
            answer(&format!(
                r#"{{ "services": [[["localhost"], ["http://{host}/rdap/"]]] }}"#
            ))
        }
        other => answers(other),
    })
}

fn domain(host: &str, registry: &Server) -> Domain {
    let site = site();
    let mut url = site.url("/ok");
    url.set_host(Some(host)).unwrap();
    look(url, registry.url("/dns.json")).domain
}

#[test]
fn the_registry_of_the_name_says_when_it_ends() {
    let ends = testing::NOW.parse::<chrono::DateTime<chrono::Utc>>().unwrap() + TimeDelta::days(40);
    let said = format!(
        r#"{{ "events": [{{ "eventAction": "expiration", "eventDate": "{}" }}] }}"#,
        ends.to_rfc3339()
    );
    let knows = registry(move |path| match path {
        "/rdap/domain/shop.co.localhost" => answer(&said),
        "/rdap/domain/busy.localhost" => reply(429, &[], ""),
        "/rdap/domain/page.localhost" => reply(200, &[], "<html>"),
        "/rdap/domain/mute.localhost" => answer("{}"),
        _ => reply(404, &[], ""),
    });
    let found = domain("www.shop.co.localhost", &knows);
    assert!(
        matches!(&found, Domain::Until { name, at } if name == "shop.co.localhost" && *at == ends),
        "{found:?}"
    );
    for (host, says) in [
        ("busy", "429"),
        ("page", "JSON"),
        ("mute", "does not say"),
        ("none", "no such name"),
    ] {
        let found = domain(&format!("{host}.localhost"), &knows);
        assert!(
            matches!(&found, Domain::Unknown(why) if why.contains(says)),
            "{host}: {found:?}"
        );
    }
    assert_eq!(domain("localhost", &knows), Domain::None);
    let asked = |server: &Server| server.seen().iter().any(|request| path(request) == "/dns.json");
    assert!(asked(&knows));
    let unasked = registry(|_| panic!("nobody asks for an address"));
    assert_eq!(domain("127.0.0.1", &unasked), Domain::None);
    assert!(!asked(&unasked));
    let site = site();
    let mut url = site.url("/ok");
    url.set_host(Some("shop.localhost")).unwrap();
    let seen = look(url, nowhere());
    assert!(
        matches!(&seen.domain, Domain::Unknown(why) if why.contains("list of registries")),
        "{seen:?}"
    );
    assert_eq!(seen.state, PageState::Up, "what a registry says or not is no outage");
}
