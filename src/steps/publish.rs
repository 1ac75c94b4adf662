//! What the forge shows of us: branch, pull request, body, labels. One branch and one PR an incident; nothing is forced,
//! and everything is found again by its name or marker.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    Ctx,
    attempt::signature_row,
    effect::{Acted, Effect, EffectKind, effect},
    hands::github_name,
    landing::acted,
    whereabouts,
};
use crate::{
    adapters::{
        git::Push,
        github::{NewPull, OpenPullOutcome, Upsert},
    },
    decide::{
        budget,
        checks::{self, CheckSet},
        facts::{AttemptFacts, Facts, Policy, Seen, keys},
        rules::asks,
    },
    model::{
        Mode, PullNumber, Sha,
        evidence::{Finding, GuardVerdict},
        pull::{Pull, PullState},
    },
    render::{
        outside::push_refused,
        pr::{self, Broke, Next, PrWords, Readers, RevertWords, Tried},
        title,
    },
    store::Claim,
    text::Untrusted,
};

/// Title and body of a pull request.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: String,
}

pub(super) async fn push(ctx: &Ctx, claim: &Claim, facts: &Facts, n: u32, head: &Sha) -> Result<()> {
    let id = crate::model::AttemptId::new(facts.id(), n);
    let key = keys::push(&id, head);
    push_commit(ctx, claim, facts, EffectKind::Push, &key, head, &facts.id().branch()).await
}

pub(super) async fn push_commit(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    kind: EffectKind,
    key: &str,
    head: &Sha,
    branch: &str,
) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let mirror = ctx.mirror(repo).await?;
    let pushed = json!({ "head": head, "branch": branch });
    let find = async || -> Result<Option<Value>> {
        Ok((mirror.ls_remote(branch).await?.as_ref() == Some(head)).then(|| pushed.clone()))
    };
    let act = async || match mirror.push(head, branch).await {
        Ok(Push::Done) => Acted::Done(pushed.clone()),
        // Two homes that push one commit at the same time: the slower is refused, and what it wanted is there.
        Ok(Push::Refused(refusal, said)) => match find().await {
            Ok(Some(there)) => Acted::Done(there),
            Ok(None) => Acted::Denied(push_refused(refusal, &said)),
            Err(error) => Acted::Unknown(error.to_string()),
        },
        Ok(Push::Unknown(why)) => Acted::Unknown(why),
        // Not reached: nobody said no to this commit.
        Err(error) => Acted::Unknown(error.to_string()),
    };
    match effect(ctx, claim, kind, key, &pushed, find, act).await? {
        // A fact for the next turn, which makes it a person's.
        Effect::Refused(why) | Effect::Denied(why) => {
            ctx.say(Some(facts.id()), "push", [format!("{branch} was refused: {why}")]);
            Ok(())
        }
        ended @ (Effect::Done(_) | Effect::Open(_)) => {
            ended.done(&format!("push {branch}"))?;
            ctx.say(Some(facts.id()), "push", [format!("{branch} is at {}", head.short())]);
            Ok(())
        }
    }
}

fn opened(pull: &Pull) -> Value {
    json!({ "number": pull.number, "url": pull.url, "draft": pull.draft, "node_id": pull.node_id })
}

pub(super) async fn open(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    seen: &Seen,
    n: u32,
    head: &Sha,
    draft: bool,
) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let page = page(ctx, facts, seen, n)?;
    let base = seen.base_branch.clone().context("the default branch was not read")?;
    let branch = facts.id().branch();
    let key = keys::open_pull(facts.id());
    // Any state: a PR that a person closed meanwhile is ours all the same, and its closing is a no.
    let find = async || -> Result<Option<Value>> {
        let pulls = github.pulls_by_head(name, &branch).await?;
        let ours = pulls
            .iter()
            .filter(|p| pr::Marker::find(&p.body).is_some_and(|m| m.incident == *facts.id()))
            .filter(|p| !facts.past_pulls.contains(&p.number));
        Ok(ours.max_by_key(|p| p.number).map(opened))
    };
    let new = NewPull {
        title: &page.title,
        body: &page.body,
        head: &branch,
        base: &base,
        draft,
    };
    let act = async || {
        // The host refuses a second one only while the first is open; another host of ours may be further than we are.
        match find().await {
            Ok(None) => {}
            Ok(Some(theirs)) => return Acted::Done(theirs),
            Err(error) => return Acted::Refused(format!("look for our pull request first: {error:#}")),
        }
        let outcome = match github.open_pull(name, &new).await {
            // A draft says "not to be merged"; where there are none, the label and the body say it.
            Ok(OpenPullOutcome::DraftsUnsupported) => {
                github
                    .open_pull(
                        name,
                        &NewPull {
                            draft: false,
                            ..new.clone()
                        },
                    )
                    .await
            }
            other => other,
        };
        match outcome {
            Ok(OpenPullOutcome::Opened(pull)) => Acted::Done(opened(&pull)),
            Ok(OpenPullOutcome::AlreadyExists) => Acted::Unknown("a pull request exists for the branch".to_owned()),
            Ok(OpenPullOutcome::Unknown(why)) => Acted::Unknown(why),
            Ok(OpenPullOutcome::NoCommits) => Acted::Refused("the branch holds nothing new".to_owned()),
            Ok(OpenPullOutcome::DraftsUnsupported) => Acted::Refused("drafts are not supported".to_owned()),
            Ok(OpenPullOutcome::Refused(why)) => Acted::Refused(why),
            Err(error) => acted(&error),
        }
    };
    let args = json!({ "head": head, "branch": branch, "draft": draft });
    let ended = effect(ctx, claim, EffectKind::OpenPull, &key, &args, find, act).await?;
    let result = ended.done(&format!("open a pull request for {branch}"))?;
    let number = result.get("number").and_then(Value::as_u64).unwrap_or_default();
    let change = current(facts, n)?.guards.as_ref();
    let size = change.map(|g| format!(", {} files, +{} -{}", g.paths.len(), g.added, g.removed));
    let kind = if draft { "draft PR" } else { "PR" };
    ctx.say(
        Some(facts.id()),
        "pull",
        [format!(
            "{kind} #{number}  {branch} at {}{}",
            head.short(),
            size.unwrap_or_default()
        )],
    );
    Ok(())
}

fn current(facts: &Facts, n: u32) -> Result<&AttemptFacts> {
    facts
        .attempts
        .iter()
        .find(|a| a.attempt.n == n)
        .with_context(|| format!("attempt {n} of {} is not in the store", facts.id()))
}

fn our_pull(facts: &Facts) -> Result<PullNumber> {
    Ok(facts.pull.as_ref().context("there is no pull request of ours")?.number)
}

/// The body says what holds now. Setting it twice changes nothing.
pub(super) async fn body(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen, n: u32, slot: &str) -> Result<()> {
    let page = page(ctx, facts, seen, n)?;
    set_page(ctx, claim, facts, our_pull(facts)?, &page, slot).await
}

pub(super) async fn set_page(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    number: PullNumber,
    page: &Page,
    slot: &str,
) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let key = keys::body(facts.id(), slot);
    let find = async || -> Result<Option<Value>> {
        let pull = github.pull(name, number).await?;
        Ok((pull.body.trim() == page.body.trim()).then(|| json!({ "number": number })))
    };
    let act = async || match github
        .edit_pull(name, number, Some(&page.title), Some(&page.body))
        .await
    {
        Ok(()) => Acted::Done(json!({ "number": number })),
        Err(error) => acted(&error),
    };
    effect(ctx, claim, EffectKind::Body, &key, &json!({ "slot": slot }), find, act)
        .await?
        .done("edit the pull request")
        .map(drop)
}

pub(super) async fn label(ctx: &Ctx, claim: &Claim, facts: &Facts, label: &str) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let number = our_pull(facts)?;
    let key = keys::label(facts.id(), label);
    let find = async || -> Result<Option<Value>> {
        let pull = github.pull(name, number).await?;
        Ok(pull
            .labels
            .iter()
            .any(|l| l == label)
            .then(|| json!({ "label": label })))
    };
    let act = async || match github.add_label(name, number, label).await {
        Ok(()) => Acted::Done(json!({ "label": label })),
        Err(error) => acted(&error),
    };
    effect(ctx, claim, EffectKind::Label, &key, &label, find, act)
        .await?
        .done("label the pull request")
        .map(drop)
}

pub(super) async fn ready(ctx: &Ctx, claim: &Claim, facts: &Facts, seen: &Seen) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let number = our_pull(facts)?;
    let node_id = seen
        .pull
        .as_ref()
        .context("the pull request was not read")?
        .node_id
        .clone();
    let find = async || -> Result<Option<Value>> {
        Ok((!github.pull(name, number).await?.draft).then(|| json!({ "ready": true })))
    };
    let act = async || match github.ready(&node_id).await {
        Ok(()) => Acted::Done(json!({ "ready": true })),
        Err(error) => acted(&error),
    };
    let key = keys::ready(facts.id());
    effect(ctx, claim, EffectKind::Ready, &key, &number, find, act)
        .await?
        .done("mark the pull request ready")
        .map(drop)
}

/// Asks for the review that the rules demand, by the label that the team watches and a comment naming what is missing.
pub(super) async fn request_review(ctx: &Ctx, claim: &Claim, facts: &Facts) -> Result<()> {
    let key = keys::review(facts.id());
    let text = "The repository's rules ask for a person's review of this pull request. Everything else is ready.";
    upsert(ctx, claim, facts, EffectKind::Review, &key, "review", text).await
}

pub(super) async fn comment(ctx: &Ctx, claim: &Claim, facts: &Facts, slot: &str, text: &str) -> Result<()> {
    let key = keys::comment(facts.id(), slot);
    upsert(ctx, claim, facts, EffectKind::Comment, &key, slot, text).await
}

async fn upsert(
    ctx: &Ctx,
    claim: &Claim,
    facts: &Facts,
    kind: EffectKind,
    key: &str,
    slot: &str,
    text: &str,
) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let number = our_pull(facts)?;
    let marker = crate::render::comment::comment_marker(facts.id(), slot);
    let body = format!("{marker}\n{text}");
    let find = async || -> Result<Option<Value>> {
        let found = github.comments_with_marker(name, number, &marker).await?;
        Ok(found.first().map(|c| json!({ "comment": c.id })))
    };
    let act = async || match github.upsert_comment(name, number, &marker, &body).await {
        Ok(Upsert::Posted(id) | Upsert::Edited(id) | Upsert::Unchanged(id)) => Acted::Done(json!({ "comment": id })),
        Err(error) => acted(&error),
    };
    effect(ctx, claim, kind, key, &text, find, act)
        .await?
        .done("comment on the pull request")
        .map(drop)
}

pub(super) async fn close(ctx: &Ctx, claim: &Claim, facts: &Facts, why: &str) -> Result<()> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let name = github_name(repo)?;
    let github = ctx.github();
    let number = our_pull(facts)?;
    let find = async || -> Result<Option<Value>> {
        Ok((github.pull(name, number).await?.state == PullState::Closed).then(|| json!({ "closed": true })))
    };
    let act = async || match github.close_pull(name, number).await {
        Ok(()) => Acted::Done(json!({ "closed": true })),
        Err(error) => acted(&error),
    };
    let key = keys::close_pull(facts.id());
    effect(ctx, claim, EffectKind::ClosePull, &key, &why, find, act)
        .await?
        .done("close the pull request")
        .map(drop)
}

/// Title and body for how the attempt stands now.
fn page(ctx: &Ctx, facts: &Facts, seen: &Seen, n: u32) -> Result<Page> {
    let repo = ctx.repo(&facts.incident.repo)?;
    let policy = ctx.policy(repo)?;
    let attempt = current(facts, n)?;
    let head = attempt.head().context("the attempt has no head")?;
    let change = attempt
        .guards
        .as_ref()
        .context("the guards have not judged this head")?;
    let row = signature_row(ctx, facts)?;
    let samples: Vec<Untrusted> = row.samples.iter().map(|s| Untrusted::new(s, &ctx.redactor)).collect();
    let said = Untrusted::new(&attempt.attempt.said, &ctx.redactor);
    let needs = attempt.needs_person();
    let whys: Vec<(u32, String, Option<Finding>)> = facts
        .attempts
        .iter()
        .filter(|a| a.attempt.n != n)
        .filter_map(|a| {
            let failure = a.failure()?;
            let finding = rejecting(a);
            // A finding is shown with its place, which the failure's sentence repeats.
            let why = finding
                .as_ref()
                .map_or(failure.sentence(), |f| f.why.as_str())
                .to_owned();
            Some((a.attempt.n, why, finding))
        })
        .collect();
    let tried: Vec<Tried<'_>> = whys
        .iter()
        .map(|(n, why, finding)| Tried {
            n: *n,
            why,
            finding: finding.as_ref(),
        })
        .collect();
    let rules = seen.rules.clone().unwrap_or_default();
    let asks = asks(&rules);
    // Unread rules count as public: strangers may read what we do not know to be private.
    let readers = if seen.rules.as_ref().is_none_or(|r| r.public) {
        Readers::Strangers
    } else {
        Readers::Team
    };
    let ignored = ignored_checks(facts, seen, &policy);
    let error = title::class(&row.title);
    let place = facts.cause.culprit.as_ref();
    let place = place.map(|culprit| whereabouts::shown(ctx, &row.sig, culprit));
    let words = PrWords {
        readers,
        next: what_next(&policy, needs.as_deref(), repo.observe_min),
        incident: facts.id(),
        head,
        base: &attempt.attempt.base,
        broke: Broke {
            error: error.as_deref(),
            culprit: place.as_ref().map(|(culprit, _)| culprit),
            not_there: place.as_ref().and_then(|(_, note)| note.as_deref()),
            place: None,
            count: facts.cause.count,
            requests: None,
            since: facts.cause.first_seen,
            until: facts.cause.last_seen,
            release: row.releases.last(),
            samples: &samples,
        },
        change,
        proof: attempt.proof.as_ref(),
        audit: attempt.audit.as_ref(),
        takes_back: attempt.takes_back.as_ref().map(|culprit| &culprit.commit),
        author: &attempt.attempt.agent,
        held: if attempt.is_a_persons() { "" } else { &attempt.sandbox },
        said: (!attempt.attempt.said.is_empty()).then_some(&said),
        tried: &tried,
        nth: &budget::place_of(facts, n),
        usd: (facts.spent_usd.incident > 0.0).then_some(facts.spent_usd.incident),
        asks: &asks,
        ignored_checks: &ignored,
    };
    Ok(Page {
        title: pr::pr_title(&words),
        body: pr::pr_body(&words),
    })
}

/// Names that `ciNonblockingRe` lets through, as read in this iteration.
fn ignored_checks(facts: &Facts, seen: &Seen, policy: &Policy) -> Vec<String> {
    let (Some(read), Some(rules), Some(pushed)) = (&seen.checks, &seen.rules, &facts.pushed) else {
        return Vec::new();
    };
    let set = checks::check_set(read, rules, policy.nonblocking.as_ref(), &policy.may_skip, pushed.at);
    match set {
        CheckSet::Success { ignored, .. } => ignored,
        CheckSet::Pending(_) | CheckSet::Failed(_) | CheckSet::Unknown(_) => Vec::new(),
    }
}

fn rejecting(attempt: &AttemptFacts) -> Option<Finding> {
    let guards = attempt.guards.as_ref()?;
    guards
        .findings
        .iter()
        .find(|f| f.verdict == GuardVerdict::Reject)
        .cloned()
}

fn what_next<'a>(policy: &Policy, needs: Option<&'a str>, watch: Duration) -> Next<'a> {
    match needs {
        Some(why) => Next::NeedsPerson {
            why,
            question: "Is this change right where tick may not decide by itself?",
        },
        None if policy.rung < Mode::Active => Next::Draft,
        None => Next::Merges { watch },
    }
}

/// The PR's title, for the subject of the squash commit.
pub(super) fn title_of(ctx: &Ctx, facts: &Facts, seen: &Seen) -> Result<String> {
    let n = facts.current().map_or(1, |a| a.attempt.n);
    Ok(page(ctx, facts, seen, n)?.title)
}

pub(super) fn revert_words(ctx: &Ctx, facts: &Facts, head: &Sha, why: &str) -> Result<Page> {
    let merge = facts.merge.as_ref().context("nothing was merged")?;
    let repo = ctx.repo(&facts.incident.repo)?;
    let words = RevertWords {
        incident: facts.id(),
        head,
        merge: &merge.sha,
        pull: our_pull(facts)?,
        why,
        same_tree: facts
            .revert
            .as_ref()
            .is_some_and(|r| r.restores == crate::decide::merge::Restores::SameTree),
        merges: ctx.policy(repo)?.rung == Mode::Active,
    };
    Ok(Page {
        title: pr::revert_title(&words),
        body: pr::revert_body(&words),
    })
}
