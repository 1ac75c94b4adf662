//! The client against a scripted forge: every mapping from an answer to a variant.

mod reads;
mod writes;

use serde_json::{Value, json};

use crate::model::Sha;

fn id(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

fn pull_json(number: u64, head: char, changes: &Value) -> Value {
    let mut pull = json!({
        "number": number, "node_id": "PR_x", "html_url": format!("https://github.com/acme/shop/pull/{number}"),
        "state": "open", "draft": false, "title": "fix: a thing", "body": "text",
        "user": {"login": "tick-bot", "type": "User"},
        "head": {"ref": "fix/auto-7f3a91c0", "sha": head.to_string().repeat(40), "repo": {"full_name": "acme/shop"}},
        "base": {"ref": "main", "sha": "b".repeat(40), "repo": {"full_name": "acme/shop"}},
        "labels": [], "mergeable": null, "mergeable_state": "unknown", "merged": false, "merged_at": null,
        "merge_commit_sha": "c".repeat(40), "requested_reviewers": [{"login": "ann"}], "requested_teams": [],
        "updated_at": "2026-11-29T03:00:00Z",
    });
    for (key, value) in changes.as_object().unwrap() {
        pull[key] = value.clone();
    }
    pull
}
