//! The few things that only the forge's GraphQL can do: a draft made ready (or a draft again), and unresolved threads.
//! Answers carry every field that a caller may have asked for.

use anyhow::Result;
use serde_json::{Value, json};

use super::Desk;
use crate::demo::serve::Reply;

pub(super) fn answer(desk: &mut Desk<'_>) -> Result<Reply> {
    let body = desk.body();
    let query = body["query"].as_str().unwrap_or_default().to_owned();
    let variables = body["variables"].to_string();
    let named = |node: &str| query.contains(&format!("\"{node}\"")) || variables.contains(&format!("\"{node}\""));
    let data = if query.contains("markPullRequestReadyForReview") {
        set_draft(desk, "markPullRequestReadyForReview", false, named)
    } else if query.contains("convertPullRequestToDraft") {
        set_draft(desk, "convertPullRequestToDraft", true, named)
    } else if query.contains("reviewThreads") {
        threads(desk, &body["variables"])
    } else {
        let what = "no route for this GraphQL query";
        desk.town
            .log
            .error(desk.town.clock.now(), "forge", format!("{what}: {query}"));
        return Ok(Reply::json(501, &json!({ "message": what })));
    };
    Ok(Reply::json(
        200,
        &data.map_or_else(
            || json!({ "data": null, "errors": [{ "type": "NOT_FOUND", "message": "Could not resolve to a node" }] }),
            |data| json!({ "data": data }),
        ),
    ))
}

fn set_draft(desk: &mut Desk<'_>, mutation: &str, draft: bool, named: impl Fn(&str) -> bool) -> Option<Value> {
    let now = desk.town.clock.now();
    let pull = desk.model.pulls.iter_mut().find(|p| named(&p.node_id()))?;
    pull.draft = draft;
    pull.updated = now;
    desk.town.log.add(
        now,
        "forge",
        format!(
            "pull #{} {}",
            pull.number,
            if draft { "is a draft" } else { "is ready" }
        ),
    );
    let shown = json!({ "id": pull.node_id(), "number": pull.number, "isDraft": draft });
    Some(json!({ mutation: { "clientMutationId": null, "pullRequest": shown } }))
}

fn threads(desk: &Desk<'_>, variables: &Value) -> Option<Value> {
    let n = variables.as_object()?.values().find_map(Value::as_u64)?;
    let pull = desk.model.pulls.iter().find(|p| p.number == n)?;
    let nodes: Vec<Value> = (0..pull.open_threads)
        .map(|i| json!({ "id": format!("PRRT_{i}"), "isResolved": false, "isOutdated": false }))
        .collect();
    let page = json!({ "hasNextPage": false, "endCursor": null });
    Some(
        json!({ "repository": { "pullRequest": { "number": n, "reviewThreads": { "totalCount": nodes.len(), "nodes": nodes, "pageInfo": page } } } }),
    )
}
