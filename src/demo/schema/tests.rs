use std::path::Path;

use super::*;

/// The description that lies in the repository.
pub(crate) fn github() -> Description {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let packed = std::fs::File::open(dir.join("github-openapi-subset.json.zst")).unwrap();
    let openapi: Value = serde_json::from_reader(zstd::Decoder::new(packed).unwrap()).unwrap();
    let additions = std::fs::read(dir.join("github-additions.json")).unwrap();
    Description::new(&openapi, &serde_json::from_slice(&additions).unwrap())
}

#[test]
fn nullable_becomes_a_union_and_names_stay_names() {
    let openapi = json!({
        "type": "object",
        "required": ["nullable"],
        "properties": {
            "nullable": {"type": "boolean"},
            "body": {"type": "string", "nullable": true, "enum": ["a"]},
            "user": {"nullable": true, "allOf": [{"type": "object"}]},
            "plain": {"type": "string", "nullable": false}
        }
    });
    let validator = jsonschema::validator_for(&as_json_schema(&openapi)).unwrap();
    let check = |body: Value, valid: bool| assert_eq!(validator.is_valid(&body), valid, "{body}");
    check(
        json!({"nullable": true, "body": null, "user": null, "plain": "x"}),
        true,
    );
    check(json!({"nullable": true, "body": "a", "user": {}}), true);
    check(json!({"nullable": true, "body": "b"}), false);
    check(json!({"nullable": true, "plain": null}), false);
    check(json!({"nullable": null}), false);
    check(json!({}), false);
}

#[test]
fn a_reply_is_held_against_its_own_place() {
    let github = github();
    let merge = "/repos/{owner}/{repo}/pulls/{pull_number}/merge";
    let merged = json!({"sha": "a".repeat(40), "merged": true, "message": "Pull Request successfully merged"});
    assert_eq!(github.check("PUT", merge, 200, &merged), Ok(()));
    assert_eq!(
        github.check("put", merge, 405, &json!({"message": "Pull Request is not mergeable"})),
        Ok(())
    );
    let refused = |method: &str, path: &str, status: u16, body: Value| {
        let problems = github.check(method, path, status, &body).unwrap_err();
        problems.join("\n")
    };
    assert!(refused("PUT", merge, 200, json!({"sha": 7, "merged": true, "message": ""})).contains("/sha"));
    assert!(refused("PUT", merge, 200, json!({"merged": true, "message": ""})).contains("\"sha\" is a required"));
    assert!(refused("PUT", merge, 418, json!({})).contains("status is not described"));
    assert!(refused("DELETE", merge, 200, json!({})).contains("no such call"));
    assert!(refused("PUT", merge, 401, json!({"message": 1})).contains("/message"));
    assert_eq!(
        github.check("PUT", merge, 401, &json!({"message": "Bad credentials"})),
        Ok(())
    );
    let logs = "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs";
    assert_eq!(github.check("GET", logs, 302, &Value::Null), Ok(()));
    assert!(github.check("GET", logs, 302, &json!({})).is_err());
}

#[test]
fn additions_do_not_replace_what_is_published() {
    let openapi = json!({"paths": {"/a": {"get": {"responses": {"200": {}}}}}});
    let additions =
        json!({"paths": {"/a": {"put": {"responses": {"200": {}}}}, "/b": {"get": {"responses": {"200": {}}}}}});
    let both = Description::new(&openapi, &additions);
    assert_eq!(both.check("GET", "/a", 200, &Value::Null), Ok(()));
    assert_eq!(both.check("GET", "/b", 200, &Value::Null), Ok(()));
    assert!(both.check("PUT", "/a", 200, &Value::Null).is_err());
}

#[test]
fn times_are_checked() {
    let github = github();
    let events = "/repos/{owner}/{repo}/issues/{issue_number}/events";
    let event = |at: &str| json!([{"id": 1, "event": "labeled", "actor": null, "created_at": at}]);
    assert_eq!(github.check("GET", events, 200, &event("2026-11-29T03:00:00Z")), Ok(()));
    assert!(github.check("GET", events, 200, &event("yesterday")).is_err());
}
