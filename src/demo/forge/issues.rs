//! Issues, labels and comments. A pull is an issue too, and shares its number.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Desk, model::Comment, refuse};
use crate::demo::serve::Reply;

pub(super) fn list(desk: &mut Desk<'_>) -> Result<Reply> {
    if !desk.model.settings.issues {
        return Ok(refuse(410, "Issues are disabled for this repo"));
    }
    let wanted = desk.call.param("labels").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|l| !l.is_empty()).collect();
    let state = desk.call.param("state").unwrap_or_else(|| "open".into());
    let shapes = desk.shapes();
    let found: Vec<Value> = desk
        .model
        .issues
        .iter()
        .filter(|i| state == "all" || i.open == (state == "open"))
        .filter(|i| wanted.iter().all(|w| i.labels.iter().any(|l| l == w)))
        .map(|i| shapes.issue(i))
        .collect();
    Ok(desk.page(&found, None))
}

pub(super) fn get(desk: &mut Desk<'_>) -> Result<Reply> {
    if !desk.model.settings.issues {
        return Ok(refuse(410, "This issue was deleted"));
    }
    let n = desk.number("issue_number");
    Ok(match desk.model.issues.iter().find(|i| i.number == n) {
        Some(issue) => Reply::json(200, &desk.shapes().issue(issue)),
        None => refuse(404, "Not Found"),
    })
}

pub(super) fn labels(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    let Some(labels) = labels_of(desk, n).map(|l| l.clone()) else {
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
    let Some(labels) = labels_of(desk, n) else {
        return Ok(refuse(404, "Not Found"));
    };
    for name in &named {
        if !labels.contains(name) {
            labels.push(name.clone());
        }
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
    let Some(labels) = labels_of(desk, n) else {
        return Ok(refuse(404, "Not Found"));
    };
    if !labels.contains(&name) {
        return Ok(refuse(404, "Label does not exist"));
    }
    labels.retain(|l| *l != name);
    labels_reply(desk, n)
}

fn labels_reply(desk: &mut Desk<'_>, n: u64) -> Result<Reply> {
    let now = labels_of(desk, n).map(|l| l.clone()).unwrap_or_default();
    let shapes = desk.shapes();
    let shown: Vec<Value> = now.iter().map(|l| shapes.label(l)).collect();
    Ok(Reply::json(200, &json!(shown)))
}

fn labels_of<'d>(desk: &'d mut Desk<'_>, n: u64) -> Option<&'d mut Vec<String>> {
    let model = &mut *desk.model;
    let pull = model.pulls.iter_mut().find(|p| p.number == n).map(|p| &mut p.labels);
    pull.or_else(|| model.issues.iter_mut().find(|i| i.number == n).map(|i| &mut i.labels))
}

pub(super) fn comments(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("issue_number");
    if labels_of(desk, n).is_none() {
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
    if labels_of(desk, n).is_none() {
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
