//! Taking our own merge back: an incident note first, then a revert commit made by the harness, its PR, and its merge
//! behind the same check set. Once, and only what we merged ourselves.

use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    Ctx, attempt,
    effect::{Acted, Effect, EffectKind, effect},
    evidence::kind,
    gather::Revert,
    hands::github_name,
    judge, landing, publish,
};
use crate::{
    adapters::{
        git::{Mirror, Replay},
        github::{MergeOutcome, NewPull, OpenPullOutcome},
    },
    decide::{
        facts::{Facts, Seen, keys},
        merge::{MergeProof, Restores},
    },
    model::{Sha, pull::PullState},
    render,
    store::Claim,
};

/// The note is on disk before anything is taken back. Its name comes from the intent's time, so that a second try
/// writes the same file.
pub(super) async fn note(ctx: &Ctx, claim: &Claim, facts: &Facts, why: &str) -> Result<()> {
    let dir = ctx.config.home.state.join("incidents");
    super::private_dir(&dir)?;
    let key = keys::note(facts.id());
    let path = || -> Result<PathBuf> {
        let row = ctx.store().effect(&key)?.context("the note was not intended")?;
        let minute = row.intended_at.format("%Y-%m-%d-%H-%M");
        Ok(dir.join(format!("{minute}-{}.md", facts.cause.signature.short())))
    };
    let text = render::note::note(facts, why, ctx.now());
    let result = |path: &Path| json!({ "path": path, "why": why });
    let found = async || {
        let path = path()?;
        Ok(path.exists().then(|| result(&path)))
    };
    let act = async || {
        let written = path().and_then(|path| write_once(&dir, &path, text.as_bytes()).map(|()| path));
        match written {
            Ok(path) => Acted::Done(result(&path)),
            Err(error) => Acted::Refused(format!("{error:#}")),
        }
    };
    match effect(ctx, claim, EffectKind::Note, &key, &json!({ "why": why }), found, act).await? {
        Effect::Done(result) => {
            let path = result.get("path").and_then(Value::as_str).unwrap_or_default();
            ctx.say(Some(facts.id()), "note", [format!("incident note {path}")]);
            Ok(())
        }
        Effect::Refused(why) | Effect::Denied(why) | Effect::Open(why) => bail!("write the incident note: {why}"),
    }
}

/// The file appears as a whole or not at all, and what stands there is never written over.
fn write_once(dir: &Path, path: &Path, content: &[u8]) -> Result<()> {
    let attempt = || format!("write {}", path.display());
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let temporary = dir.join(name);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .with_context(attempt)?;
    file.write_all(content).with_context(attempt)?;
    file.sync_all().with_context(attempt)?;
    match std::fs::hard_link(&temporary, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error).with_context(attempt),
        Ok(()) | Err(_) => {}
    }
    std::fs::remove_file(&temporary).with_context(attempt)?;
    std::fs::File::open(dir)
        .and_then(|dir| dir.sync_all())
        .with_context(attempt)
}

/// The revert commit, on the default branch as it is now, and what makes it safe to merge.
pub(super) async fn make(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, merged: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let base = seen.base.as_ref().context("the default branch was not read")?;
    let mirror = ctx.mirror(repo).await?;
    mirror.fetch().await?;
    let none = Revert {
        head: None,
        base: base.clone(),
        tree: None,
        restores: Restores::No,
        gone: false,
    };
    let revert = match mirror.revert(merged, base).await? {
        Replay::Conflict(_) => none,
        Replay::Clean { tree } if mirror.tree_of(base).await? == tree => Revert { gone: true, ..none },
        Replay::Clean { tree } => commit(ctx, claim, facts, &mirror, merged, none, tree).await?,
    };
    let verdict = revert.restores.words();
    ctx.record(claim, revert.head.as_ref(), kind::REVERT, verdict, &revert)?;
    ctx.say(
        Some(facts.id()),
        "revert",
        [format!("revert of {}: {verdict}", merged.short())],
    );
    Ok(())
}

/// The commit and what makes it safe to merge. Onto a base that moved it is a commit on top of the one that was pushed,
/// like a later attempt: nothing is ever forced.
async fn commit(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    mirror: &Mirror,
    merged: &Sha,
    none: Revert,
    tree: Sha,
) -> Result<Revert> {
    let parents = parents(facts, mirror, &none.base).await?;
    let message = format!(
        "Take back {}\n\nIt made things worse; see incident {}.",
        merged.short(),
        facts.id()
    );
    let head = mirror.commit_tree(&tree, &parents, &message).await?;
    let before = mirror.parents(merged).await?.into_iter().next();
    let same = match &before {
        Some(before) => mirror.tree_of(before).await? == tree,
        None => false,
    };
    let restores = if same {
        Restores::SameTree
    } else if judge::tests_pass(ctx, claim, facts, &head).await?.0 {
        Restores::AppliedAndPasses
    } else {
        Restores::No
    };
    Ok(Revert {
        head: Some(head),
        tree: Some(tree),
        restores,
        ..none
    })
}

/// The head that our branch was pushed to, and the base it does not have yet.
async fn parents(facts: &Facts, mirror: &Mirror, base: &Sha) -> Result<Vec<Sha>> {
    let branch = format!("refs/heads/{}", facts.id().revert_branch());
    let ours = facts.revert.iter().flat_map(|r| r.earlier.iter().chain(&r.head));
    // As just fetched: a commit that was made and never pushed is nobody's parent.
    let there = mirror.resolve(&branch).await?;
    let Some(pushed) = ours.rev().find(|head| there.as_ref() == Some(head)) else {
        return Ok(vec![base.clone()]);
    };
    attempt::on_top(mirror, pushed, base).await
}

pub(super) async fn push(ctx: &Ctx, claim: &Claim, facts: &Facts, head: &Sha) -> Result<()> {
    let key = keys::push_revert(facts.id(), head);
    publish::push_commit(
        ctx,
        claim,
        facts,
        EffectKind::PushRevert,
        &key,
        head,
        &facts.id().revert_branch(),
    )
    .await
}

pub(super) async fn open(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, head: &Sha) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let merge = facts.merge.as_ref().context("nothing was merged")?;
    let words = publish::revert_words(ctx, facts, head, &why_of(facts))?;
    let base = seen.base_branch.clone().context("the default branch was not read")?;
    let branch = facts.id().revert_branch();
    let key = keys::revert_pull(facts.id(), &merge.sha);
    let opened =
        |pull: &crate::model::pull::Pull| json!({ "number": pull.number, "url": pull.url, "draft": pull.draft });
    let find = async || -> Result<Option<Value>> {
        let pulls = github.pulls_by_head(name, &branch).await?;
        Ok(pulls.iter().find(|p| p.state == PullState::Open).map(opened))
    };
    let act = async || {
        let new = NewPull {
            title: &words.title,
            body: &words.body,
            head: &branch,
            base: &base,
            draft: false,
        };
        match github.open_pull(name, &new).await {
            Ok(OpenPullOutcome::Opened(pull)) => Acted::Done(opened(&pull)),
            Ok(OpenPullOutcome::AlreadyExists) => Acted::Unknown("it exists already".to_owned()),
            Ok(OpenPullOutcome::Unknown(why)) => Acted::Unknown(why),
            Ok(OpenPullOutcome::NoCommits) => Acted::Refused("there is nothing to revert".to_owned()),
            Ok(OpenPullOutcome::DraftsUnsupported) => Acted::Refused("drafts are not supported".to_owned()),
            Ok(OpenPullOutcome::Refused(why)) => Acted::Refused(why),
            Err(error) => landing::acted(&error),
        }
    };
    let args = json!({ "head": head });
    let ended = effect(ctx, claim, EffectKind::OpenRevert, &key, &args, find, act).await?;
    let result = ended.done("open the revert")?;
    let number = result.get("number").and_then(Value::as_u64).unwrap_or_default();
    ctx.say(
        Some(facts.id()),
        "revert",
        [format!("PR #{number} takes {} back", merge.sha.short())],
    );
    Ok(())
}

/// The PR is about the head that it shows now.
pub(super) async fn body(ctx: &Ctx, claim: &Claim, facts: &Facts, head: &Sha) -> Result<()> {
    let number = facts.revert.as_ref().and_then(|r| r.pull);
    let number = number.context("there is no pull request of the revert")?;
    let page = publish::revert_words(ctx, facts, head, &why_of(facts))?;
    publish::set_page(ctx, claim, facts, number, &page, &format!("revert-{}", head.short())).await
}

pub(super) async fn merge(ctx: &Ctx, claim: &Claim, facts: &Facts, proof: &MergeProof) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let key = keys::merge_revert(facts.id(), proof.head());
    let page = publish::revert_words(ctx, facts, proof.head(), &why_of(facts))?;
    let title = render::pr::squash_title(&page.title, proof.pull());
    let message = format!("Made and merged by tick at {}. Incident {}.", proof.head(), facts.id());
    let find = async || -> Result<Option<Value>> {
        let pull = github.pull(name, proof.pull()).await?;
        Ok(match (pull.state, pull.merge_sha) {
            (PullState::Merged, Some(sha)) => Some(json!({ "sha": sha })),
            _ => None,
        })
    };
    let act = async || match github.merge(name, proof.pull(), proof.head(), &title, &message).await {
        Ok(MergeOutcome::Merged(sha)) => Acted::Done(json!({ "sha": sha })),
        Ok(MergeOutcome::AlreadyMerged) => Acted::Unknown("it is merged already".to_owned()),
        Ok(MergeOutcome::Unknown(why)) => Acted::Unknown(why),
        Ok(MergeOutcome::HeadMoved | MergeOutcome::BaseMoved) => Acted::Refused("the branch moved".to_owned()),
        Ok(MergeOutcome::Blocked(why)) => Acted::Refused(why),
        Ok(MergeOutcome::Config(why) | MergeOutcome::Forbidden(why)) => Acted::Denied(why),
        Err(error) => landing::acted(&error),
    };
    let ended = effect(ctx, claim, EffectKind::MergeRevert, &key, proof, find, act).await?;
    ended.done(&format!("merge the revert {}", proof.pull()))?;
    ctx.say(Some(facts.id()), "revert", ["our merge is taken back".to_owned()]);
    Ok(())
}

/// The repo works on drafts until a person says otherwise.
pub(super) fn drop_autonomy(ctx: &Ctx, claim: &Claim, facts: &Facts, why: &str) -> Result<()> {
    let reason = format!("a merge of ours was taken back ({}): {why}", facts.id());
    let name = format!("autonomy:{}", facts.incident.repo);
    ctx.store()
        .set_flag(&name, Some(&reason), &format!("incident {}", facts.id()), ctx.now())?;
    ctx.record(claim, None, kind::AUTONOMY, "monitor-only", &reason)
}

fn why_of(facts: &Facts) -> String {
    facts.revert.as_ref().map(|r| r.why.clone()).unwrap_or_default()
}
