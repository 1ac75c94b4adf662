//! Pages as one look without configuration sees them: the health probe that a tick would use, followed wherever it sends
//! its visitors, and what else is known of the place.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use url::Url;

use super::{
    CollectContext,
    context::{Piece, Place, Session},
    health::{self, Seen},
    health_rules::Verdict,
    offline,
    rdap::Registries,
};
use crate::{
    config::HealthProbe,
    model::{
        Slot,
        page::{Certificate, PageState, SeenPage},
    },
};

/// The first probe of each repo that has one.
pub async fn pages(ctx: &CollectContext<'_>) -> BTreeMap<Slot, SeenPage> {
    let session = Session::new(ctx);
    let registries = Registries::new(&session);
    let probes = ctx.config.repos.values().filter_map(|repo| {
        let target = repo.targets.first()?;
        Some((Place::new("health", repo, target, &target.name), target.health.first()?))
    });
    let looks = join_all(probes.map(|(place, probe)| page(&session, &registries, place, probe))).await;
    let (mut pages, mut pieces): (Vec<_>, Vec<_>) = looks.into_iter().unzip();
    offline::judge(&mut pieces);
    for ((_, page), piece) in pages.iter_mut().zip(pieces) {
        if piece.outcome.cause == offline::CAUSE {
            let why = match &page.state {
                PageState::Down(what) => format!("{what}; {}", piece.outcome.detail),
                PageState::Up | PageState::Blind(_) => piece.outcome.detail,
            };
            page.state = PageState::Blind(why);
        }
        page.signals = piece.signals;
    }
    pages.into_iter().collect()
}

async fn page(
    session: &Session<'_>,
    registries: &Registries<'_>,
    place: Place<'_>,
    probe: &HealthProbe,
) -> ((Slot, SeenPage), Piece) {
    let ((seen, piece), domain) = tokio::join!(health::once(session, &place, probe), registries.until(&probe.url));
    let shown = |url: &Url| {
        let mut plain = url.clone();
        plain.set_query(None);
        plain.set_fragment(None);
        session.line(plain.as_str(), 300)
    };
    let response = seen.response.as_ref();
    let elsewhere = response.filter(|response| response.url.origin() != probe.url.origin());
    let page = SeenPage {
        url: shown(&probe.url),
        sends_to: elsewhere.map(|response| shown(&response.url)),
        state: match &seen.verdict {
            Verdict::Up => PageState::Up,
            Verdict::Down(down) => PageState::Down(session.line(&down.what, 300)),
            Verdict::Blind(why) => PageState::Blind(session.line(&why.detail, 300)),
        },
        status: response.map(|response| response.status.as_u16()),
        ms: response.map(|response| u64::try_from(response.elapsed.as_millis()).unwrap_or(u64::MAX)),
        samples: samples(&seen),
        certificate: certificate(&probe.url, &seen),
        domain,
        signals: Vec::new(),
    };
    ((place.repo.slot.clone(), page), piece)
}

/// Every sample was down, or the last one was not.
fn samples(seen: &Seen<'_>) -> usize {
    seen.samples.len() + usize::from(!matches!(seen.verdict, Verdict::Down(_)))
}

fn certificate(url: &Url, seen: &Seen<'_>) -> Certificate {
    match &seen.response {
        Some(response) => match response.not_after {
            Some(at) => Certificate::Until(at),
            None if response.url.scheme() == "http" => Certificate::None,
            None => Certificate::Unknown,
        },
        None if url.scheme() == "http" => Certificate::None,
        None => Certificate::Unknown,
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
