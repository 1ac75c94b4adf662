//! What is not told by itself, with the collectors that ship: a page that is down while a release goes out, and what a
//! provider's incident explains.

use serde_json::json;
use tick::demo::{Fault, Site, Which, services::ProviderIncident, vercel::Build};

use super::{stage, told};
use crate::spine::Stage;

/// The shop with a status page of Railway's, and a page that is given more time while it is deployed.
fn shop() -> Stage {
    let stage = stage();
    let mut config = stage.config();
    let page = format!("{}/status/railway/summary.json", stage.world.services_url());
    config["repos"]["shop"]["collectors"]["statuspage"]["values"] = json!({ "provider": "railway", "url": page });
    config["repos"]["shop"]["deploy_grace_minutes"] = json!(40);
    stage.configure(&config);
    assert_eq!(stage.json(&["--json"]).0, Some(0));
    stage.step(15);
    stage
}

impl Stage {
    /// The page of the shop answers with 503, and nothing else is wrong.
    fn page_goes_down(&self) {
        let fault = Fault::Status {
            code: 503,
            performed: false,
        };
        self.world
            .fault(Which::first("GET", "/health").on(Site::App).always(), fault);
    }

    /// One look: the subjects of what is told, and what the status says.
    fn tells(&self) -> (Vec<String>, String) {
        let (_, report, text) = self.json(&["--json"]);
        assert!(report["blind"].as_array().is_some_and(Vec::is_empty), "{text}");
        let mails = self.world.mail().take().unwrap();
        let (_, _, status) = self.json(&["status"]);
        let status: Vec<&str> = status.split_whitespace().collect();
        let status = status.join(" ");
        self.step(15);
        (mails.into_iter().map(|mail| mail.subject).collect(), status)
    }
}

/// As Vercel tells of it: a build is under way, the page goes down and is there again with the release.
#[test]
fn a_page_that_is_down_while_vercel_builds_is_told_when_it_stays_down() {
    let stage = shop();
    stage.world.town().vercel.build(Build {
        state: "BUILDING",
        production: true,
        sha: "b".repeat(40),
        at: stage.world.now(),
        log: String::new(),
    });
    stage.step(1);
    stage.page_goes_down();
    for _ in 0..2 {
        let (mails, status) = stage.tells();
        assert_eq!(mails, Vec::<String>::new(), "{status}");
        assert!(status.contains("held while a deployment is under way"), "{status}");
        assert!(status.contains("UNHEALTHY"), "held is not healthy: {status}");
    }
    stage.world.town().vercel.clear();
    let (mails, status) = stage.tells();
    assert!(mails.len() == 1 && mails[0].contains("HTTP 503"), "{mails:?} {status}");
    assert!(!status.contains("held while"), "{status}");
    stage.world.town().calm();
    let over: Vec<String> = (0..3).flat_map(|_| stage.tells().0).collect();
    assert!(over.len() == 1 && over[0].contains("over"), "{over:?}");
    stage.world.finish().unwrap();
}

#[test]
fn a_page_that_is_back_with_its_release_is_told_to_nobody() {
    let stage = shop();
    stage.world.town().vercel.build(Build {
        state: "BUILDING",
        production: true,
        sha: "b".repeat(40),
        at: stage.world.now(),
        log: String::new(),
    });
    stage.step(1);
    stage.page_goes_down();
    let mut mails = stage.tells().0;
    stage.world.town().calm();
    stage.world.town().vercel.clear();
    for _ in 0..3 {
        mails.extend(stage.tells().0);
    }
    assert_eq!(mails, Vec::<String>::new());
    stage.world.finish().unwrap();
}

/// Railway's page tells of an incident: the page that is down with it is part of it.
#[test]
fn an_incident_of_the_platform_explains_the_page() {
    let stage = shop();
    let services = &stage.world.town().services;
    services.incident(ProviderIncident {
        provider: "railway",
        id: "edge-1",
        name: "The edge is down",
        impact: "critical",
        component: "Edge",
        since: stage.world.now(),
    });
    stage.page_goes_down();
    let (code, snapshot, text) = stage.json(&["collect"]);
    assert_eq!(code, Some(0), "{text}");
    let seen = told(&snapshot);
    assert!(
        seen.iter()
            .any(|line| line == "statuspage | alert | critical | railway: The edge is down"),
        "{seen:?}"
    );
    assert!(
        seen.iter().any(|line| line.starts_with("health | health | critical")),
        "{seen:?}"
    );
    let mut mails = Vec::new();
    let mut last = String::new();
    for _ in 0..3 {
        let (more, status) = stage.tells();
        mails.extend(more);
        last = status;
    }
    assert!(
        mails.len() == 1 && mails[0].contains("railway reports an incident"),
        "one outage, one message: {mails:?} {last}"
    );
    assert!(last.contains("UNHEALTHY"), "{last}");
    stage.world.finish().unwrap();
}
