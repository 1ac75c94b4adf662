//! Repository, branches, rules, commits, permissions: everything that is read and never changed through the API.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Desk, git::CommitFacts, is_anonymous, refuse};
use crate::demo::serve::Reply;

pub(super) fn rate_limit(desk: &mut Desk<'_>) -> Result<Reply> {
    let one =
        json!({ "limit": 5000, "remaining": 4900, "used": 100, "reset": desk.town.clock.now().timestamp() + 3600 });
    let body = json!({ "rate": one, "resources": { "core": one, "search": one, "graphql": one } });
    Ok(Reply::json(200, &body))
}

pub(super) fn get(desk: &mut Desk<'_>) -> Result<Reply> {
    Ok(Reply::json(200, &desk.shapes().repository()))
}

pub(super) fn branch(desk: &mut Desk<'_>) -> Result<Reply> {
    let name = desk.arg("branch").to_owned();
    let Some((sha, facts)) = desk.forge.repo.facts(&format!("refs/heads/{name}"))? else {
        return Ok(refuse(404, "Branch not found"));
    };
    let shapes = desk.shapes();
    let protected = name == desk.forge.branch && !desk.model.settings.required_checks.is_empty();
    let required = if protected {
        desk.model.settings.required_checks.clone()
    } else {
        Vec::new()
    };
    let checks: Vec<Value> = required
        .iter()
        .map(|c| json!({ "context": c, "app_id": null }))
        .collect();
    let level = if protected { "non_admins" } else { "off" };
    let body = shapes.fill(
        "branch",
        json!({
            "name": name, "commit": commit_body(desk, &sha, &facts), "protected": protected,
            "protection": { "enabled": protected, "required_status_checks": { "enforcement_level": level, "contexts": required, "checks": checks } },
        }),
    );
    Ok(Reply::json(200, &body))
}

/// The forge of the world protects by rulesets only.
pub(super) fn protection(desk: &mut Desk<'_>) -> Result<Reply> {
    if is_anonymous(desk.call) {
        return Ok(refuse(401, "Requires authentication"));
    }
    Ok(refuse(404, "Branch not protected"))
}

pub(super) fn reference(desk: &mut Desk<'_>) -> Result<Reply> {
    let name = format!("refs/{}", desk.arg("ref"));
    let Some((sha, _)) = desk.forge.repo.facts(&name)? else {
        return Ok(refuse(404, "Not Found"));
    };
    let object = json!({ "type": "commit", "sha": sha, "url": desk.shapes().url(&format!("/git/commits/{sha}")) });
    let body = desk
        .shapes()
        .fill("ref", json!({ "ref": name, "node_id": "REF_1", "object": object }));
    Ok(Reply::json(200, &body))
}

pub(super) fn rules(desk: &mut Desk<'_>) -> Result<Reply> {
    let set = &desk.model.settings;
    let mut rules = Vec::new();
    if desk.arg("branch") == desk.forge.branch {
        if !set.required_checks.is_empty() {
            let checks: Vec<Value> = set.required_checks.iter().map(|c| json!({ "context": c })).collect();
            rules.push(json!({
                "type": "required_status_checks",
                "parameters": { "required_status_checks": checks, "strict_required_status_checks_policy": false },
            }));
        }
        rules.push(json!({
            "type": "pull_request",
            "parameters": {
                "required_approving_review_count": set.required_approvals, "require_code_owner_review": set.code_owner_review,
                "required_review_thread_resolution": set.conversation_resolution, "dismiss_stale_reviews_on_push": false,
                "require_last_push_approval": false, "allowed_merge_methods": ["squash"],
            },
        }));
        rules.extend(set.more_rules.iter().cloned());
    }
    for rule in &mut rules {
        rule["ruleset_source_type"] = json!("Repository");
        rule["ruleset_source"] = json!(desk.forge.full_name());
        rule["ruleset_id"] = json!(42);
    }
    Ok(desk.page(&rules, None))
}

pub(super) fn permission(desk: &mut Desk<'_>) -> Result<Reply> {
    let login = desk.arg("username").to_owned();
    let level = desk.model.permission(&login);
    let body = json!({ "permission": level, "role_name": level, "user": desk.shapes().user(&login) });
    Ok(Reply::json(200, &body))
}

pub(super) fn commit(desk: &mut Desk<'_>) -> Result<Reply> {
    let rev = desk.arg("ref").to_owned();
    Ok(match desk.forge.repo.facts(&rev)? {
        Some((sha, facts)) => Reply::json(200, &commit_body(desk, &sha, &facts)),
        None => refuse(422, &format!("No commit found for SHA: {rev}")),
    })
}

pub(super) fn commits(desk: &mut Desk<'_>) -> Result<Reply> {
    let from = desk.call.param("sha").unwrap_or_else(|| desk.forge.branch.clone());
    let list = desk
        .forge
        .repo
        .git(&["rev-list", "--max-count=100", "--end-of-options", &from], b"")?;
    let mut found = Vec::new();
    for sha in list.lines() {
        if let Some((sha, facts)) = desk.forge.repo.facts(sha)? {
            found.push(commit_body(desk, &sha, &facts));
        }
    }
    Ok(desk.page(&found, None))
}

fn commit_body(desk: &Desk<'_>, sha: &str, facts: &CommitFacts) -> Value {
    let shapes = desk.shapes();
    let url = |sha: &str| shapes.url(&format!("/commits/{sha}"));
    let who = json!({ "name": facts.author, "email": format!("{}@shop.example", facts.author), "date": facts.at });
    let parents: Vec<Value> = facts
        .parents
        .iter()
        .map(|p| json!({ "sha": p, "url": url(p) }))
        .collect();
    shapes.fill(
        "commit",
        json!({
            "sha": sha, "node_id": format!("C_{sha}"), "url": url(sha), "parents": parents,
            "commit": {
                "author": who, "committer": who, "message": facts.message, "comment_count": 0, "url": url(sha),
                "tree": { "sha": facts.tree, "url": shapes.url(&format!("/git/trees/{}", facts.tree)) },
            },
        }),
    )
}
