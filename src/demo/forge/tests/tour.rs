//! Every route of the forge, refusals included.

use super::*;

/// Calls every route at least once, refusals included.
fn tour(world: &World) {
    let (number, head) = open(world);
    world.wait_for_ci(&head).unwrap();
    world.act(Act::Review {
        login: "bob".into(),
        state: "APPROVED".into(),
        body: "fine".into(),
    });
    world.act(Act::Status {
        context: "preview".into(),
        state: "success".into(),
    });
    world.act(Act::OpenIssue { label: "bug".into() });
    world.act(Act::Rule {
        rule: json!({ "type": "required_linear_history" }),
    });
    assert_eq!(call(world, "GET", "/rate_limit", &Value::Null).status, 200);
    let run = get(world, "/actions/runs").json()["workflow_runs"][0]["id"].clone();
    let job = get(world, &format!("/actions/runs/{run}/jobs")).json()["jobs"][0]["id"].clone();
    for rest in [
        String::new(),
        "/branches/main".to_owned(),
        "/branches/fix%2Fauto-1".to_owned(),
        "/git/ref/heads/fix/auto-1".to_owned(),
        "/rules/branches/main".to_owned(),
        "/collaborators/bob/permission".to_owned(),
        "/commits".to_owned(),
        format!("/commits/{head}"),
        format!("/commits/{head}/status"),
        "/issues".to_owned(),
        format!("/issues/{}", number + 1),
        "/pulls".to_owned(),
        format!("/pulls/{number}"),
        format!("/pulls/{number}/files"),
        format!("/pulls/{number}/reviews"),
    ] {
        assert_eq!(get(world, &rest).status, 200, "{rest}");
    }
    assert_eq!(get(world, "/branches/main/protection").status, 404);
    assert_eq!(get(world, "/branches/nowhere").status, 404);
    assert_eq!(get(world, &format!("/actions/jobs/{job}/logs")).status, 302);
    let kept = get(world, &format!("/actions/runs/{run}/artifacts")).json();
    assert_eq!(kept["total_count"], 0);
    assert_eq!(get(world, &format!("/actions/artifacts/{job}/zip")).status, 410);
    let one = format!("/actions/runs/{run}");
    assert_eq!(get(world, &one).json()["run_attempt"], 1);
    let attempt = format!("/actions/runs/{run}/attempts");
    assert_eq!(get(world, &format!("{attempt}/1/jobs")).json()["total_count"], 2);
    assert_eq!(get(world, &format!("{attempt}/2/jobs")).status, 404);
    // These jobs ran nothing, so nothing is kept of them.
    assert_eq!(get(world, &format!("{attempt}/1/logs")).status, 404);
    assert_eq!(
        api(world, "POST", &format!("{one}/rerun-failed-jobs"), &json!({})).status,
        201
    );
    let labels = format!("/issues/{number}/labels");
    assert_eq!(
        api(world, "POST", &labels, &json!({ "labels": ["needs-human", "x:y"] })).status,
        200
    );
    assert_eq!(get(world, &labels).json().as_array().unwrap().len(), 2);
    assert_eq!(
        api(world, "DELETE", &format!("{labels}/x%3Ay"), &Value::Null).status,
        200
    );
    let events = get(world, &format!("/issues/{number}/events")).json();
    assert_eq!(events[0]["actor"]["login"], "tick-bot");
    let comments = format!("/issues/{number}/comments");
    let id = api(world, "POST", &comments, &json!({ "body": "one" })).json()["id"].clone();
    assert_eq!(
        api(
            world,
            "PATCH",
            &format!("/issues/comments/{id}"),
            &json!({ "body": "two" })
        )
        .status,
        200
    );
    assert_eq!(get(world, &comments).json()[0]["body"], "two");
    let reviewers = json!({ "reviewers": ["bob"] });
    assert_eq!(
        api(
            world,
            "POST",
            &format!("/pulls/{number}/requested_reviewers"),
            &reviewers
        )
        .status,
        201
    );
    assert_eq!(
        api(world, "PATCH", &format!("/pulls/{number}"), &json!({ "title": "t" })).json()["title"],
        "t"
    );
    no_threads(world, number);
    assert_eq!(merge(world, number, "0000").status, 409);
    assert_eq!(merge(world, number, &head).status, 200);
    assert_eq!(merge(world, number, &head).status, 405);
}

fn no_threads(world: &World, number: u64) {
    let threads = json!({ "query": "query { reviewThreads }", "variables": { "number": number } });
    let threads = call(world, "POST", "/graphql", &threads).json();
    let pull = &threads["data"]["repository"]["pullRequest"];
    assert_eq!(pull["reviewThreads"]["nodes"], json!([]));
}

#[test]
fn every_route_answers() {
    let world = quiet();
    tour(&world);
    let replies = world.town().log.replies();
    for (method, template, _) in crate::demo::forge::routes::ROUTES {
        let called = replies.iter().any(|r| r.method == *method && r.template == *template);
        assert!(called, "{method} {template} was not called");
    }
    world.finish().unwrap();
}
