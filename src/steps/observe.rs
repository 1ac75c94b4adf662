//! The outside reads that a stage wants, and no others. A read that fails is named; it is never a value.

use super::{Ctx, hands::github_name, hindered};
use crate::{
    adapters::github::GitHubErrorKind,
    config::Repo,
    decide::facts::{Facts, Need, Seen},
    model::{
        RepoName, Sha,
        pull::{StopSign, StopSigns},
    },
};

pub(super) async fn observe(ctx: &Ctx, repo: &Repo, facts: &Facts, need: Need) -> Seen {
    let mut seen = Seen::default();
    if need == Need::default() {
        return seen;
    }
    if let Err(error) = read(ctx, repo, facts, need, &mut seen).await {
        seen.unreadable.push(format!("{error:#}"));
    }
    seen
}

async fn read(ctx: &Ctx, repo: &Repo, facts: &Facts, need: Need, seen: &mut Seen) -> anyhow::Result<()> {
    let github = ctx.github();
    let name = github_name(repo)?;
    let (info, branch) = ctx.repo_info(repo).await?;
    seen.base_branch = Some(branch.clone());
    if need.rules {
        let rules = github.rules(name, &info, &branch).await?;
        let number = facts
            .revert
            .as_ref()
            .map_or_else(|| facts.pull.as_ref().map(|p| p.number), |r| r.pull);
        if rules.conversation_resolution
            && let Some(number) = number
        {
            seen.threads = Some(github.unresolved_threads(name, number).await?);
        }
        seen.rules = Some(rules);
    }
    if need.base {
        seen.base = github.branch_head(name, &branch).await?;
    }
    if need.failed_release
        && let (Some(release), Some(base)) = (&facts.failed_release, &seen.base)
        && is_behind(ctx, repo, release, base).await?
    {
        seen.failed_release = Some(release.clone());
    }
    if need.pull
        && let Some(ours) = &facts.pull
    {
        seen.pull = Some(github.pull(name, ours.number).await?);
    }
    if need.revert_pull
        && let Some(revert) = &facts.revert
        && let Some(number) = revert.pull
    {
        seen.revert_pull = Some(github.pull(name, number).await?);
    }
    if need.checks {
        let head = match &facts.revert {
            Some(revert) => revert.pushed.and(revert.head.as_ref()),
            None => facts.pushed.as_ref().map(|p| &p.head),
        };
        if let Some(head) = head {
            seen.checks = Some(github.checks(name, head).await?);
        }
    }
    if need.ci
        && let Some(sha) = facts.awaited_by_ci()
    {
        seen.checks = Some(github.checks(name, &sha).await?);
    }
    if need.rerun
        && let Some((run, _)) = &facts.rerun.sent
    {
        match github.run(name, run.id).await {
            Ok(is) => seen.rerun = Some(is),
            // It cannot be seen, which is waited for no longer than a run that does not end.
            Err(error) if hindered::denied(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if need.landed
        && let Some(merge) = &facts.merge
    {
        match github.commit(name, &merge.sha).await {
            Ok(commit) => seen.landed = Some(commit),
            // The host says 422 about a commit that it does not know.
            Err(error) if matches!(error.kind, GitHubErrorKind::NotFound | GitHubErrorKind::Refused(422)) => {
                seen.landed_missing = true;
            }
            Err(error) => return Err(error.into()),
        }
    }
    // Last, so that nothing lies between this read and the write that it allows.
    if need.stop {
        seen.stop = Some(stop_signs(ctx, facts, name, info.has_issues).await?);
    }
    Ok(())
}

/// The default branch holds the release, and more. Looked up in our own mirror.
async fn is_behind(ctx: &Ctx, repo: &Repo, release: &Sha, base: &Sha) -> anyhow::Result<bool> {
    if release == base {
        return Ok(false);
    }
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    let known = mirror.resolve(release.as_str()).await?.is_some() && mirror.resolve(base.as_str()).await?.is_some();
    Ok(known && mirror.is_ancestor(release, base).await?)
}

/// Local pause first: it stops even when the forge cannot be reached.
async fn stop_signs(ctx: &Ctx, facts: &Facts, name: &RepoName, has_issues: bool) -> anyhow::Result<StopSigns> {
    if let Some(paused) = &facts.paused {
        return Ok(StopSigns::Stopped(vec![StopSign {
            what: format!("tick pause ({paused})"),
            by: None,
            since: None,
        }]));
    }
    let pull = match &facts.revert {
        Some(revert) => revert.pull,
        None => facts.pull.as_ref().map(|p| p.number),
    };
    Ok(ctx.github().stop_signs(name, pull, has_issues).await)
}
