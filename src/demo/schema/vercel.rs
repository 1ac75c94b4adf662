//! Every reply of the world's Vercel is held against the published description, and the collector reads it.

use std::path::Path;

use serde_json::{Value, json};

use super::Description;
use crate::demo::{Pace, VERCEL_TOKEN, World, WorldOptions, client, vercel::Build};

/// The description that lies in the repository.
fn description() -> Description {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let packed = std::fs::File::open(dir.join("vercel-openapi-subset.json.zst")).unwrap();
    let openapi: Value = serde_json::from_reader(zstd::Decoder::new(packed).unwrap()).unwrap();
    let additions = std::fs::read(dir.join("vercel-additions.json")).unwrap();
    Description::new(&openapi, &serde_json::from_slice(&additions).unwrap())
}

#[test]
fn replies_are_what_the_description_says() {
    let world = World::start(WorldOptions {
        pace: Pace::Assumed,
        app: false,
        ..WorldOptions::shop("2026-11-29T03:00:00Z".parse().unwrap())
    })
    .unwrap();
    let event = json!({ "type": "KeyError", "message": "'total'", "stack": "KeyError: 'total'", "route": "/cart" });
    client::request(
        world.tracker_url(),
        "POST",
        "/api/events",
        &[],
        event.to_string().as_bytes(),
    )
    .unwrap();
    let vercel = &world.town().vercel;
    for (state, production) in [("ERROR", true), ("BUILDING", true), ("ERROR", false)] {
        vercel.build(Build {
            state,
            production,
            sha: "b".repeat(40),
            at: world.now(),
            log: "TypeError: x".to_owned(),
        });
    }
    vercel.variable("STRIPE_KEY", world.now());
    vercel.domain_ends(world.now());
    let bearer = format!("Bearer {VERCEL_TOKEN}");
    let get =
        |path: &str| client::request(world.vercel_url(), "GET", path, &[("Authorization", &bearer)], b"").unwrap();
    let now = world.now().timestamp_millis();
    let logs = format!(
        "/api/logs/request-logs?projectId=prj_shop&ownerId=team_acme&startDate={}&endDate={}",
        now - 60_000,
        now + 60_000
    );
    let description = description();
    for (template, path) in [
        ("/v9/projects/{idOrName}", "/v9/projects/shop"),
        ("/v7/deployments", "/v7/deployments?projectId=prj_shop"),
        (
            "/v7/deployments",
            "/v7/deployments?target=production&until=1795921199000",
        ),
        (
            "/v3/deployments/{idOrUrl}/events",
            "/v3/deployments/dpl_planted0/events",
        ),
        ("/v10/projects/{idOrName}/env", "/v10/projects/prj_shop/env"),
        ("/v9/projects/{idOrName}/domains", "/v9/projects/prj_shop/domains"),
        ("/v5/domains", "/v5/domains"),
        ("/api/logs/request-logs", &logs),
    ] {
        let answer = get(path);
        let checked = description.check("GET", template, answer.status, &answer.json());
        assert_eq!((answer.status, checked), (200, Ok(())), "{path}");
    }
    assert_eq!(get(&logs).json()["rows"].as_array().unwrap().len(), 1);
    let refused = client::get(world.vercel_url(), "/v7/deployments").unwrap();
    assert_eq!(
        description.check("GET", "/v7/deployments", refused.status, &refused.json()),
        Ok(())
    );
    assert_eq!(refused.status, 403);
    world.finish().unwrap();
}
