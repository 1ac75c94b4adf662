use chrono::TimeDelta;
use serde_json::json;

use super::*;

fn ids() -> Ids {
    Ids {
        project: "p".to_owned(),
        environment: "e".to_owned(),
        service: "s".to_owned(),
    }
}

fn at(minute: i64) -> DateTime<Utc> {
    "2026-11-29T03:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minute)
}

/// A deployment that was made at a minute and came to its status one later; stopped unless it runs.
fn one(id: &str, status: &str, created: i64) -> Value {
    json!({
        "id": id, "status": status, "createdAt": at(created), "statusUpdatedAt": at(created + 1),
        "canRollback": status == "REMOVED", "deploymentStopped": status != "SUCCESS",
        "url": null, "staticUrl": "shop.example", "meta": { "commitHash": "c".repeat(40), "commitMessage": "Add\n\nmore" },
    })
}

fn read(
    list: &[Value],
    cron: Option<&str>,
    active: &[&str],
    live: &mut BTreeMap<String, DateTime<Utc>>,
) -> Deployments {
    let edges: Vec<Value> = list.iter().map(|node| json!({ "node": node })).collect();
    let active: Vec<Value> = active.iter().map(|id| json!({ "id": id })).collect();
    let service = json!({
        "serviceInstance": { "cronSchedule": cron, "activeDeployments": active }, "deployments": { "edges": edges },
    });
    deployments(serde_json::from_value(service).unwrap(), &ids(), live)
}

fn states(list: &[Value], cron: Option<&str>, active: &[&str]) -> Vec<State> {
    let found = read(list, cron, active, &mut BTreeMap::new());
    found.list.iter().map(|one| one.state).collect()
}

#[test]
fn every_status_has_its_meaning() {
    for (status, expected) in [
        ("QUEUED", State::UnderWay),
        ("WAITING", State::UnderWay),
        ("BUILDING", State::UnderWay),
        ("DEPLOYING", State::UnderWay),
        ("INITIALIZING", State::UnderWay),
        ("SUCCESS", State::Ready),
        ("SLEEPING", State::Ready),
        ("FAILED", State::Failed),
        ("CRASHED", State::Crashed),
        ("REMOVED", State::Removed),
        ("REMOVING", State::Removed),
        ("SKIPPED", State::Over),
        ("NEEDS_APPROVAL", State::Over),
        ("A_NEW_ONE", State::Over),
    ] {
        assert_eq!(states(&[one("a", status, 0)], None, &[]), [expected], "{status}");
    }
    assert!(read(&[one("a", "A_NEW_ONE", 0)], None, &[], &mut BTreeMap::new()).unknown);
    assert!(read(&[one("a", "SLEEPING", 0)], None, &[], &mut BTreeMap::new()).asleep);
}

#[test]
fn a_process_that_ended_is_down_only_where_people_reach_it() {
    let mut ended = one("a", "SUCCESS", 0);
    ended["deploymentStopped"] = true.into();
    assert_eq!(states(&[ended.clone()], None, &[]), [State::Crashed]);
    assert_eq!(
        states(&[ended.clone()], Some("0 * * * *"), &[]),
        [State::Ready],
        "it runs by the clock"
    );
    ended["staticUrl"] = Value::Null;
    assert_eq!(states(&[ended], None, &[]), [State::Ready], "a job");
}

#[test]
fn a_crash_beside_one_that_serves_is_no_outage() {
    let list = [one("new", "CRASHED", 5), one("old", "SUCCESS", 0)];
    assert_eq!(states(&list, None, &["old"]), [State::Failed, State::Ready]);
    assert_eq!(states(&list, None, &[]), [State::Crashed, State::Ready]);
}

#[test]
fn when_it_began_to_serve_is_the_same_in_every_look() {
    let mut live = BTreeMap::new();
    let since = |list: &[Value], live: &mut _| read(list, None, &[], live).list[0].live_since;
    assert_eq!(since(&[one("a", "BUILDING", 0)], &mut live), None);
    assert_eq!(since(&[one("a", "SUCCESS", 0)], &mut live), Some(at(1)));
    // It sleeps, wakes and is replaced: each changes the time of its status.
    let mut later = one("a", "SLEEPING", 0);
    later["statusUpdatedAt"] = json!(at(60));
    assert_eq!(since(&[later], &mut live), Some(at(1)));
    assert_eq!(since(&[one("a", "REMOVED", 0)], &mut live), Some(at(1)));
    assert_eq!(since(&[one("b", "FAILED", 0)], &mut live), None);
    assert!(live.is_empty(), "what is not listed any more is forgotten");
}

#[test]
fn texts_of_the_commit_and_a_place_to_look_go_along() {
    let found = read(&[one("d", "SUCCESS", 0)], None, &[], &mut BTreeMap::new());
    let one = &found.list[0];
    assert_eq!(one.sha.as_ref().unwrap().as_str(), "c".repeat(40));
    assert_eq!(one.subject, "Add\n\nmore");
    assert_eq!(
        one.url.as_deref(),
        Some("https://railway.com/project/p/service/s?environmentId=e&id=d")
    );
    let mut bare = self::one("d", "SUCCESS", 0);
    bare["meta"] = Value::Null;
    assert_eq!(read(&[bare], None, &[], &mut BTreeMap::new()).list[0].sha, None);
}

#[test]
fn the_step_that_failed_is_the_last_one_with_an_error() {
    let step = |list: Value| {
        let edges: Vec<Value> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|node| json!({ "node": node }))
            .collect();
        failed_step(serde_json::from_value(json!({ "deploymentEvents": { "edges": edges } })).unwrap())
    };
    let failed = json!([
        { "step": "BUILD_IMAGE", "completedAt": null, "payload": null },
        { "step": "HEALTHCHECK", "completedAt": null, "payload": { "error": "timed out", "reason": "no answer" } },
        { "step": "DRAIN_INSTANCES", "completedAt": null, "payload": { "error": "", "reason": null } },
    ]);
    assert_eq!(
        step(failed),
        Some(("HEALTHCHECK".to_owned(), "timed out (no answer)".to_owned()))
    );
    assert_eq!(step(json!([])), None);
    assert!(is_build_step("BUILD_IMAGE") && !is_build_step("HEALTHCHECK"));
}
