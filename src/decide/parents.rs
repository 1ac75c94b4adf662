//! Which cause explains another, so that one outage is one message: the provider's incident explains what it serves, a failed
//! deployment the pages of its target, a host that is down what is asked of it. What is still there when the explanation is
//! over opens by itself.

use crate::{
    model::{Slot, signal::SignalKind},
    text::signature::EXACT,
};

/// How the text begins by which the incident of a provider is signed.
pub const PROVIDER: &str = "incident of the provider ";

/// A cause, as far as it can explain or be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    pub repo: Slot,
    pub target: String,
    pub kind: SignalKind,
    /// What kind of trouble its text is.
    pub label: String,
    /// It is the incident of this provider.
    pub provider: Option<String>,
    /// The host that a probe asks.
    pub host: Option<String>,
    /// Providers that its target stands on.
    pub uses: Vec<String>,
}

/// Providers whose service is no page of ours: they do not explain that one is down.
const SERVE_NOTHING: [&str; 6] = ["github", "sentry", "anthropic", "claude", "openai", "resend"];

/// The provider that a signed text is an incident of.
pub fn provider_of(signed_text: &str) -> Option<&str> {
    incident_of(signed_text).map(|(provider, _)| provider)
}

/// The provider, and by what it is known there.
pub fn incident_of(signed_text: &str) -> Option<(&str, &str)> {
    let text = signed_text.strip_prefix(EXACT).unwrap_or(signed_text);
    text.strip_prefix(PROVIDER)?.split_once(": ")
}

/// Whether the parent is why the child is there.
pub fn explains(parent: &Party, child: &Party) -> bool {
    if rank(parent) >= rank(child) {
        return false;
    }
    if let Some(provider) = &parent.provider {
        let own = parent.repo == child.repo && parent.target == child.target;
        return (own || child.uses.contains(provider)) && provider_explains(provider, child);
    }
    let same_target = parent.repo == child.repo && parent.target == child.target;
    match parent.kind {
        SignalKind::Deploy => same_target && is_asked(child.kind),
        SignalKind::Health => {
            same_target && child.kind == SignalKind::Probe && parent.host.is_some() && parent.host == child.host
        }
        SignalKind::Probe
        | SignalKind::Log
        | SignalKind::Exception
        | SignalKind::Ci
        | SignalKind::Session
        | SignalKind::Task
        | SignalKind::Alert => false,
    }
}

fn provider_explains(provider: &str, child: &Party) -> bool {
    let infrastructure = child.label == "infrastructure";
    match child.kind {
        SignalKind::Health | SignalKind::Probe | SignalKind::Deploy => !SERVE_NOTHING.contains(&provider),
        // An error in the code is not the provider's, whatever its trouble.
        SignalKind::Log | SignalKind::Exception | SignalKind::Alert => infrastructure,
        SignalKind::Ci => provider == "github" && infrastructure,
        SignalKind::Session | SignalKind::Task => false,
    }
}

fn is_asked(kind: SignalKind) -> bool {
    super::hold::is_probe(kind)
}

/// The order in which causes of one look open: what can explain others first.
pub fn order(kind: SignalKind) -> u8 {
    match kind {
        SignalKind::Deploy => 1,
        SignalKind::Health => 2,
        SignalKind::Probe
        | SignalKind::Log
        | SignalKind::Exception
        | SignalKind::Ci
        | SignalKind::Session
        | SignalKind::Task
        | SignalKind::Alert => 3,
    }
}

/// What can explain stands below what it explains, so that nothing explains itself in a circle.
fn rank(party: &Party) -> u8 {
    if party.provider.is_some() { 0 } else { order(party.kind) }
}

/// Only a few kinds explain anything: the rest need not be asked.
pub fn can_explain(party: &Party) -> bool {
    rank(party) < order(SignalKind::Log)
}

/// The place among the parents of the one that explains this cause, and is explained by none itself.
pub fn root(parents: &[Party], child: &Party) -> Option<usize> {
    let mut found = parents.iter().position(|parent| explains(parent, child))?;
    while let Some(next) = parents.iter().position(|parent| explains(parent, &parents[found])) {
        found = next;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(place: &str, kind: SignalKind) -> Party {
        let (repo, target) = place.split_once('/').unwrap_or((place, place));
        Party {
            repo: Slot::parse(repo).unwrap(),
            target: target.to_owned(),
            kind,
            label: "bug".to_owned(),
            provider: None,
            host: Some("acme.example".to_owned()),
            uses: vec!["vercel".to_owned()],
        }
    }

    fn incident_of(provider: &str) -> Party {
        Party {
            provider: Some(provider.to_owned()),
            host: None,
            ..party("status", SignalKind::Alert)
        }
    }

    #[test]
    fn a_providers_incident_explains_what_it_serves_and_no_error_in_the_code() {
        let vercel = incident_of("vercel");
        for kind in [SignalKind::Health, SignalKind::Probe, SignalKind::Deploy] {
            assert!(explains(&vercel, &party("web", kind)), "{kind:?}");
            assert!(!explains(&incident_of("railway"), &party("web", kind)), "not used");
        }
        let mut error = party("web", SignalKind::Exception);
        assert!(!explains(&vercel, &error));
        error.label = "infrastructure".to_owned();
        assert!(explains(&vercel, &error));
        let mut page = party("web", SignalKind::Health);
        page.uses = vec!["sentry".to_owned(), "github".to_owned()];
        assert!(!explains(&incident_of("sentry"), &page), "a tracker serves no page");
        let mut red = party("web", SignalKind::Ci);
        red.uses = vec!["github".to_owned()];
        red.label = "infrastructure".to_owned();
        assert!(explains(&incident_of("github"), &red));
        let mut own = incident_of("fly");
        (own.repo, own.target) = (page.repo.clone(), page.target.clone());
        assert!(explains(&own, &page), "whoever watches its status page stands on it");
        assert_eq!(
            provider_of("incident of the provider vercel: builds fail"),
            Some("vercel")
        );
        assert_eq!(provider_of("the provider fails"), None);
    }

    #[test]
    fn a_failed_deployment_and_a_host_that_is_down_explain_what_is_asked_of_them() {
        let deploy = party("shop/web", SignalKind::Deploy);
        let page = party("shop/web", SignalKind::Health);
        let mut rpc = party("shop/web", SignalKind::Probe);
        assert!(explains(&deploy, &page) && explains(&deploy, &rpc) && explains(&page, &rpc));
        assert!(!explains(&page, &deploy) && !explains(&rpc, &page) && !explains(&page, &page));
        assert!(
            !explains(&deploy, &party("shop/api", SignalKind::Health)),
            "another target"
        );
        rpc.host = Some("rpc.acme.example".to_owned());
        assert!(!explains(&page, &rpc), "another host");
    }

    #[test]
    fn what_explains_is_followed_to_its_root() {
        let all = [
            party("web", SignalKind::Probe),
            party("web", SignalKind::Health),
            party("web", SignalKind::Deploy),
            incident_of("vercel"),
            party("other", SignalKind::Exception),
        ];
        let roots = all.each_ref().map(|child| root(&all, child));
        assert_eq!(roots, [Some(3), Some(3), Some(3), None, None]);
        assert_eq!(root(&all[..3], &all[0]), Some(2));
        assert_eq!(root(&all[..2], &all[0]), Some(1));
    }
}
