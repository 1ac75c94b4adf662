//! Issues, labels and comments. A pull is an issue too, and shares its number.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Desk,
    model::{Comment, Issue, Pull},
    refuse,
};
use crate::demo::{clock::seconds, serve::Reply};

pub(super) fn list(desk: &mut Desk<'_>) -> Result<Reply> {
    if !desk.model.settings.issues {
        return Ok(refuse(410, "Issues are disabled for this repo"));
    }
    let wanted = desk.call.param("labels").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|l| !l.is_empty()).collect();
    let state = desk.call.param("state").unwrap_or_else(|| "open".into());
    let all: Vec<Issue> = desk
        .model
        .issues
        .iter()
        .cloned()
        .chain(desk.model.pulls.iter().map(as_issue))
        .filter(|i| state == "all" || i.open == (state == "open"))
        .filter(|i| wanted.iter().all(|w| i.labels.iter().any(|l| l == w)))
        .collect();
    let found: Vec<Value> = all.iter().map(|i| shown(desk, i)).collect();
    Ok(desk.page(&found, None))
}

pub(super) fn get(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    let pull = desk.model.pulls.iter().find(|p| p.number == n).map(as_issue);
    if pull.is_none() && !desk.model.settings.issues {
        return Ok(refuse(410, "This issue was deleted"));
    }
    let found = pull.or_else(|| desk.model.issues.iter().find(|i| i.number == n).cloned());
    Ok(match found {
        Some(issue) => Reply::json(200, &shown(desk, &issue)),
        None => refuse(404, "Not Found"),
    })
}

/// A pull as the issue side shows it.
fn as_issue(pull: &Pull) -> Issue {
    Issue {
        number: pull.number,
        title: pull.title.clone(),
        author: pull.author.clone(),
        labels: pull.labels.clone(),
        open: pull.open,
        created: pull.created,
    }
}

fn shown(desk: &Desk<'_>, issue: &Issue) -> Value {
    let shapes = desk.shapes();
    let mut body = shapes.issue(issue);
    if let Some(pull) = desk.model.pulls.iter().find(|p| p.number == issue.number) {
        let url = shapes.url(&format!("/pulls/{}", pull.number));
        body["pull_request"] = json!({ "url": url, "html_url": url, "diff_url": url, "patch_url": url });
        body["closed_by"] = pull.closed_by.as_ref().map_or(Value::Null, |login| shapes.user(login));
    }
    body
}

/// Who set which label.
pub(super) fn events(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    let shapes = desk.shapes();
    let found: Vec<Value> = desk
        .model
        .labelled
        .iter()
        .filter(|l| l.number == n)
        .map(|l| {
            json!({
                "id": l.id, "node_id": format!("LE_{}", l.id), "event": "labeled", "actor": shapes.user(&l.by),
                "url": shapes.url(&format!("/issues/events/{}", l.id)), "commit_id": null, "commit_url": null,
                "created_at": seconds(l.at), "performed_via_github_app": null,
                "label": { "name": l.label, "color": "ededed" },
            })
        })
        .collect();
    Ok(desk.page(&found, None))
}

pub(super) fn labels(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    let Some(labels) = desk.model.labels(n).map(|l| l.clone()) else {
        return Ok(refuse(404, "Not Found"));
    };
    let shapes = desk.shapes();
    let shown: Vec<Value> = labels.iter().map(|l| shapes.label(l)).collect();
    Ok(desk.page(&shown, None))
}

pub(super) fn add_labels(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    let body = desk.body();
    let named = body
        .get("labels")
        .unwrap_or(&body)
        .as_array()
        .cloned()
        .unwrap_or_default();
    let named: Vec<String> = named.iter().filter_map(|l| l.as_str().map(str::to_owned)).collect();
    let (now, bot) = (desk.town.clock.now(), desk.model.settings.bot.clone());
    if !named.iter().all(|name| desk.model.label(n, name, &bot, now)) {
        return Ok(refuse(404, "Not Found"));
    }
    desk.town.log.add(
        desk.town.clock.now(),
        "forge",
        format!("#{n} labelled {}", named.join(", ")),
    );
    labels_reply(desk, n)
}

pub(super) fn remove_label(desk: &mut Desk<'_>) -> Result<Reply> {
    let (n, name) = (desk.number("issue_number"), desk.arg("name").to_owned());
    let Some(labels) = desk.model.labels(n) else {
        return Ok(refuse(404, "Not Found"));
    };
    if !labels.contains(&name) {
        return Ok(refuse(404, "Label does not exist"));
    }
    labels.retain(|l| *l != name);
    labels_reply(desk, n)
}

fn labels_reply(desk: &mut Desk<'_>, n: u64) -> Result<Reply> {
    let now = desk.model.labels(n).map(|l| l.clone()).unwrap_or_default();
    let shapes = desk.shapes();
    let shown: Vec<Value> = now.iter().map(|l| shapes.label(l)).collect();
    Ok(Reply::json(200, &json!(shown)))
}

pub(super) fn comments(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    if desk.model.labels(n).is_none() {
        return Ok(refuse(404, "Not Found"));
    }
    let shapes = desk.shapes();
    let found: Vec<Value> = desk
        .model
        .comments
        .iter()
        .filter(|c| c.number == n)
        .map(|c| shapes.comment(c))
        .collect();
    Ok(desk.page(&found, None))
}

pub(super) fn add_comment(desk: &mut Desk<'_>) -> Result<Reply> {
    let (n, body) = (desk.number("issue_number"), text_of(desk));
    if desk.model.labels(n).is_none() {
        return Ok(refuse(404, "Not Found"));
    }
    let now = desk.town.clock.now();
    let comment = Comment {
        id: desk.model.next_id(),
        number: n,
        author: desk.model.settings.bot.clone(),
        body,
        created: now,
        updated: now,
    };
    desk.town.log.add(now, "forge", format!("comment on #{n}"));
    let reply = Reply::json(201, &desk.shapes().comment(&comment));
    desk.model.comments.push(comment);
    Ok(reply)
}

pub(super) fn edit_comment(desk: &mut Desk<'_>) -> Result<Reply> {
    let (id, body, now) = (desk.number("comment_id"), text_of(desk), desk.town.clock.now());
    let Some(comment) = desk.model.comments.iter_mut().find(|c| c.id == id) else {
        return Ok(refuse(404, "Not Found"));
    };
    comment.body = body;
    comment.updated = now;
    let edited = comment.clone();
    Ok(Reply::json(200, &desk.shapes().comment(&edited)))
}

fn text_of(desk: &Desk<'_>) -> String {
    desk.body()["body"].as_str().unwrap_or_default().to_owned()
}
