//! Pull requests: list, open, read, edit, files, reviews. A pull's head follows its branch while it is open.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Desk, Forge,
    git::Merged,
    invalid,
    model::{Model, Pull},
    refuse,
};
use crate::demo::{faults::Fault, serve::Reply};

pub(super) fn list(desk: &mut Desk<'_>) -> Result<Reply> {
    let state = desk.call.param("state").unwrap_or_else(|| "open".into());
    let head = desk.call.param("head");
    let base = desk.call.param("base");
    let owner = &desk.forge.owner;
    let shapes = desk.shapes();
    let mut found: Vec<&Pull> = desk
        .model
        .pulls
        .iter()
        .filter(|p| state == "all" || p.open == (state == "open"))
        .filter(|p| {
            head.as_ref()
                .is_none_or(|h| *h == p.head || h.eq_ignore_ascii_case(&format!("{owner}:{}", p.head)))
        })
        .filter(|p| base.as_ref().is_none_or(|b| *b == p.base))
        .collect();
    found.reverse();
    let mut shown: Vec<Value> = Vec::new();
    for pull in found {
        let base = base_head(desk.forge, pull)?;
        shown.push(shapes.pull("pull_simple", pull, &pull.head_sha, &base));
    }
    Ok(desk.page(&shown, None))
}

pub(super) fn create(desk: &mut Desk<'_>) -> Result<Reply> {
    let body = desk.body();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (head, base, draft) = (text("head"), text("base"), body["draft"] == true);
    let head = head
        .strip_prefix(&format!("{}:", desk.forge.owner))
        .unwrap_or(&head)
        .to_owned();
    let repo = &desk.forge.repo;
    let (Some(head_sha), Some(base_sha)) = (repo.head(&head)?, repo.head(&base)?) else {
        return Ok(invalid("PullRequest", "invalid", "head or base does not exist"));
    };
    if desk
        .model
        .pulls
        .iter()
        .any(|p| p.open && p.head == head && p.base == base)
    {
        let message = format!("A pull request already exists for {}:{head}.", desk.forge.owner);
        return Ok(invalid("PullRequest", "custom", &message));
    }
    if repo.is_ancestor(&head_sha, &base_sha)? {
        return Ok(invalid(
            "PullRequest",
            "custom",
            &format!("No commits between {base} and {head}"),
        ));
    }
    if draft && !desk.model.settings.drafts {
        return Ok(invalid(
            "PullRequest",
            "custom",
            "Draft pull requests are not supported in this repository.",
        ));
    }
    let now = desk.town.clock.now();
    let pull = Pull {
        number: desk.model.next_number(),
        title: text("title"),
        body: text("body"),
        author: desk.model.settings.bot.clone(),
        head_before: head_sha.clone(),
        head,
        head_sha,
        base,
        base_sha,
        draft,
        open: true,
        closed_by: None,
        merged_at: None,
        merge_sha: None,
        labels: Vec::new(),
        reviewers: Vec::new(),
        reviews: Vec::new(),
        open_threads: 0,
        created: now,
        updated: now,
    };
    desk.town
        .log
        .add(now, "forge", format!("pull #{} opened from {}", pull.number, pull.head));
    desk.model.pulls.push(pull.clone());
    Ok(Reply::json(201, &full(desk, &pull)?))
}

pub(super) fn get(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("pull_number");
    Ok(match desk.model.pull(n).map(|p| p.clone()) {
        Some(pull) => Reply::json(200, &full(desk, &pull)?),
        None => refuse(404, "Not Found"),
    })
}

pub(super) fn edit(desk: &mut Desk<'_>) -> Result<Reply> {
    let (n, body, now) = (desk.number("pull_number"), desk.body(), desk.town.clock.now());
    let bot = desk.model.settings.bot.clone();
    let Some(pull) = desk.model.pull(n) else {
        return Ok(refuse(404, "Not Found"));
    };
    if let Some(title) = body["title"].as_str() {
        title.clone_into(&mut pull.title);
    }
    if let Some(text) = body["body"].as_str() {
        text.clone_into(&mut pull.body);
    }
    match body["state"].as_str() {
        Some("closed") if pull.open => {
            pull.open = false;
            pull.closed_by = Some(bot);
        }
        Some("open") if !pull.open && pull.merged_at.is_none() => {
            pull.open = true;
            pull.closed_by = None;
        }
        _ => {}
    }
    pull.updated = now;
    let edited = pull.clone();
    desk.town.log.add(now, "forge", format!("pull #{n} edited"));
    Ok(Reply::json(200, &full(desk, &edited)?))
}

pub(super) fn files(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("pull_number");
    let Some(pull) = desk.model.pull(n).map(|p| p.clone()) else {
        return Ok(refuse(404, "Not Found"));
    };
    let shapes = desk.shapes();
    let changed = desk.forge.repo.changed(&pull.base_sha, &pull.head_sha)?;
    let shown: Vec<Value> = changed
        .into_iter()
        .map(|(letter, added, removed, path)| {
            let status = match letter {
                'A' => "added",
                'D' => "removed",
                _ => "modified",
            };
            let counts = json!({ "filename": path, "status": status, "additions": added, "deletions": removed, "changes": added + removed });
            shapes.fill("file", counts)
        })
        .collect();
    Ok(desk.page(&shown, None))
}

pub(super) fn reviews(desk: &mut Desk<'_>) -> Result<Reply> {
    let n = desk.number("pull_number");
    let Some(pull) = desk.model.pull(n).map(|p| p.clone()) else {
        return Ok(refuse(404, "Not Found"));
    };
    let shapes = desk.shapes();
    let shown: Vec<Value> = pull.reviews.iter().map(|r| shapes.review(n, r)).collect();
    Ok(desk.page(&shown, None))
}

pub(super) fn request_reviewers(desk: &mut Desk<'_>) -> Result<Reply> {
    let (n, body) = (desk.number("pull_number"), desk.body());
    let Some(pull) = desk.model.pull(n) else {
        return Ok(refuse(404, "Not Found"));
    };
    for login in body["reviewers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if login == pull.author {
            let message = "Review cannot be requested from pull request author.";
            return Ok(invalid("PullRequest", "custom", message));
        }
        if !pull.reviewers.iter().any(|r| r == login) {
            pull.reviewers.push(login.to_owned());
        }
    }
    let pull = pull.clone();
    let base = base_head(desk.forge, &pull)?;
    Ok(Reply::json(
        201,
        &desk.shapes().pull("pull_simple", &pull, &pull.head_sha, &base),
    ))
}

/// The base's present head while the pull is open, and what it was opened on afterwards.
fn base_head(forge: &Forge, pull: &Pull) -> Result<String> {
    Ok(if pull.open { forge.repo.head(&pull.base)? } else { None }.unwrap_or_else(|| pull.base_sha.clone()))
}

/// What stands between an open pull and its merge, in the forge's words.
pub(super) fn mergeable_state(forge: &Forge, model: &Model, pull: &Pull, base: &str) -> Result<&'static str> {
    Ok(if pull.draft {
        "draft"
    } else if pull.open && forge.repo.merge(base, &pull.head_sha)? == Merged::Conflict {
        "dirty"
    } else if super::merge::unmet(model, pull).is_some() {
        "blocked"
    } else {
        "clean"
    })
}

fn full(desk: &Desk<'_>, pull: &Pull) -> Result<Value> {
    let base = base_head(desk.forge, pull)?;
    let state = mergeable_state(desk.forge, desk.model, pull, &base)?;
    let stale = desk.faults.contains(&Fault::StaleHead);
    let head = if stale { &pull.head_before } else { &pull.head_sha };
    let changed = desk.forge.repo.changed(&pull.base_sha, &pull.head_sha)?;
    let mut body = desk.shapes().pull("pull", pull, head, &base);
    body["merged"] = json!(pull.merged_at.is_some());
    body["merged_by"] = pull
        .closed_by
        .as_ref()
        .filter(|_| pull.merged_at.is_some())
        .map_or(Value::Null, |login| desk.shapes().user(login));
    body["mergeable"] = json!(pull.open && state != "dirty");
    body["mergeable_state"] = json!(if pull.open { state } else { "unknown" });
    body["changed_files"] = json!(changed.len());
    body["additions"] = json!(changed.iter().map(|c| c.1).sum::<u64>());
    body["deletions"] = json!(changed.iter().map(|c| c.2).sum::<u64>());
    body["comments"] = json!(desk.model.comments.iter().filter(|c| c.number == pull.number).count());
    Ok(body)
}
