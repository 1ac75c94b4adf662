//! The squash merge: every refusal of the real host, and a real commit when nothing speaks against it.

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    Author, By, Desk, Forge,
    git::Merged,
    model::{Model, Pull},
    refuse,
};
use crate::demo::{faults::Fault, serve::Reply, town::Town};

pub(super) fn merge(desk: &mut Desk<'_>) -> Result<Reply> {
    let (n, body) = (desk.number("pull_number"), desk.body());
    let Some(pull) = desk.model.pull(n).map(|p| p.clone()) else {
        return Ok(refuse(404, "Not Found"));
    };
    if !pull.open {
        return Ok(refuse(405, "Pull Request is not mergeable"));
    }
    if pull.draft {
        return Ok(refuse(405, "Pull Request is still a draft"));
    }
    if body["merge_method"] != "squash" {
        return Ok(refuse(405, "Merge commits are not allowed on this repository."));
    }
    if !desk.model.settings.squash {
        return Ok(refuse(405, "Squash merges are not allowed on this repository."));
    }
    if let Some(sha) = body["sha"].as_str()
        && sha != pull.head_sha
    {
        return Ok(refuse(409, "Head branch was modified. Review and try the merge again."));
    }
    if let Some(why) = unmet(desk.model, &pull) {
        return Ok(refuse(405, &why));
    }
    let title = body["commit_title"].as_str().unwrap_or(&pull.title).to_owned();
    let text = body["commit_message"].as_str().unwrap_or_default();
    let message = format!("{title}\n\n{text}").trim_end().to_owned();
    if desk.faults.contains(&Fault::MergedWithoutCommit) {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        desk.town.log.add(
            desk.town.clock.now(),
            "forge",
            format!("pull #{n} said to be merged, without a commit"),
        );
        return Ok(merged(sha));
    }
    let by = desk.model.settings.bot.clone();
    Ok(
        match land(desk.town, desk.forge, desk.model, n, &by, &message, desk.faults)? {
            Some(sha) => merged(&sha),
            None => refuse(405, "Pull Request is not mergeable"),
        },
    )
}

fn merged(sha: &str) -> Reply {
    Reply::json(
        200,
        &json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" }),
    )
}

/// The first condition of the repository that this pull does not meet.
pub(super) fn unmet(model: &Model, pull: &Pull) -> Option<String> {
    let jobs = model.newest_jobs(&pull.head_sha);
    for name in &model.settings.required_checks {
        let job = jobs.iter().find(|j| j.name == *name);
        let word = match job {
            Some(job) if job.is_green() => continue,
            Some(job) if job.conclusion.is_some() && job.completed.is_some() => "failing",
            Some(_) | None => "expected",
        };
        return Some(format!("Required status check \"{name}\" is {word}."));
    }
    let reviews = pull.standing_reviews();
    let writes = |login: &str| matches!(model.permission(login), "admin" | "write" | "maintain");
    if reviews
        .values()
        .any(|r| r.state == "CHANGES_REQUESTED" && writes(&r.author))
        && model.settings.required_approvals > 0
    {
        return Some("Changes were requested by a reviewer with write access.".to_owned());
    }
    let approvals = reviews
        .values()
        .filter(|r| r.state == "APPROVED" && writes(&r.author))
        .count();
    if approvals < usize::try_from(model.settings.required_approvals).unwrap_or(0) {
        return Some("At least 1 approving review is required by reviewers with write access.".to_owned());
    }
    if model.settings.conversation_resolution && pull.open_threads > 0 {
        return Some("A conversation must be resolved before this pull request can be merged.".to_owned());
    }
    None
}

/// Squashes an open pull into its base. None when it does not apply.
pub fn land(
    town: &Town,
    forge: &Forge,
    model: &mut Model,
    number: u64,
    by: &str,
    message: &str,
    faults: &[Fault],
) -> Result<Option<String>> {
    let repo = &forge.repo;
    let before = repo.heads()?;
    let pull = model.pull(number).context("the pull exists")?.clone();
    if faults.contains(&Fault::WrongParent) {
        town.person_commits(model, &forge.branch, "a commit that lands first")?;
    }
    let base = repo.head(&pull.base)?.context("the base branch exists")?;
    let Merged::Tree(mut tree) = repo.merge(&base, &pull.head_sha)? else {
        return Ok(None);
    };
    if faults.contains(&Fault::WrongTree) {
        // The tree of the base: a squash that lost the change.
        tree = repo.facts(&base)?.context("the base is a commit")?.1.tree;
    }
    let at = town.clock.now();
    let sha = repo.commit_tree(&tree, &base, Author { name: by, at }, message)?;
    repo.move_head(&pull.base, &sha, &base)?;
    if let Some(pull) = model.pull(number) {
        pull.open = false;
        pull.merged_at = Some(at);
        pull.updated = at;
        pull.merge_sha = Some(sha.clone());
        pull.closed_by = Some(by.to_owned());
    }
    town.log
        .add(at, "forge", format!("pull #{number} squashed as {sha} by {by}"));
    town.pushed(model, &before, &repo.heads()?, By::Merge)?;
    Ok(Some(sha))
}
